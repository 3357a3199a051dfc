"""Confidence intervals of shares, means, medians and smooth figures of rows.

A figure theta of n rows has an *influence* psi_i of each row, its slope in the weight of the row, with sum zero. The
variance of theta is the sum of the squared influences of what is independent: of rows, or of groups of rows, in which
the influences are added first,

    var = U / (U - 1) * sum_u (sum_{i in u} psi_i)^2,        U independent units.

Means have Student's t, corrected for the skewness of the influences (Hall 1992): losses are skewed, and a symmetric
interval misses on one side. Shares of equally weighted independent rows have exact binomial intervals (Clopper and
Pearson 1934). With weights or groups the number of trials is the *effective size* share (1 - share) / var, and without
any error Kish's (sum w)^2 / sum w^2; with few groups it is smaller by the squared ratio of the quantiles of Student's t
(Korn and Graubard 1998).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrik, betaincinv, expit, logit, ndtri, stdtrit

from tenfold.arrays import Floats, Integers

Booleans: TypeAlias = NDArray[np.bool_]


class Interval(NamedTuple):
    """A figure, the ends of its interval, and how they were found."""

    value: float
    low: float
    high: float
    method: str


def undefined(reason: str, value: float = np.nan) -> Interval:
    """A figure that has no interval, or no value."""
    return Interval(value, np.nan, np.nan, f"undefined: {reason}")


def clopper_pearson(successes: Any, trials: Any, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """The exact interval of a binomial share, entry by entry; sizes that are not whole are allowed.

    Its coverage is never below `confidence`: the ends are the shares under which as many successes, or as few, have the
    probability (1 - confidence) / 2.
    """
    x, n = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64))
    tail = 0.5 * (1.0 - confidence)
    low, high = np.zeros(x.shape), np.ones(x.shape)
    some, missed = (n > 0.0) & (x > 0.0), (n > 0.0) & (x < n)
    low[some] = betaincinv(x[some], n[some] - x[some] + 1.0, tail)
    high[missed] = betaincinv(x[missed] + 1.0, n[missed] - x[missed], 1.0 - tail)
    low[n <= 0.0] = high[n <= 0.0] = np.nan
    return low, high


@dataclass(frozen=True)
class Sample:
    """What is known of the rows beside the figure: their weights, and which of them belong together.

    Attributes
    ----------
    size : the number of rows.
    weights : (n,) positive, or None where all rows count alike.
    groups : (n,) numbers 0, ..., G - 1 of the groups, or None where rows are independent.
    confidence : of all intervals.
    """

    size: int
    weights: Floats | None = None
    groups: Integers | None = None
    confidence: float = 0.95

    @property
    def plain(self) -> bool:
        """Whether rows are independent and count alike."""
        return self.weights is None and self.groups is None

    @property
    def words(self) -> str:
        """What the name of a method says of weights and groups."""
        if self.groups is not None:
            return ", groups" if self.weights is None else ", weighted groups"
        return "" if self.weights is None else ", effective size"

    def weight(self) -> Floats:
        return np.ones(self.size) if self.weights is None else self.weights

    def units(self, among: Booleans | None = None) -> int:
        """How many independent units have rows `among` these."""
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
        """The variance of a figure from the influences of all rows."""
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
        """A share of rows that are independent and count alike, from its counts."""
        if trials <= 0:
            return undefined("no rows")
        low, high = clopper_pearson(successes, trials, self.confidence)
        return Interval(successes / trials, float(low), float(high), "exact binomial")

    def share(self, hits: Booleans, among: Booleans | None = None) -> Interval:
        """The share of `hits` in the rows `among` these."""
        if self.plain:
            inside = hits if among is None else hits & among
            trials = self.size if among is None else np.count_nonzero(among)
            return self.count(int(np.count_nonzero(inside)), int(trials))
        w = self.weight() if among is None else self.weight()[among]
        right = hits if among is None else hits[among]
        total = float(np.sum(w))
        if total <= 0.0:
            return undefined("no rows")
        value = min(float(np.sum(w[right])) / total, 1.0)
        size = self._trials(value, w * (right - value) / total, among) if self.groups is not None else self.kish(among)
        low, high = clopper_pearson(value * size, size, self.confidence)
        return Interval(value, float(low), float(high), f"exact binomial{self.words}")

    def _trials(self, value: float, influence: Floats, among: Booleans | None) -> float:
        """How many independent trials a share of rows in groups is worth; the influences are those of the rows `among`
        these.
        """
        assert self.groups is not None
        rows, units = float(len(influence)), self.units(among)
        parts = np.bincount(self.groups if among is None else self.groups[among], influence)
        variance = float(np.sum(parts**2)) * units / (units - 1) if units > 1 else 0.0
        # without any error, or where all groups agree, nothing is known of the rows inside a group
        size = min(value * (1.0 - value) / variance, rows) if variance > 0.0 else float(units)
        if units > 1:
            size *= (self.quantile(rows - 1.0) / self.quantile(units - 1.0)) ** 2
        return size

    def mean(self, values: Floats, not_negative: bool = False) -> Interval:
        """A mean, by Student's t with Hall's correction for skewness; losses are never symmetric about their mean."""
        w = self.weight()
        total = float(np.sum(w))
        value = float(np.sum(w * values)) / total
        if self.units() < 2:
            return undefined("one independent row", value)
        influence = w * (values - value) / total
        spread = float(np.sqrt(self.variance(influence)))
        quantile, skew = self.quantile(self.freedom()), self._skewness(influence)
        low, high = (value - spread * _unskewed(side * quantile, skew) for side in (1.0, -1.0))
        method = f"Student t{self.words}" + (" (all values are equal)" if spread == 0.0 else "")
        return Interval(value, max(low, 0.0) if not_negative else low, high, method)

    def _skewness(self, influence: Floats) -> float:
        """A third of the skewness of the sum of the influences of independent units."""
        parts = influence if self.groups is None else np.bincount(self.groups, influence)
        squares = float(np.sum(parts**2))
        return float(np.sum(parts * parts * parts)) / (3.0 * squares**1.5) if squares > 0.0 else 0.0

    def smooth(self, value: float, influence: Floats, method: str) -> Interval:
        """A figure between zero and one from its influences, on the scale of log odds, which ends at both."""
        variance = self.variance(influence)
        if not variance >= 0.0:
            return undefined("one independent row", value)
        if not 0.0 < value < 1.0:
            return undefined("no error was seen that could be measured", value)
        freedom = None if self.groups is None else self.units() - 1.0
        half = self.quantile(freedom) * np.sqrt(variance) / (value * (1.0 - value))
        middle = logit(value)
        return Interval(value, float(expit(middle - half)), float(expit(middle + half)), f"{method}{self.words}")

    def median(self, values: Floats) -> Interval:
        """The median of `values`: order statistics whose ranks are binomial; with weights, the shares of Woodruff 1952.

        The value is the mean of the two in the middle where they are two.
        """
        order = np.argsort(values)
        ranked, w = values[order], self.weight()[order]
        below = np.cumsum(w)
        below /= below[-1]
        value = 0.5 * (ranked[_first(below, 0.5)] + ranked[_first(below, 0.5, strictly=True)])
        low, high = self._around_half(values <= value)
        # with few rows no order statistic is far enough out, and nothing is known on that side
        left = 0.0 if low <= 0.0 else float(ranked[_first(below, low)])
        right = np.inf if high >= 1.0 else float(ranked[_first(below, high)])
        return Interval(float(value), left, right, f"order statistics{self.words}")

    def _around_half(self, beneath: Booleans) -> tuple[float, float]:
        """Shares of rows between which the median of what they are drawn from lies."""
        tail = 0.5 * (1.0 - self.confidence)
        if self.plain:
            # the row of rank l is above the median as often as there are fewer than l heads in n tosses
            rank = max(float(np.ceil(bdtrik(tail, self.size, 0.5))), 0.0)
            return rank / self.size, (self.size + 1.0 - rank) / self.size
        w = self.weight()
        influence = w * (beneath - 0.5) / np.sum(w)
        size = self.kish() if self.groups is None else self._trials(0.5, influence, None)
        low, high = clopper_pearson(0.5 * size, size, self.confidence)
        return (0.0, 1.0) if 0.5**size > tail else (float(low), float(high))


def _unskewed(t: float, skew: float) -> float:
    """The root x of x + skew x^2 + skew^2 x^3 / 3 + skew / 2 = t: a quantile of a skewed t statistic (Hall 1992)."""
    if abs(skew) < 1e-8:
        return t
    return float((np.cbrt(1.0 + 3.0 * skew * (t - 0.5 * skew)) - 1.0) / skew)


def _first(below: Floats, share: float, strictly: bool = False) -> int:
    """The first row at which the share of weights reaches `share`, or exceeds it."""
    slack = 8.0 * np.finfo(np.float64).eps
    at = np.searchsorted(below, share + slack if strictly else share - slack, side="right" if strictly else "left")
    return min(int(at), len(below) - 1)
