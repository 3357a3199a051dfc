"""Generalised linear models of one target, and multinomial models: any smooth loss, without a penalty, with an L2
penalty, or, where the loss is convex, an L1 penalty, an elastic net or a group lasso.

`select_solver` selects the solver by the shape of the data (glm_paths.py; l1_glm.py where the penalty is not smooth).
Few dense samples are solved and judged in one compiled call each (dense_glm.py).
Few samples of many features are first rotated into as many coordinates as samples. The initial point is the best
constant. The judge evaluates the result; a fit that is not certified is continued.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import MemoryRows, Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.linear_models import gap, stationarity
from tenfold.losses.classification import Logistic, Softmax
from tenfold.losses.loss import Loss
from tenfold.objectives.linear import LinearObjective, pack, unpack
from tenfold.penalties import L2, Penalty
from tenfold.plans import dense_glm, glm_paths, l1_glm
from tenfold.plans.coordinates import NEWTON_COLUMNS, ROTATED_ROWS, Frame, approximate_centre, without_constants
from tenfold.plans.result import Fitted, not_judged, round_to_dtype, solve_until_certified
from tenfold.plans.separability import check_tiny_columns, normalise, recession, recession_of_classes
from tenfold.problems import Glm
from tenfold.solvers.loop import Callback, Solution, Status, Step, map_params, run
from tenfold.stats.derivatives import Params, curvatures, total_weight
from tenfold.stats.intercept_only import best_constant, mean_loss
from tenfold.stats.min_max import of_weights

HESSIAN_MAX_PRODUCTS = 2e8  # multiplications up to which a Hessian of all samples takes milliseconds
MULTICLASS_HESSIAN_MAX_PRODUCTS = 1e9  # the same for a softmax

HESSIAN_MAX_FEATURES = 32  # up to here a pass with the Hessian costs little more than one without
SPARSE_HESSIAN_MAX_FEATURES = 128  # the same for sparse samples
MULTICLASS_HESSIAN_MAX_COEFFICIENTS = 384  # of a softmax, up to which the whole Hessian is formed

SEARCH_STEPS = 3  # Newton steps of the judge for a better dual point

NEWTON_STEPS, LBFGS_PASSES = 6, 60  # typical numbers, for the choice between the two

MANY_PASSES = 20  # of a Hessian's price, from which on passes are tried first (benchmark: logistic 4k x 400)

MIN_LOG_MEAN = -30.0  # the initial intercept where every count is zero, and the best one is minus infinity

LOG2 = float(np.log(2.0))  # least logistic loss of a misclassified sample

CLASSIFICATION_CURVATURE = 0.125  # half of the largest second derivative of the logistic loss


@dataclass(frozen=True)
class GlmFit(Fitted):
    """A fit, with a direction of recession where the likelihood has no maximum (separable classes)."""

    direction: Params | None = None


class StoppingRule:
    """A measure that is at most one where no entry of the gradient exceeds `tol` and the bound of the gap is below that
    of the judge; `tighten` lowers the latter.
    """

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
        """The measure, from the gradient and the expected decrease of the objective."""
        # without a penalty the judge needs a decrement within the region of quadratic convergence
        bound = 1e4 * decrease
        if self.strength > 0.0 and self.convex:
            # the judge's bound of the gap; an unpenalised intercept adds the expected decrease
            by_class = gradient.reshape(self.outputs, -1)
            bound = float(np.sum(by_class[:, :-1] ** 2)) / (2.0 * self.strength) + decrease
            bound += (
                float(np.sum(by_class[:, -1] ** 2)) / (2.0 * self.intercept_penalty)
                if self.intercept_penalty > 0.0
                else 0.0
            )
        measure = max(float(np.max(np.abs(gradient), initial=0.0)) / self.tol, bound / self.allowed)
        # a decrease below rounding has converged, whatever the units of the features
        return min(measure, abs(decrease) / max(1e-26 * self.scale, self.tiny))


class _Setup(NamedTuple):
    """The coordinates of the solver, its steps, the function that tightens the stopping rule, the constant model, the
    number of Newton steps of the judge, and whether it takes more for a fit that has stalled.
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
    """Minimise the weighted mean loss + penalty + intercept_penalty / 2 b^2, with `outputs` raw predictions a sample.

    `solver` is "newton", for Newton's method on all samples where the Hessian is formed, or "lbfgs", for a solver that
    is selected by the shape of the data.
    """
    problem = Glm(loss, penalty, intercept, intercept_penalty if intercept else 0.0)
    dense = dense_glm.fit(problem, rows, dense_glm.Settings(tol, max_iter, time_limit, callback, dtype, start))
    if dense is not None:
        return GlmFit(dense.params, dense.certificate, solver, dense.iterations, dense.trace)
    setup = _prepare(problem, rows, outputs, solver, tol, start)
    frame = setup.frame
    outer_callback: Callback | None = (
        None if callback is None else lambda record, params: callback(record, frame.outside(params))
    )
    storage = _Storage(problem, rows, frame, dtype, setup.search, setup.constant)
    solution, result = solve_until_certified(
        setup.path, storage.store_and_judge, setup.tighten, max_iter, time_limit, outer_callback
    )
    if setup.search_again and result.certificate.status == Status.STALLED.value and not result.certificate.ok:
        result = replace(storage, search=SEARCH_STEPS).store_and_judge(solution)
    trace = solution.trace
    if len(trace) > 1:
        # the solver may not have evaluated the last step: the judge has
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
    """The parameters of a fit without a certificate, for a path of penalties, and its number of iterations."""
    setup = _prepare(Glm(loss, penalty, intercept), rows, outputs, solver, tol, start)
    solution = run(setup.path, max_iter)
    return setup.frame.outside(solution.params), solution.iterations


