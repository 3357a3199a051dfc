"""Kernel principal components beside scikit-learn's."""

import numpy as np
import pytest
import sklearn.decomposition
from scipy import sparse
from sklearn.gaussian_process import kernels as gp

import tenfold
from tenfold.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
X = rng.standard_normal((80, 4)) * [2.0, 1.0, 0.7, 0.5]
NEW = rng.standard_normal((11, 4))

SETTINGS = {
    "linear": {},
    "linear of two": {"n_components": 2},
    "rbf": {"kernel": "rbf", "n_components": 5},
    "rbf of a width": {"kernel": "rbf", "gamma": 0.7, "n_components": 5, "remove_zero_eig": True},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 0.5, "n_components": 6},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.1, "coef0": 0.0, "n_components": 2},
    "cosine": {"kernel": "cosine", "n_components": 3},
    "more than samples": {"kernel": "rbf", "n_components": 1000, "remove_zero_eig": True},
}


def both(settings, data=X):
    return [module.KernelPCA(**settings).fit(data) for module in (tenfold, sklearn.decomposition)]


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_eigenpairs_and_projections(settings):
    ours, other = both(settings)
    assert ours.certificate_.ok
    assert tenfold.certify(other, X).ok
    np.testing.assert_allclose(ours.eigenvalues_, other.eigenvalues_, rtol=1e-9, atol=1e-11)
    k = min(4, len(ours.eigenvalues_))  # of the first ones: gaps are large
    np.testing.assert_allclose(ours.eigenvectors_[:, :k], other.eigenvectors_[:, :k], atol=1e-9)
    np.testing.assert_allclose(ours.transform(NEW)[:, :k], other.transform(NEW)[:, :k], atol=1e-9)
    np.testing.assert_allclose(ours.fit_transform(X), ours.transform(X), atol=1e-7)


@pytest.mark.parametrize("solver", ["dense", "arpack", "randomized"])
def test_solvers_agree(solver):
    ours = tenfold.KernelPCA(3, kernel="rbf", eigen_solver=solver, random_state=0).fit(X)
    dense = sklearn.decomposition.KernelPCA(3, kernel="rbf", eigen_solver="dense").fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(ours.eigenvectors_, dense.eigenvectors_, atol=1e-6)
    assert ("Lanczos" in ours.method_) == (solver != "dense")


def test_pre_images():
    settings = {"n_components": 4, "kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True, "alpha": 0.01}
    ours, other = both(settings)
    np.testing.assert_allclose(ours.dual_coef_, other.dual_coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.X_transformed_fit_, other.X_transformed_fit_, atol=1e-8)
    expected = other.inverse_transform(other.transform(NEW))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(NEW)), expected, atol=1e-8)
    np.testing.assert_allclose(ours.denoise(NEW), expected, atol=1e-8)


def test_given_matrices_functions_and_sparse_samples():
    K, new = X @ X.T, NEW @ X.T
    given, other = both({"n_components": 2, "kernel": "precomputed"}, K)
    np.testing.assert_allclose(given.transform(new), other.transform(new), atol=1e-9)
    assert tenfold.certify(other, K).ok
    other._centerer.K_fit_rows_ = other._centerer.K_fit_rows_ + 1e-6
    assert not tenfold.certify(other, K).ok
    ours, other = both({"n_components": 2, "kernel": lambda x, z, power: (x @ z + 1.0) ** power,
                        "kernel_params": {"power": 2}})  # fmt: skip
    np.testing.assert_allclose(ours.transform(NEW), other.transform(NEW), atol=1e-8)
    thin = sparse.random_array((90, 30), density=0.1, rng=0, format="csr")
    ours, other = both({"n_components": 3, "kernel": "rbf"}, thin)
    np.testing.assert_allclose(ours.transform(thin), other.transform(thin), atol=1e-9)
    assert tenfold.certify(other, thin).ok


@pytest.mark.parametrize("kernel", [gp.RBF(0.7) + gp.DotProduct(0.3), Gaussian(0.7) * Linear()], ids=["sum", "ours"])
def test_kernel_objects(kernel):
    ours = tenfold.KernelPCA(3, kernel=kernel).fit(X)
    other = sklearn.decomposition.KernelPCA(3, kernel="precomputed").fit(kernel(X))
    np.testing.assert_allclose(ours.eigenvalues_, other.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(ours.transform(NEW), other.transform(kernel(NEW, X)), atol=1e-8)


def test_single_precision_is_kept():
    ours, other = both({"n_components": 3, "kernel": "rbf"}, X.astype(np.float32))
    assert ours.eigenvectors_.dtype == ours.transform(NEW.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(ours.eigenvalues_, other.eigenvalues_, rtol=1e-5)
    assert ours.certificate_.ok


def test_pca_by_the_linear_kernel():
    ours, linear = tenfold.KernelPCA(3).fit(X), tenfold.PCA(3).fit(X)
    np.testing.assert_allclose(np.abs(ours.transform(NEW)), np.abs(linear.transform(NEW)), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.eigenvalues_, linear.singular_values_**2, rtol=1e-10)
