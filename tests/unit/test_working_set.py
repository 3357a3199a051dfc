"""Columns of compressed rows as a working set has them: by their products, or one by one where these have few
entries.
"""

import numpy as np
import pytest
from scipy import sparse

from tenfold.solvers.working_set import DenseColumns, SparseColumns, Task, columns_of


@pytest.fixture
def rows():
    """Thirty columns of few entries, four of many, all weighted and centred."""
    rng = np.random.default_rng(3)
    X = rng.normal(1.0, 1.0, (200, 34))
    X[:, :30] *= rng.uniform(size=(200, 30)) < 0.01
    X[:, 30:] *= rng.uniform(size=(200, 4)) < 0.8
    weight = rng.uniform(0.5, 2.0, 200)
    weight /= weight.sum()
    y = X[:, 5] - X[:, 32] + rng.standard_normal(200)
    return X, np.sqrt(weight), weight @ X, (np.sqrt(weight) * (y - weight @ y))[:, None]


def both(rows):
    X, root, centre, _ = rows
    return SparseColumns(sparse.csr_array(X), root, centre), DenseColumns([X], root, centre)


def test_products_come_with_columns_of_many_entries(rows):
    X, root, centre, Y = rows
    few, dense = both(rows)
    assert few.shape == dense.shape == X.shape
    C = root[:, None] * (X - centre)
    chosen = few.extended(few.none(), np.arange(30))
    assert not len(chosen.gram)
    chosen = few.extended(chosen, np.array([33, 30]))
    np.testing.assert_array_equal(chosen.index, [*range(30), 33, 30])
    part = C[:, chosen.index]
    np.testing.assert_allclose(chosen.gram[:32, :32], part.T @ part, atol=1e-14)
    chosen = few.extended(chosen, np.array([31]))
    part = C[:, chosen.index]
    np.testing.assert_allclose(chosen.gram[:33, :33], part.T @ part, atol=1e-14)
    chosen = few.kept(chosen, np.arange(3, 33))
    np.testing.assert_allclose(chosen.gram, part[:, 3:].T @ part[:, 3:], atol=1e-14)
    weights = np.random.default_rng(0).standard_normal((2, 30))
    np.testing.assert_allclose(few.fits(chosen, weights), part[:, 3:] @ weights.T, atol=1e-13)
    np.testing.assert_allclose(few.pulls(Y), dense.pulls(Y), atol=1e-13)
    np.testing.assert_allclose(few.pulls(Y), Y.T @ C, atol=1e-13)


@pytest.mark.parametrize("index", [np.arange(30), np.arange(34)], ids=["few entries", "all"])
@pytest.mark.parametrize("targets", [1, 2])
def test_descent_is_that_of_dense_columns(rows, index, targets):
    *_, Y = rows
    Y = np.concatenate([Y, Y[::-1] - Y[::-1].mean()], axis=1)[:, :targets].copy()
    Y -= rows[1][:, None] * (rows[1] @ Y)
    found = []
    for columns in both(rows):
        chosen = columns.extended(columns.none(), index)
        task = Task(Y, columns.pulls(Y), [(0.02, 0.0), (0.01, 0.1)], False, 1e-13 * float(np.sum(Y * Y)), 1000, None)
        W, sweeps = columns.descended(chosen, np.zeros((targets, len(index))), task)
        assert W.shape == (2, targets, len(index))
        assert np.all(sweeps > 0)
        found.append(W)
    assert np.count_nonzero(found[0]) > 2
    np.testing.assert_allclose(found[0], found[1], atol=1e-7)


@pytest.mark.parametrize(("without", "pieces"), [(slice(50, 90), 2), (slice(0, 40), 1), (slice(None, None, 2), 1)])
def test_rows_without_a_weight_are_left_out_where_they_lie_together(rows, without, pieces):
    X, root, centre, Y = rows
    root = root.copy()
    root[without] = 0.0
    columns, kept = columns_of(X, root, centre)
    assert isinstance(columns, DenseColumns)
    assert len(columns.arrays) == pieces
    scattered = without.step is not None  # these are read with the others
    np.testing.assert_array_equal(np.arange(200)[kept], np.arange(200) if scattered else np.flatnonzero(root))
    C = root[:, None] * (X - centre)
    residuals = (np.sign(root)[:, None] * Y)[kept]
    np.testing.assert_allclose(columns.pulls(residuals), residuals.T @ C[kept], atol=1e-13)
    chosen = columns.extended(columns.extended(columns.none(), np.array([7, 3])), np.array([31]))
    part = C[kept][:, [7, 3, 31]]
    np.testing.assert_allclose(chosen.columns[:3], part.T, atol=1e-15)
    np.testing.assert_allclose(chosen.gram[:3, :3], part.T @ part, atol=1e-14)
