"""Kind gap: any convex loss of one target with any penalty, by a dual point that is made feasible here.

With P(w, b) = (1/W) sum weight loss(y, z) + penalty(w), z = x.w + b, and any u with sum weight u = 0 where there is an
intercept, Fenchel and Young bound how far P can fall from (w, b), term by term:

    gap(u) = (1/W) sum weight [loss(y, z) + conjugate(y, u) - u z] + penalty(w) + penalty*(-v) + v.w,
    v = (1/W) sum weight u x.

An intercept that is tied to zero by tie / 2 b^2 asks for no balance: with s = (1/W) sum weight u the gap has the term
(tie b + s)^2 / (2 tie) more.

Slopes u at the margins z have no first term. Three moves make them feasible. *Balance*: slopes at two intercepts,
whose sums have opposite signs, are mixed; the conjugate is convex, so the first term is at most the same mixture.
*Scale*: a share s of u, where the penalty's conjugate is infinite at all of it; conjugate(0) = 0, so the first term is
at most s of itself plus (1 - s) loss. *Project*: without a penalty v must vanish, and under an L1 penalty it is -l1 or
+l1 for columns that are used and between them for the others; slopes that are free to move, those with a curvature or
amid the conjugate's domain, are moved along the columns until it does. That costs the square of what scaling costs.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from tenfold.arrays import Array, Floats, contiguous, namespace, on_host, unit_roundoff
from tenfold.data import Block, MaybeDeferred, Rows, targets_of, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dual_bound import Slopes, bound_gap, sum_sizes
from tenfold.judge.dual_feasibility import Kept, balanced, sums_at
from tenfold.judge.newton_decrement_bound import factored, newton_bound, newton_step, tilted_bound
from tenfold.judge.objective_points import (
    Data,
    Point,
    centred,
    intercept_of,
    local,
    lower_bound,
    outer_intercept,
    point_of,
    prepare,
    read,
    require_finite,
    stored_roundoff,
    sum_rounding,
    valued,
)
from tenfold.judge.truncated_newton import Truncated
from tenfold.losses.loss import Loss
from tenfold.losses.regression import Square
from tenfold.penalties import L2, ElasticNet
from tenfold.stats.derivatives import Derivatives, Params, Total, adjoint, derivatives, forward, predictions

SEARCH_COLUMNS, SEARCH_STEPS = 4096, 16
"""With at most so many columns the judge of a smooth problem takes at most so many Newton steps of its own."""

WIDTHS = tuple(10.0**-k for k in range(1, 9))
"""Half of the widths, by the spread of the margins, over which the slopes of a loss with kinks are averaged."""

EPS, EXTENDED_EPS = float(np.finfo(np.float64).eps), float(np.finfo(np.longdouble).eps)
LOOSE = "Bound, not tight: the true distance to the optimum may be much smaller."
ALL_ZERO = "All weights are zero: the penalty is too strong for any column."


def fenchel_gap(
    problem: Any,
    rows: Rows,
    params: Params,
    *,
    dual: Floats | None = None,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
    search: int = SEARCH_STEPS,
) -> Certificate:
    """Judge a convex problem of one target.

    `dual` (n,), slopes of the loss at the optimum as the solver sees them, is an untrusted hint, for losses with kinks
    above all: there the parameters do not tell the slopes of rows that sit on one.
    """
    refused = require_finite("gap", params, tol)
    if refused is not None:
        return refused
    data = prepare(problem, rows)
    pointed = problem.loss.nonsmooth or dual is not None
    at = centred(params, data.centre) if problem.intercept else params
    kept = None if pointed else Kept.of(data, at)
    sums = None if pointed or kept else sums_at(data, at)
    here = kept.point() if kept else valued(data, at) if sums is None else point_of(data, at, sums)
    floor = _floor(data, here, params.intercept, dtype, kept.sizes() if kept else _sizes(data, here))
    tol = RULES["gap"].tol if tol is None else tol
    note = "" if np.any(params.coef) else ALL_ZERO
    certificate = Certificate(
        "gap", here.value, data.scale, tol, floor, here.value, 0.0, status=status, parts=(here.value,), note=note
    )
    if not np.isfinite(here.value):  # parameters so far away that their losses are beyond all numbers
        return replace(certificate, value=np.inf, parts=(np.inf,))
    loose = False
    if pointed:
        value = _by_points(data, here, dual, certificate.allowed)
        loose = dual is None
    else:
        value = _by_slopes(data, here, sums) if sums else _gap(data, at, kept.balanced() if kept else None)
        if value > certificate.allowed and search:
            value = _searched(data, here, value, certificate.allowed, search)
        if value > certificate.allowed and (_free(data) or (_limit(data) and rows.shape[1] <= SEARCH_COLUMNS)):
            value = min(value, _by_projection(data, here))
        if value > certificate.allowed and unit_roundoff(dtype) > EPS:
            value = _unrounded(data, here, value)
    value = max(min(value, here.value), floor) if np.isfinite(value) else here.value
    if loose and value > certificate.allowed:
        note = f"{note} {LOOSE}".strip()
    return _bounded(
        replace(certificate, value=value, lower_bound=here.value - value, parts=(value,), note=note), data, params
    )


def _bounded(certificate: Certificate, data: Data, params: Params) -> Certificate:
    """With how far the best weights can be, where a square bounds them; and, where one bounds the intercept or there is
    none, how far predictions can move.
    """
    strength, problem = data.strength, data.problem
    if not strength > 0.0:
        return certificate
    radius = float(np.sqrt(2.0 * (certificate.value + certificate.floor) / strength))
    if problem.balances:
        return replace(certificate, radius=radius)
    drift = radius * float(np.sqrt(strength / problem.intercept_penalty)) if problem.intercept else 0.0
    coef, b = (np.asarray(part, dtype=np.float64) for part in params)
    return replace(certificate, radius=radius, _coef=coef, _intercept=b, _centre=np.zeros(coef.shape[1]), _drift=drift)


def _free(data: Data) -> bool:
    """Whether no penalty at all bounds the weights: its conjugate is finite at zero alone."""
    return bool(data.problem.penalty.dual_scaling(np.full((1, len(data.centre)), EPS))[0] == 0.0)


def _limit(data: Data) -> float:
    """The largest pull that weights of either sign take under a pure L1 penalty; zero for other penalties."""
    penalty = data.problem.penalty
    if not isinstance(penalty, ElasticNet) or penalty.l2 > 0.0 or penalty.positive:
        return 0.0
    return float(penalty.l1)


def _by_slopes(data: Data, here: Point, sums: Derivatives) -> float:
    """The gap at the slopes of the parameters' own margins, balanced by those at a second intercept."""
    return _gap(data, here.params, balanced(data, here.params, sums))


