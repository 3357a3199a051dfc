"""Sums of losses, slopes and curvatures are a commutative monoid, two lifts are one, each a derivative."""

import array_api_strict as strict
import numpy as np
import pytest
from block_strategies import draw_data
from hypothesis import assume, given
from hypothesis import strategies as st
from loss_cases import LOSSES
from scipy import sparse

from tenfold.data import Block
from tenfold.losses import Logistic, Square
from tenfold.stats.derivatives import (
    Params,
    adjoint,
    derivatives,
    derivatives_in_arrays,
    forward,
    losses_along,
    losses_at,
)

COUNTS = ("poisson", "gamma", "tweedie", "log deviance", "identity deviance")


@st.composite
def draw_evaluation(draw, offsets=(0.0, 100.0)):
    """A block with its loss, parameters, order and shift."""
    data = draw(draw_data(scales=(1.0,), offsets=offsets, targets=3))
    loss = draw(st.sampled_from(LOSSES))
    p, t = data.X.shape[1], max(1, data.y.shape[1])
    order = draw(st.integers(0, 2 if t == 1 else 1))
    seed = np.random.default_rng(draw(st.integers(0, 1000)))
    y = data.y if data.y.shape[1] else np.ones((len(data.X), 1))
    if loss.signs:
        y = np.where(y > np.median(y) if y.size else y > 0, 1.0, -1.0)
    params = Params(seed.standard_normal((t, p)), seed.standard_normal(t))
    if loss.name in COUNTS:
        y = np.abs(y) + 0.01
        params = Params(params.coef * 0.01, params.intercept)
    if loss.name == "identity deviance":  # means are positive
        reach = np.max(np.abs(data.X), axis=0, initial=0.0) + 5.0
        params = Params(params.coef, np.abs(params.intercept) + 1.0 + np.abs(params.coef) @ reach)
    shift = seed.standard_normal(p) if draw(st.booleans()) else None
    return data._replace(y=np.ascontiguousarray(y)), loss, params, order, shift


def join(result):
    parts = [np.atleast_1d(result.weight), result.value, result.slope]
    parts += [part.ravel() for part in (result.gradient, result.hessian) if part is not None]
    return np.concatenate(parts)


def sizes(data, loss, params, order, shift):
    """Sums of absolute terms: what differences of rounding are measured by."""
    weight = np.ones(len(data.X)) if data.weight is None else data.weight
    X = np.abs(data.X.astype(np.float64)) + (0.0 if shift is None else np.abs(shift))
    reach = X @ np.abs(params.coef).T + np.abs(params.intercept) + np.abs(data.y)
    # exponentials are larger than squares: their own sizes count, and what rounding of the margins does to them
    z = (data.X.astype(np.float64) - (0.0 if shift is None else shift)) @ params.coef.T + params.intercept
    steep, bent = np.abs(loss.slope(data.y, z)), np.abs(loss.curvature(data.y, z))
    value = weight @ (reach**2 + reach + 1.0 + np.abs(loss.value(data.y, z)) + steep * reach)
    slopes = reach + 1.0 + steep + bent * reach
    parts = [np.atleast_1d(weight.sum()), value, weight @ slopes]
    if order >= 1:
        parts.append(((weight[:, None] * slopes).T @ X).ravel())
    if order == 2:
        joint = np.column_stack([X, np.ones(len(X))])
        # a curvature follows its margin
        parts.append(((weight[:, None] * joint * (1.0 + reach[:, :1])).T @ joint).ravel())
    return np.concatenate(parts) + 1e-300


def block_of(data):
    return Block(data.X, data.y, data.weight)


@given(draw_evaluation())
def test_compiled_lift_is_the_lift_in_arrays(drawing):
    data, loss, params, order, shift = drawing
    compiled = derivatives(loss, params, order, shift)(block_of(data))
    plain = derivatives_in_arrays(loss, params, order, shift, block_of(data)).result()
    assert (compiled.gradient is None) == (plain.gradient is None) == (order == 0)
    assert (compiled.hessian is None) == (plain.hessian is None) == (order < 2)
    assert np.all(np.abs(join(compiled) - join(plain)) <= 1e-13 * sizes(*drawing))


@given(draw_evaluation())
def test_sums_over_any_cut_are_the_same(drawing):
    data, loss, params, order, shift = drawing
    lift = derivatives(loss, params, order, shift)
    whole = join(lift(block_of(data)))
    a, b, c = (lift(block_of(data.part(i))) for i in range(3))
    for total in (a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(a).merge(b)):
        assert np.all(np.abs(join(total) - whole) <= 1e-12 * sizes(*drawing))


