"""Paths of least angles: what holds at every knot, ties and columns that depend, weights, folds, the judge."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import tenfold
from estimators import zero_weights
from tenfold import _core


def data(n=60, p=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.3 * rng.standard_normal((n, 1))
    return X, X @ rng.standard_normal(p) + rng.standard_normal(n)


def check_lasso_path(X, y, weight=None, positive=False):
    """At every knot the weights are optimal for its alpha, and alphas never rise."""
    weight = np.ones(len(y)) if weight is None else weight
    alphas, _, path = tenfold.lars_path(X, y, method="lasso", positive=positive, sample_weight=weight)
    X = X.toarray() if sparse.issparse(X) else X
    assert np.all(np.diff(alphas) <= 0)
    size = np.sqrt(weight @ X**2 * (weight @ y**2)).max() / weight.sum() + 1e-300
    for alpha, w in zip(alphas, path.T, strict=True):
        gradient = X.T @ (weight * (y - X @ w)) / weight.sum()
        gradient = gradient if positive else np.abs(gradient) * np.where(w * gradient < 0, -1.0, 1.0)
        np.testing.assert_allclose(gradient[w != 0], alpha, atol=1e-9 * size)
        assert np.all(gradient <= alpha + 1e-9 * size)
        assert not positive or np.all(w >= 0)
    return alphas, path


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("shape", [(60, 8), (20, 40), (30, 30)])
def test_every_knot_is_optimal(shape, positive):
    check_lasso_path(*data(*shape), positive=positive)
    check_lasso_path(*data(*shape), weight=zero_weights(shape[0]), positive=positive)


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 12),
    p=st.integers(1, 8),
    positive=st.booleans(),
    few=st.booleans(),
)
def test_ties_and_columns_that_depend(seed, n, p, positive, few):
    """Small whole numbers: columns tie, repeat, are constant or depend on others all the time."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, p)).astype(float) if few else rng.integers(-3, 4, (n, p)).astype(float)
    check_lasso_path(X, rng.integers(-3, 4, n).astype(float), positive=positive)


def test_columns_that_tie_join_together():
    """Two orthogonal columns with equal products: both have joined at the first alpha below."""
    alphas, active, path = tenfold.lars_path(np.eye(3), np.array([2.0, 2.0, 1.0]))
    np.testing.assert_allclose(3.0 * alphas, [2.0, 2.0, 1.0, 0.0])
    assert sorted(active) == [0, 1, 2]
    np.testing.assert_allclose(path[:, 2], [1.0, 1.0, 0.0])


def test_a_column_that_is_there_twice():
    X, y = data()
    twice = np.column_stack([X, X[:, 2], -X[:, 4]])
    alphas, path = check_lasso_path(twice, y)
    plain = tenfold.lars_path(X, y, method="lasso")
    np.testing.assert_allclose(alphas, plain[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(twice @ path, X @ plain[2], atol=1e-8)
    for name in ("Lars", "LassoLarsCV", "LarsCV"):
        assert getattr(tenfold, name)().fit(twice, y).certificate_.ok


def test_the_end_is_least_squares():
    X, y = data()
    for method in ("lar", "lasso"):
        path = tenfold.lars_path(X, y, method=method)[2]
        np.testing.assert_allclose(path[:, -1], np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-9)


def test_a_path_that_starts_below_its_end():
    X, y = data()
    alphas, active, path, steps = tenfold.lars_path(X, y, method="lasso", alpha_min=100.0, return_n_iter=True)
    np.testing.assert_array_equal(alphas, [100.0])
    assert (active, steps) == ([], 0)
    np.testing.assert_array_equal(path, 0.0)
    model = tenfold.LassoLars(100.0).fit(X, y)
    assert model.certificate_.ok
    assert "All weights are zero" in model.certificate_.explain()


def test_columns_of_very_different_length_raise():
    X, y = data()
    X[:, 0] *= 1e120
    with pytest.raises(ValueError, match="Scale the columns"):
        tenfold.Lars().fit(X, y)


def test_few_of_many_columns_are_read_on_request():
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 20_000), density=0.02, rng=rng, format="csr")
    y = 3.0 * X[:, [17]].toarray()[:, 0] - 2.0 * X[:, [4000]].toarray()[:, 0]
    model = tenfold.LassoLars(alpha=0.002).fit(X, y)
    assert 4000 in model.active_
    assert model.certificate_.ok


