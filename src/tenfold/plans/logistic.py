"""Logistic regression of two classes, and the softmax of several (multinomial.py).

Few columns, few rows: Newton's method. Few columns, many rows: Newton's method on samples of the rows, then L-BFGS on
all of them from there, on top of the sample's inverse Hessian, so that a handful of passes is enough; Newton's method
on all rows where it is not. Fewer rows than columns: the same after a rotation into as many coordinates as rows. Many
columns: L-BFGS on top of a diagonal. The judge reads the rows at the result; what it refuses is worked on further.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows, sampling_step
from tenfold.hessians import Factor
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.duality import gap
from tenfold.judge.multinomial import gap_of_classes
from tenfold.losses.labels import Logistic, Softmax
from tenfold.objectives.linear import LinearObjective, invert_diagonal, pack, unpack
from tenfold.objectives.margins import Margins
from tenfold.objectives.objective import Walk
from tenfold.penalties import L2, ElasticNet
from tenfold.plans import multinomial, sparse_glm
from tenfold.plans.fitted import Fitted, not_judged, stored
from tenfold.plans.frames import NEWTON_COLUMNS, ROTATED_ROWS, Frame, middle, without_constants
from tenfold.plans.separation import recession, recession_of_classes, refuse_tiny, unit
from tenfold.plans.sparse_glm import GapRule
from tenfold.problems import Glm
from tenfold.solvers import lbfgs, newton
from tenfold.solvers.loop import Solution, Status, Step, Watch, continued, converted, run
from tenfold.stats.derivatives import Params, total_weight
from tenfold.stats.extremes import of_weights

FEW_COLUMNS = 128
"""Up to so many a Hessian costs next to nothing."""

CHEAP_COLUMNS = 32
"""Up to so many a pass with the Hessian costs little more than one without."""

CHEAP_HESSIAN = 2e8
"""Up to so many products a Hessian of all rows is a matter of milliseconds."""

SAMPLED_ROWS = 4096
"""From so many rows on, and a hundred times as many as columns, a sample comes first."""

DEVICE_SAMPLE = 10_000
"""So many rows a column, a tenth of all at most, are in the one sample on a device, where a call is as dear as reading
a hundred megabytes and the Hessian of these rows cheaper than a pass.
"""

LEAP_ROWS = 3000
"""So many rows a column are enough for the direction and the length of the first step."""

PATIENCE = 12
"""So many steps of L-BFGS on top of a sample's Hessian, more with many columns, are tried before Newton's method on all
rows takes over.
"""

ATTEMPTS, SEARCH_STEPS = 3, 3
"""How often a fit that is not certified is continued, and how many Newton steps the judge of a fit takes by itself."""

NEWTON_STEPS, PASSES = 6, 60
"""What Newton's method and L-BFGS usually take."""

LOG2 = float(np.log(2.0))
"""The objective at zero weights."""


@dataclass(frozen=True)
class LogisticFit(Fitted):
    """A fit, with a direction that separates the classes where there is no maximum."""

    direction: Params | None = None


class StoppingRule:
    """At most one where no entry of the gradient exceeds `tol` and the judge is content; `tighten` asks for more."""

    def __init__(self, strength: float, tol: float, outputs: int = 1) -> None:
        self.strength = strength
        self.tol = max(tol, float(np.finfo(np.float64).tiny))
        self.outputs = outputs
        self.allowed = 0.8 * RULES["gap"].tol * float(np.log(max(outputs, 2)))

    def tighten(self) -> None:
        self.allowed *= 1e-3

    def __call__(self, gradient: Floats, fall: float) -> float:
        """From the gradient and the expected fall of the objective to the number that is compared with one."""
        # without a penalty the judge needs a fall so small that Newton's method cannot leave the neighbourhood
        bound = 1e4 * fall
        if self.strength > 0.0:
            # the judge's number; the intercept is not penalised, and counts by what it can gain
            weights = gradient.reshape(self.outputs, -1)[:, :-1]
            bound = float(np.einsum("kp,kp->", weights, weights)) / (2.0 * self.strength) + fall
        wanted = max(float(np.max(np.abs(gradient), initial=0.0)) / self.tol, bound / self.allowed)
        # whatever the units of the columns, there is nothing below rounding
        return min(wanted, abs(fall) / 1e-26)


