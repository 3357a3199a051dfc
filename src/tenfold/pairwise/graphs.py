"""Graphs of samples: affinities, degrees, connected parts, and the matrix whose leading eigenvectors embed a graph.

Of affinities W >= 0, symmetric and taken without their diagonal, with degrees d_i = sum_j W_ij and D = diag(d):

    L = D - W,        normalised:  L = I - D^(-1/2) W D^(-1/2),

where an isolated sample, d_i = 0, has d_i = 1 in the powers. The smallest eigenvalues of L are the largest of

    S = 2 I - L  (normalised),      S = 2 I - L / max d  (otherwise),

which has no negative ones. For each connected part, L u = 0 with u_i = sqrt(d_i) (1 otherwise) in the part and zero
outside: these vectors are `null`. An isolated sample has the normalised eigenvalue 1, not 0, as its row of I says.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from tenfold.arrays import Array, Floats, Integers, is_sparse
from tenfold.machine import require_memory
from tenfold.stats.derivatives import Params, forward

BLOCK = 256  # rows of a dense matrix that are copied at a time


@dataclass(frozen=True)
class Graph:
    """S, dense or CSR; degrees (n,); their powers 1/2 (n,), 1 where isolated, or all ones without normalisation; the
    number of each sample's connected part; and orthonormal vectors (c, n) with L u = 0, of the heaviest part first.
    """

    S: Array
    degrees: Floats
    roots: Floats
    part: Integers
    null: Floats
    normalised: bool
    scale: float  # L = scale (2 I - S)

    @property
    def size(self) -> int:
        return len(self.degrees)

    def multiply(self, vectors: Floats) -> Floats:
        """S times vectors, which are rows (m, n)."""
        vectors = np.ascontiguousarray(vectors)
        return np.ascontiguousarray(forward(self.S, Params(vectors, np.zeros(len(vectors)))).T)

    def dense(self) -> Floats:
        """A dense copy of S."""
        return self.S.toarray() if is_sparse(self.S) else self.S.copy()


def complain_of_affinity(A: Array) -> str:
    """Why a matrix holds no affinities; "" where it does."""
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        return f"Affinities are a square matrix, one row and column for each sample; got shape {A.shape}."
    values = A.data if is_sparse(A) else A
    if not values.size:
        return ""
    least, largest = float(np.min(values)), float(np.max(values))
    if not (np.isfinite(least) and np.isfinite(largest)):
        return "Affinities must be finite."
    if least < 0.0 and least < -64.0 * np.finfo(np.float64).eps * largest:
        i, j = divmod(int(np.argmin(values)), A.shape[1]) if not is_sparse(A) else _place_of(A, int(np.argmin(values)))
        return (
            f"Affinities must not be negative: that of samples {i} and {j} is {least:.3g}. Distances become affinities "
            'by a decreasing function such as exp(-gamma d^2); of kernels, "rbf" and "laplacian" are never negative.'
        )
    return ""


def _place_of(A: Array, entry: int) -> tuple[int, int]:
    return int(np.searchsorted(A.indptr, entry, side="right")) - 1, int(A.indices[entry])


def is_symmetric(A: Array) -> bool:
    """Whether a matrix is symmetric up to rounding, as scikit-learn asks for it."""
    if is_sparse(A):
        difference = abs(A - A.T)
        return not difference.nnz or bool(difference.max() <= 1e-10)
    n = len(A)
    cuts = range(0, n, BLOCK)
    return all(np.allclose(A[a : a + BLOCK, a:], A[a:, a : a + BLOCK].T, rtol=1e-5, atol=1e-8) for a in cuts)


def graph_of(A: Array, *, normalised: bool = True) -> Graph:
    """The graph of symmetric affinities."""
    n = A.shape[0]
    if not is_sparse(A):
        require_memory(f"The Laplacian of {n:,} samples", 8 * n * n, "Use a sparse graph of neighbours.")
    S = sparse.csr_array(A, dtype=np.float64) if is_sparse(A) else np.array(A, dtype=np.float64, order="C")
    S = _without_diagonal(S)
    degrees = np.asarray(S.sum(axis=1), dtype=np.float64).ravel()
    part = find_parts(S)
    if normalised:
        roots = np.sqrt(np.where(degrees > 0.0, degrees, 1.0))
        scale, diagonal = 1.0, np.ones(n)
        if is_sparse(S):
            S.data /= roots[np.repeat(np.arange(n), np.diff(S.indptr))] * roots[S.indices]
        else:
            S /= roots[:, None]
            S /= roots
        lengths = degrees
    else:
        roots, lengths = np.ones(n), np.ones(n)
        scale = float(np.max(degrees, initial=0.0)) or 1.0
        S *= 1.0 / scale
        diagonal = 2.0 - degrees / scale
    S = _with_diagonal(S, diagonal)
    return Graph(S, degrees, roots, part, _null_vectors(part, lengths), normalised, scale)


def _without_diagonal(S: Array) -> Array:
    if not is_sparse(S):
        np.fill_diagonal(S, 0.0)
        return S
    S = S.copy()
    S.sum_duplicates()
    S.data[S.indices == np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))] = 0.0
    S.eliminate_zeros()
    return S


def _with_diagonal(S: Array, diagonal: Floats) -> Array:
    if is_sparse(S):
        return sparse.csr_array(S + sparse.diags_array(diagonal, format="csr"))
    np.fill_diagonal(S, diagonal)
    return S


def find_parts(W: Array) -> Integers:
    """The number of the connected part of each sample, in the order of their first samples."""
    if is_sparse(W):
        return np.asarray(csgraph.connected_components(W, directed=False)[1])
    n, count = len(W), 0
    part = np.full(n, -1)
    for first in range(n):
        if part[first] >= 0:
            continue
        part[first], reached = count, np.array([first])
        while reached.size:
            new = np.zeros(n, dtype=bool)
            for a in range(0, len(reached), BLOCK):
                if np.min(part) >= 0:
                    break
                new |= (W[reached[a : a + BLOCK]] != 0.0).any(axis=0) & (part < 0)
                part[new] = count
            reached = np.flatnonzero(new)
        count += 1
        if np.min(part) >= 0:
            break
    return part


def _null_vectors(part: Integers, lengths: Floats) -> Floats:
    """Unit vectors sqrt(lengths) on each part; none of a part without length."""
    weight = np.bincount(part, weights=lengths)
    order = np.argsort(-weight, kind="stable")
    order = order[weight[order] > 0.0]
    null = np.zeros((len(order), len(part)))
    for row, number in enumerate(order):
        inside = part == number
        null[row, inside] = np.sqrt(lengths[inside] / weight[number])
    return null
