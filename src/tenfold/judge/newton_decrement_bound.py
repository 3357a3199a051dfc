"""How far a convex objective can decrease from a point, by its Newton decrement: a bound that needs no penalty and no
units.

For a loss with |loss'''| <= M loss'' the curvature along a direction d of raw predictions falls by no more than exp(-M
s), s the size of d in the sample for which that is largest: |d| of one raw prediction, max d - min d of a softmax, M =
1. With v^2 = g'H^-1 g and S^2 the largest d'H^-1 d of such a difference in a sample, no parameters are better by more
than B(v S) / S^2, B(a) = (M a + (1 - M a) log(1 - M a)) / M^2, where M v S < 1; there is an optimum then. For M = 0
that is v^2 / 2. (After Bach 2010, proposition 2.)
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import EPS, Array, Floats, contiguous, like, namespace, on_host
from tenfold.judge.dual_bound import ROUNDING, DualPoint, DualTarget, bound_gap
from tenfold.judge.objective_points import DesignProblem, ObjectivePoint, read
from tenfold.losses.loss import Loss
from tenfold.machine import one_blas_thread
from tenfold.objectives.design import DesignBlock, curvature_product

TILE = 4096  # samples whose leverages are formed at a time
FEW_SAMPLES = 4096  # whose leverages are looked at one by one, or an eighth of all: a tenth of a Hessian's pass
REFINEMENTS = 3  # solves of a Newton step, each with the residual of those before
STEP_LENGTHS = (1.0, 0.5, 0.25, 0.125, 0.05, 0.01, 1e-3, 1e-4)


def price(a: float, self_concordance: float) -> float:
    """B(a), infinite from a = 1 / M on; for small a, where digits cancel, a bound from above."""
    m = self_concordance * a
    if not m < 1.0:
        return np.inf
    return 0.5 * a * a / (1.0 - m) if m < 1e-4 else (m + (1.0 - m) * float(np.log1p(-m))) / self_concordance**2


class Factor(NamedTuple):
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

    def half_inverses(self, outputs: int) -> Floats | None:
        """For each of K outputs R (r, q) with x'(A^-1)_kk x = |R x|^2, as (K, r, q); None where rounding forbids it."""
        size = len(self.scale)
        inverse = np.zeros((len(self.kept), size))
        with one_blas_thread:
            inverse[:, self.kept] = lapack.dtrtri(self.lower, lower=1)[0] / self.scale[self.kept]
            if outputs == 1:
                return inverse[None]
            q, halves = size // outputs, []
            whole = inverse.T @ inverse
            for k in range(outputs):
                part = slice(k * q, (k + 1) * q)
                # features that are left out are so for all outputs
                kept = np.flatnonzero(np.diag(whole[part, part]) > 0.0)
                lower, info = lapack.dpotrf(np.asfortranarray(whole[part, part][np.ix_(kept, kept)]), lower=1)
                if info != 0:
                    return None
                half = np.zeros((q, q))
                half[np.ix_(kept, kept)] = np.tril(lower).T
                halves.append(half)
        return np.array(halves)


def factor_matrix(A: Floats, first: int | None = None) -> Factor | None:
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
            weighted = scaled
            if first is not None:
                # the largest entry of the diagonal is the first pivot
                by = np.where(kept == first, 2.0, 1.0)
                weighted = np.asfortranarray(scaled * by * by[:, None])
            _, pivots, rank, _ = lapack.dpstrf(weighted, tol=1e-13 * len(A), lower=1)
            if not rank:
                return None
            kept = np.sort(pivots[:rank] - 1)
            lower, info = lapack.dpotrf(np.asfortranarray(scaled[np.ix_(kept, kept)]), lower=1)
            rcond = float(lapack.dpocon(lower, norm, uplo="L")[0]) if info == 0 else 0.0
    return Factor(lower, scale, kept, rcond) if rcond > 0.0 else None


def factor_hessian(data: DesignProblem, point: ObjectivePoint) -> Factor | None:
    """The factor of the Hessian at a point.

    What is added to the coefficients of all classes of a softmax alike changes no prediction: such directions, in which
    the gradient is zero too, are given a curvature here, but for weights that are penalised.
    """
    assert point.hessian is not None
    if not data.problem.loss.multi_output:
        return factor_matrix(point.hessian)
    K, q = point.gradient.shape
    H = point.hessian.reshape(K, q, K, q).copy()
    common = np.arange(data.design.columns if data.strongly_convex else 0, q)
    H[:, common, :, common] += np.einsum("cjcj->j", H)[common, None, None] / K**2
    result = factor_matrix(H.reshape(K * q, K * q))
    if result is None:
        return None
    kept = np.isin(np.arange(K * q), result.kept).reshape(K, q)
    # a feature that only some classes leave out would be curved by what was added
    return result if bool(np.all(kept == kept[0])) else None


def decrement(g: Floats, inverse: Factor) -> float:
    """The squared Newton decrement g'H^-1 g, with the rounding of the factor."""
    return float(np.sum(g * inverse.solve(g))) * (1.0 + 8.0 * len(g) * EPS / inverse.rcond)