def select_solver(problem: Glm, rows: Rows, outputs: int, solver: str, *, hessian: bool) -> str:
    """The solver for the penalty and the shape of the data: "proximal", or one of glm_paths; `hessian` says whether
    that of one target is worth its cost.
    """
    n, p = rows.shape
    if not _is_smooth(problem):
        return "proximal"
    if p > NEWTON_COLUMNS or not (hessian or problem.loss.multi_output):
        return "diagonal"
    if problem.loss.multi_output:
        size = outputs * (p + 1)
        return (
            "newton"
            if size <= MULTICLASS_HESSIAN_MAX_COEFFICIENTS and n * size**2 <= MULTICLASS_HESSIAN_MAX_PRODUCTS
            else "blocks"
        )
    return "sample" if _uses_sample(problem, rows, solver) else "newton"


def _is_smooth(problem: Glm) -> bool:
    return isinstance(problem.penalty, L2) and not problem.penalty.positive


def _uses_sample(problem: Glm, rows: Rows, solver: str) -> bool:
    """Whether the Hessian of a subsample replaces that of all samples, which would be expensive."""
    n, p = rows.shape
    expensive = HESSIAN_MAX_FEATURES < p <= NEWTON_COLUMNS and rows.entries**2 > HESSIAN_MAX_PRODUCTS * n
    return solver == "lbfgs" and problem.loss.convex and expensive


def _prefers_passes(frame: Frame) -> bool:
    """Whether a Hessian is so expensive that some passes without one are tried first."""
    rows = frame.rows
    in_memory = frame.basis is None and isinstance(rows, MemoryRows) and not (rows.sparse or rows.on_device)
    return in_memory and glm_paths.passes_of_hessian(rows) >= MANY_PASSES


def forms_hessian(rows: Rows, strength: float) -> bool:
    """Whether Newton's method is cheaper: a sparse Hessian and its factor take about entries^2 / n + p^3 / 3 products
    and are formed a few times, L-BFGS takes some tens of passes of four products an entry. Without a penalty only
    Newton's method is fast.
    """
    n, p = rows.shape
    if p > NEWTON_COLUMNS:
        return n <= ROTATED_ROWS and not (rows.sparse or rows.on_device)
    cost = NEWTON_STEPS * (rows.entries**2 / max(n, 1) + p**3 / 3)
    return (
        not rows.sparse
        or p <= SPARSE_HESSIAN_MAX_FEATURES
        or strength == 0.0
        or cost <= 4 * LBFGS_PASSES * rows.entries
    )


