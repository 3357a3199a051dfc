"""How far a convex objective can fall from a point, by its Newton step: a bound that needs no penalty and no units.

For a loss with |loss'''| <= M loss'' the curvature along a direction d falls by no more than exp(-M |x.d|), x the row
for which that is largest. With v^2 = g'H^-1 g and S^2 the largest x'H^-1 x of a row, no parameters are better by more
than B(v S) / S^2, B(a) = (M a + (1 - M a) log(1 - M a)) / M^2, where M v S < 1; there is an optimum then. For M = 0
that is v^2 / 2. (After Bach 2010, proposition 2.)
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Array, Floats, is_numpy, is_sparse, like, namespace, on_host
from tenfold.data import Block, Lifted, Pending, weights_of
from tenfold.judge.points import SAMPLE_ROWS, Data, Point, local, outer_intercept, read
from tenfold.losses import Loss
from tenfold.machine import one_blas_thread
from tenfold.stats import Extremes, Params, Total, back_times, of_predictions, times

EPS = float(np.finfo(np.float64).eps)

TILE = 4096
"""So many rows at a time."""


def price(a: float, steepness: float) -> float:
    """B(a), infinite from a = 1 / M on; for small a, where digits cancel, a bound from above."""
    m = steepness * a
    if not m < 1.0:
        return np.inf
    return 0.5 * a * a / (1.0 - m) if m < 1e-4 else (m + (1.0 - m) * float(np.log1p(-m))) / steepness**2


def newton_bound(data: Data, point: Point) -> float:
    """How far the objective can fall from `point`; infinite where the bound does not reach.

    A row whose share of the curvature is m has x'H^-1 x <= 1/m, which is enough for most.
    """
    assert point.hessian is not None
    steepness = data.problem.loss.steepness
    if not np.isfinite(steepness):
        return np.inf
    factor = factored(point.hessian)
    if factor is None or not _spans(data, point.hessian, factor):
        return np.inf
    square = float(np.sum(point.gradient * factor.solve(point.gradient)))
    square *= 1.0 + 8.0 * len(data.centre) * EPS / factor.rcond
    if not square > 0.0:
        return 0.0 if square == 0.0 else np.inf
    if steepness == 0.0:
        return 0.5 * square
    rows = _Noticed.at(data, point, 100.0 * square)
    found = data.rows.fold(rows.lift)
    if found.small > max(4 * SAMPLE_ROWS, data.rows.shape[0] // 8):
        return np.inf  # far from the optimum: step first
    largest = 1.0 / found.least
    if found.small:
        leverages = data.rows.fold(lambda block: Extremes.of(factor.leverages(rows.dim(block)), None))
        largest = max(largest, float(leverages.high[0]))
    bound = price(float(np.sqrt(square * largest)), data.problem.loss.steepness)
    return bound / largest if np.isfinite(largest) else np.inf


def tilted_bound(data: Data, point: Point) -> float:
    """How far the objective can fall from `point`, for a loss made of parabolas: infinite where one of them ends.

    With d = H^-1 g, curvatures c and a penalty theta'R theta / 2, slopes u - c x.d pull at the weights as R does at
    those of a full step, theta - d, and with what the parabolas cost them bound the fall by about d'H d / 2. Units of
    columns do not matter to it. What rounding leaves over of the pulls, r, changes it by d.r, and by its own tilt.
    """
    assert point.hessian is not None
    factor = factored(point.hessian)
    if factor is None or len(factor.kept) < len(point.gradient):
        return np.inf
    problem, c, p = data.problem, data.centre, len(data.centre)
    d = np.append(factor.solve(point.gradient), 0.0)[: p + 1]
    at, by = (local(data, part) for part in (point.params, Params(d[None, :p].copy(), d[p:].copy())))

    def lift(block: Block) -> Total:
        z, weight = times(block.X, at, c), weights_of(block)[:, None]
        xp, loss = namespace(z), problem.loss
        u = loss.slope(block.y, z) - loss.curvature(block.y, z) * times(block.X, by, c)
        inside = loss.clip(block.y, u)
        outside = xp.astype((inside != u) & (weight > 0.0), xp.float64)
        terms = loss.value(block.y, z) + loss.conjugate(block.y, inside) - inside * z
        terms = xp.where(weight > 0.0, weight * terms, xp.zeros_like(terms))
        sums = [float(on_host(xp.sum(part))) for part in (weight * inside, terms, outside)]
        return Total(np.append(back_times(block.X, weight * inside, c)[0], sums))

    sums = data.rows.fold(lift).sum / point.weight
    pull, (tilt, term, outside) = sums[:-3], sums[-3:]
    if outside > 0.0:
        return np.inf
    ahead = Params(point.params.coef - d[None, :p], point.params.intercept - d[p:])
    left = np.append(pull + data.strength * ahead.coef[0], tilt)
    ridge = data.strength * float(np.sum(d[:p] ** 2))
    if problem.tie > 0.0:
        ends, b = np.append(-c, 1.0), outer_intercept(data, point.params)
        moved = b - outer_intercept(data, ahead)
        left += problem.tie * (b - moved) * ends
        ridge += problem.tie * moved * moved
    left = left if problem.intercept else left[:p] + tilt * c
    step = d[: len(left)]
    missed = abs(float(np.sum(step * left))) + 0.5 * abs(float(np.sum(left * factor.solve(left))))
    return max(float(term), 0.0) + 0.5 * ridge + missed


class _Shares(NamedTuple):
    """How many rows have a small share of the curvature, and the least share of the others."""

    small: int
    least: float

    @classmethod
    def of(cls, small: Any, least: Any) -> "_Shares":
        """From arrays of one number each."""
        return cls(int(small), float(least))

    def merge(self, other: "_Shares") -> "_Shares":
        return _Shares(self.small + other.small, min(self.least, other.least))


class _Noticed(NamedTuple):
    """The rows of positive weight by their share of the curvature at a point, small or not. It goes to the rows, and
    holds none.
    """

    loss: Loss
    params: Params  # for rows measured from the centre
    centre: Floats
    intercept: bool
    weight: float
    limit: float

    @classmethod
    def at(cls, data: Data, point: Point, limit: float) -> "_Noticed":
        problem = data.problem
        return cls(problem.loss, local(data, point.params), data.centre, problem.intercept, point.weight, limit)

    def _shares(self, block: Block) -> tuple[Array, Array]:
        """The share of every row, and which are small."""
        share = self.loss.curvature(block.y, times(block.X, self.params, self.centre))[:, 0] / self.weight
        if block.weight is None:
            return share, share < self.limit
        share = share * block.weight
        return share, (block.weight > 0.0) & (share < self.limit)

    def lift(self, block: Block) -> Lifted[_Shares]:
        if not block.y.shape[0]:
            return _Shares(0, np.inf)
        xp = namespace(block.y)
        share, small = self._shares(block)
        inside = ~small if block.weight is None else (block.weight > 0.0) & ~small
        found = xp.sum(xp.astype(small, xp.float64)), xp.min(xp.where(inside, share, xp.inf))
        return _Shares.of(*found) if is_numpy(block.y) else Pending.of(found, lambda _, *parts: _Shares.of(*parts))

    def dim(self, block: Block) -> Array:
        """The small rows (m, k) of a block about the centre, dense, with a one for the intercept."""
        xp = namespace(block.y)
        small = xp.nonzero(self._shares(block)[1])[0]
        X = block.X[small].toarray() if is_sparse(block.X) else xp.take(block.X, small, axis=0)
        X = xp.astype(X, xp.float64, copy=False)
        if not self.intercept:
            return X
        return xp.concat([X - like(self.centre, X), xp.ones_like(X[:, :1])], axis=1)


def newton_step(data: Data, point: Point) -> Point | None:
    """The point a Newton step away, halved until the objective falls; None where it does not."""
    assert point.hessian is not None
    factor = factored(point.hessian)
    if factor is None:
        return None
    p = len(data.centre)
    d = np.append(-factor.solve(point.gradient), 0.0)[: p + 1]
    for length in (1.0, 0.5, 0.25, 0.125, 0.05, 0.01, 1e-3, 1e-4):
        s = length * d
        new = read(data, Params(point.params.coef + s[None, :p], point.params.intercept + s[p:]), 2)
        if new.value <= point.value:
            return new
    return None


class _Factor(NamedTuple):
    """Cholesky factor of the rows and columns `kept` of a matrix with its diagonal scaled to one, and their reciprocal
    condition.
    """

    lower: Floats
    scale: Floats
    kept: Any
    rcond: float

    def solve(self, b: Floats) -> Floats:
        """The solution with zeros for what was not kept; b is (k,)."""
        x = np.zeros_like(b)
        with one_blas_thread:
            x[self.kept] = lapack.dpotrs(self.lower, (b / self.scale)[self.kept], lower=1)[0]
        return x / self.scale

    def leverages(self, X: Array) -> Array:
        """x'A^-1 x of the rows of X (m, k), as (m, 1), a tile of rows at a time."""
        xp = namespace(X)
        inverse = np.zeros((len(self.kept), len(self.scale)))
        with one_blas_thread:
            inverse[:, self.kept] = lapack.dtrtri(self.lower, lower=1)[0] / self.scale[self.kept]
        half = like(np.ascontiguousarray(inverse.T), X)
        cuts = range(0, max(X.shape[0], 1), TILE)
        tiles = [X[start : min(start + TILE, X.shape[0]), :] @ half for start in cuts]
        return xp.concat([xp.sum(tile * tile, axis=1, keepdims=True) for tile in tiles], axis=0)


