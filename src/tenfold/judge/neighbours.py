"""Certificate of stored samples and their neighbours: the samples are those given, and for some of them the neighbours
are those of plain distances in float64 to all samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from tenfold.arrays import (
    Array,
    Floats,
    Integers,
    is_array_api,
    is_numpy,
    is_sparse,
    like,
    namespace,
    on_host,
    one_by_one,
    some_rows,
    unit_roundoff,
)
from tenfold.data import Block, MemoryRows, Rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.recompute import Pair, exact

MAX_READS = 1 << 21  # entries of samples that the judge reads for its distances
READS_PER_SAMPLE = 8  # beside its entries: a distance is compared and sorted
ALL_SAMPLES = 1 << 9  # up to here every sample is a query
MIN_QUERIES, MAX_QUERIES = 2, 256  # samples whose neighbours are recomputed
ROUNDING = 512.0 * unit_roundoff(np.float64)  # relative error of a recomputed value
TILE_VALUES = 1 << 22  # distances in memory at a time, and entries of sparse samples that become dense: 32 MiB

Answer = tuple[Integers, Floats, Integers]
"""Distances and rows of neighbours; those of query i are from offsets[i] to offsets[i + 1]."""


def sample(n: int, width: int) -> Integers:
    """The samples that are queried for their neighbours: all of few, else equally spaced ones."""
    count = (
        n if n <= ALL_SAMPLES else int(np.clip(MAX_READS // (n * (width + READS_PER_SAMPLE)), MIN_QUERIES, MAX_QUERIES))
    )
    return (np.arange(count) * n) // max(1, count)


def neighbours(
    stored: dict[str, tuple[Any, Any]],
    rows: Rows,
    *,
    metric: Any,
    params: dict[str, Any],
    k: int | None,
    radius: float | None,
    numbers: Integers,
    queries: Array,
    search: Callable[[Array, Integers], Answer],
    status: str = "solved",
) -> Certificate:
    """The certificate of stored samples, whose targets are their numbers, and of which those of weight zero are left
    out.

    `stored` has for each name what the model stores and what it was given. `search` returns the neighbours of the
    `queries`, which are the samples of these `numbers`: the k nearest or those within a radius, none of which is the
    sample itself. Distances are compared with those of plain loops, in units of the largest distance of the query:
    those of the returned samples, and the smallest of all.
    """
    pairs: dict[str, Pair] = {name: same(*pair) for name, pair in stored.items()}
    if numbers.size and (k is None or k > 0):
        offsets, distances, near = search(queries, numbers)
        counts = np.diff(offsets)
        most = int(counts.max(initial=0))
        params = complete_parameters(metric, params, rows)
        measured: Measured = rows.fold(partial(_measure, metric, params, queries, numbers, offsets, near, most + 1))
        pairs |= _compare(measured, offsets, np.asarray(distances, dtype=np.float64), near, k, radius)
    n = rows.shape[0]
    share = "all rows" if len(numbers) == n else f"{len(numbers)} of {n} rows"
    note = f"Every row is stored; the neighbours of {share} were found again by plain distances."
    return exact(pairs, floor=ROUNDING, status=status, note=note)


@dataclass(frozen=True, slots=True)
class Measured:
    """Plain distances of m queries to some rows: the largest (m,), the smallest (m, l) in order, and those of the rows
    that were returned (r,), not a number where such a row is not among them.
    """

    largest: Floats
    smallest: Floats
    returned: Floats

    def merge(self, other: "Measured") -> "Measured":
        both = np.sort(np.concatenate([self.smallest, other.smallest], axis=1), axis=1)
        return Measured(
            np.maximum(self.largest, other.largest),
            both[:, : max(self.smallest.shape[1], other.smallest.shape[1])],
            np.where(np.isnan(self.returned), other.returned, self.returned),
        )


def _measure(
    metric: Any,
    params: dict[str, Any],
    queries: Array,
    numbers: Integers,
    offsets: Integers,
    near: Integers,
    most: int,
    block: Block,
) -> Measured:
    m, p = queries.shape
    result = Measured(np.zeros(m), np.full((m, most), np.inf), np.full(len(near), np.nan))
    step = max(1, TILE_VALUES // (m + (p if is_sparse(block.X) else 0)))
    for start in range(0, block.X.shape[0], step):
        piece = slice(start, min(start + step, block.X.shape[0]))
        X = some_rows(block.X, piece)
        weight = None if block.weight is None else block.weight[piece]
        table = plain_distances(metric, params, X, queries)
        first = int(on_host(block.y[piece, 0])[0])
        result = result.merge(_measure_table(table, first, weight, numbers, offsets, near, most))
    return result


def _measure_table(
    table: Array, first: int, weight: Array | None, numbers: Integers, offsets: Integers, near: Integers, most: int
) -> Measured:
    """From distances (m, l) of the queries to rows that are numbered from `first` on."""
    xp, (m, n) = namespace(table), table.shape
    inside = (near >= first) & (near < first + n)
    returned = np.full(len(near), np.nan)
    flat = np.repeat(np.arange(m), np.diff(offsets))[inside] * n + (near[inside] - first)
    returned[inside] = on_host(xp.take(xp.reshape(table, (-1,)), like(flat, table), axis=0))
    if is_numpy(table):
        own = np.flatnonzero((numbers >= first) & (numbers < first + n))
        excluded = table, (own, numbers[own] - first), slice(0, 0) if weight is None else weight == 0.0
        _exclude(*excluded, 0.0)
        largest = table.max(axis=1)
        if not np.isfinite(largest).all():
            largest = np.max(table, axis=1, where=np.isfinite(table), initial=0.0)
        _exclude(*excluded, np.inf)
        smallest = _confirm_nearest(table, near - first, most) if inside.all() else None
        if smallest is None:
            smallest = np.sort(np.partition(table, most - 1, axis=1)[:, :most] if most < n else table, axis=1)
        return Measured(largest, smallest, returned)
    columns = like(np.arange(first, first + n), table)
    out = columns[None, :] == like(numbers, table)[:, None]
    out = out if weight is None else out | (weight == 0.0)[None, :]
    table = xp.where(out, np.inf * xp.ones_like(table), table)
    largest = xp.max(xp.where(xp.isfinite(table), table, xp.zeros_like(table)), axis=1)
    return Measured(on_host(largest), on_host(xp.sort(table, axis=1)[:, :most]), returned)


def _exclude(table: Floats, own: tuple[Integers, Integers], weightless: Any, value: float) -> None:
    """Set the distances of queries to themselves and to samples of weight zero."""
    table[own] = value
    table[:, weightless] = value


def _confirm_nearest(table: Floats, near: Integers, most: int) -> Floats | None:
    """The `most` smallest distances (m, most) of each query where all but the last are those of the returned samples:
    no other one is smaller than these. One pass in place of a partition; None where they are not.
    """
    m, n = table.shape
    if len(near) != m * (most - 1) or not 1 < most < n:
        return None
    by_query = near.reshape(m, -1)
    place = np.arange(m)[:, None], by_query
    if not np.all(np.diff(np.sort(by_query, axis=1), axis=1)):
        return None
    returned = table[place]
    table[place] = np.inf
    others, nearest = table.min(axis=1), np.sort(returned, axis=1)
    table[place] = returned
    return np.column_stack([nearest, others]) if np.all(nearest[:, -1] <= others) else None


def _compare(
    measured: Measured, offsets: Integers, distances: Floats, near: Integers, k: int | None, radius: float | None
) -> dict[str, Pair]:
    """Returned distances beside plain ones: those of the returned samples, and the smallest of all."""
    counts = np.diff(offsets)
    m, query = len(counts), np.repeat(np.arange(len(counts)), counts)
    unit = np.where(measured.largest > 0.0, measured.largest, 1.0)
    if k is not None:
        right = counts == k
    else:  # samples at the radius up to rounding may be in or out
        padded = np.concatenate([np.full((m, 1), -np.inf), measured.smallest], axis=1)
        last, after = padded[np.arange(m), counts], padded[np.arange(m), counts + 1]
        edge, within = ROUNDING * unit, float(radius or 0.0)
        right = (last <= within + edge) & (after >= within - edge)
    if not right.all():
        return {"neighbours": (np.zeros(0), np.zeros(1), 1.0)}
    order = _order_within(near, query, counts)
    twice = (np.diff(query[order]) == 0) & (np.diff(near[order]) == 0)
    returned = measured.returned
    if twice.any():
        returned = np.where(np.isin(query, query[order][1:][twice]), np.nan, returned)
    place = np.arange(len(query)) - offsets[:-1][query]
    ordered = distances[_order_within(distances, query, counts)]
    return {
        "distances": (distances, returned, unit[query]),
        "neighbours": (ordered, measured.smallest[query, place], unit[query]),
    }


def _order_within(values: Array, query: Integers, counts: Integers) -> Integers:
    """The order (r,) of the values of each query."""
    if len(counts) and np.all(counts == counts[0]):
        by_query = np.argsort(values.reshape(len(counts), -1), axis=1, kind="stable")
        return np.asarray(by_query + np.arange(len(counts))[:, None] * int(counts[0])).ravel()
    return np.lexsort((values, query))


def same(kept: Any, given: Any) -> Pair:
    """Whether two arrays are equal, number by number; classes by their names."""
    if is_sparse(kept) or is_sparse(given):
        if not (is_sparse(kept) and is_sparse(given)) or kept.shape != given.shape:
            return np.zeros(0), np.ones(1), 1.0
        away = abs(kept - given)
        return np.array([away.max() if away.nnz else 0.0]), np.zeros(1), 1.0
    kept, given = np.asarray(kept), np.asarray(given)
    if kept.shape != given.shape:
        return np.zeros(0), np.ones(1), 1.0
    if kept.dtype.kind in "fiub" and given.dtype.kind in "fiub":
        return kept, given, np.maximum(np.abs(given.astype(np.float64)), np.finfo(np.float64).tiny)
    return (kept != given).astype(np.float64), np.zeros(given.shape), 1.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A number (mod 2^64) that rows, targets or weights that differ anywhere share by chance alone: marks of the rows
    h_i come to ``sum_i s^(n - 1 - i) h_i`` with s odd, whatever the blocks.
    """

    count: int
    value: int

    def merge(self, other: "Mark") -> "Mark":
        moved = self.value * pow(HASH_MULTIPLIER, other.count, 1 << 64)
        return Mark(self.count + other.count, (moved + other.value) % (1 << 64))


