"""Generalised linear models as functions of their coefficients: weights, then the intercept, class after class."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tenfold.arrays import Array, Floats, namespace, on_host
from tenfold.data import Block, MaybeDeferred, Rows, weights_of
from tenfold.hessians import Factor, factor_linear
from tenfold.losses.classification import Softmax
from tenfold.losses.loss import Loss
from tenfold.losses.regression import Square
from tenfold.objectives.objective import Objective, Reading, is_finite
from tenfold.penalties import L2, Penalty
from tenfold.problems import Evaluation, Glm, evaluate, evaluate_ahead, evaluate_roughly, objectives
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, Total

ROUGH = 1e-8  # relative error of a mean over many samples whose terms are in single precision

Map = Callable[[Floats], Floats]


def pack(params: Params) -> Floats:
    """Coefficients as one vector."""
    return np.column_stack([params.coef, params.intercept]).ravel()


def unpack(x: Floats, outputs: int = 1) -> Params:
    """The weights and intercepts in a vector of coefficients."""
    by_class = x.reshape(outputs, -1)
    return Params(by_class[:, :-1].copy(), by_class[:, -1].copy())


class LinearObjective(Objective):
    """The smooth part of the objective of `problem`, loss and ||w||^2, at z = (x - shift).w + b: one pass a reading."""

    def __init__(self, problem: Glm, rows: Rows, shift: Floats, outputs: int = 1) -> None:
        self.problem, self.rows, self.shift, self.outputs = problem, rows, shift, outputs
        loss = problem.loss
        self.distributed = rows.distributed
        self.jumps = not np.isfinite(loss.self_concordance)
        linear_parts = self.jumps and not isinstance(loss, Softmax)
        self.flat = loss.convex and linear_parts and bool(np.isfinite(loss.lipschitz))

    def read(self, x: Floats, order: int = 1) -> Reading:
        return _reading(evaluate(self.problem, self.rows, unpack(x, self.outputs), order, self.shift))

    def read_ahead(self, x: Floats, order: int, others: Sequence[Floats]) -> tuple[Reading, list[float]]:
        ahead = [unpack(other, self.outputs) for other in others]
        evaluation, values = evaluate_ahead(self.problem, self.rows, unpack(x, self.outputs), order, self.shift, ahead)
        return _reading(evaluation), values

    def values(self, points: Sequence[Floats]) -> list[float]:
        if self.outputs > 1:
            return super().values(points)
        return objectives(self.problem, self.rows, [unpack(x) for x in points], self.shift).tolist()

    def factor(self, hessian: Floats | None) -> Factor:
        return factor_linear(hessian, self.shift)

    def bound_curvature(self) -> Floats:
        """lipschitz X'X / n, of parabolas above the loss."""
        square = Glm(Square(), L2(0.0), self.problem.intercept)
        zero = Params(np.zeros((1, len(self.shift))), np.zeros(1))
        gram = evaluate(square, self.rows, zero, 2, self.shift).hessian
        assert gram is not None
        return self.problem.loss.lipschitz * gram


def _reading(evaluation: Evaluation) -> Reading:
    return Reading(float(evaluation.value[0]), evaluation.gradient[0], evaluation.hessian)


class RoughSoftmax(LinearObjective):
    """The same for the softmax of dense samples with products in single precision, until `sharpen`."""

    noise = ROUGH

    def sharpen(self) -> None:
        """From now on in float64."""
        self.noise = LinearObjective.noise

    def read_ahead(self, x: Floats, order: int, others: Sequence[Floats]) -> tuple[Reading, list[float]]:
        if self.noise == ROUGH and order == 1 and not others:
            reading = _reading(evaluate_roughly(self.problem, self.rows, unpack(x, self.outputs), self.shift))
            if is_finite(reading):
                return reading, []
            self.sharpen()  # single precision ends at 3e38
        return super().read_ahead(x, order, others)


class ProximalPenalty:
    """The penalty of a linear model, as a function of all coefficients; intercepts have none."""

    def __init__(self, penalty: Penalty, outputs: int = 1) -> None:
        self.penalty, self.outputs = penalty, outputs

    def value(self, x: Floats) -> float:
        return float(np.sum(self.penalty.value(unpack(x, self.outputs).coef)))

    def prox(self, x: Floats, step: float) -> Floats:
        coef, intercept = unpack(x, self.outputs)
        return pack(Params(self.penalty.prox(coef, step), intercept))


def invert_diagonal(problem: Glm, rows: Rows, shift: Floats, mean: float | None = None, outputs: int = 1) -> Map:
    """The inverse of the Hessian's diagonal as a map, one pass: at the largest curvature of the loss or, where there is
    none, at means halfway between each target and the `mean` of all.
    """
    loss = problem.loss

    def lift(block: Block) -> MaybeDeferred[Columns]:
        return Columns.lift(block if mean is None else _weigh_by_curvature(block, loss, mean))

    columns = rows.fold(lift)
    bend = loss.lipschitz
    if mean is not None:
        total, weight = rows.fold(partial(_bends, loss, mean)).sum
        bend = float(total / weight)
    centre, squares = columns.mean[: columns.features], columns.squares_about(shift)
    # never less than a thousandth of the raw squares: a difference of nearly equal numbers has no digits
    squares = np.maximum(squares, 1e-3 * (squares + shift * (2.0 * centre - shift)))
    curvature = np.append(bend * squares + np.max(problem.penalty.strength), bend)
    inverse = np.tile(1.0 / np.where(curvature > 0.0, curvature, 1.0), outputs)
    return lambda g: inverse * g


def _halfway(loss: Loss, mean: float, y: Array) -> Array:
    """The curvature of the loss for means halfway between the targets and `mean`."""
    z = 0.5 * (y + mean)
    return loss.curvature(y, namespace(z).log(z) if loss.link == "log" else z)


def _weigh_by_curvature(block: Block, loss: Loss, mean: float) -> Block:
    return Block(block.X, block.y, weights_of(block) * _halfway(loss, mean, block.y)[:, 0])


def _bends(loss: Loss, mean: float, block: Block) -> Total:
    """Sums of weight times curvature, and of weight."""
    weight = weights_of(block)
    xp = namespace(weight)
    parts = (xp.sum(weight * _halfway(loss, mean, block.y)[:, 0]), xp.sum(weight))
    return Total(np.array([float(on_host(part)) for part in parts]))
