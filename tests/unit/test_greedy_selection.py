"""Greedy selection: factors, columns that depend, what the judge refuses, folds and weights."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, ShuffleSplit

import tenfold
from estimators import zero_weights
from tenfold.data import MemoryRows
from tenfold.solvers.greedy_selection import pursue
from tenfold.stats.gram import GramByColumns, WholeGram
from tenfold.stats.moments import Moments


def data(n=60, p=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.logspace(-2, 2, p) + 3.0
    y = X @ (rng.standard_normal(p) / np.logspace(-2, 2, p)) + 0.5 * rng.standard_normal(n)
    return X, y


def least_squares(X, y, columns, weight=None):
    """Sum of squares of least squares with an intercept on some columns."""
    root = np.sqrt(np.ones(len(y)) if weight is None else weight)[:, None]
    A = root * np.column_stack([np.ones(len(y)), X[:, columns]])
    return float(np.sum((root[:, 0] * y - A @ np.linalg.lstsq(A, root[:, 0] * y, rcond=None)[0]) ** 2))


@pytest.mark.parametrize("rule", ["correlation", "cosine", "gain"])
def test_every_step_follows_the_rule(rule):
    """Each column is the best by the definition, computed anew from the rows."""
    X, y = data()
    gram = WholeGram.of(Moments.of(X, y), intercept=True)
    path = pursue(gram, 0, rule, 6, None)
    centred, target = X - X.mean(axis=0), y - y.mean()
    for k, j in enumerate(path.order):
        before = path.order[:k]
        w = np.linalg.lstsq(centred[:, before], target, rcond=None)[0]
        r = target - centred[:, before] @ w
        np.testing.assert_allclose(np.ldexp(path.left[k], 2 * gram.target_scales[0]), r @ r, rtol=1e-10)
        promise = np.abs(centred.T @ r)
        if rule == "cosine":
            promise /= np.linalg.norm(centred, axis=0)
        elif rule == "gain":
            promise = np.array([-least_squares(X, y, [*before, c]) for c in range(12)])
        promise[before] = -np.inf
        assert int(np.argmax(promise)) == j


def test_weights_of_every_step_are_least_squares():
    X, y = data()
    gram = WholeGram.of(Moments.of(X, y), intercept=True)
    path = pursue(gram, 0, "gain", 5, None)
    centred = X - X.mean(axis=0)
    for k, weights in enumerate(np.ldexp(path.every(12), gram.target_scales[0] - gram.scales)):
        some = path.order[: k + 1]
        expected = np.linalg.lstsq(centred[:, some], y - y.mean(), rcond=None)[0]
        np.testing.assert_allclose(weights[some], expected, rtol=1e-9)
        assert np.count_nonzero(weights) == k + 1


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_requested_products_are_those_of_the_whole(kind, intercept):
    X, y = data()
    rows = MemoryRows(kind(X), y[:, None], zero_weights(60))
    whole = WholeGram.of(rows.fold(Moments.lift), intercept)
    some = GramByColumns.of(rows, intercept)
    np.testing.assert_array_equal(some.scales, whole.scales)
    np.testing.assert_allclose(some.with_targets, whole.with_targets, rtol=1e-10, atol=1e-12)
    for j in (3, 11, 0):
        np.testing.assert_allclose(some.row(j, np.arange(12.0)), whole.row(j, np.arange(12.0)), rtol=1e-9, atol=1e-12)


def test_wide_rows_are_read_a_few_columns_at_a_time():
    """Two passes for means and targets, one for 32 columns: the p x p matrix is never formed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 30_000))
    y = X[:, 17] - 2.0 * X[:, 23_000] + 0.1 * rng.standard_normal(50)
    model = tenfold.OrthogonalMatchingPursuit(n_nonzero_coefs=2).fit(X, y)
    assert set(model.path_) == {17, 23_000}
    assert model.certificate_.ok


@pytest.mark.parametrize("name", ["OrthogonalMatchingPursuit", "ForwardSelection"])
def test_columns_that_depend_are_taken_once(name):
    X, y = data(60, 5)
    twice = np.column_stack([X, X, X[:, :1] + X[:, 1:2]])
    model = getattr(tenfold, name)(n_nonzero_coefs=5).fit(twice, y)
    assert model.certificate_.ok
    assert np.linalg.matrix_rank(twice[:, model.path_] - twice[:, model.path_].mean(axis=0)) == 5
    with pytest.warns(RuntimeWarning, match="ended prematurely"):
        model = getattr(tenfold, name)(n_nonzero_coefs=8).fit(twice, y)
    assert model.n_iter_ == 5
    np.testing.assert_allclose(model.predict(twice), tenfold.LinearRegression().fit(X, y).predict(X), rtol=1e-8)
    assert model.certificate_.ok


