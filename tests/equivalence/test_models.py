"""Models that are read off statistics: weights, order, storage and parts of the samples do not matter."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from design import only_if
from estimators import STATISTICAL, weights

every_model = pytest.mark.parametrize("row", STATISTICAL, ids=lambda row: row.id)


def of(source):
    rows = [row for row in STATISTICAL if source in row.where]
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.id)


def check_same(row, one, other, **close):
    for name, a, b in zip(row.learned, row.numbers(one), row.numbers(other), strict=True):
        np.testing.assert_allclose(a, b, err_msg=name, **{"rtol": 1e-10, "atol": 1e-12, **close})


@every_model
def test_weights_are_repeated_rows(row):
    X, y, _ = row.data()
    w = weights(len(X))
    some = np.repeat(np.arange(len(X)), w.astype(int))
    weighted = row.make().fit(X, y, sample_weight=w)
    check_same(row, weighted, row.make().fit(X[some], None if y is None else y[some]))
    assert weighted.certificate_.ok


@every_model
def test_rows_of_weight_zero_are_removed(row):
    X, y, _ = row.data()
    w = weights(len(X))
    w[w > 0] *= 0.37
    other = X.copy()
    other[w == 0] += 1.0
    left = w > 0
    one = row.make().fit(other, y, sample_weight=w)
    check_same(row, one, row.make().fit(X[left], None if y is None else y[left], sample_weight=w[left]))


@every_model
def test_the_order_of_rows_does_not_matter(row):
    X, y, _ = row.data()
    order = np.random.default_rng(1).permutation(len(X))
    check_same(row, row.make().fit(X, y), row.make().fit(X[order], None if y is None else y[order]))


@every_model
@pytest.mark.parametrize("layout", ["F", "strided", "float32", "integers", "list"])
@only_if(lambda row, layout: not (layout == "integers" and row.missing))
def test_layouts(row, layout):
    X, y, _ = row.data()
    X = np.round(X)
    forms = {
        "F": np.asfortranarray,
        "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
        "float32": lambda X: X.astype(np.float32),
        "integers": lambda X: X.astype(np.int64),
        "list": lambda X: X.tolist(),
    }
    model = row.make().fit(forms[layout](X), y)
    close = {"rtol": 1e-5, "atol": 1e-6} if layout == "float32" else {}
    check_same(row, model, row.make().fit(X, y), **close)
    assert model.certificate_.ok


@of("sparse")
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_rows(row, kind):
    X, y, _ = row.data()
    w = weights(len(X))
    there, here = row.make().fit(kind(X), y, sample_weight=w), row.make().fit(X, y, sample_weight=w)
    check_same(row, there, here)
    assert there.certificate_.ok
    for a, b in zip(row.answers(there, kind(X)), row.answers(here, X), strict=True):
        if a.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("row", [row for row in STATISTICAL if row.parts], ids=lambda row: row.id)
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
def test_parts_are_the_whole(row, weighted):
    X, y, _ = row.data()
    w = weights(len(X)) if weighted else None
    grown = row.make()
    for a, b in pairwise((0, 3, 20, 47, len(X))):
        extra = {} if y is None else {"classes": np.unique(y)}
        grown.partial_fit(X[a:b], None if y is None else y[a:b], sample_weight=None if w is None else w[a:b], **extra)
    whole = row.make().fit(X, y, sample_weight=w)
    check_same(row, grown, whole, rtol=1e-12, atol=1e-13)
    assert grown.certificate_.ok
    assert "parts" in grown.certificate_.explain()


@pytest.mark.parametrize("row", [row for row in STATISTICAL if row.mean], ids=lambda row: row.id)
def test_far_from_zero(row):
    """Rows that are moved far away lose the digits of their rounding, and no more."""
    X, y, _ = row.data()
    X = np.round(X * 1024.0) / 1024.0
    here, there = row.make().fit(X, y), row.make().fit(X + row.mean, y)
    assert there.certificate_.ok
    for a, b in zip(row.answers(there, X + row.mean), row.answers(here, X), strict=True):
        if a.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
        else:
            np.testing.assert_array_equal(a, b)
