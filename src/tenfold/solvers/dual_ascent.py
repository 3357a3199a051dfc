"""Coordinate descent on the dual of linear support vector machines: for many columns, sparse rows above all.

With C_i = weight_i / (strength W) the primal is 1/2 |w|^2 + sum_i C_i loss_i, and the compiled loop, whose formulas are
in core/include/tenfold/dual_ascent.hpp, moves b_i = -C_i u_i, u_i the slope of the loss. Weights w = sum_i b_i x_i
belong to every b, so that the duality gap is the mean of loss(z) + conjugate(u) - u z. An intercept that is tied is the
weight of a constant column; one that is free is tied to where it was last, until it stays there (Rockafellar's proximal
points, 1976).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, contiguous, is_sparse
from tenfold.data import NotFinite, Rows
from tenfold.losses import EpsilonInsensitive, Hinge, Loss, SquaredEpsilonInsensitive, SquaredHinge
from tenfold.problems import Glm
from tenfold.solvers.loop import Step
from tenfold.stats import Params, predictions

FIRST, LAST = 0.1, 1e-14
"""Violations, in units of the targets, at which the gap is looked at first, and below which there is only rounding."""

ENTRIES = 1 << 16
"""A step takes epochs until it has read about so many entries."""

TIGHTER, CLOSER = 0.03, 0.1
"""So much smaller is the gap that is allowed after one that was not certified, and at least so much smaller the
violation that is asked for after a gap that was too large.
"""


class Intervals(NamedTuple):
    """Ends and curvature (n,) of the dual of each row's loss, and half of the width of the tube."""

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
        raise TypeError(f"There is no ascent of the dual for {type(loss).__name__}.")


class DualAscent:
    """The ascent for a problem on rows of positive weight in memory; its measure is the gap over `allowed`."""

    def __init__(self, problem: Glm, rows: Rows, seed: int, allowed: float) -> None:
        block = rows.whole()
        self.problem, self.rows, self.allowed = problem, rows, allowed
        self.sweeps = max(1, ENTRIES // max(rows.entries, 1))
        self.X, self.y = contiguous(block.X), np.ascontiguousarray(block.y[:, 0])
        weight = np.ones(rows.shape[0]) if block.weight is None else np.asarray(block.weight)
        self.share = weight / weight.sum()
        self.cost = self.share / float(np.max(problem.penalty.strength))
        self.intercept, self.unit = 0.0, self._unit()
        low, high, curvature, epsilon = Intervals.of(problem.loss, self.y, self.cost)
        self.loop = _core.DualAscent(self.y, low, high, curvature, epsilon, self.unit, seed)

    def _unit(self) -> float:
        """The value of the constant column."""
        problem = self.problem
        if not problem.intercept:
            return 0.0
        if problem.tie > 0.0:
            return float(np.sqrt(np.max(problem.penalty.strength) / problem.tie))
        squares = np.square(self.X.data).sum() if is_sparse(self.X) else np.einsum("ij,ij->", self.X, self.X)
        return float(np.sqrt(squares / self.X.shape[0])) or 1.0

    def _call(self, name: str) -> float:
        X = self.X
        if is_sparse(X):
            return getattr(self.loop, f"{name}_csr")(X.data, X.indices, X.indptr, X.shape[1])
        return getattr(self.loop, name)(X)

    def _epochs(self, wanted: float) -> float:
        """Epochs until the largest violation is what is wanted, as many as a step has; the violation of the last."""
        violation = np.inf
        for _ in range(self.sweeps):
            violation = self._call("epoch")
            if violation <= wanted:
                break
        return violation

    def tighten(self) -> None:
        """Ask for more."""
        self.allowed *= TIGHTER

    @property
    def slopes(self) -> Floats:
        """Those of the losses (n,) that belong to the weights."""
        return np.asarray(self.problem.loss.clip(self.y, -self.loop.b / self.cost))

    @property
    def params(self) -> Params:
        w = self.loop.w
        return Params(w[None, :-1].copy(), np.array([self.intercept + self.unit * w[-1]]))

    def steps(self) -> Iterator[Step]:
        """An epoch a step, or several where they are short; objective and measure are those of the last look at the
        gap.
        """
        self._call("begin")
        spread = float(np.mean(np.abs(self.y - np.median(self.y)))) or float(np.mean(np.abs(self.y))) or 1.0
        wanted, least = FIRST * spread, LAST * spread
        objective, gap = self._gap()
        yield Step(self.params, objective, gap / self.allowed)
        while True:
            violation = self._epochs(wanted)
            if not np.isfinite(violation):
                raise NotFinite
            if violation > wanted or not self.loop.complete:
                if violation <= wanted:
                    self.loop.take_all()
                yield Step(self.params, objective, max(gap / self.allowed, 1.0 + 1e-9))
                continue
            value, gap = self._gap()
            objective = min(objective, value)
            yield Step(self.params, objective, gap / self.allowed)
            moved = self._move_intercept() if self.problem.balances else 0.0
            if violation <= least and moved <= least:
                return
            wanted = max(min(violation, wanted) * max(CLOSER, min(0.5, float(np.sqrt(self.allowed / gap)))), least)

    def _move_intercept(self) -> float:
        """Tie a free intercept to where it is now; how far that is from where it was tied to."""
        now, before = float(self.params.intercept[0]), self.intercept
        self.intercept = now
        self.loop.retarget(self.y - now)
        return abs(now - before)

    def _gap(self) -> tuple[float, float]:
        """The objective, and the duality gap, with what slopes that do not balance could change of it."""
        problem, params = self.problem, self.params
        z, u = self.rows.map(predictions(params))[:, 0], self.slopes
        loss = problem.loss.value(self.y, z)
        b = float(params.intercept[0])
        objective = float(np.sum(self.share * loss)) + float(problem.penalty.value(params.coef)[0])
        gap = float(np.sum(self.share * (loss + problem.loss.conjugate(self.y, u) - u * z)))
        if problem.balances:
            gap += abs(float(np.sum(self.share * u))) * (abs(b) + float(np.mean(np.abs(z))))
        return objective + 0.5 * problem.tie * b * b, max(gap, np.finfo(np.float64).tiny)
