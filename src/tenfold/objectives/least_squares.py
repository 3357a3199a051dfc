"""Least squares of one or several targets, by passes over the samples: as a function, and as normal equations."""

from dataclasses import replace
from functools import partial

import numpy as np

from tenfold.arrays import Floats, namespace
from tenfold.data import Block, MaybeDeferred, Rows
from tenfold.losses.regression import Square
from tenfold.objectives.objective import Objective, Reading
from tenfold.penalties import Penalty
from tenfold.stats.derivatives import Derivatives, Params, Total, adjoint, derivatives, forward


class Squares(Objective):
    """(1 / 2W) sum_i weight_i |y_i - W (x_i - centre)|^2 of weights W (t, p), y measured from `target_mean`; the parts
    are those of the targets.
    """

    def __init__(self, rows: Rows, centre: Floats, target_mean: Floats) -> None:
        self.rows, self.centre, self.target_mean = rows, centre, target_mean

    def read(self, x: Floats, order: int = 1) -> Reading:
        assert order < 2
        params = Params(x.reshape(len(self.target_mean), -1), self.target_mean)
        sums = self.rows.fold(derivatives(Square(), params, 1, self.centre))
        assert sums.gradient is not None
        parts = sums.value / sums.weight
        return Reading(float(parts.sum()), (sums.gradient / sums.weight).ravel(), parts=parts)

    def extrapolate(self, x: Floats, here: Reading, before: Floats, there: Reading, step: float) -> Reading:
        """A quadratic is known along a line from its gradients at two points: no pass."""
        d, bend = x - before, here.gradient - there.gradient
        value = here.value + step * float(here.gradient @ d) + 0.5 * step * step * float(bend @ d)
        return Reading(value, here.gradient + step * bend)


class ReshapedPenalty:
    """A penalty on weights (t, p) as a function of a vector."""

    def __init__(self, penalty: Penalty, targets: int) -> None:
        self.penalty, self.targets = penalty, targets

    def value(self, x: Floats) -> float:
        return float(np.sum(self.penalty.value(x.reshape(self.targets, -1))))

    def prox(self, x: Floats, step: float) -> Floats:
        return np.asarray(self.penalty.prox(x.reshape(self.targets, -1), step)).ravel()


class NormalEquations:
    """(A'A + alpha_k I) w_k = A'y_k,  A the rows of weights root^2 measured from `centre`, y the targets measured from
    `target_mean`: their solutions minimise (1/2) ||root (y - A w)||^2 + (alpha / 2) ||w||^2.
    """

    def __init__(self, rows: Rows, alpha: Floats, centre: Floats, target_mean: Floats) -> None:
        self.rows, self.alpha, self.centre, self.target_mean = rows, alpha, centre, target_mean

    def right(self) -> tuple[Floats, Floats]:
        """The right sides A'y (t, p), and half the sums of squares (t,) of the targets: one pass."""
        zero = Params(np.zeros((self.alpha.size, self.rows.shape[1])), self.target_mean)
        sums = self.rows.fold(derivatives(Square(), zero, 1, self.centre))
        assert sums.gradient is not None
        return -sums.gradient, sums.value.copy()

    def product(self, d: Floats) -> Floats:
        """(A'A + alpha I) d (t, p): two products of sparse rows; of others, in one pass, the gradient of the square
        loss for zero targets.
        """
        if self.rows.sparse:
            result = self.rows.fold(partial(_normal_product, d, self.centre)).sum
        else:
            result = self.rows.fold(partial(_without_targets, d, self.centre)).gradient
            assert result is not None
        return np.asarray(result + self.alpha[:, None] * d)


def _normal_product(d: Floats, centre: Floats, block: Block) -> Total:
    z = forward(block.X, Params(d, np.zeros(d.shape[0])), centre)
    return Total(adjoint(block.X, z if block.weight is None else block.weight[:, None] * z, centre))


def _without_targets(d: Floats, centre: Floats, block: Block) -> MaybeDeferred[Derivatives]:
    y = namespace(block.y).zeros_like(block.y)
    return derivatives(Square(), Params(d, np.zeros(d.shape[0])), 1, centre)(replace(block, y=y))
