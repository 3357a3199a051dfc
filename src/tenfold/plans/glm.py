"""Generalised linear models of one target, or of several classes together: any smooth loss, with a squared penalty,
none, or, where the loss is convex, an L1 penalty, an elastic net or groups.

`select_solver` says which path suits the shape of the data (glm_paths.py; l1_glm.py where the penalty has kinks).
Few rows of many columns are rotated into as many coordinates as rows first. All start at the best constant. The judge
reads the rows at the result; what it refuses is worked on further.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.linear_models import gap, stationarity
from tenfold.losses.classification import Logistic, Softmax
from tenfold.losses.loss import Loss
from tenfold.objectives.linear import LinearObjective, pack, unpack
from tenfold.penalties import L2, Penalty
from tenfold.plans import glm_paths, l1_glm
from tenfold.plans.coordinates import NEWTON_COLUMNS, ROTATED_ROWS, Frame, approximate_centre, without_constants
from tenfold.plans.result import Fitted, not_judged, round_to_dtype, solve_until_certified
from tenfold.plans.separability import check_tiny_columns, normalise, recession, recession_of_classes
from tenfold.problems import Glm
from tenfold.solvers.loop import Callback, Solution, Status, Step, map_params, run
from tenfold.stats.derivatives import Params, curvatures, total_weight
from tenfold.stats.intercept_only import best_constant, mean_loss
from tenfold.stats.min_max import of_weights

CHEAP_HESSIAN, CHEAP_HESSIAN_OF_CLASSES = 2e8, 1e9
"""Up to so many products a Hessian of all rows, and of several classes, is a matter of milliseconds."""

CHEAP_COLUMNS, FEW_COLUMNS, FEW_COEFFICIENTS = 32, 128, 384
"""Up to so many columns a pass with the Hessian costs little more than one without, and of sparse rows next to nothing;
of several classes it is formed for so many coefficients.
"""

SEARCH_STEPS = 3
"""How many Newton steps the judge of a fit takes by itself."""

NEWTON_STEPS, PASSES = 6, 60
"""What Newton's method and L-BFGS usually take."""

LOWEST = -30.0
"""The constant to start from where every count is zero."""

LOG2 = float(np.log(2.0))
"""The least logistic loss of a row on the wrong side."""

BEND_OF_CLASSES = 0.125
"""Half of the largest curvature of a logistic loss."""


@dataclass(frozen=True)
class GlmFit(Fitted):
    """A fit, with a direction along which the likelihood grows for ever where there is no maximum."""

    direction: Params | None = None


class StoppingRule:
    """At most one where no entry of the gradient exceeds `tol` and the judge is content; `tighten` asks for more."""

    tiny: ClassVar[float] = float(np.finfo(np.float64).tiny)

    def __init__(self, problem: Glm, tol: float, scale: float, outputs: int = 1) -> None:
        self.strength, self.intercept_penalty = float(np.min(problem.penalty.strength)), problem.intercept_penalty
        self.convex, self.outputs = problem.loss.convex, outputs
        self.tol = max(tol, self.tiny)
        self.scale = scale
        self.allowed = max(0.8 * RULES["gap"].tol * scale, self.tiny)

    def tighten(self) -> None:
        self.allowed = max(1e-3 * self.allowed, self.tiny)

    def __call__(self, gradient: Floats, decrease: float) -> float:
        """From the gradient and the expected fall of the objective to the number that is compared with one."""
        # without a penalty the judge needs a fall so small that Newton's method cannot leave the neighbourhood
        bound = 1e4 * decrease
        if self.strength > 0.0 and self.convex:
            # the judge's number; an intercept that is not penalised counts by what it can gain
            by_class = gradient.reshape(self.outputs, -1)
            bound = float(np.sum(by_class[:, :-1] ** 2)) / (2.0 * self.strength) + decrease
            bound += (
                float(np.sum(by_class[:, -1] ** 2)) / (2.0 * self.intercept_penalty)
                if self.intercept_penalty > 0.0
                else 0.0
            )
        wanted = max(float(np.max(np.abs(gradient), initial=0.0)) / self.tol, bound / self.allowed)
        # whatever the units of the columns, there is nothing below rounding
        return min(wanted, abs(decrease) / max(1e-26 * self.scale, self.tiny))