def _gap(data: Data, params: Params, slopes: Slopes | None) -> float:
    """The gap at a dual point, for pulls that are taken as they are; none proves nothing."""
    return bound_gap(data.problem, params.coef, intercept_of(data, params), slopes)


def _searched(data: Data, here: Point, value: float, allowed: float, steps: int) -> float:
    """A smaller gap of `here` by lower bounds found at points that Newton steps of the judge's own reach; where the
    penalty is a square, or none.
    """
    penalty = data.problem.penalty
    if not hasattr(penalty, "positive") or penalty.positive or getattr(penalty, "l1", 0.0) > 0.0:
        return value
    if len(data.centre) > SEARCH_COLUMNS:
        return _searched_far(data, here, value, allowed)
    point: Point | None = read(data, here.params, 2)
    for _ in range(steps):
        if point is None or point.hessian is None:
            break
        fall = newton_bound if np.isfinite(data.problem.loss.self_concordance) else tilted_bound
        bound = min(_by_slopes(data, point, sums_at(data, point.params)), fall(data, point))
        value = min(value, here.value - lower_bound(point.value, bound))
        if value <= allowed or bound <= 0.005 * value:
            break
        point = newton_step(data, point)
    return value


def _searched_far(data: Data, here: Point, value: float, allowed: float) -> float:
    """The same without a Hessian, where columns are many."""
    steps, point = Truncated(data), here
    while value > allowed:
        ahead = steps.step(point)
        if ahead is None:
            break
        point = ahead
        bound = _by_slopes(data, point, sums_at(data, point.params))
        value = min(value, here.value - lower_bound(point.value, bound))
        if bound <= 0.005 * value:
            break
    return value


