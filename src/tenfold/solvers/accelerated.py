"""FISTA (Beck and Teboulle 2009) for a smooth loss of one target, or of several classes together, and any penalty with
a proximal map, begun afresh where the objective rises. One pass over the rows a trial, vectors of memory; runs where
the rows are.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows
from tenfold.penalties import L2, Penalty
from tenfold.problems import Evaluation, Glm, evaluate
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params

EPS = float(np.finfo(np.float64).eps)

Measure = Callable[[Params, Evaluation], float]
"""From a point and the smooth part of the objective there to the number that the stopping rule compares with one."""


def steps(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: Measure) -> Iterator[Step]:
    """Steps in the coordinates z = (x - shift).w + b, of a length that halves where it was too long and grows slowly
    again.
    """
    bare, penalty = Glm(problem.loss, L2(0.0), problem.intercept), problem.penalty

    def read(params: Params) -> Evaluation:
        return evaluate(bare, rows, params, 1, shift)

    params, here = start, read(start)
    f = _objective(penalty, params, here)
    if not np.isfinite(f):
        raise NotFinite
    ahead, there, speed, length, before = params, here, 1.0, 1.0, np.inf
    while True:
        yield Step(params, f, measure(params, _smooth(penalty, params, here)))
        found = _step(penalty, ahead, there, 1.2 * length, read)
        if found is None:
            return
        new, value, length = found
        total = _objective(penalty, new, value)
        if not total <= f + 4.0 * EPS * abs(f):
            if ahead is params:
                return  # rounding: there is nothing to gain
            ahead, there, speed = params, here, 1.0
            continue
        if ahead is params and total == f == before:
            return
        faster = 0.5 * (1.0 + float(np.sqrt(1.0 + 4.0 * speed * speed)))
        share = (speed - 1.0) / faster
        ahead = new if share == 0.0 else Params(*(a + share * (a - b) for a, b in zip(new, params, strict=True)))
        there = value if share == 0.0 else read(ahead)
        params, here, before, f, speed = new, value, f, total, faster


def _objective(penalty: Penalty, params: Params, here: Evaluation) -> float:
    return float(here.value[0]) + float(np.sum(penalty.value(params.coef)))


def _smooth(penalty: Penalty, params: Params, here: Evaluation) -> Evaluation:
    """Of a bare loss, the loss with the squares of the penalty."""
    strength = np.asarray(penalty.strength, dtype=np.float64).reshape(-1, 1)
    square = 0.5 * float(np.sum(strength * params.coef**2))
    pull = np.column_stack([strength * params.coef, np.zeros(len(params.coef))])
    return Evaluation(here.value + square, here.gradient + pull.reshape(here.gradient.shape), None)


def _step(
    penalty: Penalty, at: Params, here: Evaluation, length: float, read: Callable[[Params], Evaluation]
) -> tuple[Params, Evaluation, float] | None:
    """The proximal step of the largest of length, length / 2, ... that stays below its parabola."""
    g = here.gradient.reshape(len(at.intercept), -1)
    while length > 1e-18:
        new = Params(penalty.prox(at.coef - length * g[:, :-1], length), at.intercept - length * g[:, -1])
        value = read(new)
        d = np.column_stack([new.coef - at.coef, new.intercept - at.intercept])
        bound = float(here.value[0]) + float(np.sum(g * d)) + float(np.sum(d * d)) / (2.0 * length)
        if float(value.value[0]) <= bound + 4.0 * EPS * abs(bound):
            return new, value, length
        length *= 0.5
    return None
