"""What the ascents of duals share: a compiled loop over the rows in memory, and when its gap is looked at.

With C_i = weight_i / (strength W) the primal is 1/2 |w|^2 + sum_i C_i loss_i. Weights belong to every point of the
dual, so that the duality gap is the mean of loss(z) + conjugate(u) - u z. An intercept that is tied is the weight of a
constant column; one that is free is tied to where it was last, until it stays there (Rockafellar's proximal points,
1976).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tenfold.arrays import contiguous, is_sparse
from tenfold.data import NotFinite, Rows
from tenfold.problems import Glm
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params

FIRST, LAST = 0.01, 1e-14
"""The share of the first gap at which free intercepts are moved first; violations, in units of the targets, below which
there is only rounding.
"""

ENTRIES = 1 << 16
"""A step takes epochs until it has read about so many entries, once for each class."""

TIGHTER, CLOSER = 0.03, 0.01
"""So much smaller is the gap that is allowed after one that was not certified; and at most so much smaller that which
is asked for before free intercepts are moved again.
"""


class DualCdLoop:
    """The ascent for a problem on rows of positive weight in memory; its measure is the gap over `allowed`.

    A class sets the compiled `loop`, and says where it is, how large the gap is, and how free intercepts are moved.
    """

    loop: Any

    def __init__(self, problem: Glm, rows: Rows, classes: int, allowed: float) -> None:
        block = rows.whole()
        self.problem, self.rows, self.allowed = problem, rows, allowed
        self.sweeps = max(1, ENTRIES // max(rows.entries * classes, 1))
        self.X, self.y = contiguous(block.X), np.ascontiguousarray(block.y[:, 0])
        weight = np.ones(rows.shape[0]) if block.weight is None else np.asarray(block.weight)
        self.share = weight / weight.sum()
        self.strength = float(np.max(problem.penalty.strength))
        self.cost = self.share / self.strength
        self.met = np.inf
        self.unit = self._unit()

    @property
    def params(self) -> Params:
        """The weights now."""
        raise NotImplementedError

    def _gap(self) -> tuple[float, float]:
        """The objective, and the duality gap, with what slopes that do not balance could change of it."""
        raise NotImplementedError

    def _move_intercepts(self) -> float:
        """Tie free intercepts to where they are now; how far that is from where they were tied to."""
        raise NotImplementedError

    def _spread(self) -> float:
        """The unit of the targets."""
        return 1.0

    def _unit(self) -> float:
        """The value of the constant column."""
        problem = self.problem
        if not problem.intercept:
            return 0.0
        if problem.intercept_penalty > 0.0:
            return float(np.sqrt(self.strength / problem.intercept_penalty))
        squares = np.square(self.X.data).sum() if is_sparse(self.X) else np.einsum("ij,ij->", self.X, self.X)
        return float(np.sqrt(squares / self.X.shape[0])) or 1.0

    def _call(self, name: str) -> float:
        X = self.X
        if is_sparse(X):
            return getattr(self.loop, f"{name}_csr")(X.data, X.indices, X.indptr, X.shape[1])
        return getattr(self.loop, name)(X)

    def _epochs(self, wanted: float, least: float) -> tuple[float, float]:
        """Epochs until the gap ahead is what is wanted, as many as a step has; the largest violation of the last, and
        the gap that is then expected: an epoch knows those of its rows when it met them, and the next will do as much.
        """
        violation = ahead = np.inf
        for _ in range(self.sweeps):
            violation, before = self._call("epoch"), self.met
            self.met = float(self.loop.gap) * self.strength
            ahead = self.met * min(1.0, self.met / before) if 0.0 < before < np.inf else self.met
            if ahead <= wanted or violation <= least:
                break
        return violation, ahead

    def tighten(self) -> None:
        """Ask for more."""
        self.allowed *= TIGHTER

    def steps(self) -> Iterator[Step]:
        """An epoch a step, or several where they are short; objective and measure are those of the last look at the
        gap. Rows that were left out count in it, too: they are taken again where it is too large.
        """
        self._call("begin")
        least = LAST * self._spread()
        objective, gap = self._gap()
        yield Step(self.params, objective, gap / self.allowed)
        wanted = FIRST * gap
        while True:
            if not self.problem.balances:
                wanted = self.allowed
            violation, ahead = self._epochs(wanted, least)
            if not np.isfinite(violation):
                raise NotFinite
            if ahead > wanted and violation > least:
                yield Step(self.params, objective, max(gap / self.allowed, 1.0 + 1e-9))
                continue
            value, gap = self._gap()
            objective = min(objective, value)
            yield Step(self.params, objective, gap / self.allowed)
            moved = self._move_intercepts() if self.problem.balances else 0.0
            if violation <= least and moved <= least and self.loop.complete:
                return
            if not self.loop.complete:
                self.loop.take_all()
            wanted = min(ahead, wanted) * max(CLOSER, min(0.25, self.allowed / gap))
