"""FISTA (Beck and Teboulle 2009) for a smooth objective and any penalty with a proximal map, begun afresh where the sum
rises; or the same without momentum, ISTA. One reading of the objective a trial, vectors of memory.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import Floats, NotFinite
from tenfold.hessians import EPS
from tenfold.objectives.objective import Objective, Proximal, Reading
from tenfold.solvers.loop import Step

Measure = Callable[[Floats, Reading], float]
"""From a point and what is read there to the number that the stopping rule compares with one."""


def steps(
    objective: Objective, penalty: Proximal, start: Floats, measure: Measure, *, momentum: bool = True
) -> Iterator[Step]:
    """Steps from `start`, of a length that halves where it was too long and grows slowly again."""
    x, here = start, objective.read(start)
    f = here.value + penalty.value(x)
    if not np.isfinite(f):
        raise NotFinite
    ahead, there, speed, length, before = x, here, 1.0, 1.0, np.inf
    while True:
        yield Step(x, f, measure(x, here))
        found = _step(objective, penalty, ahead, there, 1.2 * length)
        if found is None:
            return
        new, reading, length = found
        total = reading.value + penalty.value(new)
        if not total <= f + 4.0 * EPS * abs(f):
            if ahead is x:
                return  # rounding: there is nothing to gain
            ahead, there, speed = x, here, 1.0
            continue
        if ahead is x and total == f == before:
            return
        faster = 0.5 * (1.0 + float(np.sqrt(1.0 + 4.0 * speed * speed))) if momentum else 1.0
        share = (speed - 1.0) / faster
        ahead = new if share == 0.0 else new + share * (new - x)
        there = reading if share == 0.0 else objective.extrapolate(new, reading, x, here, share)
        x, here, before, f, speed = new, reading, f, total, faster


def _step(
    objective: Objective, penalty: Proximal, at: Floats, here: Reading, length: float
) -> tuple[Floats, Reading, float] | None:
    """The proximal step of the largest of length, length / 2, ... that stays below its parabola."""
    while length > 1e-18:
        new = penalty.prox(at - length * here.gradient, length)
        reading = objective.read(new)
        d = new - at
        bound = here.value + float(np.sum(here.gradient * d)) + float(np.sum(d * d)) / (2.0 * length)
        if reading.value <= bound + 4.0 * EPS * abs(bound):
            return new, reading, length
        length *= 0.5
    return None
