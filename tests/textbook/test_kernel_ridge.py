"""Worked facts of the texts on ridge in the space of a kernel.

Conventions: Rosasco divides the square loss by n, so his lambda n is `alpha`; the others' lambda is `alpha`.
"""

import numpy as np
import pytest
from scipy.optimize import brentq

import tenfold
from tenfold import KernelRidge, KernelRidgeCV, Ridge
from tenfold.kernels import Composed, Gaussian, Linear, Polynomial, effective_dimension, width_limits

rng = np.random.default_rng(10)
X = rng.standard_normal((25, 2))
y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(25)
QUERIES = rng.standard_normal((7, 2))


def features(Z):
    """Rosasco 6.1: (x1^2, sqrt(2) x1 x2, x2^2)."""
    return np.column_stack([Z[:, 0] ** 2, np.sqrt(2.0) * Z[:, 0] * Z[:, 1], Z[:, 1] ** 2])


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_welling_10_primal_equals_dual(alpha):
    """w = Phi (K + lambda I)^-1 y: ridge on the features and kernel ridge predict the same."""
    primal = Ridge(alpha, fit_intercept=False).fit(features(X), y)
    for kernel in (Polynomial(2, 1.0, 0.0), Composed(Linear(), features)):
        dual = KernelRidge(alpha, kernel=kernel).fit(X, y)
        np.testing.assert_allclose(dual.predict(QUERIES), primal.predict(features(QUERIES)), rtol=1e-9)
        np.testing.assert_allclose(features(X).T @ dual.dual_coef_, primal.coef_, rtol=1e-8)


def test_welling_10_2_norm_bounded():
    """sum xi^2 with ||w|| <= B: lambda is the root of a'K a = B^2, and the dual is largest there."""
    K, bound = Gaussian(1.0)(X), 1.5

    def fit(alpha):
        return KernelRidge(alpha, kernel=Gaussian(1.0)).fit(X, y).dual_coef_

    def norm(alpha):
        return float(np.sqrt(fit(alpha) @ K @ fit(alpha)))

    def dual(alpha):
        a = fit(alpha)
        return -(alpha**2) * a @ a + 2.0 * alpha * a @ y - alpha * a @ K @ a - alpha * bound**2

    assert norm(1e-3) > bound > norm(10.0)
    root = brentq(lambda alpha: norm(alpha) - bound, 1e-3, 10.0, xtol=1e-12)
    primal = float(np.sum((y - K @ fit(root)) ** 2))
    assert dual(root) == pytest.approx(primal, rel=1e-8)
    assert all(dual(root * factor) < dual(root) for factor in (0.5, 0.9, 1.1, 2.0))


def test_rosasco_6_2_representer_theorem():
    """(X'X + lambda n I)^-1 X' = X' (X X' + lambda n I)^-1, and (K + lambda n I) c = y: what is added to w outside the
    span of the samples changes no prediction and costs its norm.
    """
    n, strength = len(X), 0.05
    Phi = np.column_stack([features(X), np.zeros(n)])
    left = np.linalg.solve(Phi.T @ Phi + strength * n * np.eye(4), Phi.T)
    np.testing.assert_allclose(left, Phi.T @ np.linalg.inv(Phi @ Phi.T + strength * n * np.eye(n)), atol=1e-12)
    c = KernelRidge(strength * n, kernel="linear").fit(Phi, y).dual_coef_
    np.testing.assert_allclose(Phi.T @ c, left @ y, rtol=1e-8, atol=1e-12)
    w, outside = Phi.T @ c, np.array([0.0, 0.0, 0.0, 1.0])
    objective = [np.mean((y - Phi @ v) ** 2) + strength * v @ v for v in (w, w + 0.1 * outside)]
    assert objective[1] - objective[0] == pytest.approx(strength * 0.01, rel=1e-9)


def test_rosasco_6_3_sums_of_kernels_are_kernels():
    model = KernelRidge(0.1, kernel=Gaussian(1.0) + Polynomial(2, 1.0, 1.0)).fit(X, y)
    K = np.exp(-0.5 * np.sum((QUERIES[:, None] - X) ** 2, axis=2)) + (QUERIES @ X.T + 1.0) ** 2
    np.testing.assert_allclose(model.predict(QUERIES), K @ model.dual_coef_, rtol=1e-10)
    assert model.certificate_.ok


