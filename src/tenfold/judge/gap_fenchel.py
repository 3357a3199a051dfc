"""Kind gap: any convex loss of one raw prediction with any penalty, by a dual point that is made feasible here.

With P(w, b) = (1/W) sum weight loss(y, z) + penalty(w), z = x.w + b, and any u with sum weight u = 0 where there is an
intercept, Fenchel and Young bound how far P can decrease from (w, b), term by term:

    gap(u) = (1/W) sum weight [loss(y, z) + conjugate(y, u) - u z] + penalty(w) + penalty*(-v) + v.w,
    v = (1/W) sum weight u x.

An intercept with a penalty t / 2 b^2 of its own need not balance: with s = (1/W) sum weight u the gap has the term
(t b + s)^2 / (2 t) more.

Slopes u at the raw predictions z have no first term. Three changes make them feasible. *Balance*: slopes at two
intercepts, whose sums have opposite signs, are mixed; the conjugate is convex, so the first term is at most the same
mixture. *Scale*: u times a dual scaling s <= 1, where the penalty's conjugate is infinite at u; conjugate(0) = 0, so
the first term is at most s of itself plus (1 - s) loss. *Project*: without a penalty v must vanish, and under an L1
penalty it is -l1 or +l1 for features that are used and between them for the others; slopes that are free to move, those
with a curvature or amid the conjugate's domain, are moved along the columns until it does. That costs the square of
what scaling costs.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from tenfold.arrays import EPS, Array, Floats, namespace, on_host, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dual_bound import DualPoint, bound_gap
from tenfold.judge.dual_feasibility import KeptMargins, balance_slopes, means_at
from tenfold.judge.newton_decrement_bound import factor_matrix, newton_bound, newton_step, quadratic_bound
from tenfold.judge.objective_points import (
    LOOSE,
    SEARCH_COLUMNS,
    SEARCH_STEPS,
    DesignProblem,
    ObjectivePoint,
    floor_of,
    loss_sizes,
    lower_bound,
    point_of,
    read,
)
from tenfold.judge.truncated_newton import TruncatedNewton
from tenfold.losses.loss import Loss
from tenfold.objectives.design import DesignBlock, LossMeans
from tenfold.penalties import L2, ElasticNet

WIDTHS = tuple(10.0**-k for k in range(1, 9))  # half widths over which slopes are averaged, by the spread of z
ALL_ZERO = "All weights are zero: the penalty is too strong for any column."


def fenchel_gap(
    data: DesignProblem,
    x: Floats,
    stored: Floats,
    *,
    dual: Floats | None = None,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
    search: int = SEARCH_STEPS,
) -> Certificate:
    """Judge coefficients x (1, q), with an intercept that is stored as `stored` (1,) in `dtype`.

    `dual` (n,), slopes of the loss at the optimum as the solver sees them, is an untrusted hint, for nonsmooth losses
    above all: there the parameters do not determine the slopes of samples at a kink.
    """
    problem = data.problem
    by_vector = problem.loss.nonsmooth or dual is not None
    kept = None if by_vector else KeptMargins.of(data, x)
    means = None if by_vector or kept else means_at(data, x)
    here = kept.point() if kept else read(data, x, 0) if means is None else point_of(data, x, means)
    floor = floor_of(data, here, stored, dtype, loss_sizes(data, x))
    tol = RULES["gap"].tol if tol is None else tol
    note = "" if np.any(data.weights(x)) else ALL_ZERO
    certificate = Certificate(
        "gap", here.value, data.scale, tol, floor, here.value, 0.0, status=status, parts=(here.value,), note=note
    )
    if not np.isfinite(here.value):  # parameters so far away that their losses are beyond all numbers
        return replace(certificate, value=np.inf, parts=(np.inf,))
    loose = False
    if by_vector:
        value = _by_vectors(data, here, dual, certificate.allowed)
        loose = dual is None
    else:
        value = _by_slopes(data, here, means) if means else _gap(data, x, kept.balance_slopes() if kept else None)
        if value > certificate.allowed and search:
            value = _search(data, here, value, certificate.allowed, search)
        few = data.design.has_matrix and data.design.columns <= SEARCH_COLUMNS
        if value > certificate.allowed and data.design.has_matrix and (_free(data) or (_limit(data) and few)):
            value = min(value, _by_projection(data, here))
        if value > certificate.allowed and unit_roundoff(dtype) > EPS:
            value = _at_newton_step(data, here, value)
    value = max(min(value, here.value), floor) if np.isfinite(value) else here.value
    if loose and value > certificate.allowed:
        note = f"{note} {LOOSE}".strip()
    return replace(
        certificate,
        value=value,
        lower_bound=here.value - value,
        radius=float(np.sqrt(2.0 * (value + floor) / np.min(data.strength))) if data.strongly_convex else None,
        parts=(value,),
        note=note,
    )


def _free(data: DesignProblem) -> bool:
    """Whether no penalty at all bounds the weights: its conjugate is finite at zero alone."""
    return bool(data.problem.penalty.dual_scaling(np.full((1, data.design.columns), EPS))[0] == 0.0)


def _limit(data: DesignProblem) -> float:
    """The largest correlation that weights of either sign allow under a pure L1 penalty; zero for other penalties."""
    penalty = data.problem.penalty
    if not isinstance(penalty, ElasticNet) or penalty.l2 > 0.0 or penalty.positive:
        return 0.0
    return float(penalty.l1)


def _by_slopes(data: DesignProblem, here: ObjectivePoint, means: LossMeans) -> float:
    """The gap at the slopes of the raw predictions at `here`, balanced by those at a second intercept."""
    return _gap(data, here.x, balance_slopes(data, here.x, means))


def _gap(data: DesignProblem, x: Floats, dual: DualPoint | None) -> float:
    """The gap at a dual point, for correlations that are taken as they are; none proves nothing."""
    return bound_gap(data.problem, data.weights(x), data.dual_intercept(x), dual, inner=data.design.inner)


def _search(data: DesignProblem, here: ObjectivePoint, value: float, allowed: float, steps: int) -> float:
    """A smaller gap of `here` by lower bounds at points that Newton steps of the judge's own reach; where the
    penalty is a square, or none.
    """
    penalty = data.problem.penalty
    if not hasattr(penalty, "positive") or penalty.positive or getattr(penalty, "l1", 0.0) > 0.0:
        return value
    if data.design.columns > SEARCH_COLUMNS or not data.design.has_matrix:
        return _search_without_hessian(data, here, value, allowed)
    point: ObjectivePoint | None = read(data, here.x, 2)
    for _ in range(steps):
        if point is None or point.hessian is None:
            break
        decrease = newton_bound if np.isfinite(data.problem.loss.self_concordance) else quadratic_bound
        bound = min(_by_slopes(data, point, means_at(data, point.x)), decrease(data, point))
        value = min(value, here.value - lower_bound(point.value, bound))
        if value <= allowed or bound <= 0.005 * value:
            break
        point = newton_step(data, point)
    return value


def _search_without_hessian(data: DesignProblem, here: ObjectivePoint, value: float, allowed: float) -> float:
    """The same where columns are many."""
    steps, point = TruncatedNewton(data), here
    while value > allowed:
        ahead = steps.step(point)
        if ahead is None:
            break
        point = ahead
        bound = _by_slopes(data, point, means_at(data, point.x))
        value = min(value, here.value - lower_bound(point.value, bound))
        if bound <= 0.005 * value:
            break
    return value


def _at_newton_step(data: DesignProblem, here: ObjectivePoint, value: float) -> float:
    """A smaller gap of `here` under an L1 penalty, by a Newton step of the judge's own for the weights in use, whose
    signs stay: dual points follow the digits that were stored, and where raw predictions cancel those are few.
    """
    penalty, p = data.problem.penalty, data.design.columns
    if not isinstance(penalty, ElasticNet) or penalty.l1 == 0.0 or p > SEARCH_COLUMNS:
        return value
    point, w = read(data, here.x, 2), here.x[0, :p]
    assert point.hessian is not None
    sides = np.zeros(len(point.hessian))
    sides[:p] = np.sign(w)
    used = np.append(w != 0.0, np.ones(len(sides) - p, dtype=bool))
    inverse = factor_matrix(point.hessian[np.ix_(used, used)])
    if inverse is None:
        return value
    ahead = here.x.copy()
    ahead[0, used] -= inverse.solve((point.gradient[0] + penalty.l1 * sides)[used])
    if not np.isfinite(ahead).all() or np.any(ahead[0, :p] * w < 0.0):
        return value
    means = means_at(data, ahead)
    there = point_of(data, ahead, means)
    bound = _by_slopes(data, there, means)
    bound = min(bound, _by_projection(data, there)) if _limit(data) else bound
    return min(value, here.value - lower_bound(there.value, bound))


class _Free(NamedTuple):
    """Slopes (m, 1) of the samples of a block, and how freely each may move."""

    slopes: Callable[[DesignBlock], Array]
    freedom: Callable[[DesignBlock], Array]


def _by_projection(data: DesignProblem, here: ObjectivePoint) -> float:
    """The gap at slopes moved along the columns, for problems without a penalty."""
    predict, loss = data.design.predictor(here.x), data.problem.loss

    def freedom(block: DesignBlock) -> Array:
        curvature = loss.curvature(block.y, predict(block))
        xp = namespace(curvature)
        return xp.where(xp.isfinite(curvature), curvature, xp.zeros_like(curvature))

    return _project(data, here, _Free(lambda block: loss.slope(block.y, predict(block)), freedom))


def _project(data: DesignProblem, here: ObjectivePoint, free: _Free) -> float:
    fit = _fit_by_columns(data, here, free)
    if fit is None:
        return np.inf
    loss, along = data.problem.loss, data.design.predictor(fit)

    def near(block: DesignBlock) -> Array:
        return free.slopes(block) - free.freedom(block) * along(block)

    largest = -data.design.fold(lambda block: _Least(-_size_of(near(block)))).least

    def move(block: DesignBlock) -> Array:
        # slopes that are rounding beside others are none, or a feature that only they know would not be balanced
        u = near(block)
        xp = namespace(u)
        return xp.where(xp.abs(u) <= 4.0 * EPS * largest, xp.zeros_like(u), u)

    scaling = data.design.fold(lambda block: _Least(_scaling_inside(loss, block, move(block)))).least
    return _at(data, here, lambda block: scaling * move(block))


class _Least(NamedTuple):
    least: float

    def merge(self, other: "_Least") -> "_Least":
        return _Least(min(self.least, other.least))


def _size_of(u: Array) -> float:
    xp = namespace(u)
    return float(xp.max(xp.abs(u)))


def _scaling_inside(loss: Loss, block: DesignBlock, u: Array) -> float:
    """The largest scaling of u, at most one, at which every conjugate is finite."""
    xp = namespace(u)
    inside = loss.clip(block.y, u)
    outside = (inside != u) & (block.weight[:, None] > 0.0)
    scalings = xp.where(outside, inside / xp.where(outside, u, xp.ones_like(u)), xp.ones_like(u))
    return float(xp.min(scalings)) * (1.0 - EPS) if bool(xp.any(outside)) else 1.0


def _fit_by_columns(data: DesignProblem, here: ObjectivePoint, free: _Free) -> Floats | None:
    """The coefficients d at which slopes minus freedom times a.d have the correlation that the penalty asks for; solved
    for twice, for the digits that the first has lost.

    Without a penalty that is none. Under an L1 penalty it is that of the sign of the weights that are used, and at most
    l1 for those whose correlation exceeds it; others are left alone.
    """
    design, p = data.design, data.design.columns
    H = design.gram(lambda block: block.weight * free.freedom(block)[:, 0])
    fit, limit, w = np.zeros((1, len(H))), _limit(data), here.x[0, :p]
    wanted, chosen, inverse = np.zeros(len(H)), np.arange(len(H)), None
    for _ in range(2):
        along = design.predictor(fit)

        def lift(block: DesignBlock, along: Callable[[DesignBlock], Array] = along) -> Floats:
            u = free.slopes(block) - free.freedom(block) * along(block)
            return block.adjoint(u * block.weight[:, None])[0]

        g = design.sum(lift)
        if inverse is None:
            if limit:
                wanted[:p] = np.where(w != 0.0, -np.sign(w), np.clip(g[:p] / here.weight / limit, -1.0, 1.0))
                beyond = (w != 0.0) | (np.abs(g[:p]) > limit * here.weight)
                chosen = np.flatnonzero(np.append(beyond, np.ones(len(H) - p, dtype=bool)))
            # a column that depends on others is free inside of its limit, but slopes must sum to zero
            inverse = factor_matrix(H[np.ix_(chosen, chosen)], len(chosen) - 1 if design.intercept else None)
            if inverse is None:
                return None
        fit = fit.copy()
        fit[0, chosen] += inverse.solve((g - limit * here.weight * wanted)[chosen])
    return fit


def _at(data: DesignProblem, here: ObjectivePoint, slopes: Callable[[DesignBlock], Array]) -> float:
    """The gap at slopes (m, 1) of the samples of a block."""
    loss, predict = data.problem.loss, data.design.predictor(here.x)

    def inside(block: DesignBlock) -> Array:
        # rounding may have left the domain by a unit in the last place
        return loss.clip(block.y, slopes(block))

    def lift(block: DesignBlock) -> Floats:
        u, z = inside(block), predict(block)
        xp = namespace(u)
        weight, value = block.weight[:, None], loss.value(block.y, z)
        terms = xp.where(weight > 0.0, value + loss.conjugate(block.y, u) - u * z, xp.zeros_like(z))
        sums = [float(xp.sum(weight * part)) for part in (u, xp.abs(u), terms, value)]
        return np.append(block.correlate(u * weight)[0], sums)

    def sizes() -> Floats:
        return np.asarray(data.design.sum(lambda block: block.sum_sizes(inside(block))) / here.weight)

    sums = data.design.sum(lift) / here.weight
    s, size, term, mean = (float(each) for each in sums[-4:])
    dual, w = DualPoint(sums[:-4], term, mean, s, size), data.weights(here.x)
    return bound_gap(data.problem, w, data.dual_intercept(here.x), dual, sizes, inner=data.design.inner)


def _by_vectors(data: DesignProblem, here: ObjectivePoint, dual: Floats | None, allowed: float) -> float:
    """The gap at a dual vector, given or made from averages of slopes about the raw predictions: the samples are at
    hand.
    """
    design, loss, best = data.design, data.problem.loss, np.inf
    if design.distributed:
        return np.inf
    y, weight = on_host(design.targets)[:, 0], on_host(design.weights)
    if dual is not None:
        u = loss.clip(y, np.asarray(dual))
        best = _by_vector(data, here, u, y, weight)
        if best > allowed and loss.nonsmooth and not _free(data):
            best = min(best, _without_penalty(data, here, u, y, weight))
    if best <= allowed or not loss.nonsmooth:
        return best
    z = on_host(design.map(design.predictor(here.x)))[:, 0]
    spread = float(np.sqrt(np.average((z - np.average(z, weights=weight)) ** 2, weights=weight))) or 1.0
    for width in (spread * w for w in WIDTHS):
        if best <= allowed:
            break
        u = (loss.value(y, z + width) - loss.value(y, z - width)) / (2.0 * width)
        best = min(best, _by_vector(data, here, loss.clip(y, u), y, weight))
    return best


def _by_vector(data: DesignProblem, here: ObjectivePoint, u: Floats, y: Floats, weight: Floats) -> float:
    """The gap at a vector of slopes inside of the conjugate's domain."""
    problem = data.problem
    if problem.balances and not _free(data):
        u = balance_inside(problem.loss, y, u, weight)
    first = _FirstTarget(problem.loss)
    design = data.design.retarget(np.column_stack([y, u]))
    paired = data._replace(design=design, problem=replace(problem, loss=cast(Loss, first)))

    def slopes(block: DesignBlock) -> Array:
        return block.y[:, 1:]

    def freedom(block: DesignBlock) -> Array:
        """The distance to the end of the domain, at most one."""
        u, one = block.y[:, 1:], np.ones_like(block.y[:, 1:])
        return np.minimum(np.minimum(u - first.clip(block.y, u - one), first.clip(block.y, u + one) - u), one)

    if _free(data):
        return _project(paired, here, _Free(slopes, freedom))
    return _at(paired, here, slopes)


