"""Kernel canonical correlations: beside a dense generalised eigenproblem, certificates, several views, bad input."""

import numpy as np
import pytest
import scipy.linalg

import tenfold
from tenfold import KernelCCA, certify
from tenfold.judge import kernel_cca as judge
from tenfold.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
A = rng.standard_normal((70, 3))
VIEWS = [A, A[:, :2] ** 2 + 0.5 * rng.standard_normal((70, 2)), A + rng.standard_normal((70, 3))]
KERNEL = Gaussian(1.5)


def matrices(views, kernel=KERNEL):
    H = np.eye(len(views[0])) - 1.0 / len(views[0])
    return [H @ kernel(view) @ H for view in views]


def dense_solution(views, ridge, count):
    """Values and directions of O a = r D a, with a'D a the number of views."""
    K = matrices(views)
    n, m = len(K[0]), len(K)
    O = np.block([[K[i] @ K[j] if i != j else np.zeros((n, n)) for j in range(m)] for i in range(m)])  # noqa: E741
    D = scipy.linalg.block_diag(*(one @ one + ridge * np.eye(n) for one in K))
    values, vectors = scipy.linalg.eigh(0.5 * (O + O.T), D)
    vectors = np.sqrt(m) * vectors[:, ::-1][:, :count]
    return values[::-1][:count], np.split(vectors, m)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 30.0])
def test_beside_a_dense_eigenproblem(m, ridge):
    model = KernelCCA(3, kernel=KERNEL, ridge=ridge).fit(VIEWS[:m])
    values, parts = dense_solution(VIEWS[:m], ridge, 3)
    np.testing.assert_allclose(model.values_, values, rtol=1e-8)
    for own, other, K in zip(model.dual_coefs_, parts, matrices(VIEWS[:m]), strict=True):
        np.testing.assert_allclose(np.abs(K @ own), np.abs(K @ other), atol=1e-6)
    assert model.certificate_.ok
    assert certify(model, VIEWS[:m]).ok
    scores = model.transform(VIEWS[:m])
    np.testing.assert_allclose(judge.mean_correlations(scores), model.correlations_, atol=1e-12)


def test_block_lanczos_of_many_samples():
    X = rng.standard_normal((900, 4))
    views = [X, X + 0.3 * rng.standard_normal(X.shape)]
    model = KernelCCA(2, kernel=KERNEL, ridge=5.0).fit(*views)
    np.testing.assert_allclose(model.values_, dense_solution(views, 5.0, 2)[0], rtol=1e-9)
    assert model.certificate_.ok


def test_proof_by_random_vectors():
    X = rng.standard_normal((700, 1))
    views = [X, np.sin(X)]
    model = KernelCCA(1, kernel="poly", degree=2, ridge=1e3).fit(*views)
    assert model.certificate_.ok
    assert "probability" in model.certificate_.note


def judged(values, coefs, ridge=1.0, views=None, **more):
    views = VIEWS[:2] if views is None else views
    scores = [K @ a for K, a in zip(matrices(views), coefs, strict=True)]
    settings = {"coefs": coefs, "values": values, "correlations": judge.mean_correlations(scores)}
    return judge.kernel_cca([KERNEL] * len(views), views, [ridge] * len(views), **{**settings, **more})


@pytest.mark.parametrize("size", [70, 800])
class TestJudge:
    def solution(self, size):
        X = np.random.default_rng(1).standard_normal((size, 3))
        views = [X, X + 0.5 * np.random.default_rng(2).standard_normal(X.shape)]
        return views, *dense_solution(views, 1.0, 5)

    def test_solution_is_certified_and_a_missing_one_is_found(self, size):
        views, values, parts = self.solution(size)
        assert judged(values, parts, views=views).ok
        for missing in (0, 2, 3):
            kept = np.delete(np.arange(5), missing)
            certificate = judged(values[kept], [a[:, kept] for a in parts], views=views)
            assert not certificate.ok
            assert certificate.note == judge.LEFT_OUT

    def test_direction_that_is_stored_twice_or_changed_is_found(self, size):
        views, values, parts = self.solution(size)
        twice = [0, 0, 1]
        assert not judged(values[twice], [a[:, twice] for a in parts], views=views).ok
        assert not judged(values, [1.001 * a for a in parts], views=views).ok
        assert not judged(values, [parts[0], 1.01 * parts[1]], views=views).ok
        assert not judged(values, parts, ridge=1.01, views=views).ok
        assert not judged(values + 1e-5, parts, views=views).ok


def test_without_a_ridge_nothing_is_certified():
    with pytest.warns(UserWarning, match="no maximum"):
        model = KernelCCA(kernel=KERNEL, ridge=[1.0, 0.0]).fit(*VIEWS[:2])
    assert not certify(model, *VIEWS[:2]).ok
    assert "related" in model.certificate_.explain()


