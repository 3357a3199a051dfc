"""Worked facts of the Machine Learning Cookbook (chapters 6, 17, 19, 23 and its appendix) for the linear methods.

Conventions of the text: cases are columns, ||Y - W^T X||^2 + lambda ||W||^2, so lambda is `alpha`. Rows are cases here.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from scipy.special import expit
from sklearn.model_selection import KFold, cross_val_score

import tenfold
from tenfold import LinearRegression, LogisticRegression, Ridge, RidgeCV


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(17)
    X = rng.standard_normal((30, 4))
    return X, X @ rng.standard_normal((4, 3)) + 0.5 * rng.standard_normal((30, 3))


# Chapter 6: cross-validation ------------------------------------------------------------------------------------------


def test_6_2_leave_one_out_is_k_fold_with_k_equal_n(data):
    """Section 6.2: "if one sets k to be the size of the data set": the closed form equals n folds."""
    X, y = data[0], data[1][:, 0]
    alphas = [0.1, 1.0, 10.0]
    closed = RidgeCV(alphas=alphas).fit(X, y)
    folds = RidgeCV(alphas=alphas, cv=KFold(len(y)), scoring="neg_mean_squared_error").fit(X, y)
    np.testing.assert_allclose(closed.cv_errors_, folds.cv_errors_, rtol=1e-9)
    assert closed.alpha_ == folds.alpha_


def test_6_2_nested_cross_validation(data):
    """Section 6.2: the choice of lambda goes inside the folds that evaluate it."""
    X, y = data[0], data[1][:, 0]
    outer = KFold(5)
    model = RidgeCV(alphas=[0.1, 1.0, 10.0], cv=KFold(4), scoring="neg_mean_squared_error")
    nested = cross_val_score(model, X, y, cv=outer, scoring="r2")
    for score, (train, test) in zip(nested, outer.split(X), strict=True):
        inner = {
            alpha: np.mean(
                [
                    np.mean((Ridge(alpha=alpha).fit(X[a], y[a]).predict(X[b]) - y[b]) ** 2)
                    for a, b in ((train[i], train[j]) for i, j in KFold(4).split(train))
                ]
            )
            for alpha in (0.1, 1.0, 10.0)
        }
        best = Ridge(alpha=min(inner, key=inner.__getitem__)).fit(X[train], y[train])
        assert score == pytest.approx(best.score(X[test], y[test]), rel=1e-9)


# Chapter 17: least squares and ridge ----------------------------------------------------------------------------------


def test_17_3_multi_output_pseudo_inverse(data):
    """(17.3): W = (X X^T)^-1 X Y^T, the pseudo-inverse, for all outputs at once."""
    X, Y = data
    model = LinearRegression(fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(model.coef_.T, np.linalg.pinv(X) @ Y, rtol=1e-11, atol=1e-14)
    # gradient of B.3: -2 X y + 2 X X^T w
    assert np.max(np.abs(-2 * X.T @ Y + 2 * X.T @ X @ model.coef_.T)) < 1e-12


@pytest.mark.parametrize("lam", [0.1, 10.0])
def test_17_5_ridge(data, lam):
    """(17.5): W = (X X^T + lambda I)^-1 X Y^T; gradient of B.4: -2 X y + 2 X X^T w + 2 lambda w."""
    X, Y = data
    W = Ridge(alpha=lam, fit_intercept=False).fit(X, Y).coef_.T
    np.testing.assert_allclose(W, np.linalg.solve(X.T @ X + lam * np.eye(4), X.T @ Y), rtol=1e-11, atol=1e-14)
    assert np.max(np.abs(-2 * X.T @ Y + 2 * X.T @ X @ W + 2 * lam * W)) < 1e-12


def test_17_ridge_is_invertible_when_features_outnumber_cases():
    """Chapter 17: X X^T has not full rank when D > N; with the ridge it has."""
    rng = np.random.default_rng(171)
    X, y = rng.standard_normal((8, 20)), rng.standard_normal(8)
    w = Ridge(alpha=0.5, fit_intercept=False).fit(X, y).coef_
    np.testing.assert_allclose(w, np.linalg.solve(X.T @ X + 0.5 * np.eye(20), X.T @ y), rtol=1e-9, atol=1e-12)


LAMBDAS = (0.0, 1.0, 10.0, 100.0, 1e3, 1e4)


def test_17_algorithm_16_penalises_the_offset():
    """Algorithm 16 puts a row of ones into X and so penalises the offset: the slope is not decreasing in lambda.

    On y = 5 + x/10 it rises from .1 to about .7 before it falls, against the message of Figure 17.1.
    """
    x = np.linspace(0.0, 10.0, 50)
    y = 5.0 + 0.1 * x
    X1 = np.column_stack([np.ones(50), x])
    slopes = np.array([Ridge(alpha=lam, fit_intercept=False).fit(X1, y).coef_[1] for lam in LAMBDAS])
    closed = [np.linalg.solve(X1.T @ X1 + lam * np.eye(2), X1.T @ y)[1] for lam in LAMBDAS]
    np.testing.assert_allclose(slopes, closed, rtol=1e-9)
    np.testing.assert_allclose(slopes, [0.100, 0.153, 0.418, 0.702, 0.516, 0.121], atol=5e-4)
    assert np.any(np.diff(slopes) > 0.1)


def test_17_figure_17_1_holds_for_an_unpenalised_offset():
    """Figure 17.1: "the larger the regularizer the smaller the slope" is true when the offset is left free."""
    x = np.linspace(0.0, 10.0, 50)
    y = 5.0 + 0.1 * x
    models = [Ridge(alpha=lam).fit(x[:, None], y) for lam in LAMBDAS]
    slopes = np.array([m.coef_[0] for m in models])
    assert slopes[0] == pytest.approx(0.1, rel=1e-12)
    assert np.all(np.diff(slopes) < 0)
    sxx = np.sum((x - 5) ** 2)
    np.testing.assert_allclose(slopes, [0.1 * sxx / (sxx + lam) for lam in LAMBDAS], rtol=1e-11)
    # the mean of y stays where it is
    for model in models:
        assert model.predict([[5.0]])[0] == pytest.approx(5.5, rel=1e-13)


def test_17_squared_error_is_sensitive_to_one_outlier():
    """Chapter 17, discussion: one huge error dominates the squared cost."""
    x = np.arange(10.0)
    y = 2.0 * x
    spoiled = y.copy()
    spoiled[9] += 1000.0
    assert LinearRegression().fit(x[:, None], y).coef_[0] == pytest.approx(2.0, rel=1e-13)
    slope = LinearRegression().fit(x[:, None], spoiled).coef_[0]
    assert slope == pytest.approx(2.0 + 1000.0 * 4.5 / 82.5, rel=1e-12)


# Chapter 19: logistic regression --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def make_classes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(19)
    y = np.repeat([0, 1], 50)
    return rng.standard_normal((100, 3)) + 0.8 * y[:, None], y


def test_19_3_gradient_is_residual_times_input(make_classes):
    """(19.3): the gradient is (p - 1{k = y}) x; at the estimate it is zero, offset included."""
    X, y = make_classes
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    residual = model.predict_proba(X)[:, 1] - y
    assert np.max(np.abs(X.T @ residual)) < 1e-6
    assert abs(residual.sum()) < 1e-6


def test_19_algorithm_18_needs_the_minus_sign(make_classes):
    """Algorithm 18 prints W + (1/t) x (p - y); the step down has a minus, and it ends near our solution."""
    X, y = make_classes
    X1 = np.column_stack([X, np.ones(100)])
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    best = np.append(np.ravel(model.coef_), model.intercept_)

    def loss(w: np.ndarray) -> float:
        return float(np.mean(np.logaddexp(0, -(2 * y - 1) * (X1 @ w))))

    order = np.random.default_rng(191).integers(0, 100, 10_000)
    ends = {}
    for sign in (-1.0, 1.0):
        w = np.zeros(4)
        for t, i in enumerate(order):
            w = w + sign * 10.0 / (100.0 + t) * X1[i] * (expit(X1[i] @ w) - y[i])
        ends[sign] = loss(w)
    assert loss(best) < ends[-1.0] < loss(best) + 0.01
    assert ends[1.0] > 1.0 > loss(np.zeros(4))


# Chapter 23 and appendix: kernels and leave-one-out -------------------------------------------------------------------


def test_A_1_dual_weights_are_scaled_residuals(data):
    """(A.3), (A.4): a = (y - X^T w) / lambda = (X^T X + lambda I)^-1 y, and w = X a."""
    X, y = data[0], data[1][:, 0]
    lam = 0.8
    w = Ridge(alpha=lam, fit_intercept=False).fit(X, y).coef_
    a = (y - X @ w) / lam
    np.testing.assert_allclose(a, np.linalg.solve(X @ X.T + lam * np.eye(30), y), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(X.T @ a, w, rtol=1e-10)


def _c3(K: np.ndarray, y: np.ndarray, lams: np.ndarray) -> np.ndarray:
    """C.3: squared LOO errors for all lambda from one eigendecomposition K = U L U^T."""
    L, U = np.linalg.eigh(K)
    Uy = U.T @ y
    out = []
    for lam in lams:
        shrink = L / (L + lam)
        out.append(((y - U @ (shrink * Uy)) / (1 - (U**2) @ shrink)) ** 2)
    return np.array(out).T


@pytest.mark.parametrize("shape", [(30, 4), (12, 25)])
def test_C_3_leave_one_out_of_the_linear_kernel(shape):
    """C.3: err = 1/n sum ((y_i - [S y]_i) / (1 - S_ii))^2, S = K (K + lambda I)^-1, is the error RidgeCV chooses by."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal(shape)
    y = X @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0])
    lams = np.logspace(-2, 3, 6)
    squared = _c3(X @ X.T, y, lams)
    model = RidgeCV(alphas=lams, fit_intercept=False, store_cv_results=True).fit(X, y)
    np.testing.assert_allclose(model.cv_results_, squared, rtol=1e-8)
    np.testing.assert_allclose(model.cv_errors_, squared.mean(axis=0), rtol=1e-9)
    assert model.alpha_ == lams[np.argmin(squared.mean(axis=0))]


