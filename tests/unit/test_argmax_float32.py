"""Decisions in single precision: where they are made they are those of double precision, and few are left."""

from fractions import Fraction

import numpy as np
import pytest

import tenfold
from tenfold import _core
from tenfold.plans.discriminant import QuadraticScores
from tenfold.plans.naive_bayes import GaussianScores, LinearScores

KINDS = ("linear", "scaled", "whole")


def scores_of(kind, random, classes, p, offset=0.0, spread=1.0):
    """Scores of some kind, with classes about a place."""
    mean = offset + spread * random.standard_normal((classes, p))
    constant = random.standard_normal(classes)
    if kind == "linear":
        return LinearScores(random.standard_normal((classes, p)) / spread, constant), mean
    if kind == "scaled":
        return GaussianScores(mean, spread**2 * random.uniform(0.5, 2.0, (classes, p)), constant), mean
    factors = np.triu(random.standard_normal((classes, p, p))) / np.sqrt(p) / spread
    factors[:, np.arange(p), np.arange(p)] += 1.0 / spread
    return QuadraticScores(mean, factors, constant), mean


def rows_of(random, mean, n, spread=1.0):
    return mean[random.integers(len(mean), size=n)] + spread * random.standard_normal((n, mean.shape[1]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("classes", "p", "n"), [(1, 1, 1), (2, 3, 63), (5, 17, 65), (10, 100, 1000), (3, 300, 200)])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_decided_is_what_double_precision_finds(kind, classes, p, n, dtype):
    random = np.random.default_rng(classes)
    scores, mean = scores_of(kind, random, classes, p)
    X = rows_of(random, mean, n).astype(dtype)
    result = scores.decide(X)
    known = result >= 0
    assert known.mean() > 0.9
    assert np.array_equal(result[known], np.argmax(scores(X), axis=1)[known])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("offset", "spread"), [(1e6, 1.0), (-1e3, 1e-3), (0.0, 1e30), (0.0, 1e-30), (1e12, 1e-1)])
def test_far_from_zero_and_in_other_units(kind, offset, spread):
    random = np.random.default_rng(3)
    scores, mean = scores_of(kind, random, 4, 12, offset, spread)
    X = rows_of(random, mean, 500, spread)
    result = scores.decide(X)
    known = result >= 0
    assert known.any() or abs(offset) > 1e8 * spread
    assert np.array_equal(result[known], np.argmax(scores(X), axis=1)[known])


@pytest.mark.parametrize("kind", KINDS)
def test_ties_are_left(kind):
    """Two classes that are one: single precision must not choose."""
    random = np.random.default_rng(0)
    scores, mean = scores_of(kind, random, 1, 20)
    parts = {name: np.repeat(value, 2, axis=0) for name, value in vars(scores).items() if isinstance(value, np.ndarray)}
    twice = type(scores)(**parts)
    X = rows_of(random, mean, 300)
    assert np.all(twice.decide(X) == -1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_values_that_are_not_finite_or_overflow_are_left(kind, value):
    random = np.random.default_rng(1)
    scores, mean = scores_of(kind, random, 3, 40)
    X = rows_of(random, mean, 200)
    X[7, 39], X[199, 0], X[64, 13] = value, value, value
    result = scores.decide(X)
    assert np.array_equal(np.flatnonzero(result < 0), [7, 64, 199])


def test_leads_near_the_bound_are_true_in_exact_arithmetic():
    """Scores whose terms cancel to the last digits of single precision, beside fractions."""
    random = np.random.default_rng(5)
    p, n = 24, 400
    coef = np.stack([np.zeros(p), np.where(np.arange(p) % 2, 1.0, -1.0)])
    X = random.standard_normal((n, p)) * 1e3
    X[:, 1::2] = X[:, ::2] * (1.0 + 2e-5 * random.standard_normal((n, p // 2)))
    scores = LinearScores(coef, np.zeros(2))
    result = scores.decide(X)
    exact = np.array([sum(Fraction(v) * int(c) for v, c in zip(row, coef[1], strict=True)) > 0 for row in X])
    known = result >= 0
    assert 0.0 < known.mean() < 1.0
    assert np.array_equal(result[known], exact[known].astype(int))


@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_threads_or_instruction_sets(kind, monkeypatch):
    random = np.random.default_rng(2)
    scores, mean = scores_of(kind, random, 6, 33)
    X = rows_of(random, mean, 5000)
    result = []
    for count in (1, 2, 3):
        monkeypatch.setattr("tenfold.stats.argmax_float32.threads", lambda _, count=count: count)
        result.append(scores.decide(X))
    assert all(np.array_equal(result[0], other) for other in result)
    best, exact = _core.isa(), np.argmax(scores(X), axis=1)
    try:
        for name in _core.available_isas():
            _core.set_isa(name)
            other = scores.decide(X)
            assert np.mean(other >= 0) > 0.99
            assert np.array_equal(other[other >= 0], exact[other >= 0])
    finally:
        _core.set_isa(best)


MODELS = ("GaussianNB", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "MultinomialNB")


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_the_largest_scores(name, monkeypatch):
    random = np.random.default_rng(0)
    X = random.poisson(3.0, (3000, 8)).astype(float)
    y = random.integers(3, size=3000)
    X[np.arange(3000), y] += 1.0
    model = getattr(tenfold, name)().fit(X, y)
    expected = model.predict(X)
    assert np.array_equal(expected, np.argmax(model.predict_log_proba(X), axis=1))
    monkeypatch.setattr("tenfold.estimators.predictors.MIN_ENTRIES_FLOAT32", 1)
    monkeypatch.setattr("tenfold.estimators.predictors.PIECE_ROWS", 200)
    assert np.array_equal(model.predict(X), expected)
    assert np.array_equal(model.predict(np.asfortranarray(X)), expected)
    X[2500, 3] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict(X)
    X[2500, 3] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.predict(X)


def test_near_ties_are_decided_in_float64(monkeypatch):
    monkeypatch.setattr("tenfold.estimators.predictors.MIN_ENTRIES_FLOAT32", 1)
    monkeypatch.setattr("tenfold.estimators.predictors.PIECE_ROWS", 50)
    random = np.random.default_rng(0)
    X, y = random.standard_normal((1000, 4)), np.arange(1000) % 2
    model = tenfold.GaussianNB().fit(X, y)
    model.theta_, model.var_ = model.theta_[[0, 0]], model.var_[[0, 0]]
    model.class_prior_ = np.array([0.5, 0.5])
    assert np.all(model.predict(X) == 0)  # the first of equals
