"""Newton's method for a smooth objective, with a backtracking line search.

Given an `Objective` with Hessians, a start and a measure of convergence; yields iterates. Each step solves H d = -g, H
the Hessian, and takes the largest of 1, 1/2, 1/4, ... that gives sufficient decrease. One reading of the objective a
step, q x q memory for q coordinates. A Hessian that may vanish where the gradient does not is damped where it does not
suffice (damping.py). For a generalised linear model this is iteratively reweighted least squares.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import EPS, TINY, Floats, NotFinite
from tenfold.hessians import Factor, Regular
from tenfold.objectives.objective import Objective, Reading, is_finite
from tenfold.solvers.damping import FIRST, Damping
from tenfold.solvers.loop import Step

LENGTHS, JUMPING_LENGTHS = (tuple(0.5**k for k in range(count)) for count in (14, 40))
"""Step lengths of the line search: down to 1e-4, and to 1e-12 where the curvature may jump within a step."""

LEAPS = tuple(1.5**k for k in range(8))  # step lengths that `leap` tries, up to 17

SMALL_DECREASE = 0.2  # expected decrease of the objective up to which a full step is long enough

LOOKAHEAD = 4  # step lengths that one reading of a distributed objective evaluates ahead

FLAT = 1e-8  # part of a gradient that the range of a singular Hessian may leave out

Measure = Callable[[Floats, float], float]
"""From the gradient and half of the squared Newton decrement to the measure of convergence, at most one at the end."""


def _length(g: Floats, hessian: Floats) -> float:
    """The norm of a gradient in coordinates of unit curvature."""
    diagonal = hessian.diagonal()
    return float(np.sqrt(np.sum(np.square(g / np.sqrt(np.where(diagonal > TINY, diagonal, 1.0))))))


def _direction(objective: Objective, hessian: Floats | None, g: Floats, damping: Damping) -> tuple[Floats, bool]:
    """The step -H^-1 g, with damping where the range of a singular Hessian does not contain g; and whether the Hessian
    is regular.
    """
    factor = objective.factor(hessian)
    d = -factor.solve(g)
    if not damping.used:
        return d, True
    assert hessian is not None
    regular = isinstance(factor, Regular) and bool(factor.known.all())
    if damping.level == 0.0 and not regular and _length(g + hessian @ d, hessian) > FLAT * _length(g, hessian):
        damping.level = FIRST
    return (-objective.factor(damping.damp(hessian)).solve(g) if damping.level > 0.0 else d), regular


def steps(objective: Objective, start: Floats, measure: Measure) -> Iterator[Step]:
    """Steps from `start`.

    Once, near the end, a step is yielded before it is evaluated, with the measure that quadratic convergence predicts:
    the judge reads the samples at the result anyway. If the caller continues, the iteration resumes from the last point
    that was evaluated.
    """
    x, here = start, _finite(objective.read(start, 2))
    before, last, may_predict = 0.0, np.inf, True
    damping = Damping(objective)
    while True:
        g, f = here.gradient, here.value
        d, regular = _direction(objective, here.hessian, g, damping)
        decrease = -float(g @ d)
        measured = measure(g, 0.5 * decrease)
        if may_predict and measured > 1.0 and 2.0 * measured * measured <= before:
            may_predict = False
            yield Step(x + d, f, 2.0 * measured * measured / before)
        else:
            yield Step(x, f, measured)
        if decrease <= 1e-12 * abs(f) and decrease >= 0.25 * last:
            return  # rounding: the gradient decreases no further
        result = _search(objective, x, f, d, decrease)
        while result is None and decrease > 1e-12 * abs(f) and damping.adapt(0.0, regular):
            d, _ = _direction(objective, here.hessian, g, damping)
            decrease = -float(g @ d)
            result = _search(objective, x, f, d, decrease)
        if result is None:
            return
        before, last = measured, decrease
        x, here, length = result
        damping.adapt(length, regular)


def leap(objective: Objective, start: Floats) -> Floats:
    """The best of longer Newton steps, for an objective whose curvature is largest at `start`, so that a full step
    decreases it and is mostly too short. Two readings in place of several.
    """
    here = _finite(objective.read(start, 2))
    d = -objective.factor(here.hessian).solve(here.gradient)
    if -float(here.gradient @ d) <= SMALL_DECREASE:
        return start + d
    values = np.array(objective.values([start + length * d for length in LEAPS]))
    k = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
    length = LEAPS[k]
    if 0 < k < len(LEAPS) - 1 and np.isfinite(values[k + 1]):
        # the lowest point of a parabola in the logarithm of the length
        before, at, after = values[k - 1 : k + 2]
        length *= (LEAPS[1] / LEAPS[0]) ** float(0.5 * (before - after) / (before - 2.0 * at + after))
    return start + length * d


def refine(objective: Objective, start: Floats, limit: int, tol: float) -> tuple[Floats, Factor]:
    """At most `limit` steps, until half of the squared Newton decrement is at most `tol`; and the factor of the last
    Hessian.
    """
    x, here = start, _finite(objective.read(start, 2))
    for count in range(limit):
        g = here.gradient
        hessian = objective.factor(here.hessian)
        d = -hessian.solve(g)
        decrease = -float(g @ d)
        if count == limit - 1 or 0.5 * decrease <= tol:
            return x + d, hessian
        result = _search(objective, x, here.value, d, decrease)
        if result is None:
            break
        x, here, _ = result
    return x, objective.factor(here.hessian)


def _search(
    objective: Objective, x: Floats, f: float, d: Floats, decrease: float
) -> tuple[Floats, Reading, float] | None:
    """The first of the steps d, d/2, d/4, ... with sufficient decrease, and its length; None where rounding hides any.

    Once the full step has failed, a reading of a distributed objective also evaluates the next lengths; those that fail
    are skipped.
    """

    def is_sufficient(value: float, length: float) -> bool:
        return value <= f - 1e-4 * length * decrease + 4.0 * EPS * abs(f)

    known: dict[float, float] = {}
    lengths = JUMPING_LENGTHS if objective.jumps else LENGTHS
    for k, length in enumerate(lengths):
        if not is_sufficient(known.get(length, -np.inf), length):
            continue
        ahead = lengths[k + 1 : k + 1 + LOOKAHEAD] if objective.distributed and k > 0 else ()
        new = x + length * d
        reading, values = objective.read_ahead(new, 2, [x + other * d for other in ahead])
        if is_sufficient(reading.value, length) and np.isfinite(reading.gradient).all():
            return new, reading, length
        known.update(zip(ahead, values, strict=True))
    return None


def _finite(result: Reading) -> Reading:
    if not is_finite(result):
        raise NotFinite
    return result