def test_C_3_equals_explicit_leave_one_out(data):
    """C.3 is "faster than explicitly computing cross-validation", not another number."""
    X, y = data[0], data[1][:, 1]
    lams = np.array([0.1, 1.0, 10.0])
    explicit = np.empty((30, 3))
    for i in range(30):
        kept = np.arange(30) != i
        for k, lam in enumerate(lams):
            explicit[i, k] = (y[i] - X[i] @ Ridge(alpha=lam, fit_intercept=False).fit(X[kept], y[kept]).coef_) ** 2
    np.testing.assert_allclose(_c3(X @ X.T, y, lams), explicit, rtol=1e-9)
    model = RidgeCV(alphas=lams, fit_intercept=False, store_cv_results=True).fit(X, y)
    np.testing.assert_allclose(model.cv_results_, explicit, rtol=1e-9)


def test_C_3_with_a_free_offset_the_mean_is_part_of_the_smoother(data):
    """C.3 with an offset: centring the kernel alone is not exact; S gains 1/n, as the mean is estimated too."""
    X, y = data[0], data[1][:, 2] + 3.0
    n, lam = len(y), 2.0
    H = np.eye(n) - np.full((n, n), 1 / n)
    K = H @ (X @ X.T) @ H
    smoother = K @ np.linalg.inv(K + lam * np.eye(n)) + np.full((n, n), 1 / n)
    exact = ((y - smoother @ y) / (1 - np.diag(smoother))) ** 2
    model = RidgeCV(alphas=[lam], store_cv_results=True).fit(X, y)
    np.testing.assert_allclose(model.cv_results_[:, 0], exact, rtol=1e-9)
    centred_only = _c3(K, y - y.mean(), np.array([lam]))[:, 0]
    assert np.max(np.abs(centred_only - exact)) > 1e-3