def factored(A: Floats) -> _Factor | None:
    """Factor after scaling, with pivots where it is singular; None where it holds no numbers."""
    if not np.isfinite(A).all():
        return None
    diagonal = np.diag(A)
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = np.asfortranarray(A / scale / scale[:, None])
    norm = float(np.abs(scaled).sum(axis=0).max(initial=0.0))
    with one_blas_thread:
        lower, info = lapack.dpotrf(scaled, lower=1)
        rcond = float(lapack.dpocon(lower, norm, uplo="L")[0]) if info == 0 else 0.0
        kept = np.arange(len(A))
        if rcond < 1e-13:
            _, pivots, rank, _ = lapack.dpstrf(scaled, tol=1e-13 * len(A), lower=1)
            kept = np.sort(pivots[:rank] - 1)
            lower, info = lapack.dpotrf(np.asfortranarray(scaled[np.ix_(kept, kept)]), lower=1)
            rcond = float(lapack.dpocon(lower, norm, uplo="L")[0]) if info == 0 and rank > 0 else 0.0
    return _Factor(lower, scale, kept, rcond) if rcond > 0.0 else None


def _spans(data: Data, hessian: Floats, factor: _Factor) -> bool:
    """Whether columns that were not kept are, in every row and to rounding, combinations of those that were: they then
    add no model.
    """
    k = len(hessian)
    if len(factor.kept) == k:
        return True
    dropped = np.setdiff1d(np.arange(k), factor.kept)
    p = len(data.centre)
    if data.strength > 0.0:
        return False
    mixed = np.array([factor.solve(hessian[j]) for j in dropped])
    mixed[np.arange(len(dropped)), dropped] -= 1.0
    coef = np.ascontiguousarray(mixed[:, :p])
    b = np.ascontiguousarray(mixed[:, p] if data.problem.intercept else coef @ data.centre)
    error = data.rows.fold(of_predictions(Params(coef, b), data.centre))
    lengths = np.abs(coef) @ (np.sqrt(data.squares) + np.abs(data.centre)) + np.abs(b)
    return bool(np.all(np.maximum(-error.low, error.high) <= 1e-12 * k * lengths))
