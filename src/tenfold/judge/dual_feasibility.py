"""Slopes of a loss that sum to zero, so that they are a dual point where there is an intercept.

Slopes at two intercepts, whose sums have opposite signs, are mixed; the conjugate is convex, so that the Fenchel-Young
term of the mixture is at most the same mixture of theirs. Rows that may be anywhere are read once for each intercept.
Of sparse rows, in memory or in blocks from elsewhere, the margins are kept: they are read forth once, and back once at
the mixture.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats, contiguous, namespace
from tenfold.data import BatchRows, Block, MemoryRows, weights_of
from tenfold.judge.dual_bound import Slopes
from tenfold.judge.objective_points import Data, Point, local, point_alone
from tenfold.stats.derivatives import AtMargins, Derivatives, Params, Total, adjoint, derivatives, forward, losses_at

TRIES = 40
"""So often the second intercept is moved further away."""


def sums_at(data: Data, params: Params) -> Derivatives:
    """Loss, slope and gradient at parameters of a point: one pass."""
    return data.rows.fold(derivatives(data.problem.loss, local(data, params), 1, data.centre))


class _Half(NamedTuple):
    """Mean loss and mean slope at an intercept, and what is mixed: pulls on the weights, or slopes of the rows."""

    loss: float
    slope: float
    slopes: Floats


def _mixed(here: _Half, step: float, moved: Callable[[float], _Half]) -> Slopes | None:
    """Slopes that sum to zero, from those at an intercept and those at one moved by `step`, or further."""
    for _ in range(TRIES):
        other = moved(step)
        if not np.isfinite(other.slope):
            return None
        if np.sign(other.slope) != np.sign(here.slope):  # their product may underflow
            share = here.slope / (here.slope - other.slope)
            # the Fenchel-Young term of slopes at z + step for margins z
            term = here.loss - other.loss + step * other.slope
            slopes = (1.0 - share) * here.slopes + share * other.slopes
            parts = (1.0 - share) * here.slope, share * other.slope
            return Slopes(slopes, share * max(term, 0.0), here.loss, sum(parts), abs(parts[0]) + abs(parts[1]))
        step *= 4.0
    return None


def balanced(data: Data, params: Params, sums: Derivatives) -> Slopes | None:
    """The slopes at parameters, with those at a second intercept; None where no intercept balances them."""
    here = _half(data, sums)
    if not data.problem.balances or here.slope == 0.0:
        return Slopes(here.slopes, 0.0, here.loss, here.slope)

    def moved(step: float) -> _Half:
        return _half(data, sums_at(data, Params(params.coef, params.intercept + step)))

    return _mixed(here, -2.0 * here.slope / _mean_curvature(data, params), moved)


def _half(data: Data, sums: Derivatives) -> _Half:
    return _Half(float(sums.value[0]) / sums.weight, float(sums.slope[0]) / sums.weight, _pull(data, sums))


def _pull(data: Data, sums: Derivatives) -> Floats:
    """(1/W) sum weight slope x: of rows from the centre where slopes will balance, else of the rows as they are."""
    assert sums.gradient is not None
    pull = sums.gradient[0] / sums.weight
    return pull if data.problem.balances else pull + sums.slope[0] / sums.weight * data.centre


def _mean_curvature(data: Data, params: Params) -> float:
    """The mean curvature of the sample's rows; the largest there is where it vanishes."""
    loss, at = data.problem.loss, local(data, params)

    def lift(block: Block) -> Total:
        weight = weights_of(block)
        c = loss.curvature(block.y, forward(block.X, at, data.centre))[:, 0]
        xp = namespace(c)
        return Total(np.array([float(xp.sum(weight * c)), float(xp.sum(weight))]))

    total = data.sample.fold(lift).sum
    return _or_largest(data, float(total[0] / total[1]) if total[1] > 0.0 else 0.0)


def _or_largest(data: Data, mean: float) -> float:
    loss = data.problem.loss
    largest = loss.lipschitz if np.isfinite(loss.lipschitz) else 1.0
    return mean if mean > 1e-8 * largest else largest


class Kept(NamedTuple):
    """Margins (n, 1) of rows at parameters, their targets (n, 1), their weights (n, 1) with their sum, and the losses
    there.
    """

    data: Data
    params: Params
    z: Floats
    y: Floats
    weight: Floats
    total: float
    here: AtMargins

    @classmethod
    def of(cls, data: Data, params: Params) -> "Kept | None":
        """Where a penalty has a kink, so that nobody asks for a gradient, and the rows are sparse."""
        rows, penalty = data.rows, data.problem.penalty
        if not (isinstance(rows, (MemoryRows, BatchRows)) and rows.sparse and getattr(penalty, "l1", 0.0) > 0.0):
            return None
        at = local(data, params)
        read = rows.map(lambda block: np.column_stack([forward(block.X, at, data.centre), block.y, weights_of(block)]))
        z, y, weight = (contiguous(read[:, k : k + 1]) for k in range(3))
        here = losses_at(data.problem.loss, y, z, weight)
        return cls(data, params, z, y, weight, float(np.sum(weight)), here)

    def point(self) -> Point:
        """The objective at the parameters."""
        value = np.array([self.here.value])
        return point_alone(self.data, self.params, Derivatives(self.total, value, self.here.level.slope))

    def sizes(self) -> tuple[float, float]:
        """Mean sizes of the slopes and of the curvatures."""
        return float(np.sum(np.abs(self.here.u))) / self.total, float(self.here.level.curvature[0]) / self.total

    def balanced(self) -> Slopes | None:
        """As the function of that name."""
        here = self._half(self.here)
        if not self.data.problem.balances or here.slope == 0.0:
            return Slopes(self._back(here.slopes), 0.0, here.loss, here.slope)

        def moved(step: float) -> _Half:
            return self._half(losses_at(self.data.problem.loss, self.y, self.z + step, self.weight))

        found = _mixed(here, -2.0 * here.slope / _or_largest(self.data, self.sizes()[1]), moved)
        return None if found is None else found._replace(pull=self._back(found.pull))

    def _half(self, at: AtMargins) -> _Half:
        return _Half(at.value / self.total, float(at.level.slope[0]) / self.total, at.u)

    def _back(self, u: Floats) -> Floats:
        """The pull of slopes, as that of sums."""
        centre = self.data.centre if self.data.problem.balances else None

        def add(before: tuple[int, Floats], block: Block) -> tuple[int, Floats]:
            start, pull = before
            end = start + block.y.shape[0]
            return end, pull + adjoint(block.X, u[start:end], centre)[0]

        return self.data.rows.scan(add, (0, np.zeros(self.data.rows.shape[1])))[1] / self.total
