"""The class with the largest score of every row, where single precision can tell; -1 where it cannot.

Scores are of one of three forms, and only their differences matter: what they share, column by column, is taken off
first, so that less is left to round. The units of the columns make the terms of a score about as large as the score.
The compiled loop bounds its own rounding; `slack` bounds that of the same scores in double precision, so that a number
that is written is the one that double precision finds.
"""

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, entries, unit_roundoff
from tenfold.machine import threads

AMID = 64
"""The median of so many rows is a place amid all."""

SHARED = 2.0**-20
"""A column in which classes differ by less than this share of what they have in common is measured in units of that."""

MOST_COLUMNS = 1024
"""Of triangles; wider ones do not stay in the cache."""


def undecided(X: Array) -> Integers:
    """Of scores that are of no such form."""
    return np.full(X.shape[0], -1, dtype=np.int64)


def decide_linear(X: Array, coef: Floats, intercept: Floats) -> Integers:
    """Of scores x'w_k + b_k."""
    if not (np.isfinite(intercept).all() and np.isfinite(coef).all()):
        return undecided(X)
    own, error = _apart(coef), _rounding(X)
    unit = np.maximum(np.max(np.abs(own), axis=0), SHARED * np.max(np.abs(coef), axis=0))
    place = _amid(X)
    constant = intercept + own @ place
    slack = np.array([
        error * np.max(np.abs(coef) @ np.abs(place) + np.abs(intercept)),
        error * np.sqrt(np.max(np.sum(_over(coef, unit) ** 2, axis=1))),
        0.0,
    ])  # fmt: skip
    return _core.argmax_diagonal_float32(
        X, place, unit, _over(own, unit), None, _apart(constant), slack, _count(X, len(coef))
    )


def decide_scaled(X: Array, centre: Floats, scale: Floats, constant: Floats) -> Integers:
    """Of scores c_k - sum_j (scale_kj (x_j - centre_kj))^2."""
    if not np.isfinite(constant).all():
        return undecided(X)
    place, unit, error = centre.mean(axis=0), np.max(scale, axis=0), _rounding(X)
    h = _over(scale, unit) ** 2
    away = unit * (centre - place)
    fixed = np.sum(h * away**2, axis=1)
    slack = error * np.array([np.max(2.0 * fixed + np.abs(constant)), 0.0, 2.0])
    linear, squared = _apart(2.0 * h * away), _apart(-h)
    return _core.argmax_diagonal_float32(
        X, place, unit, linear, squared, _apart(constant - fixed), slack, _count(X, 2 * len(centre))
    )


def decide_whole(X: Array, centres: Floats, factors: Floats, constant: Floats) -> Integers:
    """Of scores c_k - 1/2 ||(x - centre_k) B_k||^2 with upper triangles B_k."""
    if X.shape[1] > MOST_COLUMNS or not np.isfinite(constant).all():
        return undecided(X)
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
    """What sums of a row's terms in double precision may be off by, in parts of the terms, with some to spare."""
    return 4.0 * (X.shape[1] + 8) * unit_roundoff(np.float64)


def _amid(X: Array) -> Floats:
    """Medians of the first rows: values that are wild, or not finite, do not move them far."""
    place = np.sort(X[:AMID], axis=0)[min(AMID, len(X)) // 2].astype(np.float64)
    return np.where(np.isfinite(place), place, 0.0)


def _apart(values: Floats) -> Floats:
    """What the classes do not share: from the middle of the smallest and the largest."""
    return values - 0.5 * (values.min(axis=0) + values.max(axis=0))


def _over(values: Floats, unit: Floats) -> Floats:
    return np.ascontiguousarray(values / np.where(unit > 0.0, unit, 1.0))


def _count(X: Array, factor: int) -> int:
    return threads(entries(X) * factor)
