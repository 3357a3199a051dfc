"""Kind gap: convex problems of one target, by a dual point that is made feasible here; a route of its own for the
smooth losses of most fits with a square penalty or none, that asks for one pass alone.

For a loss with |loss'''| <= M loss'' (logistic and square loss, Poisson, Gamma and Tweedie deviance), slopes u and
curvatures c at margins z, and any |s| < 1 / M, the conjugate obeys ``conjugate(u + s c) <= conjugate(u) + s c z +
c B(|s|)``, ``B(a) = (M a + (1 - M a) log(1 - M a)) / M^2``: moving the slopes along the curvatures keeps them in the
conjugate's domain, at a known price.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, namespace, on_host, unit_roundoff
from tenfold.data import Block, Rows, fold_together, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.gap_fenchel import LOOSE, fenchel_gap
from tenfold.judge.newton_decrement_bound import newton_bound, newton_step, price
from tenfold.judge.objective_points import (
    Data,
    Point,
    centred,
    length,
    local,
    lower_bound,
    point_of,
    prepare,
    read,
    reading,
    require_finite,
    stored_roundoff,
    sum_rounding,
)
from tenfold.judge.truncated_newton import Truncated
from tenfold.losses.loss import Loss
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params, Total, curvatures, forward
from tenfold.stats.min_max import of_recession

SEARCH_COLUMNS = 4096
"""With at most so many columns the judge looks for a better lower bound by Newton steps of its own."""

SEARCH_STEPS = 16

EPS, EXTENDED_EPS = float(np.finfo(np.float64).eps), float(np.finfo(np.longdouble).eps)

SEPARATED = (
    "The classes can be separated, so the likelihood has no maximum: longer weights are always better. "
    "Use a penalty (a finite C)."
)
RECEDES = (
    "The likelihood has no maximum: along some weights the means of counts that are zero fall for ever, and the others "
    "stay. Use a penalty (alpha > 0), or leave these columns out."
)


class _Tilt(NamedTuple):
    """Sums of curvatures over some rows or all: of the intercept with itself, h, and with the weights, q (p,)."""

    h: float
    q: Floats


class _Proof(NamedTuple):
    """A lower bound on every objective, and the point where it was found."""

    lower: float
    point: Point
    tilt: _Tilt


def gap(
    problem: Glm,
    rows: Rows,
    params: Params,
    *,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
    direction: Params | None = None,
    dual: Floats | None = None,
    search: int = SEARCH_STEPS,
) -> Certificate:
    """Judge a convex problem of one target: the objective minus a lower bound on every objective.

    With u slopes of the loss at any margins, D(u) = -(1/W) sum weight conjugate(u) - penalty*(-X'(weight u)/W) is such
    a bound, provided that sum weight u = 0 where there is an intercept. Slopes at the parameters' own margins, made to
    sum to zero, give |gradient|^2 / (2 strength); where that is not enough, Newton steps of the judge's own, at most
    `search` of them, find a better bound. Two untrusted hints: `direction`, parameters that are said to separate the
    classes; `dual` (n,), slopes at the optimum, for losses with kinks.
    """
    plain = isinstance(problem.penalty, L2) and not problem.penalty.positive and problem.intercept_penalty == 0.0
    if not (plain and np.isfinite(problem.loss.self_concordance)):
        return fenchel_gap(problem, rows, params, dual=dual, tol=tol, status=status, dtype=dtype, search=search)
    refused = require_finite("gap", params, tol)
    if refused is not None:
        return refused
    data = prepare(problem, rows)
    here, tilt = _tilted(data, centred(params, data.centre) if problem.intercept else params)
    bends = _bends(data, here)
    data = data._replace(slope=float(bends[0]))
    floor = _floor(data, params, here, bends, dtype)
    tol = RULES["gap"].tol if tol is None else tol
    value = here.value
    certificate = Certificate("gap", value, data.scale, tol, floor, value, 0.0, status=status, parts=(value,))
    if data.strength == 0.0 and any(_separates(data, d) for d in (params, direction) if d is not None):
        return replace(certificate, status="no maximum", note=SEPARATED if problem.loss.signs else RECEDES)
    if not np.isfinite(value):
        return certificate  # parameters so far away that their losses are beyond all numbers
    proof = _first_proof(data, here, tilt, floor)
    if search and here.value - proof.lower > certificate.allowed:
        near = rows.shape[1] <= SEARCH_COLUMNS
        proof = (_search if near else _search_far)(data, here, proof, certificate.allowed, search)
    value = here.value - proof.lower
    value = max(value, floor) if np.isfinite(value) else np.inf
    centre, drift = _drift(data, here, proof)
    return replace(
        certificate,
        value=value,
        lower_bound=proof.lower,
        radius=float(np.sqrt(2.0 * (value + floor) / data.strength)) if data.strength > 0.0 else None,
        parts=(value,),
        note="" if value <= certificate.allowed or proof.point.value - proof.lower <= 0.1 * value else LOOSE,
        _coef=np.asarray(params.coef, dtype=np.float64),
        _intercept=np.asarray(params.intercept, dtype=np.float64),
        _centre=centre,
        _drift=drift,
    )


def _floor(data: Data, params: Params, here: Point, bends: Floats, dtype: Any) -> float:
    """Rounding of the objective and of the margins, and what storing the parameters in `dtype` can cost."""
    w = np.abs(params.coef[0])
    about = float(np.sum(w * np.sqrt(data.squares)))
    offset = float(np.sum(w * np.abs(data.centre))) + abs(float(params.intercept[0]))
    # the intercept was moved to the centre in extended precision, and added to the margins there
    margins = EPS * (about + abs(float(here.params.intercept[0]))) + EXTENDED_EPS * offset
    computed = sum_rounding(data.rows.shape[0]) * max(here.value, data.scale) + data.slope * margins
    rounded = (unit_roundoff(dtype) + EPS) * about + unit_roundoff(np.float64) * offset
    rounded += stored_roundoff(params.intercept, dtype) * abs(float(params.intercept[0]))
    floor = computed + EPS * float(bends[2]) + 0.5 * float(bends[1]) * rounded * rounded
    return floor if np.isfinite(floor) else 8.0 * EPS


def _bends(data: Data, here: Point) -> Floats:
    """Means over the sample: of the slopes' size, of the curvature, and of the terms that cancel in a loss."""
    loss = data.problem.loss
    if loss.signs:
        return np.array([1.0, loss.lipschitz, 0.0])
    params, centre = local(data, here.params), data.centre

    def lift(block: Block) -> Total:
        z, weight = forward(block.X, params, centre), weights_of(block)[:, None]
        xp = namespace(z)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [xp.abs(loss.slope(block.y, z)), loss.curvature(block.y, z)]
            if loss.link == "log":
                parts.append(loss.rounding(block.y, z))
            return Total(np.array([float(on_host(xp.sum(weight * part))) for part in (xp.ones_like(z), *parts)]))

    total = data.sample.fold(lift).sum
    return np.append(total[1:] / total[0], 0.0)[:3]


def _first_proof(data: Data, here: Point, tilt: _Tilt, floor: float) -> _Proof:
    """The dual value at the parameters' own slopes; the curvatures of a sample balance them."""
    bound = _dual_gap(data, here, tilt)
    if not (data.problem.intercept and data.whole and data.strength > 0.0):
        return _Proof(_lower(here, bound), here, tilt)
    if not bound * abs(float(here.gradient[-1])) <= 0.5 * floor * tilt.h:
        # few rows: the intercept is moved to its best place, where the slopes balance by themselves
        block = data.sample.whole()
        share = (weights_of(block) / here.weight)[:, None]
        z = forward(block.X, here.params, data.centre)
        moved = best_intercept(data.problem.loss, block.y, z, share, float(here.gradient[-1]), tilt.h)
        here, tilt = _tilted(data, Params(here.params.coef, here.params.intercept + moved))
        bound = _dual_gap(data, here, tilt)
    return _Proof(_lower(here, bound), here, tilt)


def _tilted(data: Data, params: Params) -> tuple[Point, _Tilt]:
    """The point at `params`, and the tilt of the sample's rows there where there is an intercept."""
    if not data.problem.intercept:
        return read(data, params, 1), _Tilt(1.0, np.zeros_like(data.centre))
    with np.errstate(over="ignore", invalid="ignore"):  # parameters far off
        lift = curvatures(data.problem.loss, params, data.centre)
        sums, bent = fold_together((data.rows, reading(data, params, 1)), (data.sample, lift))
        point = point_of(data, params, sums)
        mean = bent.sum / point.weight
    return point, _Tilt(float(mean[-1]), mean[:-1])


def best_intercept(loss: Loss, y: Floats, z: Floats, share: Floats, slope: float, curvature: float) -> float:
    """The constant to add to the margins z that minimises the sum of share times loss: Newton's method in a bracket.

    `slope` and `curvature` are the sums at z; near the end the curvature need not be found again.
    """
    low, high, b = -np.inf, np.inf, 0.0
    for _ in range(60):
        low, high = (b, high) if slope < 0 else (low, b)
        step = -slope / curvature if curvature > 0 else -float(np.sign(slope))
        step = min(max(step, -4.0), 4.0)
        new = b + step if low < b + step < high else 0.5 * (low + high)
        if slope == 0.0 or abs(new - b) <= 4.0 * EPS * max(1.0, abs(b)) or not np.isfinite(new):
            break
        b = new
        slope = float(np.sum(share * loss.slope(y, z + b)))
        if abs(step) > 1e-3:
            curvature = float(np.sum(share * loss.curvature(y, z + b)))
    return b


def _lower(point: Point, bound: float) -> float:
    """Losses and penalties are not negative: a bound below zero says nothing."""
    return max(0.0, point.value - bound) if np.isfinite(point.value - bound) else 0.0


def _dual_gap(data: Data, point: Point, tilt: _Tilt) -> float:
    """Objective minus D(u), u the slopes at `point`, moved along the curvatures behind `tilt` so that they sum to zero.

    The conjugates of slopes u at margins z are u z - loss, so that all but two terms cancel: the distance between the
    weights and those that belong to u, and the price of the move.
    """
    if data.strength == 0.0:
        return np.inf
    g, moved = point.gradient, 0.0
    if data.problem.intercept:
        g, slope = g[:-1], float(g[-1])
        moved = -slope / tilt.h if tilt.h > 0.0 else np.inf
    if not np.isfinite(moved):
        return np.inf
    # sums over rows are rounded: about this much of each column's length
    offset = 0.0 if data.problem.intercept else float(np.sum(data.centre**2))
    rounding = data.slope * EPS * float(np.sqrt(np.sum(data.squares) + offset))
    distance = length(g + moved * tilt.q) + rounding
    return distance * distance / (2.0 * data.strength) + tilt.h * price(abs(moved), data.problem.loss.self_concordance)


def _drift(data: Data, here: Point, proof: _Proof) -> tuple[Floats, float]:
    """The point about which weights and intercept are not coupled, and how far from the judged one the best intercept
    there can be.

    Slopes that sum to e h, e > 0, instead of zero bound the objective at intercept b from below by the same dual value
    plus e h b: the best b, whose objective is not above the judged one, is at most the excess over e h away. Likewise
    on the other side.
    """
    if not data.problem.intercept:
        return np.zeros_like(data.centre), 0.0
    point, (h, q) = proof.point, proof.tilt
    if data.strength == 0.0 or not h > 0.0:
        return data.centre, np.inf
    step, tilted = q / h, abs(float(point.gradient[-1])) / h
    distance = length(point.gradient[:-1] - point.gradient[-1] * step)
    excess = max(here.value - point.value, 0.0) + distance * distance / (2.0 * data.strength)
    excess += 8.0 * EPS * max(here.value, data.scale)
    e = min(0.5, float(np.sqrt(2.0 * excess / h)))
    far = (excess + h * price(e + tilted, data.problem.loss.self_concordance)) / (e * h)
    if point is not here:
        between = centred(Params(here.params.coef - point.params.coef, here.params.intercept), step).intercept
        far += abs(float(between[0] - point.params.intercept[0]))
    return (data.centre + step, far) if np.isfinite(far) else (data.centre, np.inf)


def _search(data: Data, here: Point, proof: _Proof, allowed: float, steps: int) -> _Proof:
    """The best bound found in at most so many Newton steps from `here`."""
    point: Point | None = read(data, here.params, 2)
    for count in range(steps + 1):
        if point is None or point.hessian is None:
            break
        p = len(data.centre)
        tilt = _Tilt(float(point.hessian[-1, -1]), point.hessian[:p, -1]) if data.problem.intercept else proof.tilt
        bound = min(_dual_gap(data, point, tilt), newton_bound(data, point))
        lower = lower_bound(point.value, bound)
        if lower >= proof.lower:
            proof = _Proof(lower, point, tilt)
        excess = here.value - proof.lower
        if excess <= allowed or proof.point.value - proof.lower <= 0.005 * excess or count == steps:
            break
        point = newton_step(data, point)
    return proof


def _search_far(data: Data, here: Point, proof: _Proof, allowed: float, steps: int) -> _Proof:
    """The same without a Hessian, where columns are many."""
    walk = Truncated(data)
    for _ in range(steps):
        excess = here.value - proof.lower
        if excess <= allowed or proof.point.value - proof.lower <= 0.005 * excess:
            break
        ahead = walk.step(proof.point)
        if ahead is None:
            break
        point, tilt = _tilted(data, ahead.params)
        lower = lower_bound(point.value, _dual_gap(data, point, tilt))
        if not lower > proof.lower:
            break
        proof = _Proof(lower, point, tilt)
    return proof


def _separates(data: Data, params: Params) -> bool:
    """Whether no row of positive weight loses along the parameters, and some clearly gain; up to the rounding of a sum
    over a row.
    """
    right = data.rows.fold(of_recession(data.problem.loss, centred(params, data.centre), data.centre))
    low, high = float(right.low[0]), float(right.high[0])
    largest = max(abs(low), abs(high))
    return 0.0 < largest < np.inf and high > 1e-3 * largest and low >= -1e-12 * largest