# -- the judge -------------------------------------------------------------------------------------------------------


def test_unequal_angles_are_not_certified():
    X, y = data()
    model = tenfold.Lars(n_nonzero_coefs=4).fit(X, y)
    free = tenfold.LinearRegression().fit(X[:, model.active_], y)
    worse = copy.deepcopy(model)
    worse.coef_ = np.zeros(8)
    worse.coef_[model.active_], worse.intercept_ = free.coef_, free.intercept_
    assert not tenfold.certify(worse, X, y).ok  # least squares on the active columns: angles of 90 degrees
    late = copy.deepcopy(model)
    late.alphas_ = 1.01 * model.alphas_
    assert not tenfold.certify(late, X, y).ok


@pytest.mark.parametrize("model", [tenfold.LassoLars(alpha=1e-3, max_iter=2), tenfold.LassoLarsCV(max_iter=2)])
def test_path_cut_short_is_not_certified(model):
    X, y = data()
    with pytest.warns(ConvergenceWarning, match=r"\(iteration limit\): duality gap") as said:
        model.fit(X, y)
    assert said[0].filename == __file__
    assert model.n_iter_ == 2
    assert not model.certificate_.ok
    full = tenfold.LassoLars(alpha=getattr(model, "alpha_", 1e-3)).fit(X, y)
    excess = model.certificate_.objective - full.certificate_.objective
    assert model.certificate_.value >= excess > 0


# -- folds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(100, 8), (30, 50)])
def test_errors_by_merging_are_errors_by_refitting(shape):
    X, y = data(*shape)
    weight = np.random.default_rng(1).uniform(0.1, 2.0, len(y))
    model = tenfold.LassoLarsCV(cv=3).fit(X, y, sample_weight=weight)
    some = np.linspace(1, len(model.cv_alphas_) - 1, 7).astype(int)
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        for k in some:
            alone = tenfold.LassoLars(model.cv_alphas_[k]).fit(X[train], y[train], sample_weight=weight[train])
            error = np.average((y[test] - alone.predict(X[test])) ** 2, weights=weight[test])
            np.testing.assert_allclose(model.mse_path_[k, fold], error, rtol=1e-8)
    assert model.alpha_ == model.cv_alphas_[np.argmin(model.mse_path_.mean(axis=1))]
    np.testing.assert_allclose(
        model.coef_, tenfold.LassoLars(model.alpha_).fit(X, y, sample_weight=weight).coef_, rtol=1e-9, atol=1e-10
    )


def test_weights_count_as_repeated_rows_in_criteria():
    X, y = data()
    times = np.random.default_rng(0).integers(0, 4, 60)
    again = np.repeat(np.arange(60), times)
    weighted = tenfold.LassoLarsIC("bic").fit(X, y, sample_weight=times.astype(float))
    repeated = tenfold.LassoLarsIC("bic").fit(X[again], y[again])
    np.testing.assert_allclose(weighted.criterion_, repeated.criterion_, rtol=1e-9)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8, atol=1e-10)


# -- the compiled walk -----------------------------------------------------------------------------------------------


def test_compiled_path_raises_for_shapes_that_do_not_fit():
    c = np.ones(3)
    with pytest.raises(ValueError, match="squares must have one entry"):
        _core.Lars(c, np.ones(2), 1.0, False, False, 0.0, 5, 1e-12)
    with pytest.raises(ValueError, match="most_steps"):
        _core.Lars(c, c, 1.0, False, False, 0.0, -1, 1e-12)
    state = _core.Lars(c, c, 1.0, False, False, 0.0, 5, 1e-12)
    assert state.advance() == 0
    with pytest.raises(ValueError, match="one entry a column"):
        state.set_gram_row(0, np.ones(2))
    with pytest.raises(ValueError, match="no such column"):
        state.set_gram_row(3, np.ones(3))
