"""Sums of the losses of many models are a commutative monoid; the compiled pass is the lift in arrays, and each model
in it is what it is alone, with the weights of its rows.
"""

import numpy as np
import pytest
from block_strategies import draw_data
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tenfold.data import Block
from tenfold.losses import Logistic, Softmax
from tenfold.stats.batched_loss import model_losses, model_losses_in_arrays
from tenfold.stats.derivatives import Params, derivatives


@st.composite
def draw_evaluation(draw):
    """A block with its groups, many models, their shares of the groups, order and shift."""
    data = draw(draw_data(scales=(1.0,), offsets=(0.0, 100.0)))
    n, p = data.X.shape
    seed = np.random.default_rng(draw(st.integers(0, 1000)))
    M, K, G = draw(st.integers(1, 19)), draw(st.sampled_from([1, 3, 4])), draw(st.integers(1, 3))
    y = seed.choice([-1.0, 1.0], (n, 1)) if K == 1 else seed.integers(0, K, (n, 1)).astype(np.float64)
    whole = seed.integers(0, 2, (G, M)).astype(np.float64)
    share = whole if draw(st.booleans()) else whole * seed.uniform(0.1, 2.0, (G, M))
    params = Params(0.1 * seed.standard_normal((M, K, p)), seed.standard_normal((M, K)))
    shift = seed.standard_normal(p) if draw(st.booleans()) else None
    group = seed.integers(0, G, n).astype(np.int32)
    return data._replace(y=y, group=group), params, share, draw(st.integers(0, 1)), shift


def join(result):
    parts = (result.value, result.slope, result.gradient)
    return np.concatenate([np.ravel(part) for part in parts if part is not None])


def block_of(data):
    return Block(data.X, data.y, data.weight, data.group)


def close(result, other, data, tol=1e-12):
    size = 1.0 + np.abs(data.X.astype(np.float64)).max(initial=0.0)
    weight = float(len(data.X)) if data.weight is None else data.weight.sum()
    np.testing.assert_allclose(join(result), join(other), atol=tol * size**2 * (1.0 + weight), rtol=0.0)


@given(draw_evaluation())
def test_compiled_lift_is_the_lift_in_arrays(drawing):
    data, *at = drawing
    compiled, plain = model_losses(*at)(block_of(data)), model_losses_in_arrays(*at, block_of(data))
    assert (compiled.gradient is None) == (plain.gradient is None) == (at[2] == 0)
    close(compiled, plain, data)


@given(draw_evaluation(), st.sampled_from([sparse.csr_array, sparse.csr_matrix]))
def test_dense_is_sparse(drawing, kind):
    data, *at = drawing
    result = model_losses(*at)(Block(kind(data.X), data.y, data.weight, data.group))
    close(result, model_losses(*at)(block_of(data)), data)


@given(draw_evaluation())
def test_sums_over_any_cut_are_the_same(drawing):
    data, *at = drawing
    lift = model_losses(*at)
    a, b, c = (lift(block_of(data.part(i))) for i in range(3))
    for total in (a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(a).merge(b)):
        close(total, lift(block_of(data)), data)


@given(draw_evaluation())
def test_each_model_is_what_it_is_alone(drawing):
    data, params, share, _, shift = drawing
    result = model_losses(params, share, 1, shift)(block_of(data))
    for m in range(len(share[0])):
        weight = share[data.group, m] * (1.0 if data.weight is None else data.weight)
        own = Params(params.coef[m], params.intercept[m])
        lift = derivatives(Softmax() if len(own.intercept) > 1 else Logistic(), own, 1, shift)
        alone = lift(Block(data.X, data.y, np.ascontiguousarray(weight)))
        size = (1.0 + np.abs(data.X.astype(np.float64)).max(initial=0.0)) ** 2 * (1.0 + weight.sum())
        np.testing.assert_allclose(result.value[m], alone.value[0], atol=1e-12 * size)
        np.testing.assert_allclose(result.gradient[m], alone.gradient, atol=1e-12 * size)


@pytest.mark.parametrize("classes", [1, 3])
def test_many_rows_whatever_the_threads(classes):
    """More rows than a tile, more models than a vector, losses from tiny to large."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 7))
    y = np.sign(rng.standard_normal((3_000, 1))) if classes == 1 else rng.integers(0, classes, (3_000, 1)) * 1.0
    data = Block(X, y, None, rng.integers(0, 3, 3_000).astype(np.int32))
    coef = rng.standard_normal((20, classes, 7)) * np.logspace(-3, 3, 20)[:, None, None]
    params = Params(coef, np.zeros((20, classes)))
    share = rng.integers(0, 2, (3, 20)).astype(np.float64)
    result, plain = model_losses(params, share)(data), model_losses_in_arrays(params, share, 1, None, data)
    np.testing.assert_allclose(result.value, plain.value, rtol=1e-12)
    np.testing.assert_allclose(result.gradient, plain.gradient, atol=1e-9)
