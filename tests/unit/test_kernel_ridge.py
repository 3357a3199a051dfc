"""Kernel ridge: what its certificate says and refuses, hard data, how it is solved, intervals and bad input."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from sklearn import kernel_ridge as theirs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import tenfold
from tenfold import machine
from tenfold.cross_validation.kernel_ridge import KernelPath, Samples
from tenfold.cross_validation.ridge_kfold import Split
from tenfold.kernels import Gaussian, Linear, Precomputed
from tenfold.linear_algebra import factor_in_place, gram_of_rows, product, solve_positive
from tenfold.solvers import kernel_system

rng = np.random.default_rng(0)
N = 80
X = rng.standard_normal((N, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2 - 0.5])
WEIGHT = np.where(np.arange(N) % 7 == 0, 0.0, rng.uniform(0.2, 2.0, N))


def matrix(X, Z=None, gamma=0.3):
    Z = X if Z is None else Z
    return np.exp(-gamma * np.sum((X[:, None] - Z) ** 2, axis=2))


def best(K, Y, weight, alpha):
    """The exact coefficients, by a solve of the samples of positive weight."""
    inside = np.flatnonzero(weight > 0.0)
    c = np.zeros(Y.shape)
    A = K[np.ix_(inside, inside)] + np.diag(alpha / weight[inside])
    c[inside] = cho_solve(cho_factor(A), Y[inside])
    return c


def objective(K, Y, weight, alpha, c):
    f = K @ c
    return 0.5 * np.sum(weight[:, None] * (Y - f) ** 2) + 0.5 * alpha * np.sum(c * f)


@pytest.mark.parametrize("weight", [np.ones(N), WEIGHT], ids=["plain", "weights"])
@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("error", [1e-9, 1e-4, 1e-1])
def test_number_bounds_what_a_worse_model_loses(alpha, weight, error):
    K = matrix(X)
    model = tenfold.KernelRidge(alpha, kernel="rbf", gamma=0.3).fit(X, Y, weight)
    exact = best(K, Y, weight, alpha)
    model.dual_coef_ = exact * (1.0 + error * np.random.default_rng(1).standard_normal(exact.shape))
    certificate = tenfold.certify(model, X, Y, weight)
    s = np.sqrt(weight)[:, None]
    inside = weight > 0.0
    rho = s[inside] * (Y - K @ model.dual_coef_)[inside] - alpha * model.dual_coef_[inside] / s[inside]
    parts = np.linalg.norm(rho, axis=0) / np.linalg.norm(s * Y, axis=0)
    np.testing.assert_allclose(certificate.parts, parts, rtol=1e-4, atol=certificate.floor + 1e-12)
    assert certificate.ok == bool(np.all(parts <= 1e-6))
    value, least = (objective(K, Y, weight, alpha, c) for c in (model.dual_coef_, exact))
    np.testing.assert_allclose(certificate.objective, value, rtol=1e-9)
    assert certificate.lower_bound <= least * (1.0 + 1e-12)
    difference = model.dual_coef_ - exact
    distance = np.sqrt(np.maximum(np.sum(difference * (K @ difference), axis=0), 0.0))
    assert certificate.radius >= np.max(distance)


def test_garbage_at_small_alpha_is_refused():
    """Of a system with alpha = 1e-10 a residual relative to ||K|| ||c|| accepts coefficients that fit nothing."""
    alpha, K = 1e-10, matrix(X, gamma=0.01)
    model = tenfold.KernelRidge(1e-3, kernel="rbf", gamma=0.01).fit(X, Y[:, 0])
    model.alpha = alpha
    model.dual_coef_ = rng.standard_normal(N) * 1e6
    residual = Y[:, 0] - K @ model.dual_coef_ - alpha * model.dual_coef_
    assert not tenfold.certify(model, X, Y[:, 0]).ok
    assert np.linalg.norm(residual) > np.linalg.norm(Y[:, 0])
    model.dual_coef_ = np.zeros(N)
    assert tenfold.certify(model, X, Y[:, 0]).value == pytest.approx(1.0)


def test_rounding_beyond_a_ten_thousandth_is_not_ok():
    Z = np.repeat(X, 2, axis=0)
    y = np.tile([1.0, -1.0], N)  # two targets at each place
    with pytest.warns(ConvergenceWarning, match="residual of the system"):
        model = tenfold.KernelRidge(1e-15, kernel="rbf", gamma=0.3).fit(Z, y)
    assert not model.certificate_.ok


def test_duplicates_without_a_penalty_have_the_solution_of_least_norm():
    Z, y = np.vstack([X, X[:5]]), np.concatenate([Y[:, 0], Y[:5, 0] + 1.0])
    model = tenfold.KernelRidge(0.0, kernel="rbf", gamma=3.0).fit(Z, y)
    assert model.certificate_.ok
    assert "singular" in model.certificate_.note
    np.testing.assert_allclose(model.dual_coef_, np.linalg.pinv(matrix(Z, gamma=3.0)) @ y, rtol=1e-6, atol=1e-7)
    model.dual_coef_ = model.dual_coef_ * 1.001
    assert not tenfold.certify(model, Z, y).ok


def test_a_ridge_is_no_interpolation():
    """Without a penalty what is left must be in the null space of the matrix, not only small there."""
    K = matrix(X, gamma=0.05)
    model = tenfold.KernelRidge(0.0, kernel="rbf", gamma=3.0).fit(X, Y[:, 0])
    assert model.certificate_.ok
    model.gamma, model.kernel_ = 0.05, Gaussian(np.sqrt(0.5 / 0.05))
    model.dual_coef_ = np.linalg.solve(K + 1e-5 * np.linalg.norm(K, 2) * np.eye(N), Y[:, 0])
    assert not tenfold.certify(model, X, Y[:, 0]).ok


def test_samples_of_weight_zero_have_no_coefficients():
    model = tenfold.KernelRidge(0.1, kernel="rbf").fit(X, Y, WEIGHT)
    assert np.all(model.dual_coef_[WEIGHT == 0.0] == 0.0)
    model.dual_coef_ = model.dual_coef_ + (WEIGHT == 0.0)[:, None] * 1e-9
    assert not tenfold.certify(model, X, Y, WEIGHT).ok


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_decided_is_where_no_exact_fit_differs(scale):
    labels = X[:, 0] > 0.0
    model = tenfold.KernelRidgeClassifier(0.1, gamma=0.3).fit(X, labels)
    exact = model.dual_coef_.copy()
    queries = np.vstack([X, [[0.0, 0.1, 0.2]]])
    model.dual_coef_ = exact + 1e-7 * np.random.default_rng(2).standard_normal(exact.shape)
    certificate = tenfold.certify(model, X, labels)
    decided = certificate.decided(queries)
    signs = [matrix(queries, X) @ c > 0.0 for c in (model.dual_coef_, exact)]
    assert np.array_equal(signs[0][decided], signs[1][decided])
    assert decided.mean() > 0.9
    again = pickle.loads(pickle.dumps(certificate))
    assert np.array_equal(again.decided(queries), decided)


@pytest.mark.parametrize("factor", [1e-10, 1e-3, 1.0, 1e3, 1e10])
def test_any_width_is_certified(factor):
    for settings in ({"gamma": factor}, {"kernel": Gaussian(factor)}):
        model = tenfold.KernelRidge(1e-3, **{"kernel": "rbf", **settings}).fit(X, Y)
        assert model.certificate_.ok
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("name", "data"),
    {
        "constant targets": (X, np.full(N, 3.0)),
        "zero targets": (X, np.zeros(N)),
        "offset": (X + 1e6, Y[:, 0]),
        "large": (X * 1e8, Y[:, 0] * 1e12),
        "small": (X * 1e-8, Y[:, 0] * 1e-12),
        "constant column": (np.column_stack([X, np.ones(N)]), Y[:, 0]),
        "empty column": (np.column_stack([X, np.zeros(N)]), Y[:, 0]),
        "equal samples": (np.ones((N, 3)), Y[:, 0]),
        "one sample": (X[:1], Y[:1, 0]),
    }.items(),
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_hard_data_are_certified(name, data, kernel):
    Z, y = data
    model = tenfold.KernelRidge(1e-2, kernel=kernel).fit(Z, y)
    assert model.certificate_.ok
    other = theirs.KernelRidge(alpha=1e-2, kernel=kernel).fit(Z, y)
    cancels = kernel == "rbf" and name in ("offset", "large")  # scikit-learn's distances, by products far from zero
    assert tenfold.certify(other, Z, y).ok is not cancels


def test_float32_is_kept_where_it_is_certified():
    Z = X.astype(np.float32)
    model = tenfold.KernelRidge(1.0, kernel="rbf").fit(Z, Y)
    assert model.dual_coef_.dtype == model.predict(Z).dtype == np.float32
    assert model.certificate_.ok
    close = tenfold.KernelRidge(1e-7, kernel="rbf", gamma=0.01).fit(Z, Y)
    assert close.dual_coef_.dtype == np.float64
    assert close.certificate_.ok


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
@pytest.mark.parametrize("alpha", [[0.1, 1.0], 1.0])
def test_factors_in_float32_are_corrected(monkeypatch, alpha, weight):
    plain = tenfold.KernelRidge(alpha, kernel="rbf").fit(X, Y, weight)
    assert plain.method_ == "Cholesky"
    monkeypatch.setattr(kernel_system, "MIN_SINGLE", 1)
    single = tenfold.KernelRidge(alpha, kernel="rbf").fit(X, Y, weight)
    assert single.method_ == "Cholesky in float32, corrected in float64"
    np.testing.assert_allclose(single.dual_coef_, plain.dual_coef_, rtol=1e-11, atol=1e-12)
    far = tenfold.KernelRidge(1e-8, kernel="rbf", gamma=0.01).fit(X, Y, weight)
    assert far.method_ == "Cholesky"  # in float32 nothing is left of so small an alpha


def test_given_matrices_and_functions_are_evaluated_once(monkeypatch):
    monkeypatch.setattr(kernel_system, "MIN_SINGLE", 1)
    calls = []

    def function(x, z):
        calls.append(1)
        return float(x @ z + 1.0)

    tenfold.KernelRidge(kernel=function).fit(X, Y)
    assert len(calls) <= 5 * N * N
    K = X @ X.T + 1.0
    kept = K.copy()
    tenfold.KernelRidge(kernel="precomputed").fit(K, Y, WEIGHT)
    assert np.array_equal(K, kept)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [30, 800, 1300])
def test_factor_in_place(n, dtype, monkeypatch):
    A = rng.standard_normal((n, 40)).astype(dtype)
    A = np.asfortranarray(A @ A.T + n * np.eye(n, dtype=dtype))
    whole = np.linalg.cholesky(A.astype(np.float64))
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(machine.one_blas_thread, "threads", lambda threads=threads: threads)
        L = A.copy(order="F")
        assert factor_in_place(L)
        results.append(np.tril(L))
    np.testing.assert_allclose(results[0], whole, rtol=1e3 * np.finfo(dtype).eps, atol=1e3 * np.finfo(dtype).eps)
    assert all(np.array_equal(results[0], other) for other in results)
    A[n // 2, n // 2] = -1.0
    assert not factor_in_place(A)


def test_products_of_blas():
    A, B = rng.standard_normal((5, 7)), rng.standard_normal((7, 3))
    for left in (A, np.asfortranarray(A)):
        for right in (B, np.asfortranarray(B)):
            np.testing.assert_allclose(product(left, right), A @ B, rtol=1e-13)
    assert product(A[:0], B).shape == (0, 3)
    np.testing.assert_allclose(np.tril(gram_of_rows(A)), np.tril(A @ A.T), rtol=1e-13)
    M = A @ A.T
    np.testing.assert_allclose(solve_positive(gram_of_rows(A), A[:, :2]), np.linalg.solve(M, A[:, :2]), rtol=1e-8)
    assert solve_positive(np.asfortranarray(-M), A[:, :2]) is None


def test_predictions_never_form_all_pairs(monkeypatch):
    model = tenfold.KernelRidge(0.1, kernel="rbf").fit(X, Y)
    expected = model.predict(X)
    monkeypatch.setattr(type(model.kernel_), "block", None)
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_intervals_are_those_of_refits(weight):
    model = tenfold.KernelRidge(0.1, kernel="rbf", gamma=0.3).fit(X, Y[:, 0], weight)
    queries, used = rng.standard_normal((4, 3)), np.arange(N) if weight is None else np.flatnonzero(weight)
    low, high = [], []
    for i in used:
        rest = np.delete(np.arange(N), i)
        one = theirs.KernelRidge(alpha=0.1, kernel="rbf", gamma=0.3)
        one.fit(X[rest], Y[rest, 0], None if weight is None else weight[rest])
        size = abs(one.predict(X[[i]])[0] - Y[i, 0])
        low.append(one.predict(queries) - size)
        high.append(one.predict(queries) + size)
    rank = int(np.ceil(0.9 * (len(used) + 1)))
    expected = np.column_stack([-np.sort(-np.array(low), axis=0)[rank - 1], np.sort(high, axis=0)[rank - 1]])
    np.testing.assert_allclose(model.predict_interval(queries, 0.9), expected, rtol=1e-9)
    several = tenfold.KernelRidge(0.1, kernel="rbf", gamma=0.3).fit(X, Y, weight)
    np.testing.assert_allclose(several.predict_interval(queries)[:, 0], expected, rtol=1e-9)
    assert np.isinf(tenfold.KernelRidge().fit(X[:3], Y[:3, 0]).predict_interval(queries)).all()


def test_intervals_of_given_matrices_and_sparse_samples():
    Z = np.where(np.abs(X) > 0.5, X, 0.0)
    plain = tenfold.KernelRidgeCV([0.1], gammas=[0.3]).fit(Z, Y[:, 0], WEIGHT).predict_interval(Z[:4])
    thin = tenfold.KernelRidgeCV([0.1], gammas=[0.3]).fit(sparse.csr_array(Z), Y[:, 0], WEIGHT)
    np.testing.assert_allclose(thin.predict_interval(sparse.csr_array(Z[:4])), plain, rtol=1e-9)
    K = matrix(Z)
    given = tenfold.KernelRidgeCV([0.1], kernel="precomputed").fit(K, Y[:, 0], WEIGHT)
    np.testing.assert_allclose(given.predict_interval(K[:4]), plain, rtol=1e-9)


def test_equal_scores_go_to_the_larger_alpha():
    model = tenfold.KernelRidgeCV([0.1, 10.0, 1.0], gammas=[0.1, 1.0]).fit(X, np.zeros(N))
    assert (model.alpha_, model.gamma_) == (10.0, 0.1)
    labels = X[:, 0] > 0.0
    chosen = tenfold.KernelRidgeClassifierCV([1e-3, 1e-1, 1.0], kernel="linear", cv=3).fit(X, labels)
    scores = chosen.cv_results_["mean_test_score"]
    assert chosen.alpha_ == max(chosen.alphas_[scores == scores.max()])


def test_errors_against_refits_are_stated():
    model = tenfold.KernelRidgeCV([1e-12, 1e-3], kernel="linear").fit(X, Y[:, 0])
    largest = np.linalg.eigvalsh(X @ X.T)[-1]
    expected = [1e-15 * (largest + 1e-12) / 1e-12, 1e-8]
    np.testing.assert_allclose(model.cv_results_["relative_error"], expected, rtol=1e-6)


def test_kernels_to_choose_from():
    model = tenfold.KernelRidgeCV([0.1], kernel=[Linear(), "rbf", Gaussian(1.0)]).fit(X, Y[:, 0])
    assert model.gamma_ is None
    assert model.kernel_ in (Gaussian(1.0), Gaussian(np.sqrt(1.5)))
    assert tenfold.certify(model, X, Y[:, 0]).ok
    named = tenfold.KernelRidgeCV([0.1]).fit(X, Y[:, 0])
    assert len(named.gammas_) == 10


def test_a_choice_that_is_not_the_best_is_refused():
    model = tenfold.KernelRidgeCV([0.1, 1.0], gammas=[0.3]).fit(X, Y[:, 0])
    other = tenfold.KernelRidgeCV([0.1, 1.0], gammas=[0.3]).fit(X, Y[:, 0])
    worse = 1.0 if model.alpha_ == 0.1 else 0.1
    fixed = tenfold.KernelRidge(worse, kernel="rbf", gamma=0.3).fit(X, Y[:, 0])
    other.dual_coef_, other.alpha_ = fixed.dual_coef_, worse
    assert "best of cv_results_" in tenfold.certify(other, X, Y[:, 0]).note
    table = other.cv_results_["mean_test_score"]
    table[:] = table[::-1]
    other.best_score_ = float(table.max())
    assert "leave-one-out errors" in tenfold.certify(other, X, Y[:, 0]).note


NEGATIVE = np.array([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("settings", "data", "words"),
    [
        ({"kernel": "precomputed"}, (NEGATIVE, [1.0, 2.0]), r"not positive semidefinite: an eigenvalue is -1"),
        ({"kernel": "precomputed"}, (np.array([[1.0, 0.5], [0.0, 1.0]]), [1.0, 2.0]), r"symmetric: K\[0, 1\] = 0.5"),
        ({"kernel": "precomputed"}, (np.ones((2, 3)), [1.0, 2.0]), r"square, got an array of shape \(2, 3\)"),
        ({"kernel": "sigmoid", "coef0": -1}, (X, Y), "an eigenvalue is -"),
        ({"kernel": "unknown"}, (X, Y), "The 'kernel' parameter of KernelRidge must be"),
        ({"alpha": -1.0}, (X, Y), "The 'alpha' parameter of KernelRidge must be"),
        ({"alpha": [1.0, 2.0, 3.0]}, (X, Y), "Number of targets and number of penalties do not correspond: 3 != 2"),
        ({"alpha": [1.0, np.nan]}, (X, Y), "alpha must be finite"),
        ({"gamma": -1.0}, (X, Y), "The 'gamma' parameter of KernelRidge must be"),
        ({}, (np.where(X > 2.0, np.nan, X), Y), "Input X contains NaN"),
        ({}, (X, np.where(Y > 0.9, np.inf, Y)), "Input y contains infinity"),
        ({"kernel": Gaussian([1.0, 1.0])}, (X, Y), "same number of dimensions"),
    ],
)
def test_bad_input_raises(settings, data, words):
    with pytest.raises(ValueError, match=words):
        tenfold.KernelRidge(**settings).fit(*data)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alphas": []}, "alphas must hold at least one number"),
        ({"alphas": [0.0]}, "alphas == 0.0, must be > 0"),
        ({"gammas": [0.1], "kernel": "linear"}, "gammas are those of kernels by name"),
        ({"gammas": []}, "gammas must hold at least one number"),
        ({"kernel": []}, "kernel must hold at least one kernel"),
        ({"scoring": "unknown"}, "The 'scoring' parameter"),
        ({"cv": 1}, "The 'cv' parameter"),
    ],
)
def test_bad_candidates_raise(settings, words):
    with pytest.raises(ValueError, match=words):
        tenfold.KernelRidgeCV(**settings).fit(X, Y)


def test_a_matrix_that_does_not_fit_is_refused_before_it_starts(monkeypatch):
    Z = np.zeros((100_000, 1))
    monkeypatch.setattr(machine, "available_memory", lambda: 1 << 30)
    evaluated = []
    monkeypatch.setattr(Gaussian, "_image", lambda self, X: evaluated.append(1))
    for model, size in ((tenfold.KernelRidge(kernel="rbf"), "40,000,000,000"), (tenfold.KernelRidgeCV(), "bytes")):
        with pytest.raises(MemoryError, match=rf"{size}.*Nystroem"):
            model.fit(Z, np.zeros(100_000))
    assert not evaluated


def test_sources_that_are_not_read_name_what_to_do():
    with pytest.raises(TypeError, match=r"does not read Parquet.*all pairs of samples: load the samples"):
        tenfold.KernelRidge().fit(tenfold.rows([(X, Y[:, 0])]))


def test_parameters_of_a_fitted_model_do_not_change_it():
    kernel = Gaussian(1.0)
    model = tenfold.KernelRidge(0.1, kernel=kernel).fit(X, Y)
    before = model.predict(X)
    kernel.set_params(length_scale=5.0)
    np.testing.assert_array_equal(model.predict(X), before)
    assert "kernel_ is" in tenfold.certify(model, X, Y).note
    assert model.kernel_ == Gaussian(1.0)


def test_samples_that_differ_are_said():
    model = tenfold.KernelRidge(0.1, kernel="rbf").fit(X, Y)
    model.X_fit_ = X + 1e-12
    assert "X_fit_" in tenfold.certify(model, X, Y).note
    with pytest.raises(ValueError, match="judged on the samples of its fit"):
        tenfold.certify(model, X[:5], Y[:5])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_of_another_library(dtype):
    xp = pytest.importorskip("array_api_strict")
    Z = X.astype(dtype)
    for cls, settings in (
        (tenfold.KernelRidge, {"kernel": "rbf", "alpha": [0.1, 1.0]}),
        (tenfold.KernelRidge, {"kernel": "rbf", "alpha": 0.0, "gamma": 3.0}),
        (tenfold.KernelRidgeCV, {"gammas": [0.1, 1.0]}),
        (tenfold.KernelRidgeCV, {"gammas": [0.1, 1.0], "cv": 3}),
    ):
        here = cls(**settings).fit(Z, Y, WEIGHT)
        there = cls(**settings).fit(xp.asarray(Z), xp.asarray(Y), xp.asarray(WEIGHT))
        assert hasattr(there.dual_coef_, "__array_namespace__")
        np.testing.assert_allclose(np.asarray(there.predict(xp.asarray(Z))), here.predict(Z), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(there.predict(Z), here.predict(Z), rtol=1e-4, atol=1e-5)
        assert tenfold.certify(there, xp.asarray(Z), xp.asarray(Y), xp.asarray(WEIGHT)).ok


def test_one_class_and_labels_of_several():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = tenfold.KernelRidgeClassifier().fit(X, np.zeros(N, dtype=int))
    assert np.all(one.predict(X) == 0)
    several = np.column_stack([X[:, 0] > 0.0, X[:, 1] > 0.0]).astype(int)
    model = tenfold.KernelRidgeClassifierCV([0.1]).fit(X, several)
    assert model.predict(X).shape == several.shape
    assert tenfold.certify(model, X, several).ok


def test_folds_without_a_class():
    labels = np.repeat(["ant", "bee", "cat"], [70, 8, 2])
    cv = [(np.arange(70), np.arange(70, N)), (np.arange(75), np.arange(75, N))]
    model = tenfold.KernelRidgeClassifierCV([0.1], gammas=[0.3], cv=cv).fit(X, labels)
    assert model.cv_results_["split0_test_score"][0] == 0.0


def test_precomputed_is_a_kernel_object_too():
    K = matrix(X)
    ours = tenfold.KernelRidge(kernel=Precomputed()).fit(K, Y)
    np.testing.assert_array_equal(ours.dual_coef_, tenfold.KernelRidge(kernel="precomputed").fit(K, Y).dual_coef_)


def solve_exactly(K, Y, weight, alpha):
    """The coefficients in long double, by Cholesky; None where rounding of the matrix leaves no factor."""
    inside = np.flatnonzero(weight > 0.0)
    A = K[np.ix_(inside, inside)].astype(np.longdouble) + np.diag(np.longdouble(alpha) / weight[inside])
    b, L, n = Y[inside].astype(np.longdouble), np.zeros_like(A), len(inside)
    for j in range(n):
        pivot = A[j, j] - L[j, :j] @ L[j, :j]
        if not pivot > 0.0:
            return None
        L[j, j] = np.sqrt(pivot)
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    for j in range(n):
        b[j] = (b[j] - L[j, :j] @ b[:j]) / L[j, j]
    for j in reversed(range(n)):
        b[j] = (b[j] - L[j + 1 :, j] @ b[j + 1 :]) / L[j, j]
    c = np.zeros(Y.shape, dtype=np.longdouble)
    c[inside] = b
    return c


@pytest.mark.parametrize("seed", range(60))
def test_no_bound_is_crossed_on_hard_problems(seed):
    """Scales, offsets, duplicates, float32, weights and penalties over many powers of ten, tampered with."""
    draw = np.random.default_rng(seed)
    n, p, t = draw.integers(2, 30), draw.integers(1, 6), draw.integers(1, 4)
    Z = draw.standard_normal((n, p)) * 10.0 ** draw.uniform(-3, 3) + (draw.random() < 0.3) * 10.0 ** draw.uniform(-2, 4)
    if draw.random() < 0.3:
        Z[n // 2 :] = Z[: n - n // 2]
    Z = Z.astype(np.float32) if draw.random() < 0.2 else Z
    targets = draw.standard_normal((n, t)) * 10.0 ** draw.uniform(-4, 4)
    weight = np.where(draw.random(n) < 0.2, 0.0, 10.0 ** draw.uniform(-3, 3, n)) if draw.random() < 0.5 else np.ones(n)
    weight[0] = 1.0
    names = ({"kernel": "rbf", "gamma": 10.0 ** draw.uniform(-6, 3)}, {"kernel": "linear"}, {"kernel": "laplacian"})
    penalty, which = 10.0 ** draw.uniform(-9, 4), names[draw.integers(3)]
    alpha = penalty * np.mean(Z.astype(np.float64) ** 2) * p if which["kernel"] == "linear" else penalty
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tenfold.KernelRidge(alpha, **which).fit(Z, targets, weight)
    K = np.asarray(model.kernel_(Z), dtype=np.longdouble)
    exact = solve_exactly(K, targets, weight, alpha)
    assert exact is not None
    nothing = objective(K, targets, weight, alpha, np.zeros((n, t)))
    least = objective(K, targets, weight, alpha, exact)
    for error in (0.0, 1e-9, 1e-6, 1e-2):
        model.dual_coef_ = model.dual_coef_ * (1.0 + error * draw.standard_normal((n, t)))
        certificate = tenfold.certify(model, Z, targets, weight)
        value = objective(K, targets, weight, alpha, model.dual_coef_)
        assert certificate.lower_bound <= least + 1e-12 * nothing
        difference = model.dual_coef_ - exact
        distance = np.sqrt(np.maximum(np.sum(difference * (K @ difference), axis=0), 0.0))
        assert certificate.radius >= float(np.max(distance)) * (1.0 - 1e-9)
        if certificate.ok:
            assert value - least <= 1e-6 * nothing


def test_parameters_of_kernels_within_are_searched():
    search = GridSearchCV(
        tenfold.KernelRidge(0.1, kernel=Gaussian() + Linear()), {"kernel__k1__length_scale": [0.1, 1.0]}, cv=3
    ).fit(X, Y)
    assert search.best_params_["kernel__k1__length_scale"] == search.best_estimator_.kernel_.k1.length_scale


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(15.0), Gaussian(0.5)], ids=["rank 3", "wide", "narrow"])
@pytest.mark.parametrize("fraction", [1e-10, 1e-8, 1e-6, 1e-2])
def test_predictions_are_as_near_to_exact_refits_as_is_stated(kernel, fraction):
    K = np.asarray(kernel(X), dtype=np.longdouble)
    alpha = fraction * np.linalg.eigvalsh(K.astype(np.float64))[-1]
    path = KernelPath(kernel, Samples(X, Y, None), np.array([alpha]))
    alone, test = path.leave_one_out()[:, :, 0], np.arange(0, N, 4)
    train = np.setdiff1d(np.arange(N), test)
    folds = path.leave_out([Split.of(train, test, N)])[0][:, :, 0]
    c = solve_exactly(K[np.ix_(train, train)], Y[train], np.ones(len(train)), alpha)
    errors = [np.abs(K[np.ix_(test, train)] @ c - folds).max()]
    for i in range(0, N, 20):
        rest = np.delete(np.arange(N), i)
        c = solve_exactly(K[np.ix_(rest, rest)], Y[rest], np.ones(N - 1), alpha)
        errors.append(np.abs(K[i, rest] @ c - alone[i]))
    assert max(np.max(error) for error in errors) <= path.errors[0] * max(np.abs(Y).max(), np.abs(alone).max())
