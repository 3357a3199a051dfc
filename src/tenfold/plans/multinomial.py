"""The path of a softmax of several classes that suits the shape of the data.

Few coefficients: Newton's method, on a sample of many rows first. More: L-BFGS on top of the inverses of the Hessian's
blocks, one a class, from a sample that is solved first; they are formed anew while they do not help enough. Many
columns: L-BFGS on top of a diagonal.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows, sampling_step
from tenfold.hessians import factor_linear
from tenfold.objectives.linear import LinearObjective, RoughSoftmax, invert_diagonal, pack, unpack
from tenfold.objectives.margins import Margins
from tenfold.objectives.objective import Walk
from tenfold.plans.frames import NEWTON_COLUMNS, Frame
from tenfold.problems import Glm
from tenfold.solvers import lbfgs, newton
from tenfold.solvers.loop import Step, converted
from tenfold.stats.derivatives import Params, total_weight
from tenfold.stats.extremes import of_weights
from tenfold.stats.several import together
from tenfold.stats.softmax import class_curvatures

FEW_COEFFICIENTS = 384
"""Up to so many the Hessian of all classes is formed."""

CHEAP_HESSIAN = 1e9
"""Up to so many products it is formed for all rows."""

SAMPLED_ROWS = 4096
"""With fewer rows there is no sample; a sample has a hundred times as many rows as columns, or that many."""

CLOSE = 0.1
"""A sample is left when a step gains less than this part of what chance may have put between it and all rows."""

PATIENCE = 15
"""So many steps on top of the same blocks."""

NOISY = 4
"""After so many steps that did not halve the measure single precision is given up."""

ROUNDING = 1e-6
"""What single precision leaves of the diagonal of a block."""

Measure = Callable[[Floats, float], float]


def steps(problem: Glm, frame: Frame, classes: int, given: Params | None, measure: Measure) -> Iterator[Step]:
    """Steps from `given` parameters of the user's rows, or from zero."""
    first = np.zeros(classes * (frame.rows.shape[1] + 1)) if given is None else pack(frame.inside(given))
    objective = LinearObjective(problem, frame.rows, frame.local, classes)
    return converted(_path(objective, first, measure, fresh=given is None), partial(unpack, outputs=classes))


def _path(objective: LinearObjective, first: Floats, measure: Measure, *, fresh: bool) -> Iterator[Step]:
    problem, rows, shift, classes = objective.problem, objective.rows, objective.shift, objective.outputs
    n, p = rows.shape
    if p > NEWTON_COLUMNS:
        apart = np.size(problem.penalty.strength) > 1  # a strength for each class
        by_points = rows.foreign or apart
        walk: Walk = lbfgs.Points(objective) if by_points else Margins(problem, rows, shift, classes)
        yield from lbfgs.steps(walk, first, invert_diagonal(problem, rows, shift, outputs=classes), measure)
        return
    sample = _sample(rows)
    part = None if sample is None else LinearObjective(problem, sample, shift, classes)
    size = classes * (p + 1)
    if size <= FEW_COEFFICIENTS and n * size**2 <= CHEAP_HESSIAN:
        if part is not None and fresh:
            first = newton.refine(part, first, 6, 1e-3)[0]
        yield from newton.steps(objective, first, measure)
        return
    first = _without_common(problem, first, classes)
    if part is not None and fresh:
        walk, before = lbfgs.Points(_rough(part)), np.inf
        # a sample's solution is as far from that of all rows as chance takes it: about half a coefficient a row
        by_chance = CLOSE * 0.5 * size / part.rows.shape[0]
        for count, step in enumerate(lbfgs.steps(walk, first, _blocks(part, first), measure)):
            first, fell, before = step.params, before - step.objective, step.objective
            if count == PATIENCE or step.measure <= 1e4 or fell <= by_chance:
                break
    yield from _on_blocks(objective, first, part or objective, measure)


def _rough(objective: LinearObjective) -> LinearObjective:
    """The same in single precision where rows are dense and here."""
    problem, rows, shift, classes = objective.problem, objective.rows, objective.shift, objective.outputs
    if rows.sparse or rows.foreign or rows.scattered:
        return objective
    return RoughSoftmax(problem, rows, shift, classes)


def _on_blocks(objective: LinearObjective, start: Floats, sample: LinearObjective, measure: Measure) -> Iterator[Step]:
    """L-BFGS on top of blocks of the Hessian of a sample, formed anew where `PATIENCE` steps were not enough, then
    twice as many, and so on.
    """
    rough = _rough(objective)
    walk = lbfgs.Points(rough)
    before, patience = np.inf, PATIENCE
    while True:
        count, best, since = 0, np.inf, 0
        for count, step in enumerate(lbfgs.steps(walk, start, _blocks(sample, start), measure)):
            if count > 0 or before == np.inf:
                yield step
            start = step.params
            best, since = (step.measure, 0) if step.measure <= 0.5 * best else (best, since + 1)
            if isinstance(rough, RoughSoftmax) and (step.measure <= 1.0 or since == NOISY):
                rough.sharpen()  # the judge wants more, or rounding is in the way
            if count == patience:
                break
        if count < patience or not step.objective < before:
            return
        before, patience = step.objective, 2 * patience


def sample_step(rows: Rows) -> int:
    """A sample has every so many of the rows."""
    n, p = rows.shape
    return sampling_step(n, max(SAMPLED_ROWS, 100 * p))


def _sample(rows: Rows) -> Rows | None:
    """Some of the rows, where they are many."""
    step = sample_step(rows)
    if step == 1:
        return None
    sample = rows.thin(step)
    return sample if sample.fold(of_weights).low[0] < np.inf else None


def _without_common(problem: Glm, x: Floats, classes: int) -> Floats:
    """What the coefficients of all classes have in common changes no prediction: the penalty is least without it."""
    if np.size(problem.penalty.strength) > 1:
        return x
    by_class = x.reshape(classes, -1)
    return (by_class - by_class.mean(axis=0)).ravel()


def regular(problem: Glm, blocks: Floats) -> Floats:
    """Blocks (..., p + 1, p + 1) of the Hessian of the loss that can be solved with, but for columns that are constant:
    single precision leaves some rounding.
    """
    p = blocks.shape[-1] - 1
    each = np.arange(p)
    blocks[..., each, each] *= 1.0 + ROUNDING
    if not problem.intercept:
        blocks[..., p, :] = blocks[..., :, p] = 0.0
        blocks[..., p, p] = 1.0
    return blocks


def _blocks(objective: LinearObjective, x: Floats) -> lbfgs.Map:
    """The inverses of the blocks of the Hessian at x, one a class or one for all, as a map between coefficients that
    have nothing in common.
    """
    problem, shift, classes = objective.problem, objective.shift, objective.outputs
    sums = objective.rows.fold(together([class_curvatures(unpack(x, classes), shift), total_weight])).parts
    found = regular(problem, sums[0].sum / sums[1].sum)
    p = len(shift)
    strength = np.asarray(problem.penalty.strength).reshape(-1, 1)
    if len(strength) > len(found):
        found = np.repeat(found, classes, axis=0)
    each = np.arange(p)
    found[:, each, each] += strength
    factors = [factor_linear(block, shift) for block in found]

    def solve(g: Floats) -> Floats:
        by_class = g.reshape(classes, -1)
        if len(factors) == 1:
            steps = factors[0].solve(by_class)
        else:
            steps = np.array([factor.solve(part) for factor, part in zip(factors, by_class, strict=True)])
        return (steps - steps.mean(axis=0) if len(strength) == 1 else steps).ravel()

    return solve