# -- chapter 18: the Lasso -------------------------------------------------------------------------------------------


def lasso_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 10))
    w = np.zeros(10)
    w[:3] = 3.0, -2.0, 1.5
    return X, X @ w + rng.standard_normal(500)


def test_chapter_18_online_halves_come_near_the_optimum():
    """Algorithm 17: u and v, each at least zero, by a rate that falls with the root of the rows seen."""
    X, y = lasso_data()
    best = tenfold.Lasso(alpha=0.2, fit_intercept=False, tol=1e-10).fit(X, y)
    online = tenfold.Lasso(alpha=0.2, fit_intercept=False, solver="uv", max_iter=40, tol=2e-3).fit(X, y)
    np.testing.assert_allclose(online.coef_, best.coef_, atol=0.05)
    assert online.certificate_.ok
    assert not best.coef_[3:].any()


def test_chapter_18_path_from_least_squares_to_nothing():
    """Figure 18.1: least squares at lambda = 0, all zero from max_j |x_j.y| / N on."""
    X, y = lasso_data()
    top = np.max(np.abs(X.T @ y)) / len(y)
    alphas, coefs, _ = tenfold.lasso_path(X, y, alphas=60, eps=1e-6, tol=1e-10)
    assert alphas[0] == pytest.approx(top)
    assert not coefs[:, 0].any()
    assert coefs[:, 1].any()
    np.testing.assert_allclose(coefs[:, -1], np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-5)
    # longer weights for smaller penalties
    assert np.all(np.diff(np.abs(coefs).sum(axis=0)) > -1e-9)


