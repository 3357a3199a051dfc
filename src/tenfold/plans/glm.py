"""Generalised linear models of one target with a smooth loss, with an L2 penalty or none.

Few columns, few rows: Newton's method. Few columns, many rows: Newton's method on samples of the rows, then L-BFGS on
all of them from there, on top of the sample's inverse Hessian; Newton's method on all rows where that is not enough.
Fewer rows than columns: the same after a rotation into as many coordinates as rows. Many columns: L-BFGS on top of a
diagonal. All start at the best constant. The judge reads the rows at the result; what it refuses is worked on further.

A loss that is not convex has Fisher's curvature or that of a parabola above it: the same steps go down, to a place
where the objective is at rest, and that is what is judged.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows, sampling_step
from tenfold.hessians import Factor
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.duality import gap
from tenfold.judge.stationarity import stationarity
from tenfold.losses.loss import Loss
from tenfold.objectives.linear import LinearObjective, invert_diagonal, pack, unpack
from tenfold.objectives.margins import Margins
from tenfold.objectives.objective import Walk
from tenfold.penalties import L2
from tenfold.plans.fitted import Fitted, certified, not_judged, stored
from tenfold.plans.frames import NEWTON_COLUMNS, ROTATED_ROWS, Frame, middle, without_constants
from tenfold.plans.separation import recession, refuse_tiny, unit
from tenfold.problems import Glm
from tenfold.solvers import lbfgs, newton
from tenfold.solvers.loop import Solution, Status, Step, Watch, converted
from tenfold.stats.constants import best_constant, mean_loss, mean_over_targets
from tenfold.stats.derivatives import Params
from tenfold.stats.extremes import of_weights

CHEAP_HESSIAN = 2e8
"""Up to so many products a Hessian of all rows is a matter of milliseconds."""

CHEAP_COLUMNS, FEW_COLUMNS = 32, 128
"""Up to so many columns a pass with the Hessian costs little more than one without; and of sparse rows next to
nothing.
"""

SAMPLED_ROWS, SAMPLE_FACTOR = 4096, 30
"""A sample has at least so many rows, and so many times as many as columns."""

PATIENCE = 12
"""So many steps of L-BFGS on top of a sample's Hessian, more with many columns, are tried before Newton's method on all
rows takes over.
"""

SEARCH_STEPS = 3
"""How many Newton steps the judge of a fit takes by itself."""

NEWTON_STEPS, PASSES = 8, 60
"""What Newton's method and L-BFGS usually take."""

FIRST_STEPS = 12
"""So many steps by a curvature that is not the second derivative come before L-BFGS."""

LOWEST = -30.0
"""The constant to start from where every count is zero."""


@dataclass(frozen=True)
class GlmFit(Fitted):
    """A fit, with a direction along which the likelihood grows for ever where there is no maximum."""

    direction: Params | None = None


class StoppingRule:
    """At most one where no entry of the gradient exceeds `tol` and the judge is content; `tighten` asks for more."""

    tiny: ClassVar[float] = float(np.finfo(np.float64).tiny)

    def __init__(self, problem: Glm, tol: float, scale: float) -> None:
        self.strength, self.tie = float(np.max(problem.penalty.strength)), problem.tie
        self.convex = problem.loss.convex
        self.tol = max(tol, self.tiny)
        self.scale = scale
        self.allowed = max(0.8 * RULES["gap"].tol * scale, self.tiny)

    def tighten(self) -> None:
        self.allowed = max(1e-3 * self.allowed, self.tiny)

    def __call__(self, gradient: Floats, fall: float) -> float:
        """From the gradient and the expected fall of the objective to the number that is compared with one."""
        bound = 1e4 * fall
        if self.strength > 0.0 and self.convex:
            # the judge's number; an intercept that is not penalised counts by what it can gain
            bound = float(np.sum(gradient[:-1] ** 2)) / (2.0 * self.strength) + fall
            bound += float(gradient[-1] ** 2) / (2.0 * self.tie) if self.tie > 0.0 else 0.0
        wanted = max(float(np.max(np.abs(gradient), initial=0.0)) / self.tol, bound / self.allowed)
        # whatever the units of the columns, there is nothing below rounding
        return min(wanted, abs(fall) / max(1e-26 * self.scale, self.tiny))


