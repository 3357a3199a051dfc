"""Paths of steps for generalised linear models with a smooth loss and squared penalties, by the shape of the data.

newton
    Newton's method, from the solution of samples where rows are many.
sample
    Newton's method on samples, then L-BFGS on all rows on top of the inverse Hessian of the last one, so that a handful
    of passes is enough; Newton's method on all rows where it is not.
blocks
    Of several classes with many coefficients: L-BFGS on top of the inverses of the Hessian's blocks, one a class, from
    a sample that is solved first; they are formed anew while they do not help enough.
diagonal
    L-BFGS on top of a diagonal, for many columns.

A loss that is not convex has Fisher's curvature or that of a parabola above it: the same steps go down, to a place
where the objective is at rest.
"""

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows, sampling_step
from tenfold.hessians import Factor, factor_linear
from tenfold.objectives.linear import LinearObjective, RoughSoftmax, invert_diagonal, unpack
from tenfold.objectives.margins import Margins
from tenfold.objectives.objective import Walk
from tenfold.plans.coordinates import NEWTON_COLUMNS
from tenfold.problems import Glm
from tenfold.solvers import lbfgs, newton
from tenfold.solvers.loop import Step
from tenfold.stats.combined import combine
from tenfold.stats.derivatives import total_weight
from tenfold.stats.intercept_only import mean_over_targets
from tenfold.stats.min_max import of_weights
from tenfold.stats.softmax import class_curvatures

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

BLOCK_PATIENCE = 15
"""So many steps on top of the same blocks."""

FIRST_STEPS = 12
"""So many steps by a curvature that is not the second derivative come before L-BFGS."""

CLOSE = 0.1
"""A sample is left when a step gains less than this part of what chance may have put between it and all rows."""

NOISY = 4
"""After so many steps that did not halve the measure single precision is given up."""

ROUNDING = 1e-6
"""What single precision leaves of the diagonal of a block."""

Measure = Callable[[Floats, float], float]


def by_diagonal(objective: LinearObjective, first: Floats, measure: Measure) -> Iterator[Step]:
    problem, rows, shift, outputs = objective.problem, objective.rows, objective.shift, objective.outputs
    # numbers for each row are kept where the rows are at hand; else a pass a trial
    one_strength = np.size(problem.penalty.strength) == 1
    at_hand = not rows.on_device and problem.loss.convex and one_strength
    walk: Walk = Margins(problem, rows, shift, outputs) if at_hand else lbfgs.Points(objective)
    scale = invert_diagonal(problem, rows, shift, _mean(problem, rows), outputs)
    return lbfgs.steps(walk, first, scale, measure)


def _mean(problem: Glm, rows: Rows) -> float | None:
    """The mean of the targets, for a loss without a largest curvature."""
    bounded = problem.loss.multi_output or np.isfinite(problem.loss.lipschitz)
    return None if bounded else mean_over_targets(rows, lambda y: y) or 1.0


