"""Kernel principal components: routes, certificates on hard data, projections, bad input."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from sklearn.exceptions import NotFittedError

import tenfold
from tenfold import KernelPCA, certify
from tenfold.judge import kernel_pca as judge
from tenfold.kernels import Gaussian, Linear
from tenfold.kernels.centring import CentredKernel
from tenfold.plans import kernel_pca as plan

rng = np.random.default_rng(0)
N = 1100
MANY = rng.standard_normal((N, 6)) * np.linspace(2.0, 0.5, 6)
KERNEL = Gaussian(2.0)


def centred(X, kernel=KERNEL, center=True):
    """The matrix by its definition."""
    K = kernel(X)
    H = np.eye(len(X)) - 1.0 / len(X) if center else np.eye(len(X))
    return H @ K @ H


def top(X, k, **more):
    values, vectors = scipy.linalg.eigh(centred(X, **more))
    return values[::-1][:k], np.ascontiguousarray(vectors[:, ::-1][:, :k].T)


@pytest.fixture(scope="module")
def exact():
    return top(MANY, 10)


@pytest.mark.parametrize("center", [True, False])
def test_products_of_a_centred_kernel(center):
    X, V = MANY[:50], rng.standard_normal((3, 50))
    C, expected = CentredKernel(KERNEL, X, center), centred(X, center=center)
    np.testing.assert_allclose(C.apply(V), V @ expected, atol=1e-12)
    np.testing.assert_allclose(C.diagonal(), np.diag(expected), atol=1e-13)
    np.testing.assert_allclose(C.dense(), expected, atol=1e-13)
    np.testing.assert_allclose(C.in_float32().apply(V), V @ expected, atol=1e-4)


@pytest.mark.parametrize("center", [True, False])
def test_block_lanczos_without_a_matrix_in_float64(center, monkeypatch):
    monkeypatch.setattr(CentredKernel, "dense", lambda self: pytest.fail("a dense matrix was formed"))
    model = KernelPCA(5, kernel=KERNEL, center=center).fit(MANY)
    values, vectors = top(MANY, 5, center=center)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-10)
    assert np.abs(np.abs(vectors @ model.eigenvectors_) - np.eye(5)).max() < 1e-6
    assert model.method_ == "block Lanczos in float32, corrected in float64"
    assert model.certificate_.ok
    assert "probability" in model.certificate_.note


def test_block_lanczos_in_float64_where_float32_does_not_suffice(exact):
    C = CentredKernel(KERNEL, MANY)
    found = plan._lanczos(C, 10, 300, np.random.RandomState(0), in_float32=False, tol=0.0)
    np.testing.assert_allclose(found.values, exact[0], rtol=1e-12)
    wide = 1e3 * MANY[:600] + 1e4  # a polynomial that has lost its small eigenvalues to float32
    model = KernelPCA(4, kernel="poly", degree=2, gamma=1e-6, coef0=1e3).fit(wide)
    assert model.certificate_.ok


def test_few_iterations_are_not_certified():
    with pytest.warns(UserWarning, match="iteration limit"):
        model = KernelPCA(10, kernel=Gaussian(0.5), max_iter=1, eigen_solver="arpack").fit(MANY)
    assert not model.certificate_.ok


def judged(values, vectors, X=MANY, most=None, **more):
    settings = {"values": values, "vectors": vectors, "most": len(values) if most is None else most, "fewer": False}
    return judge.kernel_components(more.pop("kernel", KERNEL), X, **{**settings, **more})


class TestJudge:
    @pytest.mark.parametrize("n", [300, N])
    def test_exact_components_are_certified(self, n):
        assert judged(*top(MANY[:n], 6), X=MANY[:n]).ok

    @pytest.mark.parametrize("n", [300, N])
    def test_missing_pair_is_found(self, n):
        values, vectors = top(MANY[:n], 7)
        for missing in (0, 3, 5):
            kept = np.delete(np.arange(7), missing)
            certificate = judged(values[kept], vectors[kept], X=MANY[:n])
            assert not certificate.ok
            assert certificate.note == judge.LEFT_OUT

    @pytest.mark.parametrize("n", [300, N])
    def test_pair_that_is_stored_twice_is_found(self, n):
        values, vectors = top(MANY[:n], 6)
        twice = [0, 0, 1, 2, 3, 4]
        certificate = judged(values[twice], vectors[twice], X=MANY[:n])
        assert not certificate.ok
        assert certificate.parts[0] < 1e-10  # whose residuals are perfect

    def test_vectors_that_are_rotated_or_of_another_length_are_found(self, exact):
        values, vectors = exact
        turned = vectors.copy()
        c, s = np.cos(1e-3), np.sin(1e-3)
        turned[[0, 5]] = [c * vectors[0] + s * vectors[5], c * vectors[5] - s * vectors[0]]
        for worse in (turned, 1.001 * vectors, vectors[::-1].copy()):
            assert not judged(values, worse).ok

    def test_vectors_of_the_uncentred_matrix_are_found(self):
        assert not judged(*top(MANY, 4, center=False)).ok
        assert judged(*top(MANY, 4, center=False), center=False).ok

    def test_wrong_number_is_found(self, exact):
        values, vectors = exact
        assert judged(values, vectors, most=11).note == judge.WRONG_COUNT
        assert judged(values, vectors, most=11, fewer=True).note == judge.LEFT_OUT
        assert judged(values[::-1].copy(), vectors[::-1].copy()).note == judge.UNORDERED

    def test_vectors_beside_are_not_trusted(self, exact):
        values, vectors = top(MANY, 11)
        kept = np.delete(np.arange(11), 2)
        for beside in (vectors[[2]], vectors[:5], rng.standard_normal((4, N)), np.full((2, N), np.nan)):
            assert not judged(values[kept], vectors[kept], beside=beside).ok
            assert judged(values, vectors, beside=beside).ok

    def test_equal_eigenvalues_at_the_edge(self):
        """Two pairs of equal samples: the last component and the next have equal eigenvalues."""
        X = np.repeat(1e3 * np.eye(6), 2, axis=0)
        values, vectors = top(X, 5)
        assert np.ptp(values) < 1e-10
        assert judged(values[:3], vectors[:3], X=X).ok

    def test_excess_is_below_the_number(self, exact):
        """The captured sum is at most the residual's bound below the best one."""
        values, vectors = exact
        for size in (1e-9, 1e-7, 1e-5):
            moved = vectors + size * rng.standard_normal(vectors.shape) / np.sqrt(N)
            moved = np.ascontiguousarray(np.linalg.qr(moved.T)[0].T)
            C = centred(MANY)
            quotients = np.einsum("kn,kn->k", moved, moved @ C)
            certificate = judged(quotients, moved)
            assert certificate.ok == (max(certificate.parts) <= certificate.allowed)
            assert np.sum(values) - np.sum(quotients) <= 10 * max(certificate.parts[0], 1e-14) * values[0]


