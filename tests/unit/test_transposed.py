"""Products of sparse rows by their columns, against plain formulas."""

import numpy as np
import pytest
from scipy import sparse

from tenfold import _core
from tenfold.estimators.validation import as_rows_without_target
from tenfold.stats.scatter import scatter_about
from tenfold.stats.transposed import ByColumns


def sparse_rows(n, p, dtype=np.float64, index=np.int32, seed=0):
    X = sparse.random_array((n, p), density=0.08, rng=np.random.default_rng(seed), format="csr", dtype=dtype)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
@pytest.mark.parametrize("about_mean", [False, True], ids=["as they are", "centred"])
@pytest.mark.parametrize("count", [1, 3, 8, 37, 70])
def test_products_on_either_side(weighted, about_mean, count):
    X, rng = sparse_rows(50, 190), np.random.default_rng(1)
    w = rng.integers(0, 4, 50).astype(float) if weighted else np.ones(50)
    mean = X.toarray().T @ w / w.sum() if about_mean else None
    A = np.sqrt(w)[:, None] * (X.toarray() - (0.0 if mean is None else mean))
    result = ByColumns.of(as_rows_without_target(X, w if weighted else None), mean)
    u, v = rng.standard_normal((count, 50)), rng.standard_normal((count, 190))
    np.testing.assert_allclose(result.products(u), u @ A @ A.T, atol=1e-12)
    np.testing.assert_allclose(result.back(u), u @ A, atol=1e-12)
    np.testing.assert_allclose(result.scores(v), v @ A.T, atol=1e-12)
    place = np.zeros(190) if mean is None else mean
    both = as_rows_without_target(X, w if weighted else None).fold(scatter_about(place, v))
    np.testing.assert_allclose(both.products, v @ A.T @ A, atol=1e-11)
    np.testing.assert_allclose(both.sums, w @ (X.toarray() - place), atol=1e-11)
    assert both.weight == pytest.approx(w.sum())


def test_only_wide_sparse_rows_in_memory():
    X = sparse_rows(50, 190)
    assert ByColumns.of(as_rows_without_target(X.toarray(), None), None) is None
    assert ByColumns.of(as_rows_without_target(sparse.csr_array(X.T), None), None) is None


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_do_not_depend_on_threads(dtype, index):
    X, rng = sparse_rows(3000, 700, dtype, index), np.random.default_rng(1)
    storage = X.data, X.indices, X.indptr, 700
    V, U, level, by = rng.standard_normal((21, 700)), rng.standard_normal((21, 3000)), np.ones(3000), np.ones(21)
    for call in (
        lambda t: _core.normal_product_csr(*storage, V, level, level, by, t),
        lambda t: _core.left_matmul_csr(*storage, U, t),
        lambda t: _core.left_matmul_t_csr(*storage, V, level, by, t),
    ):
        one = call(1)
        for threads in (2, 3, 7):
            np.testing.assert_array_equal(call(threads), one)
    D = X.toarray().astype(np.float64)
    np.testing.assert_allclose(_core.left_matmul_csr(*storage, U, 2), U @ D, atol=1e-10)
    z = V @ D.T - 1.0
    np.testing.assert_allclose(_core.left_matmul_t_csr(*storage, V, level, by, 2), z, atol=1e-10)
    line = _core.normal_product_csr(*storage, V, level, level, by, 2)
    np.testing.assert_allclose(line[: 21 * 700].reshape(21, 700), z @ D, atol=1e-9)
    np.testing.assert_allclose(line[21 * 700 :], z.sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("bad", [-1, 5])
def test_a_column_that_does_not_exist_is_named(bad):
    data, indices, indptr = np.ones(2), np.array([0, bad], dtype=np.int32), np.array([0, 2], dtype=np.int32)
    with pytest.raises(ValueError, match="column index"):
        _core.normal_product_csr(data, indices, indptr, 5, np.ones((2, 5)), None, None, np.zeros(2), 1)
    with pytest.raises(ValueError, match="column index"):
        _core.left_matmul_csr(data, indices, indptr, 5, np.ones((2, 1)), 1)
    with pytest.raises(ValueError, match="column index"):
        _core.left_matmul_t_csr(data, indices, indptr, 5, np.ones((2, 5)), None, np.zeros(2), 1)


@pytest.mark.parametrize("about_mean", [False, True], ids=["as they are", "centred"])
def test_some_columns_at_a_time(monkeypatch, about_mean):
    monkeypatch.setattr("tenfold.stats.transposed.PART_COLUMNS", 60)
    X, u = sparse_rows(50, 190), np.random.default_rng(1).standard_normal((3, 50))
    result = ByColumns.of(as_rows_without_target(X, None), X.mean(axis=0) if about_mean else None)
    whole, parts = result.back(u), list(result.parts())
    assert [columns.stop - columns.start for columns, _ in parts] == [60, 60, 60, 10]
    for columns, part in parts:
        np.testing.assert_array_equal(part.back(u), whole[:, columns])
