"""Worked numbers and theorems of Seeger, "Pattern Classification and Machine Learning" (2012), for the linear methods.

Conventions of the text: design matrix Phi with rows phi(x_i), targets t, ridge constant nu in
1/2 ||Phi w - t||^2 + nu/2 ||w||^2 (7.1), so nu is `alpha`. A constant feature stands in Phi, hence no intercept
wherever Phi is spelled out.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from numpy.polynomial import legendre
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import tenfold
from tenfold import LinearRegression, LogisticRegression, Ridge, RidgeCV, ridge_path
from tenfold.losses import Logistic, Square


def monomials(x: np.ndarray, p: int) -> np.ndarray:
    """Phi = [1, x, ..., x^(p-1)] of section 4.1."""
    return np.vander(x, p, increasing=True)


def legendre_features(x: np.ndarray, degree: int) -> np.ndarray:
    """The same polynomials in a well-conditioned basis: least squares predictions do not depend on the basis."""
    return legendre.legvander(2.0 * x - 1.0, degree)


def sine_sample(rng: np.random.Generator, n: int, sd: float) -> tuple[np.ndarray, np.ndarray]:
    """x with 0 and 1 among its values and the rest uniform, t = sin(2 pi x) + N(0, sd^2) (Figures 10.2 to 10.4)."""
    x = np.concatenate([[0.0, 1.0], rng.random(n - 2)])
    return x, np.sin(2 * np.pi * x) + sd * rng.standard_normal(n)


def least_squares_weights(Phi: np.ndarray, t: np.ndarray) -> np.ndarray:
    return LinearRegression(fit_intercept=False).fit(Phi, t).coef_


# Chapter 4: least squares ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def curve() -> tuple[np.ndarray, np.ndarray]:
    """Ten points of sin(2 pi x) with noise of standard deviation 0.15 (Figure 4.3)."""
    x = np.linspace(0.0, 1.0, 10)
    return x, np.sin(2 * np.pi * x) + 0.15 * np.random.default_rng(4).standard_normal(10)


def test_4_1_nested_polynomials_never_fit_worse(curve):
    """Section 4.1: the classes are nested, so the squared error can never get worse as p grows."""
    x, t = curve
    errors = []
    for p in range(1, 11):
        Phi = monomials(x, p)
        errors.append(np.sum((Phi @ least_squares_weights(Phi, t) - t) ** 2))
    assert np.all(np.diff(errors) <= 1e-12)


def test_4_1_figure_4_3_under_and_overfitting(curve):
    """Figure 4.3: p = 1 and 2 fit poorly, p = 4 represents the curve, p = 10 meets every point and oscillates."""
    x, t = curve
    grid = np.linspace(0.0, 1.0, 401)
    error, norm, distance = {}, {}, {}
    for p in (1, 2, 4, 10):
        w = least_squares_weights(monomials(x, p), t)
        error[p] = 0.5 * np.sum((monomials(x, p) @ w - t) ** 2)
        norm[p] = np.linalg.norm(w)
        distance[p] = np.max(np.abs(monomials(grid, p) @ w - np.sin(2 * np.pi * grid)))
    assert error[1] > 1.5
    assert error[2] > 0.7
    assert error[4] < 0.2
    assert np.max(np.abs(monomials(x, 10) @ least_squares_weights(monomials(x, 10), t) - t)) < 1e-8
    # the weights grow by orders of magnitude: less than one, about one, tens, hundred thousands
    assert norm[1] < 1 < norm[2] < 4 < 10 < norm[4] < 100
    assert 1e4 < norm[10] < 1e6
    assert distance[4] < 0.4 < distance[10]


def test_4_1_1_univariate_closed_form():
    """Section 4.1.1: w = Cov[x, t] / Var[x], b = <t> - w <x>. Here Cov = 8/5 and Var = 10/5."""
    x, t = np.arange(5.0), np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    model = LinearRegression().fit(x[:, None], t)
    assert model.coef_[0] == pytest.approx(0.8, rel=1e-14)
    assert model.intercept_ == pytest.approx(1.4, rel=1e-14)


def test_4_1_1_univariate_equals_empirical_moments():
    """Section 4.1.1 on random data, far from the origin: the moments are centred, so nothing is lost."""
    rng = np.random.default_rng(41)
    x = 1e6 + rng.standard_normal(50)
    t = 3.0 * (x - 1e6) + rng.standard_normal(50)
    model = LinearRegression().fit(x[:, None], t)
    w = np.cov(x, t, bias=True)[0, 1] / np.var(x)
    assert model.coef_[0] == pytest.approx(w, rel=1e-12)
    # the intercept is -3e6, known to its last digit
    assert model.predict(np.array([[1e6]]))[0] == pytest.approx(t.mean() + w * (1e6 - x.mean()), abs=2e-9)


@pytest.fixture(scope="module")
def design() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(42)
    return rng.standard_normal((30, 6)), rng.standard_normal(30)


def test_4_2_normal_equations(design):
    """Section 4.2: Phi^T Phi w = Phi^T t, that is Phi^T (t - y) = 0."""
    Phi, t = design
    assert np.max(np.abs(Phi.T @ (t - Phi @ least_squares_weights(Phi, t)))) < 1e-13


def test_4_2_1_estimate_is_linear_in_the_targets(design):
    """Section 4.2.1: w is a linear function of t."""
    Phi, t = design
    s = np.random.default_rng(0).standard_normal(30)
    combined = least_squares_weights(Phi, 2.0 * t - 3.0 * s)
    np.testing.assert_allclose(
        combined, 2.0 * least_squares_weights(Phi, t) - 3.0 * least_squares_weights(Phi, s), atol=1e-13
    )


def test_4_2_2_orthogonal_projection(design):
    """Section 4.2.2: y = M t with M^2 = M = M^T, eigenvalues 1 (p times) and 0 (n - p times), trace p.

    The columns of M are the fits of the unit vectors: n targets in one fit.
    """
    Phi, _ = design
    n, p = Phi.shape
    M = LinearRegression(fit_intercept=False).fit(Phi, np.eye(n)).predict(Phi)
    np.testing.assert_allclose(M, M.T, atol=1e-14)
    np.testing.assert_allclose(M @ M, M, atol=1e-14)
    np.testing.assert_allclose(np.linalg.eigvalsh((M + M.T) / 2), [0.0] * (n - p) + [1.0] * p, atol=1e-13)
    assert np.trace(M) == pytest.approx(p, rel=1e-13)


def test_4_2_2_pythagoras(design):
    """Section 4.2.2: ||t||^2 = ||y||^2 + ||t - y||^2, and no other point of the range is nearer to t."""
    Phi, t = design
    w = least_squares_weights(Phi, t)
    y = Phi @ w
    assert y @ y + (t - y) @ (t - y) == pytest.approx(t @ t, rel=1e-14)
    for step in np.random.default_rng(1).standard_normal((20, 6)):
        assert np.sum((t - Phi @ (w + 1e-3 * step)) ** 2) > np.sum((t - y) ** 2)


def test_4_2_3_residual_decomposition_by_qr(design):
    """Section 4.2.3: ||Phi w - t||^2 = ||R w - Q^T t||^2 + ||t - Q Q^T t||^2; the first is zero at the solution."""
    Phi, t = design
    Q, R = np.linalg.qr(Phi)
    w = least_squares_weights(Phi, t)
    rest = np.sum((t - Q @ (Q.T @ t)) ** 2)
    assert np.sum((R @ w - Q.T @ t) ** 2) < 1e-26
    assert np.sum((Phi @ w - t) ** 2) == pytest.approx(rest, rel=1e-13)
    v = w + 1.0
    assert np.sum((Phi @ v - t) ** 2) == pytest.approx(np.sum((R @ v - Q.T @ t) ** 2) + rest, rel=1e-13)


def test_4_2_3_ill_conditioned_design_is_solved_as_well_as_by_qr():
    """Section 4.2.3: forming Phi^T Phi squares the condition number; a Hilbert matrix (10 x 7) shows the loss.

    The right-hand side is Phi times ones up to rounding, so the weights should be ones.
    """
    i = np.arange(1, 11)[:, None]
    j = np.arange(1, 8)[None, :]
    Phi = 1.0 / (i + j - 1.0)
    t = Phi.sum(axis=1)
    condition = np.linalg.cond(Phi)
    assert condition > 1e7
    normal = np.linalg.solve(Phi.T @ Phi, Phi.T @ t)
    ours = least_squares_weights(Phi, t)
    assert np.max(np.abs(ours - 1)) < 20 * np.finfo(float).eps * condition
    assert np.max(np.abs(ours - 1)) < 1e-2 * np.max(np.abs(normal - 1))


# Chapter 7: regularisation --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def polynomial() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """n = 30 points of a smooth curve with noise and polynomials with p = 20 coefficients (Figure 7.3)."""
    rng = np.random.default_rng(88)
    x = rng.random(30)
    return x, monomials(x, 20), np.sin(2 * np.pi * x) + 0.25 * rng.standard_normal(30)


def test_7_2_figure_7_3_norm_of_the_weights(polynomial):
    """Figure 7.3: alpha(nu) = ||w_nu|| is extreme without regularisation and falls to order one."""
    _, Phi, t = polynomial
    models = {nu: Ridge(alpha=nu, fit_intercept=False).fit(Phi, t) for nu in (1e-9, 1e-6, 1e-3, 1.0)}
    norms = {nu: np.linalg.norm(model.coef_) for nu, model in models.items()}
    assert np.linalg.norm(least_squares_weights(Phi, t)) > 1e6
    assert 1e3 < norms[1e-9] < 1e5
    assert 20 < norms[1e-6] < 500
    assert 5 < norms[1e-3] < 50
    assert 0.5 < norms[1.0] < 5


def test_7_2_figure_7_3_regularised_curves_are_nearer_to_the_truth(polynomial):
    """Figure 7.3: the erratic behaviour is smoothed out; too much smoothing hurts again."""
    _, Phi, t = polynomial
    grid = np.linspace(0.0, 1.0, 201)
    risk = {}
    for nu in (1e-9, 1e-3, 1.0):
        w = Ridge(alpha=nu, fit_intercept=False).fit(Phi, t).coef_
        risk[nu] = np.mean((monomials(grid, 20) @ w - np.sin(2 * np.pi * grid)) ** 2)
    assert risk[1e-3] < 0.05
    assert risk[1e-3] < risk[1.0] < 0.5
    assert risk[1e-9] > 10 * risk[1e-3]


@pytest.mark.parametrize("nu", [1e-9, 1e-6, 1e-3, 1.0, 1e3])
def test_7_2_equals_augmented_least_squares(polynomial, nu):
    """Section 7.2: the minimum of E_nu is the least squares solution with the rows sqrt(nu) I appended."""
    _, Phi, t = polynomial
    rows = np.vstack([Phi, np.sqrt(nu) * np.eye(20)])
    expected = np.linalg.lstsq(rows, np.concatenate([t, np.zeros(20)]), rcond=None)[0]
    w = Ridge(alpha=nu, fit_intercept=False).fit(Phi, t).coef_
    # what a backward stable method can promise: eps times the condition of the augmented rows
    tolerance = 100 * np.finfo(float).eps * np.linalg.cond(rows)
    assert np.linalg.norm(w - expected) <= tolerance * np.linalg.norm(expected)


NU = np.concatenate([[0.0], np.logspace(-3, 4, 25)])


def test_7_2_2_shrinkage_factors(design):
    """Section 7.2.2: in the eigenbasis of Phi^T Phi, beta_nu,j = lambda_j / (lambda_j + nu) beta_0,j.

    The printed sums run to n; they run over the p eigenvectors.
    """
    Phi, t = design
    lam, U = np.linalg.eigh(Phi.T @ Phi)
    path = ridge_path(Phi, t, NU, fit_intercept=False)
    factors = lam / (lam + NU[:, None])
    np.testing.assert_allclose(path.coefs @ U, factors * (path.coefs[0] @ U), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(np.sort(path.shrinkage, axis=1), np.sort(factors, axis=1), rtol=1e-12)
    np.testing.assert_allclose(np.sort(path.singular_values**2), lam, rtol=1e-12)
    np.testing.assert_allclose(path.degrees_of_freedom, factors.sum(axis=1), rtol=1e-12)


def test_7_2_2_norm_decreases_and_training_error_increases(design):
    """Section 7.2.2: for nu_1 < nu_2, ||w_nu2|| < ||w_nu1|| and the training error is strictly larger.

    Section 10.1.4 prints that the training error is nonincreasing in nu: it is nondecreasing, as proved here.
    """
    Phi, t = design
    path = ridge_path(Phi, t, NU, fit_intercept=False)
    np.testing.assert_allclose(path.norms, np.linalg.norm(path.coefs, axis=1), rtol=1e-13)
    np.testing.assert_allclose(path.training_error, np.sum((Phi @ path.coefs.T - t[:, None]) ** 2, axis=0), rtol=1e-12)
    assert np.all(np.diff(path.norms) < 0)
    assert np.all(np.diff(path.training_error) > 0)


def test_7_2_2_regularisation_acts_on_poorly_determined_directions(design):
    """Section 7.2.2: the factor is near 1 where lambda_j >> nu and near 0 where lambda_j << nu."""
    rng = np.random.default_rng(722)
    Phi = np.linalg.qr(rng.standard_normal((30, 3)))[0] * np.array([100.0, 1.0, 0.01])
    t = Phi @ np.ones(3)
    w = Ridge(alpha=1.0, fit_intercept=False).fit(Phi, t).coef_
    np.testing.assert_allclose(w, [1e4 / (1e4 + 1), 0.5, 1e-4 / (1e-4 + 1)], rtol=1e-12)


def test_7_1_and_10_2_scalings_of_nu(design):
    """(7.1) has 1/2 sum + nu/2 ||w||^2, section 10.2 has (1/n) sum + nu ||w||^2: nu(7.1) = n nu(10.2)."""
    Phi, t = design
    n, nu = len(t), 0.03
    w = Ridge(alpha=n * nu, fit_intercept=False).fit(Phi, t).coef_
    gradient = 2.0 / n * Phi.T @ (Phi @ w - t) + 2.0 * nu * w
    assert np.max(np.abs(gradient)) < 1e-14


# Chapter 8: conditional likelihood and logistic regression ------------------------------------------------------------


@pytest.fixture(scope="module")
def classes() -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping classes in the plane, labels -1 and +1."""
    rng = np.random.default_rng(8)
    t = np.repeat([-1, 1], 60)
    return rng.standard_normal((120, 2)) + 0.9 * t[:, None] * np.array([1.0, 0.5]), t


