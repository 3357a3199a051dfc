"""Pairs of directions in two blocks of columns, or in more, from factors of their second moments.

X and y (centred, perhaps scaled) come as factors F and G with as few rows as the two have columns and F'F = X'X,
F'G = X'y, G'G = y'y: the rows of F and G are the rows of X and y in another basis, so what is orthogonal there is
orthogonal here.

canonical   a'X'y b is largest, where a'(X'X + ridge)a = b'(y'y + ridge)b = 1: with F = U s V' the columns of
            V (s^2 + ridge)^-1/2 times the singular vectors of (s / sqrt(s^2 + ridge)) U' of both blocks.
deflated    a'X'y b is largest, where |a| = |b| = 1; then what the scores explain is taken from the blocks, and again.
singular    The same at once, nothing taken.
views       Canonical directions of any number of blocks, whose correlations with each other are largest in sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats
from tenfold.linear_algebra import eigh, svd
from tenfold.machine import one_blas_thread

RANK = 1e6 * np.finfo(np.float64).eps
"""A direction along which a block varies less, relative to its largest, is rounding."""

TIED = 1e-9
"""Correlations that differ by less are equal: a rotation of their pairs changes residuals by no more."""

NOTHING = 64.0 * np.finfo(np.float64).eps
"""What is left of a column, relative to all of it, when it is explained."""


@dataclass(frozen=True)
class Pairs:
    """Of each block: `weights` (columns, k) that give the scores from what is left of the block, `rotations` that give
    them from the block itself, and `loadings`, which give the block from the scores; the covariances or correlations of
    the pairs. There are `reached` pairs, and zeros behind them.
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

    What is left of a block when the scores so far are taken out has the weights of the next score only up to those of
    the earlier ones; the shortest are taken: those of one score orthogonal to those of all before it. Along directions
    in which a block does not vary, because columns depend on others, weights are zero. Pairs of equal correlation, as
    all are where there are no more rows than columns, may be turned into each other: those come first whose scores
    explain most of the variance of X.
    """
    with one_blas_thread:
        (K, left), (M, right) = _whitened(F, ridge[0]), _whitened(G, ridge[1])
        product = left.T @ right
    u, values, v = svd(product)
    v = v.T
    k = min(count, len(values))
    for tied in _ties(values):
        # unit scores t of a block F explain |F't|^2 of it
        turn, other = _by_variance(F, left @ u[:, tied]), None
        if values[tied.start] <= TIED:  # pairs of nothing: each side by itself
            other = _by_variance(G, right @ v[:, tied])
        u[:, tied], v[:, tied] = u[:, tied] @ turn, v[:, tied] @ (turn if other is None else other)
    with one_blas_thread:
        x_weights, x_rotations = _orthonormal(K @ u[:, :k])
        y_weights, y_rotations = _orthonormal(M @ v[:, :k])
        sign = _signs(x_weights)
        x_loadings, y_loadings = _explained(F, x_rotations * sign), _explained(G, y_rotations * sign)

    def padded(found: Floats) -> Floats:
        return np.hstack([found, np.zeros((len(found), count - k))])

    return Pairs(
        padded(x_weights * sign),
        padded(y_weights * sign),
        padded(x_loadings),
        padded(y_loadings),
        padded(x_rotations * sign),
        padded(y_rotations * sign),
        np.append(np.minimum(values[:k], 1.0), np.zeros(count - k)),
        k,
    )


def _ties(values: Floats) -> list[slice]:
    """Runs of more than one value, in descending order, that are equal to rounding."""
    found, begin = [], 0
    for end in range(1, len(values) + 1):
        if end == len(values) or values[begin] - values[end] > TIED:
            found += [slice(begin, end)] if end - begin > 1 else []
            begin = end
    return found


def _by_variance(F: Floats, scores: Floats) -> Floats:
    """The rotation of orthonormal scores of a block after which those come first that explain most of it."""
    with one_blas_thread:
        image = F.T @ scores
        square = image.T @ image
    return np.ascontiguousarray(eigh(square)[1][:, ::-1])


def _whitened(F: Floats, ridge: float) -> tuple[Floats, Floats]:
    """K with K'(F'F + ridge)K = I, and F K."""
    U, s, V = svd(F)
    kept = s > RANK * np.max(s, initial=0.0)
    size = np.sqrt(s[kept] ** 2 + ridge)
    K = V[kept].T / size
    K[np.max(np.abs(F), axis=0, initial=0.0) == 0.0] = 0.0  # a constant column has no part in it
    return K, U[:, kept] * (s[kept] / size)


def _orthonormal(A: Floats) -> tuple[Floats, Floats]:
    """Orthonormal Q whose first columns span those of A, and A with columns a multiple of which is as in Q T, T with
    ones on its diagonal.
    """
    Q, T = la.qr(A, mode="economic", check_finite=False)
    size = np.diag(T)
    return np.asarray(Q * np.where(size < 0.0, -1.0, 1.0)), np.asarray(A / np.abs(size))


def _explained(F: Floats, rotations: Floats) -> Floats:
    """The loadings of the scores F rotations: the regression of F on them."""
    scores = F @ rotations
    return np.asarray(la.lstsq(scores, F, check_finite=False)[0].T)


def _signs(weights: Floats) -> Floats:
    """Those that make the largest entry of each column positive."""
    largest = weights[np.argmax(np.abs(weights), axis=0), np.arange(weights.shape[1])]
    return np.where(largest < 0.0, -1.0, 1.0)


def deflated(F: Floats, G: Floats, count: int, *, by_own: bool) -> Pairs:
    """Pairs with the largest covariance in what is left of the blocks: y is regressed on its own scores, or on those of
    X, and then the loadings of y are its weights.
    """
    p, t = F.shape[1], G.shape[1]
    W, V, P, Q = (np.zeros((size, count)) for size in (p, t, p, t))
    values, reached = np.zeros(count), 0
    F, G, whole = F.copy(), G.copy(), np.linalg.norm(G, axis=0)
    with one_blas_thread:
        for k in range(count):
            G[:, np.linalg.norm(G, axis=0) <= NOTHING * whole] = 0.0
            C = F.T @ G
            if not C.any():
                break
            w, v, values[k] = _leading(C)
            scores = F @ w
            W[:, k], P[:, k] = w, scores @ F / (scores @ scores)
            own = G @ v if by_own else scores
            Q[:, k] = own @ G / (own @ own)
            V[:, k] = v if by_own else Q[:, k]
            F -= np.outer(scores, P[:, k])
            G -= np.outer(own, Q[:, k])
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
    for _ in range(2):  # the square has lost digits of what is small: steps of the power method bring them back
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
    """Directions (columns, count) of several views, and their values r: O c = r D c, with O the products of each view
    with the others, D those of each with itself and its ridge, and c'D c the number of views.
    """
    with one_blas_thread:
        whitened = [_whitened(F, more) for F, more in zip(parts, ridge, strict=True)]
        joint = np.hstack([scores for _, scores in whitened])
        O = joint.T @ joint  # noqa: E741
        ends = np.cumsum([0, *(K.shape[1] for K, _ in whitened)])
        cuts = [slice(a, b) for a, b in pairwise(ends)]
        for cut in cuts:
            O[cut, cut] = 0.0
        size = len(O)
        values, c = eigh(O, size - count)
        c = c[:, ::-1] * np.sqrt(len(parts))
        found = [K @ c[cut] for (K, _), cut in zip(whitened, cuts, strict=True)]
    sign = _signs(np.vstack(found))
    return [part * sign for part in found], values[::-1]
