"""Ranking metrics of a score: the area under the ROC curve and the average precision.

The area is the fraction of pairs of a positive and a negative sample that the score ranks correctly, a tie counting
half. Its variance is that of DeLong, DeLong and Clarke-Pearson (1988), from the *placements*: the fraction of negatives
below a positive, and of positives above a negative. By cumulative weights of the sorted scores both cost one sort (Sun
and Xu 2014).

The average precision is the mean over the positives of the precision at their scores. Both metrics are returned with
the influence of every sample, so that their averages over classes have intervals too.
"""

from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.evaluation.intervals import Booleans, Interval, Sample, clopper_pearson, make_undefined


@dataclass(frozen=True)
class RankingFigures:
    """Area and average precision of a score for one class, with the influences of the samples."""

    area: float
    area_influence: Floats
    precision: float
    precision_influence: Floats
    positives: int
    negatives: int

    def auc(self, sample: Sample) -> Interval:
        """The area with DeLong's interval on the scale of log odds."""
        if min(self.positives, self.negatives) < 2:
            return make_undefined("a class with one row", self.area)
        if 0.0 < self.area < 1.0:
            return sample.smooth(self.area, self.area_influence, "DeLong")
        # all pairs agree; disjoint pairs, as many as the smaller class has samples, give a binomial bound
        pairs = float(min(self.positives, self.negatives))
        if not sample.plain:
            pairs *= min(sample.units(), sample.kish()) / sample.size
        low, high = clopper_pearson(self.area * pairs, pairs, sample.confidence)
        return Interval(self.area, float(low), float(high), "exact binomial of disjoint pairs")

    def average_precision(self, sample: Sample) -> Interval:
        """The average precision with the infinitesimal jackknife on the scale of log odds."""
        if min(self.positives, self.negatives) < 2:
            return make_undefined("a class with one row", self.precision)
        return sample.smooth(self.precision, self.precision_influence, "infinitesimal jackknife")


def rank_scores(
    score: Floats, positive: Booleans, sample: Sample, order: Integers | None = None
) -> RankingFigures | None:
    """Both metrics of `score` for the samples that are `positive`; None where all are, or none."""
    positives = int(np.count_nonzero(positive))
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0:
        return None
    sorting = np.argsort(score, kind="stable") if order is None else order
    s, is_positive = score[sorting], positive[sorting]
    ends = np.append(np.flatnonzero(s[1:] != s[:-1]), len(s) - 1)  # the last index of each value of the score
    tie = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=-1))
    w = sample.weight()[sorting]
    positive_weight, negative_weight = np.where(is_positive, w, 0.0), np.where(is_positive, 0.0, w)
    area, placements = _area(positive_weight, negative_weight, is_positive, ends, tie)
    precision, influence = _average_precision(w, positive_weight, is_positive, ends, tie)
    # the divisors of DeLong are those of unbiased variances within each class
    unbiased = np.where(is_positive, _variance_factor(positives), _variance_factor(negatives)) * np.sqrt(
        1.0 - 1.0 / len(s)
    )
    inverse = np.empty_like(sorting)
    inverse[sorting] = np.arange(len(sorting))
    return RankingFigures(area, (placements * unbiased)[inverse], precision, influence[inverse], positives, negatives)


def _variance_factor(count: int) -> float:
    return float(np.sqrt(count / (count - 1.0))) if count > 1 else 1.0


def _area(
    positive_weight: Floats, negative_weight: Floats, is_positive: Booleans, ends: Integers, tie: Integers
) -> tuple[float, Floats]:
    """The area, and the influences of the samples in the order of the score."""
    cumulative_positive, cumulative_negative = np.cumsum(positive_weight), np.cumsum(negative_weight)
    ups, downs = cumulative_positive[-1], cumulative_negative[-1]
    # for each value of the score: the mean of the cumulative weights before and after its ties
    middle_up, middle_down = (
        (c[ends] + np.append(0.0, c[ends[:-1]])) / 2.0 for c in (cumulative_positive, cumulative_negative)
    )
    placements = np.where(is_positive, middle_down[tie] / downs, 1.0 - middle_up[tie] / ups)
    area = float(np.sum(positive_weight * placements) / ups)
    return area, np.where(is_positive, positive_weight / ups, negative_weight / downs) * (placements - area)


def _average_precision(
    w: Floats, positive_weight: Floats, is_positive: Booleans, ends: Integers, tie: Integers
) -> tuple[float, Floats]:
    """The average precision, and the influences of the samples in the order of the score.

    With A and B the weights of the class and of all rows at or above a score, and the precision A / B, the slope in the
    weight of row j is hit_j A/B(s_j) + sum over rows i of the class with s_i <= s_j of (hit_j - A/B(s_i)) / B(s_i),
    less the average for a row of the class, over the weight of the class.
    """
    ups = float(np.sum(positive_weight))
    starts = np.append(0, ends[:-1] + 1)
    A, B = (np.cumsum(weights[::-1])[::-1][starts] for weights in (positive_weight, w))
    precision = np.minimum(A / B, 1.0)
    tie_weight = np.add.reduceat(positive_weight, starts)
    value = min(float(np.sum(tie_weight * precision)) / ups, 1.0)
    over, lost = np.cumsum(tie_weight / B), np.cumsum(tie_weight * precision / B)
    influence = np.where(is_positive, precision[tie] + over[tie] - value, 0.0) - lost[tie]
    return value, w * influence / ups