MAILS = np.array([[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0]])
SPAM = np.array([1, 1, 1, 0, 0])
"""The five mails of figure 14.1: do they hold Dinner, Cinema, Buy, Viagra? 1 is spam."""


def test_chapter_14_words_without_smoothing():
    """Printed 1/3 for Dinner, Cinema and Buy in ham; there are two mails of ham, and its prediction takes 1/2."""
    model = tenfold.BernoulliNB(alpha=0.0, presence_only=True).fit(MAILS, SPAM)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[1 / 2, 1 / 2, 1 / 2, 0], [0, 0, 2 / 3, 2 / 3]])
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [0.4, 0.6])
    scores = np.exp(model.predict_joint_log_proba([[1, 0, 0, 0]]))
    np.testing.assert_allclose(scores, [[0.2, 0.0]])
    assert model.predict([[1, 0, 0, 0]]) == [0]


def test_chapter_14_absent_words_count_too():
    """The score of the book has the words that are there alone; a Bernoulli model has all."""
    model = tenfold.BernoulliNB(alpha=0.0).fit(MAILS, SPAM)
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba([[1, 0, 0, 0]])), [[0.05, 0.0]])


def test_chapter_14_smoothing_with_denominators_that_sum_to_one():
    """Printed with N + 1 and N_k + 1, by which priors would sum to 7/6; it is N + K and N_k + 2."""
    priors = (np.bincount(SPAM) + 1.0) / (len(SPAM) + 2.0)
    model = tenfold.BernoulliNB(class_prior=priors).fit(MAILS, SPAM)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[0.5, 0.5, 0.5, 0.25], [0.2, 0.2, 0.6, 0.6]])
    scores = np.exp(model.predict_joint_log_proba([[1, 0, 0, 0]]))
    np.testing.assert_allclose(scores, [[9 / 224, 64 / 4375]])
    assert model.predict_proba([[1, 0, 0, 0]])[0, 0] == pytest.approx(0.73309, abs=1e-5)
    present = tenfold.BernoulliNB(class_prior=priors, presence_only=True).fit(MAILS, SPAM)
    np.testing.assert_allclose(
        np.exp(present.predict_joint_log_proba([[1, 0, 0, 0]])), [[0.2142857, 0.1142857]], atol=1e-7
    )


def test_chapter_14_counting_is_incremental():
    grown = tenfold.BernoulliNB()
    for row, label in zip(MAILS, SPAM, strict=True):
        grown.partial_fit([row], [label], classes=[0, 1])
    whole = tenfold.BernoulliNB().fit(MAILS, SPAM)
    np.testing.assert_allclose(grown.feature_log_prob_, whole.feature_log_prob_, rtol=1e-14)


# Chapter 10: canonical correlation analysis ---------------------------------------------------------------------------