def test_grid_has_the_scores_of_refits():
    X, Y = VIEWS[:2]
    folds = [(np.arange(70)[np.arange(70) % 3 != k], np.arange(70)[np.arange(70) % 3 == k]) for k in range(3)]
    grid = [0.01, 1.0, 100.0]
    model = KernelCCA(2, kernel=KERNEL, ridges=grid, cv=folds).fit(X, Y)
    expected = [
        [KernelCCA(2, kernel=KERNEL, ridge=eta).fit(X[a], Y[a]).score(X[b], Y[b]) for a, b in folds] for eta in grid
    ]
    np.testing.assert_allclose(model.cv_results_["fold_scores"], expected, atol=1e-8)
    assert model.ridge_[0] == grid[int(np.argmax(np.mean(expected, axis=1)))]
    model.ridge_ = np.full(2, grid[0] if model.ridge_[0] != grid[0] else grid[1])
    assert not certify(model, X, Y).ok


def test_kernels_of_each_view_and_given_matrices():
    X, Y = VIEWS[:2]
    model = KernelCCA(2, kernel=[KERNEL, Linear()], ridge=1.0).fit(X, Y)
    given = KernelCCA(2, kernel="precomputed", ridge=1.0).fit(KERNEL(X), Linear()(Y))
    np.testing.assert_allclose(model.values_, given.values_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(X[:4]), given.transform(KERNEL(X[:4], X)), atol=1e-9)
    assert KernelCCA(1, kernel="precomputed", random_state=0).fit(KERNEL(X), Linear()(Y)).certificate_.ok


def test_names_and_shapes():
    X, Y = VIEWS[:2]
    model = KernelCCA(2, ridge=1.0).fit(X, Y[:, 0])
    assert model.transform(X[:5]).shape == (5, 2)
    assert [z.shape for z in model.transform(X[:5], Y[:5, 0])] == [(5, 2), (5, 2)]
    assert model.fit_transform(X, Y[:, 0]).shape == (70, 2)  # as a step of a pipeline
    assert [z.shape for z in model.fit_transform(VIEWS)] == [(70, 2)] * 3
    single = KernelCCA(ridge=1.0).fit(X.astype(np.float32), Y.astype(np.float32))
    assert single.dual_coefs_[0].dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.certificate_.ok


def test_constant_view():
    model = KernelCCA(ridge=1.0).fit(VIEWS[0], np.ones((70, 1)))
    assert model.correlations_[0] == 0.0
    assert model.certificate_.ok


class TestBadInput:
    def test_views_of_different_lengths(self):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            KernelCCA().fit(VIEWS[0], VIEWS[1][:-1])

    def test_one_view(self):
        with pytest.raises(ValueError, match="at least two views"):
            KernelCCA().fit([VIEWS[0]])
        with pytest.raises(ValueError, match="requires y to be passed"):
            KernelCCA().fit(VIEWS[0])

    def test_more_components_than_samples(self):
        with pytest.raises(ValueError, match="at most the number of samples"):
            KernelCCA(71, ridge=1.0).fit(*VIEWS[:2])

    def test_more_components_than_directions(self):
        with pytest.raises(ValueError, match="vary along 2 directions only"):
            KernelCCA(3, kernel="linear", ridge=1.0).fit(A[:, :1], A[:, 1:2])

    def test_wrong_numbers(self):
        with pytest.raises(ValueError, match="one for each of 2 views"):
            KernelCCA(ridge=[1.0, 2.0, 3.0]).fit(*VIEWS[:2])
        with pytest.raises(ValueError, match="ridges must be positive"):
            KernelCCA(ridges=[0.0, 1.0]).fit(*VIEWS[:2])
        with pytest.raises(ValueError, match="3 kernels for 2 views"):
            KernelCCA(kernel=[KERNEL] * 3).fit(*VIEWS[:2])
        model = KernelCCA(ridge=1.0).fit(VIEWS)
        with pytest.raises(ValueError, match="2 views, but KernelCCA is expecting 3"):
            model.transform(VIEWS[:2])

    def test_missing_values(self):
        with pytest.raises(ValueError, match="NaN"):
            KernelCCA().fit(VIEWS[0], np.where(VIEWS[1] > 1.0, np.nan, VIEWS[1]))


def test_file(tmp_path):
    model = KernelCCA(2, random_state=0).fit(VIEWS)
    tenfold.save(model, tmp_path / "model")
    again = tenfold.load(tmp_path / "model")
    for one, other in zip(model.transform(VIEWS), again.transform(VIEWS), strict=True):
        np.testing.assert_array_equal(one, other)