HASH_MULTIPLIER = 0x9E3779B97F4A7C15


def mark(rows: Rows) -> Floats:
    """The mark of all rows, in halves, which are numbers in float64."""
    total: Mark = rows.fold(_mark)
    return np.array([total.value >> 32, total.value & 0xFFFFFFFF], dtype=np.float64)


def _mark(block: Block) -> Mark:
    X, m = block.X, block.X.shape[0]
    if is_sparse(X):
        X = X.copy()
        X.sum_duplicates()
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(_mix(X.data, X.indices), dtype=np.uint64)])
        each = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    else:
        each = np.zeros(m, dtype=np.uint64)
        for j in range(X.shape[1]):
            each += _mix(X[:, j], np.full(m, j))
    beside = [*block.y.T, *([] if block.weight is None else [block.weight])]
    for j, column in enumerate(beside):
        each += _mix(column, np.full(m, X.shape[1] + j))
    powers = np.full(m, HASH_MULTIPLIER, dtype=np.uint64)
    powers[:1] = 1
    powers = np.multiply.accumulate(powers)[::-1]
    return Mark(m, int(np.sum(_scramble(each) * powers, dtype=np.uint64)))


def _mix(values: Array, columns: Integers) -> Any:
    """A number of each entry from its bits and its column; both zeros are one."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return _scramble(bits + _scramble(columns.astype(np.uint64) + np.uint64(1)))


def _scramble(x: Any) -> Any:
    """All bits of a number from each of them (splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def plain_distances(metric: Any, params: dict[str, Any], X: Array, Q: Array) -> Array:
    """Distances (m, n) in float64 by SciPy, or by formulas that no search uses."""
    if is_array_api(X):
        return plain_distances_on_device(metric, params, X, Q)
    if metric == "pyfunc":
        params = dict(params)
        metric = params.pop("func")
    if callable(metric):
        rows = one_by_one(X)
        return np.array([[metric(q, x, **params) for x in rows] for q in one_by_one(Q)], dtype=np.float64)
    X, Q = (np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64) for part in (X, Q))
    if metric == "precomputed":
        return Q.copy()
    if metric == "ordinal":
        return _rank_distances(X, Q, params.get("levels"))
    if metric in FORMULAS:
        return FORMULAS[metric](X, Q)
    name = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock", "infinity": "chebyshev", "p": "minkowski"}
    name = name.get(metric, metric)
    if name in ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"):
        return np.nan_to_num(cdist(Q != 0, X != 0, name), nan=0.0)
    if name == "seuclidean":
        params = {"V": np.var(X, axis=0, ddof=1), **params}
    if name == "mahalanobis":
        params = {"VI": _inverse(X, params)}
    table = cdist(Q, X, name, **{key: value for key, value in params.items() if value is not None})
    undefined = {"braycurtis": 0.0, "cosine": 1.0, "correlation": 1.0}.get(name)
    return table if undefined is None else np.nan_to_num(table, nan=undefined)


