"""The class with the largest score of every sample, where single precision determines it; -1 where it does not.

Scores are of one of three forms, and only their differences matter: what they have in common, column by column, is
subtracted first, so that less is left to round. The units of the columns make the terms of a score about as large as
the score. The compiled loop bounds its own rounding; `slack` bounds that of the same scores in double precision, so
that a class that is written is the one of double precision.
"""

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, entries, unit_roundoff
from tenfold.machine import threads

CENTRE_ROWS = 64  # first samples whose median is the centre
MIN_RELATIVE_DIFFERENCE = 2.0**-20  # of the weights of classes; below it the unit is their common size
MAX_COLUMNS = 1024  # of triangles: wider ones do not stay in the cache


def leave_open(X: Array) -> Integers:
    """-1 (undecided) for every sample, where scores have another form."""
    return np.full(X.shape[0], -1, dtype=np.int64)


def decide_linear(X: Array, coef: Floats, intercept: Floats) -> Integers:
    """Of scores x'w_k + b_k."""
    if not (np.isfinite(intercept).all() and np.isfinite(coef).all()):
        return leave_open(X)
    own, error = _subtract_middle(coef), _rounding(X)
    unit = np.maximum(np.max(np.abs(own), axis=0), MIN_RELATIVE_DIFFERENCE * np.max(np.abs(coef), axis=0))
    place = _median(X)
    constant = intercept + own @ place
    slack = np.array([
        error * np.max(np.abs(coef) @ np.abs(place) + np.abs(intercept)),
        error * np.sqrt(np.max(np.sum(_over(coef, unit) ** 2, axis=1))),
        0.0,
    ])  # fmt: skip
    return _core.argmax_diagonal_float32(
        X, place, unit, _over(own, unit), None, _subtract_middle(constant), slack, _count(X, len(coef))
    )


def decide_scaled(X: Array, centre: Floats, scale: Floats, constant: Floats) -> Integers:
    """Of scores c_k - sum_j (scale_kj (x_j - centre_kj))^2."""
    if not np.isfinite(constant).all():
        return leave_open(X)
    place, unit, error = centre.mean(axis=0), np.max(scale, axis=0), _rounding(X)
    h = _over(scale, unit) ** 2
    away = unit * (centre - place)
    fixed = np.sum(h * away**2, axis=1)
    slack = error * np.array([np.max(2.0 * fixed + np.abs(constant)), 0.0, 2.0])
    linear, squared = _subtract_middle(2.0 * h * away), _subtract_middle(-h)
    return _core.argmax_diagonal_float32(
        X, place, unit, linear, squared, _subtract_middle(constant - fixed), slack, _count(X, 2 * len(centre))
    )


def decide_whole(X: Array, centres: Floats, factors: Floats, constant: Floats) -> Integers:
    """Of scores c_k - 1/2 ||(x - centre_k) B_k||^2 with upper triangles B_k."""
    if X.shape[1] > MAX_COLUMNS or not np.isfinite(constant).all():
        return leave_open(X)
    place, error = centres.mean(axis=0), _rounding(X)
    unit = np.sqrt(np.max(np.sum(factors**2, axis=2), axis=0))
    scaled = _over(factors, unit[:, None])
    offsets = np.einsum("ki,kij->kj", centres - place, factors)
    reach = np.max(np.sum(scaled**2, axis=(1, 2)))
    fixed = np.max(np.sum(offsets**2, axis=1))
    slack = error * np.array([2.0 * fixed + np.max(np.abs(constant)), 0.0, 2.0 * reach])
    return _core.argmax_full_float32(
        X, place, unit, scaled, offsets, constant, slack, _count(X, X.shape[1] * len(centres))
    )


def _rounding(X: Array) -> float:
    """A bound of the relative rounding of a sum of the terms of a sample in double precision."""
    return 4.0 * (X.shape[1] + 8) * unit_roundoff(np.float64)


def _median(X: Array) -> Floats:
    """Medians of the first samples: outliers, and values that are not finite, do not move them far."""
    place = np.sort(X[:CENTRE_ROWS], axis=0)[min(CENTRE_ROWS, len(X)) // 2].astype(np.float64)
    return np.where(np.isfinite(place), place, 0.0)


def _subtract_middle(values: Floats) -> Floats:
    """Values of the classes less the middle of the smallest and the largest."""
    return values - 0.5 * (values.min(axis=0) + values.max(axis=0))


def _over(values: Floats, unit: Floats) -> Floats:
    return np.ascontiguousarray(values / np.where(unit > 0.0, unit, 1.0))


def _count(X: Array, factor: int) -> int:
    return threads(entries(X) * factor)