def fit(
    rows: Rows,
    penalty: L2 | ElasticNet,
    intercept: bool,
    *,
    classes: int = 2,
    solver: str,
    tol: float,
    max_iter: int,
    start: Params | None = None,
    time_limit: float | None = None,
    watch: Watch | None = None,
    dtype: Any = np.float64,
) -> LogisticFit:
    """Minimise the weighted mean logistic loss + penalty; targets are -1 and +1, or for three classes and more their
    numbers.

    `solver` is "newton", for Newton's method on all rows where the Hessian is formed, or "lbfgs", for what suits the
    shape of the data.
    """
    way = _way(rows, penalty, intercept, classes, solver, tol, start)
    problem, frame, path, rule = way.problem, way.frame, way.path, way.rule
    strength, hessian = float(np.max(penalty.strength)), way.hessian
    heard: Watch | None = None if watch is None else lambda record, params: watch(record, frame.outside(params))
    solution = run(path, max_iter, time_limit, heard)
    # where a Hessian is dear, more steps are cheaper than a search of the judge's own
    kinked = isinstance(penalty, ElasticNet)
    dear = kinked or (strength > 0.0 and (problem.loss.joint or not hessian or _by_sample(rows, solver)))
    search = 0 if dear else SEARCH_STEPS
    params, certificate, direction = _finished(problem, rows, frame, solution, dtype, search)
    for _ in range(ATTEMPTS):
        # only a solver that was content too early can do more
        if certificate.ok or direction is not None or solution.status is not Status.CONVERGED:
            break
        more = continued(path, solution, max_iter, time_limit, heard)
        if more is None:
            break
        solution = more
        params, certificate, direction = _finished(problem, rows, frame, solution, dtype, search)
        rule.tighten()
    if dear and hessian and certificate.status == Status.STALLED.value and not certificate.ok:
        params, certificate, direction = _finished(problem, rows, frame, solution, dtype, SEARCH_STEPS)
    trace = solution.trace
    if len(trace) > 1:
        # the last step may not have been evaluated by the solver: the judge has done it
        trace = (*trace[:-1], replace(trace[-1], objective=min(trace[-2].objective, certificate.objective)))
    return LogisticFit(params, certificate, solver, iterations=solution.iterations, trace=trace, direction=direction)


class _Way(NamedTuple):
    """A problem, the coordinates in which it is solved, the steps there, and the rule that ends them."""

    problem: Glm
    frame: Frame
    path: Iterator[Step]
    rule: StoppingRule | GapRule
    hessian: bool


def _way(
    rows: Rows,
    penalty: L2 | ElasticNet,
    intercept: bool,
    classes: int,
    solver: str,
    tol: float,
    start: Params | None,
) -> _Way:
    """The path that suits the penalty, the classes and the shape of the data."""
    joint, strength = classes > 2, float(np.max(penalty.strength))
    problem = Glm(Softmax() if joint else Logistic(), penalty, intercept)
    kinked = isinstance(penalty, ElasticNet)
    hessian = forms_hessian(rows, strength)
    samples = _samples(rows, solver) if hessian and not (joint or kinked) else []
    centre = middle(samples[0][0] if samples else rows, hessian) if intercept else np.zeros(rows.shape[1])
    frame = Frame(rows, centre) if kinked else Frame.of(rows, centre)  # a rotation would change an L1 penalty
    outputs = classes if joint else 1
    smooth = StoppingRule(float(np.min(penalty.strength)), tol, outputs)
    sharp = GapRule(problem, tol, float(np.log(max(outputs, 2))))
    rule: StoppingRule | GapRule = sharp if kinked else smooth
    if kinked:
        zero = Params(np.zeros((outputs, rows.shape[1])), np.zeros(outputs))
        first = zero if start is None else frame.inside(start)
        path = sparse_glm.steps(problem, rows, first, centre, sharp, fresh=start is None)
    elif joint:
        path = multinomial.steps(problem, frame, classes, start, smooth)
    else:
        led_by = samples if frame.basis is None else []  # samples are in the coordinates of the data
        path = _steps(problem, frame, led_by, start, smooth, solver if hessian else None)
    path = path if kinked else _until_separated(path, problem, rows)
    return _Way(problem, frame, path, rule, hessian)


