"""Binary LogisticRegression against scikit-learn, at the level of scikit-learn's own suboptimality.

The reference is a Newton iteration to the last digit, written out here. Ours must meet the stopping rule of
scikit-learn and be as near to the optimum as its certificate says; its distance from the weights of scikit-learn is
bounded by the suboptimality of the two through strong convexity: ||w - w*||^2 <= 2 (F(w) - F*) / lambda.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sklearn.linear_model as sk
from scipy import sparse
from scipy.special import expit

import tenfold as tf

SOLVERS = ["lbfgs", "newton-cg", "newton-cholesky", "liblinear", "sag", "saga"]


def make(n=120, p=4, seed=0, flip=0.1, imbalance=0.5):
    """Classes 'no' and 'yes' that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(0.5, 2.0, p) + 0.5
    z = X @ rng.standard_normal(p) - np.quantile(X @ rng.standard_normal(p), 1 - imbalance)
    y = (z + 1.5 * rng.logistic(size=n) > 0) ^ (rng.random(n) < flip)
    return X, np.where(y, "yes", "no")


def row_weights(n, seed=1):
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, n)
    weight[::13] = 0.0
    return weight


def objective(w, b, X, y, C, weight=None):
    """C sum_i weight_i log(1 + exp(-y_i z_i)) + ||w||^2 / 2, divided by C; without penalty the first term only."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    s = np.where(y == "yes", 1.0, -1.0)
    weight = np.ones(len(s)) if weight is None else weight
    penalty = 0.0 if np.isinf(C) else float(w @ w) / (2 * C)
    return float(weight @ np.logaddexp(0, -s * (X @ w + b))) + penalty


def newton(X, y, C, weight=None, fit_intercept=True):
    """The minimiser to rounding: Newton with step halving in float64, until the gradient stops falling."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    t = (y == "yes").astype(float)
    weight = np.ones(len(t)) if weight is None else weight
    D = np.column_stack([X, np.ones(len(t))]) if fit_intercept else X
    ridge = np.zeros(D.shape[1])
    if np.isfinite(C):
        ridge[: X.shape[1]] = 1 / C
    split = lambda v: (v[: X.shape[1]], v[-1] if fit_intercept else 0.0)  # noqa: E731
    v = np.zeros(D.shape[1])
    for _ in range(100):
        pi = expit(D @ v)
        gradient = D.T @ (weight * (pi - t)) + ridge * v
        step = np.linalg.solve((D.T * (weight * pi * (1 - pi))) @ D + np.diag(ridge), gradient)
        size, before = 1.0, objective(*split(v), X, y, C, weight)
        while size > 1e-8 and objective(*split(v - size * step), X, y, C, weight) > before:
            size /= 2
        v = v - size * step
        if np.linalg.norm(step) <= 1e-15 * np.linalg.norm(v):
            break
    return split(v)


def flat(model):
    return np.ravel(model.coef_).astype(float), float(np.ravel(model.intercept_)[0])


def mean_gradient(model, X, y, C, weight):
    """Largest entry of the gradient of the weighted mean objective: what scikit-learn's `tol` bounds."""
    w, b = flat(model)
    residual = weight * (expit(X @ w + b) - (y == "yes"))
    gradient = X.T @ residual + (0.0 if np.isinf(C) else w / C)
    return max(np.max(np.abs(gradient)), abs(residual.sum()) if model.fit_intercept else 0.0) / weight.sum()


def check(ours, reference, X, y, C, weight=None):
    """Ours meets the stopping rule, is as good as its certificate says, and as near as the reference allows."""
    weight = np.ones(len(y)) if weight is None else weight
    w, b = newton(X, y, C, weight, ours.fit_intercept)
    best = objective(w, b, X, y, C, weight)
    rounding = 1e-13 * best
    (w_ours, b_ours), (w_theirs, b_theirs) = flat(ours), flat(reference)
    excess_ours = max(objective(w_ours, b_ours, X, y, C, weight) - best, 0.0) + rounding
    excess_theirs = max(objective(w_theirs, b_theirs, X, y, C, weight) - best, 0.0) + rounding
    assert ours.certificate_.ok
    assert mean_gradient(ours, X, y, C, weight) <= ours.tol
    assert excess_ours <= weight.sum() * ours.certificate_.value + 2 * rounding
    if np.isfinite(C):
        # strong convexity 1/C in w: each is within its own radius of the optimum, so the two are within the sum
        assert np.linalg.norm(w_ours - w) <= np.sqrt(2 * C * excess_ours)
        assert np.linalg.norm(w_ours - w_theirs) <= np.sqrt(2 * C * excess_theirs) + np.sqrt(2 * C * excess_ours)
    if ours.tol <= 1e-8:
        assert excess_ours <= excess_theirs + 1e-11 * best, "with a tight tolerance ours must not be worse"
        np.testing.assert_allclose(np.append(w_ours, b_ours), np.append(w, b), rtol=1e-5, atol=1e-6)


