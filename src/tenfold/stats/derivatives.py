"""Sums of a loss and of its derivatives at given parameters of a linear model, and the two products with the samples.

A linear model has t raw predictions z_k = (x - shift).w_k + b_k. They are t independent outputs, each with a target and
a loss of its own, or, for a loss that is `multi_output`, K predictions that share one target and one loss.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import (
    Array,
    Floats,
    cross,
    entries,
    is_numpy,
    is_sparse,
    like,
    likes,
    namespace,
    on_host,
    some_rows,
)
from tenfold.data import Block, Deferred, MaybeDeferred, NotFinite, is_near, resolve, weights_of
from tenfold.losses.classification import Softmax
from tenfold.losses.loss import Loss
from tenfold.machine import spend, threads

MAX_SHIFT_DEVIATIONS = 4.0  # standard deviations that sums on a device are moved afterwards: a gradient loses two bits
TILE_ENTRIES = 1 << 21  # entries of the products of samples and probabilities that are formed at a time: 16 MB
# classes up to which Gram matrices of pairs cost less than one of all (150 to 20k samples x 4 to 64: 10 classes lose
# where features are fewer than twice as many, and take half the time at 64)
PAIRED_CLASSES = 5


def inner_products(coef: Floats, x: Floats) -> Floats:
    """coef (t, p) times x (p,); not by NumPy's BLAS, whose threads go on waiting for work while ours do theirs."""
    return np.einsum("tp,p->t", coef, x)


class Params(NamedTuple):
    """Parameters of a linear model: coef (t, p) and intercept (t,)."""

    coef: Array
    intercept: Array


@dataclass(frozen=True, slots=True)
class Derivatives:
    """Sums over samples of weight, loss (t,), slope (t,), slope times sample (t, p), and curvature times the outer
    product of [x - shift, 1].

    Of a `multi_output` loss the loss is (1,), and the Hessian sum_i weight C_i * [x - shift, 1][x - shift, 1]', C_i
    (K, K) the curvature in the raw predictions and * the Kronecker product: (K (p + 1), K (p + 1)), output after
    output, the intercept last in each.
    """

    weight: float
    value: Floats
    slope: Floats
    gradient: Floats | None = None
    hessian: Floats | None = None

    def merge(self, other: "Derivatives") -> "Derivatives":
        return Derivatives(
            self.weight + other.weight,
            self.value + other.value,
            self.slope + other.slope,
            None if self.gradient is None or other.gradient is None else self.gradient + other.gradient,
            None if self.hessian is None or other.hessian is None else self.hessian + other.hessian,
        )


def derivatives(
    loss: Loss, params: Params, order: int, shift: Floats | None = None
) -> Callable[[Block], MaybeDeferred[Derivatives]]:
    """The lift of `Derivatives` at z = (x - shift).w + b; order 0 stops at the slope, 1 at the gradient, 2 adds the
    Hessian (of one output, or of a `multi_output` loss). One column of targets stands for all parameters.
    """
    return partial(_derivatives_multi_output if loss.multi_output else _derivatives, loss, params, order, shift)


def _derivatives(
    loss: Loss, params: Params, order: int, shift: Floats | None, block: Block
) -> MaybeDeferred[Derivatives]:
    X, y, t = block.X, block.y, len(params.intercept)
    spend(products(X, t, order))
    if y.shape[1] < t and (is_sparse(X) or is_numpy(X)):
        y = np.repeat(y, t, axis=1)
    if is_sparse(X):
        intercept = params.intercept if shift is None else params.intercept - inner_products(params.coef, shift)
        sums = Derivatives(
            *_core.derivatives_csr(
                X.data,
                X.indices,
                X.indptr,
                X.shape[1],
                y,
                block.weight,
                params.coef,
                intercept,
                loss.name,
                loss.parameter,
                order,
                threads(entries(X) + X.shape[0]),
            )
        )
        return sums if shift is None else _shift_sums(sums, shift)
    if is_numpy(X):
        return Derivatives(
            *_core.derivatives(
                X,
                y,
                block.weight,
                params.coef,
                params.intercept,
                shift,
                loss.name,
                loss.parameter,
                order,
                threads(entries(X) + X.shape[0]),
            )
        )
    return derivatives_in_arrays(loss, params, order, shift, block)


