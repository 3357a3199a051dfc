"""Worked facts of Welling, "A First Encounter with Machine Learning".

Conventions of the text: 1/2 sum (y - w.x)^2 + lambda/2 ||w||^2, so lambda is `alpha`; no offset unless a constant
feature is added. Where the text stacks cases as columns, rows are cases here.
"""

from __future__ import annotations

import numpy as np
import pytest

import tenfold
from tenfold import LinearRegression, Ridge, ridge_path


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(10)
    X = rng.standard_normal((25, 4))
    return X, X @ np.array([2.0, -1.0, 0.0, 0.5]) + 0.4 * rng.standard_normal(25)


# Chapter 7: the perceptron with squared cost --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def make_classes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    y = np.repeat([-1.0, 1.0], 40)
    return rng.standard_normal((80, 2)) + y[:, None] * np.array([1.0, 0.3]), y


def _cost_gradient(w: np.ndarray, a: float, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """(7.4) and (7.5), with the 1/n that the matrix forms of the text drop."""
    r = y - X @ w + a
    return -X.T @ r / len(y), float(np.mean(r))


def test_7_1_squared_cost_is_least_squares(make_classes):
    """(7.2) to (7.5): C = 1/(2n) sum (Y - w.X + a)^2 is minimised by least squares with offset -a."""
    X, y = make_classes
    model = LinearRegression().fit(X, y)
    w_slope, a_slope = _cost_gradient(model.coef_, -model.intercept_, X, y)
    assert np.max(np.abs(w_slope)) < 1e-14
    assert abs(a_slope) < 1e-14


def test_7_1_gradient_descent_ends_there(make_classes):
    """(7.6) and (7.7): a step size below the inverse curvature converges, "too big explodes"."""
    X, y = make_classes
    model = LinearRegression().fit(X, y)
    w, a = np.zeros(2), 0.0
    for _ in range(3000):
        w_slope, a_slope = _cost_gradient(w, a, X, y)
        w, a = w - 0.2 * w_slope, a - 0.2 * a_slope
    np.testing.assert_allclose(np.append(w, -a), np.append(model.coef_, model.intercept_), rtol=1e-9)
    for _ in range(100):
        w_slope, a_slope = _cost_gradient(w + 1e-3, a, X, y)
        w, a = w - 2.0 * w_slope, a - 2.0 * a_slope
    assert np.linalg.norm(w) > 1e6


def test_7_1_stochastic_gradient_needs_the_minus_sign(make_classes):
    """(7.8) and (7.9): w += eta r X and a -= eta r. (7.9) is printed without the minus: then it runs away."""
    X, y = make_classes[0] + np.array([1.0, 0.0]), make_classes[1]
    model = LinearRegression().fit(X, y)
    order = np.random.default_rng(78).integers(0, len(y), 10_000)
    ends = {}
    for sign in (-1.0, 1.0):
        w, a = np.zeros(2), 0.0
        for t, i in enumerate(order):
            eta = 2.0 / (100.0 + t)
            r = y[i] - X[i] @ w + a
            w, a = w + eta * r * X[i], a + sign * eta * r
        ends[sign] = np.append(w, -a)
    expected = np.append(model.coef_, model.intercept_)
    assert np.linalg.norm(ends[-1.0] - expected) < 0.1
    assert np.linalg.norm(ends[1.0] - expected) > 100


# Chapter 10: ridge ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.01, 1.0, 100.0])
def test_10_3_ridge_solution(data, lam):
    """(10.3): sum (y - w.x) x = lambda w, hence w = (lambda I + sum x x^T)^-1 sum y x."""
    X, y = data
    w = Ridge(alpha=lam, fit_intercept=False).fit(X, y).coef_
    np.testing.assert_allclose(X.T @ (y - X @ w), lam * w, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(w, np.linalg.inv(lam * np.eye(4) + X.T @ X) @ (X.T @ y), rtol=1e-11)


def test_10_scaling_of_lambda_against_rosasco(data):
    """Welling's lambda is n times Rosasco's: 1/2 sum + lambda/2 ||w||^2 against (1/n) sum + lambda ||w||^2."""
    X, y = data
    n, lam = len(y), 0.2
    w = Ridge(alpha=lam * n, fit_intercept=False).fit(X, y).coef_
    welling = X.T @ (X @ w - y) + (lam * n) * w
    rosasco = 2.0 / n * X.T @ (X @ w - y) + 2.0 * lam * w
    assert np.max(np.abs(welling)) < 1e-12
    assert np.max(np.abs(rosasco)) < 1e-13
    assert np.max(np.abs(Ridge(alpha=lam, fit_intercept=False).fit(X, y).coef_ - w)) > 1e-2


def test_10_3_small_eigenvalues_are_bounded_away_from_zero():
    """(10.3): the penalty keeps the inverse stable; two equal columns share the weight."""
    rng = np.random.default_rng(103)
    x = rng.standard_normal(30)
    y = 3.0 * x
    X = np.column_stack([x, x])
    w = Ridge(alpha=1e-3, fit_intercept=False).fit(X, y).coef_
    np.testing.assert_allclose(w, 3.0 * (x @ x) / (2 * (x @ x) + 1e-3), rtol=1e-11)
    np.testing.assert_allclose(LinearRegression(fit_intercept=False).fit(X, y).coef_, [1.5, 1.5], rtol=1e-12)


def test_10_4_matrix_identity():
    """(10.4): (P^-1 + B^T R^-1 B)^-1 B^T R^-1 = P B^T (B P B^T + R)^-1, the inverse in the smaller of two spaces.

    With P = I / lambda and R = diag(1 / weight) it is weighted ridge, so our solution equals both sides.
    """
    rng = np.random.default_rng(104)
    B, y, weight, lam = rng.standard_normal((5, 12)), rng.standard_normal(5), rng.uniform(0.5, 2.0, 5), 0.3
    P, R = np.eye(12) / lam, np.diag(1 / weight)
    left = np.linalg.solve(np.linalg.inv(P) + B.T @ np.linalg.inv(R) @ B, B.T @ np.linalg.inv(R) @ y)
    right = P @ B.T @ np.linalg.solve(B @ P @ B.T + R, y)
    np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-13)
    ours = Ridge(alpha=lam, fit_intercept=False).fit(B, y, sample_weight=weight).coef_
    np.testing.assert_allclose(ours, right, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("shape", [(25, 4), (6, 40)])
def test_10_5_and_10_6_primal_equals_dual(shape):
    """(10.5), (10.6): w = Phi a with a = (K + lambda I)^-1 y, and a prediction is y^T (K + lambda I)^-1 kappa(x)."""
    rng = np.random.default_rng(105)
    Phi, y, lam = rng.standard_normal(shape), rng.standard_normal(shape[0]), 0.7
    a = np.linalg.solve(Phi @ Phi.T + lam * np.eye(shape[0]), y)
    model = Ridge(alpha=lam, fit_intercept=False).fit(Phi, y)
    np.testing.assert_allclose(model.coef_, Phi.T @ a, rtol=1e-10, atol=1e-14)
    new = rng.standard_normal((3, shape[1]))
    np.testing.assert_allclose(model.predict(new), (new @ Phi.T) @ a, rtol=1e-10, atol=1e-13)


def test_10_7_constant_feature_penalises_the_bias(data):
    """(10.7): Phi_0 = 1 adds a bias, "the story goes through unchanged", which means that the bias is penalised.

    Our intercept is not: the two agree only when lambda is 0.
    """
    X, y = data[0], data[1] + 10.0
    X1 = np.column_stack([np.ones(len(y)), X])
    for lam, same in ((0.0, True), (5.0, False)):
        penalised = Ridge(alpha=lam, fit_intercept=False).fit(X1, y).coef_
        free = Ridge(alpha=lam).fit(X, y)
        assert (abs(penalised[0] - free.intercept_) < 1e-9) == same
    assert penalised[0] < free.intercept_ - 1.0


# Section 10.2: the norm-bounded form ----------------------------------------------------------------------------------


def _bound_norm(X: np.ndarray, y: np.ndarray, B: float) -> tuple[float, np.ndarray]:
    path = ridge_path(X, y, norm=B, fit_intercept=False)
    return float(np.ravel(path.alphas)[0]), np.ravel(path.coefs)


@pytest.mark.parametrize("fraction", [0.9, 0.5, 0.1, 1e-3])
def test_10_2_active_bound(data, fraction):
    """(10.8) to (10.14): min sum xi^2 with ||w|| <= B is ridge with the lambda at which ||w|| = B, while active.

    There the dual value (10.13) equals the primal one.
    """
    X, y = data
    free = np.linalg.norm(LinearRegression(fit_intercept=False).fit(X, y).coef_)
    B = fraction * free
    lam, w = _bound_norm(X, y, B)
    assert lam > 0
    assert np.linalg.norm(w) == pytest.approx(B, rel=1e-9)
    np.testing.assert_allclose(w, Ridge(alpha=lam, fit_intercept=False).fit(X, y).coef_, rtol=1e-8)
    a = np.linalg.solve(X @ X.T + lam * np.eye(len(y)), y)
    dual = -(lam**2) * a @ a + 2 * lam * a @ y - lam * a @ (X @ X.T) @ a - lam * B**2
    assert dual == pytest.approx(np.sum((y - X @ w) ** 2), rel=1e-9)


def test_10_2_inactive_bound(data):
    """Section 10.2: lambda >= 0 is a multiplier, so it is 0 when least squares already satisfies the bound."""
    X, y = data
    w = LinearRegression(fit_intercept=False).fit(X, y).coef_
    lam, bounded = _bound_norm(X, y, 1.01 * np.linalg.norm(w))
    assert lam == 0.0
    np.testing.assert_allclose(bounded, w, rtol=1e-10)


def test_10_2_lambda_and_bound_correspond(data):
    """Section 10.2: "different choices of lambda correspond to different choices for B", one to one while active."""
    X, y = data
    for lam in (1e-3, 0.5, 20.0, 1e4):
        norm = float(np.linalg.norm(Ridge(alpha=lam, fit_intercept=False).fit(X, y).coef_))
        assert _bound_norm(X, y, norm)[0] == pytest.approx(lam, rel=1e-6)


def test_10_2_no_feasible_point_is_better(data):
    """(10.8): among 2000 random weights on and inside the ball none has a smaller cost."""
    X, y = data
    B = 0.5 * float(np.linalg.norm(LinearRegression(fit_intercept=False).fit(X, y).coef_))
    _, w = _bound_norm(X, y, B)
    rng = np.random.default_rng(1028)
    trial = rng.standard_normal((2000, 4))
    trial *= B * rng.random((2000, 1)) ** 0.1 / np.linalg.norm(trial, axis=1, keepdims=True)
    assert np.min(np.sum((y - trial @ X.T) ** 2, axis=1)) >= np.sum((y - X @ w) ** 2)


def test_10_2_bound_with_free_offset(data):
    """Section 10.2 with an unpenalised offset: the bound is on the weights alone."""
    X, y = data[0], data[1] + 100.0
    path = ridge_path(X, y, norm=0.7)
    w, b = np.ravel(path.coefs), float(np.ravel(path.intercepts)[0])
    assert np.linalg.norm(w) == pytest.approx(0.7, rel=1e-9)
    assert b == pytest.approx(y.mean() - X.mean(axis=0) @ w, rel=1e-12)


def test_chapter_6_a_word_that_never_came_in_spam():
    """ "Nigeria": without smoothing its log probability is minus infinity, whatever else a mail holds; any alpha > 0
    mends it.
    """
    X = np.array([[1, 0], [2, 0], [0, 1], [1, 2]])  # viagra, Nigeria
    spam = np.array([1, 1, 0, 0])
    mail = [[5, 1]]
    bare = tenfold.MultinomialNB(alpha=0.0).fit(X, spam)
    assert np.isneginf(bare.predict_joint_log_proba(mail)[0, 1])
    assert np.isfinite(bare.predict_joint_log_proba([[5, 0]])).all()
    for alpha in (1e-6, 1.0):
        assert np.isfinite(tenfold.MultinomialNB(alpha=alpha).fit(X, spam).predict_joint_log_proba(mail)).all()


def test_chapter_6_probabilities_of_the_values_sum_to_one():
    """Printed X in [0..V], which has V + 1 values; the denominator has their number."""
    X = np.array([[0], [1], [2], [2], [1]])
    model = tenfold.CategoricalNB(alpha=0.5).fit(X, [0, 0, 0, 1, 1])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0][1]), [0.5 / 3.5, 1.5 / 3.5, 1.5 / 3.5])


