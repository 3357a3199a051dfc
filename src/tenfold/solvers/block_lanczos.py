"""The leading eigenvectors of a symmetric matrix that is given by its products: block Lanczos.

From a random block Q_0 the spaces span(Q_0, S Q_0, S^2 Q_0, ...) grow by one block a step, and the best vectors of the
space are taken (Rayleigh and Ritz). All blocks are kept, and each is made orthogonal to the others twice. What S makes
of the space lies in it but for what E it makes of the newest block: with s the part of a vector in that block, its
residual S v - l v is s'E. A step costs the products of one block; the measure is the largest residual of the wanted
vectors over tol l_1. Where S = A A' and the vectors that are wanted are A'v / sqrt(l), theirs are larger by at most
sqrt(l_1 / l).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params, adjoint, forward

SLANT = 1e-9
"""What orthonormal vectors lose of that by taking away parts of this size is below rounding."""


@dataclass(frozen=True)
class Space:
    """The basis (m, size) of a space, and the best vectors of it, the largest values first, as (m, k) in that basis."""

    basis: Floats
    values: Floats
    inside: Floats

    def vectors(self, begin: int, end: int) -> Floats:
        """Some of the best vectors, (k, size)."""
        return adjoint(self.basis, np.ascontiguousarray(self.inside[:, begin:end]))


def steps(
    apply: Callable[[Floats], Floats],
    size: int,
    count: int,
    block: int,
    random: Any,
    tol: float,
    *,
    more: int = 0,
    transposed: bool = False,
) -> Iterator[Step]:
    """`count` vectors of a matrix of `size` rows, or those that A' makes of them (`transposed`). A step has a space
    with at most `more` vectors besides; there is none before the space has `count` dimensions.
    """
    newest = _orthonormal(random.standard_normal((min(block, size), size)))
    basis, T = np.zeros((0, size)), np.zeros((0, 0))
    while True:
        basis = np.vstack([basis, newest])
        images = np.ascontiguousarray(apply(newest))
        inside = _inner(images, basis)
        T = _grown(T, inside)
        outside, R = _factors(images - adjoint(basis, np.ascontiguousarray(inside.T)))
        if len(basis) >= min(count, size):
            space = _best(basis, T, count + more)
            largest = _largest_residual(space, R, count, transposed)
            yield Step(space, -float(np.sum(space.values[:count])), largest / tol)
        if len(basis) >= size:
            return
        known = np.linalg.norm(R, axis=1) > 1e-10 * float(np.max(np.linalg.norm(images, axis=1)))
        newest = _next(outside[known], basis, min(block, size - len(basis)), random)


def refine(vectors: Floats, images: Floats, trace: float) -> tuple[Floats, Floats]:
    """Vectors (k, size) and values that are closer to those of S, from good ones and their products with it.

    Within their space the best are taken. What S leads out of it, r = S v - l v, is due to rounding, and lies mostly
    along vectors with the values of the bulk, mu on average: v + r / (l - mu) has a residual that is smaller by the
    spread of the bulk over l - mu.
    """
    k, size = vectors.shape
    T = _inner(images, vectors)
    with one_blas_thread:
        values, turn = la.eigh(0.5 * (T + T.T), check_finite=False)
    values, turn = values[::-1], np.ascontiguousarray(turn[:, ::-1])
    vectors, images = adjoint(vectors, turn), adjoint(images, turn)
    left = images - values[:, None] * vectors
    left -= adjoint(vectors, np.ascontiguousarray(_inner(left, vectors).T))
    bulk = max(trace - float(np.sum(values)), 0.0) / max(1, size - k)
    away = values - bulk
    vectors = vectors + left / np.where(away > 0.0, away, np.inf)[:, None]
    with one_blas_thread:
        Q, R = la.qr(vectors.T, mode="economic", check_finite=False)
    return np.ascontiguousarray((Q * np.where(np.diag(R) < 0.0, -1.0, 1.0)).T), values


def _inner(block: Floats, basis: Floats) -> Floats:
    """The inner products of the rows of a block with those of the basis."""
    return np.ascontiguousarray(forward(basis, Params(block, np.zeros(len(block)))).T)


def _grown(T: Floats, rows: Floats) -> Floats:
    """T with the products of the newest block as its last rows and columns."""
    before, after = len(T), rows.shape[1]
    grown = np.empty((after, after))
    grown[:before, :before], grown[before:] = T, rows
    grown[:before, before:] = rows[:, :before].T
    return grown


def _best(basis: Floats, T: Floats, count: int) -> Space:
    m = len(T)
    with one_blas_thread:
        values, inside = la.eigh(0.5 * (T + T.T), subset_by_index=[m - min(count, m), m - 1], check_finite=False)
    return Space(basis, values[::-1], inside[:, ::-1])


def _largest_residual(space: Space, R: Floats, count: int, transposed: bool) -> float:
    """Of the first vectors, in units of the largest value: with E = R'Q they are as long as R s."""
    values = space.values[:count]
    scale = max(float(values[0]) if values.size else 0.0, np.finfo(np.float64).tiny)
    sizes = np.linalg.norm(R @ space.inside[len(space.inside) - R.shape[1] :, :count], axis=0) / scale
    if transposed:  # of a value that is zero to rounding, any vector will do
        known = values > scale * space.basis.shape[1] * np.finfo(np.float64).eps
        sizes = sizes * np.sqrt(scale / np.where(known, values, scale))
    return float(np.max(sizes, initial=0.0))


def _factors(A: Floats) -> tuple[Floats, Floats]:
    """Orthonormal rows Q and R with A = R'Q; the longest of what is left first, so that the last may be rounding."""
    with one_blas_thread:
        Q, R, order = la.qr(A.T, mode="economic", pivoting=True, check_finite=False)
    turned = np.empty(R.shape)
    turned[:, order] = R
    return np.ascontiguousarray(Q.T), turned


def _orthonormal(A: Floats) -> Floats:
    """An orthonormal basis of the rows, those that depend on others left out."""
    Q, R = _factors(A)
    sizes = np.linalg.norm(R, axis=1)
    return Q[sizes > 1e-12 * max(float(sizes[0]) if sizes.size else 0.0, np.finfo(np.float64).tiny)]


def _next(new: Floats, basis: Floats, width: int, random: Any) -> Floats:
    """The next block, `width` rows: orthonormal ones that the newest one adds to the space, and where those are few,
    any; again, until nothing of the space is left in them.
    """
    for _ in range(4):
        missing = width - len(new)
        if missing > 0:
            more = random.standard_normal((missing, basis.shape[1]))
            new = np.vstack([new, more / np.linalg.norm(more, axis=1, keepdims=True)])
        inside = _inner(new, basis)
        new = new - adjoint(basis, np.ascontiguousarray(inside.T))
        if missing <= 0 and np.max(np.abs(inside), initial=0.0) <= SLANT:
            return new
        new = _orthonormal(new)[:width]
    return new
