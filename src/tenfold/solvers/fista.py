"""FISTA (Beck and Teboulle 2009), with restarts where the objective increases; without momentum, ISTA.

Minimises f(x) + penalty(x) given a smooth `Objective` f, a penalty with a proximal map, a start and a measure of
convergence; yields iterates. One reading of the objective a trial step, vectors of memory.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import EPS, Floats, NotFinite
from tenfold.objectives.objective import Objective, Proximal, Reading
from tenfold.solvers.loop import Step

Measure = Callable[[Floats, Reading], float]
"""From a point and the reading there to the measure of convergence, at most one at the end."""


def steps(
    objective: Objective, penalty: Proximal, start: Floats, measure: Measure, *, momentum: bool = True
) -> Iterator[Step]:
    """Steps from `start`; the step size is halved until the quadratic upper bound holds, and grows slowly again."""
    x, here = start, objective.read(start)
    f = here.value + penalty.value(x)
    if not np.isfinite(f):
        raise NotFinite
    extrapolated, there, t, length, before = x, here, 1.0, 1.0, np.inf
    while True:
        yield Step(x, f, measure(x, here))
        result = _step(objective, penalty, extrapolated, there, 1.2 * length)
        if result is None:
            return
        new, reading, length = result
        total = reading.value + penalty.value(new)
        if not total <= f + 4.0 * EPS * abs(f):
            if extrapolated is x:
                return  # rounding: there is nothing to gain
            extrapolated, there, t = x, here, 1.0
            continue
        if extrapolated is x and total == f == before:
            return
        t_next = 0.5 * (1.0 + float(np.sqrt(1.0 + 4.0 * t * t))) if momentum else 1.0
        momentum_factor = (t - 1.0) / t_next
        extrapolated = new if momentum_factor == 0.0 else new + momentum_factor * (new - x)
        there = reading if momentum_factor == 0.0 else objective.extrapolate(new, reading, x, here, momentum_factor)
        x, here, before, f, t = new, reading, f, total, t_next


def _step(
    objective: Objective, penalty: Proximal, at: Floats, here: Reading, length: float
) -> tuple[Floats, Reading, float] | None:
    """The proximal step for the largest of length, length / 2, ... with the objective below its quadratic bound."""
    while length > 1e-18:
        new = penalty.prox(at - length * here.gradient, length)
        reading = objective.read(new)
        d = new - at
        bound = here.value + float(np.sum(here.gradient * d)) + float(np.sum(d * d)) / (2.0 * length)
        if reading.value <= bound + 4.0 * EPS * abs(bound):
            return new, reading, length
        length *= 0.5
    return None
