"""Wherever the samples are, models that are read off statistics and models that keep their samples are the same: they
learn the same, answer the same, and are certified.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import tenfold
from design import only_if
from estimators import NEIGHBOURS, STATISTICAL, weights
from namespaces import every_namespace, host
from tenfold.data import blocks


def of(place):
    rows = [row for row in (*STATISTICAL, *NEIGHBOURS) if place in row.where]
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.id)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 10)


def with_and_without_weights(test):
    test = only_if(lambda row, weighted: row.weighted or not weighted)(test)
    return pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])(test)


def flat(answer):
    """The arrays of an answer, one after the other: tuples, lists of arrays, sparse matrices, numbers."""
    if sparse.issparse(answer):
        return [answer.data, answer.indices, answer.indptr]
    if isinstance(answer, (tuple, list)):
        return [part for one in answer for part in flat(one)]
    array = np.asarray(answer.compute() if hasattr(answer, "compute") else host(answer))
    return [part for one in array for part in flat(one)] if array.dtype == object else [array]


def check_same(one, other, exact):
    one, other = flat(one), flat(other)
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        if exact or b.dtype.kind not in "fc":
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def check_learned(row, one, other, exact=False):
    for name, a, b in zip(row.learned, row.numbers(one), row.numbers(other), strict=True):
        if exact:
            np.testing.assert_array_equal(a, b, err_msg=name)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12, err_msg=name)


def is_array(row, name, answer):
    """Whether a method returns an array where its samples are: not lists of neighbours, nor a number."""
    return name in ("predict", "predict_proba", "score_samples") or (not row.searches and np.ndim(answer) > 0)


def fit(row, X, y, w):
    return row.make().fit(X, y, **({} if w is None else {"sample_weight": w}))


def table_of(X, y, w):
    """A table of parts of any length, and what is given beside it."""
    cuts = list(pairwise((0, 5, 5, 60, len(X))))
    if y is None:
        return tenfold.rows([X[a:b] for a, b in cuts]), None, w
    if w is None:
        return tenfold.rows([(X[a:b], y[a:b]) for a, b in cuts]), None, None
    return tenfold.rows([(X[a:b], y[a:b], w[a:b]) for a, b in cuts]), None, None


def draw_weights(n, weighted):
    return weights(n) if weighted else None


@of("files")
@with_and_without_weights
def test_rows_in_parts_give_the_bits_of_memory(row, weighted, small_blocks):
    X, y, _ = row.data(row.many)
    X[row.ties] = np.round(X[row.ties])  # many samples at the same distance
    w = draw_weights(len(X), weighted)
    table, *rest = table_of(X, y, w)
    queries = row.queries(X)
    there, here = fit(row, table, *rest), fit(row, X, y, w)
    assert there.certificate_.ok, there.certificate_.explain()
    assert there.certificate_ == here.certificate_ or not row.ordered
    check_learned(row, there, here, exact=True)
    for name in row.methods:
        check_same(getattr(there, name)(queries), getattr(here, name)(queries), row.ordered)
        check_same(getattr(there, name)(table), getattr(here, name)(X), row.ordered)
    if row.itself:
        check_same(getattr(there, row.itself)(None), getattr(here, row.itself)(None), True)
    assert tenfold.certify(there, table, *rest).ok


@pytest.mark.parametrize("row", [row for row in NEIGHBOURS if "files" in row.where], ids=lambda row: row.id)
@with_and_without_weights
def test_another_sample_in_a_file_is_not_certified(row, weighted, small_blocks):
    X, y, _ = row.data(row.many)
    X[row.ties] = np.round(X[row.ties])
    w = draw_weights(len(X), weighted)
    table, *rest = table_of(X, y, w)
    model = fit(row, table, *rest)
    other = X.copy()
    other[50 if w is None else np.flatnonzero(w)[20], 1] += 9.0 if row.coarse else 1e-6
    assert not tenfold.certify(model, *table_of(other, y, w)).ok


@of("Dask")
@with_and_without_weights
def test_dask(row, weighted):
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")
    X, y, _ = row.data()
    w = draw_weights(len(X), weighted)
    lazy = [None if part is None else da.from_array(part, chunks=(25, *part.shape[1:])) for part in (X, y, w)]
    queries = row.queries(X)
    with dask.config.set(scheduler="synchronous"):
        there, here = fit(row, *lazy), fit(row, X, y, w)
        assert there.certificate_.ok, there.certificate_.explain()
        check_learned(row, there, here)
        for name in row.methods:
            expected = getattr(here, name)(queries)
            lazy_queries = da.from_array(queries, chunks=(15, X.shape[1]))
            answer = getattr(there, name)(lazy_queries)
            assert isinstance(answer, da.Array) or not is_array(row, name, expected)
            check_same(answer, expected, row.searches)
            check_same(getattr(there, name)(queries), expected, row.searches)
            check_same(getattr(here, name)(lazy_queries), expected, row.searches)
        if row.itself:
            check_same(getattr(there, row.itself)(None), getattr(here, row.itself)(None), row.searches)
        assert tenfold.certify(there, *lazy).ok


@of("devices")
@every_namespace
@with_and_without_weights
def test_other_namespaces(row, start, weighted):
    put = start()
    X, y, _ = row.data()
    y = y if y is None or y.dtype.kind == "f" else np.unique(y, return_inverse=True)[1]
    w = draw_weights(len(X), weighted)
    queries = row.queries(X)
    there = fit(row, *(None if part is None else put(part) for part in (X, y, w)))
    here = fit(row, X, y, w)
    assert there.certificate_.ok, there.certificate_.explain()
    check_learned(row, there, here)
    for name in row.methods:
        answer, expected = getattr(there, name)(put(queries)), getattr(here, name)(queries)
        check_same(answer, expected, False)
        assert type(answer) is type(put(X)) or not is_array(row, name, expected)
    if row.itself:
        check_same(getattr(there, row.itself)(None), getattr(here, row.itself)(None), False)
    assert tenfold.certify(there, *(None if part is None else put(part) for part in (X, y, w))).ok
