"""How far a convex objective can fall from a point, by its Newton step: a bound that needs no penalty and no units.

For a loss with |loss'''| <= M loss'' the curvature along a direction d falls by no more than exp(-M |x.d|), x the row
for which that is largest. With v^2 = g'H^-1 g and S^2 the largest x'H^-1 x of a row, no parameters are better by more
than B(v S) / S^2, B(a) = (M a + (1 - M a) log(1 - M a)) / M^2, where M v S < 1; there is an optimum then. For M = 0
that is v^2 / 2. (After Bach 2010, proposition 2.)
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Array, Floats, contiguous, is_numpy, is_sparse, like, namespace, on_host
from tenfold.data import Block, Deferred, MaybeDeferred, weights_of
from tenfold.judge.dual_bound import ROUNDING, Aim, Slopes, bound_gap, sum_sizes
from tenfold.judge.objective_points import SAMPLE_ROWS, Data, Point, intercept_of, local, outer_intercept, read
from tenfold.losses.loss import Loss
from tenfold.machine import one_blas_thread
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params, Total, adjoint, forward
from tenfold.stats.min_max import Extremes

EPS = float(np.finfo(np.float64).eps)

TILE = 4096
"""So many rows at a time."""

REFINEMENTS = 3
"""So often a Newton step is solved for, with what rounding has left over of the pulls."""


def price(a: float, self_concordance: float) -> float:
    """B(a), infinite from a = 1 / M on; for small a, where digits cancel, a bound from above."""
    m = self_concordance * a
    if not m < 1.0:
        return np.inf
    return 0.5 * a * a / (1.0 - m) if m < 1e-4 else (m + (1.0 - m) * float(np.log1p(-m))) / self_concordance**2


def newton_bound(data: Data, point: Point) -> float:
    """How far the objective can fall from `point`; infinite where the bound does not reach.

    A row whose share of the curvature is m has x'H^-1 x <= 1/m, which is enough for most.
    """
    assert point.hessian is not None
    self_concordance = data.problem.loss.self_concordance
    if not np.isfinite(self_concordance):
        return np.inf
    factor = factored(point.hessian)
    if factor is None or not _spans(data, point, factor):
        return np.inf
    square = float(np.sum(point.gradient * factor.solve(point.gradient)))
    square *= 1.0 + 8.0 * len(data.centre) * EPS / factor.rcond
    if not square > 0.0:
        return 0.0 if square == 0.0 else np.inf
    if self_concordance == 0.0:
        return 0.5 * square
    rows = _Noticed.at(data, point, 100.0 * square)
    found = data.rows.fold(rows.lift)
    if found.small > max(4 * SAMPLE_ROWS, data.rows.shape[0] // 8):
        return np.inf  # far from the optimum: step first
    largest = 1.0 / found.least
    if found.small:
        leverages = data.rows.fold(lambda block: Extremes.of(factor.leverages(rows.dim(block)), None))
        largest = max(largest, float(leverages.high[0]))
    bound = price(float(np.sqrt(square * largest)), data.problem.loss.self_concordance)
    return bound / largest if np.isfinite(largest) else np.inf


def tilted_bound(data: Data, point: Point) -> float:
    """How far the objective can fall from `point`, for a loss made of parabolas: infinite where one of them ends.

    With d = H^-1 g, curvatures c and a penalty theta'R theta / 2, slopes u - c x.d pull at the weights as R does at
    those of a full step, theta - d, and with what the parabolas cost them bound the fall by about d'H d / 2. Units of
    columns do not matter to it. What rounding leaves over of the pulls is solved for again.
    """
    assert point.hessian is not None
    factor = factored(point.hessian)
    if factor is None or len(factor.kept) < len(point.gradient):
        return np.inf
    problem, c, p, k = data.problem, data.centre, len(data.centre), len(point.gradient)
    at, d = local(data, point.params), np.append(factor.solve(point.gradient), 0.0)[: p + 1]
    best = np.inf
    for _ in range(REFINEMENTS):
        by = local(data, Params(d[None, :p].copy(), d[p:].copy()))
        sums = data.rows.fold(partial(_parabolas, problem, at, by, c)).sum / point.weight
        pull, sizes, (tilt, size, term, loss, outside) = sums[:p], sums[p : 2 * p], sums[2 * p :]
        if outside > 0.0:
            return np.inf
        ahead = Params(point.params.coef - d[None, :p], point.params.intercept - d[p:])
        b = outer_intercept(data, ahead) if problem.intercept_penalty > 0.0 else 0.0
        aim = Aim(-data.strength * ahead.coef[0], -problem.intercept_penalty * b)
        slopes = Slopes(pull if problem.balances else pull + tilt * c, term, loss, tilt, size)
        missed = np.append(slopes.pull - aim.pull, tilt - aim.tilt if problem.intercept else 0.0)
        b = intercept_of(data, point.params)
        best = min(best, bound_gap(problem, point.params.coef, b, slopes, partial(np.asarray, sizes), aim))
        if np.all(np.abs(missed) <= ROUNDING * np.append(sizes, size)):
            break
        # in the coordinates of the gradient: of rows measured from the centre where there is an intercept
        left = pull - aim.pull + aim.tilt * c if problem.intercept else missed[:p]
        d[:k] += factor.solve(np.append(left, missed[p])[:k])
    return best


def _parabolas(problem: Glm, at: Params, by: Params, centre: Floats, block: Block) -> Total:
    """The lift of what slopes moved along the curvatures by x.d make: sum weight u (x - centre) and the sizes of its
    terms, sum weight u and |u|, the Fenchel-Young terms, the losses, and how many slopes are outside of their domain.
    """
    z, weight, loss = forward(block.X, at, centre), weights_of(block)[:, None], problem.loss
    xp = namespace(z)
    u = loss.slope(block.y, z) - loss.curvature(block.y, z) * forward(block.X, by, centre)
    inside, value = loss.clip(block.y, u), loss.value(block.y, z)
    outside = xp.astype((inside != u) & (weight > 0.0), xp.float64)
    terms = value + loss.conjugate(block.y, inside) - inside * z
    terms = xp.where(weight > 0.0, weight * terms, xp.zeros_like(terms))
    parts = (weight * inside, weight * xp.abs(inside), terms, weight * value, outside)
    sums = [float(on_host(xp.sum(part))) for part in parts]
    sizes = sum_sizes(block, inside, centre if problem.balances else None)
    return Total(np.concatenate([adjoint(block.X, weight * inside, centre)[0], sizes, sums]))


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
        share = self.loss.curvature(block.y, forward(block.X, self.params, self.centre))[:, 0] / self.weight
        if block.weight is None:
            return share, share < self.limit
        share = share * block.weight
        return share, (block.weight > 0.0) & (share < self.limit)

    def lift(self, block: Block) -> MaybeDeferred[_Shares]:
        if not block.y.shape[0]:
            return _Shares(0, np.inf)
        xp = namespace(block.y)
        share, small = self._shares(block)
        inside = ~small if block.weight is None else (block.weight > 0.0) & ~small
        found = xp.sum(xp.astype(small, xp.float64)), xp.min(xp.where(inside, share, xp.inf))
        return _Shares.of(*found) if is_numpy(block.y) else Deferred.of(found, lambda _, *parts: _Shares.of(*parts))

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


def factored(A: Floats, first: int | None = None) -> _Factor | None:
    """Factor after scaling, with pivots where it is singular, `first` before all others; None where it is empty or
    holds numbers that are not finite.
    """
    if not A.size or not np.isfinite(A).all():
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
            weighed = scaled
            if first is not None:
                # the largest entry of the diagonal is the first pivot
                by = np.where(kept == first, 2.0, 1.0)
                weighed = np.asfortranarray(scaled * by * by[:, None])
            _, pivots, rank, _ = lapack.dpstrf(weighed, tol=1e-13 * len(A), lower=1)
            if not rank:
                return None
            kept = np.sort(pivots[:rank] - 1)
            lower, info = lapack.dpotrf(np.asfortranarray(scaled[np.ix_(kept, kept)]), lower=1)
            rcond = float(lapack.dpocon(lower, norm, uplo="L")[0]) if info == 0 else 0.0
    return _Factor(lower, scale, kept, rcond) if rcond > 0.0 else None


def _spans(data: Data, point: Point, factor: _Factor) -> bool:
    """Whether columns that were not kept are, in every row and to rounding, combinations of those that were: they then
    add no model.
    """
    assert point.hessian is not None
    k, p = len(point.hessian), len(data.centre)
    if len(factor.kept) == k:
        return True
    if data.strength > 0.0:
        return False
    dropped = np.setdiff1d(np.arange(k), factor.kept)
    mixed = np.array([factor.solve(point.hessian[j]) for j in dropped])
    mixed[np.arange(len(dropped)), dropped] -= 1.0
    for _ in range(REFINEMENTS):
        coef = np.ascontiguousarray(mixed[:, :p])
        b = np.ascontiguousarray(mixed[:, p] if data.problem.intercept else coef @ data.centre)
        lengths = np.abs(coef) @ (np.sqrt(data.squares) + np.abs(data.centre)) + np.abs(b)
        at, by = local(data, point.params), Params(coef, b)
        found = data.rows.fold(partial(_combine, data.problem.loss, at, by, lengths, data.centre))
        if found.largest <= ROUNDING:
            return True
        if not np.isfinite(found.largest):
            break
        left = found.pull / point.weight
        left = left if data.problem.intercept else left[:, :p] + left[:, p:] * data.centre
        mixed -= np.array([factor.solve(part) for part in left])
    return False


class _Combined(NamedTuple):
    """How far combinations of columns are from zero: the largest entry of a row by the size of its terms, and
    sum weight curvature error [x - centre, 1], (t, p + 1).
    """

    largest: float
    pull: Floats

    def merge(self, other: "_Combined") -> "_Combined":
        return _Combined(max(self.largest, other.largest), self.pull + other.pull)


def _combine(loss: Loss, at: Params, by: Params, lengths: Floats, centre: Floats, block: Block) -> _Combined:
    error = forward(block.X, by, centre)
    xp = namespace(error)
    # rows are rounded as they were given, and about the centre
    X = abs(block.X) if is_sparse(block.X) else xp.abs(block.X)
    sizes = forward(X, Params(np.abs(by.coef), lengths))
    curved = weights_of(block)[:, None] * loss.curvature(block.y, forward(block.X, at, centre)) * error
    pull = np.column_stack([adjoint(block.X, contiguous(curved), centre), on_host(xp.sum(curved, axis=0))])
    inside = weights_of(block)[:, None] > 0.0
    parts = xp.where(inside & (sizes > 0.0), xp.abs(error) / xp.where(sizes > 0.0, sizes, xp.ones_like(sizes)), 0.0)
    return _Combined(float(xp.max(parts)) if parts.shape[0] else 0.0, pull)