def test_cookbook_c3_leave_one_out_from_one_eigendecomposition():
    """S = K (K + lambda I)^-1 = U L (L + lambda I)^-1 U', err = 1/n sum ((y_i - [S y]_i) / (1 - S_ii))^2."""
    alphas, K = np.logspace(-4, 2, 13), Gaussian(0.7)(X)
    values, U = np.linalg.eigh(K)
    model = KernelRidgeCV(alphas, kernel=Gaussian(0.7)).fit(X, y)
    for alpha, score in zip(alphas, model.cv_results_["mean_test_score"], strict=True):
        S = (U * (values / (values + alpha))) @ U.T
        error = np.mean(((y - S @ y) / (1.0 - np.diag(S))) ** 2)
        assert -score == pytest.approx(error, rel=1e-8)
        assert effective_dimension(K, alpha) == pytest.approx(np.trace(S), rel=1e-8)
        one = KernelRidge(alpha, kernel=Gaussian(0.7))
        left_out = [one.fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0] for i in range(len(X))]
        assert np.mean((left_out - y) ** 2) == pytest.approx(error, rel=1e-8)


def test_cookbook_appendix_a1_linear_kernel_is_ridge():
    several = np.column_stack([y, y**2])
    dual = KernelRidge(0.3, kernel="linear").fit(X, several)
    primal = Ridge(0.3, fit_intercept=False).fit(X, several)
    np.testing.assert_allclose(dual.predict(QUERIES), primal.predict(QUERIES), rtol=1e-9)
    assert dual.dual_coef_.shape == several.shape


def test_cookbook_6_1_a_fit_without_a_penalty_follows_the_noise():
    """sin x from a few noisy samples: one fit meets the samples, the other the truth."""
    generator = np.random.default_rng(3)
    x = np.sort(generator.uniform(0.0, 2.0 * np.pi, 20))[:, None]
    target = np.sin(x[:, 0]) + 0.3 * generator.standard_normal(20)
    grid = np.linspace(0.0, 2.0 * np.pi, 200)[:, None]

    def errors(alpha, width):
        model = KernelRidge(alpha, kernel=Gaussian(width)).fit(x, target)
        return [np.mean((model.predict(x) - target) ** 2), np.mean((model.predict(grid) - np.sin(grid[:, 0])) ** 2)]

    complex_fit, regularised = errors(1e-8, 0.3), errors(0.5, 1.2)
    assert complex_fit[0] < 1e-6 < regularised[0]
    assert regularised[1] < 0.2 * complex_fit[1]


def test_minimum_norm_interpolation():
    """Without a penalty the fit meets the targets, and of all functions that do it has the least norm."""
    kernel = Gaussian(0.3)
    model = KernelRidge(0.0, kernel=kernel).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-8)
    centres = np.vstack([X, QUERIES])
    K = kernel(centres)
    null = np.linalg.svd(K[: len(X)])[2][len(X) :]  # coefficients whose functions vanish at the samples
    c = np.concatenate([model.dual_coef_, np.zeros(len(QUERIES))])
    norm = c @ K @ c
    for direction in null:
        other = c + 0.5 * direction
        np.testing.assert_allclose(K[: len(X)] @ other, y, atol=1e-8)
        assert other @ K @ other > norm
    near = KernelRidge(1e-9, kernel=kernel).fit(X, y)
    np.testing.assert_allclose(near.predict(QUERIES), model.predict(QUERIES), atol=1e-6)


def test_limits_of_the_width():
    """A narrow kernel remembers: c = y / (1 + alpha), and nothing away from the samples. A wide one has one value."""
    limits, alpha = width_limits(X, Gaussian(), tol=1e-6), 0.5
    narrow = KernelRidge(alpha, kernel=Gaussian(0.1 * limits.identity)).fit(X, y)
    np.testing.assert_allclose(narrow.dual_coef_, y / (1.0 + alpha), rtol=1e-5)
    np.testing.assert_allclose(narrow.predict([[50.0, 50.0]]), [0.0], atol=1e-12)
    wide = KernelRidge(alpha, kernel=Gaussian(100.0 * limits.ones)).fit(X, y)
    n = len(X)
    np.testing.assert_allclose(wide.predict(QUERIES), np.full(7, np.sum(y) / (n + alpha)), rtol=1e-3)
    assert tenfold.certify(wide, X, y).ok
