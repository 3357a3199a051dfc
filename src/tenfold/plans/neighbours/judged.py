"""What the judge says of rows that are kept: some of them are asked for their neighbours, or for windows about them, as
later queries are.
"""

from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, Integers, on_host
from tenfold.data import Rows
from tenfold.judge import kde as judge_windows
from tenfold.judge import neighbours as judge
from tenfold.judge.certificate import Certificate
from tenfold.plans.neighbours.kde import log_volume
from tenfold.plans.neighbours.kde_fold import KeptWindows, WindowsAbout, WindowSum
from tenfold.plans.neighbours.out_of_core import AllWithin, Kept, Searching, Source, TheNearest, numbered, rows_at


def sampled(rows: Rows, weight: Array | None, count: int, *, missing: bool = False) -> tuple[Integers, Array]:
    """The numbers of some of the `count` rows that count, and these rows; refuses rows that are not finite."""
    asked = judge.sample(count, rows.shape[1])
    if weight is not None:
        asked = np.flatnonzero(on_host(weight) > 0.0)[asked]
    return asked, rows_at(rows, asked, missing=missing)


def judged_index(
    index: Kept | Source,
    rows: Rows,
    weight: Array | None,
    *,
    metric: Any,
    params: dict[str, Any],
    k: int | None,
    radius: float | None,
) -> Certificate:
    """Of an index of rows, and the k nearest or those within a radius; of distances that are given there is nothing to
    find again.
    """
    rows = numbered(rows)
    named = metric if isinstance(metric, str) else ""
    if named == "precomputed":
        asked, queries = np.zeros(0, dtype=np.intp), np.zeros((0, 0))
    else:
        asked, queries = sampled(rows, weight, index.count, missing=named == "nan_euclidean")

    def found(queries: Array, own: Integers) -> judge.Answer:
        question: Searching = AllWithin(radius) if k is None else TheNearest(k)
        near = index.near(question, queries, own)
        return near.offsets, near.distances, near.rows

    question = {"metric": metric, "params": params, "k": k, "radius": radius}
    return judge.neighbours({}, rows, **question, asked=asked, queries=queries, found=found)


def log_density(level: float, found: WindowSum) -> Floats:
    """Logarithms of a density from sums of windows of one bandwidth; `level` is that of the weight of all rows, and of
    the integral of a window.
    """
    return found.logs[:, 0] - level


def judged_density(
    index: KeptWindows | Source,
    rows: Rows,
    weight: Array | None,
    count: int,
    *,
    metric: Any,
    params: dict[str, Any],
    window: str,
    bandwidths: tuple[float, float],
    total: float,
    allowed: tuple[float, float],
) -> Certificate:
    """Of a density of windows about `count` rows that count, of the weight `total`; see `judge.windows.density`."""
    h = bandwidths[0]
    volume = float(log_volume(window, np.array([h]), rows.shape[1])[0])
    _, queries = sampled(rows, weight, count)
    near = index.near(WindowsAbout(window, np.array([h]), False), queries)
    return judge_windows.density(
        rows,
        metric=metric,
        params=params,
        window=window,
        bandwidth=h,
        volume=volume,
        total=total,
        queries=queries,
        found=log_density(np.log(total) + volume, near),
        bandwidths=bandwidths,
        stored={},
        allowed=allowed,
    )


def judged_means(
    index: KeptWindows | Source,
    rows: Rows,
    weight: Array | None,
    count: int,
    *,
    metric: Any,
    params: dict[str, Any],
    about: WindowsAbout,
    size: Floats,
) -> Certificate:
    """Of local means of the targets, the largest of which have the `size` (t,)."""
    _, queries = sampled(rows, weight, count)
    return judge_windows.means(
        rows,
        metric=metric,
        params=params,
        window=about.window,
        bandwidth=float(about.bandwidths[0]),
        size=size,
        queries=queries,
        found=index.near(about, queries).means_or_none()[:, 0],
        stored={},
    )
