"""Proximal Newton steps along sparse columns: the descent on the model, and certified fits with many columns."""

import numpy as np
import pytest
from scipy import sparse

import tenfold as tf
from tenfold import _core


def problem(n=120, p=900, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, p), density=0.05, rng=rng, format="csr", data_sampler=rng.standard_normal)
    z = 3.0 * (X @ np.where(np.arange(p) % 9 == 0, 1.0, 0.0)) + rng.logistic(size=n)
    return X, (z > 0).astype(int)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_the_minimum_of_the_model(intercept, index):
    """No coordinate can gain any more; columns that may not move do not."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 12), density=0.3, rng=rng, format="csc")
    c, g, w = rng.uniform(0.1, 1.0, 40), rng.standard_normal(12), rng.standard_normal(12) * (np.arange(12) % 2)
    moving, l1, l2, slope = np.arange(10), 0.3, 0.1, 0.7 * intercept
    parts = (X.data, X.indices.astype(index), X.indptr.astype(index))
    d, b, move, sweeps = _core.cd_quadratic(*parts, c, g, slope, w, moving, l1, l2, intercept, 0.0, 2_000)
    np.testing.assert_allclose(move, X @ d + b, atol=1e-12)
    assert sweeps <= 2_000
    assert not d[10:].any()
    gradient = g + X.T @ (c * move) + l2 * d
    there = w + d
    used = there[:10] != 0.0
    np.testing.assert_allclose(gradient[:10][used], -l1 * np.sign(there[:10][used]), atol=1e-8)
    assert np.all(np.abs(gradient[:10][~used]) <= l1 + 1e-8)
    assert abs(slope + c @ move) <= 1e-8 if intercept else b == 0.0


@pytest.mark.parametrize(
    "settings", [{"C": 0.5}, {"C": 50.0}, {"C": 1.0, "fit_intercept": False}, {"C": 1.0, "l1_ratio": 0.5}, {"C": 1e-6}]
)
def test_sparse_rows_of_many_columns_are_certified(settings):
    X, y = problem()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    weight[::11] = 0.0
    settings = {"l1_ratio": 1.0, "solver": "saga", **settings}
    sparse_model = tf.LogisticRegression(**settings).fit(X, y, sample_weight=weight)
    dense = tf.LogisticRegression(**settings).fit(X.toarray(), y, sample_weight=weight)
    assert sparse_model.certificate_.ok
    assert abs(sparse_model.certificate_.objective - dense.certificate_.objective) <= 2e-6
    if settings["C"] == 1e-6:
        assert not sparse_model.coef_.any()


def test_one_step_is_not_enough_and_a_start_is_kept():
    X, y = problem()
    settings = {"l1_ratio": 1.0, "solver": "saga", "C": 5.0}
    with pytest.warns(UserWarning, match="iteration limit"):
        cut = tf.LogisticRegression(max_iter=1, **settings).fit(X, y)
    assert not cut.certificate_.ok
    model = tf.LogisticRegression(warm_start=True, **settings).fit(X, y)
    assert model.n_iter_[0] > 1
    assert model.fit(X, y).n_iter_[0] <= 1


def test_values_that_are_not_numbers_are_named():
    X, y = problem()
    X.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        tf.LogisticRegression(l1_ratio=1.0, solver="saga").fit(X, y)
    with pytest.raises(ValueError, match="out of range"):
        _core.cd_quadratic(
            np.ones(1), np.array([7], np.int32), np.array([0, 1], np.int32), np.ones(2), np.zeros(1), 0.0, np.zeros(1),
            np.zeros(1, np.int64), 0.1, 0.0, True, 0.0, 1,
        )  # fmt: skip
