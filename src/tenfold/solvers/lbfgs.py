"""L-BFGS for a smooth objective (Liu and Nocedal 1989).

Given a start, a measure of convergence and a symmetric map `precondition`, an approximation of the inverse Hessian:
that of a subsample where coordinates are few, a diagonal where they are many. The inverse Hessian is that of the last
`MEMORY` steps on top of this map; the better the map, the fewer the readings. `Points` searches along a direction by
reading the objective; an objective that keeps margins has a `Walk` of its own.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg.blas import daxpy, ddot, dnrm2

from tenfold.arrays import Floats, NotFinite
from tenfold.linear_algebra import dot
from tenfold.machine import one_blas_thread
from tenfold.objectives.objective import Objective, Place, Walk
from tenfold.solvers.loop import Step

MEMORY = 8  # pairs of steps and gradient differences

LOOKAHEAD = 4  # halvings of the next step that one reading of a distributed objective evaluates ahead

EPS = float(np.finfo(np.float64).eps)

Map = Callable[[Floats], Floats]
Measure = Callable[[Floats, float], float]
"""From the gradient and half of the expected decrease to the measure of convergence, at most one at the end."""


def steps(walk: Walk, start: Floats, precondition: Map, measure: Measure) -> Iterator[Step]:
    """Steps from `start`.

    Once, near the end, a trusting walk yields a step before it is evaluated, with the measure that fast convergence
    predicts: the judge reads the samples at the result anyway. If the caller continues, the iteration resumes from the
    last place that was evaluated.
    """
    here = walk.start(start)
    if not (np.isfinite(here.f) and np.isfinite(here.g).all()):
        raise NotFinite
    pairs: deque[Pair] = deque(maxlen=MEMORY)
    before, may_predict = 0.0, walk.trusting
    while True:
        d = -two_loop(here.g, pairs, precondition)
        decrease = -dot(here.g, d)
        measured = measure(here.g, 0.5 * decrease)
        if may_predict and measured > 1.0 and 2.0 * measured * measured <= before:
            may_predict = False
            yield Step(here.x + d, here.f, 2.0 * measured * measured / before)
        else:
            yield Step(here.x, here.f, measured)
        before = measured
        there = walk.along(here, d, decrease) if decrease > 0.0 else None
        if there is None:
            if not pairs:
                return
            pairs.clear()  # the memory misrepresents the curvature: discard it
            continue
        if (pair := _pair(there.x - here.x, there.g - here.g, precondition)) is not None:
            pairs.append(pair)
        here = there


class Points:
    """One reading a trial, value and gradient together: for a preconditioner so good that few trials fail."""

    trusting: ClassVar[bool] = True

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def start(self, x: Floats) -> Place:
        return self._read(x, [])[0]

    def _read(self, x: Floats, others: list[Floats]) -> tuple[Place, list[float]]:
        """The place at x, and the values at others."""
        reading, values = self.objective.read_ahead(x, 1, others)
        return Place(x, reading.value, reading.gradient), values

    def along(self, place: Place, d: Floats, decrease: float) -> Place | None:
        length, equal_value = 1.0, place.f + self.objective.noise * abs(place.f)
        known: dict[float, float] = {}
        while length > 1e-8:
            if not known.get(length, -np.inf) <= equal_value:
                length *= 0.5  # known to fail from a reading ahead
                continue
            ahead = (
                [length * 0.5**k for k in range(1, LOOKAHEAD + 1)]
                if self.objective.distributed and length < 1.0
                else []
            )
            there, values = self._read(place.x + length * d, [place.x + other * d for other in ahead])
            if there.f <= place.f - 1e-4 * length * decrease:
                return there
            slope = dot(there.g, d)
            if there.f <= equal_value and abs(slope) <= 0.9 * decrease:
                return there  # values differ by rounding alone: the slope decides
            known.update(zip(ahead, values, strict=True))
            shrink = decrease / (decrease + slope) if np.isfinite(slope) and slope > 0.0 else 0.5
            length *= 0.5 if ahead else float(np.clip(shrink, 0.05, 0.7))
        return None


class Pair(NamedTuple):
    """A step, the change of the gradient along it, their product, and the scale that makes the preconditioner exact
    along it.
    """

    s: Floats
    y: Floats
    sy: float
    scale: float


def _pair(s: Floats, y: Floats, precondition: Map) -> Pair | None:
    with one_blas_thread:
        sy = float(ddot(s, y))
        if not sy > EPS * float(dnrm2(s) * dnrm2(y)):
            return None
        return Pair(s, y, sy, sy / max(float(ddot(y, precondition(y))), float(np.finfo(np.float64).tiny)))


def two_loop(g: Floats, pairs: deque[Pair], precondition: Map) -> Floats:
    """The inverse Hessian of the pairs, on top of `precondition`, times g."""
    q = g.copy()
    coefficients = []
    with one_blas_thread:
        for s, y, sy, _ in reversed(pairs):
            coefficients.append(ddot(s, q) / sy)
            daxpy(y, q, a=-coefficients[-1])
        q = precondition(q)
        if pairs:
            q *= pairs[-1].scale
        for (s, y, sy, _), a in zip(pairs, reversed(coefficients), strict=True):
            daxpy(s, q, a=a - ddot(y, q) / sy)
    return q