def plain_distances_on_device(metric: str, params: dict[str, Any], X: Array, Q: Array) -> Array:
    """The same for samples of another library, where they are: query by query."""
    xp = namespace(X)
    X, Q = xp.astype(X, xp.float64, copy=False), xp.astype(like(Q, X), xp.float64, copy=False)
    if metric in ("cosine", "correlation"):
        if metric == "correlation":
            X, Q = (part - xp.mean(part, axis=1, keepdims=True) for part in (X, Q))
        x, q = xp.sqrt(xp.sum(X * X, axis=1)), xp.sqrt(xp.sum(Q * Q, axis=1))
        size = q[:, None] * x[None, :]
        return 1.0 - xp.where(
            size > 0.0, xp.matmul(Q, X.T) / xp.where(size > 0.0, size, xp.ones_like(size)), 0.0 * size
        )
    power = {"euclidean": 2.0, "l2": 2.0, "sqeuclidean": 2.0, "seuclidean": 2.0, "mahalanobis": 2.0}
    power |= {"manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": np.inf, "infinity": np.inf}
    p = float(params.get("p", 2.0)) if metric in ("minkowski", "p") else power[metric]
    w = params.get("w") if metric in ("minkowski", "p") else None
    w = 1.0 / np.asarray(params["V"]) if metric == "seuclidean" else w
    w = None if w is None else like(np.asarray(w, dtype=np.float64), X)
    inverse = like(_inverse(np.zeros((0, X.shape[1])), params), X) if metric == "mahalanobis" else None
    distances = []
    for i in range(Q.shape[0]):
        away = xp.abs(X - Q[i, :]) if inverse is None else X - Q[i, :]
        if inverse is not None:
            distances.append(xp.sqrt(xp.sum(xp.matmul(away, inverse) * away, axis=1)))
        elif p == np.inf:
            distances.append(xp.max(away, axis=1))
        else:
            terms = away**p if w is None else w * away**p
            total = xp.sum(terms, axis=1)
            distances.append(total if metric == "sqeuclidean" else total ** (1.0 / p))
    return xp.stack(distances, axis=0)