def minimise(
    rows: Rows,
    penalty: L2 | ElasticNet,
    intercept: bool,
    *,
    classes: int,
    solver: str,
    tol: float,
    max_iter: int,
    start: Params | None,
) -> tuple[Params, int]:
    """The parameters of a fit that nobody judges, for a path of penalties, and its iterations."""
    way = _way(rows, penalty, intercept, classes, solver, tol, start)
    solution = run(way.path, max_iter)
    return way.frame.outside(solution.params), solution.iterations


def middle_of(rows: Rows, intercept: bool) -> Floats:
    """The point from which rows are measured."""
    return middle(rows, True) if intercept else np.zeros(rows.shape[1])


def _steps(
    problem: Glm,
    frame: Frame,
    samples: list[tuple[Rows, int]],
    given: Params | None,
    rule: StoppingRule,
    solver: str | None,
) -> Iterator[Step]:
    """The path that suits the shape of the data, from `given` parameters of the user's rows or from zero; `solver` is
    None where no Hessian is to be formed.
    """
    objective = LinearObjective(problem, frame.rows, frame.local)
    p = frame.rows.shape[1]
    first = np.zeros(p + 1) if given is None else pack(frame.inside(given))
    return converted(_path(objective, samples, first, rule, solver, fresh=given is None), unpack)


