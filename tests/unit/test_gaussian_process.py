"""Gaussian processes: the search in a box, covariances of any library, bad input, memory."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as sk

import tenfold
from tenfold import GaussianProcessClassifier, GaussianProcessRegressor
from tenfold.kernels import Callable, Constant, Gaussian, Linear, Precomputed, Product, Scaled, White
from tenfold.kernels.covariance import Covariance
from tenfold.linear_algebra import cholesky, factor_semidefinite, invert_positive
from tenfold.plans.gaussian_process_evidence import Evidence, SpectralEvidence, split_amplitude
from tenfold.plans.gaussian_process_starts import start_at_widths
from tenfold.solvers.bounded_newton import Reading, minimise_in_box, steps
from tenfold.solvers.loop import Status, run

NOISY = 1.0 * Gaussian() + White()


def waves(n=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 2))
    return X, np.sin(X[:, 0]) + 0.2 * rng.standard_normal(n)


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


# the search -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_minimum_of_a_quadratic_in_a_box(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 8))
    A = rng.standard_normal((p, p))
    B, g = A @ A.T + 1e-3 * np.eye(p), rng.standard_normal(p) * 10 ** rng.uniform(-3, 3)
    low, high = -rng.uniform(0, 2, p) * (rng.random(p) > 0.2), rng.uniform(0, 2, p) * (rng.random(p) > 0.2)
    s = minimise_in_box(g, B, low, high)
    assert np.all((s >= low - 1e-12) & (s <= high + 1e-12))
    L = np.linalg.cholesky(B)
    bounds = (low - 1e-14, np.maximum(high, low + 1e-13) + 1e-14)
    best = lsq_linear(L.T, -np.linalg.solve(L, g), bounds=bounds, method="bvls", tol=1e-15).x
    values = [g @ x + 0.5 * x @ B @ x for x in (s, best)]
    assert values[0] <= values[1] + 1e-9 * max(1.0, abs(values[1]))


def rosenbrock(x):
    g = np.array([-400.0 * x[0] * (x[1] - x[0] ** 2) - 2.0 * (1.0 - x[0]), 200.0 * (x[1] - x[0] ** 2)])
    return Reading(100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2, g, None)


@pytest.mark.parametrize(("high", "expected"), [(5.0, [1.0, 1.0]), (0.5, [0.5, 0.25])])
def test_search_without_a_model_of_the_curvature(high, expected):
    bounds = np.array([[-5.0, high], [-5.0, 5.0]])
    solution = run(steps(rosenbrock, np.array([-1.2, 1.0]), bounds, 1.0, 1e-12, 1e-5), 300)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.params, expected, atol=1e-4)


def test_search_stays_where_the_function_is_defined():
    def read(x):
        if x[0] < 0.3:
            return Reading(np.inf, np.zeros(1), None)
        return Reading(float(x[0] - np.log(x[0] - 0.3 + 1e-12)), 1.0 - 1.0 / (x - 0.3 + 1e-12), None)

    solution = run(steps(read, np.array([8.0]), np.array([[-9.0, 9.0]]), 1.0, 1e-10, 1e-4), 300)
    assert solution.params[0] == pytest.approx(1.3, abs=1e-4)


@pytest.mark.parametrize("unit", [1e-4, 1e4])
@pytest.mark.parametrize("width", [1.0, np.ones(2)], ids=str)
def test_search_begins_again_where_the_kernel_explains_nothing(unit, width):
    X, y = waves()
    usual = fit(GaussianProcessRegressor(1.0 * Gaussian(width, (1e-9, 1e9)) + White(0.1)), X, y)
    model = fit(GaussianProcessRegressor(1.0 * Gaussian(width, (1e-9, 1e9)) + White(0.1)), unit * X, y)
    assert model.certificate_.ok
    assert model.log_marginal_likelihood_value_ == pytest.approx(usual.log_marginal_likelihood_value_, abs=1e-4)


def test_start_at_widths_needs_free_length_scales_of_dense_samples():
    X, _ = waves()
    assert start_at_widths(Covariance.of(Gaussian(1.0, "fixed") + White(), X), X) is None
    assert start_at_widths(Covariance.of(NOISY, X), sparse.csr_array(X)) is None
    assert start_at_widths(Covariance.of(NOISY, X), np.ones((9, 2))) is None


# covariances ----------------------------------------------------------------------------------------------------------

OF_SCIKIT_LEARN = {
    "anisotropic": sk.ConstantKernel(2.0) * sk.RBF([1.0, 2.0]) + sk.WhiteKernel(0.1),
    "pairwise": sk.ConstantKernel(2.0) * sk.PairwiseKernel(gamma=0.7, metric="rbf") + sk.WhiteKernel(0.3),
    "no gradient of gamma": sk.PairwiseKernel(gamma=0.3, metric="cosine") + sk.WhiteKernel(1.0),
    "rational": sk.RationalQuadratic(1.0, 0.7) ** 2,
}


class Own(sk.RBF):
    """A class that nobody knows."""


@pytest.mark.parametrize("kernel", [*OF_SCIKIT_LEARN.values(), Own(1.2) + sk.WhiteKernel(0.1)], ids=str)
def test_covariance_has_the_hyperparameters_of_the_given_kernel(kernel):
    X, _ = waves()
    rng = np.random.default_rng(1)
    A, V = rng.standard_normal((50, 50)), rng.standard_normal((50, 2))
    A = A + A.T
    theta = kernel.theta + 0.3
    moved, covariance = kernel.clone_with_theta(theta), Covariance.of(kernel, X).at(theta)
    K, gradient = moved(X, eval_gradient=True)
    np.testing.assert_allclose(covariance.theta, theta)
    np.testing.assert_allclose(covariance.bounds, kernel.bounds)
    np.testing.assert_allclose(covariance.block(X), K, atol=1e-12)
    np.testing.assert_allclose(covariance.block(X[:5], X), moved(X[:5], X), atol=1e-12)
    np.testing.assert_allclose(covariance.diagonal(X), moved.diag(X), atol=1e-12)
    np.testing.assert_allclose(covariance.multiply(X[:5], X, V), moved(X[:5], X) @ V, atol=1e-11)
    np.testing.assert_allclose(covariance.multiply(X[:5], X, V[:, 0]), moved(X[:5], X) @ V[:, 0], atol=1e-11)
    np.testing.assert_allclose(covariance.weighted_gradient(X, A), np.tensordot(A, gradient, 2), rtol=1e-5, atol=1e-3)
    products = np.einsum("ijk,jt->kit", gradient, V)
    np.testing.assert_allclose(covariance.multiply_gradient(X, V), products, rtol=1e-5, atol=1e-4)
    assert kernel.theta == pytest.approx(theta - 0.3)


def test_compound_kernel_is_no_covariance():
    with pytest.raises(ValueError, match="CompoundKernel"):
        Covariance.of(sk.CompoundKernel([sk.RBF(), sk.RBF()]), None)


@pytest.mark.parametrize("n", [1, 30, 600])
def test_inverse_and_factor(n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n))
    A = A @ A.T + n * np.eye(n)
    inverse = invert_positive(cholesky(A))
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(inverse @ A, np.eye(n), atol=1e-10)
    Z = rng.standard_normal((n, 3))
    R = factor_semidefinite(Z @ Z.T)
    assert R.shape[1] <= 3
    np.testing.assert_allclose(R @ R.T, Z @ Z.T, atol=1e-10)


AMPLITUDES = [
    Product(Constant(2.0), Gaussian(1.0, "fixed")) + White(0.3),
    White(0.3) + Product(Gaussian(1.0, "fixed"), Constant(2.0)),
    Scaled(Gaussian(1.0, "fixed"), 2.0) + White(0.3, "fixed"),
    Gaussian(1.0, "fixed") + White(0.3),
    Product(Constant(2.0), Linear()),
]


@pytest.mark.parametrize("kernel", AMPLITUDES, ids=str)
def test_evidence_by_the_spectrum_is_that_by_factors(kernel):
    X, y = waves()
    evidence = Evidence(Covariance.of(kernel, X), X, np.column_stack([y, y**2]), 0.05)
    spectral = SpectralEvidence.of(evidence, split_amplitude(kernel))
    for theta in (kernel.theta, kernel.theta + 0.7):
        for one, other in zip(spectral.read(theta), evidence.read(theta), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "kernel", [NOISY, Gaussian() + White(), 1.0 * Gaussian(1.0, "fixed") + 1.0 * Linear()], ids=str
)
def test_no_spectrum_where_more_is_free(kernel):
    assert split_amplitude(kernel) is None


# bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.int64])
def test_widths_of_floats(dtype):
    X, y = waves()
    model = fit(GaussianProcessRegressor(NOISY), (4 * X).astype(dtype), (9 * y).astype(dtype))
    assert model.certificate_.ok
    assert tenfold.certify(model, (4 * X).astype(dtype), (9 * y).astype(dtype)).ok
    assert model.predict(X).dtype == np.float64


@pytest.mark.parametrize("value", [0.0, 3.0])
@pytest.mark.parametrize("normalize_y", [False, True])
def test_constant_targets(value, normalize_y):
    X, _ = waves()
    y = np.full(50, value)
    model = fit(GaussianProcessRegressor(NOISY, normalize_y=normalize_y), X, y)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.predict(X), value, atol=1e-2)


def test_duplicated_points():
    X, y = waves()
    twice, targets = np.vstack([X, X]), np.append(y, y + 0.1)
    assert fit(GaussianProcessRegressor(NOISY), twice, targets).certificate_.ok
    with pytest.raises(np.linalg.LinAlgError, match="alpha"):
        GaussianProcessRegressor(1.0 * Gaussian(), alpha=0.0).fit(twice, targets)
    # two values at one point, and no noise: the evidence is below any number, and rounding is said
    with pytest.warns(ConvergenceWarning, match="precision"):
        assert not GaussianProcessRegressor(1.0 * Gaussian()).fit(twice, targets).certificate_.ok
    assert fit(GaussianProcessClassifier(1.0 * Gaussian()), twice, np.append(y > 0, y <= 0)).certificate_.ok


@pytest.mark.parametrize("width", [1e-10, 1e-5, 1e5, 1e10])
def test_widths_from_tiny_to_huge(width):
    X, y = waves()
    for settings in ({"optimizer": None, "alpha": 0.1}, {}):
        kernel = Gaussian(width, "fixed" if settings else (1e-11, 1e11)) + White(0.1)
        model = fit(GaussianProcessRegressor(kernel, **settings), X, y)
        assert model.certificate_.ok
    assert fit(GaussianProcessClassifier(Gaussian(width, "fixed")), X, y > 0).certificate_.ok


def test_matrices_that_do_not_fit_are_refused_before_they_are_begun():
    X = np.zeros((400_000, 1))
    for model, y in ((GaussianProcessRegressor(), X[:, 0]), (GaussianProcessClassifier(), np.arange(400_000) % 2)):
        with pytest.raises(MemoryError, match=r"7,680,000,000,000 bytes.*KernelRidge"):
            model.fit(X, y)


def test_errors_name_what_is_expected():
    X, y = waves()
    with pytest.raises(ValueError, match=r"same number of entries as y. \(6 != 50\)"):
        GaussianProcessRegressor(alpha=np.ones(6)).fit(X, y)
    with pytest.raises(ValueError, match="zero or positive"):
        GaussianProcessRegressor(alpha=-np.ones(50)).fit(X, y)
    with pytest.raises(ValueError, match="bounds are finite"):
        GaussianProcessRegressor(Gaussian(1.0, (0.0, np.inf)), n_restarts_optimizer=1).fit(X, y)
    with pytest.raises(ValueError, match="overflow"):
        GaussianProcessRegressor(NOISY).fit(X, 1e150 * y)
    with pytest.raises(ValueError, match="number of targets"):
        GaussianProcessRegressor(n_targets=2).fit(X, y)
    with pytest.raises(ValueError, match="kernel"):
        GaussianProcessRegressor(kernel="rbf").fit(X, y)
    with pytest.raises(ValueError, match="1 class"):
        GaussianProcessClassifier().fit(X, np.ones(50))
    model = fit(GaussianProcessRegressor(NOISY), X, y)
    with pytest.raises(RuntimeError, match="At most one"):
        model.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :1])


def test_large_targets_are_normalised():
    X, y = waves()
    model = fit(GaussianProcessRegressor(NOISY, normalize_y=True), X, 1e150 * y)
    assert model.certificate_.ok


def test_samples_that_are_no_vectors():
    words = ["heat", "meat", "cold", "bold", "heap"]

    def shared(a, b):
        return float(sum(x == y for x, y in zip(a, b, strict=True)))

    kernel = Callable(shared) + White()
    model = fit(GaussianProcessRegressor(kernel), words, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert model.certificate_.ok
    assert model.predict(["heal"], return_std=True)[0].shape == (1,)
    classes = fit(GaussianProcessClassifier(Callable(shared), optimizer=None), words, [0, 0, 1, 1, 0])
    assert classes.predict(["bald", "hear"]).tolist() == [1, 0]


def test_precomputed_kernel():
    X, y = waves()
    K, given = Gaussian(1.5)(X), Precomputed() + White(0.1, "fixed")
    model = fit(GaussianProcessRegressor(given, optimizer=None), K[:40, :40], y[:40])
    plain = fit(GaussianProcessRegressor(Gaussian(1.5), alpha=0.1, optimizer=None), X[:40], y[:40])
    np.testing.assert_allclose(model.predict(K[40:, :40]), plain.predict(X[40:]), rtol=1e-8)


def test_sparse_samples():
    X, y = waves()
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    for make in (lambda: GaussianProcessRegressor(NOISY), lambda: GaussianProcessClassifier(1.0 * Gaussian())):
        target = y if "Regressor" in type(make()).__name__ else y > 0
        dense, thin = fit(make(), X, target), fit(make(), sparse.csr_array(X), target)
        np.testing.assert_allclose(thin.predict(sparse.csr_array(X[:9])), dense.predict(X[:9]), atol=1e-5)
        assert tenfold.certify(thin, sparse.csr_array(X), target).ok


def test_training_samples_may_be_shared():
    X, y = waves()
    assert fit(GaussianProcessRegressor(NOISY, copy_X_train=False), X, y).X_train_ is X
    assert fit(GaussianProcessRegressor(NOISY), X, y).X_train_ is not X
    assert fit(GaussianProcessClassifier(copy_X_train=False), X, y > 0).base_estimator_.X_train_ is X


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_files_of_models(multi_class, tmp_path):
    X, y = waves()
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
    regressor = fit(GaussianProcessRegressor(sk.ConstantKernel() * sk.RBF() + sk.WhiteKernel()), X, y)
    classifier = fit(GaussianProcessClassifier(multi_class=multi_class), X, labels)
    for model, target in ((regressor, y), (classifier, labels)):
        tenfold.save(model, tmp_path / "model")
        again = tenfold.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert tenfold.certify(again, X, target).ok
