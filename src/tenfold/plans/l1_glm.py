"""Smooth convex losses with an L1 penalty, an elastic net or the group Lasso: selection of the solver.

Few coefficients: proximal Newton, on a subsample first. Many features of sparse samples: the same without a Hessian, by
coordinate descent on the columns. Many features in memory otherwise: proximal Newton on a working set of features,
active ones and those that violate optimality most, which grows until none is violated. Many features in other sources,
or in groups: FISTA.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import numpy as np

from tenfold.arrays import Floats, contiguous
from tenfold.data import MemoryRows, Rows, sampling_step
from tenfold.judge.certificate import RULES
from tenfold.objectives.linear import LinearObjective, ProximalPenalty, pack, unpack
from tenfold.objectives.objective import Reading
from tenfold.penalties import L2, Groups, Penalty
from tenfold.problems import Evaluation, Glm, evaluate
from tenfold.solvers import fista, prox_newton, prox_newton_cd
from tenfold.solvers.loop import Step, map_params
from tenfold.stats.derivatives import Params
from tenfold.stats.min_max import of_weights

NEWTON_SIZE = 768  # coefficients up to which the Hessian of all is formed

MAX_WORKING_SET = 4096  # coefficients of a working set

SUBSAMPLE_SIZE = 4096  # of a subsample that is solved first, or 50 samples a feature where that is more

GRADIENT_STEPS = 20  # before the Newton method is tried again

FIRST_FEATURES = 64  # of the first working set


Measure = Callable[[Params, Evaluation], float]
"""From a point and the smooth part of the objective there to the measure of convergence, at most one at the end."""


class GapRule:
    """At most one where the duality gap of the scaled slopes is small enough for the judge; `tighten` asks for a
    smaller one.
    """

    def __init__(self, problem: Glm, tol: float, scale: float, curvature: float = 0.125) -> None:
        """`scale` is that of the judge, `curvature` about the mean curvature of the loss: half of the largest for
        classes.
        """
        self.problem, self.curvature = problem, curvature
        self.tol = max(tol, float(np.finfo(np.float64).tiny))
        self.allowed = 0.7 * RULES["gap"].tol * scale

    def tighten(self) -> None:
        self.allowed *= 1e-3

    def __call__(self, params: Params, here: Evaluation) -> float:
        penalty = self.problem.penalty
        by_class = here.gradient.reshape(len(params.intercept), -1)
        v = by_class[:, :-1] - float(np.max(penalty.strength)) * params.coef
        loss = float(here.value[0]) - 0.5 * float(np.max(penalty.strength)) * float(np.sum(params.coef**2))
        scaling = min(1.0, float(np.min(penalty.dual_scaling(-v))))
        gap = (1.0 - scaling) * loss + float(
            np.sum(penalty.value(params.coef) + penalty.conjugate(-scaling * v)) + scaling * np.sum(v * params.coef)
        )
        # the decrease that the intercept can give
        gap += float(np.sum(by_class[:, -1] ** 2)) / (2.0 * self.curvature)
        largest = float(np.max(penalty.subgradient_distance(params.coef, v), initial=0.0))
        slope = float(np.max(np.abs(by_class[:, -1])))
        return max(gap / self.allowed, max(largest, slope) / self.tol)


def steps(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: GapRule, *, fresh: bool) -> Iterator[Step]:
    """Steps in the coordinates about `shift`; `fresh` where `start` is not a warm start."""
    if start.coef.size + start.intercept.size <= NEWTON_SIZE:
        if fresh:
            start = _from_sample(problem, rows, start, shift, measure)
        yield from _newton(problem, rows, start, shift, measure)
    elif isinstance(problem.penalty, Groups):
        yield from gradient_steps(problem, rows, start, shift, measure)
    elif isinstance(rows, MemoryRows) and rows.sparse and len(start.intercept) == 1:
        for step in prox_newton_cd.steps(problem, rows, start, shift, measure):
            yield step
            start = step.params
        yield from islice(gradient_steps(problem, rows, start, shift, measure), 1, None)
    elif isinstance(rows, MemoryRows) and not rows.on_device:
        yield from _working_sets(problem, rows, start, shift, measure)
    else:
        yield from gradient_steps(problem, rows, start, shift, measure)


def gradient_steps(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: Measure) -> Iterator[Step]:
    """FISTA on the coefficients."""
    outputs, penalty = len(start.intercept), problem.penalty
    bare = LinearObjective(Glm(problem.loss, L2(0.0), problem.intercept), rows, shift, outputs)

    def measure_vector(x: Floats, here: Reading) -> float:
        params = unpack(x, outputs)
        return measure(params, _with_squares(penalty, params, here))

    path = fista.steps(bare, ProximalPenalty(penalty, outputs), pack(start), measure_vector)
    return map_params(path, partial(unpack, outputs=outputs))


def _with_squares(penalty: Penalty, params: Params, here: Reading) -> Evaluation:
    """The loss with the quadratic part of the penalty."""
    strength = np.asarray(penalty.strength, dtype=np.float64).reshape(-1, 1)
    square = 0.5 * float(np.sum(strength * params.coef**2))
    penalty_gradient = np.column_stack([strength * params.coef, np.zeros(len(params.coef))])
    gradient = (here.gradient + penalty_gradient.ravel())[None, :]
    return Evaluation(np.array([here.value + square]), gradient, None)


def _newton(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: GapRule) -> Iterator[Step]:
    """Proximal Newton. Where it ends before convergence, for a loss may have no curvature far from its optimum,
    gradient steps follow: `GRADIENT_STEPS`, then twice as many, and so on.
    """
    patience, first = GRADIENT_STEPS, 0
    while True:
        for step in islice(prox_newton.steps(problem, rows, start, shift, measure), first, None):
            yield step
            start = step.params
        count, first = 0, 1
        for step in islice(gradient_steps(problem, rows, start, shift, measure), 1, 1 + patience):
            yield step
            start, count = step.params, count + 1
        if count < patience:
            return
        patience *= 2


def _from_sample(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: GapRule) -> Params:
    """The solution of a subsample, where samples are many."""
    n, p = rows.shape
    step = sampling_step(n, max(SUBSAMPLE_SIZE, 50 * p))
    if step == 1:
        return start
    sample = rows.subsample(step)
    if not sample.fold(of_weights).low[0] < np.inf:
        return start
    for count, result in enumerate(prox_newton.steps(problem, sample, start, shift, measure)):
        start = result.params
        if count == 6 or result.measure <= 1e4:
            break
    return start


def _working_sets(problem: Glm, rows: MemoryRows, start: Params, shift: Floats, measure: GapRule) -> Iterator[Step]:
    outputs = len(start.intercept)
    params, size, before = start, FIRST_FEATURES, np.inf
    while True:
        here = evaluate(problem, rows, params, 1, shift)
        l1 = float(problem.penalty.l1)  # type: ignore[attr-defined]
        f = float(here.value[0]) + l1 * float(np.sum(np.abs(params.coef)))
        measured = measure(params, here)
        yield Step(params, f, measured)
        g = here.gradient.reshape(outputs, -1)[:, :-1]
        strength = float(np.max(problem.penalty.strength))
        violation = np.max(problem.penalty.subgradient_distance(params.coef, g - strength * params.coef), axis=0)
        active = np.any(params.coef != 0.0, axis=0)
        size = min(max(size, 2 * int(np.count_nonzero(active))), MAX_WORKING_SET // outputs)
        joining = np.flatnonzero((violation > 0.0) & ~active)
        joining = joining[
            np.argsort(-violation[joining], kind="stable")[: max(size - int(np.count_nonzero(active)), 0)]
        ]
        working_set = np.sort(np.concatenate([np.flatnonzero(active), joining]))
        if not working_set.size or working_set.size * outputs > MAX_WORKING_SET or (f >= before and not joining.size):
            yield from gradient_steps(problem, rows, params, shift, measure)
            return
        before, size = f, 2 * size
        params = _on_columns(problem, rows, params, shift, working_set, measure, measured)


def _on_columns(
    problem: Glm,
    rows: MemoryRows,
    params: Params,
    shift: Floats,
    working_set: Floats,
    measure: GapRule,
    measured: float,
) -> Params:
    """The parameters after solving on a working set, until the measure is far below `measured`."""
    part = MemoryRows(contiguous(rows.X[:, working_set]), rows.y, rows.weight)
    inside = Params(np.ascontiguousarray(params.coef[:, working_set]), params.intercept)
    for count, step in enumerate(prox_newton.steps(problem, part, inside, shift[working_set], measure)):
        inside = step.params
        if count == 20 or step.measure <= max(0.3, 1e-3 * measured):
            break
    coef = np.zeros_like(params.coef)
    coef[:, working_set] = inside.coef
    return Params(coef, inside.intercept)
