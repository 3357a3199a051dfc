"""Line searches of L-BFGS for linear models that keep the raw predictions of all samples: two products a step, forward
and back, and the minimum along a line without any.
"""

from typing import ClassVar

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.data import Rows, targets_of, weights_of
from tenfold.linear_algebra import dot
from tenfold.objectives.linear import unpack
from tenfold.objectives.objective import Place
from tenfold.problems import Glm
from tenfold.stats.derivatives import AtMargins, InterceptSums, Total, adjoint, losses_along, losses_at, predictions


class Margins:
    """Two products a step: with the raw predictions kept, the minimum along a line needs no pass over the rows."""

    trusting: ClassVar[bool] = False

    def __init__(self, problem: Glm, rows: Rows, shift: Floats, outputs: int = 1) -> None:
        self.problem, self.rows, self.outputs = problem, rows, outputs
        self.shift = shift if shift.any() else None
        self.y = rows.map(targets_of)
        self.share = np.array(rows.map(weights_of))[:, None]
        self.share /= self.share.sum()
        self.strength, self.intercept_penalty = float(np.max(problem.penalty.strength)), problem.intercept_penalty
        self.z = np.zeros((len(self.y), outputs))

    def start(self, x: Floats) -> Place:
        self.z = self._forward(x)
        return self._place(x.copy())

    def _forward(self, x: Floats) -> Floats:
        return np.ascontiguousarray(self.rows.map(predictions(unpack(x, self.outputs), self.shift)))

    def _adjoint(self, u: Floats) -> Floats:
        rows = self.rows.retarget(u)
        return np.asarray(rows.fold(lambda block: Total(adjoint(block.X, block.y, self.shift))).sum)

    def _weights(self, x: Floats) -> Floats:
        return x.reshape(self.outputs, -1)[:, :-1]

    def _inner(self, x: Floats, d: Floats) -> float:
        """The penalty's bilinear form."""
        weights = self.strength * float(np.einsum("kp,kp->", self._weights(x), self._weights(d)))
        b, e = (part.reshape(self.outputs, -1)[:, -1] for part in (x, d))
        return weights + self.intercept_penalty * float(np.sum(b * e))

    def _losses(self) -> AtMargins:
        """The losses at the margins."""
        return losses_at(self.problem.loss, self.y, self.z, self.share)

    def _bends(self, dz: Floats, length: float) -> tuple[float, float, InterceptSums | None]:
        """The first two derivatives of the losses along dz, and the slopes of one intercept there."""
        return losses_along(self.problem.loss, self.y, self.z, dz, length, self.share)

    @np.errstate(over="ignore", invalid="ignore")  # a trial may be out of range, and is rejected then
    def _place(self, x: Floats, level: InterceptSums | None = None) -> Place:
        """Value and gradient near x, whose raw predictions are known: the intercepts take a Newton step of their own
        first, by their slopes where these are known.
        """
        slope, b = np.zeros(self.outputs), x.reshape(self.outputs, -1)[:, -1]
        if self.problem.intercept:
            level = level or self._losses().level
            curvature = level.curvature + self.intercept_penalty
            # classes are coupled, and the diagonal has at least half of their curvature
            move = -(level.slope + self.intercept_penalty * b) / np.where(curvature > 0.0, curvature, np.inf)
            move = np.clip(move / min(self.outputs, 2), -1.0, 1.0)
            b += move
            self.z = self.z + move
        losses = self._losses()
        if self.problem.intercept:
            slope = losses.level.slope + self.intercept_penalty * b
        f, w = losses.value + 0.5 * self._inner(x, x), self._weights(x)
        return Place(x, f, np.column_stack([self._adjoint(losses.u) + self.strength * w, slope]).ravel())

    def along(self, place: Place, d: Floats, decrease: float) -> Place | None:
        if not self.problem.intercept:
            d = d.copy()
            d.reshape(self.outputs, -1)[:, -1] = 0.0
        dz, kept, high = self._forward(d), self.z, np.inf
        of_penalty = self._inner(place.x, d), self._inner(d, d)
        still = place.f + 4.0 * EPS * abs(place.f)
        while True:
            length, level = self._minimum(dz, *of_penalty, decrease, high)
            self.z = kept + length * dz
            there = self._place(place.x + length * d, level)
            if there.f < place.f or (there.f <= still and abs(dot(there.g, d)) <= 0.5 * decrease):
                return there
            self.z = kept
            if there.f <= still or length <= 1e-12:
                return None
            high = length  # on a steep line a tenth of the slope at its start may lie far beyond its minimum

    @np.errstate(over="ignore", invalid="ignore")
    def _minimum(
        self, dz: Floats, slope: float, curvature: float, decrease: float, high: float
    ) -> tuple[float, InterceptSums | None]:
        """Where the slope along the line is a tenth of that at its start, and the slopes of one intercept there:
        Newton's method in a bracket, halved where it crawls.

        `slope` at the start and `curvature` are those of the penalty; the minimum lies before `high`.
        """
        low, length, before = 0.0, min(1.0, 0.25 * high), np.inf
        for _ in range(40):
            *of_losses, level = self._bends(dz, length)
            first, second = of_losses[0] + slope + length * curvature, of_losses[1] + curvature
            if abs(first) <= 0.1 * decrease:
                return length, level
            low, high = (length, high) if first < 0.0 else (low, length)
            new = length - first / second if second > 0.0 else np.inf
            middle = 0.5 * (low + high) if high < np.inf else 4.0 * length
            # far out on an exponential Newton's method crawls, by equal steps
            crawls = high < np.inf and not abs(new - length) <= 0.5 * before
            new = new if low < new < min(high, 10.0 * length) and not crawls else middle
            length, before = new, abs(new - length)
        return length, None
