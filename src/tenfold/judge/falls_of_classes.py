"""How far the objective of a softmax problem can fall from a point, by its Newton step (newton_decrement_bound.py).

Third derivatives along a direction d are at most the curvature times the largest difference between two classes of x.d.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats, Integers, is_sparse, like, namespace
from tenfold.data import Block, resolve
from tenfold.judge.newton_decrement_bound import TILE, price
from tenfold.judge.points_of_classes import Data, Point, read
from tenfold.machine import one_blas_thread
from tenfold.stats.derivatives import Params, Total, adjoint
from tenfold.stats.min_max import Extremes, of_columns

EPS = float(np.finfo(np.float64).eps)


class Inverse(NamedTuple):
    """The inverse of a Hessian (K k, K k), and its reciprocal condition after scaling to a unit diagonal."""

    whole: Floats
    rcond: float


def inverted(data: Data, hessian: Floats, K: int) -> Inverse | None:
    """What is added to the coefficients of all classes alike changes nothing, but for penalised weights: only such
    directions, in which the gradient is zero too, are penalised here.
    """
    if not np.isfinite(hessian).all():
        return None
    k = len(hessian) // K
    lifted = hessian.reshape(K, k, K, k).copy()
    curved = np.einsum("cjcj->j", lifted)
    if np.any(curved == 0.0):
        if not _nowhere(data, np.flatnonzero(curved == 0.0)):
            return None
        lifted[:, curved == 0.0, :, curved == 0.0] = np.eye(K)
    each = np.arange(len(data.centre) if data.squared else 0, k)
    lifted[:, each, :, each] += np.einsum("cjcj->j", lifted)[each, None, None] / K**2
    H = lifted.reshape(K * k, K * k)
    scale = np.sqrt(np.where(np.diag(H) > 0.0, np.diag(H), 1.0))
    scaled = np.asfortranarray(H / scale / scale[:, None])
    norm = float(np.abs(scaled).sum(axis=0).max(initial=0.0))
    with one_blas_thread:
        lower, info = lapack.dpotrf(scaled, lower=1)
        rcond = float(lapack.dpocon(lower, norm, uplo="L")[0]) if info == 0 else 0.0
        if not rcond > 1e-13:
            return None
        inverse = lapack.dpotri(lower, lower=1)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return Inverse(inverse / scale / scale[:, None], rcond)


def _nowhere(data: Data, features: Integers) -> bool:
    """Whether these features are zero in every row, measured from the centre where there is an intercept: then they
    change no model. That their curvatures are zero does not tell, for these may be too small for a number.
    """
    if np.any(features >= len(data.centre)):
        return False
    if data.rows.sparse:  # never centred
        return bool(np.all(data.rows.fold(_absolute_sums).sum[features] == 0.0))
    ends, at = data.rows.fold(of_columns), data.centre if data.intercept else np.zeros_like(data.centre)
    return all(bool(np.all(end[features] == at[features])) for end in (ends.low, ends.high))


def _absolute_sums(block: Block) -> Total:
    """sum |x| of each feature."""
    return Total(adjoint(abs(block.X), np.ones((block.X.shape[0], 1)))[0])


def _gradient(data: Data, point: Point) -> Floats:
    """The gradient in all coefficients, in the order of the Hessian."""
    return (np.column_stack([point.gradient, point.slope]) if data.intercept else point.gradient).ravel()


def fall(data: Data, point: Point, inverse: Inverse) -> float:
    """How far the objective can fall from `point`; infinite where the bound does not reach."""
    g = _gradient(data, point)
    square = float(g @ inverse.whole @ g) * (1.0 + 8.0 * len(g) * EPS / inverse.rcond)
    if not square > 0.0:
        return 0.0 if square == 0.0 else np.inf
    K = len(point.slope)
    k = len(g) // K
    blocks = inverse.whole.reshape(K, k, K, k)
    halves = []
    with one_blas_thread:
        for c in range(K):
            block = np.asfortranarray(blocks[c, :, c, :])
            lower, info = lapack.dpotrf(block, lower=1)
            if info != 0:
                return np.inf
            halves.append(np.tril(lower))
    lift = partial(_leverages, data.intercept, data.centre, np.array(halves))
    # (e_k - e_l) x has at most twice the squared length of e_k x plus that of e_l x
    largest = 4.0 * float(np.max(data.rows.fold(lift).high))
    return price(float(np.sqrt(square * largest)), 1.0) / largest if np.isfinite(largest) and largest > 0.0 else np.inf


def _leverages(intercept: bool, centre: Floats, halves: Floats, block: Block) -> Extremes:
    """The lift of the largest x'A x of each class, A = half half'."""
    xp = namespace(block.y)
    found = Extremes(np.full(len(halves), np.inf), np.full(len(halves), -np.inf))
    for start in range(0, block.y.shape[0], TILE):
        part = slice(start, min(block.y.shape[0], start + TILE))
        X = block.X[part].toarray() if is_sparse(block.X) else block.X[part, :]
        X = xp.astype(X, xp.float64, copy=False)
        if intercept:
            X = xp.concat([X - like(centre, X), xp.ones_like(X[:, :1])], axis=1)
        squares = [xp.sum(xp.matmul(X, like(half, X)) ** 2, axis=1) for half in halves]
        weight = None if block.weight is None else block.weight[part]
        found = found.merge(resolve(Extremes.of(xp.stack(squares, axis=1), weight)))
    return found


def newton_step(data: Data, point: Point, inverse: Inverse) -> Point | None:
    """The point a Newton step away, shortened until the objective falls; None where it does not."""
    K, p = point.gradient.shape
    d = -(inverse.whole @ _gradient(data, point)).reshape(K, -1)
    for size in (1.0, 0.5, 0.25, 0.125, 0.05, 0.01, 1e-3, 1e-4):
        moved = point.params.intercept + (size * d[:, p] if data.intercept else 0.0)
        new = read(data, Params(point.params.coef + size * d[:, :p], moved), 2)
        if new.value <= point.value:
            return new
    return None
