"""Sums of density kernels about queries, of samples in memory.

With distances d_ij of query i to sample j, weights w_j and targets y_j, for each bandwidth h
  log sum_j w_j K(d_ij / h)      and      sum_j w_j K(d_ij / h) y_j / sum_j w_j K(d_ij / h):
a running log-sum-exp over compiled tiles, to a tolerance over the nodes of a k-d tree, or over a table of distances for
sets and functions of two points.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, namespace
from tenfold.distances import Called, Distance, Given, Minkowski, Sets
from tenfold.machine import threads
from tenfold.pairwise.query_pieces import cut_queries, take_piece
from tenfold.pairwise.searches import (
    FINISH,
    TREE_MAX_FEATURES,
    TreeSearch,
    build_search,
    call_metric,
    finish_of,
    metric_code,
)
from tenfold.pairwise.stored_samples import StoredSamples, store_samples

# codes of the compiled kernels
KERNELS = {
    "gaussian": 0,
    "exponential": 1,
    "box": 2,
    "tophat": 3,
    "epanechnikov": 4,
    "linear": 5,
    "cosine": 6,
    "cut": 7,
}
MIN_RELATIVE_TOLERANCE = 2.0**-50  # of a sum that is to be exact: adding up rounds by more
READS_PER_KERNEL_VALUE = 16  # values that could be read while a kernel is evaluated
QUADRATURE_NODES = 128
TABLE_VALUES = 1 << 21  # distances in memory at a time: 16 MiB

# logarithms of kernels, where the distances are
LOGS: dict[str, Callable[[Array, float], Array]] = {
    "gaussian": lambda d, h: -0.5 * (d / h) ** 2,
    "exponential": lambda d, h: -d / h,
    "box": lambda d, h: _log_inside(d <= h, namespace(d).ones_like(d)),
    "tophat": lambda d, h: _log_inside(d < h, namespace(d).ones_like(d)),
    "epanechnikov": lambda d, h: _log_inside(d < h, 1.0 - (d / h) ** 2),
    "linear": lambda d, h: _log_inside(d < h, 1.0 - d / h),
    "cosine": lambda d, h: _log_inside(d < h, namespace(d).cos(0.5 * np.pi * d / h)),
    "cut": lambda d, h: _log_inside((d <= h) & (d < 1.0), 1.0 - d),
}


def _log_inside(inside: Array, height: Array) -> Array:
    xp = namespace(height)
    one = xp.ones_like(height)
    with np.errstate(divide="ignore", invalid="ignore"):
        return xp.where(inside, xp.log(xp.where(inside, height, one)), -np.inf * one)


class Tolerance(NamedTuple):
    """A density may be off by absolute + relative times itself."""

    absolute: float
    relative: float


def sum_kernels(
    distance: Distance,
    X: Floats,
    queries: Floats,
    kernel: str,
    bandwidths: Floats,
    *,
    weight: Floats | None = None,
    targets: Floats | None = None,
    own: Integers | None = None,
) -> tuple[Floats, Floats]:
    """Logarithms of the sums (m, b), and means of targets (m, b, t), for each bandwidth; own is the sample that a query
    is itself, or -1: it is left out.
    """
    if isinstance(distance, Given):
        raise ValueError("Windows need a metric of rows, not distances that are given.")
    targets = np.zeros((len(X), 0)) if targets is None else targets
    if isinstance(distance, (Called, Sets)):
        return _sum_table(distance, X, queries, kernel, bandwidths, weight, targets, own)
    if isinstance(distance, Minkowski):
        X, queries = distance.image(X, False), distance.image(queries, True)
    p = distance.p if isinstance(distance, Minkowski) else 2.0
    X, queries, bandwidths, targets = (
        np.ascontiguousarray(part, dtype=np.float64) for part in (X, queries, bandwidths, targets)
    )
    weight = None if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    own = None if own is None else np.ascontiguousarray(own, dtype=np.int64)
    parts = [
        _core.kde_sums(
            X,
            queries[piece],
            metric_code(distance),
            p,
            FINISH[finish_of(distance)[0]],
            1.0 / p,
            KERNELS[kernel],
            bandwidths,
            weight,
            targets,
            take_piece(own, piece),
            threads(X.size * max(1, len(queries))),
        )
        for piece in cut_queries(len(queries), len(X) * (X.shape[1] + READS_PER_KERNEL_VALUE * len(bandwidths)))
    ]
    if len(parts) == 1:
        return parts[0]
    shape = (0, len(bandwidths))
    logs = np.concatenate([np.zeros(shape), *(part[0] for part in parts)])
    return logs, np.concatenate([np.zeros((*shape, targets.shape[1])), *(part[1] for part in parts)])


def density_tree(distance: Distance, X: Floats) -> TreeSearch | None:
    """A tree of the samples, where the distance has one and the features are few."""
    if not isinstance(distance, Minkowski) or distance.image(X[:1], False).shape[1] > TREE_MAX_FEATURES:
        return None
    search = build_search(distance, X)
    return search if isinstance(search, TreeSearch) else None


def log_kernel_sums(
    distance: Distance,
    X: Floats,
    queries: Floats,
    kernel: str,
    h: float,
    weight: Floats | None,
    tolerance: Tolerance,
    tree: TreeSearch | None,
) -> Floats:
    """Logarithms of sums (m,) for one bandwidth: by the nodes of a tree where there is one, else by all samples."""
    if tree is None:
        return sum_kernels(distance, X, queries, kernel, np.array([h]), weight=weight)[0][:, 0]
    total = float(len(X) if weight is None else np.sum(weight))
    with np.errstate(divide="ignore"):
        absolute = np.log(tolerance.absolute) + np.log(total) + log_volume(kernel, np.array([h]), X.shape[1])[0]
    return _sum_tree(tree, queries, kernel, h, weight, float(absolute), max(tolerance.relative, MIN_RELATIVE_TOLERANCE))


def _sum_tree(
    search: TreeSearch,
    queries: Floats,
    kernel: str,
    h: float,
    weight: Floats | None,
    log_absolute: float,
    relative: float,
) -> Floats:
    """Logarithms of sums (m,), off by at most exp(log_absolute) + relative times the sum, by bounds on the nodes."""
    distance, (order, points, boxes, leaf) = search.distance, search.tree
    ordered = None if weight is None else np.ascontiguousarray(weight[order], dtype=np.float64)
    queries = np.ascontiguousarray(distance.image(queries, True), dtype=np.float64)
    sums = None if ordered is None else np.append(0.0, np.cumsum(ordered))
    parts = [
        _core.kde_tree(
            points,
            boxes,
            leaf,
            queries[piece],
            metric_code(distance),
            distance.p,
            FINISH[finish_of(distance)[0]],
            1.0 / distance.p,
            KERNELS[kernel],
            h,
            log_absolute,
            relative,
            ordered,
            sums,
            threads(points.size * max(1, len(queries))),
        )
        for piece in cut_queries(len(queries), len(points) * READS_PER_KERNEL_VALUE)
    ]
    return np.concatenate([np.zeros(0), *parts])


def log_volume(kernel: str, bandwidths: Floats, d: int) -> Floats:
    """The logarithm of the integral of a kernel over d dimensions, for each bandwidth."""
    ball = 0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1.0)  # of the unit ball
    sphere = ball + np.log(d)
    if kernel == "gaussian":
        unit = 0.5 * d * np.log(2.0 * np.pi)
    elif kernel == "tophat":
        unit = ball
    elif kernel == "epanechnikov":
        unit = ball + np.log(2.0 / (d + 2.0))
    elif kernel == "exponential":
        unit = sphere + gammaln(d)
    elif kernel == "linear":
        unit = ball - np.log(d + 1.0)
    else:
        unit = sphere + _log_cosine_integral(d)
    return unit + d * np.log(np.asarray(bandwidths, dtype=np.float64))


@cache
def _log_cosine_integral(d: int) -> float:
    """log of the integral of r^(d - 1) cos(pi r / 2) over [0, 1], whose closed form has alternating sums: by Gauss
    quadrature, exact to rounding.
    """
    nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE_NODES)
    r = 0.5 * (nodes + 1.0)
    return float(np.log(np.sum(0.5 * weights * r ** (d - 1.0) * np.cos(0.5 * np.pi * r))))


def _sum_table(
    distance: Sets | Called,
    X: Floats,
    queries: Floats,
    kernel: str,
    bandwidths: Floats,
    weight: Floats | None,
    targets: Floats,
    own: Integers | None,
) -> tuple[Floats, Floats]:
    """`sum_kernels` by a table of distances; that of a sample to itself is not a number."""
    m, n = len(queries), len(X)
    logs, means = np.empty((m, len(bandwidths))), np.empty((m, len(bandwidths), targets.shape[1]))
    stored = store_samples(distance, X) if isinstance(distance, Sets) else None
    step = max(1, TABLE_VALUES // n)
    for begin in range(0, m, step):
        some = slice(begin, min(m, begin + step))
        if isinstance(distance, Called):
            table = call_metric(distance, X, queries[some])
        else:
            table = _all_distances(stored, queries[some])
        if own is not None:
            itself = own[some]
            table[np.flatnonzero(itself >= 0), itself[itself >= 0]] = np.nan
        for b, h in enumerate(bandwidths):
            terms = LOGS[kernel](table, float(h))
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


def _all_distances(stored: StoredSamples | None, queries: Floats) -> Floats:
    """All distances of queries to stored samples, (m, n)."""
    assert stored is not None
    distances, rows = stored.nearest(queries, stored.count)
    table = np.empty(distances.shape)
    np.put_along_axis(table, rows, distances, axis=1)
    return table


def merge_sums(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    """Logarithms l of sums and means m of two sets of samples, merged about the larger of both:
    ``l = log(exp(l_1) + exp(l_2))`` and ``m = (exp(l_1) m_1 + exp(l_2) m_2) / exp(l)``, zero where there is nothing.
    """
    xp = namespace(one[0])
    top = xp.maximum(one[0], other[0])
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    a, b = xp.exp(one[0] - top), xp.exp(other[0] - top)
    total = a + b
    with np.errstate(divide="ignore"):
        logs = xp.log(total) + top
    sums = a[:, :, None] * one[1] + b[:, :, None] * other[1]
    return logs, sums / xp.where(total > 0.0, total, xp.ones_like(total))[:, :, None]
