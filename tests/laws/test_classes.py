"""Sums of the columns by classes: a monoid, and the compiled loop is the lift in arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tenfold import _core
from tenfold.data import Block
from tenfold.judge.naive_bayes import _each_class, _recompute_tables
from tenfold.plans.naive_bayes import TableScores
from tenfold.stats.class_totals import (
    class_columns,
    class_columns_in_arrays,
    class_scatter_products,
    class_scatter_products_in_arrays,
    class_sums,
    class_sums_about,
    class_sums_in_arrays,
    diagonal_distances,
    sum_scatter_products,
)
from tenfold.stats.contingency import category_counts, nonmissing_columns
from tenfold.stats.moments import GroupedMoments
from tenfold.stats.within_class_scatter import (
    WithinMoments,
    within_quadratic_forms,
    within_quadratic_forms_in_arrays,
    within_scatter,
)

shapes = st.tuples(st.integers(1, 70), st.integers(1, 21), st.integers(1, 4), st.integers(0, 99), st.booleans())


def block(n, p, k, seed, weighted, dtype=np.float64, offset=0.0):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, p)) + offset).astype(dtype)
    weight = rng.integers(0, 4, n).astype(np.float64) if weighted else None
    return Block(X, np.zeros((n, 1)), weight, rng.integers(0, k, n).astype(np.int32))


def halves(whole, cut):
    return [
        Block(*(None if part is None else part[some] for part in (whole.X, whole.y, whole.weight, whole.group)))
        for some in (slice(None, cut), slice(cut, None))
    ]


@given(shapes, st.sampled_from([None, 0.25]), st.sampled_from([np.float32, np.float64]))
def test_sums_of_the_loop_and_of_arrays(shape, threshold, dtype):
    rows = block(*shape, dtype)
    ours, plain = class_sums(shape[2], threshold)(rows), class_sums_in_arrays(shape[2], threshold, rows).result()
    np.testing.assert_allclose(ours.weight, plain.weight)
    np.testing.assert_allclose(ours.sums, plain.sums, rtol=1e-12, atol=1e-12)
    stored = sparse.csr_array(rows.X)
    others = class_sums(shape[2], threshold)(Block(stored, rows.y, rows.weight, rows.group))
    np.testing.assert_allclose(others.sums, ours.sums, rtol=1e-12, atol=1e-12)


@given(shapes, st.sampled_from([0.0, 1e8]))
def test_columns_of_the_loop_and_of_arrays(shape, offset):
    rows = block(*shape, offset=offset)
    ours, plain = class_columns(shape[2])(rows), class_columns_in_arrays(shape[2], rows).result()
    known = ours.weight > 0.0
    np.testing.assert_allclose(ours.weight, plain.weight)
    np.testing.assert_allclose(ours.mean[known], plain.mean[known], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(ours.squares[known], plain.squares[known], rtol=1e-9, atol=1e-9)


@given(shapes, st.integers(0, 70))
def test_merged_parts_are_the_whole(shape, cut):
    rows = block(*shape)
    places = np.ones((shape[2], shape[1]))
    for lift in (
        class_sums(shape[2]),
        class_columns(shape[2]),
        class_sums_about(places),
        nonmissing_columns(shape[2]),
        within_scatter(shape[2]),
        within_quadratic_forms(places, places[:1]),
    ):
        whole, (one, other) = lift(rows), (lift(half) for half in halves(rows, min(cut, shape[0])))
        merged = one.merge(other)
        some = whole.weight > 0.0
        for name in type(whole).__dataclass_fields__:
            a, b = getattr(merged, name), getattr(whole, name)
            if np.ndim(a) == 2 and np.shape(some) != np.shape(a) and name not in ("scatter", "forms"):
                a, b = a[some], b[some]
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11, err_msg=name)


@given(shapes, st.integers(1, 9), st.sampled_from([np.float32, np.float64]))
def test_products_of_the_loop_and_of_arrays(shape, count, dtype):
    rows, rng = block(*shape, dtype), np.random.default_rng(2)
    places, vectors = rng.standard_normal((shape[2], shape[1])), rng.standard_normal((shape[2], count, shape[1]))
    ours, plain = class_scatter_products(places, vectors)(rows), class_scatter_products_in_arrays(places, vectors, rows)
    for name in ("weight", "sums", "products"):
        np.testing.assert_allclose(getattr(ours, name), getattr(plain, name), rtol=1e-10, atol=1e-10, err_msg=name)
    alone, both = class_sums_about(places)(rows), class_sums_about(places, vectors)(rows)
    np.testing.assert_allclose(both.products, plain.products, rtol=1e-10, atol=1e-10)
    for name in ("weight", "sums", "squares"):
        np.testing.assert_allclose(getattr(both, name), getattr(alone, name), rtol=1e-10, atol=1e-10, err_msg=name)
    factors, same = rng.uniform(size=shape[2]), np.tile(vectors[:1], (shape[2], 1, 1))
    pooled = sum_scatter_products(places, factors, vectors[0])(rows).sum
    expected = np.einsum("k,kqp->qp", factors, class_scatter_products_in_arrays(places, same, rows).products)
    np.testing.assert_allclose(pooled, expected, rtol=1e-10, atol=1e-10)


@given(shapes, st.sampled_from([np.float32, np.float64]), st.sampled_from([0.0, 1e8]))
def test_what_is_summed_within_classes(shape, dtype, offset):
    """As the moments of each class, also where classes are far apart."""
    rows = block(*shape, dtype)
    rows.X[:] = (rows.X + offset * rows.group[:, None]).astype(dtype)
    ours = within_scatter(shape[2])(rows)
    plain = WithinMoments.of(GroupedMoments.lifter(shape[2])(rows))
    assert ours.count == plain.count
    np.testing.assert_allclose(ours.weight, plain.weight)
    np.testing.assert_allclose(ours.mean, plain.mean, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(ours.scatter, plain.scatter, rtol=1e-10, atol=1e-10)
    vectors = np.random.default_rng(2).standard_normal((5, shape[1]))
    seen = within_quadratic_forms(ours.mean, vectors)(rows)
    again = within_quadratic_forms_in_arrays(ours.mean, vectors, rows).result()
    for name in ("weight", "sums", "squares", "forms"):
        np.testing.assert_allclose(getattr(seen, name), getattr(again, name), rtol=1e-9, atol=1e-7, err_msg=name)
    np.testing.assert_allclose(seen.forms, vectors @ ours.scatter @ vectors.T, rtol=1e-9, atol=1e-7)


def test_a_class_that_is_constant_stays_so():
    rows = block(30, 2, 2, 0, False, offset=1e8)
    rows.X[:, 0] = np.where(rows.group == 0, 0.1, 1e8 / 3.0)
    one, other = (within_scatter(2)(half) for half in halves(rows, 17))
    assert one.merge(other).scatter[0].tolist() == [0.0, 0.0]


@given(shapes)
def test_tables_are_counted_twice_and_looked_up(shape):
    rows, rng = block(*shape), np.random.default_rng(3)
    X = np.floor(np.abs(2.0 * rows.X))
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    rows = Block(X, rows.y, rows.weight, rows.group)
    result = category_counts(shape[2])(rows)
    again = _recompute_tables(shape[2], tuple(table.shape[1] for table in result.tables), rows)
    np.testing.assert_allclose(result.weight, again.weight)
    for one, other in zip(result.tables, again.tables, strict=True):
        np.testing.assert_allclose(one, other)
    every = category_counts(1)(Block(X, rows.y, None, np.zeros(shape[0], np.int32)))  # rows of weight zero too
    tables = tuple(rng.standard_normal((shape[2], table.shape[1])) for table in every.tables)
    prior = rng.standard_normal(shape[2])
    expected = np.tile(prior, (shape[0], 1))
    for i, j in zip(*np.nonzero(~np.isnan(X)), strict=True):
        expected[i] += tables[j][:, int(X[i, j])]
    scores = TableScores("it", tables, prior, tuple(map(str, range(shape[1]))))
    np.testing.assert_allclose(scores(X), expected, rtol=1e-12, atol=1e-12)


@given(shapes, st.sampled_from([0.0, 1e6]))
def test_columns_without_gaps_are_those_with_some(shape, offset):
    rows = block(*shape, offset=offset)
    gap = Block(
        np.vstack([rows.X, np.full((1, shape[1]), np.nan)]),
        np.zeros((shape[0] + 1, 1)),
        None if rows.weight is None else np.append(rows.weight, 1.0),
        np.append(rows.group, np.int32(0)),
    )
    for f in (nonmissing_columns(shape[2]), lambda rows: _each_class(shape[2], rows)):
        one, other = f(rows), f(gap)
        known = one.weight > 0.0
        np.testing.assert_allclose(one.weight, other.weight)
        np.testing.assert_allclose(one.mean[known], other.mean[known], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.squares[known], other.squares[known], rtol=1e-6, atol=1e-6)


@given(st.integers(1, 30), st.integers(1, 11), st.integers(0, 99))
def test_the_largest_score(n, k, seed):
    rng = np.random.default_rng(seed)
    z = rng.integers(-2, 3, (n, k)).astype(np.float64)
    z[rng.uniform(size=z.shape) < 0.1] = rng.choice([np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(_core.argmax(z, 1), np.argmax(z, axis=1))


@given(shapes)
def test_tables_count_rows(shape):
    rows = block(*shape)
    rows = Block(np.floor(np.abs(2.0 * rows.X)), rows.y, rows.weight, rows.group)
    result = category_counts(shape[2])(rows)
    weight = np.ones(shape[0]) if rows.weight is None else rows.weight
    for j, table in enumerate(result.tables):
        for k in range(shape[2]):
            for v in range(table.shape[1]):
                assert table[k, v] == weight[(rows.group == k) & (rows.X[:, j] == v)].sum()


@given(shapes)
def test_scaled_distances(shape):
    rows = block(*shape)
    rng = np.random.default_rng(1)
    centre, scale = rng.standard_normal((2, shape[2], shape[1]))
    expected = np.sum((scale * (rows.X[:, None, :] - centre)) ** 2, axis=2)
    np.testing.assert_allclose(diagonal_distances(rows.X, centre, scale), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("threshold", [None, 0.5])
def test_bits_do_not_depend_on_threads(threshold):
    rows = block(40_000, 23, 3, 0, True)
    for call in (
        lambda threads: _core.class_sums(rows.X, rows.weight, rows.group, 3, threshold, threads),
        lambda threads: _core.class_moments(rows.X, rows.weight, rows.group, np.zeros((3, 23)), threads),
        lambda threads: _core.class_scatter_products(
            rows.X, rows.weight, rows.group, np.zeros((3, 23)), np.ones((3, 5, 23)), threads
        ),
        lambda threads: _core.within_scatter(rows.X, rows.weight, rows.group, np.zeros((3, 23)), threads)[1:],
        lambda threads: _core.within_quadratic_forms(
            rows.X, rows.weight, rows.group, np.zeros((3, 23)), np.ones((5, 23)), threads
        ),
        lambda threads: _core.category_counts(
            np.floor(np.abs(rows.X)), rows.weight, rows.group, 3, np.arange(0, 240, 10), threads
        ),
    ):
        for one, other in zip(call(1), call(5), strict=True):
            np.testing.assert_array_equal(one, other)


def test_class_numbers_out_of_range_raise():
    rows = block(10, 3, 2, 0, False)
    with pytest.raises(ValueError, match="class numbers"):
        _core.class_sums(rows.X, None, np.full(10, 2, np.int32), 2, None, 1)
