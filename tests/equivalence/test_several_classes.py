"""A softmax of three classes does not depend on where its rows are, nor on how they are weighted."""

import numpy as np
import pytest
from scipy import sparse

import tenfold
from estimators import classes

X, Y, _ = classes(90, 4, count=3)


def fit_logistic(X, y=None, **options):
    return tenfold.LogisticRegression(tol=1e-10).fit(X, y, **options)


def same(ours, other):
    assert ours.certificate_.ok
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-7)
    np.testing.assert_allclose(
        ours.intercept_ - ours.intercept_.mean(), other.intercept_ - other.intercept_.mean(), atol=1e-7
    )


def test_sparse_files_and_dask():
    array = pytest.importorskip("dask.array")
    alone = fit_logistic(X, Y)
    same(fit_logistic(sparse.csr_array(X), Y), alone)
    table = tenfold.rows([(X[:40], Y[:40]), (X[40:], Y[40:])])
    same(fit_logistic(table), alone)
    np.testing.assert_array_equal(alone.predict(table), alone.predict(X))
    rows = array.from_array(X, chunks=(25, 4))
    far = fit_logistic(rows, array.from_array(Y, chunks=25))
    same(far, alone)
    np.testing.assert_array_equal(far.predict(rows).compute(), alone.predict(X))
    np.testing.assert_allclose(far.predict_proba(rows).compute(), alone.predict_proba(X), atol=1e-7)


def test_weights_are_repeated_rows_and_order_does_not_matter():
    weight = np.random.default_rng(0).integers(0, 4, 90)
    same(fit_logistic(X, Y, sample_weight=weight), fit_logistic(np.repeat(X, weight, axis=0), np.repeat(Y, weight)))
    order = np.random.default_rng(1).permutation(90)
    same(fit_logistic(X[order], Y[order]), fit_logistic(X, Y))


def test_an_offset_moves_the_intercepts_alone():
    same_coef = fit_logistic(X + 1e6, Y)
    assert same_coef.certificate_.ok
    np.testing.assert_allclose(same_coef.coef_, fit_logistic(X, Y).coef_, rtol=1e-5)


def test_separable_classes_have_no_maximum():
    centres = np.repeat(np.eye(3) * 9.0, 10, axis=0) + np.random.default_rng(0).uniform(-1, 1, (30, 3))
    y = np.repeat(np.arange(3), 10)
    with pytest.warns(UserWarning, match="no maximum"):
        model = tenfold.LogisticRegression(C=np.inf).fit(centres, y)
    assert model.status_ == "no maximum"
    z = centres @ model.separating_direction_[:, :-1].T + model.separating_direction_[:, -1]
    assert np.all(np.argmax(z, axis=1) == y)


def test_one_class_that_can_be_split_off_leaves_no_maximum():
    """Two classes overlap, the third stands apart: part of the likelihood grows for ever."""
    rng = np.random.default_rng(0)
    apart = np.vstack([rng.standard_normal((40, 2)), rng.standard_normal((20, 2)) + 50.0])
    y = np.concatenate([np.arange(40) % 2, np.full(20, 2)])
    with pytest.warns(UserWarning, match="no maximum"):
        model = tenfold.LogisticRegression(C=np.inf, max_iter=200).fit(apart, y)
    assert model.status_ == "no maximum"