@given(draw_evaluation())
def test_identity(drawing):
    data, loss, params, order, shift = drawing
    lift = derivatives(loss, params, order, shift)
    result = lift(block_of(data))
    for neutral in (
        lift(block_of(data.part(slice(0, 0)))),
        lift(block_of(data._replace(weight=np.zeros(len(data.X))))),
    ):
        assert not join(neutral).any()
        np.testing.assert_array_equal(join(result.merge(neutral)), join(result))
        np.testing.assert_array_equal(join(neutral.merge(result)), join(result))


@given(draw_evaluation(offsets=(0.0,)), st.sampled_from([sparse.csr_array, sparse.csr_matrix]))
def test_dense_is_sparse(drawing, kind):
    data, loss, params, order, shift = drawing
    lift = derivatives(loss, params, order, shift)
    result = lift(Block(kind(data.X), data.y, data.weight))
    assert np.all(np.abs(join(result) - join(lift(block_of(data)))) <= 1e-12 * sizes(*drawing))


@given(draw_evaluation())
def test_another_namespace(drawing):
    data, loss, params, order, shift = drawing
    weight = None if data.weight is None else strict.asarray(data.weight)
    lift = derivatives(loss, params, order, shift)
    returned = lift(Block(strict.asarray(data.X), strict.asarray(data.y), weight)).result()
    assert type(returned.value) is np.ndarray
    assert np.all(np.abs(join(returned) - join(lift(block_of(data)))) <= 1e-13 * sizes(*drawing))


@given(draw_evaluation(), st.data())
def test_weights_are_repeats(drawing, source):
    data, loss, params, order, shift = drawing
    n = len(data.X)
    repeats = np.array(source.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=int)
    lift = derivatives(loss, params, order, shift)
    data = data._replace(weight=None)
    repeated = data.part(np.repeat(np.arange(n), repeats))
    weighted = data._replace(weight=repeats.astype(np.float64))
    result, expected = join(lift(block_of(weighted))), join(lift(block_of(repeated)))
    assert np.all(np.abs(result - expected) <= 1e-12 * sizes(weighted, loss, params, order, shift))


