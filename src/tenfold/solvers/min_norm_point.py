"""Wolfe's method (1976): the point of least norm of a convex hull, of samples or of differences between two classes.

With an intercept the hull is that of all differences x_i - x_j, i of the second class and j of the first: its shortest
point is the shortest vector between the hulls of the classes, twice the largest margin. Without one it is the hull of
the signed samples y_i x_i. A corral of affinely independent points is kept with its shortest combination; the vertex
that is furthest towards the origin joins, and points whose coefficient would be negative leave. One pass over the
samples a step.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Array, Floats, Integers, is_sparse
from tenfold.machine import one_blas_thread
from tenfold.stats.derivatives import Params, forward


class Nearest(NamedTuple):
    """Samples (k,) of the shortest combination with their coefficients (k,), and the direction (p,) of the largest
    margin so far.
    """

    rows: Integers
    shares: Floats
    direction: Floats


def nearest_point(X: Array, sign: Floats, intercept: bool, tol: float, max_iter: int) -> Nearest:
    """Until the margin and its bound by the combination differ by at most `tol` of the bound, or the point is the
    origin up to rounding.
    """
    up, down = np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
    first = (int(up[0]), int(down[0])) if intercept else (int(up[0]), -1)
    pairs, points, shares = [first], [_point(X, sign, first)], np.ones(1)
    best_margin, direction, scale = -np.inf, points[0], 0.0
    for _ in range(max_iter):
        x = shares @ np.array(points)
        size = float(np.sqrt(np.sum(np.square(x))))
        scale = max(scale, size)
        if size <= 1e-15 * scale:
            break
        z = sign * forward(X, Params(np.ascontiguousarray(x[None, :]), np.zeros(1)))[:, 0]
        i = int(up[np.argmin(z[up])])
        j = int(down[np.argmin(z[down])]) if intercept else -1
        if not intercept:
            i = int(np.argmin(z))
        margin = float(z[i] + (z[j] if intercept else 0.0)) / size
        if margin > best_margin:
            best_margin, direction = margin, x / size
        if size - best_margin <= tol * size or (i, j) in pairs:
            break
        pairs.append((i, j))
        points.append(_point(X, sign, (i, j)))
        pairs, points, shares = _shortest(pairs, points, np.append(shares, 0.0))
    return _as_rows(pairs, shares, direction)


def _point(X: Array, sign: Floats, pair: tuple[int, int]) -> Floats:
    """A vertex: a difference of samples, or a signed sample."""
    i, j = pair
    return _row(X, i) - _row(X, j) if j >= 0 else sign[i] * _row(X, i)


def _row(X: Array, i: int) -> Floats:
    return np.asarray(X[[i]].toarray()[0] if is_sparse(X) else X[i], dtype=np.float64)


def _shortest(
    pairs: list[tuple[int, int]], points: list[Floats], shares: Floats
) -> tuple[list[tuple[int, int]], list[Floats], Floats]:
    """The shortest convex combination of the points, starting from the coefficients `shares`; points of coefficient
    zero leave.
    """
    while True:
        affine = _affine(np.array(points))
        if np.all(affine > 1e-14):
            return pairs, points, affine
        decreasing = affine < shares
        leaving = decreasing & (affine <= 1e-14)
        step = float(np.min(shares[leaving] / (shares[leaving] - affine[leaving]))) if leaving.any() else 1.0
        shares = (1.0 - step) * shares + step * affine
        keep = shares > 1e-14
        if keep.all():
            keep[np.argmin(shares)] = False
        shares = shares[keep] / shares[keep].sum()
        pairs = [pair for pair, stays in zip(pairs, keep, strict=True) if stays]
        points = [point for point, stays in zip(points, keep, strict=True) if stays]
        if len(points) == 1:
            return pairs, points, np.ones(1)


def _affine(P: Floats) -> Floats:
    """The coefficients, of any sign, of the shortest affine sum: (P P' + s 1 1') u = 1, divided by their sum."""
    G = np.einsum("ip,jp->ij", P, P)
    size = float(np.trace(G)) / len(G) or 1.0
    with one_blas_thread:
        _, _, u, info = lapack.dsysv(G / size + 1.0, np.ones(len(G)))
    total = float(u.sum())
    if info != 0 or not np.isfinite(u).all() or total == 0.0:
        return np.full(len(G), 1.0 / len(G))
    return u / total


def _as_rows(pairs: list[tuple[int, int]], shares: Floats, direction: Floats) -> Nearest:
    """Coefficients of samples from those of pairs."""
    total: dict[int, float] = {}
    for (i, j), share in zip(pairs, shares, strict=True):
        total[i] = total.get(i, 0.0) + float(share)
        if j >= 0:
            total[j] = total.get(j, 0.0) + float(share)
    rows = np.array(sorted(total), dtype=np.intp)
    return Nearest(rows, np.array([total[int(k)] for k in rows]), direction)
