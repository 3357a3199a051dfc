"""Kind gap for several classes with one softmax: a dual point that is made feasible here.

With q the probabilities of a row, e_y its class and u = q - e_y its slopes, D(u) = -(1/W) sum weight conjugate(u) -
penalty*(-(1/W) sum weight u x') is a lower bound on every objective, provided that u + e_y is in the
simplex for every row and that the slopes of every class sum to zero, because intercepts are free.

Slopes are made to sum to zero by moving them along the curvatures C = diag(q) - q q': q + C s = q (1 + t), t = s - q.s,
stays in the simplex where the entries of s differ by less than one, and with a = max s - min s

    conjugate(u + C s) <= conjugate(u) + (C s).z + s'C s B(a) / a^2,    B(a) = a + (1 - a) log(1 - a).

Without a penalty, and where that bound is too loose, the bound of falls_of_classes.py.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats, is_numpy, like, namespace, on_host, unit_roundoff
from tenfold.data import Block, Rows, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dual_bound import ROUNDING
from tenfold.judge.falls_of_classes import fall, inverted, newton_step
from tenfold.judge.gap_fenchel import LOOSE
from tenfold.judge.gap_smooth import EPS, EXTENDED_EPS, SEARCH_STEPS, SEPARATED
from tenfold.judge.newton_decrement_bound import price
from tenfold.judge.objective_points import centred, length, lower_bound, require_finite, sampled, stored_roundoff
from tenfold.judge.points_of_classes import Data, Point, local, read
from tenfold.losses.classification import Softmax
from tenfold.machine import one_blas_thread
from tenfold.penalties import ElasticNet
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params, Total, adjoint, derivatives, forward
from tenfold.stats.min_max import of_recession

SEARCH_SIZE = 1024
"""With at most so many coefficients the judge looks for a better lower bound by Newton steps of its own."""

BALANCING = 40
"""At most so many steps of the intercepts alone."""


def gap_of_classes(
    problem: Glm,
    rows: Rows,
    params: Params,
    *,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
    direction: Params | None = None,
    search: int = SEARCH_STEPS,
) -> Certificate:
    """Judge a softmax problem: the objective minus a lower bound on every objective; arguments as for `gap`."""
    refused = require_finite("gap", params, tol)
    if refused is not None:
        return refused
    centre, sample, squares = sampled(rows)
    strength = np.broadcast_to(np.ravel(problem.penalty.strength), len(params.intercept)).reshape(-1, 1)
    data = Data(problem.penalty, problem.intercept, strength, rows, centre, sample, squares)
    here = read(data, centred(params, centre) if problem.intercept else params, 1)
    scale = float(np.log(len(params.intercept)))
    floor = _floor(data, params, max(here.value, scale), dtype)
    tol = RULES["gap"].tol if tol is None else tol
    certificate = Certificate("gap", here.value, scale, tol, floor, here.value, 0.0, status=status, parts=(here.value,))
    if data.free and any(_separates(data, d) for d in (params, direction) if d is not None):
        return replace(certificate, status="no maximum", note=SEPARATED)
    start = _drop_absent(data, here)
    lower, point = _first_bound(data, start, certificate.allowed)
    size = params.coef.size + len(params.intercept)
    if search and here.value - lower > certificate.allowed and size <= SEARCH_SIZE and not data.nonsmooth:
        lower, point = _search(data, start, lower, point, certificate.allowed, search)
    value = here.value - lower
    value = max(value, floor) if np.isfinite(value) else np.inf
    tight = value <= certificate.allowed or point.value - lower <= 0.1 * value
    return replace(
        certificate,
        value=value,
        lower_bound=lower,
        radius=float(np.sqrt(2.0 * (value + floor) / np.min(strength))) if data.squared else None,
        parts=(value,),
        note="" if tight else LOOSE,
    )


def _floor(data: Data, params: Params, size: float, dtype: Any) -> float:
    """Rounding of the objective and of the margins, and what storing the parameters in `dtype` can cost."""
    w = np.abs(params.coef)
    about = float(np.max(np.sum(w * np.sqrt(data.squares), axis=1)))
    offset = float(np.max(np.sum(w * np.abs(data.centre), axis=1) + np.abs(params.intercept)))
    # the slopes of a row sum to at most two; the intercept was moved to the centre in extended precision
    computed = 8.0 * EPS * size + 2.0 * (EPS * about + EXTENDED_EPS * offset)
    rounded = unit_roundoff(dtype) * about + unit_roundoff(np.float64) * offset
    rounded += stored_roundoff(params.intercept, dtype) * float(np.max(np.abs(params.intercept)))
    floor = computed + 0.5 * rounded * rounded
    return floor if np.isfinite(floor) else 8.0 * EPS


NEVER = -1e30
"""An intercept at which a class has no probability at all."""


def _drop_absent(data: Data, here: Point) -> Point:
    """The point at which classes that no sample with a weight has are ruled out: the best objective is that of the
    others alone, and intercepts of such classes have no best value.
    """
    if not data.intercept:
        return here
    K = len(here.slope)

    def lift(block: Block) -> Total:
        weight, xp = weights_of(block), namespace(block.y)
        own = [xp.where(block.y[:, 0] == float(k), weight, xp.zeros_like(weight)) for k in range(K)]
        return Total(np.array([float(on_host(xp.sum(part))) for part in own]))

    absent = data.rows.fold(lift).sum == 0.0
    if not absent.any() or absent.all():
        return here
    coef, b = here.params.coef.copy(), here.params.intercept.copy()
    coef[absent], b[absent] = 0.0, NEVER
    return read(data, Params(coef, b), 1)


class _Balance(NamedTuple):
    """How slopes are moved: s (K,), the sum of curvatures along it s'C s, what the move adds to the gradient, and what
    rounding has left of the sums of the slopes, times the intercepts; infinite where that is more than rounding.
    """

    s: Floats
    bend: float
    move: Floats
    missed: float = 0.0

    @property
    def reach(self) -> float:
        return float(np.max(self.s) - np.min(self.s))

    @property
    def cost(self) -> float:
        a = self.reach
        if not a < 1.0:
            return np.inf
        return self.bend * (price(a, 1.0) / (a * a) if a > 1e-8 else 0.5 / (1.0 - a)) + self.missed


def _first_bound(data: Data, here: Point, allowed: float) -> tuple[float, Point]:
    """The dual value at the parameters' own slopes, moved in a sample or in all rows, or after the intercepts were."""
    if data.free:
        return 0.0, here
    own = _distance(data, here, here.gradient)
    if not data.intercept:
        return _lower(here, own), here
    best, point = 0.0, here
    for rows in (data.sample, data.rows):
        bound = _dual_gap(data, here, _balanced(data, here, rows))
        best = max(best, _lower(here, bound))
        if bound <= max(allowed, 2.0 * own):
            return best, here
    moved = _best_intercepts(data, here)
    lower = lower_bound(moved.value, _dual_gap(data, moved, _balanced(data, moved, data.rows)))
    return (lower, moved) if lower > best else (best, point)