@given(draw_evaluation(offsets=(0.0,)))
def test_slopes_gradients_and_curvatures_by_differences(drawing):
    data, loss, params, _, shift = drawing
    assume(loss.self_concordance < np.inf)  # without bends
    data = data._replace(X=data.X.astype(np.float64), y=data.y[:, :1].copy())
    params = Params(params.coef[:1].copy(), params.intercept[:1].copy())
    result = derivatives(loss, params, 2, shift)(block_of(data))
    point = np.append(params.coef[0], params.intercept)

    def at(x):
        here = derivatives(loss, Params(x[None, :-1].copy(), x[-1:].copy()), 1, shift)(block_of(data))
        return here.value[0], np.append(here.gradient[0], here.slope)

    h = 1e-5
    steps = h * np.eye(len(point))
    differences = np.array([(at(point + s)[0] - at(point - s)[0]) / (2 * h) for s in steps])
    second = np.array([(at(point + s)[1] - at(point - s)[1]) / (2 * h) for s in steps])
    size = 1.0 + sizes(data, loss, params, 2, shift).max()
    np.testing.assert_allclose(np.append(result.gradient[0], result.slope), differences, rtol=1e-6, atol=1e-7 * size)
    np.testing.assert_allclose(result.hessian, second, rtol=1e-6, atol=1e-7 * size)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize(("n", "p"), [(1500, 3), (900, 40), (300, 200)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_many_tiles(loss, n, p, dtype, order):
    """Rows enough for several tiles and slots of the compiled loop."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)).astype(dtype)
    y = np.where(rng.random((n, 1)) < 0.4, 1.0, 0.5 if loss.name in COUNTS else -1.0)
    weight = np.where(rng.random(n) < 0.1, 0.0, rng.uniform(0.5, 2.0, n))
    params, shift = Params(rng.standard_normal((1, p)) / np.sqrt(p), rng.standard_normal(1)), rng.standard_normal(p)
    if loss.name == "identity deviance":  # means are positive
        params = Params(params.coef, params.intercept + 10.0)
    block = Block(X, y, weight)
    compiled = join(derivatives(loss, params, order, shift)(block))
    plain = join(derivatives_in_arrays(loss, params, order, shift, block).result())
    np.testing.assert_allclose(compiled, plain, rtol=1e-11, atol=1e-11 * np.abs(plain).max())
    if dtype == np.float64:
        X = np.where(np.abs(X) < 0.7, 0.0, X)
        compressed = join(derivatives(loss, params, order, shift)(Block(sparse.csr_array(X), y, weight)))
        plain = join(derivatives_in_arrays(loss, params, order, shift, Block(X, y, weight)).result())
        np.testing.assert_allclose(compressed, plain, rtol=1e-11, atol=1e-11 * np.abs(plain).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("used", "targets", "order"), [(0, 1, 1), (12, 1, 0), (12, 1, 2), (5, 3, 1), (13, 3, 1)])
def test_coefficients_that_are_mostly_zero(used, targets, order, dtype):
    """Up to one column in sixteen is read alone for the margins."""
    rng = np.random.default_rng(used)
    X, y = rng.standard_normal((500, 200)).astype(dtype), rng.standard_normal((500, targets))
    coef, weight, shift = np.zeros((targets, 200)), rng.uniform(0.5, 2.0, 500), rng.standard_normal(200)
    coef[:, rng.permutation(200)[:used]] = rng.standard_normal((targets, used))
    coef[-1, :50] = 0.0
    params = Params(coef, rng.standard_normal(targets))
    for away in (None, shift):
        compiled = join(derivatives(Square(), params, order, away)(Block(X, y, weight)))
        plain = join(derivatives_in_arrays(Square(), params, order, away, Block(X, y, weight)).result())
        np.testing.assert_allclose(compiled, plain, rtol=1e-11, atol=1e-11 * np.abs(plain).max())


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_extreme_margins_neither_overflow_nor_lose_their_sign(sign):
    X = np.array([[1e3], [1e5], [1e300], [-1e3], [-1e5], [-1e300], [0.0]])
    y = np.full((7, 1), sign)
    result = derivatives(Logistic(), Params(np.ones((1, 1)), np.zeros(1)), 1, None)(Block(X, y))
    assert np.isfinite(result.value).all()
    np.testing.assert_allclose(result.value, [1e300], rtol=1e-12)
    # three rows on the wrong side with slope -y, one in the middle with half of it
    np.testing.assert_allclose(result.slope, [-3.5 * sign], rtol=1e-12)


@given(draw_evaluation())
def test_products_with_the_rows(drawing):
    """forward and adjoint are adjoint, whatever the storage."""
    data, _, params, _, shift = drawing
    X = data.X.astype(np.float64)
    u = np.random.default_rng(1).standard_normal((len(X), params.coef.shape[0]))
    centred = X if shift is None else X - shift
    z, back = centred @ params.coef.T + params.intercept, u.T @ centred
    size = 1e-13 * (1.0 + np.abs(X).max(initial=1.0)) * (1.0 + np.abs(params.coef).sum()) * (len(X) + 1)
    for storage in (data.X, sparse.csr_array(data.X), strict.asarray(data.X)):
        # sparse rows are shifted after the product, at the size of both parts
        np.testing.assert_allclose(np.asarray(forward(storage, params, shift)), z, rtol=0, atol=10 * size)
        other = strict.asarray(u) if storage is not data.X and not sparse.issparse(storage) else u
        np.testing.assert_allclose(adjoint(storage, other, shift), back, rtol=0, atol=10 * size * (1 + np.abs(u).sum()))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{type(loss).__name__} {loss.parameter}")
@pytest.mark.parametrize("n", [1, 300, 40_000])
def test_losses_at_margins_are_those_of_the_formulas(loss, n):
    rng = np.random.default_rng(n)
    y, z, dz = rng.standard_normal((n, 1)), rng.standard_normal((n, 1)), 0.1 * rng.standard_normal((n, 1))
    if loss.signs:
        y = np.where(y > 0, 1.0, -1.0)
    if loss.name in COUNTS:
        y, z = np.abs(y) + 0.01, np.abs(z) + 1.0
    weight = rng.integers(0, 3, (n, 1)) / n
    close = {"rtol": 1e-9, "atol": 1e-12}
    result = losses_at(loss, y, z, weight)
    u, c = weight * loss.slope(y, z), weight * loss.curvature(y, z)
    np.testing.assert_allclose(result.value, np.sum(weight * loss.value(y, z)), **close)
    np.testing.assert_allclose(result.u, u, **close)
    np.testing.assert_allclose(result.curvature, c, **close)
    np.testing.assert_allclose(np.array(result.level)[:, 0], [u.sum(), c.sum()], **close)
    first, second, level = losses_along(loss, y, z, dz, 0.7, weight)
    at = z + 0.7 * dz
    u, c = weight * loss.slope(y, at), weight * loss.curvature(y, at)
    np.testing.assert_allclose([first, second], [np.sum(u * dz), np.sum(c * dz * dz)], **close)
    np.testing.assert_allclose(np.array(level)[:, 0], [u.sum(), c.sum()], **close)
