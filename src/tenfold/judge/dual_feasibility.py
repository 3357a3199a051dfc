"""Slopes of a loss that sum to zero, so that they are a dual point where there is an intercept; of one raw prediction.

Slopes at two intercepts, whose sums have opposite signs, are mixed; the conjugate is convex, so that the Fenchel-Young
term of the mixture is at most the same mixture of theirs. Each intercept costs a pass over the samples. Where samples
are sparse their raw predictions are kept: one pass forward, and one back for the mixture.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats, contiguous, namespace
from tenfold.judge.dual_bound import DualPoint
from tenfold.judge.objective_points import DesignProblem, ObjectivePoint, point_of
from tenfold.objectives.design import DesignBlock, LossMeans, MarginLosses

MAX_STEPS = 40  # steps of the second intercept, each four times as long as the one before


def means_at(data: DesignProblem, x: Floats) -> LossMeans:
    """Loss and gradient at coefficients: one pass."""
    return data.design.read(data.problem.loss, x, 1)


class _Side(NamedTuple):
    """Mean loss and mean slope at an intercept, and what is mixed: correlations, or slopes of the samples."""

    loss: float
    slope: float
    slopes: Floats


def _mix(here: _Side, step: float, at: Callable[[float], _Side]) -> DualPoint | None:
    """Slopes that sum to zero, from those at an intercept and those at one moved by `step`, or further."""
    for _ in range(MAX_STEPS):
        other = at(step)
        if not np.isfinite(other.slope):
            return None
        if np.sign(other.slope) != np.sign(here.slope):  # their product may underflow
            ratio = here.slope / (here.slope - other.slope)
            # the Fenchel-Young term of slopes at z + step for raw predictions z
            term = here.loss - other.loss + step * other.slope
            slopes = (1.0 - ratio) * here.slopes + ratio * other.slopes
            parts = (1.0 - ratio) * here.slope, ratio * other.slope
            return DualPoint(slopes, ratio * max(term, 0.0), here.loss, sum(parts), abs(parts[0]) + abs(parts[1]))
        step *= 4.0
    return None


def balance_slopes(data: DesignProblem, x: Floats, means: LossMeans) -> DualPoint | None:
    """The slopes at x, mixed with those at a second intercept; None where no intercept balances them."""
    here = _side(data, means)
    if not data.problem.balances or here.slope == 0.0:
        return DualPoint(here.slopes, 0.0, here.loss, here.slope)

    def at(step: float) -> _Side:
        moved = x.copy()
        moved[:, -1] += step
        return _side(data, means_at(data, moved))

    return _mix(here, -2.0 * here.slope / _mean_curvature(data, x), at)


def _side(data: DesignProblem, means: LossMeans) -> _Side:
    slope = float(means.gradient[0, -1]) if data.design.intercept else 0.0
    return _Side(means.value, slope, data.dual_correlation(means.gradient)[0])


def _mean_curvature(data: DesignProblem, x: Floats) -> float:
    """The mean curvature of the samples in the sample; the largest there is where it vanishes."""
    loss, predict = data.problem.loss, data.design.predictor(x)

    def lift(block: DesignBlock) -> Floats:
        weight, c = block.weight, loss.curvature(block.y, predict(block))[:, 0]
        xp = namespace(c)
        return np.array([float(xp.sum(weight * c)), float(xp.sum(weight))])

    total = data.design.sample.sum(lift)
    return _or_largest(data, float(total[0] / total[1]) if total[1] > 0.0 else 0.0)


def _or_largest(data: DesignProblem, mean: float) -> float:
    loss = data.problem.loss
    largest = loss.lipschitz if np.isfinite(loss.lipschitz) else 1.0
    return mean if mean > 1e-8 * largest else largest


class KeptMargins(NamedTuple):
    """Raw predictions (n, 1) at coefficients, targets (n, 1), weights (n, 1) with their sum, and the losses there."""

    data: DesignProblem
    x: Floats
    z: Floats
    y: Floats
    weight: Floats
    total: float
    here: MarginLosses

    @classmethod
    def of(cls, data: DesignProblem, x: Floats) -> "KeptMargins | None":
        """Where the penalty has a kink, so that no gradient is needed, and the samples are sparse."""
        if not (data.design.keeps_margins and getattr(data.problem.penalty, "l1", 0.0) > 0.0):
            return None
        predict = data.design.predictor(x)
        columns = data.design.map(lambda block: np.column_stack([predict(block), block.y, block.weight]))
        z, y, weight = (contiguous(columns[:, k : k + 1]) for k in range(3))
        here = data.design.losses_at(data.problem.loss, y, z, weight)
        return cls(data, x, z, y, weight, float(np.sum(weight)), here)

    def point(self) -> ObjectivePoint:
        """The objective at the coefficients."""
        return point_of(self.data, self.x, LossMeans(self.total, self.here.value / self.total, np.empty(0)))

    def balance_slopes(self) -> DualPoint | None:
        """As the function of that name."""
        here = self._side(self.here)
        if not self.data.problem.balances or here.slope == 0.0:
            return DualPoint(self._correlate(here.slopes), 0.0, here.loss, here.slope)

        def at(step: float) -> _Side:
            return self._side(self.data.design.losses_at(self.data.problem.loss, self.y, self.z + step, self.weight))

        mean = self.here.curvature / self.total
        result = _mix(here, -2.0 * here.slope / _or_largest(self.data, mean), at)
        return None if result is None else result._replace(correlation=self._correlate(result.correlation))

    def _side(self, at: MarginLosses) -> _Side:
        slope = at.slope / self.total if self.data.design.intercept else 0.0
        return _Side(at.value / self.total, slope, at.slopes)

    def _correlate(self, u: Floats) -> Floats:
        return np.asarray(self.data.design.correlate(u)[0] / self.total)
