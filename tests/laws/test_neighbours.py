"""Every search gives the neighbours of plain distances, whatever the rows, the threads and the instruction set."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tenfold import _core
from tenfold.distances import Minkowski, distance_of
from tenfold.judge.neighbours import plain_distances
from tenfold.pairwise import store_samples


@st.composite
def samples_and_queries(draw, columns=(1, 2, 3, 7, 20, 40), fewest=1):
    """Rows and queries, some at one place, at any size and distance from zero."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, m, d = draw(st.integers(fewest, 150)), draw(st.integers(1, 40)), draw(st.sampled_from(columns))
    centres = rng.standard_normal((3, d)) * draw(st.sampled_from([0.0, 1.0, 1e4]))
    X = centres[rng.integers(0, 3, n)] + rng.standard_normal((n, d))
    Q = centres[rng.integers(0, 3, m)] + rng.standard_normal((m, d))
    X[rng.integers(0, n, n // 4)] = X[0]
    Q[: m // 4] = X[rng.integers(0, n, m // 4)]
    if draw(st.booleans()):
        X, Q = np.round(X), np.round(Q)  # many rows at the same distance
    scale, offset = draw(st.sampled_from([1e-130, 1e-30, 1.0, 1e30, 1e140])), draw(st.sampled_from([0.0, 1.0, 1e6]))
    return (X + offset) * scale, (Q + offset) * scale, draw(st.integers(1, n))


def sort_neighbours(table, k):
    """The first k of each row, by distance and then by number."""
    rows = np.argsort(table, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(table, rows, axis=1), rows


def squares(X, Q):
    """In the order of sums of no search, so that only distances that differ by rounding may change places."""
    return np.array([np.sqrt([np.square(x - q).sum() for x in X]) for q in Q])


def check(result, X, Q, k, table):
    """Equal distances, of rows that have them, and of rows at one place the first first."""
    distances, rows = result
    expected, _ = sort_neighbours(table, k)
    unit = np.finfo(np.float64).tiny + expected
    assert np.all(np.abs(distances - expected) <= 1e-13 * unit)
    assert np.all(np.abs(np.take_along_axis(table, rows, axis=1) - distances) <= 1e-13 * unit)
    assert all(len(set(row)) == k for row in rows.tolist())
    same = (X[rows[:, 1:]] == X[rows[:, :-1]]).all(axis=2)
    assert np.all(np.diff(rows, axis=1)[same] > 0)


@given(samples_and_queries())
def test_products_miss_no_neighbour(drawing):
    X, Q, k = drawing
    check(store_samples(Minkowski(2.0), X, "brute").nearest(Q, k), X, Q, k, squares(X, Q))


@given(samples_and_queries(columns=(1, 2, 3, 5, 9)), st.sampled_from([1.0, 2.0, np.inf]))
def test_trees_miss_no_neighbour(drawing, p):
    X, Q, k = drawing
    X = np.repeat(X, 2, axis=0)
    table = squares(X, Q) if p == 2.0 else plain_distances({1.0: "manhattan", np.inf: "chebyshev"}[p], {}, X, Q)
    check(store_samples(Minkowski(p), X, "kd_tree").nearest(Q, k), X, Q, k, table)


@given(samples_and_queries(), st.sampled_from([1.0, 2.0]))
def test_sparse_rows_have_the_neighbours_of_dense_ones(drawing, p):
    X, Q, k = drawing
    X, Q = X * (np.abs(X) > np.median(np.abs(X))), Q * (np.abs(Q) > np.median(np.abs(Q)))
    result = store_samples(Minkowski(p), sparse.csr_array(X)).nearest(sparse.csr_array(Q), k)
    name = {1.0: "manhattan", 2.0: "euclidean"}[p]
    check(result, X, Q, k, squares(X, Q) if p == 2.0 else plain_distances(name, {}, X, Q))


@given(samples_and_queries(), st.floats(0.1, 3.0))
def test_within_a_radius_are_those_that_are(drawing, radius):
    X, Q, _ = drawing
    table = squares(X, Q)
    radius = radius * (np.median(table) or 1.0)
    for algorithm in ("brute", "kd_tree"):
        near = store_samples(Minkowski(2.0), X, algorithm).within(Q, radius)
        for i, (distances, rows) in enumerate(
            zip(np.split(near.distances, near.offsets[1:-1]), np.split(near.rows, near.offsets[1:-1]), strict=True)
        ):
            sure = np.flatnonzero(table[i] <= radius * (1 - 1e-12))
            assert set(sure) <= set(rows) <= set(np.flatnonzero(table[i] <= radius * (1 + 1e-12)))
            np.testing.assert_allclose(distances, table[i][rows], rtol=1e-12)
            assert np.all(np.diff(rows) > 0)


@given(samples_and_queries(columns=(2, 20), fewest=2))
def test_a_row_is_not_its_own_neighbour(drawing):
    X, _, k = drawing
    k = min(k, len(X) - 1)
    own = np.arange(len(X))
    table = squares(X, X)
    np.fill_diagonal(table, np.inf)
    for algorithm in ("brute", "kd_tree"):
        distances, rows = store_samples(Minkowski(2.0), X, algorithm).nearest(X, k, own)
        assert not np.any(rows == own[:, None])
        np.testing.assert_allclose(distances, sort_neighbours(table, k)[0], rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [3, 33])
def test_bits_do_not_depend_on_threads(dtype, d):
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((3000, d)).astype(dtype), rng.standard_normal((700, d))
    arguments = {"limits": None, "by_distance": True, "finish": 1, "exponent": 1.0, "own": None, "k": 9}
    first = _core.knn_gemm(X, Q, threads=1, **arguments)
    for threads in (2, 5):
        for a, b in zip(first, _core.knn_gemm(X, Q, threads=threads, **arguments), strict=True):
            np.testing.assert_array_equal(a, b)
    tree = _core.kd_tree(X, 32, 1)
    for a, b in zip(tree, _core.kd_tree(X, 32, 3), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_squares_out_of_range(scale):
    """Where squares vanish or overflow all rows are at one distance, and the first are taken."""
    X = np.random.default_rng(0).standard_normal((40, 20)) * scale
    distances, rows = store_samples(Minkowski(2.0), X, "brute").nearest(X[:9] + scale, 3)
    assert np.all(distances == (0.0 if scale < 1 else np.inf))
    np.testing.assert_array_equal(rows, np.tile([0, 1, 2], (9, 1)))


def test_every_instruction_set_finds_the_same_rows():
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((500, 19)), rng.standard_normal((90, 19))
    best = _core.isa()
    try:
        result = []
        for name in _core.available_isas():
            _core.set_isa(name)
            result.append(store_samples(Minkowski(2.0), X, "brute").nearest(Q, 7))
    finally:
        _core.set_isa(best)
    for distances, rows in result[1:]:
        np.testing.assert_array_equal(rows, result[0][1])
        np.testing.assert_allclose(distances, result[0][0], rtol=1e-14)


NAMES = ["hamming", "canberra", "braycurtis", "nan_euclidean", "cosine", "correlation", "seuclidean", "mahalanobis"]
NAMES += ["jaccard", "dice", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule", "ordinal"]
NAMES += ["sqeuclidean", "minkowski"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_every_distance_is_that_of_the_plain_formula(name, seed):
    rng = np.random.default_rng(seed)
    X, Q = np.round(2.0 * rng.standard_normal((60, 70))), np.round(2.0 * rng.standard_normal((20, 70)))
    X[4], Q[2] = 0.0, 0.0
    if name in ("seuclidean", "mahalanobis"):
        X, Q = rng.standard_normal((60, 5)), rng.standard_normal((20, 5))
    if name == "nan_euclidean":
        X[rng.uniform(size=X.shape) < 0.3] = np.nan
    params = {"p": 3.0, "w": rng.uniform(0.1, 2.0, 70)} if name == "minkowski" else {}
    table = plain_distances(name, params, X, Q)
    result = store_samples(distance_of(name, params, X), X).nearest(Q, 7)
    np.testing.assert_allclose(result[0], sort_neighbours(table, 7)[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(table, result[1], axis=1), result[0], rtol=1e-9, atol=1e-12)