HARD = {
    "equal samples": np.ones((40, 3)),
    "one sample": np.ones((1, 3)),
    "two samples": np.array([[0.0, 1.0], [1.0, 0.0]]),
    "duplicates": np.repeat(rng.standard_normal((10, 3)), 4, axis=0),
    "constant feature": np.column_stack([MANY[:50, 0], np.ones(50)]),
    "large": MANY[:50] * 1e8,
    "small": MANY[:50] * 1e-8,
    "one feature": MANY[:50, :1],
}


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("count", [None, 2])
def test_hard_data(name, kernel, count):
    X = HARD[name]
    model = KernelPCA(count, kernel=kernel).fit(X)
    assert model.certificate_.ok, model.certificate_.explain()
    assert np.isfinite(model.transform(X)).all()
    assert certify(model, X).ok


def test_precision_that_centring_lost_is_not_certified():
    """Products of 1e12 with differences of one: what is left is known to one part in a thousand at best."""
    X = MANY[:50] + 1e6
    with pytest.warns(UserWarning, match="Not judged in this precision"):
        model = KernelPCA(2).fit(X)
    assert not model.certificate_.ok
    assert KernelPCA(2, kernel="rbf").fit(X).certificate_.ok  # which sees differences


def test_more_components_than_eigenvalues():
    X = MANY[:, :3]  # of rank three
    model = KernelPCA(6).fit(X)
    assert (model.eigenvalues_[3:] == 0.0).all()
    assert (model.transform(X)[:, 3:] == 0.0).all()
    assert KernelPCA(6, remove_zero_eig=True).fit(X).eigenvalues_.shape == (3,)
    assert KernelPCA().fit(X[:200]).eigenvalues_.shape == (3,)


def test_projection_without_the_sample_itself():
    X, k = MANY[:30], 3
    model = KernelPCA(k, kernel=KERNEL).fit(X)
    C, A = centred(X), model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    expected = [sum(C[j, i] * A[i] for i in range(30) if i != j) for j in range(30)]
    np.testing.assert_allclose(model.leave_self_out(), expected, atol=1e-12)


def test_without_centring():
    X = MANY[:40]
    model = KernelPCA(3, kernel=KERNEL, center=False).fit(X)
    A = model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    np.testing.assert_allclose(model.transform(X[:5] + 0.1), KERNEL(X[:5] + 0.1, X) @ A, atol=1e-12)
    assert certify(model, X).ok


def test_denoising_moves_samples_towards_the_curve():
    angle = rng.uniform(0.0, 2.0 * np.pi, 300)
    clean = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy = clean + 0.15 * rng.standard_normal(clean.shape)
    model = KernelPCA(3, kernel="rbf", gamma=1.0, fit_inverse_transform=True, alpha=0.1).fit(noisy)
    denoised = model.denoise(noisy)
    assert np.std(np.linalg.norm(denoised, axis=1)) < 0.4 * np.std(np.linalg.norm(noisy, axis=1))
    assert np.linalg.norm(denoised - clean) < 0.85 * np.linalg.norm(noisy - clean)