def _unrounded(data: Data, here: Point, value: float) -> float:
    """A smaller gap of `here` under an L1 penalty, by a Newton step of the judge's own for the weights in use, whose
    signs stay: dual points follow the digits that were stored, and where margins cancel those are few.
    """
    penalty, w, p = data.problem.penalty, here.params.coef[0], len(data.centre)
    if not isinstance(penalty, ElasticNet) or penalty.l1 == 0.0 or p > SEARCH_COLUMNS:
        return value
    point = read(data, here.params, 2)
    assert point.hessian is not None
    used = np.flatnonzero(np.append(w != 0.0, np.ones(len(point.gradient) - p, dtype=bool)))
    factor = factored(point.hessian[np.ix_(used, used)])
    if factor is None:
        return value
    step = np.zeros(p + 1)
    step[used] = -factor.solve((point.gradient + np.append(penalty.l1 * np.sign(w), 0.0)[: len(point.gradient)])[used])
    ahead = Params(here.params.coef + step[None, :p], here.params.intercept + step[p:])
    if not np.isfinite(step).all() or np.any(ahead.coef[0] * w < 0.0):
        return value
    sums = sums_at(data, ahead)
    there = point_of(data, ahead, sums)
    bound = _by_slopes(data, there, sums)
    bound = min(bound, _by_projection(data, there)) if _limit(data) else bound
    return min(value, here.value - lower_bound(there.value, bound))


class _Free(NamedTuple):
    """Slopes (m, 1) of the rows of a block, and how freely each may move."""

    slopes: Callable[[Block], Array]
    freedom: Callable[[Block], Array]


def _by_projection(data: Data, here: Point) -> float:
    """The gap at slopes moved along the columns, for problems without a penalty."""
    at, c, loss = local(data, here.params), data.centre, data.problem.loss

    def freedom(block: Block) -> Array:
        curvature = loss.curvature(block.y, forward(block.X, at, c))
        xp = namespace(curvature)
        return xp.where(xp.isfinite(curvature), curvature, xp.zeros_like(curvature))

    return _projected(data, here, _Free(lambda block: loss.slope(block.y, forward(block.X, at, c)), freedom))


def _projected(data: Data, here: Point, free: _Free) -> float:
    fit = _fit_by_columns(data, here, free)
    if fit is None:
        return np.inf
    c, loss, at = data.centre, data.problem.loss, local(data, here.params)

    def near(block: Block) -> Array:
        return free.slopes(block) - free.freedom(block) * forward(block.X, fit, c)

    largest = -data.rows.fold(lambda block: _Least(-_size_of(near(block)))).least

    def moved(block: Block) -> Array:
        # slopes that are rounding beside others are none, or a feature that only they pull at would not be balanced
        u = near(block)
        xp = namespace(u)
        return xp.where(xp.abs(u) <= 4.0 * EPS * largest, xp.zeros_like(u), u)

    share = data.rows.fold(lambda block: _Least(_share_inside(loss, block, moved(block)))).least
    return _at(data, here, lambda block: share * moved(block), at)


class _Least(NamedTuple):
    least: float

    def merge(self, other: "_Least") -> "_Least":
        return _Least(min(self.least, other.least))


