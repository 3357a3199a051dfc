"""Certificates of results that follow from the data by a formula: recomputed by another one."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import TypeAlias

import numpy as np

from tenfold.arrays import Floats
from tenfold.judge.certificate import RULES, Certificate

Pair: TypeAlias = tuple[Floats, Floats, Floats | float]  # stored values, recomputed values, scale of the difference


def exact(
    pairs: Mapping[str, Pair | Iterator[Pair]],
    *,
    floor: float,
    objective: float = np.nan,
    status: str = "solved",
    note: str = "",
) -> Certificate:
    """Certificate of stored values by those of a second formula.

    `pairs` has for each attribute the stored values, those of the second formula, and the scale of their difference,
    or an iterator over pieces of these. Values that are infinite or NaN must be so on both sides.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        distances = {
            name: _distance(*pair) if isinstance(pair, tuple) else max((_distance(*part) for part in pair), default=0.0)
            for name, pair in pairs.items()
        }
    value = max(distances.values(), default=0.0)
    if value > floor:
        worst = max(distances, key=lambda name: distances[name])
        note = f"{note} The largest distance is that of {worst}.".lstrip()
    return Certificate(
        "exact",
        max(value, floor),
        1.0,
        RULES["exact"].tol,
        floor,
        objective,
        status=status,
        parts=tuple(distances.values()),
        note=note,
    )


CHUNK_VALUES = 1 << 15  # values compared at a time, which stay in the cache


def in_pieces(columns: int) -> list[slice]:
    """Columns that are compared at a time."""
    return [slice(begin, min(columns, begin + CHUNK_VALUES)) for begin in range(0, columns, CHUNK_VALUES)]


def _distance(stored: Floats, again: Floats, size: Floats | float) -> float:
    stored, again = np.asarray(stored, dtype=np.float64), np.asarray(again, dtype=np.float64)
    if stored.shape != again.shape or not stored.size:
        return np.inf if stored.shape != again.shape else 0.0
    if stored.size <= CHUNK_VALUES:
        return _largest(stored, again, size)
    sizes, columns = np.broadcast_to(size, stored.shape), stored.shape[-1]
    step = max(1, CHUNK_VALUES // (stored.size // columns))
    pieces = ((..., slice(begin, begin + step)) for begin in range(0, columns, step))
    return max(_largest(stored[piece], again[piece], sizes[piece]) for piece in pieces)


def _largest(stored: Floats, again: Floats, size: Floats | float) -> float:
    away = np.abs(stored - again) / size
    worst = float(away.max())
    if isfinite(worst):  # as all numbers are
        return worst
    same = (stored == again) | (np.isnan(stored) & np.isnan(again))
    return float(np.max(np.where(same, 0.0, np.where(np.isnan(away), np.inf, away))))