def test_8_1_1_figure_8_1_distant_correct_points(classes):
    """Figure 8.1: a few distant, correctly classified points turn the least squares boundary, not the logistic one."""
    X, t = classes
    far = np.array([12.0, -4.0]) + 0.3 * np.random.default_rng(81).standard_normal((8, 2))
    X_far, t_far = np.vstack([X, far]), np.concatenate([t, np.ones(8, dtype=int)])

    def turn(model) -> float:
        before, after = (np.ravel(model.fit(*data).coef_) for data in ((X, t), (X_far, t_far)))
        cosine = before @ after / (np.linalg.norm(before) * np.linalg.norm(after))
        return float(np.degrees(np.arccos(cosine)))

    logistic = LogisticRegression(C=np.inf).fit(X, t)
    assert np.all(logistic.predict(far) == 1)
    assert np.min(logistic.decision_function(far)) > 10
    assert turn(LinearRegression()) > 20
    assert turn(LogisticRegression(C=np.inf)) < 0.1


def test_8_2_1_confident_point():
    """Section 8.2.1: t = +1, y = 5. The squared residual is 4, the logistic one pi - 1 = -0.0067 with pi = 0.9933."""
    t, y = np.array([1.0]), np.array([5.0])
    assert Square().slope(t, y)[0] == 4.0
    assert Logistic().slope(t, y)[0] == pytest.approx(expit(5.0) - 1.0, rel=1e-14)
    assert round(float(Logistic().slope(t, y)[0]), 4) == -0.0067
    assert round(float(1.0 + Logistic().slope(t, y)[0]), 4) == 0.9933