fit_intercept = pytest.mark.parametrize("fit_intercept", [True, False])
weighted = pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
strength = pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, np.inf])


def with_zeros():
    X, y = make()
    X[np.abs(X) < 0.4] = 0.0
    return X, y, row_weights(120)


@cache
def scikit_learn(C, fit_intercept, weighted, tol):
    X, y, weight = with_zeros()
    model = sk.LogisticRegression(C=C, fit_intercept=fit_intercept, tol=tol, max_iter=10_000)
    return model.fit(X, y, weight if weighted else None)


@fit_intercept
@weighted
@strength
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_settings(fit_intercept, weighted, C, kind, tol):
    X, y, weight = with_zeros()
    weight = weight if weighted else None
    ours = tf.LogisticRegression(C=C, fit_intercept=fit_intercept, tol=tol).fit(kind(X), y, weight)
    check(ours, scikit_learn(C, fit_intercept, weighted, tol), X, y, C, weight)


@pytest.mark.parametrize("solver", SOLVERS)
def test_solver_names(solver):
    """Every name of scikit-learn is accepted; liblinear's penalty on the intercept is not imitated."""
    X, y = make()
    ours = tf.LogisticRegression(solver=solver, C=2.0, tol=1e-8, random_state=0).fit(X, y)
    reference = sk.LogisticRegression(solver="newton-cholesky", C=2.0, tol=1e-8).fit(X, y)
    check(ours, reference, X, y, 2.0)


@pytest.mark.parametrize("class_weight", ["balanced", {"no": 4.0}, {"no": 0.5, "yes": 2.0}])
@weighted
def test_class_weight(class_weight, weighted):
    X, y = make(imbalance=0.2)
    weight = row_weights(120) if weighted else None
    settings = {"class_weight": class_weight, "tol": 1e-8}
    ours = tf.LogisticRegression(**settings).fit(X, y, weight)
    reference = sk.LogisticRegression(**settings, max_iter=10_000).fit(X, y, weight)
    base = np.ones(120) if weight is None else weight
    if class_weight == "balanced":
        # scikit-learn balances by the weighted counts of the rows
        factor = {c: base.sum() / (2 * base[y == c].sum()) for c in ("no", "yes")}
    else:
        factor = {c: class_weight.get(c, 1.0) for c in ("no", "yes")}
    check(ours, reference, X, y, 1.0, base * np.where(y == "yes", factor["yes"], factor["no"]))


@pytest.mark.parametrize("shape", [(40, 80), (500, 3), (60, 1), (300, 40)])
@pytest.mark.parametrize("C", [0.05, 5.0])
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_shapes(shape, C, tol):
    X, y = make(*shape, seed=3)
    ours = tf.LogisticRegression(C=C, tol=tol).fit(X, y)
    check(ours, sk.LogisticRegression(C=C, tol=tol, max_iter=10_000).fit(X, y), X, y, C)


def test_tight_tolerance_is_reached():
    X, y = make()
    ours = tf.LogisticRegression(tol=1e-12).fit(X, y)
    w, b = newton(X, y, 1.0)
    np.testing.assert_allclose(np.append(*flat(ours)), np.append(w, b), rtol=1e-8)
    assert ours.certificate_.ok


