"""Gaussian processes in the texts: Cookbook, chapter 23, Seeger, sections 9.2.2 and 10.2.2."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from tenfold import GaussianProcessRegressor, Ridge
from tenfold.kernels import Gaussian, Linear


@pytest.fixture
def cosine():
    """Figures 23.1 and 23.2: f(x) = cos x at a few positions, which the text does not give."""
    X = np.array([-3.5, -3.0, -1.5, 0.0, 0.5, 2.0])[:, None]
    return X, np.cos(X[:, 0])


def process(noise=1e-6, **settings):
    return GaussianProcessRegressor(Gaussian(1.0), alpha=noise, optimizer=None, **settings)


def test_23_mean_and_covariance_of_algorithm_23(cosine):
    """mu = K_ij alpha, Sigma = K_ii - K_ij (K_jj + lambda I)^-1 K_ij^T (23.3)."""
    X, y = cosine
    Q, kernel, lam = np.linspace(-5.0, 5.0, 21)[:, None], Gaussian(1.0), 0.1
    inverse = np.linalg.inv(kernel(X) + lam * np.eye(len(X)))
    model = process(lam).fit(X, y)
    mean, covariance = model.predict(Q, return_cov=True)
    np.testing.assert_allclose(mean, kernel(Q, X) @ inverse @ y, atol=1e-12)
    np.testing.assert_allclose(covariance, kernel(Q) - kernel(Q, X) @ inverse @ kernel(X, Q), atol=1e-12)


def test_23_figure_23_1_variance_grows_away_from_the_data(cosine):
    X, y = cosine
    model = process().fit(X, y)
    mean, deviation = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y, atol=1e-4)
    assert deviation.max() < 2e-3
    far, wide = model.predict([[40.0]], return_std=True)
    assert far[0] == pytest.approx(0.0, abs=1e-12)
    assert wide[0] == pytest.approx(1.0, abs=1e-12)
    inside, between = (model.predict([[x]], return_std=True)[1][0] for x in (0.25, 4.0))
    assert inside < 0.05 < between


def test_23_figure_23_2_samples_agree_at_the_data_and_differ_elsewhere(cosine):
    X, y = cosine
    draws = process().fit(X, y).sample_y(np.vstack([X, [[6.0]]]), 200, random_state=0)
    np.testing.assert_allclose(draws[:-1], np.repeat(y[:, None], 200, axis=1), atol=0.01)
    assert 0.8 < draws[-1].std() < 1.2


def test_23_the_covariance_has_no_noise_of_observations(cosine):
    """The printed covariance is that of the function; new observations have lambda more on its diagonal."""
    X, y = cosine
    model = process(0.04).fit(X, y)
    _, deviation = model.predict([[0.2]], return_std=True)
    low, high = model.predict_interval([[0.2]], coverage=0.9)[0]
    assert high - low == pytest.approx(2.0 * norm.ppf(0.95) * np.hypot(deviation[0], 0.2))


def test_A_1_linear_kernel_is_ridge():
    """Cookbook A.1, Seeger 9.2.2: with k(x, z) = x.z the mean is ridge regression, primal = dual."""
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((40, 3)), rng.standard_normal((10, 3))
    Y = X @ rng.standard_normal((3, 2)) + 0.1 * rng.standard_normal((40, 2))
    model = GaussianProcessRegressor(Linear(), alpha=0.5, optimizer=None).fit(X, Y)
    ridge = Ridge(alpha=0.5, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(model.predict(Q), ridge.predict(Q), rtol=1e-10)
    np.testing.assert_allclose(X.T @ model.alpha_, ridge.coef_.T, rtol=1e-9)


def test_9_2_2_minimum_norm_interpolation():
    """As the noise vanishes the mean interpolates, with the smallest norm: a'K a of the coefficients."""
    rng = np.random.default_rng(1)
    X = np.sort(rng.uniform(0.0, 6.0, 8))[:, None]
    y = np.sin(X[:, 0])
    model = process(1e-12).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6)
    K, norms = Gaussian(1.0)(X), []
    for noise in (1e-1, 1e-3, 1e-6, 1e-12):
        a = process(noise).fit(X, y).alpha_
        norms.append(a @ K @ a)
    assert np.all(np.diff(norms) > 0.0)
    assert norms[-1] == pytest.approx(y @ np.linalg.solve(K, y), rel=1e-3)


def test_10_2_2_leave_one_out_from_one_fit(cosine):
    """Residuals of leaving one out are a_i / (C^-1)_ii, and equal those of refitting."""
    X, y = cosine
    model = process(0.01).fit(X, y)
    inverse = np.linalg.inv(model.L_ @ model.L_.T)
    for i in range(len(y)):
        inside = np.arange(len(y)) != i
        away = y[i] - process(0.01).fit(X[inside], y[inside]).predict(X[[i]])[0]
        assert model.alpha_[i] / inverse[i, i] == pytest.approx(away, rel=1e-9)


def test_10_2_1_evidence_of_a_linear_gaussian_model():
    """t ~ N(0, sigma^2 I + Phi Phi^T): the evidence is the density of the targets."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((15, 2)), rng.standard_normal(15)
    model = GaussianProcessRegressor(Linear(), alpha=0.3, optimizer=None).fit(X, y)
    expected = multivariate_normal(np.zeros(15), X @ X.T + 0.3 * np.eye(15)).logpdf(y)
    assert model.log_marginal_likelihood_value_ == pytest.approx(expected, rel=1e-12)