def test_8_2_1_gradient_vanishes_at_the_maximum_likelihood(classes):
    """(8.5): the gradient is Phi^T (pi - t~), with a constant feature for the bias; it is zero at the estimate."""
    X, t = classes
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, t)
    residual = model.predict_proba(X)[:, 1] - (t + 1) / 2
    assert np.max(np.abs(X.T @ residual)) < 1e-6
    assert abs(residual.sum()) < 1e-6


@pytest.mark.parametrize("q", [0.01, 0.2, 0.5, 0.9])
def test_8_2_2_population_minimisers(q):
    """Section 8.2.2: with q = P(+1), the logistic error is minimised by log q/(1-q), the squared one by 2 q - 1."""
    X, t, weight = np.zeros((2, 1)), np.array([1, -1]), np.array([q, 1 - q])
    logistic = LogisticRegression(C=1.0, tol=1e-12).fit(X, t, sample_weight=weight)
    square = LinearRegression().fit(X, t, sample_weight=weight)
    assert logistic.intercept_[0] == pytest.approx(np.log(q / (1 - q)), abs=1e-7)
    assert square.intercept_ == pytest.approx(2 * q - 1, abs=1e-14)
    assert np.ravel(logistic.coef_)[0] == 0.0


def test_8_2_4_newton_steps_are_weighted_least_squares(classes):
    """Section 8.2.4: IRLS, d = argmin 1/2 sum kappa_i (phi_i^T d - f_i)^2 with f = -xi/kappa, ends at our estimate.

    Each step is one weighted fit of our LinearRegression; a handful of them from w = 0 suffices.
    """
    X, t = classes
    Phi = np.column_stack([X, np.ones(len(t))])
    w = np.zeros(3)
    for _ in range(12):
        pi = expit(Phi @ w)
        kappa, xi = pi * (1 - pi), pi - (t + 1) / 2
        w = w + LinearRegression(fit_intercept=False).fit(Phi, -xi / kappa, sample_weight=kappa).coef_
    model = LogisticRegression(C=np.inf, tol=1e-12).fit(X, t)
    np.testing.assert_allclose(np.append(np.ravel(model.coef_), model.intercept_), w, rtol=1e-7)


