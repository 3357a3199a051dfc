"""Multiplicative updates of non-negative factors (Lee and Seung 2001, Fevotte and Idier 2011).

    H <- H (W'(X Y^(b-2)) / (W' Y^(b-1) + l1 + l2 H))^g,    W likewise,    Y = W H,

a gradient step with a rate for each entry, which keeps signs; with g = 1 / (2 - b) for b < 1, 1 / (b - 1) for b > 2 and
1 between, the objective decreases in every update. An entry that is zero stays zero.
"""

from collections.abc import Callable, Iterator
from math import inf

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.objectives.factorization import Divergence, Factors, Slopes, find_violation, penalty_value
from tenfold.problems import Factorization
from tenfold.solvers.loop import Step, measure_violation

CHECK = 10  # steps between two values of the objective, as a pass over the product costs a third of a step


def exponent(beta: float) -> float:
    """The power g of the factors of an update."""
    return 1.0 / (2.0 - beta) if beta < 1.0 else 1.0 / (beta - 1.0) if beta > 2.0 else 1.0


def update(V: Floats, slopes: Slopes, l1: float, l2: float, power: float) -> Floats:
    """A factor after an update."""
    below = slopes.positive + l1 + l2 * V if max(l1, l2) > 0.0 else slopes.positive
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(below > 0.0, slopes.negative / below, 0.0)
        moved = V * (ratio if power == 1.0 else ratio**power)
    return np.where(moved >= EPS * np.max(moved, initial=0.0), moved, 0.0) if power < 1.0 else moved


def steps(
    data: Divergence, problem: Factorization, start: Factors, goal: Callable[[], float], update_H: bool = True
) -> Iterator[Step]:
    """Steps from a start, of W alone without `update_H`; the measure is the larger norm of the projected gradients in
    units of `goal()`. The objective is that of the last check, `CHECK` steps ago at most.
    """
    W, H, power = start.W, start.H, exponent(problem.beta)
    value = data.value(W, H) + penalty_value(problem, W, H)
    yield Step(start, value, inf)
    number = 0
    while True:
        slopes = data.slopes_W(W, H)
        worst = find_violation(W, slopes, problem.l1_W, problem.l2_W)
        W = update(W, slopes, problem.l1_W, problem.l2_W, power)
        if update_H:
            slopes = data.slopes_H(W, H)
            across = Slopes(slopes.positive.T, slopes.negative.T)
            worst = max(worst, find_violation(H.T, across, problem.l1_H, problem.l2_H))
            H = update(H, slopes, problem.l1_H, problem.l2_H, power)
        number += 1
        if number % CHECK == 0:
            value = data.value(W, H) + penalty_value(problem, W, H)
        yield Step(Factors(W, H), value, measure_violation(worst, goal()))
