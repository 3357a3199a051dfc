"""Additive projected gradient steps of non-negative factors with the squared loss (Lin 2007):

    W <- max(0, W - G_W / L),    L = ||H H'|| + l2,    G_W = W H H' - X H' + l1 + l2 W,    H likewise.

L, the largest eigenvalue, bounds the curvature of the objective in the factor, so that it decreases in every step; a
multiplicative update is a step with a rate of its own for each entry. A step costs 4 n p k operations.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import Floats
from tenfold.objectives.factorization import Divergence, Factors, Slopes, find_violation, gram, penalty_value
from tenfold.problems import Factorization
from tenfold.solvers.loop import Step, measure_violation


def steps(data: Divergence, problem: Factorization, start: Factors, goal: Callable[[], float]) -> Iterator[Step]:
    """Steps from a start; the measure is the larger norm of the projected gradients in units of `goal()`."""
    W, H = start.W, start.H
    while True:
        of_W = data.slopes_W(W, H)
        worst = find_violation(W, of_W, problem.l1_W, problem.l2_W)
        new_W = _move(W, of_W, np.ascontiguousarray(H.T), problem.l1_W, problem.l2_W)
        slopes = data.slopes_H(new_W, H)
        of_H = Slopes(slopes.positive.T, slopes.negative.T)
        worst = max(worst, find_violation(H.T, of_H, problem.l1_H, problem.l2_H))
        yield Step(Factors(W, H), data.value(W, H) + penalty_value(problem, W, H), measure_violation(worst, goal()))
        W, H = new_W, np.ascontiguousarray(_move(H.T, of_H, new_W, problem.l1_H, problem.l2_H).T)


def _move(V: Floats, slopes: Slopes, other: Floats, l1: float, l2: float) -> Floats:
    largest = float(np.linalg.eigvalsh(gram(other))[-1]) + l2
    if not largest > 0.0:
        return V
    return np.maximum(V - (slopes.positive + l1 + l2 * V - slopes.negative) / largest, 0.0)