def test_predictions():
    X, y = make(n=300)
    ours = tf.LogisticRegression(tol=1e-10).fit(X, y)
    reference = sk.LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(X, y)
    np.testing.assert_array_equal(ours.classes_, reference.classes_)
    np.testing.assert_array_equal(ours.predict(X), reference.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), reference.predict_proba(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.predict_log_proba(X), reference.predict_log_proba(X), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(ours.decision_function(X), reference.decision_function(X), rtol=1e-5, atol=1e-7)
    assert ours.coef_.shape == reference.coef_.shape
    assert ours.intercept_.shape == reference.intercept_.shape


def test_float32():
    """In float32 the answer stays float32 and as near to the float64 one as its rounding allows."""
    X, y = make()
    X32 = X.astype(np.float32)
    ours = tf.LogisticRegression(tol=1e-8).fit(X32, y)
    assert ours.coef_.dtype == np.float32
    w, b = newton(X32.astype(float), y, 1.0)
    w_ours, b_ours = flat(ours)
    assert np.max(np.abs(w_ours - w)) <= 1e-5 * np.max(np.abs(w))
    assert abs(b_ours - b) <= 1e-5
    assert ours.predict_proba(X32).dtype == sk.LogisticRegression().fit(X32, y).predict_proba(X32).dtype


def test_warm_start_reaches_the_same_place():
    X, y = make()
    model = tf.LogisticRegression(C=1.0, warm_start=True, tol=1e-10).fit(X, y)
    model.set_params(C=10.0).fit(X, y)
    w, b = newton(X, y, 10.0)
    np.testing.assert_allclose(np.append(*flat(model)), np.append(w, b), rtol=1e-6)


def test_badly_scaled_columns():
    """Columns at 1e-4 and 1e4: scikit-learn's lbfgs stops far from the optimum, ours must not."""
    X, y = make()
    X = X * np.array([1e-4, 1.0, 1e4, 1.0])
    ours = tf.LogisticRegression(C=1.0).fit(X, y)
    w, b = newton(X, y, 1.0)
    best = objective(w, b, X, y, 1.0)
    assert ours.certificate_.ok
    assert objective(*flat(ours), X, y, 1.0) <= best * (1 + 1e-5)


def several_classes(n=300, p=5, K=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(0.5, 2.0, p) + 0.5
    return X, np.argmax(X @ rng.standard_normal((p, K)) + 2.0 * rng.gumbel(size=(n, K)), axis=1)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("settings", [{}, {"C": 0.01}, {"C": 100.0, "fit_intercept": False}, {"C": np.inf}])
def test_several_classes(settings, storage):
    X, y = several_classes()
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    ours = tf.LogisticRegression(tol=1e-9, class_weight="balanced", **settings).fit(storage(X), y, sample_weight=weight)
    reference = sk.LogisticRegression(tol=1e-12, max_iter=10_000, class_weight="balanced", **settings)
    reference.fit(X, y, sample_weight=weight)
    close = 1e-3 if ours.coef_.dtype == np.float32 else 1e-5
    assert ours.certificate_.ok
    np.testing.assert_allclose(ours.coef_, reference.coef_, rtol=close, atol=close)
    np.testing.assert_allclose(ours.intercept_ - ours.intercept_.mean(), reference.intercept_, rtol=close, atol=close)
    np.testing.assert_allclose(ours.predict_proba(storage(X)), reference.predict_proba(X), rtol=20 * close, atol=close)
    np.testing.assert_allclose(ours.predict_log_proba(storage(X)), reference.predict_log_proba(X), rtol=1e-2, atol=1e-2)
    assert np.mean(ours.predict(storage(X)) == reference.predict(X)) > 0.99
    assert ours.n_iter_.shape == reference.n_iter_.shape == (1,)


def test_solvers_of_a_softmax_agree():
    """Newton's method, L-BFGS on blocks of a sample's Hessian, L-BFGS on a diagonal: one optimum."""
    X, y = several_classes(n=13_000, p=40, K=10)
    sampled = tf.LogisticRegression(tol=1e-8, max_iter=300).fit(X, y)
    assert sampled.certificate_.value <= 1e-9
    X, y = X[:1_000], y[:1_000]
    wide = sparse.csr_array(np.hstack([X, np.zeros((1_000, 1_000))]))
    blocks, many = (tf.LogisticRegression(tol=1e-8, max_iter=300).fit(A, y) for A in (X, wide))
    newton = tf.LogisticRegression(tol=1e-8).fit(X[:, :30], y)
    for model in (blocks, many, newton):
        assert model.certificate_.value <= 1e-9
    np.testing.assert_allclose(many.coef_[:, :40], blocks.coef_, atol=2e-5)
    assert not many.coef_[:, 40:].any()
    sklearn_model = sk.LogisticRegression(tol=1e-8, solver="newton-cholesky").fit(X[:, :30], y)
    np.testing.assert_allclose(newton.coef_, sklearn_model.coef_, atol=1e-5)


def test_a_warm_start_of_several_classes():
    X, y = several_classes()
    model = tf.LogisticRegression(warm_start=True, tol=1e-9).fit(X, y)
    far = model.n_iter_[0]
    assert model.fit(X, y).n_iter_[0] < far
    with pytest.raises(ValueError, match="Initialization coef"):
        model.fit(X, y % 3)


def test_liblinear_raises_for_several_classes():
    X, y = several_classes()
    with pytest.raises(ValueError, match="liblinear' solver does not support multiclass"):
        tf.LogisticRegression(solver="liblinear").fit(X, y)
