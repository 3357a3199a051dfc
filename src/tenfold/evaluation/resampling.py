"""Bootstrap of metrics that are functions of sums over independent units, with BCa intervals (Efron 1987).

A unit is a sample, a group of samples, or all equal samples. Drawing n samples with replacement changes only the count
of each unit, so the cost of a resample is proportional to the number of units:

    theta* = f(sum_u c_u s_u),        c multinomial.

BCa: the ends are quantiles of theta* at levels corrected for its bias z0 and for the acceleration a, from the metrics
without one unit each (jackknife).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from tenfold.arrays import Floats, Integers
from tenfold.evaluation.intervals import Interval, Sample
from tenfold.machine import one_blas_thread

MAX_UNITS = 2000  # more independent samples are split at random into so many blocks, which are resampled

Statistic: TypeAlias = Callable[[Floats], Mapping[str, Floats]]
"""From sums (b, m) to figures by name, each (b,) or (b, classes)."""

_BATCH = 4_000_000  # elements of the largest temporary array


@dataclass(frozen=True)
class Units:
    """Independent units with their sums.

    Attributes
    ----------
    sums : (u, m), the sums that figures are functions of, of each unit.
    times : (u,) how many equal units stand in a row of `sums`; None: one.
    words : what they are, for the name of the method.
    """

    sums: Floats
    times: Integers | None
    words: str

    @property
    def count(self) -> int:
        return len(self.sums) if self.times is None else int(np.sum(self.times))

    def total(self) -> Floats:
        return np.sum(self.sums if self.times is None else self.sums * self.times[:, None], axis=0)

    def draws(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """(n_resamples, m): the sums of as many units, drawn with replacement."""
        u = len(self.sums)
        drawn = np.empty((n_resamples, self.sums.shape[1]))
        step = max(1, _BATCH // u)
        for start in range(0, n_resamples, step):
            b = min(step, n_resamples - start)
            if self.times is None:
                indices = rng.integers(0, u, size=(b, u)) + u * np.arange(b)[:, None]
                counts = np.bincount(indices.ravel(), minlength=b * u).reshape(b, u).astype(np.float64)
            else:
                counts = rng.multinomial(self.count, self.times / self.count, size=b).astype(np.float64)
            with one_blas_thread:
                drawn[start : start + b] = counts @ self.sums
        return drawn


def assign_units(sample: Sample, rng: np.random.Generator) -> tuple[Integers, str]:
    """The unit of each sample (its group, itself, or a random block of very many of either), and the kind of unit."""
    unit = np.arange(sample.size) if sample.groups is None else sample.groups
    words = "rows" if sample.groups is None else "groups"
    count = sample.size if sample.groups is None else int(unit.max()) + 1
    if count <= MAX_UNITS:
        return unit, words
    blocks = np.arange(count) % MAX_UNITS
    rng.shuffle(blocks)
    return blocks[unit], f"{MAX_UNITS} random blocks of {words}"


def units_of(columns: Floats, sample: Sample, rng: np.random.Generator) -> Units:
    """The sums of `columns` (n, m), weighted, over independent units."""
    unit, words = assign_units(sample, rng)
    weighted = columns if sample.weights is None else columns * sample.weights[:, None]
    count = int(unit.max()) + 1
    sums = np.stack([np.bincount(unit, column, minlength=count).astype(np.float64) for column in weighted.T], axis=1)
    return Units(sums[np.bincount(unit, minlength=count) > 0], None, words)


@dataclass(frozen=True)
class BootstrapResult:
    """Figures of the data, of resamples, and without each of the units.

    Attributes
    ----------
    values : by name, () or (classes,).
    replicates : by name, (b,) or (b, classes).
    acceleration : by name, like values.
    method : words.
    """

    values: Mapping[str, Floats]
    replicates: Mapping[str, Floats]
    acceleration: Mapping[str, Floats]
    method: str

    def interval(self, name: str, confidence: float, at: int | None = None) -> Interval | None:
        """The BCa interval of a figure, of class `at`; None where all resamples agree."""
        value = float(self.values[name] if at is None else self.values[name][at])
        drawn = self.replicates[name] if at is None else self.replicates[name][:, at]
        drawn = drawn[np.isfinite(drawn)]
        if not np.isfinite(value) or len(drawn) < 100 or np.ptp(drawn) <= 1e-12 * max(1.0, abs(value)):
            return None
        tolerance = 1e-12 * max(1.0, abs(value))
        below = float(np.mean(drawn < value - tolerance) + 0.5 * np.mean(np.abs(drawn - value) <= tolerance))
        smallest_level = 0.5 / len(drawn)
        bias = ndtri(min(max(below, smallest_level), 1.0 - smallest_level))
        rate = float(self.acceleration[name] if at is None else self.acceleration[name][at])
        ends = bias + ndtri(np.array([0.5 * (1.0 - confidence), 0.5 * (1.0 + confidence)]))
        levels = ndtr(bias + ends / np.maximum(1.0 - rate * ends, 0.05))
        low, high = np.quantile(drawn, levels)
        return Interval(value, float(low), float(high), self.method)


def bootstrap(units: Units, statistic: Statistic, n_resamples: int, rng: np.random.Generator) -> BootstrapResult | None:
    """Figures of `units` with their resamples; None where there is but one unit."""
    if units.count < 2:
        return None
    total = units.total()
    values = {name: figure[0] for name, figure in statistic(total[None]).items()}
    replicates = statistic(units.draws(n_resamples, rng))
    method = f"bootstrap BCa of {units.words}, {n_resamples}"
    return BootstrapResult(values, replicates, _acceleration(units, statistic, total), method)


def _acceleration(units: Units, statistic: Statistic, total: Floats) -> dict[str, Floats]:
    """sum d^3 / (6 (sum d^2)^(3/2)), d the mean of the figures without a unit less the figure without it."""
    times = np.ones(len(units.sums)) if units.times is None else units.times.astype(np.float64)
    step = max(1, _BATCH // (8 * max(1, units.sums.shape[1])))
    parts = [statistic(total - units.sums[start : start + step]) for start in range(0, len(times), step)]
    acceleration = {}
    for name in parts[0]:
        without = np.concatenate([part[name] for part in parts])
        w = times if without.ndim == 1 else times[:, None]
        w = np.where(np.isfinite(without), w, 0.0)
        without = np.where(np.isfinite(without), without, 0.0)
        size = np.maximum(np.sum(w, axis=0), 1.0)
        d = np.sum(w * without, axis=0) / size - without
        squares = np.sum(w * d**2, axis=0)
        scale = np.where(squares > 0.0, squares, 1.0)
        acceleration[name] = np.where(squares > 0.0, np.sum(w * d**3, axis=0) / (6.0 * scale**1.5), 0.0)
    return acceleration
