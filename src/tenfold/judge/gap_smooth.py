"""Kind gap: smooth self-concordant losses with squares as a penalty or none, and the softmax with any penalty, by a
dual point that is made feasible here; most fits cost one pass.

With u slopes of the loss at any raw predictions, D(u) = -(1/W) sum weight conjugate(u) - penalty*(-X'(weight u)/W) is a
lower bound on every objective, provided that sum weight u = 0 for every output where intercepts are free. Slopes are
made to sum to zero by moving them along the curvatures C (K, K): for a loss with |loss'''| <= M loss'' along directions
whose `spread` is one (DesignProblem), and any s with a = spread(s) < 1 / M, u + C s is in the domain of the conjugate
and

    conjugate(u + C s) <= conjugate(u) + (C s).z + s'C s B(a) / a^2,    B(a) = (M a + (1 - M a) log(1 - M a)) / M^2.

Of one raw prediction that is the logistic and the square loss, the Poisson, Gamma and Tweedie deviance; of a softmax
with probabilities q, C = diag(q) - q q', and q + C s = q (1 + s - q.s) stays in the simplex. Without a penalty, and
where that bound is too loose, the bound of newton_decrement_bound.py, at Newton steps of the judge's own.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import EPS, Floats, like, namespace, on_host
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dual_bound import ROUNDING
from tenfold.judge.newton_decrement_bound import newton_bound, newton_step, price
from tenfold.judge.objective_points import (
    LOOSE,
    SEARCH_COLUMNS,
    SEARCH_STEPS,
    DesignProblem,
    ObjectivePoint,
    floor_of,
    length,
    loss_sizes,
    lower_bound,
    point_of,
    read,
)
from tenfold.judge.truncated_newton import TruncatedNewton
from tenfold.losses.loss import Loss
from tenfold.machine import one_blas_thread
from tenfold.objectives.design import DataDesign, DesignBlock, Predictor, curvature_product, sum_curvatures
from tenfold.penalties import ElasticNet

SEARCH_SIZE = 1024  # coefficients of a softmax up to which Newton steps of the judge's own form a Hessian: 8 MB
INTERCEPT_STEPS = 40  # of the intercepts alone
NO_INTERCEPT = -1e30  # an intercept at which a class has no probability at all

SEPARATED = (
    "The classes can be separated, so the likelihood has no maximum: longer weights are always better. "
    "Use a penalty (a finite C)."
)
RECEDES = (
    "The likelihood has no maximum: along some weights the means of counts that are zero fall for ever, and the others "
    "stay. Use a penalty (alpha > 0), or leave these columns out."
)


class Tilt(NamedTuple):
    """Curvatures of some samples or all, divided by the weight of all: mean C (K, K), and the mean of (C_i s) a_i'
    (K, p) for any s (K,).
    """

    curvature: Floats
    correlate: Callable[[Floats], Floats]


class Proof(NamedTuple):
    """A lower bound on every objective, the point where it was found, and the tilt there."""

    lower: float
    point: ObjectivePoint
    tilt: Tilt | None


def smooth_gap(
    data: DesignProblem,
    x: Floats,
    stored: Floats,
    *,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
    directions: Sequence[Floats] = (),
    search: int = SEARCH_STEPS,
) -> tuple[Certificate, ObjectivePoint, Proof | None]:
    """Judge coefficients x (K, q), with intercepts that are stored as `stored` (K,) in `dtype`; also the point at x and
    the proof. `directions` are coefficients that may separate the classes; at most `search` Newton steps are taken.
    """
    problem, loss = data.problem, data.problem.loss
    assert problem.intercept_penalty == 0.0
    here, tilt = _read_with_tilt(data, x)
    sizes = loss_sizes(data, x)
    data = data._replace(slope=float(sizes[0]))
    floor = floor_of(data, here, stored, dtype, sizes)
    tol = RULES["gap"].tol if tol is None else tol
    value = here.value
    certificate = Certificate("gap", value, data.scale, tol, floor, value, 0.0, status=status, parts=(value,))
    if data.unpenalised and any(_separates(data, d) for d in directions):
        note = SEPARATED if loss.signs or loss.multi_output else RECEDES
        return replace(certificate, status="no maximum", note=note), here, None
    if not np.isfinite(value):
        return certificate, here, None  # parameters so far away that their losses are beyond all numbers
    start = _drop_absent(data, here) if loss.multi_output and problem.intercept else here
    proof = _first_proof(data, start, tilt, certificate.allowed, floor)
    if search and value - proof.lower > certificate.allowed:
        proof = _search(data, here.value, start, proof, certificate.allowed, search)
    value = here.value - proof.lower
    value = max(value, floor) if np.isfinite(value) else np.inf
    tight = value <= certificate.allowed or proof.point.value - proof.lower <= 0.1 * value
    radius = float(np.sqrt(2.0 * (value + floor) / np.min(data.strength))) if data.strongly_convex else None
    note = "" if tight else LOOSE
    certificate = replace(certificate, value=value, lower_bound=proof.lower, radius=radius, parts=(value,), note=note)
    return certificate, here, proof


def _read_with_tilt(data: DesignProblem, x: Floats) -> tuple[ObjectivePoint, Tilt | None]:
    """The point at x and, of one raw prediction with an intercept, the tilt of the sample there, in one pass."""
    with np.errstate(over="ignore", invalid="ignore"):  # parameters far off
        if not data.design.intercept or data.problem.loss.multi_output:
            return read(data, x, 1), None
        means, curved = data.design.read_with_curvature(data.problem.loss, x)
    tilt = Tilt(curved[-1:].reshape(1, 1), lambda s: s[:, None] * curved[:-1])
    return point_of(data, x, means), tilt


def _tilt_of(data: DesignProblem, point: ObjectivePoint, design: DataDesign) -> Tilt:
    """The tilt of the samples of `design`."""
    loss, predict = data.problem.loss, design.predictor(point.x)

    curvature = design.sum(lambda block: sum_curvatures(loss, block.y, predict(block), block.weight))
    return Tilt(curvature / point.weight, partial(_correlate_curvatures, data, point, design, predict))


def _correlate_curvatures(
    data: DesignProblem, point: ObjectivePoint, design: DataDesign, predict: Predictor, s: Floats
) -> Floats:
    loss, p = data.problem.loss, design.columns

    def lift(block: DesignBlock) -> Floats:
        z = predict(block)
        return block.adjoint(block.weight[:, None] * curvature_product(loss, block.y, z, like(s, z)[None, :]))

    return design.sum(lift)[:, :p] / point.weight


def _tilt_of_hessian(data: DesignProblem, point: ObjectivePoint) -> Tilt:
    """The tilt of all samples, from the Hessian."""
    assert point.hessian is not None
    K, q = point.gradient.shape
    H = point.hessian.reshape(K, q, K, q)
    return Tilt(H[:, -1, :, -1], lambda s: np.einsum("kil,l->ki", H[:, :-1, :, -1], s))


class _FeasibilityCost(NamedTuple):
    """How slopes are moved so that they sum to zero: s (K,), the mean of s'C s, what the move adds to the gradient, and
    what rounding leaves of the sums of the slopes, times the intercepts; infinite where that is more than rounding.
    """

    curvature: float
    move: Floats
    missed: float
    spread: float
    self_concordance: float

    @property
    def cost(self) -> float:
        a = self.spread
        M = self.self_concordance
        if not (np.isfinite(a) and M * a < 1.0):
            return np.inf
        ratio = price(a, M) / (a * a) if a > 1e-8 and M > 0.0 else 0.5 / (1.0 - M * a)
        return self.curvature * ratio + self.missed


@np.errstate(over="ignore", invalid="ignore")  # parameters far off
def _price_feasibility(data: DesignProblem, point: ObjectivePoint, tilt: Tilt) -> _FeasibilityCost:
    """The move along the curvatures of `tilt` after which the slopes of every output sum to zero."""
    C, slope, M = tilt.curvature, point.gradient[:, -1], data.self_concordance
    s = _solve_intercepts(data.problem.loss, C, slope)
    s = s + _solve_intercepts(data.problem.loss, C, slope + C @ s)  # for the digits that the first has lost
    infeasible = _FeasibilityCost(np.inf, np.zeros((len(s), data.design.columns)), np.inf, np.inf, M)
    if not (np.isfinite(s).all() and M * data.spread(s) < 1.0):
        return infeasible
    left = slope + C @ s
    if data.problem.loss.multi_output:
        possible = np.diag(C) > 0.0
        left[possible] -= np.mean(left[possible])  # slopes of a sample sum to zero but for rounding
    # of a class |u| is p or 1 - p, so that its mean is at least the curvature's
    sizes = np.abs(slope) + np.abs(C) @ np.abs(s) + np.diag(C)
    if not np.all(np.abs(left) <= ROUNDING * sizes):
        return infeasible
    missed = float(np.sum(np.abs(left * point.x[:, -1])))
    return _FeasibilityCost(float(s @ C @ s), tilt.correlate(s), missed, data.spread(s), M)


def _solve_intercepts(loss: Loss, C: Floats, slope: Floats) -> Floats:
    """s (K,) with C s = -slope; what is added to all classes of a softmax alike has no curvature, and is not needed."""
    if not loss.multi_output:
        return -slope / C[0] if C[0, 0] > 0.0 else np.full(1, np.inf)
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


def _distance(data: DesignProblem, point: ObjectivePoint, gradient: Floats) -> float:
    """What the weights and the correlation v of the slopes leave of the gap: penalty(w) + penalty*(-v) + v.w, which is
    sum_k ||v_k + strength_k w_k||^2 / (2 strength_k) for squares; `gradient` (K, p) is v + strength w.

    With another penalty slopes are scaled, where the conjugate is infinite at all of them: the conjugate of the loss is
    zero at zero, and what is left out costs its part of the loss. Sums over samples are rounded, by the size of a slope
    times the length of each column.
    """
    rounding = data.slope * EPS * data.design.column_length * float(np.sqrt(len(gradient)))
    if not data.nonsmooth_penalty:
        root = np.sqrt(data.strength[:, 0])
        size = length(np.sqrt(np.maximum(data.design.inner(gradient, gradient), 0.0)) / root)
        return (size + rounding / float(np.min(root))) ** 2 / 2.0
    w, penalty = data.weights(point.x), data.problem.penalty
    v = gradient - data.strength * w
    value = float(np.sum(penalty.value(w)))
    loss = point.value - value
    inner = replace(penalty, l2=0.0) if isinstance(penalty, ElasticNet) else penalty
    scalings = {float(np.min(penalty.dual_scaling(-v))), float(np.min(inner.dual_scaling(-v)))}
    return min(
        (1.0 - scaling) * loss
        + max(value + float(np.sum(penalty.conjugate(-scaling * v))) + scaling * float(np.sum(v * w)), 0.0)
        for scaling in scalings
    )


def _dual_gap(data: DesignProblem, point: ObjectivePoint, tilt: Tilt | None) -> float:
    """Objective minus D(u + C s), u the slopes at `point`: conjugates of slopes at z are u.z - loss, so that all but
    two terms cancel.
    """
    if data.unpenalised or not (data.strongly_convex or data.nonsmooth_penalty):
        return np.inf
    gradient = data.weights(point.gradient)
    if not data.design.intercept:
        return _distance(data, point, gradient)
    if tilt is None:
        return np.inf
    feasibility = _price_feasibility(data, point, tilt)
    cost = feasibility.cost
    return _distance(data, point, gradient + feasibility.move) + cost if np.isfinite(cost) else np.inf


def _lower(point: ObjectivePoint, bound: float) -> float:
    """Losses and penalties are not negative: a bound below zero says nothing."""
    return max(0.0, point.value - bound) if np.isfinite(point.value - bound) else 0.0


def _first_proof(data: DesignProblem, here: ObjectivePoint, tilt: Tilt | None, allowed: float, floor: float) -> Proof:
    """The dual value at the slopes of x: those of a sample are moved, of a softmax those of all samples where that is
    too little, or intercepts first.
    """
    if data.unpenalised or not data.design.intercept:
        return Proof(_lower(here, _dual_gap(data, here, None)), here, tilt)
    if not data.problem.loss.multi_output:
        assert tilt is not None
        bound, h = _dual_gap(data, here, tilt), float(tilt.curvature[0, 0])
        if data.design.sampled_whole and not bound * abs(float(here.gradient[0, -1])) <= 0.5 * floor * h:
            # few samples: at the best intercept the slopes balance by themselves
            here, tilt = _read_with_tilt(data, _at_best_intercept(data, here, h))
            bound = _dual_gap(data, here, tilt)
        return Proof(_lower(here, bound), here, tilt)
    unbalanced = _distance(data, here, data.weights(here.gradient))
    proof = Proof(0.0, here, None)
    for design in (data.design.sample, data.design):
        tilt = _tilt_of(data, here, design)
        bound = _dual_gap(data, here, tilt)
        proof = max(proof, Proof(_lower(here, bound), here, tilt), key=lambda each: each.lower)
        if bound <= max(allowed, 2.0 * unbalanced):
            return proof
    moved = _at_best_intercepts(data, here)
    tilt = _tilt_of(data, moved, data.design)
    lower = lower_bound(moved.value, _dual_gap(data, moved, tilt))
    return Proof(lower, moved, tilt) if lower > proof.lower else proof


def _at_best_intercept(data: DesignProblem, here: ObjectivePoint, curvature: float) -> Floats:
    """x with the best intercept of one output; all samples are at hand."""
    design = data.design
    weight = (on_host(design.weights) / here.weight)[:, None]
    z = design.map(design.predictor(here.x))
    x = here.x.copy()
    x[0, -1] += best_intercept(data.problem.loss, design.targets, z, weight, float(here.gradient[0, -1]), curvature)
    return x


def best_intercept(loss: Loss, y: Floats, z: Floats, weight: Floats, slope: float, curvature: float) -> float:
    """The constant to add to the raw predictions z that minimises the weighted sum of the loss: Newton's method in a
    bracket.

    `slope` and `curvature` are the sums at z; near the end the curvature need not be computed again.
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
        slope = float(np.sum(weight * loss.slope(y, z + b)))
        if abs(step) > 1e-3:
            curvature = float(np.sum(weight * loss.curvature(y, z + b)))
    return b


