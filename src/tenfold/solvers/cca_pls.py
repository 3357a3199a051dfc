"""CCA and PLS: pairs of directions in two blocks of variables, or in several, from factors of their second moments.

X and y (centred, perhaps scaled) are given as factors F and G with F'F = X'X, F'G = X'y, G'G = y'y and no more rows
than the two have columns: those of X and y in another orthonormal basis, so inner products are the same.

canonical   CCA: max a'X'y b with a'(X'X + ridge)a = b'(y'y + ridge)b = 1. With F = U s V' the directions are
            V (s^2 + ridge)^-1/2 times the singular vectors of (s / sqrt(s^2 + ridge)) U' of both blocks.
deflate     PLS: max a'X'y b with |a| = |b| = 1; then both blocks are deflated by the scores, and so on.
singular    PLS-SVD: all directions at once, without deflation.
views       Multiview CCA: directions of any number of blocks with the largest sum of correlations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats
from tenfold.linear_algebra import eigh, svd
from tenfold.machine import one_blas_thread

RANK_TOL = 1e6 * np.finfo(np.float64).eps  # relative singular values of a block below this are rounding

TIE_TOL = 1e-9  # correlations that differ by less are equal: a rotation of their pairs changes residuals by no more

EXPLAINED_TOL = 64.0 * np.finfo(np.float64).eps  # relative norm of a column that is fully explained


@dataclass(frozen=True)
class Pairs:
    """The pairs of both blocks: `weights` (columns, k) give the scores from the deflated block, `rotations` from the
    block itself, `loadings` give the block from the scores; `values` are the covariances or correlations. There are
    `reached` pairs, and zeros behind them.
    """

    x_weights: Floats
    y_weights: Floats
    x_loadings: Floats
    y_loadings: Floats
    x_rotations: Floats
    y_rotations: Floats
    values: Floats
    reached: int


def canonical(F: Floats, G: Floats, count: int, ridge: Sequence[float]) -> Pairs:
    """The pairs with the largest correlations.

    The weights of a score in the deflated block are unique only up to those of the earlier scores; the shortest are
    taken, orthogonal to those of all before. Along directions in which a block does not vary, because its columns are
    linearly dependent, weights are zero. Pairs of equal correlation, as all are where there are no more samples than
    features, may be rotated into each other: those come first whose scores explain most of the variance of X.
    """
    with one_blas_thread:
        (K, left), (M, right) = _whiten(F, ridge[0]), _whiten(G, ridge[1])
        product = left.T @ right
    u, values, v = svd(product)
    v = v.T
    k = min(count, len(values))
    for tie in _ties(values):
        # unit scores t of a block F explain |F't|^2 of it
        rotation, y_rotation = _by_variance(F, left @ u[:, tie]), None
        if values[tie.start] <= TIE_TOL:  # of correlation zero: each block by itself
            y_rotation = _by_variance(G, right @ v[:, tie])
        u[:, tie], v[:, tie] = u[:, tie] @ rotation, v[:, tie] @ (rotation if y_rotation is None else y_rotation)
    with one_blas_thread:
        x_weights, x_rotations = _orthonormal(K @ u[:, :k])
        y_weights, y_rotations = _orthonormal(M @ v[:, :k])
        sign = _signs(x_weights)
        x_loadings, y_loadings = _regress(F, x_rotations * sign), _regress(G, y_rotations * sign)

    def pad(columns: Floats) -> Floats:
        return np.hstack([columns, np.zeros((len(columns), count - k))])

    return Pairs(
        pad(x_weights * sign),
        pad(y_weights * sign),
        pad(x_loadings),
        pad(y_loadings),
        pad(x_rotations * sign),
        pad(y_rotations * sign),
        np.append(np.minimum(values[:k], 1.0), np.zeros(count - k)),
        k,
    )


def _ties(values: Floats) -> list[slice]:
    """Runs of two and more equal values, in descending order."""
    ties, begin = [], 0
    for end in range(1, len(values) + 1):
        if end == len(values) or values[begin] - values[end] > TIE_TOL:
            ties += [slice(begin, end)] if end - begin > 1 else []
            begin = end
    return ties


def _by_variance(F: Floats, scores: Floats) -> Floats:
    """The rotation of orthonormal scores of a block by which the first explain most of its variance."""
    with one_blas_thread:
        image = F.T @ scores
        square = image.T @ image
    return np.ascontiguousarray(eigh(square)[1][:, ::-1])


def _whiten(F: Floats, ridge: float) -> tuple[Floats, Floats]:
    """K with K'(F'F + ridge)K = I, and F K."""
    U, s, V = svd(F)
    kept = s > RANK_TOL * np.max(s, initial=0.0)
    size = np.sqrt(s[kept] ** 2 + ridge)
    K = V[kept].T / size
    K[np.max(np.abs(F), axis=0, initial=0.0) == 0.0] = 0.0  # a constant column has no weight
    return K, U[:, kept] * (s[kept] / size)


def _orthonormal(A: Floats) -> tuple[Floats, Floats]:
    """Orthonormal Q whose first columns span those of A, and A scaled by columns to Q T, T with a unit diagonal."""
    Q, T = la.qr(A, mode="economic", check_finite=False)
    size = np.diag(T)
    return np.asarray(Q * np.where(size < 0.0, -1.0, 1.0)), np.asarray(A / np.abs(size))


def _regress(F: Floats, rotations: Floats) -> Floats:
    """The loadings: the regression of F on the scores F rotations."""
    scores = F @ rotations
    return np.asarray(la.lstsq(scores, F, check_finite=False)[0].T)


def _signs(weights: Floats) -> Floats:
    """Signs that make the largest entry of each column positive."""
    largest = weights[np.argmax(np.abs(weights), axis=0), np.arange(weights.shape[1])]
    return np.where(largest < 0.0, -1.0, 1.0)


def deflate(F: Floats, G: Floats, count: int, *, by_own: bool) -> Pairs:
    """Pairs with the largest covariance in the deflated blocks: y is deflated by its own scores, or by those of X, and
    then the loadings of y are its weights.
    """
    p, t = F.shape[1], G.shape[1]
    W, V, P, Q = (np.zeros((size, count)) for size in (p, t, p, t))
    values, reached = np.zeros(count), 0
    F, G, norms = F.copy(), G.copy(), np.linalg.norm(G, axis=0)
    with one_blas_thread:
        for k in range(count):
            G[:, np.linalg.norm(G, axis=0) <= EXPLAINED_TOL * norms] = 0.0
            C = F.T @ G
            if not C.any():
                break
            w, v, values[k] = _leading(C)
            scores = F @ w
            W[:, k], P[:, k] = w, scores @ F / (scores @ scores)
            y_scores = G @ v if by_own else scores
            Q[:, k] = y_scores @ G / (y_scores @ y_scores)
            V[:, k] = v if by_own else Q[:, k]
            F -= np.outer(scores, P[:, k])
            G -= np.outer(y_scores, Q[:, k])
            reached = k + 1
        rotations = [A @ la.pinv(B.T @ A, check_finite=False) for A, B in ((W, P), (V, Q))]
    return Pairs(W, V, P, Q, rotations[0], rotations[1], values, reached)


def _leading(C: Floats) -> tuple[Floats, Floats, float]:
    """The first singular vectors of C and their value; the largest entry of the left one is positive."""
    tall = C.shape[0] >= C.shape[1]
    A = C if tall else C.T
    last = A.shape[1] - 1
    v = eigh(A.T @ A, last)[1][:, 0]
    u = A @ v
    for _ in range(2):  # A'A has lost digits: steps of the power method restore them
        v = A.T @ u
        u = A @ (v / np.linalg.norm(v))
    u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    left, right = (u, v) if tall else (v, u)
    sign = -1.0 if left[np.argmax(np.abs(left))] < 0.0 else 1.0
    return sign * left, sign * right, float(left @ C @ right)


def singular(F: Floats, G: Floats, count: int) -> tuple[Floats, Floats]:
    """The first singular vectors of F'G, as columns."""
    with one_blas_thread:
        C = F.T @ G
    u, _, v = svd(C)
    sign = _signs(u[:, :count])
    return u[:, :count] * sign, v[:count].T * sign


def views(parts: Sequence[Floats], count: int, ridge: Sequence[float]) -> tuple[list[Floats], Floats]:
    """Directions (columns, count) of several views, and their values r: O c = r D c, O the products of each view with
    the others, D those of each with itself plus its ridge, and c'D c the number of views.
    """
    with one_blas_thread:
        whitened_views = [_whiten(F, more) for F, more in zip(parts, ridge, strict=True)]
        stacked = np.hstack([scores for _, scores in whitened_views])
        O = stacked.T @ stacked  # noqa: E741
        ends = np.cumsum([0, *(K.shape[1] for K, _ in whitened_views)])
        slices = [slice(a, b) for a, b in pairwise(ends)]
        for part_slice in slices:
            O[part_slice, part_slice] = 0.0
        size = len(O)
        values, c = eigh(O, size - count)
        c = c[:, ::-1] * np.sqrt(len(parts))
        rotations = [K @ c[part_slice] for (K, _), part_slice in zip(whitened_views, slices, strict=True)]
    sign = _signs(np.vstack(rotations))
    return [part * sign for part in rotations], values[::-1]