def test_8_2_4_the_estimate_is_a_fixed_point(classes):
    """Section 8.2.4: at the minimum of E_log + nu/2 ||w||^2 the weighted ridge fit of y + f returns w itself.

    The normal equations of a step are (Phi^T K Phi + nu I) w = Phi^T (K y - xi), the bias being unpenalised.
    """
    X, t = classes
    nu = 0.7
    model = LogisticRegression(C=1 / nu, tol=1e-12).fit(X, t)
    y = model.decision_function(X)
    pi = expit(y)
    kappa, xi = pi * (1 - pi), pi - (t + 1) / 2
    step = Ridge(alpha=nu).fit(X, y - xi / kappa, sample_weight=kappa)
    np.testing.assert_allclose(step.coef_, np.ravel(model.coef_), rtol=1e-7)
    assert step.intercept_ == pytest.approx(model.intercept_[0], abs=1e-7)


@pytest.fixture(scope="module")
def separable() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(832)
    t = np.repeat([-1, 1], 20)
    return 0.5 * rng.standard_normal((40, 2)) + 2.0 * t[:, None], t


def test_8_3_2_separable_data_have_no_maximum_likelihood(separable):
    """Section 8.3.2: E_log(a w) falls to 0 as a grows when w separates the data, so there is no finite minimiser."""
    X, t = separable
    with pytest.warns(Warning, match="separa"):
        model = LogisticRegression(C=np.inf).fit(X, t)
    assert "no maximum" in str(model.status_)
    direction = np.ravel(model.separating_direction_)
    w, b = direction[:2], direction[2] if direction.size == 3 else 0.0
    margins = t * (X @ w + b) if direction.size == 3 else t * (X @ w - np.median(X @ w))
    assert np.all(margins > 0)
    errors = [np.sum(np.logaddexp(0, -a * margins)) for a in (1, 10, 100, 1000)]
    assert np.all(np.diff(errors) <= 0)
    assert errors[-1] < 1e-3 * errors[0]


def test_8_3_2_map_cures_separable_data(separable):
    """Section 8.3.2: with a Gaussian prior the minimiser of E_log + beta/2 ||w||^2 is finite and unique.

    Its norm grows as the prior weakens, about as log(1/beta).
    """
    X, t = separable
    norms = []
    for beta in (1.0, 1e-2, 1e-4):
        model = LogisticRegression(C=1 / beta, tol=1e-10).fit(X, t)
        assert model.certificate_.ok
        residual = model.predict_proba(X)[:, 1] - (t + 1) / 2
        np.testing.assert_allclose(X.T @ residual, -beta * np.ravel(model.coef_), atol=1e-6)
        norms.append(np.linalg.norm(model.coef_))
    assert norms[0] < norms[1] < norms[2] < 20


def test_8_3_2_ridge_is_map_with_nu_beta_sigma2(design):
    """Section 8.3.2: noise variance sigma^2 and prior N(0, I/beta) give nu = beta sigma^2.

    The exponent of the prior is -beta/2 ||w||^2 (a sign is lost in print).
    """
    Phi, t = design
    sigma2, beta = 0.3, 5.0
    w = Ridge(alpha=beta * sigma2, fit_intercept=False).fit(Phi, t).coef_
    gradient = Phi.T @ (Phi @ w - t) / sigma2 + beta * w
    assert np.max(np.abs(gradient)) < 1e-12


# Chapter 9: dual ridge ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(30, 6), (8, 20)])
def test_9_2_2_primal_equals_dual(shape):
    """Section 9.2.2: (nu I + Phi Phi^T) a = t, w = Phi^T a; the smaller of the two systems may be solved."""
    rng = np.random.default_rng(92)
    Phi, t, nu = rng.standard_normal(shape), rng.standard_normal(shape[0]), 0.4
    a = np.linalg.solve(nu * np.eye(shape[0]) + Phi @ Phi.T, t)
    np.testing.assert_allclose(
        Ridge(alpha=nu, fit_intercept=False).fit(Phi, t).coef_, Phi.T @ a, rtol=1e-11, atol=1e-14
    )