def _lower(point: Point, bound: float) -> float:
    """Losses and penalties are not negative: a bound below zero says nothing."""
    return max(0.0, point.value - bound) if np.isfinite(point.value - bound) else 0.0


def _distance(data: Data, point: Point, gradient: Floats) -> float:
    """What the weights and the pull v of the slopes leave of the gap: penalty(w) + penalty*(-v) + v.w, which is
    sum_k ||v_k + strength_k w_k||^2 / (2 strength_k) for an L2 penalty; `gradient` is v + strength w.

    With another penalty a share of the slopes is taken, where the conjugate is infinite at all of them: the conjugate
    of the loss is zero at zero, and what is not taken costs its share of the loss. Sums over rows are rounded, by about
    this much of each column's length.
    """
    offset = 0.0 if data.intercept else float(np.sum(data.centre**2))
    rounding = EPS * float(np.sqrt(len(gradient) * (np.sum(data.squares) + offset)))
    if not data.nonsmooth:
        root = np.sqrt(data.strength)
        return (length(gradient / root) + rounding / float(np.min(root))) ** 2 / 2.0
    w, penalty = point.params.coef, data.penalty
    v = gradient - data.strength * w
    value = float(np.sum(penalty.value(w)))
    loss = point.value - value
    inner = replace(penalty, l2=0.0) if isinstance(penalty, ElasticNet) else penalty
    shares = {float(np.min(penalty.share(-v))), float(np.min(inner.share(-v)))}
    return min(
        (1.0 - share) * loss
        + max(value + float(np.sum(penalty.conjugate(-share * v))) + share * float(np.sum(v * w)), 0.0)
        for share in shares
    )


def _dual_gap(data: Data, point: Point, balance: _Balance) -> float:
    """Objective minus D(u + C s): all but two terms cancel."""
    cost = balance.cost
    return _distance(data, point, point.gradient + balance.move) + cost if np.isfinite(cost) else np.inf


