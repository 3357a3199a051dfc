"""Approximate derivatives of the softmax loss of several classes, at given parameters of a linear model: in single
precision, with small probabilities left out, or class by class. The exact ones are in `derivatives.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, contiguous, entries, is_numpy, is_sparse, namespace
from tenfold.data import Block, resolve, weights_of
from tenfold.losses.classification import Softmax
from tenfold.losses.regression import Square
from tenfold.machine import spend, threads
from tenfold.stats.derivatives import (
    Derivatives,
    Params,
    Total,
    away,
    derivatives,
    forward,
    hessian_in_arrays,
    hessian_of,
    hessian_of_probabilities,
    products,
)


def rough_softmax(params: Params, shift: Floats) -> Callable[[Block], Derivatives]:
    """The lift of `derivatives` of the softmax at order 1 with products in single precision, for dense samples: margins
    and slopes of each sample have seven digits, sums are in float64.
    """
    return partial(_rough_softmax, params, shift)


def _rough_softmax(params: Params, shift: Floats, block: Block) -> Derivatives:
    X = block.X
    spend(products(X, len(params.intercept), 1))
    sums = _core.softmax_float32(X, block.y, block.weight, params.coef, params.intercept, shift, threads(entries(X)))
    return Derivatives(*sums, hessian=None)


def class_hessian(shift: Floats | None = None) -> Callable[[Block], Total]:
    """The lift of the Hessian of the softmax for targets [weight, q] (n, 1 + K), q the probabilities."""
    return partial(_class_hessian, shift)


def _class_hessian(shift: Floats | None, block: Block) -> Total:
    def weigh(_: Array, rows: slice) -> tuple[Floats, Floats]:
        return contiguous(block.y[rows, 0]), block.y[rows, 1:]

    return Total(hessian_of_probabilities(block.X, block.y.shape[1] - 1, shift, weigh))


def _truncate(least: float, q: Array) -> Array:
    """Probabilities below `least` set to zero, and the others scaled to sum to one."""
    if least == 0.0:
        return q
    xp = namespace(q)
    q = xp.where(q < least, xp.zeros_like(q), q)
    return q / xp.sum(q, axis=1, keepdims=True)


def threshold_hessian(params: Params, shift: Floats, least: float) -> Callable[[Block], Total]:
    """The lift of the Hessian of the softmax with probabilities below `least` taken for zero."""
    return partial(_threshold_hessian, params, shift, least)


def _threshold_hessian(params: Params, shift: Floats, least: float, block: Block) -> Total:
    def probabilities(z: Array) -> Array:
        return _truncate(least, Softmax().probabilities(z))

    if is_sparse(block.X) or is_numpy(block.X):
        return Total(hessian_of(params, shift, block, probabilities))
    X = away(block.X, shift)
    Z = namespace(X).concat([X, namespace(X).ones_like(X[:, :1])], axis=1)
    q = probabilities(forward(block.X, params, shift))
    return Total(hessian_in_arrays(Z, weights_of(block)[:, None], q))


def class_curvatures(params: Params, shift: Floats) -> Callable[[Block], Total]:
    """The lift of the blocks (K, p + 1, p + 1) on the diagonal of the Hessian: sum_i weight q_k (1 - q_k) z z' of each
    class, z = [x - shift, 1]; of dense rows with products in single precision. At zero all are alike, and one is given.
    """
    return partial(_class_curvatures, params, shift)


def _class_curvatures(params: Params, shift: Floats, block: Block) -> Total:
    X, K = block.X, len(params.intercept)
    weight = weights_of(block)[:, None]
    if params.coef.any() or params.intercept.any():
        q = Softmax().probabilities(forward(X, params, shift))
        return _class_grams(weight * q * (1.0 - q), shift, block)
    return _class_grams(weight * ((K - 1) / K**2), shift, block)


def _class_grams(weights: Floats, shift: Floats, block: Block) -> Total:
    """sum_i share_ik z z' of each class."""
    X = block.X
    if is_numpy(X) and not is_sparse(X):
        spend(weights.shape[1] * products(X, 1, 2))
        rough = _core.class_grams(X, contiguous(weights), shift, threads(entries(X)))
        if _in_range(rough, X, shift):
            return Total(rough)
    zero = Params(np.zeros((1, X.shape[1])), np.zeros(1))
    sums = [
        resolve(derivatives(Square(), zero, 2, shift)(replace(block, weight=contiguous(weights[:, k]))))
        for k in range(weights.shape[1])
    ]
    return Total(np.array([one.hessian for one in sums]))


def sum_class_curvatures(params: Params, group_weight: Floats, shift: Floats) -> Callable[[Block], Total]:
    """The lift of the blocks of `class_curvatures`, summed over models with coef (M, K, p) and intercept (M, K), for
    rows of NumPy or SciPy with groups: model m gives a row of group g its weight times group_weight[g, m].
    """
    return partial(_sum_class_curvatures, params, group_weight, shift)


def _sum_class_curvatures(params: Params, group_weight: Floats, shift: Floats, block: Block) -> Total:
    M, K, p = params.coef.shape
    spend(products(block.X, M * K, 0))
    z = forward(block.X, Params(params.coef.reshape(-1, p), params.intercept.ravel()), shift)
    q = Softmax().probabilities(z.reshape(-1, K)).reshape(-1, M, K)
    assert block.group is not None
    bends = np.einsum("nm,nmk->nk", group_weight[block.group], q * (1.0 - q))
    return _class_grams(weights_of(block)[:, None] * bends, shift, block)


def _in_range(rough: Floats, X: Array, shift: Floats) -> bool:
    """Whether single precision has room for the squares of all columns."""
    if not np.isfinite(rough).all():
        return False
    small = np.flatnonzero(rough[0].diagonal()[:-1] < float(np.finfo(np.float32).tiny))
    return not small.size or bool((X[:, small] == shift[small]).all())
