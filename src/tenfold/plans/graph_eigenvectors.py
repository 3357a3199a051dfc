"""The smallest eigenvectors of a graph's Laplacian.

Those of the connected parts are known, L u = 0. The others are leading eigenvectors of S (pairwise/graphs.py) without
them. Small graphs: by LAPACK. Else by block Lanczos on S, which is short where the graph has clear clusters; if it is
not at its end after the work of a Cholesky factor, by block Lanczos on the inverse of

    C = (2 + s) I - S + 2 U'U,    U the known vectors,

whose leading eigenvectors are the same, and which takes some five steps whatever the gaps between eigenvalues.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats, entries
from tenfold.linear_algebra import cholesky, eigh, solve_lower
from tenfold.machine import one_blas_thread, require_memory
from tenfold.pairwise.graphs import Graph
from tenfold.solvers import block_lanczos
from tenfold.solvers.block_lanczos import Space
from tenfold.solvers.loop import Step, run
from tenfold.stats.derivatives import Params, adjoint, forward

DIRECT_SIZE = 256  # up to here by LAPACK
FACTORED_SIZE = 8192  # up to here a dense factor is tried: half a gigabyte
MORE = 4  # vectors of a block beside the wanted ones, which speed up the last of these
TOLERANCE = 1e-10  # of residuals, relative to the largest eigenvalue
SHIFT = 1e-10  # s of C, so that it has a factor where a graph is all but disconnected
MAX_DIMENSIONS = 2000  # of a Krylov space
FACTOR_SPEED = 2.0  # flops of a product with a block in the time of one flop of a factor (benchmark: spectral)


@dataclass(frozen=True)
class Eigenvectors:
    """Unit eigenvectors of L (k, n) with the smallest eigenvalues first, and approximate next ones (m, n)."""

    vectors: Floats
    beside: Floats


def smallest(graph: Graph, count: int, random: Any) -> Eigenvectors:
    """The `count` smallest eigenvectors of L, among at least as many samples."""
    known = graph.null[:count]
    wanted = count - len(known)
    if wanted == 0:
        return Eigenvectors(known, graph.null[count : count + MORE])
    if graph.size <= max(DIRECT_SIZE, 3 * (wanted + MORE)):
        others, beside = _by_lapack(graph, wanted)
    else:
        others, beside = _rayleigh_ritz(graph, _by_lanczos(graph, wanted, random), wanted)
    return Eigenvectors(np.vstack([known, others]), beside)


def _by_lapack(graph: Graph, wanted: int) -> tuple[Floats, Floats]:
    n, c = graph.size, len(graph.null)
    S = graph.dense()
    if c:
        S -= 2.0 * adjoint(graph.null, graph.null)
    more = min(wanted + MORE, n - c)
    vectors = np.ascontiguousarray(eigh(S, n - more)[1][:, ::-1].T[:more])
    return vectors[:wanted], vectors[wanted:]


def _project(graph: Graph, vectors: Floats) -> Floats:
    """Vectors without their parts along the known ones."""
    if not len(graph.null):
        return vectors
    return vectors - adjoint(graph.null, np.ascontiguousarray(_inner(graph.null, vectors)))


def _inner(A: Floats, B: Floats) -> Floats:
    """A B' of rows of vectors."""
    return np.asarray(forward(np.ascontiguousarray(A), Params(np.ascontiguousarray(B), np.zeros(len(B)))))


def _by_lanczos(graph: Graph, wanted: int, random: Any) -> Floats:
    """Approximate leading eigenvectors of S outside the known ones, those that are wanted and some more."""
    n, block = graph.size, wanted + MORE
    path = _steps(graph, wanted, block, random)
    space, converged = _advance(path, _affordable_steps(graph, block))
    if not converged and n <= FACTORED_SIZE:
        space = _by_factor(graph, wanted, block, random)
    elif not converged:
        space = _advance(path, MAX_DIMENSIONS // block, space)[0]
    return space.vectors(0, min(block, len(space.values)))


def _steps(graph: Graph, wanted: int, block: int, random: Any) -> Iterator[Step]:
    def apply(vectors: Floats) -> Floats:
        return _project(graph, graph.multiply(_project(graph, vectors)))

    return block_lanczos.steps(apply, graph.size, wanted, block, random, TOLERANCE, more=MORE)


def _affordable_steps(graph: Graph, block: int) -> int:
    """Steps of Lanczos that take as long as a Cholesky factor and its few steps."""
    n = graph.size
    if n > FACTORED_SIZE:
        return MAX_DIMENSIONS // block
    factor = FACTOR_SPEED * float(n) ** 3 / 3.0
    step, orthogonal = 2.0 * entries(graph.S) * block, 2.0 * n * block**2  # and the latter for each step before
    steps = factor / step if orthogonal == 0.0 else (np.sqrt(step**2 + 2.0 * orthogonal * factor) - step) / orthogonal
    return int(np.clip(steps, 4, MAX_DIMENSIONS // block))


def _advance(path: Iterator[Step], most: int, space: Space | None = None) -> tuple[Space, bool]:
    """The space after at most so many steps, and whether its vectors have converged."""
    ahead = islice(path, most + 1)
    first = next(ahead, None)
    if first is None:
        assert space is not None
        return space, False
    result = run(_chain(first, ahead), most)
    return result.params, result.trace[-1].measure <= 1.0


def _chain(first: Step, rest: Iterator[Step]) -> Iterator[Step]:
    yield first
    yield from rest


def _by_factor(graph: Graph, wanted: int, block: int, random: Any) -> Space:
    n = graph.size
    require_memory(f"A factor of the Laplacian of {n:,} samples", 3 * 8 * n * n, "Take a sample of the rows.")
    C = graph.dense()
    np.negative(C, out=C)
    if len(graph.null):
        C += 2.0 * adjoint(graph.null, graph.null)
    C.reshape(-1)[:: n + 1] += 2.0 + SHIFT
    L = cholesky(C)
    if L is None:  # semidefinite to rounding: nothing but more steps will do
        return _advance(_steps(graph, wanted, block, random), MAX_DIMENSIONS // block)[0]

    def apply(vectors: Floats) -> Floats:
        inside = _project(graph, vectors)
        solved = solve_lower(L, solve_lower(L, np.asfortranarray(inside.T)), transposed=True).T
        return _project(graph, np.ascontiguousarray(solved))

    path = block_lanczos.steps(apply, n, wanted, block, random, TOLERANCE, more=MORE)
    return _advance(path, 200)[0]


def _rayleigh_ritz(graph: Graph, vectors: Floats, wanted: int) -> tuple[Floats, Floats]:
    """Orthonormal eigenvectors of S within the span of approximate ones, the largest eigenvalue first."""
    with one_blas_thread:
        Q = la.qr(_project(graph, vectors).T, mode="economic", check_finite=False)[0]
    basis: Floats = np.ascontiguousarray(Q.T, dtype=np.float64)
    T = _inner(basis, graph.multiply(basis))
    rotation = eigh(0.5 * (T + T.T))[1][:, ::-1]
    result = adjoint(basis, np.ascontiguousarray(rotation))
    return result[:wanted], result[wanted:]
