"""Block coordinate descent on the dual of the multiclass hinge loss (Crammer and Singer 2001), as in LIBLINEAR.

The compiled loop and its formulas are in core/include/tenfold/crammer_singer_cd.hpp; the outer loop is `dual_cd_loop`.
"""

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.losses.classification import JointHinge
from tenfold.problems import Glm
from tenfold.solvers.dual_cd_loop import DualCdLoop
from tenfold.stats.derivatives import Params, predictions

LOSS = JointHinge()


class CrammerSingerCd(DualCdLoop):
    """All classes together; targets are the class indices."""

    def __init__(self, problem: Glm, rows: Rows, classes: int, seed: int, allowed: float) -> None:
        super().__init__(problem, rows, classes, allowed)
        self.intercept = np.zeros(classes)
        self.loop = _core.CrammerSingerCd(self.y.astype(np.int32), classes, self.cost, self.unit, seed)

    @property
    def shares(self) -> Floats:
        """The dual point (n, K): each row in the simplex of the classes."""
        return np.asarray(self.loop.dual)

    @property
    def params(self) -> Params:
        w = self.loop.w
        return Params(np.ascontiguousarray(w[:-1].T), self.intercept + self.unit * w[-1])

    def _recentre_intercepts(self) -> float:
        """Recentre the proximal term of unpenalised intercepts; returns by how much its centre changed."""
        now, before = self.params.intercept, self.intercept
        self.intercept = now
        self.loop.shift(now)
        return float(np.max(np.abs(now - before)))

    def _gap(self) -> tuple[float, float]:
        """The objective, and the duality gap; slopes that do not sum to zero count where intercepts are unpenalised."""
        problem, params, p = self.problem, self.params, self.shares
        z = self.rows.map(predictions(params))
        own = (self.y[:, None] == np.arange(z.shape[1])).astype(np.float64)
        u, loss = p - own, LOSS.value(self.y[:, None], z)[:, 0]
        objective = float(self.share @ loss) + 0.5 * float(np.max(problem.penalty.strength)) * float(
            np.sum(params.coef**2)
        )
        gap = float(self.share @ (loss - (1.0 - np.sum(own * p, axis=1)) - np.sum(u * z, axis=1)))
        if problem.balances:
            gap += float(np.sum(np.abs(self.share @ u) * (np.abs(params.intercept) + np.mean(np.abs(z)))))
        tied = 0.5 * problem.intercept_penalty * float(np.sum(params.intercept**2))
        return objective + tied, max(gap, np.finfo(np.float64).tiny)