def test_a_sum_of_squares_that_cannot_be_reached():
    X, y = data(60, 5)
    with pytest.warns(RuntimeWarning, match="ended prematurely"):
        model = tenfold.ForwardSelection(tol=1e-9).fit(X, y)
    assert model.n_iter_ == 5
    assert model.certificate_.ok


# -- the judge -------------------------------------------------------------------------------------------------------


def swap_columns(model, X, y):
    """Least squares on a support with one column exchanged: no cosine with a taken column shows it."""
    worse = copy.deepcopy(model)
    support = set(np.flatnonzero(model.coef_))
    outside = min(set(range(X.shape[1])) - support, key=lambda j: abs(np.corrcoef(X[:, j], y)[0, 1]))
    support = sorted(support - {model.path_[0]} | {outside})
    fit = tenfold.LinearRegression().fit(X[:, support], y)
    worse.coef_ = np.zeros_like(model.coef_)
    worse.coef_[support], worse.intercept_ = fit.coef_, fit.intercept_
    return worse


@pytest.mark.parametrize("name", ["OrthogonalMatchingPursuit", "ForwardSelection"])
@pytest.mark.parametrize("shape", [(80, 12), (20, 60)])
def test_other_columns_are_not_certified(name, shape):
    X, y = data(*shape)
    model = getattr(tenfold, name)(n_nonzero_coefs=4).fit(X, y)
    certificate = tenfold.certify(swap_columns(model, X, y), X, y)
    assert not certificate.ok
    assert "The rule takes other columns" in certificate.explain()
    assert tenfold.certify(model, X, y).ok


def test_too_few_columns_are_not_certified():
    X, y = data()
    longer = tenfold.ForwardSelection(4).fit(X, y)
    fewer = tenfold.ForwardSelection(3).fit(X, y)
    longer.coef_, longer.intercept_ = fewer.coef_, fewer.intercept_
    certificate = tenfold.certify(longer, X, y)
    assert not certificate.ok
    assert "Fewer columns than asked for" in certificate.explain()


def test_stops_at_the_sum_of_squares_and_not_earlier():
    X, y = data()
    tol = 1.05 * least_squares(X, y, tenfold.ForwardSelection(5).fit(X, y).path_)
    model = tenfold.ForwardSelection(tol=tol).fit(X, y)
    assert model.n_iter_ == 5
    assert model.n_nonzero_coefs_ is None
    for count in (4, 6):
        other = tenfold.ForwardSelection(count).fit(X, y)
        model.coef_, model.intercept_ = other.coef_, other.intercept_
        assert not tenfold.certify(model, X, y).ok


# -- folds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cv", [None, 4, KFold(5, shuffle=True, random_state=0), ShuffleSplit(4, random_state=0)], ids=str
)
@pytest.mark.parametrize("shape", [(120, 15), (30, 60)])
def test_errors_by_merging_are_errors_by_refitting(cv, shape):
    X, y = data(*shape)
    weight = np.random.default_rng(1).uniform(0.1, 2.0, len(y))
    model = tenfold.OrthogonalMatchingPursuitCV(cv=cv, max_iter=6).fit(X, y, sample_weight=weight)
    splitter = KFold(5) if cv is None else KFold(cv) if isinstance(cv, int) else cv
    errors = np.empty((6, model.mse_path_.shape[1]))
    for fold, (train, test) in enumerate(splitter.split(X)):
        for k in range(6):
            alone = tenfold.OrthogonalMatchingPursuit(n_nonzero_coefs=k + 1)
            alone.fit(X[train], y[train], sample_weight=weight[train])
            errors[k, fold] = np.average((y[test] - alone.predict(X[test])) ** 2, weights=weight[test])
    np.testing.assert_allclose(model.mse_path_, errors, rtol=1e-8)
    assert model.n_nonzero_coefs_ == np.argmin(errors.mean(axis=1)) + 1


def test_a_test_fold_without_weight_does_not_count():
    X, y = data()
    weight = np.ones(60)
    weight[:12] = 0.0
    model = tenfold.OrthogonalMatchingPursuitCV(cv=5, max_iter=4).fit(X, y, sample_weight=weight)
    assert np.isnan(model.mse_path_[:, 0]).all()
    assert model.n_nonzero_coefs_ == np.argmin(model.mse_path_[:, 1:].mean(axis=1)) + 1
    with pytest.raises(ValueError, match="No split has test rows of positive weight"):
        tenfold.OrthogonalMatchingPursuitCV(cv=[(np.arange(12, 60), np.arange(12))]).fit(X, y, sample_weight=weight)


def test_parameters_for_a_splitter_need_routing():
    X, y = data()
    with pytest.raises(ValueError, match="only supported if enable_metadata_routing=True"):
        tenfold.OrthogonalMatchingPursuitCV().fit(X, y, groups=np.arange(60))