class _Way(NamedTuple):
    """The coordinates in which a problem is solved, the steps there, what makes their rule stricter, parameters without
    weights, how many steps the judge takes by itself, and whether it takes more of a fit that has stalled.
    """

    frame: Frame
    path: Iterator[Step]
    tighten: Callable[[], None]
    constant: Params
    search: int
    search_again: bool


def fit(
    rows: Rows,
    loss: Loss,
    penalty: Penalty,
    intercept: bool,
    *,
    outputs: int = 1,
    solver: str,
    tol: float,
    max_iter: int,
    start: Params | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    dtype: Any = np.float64,
    intercept_penalty: float = 0.0,
) -> GlmFit:
    """Minimise the weighted mean loss + penalty + tie / 2 b^2; `outputs` raw predictions a row.

    `solver` is "newton", for Newton's method on all rows where the Hessian is formed, or "lbfgs", for what suits the
    shape of the data.
    """
    problem = Glm(loss, penalty, intercept, intercept_penalty if intercept else 0.0)
    way = _way(problem, rows, outputs, solver, tol, start)
    frame = way.frame
    heard: Callback | None = (
        None if callback is None else lambda record, params: callback(record, frame.outside(params))
    )
    judged = _Judged(problem, rows, frame, dtype, way.search, way.constant)
    solution, result = solve_until_certified(way.path, judged.store_and_judge, way.tighten, max_iter, time_limit, heard)
    if way.search_again and result.certificate.status == Status.STALLED.value and not result.certificate.ok:
        result = replace(judged, search=SEARCH_STEPS).store_and_judge(solution)
    trace = solution.trace
    if len(trace) > 1:
        # the last step may not have been evaluated by the solver: the judge has done it
        trace = (*trace[:-1], replace(trace[-1], objective=min(trace[-2].objective, result.certificate.objective)))
    return replace(result, method=solver, iterations=solution.iterations, trace=trace)


def minimise(
    rows: Rows,
    loss: Loss,
    penalty: Penalty,
    intercept: bool,
    *,
    outputs: int,
    solver: str,
    tol: float,
    max_iter: int,
    start: Params | None,
) -> tuple[Params, int]:
    """The parameters of a fit that nobody judges, for a path of penalties, and its iterations."""
    way = _way(Glm(loss, penalty, intercept), rows, outputs, solver, tol, start)
    solution = run(way.path, max_iter)
    return way.frame.outside(solution.params), solution.iterations


def select_solver(problem: Glm, rows: Rows, outputs: int, solver: str, *, hessian: bool) -> str:
    """The path that suits the penalty and the shape of the data: "proximal", or one of glm_paths; `hessian` says
    whether that of one target pays.
    """
    n, p = rows.shape
    if not _is_smooth(problem):
        return "proximal"
    if p > NEWTON_COLUMNS or not (hessian or problem.loss.multi_output):
        return "diagonal"
    if problem.loss.multi_output:
        size = outputs * (p + 1)
        return "newton" if size <= FEW_COEFFICIENTS and n * size**2 <= CHEAP_HESSIAN_OF_CLASSES else "blocks"
    return "sample" if _uses_sample(problem, rows, solver) else "newton"


def _is_smooth(problem: Glm) -> bool:
    return isinstance(problem.penalty, L2) and not problem.penalty.positive


def _uses_sample(problem: Glm, rows: Rows, solver: str) -> bool:
    """Whether the Hessian of a sample is used in place of that of all rows, which would be dear."""
    n, p = rows.shape
    dear = CHEAP_COLUMNS < p <= NEWTON_COLUMNS and rows.entries**2 > CHEAP_HESSIAN * n
    return solver == "lbfgs" and problem.loss.convex and dear