def _size_of(u: Array) -> float:
    xp = namespace(u)
    return float(xp.max(xp.abs(u)))


def _share_inside(loss: Loss, block: Block, u: Array) -> float:
    """The largest share of u, at most all, at which every conjugate is finite."""
    xp = namespace(u)
    inside = loss.clip(block.y, u)
    moved = (inside != u) & (weights_of(block)[:, None] > 0.0)
    shares = xp.where(moved, inside / xp.where(moved, u, xp.ones_like(u)), xp.ones_like(u))
    return float(xp.min(shares)) * (1.0 - EPS) if bool(xp.any(moved)) else 1.0


def _fit_by_columns(data: Data, here: Point, free: _Free) -> Params | None:
    """The parameters d at which slopes minus freedom times x.d pull at weights as they should; found twice over.

    Without a penalty, not at all. Under an L1 penalty as it pulls back at the weights that are used, and not more at
    those whose pull exceeds it; others are left alone.
    """
    p, c = len(data.centre), data.centre
    zero = Params(np.zeros((1, p)), np.zeros(1))
    square = derivatives(Square(), zero, 2, c)

    def gram(block: Block) -> MaybeDeferred[Derivatives]:
        y, weight = contiguous(block.y[:, :1]), weights_of(block) * free.freedom(block)[:, 0]
        return square(replace(block, y=y, weight=weight))

    H = data.rows.fold(gram).hessian
    assert H is not None
    if not data.problem.intercept:
        q, h = H[:-1, -1], H[-1, -1]
        H = H[:-1, :-1] + np.outer(c, q) + np.outer(q + h * c, c)
    fit, limit, w = zero, _limit(data), here.params.coef[0]
    wanted, moved, factor = np.zeros(len(H)), np.arange(len(H)), None
    for _ in range(2):

        def left(block: Block, fit: Params = fit) -> Array:
            return free.slopes(block) - free.freedom(block) * forward(block.X, fit, c)

        total = data.rows.fold(lambda block: _pull_of(block, left(block), c)).sum
        g = total if data.problem.intercept else total[:-1] + total[-1] * c
        if factor is None:
            if limit:
                wanted[:p] = np.where(w != 0.0, -np.sign(w), np.clip(g[:p] / here.weight / limit, -1.0, 1.0))
                beyond = (w != 0.0) | (np.abs(g[:p]) > limit * here.weight)
                moved = np.flatnonzero(np.append(beyond, np.ones(len(H) - p, dtype=bool)))
            # a column that depends on others may pull as it will inside of its limit, but slopes must sum to zero
            factor = factored(H[np.ix_(moved, moved)], len(moved) - 1 if data.problem.intercept else None)
            if factor is None:
                return None
        d = np.zeros(p + 1)
        d[moved] = factor.solve((g - limit * here.weight * wanted)[moved])
        coef = fit.coef + d[None, :p]
        # without an intercept the fit is by the rows as they are
        b = fit.intercept + d[p:] if data.problem.intercept else coef @ c
        fit = Params(np.ascontiguousarray(coef), np.ascontiguousarray(b))
    return fit


def _pull_of(block: Block, u: Array, centre: Floats | None) -> Total:
    """sum weight u [x - centre, 1]."""
    u = contiguous(u * weights_of(block)[:, None])
    return Total(np.append(adjoint(block.X, u, centre)[0], float(namespace(u).sum(u))))


