"""FastICA (Hyvarinen and Oja 2000): rotations of whitened samples, by fixed points of a contrast function.

With orthonormal rows w_i and projections s = W z of white samples z, let A = E[g(s) s'] - diag(E[g'(s)]). A step of all
components is W <- (A A')^-1/2 A W; of one component j it is row j of A W, orthogonal to the components before it. A
rotation is stationary where M = diag(sigma) E[g(s) s'] is symmetric, sigma_i = sign(E[g(s_i) s_i] - E[g'(s_i)]);
component j alone, where M_ji = 0 for all i > j.

The statistic of the samples is asked for by `fold`, which gives it for a rotation.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.linear_algebra import eigh, product
from tenfold.solvers.loop import Step
from tenfold.stats.contrasts import Contrasts

Fold = Callable[[Floats, slice], Contrasts]


class Rotation(NamedTuple):
    """Orthonormal rows (k, k), and the asymmetry of M relative to its size."""

    rows: Floats
    asymmetry: float


def orthonormalise(A: Floats) -> Floats:
    """(A A')^-1/2 A, the nearest matrix with orthonormal rows."""
    left, _, right = np.linalg.svd(A)
    return np.asarray(left @ right)


def decorrelate(A: Floats) -> Floats:
    """The same by the eigenvectors of A A', one Newton step nearer to orthonormal rows."""
    values, vectors = eigh(product(A, A.T))
    if not values[0] > 1e-12 * values[-1]:
        return orthonormalise(A)
    W = product(product(vectors / np.sqrt(values), vectors.T), A)
    return 1.5 * W - 0.5 * product(product(W, W.T), W)


def parallel_steps(fold: Fold, start: Floats, tol: float) -> Iterator[Step]:
    """Steps of all components until the asymmetry is at most `tol`."""
    W = decorrelate(start)
    while True:
        sums = fold(W, slice(None))
        M, slope = sums.products / sums.weight, sums.slopes / sums.weight
        sign = np.where(np.diag(M) >= slope, 1.0, -1.0)
        M, slope = sign[:, None] * M, sign * slope
        size = float(np.linalg.norm(M)) or 1.0
        asymmetry = float(np.linalg.norm(M - M.T)) / (2.0 * size)
        yield Step(Rotation(W, asymmetry), asymmetry, asymmetry / tol)
        W = decorrelate(product(M - np.diag(slope), W))


def deflation_steps(fold: Fold, W: Floats, j: int, tol: float) -> Iterator[Step]:
    """Steps of component j of orthonormal rows, until what M has above its diagonal is at most `tol` of its size."""
    W = W.copy()
    while True:
        sums = fold(W, slice(j, j + 1))
        M, slope = sums.products[0] / sums.weight, float(sums.slopes[0]) / sums.weight
        size = float(np.linalg.norm(M)) or 1.0
        rest = float(np.linalg.norm(M[j + 1 :])) / size
        yield Step(Rotation(W, rest), rest, rest / tol)
        turned = M.copy()
        turned[:j] = 0.0
        turned[j] -= slope
        W = _replace(W, j, (turned if turned[j] >= 0.0 else -turned) @ W)


def _replace(W: Floats, j: int, row: Floats) -> Floats:
    """Orthonormal rows whose row j is along `row`, made orthogonal to those before, with the same span behind."""
    row = row - (row @ W[:j].T) @ W[:j]
    length = float(np.linalg.norm(row))
    if not length > 0.0:
        return W
    behind = np.vstack([row / length, W[j:]])
    Q, R = np.linalg.qr(np.vstack([W[:j], behind]).T)
    return np.asarray((Q * np.where(np.diag(R) < 0.0, -1.0, 1.0)[: Q.shape[1]]).T)
