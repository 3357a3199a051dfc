"""Matching pursuit beside its definition, and what its judge refuses."""

import copy

import numpy as np
import pytest
from scipy import sparse

import tenfold
from estimators import zero_weights
from tenfold import MatchingPursuit, certify


def data(n=60, p=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.logspace(-2, 2, p) + 3.0
    return X, X @ (rng.standard_normal(p) / np.logspace(-2, 2, p)) + 0.5 * rng.standard_normal(n)


def slowly(X, y, steps, intercept=True, weight=None):
    """Step by step on the rows: columns, weights and sums of squares."""
    weight = np.ones(len(y)) if weight is None else weight
    mean, level = (weight @ part / weight.sum() if intercept else 0.0 * part[0] for part in (X, y))
    A, r = np.sqrt(weight)[:, None] * (X - mean), np.sqrt(weight) * (y - level)
    w, path, left = np.zeros(X.shape[1]), [], [r @ r]
    for _ in range(steps):
        j = int(np.argmax(np.abs(A.T @ r) / np.linalg.norm(A, axis=0)))
        v = A[:, j] @ r / (A[:, j] @ A[:, j])
        w[j] += v
        r = r - v * A[:, j]
        path.append(j)
        left.append(r @ r)
    return path, w, level - w @ mean, left


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("precompute", ["auto", True, False])
@pytest.mark.parametrize("intercept", [True, False])
def test_steps_are_those_of_the_definition(intercept, precompute, kind):
    X, y = data()
    weight = zero_weights(60)
    model = MatchingPursuit(40, fit_intercept=intercept, precompute=precompute).fit(kind(X), y, sample_weight=weight)
    path, w, b, left = slowly(X, y, 40, intercept, weight)
    np.testing.assert_array_equal(model.path_, path)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.rss_path_, left, rtol=1e-9)
    assert model.n_iter_ == 40
    assert model.certificate_.ok


def test_columns_requested_a_few_at_a_time():
    """The p x p matrix is never formed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 20_000))
    y = X[:, 17] - 2.0 * X[:, 13_000] + 0.1 * rng.standard_normal(50)
    model = MatchingPursuit(3).fit(X, y)
    path, w, _, _ = slowly(X, y, 3)
    assert model.path_.tolist() == path
    np.testing.assert_allclose(model.coef_, w, atol=1e-12)
    assert model.certificate_.ok


def test_enough_steps_come_to_least_squares():
    X, y = data(60, 5)
    model = MatchingPursuit(10_000).fit(X, y)
    assert model.n_iter_ < 10_000
    np.testing.assert_allclose(model.coef_, tenfold.LinearRegression().fit(X, y).coef_, rtol=1e-8)
    assert model.certificate_.ok


def test_steps_until_the_sum_of_squares_is_small_enough():
    X, y = data()
    left = slowly(X, y, 30)[-1]
    enough = 0.5 * (left[12] + left[13])
    model = MatchingPursuit(tol=enough).fit(X, y)
    assert model.n_iter_ == 13
    assert model.rss_path_[-1] <= enough < model.rss_path_[-2]
    assert model.certificate_.ok
    model.tol = left[5]
    assert "small enough before" in certify(model, X, y).note


def test_every_target_has_steps_of_its_own():
    X, y = data()
    Y = np.column_stack([y, X[:, 3], np.zeros(60)])
    model = MatchingPursuit(20).fit(X, Y)
    for t in range(2):
        one = MatchingPursuit(20).fit(X, Y[:, t])
        np.testing.assert_array_equal(model.path_[t], one.path_)
        np.testing.assert_allclose(model.coef_[t], one.coef_, atol=1e-13)
    assert model.n_iter_[2] == 0
    assert not model.coef_[2].any()
    assert model.certificate_.ok


# -- the judge -------------------------------------------------------------------------------------------------------


def test_another_path_is_not_certified():
    """Weights that are those of a path, but of one that the rule does not take."""
    X, y = data()
    model = MatchingPursuit(6).fit(X, y)
    worse = copy.deepcopy(model)
    centred, r = X - X.mean(axis=0), y - y.mean()
    worse.path_, worse.coef_ = model.path_[::-1].copy(), np.zeros(12)
    for j in worse.path_:
        v = centred[:, j] @ r / (centred[:, j] @ centred[:, j])
        worse.coef_[j] += v
        r = r - v * centred[:, j]
    worse.intercept_ = y.mean() - worse.coef_ @ X.mean(axis=0)
    certificate = certify(worse, X, y)
    assert not certificate.ok
    assert "The rule takes other columns" in certificate.note


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: setattr(m, "path_", m.path_[:-1]), "Fewer steps than asked for"),
        (lambda m: setattr(m, "max_iter", 5), "More steps than asked for"),
        (lambda m: setattr(m, "coef_", m.coef_ + 1e-6 * (np.arange(12) == 11)), ""),
        (lambda m: setattr(m, "intercept_", m.intercept_ + 1e-6), ""),
        (lambda m: setattr(m, "coef_", m.coef_ * np.nan), "not finite"),
    ],
)
def test_invalid_requests_raise(change, said):
    X, y = data()
    model = MatchingPursuit(6).fit(X, y)
    change(model)
    certificate = certify(model, X, y)
    assert not certificate.ok
    assert said in certificate.note


def test_bad_parameters():
    X, y = data()
    with pytest.raises(ValueError, match="max_iter"):
        MatchingPursuit(0).fit(X, y)
    with pytest.raises(ValueError, match="tol"):
        MatchingPursuit(tol=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="precompute"):
        MatchingPursuit(precompute="never").fit(X, y)


def test_sparse_columns_far_from_zero():
    """Moments of sparse rows lose digits there; products about the means do not."""
    X, y = np.array([[99.998], [99.999]]), np.array([-2.0, -1.0])
    model = MatchingPursuit().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(model.coef_, [1000.0], rtol=1e-9)
    assert model.certificate_.ok
    twice = MatchingPursuit(5).fit(sparse.csr_array(np.column_stack([X, X])), y)
    assert twice.certificate_.ok
