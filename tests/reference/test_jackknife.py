"""`RidgeCV.predict_interval` against the definition of jackknife+ (Barber and others, 2021), by refitting."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sklearn.linear_model as sk

from tenfold import RidgeCV

ALPHAS = (0.1, 1.0, 10.0)


def make(n=30, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 2.0
    return X, X @ np.arange(1.0, p + 1) + rng.standard_normal(n), rng.standard_normal((12, p)) + 2.0


def by_definition(X, y, new, alpha, coverage, fit_intercept=True):
    """Quantiles of mu_-i(x) - R_i and mu_-i(x) + R_i over all i, where mu_-i was fitted without row i."""
    n = len(y)
    centres, residuals = np.empty((n, len(new))), np.empty(n)
    for i in range(n):
        kept = np.arange(n) != i
        model = sk.Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd").fit(X[kept], y[kept])
        centres[i], residuals[i] = model.predict(new), abs(y[i] - model.predict(X[i : i + 1])[0])
    rank = math.ceil(coverage * (n + 1) - 1e-9)
    if rank > n:
        return np.column_stack([np.full(len(new), -np.inf), np.full(len(new), np.inf)])
    low = np.sort(centres - residuals[:, None], axis=0)[n - rank]
    high = np.sort(centres + residuals[:, None], axis=0)[rank - 1]
    return np.column_stack([low, high])


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(30, 4), (12, 20)])
def test_equals_refitting(coverage, fit_intercept, shape):
    X, y, new = make(*shape)
    model = RidgeCV(alphas=ALPHAS, fit_intercept=fit_intercept).fit(X, y)
    interval = model.predict_interval(new, coverage=coverage)
    assert interval.shape == (12, 2)
    expected = by_definition(X, y, new, model.alpha_, coverage, fit_intercept)
    np.testing.assert_allclose(interval, expected, rtol=1e-8, atol=1e-9)


def test_too_few_rows_for_the_coverage_give_an_infinite_interval():
    """With five rows no order statistic can promise 90 %."""
    X, y, new = make(n=5, p=2)
    interval = RidgeCV(alphas=ALPHAS).fit(X, y).predict_interval(new, coverage=0.9)
    assert np.all(interval[:, 0] == -np.inf)
    assert np.all(interval[:, 1] == np.inf)


def test_intervals_grow_with_the_coverage():
    X, y, new = make(n=60)
    model = RidgeCV(alphas=ALPHAS).fit(X, y)
    widths = [np.diff(model.predict_interval(new, coverage=c), axis=1) for c in (0.5, 0.7, 0.9, 0.95)]
    assert np.all(np.diff(np.hstack(widths), axis=1) >= 0)


def test_coverage_on_fresh_data():
    """Promised at least 1 - 2 (1 - coverage) for any distribution; about `coverage` in practice (40 samples)."""
    rng = np.random.default_rng(7)
    hits = []
    for _ in range(40):
        X = rng.standard_normal((140, 5))
        y = X @ np.ones(5) + rng.standard_t(3, 140)
        low, high = RidgeCV(alphas=ALPHAS).fit(X[:100], y[:100]).predict_interval(X[100:], coverage=0.9).T
        hits.append(np.mean((low <= y[100:]) & (y[100:] <= high)))
    assert 0.87 <= np.mean(hits) <= 0.94


def test_raises_after_folds():
    """Leave-one-out residuals exist only where the choice was made by them."""
    X, y, new = make()
    with pytest.raises(ValueError, match=r"cv"):
        RidgeCV(alphas=ALPHAS, cv=5).fit(X, y).predict_interval(new)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, 2.0, float("nan")])
def test_coverage_must_be_a_probability(coverage):
    X, y, new = make()
    model = RidgeCV(alphas=ALPHAS).fit(X, y)
    with pytest.raises(ValueError, match=r"coverage"):
        model.predict_interval(new, coverage=coverage)
