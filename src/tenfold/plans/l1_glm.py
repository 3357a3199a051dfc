"""Smooth convex losses with an L1 penalty, an elastic net or groups: which path suits the shape of the data.

Few coefficients: proximal Newton steps, on a sample of many rows first. Many columns of sparse rows: the same without a
Hessian, by descent along the columns. Many columns in memory otherwise: the same on a working set of columns, those
with weights and those that the penalty holds back least, which grows until no other column pulls. Many columns
elsewhere, or in groups: accelerated proximal gradient steps.
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

NEWTON_SIZE = 768
"""Up to so many coefficients the Hessian of all is formed."""

MOST = 4096
"""A working set has at most so many coefficients."""

SAMPLED_ROWS = 4096

PATIENCE = 20
"""So many gradient steps before Newton's method is tried again."""

FIRST = 64
"""So many columns come into the first working set."""


Measure = Callable[[Params, Evaluation], float]
"""From a point and the smooth part of the objective there to the number that the stopping rule compares with one."""


class GapRule:
    """At most one where the gap of the scaled slopes is small enough for the judge; `tighten` asks for more."""

    def __init__(self, problem: Glm, tol: float, scale: float, bend: float = 0.125) -> None:
        """`scale` is that of the judge, `bend` about the mean curvature of the loss: half of the largest of classes."""
        self.problem, self.bend = problem, bend
        self.tol = max(tol, float(np.finfo(np.float64).tiny))
        self.allowed = 0.7 * RULES["gap"].tol * scale

    def tighten(self) -> None:
        self.allowed *= 1e-3

    def __call__(self, params: Params, here: Evaluation) -> float:
        penalty = self.problem.penalty
        by_class = here.gradient.reshape(len(params.intercept), -1)
        v = by_class[:, :-1] - float(np.max(penalty.strength)) * params.coef
        loss = float(here.value[0]) - 0.5 * float(np.max(penalty.strength)) * float(np.sum(params.coef**2))
        share = min(1.0, float(np.min(penalty.dual_scaling(-v))))
        gap = (1.0 - share) * loss + float(
            np.sum(penalty.value(params.coef) + penalty.conjugate(-share * v)) + share * np.sum(v * params.coef)
        )
        # an intercept counts by what it can gain
        gap += float(np.sum(by_class[:, -1] ** 2)) / (2.0 * self.bend)
        largest = float(np.max(penalty.subgradient_distance(params.coef, v), initial=0.0))
        slope = float(np.max(np.abs(by_class[:, -1])))
        return max(gap / self.allowed, max(largest, slope) / self.tol)


def steps(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: GapRule, *, fresh: bool) -> Iterator[Step]:
    """Steps in the coordinates about `shift`; a `fresh` start is none that was asked for."""
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

    def measured(x: Floats, here: Reading) -> float:
        params = unpack(x, outputs)
        return measure(params, _with_squares(penalty, params, here))

    path = fista.steps(bare, ProximalPenalty(penalty, outputs), pack(start), measured)
    return map_params(path, partial(unpack, outputs=outputs))


def _with_squares(penalty: Penalty, params: Params, here: Reading) -> Evaluation:
    """Of a bare loss, the loss with the squares of the penalty."""
    strength = np.asarray(penalty.strength, dtype=np.float64).reshape(-1, 1)
    square = 0.5 * float(np.sum(strength * params.coef**2))
    pull = np.column_stack([strength * params.coef, np.zeros(len(params.coef))])
    return Evaluation(np.array([here.value + square]), (here.gradient + pull.ravel())[None, :], None)


def _newton(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: GapRule) -> Iterator[Step]:
    """Proximal Newton steps. Where they end before they are enough, for a loss may have no curvature far from its
    optimum, gradients lead on: so many steps, then twice as many.
    """
    patience, first = PATIENCE, 0
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
    """The solution of a sample, where rows are many."""
    n, p = rows.shape
    step = sampling_step(n, max(SAMPLED_ROWS, 50 * p))
    if step == 1:
        return start
    sample = rows.thin(step)
    if not sample.fold(of_weights).low[0] < np.inf:
        return start
    for count, found in enumerate(prox_newton.steps(problem, sample, start, shift, measure)):
        start = found.params
        if count == 6 or found.measure <= 1e4:
            break
    return start


def _working_sets(problem: Glm, rows: MemoryRows, start: Params, shift: Floats, measure: GapRule) -> Iterator[Step]:
    outputs = len(start.intercept)
    params, size, before = start, FIRST, np.inf
    while True:
        here = evaluate(problem, rows, params, 1, shift)
        l1 = float(problem.penalty.l1)  # type: ignore[attr-defined]
        f = float(here.value[0]) + l1 * float(np.sum(np.abs(params.coef)))
        now = measure(params, here)
        yield Step(params, f, now)
        g = here.gradient.reshape(outputs, -1)[:, :-1]
        strength = float(np.max(problem.penalty.strength))
        pull = np.max(problem.penalty.subgradient_distance(params.coef, g - strength * params.coef), axis=0)
        used = np.any(params.coef != 0.0, axis=0)
        size = min(max(size, 2 * int(np.count_nonzero(used))), MOST // outputs)
        beyond = np.flatnonzero((pull > 0.0) & ~used)
        beyond = beyond[np.argsort(-pull[beyond], kind="stable")[: max(size - int(np.count_nonzero(used)), 0)]]
        chosen = np.sort(np.concatenate([np.flatnonzero(used), beyond]))
        if not chosen.size or chosen.size * outputs > MOST or (f >= before and not beyond.size):
            yield from gradient_steps(problem, rows, params, shift, measure)
            return
        before, size = f, 2 * size
        params = _on_columns(problem, rows, params, shift, chosen, measure, now)


def _on_columns(
    problem: Glm, rows: MemoryRows, params: Params, shift: Floats, chosen: Floats, measure: GapRule, now: float
) -> Params:
    """The parameters after the problem of some columns was solved, better by far than it was `now`."""
    part = MemoryRows(contiguous(rows.X[:, chosen]), rows.y, rows.weight)
    inside = Params(np.ascontiguousarray(params.coef[:, chosen]), params.intercept)
    for count, step in enumerate(prox_newton.steps(problem, part, inside, shift[chosen], measure)):
        inside = step.params
        if count == 20 or step.measure <= max(0.3, 1e-3 * now):
            break
    coef = np.zeros_like(params.coef)
    coef[:, chosen] = inside.coef
    return Params(coef, inside.intercept)
