"""Columns in a working set: with their Gram matrix, or without one where they have few entries or are short."""

import numpy as np
import pytest
from scipy import sparse

from tenfold.penalties import L21, ElasticNet
from tenfold.solvers.working_set import DenseColumns, SparseColumns, Subproblem, columns_of, path


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


def test_gram_matrix_comes_with_columns_of_many_entries(rows):
    X, root, centre, Y = rows
    few, dense = both(rows)
    assert few.shape == dense.shape == X.shape
    C = root[:, None] * (X - centre)
    working_set = few.extend(few.empty(), np.arange(30))
    assert not len(working_set.gram)
    working_set = few.extend(working_set, np.array([33, 30]))
    np.testing.assert_array_equal(working_set.index, [*range(30), 33, 30])
    part = C[:, working_set.index]
    np.testing.assert_allclose(working_set.gram[:32, :32], part.T @ part, atol=1e-14)
    working_set = few.extend(working_set, np.array([31]))
    part = C[:, working_set.index]
    np.testing.assert_allclose(working_set.gram[:33, :33], part.T @ part, atol=1e-14)
    working_set = few.select(working_set, np.arange(3, 33))
    np.testing.assert_allclose(working_set.gram, part[:, 3:].T @ part[:, 3:], atol=1e-14)
    weights = np.random.default_rng(0).standard_normal((2, 30))
    np.testing.assert_allclose(few.predict(working_set, weights), part[:, 3:] @ weights.T, atol=1e-13)
    np.testing.assert_allclose(few.correlate(Y), dense.correlate(Y), atol=1e-13)
    np.testing.assert_allclose(few.correlate(Y), Y.T @ C, atol=1e-13)


@pytest.mark.parametrize("index", [np.arange(30), np.arange(34)], ids=["few entries", "all"])
@pytest.mark.parametrize("targets", [1, 2])
def test_sparse_columns_give_the_solution_of_dense_ones(rows, index, targets):
    *_, Y = rows
    Y = np.concatenate([Y, Y[::-1] - Y[::-1].mean()], axis=1)[:, :targets].copy()
    Y -= rows[1][:, None] * (rows[1] @ Y)
    solutions = []
    for columns in both(rows):
        working_set = columns.extend(columns.empty(), index)
        task = Subproblem(
            Y, columns.correlate(Y), [ElasticNet(0.02), ElasticNet(0.01, 0.1)], 1e-13 * float(np.sum(Y * Y)), 1000, None
        )
        W, sweeps = columns.solve(working_set, np.zeros((targets, len(index))), task)
        assert W.shape == (2, targets, len(index))
        assert np.all(sweeps > 0)
        solutions.append(W)
    assert np.count_nonzero(solutions[0]) > 2
    np.testing.assert_allclose(solutions[0], solutions[1], atol=1e-7)


@pytest.mark.parametrize(("without", "pieces"), [(slice(50, 90), 2), (slice(0, 40), 1), (slice(None, None, 2), 1)])
def test_contiguous_samples_of_zero_weight_are_left_out(rows, without, pieces):
    X, root, centre, Y = rows
    root = root.copy()
    root[without] = 0.0
    columns, kept = columns_of(X, root, centre)
    assert isinstance(columns, DenseColumns)
    assert len(columns.arrays) == pieces
    in_pieces = without.step is not None  # these are read with the others
    np.testing.assert_array_equal(np.arange(200)[kept], np.arange(200) if in_pieces else np.flatnonzero(root))
    C = root[:, None] * (X - centre)
    residuals = (np.sign(root)[:, None] * Y)[kept]
    np.testing.assert_allclose(columns.correlate(residuals), residuals.T @ C[kept], atol=1e-13)
    working_set = columns.extend(columns.extend(columns.empty(), np.array([7, 3])), np.array([31]))
    part = C[kept][:, [7, 3, 31]]
    np.testing.assert_allclose(working_set.columns[:3], part.T, atol=1e-15)
    np.testing.assert_allclose(working_set.gram[:3, :3], part.T @ part, atol=1e-14)


@pytest.mark.parametrize(("targets", "penalty"), [(1, ElasticNet), (2, L21)])
def test_dense_columns_without_gram_matrix_give_the_solution_with_it(monkeypatch, targets, penalty):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 300))
    root, centre = np.full(40, 40**-0.5), X.mean(axis=0)
    Y = X[:, :targets] + 0.5 * rng.standard_normal((40, targets))
    Y = root[:, None] * (Y - Y.mean(axis=0))
    lengths = np.sqrt(np.mean((X - centre) ** 2, axis=0))
    grams, paths = [], []
    for ratio in (0.0, 1.0, np.inf):
        monkeypatch.setattr("tenfold.solvers.working_set.GRAM_PER_SAMPLE", ratio)
        columns = DenseColumns([X], root, centre)
        working_set = columns.extend(columns.extend(columns.empty(), np.arange(30)), np.arange(30, 60))
        small = columns.extend(columns.select(working_set, np.arange(20)), np.array([70]))
        grams.append((len(working_set.gram), small.gram))
        penalties = [penalty(0.2, 0.1), penalty(0.02, 0.1)]
        paths.append(path(columns, Y, columns.correlate(Y), lengths, penalties, tol=1e-10, max_iter=10_000))
    assert [count > 0 for count, _ in grams] == [False, False, True]
    np.testing.assert_allclose(grams[1][1][:21, :21], grams[2][1][:21, :21], atol=1e-14)  # formed for all again
    assert np.count_nonzero(paths[0].coef[1, 0]) > 40  # more than there are samples
    assert all(np.all(one.gaps <= 1e-10) for one in paths)
    for one in paths[1:]:
        np.testing.assert_allclose(one.coef, paths[0].coef, atol=2e-5)
