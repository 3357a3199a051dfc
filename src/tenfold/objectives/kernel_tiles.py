"""Sums over the samples X (n, p) of products with K = k(X, Z), for centres Z (m, p), tile by tile.

K is never in memory as a whole: the tile of some samples is evaluated where they are, used by all that is asked of it,
and dropped. Tiles are the same for any number of threads, and their sums are added in order.
Cost of a pass: n m kernel values, and 4 n m operations for each vector; memory: a tile for each thread.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.linalg import blas

from tenfold.arrays import Array, Floats, is_array_api, is_numpy, is_sparse, like, namespace, some_rows
from tenfold.data import Block, Deferred, MaybeDeferred, weights_of
from tenfold.kernels import Kernel
from tenfold.machine import one_blas_thread, run_concurrently, spend

TILE_VALUES = 1 << 19  # of a tile: 4 MiB, which the last cache holds for each of a few threads
DEVICE_TILE_VALUES = 1 << 27  # on a device: 1 GiB
EVALUATION = 16  # products that the function of a pair costs beside those of its features
FEW_VECTORS = 3  # up to so many, a product vector by vector is faster than that of matrices

Work: TypeAlias = Callable[[Array, Block], tuple[Array, ...]]
"""(tile of K, its samples) -> the terms of sums."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Arrays that are added."""

    parts: tuple[Floats, ...]

    def merge(self, other: "Sums") -> "Sums":
        return Sums(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


def _as_sums(_: tuple[None, ...], *parts: Floats) -> Sums:
    return Sums(parts)


def sum_tiles(
    kernel: Kernel, centres: Array, work: Work, group: int | None = None
) -> Callable[[Block], MaybeDeferred[Sums]]:
    """The lift of the sums of `work` over all samples, or over those of one group."""
    return partial(_lift, kernel, centres, work, group)


def _lift(kernel: Kernel, centres: Array, work: Work, group: int | None, block: Block) -> MaybeDeferred[Sums]:
    block = block if group is None or block.group is None else select_group(block, group)
    n, m = block.X.shape[0], centres.shape[0]
    step = max(32, (DEVICE_TILE_VALUES if is_array_api(block.X) else TILE_VALUES) // max(m, 1))
    cuts = [slice(a, min(n, a + step)) for a in range(0, max(n, 1), step)]

    def tile(cut: slice) -> tuple[Array, ...]:
        part = _slice(block, cut)
        spend(float((cut.stop - cut.start) * m * (block.X.shape[1] + EVALUATION)))
        return work(kernel.block(part.X, centres), part)

    if is_array_api(block.X):
        total = tile(cuts[0])
        for cut in cuts[1:]:
            total = tuple(a + b for a, b in zip(total, tile(cut), strict=True))
        return Deferred.of(total, _as_sums, key="tiles")
    with one_blas_thread:
        parts = run_concurrently(tile, cuts, n * m)
    return Sums(tuple(_add(terms) for terms in zip(*parts, strict=True)))


def _add(terms: Sequence[Floats]) -> Floats:
    total = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total


def _slice(block: Block, cut: slice) -> Block:
    weight = None if block.weight is None else block.weight[cut]
    return Block(some_rows(block.X, cut), some_rows(block.y, cut), weight)


def select_group(block: Block, group: int) -> Block:
    """The samples of a group; on a device the others get weight zero, as a selection would wait for it."""
    if is_numpy(block.X) or is_sparse(block.X):
        inside = block.group == group
        return Block(block.X[inside], block.y[inside], None if block.weight is None else block.weight[inside])
    weight = weights_of(block)
    return replace(block, weight=namespace(weight).where(block.group == group, weight, 0.0 * weight), group=None)


def times(K: Array, V: Floats) -> Array:
    """K V, (n, q), of a tile (n, m) and vectors (m, q)."""
    if is_array_api(K):
        return namespace(K).matmul(K, like(V, K))
    if not K.size:
        return np.zeros((K.shape[0], V.shape[1]))
    if V.shape[1] <= FEW_VECTORS:
        return np.stack([blas.dgemv(1.0, K.T, v, trans=1) for v in np.ascontiguousarray(V.T)], axis=1)
    return np.asarray(blas.dgemm(1.0, np.ascontiguousarray(V).T, K.T)).T


def times_transposed(K: Array, A: Array) -> Array:
    """K' A, (m, q), of a tile (n, m) and a matrix (n, q)."""
    if is_array_api(K):
        return namespace(K).matmul(K.T, A)
    if not K.size:
        return np.zeros((K.shape[1], A.shape[1]))
    if A.shape[1] <= FEW_VECTORS:
        return np.stack([blas.dgemv(1.0, K.T, a) for a in np.ascontiguousarray(A.T)], axis=1)
    return np.asarray(blas.dgemm(1.0, K.T, np.ascontiguousarray(A).T, trans_b=1))


def weigh_targets(means: Floats) -> Work:
    """K' w (y - means), (m, t), and K' w, (m, 1)."""
    return partial(_weigh_targets, means)


def _weigh_targets(means: Floats, K: Array, block: Block) -> tuple[Array, ...]:
    w = weights_of(block)[:, None]
    return times_transposed(K, w * (block.y - like(means, block.y))), times_transposed(K, w)


def apply_twice(V: Floats, shift: Floats) -> Work:
    """K' w (K V - shift), (m, q), for vectors V (m, q)."""
    return partial(_apply_twice, V, shift)


def _apply_twice(V: Floats, shift: Floats, K: Array, block: Block) -> tuple[Array, ...]:
    u = times(K, V) - like(shift, K)
    if block.weight is not None:
        u = block.weight[:, None] * u
    return (times_transposed(K, u),)


def square_errors(V: Floats, intercept: Floats) -> Work:
    """sum w (y - K V - intercept)^2, (q,), where V has t columns for each of some penalties, and the sum of w."""
    return partial(_square_errors, V, intercept)


def _square_errors(V: Floats, intercept: Floats, K: Array, block: Block) -> tuple[Array, ...]:
    xp, w, (n, t) = namespace(block.y), weights_of(block)[:, None], block.y.shape
    raw = xp.reshape(times(K, V) + like(intercept, block.y), (n, V.shape[1] // t, t))
    squares = (block.y[:, None, :] - raw) ** 2
    return xp.sum(w[:, :, None] * squares, axis=0), xp.sum(w)
