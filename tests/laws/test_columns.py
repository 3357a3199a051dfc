"""Means and lengths of columns are a commutative monoid."""

import array_api_strict as strict
import numpy as np
import pytest
from block_strategies import EPS, draw_data, truth
from hypothesis import assume, given
from scipy import sparse

from tenfold.data import Block
from tenfold.stats.column_moments import Columns, ColumnsWithTargets
from tenfold.stats.moments import Moments


def lift(data):
    return Columns.lift(Block(data.X, data.y, data.weight))


def assert_columns(result, data, inside=slice(None), rtol=1e-12):
    """Means to the rounding of the largest entry; lengths to `rtol`, or to that rounding."""
    expected = truth(data, inside)
    largest = np.max(np.abs(np.hstack([data.X.astype(np.float64), data.y])), axis=0, initial=0.0)
    rounding = 8 * EPS * largest
    assert result.features == data.X.shape[1]
    assert abs(result.weight - expected.weight) <= rtol * expected.weight
    if expected.count == 0:
        return
    assert np.all(np.abs(result.mean - (expected.about + expected.mean)) <= rounding)
    allowed = rtol * expected.spread + np.sqrt(expected.weight) * rounding
    assert np.all(np.abs(result.spread - expected.spread) <= allowed)


@given(draw_data())
def test_lift_is_right(data):
    assert_columns(lift(data), data)


@given(draw_data())
def test_merge_is_the_statistic_of_the_union(data):
    a, b, c = (lift(data.part(i)) for i in range(3))
    for total in (a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(b).merge(a), b.merge(c.merge(a))):
        assert_columns(total, data)


@given(draw_data())
def test_one_row_at_a_time(data):
    total = lift(data.part(slice(0, 0)))
    for i in range(len(data.X)):
        total = total.merge(lift(data.part(slice(i, i + 1))))
    assert_columns(total, data)


@given(draw_data())
def test_identity(data):
    result = lift(data)
    for neutral in (lift(data.part(slice(0, 0))), lift(data._replace(weight=np.zeros(len(data.X))))):
        assert neutral.weight == 0.0
        if result.weight:
            for merged in (result.merge(neutral), neutral.merge(result)):
                assert merged.weight == result.weight
                np.testing.assert_array_equal(merged.mean, result.mean)
                np.testing.assert_array_equal(merged.spread, result.spread)


@given(draw_data())
def test_the_diagonal_of_moments(data):
    assert_columns(Columns.of(Moments.lift(Block(data.X, data.y, data.weight))), data)


@given(draw_data(offsets=(0.0,)))
def test_dense_is_sparse(data):
    dense, result = lift(data), Columns.lift(Block(sparse.csr_array(data.X), data.y, data.weight))
    about_origin = np.hypot(*dense.lengths(origin=True)[:1], 0.0)
    p = data.X.shape[1]
    np.testing.assert_allclose(result.weight, dense.weight, rtol=1e-14)
    assert np.all(np.abs(result.mean[:p] - dense.mean[:p]) * np.sqrt(dense.weight) <= 1e-12 * about_origin)
    # squares about the origin lose the smaller half of the digits of what is left after the mean is taken off
    assert np.all(np.abs(result.spread[:p] ** 2 - dense.spread[:p] ** 2) <= 1e-12 * about_origin**2)
    np.testing.assert_array_equal(result.mean[p:], dense.mean[p:])
    np.testing.assert_array_equal(result.spread[p:], dense.spread[p:])


@pytest.mark.parametrize("unit", [1e-200, 1e-150, 1e150, 1e200])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_extreme_columns(unit, kind):
    """Lengths, not squares: nothing overflows and nothing vanishes."""
    X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [-2.0, 0.0]])
    y = np.zeros((4, 0))
    result = Columns.lift(Block(kind(X * unit), y))
    plain = Columns.lift(Block(X, y))
    np.testing.assert_allclose(result.spread / unit, plain.spread, rtol=1e-12)
    np.testing.assert_allclose(result.mean / unit, plain.mean, rtol=1e-12)
    twice = result.merge(Columns.lift(Block(kind(-X * unit), y)))
    np.testing.assert_allclose(twice.spread / unit, np.sqrt(2 * np.sum(X**2, axis=0)), rtol=1e-12)
    np.testing.assert_allclose(twice.lengths(origin=True)[0] / unit, np.sqrt(2 * np.sum(X**2, axis=0)), rtol=1e-12)


@given(draw_data(weights=False))
def test_another_namespace(data):
    returned = Columns.lift(Block(strict.asarray(data.X), strict.asarray(data.y))).result()
    assert type(returned.mean) is np.ndarray
    assert_columns(returned, data)


@given(draw_data(offsets=(0.0,), scales=(1.0,)))
def test_lengths(data):
    weight = np.ones(len(data.X)) if data.weight is None else data.weight
    raw_X, raw_y = lift(data).lengths(origin=True)
    np.testing.assert_allclose(raw_X, np.sqrt(weight @ data.X.astype(np.float64) ** 2), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(raw_y, np.sqrt(weight @ data.y**2), rtol=1e-12, atol=1e-12)


@given(draw_data(min_rows=1))
def test_products_with_the_targets(data):
    """As those of the moments, and merged as well; dense and sparse."""
    large = np.abs(data.X.astype(np.float64)).max(axis=0) > 1e100  # whose products overflow
    data = data._replace(X=np.ascontiguousarray(data.X * np.where(large, 1e-150, 1.0).astype(data.X.dtype)))
    whole = Moments.lift(Block(data.X, data.y, data.weight))
    assume(whole.weight > 0.0)
    e, p = whole.exponent.astype(int), whole.features
    expected = np.ldexp(whole.XY.T, e[:p] + e[p:, None])
    lengths = Columns.of(whole).lengths(origin=True)
    allowed = 1e-12 * np.outer(lengths[1], lengths[0])
    parts = [ColumnsWithTargets.lift(Block(part.X, part.y, part.weight)) for part in (data.part(i) for i in range(3))]
    result = [ColumnsWithTargets.lift(Block(data.X, data.y, data.weight)), parts[0].merge(parts[1]).merge(parts[2])]
    result.append(ColumnsWithTargets.lift(Block(sparse.csr_array(data.X), data.y, data.weight)))
    for aligned in result:
        assert np.all(np.abs(aligned.products - expected) <= allowed)
