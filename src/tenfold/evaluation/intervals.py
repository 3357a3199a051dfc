"""Confidence intervals of proportions, means, medians and smooth metrics.

A metric theta of n samples has an *influence* psi_i of each sample, its derivative in the weight of the sample; they
sum to zero. The variance of theta is the sum of squared influences of independent units, which are samples, or groups
whose influences are added first,

    var = U / (U - 1) * sum_u (sum_{i in u} psi_i)^2,        U independent units.

Means have Student's t, corrected for the skewness of the influences (Hall 1992): losses are skewed. Proportions of
equally weighted independent samples have exact binomial intervals (Clopper and Pearson 1934). With weights or groups
the number of trials is the *effective size* p (1 - p) / var of a proportion p, and without any error Kish's (sum w)^2 /
sum w^2; with few groups it is smaller by the squared ratio of the quantiles of Student's t (Korn and Graubard 1998).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrik, betaincinv, expit, logit, ndtri, stdtrit

from tenfold.arrays import Floats, Integers

Booleans: TypeAlias = NDArray[np.bool_]


class Interval(NamedTuple):
    """A value, the ends of its interval, and the method."""

    value: float
    low: float
    high: float
    method: str


def make_undefined(reason: str, value: float = np.nan) -> Interval:
    """An undefined interval, or value, with the reason."""
    return Interval(value, np.nan, np.nan, f"undefined: {reason}")


def clopper_pearson(successes: Any, trials: Any, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """The exact interval of a binomial proportion, elementwise; fractional counts are allowed.

    Its coverage is never below `confidence`: the ends are the proportions under which at least, or at most, as many
    successes have the probability (1 - confidence) / 2.
    """
    x, n = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64))
    tail = 0.5 * (1.0 - confidence)
    low, high = np.zeros(x.shape), np.ones(x.shape)
    positive, not_all = (n > 0.0) & (x > 0.0), (n > 0.0) & (x < n)
    low[positive] = betaincinv(x[positive], n[positive] - x[positive] + 1.0, tail)
    high[not_all] = betaincinv(x[not_all] + 1.0, n[not_all] - x[not_all], 1.0 - tail)
    low[n <= 0.0] = high[n <= 0.0] = np.nan
    return low, high


@dataclass(frozen=True)
class Sample:
    """Weights and groups of the samples, and the confidence of all intervals.

    Attributes
    ----------
    size : the number of samples.
    weights : (n,) positive, or None for equal weights.
    groups : (n,) indices 0, ..., G - 1 of the groups, or None where samples are independent.
    confidence : of all intervals.
    """

    size: int
    weights: Floats | None = None
    groups: Integers | None = None
    confidence: float = 0.95

    @property
    def plain(self) -> bool:
        """Whether samples are independent and have equal weights."""
        return self.weights is None and self.groups is None

    @property
    def words(self) -> str:
        """The suffix of a method's name for weights and groups."""
        if self.groups is not None:
            return ", groups" if self.weights is None else ", weighted groups"
        return "" if self.weights is None else ", effective size"

    def weight(self) -> Floats:
        return np.ones(self.size) if self.weights is None else self.weights

    def units(self, among: Booleans | None = None) -> int:
        """Number of independent units that have samples in the mask `among`."""
        if self.groups is None:
            return self.size if among is None else int(np.count_nonzero(among))
        groups = self.groups if among is None else self.groups[among]
        return int(np.count_nonzero(np.bincount(groups))) if len(groups) else 0

    def kish(self, among: Booleans | None = None) -> float:
        """(sum w)^2 / sum w^2."""
        if self.weights is None:
            return float(self.units() if among is None else np.count_nonzero(among))
        w = self.weights if among is None else self.weights[among]
        return float(np.sum(w) ** 2 / np.sum(w**2)) if len(w) else 0.0

    def variance(self, influence: Floats) -> float:
        """The variance of a metric from the influences of all samples."""
        count = self.units()
        if count < 2:
            return np.nan
        parts = influence if self.groups is None else np.bincount(self.groups, influence)
        return float(np.sum(parts**2)) * count / (count - 1)

    def quantile(self, freedom: float | None = None) -> float:
        """Of Student's t, or of the normal distribution where `freedom` is None."""
        level = 0.5 * (1.0 + self.confidence)
        if freedom is None:
            return float(ndtri(level))
        return float(stdtrit(max(freedom, 1e-3), level))

    def freedom(self, among: Booleans | None = None) -> float:
        """Degrees of freedom of a mean: independent units less one; of weighted rows, the effective size less one."""
        return (self.units(among) if self.groups is not None else self.kish(among)) - 1.0

    # figures ----------------------------------------------------------------------------------------------------------

    def count(self, successes: float, trials: float) -> Interval:
        """A proportion of independent samples of equal weight, from its counts."""
        if trials <= 0:
            return make_undefined("no rows")
        low, high = clopper_pearson(successes, trials, self.confidence)
        return Interval(successes / trials, float(low), float(high), "exact binomial")

    def share(self, hits: Booleans, among: Booleans | None = None) -> Interval:
        """The proportion of `hits` in the samples of the mask `among`."""
        if self.plain:
            inside = hits if among is None else hits & among
            trials = self.size if among is None else np.count_nonzero(among)
            return self.count(int(np.count_nonzero(inside)), int(trials))
        w = self.weight() if among is None else self.weight()[among]
        correct = hits if among is None else hits[among]
        total = float(np.sum(w))
        if total <= 0.0:
            return make_undefined("no rows")
        value = min(float(np.sum(w[correct])) / total, 1.0)
        size = (
            self._effective_trials(value, w * (correct - value) / total, among)
            if self.groups is not None
            else self.kish(among)
        )
        low, high = clopper_pearson(value * size, size, self.confidence)
        return Interval(value, float(low), float(high), f"exact binomial{self.words}")

    def _effective_trials(self, value: float, influence: Floats, among: Booleans | None) -> float:
        """Effective number of independent trials of a proportion of grouped samples, from the influences of those in
        the mask `among`.
        """
        assert self.groups is not None
        rows, units = float(len(influence)), self.units(among)
        parts = np.bincount(self.groups if among is None else self.groups[among], influence)
        variance = float(np.sum(parts**2)) * units / (units - 1) if units > 1 else 0.0
        # without any error, or where all groups agree, the correlation within groups is unknown: one trial per group
        size = min(value * (1.0 - value) / variance, rows) if variance > 0.0 else float(units)
        if units > 1:
            size *= (self.quantile(rows - 1.0) / self.quantile(units - 1.0)) ** 2
        return size

    def mean(self, values: Floats, not_negative: bool = False) -> Interval:
        """A mean, by Student's t with Hall's correction for skewness."""
        w = self.weight()
        total = float(np.sum(w))
        value = float(np.sum(w * values)) / total
        if self.units() < 2:
            return make_undefined("one independent row", value)
        influence = w * (values - value) / total
        standard_error = float(np.sqrt(self.variance(influence)))
        quantile, skew = self.quantile(self.freedom()), self._skewness(influence)
        low, high = (value - standard_error * _hall_transform(side * quantile, skew) for side in (1.0, -1.0))
        method = f"Student t{self.words}" + (" (all values are equal)" if standard_error == 0.0 else "")
        return Interval(value, max(low, 0.0) if not_negative else low, high, method)

    def _skewness(self, influence: Floats) -> float:
        """A third of the skewness of the sum of the influences of independent units."""
        parts = influence if self.groups is None else np.bincount(self.groups, influence)
        squares = float(np.sum(parts**2))
        return float(np.sum(parts * parts * parts)) / (3.0 * squares**1.5) if squares > 0.0 else 0.0

    def smooth(self, value: float, influence: Floats, method: str) -> Interval:
        """A metric between zero and one from its influences, on the logit scale."""
        variance = self.variance(influence)
        if not variance >= 0.0:
            return make_undefined("one independent row", value)
        if not 0.0 < value < 1.0:
            return make_undefined("no error was seen that could be measured", value)
        freedom = None if self.groups is None else self.units() - 1.0
        half = self.quantile(freedom) * np.sqrt(variance) / (value * (1.0 - value))
        middle = logit(value)
        return Interval(value, float(expit(middle - half)), float(expit(middle + half)), f"{method}{self.words}")

    def median(self, values: Floats) -> Interval:
        """The median of `values`: order statistics whose ranks are binomial; with weights, the shares of Woodruff 1952.

        The value is the mean of the two in the middle where they are two.
        """
        order = np.argsort(values)
        sorted_values, w = values[order], self.weight()[order]
        cumulative = np.cumsum(w)
        cumulative /= cumulative[-1]
        value = 0.5 * (sorted_values[_first(cumulative, 0.5)] + sorted_values[_first(cumulative, 0.5, strictly=True)])
        low, high = self._median_ranks(values <= value)
        # with few samples no order statistic is extreme enough: the interval is unbounded on that side
        left = 0.0 if low <= 0.0 else float(sorted_values[_first(cumulative, low)])
        right = np.inf if high >= 1.0 else float(sorted_values[_first(cumulative, high)])
        return Interval(float(value), left, right, f"order statistics{self.words}")

    def _median_ranks(self, below_median: Booleans) -> tuple[float, float]:
        """Lower and upper quantile levels that enclose the population median."""
        tail = 0.5 * (1.0 - self.confidence)
        if self.plain:
            # the order statistic of rank l exceeds the median with the probability of fewer than l heads in n tosses
            rank = max(float(np.ceil(bdtrik(tail, self.size, 0.5))), 0.0)
            return rank / self.size, (self.size + 1.0 - rank) / self.size
        w = self.weight()
        influence = w * (below_median - 0.5) / np.sum(w)
        size = self.kish() if self.groups is None else self._effective_trials(0.5, influence, None)
        low, high = clopper_pearson(0.5 * size, size, self.confidence)
        return (0.0, 1.0) if 0.5**size > tail else (float(low), float(high))


def _hall_transform(t: float, skew: float) -> float:
    """The root x of x + skew x^2 + skew^2 x^3 / 3 + skew / 2 = t: a quantile of a skewed t statistic (Hall 1992)."""
    if abs(skew) < 1e-8:
        return t
    return float((np.cbrt(1.0 + 3.0 * skew * (t - 0.5 * skew)) - 1.0) / skew)


def _first(cumulative: Floats, share: float, strictly: bool = False) -> int:
    """The first index at which the cumulative weight reaches `share`, or exceeds it."""
    slack = 8.0 * np.finfo(np.float64).eps
    index = np.searchsorted(
        cumulative, share + slack if strictly else share - slack, side="right" if strictly else "left"
    )
    return min(int(index), len(cumulative) - 1)