def complete_parameters(metric: Any, params: dict[str, Any], rows: Rows) -> dict[str, Any]:
    """The parameters of a distance, with those that are read off all rows that count: variances, a covariance, or the
    values of each column.
    """
    if metric == "ordinal" and isinstance(rows, MemoryRows):
        X = rows.X if rows.weight is None else rows.X[rows.weight > 0.0]
        return {**params, "levels": [np.unique(column) for column in np.asarray(X, dtype=np.float64).T]}
    if not isinstance(metric, str) or metric not in ("seuclidean", "mahalanobis"):
        return params
    if params.get("V") is not None or params.get("VI") is not None:
        return params
    about = rows.fold(partial(_spread_block, np.zeros(rows.shape[1])))
    total = rows.fold(partial(_spread_block, about.sums / about.count))
    spread = total.products / max(1.0, total.count - 1.0)
    return {**params, "V": np.diag(spread).copy() if metric == "seuclidean" else spread}


@dataclass(frozen=True, slots=True)
class Spread:
    """Sums and products of rows about a place."""

    count: float
    sums: Floats
    products: Floats

    def merge(self, other: "Spread") -> "Spread":
        return Spread(self.count + other.count, self.sums + other.sums, self.products + other.products)


def _spread_block(place: Floats, block: Block) -> Spread:
    xp = namespace(block.X)
    X = xp.astype(block.X, xp.float64, copy=False) - like(place, block.X)
    some = xp.ones_like(X[:, 0]) if block.weight is None else xp.astype(block.weight > 0.0, xp.float64)
    X = X * some[:, None]
    return Spread(float(xp.sum(some)), on_host(xp.sum(X, axis=0)), on_host(xp.matmul(X.T, X)))