def _without_penalty(data: DesignProblem, here: ObjectivePoint, u: Floats, y: Floats, weight: Floats) -> float:
    """The gap to the problem without its penalty, whose optimum is below: next to nothing is then left of the penalty's
    own value, where columns or weights are large.
    """
    problem = data.problem
    if data.design.columns > SEARCH_COLUMNS or not data.design.has_matrix:
        return np.inf
    free = data._replace(
        problem=replace(problem, penalty=L2(0.0), intercept_penalty=0.0),
        design=data.design.untie(),
        strength=np.zeros_like(data.strength),
    )
    tied = problem.intercept_penalty
    b = float(data.design.outer_intercept(here.x)[0]) if tied > 0.0 else 0.0
    penalty = float(problem.penalty.value(data.weights(here.x))[0]) + 0.5 * tied * b * b
    return penalty + _by_vector(free, here, u, y, weight)


class _FirstTarget:
    """A loss of the first of two columns of targets."""

    multi_output = False

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    def value(self, y: Array, z: Array) -> Array:
        return self.loss.value(y[:, :1], z)

    def conjugate(self, y: Array, u: Array) -> Array:
        return self.loss.conjugate(y[:, :1], u)

    def clip(self, y: Array, u: Array) -> Array:
        return self.loss.clip(y[:, :1], u)


def balance_inside(loss: Loss, y: Floats, u: Floats, weight: Floats) -> Floats:
    """Slopes moved by one constant and clipped to the domain, so that their weighted sum is zero."""

    def total(move: float) -> float:
        return float(np.sum(weight * loss.clip(y, u + move)))

    here = total(0.0)
    if here == 0.0:
        return u
    low, high, move = 0.0, 0.0, float(np.max(np.abs(u), initial=0.0)) * 2.0**-40 + 1e-300
    while total(-np.sign(here) * move) * here > 0.0 and move < 1e300:
        move *= 2.0
    low, high = (-move, 0.0) if here > 0.0 else (0.0, move)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if total(middle) < 0.0 else (low, middle)
    # between the two neighbours a mixture is balanced, and inside
    below, above = total(low), total(high)
    ratio = below / (below - above) if above > below else 0.0
    return np.asarray((1.0 - ratio) * loss.clip(y, u + low) + ratio * loss.clip(y, u + high))