def forms_hessian(rows: Rows, strength: float) -> bool:
    """Whether Newton's method pays: a Hessian of sparse rows takes about entries^2 / n + p^3 / 3 products and is formed
    a few times, L-BFGS takes some tens of passes of four products an entry. Without a penalty only Newton's method is
    fast.
    """
    n, p = rows.shape
    if p > NEWTON_COLUMNS:
        return n <= ROTATED_ROWS and not (rows.sparse or rows.on_device)
    cost = NEWTON_STEPS * (rows.entries**2 / max(n, 1) + p**3 / 3)
    return not rows.sparse or p <= FEW_COLUMNS or strength == 0.0 or cost <= 4 * PASSES * rows.entries


def _way(problem: Glm, rows: Rows, outputs: int, solver: str, tol: float, start: Params | None) -> _Way:
    """How a problem is solved and judged."""
    loss, strength, fresh = problem.loss, float(np.max(problem.penalty.strength)), start is None
    hessian, smooth, on_sample = forms_hessian(rows, strength), _is_smooth(problem), _uses_sample(problem, rows, solver)
    sampled = smooth and hessian and loss.convex and not loss.multi_output
    samples = glm_paths.take_samples(rows, on_sample) if sampled else []
    frame = _frame(problem, rows, samples[0][0] if samples else rows, hessian)
    b, scale = first_constant(problem, rows, outputs)
    constant = Params(np.zeros((outputs, rows.shape[1])), b)
    first = Params(np.zeros((outputs, frame.rows.shape[1])), b) if start is None else frame.inside(start)
    # where a Hessian is dear, more steps are cheaper than a search of the judge's own
    dear = not smooth or (strength > 0.0 and (loss.multi_output or not hessian or on_sample))
    way = partial(_Way, constant=constant, search=0 if dear else SEARCH_STEPS, search_again=dear and hessian)
    chosen = select_solver(problem, frame.rows, outputs, solver, hessian=hessian)
    if chosen == "proximal":
        gaps = l1_glm.GapRule(problem, tol, scale, _bend(problem, rows, constant, frame.shift))
        path = l1_glm.steps(problem, rows, first, frame.shift, gaps, fresh=fresh)
        return way(frame, path, gaps.tighten)
    rule = StoppingRule(problem, tol, scale, outputs)
    objective, x = LinearObjective(problem, frame.rows, frame.local, outputs), pack(first)
    if chosen == "diagonal":
        path = glm_paths.by_diagonal(objective, x, rule)
    elif chosen == "blocks":
        path = glm_paths.by_blocks(objective, x, rule, fresh=fresh)
    elif loss.multi_output:
        path = glm_paths.by_classes(objective, x, rule, fresh=fresh)
    else:
        led_by = samples if frame.basis is None else []  # samples are in the coordinates of the data
        how = {"fresh": fresh, "on_sample": chosen == "sample"}
        path = glm_paths.by_newton(objective, x, rule, rule.tighten, scale, led_by, **how)
    path = _until_separated(map_params(path, partial(unpack, outputs=outputs)), problem, rows)
    return way(frame, path, rule.tighten)


def _frame(problem: Glm, rows: Rows, some: Rows, hessian: bool) -> Frame:
    """The coordinates of the solver; the middle of the rows is that of `some` of them."""
    zero = np.zeros(rows.shape[1])
    if not _is_smooth(problem):  # a rotation would change the penalty
        return Frame(rows, approximate_centre(rows, hessian) if problem.intercept else zero)
    if problem.balances:
        return Frame.of(rows, approximate_centre(some, hessian))
    frame = Frame.of(rows, zero)
    # the rows of a tied intercept are turned as they are, and measured from elsewhere where the Hessian gains by it
    return (
        Frame(rows, approximate_centre(some, hessian))
        if problem.intercept and hessian and frame.basis is None
        else frame
    )