def _inverse(X: Floats, params: dict[str, Any]) -> Floats:
    if params.get("VI") is not None:
        return np.asarray(params["VI"], dtype=np.float64)
    V = params["V"] if params.get("V") is not None else np.cov(X, rowvar=False).reshape(X.shape[1], X.shape[1])
    return np.linalg.inv(np.asarray(V, dtype=np.float64))


def _on_sphere(X: Floats, Q: Floats) -> Floats:
    """Angles from chords: twice the arc sine of half of each."""

    def places(P: Floats) -> Floats:
        up, around = P[:, 0], P[:, 1]
        return np.column_stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])

    return 2.0 * np.arcsin(np.minimum(1.0, 0.5 * cdist(places(Q), places(X))))


def _nan_euclidean(X: Floats, Q: Floats) -> Floats:
    known = (~np.isnan(Q)).astype(np.float64) @ (~np.isnan(X)).astype(np.float64).T
    squares = np.array([np.nansum((X - q) ** 2, axis=1) for q in Q])
    with np.errstate(invalid="ignore", divide="ignore"):
        distances = np.sqrt(squares * X.shape[1] / known)
    return np.where(np.isnan(distances), np.inf, distances)


def _rank_distances(X: Floats, Q: Floats, levels_of: list[Floats] | None) -> Floats:
    """City blocks of ranks among the values of all rows; counted, not searched for."""
    seen = [np.unique(column) for column in X.T] if levels_of is None else levels_of

    def ranks(P: Floats) -> Floats:
        places = np.empty(P.shape)
        for j in range(X.shape[1]):
            levels = seen[j]
            less = (levels[None, :] < P[:, j, None]).sum(axis=1)
            equal = (levels[None, :] == P[:, j, None]).sum(axis=1)
            places[:, j] = (less + 0.5 * (equal + 1.0)) / len(levels)
        return places

    return cdist(ranks(Q), ranks(X), "cityblock")


def _sokal_michener(X: Floats, Q: Floats) -> Floats:
    apart = cdist(Q != 0, X != 0, "hamming")
    return 2.0 * apart / (1.0 + apart)


FORMULAS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "haversine": _on_sphere,
    "nan_euclidean": _nan_euclidean,
    "sokalmichener": _sokal_michener,
}
