"""FISTA (Beck and Teboulle 2009) for a smooth loss of one target and any penalty with a proximal map, begun afresh
where the objective rises. One pass over the rows a trial, vectors of memory; runs where the rows are.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows
from tenfold.penalties import L2, Penalty
from tenfold.problems import Evaluation, Glm, evaluate
from tenfold.solvers.loop import Step
from tenfold.stats import Params

EPS = float(np.finfo(np.float64).eps)

Measure = Callable[[Params, Floats], float]
"""From a point and the gradient (p + 1,) of the mean loss there to the number that the stopping rule compares with
one.
"""


def steps(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: Measure) -> Iterator[Step]:
    """Steps in the coordinates z = (x - shift).w + b."""
    smooth, penalty = Glm(problem.loss, L2(0.0), problem.intercept), problem.penalty

    def read(params: Params) -> Evaluation:
        return evaluate(smooth, rows, params, 1, shift)

    params, here = start, read(start)
    f = float(here.value[0]) + float(penalty.value(params.coef)[0])
    if not np.isfinite(f):
        raise NotFinite
    ahead, there, speed, length = params, here, 1.0, 1.0
    while True:
        yield Step(params, f, measure(params, here.gradient[0]))
        found = _step(penalty, ahead, there, 1.2 * length, read)
        if found is None:
            return
        new, value, length = found
        total = float(value.value[0]) + float(penalty.value(new.coef)[0])
        if not total <= f + 4.0 * EPS * abs(f):
            if ahead is params:
                return  # rounding: there is nothing to gain
            ahead, there, speed = params, here, 1.0
            continue
        faster = 0.5 * (1.0 + float(np.sqrt(1.0 + 4.0 * speed * speed)))
        share = (speed - 1.0) / faster
        before, params, here, f, speed = params, new, value, total, faster
        ahead = Params(*(a + share * (a - b) for a, b in zip(params, before, strict=True)))
        there = read(ahead) if share > 0.0 else here
        ahead = ahead if share > 0.0 else params


def _step(
    penalty: Penalty, at: Params, here: Evaluation, length: float, read: Callable[[Params], Evaluation]
) -> tuple[Params, Evaluation, float] | None:
    """The proximal step of the largest of length, length / 2, ... that stays below its parabola."""
    g = here.gradient[0]
    while length > 1e-18:
        new = Params(penalty.prox(at.coef - length * g[None, :-1], length), at.intercept - length * g[-1:])
        value = read(new)
        d = np.append(new.coef - at.coef, new.intercept - at.intercept)
        bound = float(here.value[0]) + float(np.sum(g * d)) + float(np.sum(d * d)) / (2.0 * length)
        if float(value.value[0]) <= bound + 4.0 * EPS * abs(bound):
            return new, value, length
        length *= 0.5
    return None
