"""Moments and grouped moments are commutative monoids, and their two lifts are one."""

import array_api_strict as strict
import numpy as np
import pytest
from block_strategies import Truth, assert_moments, assert_same_moments, draw_data, truth
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from tenfold.data import Block, resolve
from tenfold.stats.moments import GroupedMoments, Moments, all_but_one, moments_in_arrays


def lift(data):
    return Moments.lift(Block(data.X, data.y, data.weight))


def three(data):
    return [lift(data.part(i)) for i in range(3)]


@given(draw_data())
def test_lift_is_right(data):
    assert_moments(lift(data), truth(data))


@given(draw_data())
def test_merge_is_the_statistic_of_the_union(data):
    a, b, c = three(data)
    assert_moments(a.merge(b).merge(c), truth(data))


@given(draw_data())
def test_associative(data):
    a, b, c = three(data)
    assert_same_moments(a.merge(b).merge(c), a.merge(b.merge(c)), truth(data))


@given(draw_data())
def test_commutative(data):
    a, b, c = three(data)
    assert_same_moments(a.merge(b), b.merge(a), truth(data, slice(0, data.cuts[1])))
    assert_same_moments(a.merge(b).merge(c), c.merge(a).merge(b), truth(data))


@given(draw_data())
def test_one_row_at_a_time(data):
    total = Moments.zero(data.X.shape[1], data.y.shape[1])
    for i in range(len(data.X)):
        total = total.merge(lift(data.part(slice(i, i + 1))))
    assert_moments(total, truth(data))


def identical(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in a.__dataclass_fields__)


@given(draw_data())
def test_identity(data):
    """No rows, and rows without weight, change nothing at all."""
    result = lift(data)
    zero = Moments.zero(data.X.shape[1], data.y.shape[1])
    nothing = lift(data._replace(weight=np.zeros(len(data.X))))
    assert nothing.count == 0
    assert nothing.weight == 0.0
    empty = lift(data.part(slice(0, 0)))
    for neutral in (zero, nothing, empty):
        if result.count:
            assert identical(result.merge(neutral), result)
            assert identical(neutral.merge(result), result)
        both = neutral.merge(zero)
        assert (both.count, both.weight) == (0, 0.0)
        assert not both.XX.any()


@given(draw_data())
def test_groups_are_the_statistics_of_their_rows(data):
    result = GroupedMoments.lifter(3)(Block(data.X, data.y, data.weight, data.group))
    for g, moments in enumerate(result.groups):
        assert_moments(moments, truth(data, data.group == g))


@given(draw_data())
def test_groups_merge(data):
    lifter = GroupedMoments.lifter(3)
    parts = [lifter(Block(part.X, part.y, part.weight, part.group)) for part in map(data.part, range(3))]
    left, right = parts[0].merge(parts[1]).merge(parts[2]), parts[0].merge(parts[1].merge(parts[2]))
    for g, (a, b) in enumerate(zip(left.groups, right.groups, strict=True)):
        expected = truth(data, data.group == g)
        assert_moments(a, expected)
        assert_same_moments(a, b, expected)


@given(draw_data(max_rows=12), st.integers(2, 5))
def test_all_but_one_is_recomputing(data, folds):
    fold = np.arange(len(data.X)) % folds
    parts = tuple(lift(data.part(fold == k)) for k in range(folds))
    for k, rest in enumerate(all_but_one(parts)):
        assert_moments(rest, truth(data, fold != k))


@given(draw_data())
def test_compiled_lift_is_the_lift_in_arrays(data):
    block = Block(data.X, data.y, data.weight, data.group)
    compiled = GroupedMoments.lifter(3)(block).groups
    for g, (a, b) in enumerate(zip(compiled, map(resolve, moments_in_arrays(block, 3)), strict=True)):
        assert_same_moments(a, b, truth(data, data.group == g))


@given(draw_data(weights=False))
def test_another_namespace(data):
    """Arrays of a strict implementation of the Array API take the lift in arrays, and give NumPy results."""
    X, y = strict.asarray(data.X), strict.asarray(data.y)
    returned = Moments.lift(Block(X, y)).result()
    assert type(returned.XX) is np.ndarray
    assert_moments(returned, truth(data))
    weight = np.arange(len(data.X)) % 3 / 2.0
    weighted = Moments.lift(Block(X, y, strict.asarray(weight))).result()
    assert_moments(weighted, truth(data._replace(weight=weight)))


@given(draw_data(offsets=(0.0,)))
def test_dense_is_sparse(data):
    """What is not stored is zero; the sparse lift works about the origin, so lengths are measured from there."""
    expected = truth(data)
    joint = np.hstack([data.X.astype(np.longdouble), data.y.astype(np.longdouble)])
    weight = np.ones(len(joint)) if data.weight is None else data.weight
    about_origin = np.sqrt(weight.astype(np.longdouble) @ joint**2)
    expected = expected._replace(spread=np.maximum(expected.spread, about_origin))
    for kind in (sparse.csr_array, sparse.csr_matrix):
        assert_moments(Moments.of(kind(data.X), data.y, data.weight), expected)


