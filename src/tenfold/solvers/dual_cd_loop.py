"""Dual coordinate descent: the outer loop over a compiled loop, and when the duality gap is computed.

With C_i = weight_i / (strength W) the primal is 1/2 |w|^2 + sum_i C_i loss_i. Weights belong to every dual point, so
the duality gap is the mean of loss(z) + conjugate(u) - u z. A penalised intercept is the weight of a constant feature;
an unpenalised one has a proximal term about its last value, until it stays there (Rockafellar 1976).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tenfold.arrays import contiguous, is_sparse
from tenfold.data import NotFinite, Rows
from tenfold.problems import Glm
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params

FIRST_RECENTRING = 0.01  # part of the first gap at which unpenalised intercepts are recentred first
ROUNDING_VIOLATION = 1e-14  # violations below this, in units of the targets, are rounding

ENTRIES_PER_STEP = 1 << 16  # a step takes epochs until it has read so many entries, once for each class

TIGHTEN_FACTOR = 0.03  # of the allowed gap, after a result that the judge did not certify
MIN_GAP_FACTOR = 0.01  # by which the gap decreases at most before unpenalised intercepts are recentred


class DualCdLoop:
    """The solver of a problem on samples of positive weight in memory; its measure is the gap over `allowed`.

    A subclass sets the compiled `loop`, its parameters and gap, and how unpenalised intercepts are recentred.
    """

    loop: Any

    def __init__(self, problem: Glm, rows: Rows, classes: int, allowed: float) -> None:
        block = rows.whole()
        self.problem, self.rows, self.allowed = problem, rows, allowed
        self.sweeps = max(1, ENTRIES_PER_STEP // max(rows.entries * classes, 1))
        self.X, self.y = contiguous(block.X), np.ascontiguousarray(block.y[:, 0])
        weight = np.ones(rows.shape[0]) if block.weight is None else np.asarray(block.weight)
        self.share = weight / weight.sum()
        self.strength = float(np.max(problem.penalty.strength))
        self.cost = self.share / self.strength
        self.running_gap = np.inf
        self.unit = self._unit()

    @property
    def params(self) -> Params:
        """The current weights."""
        raise NotImplementedError

    def _gap(self) -> tuple[float, float]:
        """The objective, and the duality gap; slopes that do not sum to zero count where intercepts are unpenalised."""
        raise NotImplementedError

    def _recentre_intercepts(self) -> float:
        """Recentre the proximal term of unpenalised intercepts; returns by how much its centre changed."""
        raise NotImplementedError

    def _target_scale(self) -> float:
        """The scale of the targets."""
        return 1.0

    def _unit(self) -> float:
        """The value of the constant feature."""
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

    def _epochs(self, target: float, least: float) -> tuple[float, float]:
        """Epochs until the expected gap is the target, at most as many as a step has; returns the largest violation of
        the last epoch and the expected gap. An epoch sums the gap as it visits the samples, before each update; the
        next one is expected to decrease it by the same factor.
        """
        violation = expected = np.inf
        for _ in range(self.sweeps):
            violation, before = self._call("epoch"), self.running_gap
            self.running_gap = float(self.loop.gap) * self.strength
            expected = (
                self.running_gap * min(1.0, self.running_gap / before) if 0.0 < before < np.inf else self.running_gap
            )
            if expected <= target or violation <= least:
                break
        return violation, expected

    def tighten(self) -> None:
        """Ask for a smaller gap."""
        self.allowed *= TIGHTEN_FACTOR

    def steps(self) -> Iterator[Step]:
        """An epoch a step, or several where they are short; objective and measure are those of the last exact gap.
        Samples that were shrunk count in it, and are taken again where it is too large.
        """
        self._call("begin")
        least = ROUNDING_VIOLATION * self._target_scale()
        objective, gap = self._gap()
        yield Step(self.params, objective, gap / self.allowed)
        target = FIRST_RECENTRING * gap
        while True:
            if not self.problem.balances:
                target = self.allowed
            violation, expected = self._epochs(target, least)
            if not np.isfinite(violation):
                raise NotFinite
            if expected > target and violation > least:
                yield Step(self.params, objective, max(gap / self.allowed, 1.0 + 1e-9))
                continue
            value, gap = self._gap()
            objective = min(objective, value)
            yield Step(self.params, objective, gap / self.allowed)
            moved = self._recentre_intercepts() if self.problem.balances else 0.0
            if violation <= least and moved <= least and self.loop.complete:
                return
            if not self.loop.complete:
                self.loop.unshrink()
            target = min(expected, target) * max(MIN_GAP_FACTOR, min(0.25, self.allowed / gap))
