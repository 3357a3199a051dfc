"""Block coordinate descent on the dual of the joint hinge loss of several classes.

The formulas of the compiled loop are in core/include/tenfold/joint_ascent.hpp.

With C_i = weight_i / (strength W) the primal is 1/2 |W|^2 + sum_i C_i loss_i. Weights belong to all shares, so that the
duality gap is the mean of loss(z) + conjugate(u) - u.z. Intercepts that are tied are the weights of a constant column;
those that are free are tied to where they were last, until they stay there.
"""

from collections.abc import Iterator

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, contiguous, is_sparse
from tenfold.data import NotFinite, Rows
from tenfold.losses import JointHinge
from tenfold.problems import Glm
from tenfold.solvers.loop import Step
from tenfold.stats import Params, predictions

FIRST, LAST, TIGHTER, CLOSER = 0.1, 1e-14, 0.03, 0.1
"""Violations at which the gap is looked at first, and below which there is only rounding; how much smaller the gap is
that is allowed after one that was not certified, and the violation that is asked for after a gap that was too large.
"""

ENTRIES = 1 << 16
"""A step takes epochs until it has read about so many entries, once for each class."""

LOSS = JointHinge()


class JointAscent:
    """The ascent for a problem on rows of positive weight in memory; its measure is the gap over `allowed`."""

    def __init__(self, problem: Glm, rows: Rows, classes: int, seed: int, allowed: float) -> None:
        block = rows.whole()
        self.problem, self.rows, self.allowed = problem, rows, allowed
        self.sweeps = max(1, ENTRIES // max(rows.entries * classes, 1))
        self.X, self.y = contiguous(block.X), np.ascontiguousarray(block.y[:, :1])
        weight = np.ones(rows.shape[0]) if block.weight is None else np.asarray(block.weight)
        self.share = weight / weight.sum()
        strength = float(np.max(problem.penalty.strength))
        self.intercept, self.unit = np.zeros(classes), 0.0
        if problem.tie > 0.0:
            self.unit = float(np.sqrt(strength / problem.tie))
        elif problem.intercept:
            squares = np.square(self.X.data).sum() if is_sparse(self.X) else np.einsum("ij,ij->", self.X, self.X)
            self.unit = float(np.sqrt(squares / self.X.shape[0])) or 1.0
        label = self.y[:, 0].astype(np.int32)
        self.loop = _core.JointAscent(label, classes, self.share / strength, self.unit, seed)

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
    def shares(self) -> Floats:
        """Those of the classes in every row (n, K)."""
        return self.loop.share

    @property
    def params(self) -> Params:
        w = self.loop.w
        return Params(np.ascontiguousarray(w[:-1].T), self.intercept + self.unit * w[-1])

    def steps(self) -> Iterator[Step]:
        """An epoch a step, or several where they are short; objective and measure are those of the last look at the
        gap.
        """
        self._call("begin")
        wanted = FIRST
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
            moved = self._move_intercepts() if self.problem.balances else 0.0
            if violation <= LAST and moved <= LAST:
                return
            wanted = max(min(violation, wanted) * max(CLOSER, min(0.5, float(np.sqrt(self.allowed / gap)))), LAST)

    def _move_intercepts(self) -> float:
        """Tie free intercepts to where they are now; how far that is from where they were tied to."""
        now, before = self.params.intercept, self.intercept
        self.intercept = now
        self.loop.shift(now)
        return float(np.max(np.abs(now - before)))

    def _gap(self) -> tuple[float, float]:
        """The objective, and the duality gap, with what slopes that do not balance could change of it."""
        problem, params, p = self.problem, self.params, self.shares
        z = self.rows.map(predictions(params))
        own = (self.y == np.arange(z.shape[1])).astype(np.float64)
        u, loss = p - own, LOSS.value(self.y, z)[:, 0]
        objective = float(self.share @ loss) + 0.5 * float(np.max(problem.penalty.strength)) * float(
            np.sum(params.coef**2)
        )
        gap = float(self.share @ (loss - (1.0 - np.sum(own * p, axis=1)) - np.sum(u * z, axis=1)))
        if problem.balances:
            gap += float(np.sum(np.abs(self.share @ u) * (np.abs(params.intercept) + np.mean(np.abs(z)))))
        tied = 0.5 * problem.tie * float(np.sum(params.intercept**2))
        return objective + tied, max(gap, np.finfo(np.float64).tiny)
