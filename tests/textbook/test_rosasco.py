"""Worked facts of Rosasco, "Machine Learning" (lecture notes), for regularised least squares and logistic regression.

Conventions of the text: losses are averaged and the penalty is lambda ||w||^2 without 1/2, so the ridge system carries
lambda n, that is alpha = lambda n, and the logistic C is 1 / (2 lambda n).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, ndtr

import tenfold
from tenfold import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    ridge_path,
    ridge_regression,
)


@pytest.fixture(scope="module")
def regression() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(40)
    X = rng.standard_normal((40, 5)) @ np.diag([3.0, 2.0, 1.0, 0.5, 0.1]) + np.array([1.0, 0.0, -2.0, 5.0, 0.0])
    return X, X @ np.array([1.0, -1.0, 0.5, 2.0, 3.0]) + 4.0 + 0.3 * rng.standard_normal(40)


@pytest.fixture(scope="module")
def two_gaussians() -> tuple[np.ndarray, np.ndarray]:
    """Figure 3 of chapter 1: means (-1, 0) and (+1, 0), standard deviation 0.6, as many points of each class."""
    rng = np.random.default_rng(3)
    y = np.repeat([-1, 1], 100)
    return 0.6 * rng.standard_normal((200, 2)) + np.column_stack([y, np.zeros(200)]), y


# Chapter 1 ------------------------------------------------------------------------------------------------------------


def test_1_2_two_gaussians_are_learned_to_the_bayes_error():
    """Example 2 with Figure 3: the best rule is sign(x_1), its error is the normal distribution function at -1/0.6."""
    bayes = ndtr(-1 / 0.6)
    assert bayes == pytest.approx(0.04779, abs=5e-6)
    rng = np.random.default_rng(12)
    y = np.repeat([-1, 1], 10_000)
    X = 0.6 * rng.standard_normal((20_000, 2)) + np.column_stack([y, np.zeros(20_000)])
    model = LogisticRegression(C=np.inf).fit(X, y)
    w, b = np.ravel(model.coef_), float(model.intercept_[0])
    # the error of a linear rule is known in closed form for Gaussian classes
    z = np.array([b - w[0], b + w[0]]) / (0.6 * np.linalg.norm(w))
    assert 0.5 * (ndtr(z[0]) + ndtr(-z[1])) == pytest.approx(bayes, abs=2e-4)


# Chapter 4: regularised least squares ---------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0, 100.0])
def test_4_2_the_system_has_lambda_n(regression, lam):
    """Section 4.2: (X^T X + lambda n I) w = X^T Y. (Once the text prints X^T X + lambda I: n belongs there too.)"""
    X, y = regression
    n, d = X.shape
    expected = np.linalg.solve(X.T @ X + lam * n * np.eye(d), X.T @ y)
    np.testing.assert_allclose(Ridge(alpha=lam * n, fit_intercept=False).fit(X, y).coef_, expected, rtol=1e-11)
    np.testing.assert_allclose(ridge_regression(X, y, lam * n), expected, rtol=1e-11)
    gradient = -2.0 / n * X.T @ (y - X @ expected) + 2.0 * lam * expected
    assert np.max(np.abs(gradient)) < 1e-12


def test_4_3_path_from_one_decomposition(regression):
    """Section 4.3: (M + lambda I)^-1 = V diag(1 / (sigma_i + lambda)) V^T, so one decomposition serves every lambda."""
    X, y = regression
    n = len(y)
    lams = np.logspace(-6, 2, 9)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    expected = np.array([Vt.T @ (s / (s**2 + lam * n) * (U.T @ y)) for lam in lams])
    path = ridge_path(X, y, lams * n, fit_intercept=False)
    np.testing.assert_allclose(path.coefs, expected, rtol=1e-10, atol=1e-13)
    single = [Ridge(alpha=lam * n, fit_intercept=False).fit(X, y).coef_ for lam in lams]
    np.testing.assert_allclose(path.coefs, single, rtol=1e-10, atol=1e-13)


def test_4_3_condition_number(regression):
    """Section 4.3: the condition number is sigma_max / sigma_min (printed upside down); lambda n lowers it.

    The columns have one length here, so that the equilibrated system is the system itself, up to a factor. The
    certificate has the condition of the design, the root of that of the system, in the 1-norm: within sqrt(D) of it.
    """
    X, y = regression
    X = X / np.linalg.norm(X, axis=0)
    sigma = np.linalg.eigvalsh(X.T @ X)
    last = np.inf
    for alpha in (0.0, 0.01, 1.0, 100.0):
        condition = Ridge(alpha=alpha, fit_intercept=False).fit(X, y).certificate_.condition
        exact = np.sqrt((sigma[-1] + alpha) / (sigma[0] + alpha))
        assert exact / np.sqrt(5) <= condition <= exact * np.sqrt(5)
        assert 1.0 <= condition < last
        last = condition


@pytest.mark.parametrize("lam", [1e-3, 0.1, 10.0])
def test_4_4_offset_by_centring(regression, lam):
    """Section 4.4: centre x and y, solve for w in R^D (printed: R^(D+1)), then b = mean(y) - mean(x)^T w."""
    X, y = regression
    n, d = X.shape
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    w = np.linalg.solve(Xc.T @ Xc + lam * n * np.eye(d), Xc.T @ yc)
    model = Ridge(alpha=lam * n).fit(X, y)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-11)
    assert model.intercept_ == pytest.approx(y.mean() - X.mean(axis=0) @ w, rel=1e-12)


def test_4_4_a_column_of_ones_penalises_the_offset(regression):
    """Section 4.4: with x~ = (x, 1) the penalty becomes ||w||^2 + b^2, "which is not ok"; without penalty it is fine.

    An unpenalised offset moves with the targets; a penalised one does not.
    """
    X, y = regression
    X1 = np.column_stack([X, np.ones(len(y))])
    without = LinearRegression(fit_intercept=False).fit(X1, y)
    np.testing.assert_allclose(without.coef_[:5], LinearRegression().fit(X, y).coef_, rtol=1e-10)
    shifted = [Ridge(alpha=4.0).fit(X, y + c) for c in (0.0, 1000.0)]
    np.testing.assert_allclose(shifted[0].coef_, shifted[1].coef_, rtol=1e-9)
    assert shifted[1].intercept_ - shifted[0].intercept_ == pytest.approx(1000.0, rel=1e-10)
    penalised = [Ridge(alpha=4.0, fit_intercept=False).fit(X1, y + c).coef_ for c in (0.0, 1000.0)]
    assert np.max(np.abs(penalised[1][:5] - penalised[0][:5])) > 1.0


def test_4_leave_one_out_at_fixed_lambda_n(regression):
    """Chapter 4 with 3.3: c_i / [(K + lambda n I)^-1]_ii is the LOO residual when the product lambda n is kept."""
    X, y = regression
    n = len(y)
    lams = np.array([1e-3, 1e-1])
    model = RidgeCV(alphas=lams * n, fit_intercept=False, store_cv_results=True).fit(X, y)
    for k, lam in enumerate(lams):
        inverse = np.linalg.inv(X @ X.T + lam * n * np.eye(n))
        np.testing.assert_allclose(model.cv_results_[:, k], (inverse @ y / np.diag(inverse)) ** 2, rtol=1e-8)


# Chapter 5: classification --------------------------------------------------------------------------------------------


def _centroids(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return X[y == 1].mean(axis=0), X[y == -1].mean(axis=0)


def test_5_1_nearest_centroid_is_linear(two_gaussians):
    """Section 5.1: ||x - m_-||^2 - ||x - m_+||^2 = 2 (x - m)^T (m_+ - m_-) with m = (m_+ + m_-)/2.

    The text omits the factor 2 and prints m = m_+ + m_-.
    """
    X, y = two_gaussians
    plus, minus = _centroids(X, y)
    h = np.sum((X - minus) ** 2, axis=1) - np.sum((X - plus) ** 2, axis=1)
    np.testing.assert_allclose(h, 2 * (X - (plus + minus) / 2) @ (plus - minus), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("lam", [1e-3, 1.0, 50.0])
def test_5_2_binary_rls_in_terms_of_the_centroids(two_gaussians, lam):
    """Section 5.2: w = (C + lambda I)^-1 (m_+ - m_-)/2 and b = -m^T w for balanced classes (the 1/2 is not printed)."""
    X, y = two_gaussians
    n = len(y)
    plus, minus = _centroids(X, y)
    m = X.mean(axis=0)
    C = (X - m).T @ (X - m) / n
    w = np.linalg.solve(C + lam * np.eye(2), 0.5 * (plus - minus))
    model = RidgeClassifier(alpha=lam * n).fit(X, y)
    np.testing.assert_allclose(np.ravel(model.coef_), w, rtol=1e-11)
    assert np.ravel(model.intercept_)[0] == pytest.approx(-m @ w, abs=1e-13)


def test_5_2_large_lambda_is_nearest_centroid(two_gaussians):
    """Section 5.2: as lambda grows the rule has the sign of the nearest centroid rule."""
    X, y = two_gaussians
    plus, minus = _centroids(X, y)
    points = 3.0 * np.random.default_rng(52).standard_normal((2000, 2))
    nearest = np.where(np.sum((points - plus) ** 2, axis=1) < np.sum((points - minus) ** 2, axis=1), 1, -1)
    assert np.all(RidgeClassifier(alpha=1e8 * len(y)).fit(X, y).predict(points) == nearest)


def test_5_2_small_lambda_is_mahalanobis():
    """Section 5.2: as lambda falls w turns to C^-1 (m_+ - m_-): the stretch is Sigma^-1/2 V^T (printed Sigma^1/2)."""
    rng = np.random.default_rng(522)
    y = np.repeat([-1, 1], 150)
    mixing = np.array([[1.0, 0.0], [1.0, 0.3]])
    X = rng.standard_normal((300, 2)) @ mixing.T + np.column_stack([0.5 * y, np.zeros(300)])
    plus, minus = _centroids(X, y)
    C = np.cov(X.T, bias=True)
    direction = np.linalg.solve(C, plus - minus)
    w = np.ravel(RidgeClassifier(alpha=1e-9).fit(X, y).coef_)
    assert w @ direction / (np.linalg.norm(w) * np.linalg.norm(direction)) == pytest.approx(1.0, abs=1e-12)
    lam, V = np.linalg.eigh(C)
    stretch = (V / np.sqrt(lam)).T
    inner = (stretch @ X.T).T @ (stretch @ (plus - minus))
    np.testing.assert_allclose(X @ direction, inner, rtol=1e-10, atol=1e-10)
    centroid = plus - minus
    assert w @ centroid / (np.linalg.norm(w) * np.linalg.norm(centroid)) < 0.9


def test_5_3_one_against_all_is_separate_problems():
    """Section 5.3: (X^T X + lambda n I) W = X^T Y with Y = +-1 by class (a row of Y belongs to a point, not a column).

    One factorisation serves T right-hand sides; the problems separate, and argmax decides.
    """
    rng = np.random.default_rng(53)
    labels = rng.integers(0, 4, 90)
    X = rng.standard_normal((90, 3)) + 1.5 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])[labels]
    names = np.array(["a", "b", "c", "d"])
    model = RidgeClassifier(alpha=2.0).fit(X, names[labels])
    for k in range(4):
        one = Ridge(alpha=2.0).fit(X, np.where(labels == k, 1.0, -1.0))
        np.testing.assert_allclose(model.coef_[k], one.coef_, rtol=1e-11, atol=1e-14)
        assert model.intercept_[k] == pytest.approx(one.intercept_, abs=1e-13)
    scores = X @ model.coef_.T + model.intercept_
    assert np.all(model.predict(X) == names[np.argmax(scores, axis=1)])
    # the coded targets sum to 2 - T, so the scores do as well
    np.testing.assert_allclose(scores.sum(axis=1), -2.0, atol=1e-12)


def test_5_3_choice_of_lambda_for_all_classes_together():
    """Sections 3.3 and 5.3: lambda is chosen by cross-validation; LOO scores of all T problems come from one pass."""
    rng = np.random.default_rng(531)
    labels = rng.integers(0, 3, 40)
    X = rng.standard_normal((40, 6)) + np.eye(3, 6)[labels]
    alphas = np.array([0.1, 1.0, 10.0])
    model = RidgeClassifierCV(alphas=alphas, store_cv_results=True).fit(X, labels)
    brute = np.empty((40, 3, 3))
    for i in range(40):
        kept = np.arange(40) != i
        for k in range(3):
            target = np.where(labels == k, 1.0, -1.0)
            for a, alpha in enumerate(alphas):
                fit = Ridge(alpha=alpha).fit(X[kept], target[kept])
                brute[i, k, a] = (target[i] - fit.predict(X[i : i + 1])[0]) ** 2
    np.testing.assert_allclose(model.cv_results_, brute, rtol=1e-8)
    assert model.alpha_ == alphas[np.argmin(brute.mean(axis=(0, 1)))]


# Chapters 6 and 7 -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(25, 4), (6, 30)])
def test_6_2_representer_identity(shape):
    """(6.3): (X^T X + lambda n I)^-1 X^T = X^T (X X^T + lambda n I)^-1 (an n is dropped in print): w = X^T c."""
    rng = np.random.default_rng(62)
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    n, lam = shape[0], 0.05
    c = np.linalg.solve(X @ X.T + lam * n * np.eye(n), y)
    model = Ridge(alpha=lam * n, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, X.T @ c, rtol=1e-10, atol=1e-14)
    new = rng.standard_normal((5, shape[1]))
    np.testing.assert_allclose(model.predict(new), (new @ X.T) @ c, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.8])
def test_7_4_target_functions(p):
    """Section 7.4: the square loss aims at 2 p - 1, the logistic loss at log(p / (1 - p)).

    (In the derivation the term -p / (1 + e^-a) should read -p e^-a / (1 + e^-a).)
    """
    X, y, weight = np.ones((2, 1)), np.array([1, -1]), np.array([p, 1 - p])
    square = LinearRegression(fit_intercept=False).fit(X, y, sample_weight=weight)
    logistic = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12).fit(X, y, sample_weight=weight)
    assert square.coef_[0] == pytest.approx(2 * p - 1, abs=1e-14)
    a = float(np.ravel(logistic.coef_)[0])
    assert a == pytest.approx(np.log(p / (1 - p)), abs=1e-7)
    assert -p * np.exp(-a) / (1 + np.exp(-a)) + (1 - p) / (1 + np.exp(-a)) == pytest.approx(0.0, abs=1e-8)


# Chapter 8: logistic regression ---------------------------------------------------------------------------------------


def _risk(w: np.ndarray, X: np.ndarray, y: np.ndarray, lam: float) -> float:
    return float(np.mean(np.logaddexp(0, -y * (X @ w))) + lam * w @ w)


def _gradient(w: np.ndarray, X: np.ndarray, y: np.ndarray, lam: float) -> np.ndarray:
    return X.T @ (-y / (1 + np.exp(y * (X @ w)))) / len(y) + 2 * lam * w


def test_8_2_gradient(two_gaussians):
    """Section 8.2: the printed gradient agrees with differences, and vanishes at our solution, C = 1/(2 lambda n)."""
    X, y = two_gaussians
    lam = 0.05
    w = np.array([0.7, -0.3])
    step = 1e-6
    differences = [(_risk(w + step * e, X, y, lam) - _risk(w - step * e, X, y, lam)) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(_gradient(w, X, y, lam), differences, rtol=1e-7)
    model = LogisticRegression(C=1 / (2 * lam * len(y)), fit_intercept=False, tol=1e-12).fit(X, y)
    assert np.max(np.abs(_gradient(np.ravel(model.coef_), X, y, lam))) < 1e-9


def test_8_1_and_8_2_gradient_descent_ends_at_our_solution(two_gaussians):
    """Sections 8.1 and 8.2: with step 1/L every iterate is no worse than the last, and the limit is our solution.

    L is at most sigma_max(X^T X / (4 n) + 2 lambda I): the second derivative of the loss is at most 1/4 (printed: 1).
    """
    X, y = two_gaussians
    lam = 0.05
    L = np.linalg.eigvalsh(X.T @ X / (4 * len(y)) + 2 * lam * np.eye(2))[-1]
    w = np.zeros(2)
    risks = [_risk(w, X, y, lam)]
    for _ in range(200):
        w = w - _gradient(w, X, y, lam) / L
        risks.append(_risk(w, X, y, lam))
    assert np.all(np.diff(risks) <= 1e-15)
    model = LogisticRegression(C=1 / (2 * lam * len(y)), fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(np.ravel(model.coef_), w, rtol=1e-7)
    assert _risk(np.ravel(model.coef_), X, y, lam) <= risks[-1] + 1e-15


def test_8_3_kernel_iteration_equals_the_primal(two_gaussians):
    """Section 8.3: w_t = X^T c_t with B_i = -(1/n) y_i / (1 + e^(y_i (K c)_i)) + 2 lambda c_i.

    The step must be from K/n + 2 lambda I (the text prints lambda there and 2 lambda in 8.2).
    """
    X, y = two_gaussians
    n, lam = len(y), 0.05
    K = X @ X.T
    step = 1 / np.linalg.eigvalsh(K / n + 2 * lam * np.eye(n))[-1]
    c, w = np.zeros(n), np.zeros(2)
    for _ in range(300):
        c = c - step * (-y / (n * (1 + np.exp(y * (K @ c)))) + 2 * lam * c)
        w = w - step * _gradient(w, X, y, lam)
    np.testing.assert_allclose(X.T @ c, w, rtol=1e-10)
    model = LogisticRegression(C=1 / (2 * lam * n), fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(np.ravel(model.coef_), X.T @ c, rtol=1e-6)


def test_8_4_confidence(two_gaussians):
    """Section 8.4: p(1|x) = e^(w.x) / (1 + e^(w.x)); probabilities of the two classes sum to one."""
    X, y = two_gaussians
    model = LogisticRegression(C=1.0).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities[:, 1], expit(X @ np.ravel(model.coef_) + model.intercept_[0]), rtol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-15)
    # unpenalised offset: the average confidence is the share of the class
    assert probabilities[:, 1].mean() == pytest.approx(0.5, abs=1e-5)


# -- section 11.3: sparsity by convex penalties -----------------------------------------------------------------------


def rosasco_lasso(X, y, lam, share=1.0, steps=20_000):
    """(1/n) |y - Xw|^2 + lam (share |w|_1 + (1 - share) |w|^2) by the text's iteration, with its errors corrected: plus
    before the gradient, a 2 in the shrinkage and n in the step.
    """
    n = len(y)
    step = n / (2 * (np.linalg.norm(X.T @ X, 2) + n * lam * (1 - share)))
    w = np.zeros(X.shape[1])
    for _ in range(steps):
        u = (1 - 2 * lam * step * (1 - share)) * w + 2 * step / n * X.T @ (y - X @ w)
        w = np.sign(u) * np.maximum(np.abs(u) - lam * share * step, 0)
    return w


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_section_11_3_iterative_soft_thresholding(share):
    """The text's objective is twice ours: alpha l1_ratio = lam share / 2, alpha (1 - l1_ratio) = lam (1 - share)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    y = X @ np.array([2.0, -1.0, 0.5, 0, 0, 0, 0, 0]) + 0.3 * rng.standard_normal(60)
    lam = 0.3
    l1, l2 = lam * share / 2, lam * (1 - share)
    settings = {"alpha": l1 + l2, "l1_ratio": l1 / (l1 + l2), "fit_intercept": False, "tol": 1e-14}
    expected = rosasco_lasso(X, y, lam, share)
    for solver in ("cd", "ista", "fista"):
        result = tenfold.ElasticNet(solver=solver, max_iter=10_000, **settings).fit(X, y)
        np.testing.assert_allclose(result.coef_, expected, atol=1e-6)


def test_section_11_3_correlated_columns_share_with_the_elastic_net_alone():
    """The Lasso may take either of two equal columns; the elastic net gives both the same weight."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(50)
    X, y = np.column_stack([x, x, rng.standard_normal(50)]), 2.0 * x + 0.1 * rng.standard_normal(50)
    net = tenfold.ElasticNet(alpha=0.1, l1_ratio=0.5, tol=1e-12).fit(X, y).coef_
    assert net[0] == pytest.approx(net[1], rel=1e-6)
    lasso = tenfold.Lasso(alpha=0.1, tol=1e-12).fit(X, y)
    assert lasso.certificate_.ok
    assert np.min(np.abs(lasso.coef_[:2])) < 1e-10 * np.max(lasso.coef_[:2])
    # a share of zero is ridge regression
    ridge = tenfold.ElasticNet(alpha=0.1, l1_ratio=0.0, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ridge.coef_, tenfold.Ridge(alpha=0.1 * 50).fit(X, y).coef_, atol=1e-6)