def _derivatives_multi_output(
    loss: Loss, params: Params, order: int, shift: Floats | None, block: Block
) -> MaybeDeferred[Derivatives]:
    """The same for the softmax: compiled up to the gradient."""
    X = block.X
    if not (is_sparse(X) or is_numpy(X)):
        return derivatives_in_arrays(loss, params, order, shift, block)
    spend(products(X, len(params.intercept), min(order, 1)))
    count = threads(entries(X))
    if is_sparse(X):
        intercept = params.intercept if shift is None else params.intercept - inner_products(params.coef, shift)
        weight, value, slope, gradient = _core.softmax_csr(
            X.data, X.indices, X.indptr, X.shape[1], block.y, block.weight, params.coef, intercept, min(order, 1), count
        )
        if gradient is not None and shift is not None:
            gradient = gradient - np.outer(slope, shift)
    else:
        weight, value, slope, gradient = _core.softmax(
            X, block.y, block.weight, params.coef, params.intercept, shift, min(order, 1), count
        )
    if order == 2 and not np.isfinite(slope).all():
        raise NotFinite
    return Derivatives(weight, value, slope, gradient, hessian_of(params, shift, block) if order == 2 else None)


def hessian_of(
    params: Params, shift: Floats | None, block: Block, probabilities: Callable[[Array], Array] | None = None
) -> Floats:
    """The Hessian of the softmax on a block of NumPy or SciPy; `probabilities` (n, K) of margins (n, K) where they are
    to be changed.
    """
    K, p = params.coef.shape
    if K <= PAIRED_CLASSES or p >= 2 * K:
        return _hessian_by_pairs(params, shift, block, probabilities)
    weight, of_margins = weights_of(block), probabilities or Softmax().probabilities

    def weigh(X: Array, part: slice) -> tuple[Floats, Floats]:
        return weight[part], of_margins(forward(X, params, shift))

    return hessian_of_probabilities(block.X, len(params.intercept), shift, weigh)


