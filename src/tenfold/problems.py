"""What is minimised or solved: frozen values that solvers consume and the judge reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.losses import Loss
from tenfold.penalties import Penalty
from tenfold.stats import Derivatives, Params, derivatives, together


@dataclass(frozen=True)
class Glm:
    """min over w, b of  (1/W) sum_i weight_i loss(y_i, x_i.w + b) + penalty(w),  W the sum of the weights; b = 0
    without `intercept`.
    """

    loss: Loss
    penalty: Penalty
    intercept: bool


@dataclass(frozen=True)
class SparseLeastSquares:
    """min over W (t, p) and b (t,) of  (1 / 2W) sum_i weight_i |y_i - W x_i - b|^2 + l1 sum_j |W_j| + l2 / 2 |W|^2,
    W the sum of the weights; b = 0 without `intercept`; weights >= 0 where `positive`.

    |W_j| is the sum of the absolute values of the weights of column j, so that each target is a problem of its own, or
    their Euclidean length where they are `joint`: a column is then used by all targets or by none.
    """

    l1: float
    l2: float
    intercept: bool
    positive: bool = False
    joint: bool = False


class Evaluation(NamedTuple):
    """The smooth part of an objective and its derivatives, per target: value (t,), gradient (t, p + 1) with the
    intercept last, Hessian (p + 1, p + 1).
    """

    value: Floats
    gradient: Floats
    hessian: Floats | None


def evaluate(problem: Glm, rows: Rows, params: Params, order: int = 1, shift: Floats | None = None) -> Evaluation:
    """The smooth part of the objective of `problem`, loss and ||w||^2, on `rows` at z = (x - shift).w + b, with its
    gradient, and its Hessian at order 2: one pass.
    """
    return _evaluation(problem, params, rows.fold(derivatives(problem.loss, params, order, shift)))


def evaluate_ahead(
    problem: Glm, rows: Rows, params: Params, order: int, shift: Floats | None, others: Sequence[Params]
) -> tuple[Evaluation, list[float]]:
    """`evaluate` at `params` and, in the same pass, the bare objective of one target at `others`: where a pass is a
    journey, a line search looks ahead.
    """
    if not others:
        return evaluate(problem, rows, params, order, shift), []
    lifts = [derivatives(problem.loss, at, 0, shift) for at in others]
    first, *rest = rows.fold(together([derivatives(problem.loss, params, order, shift), *lifts])).parts
    values = [float(_value(problem, at, sums)[0]) for at, sums in zip(others, rest, strict=True)]
    return _evaluation(problem, params, first), values


def _value(problem: Glm, params: Params, sums: Derivatives) -> Floats:
    strength = np.asarray(problem.penalty.strength, dtype=np.float64).reshape(-1)
    return sums.value / sums.weight + 0.5 * strength * np.einsum("tp,tp->t", params.coef, params.coef)


def _evaluation(problem: Glm, params: Params, sums: Derivatives) -> Evaluation:
    assert sums.gradient is not None
    t, p = sums.gradient.shape
    strength = np.asarray(problem.penalty.strength, dtype=np.float64).reshape(-1, 1)
    gradient = np.zeros((t, p + 1))
    gradient[:, :p] = sums.gradient / sums.weight + strength * params.coef
    if problem.intercept:
        gradient[:, p] = sums.slope / sums.weight
    hessian = None
    if sums.hessian is not None:
        hessian = sums.hessian / sums.weight
        hessian.ravel()[: p * (p + 1) : p + 2] += strength[0, 0]
        if not problem.intercept:
            hessian[-1, :] = hessian[:, -1] = 0.0
            hessian[-1, -1] = 1.0
    return Evaluation(_value(problem, params, sums), gradient, hessian)