def _prepare(problem: Glm, rows: Rows, outputs: int, solver: str, tol: float, start: Params | None) -> _Setup:
    """The coordinates, solver and stopping rule of a problem."""
    loss, strength, fresh = problem.loss, float(np.max(problem.penalty.strength)), start is None
    hessian, smooth, on_sample = forms_hessian(rows, strength), _is_smooth(problem), _uses_sample(problem, rows, solver)
    sampled = smooth and hessian and loss.convex and not loss.multi_output
    samples = glm_paths.take_samples(rows, on_sample) if sampled else []
    frame = _frame(problem, rows, samples[0][0] if samples else rows, hessian)
    b, scale = first_constant(problem, rows, outputs)
    constant = Params(np.zeros((outputs, rows.shape[1])), b)
    first = Params(np.zeros((outputs, frame.rows.shape[1])), b) if start is None else frame.inside(start)
    # where a Hessian is expensive, more steps are cheaper than a search of the judge's own
    expensive = not smooth or (strength > 0.0 and (loss.multi_output or not hessian or on_sample))
    setup = partial(
        _Setup, constant=constant, search=0 if expensive else SEARCH_STEPS, search_again=expensive and hessian
    )
    path_name = select_solver(problem, frame.rows, outputs, solver, hessian=hessian)
    if path_name == "proximal":
        gaps = l1_glm.GapRule(problem, tol, scale, _mean_curvature(problem, rows, constant, frame.shift))
        path = l1_glm.steps(problem, rows, first, frame.shift, gaps, fresh=fresh)
        return setup(frame, path, gaps.tighten)
    rule = StoppingRule(problem, tol, scale, outputs)
    objective, x = LinearObjective(problem, frame.rows, frame.local, outputs), pack(first)
    if path_name == "diagonal":
        path = glm_paths.by_diagonal(objective, x, rule)
    elif path_name == "blocks":
        path = glm_paths.by_blocks(objective, x, rule, fresh=fresh)
    elif loss.multi_output:
        path = glm_paths.by_classes(objective, x, rule, fresh=fresh)
    else:
        path_samples = samples if frame.basis is None else []  # subsamples are not rotated
        on = path_name == "sample"
        passes = fresh and on and _prefers_passes(frame)

        def by_newton(start: Floats, fresh: bool = False) -> Iterator[Step]:
            return glm_paths.by_newton(
                objective, start, rule, rule.tighten, scale, path_samples, fresh=fresh, on_sample=on
            )

        path = by_newton(x, fresh) if not passes else glm_paths.by_diagonal_first(objective, x, rule, by_newton)
    path = _until_separated(map_params(path, partial(unpack, outputs=outputs)), problem, rows)
    return setup(frame, path, rule.tighten)


def _frame(problem: Glm, rows: Rows, some: Rows, hessian: bool) -> Frame:
    """The coordinates of the solver; the centre is that of `some` of the samples."""
    zero = np.zeros(rows.shape[1])
    if not _is_smooth(problem):  # a rotation would change the penalty
        return Frame(rows, approximate_centre(rows, hessian) if problem.intercept else zero)
    if problem.balances:
        return Frame.of(rows, approximate_centre(some, hessian))
    frame = Frame.of(rows, zero)
    # with a penalised intercept samples are rotated uncentred; centring conditions the Hessian where it is formed
    return (
        Frame(rows, approximate_centre(some, hessian))
        if problem.intercept and hessian and frame.basis is None
        else frame
    )


def first_constant(problem: Glm, rows: Rows, outputs: int = 1) -> tuple[Floats, float]:
    """The initial intercepts, and the mean loss there; that of zero where a constant fits exactly."""
    loss = problem.loss
    if loss.multi_output:
        return np.zeros(outputs), float(np.log(outputs))
    if loss.signs:
        return np.zeros(1), float(loss.value(np.ones(1), np.zeros(1))[0]) or 1.0
    z, value = 0.0, mean_loss(loss, rows, 0.0)
    if problem.intercept and loss.link is not None:
        best = best_constant(loss, rows)
        z = max(best.z, MIN_LOG_MEAN) if loss.link == "log" else best.z
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


def _mean_curvature(problem: Glm, rows: Rows, constant: Params, shift: Floats) -> float:
    """The mean second derivative of the loss at the best constant, at least half of its Lipschitz bound."""
    loss = problem.loss
    if isinstance(loss, (Logistic, Softmax)):
        return CLASSIFICATION_CURVATURE
    mean = float(rows.fold(curvatures(loss, constant, shift)).sum[-1] / rows.fold(total_weight).sum)
    return max(mean, 0.5 * loss.lipschitz) if np.isfinite(loss.lipschitz) else mean


def _until_separated(path: Iterator[Step], problem: Glm, rows: Rows) -> Iterator[Step]:
    """Without a penalty, end as soon as the loss is so small that no sample of positive weight can be misclassified."""
    if np.max(problem.penalty.strength) > 0.0 or not isinstance(problem.loss, (Logistic, Softmax)):
        yield from path
        return
    total = rows.fold(total_weight).sum
    enough = LOG2 * float(rows.fold(of_weights).low[0]) / total
    for step in path:
        yield step._replace(measure=0.0) if step.objective < enough else step


@dataclass(frozen=True)
class _Storage:
    """Rounding of a solution to the dtype of storage, and its certificate."""

    problem: Glm
    rows: Rows
    frame: Frame
    dtype: Any
    search: int
    constant: Params

    def store_and_judge(self, solution: Solution) -> GlmFit:
        """The stored parameters, their certificate, and a direction of recession of length one where there is no
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
