"""Monotone regression: pool adjacent violators, and the function through the fitted values.

    min (1/2W) sum_i w_i (f(x_i) - y_i)^2  over non-decreasing (or non-increasing) f between bounds

Samples of equal x are one, with the mean of their y and the sum of their weights. Without bounds the values are those
of SciPy's pool-adjacent-violators algorithm; the bounded minimiser clips them.
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from scipy.stats import rankdata

from tenfold.arrays import Floats
from tenfold.judge.certificate import Certificate
from tenfold.judge.isotonic import monotone

SUSPECT = (
    "Confidence interval of the Spearman correlation coefficient spans zero. Determination of ``increasing`` may be "
    "suspect."
)


class Curve(NamedTuple):
    """Places (m,), rising, and values (m,) of the piecewise linear function through the fitted values."""

    places: Floats
    values: Floats
    certificate: Certificate


def pool(y: Floats, weight: Floats | None, *, increasing: bool, low: float, high: float) -> Floats:
    """The monotone values (n,) nearest to y (n,), in the order given; those of weight zero follow their neighbours."""
    counts = None if weight is None or np.all(weight > 0.0) else weight > 0.0
    if counts is not None:
        assert weight is not None
        if not counts.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        y, weight = y[counts], weight[counts]
    with np.errstate(over="ignore"):
        values = np.asarray(optimize.isotonic_regression(y, weights=weight, increasing=increasing).x)
    if low > -np.inf or high < np.inf:
        values = np.clip(values, low, high)
    if counts is not None:  # the value before, or the first
        values = values[np.maximum(np.cumsum(counts) - 1, 0)]
    return values


def merge_equal(x: Floats, y: Floats, weight: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Distinct x (m,), rising, the weighted means of y and the sums of the weights; weights of zero are left out."""
    if weight is not None and not np.all(weight > 0.0):
        x, y, weight = x[weight > 0.0], y[weight > 0.0], weight[weight > 0.0]
    if not bool(np.all(x[1:] >= x[:-1])):
        order = np.argsort(x)
        x, y = x[order], y[order]
        weight = None if weight is None else weight[order]
    new = np.concatenate([[True], x[1:] != x[:-1]])
    if new.all():
        return x, y, np.ones(len(x)) if weight is None else weight
    starts = np.flatnonzero(new)
    shift = y[starts]  # means are taken about one of their values: an offset costs no digits
    lengths = np.diff(np.append(starts, len(x)))
    mass = np.ones(len(x)) if weight is None else weight
    total = np.add.reduceat(mass, starts)
    mean = shift + np.add.reduceat(mass * (y - np.repeat(shift, lengths)), starts) / total
    return x[starts], mean, total


def is_rising(x: Floats, y: Floats) -> tuple[bool, bool]:
    """Whether Spearman's rank correlation of x and y is at least zero, and whether its sign is in doubt: the interval
    of 95 % by Fisher's transform holds zero.
    """
    rank_x, rank_y = rankdata(x), rankdata(y)
    rank_x -= rank_x.mean()
    rank_y -= rank_y.mean()
    size = math.sqrt(float(rank_x @ rank_x) * float(rank_y @ rank_y))
    rho = float(rank_x @ rank_y) / size if size > 0.0 else math.nan
    if not abs(rho) < 1.0 - 1e-15 or len(x) <= 3:
        return rho >= 0.0, False
    return rho >= 0.0, abs(math.atanh(rho)) < 1.96 / math.sqrt(len(x) - 3)


def choose_direction(increasing: Any, x: Floats, y: Floats, weight: Floats | None) -> bool:
    """Whether the function is to increase; by the samples of positive weight where `increasing` is "auto"."""
    if not isinstance(increasing, str):
        return bool(increasing)
    if weight is not None:
        x, y = x[weight > 0.0], y[weight > 0.0]
    rising, doubtful = is_rising(x, y)
    if doubtful:
        warnings.warn(SUSPECT, UserWarning, stacklevel=5)
    return rising


def fit_curve(
    x: Floats, y: Floats, weight: Floats | None, *, increasing: bool, low: float, high: float, dtype: Any
) -> Curve:
    """The monotone function of samples (n,), rounded to `dtype`, without places that lie on a constant piece."""
    low, high = _round_bounds(low, high, dtype)
    places, means, mass = merge_equal(x, y, weight)
    values = pool(means, mass, increasing=increasing, low=low, high=high).astype(dtype)
    keep = np.ones(len(values), dtype=bool)
    keep[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
    certificate = judge_values(means, values, mass, increasing=increasing, low=low, high=high, dtype=dtype)
    return Curve(places[keep].astype(dtype), values[keep], certificate)


def judge_values(
    y: Floats, values: Floats, weight: Floats, *, increasing: bool, low: float, high: float, dtype: Any = np.float64
) -> Certificate:
    """The certificate of values (n,) that are to be monotone in their order."""
    if not increasing:
        y, values, weight = y[::-1], values[::-1], weight[::-1]
    return monotone(y, values, weight, low=low, high=high, dtype=dtype)


def _round_bounds(low: float, high: float, dtype: Any) -> tuple[float, float]:
    return float(np.dtype(dtype).type(low)), float(np.dtype(dtype).type(high))
