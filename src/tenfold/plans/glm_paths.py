"""Solvers of generalised linear models with a smooth loss and L2 penalties, by the shape of the data.

newton
    Newton's method, warm started from the solution of subsamples where samples are many.
sample
    Newton's method on subsamples, then L-BFGS on all samples preconditioned by the Hessian of the last one, so that a
    handful of passes is enough; Newton's method on all samples where it is not.
blocks
    For a softmax with many coefficients: L-BFGS preconditioned by the Hessian's diagonal blocks, one a class, from a
    subsample that is solved first; they are formed anew where convergence is slow.
diagonal
    L-BFGS with a diagonal preconditioner, for many features; and first of all, as long as it promises to converge for
    half of the price of a Hessian, where that of the smallest useful subsample costs many passes.

A loss that is not convex has Fisher's information or the curvature of a majorising parabola in place of its second
derivative: the same steps descend to a stationary point.
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

SUBSAMPLE_SIZE = 4096  # of a subsample that is solved first, or a hundred samples a feature where that is more

# of the only subsample on a device, at most a tenth of all: a call costs as much as reading 100 MB, and the Hessian of
# these samples less than a pass
DEVICE_SAMPLES_PER_FEATURE = 10_000

LEAP_SAMPLES_PER_FEATURE = 3000  # enough for the direction and the length of the first step

# L-BFGS steps with the Hessian of a subsample, more with many features, before Newton's method on all samples
SAMPLE_HESSIAN_STEPS = 12

TREND_STEPS = 6  # of L-BFGS, from whose measures its convergence is extrapolated

BLOCK_STEPS = 15  # L-BFGS steps with the same blocks, before they are formed anew

CLASS_STEPS, SUBSAMPLE_CLASS_STEPS = 3, 6  # of Newton's method for a softmax on all samples or on some, at most
CLASS_PATIENCE = 20  # steps with the last Hessian after these, before it is formed anew

MAJORISER_STEPS = 12  # Newton steps by a curvature that is not the second derivative, before L-BFGS

# a subsample is left when a step decreases its objective by less than this part of the sampling error of its minimum
SAMPLING_ERROR_FRACTION = 0.1

FLOAT32_PATIENCE = 4  # steps that do not halve the measure, after which single precision is given up

FLOAT32_RIDGE = 1e-6  # relative, added to the diagonal of a block: the rounding of single precision

Measure = Callable[[Floats, float], float]


def by_diagonal(objective: LinearObjective, first: Floats, measure: Measure) -> Iterator[Step]:
    problem, rows, shift, outputs = objective.problem, objective.rows, objective.shift, objective.outputs
    # raw predictions are kept where samples are in memory; else a line search takes a pass a trial
    one_strength = np.size(problem.penalty.strength) == 1
    in_memory = not rows.on_device and problem.loss.convex and one_strength
    walk: Walk = Margins(problem, rows, shift, outputs) if in_memory else lbfgs.Points(objective)
    scale = invert_diagonal(problem, rows, shift, _find_unbounded_mean(problem, rows), outputs)
    return lbfgs.steps(walk, first, scale, measure)


def passes_of_hessian(rows: Rows) -> float:
    """The price of the first Hessian of `sample` in passes over all samples, a product forward and one back."""
    n, p = rows.shape
    return _sizes(rows, True)[-1][0] * p / (4.0 * n) if p <= NEWTON_COLUMNS else np.inf


def by_diagonal_first(
    objective: LinearObjective, first: Floats, measure: Measure, otherwise: Callable[[Floats], Iterator[Step]]
) -> Iterator[Step]:
    """`by_diagonal` while its convergence, extrapolated, takes less than half of the price of a Hessian; then the steps
    of `otherwise` from there.
    """
    patience, start, measures = 0.5 * passes_of_hessian(objective.rows), first, []
    for count, step in enumerate(by_diagonal(objective, first, measure)):
        measures.append(max(step.measure, 1e-300))
        start = step.params
        rate = np.log(measures[max(0, count - TREND_STEPS)] / measures[-1]) / TREND_STEPS
        if count >= TREND_STEPS and (rate <= 0.0 or count + np.log(measures[-1]) / rate > patience):
            break
        yield step
    else:
        return
    yield from otherwise(start)


def _find_unbounded_mean(problem: Glm, rows: Rows) -> float | None:
    """The mean of the targets, for a loss without a Lipschitz gradient."""
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
    """From `first`, or, where it is `fresh`, from the solution of `samples`; with `on_sample`, L-BFGS with the last
    one's Hessian first. An initial objective above `scale` shows that a subsample was not representative.
    """
    start, factor = _from_samples(objective, samples, first, fresh)
    if factor is not None and on_sample:
        value, patience = np.inf, max(SAMPLE_HESSIAN_STEPS, objective.rows.shape[1] // 8)
        for count, step in enumerate(lbfgs.steps(lbfgs.Points(objective), start, factor.solve, measure)):
            if count == patience or (count == 0 and step.objective > scale):
                break
            yield step
            start, value = step.params, step.objective
        start = start if value <= scale else first
    if not objective.problem.loss.convex:
        yield from _majorise(objective, start, measure)
        return
    tighten()  # a last step of Newton's method doubles the number of digits
    path = newton.steps(objective, start, measure)
    step = next(path)
    if start is not first and step.objective > scale:
        path = newton.steps(objective, first, measure)
    else:
        yield step
    yield from path


def _majorise(objective: LinearObjective, start: Floats, measure: Measure) -> Iterator[Step]:
    """Majorisation steps to near a stationary point, then L-BFGS preconditioned by the last curvature."""
    for step in islice(newton.steps(objective, start, measure), MAJORISER_STEPS):
        yield step
        start = step.params
    factor = objective.factor(objective.read(start, 2).hessian)
    yield from islice(lbfgs.steps(lbfgs.Points(objective), start, factor.solve, measure), 1, None)


def take_samples(rows: Rows, on_sample: bool) -> list[tuple[Rows, int]]:
    """Subsamples of growing size, with the Newton steps to take on each; none where they would not save time.
    `on_sample` says whether the last one's Hessian will be used for all samples.
    """
    # the densest first: the others are subsamples of it
    sizes = reversed(_sizes(rows, on_sample))
    samples = [(rows.subsample(sampling_step(rows.shape[0], size)), steps) for size, steps in sizes]
    return [(sample, steps) for sample, steps in reversed(samples) if _has_positive_weight(sample)]


def _has_positive_weight(sample: Rows) -> bool:
    return bool(sample.fold(of_weights).low[0] < np.inf)


def _sizes(rows: Rows, on_sample: bool) -> list[tuple[int, int]]:
    """The size of each subsample, and the steps to take on it."""
    n, p = rows.shape
    small, large = max(SUBSAMPLE_SIZE // 4, 25 * p), max(10 * p, min(n // 10, 100 * p))
    if p > NEWTON_COLUMNS:
        return []
    if rows.on_device and not rows.distributed and 4 * small <= n:
        return [(max(small, min(n // 10, DEVICE_SAMPLES_PER_FEATURE * p)), 6)]
    chosen = [(small, 6)] if 4 * small <= (min(n, 2 * large) if on_sample else n) else []
    if on_sample:
        return [*chosen, (large, 2 if chosen else 1)]
    return [*chosen, (4 * small, 2)] if 16 * small <= n else chosen


def _from_samples(
    objective: LinearObjective, samples: list[tuple[Rows, int]], first: Floats, fresh: bool
) -> tuple[Floats, Factor | None]:
    """The solution of the last subsample and the factor of its Hessian; a warm start is kept."""

    def on(subsample: Rows) -> LinearObjective:
        return LinearObjective(objective.problem, subsample, objective.shift, objective.outputs)

    try:
        if not fresh:
            return first, newton.refine(on(samples[-1][0]), first, 1, 0.0)[1] if samples else None
        start, factor = first, None
        if samples and objective.problem.loss.signs:  # its curvature is largest without weights
            start = newton.leap(on(_leap_subsample(samples[0][0])), start)
        for sample, steps in samples:
            start, factor = newton.refine(on(sample), start, steps, 1e-3)
    except NotFinite:  # steps on few samples may overflow; the pass over all checks whether they are finite
        return first, None
    return start, factor


def _leap_subsample(sample: Rows) -> Rows:
    """The part of a subsample that the first step needs."""
    n, p = sample.shape
    subsample = sample.subsample(sampling_step(n, LEAP_SAMPLES_PER_FEATURE * p))
    return subsample if _has_positive_weight(subsample) else sample


def by_classes(objective: LinearObjective, first: Floats, measure: Measure, *, fresh: bool) -> Iterator[Step]:
    """A few of Newton's steps for a softmax, on a subsample of many samples, then L-BFGS preconditioned by the last
    Hessian, which takes the products of many passes; Newton's method where that is not enough.
    """
    part, start = _subsample(objective), first
    if fresh:
        most = CLASS_STEPS if part is None else SUBSAMPLE_CLASS_STEPS
        start, factor = newton.refine(part or objective, first, most, 1e-3)
        before = np.inf
        for count, step in enumerate(lbfgs.steps(lbfgs.Points(objective), start, factor.solve, measure)):
            if count == CLASS_PATIENCE or (not step.objective <= float(np.log(objective.outputs))):
                break
            yield step
            start, before = step.params, step.objective
        start = start if before < np.inf else first
    yield from newton.steps(objective, start, measure)


def by_blocks(objective: LinearObjective, first: Floats, measure: Measure, *, fresh: bool) -> Iterator[Step]:
    problem, classes, part = objective.problem, objective.outputs, _subsample(objective)
    first = _remove_common(problem, first, classes)
    if part is not None and fresh:
        before = np.inf
        # sampling error of the objective: about half the number of coefficients over that of samples
        sampling_error = SAMPLING_ERROR_FRACTION * 0.5 * len(first) / part.rows.shape[0]
        path = lbfgs.steps(lbfgs.Points(_rough(part)), first, _blocks(part, first), measure)
        for count, step in enumerate(path):
            first, decrease, before = step.params, before - step.objective, step.objective
            if count == BLOCK_STEPS or step.measure <= 1e4 or decrease <= sampling_error:
                break
    yield from _on_blocks(objective, first, part or objective, measure)


def _rough(objective: LinearObjective) -> LinearObjective:
    """The same in single precision where samples are dense and in memory."""
    problem, rows, shift, classes = objective.problem, objective.rows, objective.shift, objective.outputs
    if rows.sparse or rows.on_device or rows.distributed:
        return objective
    return RoughSoftmax(problem, rows, shift, classes)


def _on_blocks(objective: LinearObjective, start: Floats, sample: LinearObjective, measure: Measure) -> Iterator[Step]:
    """L-BFGS preconditioned by blocks of the Hessian of a subsample, formed anew after `BLOCK_STEPS` steps, then twice
    as many, and so on.
    """
    rough = _rough(objective)
    walk = lbfgs.Points(rough)
    before, patience = np.inf, BLOCK_STEPS
    while True:
        count, best, since = 0, np.inf, 0
        for count, step in enumerate(lbfgs.steps(walk, start, _blocks(sample, start), measure)):
            if count > 0 or before == np.inf:
                yield step
            start = step.params
            best, since = (step.measure, 0) if step.measure <= 0.5 * best else (best, since + 1)
            if isinstance(rough, RoughSoftmax) and (step.measure <= 1.0 or since == FLOAT32_PATIENCE):
                rough.sharpen()  # converged so far, or stalled by rounding
            if count == patience:
                break
        if count < patience or not step.objective < before:
            return
        before, patience = step.objective, 2 * patience


def sample_step(rows: Rows) -> int:
    """The stride of the subsample."""
    n, p = rows.shape
    return sampling_step(n, max(SUBSAMPLE_SIZE, 100 * p))


def _subsample(objective: LinearObjective) -> LinearObjective | None:
    """The same on a subsample, where samples are many."""
    step = sample_step(objective.rows)
    if step == 1:
        return None
    sample = objective.rows.subsample(step)
    if not _has_positive_weight(sample):
        return None
    return LinearObjective(objective.problem, sample, objective.shift, objective.outputs)


def _remove_common(problem: Glm, x: Floats, classes: int) -> Floats:
    """Coefficients minus their mean over the classes, which changes no probability: the penalty is least without it."""
    if np.size(problem.penalty.strength) > 1:
        return x
    by_class = x.reshape(classes, -1)
    return (by_class - by_class.mean(axis=0)).ravel()


def regularise_blocks(problem: Glm, blocks: Floats) -> Floats:
    """Blocks (..., p + 1, p + 1) of the Hessian of the loss, regularised against the rounding of single precision; only
    constant features leave them singular.
    """
    p = blocks.shape[-1] - 1
    each = np.arange(p)
    blocks[..., each, each] *= 1.0 + FLOAT32_RIDGE
    if not problem.intercept:
        blocks[..., p, :] = blocks[..., :, p] = 0.0
        blocks[..., p, p] = 1.0
    return blocks


def _blocks(objective: LinearObjective, x: Floats) -> lbfgs.Map:
    """The inverses of the blocks of the Hessian at x, one a class or one for all, as a map between coefficients whose
    mean over the classes is zero.
    """
    problem, shift, classes = objective.problem, objective.shift, objective.outputs
    sums = objective.rows.fold(combine([class_curvatures(unpack(x, classes), shift), total_weight])).parts
    blocks = regularise_blocks(problem, sums[0].sum / sums[1].sum)
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
