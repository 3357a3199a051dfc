"""Sums of windows where distances are not taken entry by entry: sets, and functions of two rows.

All distances of some queries stand in a table, not a number where a row is the query itself; terms are summed about the
largest, so that far from all rows nothing vanishes.
"""

from collections.abc import Callable

import numpy as np

from tenfold.arrays import Array, Floats, Integers, namespace
from tenfold.distances import Called, Sets
from tenfold.plans.neighbours.index import Index, built, called

TOGETHER = 1 << 21
"""So many distances at a time."""

LOGS: dict[str, Callable[[Array, float], Array]] = {
    "gaussian": lambda d, h: -0.5 * (d / h) ** 2,
    "exponential": lambda d, h: -d / h,
    "box": lambda d, h: _inside(d <= h, namespace(d).ones_like(d)),
    "tophat": lambda d, h: _inside(d < h, namespace(d).ones_like(d)),
    "epanechnikov": lambda d, h: _inside(d < h, 1.0 - (d / h) ** 2),
    "linear": lambda d, h: _inside(d < h, 1.0 - d / h),
    "cosine": lambda d, h: _inside(d < h, namespace(d).cos(0.5 * np.pi * d / h)),
    "cut": lambda d, h: _inside((d <= h) & (d < 1.0), 1.0 - d),
}
"""Logarithms of windows, where the distances are."""


def _inside(where: Array, height: Array) -> Array:
    xp = namespace(height)
    one = xp.ones_like(height)
    with np.errstate(divide="ignore", invalid="ignore"):
        return xp.where(where, xp.log(xp.where(where, height, one)), -np.inf * one)


def sums_of_table(
    distance: Sets | Called,
    X: Floats,
    queries: Floats,
    window: str,
    bandwidths: Floats,
    weight: Floats | None,
    targets: Floats,
    own: Integers | None,
) -> tuple[Floats, Floats]:
    """What `window_sums` gives."""
    m, n = len(queries), len(X)
    logs, means = np.empty((m, len(bandwidths))), np.empty((m, len(bandwidths), targets.shape[1]))
    index = built(distance, X) if isinstance(distance, Sets) else None
    step = max(1, TOGETHER // n)
    for begin in range(0, m, step):
        some = slice(begin, min(m, begin + step))
        table = called(distance, X, queries[some]) if isinstance(distance, Called) else _table(index, queries[some])
        if own is not None:
            mine = own[some]
            table[np.flatnonzero(mine >= 0), mine[mine >= 0]] = np.nan
        for b, h in enumerate(bandwidths):
            terms = LOGS[window](table, float(h))
            terms[np.isnan(table)] = -np.inf
            largest = terms.max(axis=1)
            heights = np.exp(terms - np.where(np.isfinite(largest), largest, 0.0)[:, None])
            heights = heights if weight is None else heights * weight
            total = heights.sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs[some, b] = np.log(total) + np.where(np.isfinite(largest), largest, 0.0)
                for t in range(targets.shape[1]):
                    means[some, b, t] = np.sum(heights * targets[:, t], axis=1) / total
    return logs, means


def _table(index: Index | None, queries: Floats) -> Floats:
    """All distances of queries to the rows of an index, (m, n)."""
    assert index is not None
    distances, rows = index.nearest(queries, index.count)
    found = np.empty(distances.shape)
    np.put_along_axis(found, rows, distances, axis=1)
    return found
