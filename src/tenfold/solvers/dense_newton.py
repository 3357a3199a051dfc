"""Newton's method and interior points for linear models of one target on few dense samples, in one compiled call each.

The iterates come back together and are handed on as steps, so that a trace, a callback and a limit see them one by one.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, NotFinite
from tenfold.losses.loss import Loss, Pieces
from tenfold.machine import spend
from tenfold.solvers.loop import Step


class DenseProblem(NamedTuple):
    """Samples X (n, p) in float64 and C order with targets y (n,) and weights (n,) or None, a shift (p,) they are
    measured from, and the penalty sum_j ridge_j / 2 x_j^2 + limits_j |x_j| on the coefficients x = (w, b).
    """

    X: Floats
    y: Floats
    weight: Floats | None
    shift: Floats
    intercept: bool
    ridge: Floats
    limits: Floats | None = None


class Rule(NamedTuple):
    """When steps have converged: no entry of the gradient above `tol` and a bound of the gap below `allowed`, or a
    decrease below `least`.
    """

    tol: float
    allowed: float
    least: float


def newton_steps(loss: Loss, problem: DenseProblem, start: Floats, rule: Rule, max_iter: int) -> Iterator[Step]:
    """Steps with coefficients (p + 1,) for samples measured from the shift, at most `max_iter` after the start; none
    where a Hessian is singular.
    """
    points, values, measures, regular = _core.dense_newton(
        problem.X,
        problem.y,
        problem.weight,
        problem.shift,
        loss.name,
        loss.parameter,
        problem.intercept,
        problem.ridge,
        problem.limits,
        start,
        *rule,
        max_iter,
    )
    n, p = problem.X.shape
    spend(float(len(values) * n * p * (2 + p / 2)))
    if not regular:
        return iter(())
    return map(Step, points, values.tolist(), measures.tolist())


def interior_point_steps(
    problem: DenseProblem, pieces: Pieces, start: Floats, allowed: float, max_iter: int
) -> tuple[Iterator[Step], Floats]:
    """Steps of interior points for a loss with these pieces (n, k), with the weights of the samples, and its slopes
    (n,) at the last; the measure is the duality gap over `allowed`.
    """
    points, slopes, values, measures, finite = _core.dense_interior_point(
        problem.X,
        problem.shift,
        np.ascontiguousarray(pieces.at),
        np.ascontiguousarray(pieces.up),
        np.ascontiguousarray(pieces.down),
        problem.intercept,
        problem.ridge,
        start,
        allowed,
        max_iter,
    )
    n, p = problem.X.shape
    spend(float(len(values) * n * p * (4 + p / 2)))
    if not finite:
        raise NotFinite
    return map(Step, points, values.tolist(), measures.tolist()), slopes