def two_views(strength, noise, n=1000, seed=0):
    """(10.3): X = w strength s + (1 - strength^2) noise, and Y alike."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal(n)
    views = []
    for _ in range(2):
        w = rng.standard_normal(2)
        w /= np.linalg.norm(w)
        directions = np.eye(2) if noise == "isotropic" else rng.standard_normal((1, 2))
        noises = rng.standard_normal((n, len(directions))) @ directions
        views.append(strength * np.outer(hidden, w) + (1.0 - strength**2) * noises)
    return hidden, *views


def test_chapter_10_isotropic_noise_hides_the_hidden_variable():
    """With the printed model, gamma = 0.1, nothing is recovered: the correlation is gamma^2 / (gamma^2 + (1 -
    gamma^2)^2) = 0.0101.
    """
    gamma = 0.1
    population = gamma**2 / (gamma**2 + (1 - gamma**2) ** 2)
    assert population == pytest.approx(0.0101, abs=1e-4)
    hidden, X, y = two_views(gamma, "isotropic", 200_000)
    model = tenfold.CCA(1).fit(X, y)
    assert model.correlations_[0] == pytest.approx(population, abs=0.006)
    assert abs(np.corrcoef(model.transform(X)[:, 0], hidden)[0, 1]) < 0.2


def test_chapter_10_noise_along_one_direction_does_not():
    """What figure 10.3 shows: columns are hardly correlated, and the hidden variable is recovered."""
    hidden, X, y = two_views(0.1, "one direction", seed=2)
    assert np.abs(np.corrcoef(np.hstack([X, y]).T)[:2, 2:]).max() < 0.2
    model = tenfold.CCA(1).fit(X, y)
    np.testing.assert_allclose(model.correlations_, 1.0, atol=1e-10)
    for scores in model.transform(X, y):
        assert abs(np.corrcoef(scores[:, 0], hidden)[0, 1]) == pytest.approx(1.0, abs=1e-10)


def test_chapter_10_linear_maps_of_a_view_change_nothing():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((100, 3)), rng.standard_normal((100, 2))
    y[:, 0] += X[:, 1]
    one, other = tenfold.CCA(2).fit(X, y), tenfold.CCA(2).fit(X @ rng.standard_normal((3, 3)), y)
    np.testing.assert_allclose(one.correlations_, other.correlations_, rtol=1e-12)


def test_chapter_10_correlations_are_cosines_of_principal_angles():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    model = tenfold.CCA(2).fit(X, y)
    angles = tenfold.principal_angles((X - X.mean(axis=0)).T, (y - y.mean(axis=0)).T)
    np.testing.assert_allclose(model.correlations_, np.cos(angles), rtol=1e-12)


def test_appendix_b2_eigenvalues_come_in_pairs():
    """Of two views they are plus and minus the correlations; a solver that makes W'RW = I leaves each view the variance
    1/2.
    """
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((80, 2)), rng.standard_normal((80, 2))
    y += X
    S = np.cov(np.hstack([X, y]).T)
    R, L = S.copy(), S.copy()
    R[:2, 2:], R[2:, :2] = 0.0, 0.0
    L -= R
    values, W = scipy.linalg.eigh(L, R)
    np.testing.assert_allclose(values, -values[::-1], atol=1e-12)
    model = tenfold.CCA(2, scale=False).fit(X, y)
    np.testing.assert_allclose(values[::-1][:2], model.correlations_, rtol=1e-10)
    assert W[:2, -1] @ S[:2, :2] @ W[:2, -1] == pytest.approx(0.5)


def test_chapter_10_more_than_two_views_share_one_variance():
    """Algorithm 6 does not solve (10.1) for three views: their variances differ, only the sum is held; eigenvalues go
    up to M - 1.
    """
    rng = np.random.default_rng(4)
    hidden = rng.standard_normal((500, 1))
    strong = [hidden + 0.3 * rng.standard_normal((500, 2)) for _ in range(2)]
    X = np.hstack([*strong, 0.2 * hidden + rng.standard_normal((500, 2))])
    model = tenfold.MultiviewCCA(1, views=3).fit(X)
    variances = model.transform(X).var(axis=0, ddof=1)
    assert variances.sum() == pytest.approx(3.0, rel=1e-12)
    assert variances[2] < 0.4 < 1.1 < variances[:2].min()
    assert 1.0 < model.values_[0] < 2.0


def xor(n, seed):
    """Chapter 21: class 1 at (1, 1) and (-1, -1), class 2 at (1, -1) and (-1, 1), Gaussian noise."""
    rng = np.random.default_rng(seed)
    corners = rng.choice([-1.0, 1.0], (n, 2))
    return corners + 0.3 * rng.standard_normal((n, 2)), corners[:, 0] * corners[:, 1]


@pytest.mark.parametrize("centres", [("uniform", 20), ("kmeans", 4)])
def test_21_xor_on_a_random_subset_or_on_means_of_clusters(centres):
    """Chapter 21, reduced set: train on a random subset or on the centres of k-means in place of all points."""
    X, y = xor(200, 0)
    test, labels = xor(400, 1)
    full = tenfold.KernelRidgeClassifier(alpha=1.0, gamma=0.5).fit(X, y)
    few = tenfold.FalkonClassifier(1.0 / 200, gamma=0.5, centres=centres, random_state=0).fit(X, y)
    ridge = tenfold.KernelRidgeClassifier(alpha=1.0, gamma=0.5, centres=centres, random_state=0).fit(X, y)
    assert min(model.score(test, labels) for model in (full, few, ridge)) > 0.97
    assert few.certificate_.ok
    assert "not of that with a centre at every sample" in few.certificate_.note


def test_24_error_of_a_subset_of_points_falls_with_their_number():
    """Chapter 24: kernel matrices from a subset of the points; what they miss falls with their number."""
    X, y = xor(2000, 0)
    missed = []
    for m in (5, 20, 80):
        words = tenfold.Falkon(gamma=0.5, centres=m, random_state=0).fit(X, y).certificate_.note.split()
        missed.append(float(words[words.index("miss") + 1]))
    assert missed[0] > 10.0 * missed[1] > 100.0 * missed[2]
