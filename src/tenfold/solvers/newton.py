"""Newton's method for a smooth objective, with a line search.

Each step solves H d = -g, H the Hessian, and takes the largest of 1, 1/2, 1/4, ... that gives sufficient descent. One
reading of the objective a step, q x q memory for q coordinates. A Hessian that may vanish where there is a slope is
damped where it does not suffice (damping.py). For a generalised linear model this is iteratively re-weighted least
squares.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import Floats, NotFinite
from tenfold.hessians import EPS, TINY, Factor, Regular
from tenfold.objectives.objective import Objective, Reading, is_finite
from tenfold.solvers.damping import FIRST, Damping
from tenfold.solvers.loop import Step

LENGTHS, MORE = (tuple(0.5**k for k in range(count)) for count in (14, 40))
"""The steps that a line search tries: down to about 1e-4, and to 1e-12 where the curvature may jump within a step."""

LEAPS = tuple(1.5**k for k in range(8))
"""The steps that a leap tries: up to about 17."""

SHORT = 0.2
"""Up to such a fall that is expected, a full step is long enough."""

AHEAD = 4
"""A reading of a scattered objective looks ahead at so many lengths."""

FLAT = 1e-8
"""A gradient is reached by a singular Hessian up to such a part of its length."""

Measure = Callable[[Floats, float], float]
"""From the gradient and the expected fall of the objective to the number that the stopping rule compares with one."""


def _length(g: Floats, hessian: Floats) -> float:
    """The length of a gradient in coordinates of unit curvature."""
    diagonal = hessian.diagonal()
    return float(np.sqrt(np.sum(np.square(g / np.sqrt(np.where(diagonal > TINY, diagonal, 1.0))))))


def _direction(objective: Objective, hessian: Floats | None, g: Floats, damping: Damping) -> tuple[Floats, bool]:
    """The step -H^-1 g, of the damped Hessian where one that may vanish does not reach all of g; and whether the
    Hessian itself is regular.
    """
    own = objective.factor(hessian)
    d = -own.solve(g)
    if not damping.used:
        return d, True
    assert hessian is not None
    regular = isinstance(own, Regular) and bool(own.known.all())
    if damping.level == 0.0 and not regular and _length(g + hessian @ d, hessian) > FLAT * _length(g, hessian):
        damping.level = FIRST
    return (-objective.factor(damping.damp(hessian)).solve(g) if damping.level > 0.0 else d), regular


def steps(objective: Objective, start: Floats, measure: Measure) -> Iterator[Step]:
    """Steps from `start`.

    Once, near the end, a step is yielded before it is evaluated: whoever judges the result reads the rows there anyway.
    Asked for more, the iteration goes on from the last point that it knows.
    """
    x, here = start, _finite(objective.read(start, 2))
    before, last, on_credit = 0.0, np.inf, True
    damping = Damping(objective)
    while True:
        g, f = here.gradient, here.value
        d, regular = _direction(objective, here.hessian, g, damping)
        fall = -float(g @ d)
        now = measure(g, 0.5 * fall)
        if on_credit and now > 1.0 and 2.0 * now * now <= before:
            on_credit = False
            yield Step(x + d, f, 2.0 * now * now / before)
        else:
            yield Step(x, f, now)
        if fall <= 1e-12 * abs(f) and fall >= 0.25 * last:
            return  # rounding: the gradient falls no further
        found = _search(objective, x, f, d, fall)
        while found is None and fall > 1e-12 * abs(f) and damping.adapt(0.0, regular):
            d, _ = _direction(objective, here.hessian, g, damping)
            fall = -float(g @ d)
            found = _search(objective, x, f, d, fall)
        if found is None:
            return
        before, last = now, fall
        x, here, length = found
        damping.adapt(length, regular)


def leap(objective: Objective, start: Floats) -> Floats:
    """The best of longer Newton steps, for an objective whose curvature is largest at `start`: a step falls, and is
    mostly too short. Two readings in place of several.
    """
    here = _finite(objective.read(start, 2))
    d = -objective.factor(here.hessian).solve(here.gradient)
    if -float(here.gradient @ d) <= SHORT:
        return start + d
    values = np.array(objective.values([start + length * d for length in LEAPS]))
    k = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
    length = LEAPS[k]
    if 0 < k < len(LEAPS) - 1 and np.isfinite(values[k + 1]):
        # the lowest point of a parabola in the logarithm of the length
        before, at, after = values[k - 1 : k + 2]
        length *= (LEAPS[1] / LEAPS[0]) ** float(0.5 * (before - after) / (before - 2.0 * at + after))
    return start + length * d


def refine(objective: Objective, start: Floats, limit: int, enough: float) -> tuple[Floats, Factor]:
    """At most `limit` steps, until the expected fall is at most `enough`; and the factor of the last Hessian."""
    x, here = start, _finite(objective.read(start, 2))
    for count in range(limit):
        g = here.gradient
        hessian = objective.factor(here.hessian)
        d = -hessian.solve(g)
        fall = -float(g @ d)
        if count == limit - 1 or 0.5 * fall <= enough:
            return x + d, hessian
        found = _search(objective, x, here.value, d, fall)
        if found is None:
            break
        x, here, _ = found
    return x, objective.factor(here.hessian)


def _search(objective: Objective, x: Floats, f: float, d: Floats, fall: float) -> tuple[Floats, Reading, float] | None:
    """The first of the steps d, d/2, d/4, ... with sufficient descent, and its length; None where rounding hides any.

    Once the full step has failed, a reading of a scattered objective looks at the next lengths, too, and those in vain
    are passed over.
    """

    def enough(value: float, length: float) -> bool:
        return value <= f - 1e-4 * length * fall + 4.0 * EPS * abs(f)

    known: dict[float, float] = {}
    lengths = MORE if objective.jumps else LENGTHS
    for k, length in enumerate(lengths):
        if not enough(known.get(length, -np.inf), length):
            continue
        ahead = lengths[k + 1 : k + 1 + AHEAD] if objective.distributed and k > 0 else ()
        new = x + length * d
        there, values = objective.read_ahead(new, 2, [x + other * d for other in ahead])
        if enough(there.value, length) and np.isfinite(there.gradient).all():
            return new, there, length
        known.update(zip(ahead, values, strict=True))
    return None


def _finite(found: Reading) -> Reading:
    if not is_finite(found):
        raise NotFinite
    return found