def _at(data: Data, here: Point, slopes: Callable[[Block], Array], at: Params) -> float:
    """The gap at slopes (m, 1) of the samples of a block."""
    loss, c = data.problem.loss, data.centre
    # without an intercept that is free the samples as they are: a way about the centre would add its rounding
    origin = c if data.problem.balances else None

    def inside(block: Block) -> Array:
        # rounding may have left the domain by a unit in the last place
        return loss.clip(block.y, slopes(block))

    def lift(block: Block) -> Total:
        u, z = inside(block), forward(block.X, at, c)
        xp = namespace(u)
        weight, value = weights_of(block)[:, None], loss.value(block.y, z)
        terms = xp.where(weight > 0.0, value + loss.conjugate(block.y, u) - u * z, xp.zeros_like(z))
        sums = [float(xp.sum(weight * part)) for part in (xp.abs(u), terms, value)]
        return Total(np.append(_pull_of(block, u, origin).sum, sums))

    def sizes() -> Floats:
        total = data.rows.fold(lambda block: Total(sum_sizes(block, inside(block), origin))).sum
        return np.asarray(total / here.weight)

    sums = data.rows.fold(lift).sum / here.weight
    pull, (s, size, term, mean) = sums[:-4], sums[-4:]
    point = Slopes(pull, float(term), float(mean), float(s), float(size))
    return bound_gap(data.problem, here.params.coef, intercept_of(data, here.params), point, sizes)


def _by_points(data: Data, here: Point, dual: Floats | None, allowed: float) -> float:
    """The gap at a dual vector, given or made from averages of slopes about the margins: the rows are at hand."""
    rows, problem, at = data.rows, data.problem, local(data, here.params)
    if rows.distributed:
        return np.inf
    y = on_host(rows.map(targets_of))[:, 0]
    weight = on_host(rows.map(weights_of))
    loss, best = problem.loss, np.inf
    if dual is not None:
        u = loss.clip(y, np.asarray(dual))
        best = _by_vector(data, here, u, y, weight)
        if best > allowed and loss.nonsmooth and not _free(data):
            best = min(best, _without_penalty(data, here, u, y, weight))
    if best <= allowed or not loss.nonsmooth:
        return best
    z = on_host(rows.map(predictions(at, data.centre)))[:, 0]
    spread = float(np.sqrt(np.average((z - np.average(z, weights=weight)) ** 2, weights=weight))) or 1.0
    for width in (spread * w for w in WIDTHS):
        if best <= allowed:
            break
        u = (loss.value(y, z + width) - loss.value(y, z - width)) / (2.0 * width)
        best = min(best, _by_vector(data, here, loss.clip(y, u), y, weight))
    return best


def _by_vector(data: Data, here: Point, u: Floats, y: Floats, weight: Floats) -> float:
    """The gap at a vector of slopes inside of the conjugate's domain."""
    problem = data.problem
    if problem.balances and not _free(data):
        u = balanced_inside(problem.loss, y, u, weight)
    joint = data._replace(rows=data.rows.retarget(np.column_stack([y, u])))
    split = _Targets(problem.loss)
    joint = joint._replace(problem=replace(problem, loss=cast(Loss, split)))

    def slopes(block: Block) -> Array:
        return block.y[:, 1:]

    def freedom(block: Block) -> Array:
        """The distance to the end of the domain, at most one."""
        u, one = block.y[:, 1:], np.ones_like(block.y[:, 1:])
        return np.minimum(np.minimum(u - split.clip(block.y, u - one), split.clip(block.y, u + one) - u), one)

    if _free(data):
        return _projected(joint, here, _Free(slopes, freedom))
    return _at(joint, here, slopes, local(data, here.params))


def _without_penalty(data: Data, here: Point, u: Floats, y: Floats, weight: Floats) -> float:
    """The gap to the problem without its penalty, whose optimum is below: next to nothing is then left of the penalty's
    own value, where columns or weights are large.
    """
    problem = data.problem
    if data.rows.shape[1] > SEARCH_COLUMNS:
        return np.inf
    free = data._replace(problem=replace(problem, penalty=L2(0.0), intercept_penalty=0.0))
    b = outer_intercept(data, here.params) if problem.intercept_penalty > 0.0 else 0.0
    own = float(problem.penalty.value(here.params.coef)[0]) + 0.5 * problem.intercept_penalty * b * b
    return own + _by_vector(free, here, u, y, weight)


