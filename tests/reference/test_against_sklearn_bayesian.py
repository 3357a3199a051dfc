"""Bayesian linear regression beside scikit-learn's, and beside the multivariate normal density of SciPy."""

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse
from scipy.stats import multivariate_normal

import tenfold

NAMES = ["BayesianRidge", "ARDRegression"]


def data(n=80, p=6, seed=0, mean=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + mean
    return X, X[:, :3] @ [1.0, -2.0, 0.5] + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mean", [0.0, 50.0])
def test_posterior_of_sklearn_run_to_the_end(name, mean):
    X, y = data(mean=mean)
    ours = getattr(tenfold, name)(compute_score=True).fit(X, y)
    sklearn_model = getattr(sklearn.linear_model, name)(tol=1e-14, max_iter=10_000, compute_score=True).fit(X, y)
    for attribute in ("alpha_", "lambda_", "coef_", "intercept_"):
        kept = np.ravel(sklearn_model.lambda_) < 1e4 if attribute == "lambda_" else slice(None)
        np.testing.assert_allclose(
            np.ravel(getattr(ours, attribute))[kept], np.ravel(getattr(sklearn_model, attribute))[kept], rtol=1e-4
        )
    np.testing.assert_allclose(ours.sigma_, sklearn_model.sigma_, rtol=1e-4, atol=1e-8)
    for one, other in zip(ours.predict(X, return_std=True), sklearn_model.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert tenfold.certify(sklearn_model, X, y).ok


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_sklearn(name):
    X, y = data()
    ours = getattr(tenfold, name)(compute_score=True).fit(X, y)
    sklearn_model = getattr(sklearn.linear_model, name)(compute_score=True).fit(X, y)
    assert ours.n_iter_ == sklearn_model.n_iter_
    np.testing.assert_allclose(ours.scores_, sklearn_model.scores_, rtol=1e-6)


def test_last_score_is_the_log_density_of_the_targets():
    """log N(y; 0, I / alpha + X X' / lambda), Seeger 10.2.1; with weights as repeated samples."""
    X, y = data(n=40)
    flat = {"alpha_1": 0.0, "alpha_2": 0.0, "lambda_1": 0.0, "lambda_2": 0.0}
    model = tenfold.BayesianRidge(fit_intercept=False, compute_score=True, **flat).fit(X, y)
    covariance = np.eye(40) / model.alpha_ + X @ X.T / model.lambda_
    assert model.scores_[-1] == pytest.approx(multivariate_normal(np.zeros(40), covariance).logpdf(y), rel=1e-10)
    repeats = np.arange(40) % 3
    weighted = tenfold.BayesianRidge(compute_score=True).fit(X, y, sample_weight=repeats)
    repeated = tenfold.BayesianRidge(compute_score=True).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)
    assert weighted.scores_[-1] == pytest.approx(repeated.scores_[-1], rel=1e-10)


def test_evidence_of_relevance_is_not_below_that_of_sklearn():
    for seed in range(4):
        X, y = data(n=30, p=50, seed=seed)
        models = [library.ARDRegression().fit(X, y) for library in (tenfold, sklearn.linear_model)]
        A, b, values = X - X.mean(axis=0), y - y.mean(), []
        for model in models:
            kept = model.lambda_ < model.threshold_lambda
            C = np.eye(30) / model.alpha_ + (A[:, kept] / model.lambda_[kept]) @ A[:, kept].T
            values.append(-0.5 * (np.linalg.slogdet(C)[1] + b @ np.linalg.solve(C, b)))
        assert models[0].certificate_.ok
        assert values[0] > values[1] - 1e-6


def test_posterior_mean_is_the_ridge_of_the_ratio_of_precisions():
    """Seeger 8.3.2: the maximum a posteriori weights are ridge regression's, nu = lambda / alpha."""
    X, y = data(mean=3.0)
    model = tenfold.BayesianRidge().fit(X, y)
    ridge = tenfold.Ridge(alpha=model.lambda_ / model.alpha_).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, ridge.intercept_, rtol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_deviations_of_sparse_samples_are_those_of_dense_ones(name):
    X, y = data(mean=1.0)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = getattr(tenfold, name)().fit(sparse.csr_array(X), y)
    for one, other in zip(
        model.predict(sparse.csr_array(X), return_std=True), model.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_units_in_which_the_start_finds_nothing():
    """Targets at 1e150 leave the weights at zero from a precision of one; there is a better maximum."""
    X, y = data()
    model = tenfold.BayesianRidge().fit(X, y * 1e150)
    assert model.certificate_.ok
    assert model.score(X, y * 1e150) > 0.9


def test_columns_of_very_different_scale_raise():
    X, y = data()
    X[:, 0] *= 1e200
    with pytest.raises(ValueError, match="Scale the columns"):
        tenfold.BayesianRidge().fit(X, y)