def _at_best_intercepts(data: DesignProblem, here: ObjectivePoint) -> ObjectivePoint:
    """The point with the best intercepts of a softmax: Newton's method on these alone, with short steps."""
    x, slope, loss = here.x.copy(), here.gradient[:, -1], data.problem.loss
    point = here
    for _ in range(INTERCEPT_STEPS):
        C = _tilt_of(data, point, data.design).curvature
        s = _solve_intercepts(loss, C + 1e-14 * np.trace(C) * np.eye(len(slope)), slope)
        spread = data.spread(s)
        if spread < 1e-3:
            break
        x = x.copy()
        x[:, -1] += s * min(1.0, 2.0 / spread)
        point = point._replace(x=x)
        slope = _mean_slopes(data, x) / here.weight
    return read(data, x, 1)


def _mean_slopes(data: DesignProblem, x: Floats) -> Floats:
    """The sums (K,) of the slopes of a softmax."""
    loss, predict = data.problem.loss, data.design.predictor(x)

    def lift(block: DesignBlock) -> Floats:
        u = block.weight[:, None] * loss.slope(block.y, predict(block))
        return on_host(namespace(u).sum(u, axis=0))

    return data.design.sum(lift)


def _drop_absent(data: DesignProblem, here: ObjectivePoint) -> ObjectivePoint:
    """The point at which classes that no sample with a weight has are ruled out: the best objective is that of the
    others alone, and intercepts of such classes have no best value.
    """
    K = data.outputs

    def lift(block: DesignBlock) -> Floats:
        weight, xp = block.weight, namespace(block.y)
        of_class = [xp.where(block.y[:, 0] == float(k), weight, xp.zeros_like(weight)) for k in range(K)]
        return np.array([float(on_host(xp.sum(part))) for part in of_class])

    absent = data.design.sum(lift) == 0.0
    if not absent.any() or absent.all():
        return here
    x = here.x.copy()
    x[absent], x[absent, -1] = 0.0, NO_INTERCEPT
    return read(data, x, 1)