def fit(
    rows: Rows,
    loss: Loss,
    strength: float,
    intercept: bool,
    *,
    solver: str,
    tol: float,
    max_iter: int,
    start: Params | None = None,
    time_limit: float | None = None,
    watch: Watch | None = None,
    dtype: Any = np.float64,
    tie: float = 0.0,
) -> GlmFit:
    """Minimise the weighted mean loss + strength / 2 ||w||^2 + tie / 2 b^2.

    `solver` is "newton", for Newton's method on all rows where the Hessian is formed, or "lbfgs", for what suits the
    shape of the data.
    """
    problem = Glm(loss, L2(strength), intercept, tie if intercept else 0.0)
    hessian = forms_hessian(rows, problem)
    frame = _frame(problem, rows, hessian)
    first, scale = first_constant(problem, rows)
    rule = StoppingRule(problem, tol, scale)
    origin = frame.inside(start) if start is not None else Params(np.zeros((1, frame.rows.shape[1])), first)
    path = _steps(problem, frame, origin, rule, solver if hessian else None, fresh=start is None)
    heard: Watch | None = None if watch is None else lambda record, params: watch(record, frame.outside(params))
    dear = strength > 0.0 and not hessian
    work = _Judged(
        problem, rows, frame, dtype, 0 if dear else SEARCH_STEPS, Params(np.zeros((1, rows.shape[1])), first)
    )
    solution, found = certified(path, work.finished, rule.tighten, max_iter, time_limit, heard)
    trace = solution.trace
    if len(trace) > 1:
        # the last step may not have been evaluated by the solver: the judge has done it
        trace = (*trace[:-1], replace(trace[-1], objective=min(trace[-2].objective, found.certificate.objective)))
    return replace(found, method=solver, iterations=solution.iterations, trace=trace)


def _frame(problem: Glm, rows: Rows, hessian: bool) -> Frame:
    if problem.balances:
        return Frame.of(rows, middle(rows, hessian))
    frame = Frame.of(rows, np.zeros(rows.shape[1]))
    # the rows of a tied intercept are turned as they are, and measured from elsewhere where the Hessian gains by it
    return Frame(rows, middle(rows, hessian)) if problem.intercept and hessian and frame.basis is None else frame


def first_constant(problem: Glm, rows: Rows) -> tuple[Floats, float]:
    """The intercept to start from, and the mean loss there; that of zero where a constant says all."""
    loss = problem.loss
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


def _steps(
    problem: Glm, frame: Frame, first: Params, rule: StoppingRule, solver: str | None, fresh: bool
) -> Iterator[Step]:
    """The path that suits the shape of the data, from parameters in the frame; `solver` is None where no Hessian is to
    be formed.
    """
    objective = LinearObjective(problem, frame.rows, frame.local)
    return converted(_path(objective, pack(first), rule, solver, fresh), unpack)


