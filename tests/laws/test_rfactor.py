"""The triangular factor is a commutative monoid: R'R is the Gram matrix of all rows, however they are cut."""

import numpy as np
import pytest
from block_strategies import draw_data
from hypothesis import given
from scipy import sparse

from tenfold.data import Block
from tenfold.stats.rfactor import RFactor


def lifter(data):
    width = data.X.shape[1] + data.y.shape[1]
    rng = np.random.default_rng(width)
    return RFactor.lifter(rng.standard_normal(width), np.ldexp(1.0, rng.integers(-3, 4, width)))


def gram(data):
    """The Gram matrix in extended precision, and the lengths of the columns."""
    width = data.X.shape[1] + data.y.shape[1]
    rng = np.random.default_rng(width)
    shift, scale = rng.standard_normal(width), np.ldexp(1.0, rng.integers(-3, 4, width))
    z = (np.hstack([data.X, data.y]).astype(np.longdouble) - shift) * scale
    weight = np.ones(len(z), np.longdouble) if data.weight is None else data.weight.astype(np.longdouble)
    result = (weight[:, None] * z).T @ z
    return result, np.sqrt(np.diag(result))


def assert_factor(factor, data, rtol=1e-12):
    expected, lengths = gram(data)
    R = factor.R.astype(np.longdouble)
    assert R.shape[1] == data.X.shape[1] + data.y.shape[1]
    assert not np.tril(factor.R, -1).any()
    assert np.all(np.abs(R.T @ R - expected) <= rtol * np.outer(lengths, lengths) + 1e-30)


def lift(data, X=None):
    return lifter(data)(Block(data.X if X is None else X, data.y, data.weight))


@given(draw_data(scales=(1.0,)))
def test_lift_is_right(data):
    assert_factor(lift(data), data)


@given(draw_data(scales=(1.0,)))
def test_merge_is_the_factor_of_the_union(data):
    """Empty blocks and blocks without weight included."""
    a, b, c = (lift(data.part(i)) for i in range(3))
    for total in (a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(b).merge(a)):
        assert_factor(total, data)


@given(draw_data(scales=(1.0,)))
def test_identity(data):
    result = lift(data)
    for neutral in (lift(data.part(slice(0, 0))), lift(data._replace(weight=np.zeros(len(data.X))))):
        assert not neutral.R.any()
        assert_factor(result.merge(neutral), data)
        assert_factor(neutral.merge(result), data)


@given(draw_data(scales=(1.0,), offsets=(0.0,)))
def test_dense_is_sparse(data):
    assert_factor(lift(data, sparse.csr_array(data.X)), data)


@pytest.mark.parametrize(("n", "p"), [(700, 5), (3000, 2), (130, 120)])
def test_many_tiles(n, p):
    """The condition is not squared: of columns that differ by 1e-10 the difference keeps five digits."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X[:, 1] = X[:, 0] + 1e-10 * X[:, 1]
    whole = RFactor.lifter(np.zeros(p + 1), np.ones(p + 1))(Block(X, np.ones((n, 1)))).R
    halves = [
        RFactor.lifter(np.zeros(p + 1), np.ones(p + 1))(Block(X[rows], np.ones((len(X[rows]), 1))))
        for rows in (slice(0, n // 3), slice(n // 3, n))
    ]
    merged = halves[0].merge(halves[1]).R
    expected = np.linalg.qr(np.column_stack([X, np.ones(n)]), mode="r")
    for R in (whole, merged):
        np.testing.assert_allclose(np.abs(np.diag(R)), np.abs(np.diag(expected)), rtol=2e-5)
