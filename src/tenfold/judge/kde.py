"""Certificates of kernel densities and local means by sums over plain distances, of histograms by recounting."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, namespace, on_host, some_rows, unit_roundoff
from tenfold.data import Block, Rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.neighbours import TILE_VALUES, complete_parameters, plain_distances, same
from tenfold.judge.recompute import Pair, exact

ROUNDING = 4096.0 * unit_roundoff(np.float64)  # relative, of a sum of kernels

# logarithms of kernels, in the namespace of the distances
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


def _where(inside: Array, logs: Array) -> Array:
    return namespace(logs).where(inside, logs, -np.inf * namespace(logs).ones_like(logs))


def _log(height: Array) -> Array:
    """The logarithm of the positive part."""
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
    kernel: str,
    bandwidth: float,
    volume: float,
    total: float,
    queries: Array,
    values: Floats,
    bandwidths: tuple[float, float],
    stored: dict[str, tuple[Any, Any]],
    allowed: tuple[float, float] = (0.0, 0.0),
) -> Certificate:
    """The certificate of log densities `values` at some samples, the `queries`; volume is the logarithm of the integral
    of the kernel, total the weight of all samples, and `bandwidths` has the stored one, and the one of its rule.
    `stored` has values of the model and those that it was given. With `allowed` = (atol, rtol) a density that
    is off by no more than atol + rtol times itself counts as exact.
    """
    again = _sum_again(rows, metric, params, kernel, bandwidth, queries).logs - np.log(total) - volume
    atol, rtol = allowed
    if atol > 0.0 or rtol > 0.0:
        right = np.exp(again)
        values = np.where(np.abs(np.exp(values) - right) <= atol + rtol * right, again, values)
    pairs: dict[str, Pair] = {
        "the log density": (values, again, 1.0 + np.abs(again)),
        "the bandwidth": (np.array(bandwidths[:1]), np.array(bandwidths[1:]), abs(bandwidths[1])),
        **{name: same(*pair) for name, pair in stored.items()},
    }
    return exact(pairs, floor=ROUNDING, note=_note(rows, queries))


def means(
    rows: Rows,
    *,
    metric: Any,
    params: dict[str, Any],
    kernel: str,
    bandwidth: float,
    size: Floats,
    queries: Array,
    values: Floats,
    stored: dict[str, tuple[Any, Any]],
) -> Certificate:
    """The certificate of local means `values` (m, t) of the targets at some samples, the `queries`, where any sample
    is in the support of the kernel; distances are divided by the `size` (t,) of the targets.
    """
    again = _sum_again(rows, metric, params, kernel, bandwidth, queries)
    some = np.isfinite(again.logs)
    pairs: dict[str, Pair] = {
        "the means": (values[some], again.means[some], size + np.finfo(np.float64).tiny),
        **{name: same(*pair) for name, pair in stored.items()},
    }
    return exact(pairs, floor=ROUNDING, note=_note(rows, queries))


@dataclass(frozen=True, slots=True)
class KernelSum:
    """Logarithms of sums of a kernel (m,), and means of targets (m, t), of some samples."""

    logs: Floats
    means: Floats

    def merge(self, other: "KernelSum") -> "KernelSum":
        logs = np.logaddexp(self.logs, other.logs)
        top = np.where(np.isfinite(logs), logs, 0.0)
        shares = np.exp(self.logs - top)[:, None], np.exp(other.logs - top)[:, None]
        return KernelSum(logs, shares[0] * self.means + shares[1] * other.means)


def _sum_again(
    rows: Rows, metric: Any, params: dict[str, Any], kernel: str, bandwidth: float, queries: Array
) -> KernelSum:
    return rows.fold(partial(_sum_block, metric, complete_parameters(metric, params, rows), kernel, bandwidth, queries))


def _sum_block(metric: Any, params: dict[str, Any], kernel: str, h: float, queries: Array, block: Block) -> KernelSum:
    m = queries.shape[0]
    result, step = KernelSum(np.full(m, -np.inf), np.zeros((m, block.y.shape[1]))), max(1, TILE_VALUES // m)
    for start in range(0, block.X.shape[0], step):
        piece = slice(start, min(start + step, block.X.shape[0]))
        logs = LOGS[kernel](plain_distances(metric, params, some_rows(block.X, piece), queries), h)
        xp = namespace(logs)
        with np.errstate(divide="ignore"):
            logs = logs if block.weight is None else logs + xp.log(block.weight[piece])[None, :]
        largest = xp.max(logs, axis=1)
        top = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
        heights = xp.exp(logs - top[:, None])
        total, sums = on_host(xp.sum(heights, axis=1)), on_host(xp.matmul(heights, some_rows(block.y, piece)))
        with np.errstate(divide="ignore"):
            each = np.log(total) + on_host(top)
        result = result.merge(KernelSum(each, sums / np.where(total > 0.0, total, 1.0)[:, None]))
    return result


def _note(rows: Rows, queries: Array) -> str:
    count, n = queries.shape[0], rows.shape[0]
    return f"Computed again by plain distances at {'all' if count == n else count} of {n} rows."


def local_means(
    rows: Rows, metric: Any, params: dict[str, Any], kernel: str, bandwidth: float, queries: Floats
) -> Floats:
    """Means (m, t) of the targets about queries, not a number where no sample is in the support of the kernel."""
    again = _sum_again(rows, metric, params, kernel, bandwidth, queries)
    return np.where(np.isfinite(again.logs)[:, None], again.means, np.nan)


def risks(rows: Rows, tried: list[list[Floats]], total: float) -> Floats:
    """Leave-one-out estimates of ``int p^2 - 2 int p q`` of histograms p with several sets of edges, q the true
    density: with counts n_j in bins of volume v_j, ``sum n_j (2 n - (n + 1) n_j) / v_j / (n^2 (n - 1))``.
    """
    estimates = []
    for edges in tried:
        counts = rows.fold(partial(_count_block, edges, tuple(len(edge) - 1 for edge in edges))).counts
        with np.errstate(divide="ignore", invalid="ignore"):
            each = counts * (2.0 * total - (total + 1.0) * counts) / _volumes(edges)
            estimates.append(np.sum(each) / total**2 / (total - 1.0))
    return np.array(estimates)


def _volumes(edges: list[Floats]) -> Floats:
    volume = np.ones(())
    for edge in edges:
        volume = np.multiply.outer(volume, np.diff(edge))
    return volume


def histogram(rows: Rows, edges: list[Floats], density: Floats, counts: Floats) -> Certificate:
    """The certificate of counts and densities in bins: counted again, and their volumes add up to one."""
    again: Counts = rows.fold(partial(_count_block, edges, density.shape))
    volume = _volumes(edges)
    densities = again.counts / volume / again.total
    pairs: dict[str, Pair] = {
        "the counts": (counts, again.counts, again.total),
        "the densities": (density, densities, densities.max()),
        "the area": (np.array([np.sum(density * volume)]), np.ones(1), 1.0),
        "rows outside": (np.array([again.outside]), np.zeros(1), 1.0),
    }
    return exact(pairs, floor=ROUNDING)


@dataclass(frozen=True, slots=True)
class Counts:
    """The weight in every bin, the total weight, and the number of samples of positive weight outside."""

    counts: Floats
    total: float
    outside: float

    def merge(self, other: "Counts") -> "Counts":
        return Counts(self.counts + other.counts, self.total + other.total, self.outside + other.outside)


def _count_block(edges: list[Floats], shape: tuple[int, ...], block: Block) -> Counts:
    counts, m = np.zeros(shape), block.X.shape[0]
    weight = np.ones(m) if block.weight is None else on_host(block.weight)
    held, cells = np.ones(m, dtype=bool), []
    for j, edge in enumerate(edges):
        column = block.X[:, j]
        # the number of inner edges that are not above a value is the number of its bin
        cell = np.zeros(m, dtype=np.intp)
        for inner in edge[1:-1]:
            cell += on_host(column >= float(inner))
        cells.append(cell)
        held &= on_host((column >= float(edge[0])) & (column <= float(edge[-1])))
    np.add.at(counts, tuple(cells), weight)
    return Counts(counts, float(weight.sum()), float(np.count_nonzero(~held & (weight > 0.0))))