class _Targets:
    """A loss whose targets have a second column, which it does not read."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    def value(self, y: Array, z: Array) -> Array:
        return self.loss.value(y[:, :1], z)

    def conjugate(self, y: Array, u: Array) -> Array:
        return self.loss.conjugate(y[:, :1], u)

    def clip(self, y: Array, u: Array) -> Array:
        return self.loss.clip(y[:, :1], u)


def balanced_inside(loss: Loss, y: Floats, u: Floats, weight: Floats) -> Floats:
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
    share = below / (below - above) if above > below else 0.0
    return np.asarray((1.0 - share) * loss.clip(y, u + low) + share * loss.clip(y, u + high))


def _sizes(data: Data, here: Point) -> tuple[float, float]:
    """Mean sizes of the slopes and of the curvatures of the sample's rows."""
    loss, at = data.problem.loss, local(data, here.params)

    def lift(block: Block) -> Total:
        weight, z = weights_of(block), forward(block.X, at, data.centre)
        xp = namespace(z)
        slope, curvature = xp.abs(loss.slope(block.y, z)), loss.curvature(block.y, z)[:, 0]
        if loss.nonsmooth:  # the slopes beside a kink that rounding may hide
            near = 64.0 * EPS * (xp.abs(z) + xp.abs(block.y))
            for beside in (z - near, z + near):
                other = xp.abs(loss.slope(block.y, beside))
                slope = xp.where(other > slope, other, slope)
        sums = [xp.sum(weight), xp.sum(weight * slope[:, 0]), xp.sum(weight * curvature)]
        return Total(np.array([float(part) for part in sums]))

    with np.errstate(all="ignore"):  # parameters far off: the sums are not finite, and the gap is not, either
        total, slopes, curvatures = data.sample.fold(lift).sum
    return (slopes / total, curvatures / total) if total > 0.0 else (1.0, 1.0)


def _mean_cancelling(data: Data, here: Point) -> float:
    """The mean size of terms that cancel in the losses of the sample's rows; zero for losses without such terms."""
    loss, at = data.problem.loss, local(data, here.params)
    if loss.link != "log":
        return 0.0

    def lift(block: Block) -> Total:
        weight = weights_of(block)[:, None]
        terms = loss.rounding(block.y, forward(block.X, at, data.centre))
        xp = namespace(terms)
        return Total(np.array([float(on_host(xp.sum(part))) for part in (weight, weight * terms)]))

    with np.errstate(all="ignore"):
        total, terms = data.sample.fold(lift).sum
    return terms / total if total > 0.0 else 0.0


def _floor(data: Data, here: Point, outer: Floats, dtype: Any, sizes: tuple[float, float]) -> float:
    """Rounding of the objective and of the margins, and what storing the parameters in `dtype` can cost; by the mean
    sizes of slopes and curvatures. `outer` is the intercept as it is stored.
    """
    (slope, curvature), w = sizes, np.abs(here.params.coef[0])
    about, b = float(np.sum(w * np.sqrt(data.squares))), abs(float(here.params.intercept[0]))
    offset = float(np.sum(w * np.abs(data.centre))) + b
    stored_intercept = stored_roundoff(outer, dtype) * float(np.sum(np.abs(outer)))
    rounded = unit_roundoff(dtype) * about + unit_roundoff(np.float64) * offset + stored_intercept
    computed = sum_rounding(data.rows.shape[0]) * max(here.value, data.scale) + slope * (
        EPS * (about + b) + EXTENDED_EPS * offset
    )
    stored = 0.5 * curvature * rounded * rounded + (slope * rounded if data.problem.loss.nonsmooth else 0.0)
    floor = computed + stored + EPS * _mean_cancelling(data, here)
    return floor if np.isfinite(floor) else 8.0 * EPS