def _hessian_by_pairs(
    params: Params, shift: Floats | None, block: Block, probabilities: Callable[[Array], Array] | None
) -> Floats:
    """The same from one Gram matrix a pair of classes, weighted by q_a q_b: that is -H_ab, and as probabilities sum to
    one, H_aa = -sum_b H_ab. Half the products of the whole Hessian, each symmetric.
    """
    (n, p), K, weight = block.X.shape, len(params.intercept), weights_of(block)
    total = np.zeros((K * (p + 1), K * (p + 1)))
    tile = max(1, TILE_ENTRIES // (K + p + 1))
    for start in range(0, n, tile):
        part = slice(start, start + tile)
        X = some_rows(block.X, part)
        z = forward(X, params, shift)
        q = _probabilities_by_class(z) if probabilities is None else np.ascontiguousarray(probabilities(z).T)
        X = X.toarray() if is_sparse(X) else X
        X = np.ascontiguousarray(X, dtype=np.float64) if shift is None else np.ascontiguousarray(X - shift)
        spend(products(X, K * (K - 1) // 2, 2))
        total += _core.softmax_hessian(X, q, np.ascontiguousarray(weight[part]), threads(entries(X)))
    return total


def _probabilities_by_class(z: Floats) -> Floats:
    """The probabilities (K, n) of margins (n, K): long loops over samples in place of short ones over classes."""
    q = np.ascontiguousarray(z.T)
    q = np.exp(q - q.max(axis=0))
    return np.asarray(q / q.sum(axis=0))


def hessian_of_probabilities(
    rows: Array, K: int, shift: Floats | None, weigh: Callable[[Array, slice], tuple[Floats, Floats]]
) -> Floats:
    """sum_i weight (diag(q) - q q') * [x - shift, 1][x - shift, 1]' for the weights (m,) and the probabilities q (m, K)
    that `weighted` gives for a tile of rows: diag(q) makes a weighted Gram matrix an output, q q' one of the rows times
    all probabilities.
    """
    n, p = rows.shape
    total = np.zeros((K, p + 1, K, p + 1))
    tile = max(1, TILE_ENTRIES // (K * (p + 1)))
    for start in range(0, n, tile):
        part = slice(start, start + tile)
        X = some_rows(rows, part)
        w, q = weigh(X, part)
        X = X.toarray() if is_sparse(X) else X
        X = np.array(X, dtype=np.float64, order="C") if shift is None else X - shift
        times = np.empty((X.shape[0], K, p + 1))
        np.multiply(q[:, :, None], X[:, None, :], out=times[:, :, :p])
        times[:, :, p] = q
        total -= _gram(times.reshape(X.shape[0], -1), w)[:-1, :-1].reshape(total.shape)
        for k in range(K):
            total[k, :, k, :] += _gram(X, w * q[:, k])
    return total.reshape(K * (p + 1), K * (p + 1))


def _gram(X: Floats, weight: Floats) -> Floats:
    """sum_i weight [x, 1][x, 1]': the Hessian of a square loss."""
    zeros, count = np.zeros((1, X.shape[1])), threads(entries(X))
    spend(products(X, 1, 2))
    sums = _core.derivatives(
        X, np.zeros((X.shape[0], 1)), np.ascontiguousarray(weight), zeros, np.zeros(1), None, "square", 0.0, 2, count
    )
    return np.asarray(sums[4])


def hessian_in_arrays(Z: Array, weight: Array, q: Array) -> Floats:
    """The same in the Array API, of samples Z = [x - shift, 1] (m, k) and weights (m, 1)."""
    xp = namespace(Z)
    (n, k), K = Z.shape, q.shape[1]
    total = np.zeros((K, k, K, k))
    tile = max(1, TILE_ENTRIES // (K * k))
    for start in range(0, n, tile):
        part = slice(start, min(n, start + tile))
        z, w, p = Z[part, :], weight[part, :], q[part, :]
        A = xp.reshape(p[:, :, None] * z[:, None, :], (-1, K * k))
        total -= on_host(xp.matmul((w * A).T, A)).reshape(total.shape)
        for c in range(K):
            total[c, :, c, :] += on_host(xp.matmul((w * p[:, c : c + 1] * z).T, z))
    return total.reshape(K * k, K * k)


def products(X: Array, targets: int, order: int) -> float:
    """The multiplications that derivatives take: forward, back, and half of a Gram matrix where it is formed."""
    size = entries(X)
    return float(size * targets * min(order + 1, 2) + (size * size / max(X.shape[0], 1) / 2 if order == 2 else 0))


def _shift_sums(sums: Derivatives, shift: Floats) -> Derivatives:
    """Move the origin of the samples to `shift` after the sums: sparse samples are never centred in memory."""
    gradient, hessian = sums.gradient, sums.hessian
    if gradient is not None:
        gradient = gradient - np.outer(sums.slope, shift)
    if hessian is not None:
        last = hessian[:-1, -1] - hessian[-1, -1] * shift
        hessian = hessian.copy()
        hessian[:-1, :-1] -= np.outer(shift, hessian[:-1, -1]) + np.outer(last, shift)
        hessian[:-1, -1] = hessian[-1, :-1] = last
    return Derivatives(sums.weight, sums.value, sums.slope, gradient, hessian)


def derivatives_in_arrays(
    loss: Loss, params: Params, order: int, shift: Floats | None, block: Block
) -> MaybeDeferred[Derivatives]:
    """The lift of `Derivatives` in the Array API: for other namespaces, and the reference for the compiled loop."""
    if loss.multi_output and order == 2:
        sums = resolve(derivatives_in_arrays(loss, params, 1, shift, block))
        X = away(block.X, shift)
        Z = namespace(X).concat([X, namespace(X).ones_like(X[:, :1])], axis=1)
        q = Softmax().probabilities(forward(block.X, params, shift))
        sums = replace(sums, hessian=hessian_in_arrays(Z, weights_of(block)[:, None], q))
        return Deferred((), sums)
    after = None
    if shift is not None and is_near(shift, block, MAX_SHIFT_DEVIATIONS):
        params, shift, after = Params(params.coef, params.intercept - inner_products(params.coef, shift)), None, shift
    xp = namespace(block.X)
    X = away(block.X, shift)
    coef, intercept = likes(params, X)
    z = X @ coef.T + intercept
    value, slopes, *bent = loss.derivatives(order, block.y, z)
    parts = [_sums(value, block), _sums(slopes, block)]
    if order == 1:
        parts.append(_weigh(slopes, block).T @ X)
    if order == 2:
        curvature = _weigh(bent[0], block)
        # two products that read the samples once
        back = xp.concat([_weigh(slopes, block), curvature], axis=1).T @ X
        parts += [back, cross(curvature * X, X), xp.reshape(xp.sum(curvature), (1,))]
    if block.weight is not None:
        parts.append(xp.reshape(xp.sum(block.weight), (1,)))
    rows = None if block.weight is not None else float(z.shape[0])
    return Deferred.of(parts, partial(_from_sums, order, after), key=after is None, source=rows)


def _sums(values: Array, block: Block) -> Array:
    """The weighted sums (t,) of values (m, t) over the samples; a product, for down a long column a library's own sum
    may be many times slower.
    """
    xp = namespace(values)
    if block.weight is None and values.shape[1] == 1:
        return xp.reshape(xp.sum(values), (1,))
    return xp.matmul(weights_of(block), values)


def _weigh(values: Array, block: Block) -> Array:
    """Values (m, t) times the weights of the samples."""
    return values if block.weight is None else block.weight[:, None] * values


def _from_sums(order: int, shift: Floats | None, rows: tuple[float | None, ...], *sums: Floats) -> Derivatives:
    """From the sums of blocks with the numbers `rows` of samples, or with their weight as the last sum; moved to
    `shift`.
    """
    value, slope, *others = sums
    hessian = None
    if order == 2:
        back, inner, last = others[:3]
        p = len(inner)
        hessian = np.empty((p + 1, p + 1))
        hessian[:p, :p], hessian[:p, p], hessian[p, :p], hessian[p, p] = inner, back[1], back[1], last[0]
    weight = float(others[-1][0]) if rows[0] is None else sum(m or 0.0 for m in rows)
    result = Derivatives(weight, value, slope, others[0][: len(slope)] if order >= 1 else None, hessian)
    return result if shift is None else _shift_sums(result, shift)


class InterceptSums(NamedTuple):
    """Weighted sums (K,) over the samples of the slopes of a loss and of its curvatures, by raw prediction."""

    slope: Floats
    curvature: Floats


class AtMargins(NamedTuple):
    """The weighted sum of a loss at given margins, the sums for the intercepts, and the weighted slopes of each sample
    (n, K); of a loss of one raw prediction its weighted curvatures (n, 1), too.
    """

    value: float
    level: InterceptSums
    u: Floats
    curvature: Floats | None = None


def losses_at(loss: Loss, y: Floats, z: Floats, weight: Floats) -> AtMargins:
    """For targets (n, 1), margins (n, K) and weights (n, 1) of NumPy."""
    if loss.multi_output:
        value, slopes, curvatures, u = _core.softmax_at_margins(y, z, weight[:, 0], threads(z.size))
        return AtMargins(value, InterceptSums(slopes, curvatures), u)
    value, slope, bend, u, curvature = _core.loss_at_margins(
        y[:, 0], z[:, 0], weight[:, 0], loss.name, loss.parameter, threads(z.size)
    )
    return AtMargins(value, InterceptSums(np.array([slope]), np.array([bend])), u[:, None], curvature[:, None])


def losses_along(
    loss: Loss, y: Floats, z: Floats, dz: Floats, length: float, weight: Floats
) -> tuple[float, float, InterceptSums | None]:
    """The first two derivatives in t of the weighted sum of the loss at margins z + t dz, at t = length, and, of a loss
    of one raw prediction, the sums for the intercept there.
    """
    if loss.multi_output:
        return *_core.softmax_along_line(y, z, dz, length, weight[:, 0], threads(z.size)), None
    first, second, slope, bend = _core.loss_along_line(
        y[:, 0], z[:, 0], dz[:, 0], length, weight[:, 0], loss.name, loss.parameter, threads(z.size)
    )
    return first, second, InterceptSums(np.array([slope]), np.array([bend]))


def predictions(params: Params, shift: Floats | None = None) -> Callable[[Block], Any]:
    """The map from a block to its raw predictions (x - shift).w + b, one row a sample and one column a target."""
    return lambda block: forward(block.X, params, shift)


def forward(X: Array, params: Params, shift: Floats | None = None) -> Any:
    """(x - shift).w + b for the samples in an array."""
    spend(float(entries(X) * len(params.intercept)))
    if is_sparse(X):
        intercept = params.intercept if shift is None else params.intercept - inner_products(params.coef, shift)
        return _core.matvec_csr(X.data, X.indices, X.indptr, X.shape[1], params.coef, intercept, threads(entries(X)))
    if is_numpy(X):
        return _core.matvec(X, params.coef, params.intercept, shift, threads(entries(X)))
    X = away(X, shift)
    coef, intercept = likes(params, X)
    return namespace(X).matmul(X, coef.T) + intercept


def away(X: Array, shift: Floats | None) -> Array:
    """X - shift in float64, in X's namespace."""
    xp = namespace(X)
    X = xp.astype(X, xp.float64, copy=False)
    return X if shift is None else X - like(shift, X)


@dataclass(frozen=True, slots=True)
class Total:
    """A plain sum."""

    sum: Any

    def merge(self, other: "Total") -> "Total":
        return Total(self.sum + other.sum)


def as_total(_: tuple[None, ...], sums: Floats) -> Total:
    """The sums of blocks that were pending."""
    return Total(sums)


def total_weight(block: Block) -> Total:
    """The lift of the sum of the weights."""
    weight = weights_of(block)
    return Total(float(namespace(weight).sum(weight)))


def adjoint(X: Array, u: Array, shift: Floats | None = None) -> Floats:
    """sum_i u_i (x_i - shift) as (t, p), for u (m, t)."""
    spend(float(entries(X) * u.shape[1]))
    if is_sparse(X):
        product = _core.matvec_t_csr(X.data, X.indices, X.indptr, X.shape[1], u, threads(entries(X)))
        return product if shift is None else product - np.outer(u.sum(axis=0), shift)
    if is_numpy(X):
        return _core.matvec_t(X, u, shift, threads(entries(X)))
    return on_host(namespace(X).matmul(u.T, away(X, shift)))


def curvatures(loss: Loss, params: Params, shift: Floats) -> Callable[[Block], MaybeDeferred[Total]]:
    """The lift of sum weight curvature [x - shift, 1] (p + 1,), for one target."""

    def lift(block: Block) -> MaybeDeferred[Total]:
        xp, X = namespace(block.y), block.X
        c = _weigh(loss.curvature(block.y, forward(X, params, shift)), block)
        if is_sparse(X) or is_numpy(X):
            return Total(np.append(adjoint(X, c, shift)[0], c.sum()))
        return Deferred.of((xp.matmul(c.T, away(X, shift))[0, :], xp.reshape(xp.sum(c), (1,))), _join, key=True)

    return lift


def _join(_: Any, *parts: Floats) -> Total:
    return Total(np.concatenate(parts))