def newton_bound(data: DesignProblem, point: ObjectivePoint) -> float:
    """How far the objective can decrease from `point`; infinite where the bound does not reach.

    A sample whose part of the curvature of one raw prediction is m has x'H^-1 x <= 1/m, which is enough for most.
    """
    assert point.hessian is not None
    self_concordance = data.self_concordance
    if not np.isfinite(self_concordance):
        return np.inf
    inverse = factor_hessian(data, point)
    if inverse is None or not _spans(data, point, inverse):
        return np.inf
    square = decrement(point.gradient.ravel(), inverse)
    if not square > 0.0:
        return 0.0 if square == 0.0 else np.inf
    if self_concordance == 0.0:
        return 0.5 * square
    halves = inverse.half_inverses(data.outputs)
    if halves is None:
        return np.inf
    largest = _largest_leverage(data, point, halves, 100.0 * square)
    return price(float(np.sqrt(square * largest)), self_concordance) / largest if 0.0 < largest < np.inf else np.inf


def _largest_leverage(data: DesignProblem, point: ObjectivePoint, halves: Floats, limit: float) -> float:
    """A bound of d'H^-1 d for differences d of raw predictions in samples of positive weight; infinite where too many
    samples have a part of the curvature of less than `limit`.
    """
    design = data.design
    if data.problem.loss.multi_output:
        # (e_k - e_l) x has at most twice the squared length of e_k x plus that of e_l x
        return 4.0 * float(np.max(-design.minimum(lambda block: -_leverages(_all_of(block), halves))))
    predict, loss, weight = design.predictor(point.x), data.problem.loss, point.weight

    def parts(block: DesignBlock) -> Array:
        return loss.curvature(block.y, predict(block))[:, 0] * block.weight / weight

    def small(block: DesignBlock) -> Array:
        return (block.weight > 0.0) & (parts(block) < limit)

    def count(block: DesignBlock) -> _SmallParts:
        if not block.y.shape[0]:
            return _SmallParts(0.0, np.inf)
        part, xp = parts(block), namespace(block.y)
        below, inside = part < limit, block.weight > 0.0
        least = xp.min(xp.where(inside & ~below, part, xp.inf))
        return _SmallParts(float(xp.sum(xp.astype(inside & below, xp.float64))), float(least))

    def leverage(block: DesignBlock) -> _SmallParts:
        chosen = namespace(block.y).nonzero(small(block))[0]
        values = _leverages(block.take(chosen), halves)
        return _SmallParts(0.0, -float(namespace(values).max(values)) if chosen.shape[0] else np.inf)

    counted = design.fold(count)
    if counted.small > max(FEW_SAMPLES, design.samples // 8):
        return np.inf  # far from the optimum: step first
    largest = 1.0 / counted.least
    return max(largest, -design.fold(leverage).least) if counted.small else largest


def _all_of(block: DesignBlock) -> Array:
    return block.take(namespace(block.y).arange(block.y.shape[0]))


class _SmallParts(NamedTuple):
    """How many samples have a small part of the curvature, and the least of other numbers."""

    small: float
    least: float

    def merge(self, other: "_SmallParts") -> "_SmallParts":
        return _SmallParts(self.small + other.small, min(self.least, other.least))


def _leverages(X: Array, halves: Floats) -> Array:
    """|R x|^2 (m, K) of rows x of X (m, q), R each of `halves`, a tile of rows at a time."""
    xp = namespace(X)
    roots = [like(np.ascontiguousarray(half.T), X) for half in halves]
    cuts = range(0, max(X.shape[0], 1), TILE)
    tiles = [X[start : min(start + TILE, X.shape[0]), :] for start in cuts]
    sums = [xp.stack([xp.sum((tile @ root) ** 2, axis=1) for root in roots], axis=1) for tile in tiles]
    return xp.concat(sums, axis=0)


def newton_step(data: DesignProblem, point: ObjectivePoint) -> ObjectivePoint | None:
    """The point a Newton step away, shortened until the objective decreases; None where it does not."""
    inverse = factor_hessian(data, point)
    if inverse is None:
        return None
    d = -inverse.solve(point.gradient.ravel()).reshape(point.gradient.shape)
    for size in STEP_LENGTHS:
        new = read(data, point.x + size * d, 2)
        if new.value <= point.value:
            return new
    return None


def _spans(data: DesignProblem, point: ObjectivePoint, inverse: Factor) -> bool:
    """Whether coefficients that were not kept change, in every sample and to rounding, what those that were do: they
    then add no model.
    """
    assert point.hessian is not None
    (K, q), size = point.gradient.shape, len(point.hessian)
    if len(inverse.kept) == size:
        return True
    if np.any(data.strength > 0.0):
        return False
    dropped = np.setdiff1d(np.arange(size), inverse.kept)
    mixed = np.array([inverse.solve(point.hessian[j]) for j in dropped])
    mixed[np.arange(len(dropped)), dropped] -= 1.0
    predict = data.design.predictor(point.x)
    for _ in range(REFINEMENTS):
        x = np.ascontiguousarray(mixed.reshape(-1, q))
        combine = partial(
            _combine, data.problem.loss, K, predict, data.design.predictor(x), data.design.size_predictor(x)
        )
        result = data.design.fold(combine)
        if result.largest <= ROUNDING:
            return True
        if not np.isfinite(result.largest):
            break
        residuals = result.gradient.reshape(len(dropped), size) / point.weight
        mixed -= np.array([inverse.solve(residual) for residual in residuals])
    return False


class _Combined(NamedTuple):
    """How far combinations of columns are from zero: the largest entry of a sample by the size of its terms, and
    sum weight C error a', C the curvature.
    """

    largest: float
    gradient: Floats

    def merge(self, other: "_Combined") -> "_Combined":
        return _Combined(max(self.largest, other.largest), self.gradient + other.gradient)


def _combine(loss: Loss, K: int, predict: Any, combined: Any, sizes_of: Any, block: DesignBlock) -> _Combined:
    z, error, sizes = predict(block), combined(block), sizes_of(block)
    xp = namespace(error)
    curved = [curvature_product(loss, block.y, z, error[:, k : k + K]) for k in range(0, error.shape[1], K)]
    gradient = block.adjoint(contiguous(block.weight[:, None] * xp.concat(curved, axis=1)))
    inside = block.weight[:, None] > 0.0
    parts = xp.where(inside & (sizes > 0.0), xp.abs(error) / xp.where(sizes > 0.0, sizes, xp.ones_like(sizes)), 0.0)
    return _Combined(float(xp.max(parts)) if parts.shape[0] else 0.0, gradient)


def quadratic_bound(data: DesignProblem, point: ObjectivePoint) -> float:
    """How far the objective can decrease from `point`, for a loss of one raw prediction that is made of parabolas:
    infinite where one of them ends.

    With d = H^-1 g, curvatures c and a penalty x'R x / 2, slopes u - c a.d have the gradient that R asks for at those
    of a full step, x - d, and with what the parabolas cost them bound the decrease by about d'H d / 2. Units of columns
    do not matter to it. What rounding leaves of the gradient is solved for again.
    """
    assert point.hessian is not None
    inverse = factor_matrix(point.hessian)
    if inverse is None or len(inverse.kept) < len(point.hessian):
        return np.inf
    problem, design, p = data.problem, data.design, data.design.columns
    strength, predict = float(np.max(data.strength)), design.predictor(point.x)
    d, best = inverse.solve(point.gradient[0]), np.inf
    ends = design.stored_intercept[:p] if design.intercept and not problem.balances else np.zeros(p)
    for _ in range(REFINEMENTS):
        lift = partial(_parabolas, problem.loss, predict, design.predictor(d[None]))
        sums = design.sum(lift) / point.weight
        gradient, sizes, (tilt, size, term, loss, outside) = sums[:-5][:-p], sums[:-5][-p:], sums[-5:]
        if outside > 0.0:
            return np.inf
        ahead = point.x - d[None]
        b = float(design.outer_intercept(ahead)[0]) if problem.intercept_penalty > 0.0 else 0.0
        target = DualTarget(-strength * ahead[0, :p], -problem.intercept_penalty * b)
        dual = DualPoint(data.dual_correlation(gradient[None])[0], term, loss, tilt, size)
        missed = dual.correlation - target.correlation
        remainder = np.append(missed, tilt - target.tilt) if design.intercept else missed
        weights, intercept = data.weights(point.x), data.dual_intercept(point.x)
        best = min(best, bound_gap(problem, weights, intercept, dual, partial(np.asarray, sizes), target))
        if np.all(np.abs(remainder) <= ROUNDING * np.append(sizes, size)[: len(remainder)]):
            break
        # in the coordinates of the gradient
        remainder[:p] = gradient[:p] - target.correlation - ends * target.tilt
        d += inverse.solve(remainder)
    return best


def _parabolas(loss: Loss, predict: Any, step: Any, block: DesignBlock) -> Floats:
    """The lift of what slopes moved along the curvatures by a.d make: sum weight u a and the sizes of its terms,
    sum weight u and |u|, the Fenchel-Young terms, the losses, and how many slopes are outside of their domain.
    """
    z, weight = predict(block), block.weight[:, None]
    xp = namespace(z)
    u = loss.slope(block.y, z) - loss.curvature(block.y, z) * step(block)
    inside, value = loss.clip(block.y, u), loss.value(block.y, z)
    outside = xp.astype((inside != u) & (weight > 0.0), xp.float64)
    terms = value + loss.conjugate(block.y, inside) - inside * z
    terms = xp.where(weight > 0.0, weight * terms, xp.zeros_like(terms))
    parts = (weight * inside, weight * xp.abs(inside), terms, weight * value, outside)
    sums = [float(on_host(xp.sum(part))) for part in parts]
    return np.concatenate([block.adjoint(weight * inside)[0], block.sum_sizes(inside), sums])