def _search(
    data: DesignProblem, value: float, start: ObjectivePoint, proof: Proof, allowed: float, steps: int
) -> Proof:
    """The best bound at `start` and at points that at most so many Newton steps of the judge's own reach, for an
    objective of `value`.
    """
    if data.problem.loss.multi_output and (start.x.size > SEARCH_SIZE or data.nonsmooth_penalty):
        return proof
    if not (data.design.has_matrix and data.design.columns <= SEARCH_COLUMNS):
        return _search_without_hessian(data, value, proof, allowed, steps)
    point: ObjectivePoint | None = read(data, start.x, 2)
    for count in range(steps + 1):
        if point is None or point.hessian is None or not np.isfinite(point.hessian).all():
            break
        tilt = _tilt_of_hessian(data, point) if data.design.intercept else proof.tilt
        bound = min(_dual_gap(data, point, tilt), newton_bound(data, point))
        lower = lower_bound(point.value, bound)
        if lower >= proof.lower:
            proof = Proof(lower, point, tilt)
        excess = value - proof.lower
        if excess <= allowed or proof.point.value - proof.lower <= 0.005 * excess or count == steps:
            break
        point = newton_step(data, point)
    return proof


def _search_without_hessian(data: DesignProblem, value: float, proof: Proof, allowed: float, steps: int) -> Proof:
    """The same where columns are many."""
    walk = TruncatedNewton(data)
    for _ in range(steps):
        excess = value - proof.lower
        if excess <= allowed or proof.point.value - proof.lower <= 0.005 * excess:
            break
        ahead = walk.step(proof.point)
        if ahead is None:
            break
        point, tilt = _read_with_tilt(data, ahead.x)
        lower = lower_bound(point.value, _dual_gap(data, point, tilt))
        if not lower > proof.lower:
            break
        proof = Proof(lower, point, tilt)
    return proof


