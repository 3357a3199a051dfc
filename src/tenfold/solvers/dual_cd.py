"""Coordinate descent on the dual of linear SVMs and SVR (Hsieh et al. 2008), for many features, sparse ones above all.

Given a problem with one of the hinge or epsilon-insensitive losses, squared or not, and samples in memory. The compiled
loop (core/include/tenfold/dual_cd.hpp, with the formulas) updates b_i = -C_i u_i, u_i the slope of the loss of sample
i; w = sum_i b_i x_i. The outer loop is `dual_cd_loop`.
"""

from typing import NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.losses.classification import Hinge, SquaredHinge
from tenfold.losses.loss import Loss
from tenfold.losses.regression import EpsilonInsensitive, SquaredEpsilonInsensitive
from tenfold.problems import Glm
from tenfold.solvers.dual_cd_loop import DualCdLoop
from tenfold.stats.derivatives import Params, predictions

RUN_ENTRIES = 1 << 11  # entries of samples that are shuffled as one run, to read memory in order


class Intervals(NamedTuple):
    """Bounds and curvature (n,) of the dual variables, and epsilon, half of the width of the tube."""

    low: Floats
    high: Floats
    curvature: Floats
    epsilon: float

    @classmethod
    def of(cls, loss: Loss, y: Floats, cost: Floats) -> "Intervals":
        if isinstance(loss, Hinge):
            return cls(np.minimum(cost * y, 0.0), np.maximum(cost * y, 0.0), np.zeros_like(y), 0.0)
        if isinstance(loss, EpsilonInsensitive):
            return cls(-cost, cost, np.zeros_like(y), float(loss.epsilon))
        far, bend = np.full_like(y, np.inf), 0.5 / cost
        if isinstance(loss, SquaredHinge):
            return cls(np.where(y > 0, 0.0, -far), np.where(y > 0, far, 0.0), bend, 0.0)
        if isinstance(loss, SquaredEpsilonInsensitive):
            return cls(-far, far, bend, float(loss.epsilon))
        raise TypeError(f"There is no dual coordinate descent for {type(loss).__name__}.")


class DualCd(DualCdLoop):
    """One target."""

    def __init__(self, problem: Glm, rows: Rows, seed: int, allowed: float) -> None:
        super().__init__(problem, rows, 1, allowed)
        self.intercept = 0.0
        low, high, curvature, epsilon = Intervals.of(problem.loss, self.y, self.cost)
        run = max(1, RUN_ENTRIES * rows.shape[0] // max(rows.entries, 1))
        self.loop = _core.DualCd(self.y, low, high, curvature, epsilon, self.unit, run, seed)

    @property
    def slopes(self) -> Floats:
        """The slopes (n,) of the losses that belong to the weights: the dual point."""
        return np.asarray(self.problem.loss.clip(self.y, -self.loop.b / self.cost))

    @property
    def params(self) -> Params:
        w = self.loop.w
        return Params(w[None, :-1], np.array([self.intercept + self.unit * w[-1]]))

    def _target_scale(self) -> float:
        return float(np.mean(np.abs(self.y - np.median(self.y)))) or float(np.mean(np.abs(self.y))) or 1.0

    def _recentre_intercepts(self) -> float:
        """Recentre the proximal term of an unpenalised intercept; returns by how much its centre changed."""
        now, before = float(self.params.intercept[0]), self.intercept
        self.intercept = now
        self.loop.retarget(self.y - now)
        return abs(now - before)

    def _gap(self) -> tuple[float, float]:
        """The objective, and the duality gap; slopes that do not sum to zero count where intercepts are unpenalised."""
        problem, params = self.problem, self.params
        b, u = float(params.intercept[0]), self.slopes
        z = self.rows.map(predictions(params))[:, 0] if np.any(params.coef) else np.full_like(self.y, b)
        loss = problem.loss.value(self.y, z)
        objective = float(np.sum(self.share * loss)) + float(problem.penalty.value(params.coef)[0])
        gap = float(np.sum(self.share * (loss + problem.loss.conjugate(self.y, u) - u * z)))
        if problem.balances:
            gap += abs(float(np.sum(self.share * u))) * (abs(b) + float(np.mean(np.abs(z))))
        return objective + 0.5 * problem.intercept_penalty * b * b, max(gap, np.finfo(np.float64).tiny)
