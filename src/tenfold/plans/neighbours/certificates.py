"""Certificates of stored samples: some of them are queried for their neighbours, or for sums of kernels about them, as
any query is.
"""

from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, Integers, on_host
from tenfold.data import Rows
from tenfold.judge import kde as judge_kde
from tenfold.judge import neighbours as judge
from tenfold.judge.certificate import Certificate
from tenfold.pairwise import (
    KernelSamples,
    KernelSum,
    KernelSumRequest,
    NearestRequest,
    NeighbourRequest,
    NeighbourSamples,
    RadiusRequest,
    RowsSamples,
    collect_rows,
    log_volume,
    number_rows,
)


def sample_queries(rows: Rows, weight: Array | None, count: int, *, missing: bool = False) -> tuple[Integers, Array]:
    """The numbers of some of the `count` samples of positive weight, and these samples; raises NotFinite."""
    numbers = judge.sample(count, rows.shape[1])
    if weight is not None:
        numbers = np.flatnonzero(on_host(weight) > 0.0)[numbers]
    return numbers, collect_rows(rows, numbers, missing=missing)


def certify_neighbours(
    index: NeighbourSamples | RowsSamples,
    rows: Rows,
    weight: Array | None,
    *,
    metric: Any,
    params: dict[str, Any],
    k: int | None,
    radius: float | None,
) -> Certificate:
    """Of the k nearest or those within a radius; of distances that are given there is nothing to find again."""
    rows = number_rows(rows)
    name = metric if isinstance(metric, str) else ""
    if name == "precomputed":
        numbers, queries = np.zeros(0, dtype=np.intp), np.zeros((0, 0))
    else:
        numbers, queries = sample_queries(rows, weight, index.count, missing=name == "nan_euclidean")

    def search(queries: Array, own: Integers) -> judge.Answer:
        request: NeighbourRequest = RadiusRequest(radius) if k is None else NearestRequest(k)
        near = index.query(request, queries, own)
        return near.offsets, near.distances, near.rows

    problem = {"metric": metric, "params": params, "k": k, "radius": radius}
    return judge.neighbours({}, rows, **problem, numbers=numbers, queries=queries, search=search)


def log_density(level: float, sums: KernelSum) -> Floats:
    """Logarithms of a density from kernel sums of one bandwidth; `level` is that of the total weight times the integral
    of the kernel.
    """
    return sums.logs[:, 0] - level


def certify_density(
    index: KernelSamples | RowsSamples,
    rows: Rows,
    weight: Array | None,
    count: int,
    *,
    metric: Any,
    params: dict[str, Any],
    kernel: str,
    bandwidths: tuple[float, float],
    total: float,
    allowed: tuple[float, float],
) -> Certificate:
    """Of a kernel density of `count` samples of the weight `total`; see `judge.kde.density`."""
    h = bandwidths[0]
    volume = float(log_volume(kernel, np.array([h]), rows.shape[1])[0])
    _, queries = sample_queries(rows, weight, count)
    sums = index.query(KernelSumRequest(kernel, np.array([h]), False), queries)
    return judge_kde.density(
        rows,
        metric=metric,
        params=params,
        kernel=kernel,
        bandwidth=h,
        volume=volume,
        total=total,
        queries=queries,
        values=log_density(np.log(total) + volume, sums),
        bandwidths=bandwidths,
        stored={},
        allowed=allowed,
    )


def certify_means(
    index: KernelSamples | RowsSamples,
    rows: Rows,
    weight: Array | None,
    count: int,
    *,
    metric: Any,
    params: dict[str, Any],
    request: KernelSumRequest,
    size: Floats,
) -> Certificate:
    """Of local means of the targets, whose largest absolute values are `size` (t,)."""
    _, queries = sample_queries(rows, weight, count)
    return judge_kde.means(
        rows,
        metric=metric,
        params=params,
        kernel=request.kernel,
        bandwidth=float(request.bandwidths[0]),
        size=size,
        queries=queries,
        values=index.query(request, queries).means_or_nan()[:, 0],
        stored={},
    )