def test_chapter_6_a_threshold_on_the_scores():
    """Class 1 where S_1 > S_0 + theta: always with minus infinity, never with infinity."""
    X = np.array([[1, 0], [2, 0], [0, 1], [1, 2]])
    spam = np.array([1, 1, 0, 0])
    for theta, expected in ((-np.inf, 1), (np.inf, 0)):
        assert np.all(tenfold.MultinomialNB(threshold=theta).fit(X, spam).predict(X) == expected)
    model = tenfold.MultinomialNB().fit(X, spam)
    odds = model.log_odds(X)
    middle = float(np.median(odds))
    again = tenfold.MultinomialNB(threshold=middle).fit(X, spam).predict(X)
    np.testing.assert_array_equal(again, (odds > middle).astype(int))


def test_chapter_6_the_sampler_draws_from_the_model():
    """The class from the prior, then each attribute by itself."""
    X = np.random.default_rng(0).integers(0, 2, (50, 3))
    model = tenfold.BernoulliNB().fit(X, X[:, 0] ^ (np.arange(50) % 3 == 0))
    drawn, label = model.sample(40_000, random_state=1)
    for k, name in enumerate(model.classes_):
        assert np.mean(label == name) == pytest.approx(np.exp(model.class_log_prior_[k]), abs=0.01)
        np.testing.assert_allclose(drawn[label == name].mean(axis=0), np.exp(model.feature_log_prob_[k]), atol=0.015)


