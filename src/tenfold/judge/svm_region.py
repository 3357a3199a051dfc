"""Feasible points of the duals of support vector machines, and the intercepts that minimise a sum of convex losses.

The coefficients beta of all machines are in a region

    low <= beta <= high,   sum beta+ = P,   sum beta- = N,

with P = N for machines with two sides (the classes, or the sides of a tube), both fixed for classes with nu, and P
fixed, N = 0 for one class. What is not feasible becomes so here, and here alone it is checked.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tenfold.arrays import EPS, Floats

FLAT = 1e-10  # slopes within so much of the sum of all weights count as zero
BISECTIONS = 200


@dataclass(frozen=True)
class Region:
    """low, high: (n,) bounds of the coefficients; total: the sum of each side, None where both sides must only have
    the same; cap: the largest such sum; two_sided: whether there are negative coefficients.
    """

    low: Floats
    high: Floats
    total: float | None = None
    cap: float = np.inf
    two_sided: bool = True

    def nearest(self, beta: Floats) -> Floats:
        """A feasible point near beta: clipped, the heavier side scaled down; a side that must have a total and lacks
        some of it is filled in proportion to the room.
        """
        clipped = np.clip(beta, self.low, self.high)
        positive, negative = np.maximum(clipped, 0.0), np.maximum(-clipped, 0.0)
        if self.total is None:
            total = min(float(np.sum(positive)), float(np.sum(negative)), self.cap)
            return _scale_down(positive, total) - _scale_down(negative, total)
        positive = _fill(_scale_down(positive, self.total), np.maximum(self.high, 0.0), self.total)
        if not self.two_sided:
            return positive
        return positive - _fill(_scale_down(negative, self.total), np.maximum(-self.low, 0.0), self.total)

    def violation(self, beta: Floats) -> float:
        """By how much the sums are wrong; infinite outside the bounds, or where the sums are wrong by more than
        rounding.
        """
        if not (np.all(self.low <= beta) and np.all(beta <= self.high)):
            return np.inf
        positive, negative = float(np.sum(np.maximum(beta, 0.0))), float(np.sum(np.maximum(-beta, 0.0)))
        if self.total is None:
            wrong = abs(positive - negative) + max(0.0, positive - self.cap, negative - self.cap)
        else:
            wrong = abs(positive - self.total) + (abs(negative - self.total) if self.two_sided else negative)
        allowed = EPS * (len(beta) + 16.0) * (positive + negative + (self.total or 0.0))
        return wrong if wrong <= allowed else np.inf


def _scale_down(part: Floats, total: float) -> Floats:
    have = float(np.sum(part))
    return part * (total / have) if have > total else part


def _fill(part: Floats, upper: Floats, total: float) -> Floats:
    missing = total - float(np.sum(part))
    room = upper - part
    have = float(np.sum(room))
    return np.minimum(part + min(1.0, missing / have) * room, upper) if missing > 0.0 and have > 0.0 else part


def quantile_interval(points: Floats, weight: Floats, mass: float) -> tuple[float, float]:
    """The minimisers over b of sum_i weight_i max(0, b - points_i) - mass b: the weighted quantile, as an interval."""
    order = np.argsort(points, kind="stable")
    cumulated = np.cumsum(weight[order])
    slack = FLAT * float(cumulated[-1]) if len(order) else 0.0
    first = int(np.searchsorted(cumulated, mass - slack, side="left"))
    last = int(np.searchsorted(cumulated, mass + slack, side="right"))
    low = float(points[order[first]]) if mass > slack and first < len(order) else -np.inf
    return low, float(points[order[last]]) if last < len(order) else np.inf


def root_interval(slope: Callable[[float], float], low: float, high: float, slack: float) -> tuple[float, float]:
    """Where a nondecreasing slope is zero up to `slack`: ends that enclose the interval, infinite where low or high are
    in it.
    """
    below = -np.inf if slope(low) >= -slack else _cross(lambda b: slope(b) >= -slack, low, high)[0]
    return below, np.inf if slope(high) <= slack else _cross(lambda b: slope(b) > slack, low, high)[1]


def _cross(test: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """The last place where the test fails, and the first where it holds."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if test(middle) else (middle, high)
    return low, high


def greedy_pairs(y: Floats, weight: Floats, mass: float, price: float) -> float:
    """max y'beta - price sum |beta| over |beta_i| <= weight_i, sum beta = 0 and sum beta+ <= mass: the largest values
    against the smallest, as long as their difference is above twice the price. It is the smallest loss of a constant.
    """
    order = np.argsort(y, kind="stable")
    z, w = y[order], weight[order]
    total = min(mass, 0.5 * float(np.sum(w)))
    up, down = np.cumsum(w), np.cumsum(w[::-1])
    cuts = np.unique(np.concatenate([up[up < total], down[down < total], [total]]))
    sizes = np.diff(cuts, prepend=0.0)
    middle = cuts - 0.5 * sizes
    small = z[np.minimum(np.searchsorted(up, middle), len(z) - 1)]
    large = z[::-1][np.minimum(np.searchsorted(down, middle), len(z) - 1)]
    return float(np.sum(sizes * np.maximum(0.0, large - small - 2.0 * price)))
