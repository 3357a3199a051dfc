"""BayesianGaussianMixture: beside scikit-learn and one step by hand, the bound, tampering, degenerate data, errors."""

import copy
import warnings

import numpy as np
import pytest
import sklearn.mixture
from scipy.special import digamma
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import BayesianGaussianMixture

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 3)) * [1.0, 2.0, 0.5] + 6.0 * RNG.integers(0, 3, (150, 1))
KINDS = ("full", "tied", "diag", "spherical")
TYPES = ("dirichlet_process", "dirichlet_distribution")


def fit(data=X, **settings):
    known = {"n_components": 4, "random_state": 0, "tol": 1e-7, "max_iter": 3000}
    return BayesianGaussianMixture(**{**known, **settings}).fit(data)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prior", TYPES)
def test_equal_to_scikit_learn_from_its_posterior(kind, prior):
    """Steps from scikit-learn's posterior stay there, with its bound and its densities."""
    settings = {"covariance_type": kind, "weight_concentration_prior_type": prior, "reg_covar": 0.0}
    known = {"n_components": 4, "random_state": 0, "tol": 1e-7, "max_iter": 3000, **settings}
    theirs = sklearn.mixture.BayesianGaussianMixture(**known).fit(X)
    assert tenfold.certify(theirs, X).ok
    ours = BayesianGaussianMixture(**{**known, "warm_start": True})
    for name, value in vars(theirs).items():
        if name.endswith("_"):
            setattr(ours, name, value)
    ours.lower_bound_ = float(np.ravel(theirs.lower_bound_)[0]) - 1.0
    ours.fit(X)
    assert ours.lower_bound_ == pytest.approx(float(np.ravel(theirs.lower_bound_)[0]), abs=1e-4)
    np.testing.assert_allclose(ours.weights_, theirs.weights_, atol=1e-5)
    np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-3)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prior", TYPES)
def test_bound_rises_and_posterior_is_certified(kind, prior):
    model = fit(covariance_type=kind, weight_concentration_prior_type=prior)
    assert model.certificate_.ok
    assert np.all(np.diff(model.lower_bounds_) >= -1e-6)
    assert tenfold.certify(model, X).ok
    assert model.weights_.sum() == pytest.approx(1.0)


def test_one_step_by_hand():
    """One component has the conjugate posterior in closed form."""
    chosen = {"mean_prior": [1.0, 2.0, 3.0], "mean_precision_prior": 2.0}
    model = fit(n_components=1, reg_covar=0.0, weight_concentration_prior_type="dirichlet_distribution", **chosen)
    n, p = X.shape
    mean, S = X.mean(axis=0), (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    d = mean - [1.0, 2.0, 3.0]
    np.testing.assert_allclose(model.mean_precision_, [2.0 + n])
    np.testing.assert_allclose(model.degrees_of_freedom_, [p + n])
    np.testing.assert_allclose(model.means_[0], (2.0 * np.array([1.0, 2.0, 3.0]) + n * mean) / (2.0 + n))
    V = np.cov(X.T) + S + 2.0 * n / (2.0 + n) * np.outer(d, d)
    np.testing.assert_allclose(model.covariances_[0], V / (p + n), rtol=1e-9)
    # the log evidence of one Gauss-Wishart is the bound itself
    evidence = -model.certificate_.objective * n
    W0, v0 = np.cov(X.T), float(p)
    half = np.arange(p)

    def log_norm(V, v, b):
        from scipy.special import gammaln

        wishart = -0.5 * v * np.linalg.slogdet(V)[1] + 0.5 * v * p * np.log(2) + np.sum(gammaln(0.5 * (v - half)))
        return wishart + 0.5 * p * np.log(2 * np.pi / b)

    wanted = log_norm(V, v0 + n, 2.0 + n) - log_norm(W0, v0, 2.0) - 0.5 * n * p * np.log(2 * np.pi)
    assert evidence == pytest.approx(wanted, rel=1e-9)


def test_needless_components_end_at_the_prior():
    model = fit(n_components=8, weight_concentration_prior=1e-3, tol=1e-4)
    assert np.sum(model.weights_ > 0.01) <= 4
    expected = digamma(model.weight_concentration_[0]) - digamma(sum(model.weight_concentration_))
    assert np.all(np.isfinite(expected))


CHANGES = {
    "weights_": lambda v: v[::-1],
    "means_": lambda v: v + 0.05,
    "covariances_": lambda v: v * 1.05,
    "precisions_": lambda v: v * 1.01,
    "precisions_cholesky_": lambda v: v * 1.01,
    "weight_concentration_": lambda v: tuple(part * 1.01 for part in v),
    "mean_precision_": lambda v: v * 1.01,
    "degrees_of_freedom_": lambda v: v + 1.0,
    "weight_concentration_prior_": lambda v: v * 1.1,
    "mean_precision_prior_": lambda v: v * 1.1,
    "mean_prior_": lambda v: v + 0.01,
    "degrees_of_freedom_prior_": lambda v: v + 1.0,
    "covariance_prior_": lambda v: v * 1.01,
    "lower_bound_": lambda v: v + 1.0,
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_tampered_attributes_are_refused(name, kind):
    model = copy.copy(fit(covariance_type=kind))
    setattr(model, name, CHANGES[name](getattr(model, name)))
    assert not tenfold.certify(model, X).ok


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "data",
    [np.vstack([np.zeros((5, 2)), np.ones((5, 2))]), X[:4, :2], X * 1e-6, X * 1e6, X + 1e4, X.astype(np.float32)],
    ids=["twice", "few", "small", "large", "offset", "float32"],
)
def test_hard_data(kind, data):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
        reg = 1e-6 * float(np.mean(np.var(data, axis=0)))
        model = fit(data, covariance_type=kind, tol=1e-4, reg_covar=reg)
    assert model.certificate_.ok, model.certificate_.explain()
    assert model.means_.dtype == data.dtype


def test_a_singular_prior_is_said():
    points = np.column_stack([X[:, 0], np.zeros(150)])
    model = fit(points, covariance_type="diag", tol=1e-3)
    assert "up to a constant" in model.certificate_.note
    assert "up to a constant" not in fit().certificate_.note


def test_weights_are_repetitions():
    weight = RNG.integers(0, 3, 150)
    known = {"init_params": "kmeans", "n_components": 1}
    one = BayesianGaussianMixture(**known).fit(X, sample_weight=weight)
    other = BayesianGaussianMixture(**known).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(one.covariances_, other.covariances_, rtol=1e-9)
    np.testing.assert_allclose(one.lower_bound_, other.lower_bound_, rtol=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"degrees_of_freedom_prior": 1.5}, "degrees_of_freedom_prior' should be greater than 2"),
        ({"mean_prior": [1.0]}, "should have the shape"),
        ({"covariance_prior": np.eye(2)}, "covariance_prior' should have the shape"),
        ({"covariance_prior": -np.eye(3)}, "positive"),
        ({"n_components": 200}, "n_samples >= n_components"),
        ({"weight_concentration_prior": 0.0}, "weight_concentration_prior"),
        ({"covariance_type": "unit"}, "covariance_type"),
    ],
)
def test_bad_input(settings, message):
    with pytest.raises(ValueError, match=message):
        BayesianGaussianMixture(**settings).fit(X)
