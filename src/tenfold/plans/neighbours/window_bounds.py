"""Densities from the rows near a query alone, where the others cannot matter.

No row outside a radius r adds more than its weight times K(r). With S the sum of the windows of the rows inside, N the
weight of all, W that of the rows outside, and V the integral of the window, the density lies in

    [S, S + W K(r)] / (N V),

and its middle is off by no more than W K(r) / (2 N V): enough where that is at most atol + rtol S / (N V). Windows that
end have K(r) = 0 from their bandwidth on, and lose nothing. Rows within a radius are found in a tree; queries for which
the bound is not enough, and all of them where most rows are near, are summed over all rows.
"""

from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.plans.neighbours.index import Index
from tenfold.plans.neighbours.window_tables import LOGS

TOGETHER = 1 << 22
"""Pairs of a query and a row that are kept at a time, at most."""
MANY = 0.125
"""Where so large a share of the rows is near, all may as well be summed."""
LEAST = 1e-280


class Tolerance(NamedTuple):
    """What a density may be off by: atol + rtol times itself."""

    absolute: float
    relative: float


def radius_for(window: str, h: float, tolerance: Tolerance, log_volume: float) -> float | None:
    """Beyond which rows are first left out; None where all must count."""
    if window not in ("gaussian", "exponential"):
        return h
    with np.errstate(over="ignore"):
        height = max(tolerance.absolute * float(np.exp(log_volume)), 1e-3 * tolerance.relative)
    if not height > 0.0:
        return None
    drop = -np.log(np.clip(height, LEAST, 0.5))
    return float(h * (np.sqrt(2.0 * drop) if window == "gaussian" else drop))


def logs_nearby(
    index: Index,
    queries: Floats,
    window: str,
    h: float,
    weight: Floats | None,
    tolerance: Tolerance,
    log_volume: float,
) -> tuple[Floats, Floats]:
    """Logarithms of sums of windows (m,), and for which queries they are good enough (m,)."""
    m, n = len(queries), index.count
    logs, enough = np.full(m, -np.inf), np.zeros(m, dtype=bool)
    radius = radius_for(window, h, tolerance, log_volume)
    if radius is None:
        return logs, enough
    total = float(n if weight is None else np.sum(weight))
    edge = float(np.exp(LOGS[window](np.array([radius]), h))[0]) if window in ("gaussian", "exponential") else 0.0
    step = max(1, TOGETHER // n)
    for begin in range(0, m, step):
        some = slice(begin, min(m, begin + step))
        near = index.within(queries[some], radius)
        if len(near.rows) > MANY * n * (some.stop - some.start):
            break
        query = np.repeat(np.arange(some.stop - some.start), np.diff(near.offsets))
        heights = np.exp(LOGS[window](near.distances, h))
        inside = np.ones(len(query)) if weight is None else weight[near.rows]
        sums = np.bincount(query, heights * inside, minlength=some.stop - some.start)
        left = edge * (total - np.bincount(query, inside, minlength=some.stop - some.start))
        with np.errstate(divide="ignore"):
            logs[some] = np.log(sums + 0.5 * left)
        allowed = tolerance.absolute * total * np.exp(log_volume) + tolerance.relative * sums
        enough[some] = 0.5 * left <= allowed
    return logs, enough