def _path(
    objective: LinearObjective,
    samples: list[tuple[Rows, int]],
    first: Floats,
    rule: StoppingRule,
    solver: str | None,
    *,
    fresh: bool,
) -> Iterator[Step]:
    problem, rows, shift = objective.problem, objective.rows, objective.shift
    p = rows.shape[1]
    if solver is None or p > NEWTON_COLUMNS:
        # numbers for each row are kept where the rows are at hand; else a pass a trial
        walk: Walk = lbfgs.Points(objective) if rows.foreign else Margins(problem, rows, shift)
        yield from lbfgs.steps(walk, first, invert_diagonal(problem, rows, shift), rule)
        return
    start, factor = _from_samples(objective, samples, first, fresh=fresh)
    if factor is not None and _by_sample(rows, solver):
        for count, step in enumerate(lbfgs.steps(lbfgs.Points(objective), start, factor.solve, rule)):
            if count == max(PATIENCE, p // 8) or (count == 0 and step.objective > LOG2):
                break
            yield step
            start = step.params
    rule.tighten()  # a last step of Newton's method doubles the digits
    path = newton.steps(objective, start, rule)
    step = next(path)
    if start is not first and step.objective > LOG2:
        path = newton.steps(objective, first, rule)  # the sample was misleading
    else:
        yield step
    yield from path


def forms_hessian(rows: Rows, strength: float) -> bool:
    """Whether Newton's method pays: a Hessian of sparse rows takes about entries^2 / n + p^3 / 3 products and is formed
    a few times, L-BFGS takes some tens of passes of four products an entry. Without a penalty only Newton's method is
    fast.
    """
    n, p = rows.shape
    if p > NEWTON_COLUMNS:
        return n <= ROTATED_ROWS and not (rows.sparse or rows.foreign)
    cost = NEWTON_STEPS * (rows.entries**2 / max(n, 1) + p**3 / 3)
    return not rows.sparse or p <= FEW_COLUMNS or strength == 0.0 or cost <= 4 * PASSES * rows.entries


def _by_sample(rows: Rows, solver: str) -> bool:
    """Whether the Hessian of a sample is used in place of that of all rows, which would be dear."""
    n, p = rows.shape
    return solver == "lbfgs" and CHEAP_COLUMNS < p <= NEWTON_COLUMNS and rows.entries**2 > CHEAP_HESSIAN * n


def _samples(rows: Rows, solver: str) -> list[tuple[Rows, int]]:
    """Samples of growing size, with the Newton steps to take on each; none where that would not pay."""
    # the densest first: the others are samples of it
    sizes = reversed(_sizes(rows, solver))
    samples = [(rows.thin(sampling_step(rows.shape[0], size)), steps) for size, steps in sizes]
    return [(sample, steps) for sample, steps in reversed(samples) if sample.fold(of_weights).low[0] < np.inf]


def _sizes(rows: Rows, solver: str) -> list[tuple[int, int]]:
    """How many rows are in each sample, and the steps to take."""
    n, p = rows.shape
    small, large = max(SAMPLED_ROWS // 4, 25 * p), max(10 * p, min(n // 10, 100 * p))
    if p > NEWTON_COLUMNS:
        return []
    if rows.foreign and not rows.scattered and 4 * small <= n:
        return [(max(small, min(n // 10, DEVICE_SAMPLE * p)), 6)]
    by_sample = _by_sample(rows, solver)
    chosen = [(small, 6)] if 4 * small <= (min(n, 2 * large) if by_sample else n) else []
    if by_sample:
        return [*chosen, (large, 2 if chosen else 1)]
    return [*chosen, (4 * small, 2)] if 16 * small <= n else chosen


def _from_samples(
    objective: LinearObjective, samples: list[tuple[Rows, int]], start: Floats, fresh: bool
) -> tuple[Floats, Factor | None]:
    """The solution of the last sample and the factor of its Hessian; a start that was given is kept."""

    def on(some: Rows) -> LinearObjective:
        return LinearObjective(objective.problem, some, objective.shift)

    if not fresh:
        return start, newton.refine(on(samples[-1][0]), start, 1, 0.0)[1] if samples else None
    factor = None
    if samples:
        start = newton.leap(on(_some_of(samples[0][0])), start)
    for sample, steps in samples:
        start, factor = newton.refine(on(sample), start, steps, 1e-3)
    return start, factor


def _some_of(sample: Rows) -> Rows:
    """As many rows of a sample as a leap needs."""
    n, p = sample.shape
    some = sample.thin(sampling_step(n, LEAP_ROWS * p))
    return some if some.fold(of_weights).low[0] < np.inf else sample


def _until_separated(path: Iterator[Step], problem: Glm, rows: Rows) -> Iterator[Step]:
    """Without a penalty, end as soon as the total loss is so small that no row of positive weight can be on the wrong
    side.
    """
    if np.max(problem.penalty.strength) > 0.0:
        yield from path
        return
    total = rows.fold(total_weight).sum
    enough = LOG2 * float(rows.fold(of_weights).low[0]) / total
    for step in path:
        yield step._replace(measure=0.0) if step.objective < enough else step


def _finished(
    problem: Glm, rows: Rows, frame: Frame, solution: Solution, dtype: Any, search: int
) -> tuple[Params, Certificate, Params | None]:
    """The parameters as they are stored, the judge's word on them, and a direction of length one that separates the
    classes where there is no maximum.
    """
    params = frame.outside(solution.params)
    if not isinstance(problem.penalty, ElasticNet):
        params = without_constants(problem, rows, params)
    params = stored(params, dtype, frame.shift)
    try:
        return params, *_judged(problem, rows, params, solution.status.value, dtype, search)
    except KeyboardInterrupt:
        return params, not_judged("gap"), None


def _judged(
    problem: Glm, rows: Rows, params: Params, status: str, dtype: Any, search: int
) -> tuple[Certificate, Params | None]:
    judge, direction_of = (gap_of_classes, recession_of_classes) if problem.loss.joint else (gap, recession)
    certificate = judge(problem, rows, params, status=status, dtype=dtype, search=search)
    if certificate.status == Status.NO_MAXIMUM.value:
        return certificate, unit(params)
    if certificate.ok or np.max(problem.penalty.strength) > 0.0 or isinstance(problem.penalty, ElasticNet):
        return certificate, None
    refuse_tiny(rows)
    direction = direction_of(problem, rows, params)
    if direction is not None:
        certificate = judge(problem, rows, params, status=status, dtype=dtype, direction=direction, search=0)
    return certificate, direction if certificate.status == Status.NO_MAXIMUM.value else None
