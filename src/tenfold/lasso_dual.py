"""The dual of the Lasso: dual feasible points, the duality gap, and the gap-safe screening rule.

For one target, or for the targets that `penalties.L21` couples, in mean units (n samples of weight 1/n):

    primal   P(w) = |y - Xw|^2 / 2 + l1 sum_j |w_j| + l2 / 2 |w|^2,     |w_j| the L2 norm over the targets,
    dual     D(theta) = y.theta - |theta|^2 / 2                         where |x_j.theta| <= l1 for all j.

The elastic net is the Lasso on p more samples (sqrt(l2) e_j, 0): residuals r become (r, -sqrt(l2) w). What is known of
the data are the correlations q = X'r (t, p) and the square |r|^2 of the residuals.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import Floats
from tenfold.penalties import SparsePenalty


def feature_norms(w: Floats) -> Floats:
    """The L2 norms (p,) over the targets of weights (t, p)."""
    return np.abs(w[0]) if len(w) == 1 else np.sqrt(np.sum(w * w, axis=0))


def dual_norm(correlation: Floats, positive: bool) -> Floats:
    """The norms (p,) over the targets of correlations (t, p), of which the dual norm is the largest: of their positive
    parts where weights are positive.
    """
    return feature_norms(np.maximum(correlation, 0.0) if positive else correlation)


class DualPoint(NamedTuple):
    """The residuals times `dual_scaling`, which makes them feasible; y.r, |r|^2 and the norms (p,) of the correlations
    are those before the scaling, of the elastic net as a Lasso.
    """

    dual_scaling: float
    target_product: float
    squares: float
    norms: Floats

    @classmethod
    def of(cls, penalty: SparsePenalty, w: Floats, correlation: Floats, squares: float) -> "DualPoint":
        target_product = squares + float(np.sum(w * correlation))
        squares = squares + penalty.l2 * float(np.sum(w * w))
        norms = dual_norm(correlation - penalty.l2 * w, penalty.positive)
        largest = float(np.max(norms, initial=0.0))
        scaling = max(target_product / squares, 0.0) if squares > 0.0 else 0.0
        scaling = min(scaling, penalty.l1 / largest) if largest > 0.0 else scaling
        return cls(scaling, target_product, squares, norms)

    @property
    def value(self) -> float:
        """The dual objective."""
        c = self.dual_scaling
        return c * self.target_product - 0.5 * c * c * self.squares


def duality_gap(penalty: SparsePenalty, w: Floats, correlation: Floats, squares: float) -> float:
    """The objective at weights (t, p), given X'r (t, p) and |r|^2, minus the better of two dual values: at residuals
    that are scaled to be feasible, or for l2 > 0 at the residuals themselves. Without a penalty, |X'r|^2.
    """
    l1, l2 = penalty.l1, penalty.l2
    if l1 == l2 == 0.0:
        return float(np.sum(correlation * correlation))
    point = DualPoint.of(penalty, w, correlation, squares)
    dual = point.value if l1 > 0.0 else 0.0
    if l2 > 0.0:
        excess = np.maximum(dual_norm(correlation, penalty.positive) - l1, 0.0)
        dual = max(dual, point.target_product - 0.5 * squares - 0.5 * float(np.sum(excess * excess)) / l2)
    return 0.5 * point.squares + l1 * float(np.sum(np.sqrt(np.sum(w * w, axis=0)))) - dual


def gap_safe_screen(
    penalty: SparsePenalty, w: Floats, correlation: Floats, squares: float, lengths: Floats
) -> NDArray[np.bool_]:
    """Which features may be active at the optimum (p,), given weights as in `duality_gap` and the lengths (p,) of the
    features in mean units (Ndiaye et al. 2017): the dual optimum is within sqrt(2 gap) of any dual feasible point, and
    a feature whose correlation stays below l1 in that ball has no weight.
    """
    if penalty.l1 == 0.0:
        return np.ones(len(lengths), dtype=bool)
    point = DualPoint.of(penalty, w, correlation, squares)
    primal = 0.5 * point.squares + penalty.l1 * float(np.sum(np.sqrt(np.sum(w * w, axis=0))))
    # rounding must not shrink the ball
    gap = max(primal - point.value, 0.0) + 1e-14 * max(primal, point.target_product)
    radius = np.sqrt(2.0 * gap * (lengths * lengths + penalty.l2))
    return np.asarray(point.dual_scaling * point.norms + radius >= (1.0 - 1e-12) * penalty.l1)