def test_changed_pre_images_are_not_certified():
    model = KernelPCA(3, kernel=KERNEL, fit_inverse_transform=True).fit(MANY[:60])
    assert certify(model, MANY[:60]).ok
    assert "pre-images" in certify(model, MANY[:60]).note
    model.dual_coef_ = model.dual_coef_ * (1.0 + 1e-5)
    assert not certify(model, MANY[:60]).ok


def test_private_offset_is_compared():
    model = KernelPCA(2, kernel=KERNEL).fit(MANY[:60])
    model._offset = model._offset + 1e-3
    assert not certify(model, MANY[:60]).ok


def test_other_samples_are_not_certified():
    model = KernelPCA(2, kernel=KERNEL).fit(MANY[:60])
    assert not certify(model, MANY[:60] + 1e-9).ok
    with pytest.raises(ValueError, match="the samples of their fit"):
        certify(model, MANY[:50])


def test_unbounded_limit_of_a_changed_certificate():
    """A certificate that is not ok is never made ok by joining it."""
    good = KernelPCA(2, kernel=KERNEL).fit(MANY[:60]).certificate_
    assert judge.join_certificates(good, good).ok
    assert not judge.join_certificates(replace(good, value=np.inf), good).ok
    assert not judge.join_certificates(good, replace(good, value=np.inf)).ok


class TestBadInput:
    def test_no_inverse(self):
        model = KernelPCA(2).fit(MANY[:20])
        with pytest.raises(NotFittedError, match="fit_inverse_transform parameter was not set"):
            model.inverse_transform(MANY[:3, :2])

    def test_inverse_of_a_given_matrix(self):
        with pytest.raises(ValueError, match="Cannot fit_inverse_transform with a precomputed kernel"):
            KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(MANY[:5] @ MANY[:5].T)

    def test_kernel_with_negative_eigenvalues(self):
        K = -np.eye(6) + 0.1
        with pytest.raises(ValueError, match="significant negative eigenvalues"):
            KernelPCA(kernel="precomputed").fit(K)

    def test_leading_components_of_an_indefinite_kernel(self):
        model = KernelPCA(2, kernel="sigmoid", gamma=0.1, coef0=0.0).fit(MANY[:60])
        assert model.certificate_.ok
        assert model.certificate_.lower_bound is None

    def test_matrix_that_is_not_symmetric(self):
        with pytest.raises(ValueError, match="symmetric"):
            KernelPCA(kernel="precomputed").fit(np.triu(np.ones((4, 4))))

    def test_missing_values(self):
        X = MANY[:20].copy()
        X[3, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            KernelPCA(2).fit(X)

    @pytest.mark.parametrize(
        "settings", [{"n_components": 0}, {"gamma": -1.0}, {"eigen_solver": "qr"}, {"alpha": -1.0}, {"kernel": "none"}]
    )
    def test_parameters(self, settings):
        with pytest.raises(ValueError, match="KernelPCA"):
            KernelPCA(**settings).fit(MANY[:20])

    def test_failed_fit_keeps_the_model(self):
        model = KernelPCA(2).fit(MANY[:20])
        before = model.eigenvalues_
        with warnings.catch_warnings(), pytest.raises(ValueError, match="NaN"):
            model.fit(np.full((5, 3), np.nan))
        assert model.eigenvalues_ is before


def test_copy_of_the_samples():
    X = MANY[:20].copy()
    kept, shared = KernelPCA(2).fit(X), KernelPCA(2, copy_X=False).fit(X)
    assert kept.X_fit_ is not X
    assert shared.X_fit_ is X


def test_result_does_not_depend_on_the_seed():
    models = [KernelPCA(3, kernel=KERNEL, random_state=seed).fit(MANY) for seed in (0, 1)]
    np.testing.assert_allclose(models[0].eigenvalues_, models[1].eigenvalues_, rtol=1e-10)
    again = KernelPCA(3, kernel=KERNEL, random_state=0).fit(MANY)
    np.testing.assert_array_equal(models[0].eigenvectors_, again.eigenvectors_)


def test_linear_kernel_is_centred_as_features_are():
    """Welling 12.1: kernels of centred features."""
    X = MANY[:40] + 3.0
    np.testing.assert_allclose(centred(X, Linear()), (X - X.mean(0)) @ (X - X.mean(0)).T, atol=1e-10)
    model = KernelPCA(3).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, tenfold.PCA(3).fit(X).singular_values_ ** 2, rtol=1e-10)


@pytest.mark.parametrize("count", [60, 450])
def test_many_equal_eigenvalues(count):
    """Samples far apart: the kernel matrix is the identity, some of whose eigenvalues LAPACK does not find by index."""
    far = 1e4 * np.arange(count)[:, None]
    model = KernelPCA(1, kernel="rbf", eigen_solver="dense").fit(far)
    np.testing.assert_allclose(model.eigenvalues_, [1.0])
    assert certify(model, far).ok