def _path(
    objective: LinearObjective, first: Floats, rule: StoppingRule, solver: str | None, fresh: bool
) -> Iterator[Step]:
    problem, rows, shift = objective.problem, objective.rows, objective.shift
    p = rows.shape[1]
    if solver is None or p > NEWTON_COLUMNS:
        # numbers for each row are kept where the rows are at hand; else a pass a trial
        apart = rows.foreign or not problem.loss.convex
        walk: Walk = lbfgs.Points(objective) if apart else Margins(problem, rows, shift)
        yield from lbfgs.steps(walk, first, invert_diagonal(problem, rows, shift, _mean(problem, rows)), rule)
        return
    start, factor = first, None
    if _by_sample(problem, rows, solver):
        start, factor = _from_sample(objective, first, fresh)
    if factor is not None:
        value = np.inf
        for count, step in enumerate(lbfgs.steps(lbfgs.Points(objective), start, factor.solve, rule)):
            if count == max(PATIENCE, p // 8) or (count == 0 and step.objective > rule.scale):
                break
            yield step
            start, value = step.params, step.objective
        start = start if value <= rule.scale else first  # the sample was misleading
    if not problem.loss.convex:
        yield from _down(objective, start, rule)
        return
    rule.tighten()  # a last step of Newton's method doubles the digits
    yield from newton.steps(objective, start, rule)


def _down(objective: LinearObjective, start: Floats, rule: StoppingRule) -> Iterator[Step]:
    """A curvature that is not the second derivative leads near a place of rest; L-BFGS on top of it ends there."""
    for step in islice(newton.steps(objective, start, rule), FIRST_STEPS):
        yield step
        start = step.params
    factor = objective.factor(objective.read(start, 2).hessian)
    yield from islice(lbfgs.steps(lbfgs.Points(objective), start, factor.solve, rule), 1, None)


def _mean(problem: Glm, rows: Rows) -> float | None:
    """The mean of the targets, for a loss without a largest curvature."""
    loss = problem.loss
    return None if np.isfinite(loss.smoothness) else mean_over_targets(rows, lambda y: y) or 1.0


def forms_hessian(rows: Rows, problem: Glm) -> bool:
    """Whether Newton's method pays: a Hessian of sparse rows takes about entries^2 / n + p^3 / 3 products and is formed
    a few times, L-BFGS takes some tens of passes of four products an entry. Without a penalty only Newton's method is
    fast.
    """
    n, p = rows.shape
    if p > NEWTON_COLUMNS:
        return n <= ROTATED_ROWS and not (rows.sparse or rows.foreign)
    cost = NEWTON_STEPS * (rows.entries**2 / max(n, 1) + p**3 / 3)
    free = float(np.max(problem.penalty.strength)) == 0.0
    return not rows.sparse or p <= FEW_COLUMNS or free or cost <= 4 * PASSES * rows.entries


def _by_sample(problem: Glm, rows: Rows, solver: str) -> bool:
    """Whether the Hessian of a sample is used in place of that of all rows, which would be dear."""
    n, p = rows.shape
    dear = CHEAP_COLUMNS < p <= NEWTON_COLUMNS and rows.entries**2 > CHEAP_HESSIAN * n
    return solver == "lbfgs" and problem.loss.convex and dear and n >= 3 * max(SAMPLED_ROWS, SAMPLE_FACTOR * p)


def _from_sample(objective: LinearObjective, first: Floats, fresh: bool) -> tuple[Floats, Factor | None]:
    """The solution of a sample and the factor of its Hessian; a start that was given is kept."""
    rows = objective.rows
    sample = rows.thin(sampling_step(rows.shape[0], max(SAMPLED_ROWS, SAMPLE_FACTOR * rows.shape[1])))
    if not sample.fold(of_weights).low[0] < np.inf:
        return first, None
    stages = [(sample, 8 if fresh else 1)]
    if fresh and not (rows.foreign or rows.scattered):
        stages = [(sample.thin(3), 8), (sample, 1)]  # fewer rows lead most of the way, where a call costs little
    start, factor = first, None
    try:
        for some, limit in stages:
            part = LinearObjective(objective.problem, some, objective.shift)
            start, factor = newton.refine(part, start, limit, 1e-3)
    except NotFinite:
        return first, None
    return (start if fresh else first), factor


@dataclass(frozen=True)
class _Judged:
    """How a solution is stored and judged."""

    problem: Glm
    rows: Rows
    frame: Frame
    dtype: Any
    search: int
    start: Params

    def finished(self, solution: Solution) -> GlmFit:
        """The parameters as they are stored, the judge's word on them, and a direction of length one where there is no
        maximum.
        """
        params = without_constants(self.problem, self.rows, self.frame.outside(solution.params))
        params = stored(params, self.dtype, self.frame.shift)
        try:
            certificate, direction = self._judged(params, solution.status.value)
        except KeyboardInterrupt:
            certificate, direction = not_judged("gap" if self.problem.loss.convex else "stationarity"), None
        return GlmFit(params, certificate, "", direction=direction)

    def _judged(self, params: Params, status: str) -> tuple[Certificate, Params | None]:
        problem, rows = self.problem, self.rows
        if not problem.loss.convex:
            return stationarity(problem, rows, params, self.start, status=status, dtype=self.dtype), None
        certificate = gap(problem, rows, params, status=status, dtype=self.dtype, search=self.search)
        if certificate.status == Status.NO_MAXIMUM.value:
            return certificate, unit(params)
        if certificate.ok or float(np.max(problem.penalty.strength)) > 0.0:
            return certificate, None
        refuse_tiny(rows)
        direction = recession(problem, rows, params)
        if direction is not None:
            certificate = gap(problem, rows, params, status=status, dtype=self.dtype, direction=direction, search=0)
        return certificate, direction if certificate.status == Status.NO_MAXIMUM.value else None
