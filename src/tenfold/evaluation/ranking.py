"""Figures of the order in which a score puts the rows: the area under the ROC curve and the average precision.

The area is the share of pairs, one row of the class and one of the rest, that the score puts in the right order, a tie
counting half. Its variance is that of DeLong, DeLong and Clarke-Pearson (1988): of the *placements*, the share of the
rest below a row of the class and the share of the class above a row of the rest. By cumulated weights of the sorted
scores both cost one sort (Sun and Xu 2014).

The average precision is the mean over the rows of the class of the precision at their own scores. Both figures are
returned with the influence of every row, so that their averages over classes have intervals too.
"""

from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.evaluation.intervals import Booleans, Interval, Sample, clopper_pearson, undefined


@dataclass(frozen=True)
class Ranked:
    """The two figures of a score for one class, with the influences of the rows on them."""

    area: float
    area_influence: Floats
    precision: float
    precision_influence: Floats
    positives: int
    negatives: int

    def auc(self, sample: Sample) -> Interval:
        """The area with DeLong's interval on the scale of log odds."""
        if min(self.positives, self.negatives) < 2:
            return undefined("a class with one row", self.area)
        if 0.0 < self.area < 1.0:
            return sample.smooth(self.area, self.area_influence, "DeLong")
        # all pairs agree, among them as many that share no row as the smaller class has rows: a binomial bound
        pairs = float(min(self.positives, self.negatives))
        if not sample.plain:
            pairs *= min(sample.units(), sample.kish()) / sample.size
        low, high = clopper_pearson(self.area * pairs, pairs, sample.confidence)
        return Interval(self.area, float(low), float(high), "exact binomial of disjoint pairs")

    def average_precision(self, sample: Sample) -> Interval:
        """The average precision with the infinitesimal jackknife on the scale of log odds."""
        if min(self.positives, self.negatives) < 2:
            return undefined("a class with one row", self.precision)
        return sample.smooth(self.precision, self.precision_influence, "infinitesimal jackknife")


def ranked(score: Floats, positive: Booleans, sample: Sample, order: Integers | None = None) -> Ranked | None:
    """Both figures of `score` for the rows that are `positive`; None where these are all rows, or none."""
    positives = int(np.count_nonzero(positive))
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0:
        return None
    at = np.argsort(score, kind="stable") if order is None else order
    s, hit = score[at], positive[at]
    ends = np.append(np.flatnonzero(s[1:] != s[:-1]), len(s) - 1)  # the last row of each value of the score
    tie = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=-1))
    w = sample.weight()[at]
    up, down = np.where(hit, w, 0.0), np.where(hit, 0.0, w)
    area, placed = _area(up, down, hit, ends, tie)
    precision, slope = _average_precision(w, up, hit, ends, tie)
    # the divisors of DeLong are those of unbiased variances within each class
    unbiased = np.where(hit, _unbiased(positives), _unbiased(negatives)) * np.sqrt(1.0 - 1.0 / len(s))
    back = np.empty_like(at)
    back[at] = np.arange(len(at))
    return Ranked(area, (placed * unbiased)[back], precision, slope[back], positives, negatives)


def _unbiased(count: int) -> float:
    return float(np.sqrt(count / (count - 1.0))) if count > 1 else 1.0


def _area(up: Floats, down: Floats, hit: Booleans, ends: Integers, tie: Integers) -> tuple[float, Floats]:
    """The area, and the influences of the rows in the order of the score."""
    above, beneath = np.cumsum(up), np.cumsum(down)
    ups, downs = above[-1], beneath[-1]
    # of each value of the score: the weights up to the last row of it, halved with those before its first
    middle_up, middle_down = ((c[ends] + np.append(0.0, c[ends[:-1]])) / 2.0 for c in (above, beneath))
    placed = np.where(hit, middle_down[tie] / downs, 1.0 - middle_up[tie] / ups)
    area = float(np.sum(up * placed) / ups)
    return area, np.where(hit, up / ups, down / downs) * (placed - area)


def _average_precision(w: Floats, up: Floats, hit: Booleans, ends: Integers, tie: Integers) -> tuple[float, Floats]:
    """The average precision, and the influences of the rows in the order of the score.

    With A and B the weights of the class and of all rows at or above a score, and the precision A / B, the slope in the
    weight of row j is hit_j A/B(s_j) + sum over rows i of the class with s_i <= s_j of (hit_j - A/B(s_i)) / B(s_i),
    less the average for a row of the class, over the weight of the class.
    """
    ups = float(np.sum(up))
    starts = np.append(0, ends[:-1] + 1)
    A, B = (np.cumsum(weights[::-1])[::-1][starts] for weights in (up, w))
    precision = np.minimum(A / B, 1.0)
    mass = np.add.reduceat(up, starts)
    value = min(float(np.sum(mass * precision)) / ups, 1.0)
    over, lost = np.cumsum(mass / B), np.cumsum(mass * precision / B)
    slope = np.where(hit, precision[tie] + over[tie] - value, 0.0) - lost[tie]
    return value, w * slope / ups