def test_chapter_6_columns_that_say_the_same_are_counted_twice():
    """Independence is not given where words come together: scores become too sure."""
    X = np.array([[1], [1], [1], [0], [0], [1]])
    y = np.array([1, 1, 1, 0, 0, 0])
    once = tenfold.BernoulliNB().fit(X, y).predict_proba([[1]])[0, 1]
    twice = tenfold.BernoulliNB().fit(np.column_stack([X, X]), y).predict_proba([[1, 1]])[0, 1]
    assert twice > once > 0.5


# Chapter 14: canonical correlation analysis ---------------------------------------------------------------------------


def test_14_1_the_matrix_of_products_between_views_is_indefinite():
    """The text takes a root of S_O, which is not real: half of its eigenvalues are negative. S_D has one."""
    rng = np.random.default_rng(14)
    X, y = rng.standard_normal((60, 2)), rng.standard_normal((60, 2))
    y[:, 0] += X[:, 0]
    S = np.cov(np.hstack([X, y]).T)
    outside = S.copy()
    outside[:2, :2], outside[2:, 2:] = 0.0, 0.0
    assert (np.linalg.eigvalsh(outside) < -1e-3).sum() == 2
    model = tenfold.CCA(2, scale=False).fit(X, y)
    for k in range(2):
        a, b = model.x_rotations_[:, k], model.y_rotations_[:, k]
        a, b = a / np.sqrt(a @ S[:2, :2] @ a), b / np.sqrt(b @ S[2:, 2:] @ b)
        np.testing.assert_allclose(S[:2, 2:] @ b, model.correlations_[k] * S[:2, :2] @ a, atol=1e-12)
        np.testing.assert_allclose(S[2:, :2] @ a, model.correlations_[k] * S[2:, 2:] @ b, atol=1e-12)


def test_14_1_as_many_columns_as_rows_are_correlated_perfectly():
    """The diagnostic of overfitting, and what a ridge does to it."""
    rng = np.random.default_rng(15)
    X, y = rng.standard_normal((40, 40)), rng.standard_normal((40, 40))
    np.testing.assert_allclose(tenfold.CCA(1).fit(X, y).correlations_, 1.0, atol=1e-10)
    assert tenfold.CCA(1, ridge=1e-8).fit(X, y).correlations_[0] > 0.9999
    assert tenfold.CCA(1, ridge=10.0).fit(X, y).correlations_[0] < 0.6
