"""L-BFGS for a smooth objective (Liu and Nocedal 1989).

The inverse Hessian is that of the last `MEMORY` steps on top of a given symmetric map `precondition`: the inverse
Hessian of a sample of the data where coordinates are few, a diagonal where they are many. The better that map, the
fewer the readings. `Points` walks along a direction by readings; an objective that keeps more may have a `Walk` of its
own.
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

MEMORY = 8

AHEAD = 4
"""Once the full step has failed, a reading of a scattered objective looks ahead at so many halvings of the next."""

EPS = float(np.finfo(np.float64).eps)

Map = Callable[[Floats], Floats]
Measure = Callable[[Floats, float], float]
"""From the gradient and the expected fall of the objective to the number that the stopping rule compares with one."""


def steps(walk: Walk, start: Floats, precondition: Map, measure: Measure) -> Iterator[Step]:
    """Steps from `start`.

    Once, near the end, a trusting walk yields a step before it is evaluated: whoever judges the result reads the rows
    there anyway. Asked for more, the iteration goes on from the last place that it knows.
    """
    here = walk.start(start)
    if not (np.isfinite(here.f) and np.isfinite(here.g).all()):
        raise NotFinite
    pairs: deque[Pair] = deque(maxlen=MEMORY)
    before, on_credit = 0.0, walk.trusting
    while True:
        d = -two_loop(here.g, pairs, precondition)
        fall = -dot(here.g, d)
        now = measure(here.g, 0.5 * fall)
        if on_credit and now > 1.0 and 2.0 * now * now <= before:
            on_credit = False
            yield Step(here.x + d, here.f, 2.0 * now * now / before)
        else:
            yield Step(here.x, here.f, now)
        before = now
        there = walk.along(here, d, fall) if fall > 0.0 else None
        if there is None:
            if not pairs:
                return
            pairs.clear()  # the memory has lost the curvature: start it afresh
            continue
        if (pair := _pair(there.x - here.x, there.g - here.g, precondition)) is not None:
            pairs.append(pair)
        here = there


class Points:
    """One reading a trial, value and gradient together: for a map so good that few trials are in vain."""

    trusting: ClassVar[bool] = True

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def start(self, x: Floats) -> Place:
        return self._read(x, [])[0]

    def _read(self, x: Floats, others: list[Floats]) -> tuple[Place, list[float]]:
        """The place at x, and the bare objective at others."""
        found, values = self.objective.read_ahead(x, 1, others)
        return Place(x, found.value, found.gradient), values

    def along(self, place: Place, d: Floats, fall: float) -> Place | None:
        length, still = 1.0, place.f + self.objective.noise * abs(place.f)
        known: dict[float, float] = {}
        while length > 1e-8:
            if not known.get(length, -np.inf) <= still:
                length *= 0.5  # a pass that looked ahead has found it in vain
                continue
            ahead = (
                [length * 0.5**k for k in range(1, AHEAD + 1)] if self.objective.distributed and length < 1.0 else []
            )
            there, values = self._read(place.x + length * d, [place.x + other * d for other in ahead])
            if there.f <= place.f - 1e-4 * length * fall:
                return there
            slope = dot(there.g, d)
            if there.f <= still and abs(slope) <= 0.9 * fall:
                return there  # values differ by rounding alone: the slope decides
            known.update(zip(ahead, values, strict=True))
            shrink = fall / (fall + slope) if np.isfinite(slope) and slope > 0.0 else 0.5
            length *= 0.5 if ahead else float(np.clip(shrink, 0.05, 0.7))
        return None


class Pair(NamedTuple):
    """A step, the gradient's change along it, their product, and the factor that makes the map right along it."""

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