def test_9_2_2_representer_theorem():
    """Section 9.2.2: the weights lie in the span of the phi_i; what is orthogonal to it vanishes."""
    rng = np.random.default_rng(921)
    Phi, t = rng.standard_normal((5, 12)), np.array([1, -1, 1, -1, 1])
    _, _, Vt = np.linalg.svd(Phi)
    outside = Vt[5:]
    for model in (Ridge(alpha=0.5, fit_intercept=False), LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10)):
        w = np.ravel(model.fit(Phi, t).coef_)
        assert np.linalg.norm(outside @ w) < 1e-12 * np.linalg.norm(w) + 1e-14


def test_9_2_2_minimum_norm_interpolation():
    """Section 9.2.2: for rank n and nu -> 0, w = Phi^T (Phi Phi^T)^-1 t (printed without the first transpose).

    It is the interpolant of smallest norm, and what LinearRegression returns when p > n.
    """
    rng = np.random.default_rng(922)
    Phi, t = rng.standard_normal((6, 15)), rng.standard_normal(6)
    w = least_squares_weights(Phi, t)
    np.testing.assert_allclose(w, Phi.T @ np.linalg.solve(Phi @ Phi.T, t), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(Phi @ w, t, atol=1e-12)
    limit = Ridge(alpha=1e-10, fit_intercept=False).fit(Phi, t).coef_
    np.testing.assert_allclose(limit, w, rtol=1e-8, atol=1e-9)


# Chapter 10: model selection ------------------------------------------------------------------------------------------


def test_10_1_2_figure_10_1_stability_of_halves():
    """Figure 10.1: lines fitted to halves of ten nearly collinear points agree; high-degree polynomials do not.

    The caption says degree 7 and the text degree 6: both degrees behave so.
    """
    rng = np.random.default_rng(101)
    x = np.linspace(0.0, 1.0, 10)
    t = 1.0 + 2.0 * x + 0.05 * rng.standard_normal(10)
    grid = np.linspace(0.0, 1.0, 101)
    for degree, agree in ((1, True), (6, False), (7, False)):
        order = rng.permutation(10)
        curves = [
            legendre_features(grid, degree) @ least_squares_weights(legendre_features(x[half], degree), t[half])
            for half in (order[:5], order[5:])
        ]
        distance = np.max(np.abs(curves[0] - curves[1]))
        assert distance < 0.3 if agree else distance > 0.5


def test_10_1_4_figure_10_3_bias_and_variance():
    """Figure 10.3: average squared bias falls and variance rises with the degree; degree 3 has the smallest risk.

    The noise variance is 1/16. The expected numbers come from 20 000 samples; the bands are four standard errors of
    the 200 samples here. From degree 4 on the variance is heavy-tailed, so only its order is asserted.
    """
    rng = np.random.default_rng(1014)
    grid = np.linspace(0.0, 1.0, 101)
    truth = np.sin(2 * np.pi * grid)
    samples = [sine_sample(rng, 12, 0.25) for _ in range(200)]
    bias2, variance = np.empty(7), np.empty(7)
    for degree in range(7):
        weights = np.array([least_squares_weights(legendre_features(x, degree), t) for x, t in samples])
        curves = weights @ legendre_features(grid, degree).T
        bias2[degree] = np.mean((curves.mean(axis=0) - truth) ** 2)
        variance[degree] = np.mean(curves.var(axis=0))
    np.testing.assert_allclose(bias2[:4], [0.4975, 0.2423, 0.2434, 0.0066], atol=0.01)
    np.testing.assert_allclose(variance[:4], [0.0395, 0.0346, 0.0557, 0.0237], atol=0.019)
    assert np.all(bias2[4:] < 0.03)
    assert variance[6] > variance[5] > variance[4] > variance[3]
    risk = bias2 + variance + 1 / 16
    assert np.argmin(risk) == 3
    assert risk[3] == pytest.approx(0.0928, abs=0.008)


def test_10_1_4_least_squares_is_unbiased_and_ridge_is_not():
    """Section 10.1.4: OLS is unbiased when the truth is in the model; ridge has E[w_nu] = (A + nu I)^-1 A w.

    4000 noisy copies of the targets are one fit with 4000 outputs.
    """
    rng = np.random.default_rng(10)
    Phi, w = rng.standard_normal((20, 3)), np.array([1.0, -2.0, 0.5])
    T = (Phi @ w)[:, None] + 0.5 * rng.standard_normal((20, 4000))
    A, nu = Phi.T @ Phi, 5.0
    expected = np.linalg.solve(A + nu * np.eye(3), A @ w)
    standard_error = 0.5 * np.sqrt(np.diag(np.linalg.inv(A)) / 4000)
    ols = LinearRegression(fit_intercept=False).fit(Phi, T).coef_
    ridge = Ridge(alpha=nu, fit_intercept=False).fit(Phi, T).coef_
    assert np.all(np.abs(ols.mean(axis=0) - w) < 4 * standard_error)
    assert np.all(np.abs(ridge.mean(axis=0) - expected) < 4 * standard_error)
    assert np.all(np.abs(expected - w) > 20 * standard_error)
    assert np.all(ridge.var(axis=0) < ols.var(axis=0))


def _cross_validation(samples: int) -> dict[str, np.ndarray]:
    """Mean leave-one-out, 5-fold and true risk by degree (1 to 8) over samples of 50 points (Figure 10.4)."""
    rng = np.random.default_rng(1021)
    grid = np.linspace(0.0, 1.0, 201)
    truth, score = np.sin(2 * np.pi * grid), "neg_mean_squared_error"
    out = {name: np.empty((samples, 8)) for name in ("risk", "loo", "fold")}
    for s in range(samples):
        x, t = sine_sample(rng, 50, 0.25)
        folds = KFold(5, shuffle=True, random_state=s)
        for k, degree in enumerate(range(1, 9)):
            Phi = legendre_features(x, degree)
            # 1e-10 against eigenvalues above 1e-2: least squares to nine digits
            loo = RidgeCV(alphas=[1e-10], fit_intercept=False).fit(Phi, t)
            fold = RidgeCV(alphas=[1e-10], fit_intercept=False, cv=folds, scoring=score).fit(Phi, t)
            out["loo"][s, k], out["fold"][s, k] = loo.cv_errors_[0], fold.cv_errors_[0]
            curve = legendre_features(grid, degree) @ loo.coef_
            out["risk"][s, k] = np.mean((curve - truth) ** 2) + 1 / 16
    return out


def test_10_2_1_figure_10_4_cross_validation_follows_the_risk():
    """Figure 10.4: the minima of LOO and 5-fold coincide with that of the risk, both err on the conservative side, and
    their spread over samples grows with the degree. (20 samples of 50 here; all 100 in the slow test.)"""
    out = _cross_validation(20)
    mean = {name: values.mean(axis=0) for name, values in out.items()}
    assert {int(np.argmin(m[:6])) for m in mean.values()} <= {2, 4}  # degrees 3 and 5: sin is odd about the middle
    np.testing.assert_allclose(mean["loo"][2:5], mean["risk"][2:5], rtol=0.2)
    np.testing.assert_allclose(mean["fold"][2:5], mean["risk"][2:5], rtol=0.25)
    assert np.all(mean["fold"] > mean["risk"])
    assert out["fold"][:, 7].std() > 2 * out["fold"][:, 2].std()


@pytest.mark.slow
def test_10_2_1_figure_10_4_all_hundred_samples():
    """Figure 10.4 with its 100 samples: true risk .073/.074/.070/.072 and LOO .074/.079/.073/.080 at degrees 3 to 6."""
    out = _cross_validation(100)
    mean = {name: values.mean(axis=0) for name, values in out.items()}
    np.testing.assert_allclose(mean["risk"][2:6], [0.0732, 0.0743, 0.0702, 0.0716], rtol=0.06)
    np.testing.assert_allclose(mean["loo"][2:5], [0.0742, 0.0788, 0.0728], rtol=0.1)
    assert np.all(mean["loo"] > mean["risk"] - 0.002)
    assert np.all(mean["fold"] > mean["loo"] - 0.002)
    assert out["loo"][:, 7].std() > 3 * out["loo"][:, 2].std()


def test_10_2_1_folds_keep_nu_of_7_1(design):
    """Section 10.2.1: each case is tested once, by the model of the other folds, with the same nu of (7.1).

    (With nu of section 10.2 the constant of a fold would be (M-1)/M of it.)
    """
    Phi, t = design
    folds = KFold(5, shuffle=True, random_state=3)
    alphas = [0.1, 1.0, 10.0]
    expected = [
        np.mean(
            [
                np.mean((Ridge(alpha=a).fit(Phi[train], t[train]).predict(Phi[test]) - t[test]) ** 2)
                for train, test in folds.split(Phi)
            ]
        )
        for a in alphas
    ]
    model = RidgeCV(alphas=alphas, cv=folds, scoring="neg_mean_squared_error").fit(Phi, t)
    np.testing.assert_allclose(model.cv_errors_, expected, rtol=1e-8)
    assert model.alpha_ == alphas[int(np.argmin(expected))]


def test_10_2_2_leave_one_out_from_one_qr(design):
    """Section 10.2.2: the LOO residual is r_i / (1 - h_i) with h = sum of q_k^2, k = 1..p (printed: 1..d)."""
    Phi, t = design
    Q, _ = np.linalg.qr(Phi)
    alpha = (t - Q @ (Q.T @ t)) / (1 - np.sum(Q**2, axis=1))
    brute = np.array(
        [t[i] - Phi[i] @ least_squares_weights(np.delete(Phi, i, axis=0), np.delete(t, i)) for i in range(len(t))]
    )
    np.testing.assert_allclose(alpha, brute, rtol=1e-10)
    model = RidgeCV(alphas=[1e-12], fit_intercept=False, store_cv_results=True).fit(Phi, t)
    np.testing.assert_allclose(model.cv_results_[:, 0], brute**2, rtol=1e-9, atol=1e-14)


def test_10_2_2_weights_without_one_case(design):
    """Section 10.2.2: w_(-i) = w - alpha_i A^-1 phi_i."""
    Phi, t = design
    w = least_squares_weights(Phi, t)
    A = Phi.T @ Phi
    for i in (0, 7, 29):
        h = Phi[i] @ np.linalg.solve(A, Phi[i])
        expected = w - (t[i] - Phi[i] @ w) / (1 - h) * np.linalg.solve(A, Phi[i])
        np.testing.assert_allclose(
            least_squares_weights(np.delete(Phi, i, axis=0), np.delete(t, i)), expected, rtol=1e-9, atol=1e-13
        )


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_10_2_2_leave_one_out_of_ridge_at_fixed_nu(design, fit_intercept):
    """Section 10.2.2 for A + nu I: exact when the nu of (7.1) is kept while a case is left out."""
    Phi, t = design
    alphas = np.array([0.01, 1.0, 30.0])
    brute = np.empty((len(t), 3))
    for i in range(len(t)):
        for k, nu in enumerate(alphas):
            fit = Ridge(alpha=nu, fit_intercept=fit_intercept).fit(np.delete(Phi, i, axis=0), np.delete(t, i))
            brute[i, k] = t[i] - fit.predict(Phi[i : i + 1])[0]
    model = RidgeCV(alphas=alphas, fit_intercept=fit_intercept, store_cv_results=True).fit(Phi, t)
    np.testing.assert_allclose(model.cv_results_, brute**2, rtol=1e-9)
    np.testing.assert_allclose(model.cv_errors_, np.mean(brute**2, axis=0), rtol=1e-10)
    assert model.alpha_ == alphas[np.argmin(np.mean(brute**2, axis=0))]


def test_section_5_2_3_bayes_error_of_cauchy_classes():
    for delta, expected in ((0.0, 0.5), (1.0, 0.25), (2.0, 0.14758), (5.0, 0.06283), (10.0, 0.03173)):
        result = tenfold.bounds.bayes_error([scipy.stats.cauchy(0.0, 3.0), scipy.stats.cauchy(6.0 * delta, 3.0)])
        assert result.value == pytest.approx(expected, abs=5e-6)


def test_section_6_4_2_bayes_error_of_gaussian_classes():
    for distance, expected in ((1.0, 0.30854), (2.0, 0.15866), (3.0, 0.06681), (4.0, 0.02275)):
        pair = [scipy.stats.norm(0.0, 1.0), scipy.stats.norm(distance, 1.0)]
        assert tenfold.bounds.bayes_error(pair).value == pytest.approx(expected, abs=5e-6)
    pair = [scipy.stats.norm(0.0, 1.0), scipy.stats.norm(2.0, 1.0)]
    assert tenfold.bounds.bayes_error(pair, [0.2, 0.8]).value == pytest.approx(0.11207, abs=5e-6)
    S = np.array([[2.0, 0.5], [0.5, 1.0]])
    wide = [scipy.stats.multivariate_normal(m, S) for m in ([0.0, 0.0], [1.0, 2.0])]
    exact = tenfold.bounds.bayes_error(wide, [0.3, 0.7])
    other = [wide[0], scipy.stats.multivariate_normal([1.0, 2.0], S * (1.0 + 1e-12))]  # no formula for these
    drawn = tenfold.bounds.bayes_error(other, [0.3, 0.7])
    assert drawn.method == "Monte Carlo"
    assert abs(drawn.value - exact.value) < 4.0 * drawn.standard_error


def test_section_6_4_1_spherical_classes_are_split_at_the_middle():
    """Equal priors: the border is the plane half way between the means."""
    X = np.array([[0.0, 0.0], [2.0, 0.0], [6.0, 4.0], [8.0, 4.0]])
    model = tenfold.GaussianPlugIn("spherical").fit(X, [-1, -1, 1, 1])
    middle = X.mean(axis=0)
    assert model.decision_function([middle])[0] == pytest.approx(0.0, abs=1e-12)
    direction = model.coef_[0] / np.linalg.norm(model.coef_[0])
    np.testing.assert_allclose(direction, np.array([6.0, 4.0]) / np.sqrt(52.0))


def test_section_7_3_1_wishart_prior_keeps_axes_and_lifts_variances():
    """Eigenvalues (alpha + n l) / (alpha + n - p - 1)."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 3)) * [1.0, 0.1, 0.01]
    y = np.arange(12) % 2
    alpha, n, p = 5.0, 12, 3
    plain = tenfold.GaussianPlugIn("shared").fit(X, y).covariance_
    mode = tenfold.GaussianPlugIn("shared", wishart=alpha).fit(X, y).covariance_
    values, axes = np.linalg.eigh(plain)
    np.testing.assert_allclose(axes.T @ mode @ axes, np.diag((alpha + n * values) / (alpha + n - p - 1)), atol=1e-12)
    assert np.linalg.eigvalsh(mode)[0] >= alpha / (alpha + n - p - 1)


def test_section_5_2_no_classifier_is_better_than_bayes():
    """On rows of the densities themselves the error is near the Bayes error, and of others above it."""
    pair = [scipy.stats.norm(0.0, 1.0), scipy.stats.norm(1.5, 1.0)]
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    X = (1.5 * y + rng.standard_normal(20_000))[:, None]
    best = tenfold.bounds.bayes_error(pair).value
    error = 1.0 - tenfold.BayesClassifier(pair, priors=[0.5, 0.5]).fit(X, y).score(X, y)
    assert error == pytest.approx(best, abs=0.01)
    other = 1.0 - tenfold.BayesClassifier([scipy.stats.norm(0.0, 1.0), scipy.stats.norm(4.0, 1.0)]).fit(X, y).score(
        X, y
    )
    assert other > best + 0.05


def test_8_3_2_posterior_of_linear_regression_by_conditioning():
    """Section 8.3.2: weights N(0, I / beta) and targets N(X w, sigma^2 I) are jointly Gaussian; the posterior is the
    conditional of the joint, its mean the ridge of nu = beta sigma^2, and a prediction has the variance of both.
    """
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((30, 4)), np.array([1.0, -2.0, 0.0, 0.5])
    y = X @ w + 0.5 * rng.standard_normal(30)
    model = tenfold.BayesianRidge(fit_intercept=False).fit(X, y)
    noise, prior = 1.0 / model.alpha_, np.eye(4) / model.lambda_
    joint = X @ prior @ X.T + noise * np.eye(30)
    gain = prior @ X.T @ np.linalg.inv(joint)
    np.testing.assert_allclose(model.coef_, gain @ y, rtol=1e-9)
    np.testing.assert_allclose(model.sigma_, prior - gain @ X @ prior, atol=1e-12)
    ridge = tenfold.Ridge(alpha=model.lambda_ * noise, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-9)
    new = rng.standard_normal((5, 4))
    mean, deviation = model.predict(new, return_std=True)
    np.testing.assert_allclose(mean, new @ model.coef_, rtol=1e-12)
    np.testing.assert_allclose(deviation**2, np.einsum("ij,jk,ik->i", new, model.sigma_, new) + noise, rtol=1e-10)


def test_10_2_1_evidence_finds_the_degree_that_the_training_error_does_not():
    """Section 10.2.1: the log marginal likelihood of the best precisions is largest at the degree that made the data,
    while the training error falls on.
    """
    rng = np.random.default_rng(0)
    x = np.linspace(-1.0, 1.0, 60)
    y = 2.0 * x**3 - x + 0.1 * rng.standard_normal(60)
    evidence, errors = [], []
    for degree in range(1, 9):
        X = np.polynomial.legendre.legvander(x, degree)[:, 1:]
        model = tenfold.BayesianRidge(compute_score=True).fit(X, y)
        assert model.certificate_.ok
        evidence.append(model.scores_[-1])
        errors.append(np.mean((y - tenfold.LinearRegression().fit(X, y).predict(X)) ** 2))
    assert int(np.argmax(evidence)) + 1 == 3
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(errors))


def test_10_2_1_relevance_determination_finds_the_columns():
    """Section 10.2.1, evidence with a precision for each weight: columns without influence are pruned."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 20))
    model = tenfold.ARDRegression(threshold_lambda=100.0).fit(
        X, X[:, 3] - 2.0 * X[:, 7] + 0.3 * rng.standard_normal(200)
    )
    assert model.certificate_.ok
    assert {3, 7} <= set(np.flatnonzero(model.coef_))
    assert np.count_nonzero(model.coef_) <= 10
    assert 1.0 / np.sqrt(model.alpha_) == pytest.approx(0.3, rel=0.15)


def test_7_3_1_the_wishart_mode_is_a_shrunk_covariance():
    """With the prior W(m I, a) on the precision the mode is, but for a factor, S moved towards m I by a / (a + n), with
    the same axes and no eigenvalue below a m / (a + n - p - 1).
    """
    rng = np.random.default_rng(0)
    n, p, a = 30, 6, 12.0
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    S = X.T @ X / n
    m = np.trace(S) / p
    mode = (a * m * np.eye(p) + n * S) / (a + n - p - 1)
    shrunk = tenfold.ShrunkCovariance(shrinkage=a / (a + n), assume_centered=True).fit(X)
    np.testing.assert_allclose(mode, shrunk.covariance_ * (a + n) / (a + n - p - 1), rtol=1e-12)
    values = np.linalg.eigvalsh(S)
    np.testing.assert_allclose(np.linalg.eigvalsh(mode), (a * m + n * values) / (a + n - p - 1), rtol=1e-9)
    assert np.linalg.eigvalsh(mode)[0] >= a * m / (a + n - p - 1)


def test_11_1_4_the_power_method_finds_the_principal_components_of_digits():
    """Each step multiplies the error by the ratio of two eigenvalues; the first limit that is too small is said."""
    X = load_digits().data
    power = tenfold.PCA(3, svd_solver="power", iterated_power=2000, random_state=0).fit(X)
    direct = tenfold.PCA(3).fit(X)
    assert power.certificate_.ok
    np.testing.assert_allclose(power.explained_variance_, direct.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(power.components_ @ direct.components_.T), np.eye(3), atol=1e-6)
    with pytest.warns(ConvergenceWarning):
        tenfold.PCA(3, svd_solver="power", iterated_power=3, random_state=0).fit(X)


def test_11_12_the_likelihood_of_probabilistic_components_rises_by_em_to_the_closed_form():
    """Section 11.1 and chapter 12: with factors latent as well, E-step ``E[z] = M^-1 W (x - m)``, M-step a regression
    of the samples on them. A fifth of the pixels is lost, and is filled better than by their means.
    """
    X = load_digits().data[:, [20, 21, 27, 28, 35, 36]]
    away, (n, p), k = X - X.mean(axis=0), X.shape, 2
    W, noise, bounds = np.random.default_rng(0).standard_normal((k, p)), 1.0, []
    for _ in range(400):
        C = W.T @ W + noise * np.eye(p)
        squares = np.sum(away.T * np.linalg.solve(C, away.T))
        bounds.append(-0.5 * (n * np.linalg.slogdet(2.0 * np.pi * C)[1] + squares))
        M = W @ W.T + noise * np.eye(k)
        z = np.linalg.solve(M, W @ away.T).T
        W = np.linalg.solve(z.T @ z + n * noise * np.linalg.inv(M), z.T @ away)
        noise = (np.sum(away**2) - np.sum((away @ W.T) * z)) / (n * p)
    model = tenfold.ProbabilisticPCA(k).fit(X)
    assert np.all(np.diff(bounds) > -1e-9 * abs(bounds[-1]))
    assert bounds[-1] == pytest.approx(model.loglike_[-1], rel=1e-9)
    np.testing.assert_allclose(W.T @ W + noise * np.eye(p), model.get_covariance(), atol=1e-3)
    lost = np.random.default_rng(1).uniform(size=X.shape) < 0.2
    gaps = np.where(lost, np.nan, X)
    filled = tenfold.ProbabilisticPCA(k).fit(gaps)
    assert filled.certificate_.ok
    by_mean = np.nanmean(gaps, axis=0)
    assert np.mean((filled.impute(gaps) - X)[lost] ** 2) < 0.8 * np.mean((by_mean - X)[lost] ** 2)
