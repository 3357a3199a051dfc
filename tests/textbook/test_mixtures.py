"""Mixtures and EM: Seeger, sections 12.2 and 12.3; the Machine Learning Cookbook, chapter 13."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from tenfold import GaussianMixture


def three_gaussians(n, seed=0):
    """Different means and covariances in two dimensions (Cookbook, figure 13.2; Seeger, figure 12.3)."""
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]])
    roots = np.array([[[1.0, 0.0], [0.6, 0.5]], [[0.5, 0.0], [-0.3, 1.0]], [[0.8, 0.0], [0.0, 0.4]]])
    which = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    return np.einsum("nj,nij->ni", rng.standard_normal((n, 2)), roots[which]) + means[which], means


@pytest.fixture(scope="module")
def fitted():
    X, means = three_gaussians(600)
    start = X[[np.argmin(np.sum((X - mean) ** 2, axis=1)) for mean in means + 0.7]]
    # Cookbook, algorithm 10: equal weights, unit covariances, means on rows
    model = GaussianMixture(
        3,
        weights_init=np.full(3, 1 / 3),
        means_init=start,
        precisions_init=np.tile(np.eye(2), (3, 1, 1)),
        tol=1e-6,
        max_iter=300,
    ).fit(X)
    return model, X, means


def joint(model, X):
    parts = zip(model.weights_, model.means_, model.covariances_, strict=True)
    return np.stack([np.log(w) + multivariate_normal(m, C).logpdf(X) for w, m, C in parts], axis=1)


def test_cookbook_13_three_gaussians(fitted):
    model, _, means = fitted
    result = model.means_[np.argmin(np.sum((model.means_[:, None] - means) ** 2, axis=2), axis=0)]
    np.testing.assert_allclose(result, means, atol=0.25)


def test_cookbook_13_3_the_likelihood_is_a_product_of_rows(fitted):
    """Equation (13.3) prints a sum of densities over the rows; the log-likelihood is the sum of their logarithms."""
    model, X, _ = fitted
    densities = np.exp(joint(model, X)).sum(axis=1)
    assert model.score(X) * len(X) == pytest.approx(np.sum(np.log(densities)), rel=1e-10)
    assert model.score(X) * len(X) != pytest.approx(np.log(np.sum(densities)), rel=0.1)


def test_cookbook_13_4_responsibilities(fitted):
    model, X, _ = fitted
    z = joint(model, X)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(z - logsumexp(z, axis=1, keepdims=True)), atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_cookbook_13_steps_do_not_lower_the_likelihood(fitted):
    assert np.all(np.diff(fitted[0].lower_bounds_) >= 0.0)


def test_cookbook_13_two_components_suffice_for_a_likelihood_without_bound():
    """The text says that a component may collapse when there are more than two; two are enough."""
    X = three_gaussians(50)[0]
    wide = multivariate_normal(X.mean(axis=0), np.cov(X.T))
    bounds = []
    for sigma in 10.0 ** -np.arange(2, 40, 6):
        point = multivariate_normal(X[0], sigma**2 * np.eye(2))
        bounds.append(np.mean(np.logaddexp(np.log(0.5) + wide.logpdf(X), np.log(0.5) + point.logpdf(X))))
    # each power of ten adds 2 log 10 for the one row
    np.testing.assert_allclose(np.diff(bounds), 6 * 2 * np.log(10.0) / len(X), rtol=1e-3)


def test_cookbook_13_a_floor_or_a_prior_controls_the_variance():
    X = np.concatenate([three_gaussians(50)[0], [[30.0, 30.0]]])
    start = {
        "weights_init": [0.5, 0.5],
        "means_init": [[1.0, 1.0], [30.0, 30.0]],
        "precisions_init": np.tile(np.eye(2), (2, 1, 1)),
    }
    floor = GaussianMixture(2, reg_covar=1e-3, max_iter=500, **start).fit(X)
    assert min(np.linalg.eigvalsh(C)[0] for C in floor.covariances_) >= 1e-3
    prior = {"degrees_of_freedom_prior": 4.0, "covariance_prior": np.eye(2)}
    mode = GaussianMixture(2, reg_covar=0.0, max_iter=500, **prior, **start).fit(X)
    # a component with one row: (V + 0) / (1 + v + p + 1)
    np.testing.assert_allclose(mode.covariances_[1], np.eye(2) / 8.0, atol=1e-6)
    assert mode.restarted_ == []


def test_seeger_12_1_the_slope_of_a_row_in_a_mean():
    """grad log p(x_i) in the mean of component k is r_ik (x_i - mu_k), for unit covariances."""
    X = three_gaussians(40)[0]
    model = GaussianMixture(2, covariance_type="unit", random_state=0).fit(X)
    x, r = X[7], model.predict_proba(X[7:8])[0]

    def log_density(v):
        away = np.sum((x - v.reshape(2, 2)) ** 2, axis=1)
        return logsumexp(np.log(model.weights_) - 0.5 * away - np.log(2 * np.pi))

    slopes = approx_fprime(model.means_.ravel(), log_density, 1e-6).reshape(2, 2)
    np.testing.assert_allclose(slopes, r[:, None] * (x - model.means_), atol=1e-5)


def test_seeger_12_1_and_12_2_rest_is_where_means_and_weights_repeat():
    X = three_gaussians(200)[0]
    model = GaussianMixture(3, covariance_type="unit", random_state=0, tol=1e-12, max_iter=5000).fit(X)
    r = model.predict_proba(X)
    np.testing.assert_allclose(model.means_, r.T @ X / r.sum(axis=0)[:, None], atol=1e-5)
    np.testing.assert_allclose(model.weights_, r.mean(axis=0), atol=1e-6)


def test_seeger_12_6_the_bound_touches_the_likelihood(fitted):
    """phi(theta; Q) = L(theta) - sum KL(Q_i || P(h | x_i)): below for any Q, equal for the responsibilities."""
    model, X, _ = fitted
    z, r = joint(model, X), model.predict_proba(X)

    def phi(Q):
        return np.sum(Q * z) - np.sum(Q * np.log(np.maximum(Q, 1e-300)))

    likelihood = model.score(X) * len(X)
    assert phi(r) == pytest.approx(likelihood, rel=1e-10)
    other = np.random.default_rng(0).dirichlet(np.ones(3), len(X))
    divergence = np.sum(other * (np.log(other) - (z - logsumexp(z, axis=1, keepdims=True))))
    assert phi(other) == pytest.approx(likelihood - divergence, rel=1e-10)
    assert phi(other) < likelihood


def test_seeger_12_3_3_slow_at_the_end():
    """EM quickly reaches a low accuracy, and slowly a high one: two components that overlap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 1)) + np.where(np.arange(400) % 2, 1.0, -1.0)[:, None]
    start = {"covariance_type": "unit", "max_iter": 5000, "means_init": [[-0.3], [0.2]], "random_state": 0}
    steps = [GaussianMixture(2, tol=tol, **start).fit(X).n_iter_ for tol in (1e-3, 1e-10)]
    assert steps[0] < 15
    assert steps[1] > 5 * steps[0]


def test_seeger_figure_12_2_a_mixture_beats_one_gaussian_on_new_rows():
    """100 points of three components."""
    train, test = three_gaussians(100, seed=1)[0], three_gaussians(2000, seed=2)[0]
    one, three = (GaussianMixture(k, random_state=0, n_init=3).fit(train) for k in (1, 3))
    assert three.score(test) > one.score(test) + 0.2
    assert three.bic(train) < one.bic(train)