def _balanced(data: Data, point: Point, rows: Rows) -> _Balance:
    """The move of the slopes of `rows` after which the slopes of every class sum to zero."""
    params = local(data, point.params)
    C = rows.fold(_curvatures(params, data.centre)).sum / point.weight
    s = _to_zero(C, point.slope)
    s = s + _to_zero(C, point.slope + C @ s)  # for the digits that the first has lost
    if not np.max(s) - np.min(s) < 1.0:
        return _Balance(s, np.inf, np.zeros_like(point.gradient))
    left = point.slope + C @ s
    possible = np.diag(C) > 0.0
    left[possible] -= np.mean(left[possible])  # slopes of a row sum to zero but for rounding
    # of a class |u| is p or 1 - p, so that its mean is at least the curvature's
    sizes = np.abs(point.slope) + np.abs(C) @ np.abs(s) + np.diag(C)
    if not np.all(np.abs(left) <= ROUNDING * sizes):
        return _Balance(s, np.inf, np.zeros_like(point.gradient))
    move = rows.fold(partial(_moved, params, data.centre, s)).sum / point.weight
    return _Balance(s, float(s @ C @ s), move, float(np.sum(np.abs(left * params.intercept))))


def _to_zero(C: Floats, slope: Floats) -> Floats:
    """s with C s = -slope; what is added to all classes alike has no curvature, and is not needed."""
    K = len(slope)
    level = np.trace(C) / K**2
    lifted = C + level + np.diag(np.where(np.diag(C) > 0.0, 0.0, level))
    out_of_reach = np.linspace(-1.0, 1.0, K)
    if not (np.isfinite(lifted).all() and np.isfinite(slope).all()):
        return out_of_reach
    with one_blas_thread:
        lower, info = lapack.dpotrf(lifted, lower=1)
        if info != 0:
            return out_of_reach
        return np.asarray(lapack.dpotrs(lower, -slope, lower=1)[0])


def _curvatures(params: Params, centre: Floats) -> Callable[[Block], Total]:
    """The lift of sum weight C (K, K)."""

    def lift(block: Block) -> Total:
        q = Softmax().probabilities(forward(block.X, params, centre))
        xp, each = namespace(q), weights_of(block)[:, None] * q
        outer = np.einsum("nk,nl->kl", each, q) if is_numpy(q) else on_host(xp.matmul(each.T, q))
        return Total(np.diag(on_host(xp.sum(each, axis=0))) - outer)

    return lift


def _moved(params: Params, centre: Floats, s: Floats, block: Block) -> Total:
    """The lift of sum weight (C s) (x - centre)' (K, p)."""
    q = Softmax().probabilities(forward(block.X, params, centre))
    xp, along = namespace(q), like(s, q)
    t = along - xp.sum(q * along, axis=1, keepdims=True)
    return Total(adjoint(block.X, weights_of(block)[:, None] * q * t, centre))


def _best_intercepts(data: Data, here: Point) -> Point:
    """The point with the best intercepts for its weights: Newton's method on these alone, with short steps."""
    params, slope = here.params, here.slope
    for _ in range(BALANCING):
        C = data.rows.fold(_curvatures(local(data, params), data.centre)).sum / here.weight
        s = _to_zero(C + 1e-14 * np.trace(C) * np.eye(len(slope)), slope)
        reach = float(np.max(s) - np.min(s))
        if reach < 1e-3:
            break
        params = Params(params.coef, params.intercept + s * min(1.0, 2.0 / reach))
        sums = data.rows.fold(derivatives(Softmax(), params, 0, data.centre))
        slope = sums.slope / sums.weight
    return read(data, params, 1)


def _search(data: Data, here: Point, lower: float, proved: Point, allowed: float, steps: int) -> tuple[float, Point]:
    """The best bound found in at most so many Newton steps from `here`, and the point where it was found."""
    point: Point | None = read(data, here.params, 2)
    for count in range(steps + 1):
        if point is None or point.hessian is None:
            break
        inverse = inverted(data, point.hessian, len(point.slope))
        if inverse is None:
            break
        bound = fall(data, point, inverse)
        if data.squared:
            first = _first_bound(data, point, allowed)
            bound = min(bound, point.value - first[0] if first[1] is point else np.inf)
        found = lower_bound(point.value, bound)
        if found >= lower:
            lower, proved = found, point
        excess = here.value - lower
        if excess <= allowed or proved.value - lower <= 0.005 * excess or count == steps:
            break
        point = newton_step(data, point, inverse)
    return lower, proved


def _separates(data: Data, params: Params) -> bool:
    """Whether the right class of no row of positive weight loses, and in some rows it wins clearly; up to the rounding
    of a sum over a row.
    """
    right = data.rows.fold(of_recession(Softmax(), centred(params, data.centre), data.centre))
    low, high = float(right.low[0]), float(right.high[0])
    largest = max(abs(low), abs(high))
    return 0.0 < largest < np.inf and high > 1e-3 * largest and low >= -1e-12 * largest