def first_constant(problem: Glm, rows: Rows, outputs: int = 1) -> tuple[Floats, float]:
    """The intercepts to start from, and the mean loss there; that of zero where a constant says all."""
    loss = problem.loss
    if loss.multi_output:
        return np.zeros(outputs), float(np.log(outputs))
    if loss.signs:
        return np.zeros(1), float(loss.value(np.ones(1), np.zeros(1))[0]) or 1.0
    z, value = 0.0, mean_loss(loss, rows, 0.0)
    if problem.intercept and loss.link is not None:
        best = best_constant(loss, rows)
        z = max(best.z, LOWEST) if loss.link == "log" else best.z
        value = best.value if best.value > 1e-9 * value or not np.isfinite(value) else value
    if not np.isfinite(value) and problem.intercept:
        raise ValueError(
            "The deviance of the mean is not a number: the targets are too large, or their mean is not positive. Scale "
            "the targets, or use another power."
        )
    if not np.isfinite(value):
        raise ValueError(
            "The identity link of this power needs positive means, and without an intercept there is no constant to "
            "start from: use fit_intercept=True or link='log'."
        )
    return np.array([z]), value or 1.0


def _bend(problem: Glm, rows: Rows, constant: Params, shift: Floats) -> float:
    """About the mean curvature of the loss: that at the best constant, or half of the largest where it vanishes."""
    loss = problem.loss
    if isinstance(loss, (Logistic, Softmax)):
        return BEND_OF_CLASSES
    mean = float(rows.fold(curvatures(loss, constant, shift)).sum[-1] / rows.fold(total_weight).sum)
    return max(mean, 0.5 * loss.lipschitz) if np.isfinite(loss.lipschitz) else mean


def _until_separated(path: Iterator[Step], problem: Glm, rows: Rows) -> Iterator[Step]:
    """Without a penalty, end as soon as the total loss is so small that no row of positive weight can be on the wrong
    side.
    """
    if np.max(problem.penalty.strength) > 0.0 or not isinstance(problem.loss, (Logistic, Softmax)):
        yield from path
        return
    total = rows.fold(total_weight).sum
    enough = LOG2 * float(rows.fold(of_weights).low[0]) / total
    for step in path:
        yield step._replace(measure=0.0) if step.objective < enough else step


@dataclass(frozen=True)
class _Judged:
    """How a solution is stored and judged."""

    problem: Glm
    rows: Rows
    frame: Frame
    dtype: Any
    search: int
    constant: Params

    def store_and_judge(self, solution: Solution) -> GlmFit:
        """The parameters as they are stored, the judge's word on them, and a direction of length one where there is no
        maximum.
        """
        params = self.frame.outside(solution.params)
        if _is_smooth(self.problem):
            params = without_constants(self.problem, self.rows, params)
        params = round_to_dtype(params, self.dtype, self.frame.shift)
        try:
            certificate, direction = self._judge(params, solution.status.value)
        except KeyboardInterrupt:
            certificate, direction = not_judged("gap" if self.problem.loss.convex else "stationarity"), None
        return GlmFit(params, certificate, "", direction=direction)

    def _judge(self, params: Params, status: str) -> tuple[Certificate, Params | None]:
        problem, rows = self.problem, self.rows
        if not problem.loss.convex:
            return stationarity(problem, rows, params, self.constant, status=status, dtype=self.dtype), None
        direction_of = recession_of_classes if problem.loss.multi_output else recession
        certificate = gap(problem, rows, params, status=status, dtype=self.dtype, search=self.search)
        if certificate.status == Status.NO_MAXIMUM.value:
            return certificate, normalise(params)
        if certificate.ok or np.max(problem.penalty.strength) > 0.0 or not _is_smooth(problem):
            return certificate, None
        check_tiny_columns(rows)
        direction = direction_of(problem, rows, params)
        if direction is not None:
            certificate = gap(problem, rows, params, status=status, dtype=self.dtype, direction=direction, search=0)
        return certificate, direction if certificate.status == Status.NO_MAXIMUM.value else None