def by_newton(
    objective: LinearObjective,
    first: Floats,
    measure: Measure,
    tighten: Callable[[], None],
    scale: float,
    samples: list[tuple[Rows, int]],
    *,
    fresh: bool,
    on_sample: bool,
) -> Iterator[Step]:
    """From `first`, or, where it is `fresh`, from the solution of `samples`; `on_sample` first with the last one's
    Hessian. A start that is worse than `scale` shows that a sample was misleading.
    """
    start, factor = _from_samples(objective, samples, first, fresh)
    if factor is not None and on_sample:
        value, patience = np.inf, max(PATIENCE, objective.rows.shape[1] // 8)
        for count, step in enumerate(lbfgs.steps(lbfgs.Points(objective), start, factor.solve, measure)):
            if count == patience or (count == 0 and step.objective > scale):
                break
            yield step
            start, value = step.params, step.objective
        start = start if value <= scale else first
    if not objective.problem.loss.convex:
        yield from _down(objective, start, measure)
        return
    tighten()  # a last step of Newton's method doubles the digits
    path = newton.steps(objective, start, measure)
    step = next(path)
    if start is not first and step.objective > scale:
        path = newton.steps(objective, first, measure)
    else:
        yield step
    yield from path


def _down(objective: LinearObjective, start: Floats, measure: Measure) -> Iterator[Step]:
    """A curvature that is not the second derivative leads near a place of rest; L-BFGS on top of it ends there."""
    for step in islice(newton.steps(objective, start, measure), FIRST_STEPS):
        yield step
        start = step.params
    factor = objective.factor(objective.read(start, 2).hessian)
    yield from islice(lbfgs.steps(lbfgs.Points(objective), start, factor.solve, measure), 1, None)


def take_samples(rows: Rows, on_sample: bool) -> list[tuple[Rows, int]]:
    """Samples of growing size, with the Newton steps to take on each; none where that would not pay. `on_sample` says
    whether the last one's Hessian will be used for all rows.
    """
    # the densest first: the others are samples of it
    sizes = reversed(_sizes(rows, on_sample))
    samples = [(rows.subsample(sampling_step(rows.shape[0], size)), steps) for size, steps in sizes]
    return [(sample, steps) for sample, steps in reversed(samples) if _has_weight(sample)]


def _has_weight(sample: Rows) -> bool:
    return bool(sample.fold(of_weights).low[0] < np.inf)


def _sizes(rows: Rows, on_sample: bool) -> list[tuple[int, int]]:
    """How many rows are in each sample, and the steps to take."""
    n, p = rows.shape
    small, large = max(SAMPLED_ROWS // 4, 25 * p), max(10 * p, min(n // 10, 100 * p))
    if p > NEWTON_COLUMNS:
        return []
    if rows.on_device and not rows.distributed and 4 * small <= n:
        return [(max(small, min(n // 10, DEVICE_SAMPLE * p)), 6)]
    chosen = [(small, 6)] if 4 * small <= (min(n, 2 * large) if on_sample else n) else []
    if on_sample:
        return [*chosen, (large, 2 if chosen else 1)]
    return [*chosen, (4 * small, 2)] if 16 * small <= n else chosen


def _from_samples(
    objective: LinearObjective, samples: list[tuple[Rows, int]], first: Floats, fresh: bool
) -> tuple[Floats, Factor | None]:
    """The solution of the last sample and the factor of its Hessian; a start that was given is kept."""

    def on(some: Rows) -> LinearObjective:
        return LinearObjective(objective.problem, some, objective.shift, objective.outputs)

    try:
        if not fresh:
            return first, newton.refine(on(samples[-1][0]), first, 1, 0.0)[1] if samples else None
        start, factor = first, None
        if samples and objective.problem.loss.signs:  # its curvature is largest without weights
            start = newton.leap(on(_some_of(samples[0][0])), start)
        for sample, steps in samples:
            start, factor = newton.refine(on(sample), start, steps, 1e-3)
    except NotFinite:  # steps on few rows may lead where means overflow; all rows tell whether they are finite
        return first, None
    return start, factor


def _some_of(sample: Rows) -> Rows:
    """As many rows of a sample as a leap needs."""
    n, p = sample.shape
    some = sample.subsample(sampling_step(n, LEAP_ROWS * p))
    return some if _has_weight(some) else sample


def by_classes(objective: LinearObjective, first: Floats, measure: Measure, *, fresh: bool) -> Iterator[Step]:
    """Newton's method for several classes together, on a sample of many rows first."""
    part = _sample(objective)
    if part is not None and fresh:
        first = newton.refine(part, first, 6, 1e-3)[0]
    return newton.steps(objective, first, measure)


def by_blocks(objective: LinearObjective, first: Floats, measure: Measure, *, fresh: bool) -> Iterator[Step]:
    problem, classes, part = objective.problem, objective.outputs, _sample(objective)
    first = _without_common(problem, first, classes)
    if part is not None and fresh:
        before = np.inf
        # a sample's solution is as far from that of all rows as chance takes it: about half a coefficient a row
        by_chance = CLOSE * 0.5 * len(first) / part.rows.shape[0]
        path = lbfgs.steps(lbfgs.Points(_rough(part)), first, _blocks(part, first), measure)
        for count, step in enumerate(path):
            first, fell, before = step.params, before - step.objective, step.objective
            if count == BLOCK_PATIENCE or step.measure <= 1e4 or fell <= by_chance:
                break
    yield from _on_blocks(objective, first, part or objective, measure)


def _rough(objective: LinearObjective) -> LinearObjective:
    """The same in single precision where rows are dense and here."""
    problem, rows, shift, classes = objective.problem, objective.rows, objective.shift, objective.outputs
    if rows.sparse or rows.on_device or rows.distributed:
        return objective
    return RoughSoftmax(problem, rows, shift, classes)


def _on_blocks(objective: LinearObjective, start: Floats, sample: LinearObjective, measure: Measure) -> Iterator[Step]:
    """L-BFGS on top of blocks of the Hessian of a sample, formed anew where `BLOCK_PATIENCE` steps were not enough,
    then twice as many, and so on.
    """
    rough = _rough(objective)
    walk = lbfgs.Points(rough)
    before, patience = np.inf, BLOCK_PATIENCE
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


def _sample(objective: LinearObjective) -> LinearObjective | None:
    """The same on some of the rows, where they are many."""
    step = sample_step(objective.rows)
    if step == 1:
        return None
    sample = objective.rows.subsample(step)
    if not _has_weight(sample):
        return None
    return LinearObjective(objective.problem, sample, objective.shift, objective.outputs)


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
    sums = objective.rows.fold(combine([class_curvatures(unpack(x, classes), shift), total_weight])).parts
    blocks = regular(problem, sums[0].sum / sums[1].sum)
    p = len(shift)
    strength = np.asarray(problem.penalty.strength).reshape(-1, 1)
    if len(strength) > len(blocks):
        blocks = np.repeat(blocks, classes, axis=0)
    each = np.arange(p)
    blocks[:, each, each] += strength
    factors = [factor_linear(block, shift) for block in blocks]

    def solve(g: Floats) -> Floats:
        by_class = g.reshape(classes, -1)
        if len(factors) == 1:
            steps = factors[0].solve(by_class)
        else:
            steps = np.array([factor.solve(part) for factor, part in zip(factors, by_class, strict=True)])
        return (steps - steps.mean(axis=0) if len(strength) == 1 else steps).ravel()

    return solve
