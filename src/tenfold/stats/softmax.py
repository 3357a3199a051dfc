"""Sums of the softmax loss of several classes and of its derivatives, at given parameters of a linear model."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, contiguous, entries, is_numpy, is_sparse, like, namespace, on_host, some_rows
from tenfold.data import Block, MaybeDeferred, NotFinite, resolve, weights_of
from tenfold.losses.classification import Softmax
from tenfold.losses.regression import Square
from tenfold.machine import spend, threads
from tenfold.stats.derivatives import (
    AtMargins,
    Derivatives,
    Level,
    Params,
    Total,
    along,
    derivatives,
    forward,
    products,
)
from tenfold.stats.min_max import Extremes

TILE_ENTRIES = 1 << 21
"""The products of rows and probabilities behind a Hessian are formed for so many numbers at a time."""


def softmax(params: Params, order: int, shift: Floats | None = None) -> Callable[[Block], Derivatives]:
    """The lift of `Derivatives` of the softmax loss at z_k = (x - shift).w_k + b_k, for targets (n, 1) of class
    numbers: value (1,), slope (K,), and at order 1 the gradient (K, p).

    Order 2 adds sum_i weight (diag(q) - q q') * [x - shift, 1][x - shift, 1]', q the probabilities of the row and * the
    product of Kronecker, as (K (p + 1), K (p + 1)): class after class, the intercept last in each.
    """
    return partial(_softmax, params, order, shift)


def _softmax(params: Params, order: int, shift: Floats | None, block: Block) -> Derivatives:
    X = block.X
    spend(products(X, len(params.intercept), min(order, 1)))
    if not (is_sparse(X) or is_numpy(X)):
        return softmax_in_arrays(params, order, shift, block)
    if is_sparse(X):
        intercept = params.intercept if shift is None else params.intercept - along(params.coef, shift)
        weight, value, slope, gradient = _core.softmax_csr(
            X.data,
            X.indices,
            X.indptr,
            X.shape[1],
            block.y,
            block.weight,
            params.coef,
            intercept,
            min(order, 1),
            threads(entries(X)),
        )
        if gradient is not None and shift is not None:
            gradient = gradient - np.outer(slope, shift)
    else:
        weight, value, slope, gradient = _core.softmax(
            X, block.y, block.weight, params.coef, params.intercept, shift, min(order, 1), threads(entries(X))
        )
    if order == 2 and not np.isfinite(slope).all():
        raise NotFinite
    return Derivatives(weight, value, slope, gradient, _hessian(params, shift, block) if order == 2 else None)


def rough_softmax(params: Params, shift: Floats) -> Callable[[Block], Derivatives]:
    """The lift of `softmax` at order 1 with products in single precision, for dense rows: margins and the share of each
    row have seven digits, sums are in double.
    """
    return partial(_rough_softmax, params, shift)


def _rough_softmax(params: Params, shift: Floats, block: Block) -> Derivatives:
    X = block.X
    spend(products(X, len(params.intercept), 1))
    found = _core.softmax_float32(X, block.y, block.weight, params.coef, params.intercept, shift, threads(entries(X)))
    return Derivatives(*found, hessian=None)


def softmax_at(y: Floats, z: Floats, weight: Floats) -> AtMargins:
    """For targets (n, 1) of class numbers, margins (n, K) and weights (n,), all of NumPy."""
    value, slope, bend, u = _core.softmax_at_margins(y, z, weight, threads(z.size))
    return AtMargins(value, Level(slope, bend), u)


def softmax_along(y: Floats, z: Floats, dz: Floats, length: float, weight: Floats) -> tuple[float, float]:
    """The first two derivatives in t of the loss at margins z + t dz, at t = length."""
    return _core.softmax_along_line(y, z, dz, length, weight, threads(z.size))


def _hessian(params: Params, shift: Floats | None, block: Block, least: float = 0.0) -> Floats:
    """diag(q) gives a weighted Gram matrix a class, q q' one of the rows times all probabilities; those below `least`
    count as zero.
    """
    weight = weights_of(block)

    def shares(X: Array, rows: slice) -> tuple[Floats, Floats]:
        return weight[rows], _noticed(Softmax().probabilities(forward(X, params, shift)), least)

    return _joint_hessian(block.X, len(params.intercept), shift, shares)


def class_hessian(shift: Floats | None = None) -> Callable[[Block], Total]:
    """The lift of the Hessian of `softmax` for targets [weight, q] (n, 1 + K), the probabilities as they are given."""
    return partial(_class_hessian, shift)


def _class_hessian(shift: Floats | None, block: Block) -> Total:
    def shares(_: Array, rows: slice) -> tuple[Floats, Floats]:
        return contiguous(block.y[rows, 0]), block.y[rows, 1:]

    return Total(_joint_hessian(block.X, block.y.shape[1] - 1, shift, shares))


def _joint_hessian(
    rows: Array, K: int, shift: Floats | None, shares: Callable[[Array, slice], tuple[Floats, Floats]]
) -> Floats:
    n, p = rows.shape
    total = np.zeros((K, p + 1, K, p + 1))
    tile = max(1, TILE_ENTRIES // (K * (p + 1)))
    for start in range(0, n, tile):
        part = slice(start, start + tile)
        X = some_rows(rows, part)
        w, q = shares(X, part)
        X = X.toarray() if is_sparse(X) else X
        X = np.array(X, dtype=np.float64, order="C") if shift is None else X - shift
        joint = np.empty((X.shape[0], K, p + 1))
        np.multiply(q[:, :, None], X[:, None, :], out=joint[:, :, :p])
        joint[:, :, p] = q
        cross = _gram(joint.reshape(X.shape[0], -1), w)[:-1, :-1]
        total -= cross.reshape(total.shape)
        for k in range(K):
            total[k, :, k, :] += _gram(X, w * q[:, k])
    return total.reshape(K * (p + 1), K * (p + 1))


def _noticed(q: Array, least: float) -> Array:
    """Probabilities of at least `least`, in place of all."""
    if least == 0.0:
        return q
    xp = namespace(q)
    q = xp.where(q < least, xp.zeros_like(q), q)
    return q / xp.sum(q, axis=1, keepdims=True)


def noticed_hessian(params: Params, shift: Floats, least: float) -> Callable[[Block], Total]:
    """The lift of the Hessian of `softmax` with probabilities below `least` taken for zero."""
    return partial(_noticed_hessian, params, shift, least)


def _noticed_hessian(params: Params, shift: Floats, least: float, block: Block) -> Total:
    if is_sparse(block.X) or is_numpy(block.X):
        return Total(_hessian(params, shift, block, least))
    xp = namespace(block.X)
    X = xp.astype(block.X, xp.float64, copy=False) - like(shift, block.X)
    q = _noticed(Softmax().probabilities(forward(block.X, params, shift)), least)
    joint = xp.concat([X, xp.ones_like(X[:, :1])], axis=1)
    return Total(_hessian_in_arrays(joint, weights_of(block)[:, None], q))


def _gram(X: Floats, weight: Floats) -> Floats:
    """sum_i weight [x, 1][x, 1]': the Hessian of a square loss."""
    zeros, count = np.zeros((1, X.shape[1])), threads(entries(X))
    spend(products(X, 1, 2))
    found = _core.derivatives(
        X, np.zeros((X.shape[0], 1)), np.ascontiguousarray(weight), zeros, np.zeros(1), None, "square", 0.0, 2, count
    )
    return np.asarray(found[4])


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


def _class_grams(shares: Floats, shift: Floats, block: Block) -> Total:
    """sum_i share_ik z z' of each class."""
    X = block.X
    if is_numpy(X) and not is_sparse(X):
        spend(shares.shape[1] * products(X, 1, 2))
        rough = _core.class_grams(X, contiguous(shares), shift, threads(entries(X)))
        if _in_range(rough, X, shift):
            return Total(rough)
    zero = Params(np.zeros((1, X.shape[1])), np.zeros(1))
    found = [
        resolve(derivatives(Square(), zero, 2, shift)(replace(block, weight=contiguous(shares[:, k]))))
        for k in range(shares.shape[1])
    ]
    return Total(np.array([one.hessian for one in found]))


def summed_curvatures(params: Params, share: Floats, shift: Floats) -> Callable[[Block], Total]:
    """The lift of the blocks of `class_curvatures`, summed over models with coef (M, K, p) and intercept (M, K), for
    rows of NumPy or SciPy with groups: model m gives a row of group g its weight times share[g, m].
    """
    return partial(_summed_curvatures, params, share, shift)


def _summed_curvatures(params: Params, share: Floats, shift: Floats, block: Block) -> Total:
    M, K, p = params.coef.shape
    spend(products(block.X, M * K, 0))
    z = forward(block.X, Params(params.coef.reshape(-1, p), params.intercept.ravel()), shift)
    q = Softmax().probabilities(z.reshape(-1, K)).reshape(-1, M, K)
    assert block.group is not None
    bends = np.einsum("nm,nmk->nk", share[block.group], q * (1.0 - q))
    return _class_grams(weights_of(block)[:, None] * bends, shift, block)


def _in_range(rough: Floats, X: Array, shift: Floats) -> bool:
    """Whether single precision has room for the squares of all columns."""
    if not np.isfinite(rough).all():
        return False
    small = np.flatnonzero(rough[0].diagonal()[:-1] < float(np.finfo(np.float32).tiny))
    return not small.size or bool((X[:, small] == shift[small]).all())


def softmax_in_arrays(params: Params, order: int, shift: Floats | None, block: Block) -> Derivatives:
    """The same lift in the Array API: for other namespaces, and the reference for the compiled loop."""
    xp, loss = namespace(block.X), Softmax()
    X = xp.astype(block.X, xp.float64, copy=False)
    X = X if shift is None else X - like(shift, X)
    z = xp.matmul(X, like(params.coef, X).T) + like(params.intercept, X)
    weight = weights_of(block)[:, None]
    u = xp.where(weight > 0, weight * loss.slope(block.y, z), xp.zeros_like(z))
    value = xp.where(weight > 0, weight * loss.value(block.y, z), xp.zeros_like(weight))
    gradient = on_host(xp.matmul(u.T, X)) if order >= 1 else None
    hessian = None
    if order == 2:
        joint = xp.concat([X, xp.ones_like(X[:, :1])], axis=1)
        hessian = _hessian_in_arrays(joint, weight, loss.probabilities(z))
    return Derivatives(
        float(xp.sum(weight)), on_host(xp.sum(value, axis=0)), on_host(xp.sum(u, axis=0)), gradient, hessian
    )


def _hessian_in_arrays(joint: Array, weight: Array, q: Array) -> Floats:
    xp = namespace(joint)
    (n, k), K = joint.shape, q.shape[1]
    total = np.zeros((K, k, K, k))
    tile = max(1, TILE_ENTRIES // (K * k))
    for start in range(0, n, tile):
        part = slice(start, min(n, start + tile))
        Z, w, share = joint[part, :], weight[part, :], q[part, :]
        A = xp.reshape(share[:, :, None] * Z[:, None, :], (-1, K * k))
        total -= on_host(xp.matmul((w * A).T, A)).reshape(total.shape)
        for c in range(K):
            total[c, :, c, :] += on_host(xp.matmul((w * share[:, c : c + 1] * Z).T, Z))
    return total.reshape(K * k, K * k)


def of_right_margins(params: Params, shift: Floats | None = None) -> Callable[[Block], MaybeDeferred[Extremes]]:
    """The lift for z_y minus the largest other z of a row: positive where the right class wins."""
    return partial(_right_margins, params, shift)


def _right_margins(params: Params, shift: Floats | None, block: Block) -> MaybeDeferred[Extremes]:
    z = forward(block.X, params, shift)
    xp = namespace(z)
    right = Softmax().right(block.y, z)
    own = xp.sum(xp.where(right, z, xp.zeros_like(z)), axis=1, keepdims=True)
    other = xp.max(xp.where(right, xp.full_like(z, -xp.inf), z), axis=1, keepdims=True)
    return Extremes.of(own - other, block.weight)
