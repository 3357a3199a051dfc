"""Nonlinear conjugate gradients (Polak and Ribiere 1969; Fletcher and Reeves 1964; Hestenes and Stiefel 1952).

d_k = -g_k + beta_k d_(k-1), and a line search along d_k. On a quadratic function with exact line searches the
directions are conjugate, and p steps minimise a function of p coordinates. The memory is dropped where beta is negative
(Polak-Ribiere's, so that it restarts by itself), where gradients are far from orthogonal (Powell 1977), after p steps,
and where d is no descent.
"""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from tenfold.arrays import Floats
from tenfold.objectives.objective import Objective
from tenfold.solvers.line_search import LineSearch
from tenfold.solvers.loop import Step

NOT_ORTHOGONAL = 0.2  # g_k'g_(k-1) in units of |g_k|^2 from which the memory is dropped

Beta = Literal["polak-ribiere", "fletcher-reeves", "hestenes-stiefel"]
Measure = Callable[[Floats, float], float]


def conjugacy(kind: Beta, g: Floats, before: Floats, d: Floats) -> float:
    """beta of the next direction."""
    change = g - before
    if kind == "fletcher-reeves":
        return float(g @ g) / float(before @ before)
    if kind == "hestenes-stiefel":
        bend = float(d @ change)
        return max(0.0, float(g @ change) / bend) if bend > 0.0 else 0.0
    return max(0.0, float(g @ change) / float(before @ before))


def steps(
    objective: Objective, start: Floats, measure: Measure, kind: Beta = "polak-ribiere", accuracy: float = 0.1
) -> Iterator[Step]:
    """Steps from `start`, with line searches of this accuracy."""
    search = LineSearch(objective, accuracy)
    here = search.start(start)
    d, age = -here.g, 0
    first = 1.0 / max(float(np.linalg.norm(here.g)), 1e-300)
    while True:
        decrease = -float(here.g @ d)
        yield Step(here.x, here.f, measure(here.g, 0.5 * search.length * decrease))
        there = search.along(here, d, decrease, first) if decrease > 0.0 else None
        if there is None:
            if age == 0:
                return
            d, age = -here.g, 0  # the memory misleads: drop it
            first = search.length
            continue
        beta, age = conjugacy(kind, there.g, here.g, d), age + 1
        square = float(there.g @ there.g)
        if age >= len(start) or abs(float(there.g @ here.g)) > NOT_ORTHOGONAL * square:
            beta, age = 0.0, 0
        d = -there.g + beta * d
        if not float(there.g @ d) < 0.0:
            d, age = -there.g, 0
        # the decrease of the next step is about that of the last
        first = search.length * min(1.0, decrease / max(-float(there.g @ d), 1e-300)) or 1.0
        here = there
