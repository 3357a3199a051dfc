"""Densities and local means judged by sums of windows over plain distances, and histograms by counting again."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, namespace, on_host, some_rows, unit_roundoff
from tenfold.data import Block, Rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.neighbours import PIECE, completed, plain, same
from tenfold.judge.recompute import Pair, exact

ROUNDING = 4096.0 * unit_roundoff(np.float64)

LOGS: dict[str, Callable[[Array, float], Array]] = {
    "gaussian": lambda d, h: -0.5 * (d / h) ** 2,
    "exponential": lambda d, h: -d / h,
    "tophat": lambda d, h: _where(d < h, 0.0 * d),
    "box": lambda d, h: _where(d <= h, 0.0 * d),
    "epanechnikov": lambda d, h: _log(1.0 - (d / h) ** 2),
    "linear": lambda d, h: _log(1.0 - d / h),
    "cosine": lambda d, h: _where(d < h, _log(namespace(d).cos(0.5 * np.pi * _at_most(d / h, 1.0)))),
    "cut": lambda d, h: _where(d <= h, _log(1.0 - d)),
}
"""Logarithms of windows, where the distances are."""


def _where(inside: Array, logs: Array) -> Array:
    return namespace(logs).where(inside, logs, -np.inf * namespace(logs).ones_like(logs))


def _log(height: Array) -> Array:
    """Of what is positive."""
    xp = namespace(height)
    with np.errstate(divide="ignore"):
        return xp.log(xp.where(height > 0.0, height, xp.zeros_like(height)))


def _at_most(values: Array, limit: float) -> Array:
    xp = namespace(values)
    return xp.where(values < limit, values, limit * xp.ones_like(values))


def density(
    rows: Rows,
    *,
    metric: Any,
    params: dict[str, Any],
    window: str,
    bandwidth: float,
    volume: float,
    total: float,
    queries: Array,
    found: Floats,
    bandwidths: tuple[float, float],
    stored: dict[str, tuple[Any, Any]],
    allowed: tuple[float, float] = (0.0, 0.0),
) -> Certificate:
    """The certificate of log densities `found` at some rows, the `queries`; volume is the logarithm of the window's
    integral, total the weight of all rows, and `bandwidths` has the one that is stored, and the one that its rule
    gives. `stored` has what the model keeps and what it was given. With `allowed` = (atol, rtol) a density that is off
    by no more than atol + rtol times itself is as good as the right one.
    """
    again = _again(rows, metric, params, window, bandwidth, queries).logs - np.log(total) - volume
    atol, rtol = allowed
    if atol > 0.0 or rtol > 0.0:
        right = np.exp(again)
        found = np.where(np.abs(np.exp(found) - right) <= atol + rtol * right, again, found)
    pairs: dict[str, Pair] = {
        "the log density": (found, again, 1.0 + np.abs(again)),
        "the bandwidth": (np.array(bandwidths[:1]), np.array(bandwidths[1:]), abs(bandwidths[1])),
        **{name: same(*pair) for name, pair in stored.items()},
    }
    return exact(pairs, floor=ROUNDING, note=_note(rows, queries))


def means(
    rows: Rows,
    *,
    metric: Any,
    params: dict[str, Any],
    window: str,
    bandwidth: float,
    size: Floats,
    queries: Array,
    found: Floats,
    stored: dict[str, tuple[Any, Any]],
) -> Certificate:
    """The certificate of local means `found` (m, t) of the targets at some rows, the `queries`, where the window has
    any row; distances are divided by the `size` (t,) of the targets.
    """
    again = _again(rows, metric, params, window, bandwidth, queries)
    some = np.isfinite(again.logs)
    pairs: dict[str, Pair] = {
        "the means": (found[some], again.means[some], size + np.finfo(np.float64).tiny),
        **{name: same(*pair) for name, pair in stored.items()},
    }
    return exact(pairs, floor=ROUNDING, note=_note(rows, queries))


@dataclass(frozen=True, slots=True)
class Again:
    """Logarithms of sums of windows (m,), and means of targets (m, t), of some rows."""

    logs: Floats
    means: Floats

    def merge(self, other: "Again") -> "Again":
        logs = np.logaddexp(self.logs, other.logs)
        top = np.where(np.isfinite(logs), logs, 0.0)
        shares = np.exp(self.logs - top)[:, None], np.exp(other.logs - top)[:, None]
        return Again(logs, shares[0] * self.means + shares[1] * other.means)


def _again(rows: Rows, metric: Any, params: dict[str, Any], window: str, bandwidth: float, queries: Array) -> Again:
    return rows.fold(partial(_summed, metric, completed(metric, params, rows), window, bandwidth, queries))


def _summed(metric: Any, params: dict[str, Any], window: str, h: float, queries: Array, block: Block) -> Again:
    m = queries.shape[0]
    found, step = Again(np.full(m, -np.inf), np.zeros((m, block.y.shape[1]))), max(1, PIECE // m)
    for start in range(0, block.X.shape[0], step):
        piece = slice(start, min(start + step, block.X.shape[0]))
        logs = LOGS[window](plain(metric, params, some_rows(block.X, piece), queries), h)
        xp = namespace(logs)
        with np.errstate(divide="ignore"):
            logs = logs if block.weight is None else logs + xp.log(block.weight[piece])[None, :]
        largest = xp.max(logs, axis=1)
        top = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
        heights = xp.exp(logs - top[:, None])
        total, sums = on_host(xp.sum(heights, axis=1)), on_host(xp.matmul(heights, some_rows(block.y, piece)))
        with np.errstate(divide="ignore"):
            each = np.log(total) + on_host(top)
        found = found.merge(Again(each, sums / np.where(total > 0.0, total, 1.0)[:, None]))
    return found


def _note(rows: Rows, queries: Array) -> str:
    count, n = queries.shape[0], rows.shape[0]
    return f"Computed again by plain distances at {'all' if count == n else count} of {n} rows."


def local_means(rows: Rows, metric: Any, params: dict[str, Any], about: Any, queries: Floats) -> Floats:
    """Means (m, t) of the targets in the windows `about` queries, not a number where a window is empty."""
    again = _again(rows, metric, params, about.window, float(about.bandwidths[0]), queries)
    return np.where(np.isfinite(again.logs)[:, None], again.means, np.nan)


def risks(rows: Rows, tried: list[list[Floats]], total: float) -> Floats:
    """Leave-one-out estimates of ``int p^2 - 2 int p q`` of histograms p with several sets of edges, q the true
    density: with counts n_j in boxes of volume v_j, ``sum n_j (2 n - (n + 1) n_j) / v_j / (n^2 (n - 1))``.
    """
    found = []
    for edges in tried:
        counts = rows.fold(partial(_counted, edges, tuple(len(edge) - 1 for edge in edges))).counts
        with np.errstate(divide="ignore", invalid="ignore"):
            each = counts * (2.0 * total - (total + 1.0) * counts) / _volumes(edges)
            found.append(np.sum(each) / total**2 / (total - 1.0))
    return np.array(found)


def _volumes(edges: list[Floats]) -> Floats:
    volume = np.ones(())
    for edge in edges:
        volume = np.multiply.outer(volume, np.diff(edge))
    return volume


def histogram(rows: Rows, edges: list[Floats], density: Floats, counts: Floats) -> Certificate:
    """The certificate of counts and densities in boxes: counted again, and their volumes add up to one."""
    found: Counted = rows.fold(partial(_counted, edges, density.shape))
    volume = _volumes(edges)
    again = found.counts / volume / found.total
    pairs: dict[str, Pair] = {
        "the counts": (counts, found.counts, found.total),
        "the densities": (density, again, again.max()),
        "the area": (np.array([np.sum(density * volume)]), np.ones(1), 1.0),
        "rows outside": (np.array([found.outside]), np.zeros(1), 1.0),
    }
    return exact(pairs, floor=ROUNDING)


@dataclass(frozen=True, slots=True)
class Counted:
    """The weight in every box, that of all rows, and the number of rows of positive weight outside."""

    counts: Floats
    total: float
    outside: float

    def merge(self, other: "Counted") -> "Counted":
        return Counted(self.counts + other.counts, self.total + other.total, self.outside + other.outside)


def _counted(edges: list[Floats], shape: tuple[int, ...], block: Block) -> Counted:
    counts, m = np.zeros(shape), block.X.shape[0]
    weight = np.ones(m) if block.weight is None else on_host(block.weight)
    held, cells = np.ones(m, dtype=bool), []
    for j, edge in enumerate(edges):
        column = block.X[:, j]
        # the number of inner edges that are not above a value is the number of its box
        cell = np.zeros(m, dtype=np.intp)
        for inner in edge[1:-1]:
            cell += on_host(column >= float(inner))
        cells.append(cell)
        held &= on_host((column >= float(edge[0])) & (column <= float(edge[-1])))
    np.add.at(counts, tuple(cells), weight)
    return Counted(counts, float(weight.sum()), float(np.count_nonzero(~held & (weight > 0.0))))
