"""Block Lanczos: the leading eigenvectors of a symmetric matrix that is given by its products.

From a random block Q_0 the Krylov space span(Q_0, S Q_0, S^2 Q_0, ...) grows by one block a step, and its Ritz vectors
approximate the eigenvectors. All blocks are kept. The image of a block lies in its own span, that of the block before,
and the next one; that is first orthogonalised against these two, and then against all others. The image of the space
lies in it but for the part E of the newest block: with s the part of a Ritz vector in that block, its residual S v - l
v is s'E. A step costs the products of one block; the measure is the largest residual of the wanted vectors over
tol l_1, and is computed, by a Rayleigh-Ritz step, only where the rate of its decrease lets it be small. Where S = A A'
and the vectors A'v / sqrt(l) are wanted, their residuals are larger by at most sqrt(l_1 / l).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats
from tenfold.linear_algebra import cholesky, solve_lower
from tenfold.machine import one_blas_thread
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params, adjoint, forward

MAX_UNCHECKED_GROWTH = 0.25  # of the dimensions, between checks: one too late costs as much of the products
# Distances of a row from the span of the others, relative to the longest row: from the first on one Gram matrix makes
# rows orthonormal to 1e-12, from the second on two do.
INDEPENDENT, MIN_INDEPENDENCE = 1e-2, 1e-5
ORTHOGONALITY = 1e-9  # inner products with the basis up to here leave orthonormal vectors so to rounding


@dataclass(frozen=True)
class Space:
    """The basis (m, size) of a space, T (m, m) with the products of S in it, and at most `count` Ritz values, the
    largest first, and vectors (m, k) in that basis, computed when they are first asked for.
    """

    basis: Floats
    T: Floats
    count: int

    @cached_property
    def _ritz(self) -> tuple[Floats, Floats]:
        m = len(self.T)
        wanted = [m - min(self.count, m), m - 1]
        with one_blas_thread:
            values, inside = la.eigh(0.5 * (self.T + self.T.T), subset_by_index=wanted, check_finite=False)
        return values[::-1], inside[:, ::-1]

    @property
    def values(self) -> Floats:
        return self._ritz[0]

    @property
    def inside(self) -> Floats:
        return self._ritz[1]

    def vectors(self, begin: int, end: int) -> Floats:
        """Ritz vectors `begin` to `end`, (k, size)."""
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
    unchecked: int = 0,
) -> Iterator[Step]:
    """`count` eigenvectors of a matrix of `size` rows, or their images by A' (`transposed`). A step has a space with at
    most `more` Ritz vectors besides; the first comes once the space has `count` dimensions. Objective and measure are
    those of the last check, infinite in the first `unchecked` steps.
    """
    newest = _orthonormal(random.standard_normal((min(block, size), size)))
    stored, basis, T = np.empty((4 * len(newest), size)), np.zeros((0, size)), np.zeros((0, 0))
    checks: list[tuple[int, float]] = []
    objective, skipped, recent = 0.0, 0, 0
    while True:
        before, after = len(basis), len(basis) + len(newest)
        if after > len(stored):
            stored = np.concatenate([basis, np.empty((after, size))])
        stored[before:after] = newest
        basis = stored[:after]
        images = np.ascontiguousarray(apply(newest))
        inside = _inner(images, basis[recent:])
        T = _extend(T, inside)
        outside = images - adjoint(basis[recent:], np.ascontiguousarray(inside.T))
        recent = before
        gram = _inner(outside, outside)
        if len(basis) >= min(count, size):
            space = Space(basis, T, count + more)
            if unchecked > 0 and len(basis) < size:
                unchecked -= 1
            elif skipped > 0 and len(basis) < size:
                skipped -= 1
            else:
                checks.append((len(basis), _largest_residual(space, gram, count, transposed) / tol))
                objective, skipped = -float(np.sum(space.values[:count])), _steps_to_skip(checks, block)
            yield Step(space, objective, checks[-1][1] if checks else np.inf)
        if len(basis) >= size:
            return
        Q, R = _factors(outside, gram)
        known = np.linalg.norm(R, axis=1) > 1e-10 * float(np.max(np.linalg.norm(images, axis=1)))
        newest = _next(Q[known], basis, min(block, size - len(basis)), random)


def refine(vectors: Floats, images: Floats, trace: float) -> tuple[Floats, Floats]:
    """Improved eigenvectors (k, size) and values, from good ones and their products with S.

    The Rayleigh-Ritz step within their span comes first. The residual r = S v - l v out of it is due to rounding, and
    lies mostly along vectors with eigenvalues of the bulk, mu on average: v + r / (l - mu) has a residual that is
    smaller by the spread of the bulk over l - mu.
    """
    k, size = vectors.shape
    T = _inner(images, vectors)
    with one_blas_thread:
        values, rotation = la.eigh(0.5 * (T + T.T), check_finite=False)
    values, rotation = values[::-1], np.ascontiguousarray(rotation[:, ::-1])
    vectors, images = adjoint(vectors, rotation), adjoint(images, rotation)
    residuals = images - values[:, None] * vectors
    residuals -= adjoint(vectors, np.ascontiguousarray(_inner(residuals, vectors).T))
    bulk = max(trace - float(np.sum(values)), 0.0) / max(1, size - k)
    gaps = values - bulk
    vectors = vectors + residuals / np.where(gaps > 0.0, gaps, np.inf)[:, None]
    with one_blas_thread:
        Q, R = la.qr(vectors.T, mode="economic", check_finite=False)
    return np.ascontiguousarray((Q * np.where(np.diag(R) < 0.0, -1.0, 1.0)).T), values


def _inner(block: Floats, basis: Floats) -> Floats:
    """The inner products of the vectors of a block with those of the basis."""
    return np.ascontiguousarray(forward(basis, Params(block, np.zeros(len(block)))).T)


def _extend(T: Floats, rows: Floats) -> Floats:
    """T with the products of the newest block with itself and the block before as its last rows and columns."""
    before, after = len(T), len(T) + len(rows)
    extended = np.zeros((after, after))
    extended[:before, :before], extended[before:, after - rows.shape[1] :] = T, rows
    extended[:before, before:] = extended[before:, :before].T
    return extended


def _steps_to_skip(checks: list[tuple[int, float]], block: int) -> int:
    """The number of steps without a check after the last one, from the dimensions and measures of all: half of those
    that are left at the rate of the last two, and at most MAX_UNCHECKED_GROWTH of the dimensions.
    """
    if len(checks) < 2:
        return 0
    (before, old), (now, new) = checks[-2:]
    most = int(MAX_UNCHECKED_GROWTH * now) // block
    if not 0.0 < new < old:
        return most
    left = np.log(new) / np.log(old / new) * (now - before) / block
    return min(most, int(0.5 * left))


def _largest_residual(space: Space, gram: Floats, count: int, transposed: bool) -> float:
    """The largest residual of the first vectors, over the largest value: they are as long as E's, from E E'."""
    values = space.values[:count]
    scale = max(float(values[0]) if values.size else 0.0, np.finfo(np.float64).tiny)
    s = space.inside[len(space.inside) - len(gram) :, :count]
    sizes = np.sqrt(np.maximum(np.einsum("ik,ij,jk->k", s, gram, s, optimize=False), 0.0)) / scale
    if transposed:  # of a value that is zero to rounding, any vector will do
        known = values > scale * space.basis.shape[1] * np.finfo(np.float64).eps
        sizes = sizes * np.sqrt(scale / np.where(known, values, scale))
    return float(np.max(sizes, initial=0.0))


def _factors(A: Floats, gram: Floats) -> tuple[Floats, Floats]:
    """Orthonormal rows Q and R with A = R'Q, from `gram` = A A': by its Cholesky factor where the rows are independent,
    else pivoted, the longest first, so that the last may be rounding.
    """
    first = _by_gram(A, gram)
    if first is not None:
        Q, R, independence = first
        if independence > INDEPENDENT:
            return Q, R
        second = _by_gram(Q, _inner(Q, Q))
        if second is not None:
            return second[0], second[1] @ R
    with one_blas_thread:
        columns, pivoted, order = la.qr(A.T, mode="economic", pivoting=True, check_finite=False)
    R = np.empty(pivoted.shape)
    R[:, order] = pivoted
    return np.ascontiguousarray(columns.T), R


def _by_gram(A: Floats, gram: Floats) -> tuple[Floats, Floats, float] | None:
    """Rows Q with A = R'Q, triangular R with R'R = A A', and how far a row is from the span of the others, relative to
    the longest; None where that is so little that Q is not nearly orthonormal.
    """
    L = cholesky(gram)
    if L is None or not len(L):
        return None
    sizes = np.diag(L)
    independence = float(np.min(sizes)) / float(np.max(sizes))
    if not independence > MIN_INDEPENDENCE:
        return None
    turn = solve_lower(L, np.eye(len(L)))
    return adjoint(A, np.ascontiguousarray(turn.T)), np.tril(L).T, independence


def _orthonormal(A: Floats) -> Floats:
    """An orthonormal basis of the row space."""
    Q, R = _factors(A, _inner(A, A))
    sizes = np.linalg.norm(R, axis=1)
    return Q[sizes > 1e-12 * max(float(sizes[0]) if sizes.size else 0.0, np.finfo(np.float64).tiny)]


def _next(new: Floats, basis: Floats, width: int, random: Any) -> Floats:
    """The next block of `width` vectors: those that the newest one adds to the space, then random ones, orthonormalised
    until none of the space is left in them.
    """
    for _ in range(4):
        missing = width - len(new)
        if missing > 0:
            more = random.standard_normal((missing, basis.shape[1]))
            new = np.vstack([new, more / np.linalg.norm(more, axis=1, keepdims=True)])
        inside = _inner(new, basis)
        new = new - adjoint(basis, np.ascontiguousarray(inside.T))
        if missing <= 0 and np.max(np.abs(inside), initial=0.0) <= ORTHOGONALITY:
            return new
        new = _orthonormal(new)[:width]
    return new