@given(draw_data(weights=False), st.data())
def test_weights_are_repeats(data, source):
    n = len(data.X)
    times = np.array(source.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), dtype=int)
    repeated = data.part(np.repeat(np.arange(n), times))
    expected: Truth = truth(repeated)
    weighted = lift(data._replace(weight=times.astype(np.float64)))
    assert weighted.count == np.count_nonzero(times)
    assert_moments(weighted, expected._replace(count=weighted.count))
    assert_moments(lift(repeated), expected)


@given(draw_data(), st.sampled_from([-40, -2, 2, 40]))
def test_units_of_weights(data, power):
    """Weights times 4^k give second moments times 4^k, to the last bit, where no column is extreme."""
    assume(data.weight is not None)
    a, b = lift(data), lift(data._replace(weight=np.ldexp(data.weight, power)))
    assume(not a.exponent.any() and not b.exponent.any())
    assert b.weight == np.ldexp(a.weight, power)
    np.testing.assert_array_equal(b.XX, np.ldexp(a.XX, power))
    np.testing.assert_array_equal(b.offset, a.offset)


@pytest.mark.parametrize(("n", "p", "t"), [(700, 3, 1), (5000, 9, 2), (2100, 70, 1), (300, 257, 0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_many_tiles(n, p, t, dtype, offset):
    """Rows enough for several tiles and slots of the compiled loop."""
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((n, p)) + offset).astype(dtype)
    y = rng.standard_normal((n, t))
    weight = np.where(rng.random(n) < 0.1, 0.0, rng.uniform(0.5, 2.0, n))
    group = rng.integers(0, 3, n).astype(np.int32)
    compiled = GroupedMoments.lifter(3)(Block(X, y, weight, group)).groups
    plain = map(resolve, moments_in_arrays(Block(X, y, weight, group), 3))
    for a, b in zip(compiled, plain, strict=True):
        assert a.count == b.count
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-13, atol=1e-13)
        lengths = np.sqrt(np.diag(b.XX))
        assert np.max(np.abs(a.XX - b.XX) / np.outer(lengths, lengths)) <= 1e-12
        if t:
            assert np.max(np.abs(a.XY - b.XY) / np.outer(lengths, np.sqrt(b.yy))) <= 1e-12
            np.testing.assert_allclose(a.yy, b.yy, rtol=1e-12)


def test_groups_with_means_far_apart():
    """Sorted rows: each group is narrow beside the distance between groups, and keeps its digits."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(3), 40).astype(np.int32)
    X = rng.standard_normal((120, 2)) + 1e6 * group[:, None]
    y = rng.standard_normal((120, 1)) - 1e6 * group[:, None]
    result = GroupedMoments.lifter(3)(Block(X, y, None, group)).groups
    for g in range(3):
        inside = group == g
        np.testing.assert_allclose(result[g].covariance(), np.cov(X[inside].T, bias=True), rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-200, 1e-160, 1e160, 1e200])
@pytest.mark.parametrize("other", [0.0, 3.0], ids=["zeros", "constants"])
def test_extreme_columns_survive_a_block_where_they_are_constant(unit, other):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 2)) * np.array([unit, 1.0])
    still = X.copy()
    still[:, 0] = other * unit
    total = Moments.of(still).merge(Moments.of(X))
    both = np.vstack([still, X]) / np.array([unit, 1.0])
    e = total.exponent
    scaled = np.ldexp(total.XX, e[:, None] + e - 2 * np.frexp([unit, 1.0])[1])
    mantissa = np.frexp([unit, 1.0])[0]
    expected = np.cov(both.T, bias=True) * len(both) * np.outer(mantissa, mantissa)
    np.testing.assert_allclose(np.diag(scaled), np.diag(expected), rtol=1e-12)


@pytest.mark.parametrize("n", [300, 20_000])
@pytest.mark.parametrize("only", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_block_of_one_group(n, only, weighted):
    """The last block of sorted rows: all groups but one are empty there."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 32)), rng.standard_normal((n, 1))
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    result = GroupedMoments.lifter(3)(Block(X, y, weight, np.full(n, only, np.int32))).groups
    alone = Moments.lift(Block(X, y, weight))
    assert [moments.count for moments in result] == [alone.count if g == only else 0 for g in range(3)]
    np.testing.assert_allclose(result[only].XX, alone.XX, rtol=1e-12, atol=1e-12 * n)


def test_moments_from_the_origin_have_means_of_zero_and_the_same_sums_about_it():
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((50, 3)) + 5.0, rng.standard_normal((50, 2)) - 2.0, rng.uniform(size=50)
    moments = Moments.of(X, y, weight)
    moved = moments.from_origin()
    assert not moved.mean.any()
    assert not moved.target_mean.any()
    expected = (X.T @ (weight[:, None] * X), X.T @ (weight[:, None] * y), weight @ y**2)
    for origin in (True, False):
        for result, sums in zip(moved.about(origin), expected, strict=True):
            np.testing.assert_allclose(result, sums, rtol=1e-13)