def _separates(data: DesignProblem, x: Floats) -> bool:
    """Whether no sample of positive weight loses along x, and some clearly gain; up to the rounding of a sum over the
    features. Of several classes the right one gains on the best of the others.
    """
    loss, predict = data.problem.loss, data.design.predictor(x)

    def ends(block: DesignBlock) -> Any:
        gain = loss.recession(block.y, predict(block))
        return namespace(gain).concat([gain, -gain], axis=1)

    low, high = data.design.minimum(ends) * np.array([1.0, -1.0])
    largest = max(abs(low), abs(high))
    return bool(0.0 < largest < np.inf and high > 1e-3 * largest and low >= -1e-12 * largest)


def intercept_drift(data: DesignProblem, here: ObjectivePoint, proof: Proof) -> tuple[Floats, float]:
    """How far from the centre (p,) weights and intercept of one output are not coupled, and how far from the judged one
    the best intercept there can be.

    Slopes that sum to e h, e > 0, instead of zero bound the objective at intercept b from below by the same dual value
    plus e h b: the best b, whose objective is not above the judged one, is at most the excess over e h away. Likewise
    on the other side.
    """
    p, point, strength = data.design.columns, proof.point, float(np.max(data.strength))
    if not data.design.intercept:
        return np.zeros(p), 0.0
    h = 0.0 if proof.tilt is None else float(proof.tilt.curvature[0, 0])
    if strength == 0.0 or proof.tilt is None or not h > 0.0:
        return np.zeros(p), np.inf
    step = proof.tilt.correlate(np.ones(1))[0] / h
    between = here.x[0] - point.x[0]
    excess = max(here.value - point.value, 0.0) + 8.0 * EPS * max(here.value, data.scale)
    moved = float(between[-1] + np.sum(between[:-1].astype(np.longdouble) * step)) if point is not here else 0.0
    gradient = point.gradient[0]
    far = intercept_distance(gradient, h, step, excess, moved, strength, data.self_concordance)
    return (step, far) if np.isfinite(far) else (np.zeros(p), np.inf)


def intercept_distance(
    gradient: Floats, h: float, step: Floats, excess: float, moved: float, strength: float, self_concordance: float
) -> float:
    """The second number of `intercept_drift`, by the gradient (p + 1,), the mean curvature h and the coupling `step`
    (p,) at the point of the proof, what the judged objective exceeds the one there by, and how far its intercept is.
    """
    tilted = abs(float(gradient[-1])) / h
    distance = length(gradient[:-1] - gradient[-1] * step)
    excess += distance * distance / (2.0 * strength)
    e = min(0.5, float(np.sqrt(2.0 * excess / h)))
    return (excess + h * price(e + tilted, self_concordance)) / (e * h) + abs(moved)
