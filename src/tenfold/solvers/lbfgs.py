"""L-BFGS for smooth generalised linear models of one target: one pass over the rows a step (Liu and Nocedal 1989).

The inverse Hessian is that of the last `MEMORY` steps on top of a given symmetric map `precondition`: the inverse Hessian of a sample of
the rows where p is small, a diagonal where it is large. The better that map, the fewer the passes.
"""

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import Floats
from tenfold.problems import Glm, evaluate
from tenfold.rows import Rows
from tenfold.solvers.loop import Step
from tenfold.stats import Params

MEMORY = 12

Map = Callable[[Floats], Floats]
Measure = Callable[[Floats, float], float]


def steps(
    problem: Glm, rows: Rows, start: Params, shift: Floats | None, precondition: Map, measure: Measure
) -> Iterator[Step]:
    """Steps in the coordinates z = (x - shift).w + b; the params given and yielded are in those coordinates."""
    x = np.append(start.coef[0], start.intercept)
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)

    def at(point: Floats) -> tuple[float, Floats]:
        found = evaluate(problem, rows, _unpack(point), 1, shift)
        return float(found.value[0]), found.gradient[0]

    f, g = at(x)
    while True:
        d = -two_loop(g, pairs, precondition)
        fall = -float(g @ d)
        yield Step(_unpack(x), f, measure(g, 0.5 * fall))
        length = 1.0
        while True:
            new = x + length * d
            f_new, g_new = at(new)
            if f_new <= f - 1e-4 * length * fall:
                break
            if length < 1e-6 or length * fall <= 1e-15 * abs(f):
                return  # rounding: no step makes the objective smaller
            # the minimum of the parabola through the two values and the slope, kept away from both ends
            curve = f_new - f + length * fall
            length *= float(np.clip(0.5 * length * fall / curve, 0.1, 0.5)) if curve > 0 else 0.5
        s, y = new - x, g_new - g
        if (sy := float(s @ y)) > 0.0:
            pairs.append((s, y, sy))
        x, f, g = new, f_new, g_new


def _unpack(x: Floats) -> Params:
    return Params(x[None, :-1].copy(), x[-1:].copy())


def two_loop(g: Floats, pairs: deque[tuple[Floats, Floats, float]], precondition: Map) -> Floats:
    """The inverse Hessian of the pairs, on top of `precondition`, times g."""
    q = g.copy()
    coefficients = []
    for s, y, sy in reversed(pairs):
        a = float(s @ q) / sy
        q -= a * y
        coefficients.append(a)
    q = precondition(q)
    if pairs:
        # the map is scaled so that it is right along the last step
        s, y, sy = pairs[-1]
        q = q * (sy / max(float(y @ precondition(y)), np.finfo(np.float64).tiny))
    for (s, y, sy), a in zip(pairs, reversed(coefficients), strict=True):
        q += (a - float(y @ q) / sy) * s
    return q
