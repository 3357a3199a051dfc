"""Tiles of pairs in the Array API: neighbours and distances where the samples of another library are.

Squared distances go by products, as in the compiled search but in float64: with alpha and beta the samples and queries
about the mean of a tile, n and m their squared lengths, u = 2^-53 and e = (2 d + 16) u, the computed value of
``(1 - e) n_j - 2 alpha_j . beta_i`` of a sample whose squared distance is at most D is not above ``D - (1 - e) m_i``. A
few candidates more than k are taken by these values and measured entry by entry; where the last of them is not above
the bound of the k-th distance, a neighbour may be missing, and all samples of the tile are measured. Sums go feature
by feature, so that a distance has the same bits in every tile.
"""

from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, along_rows, like, namespace, on_accelerator, on_host, smallest
from tenfold.data import Block, Deferred
from tenfold.distances import Distance, Minkowski
from tenfold.pairwise.neighbour_lists import Neighbours, TopK, WithinRadius
from tenfold.pairwise.searches import LARGEST, SIZES, SQUARES, metric_code

TILE_SAMPLES = 1 << 16  # stored samples of a tile on a device
TILE_VALUES = 1 << 24  # of a temporary array on the host: 128 MiB in float64
ACCELERATOR_TILE_VALUES = 1 << 27  # on a GPU, where calls are many and short below (neighbours 300k x 60 on an H200)
SPARE_CANDIDATES = 8  # beyond k: the rounding of the products seldom moves a neighbour further


def count_tile_values(X: Array) -> int:
    """The entries of a temporary array where X is."""
    return ACCELERATOR_TILE_VALUES if on_accelerator(X) else TILE_VALUES


def supports_distance(distance: Distance) -> bool:
    """Whether samples of another library have this distance: Minkowski's of mapped samples."""
    return isinstance(distance, Minkowski)


def find_nearest(distance: Distance, queries: Array, k: int, block: Block) -> Deferred[TopK]:
    """The k nearest samples of a block; the device is not waited for."""
    assert isinstance(distance, Minkowski)
    xp, Q = namespace(block.X), distance.image(queries, True)
    n, p = block.X.shape[0], Q.shape[1]
    step = max(1, count_tile_values(block.X) // max(min(n, TILE_SAMPLES), (k + SPARE_CANDIDATES) * p))
    pieces = [(start, min(Q.shape[0], start + step)) for start in range(0, Q.shape[0], step)]
    lists: list[Any] = [None] * len(pieces)
    for begin in range(0, n, TILE_SAMPLES):
        end = min(n, begin + TILE_SAMPLES)
        X = distance.image(block.X[begin:end, :], False)
        excluded = None if block.weight is None else block.weight[begin:end] == 0.0
        for i, (start, stop) in enumerate(pieces):
            distances, rows = _nearest_of_tile(distance, X, Q[start:stop, :], k, excluded)
            lists[i] = _merge(lists[i], (distances, rows + begin), k)
    distances, rows = (xp.concat([part[i] for part in lists], axis=0) for i in range(2))
    m, width, t = rows.shape[0], rows.shape[1], block.y.shape[1]
    flat = xp.reshape(rows, (-1,))
    parts = [distances, xp.astype(rows, xp.float64), xp.reshape(xp.take(block.y, flat, axis=0), (m, width, t))]
    if block.weight is not None:
        parts.append(xp.reshape(xp.take(block.weight, flat, axis=0), (m, width)))
    return Deferred.of(parts, partial(_top_k, k, n))


def _top_k(
    most: int, count: int, _: Any, distances: Floats, rows: Floats, targets: Floats, weights: Floats | None = None
) -> TopK:
    return TopK(most, count, distances, rows.astype(np.int64), targets, weights)


def _merge(before: Any, after: tuple[Array, Array], k: int) -> tuple[Array, Array]:
    """The first k of two lists, by distance and then by row."""
    if before is None:
        return after
    xp = namespace(after[0])
    distances, rows = (xp.concat(parts, axis=1) for parts in zip(before, after, strict=True))
    order = xp.argsort(distances, axis=1)[:, :k]
    return along_rows(distances, order), along_rows(rows, order)


def _nearest_of_tile(distance: Minkowski, X: Array, Q: Array, k: int, excluded: Array | None) -> tuple[Array, Array]:
    """Distances and rows of the k nearest of a tile, or of all where there are fewer; samples that are `excluded` are
    infinitely far.
    """
    xp, code = namespace(X), metric_code(distance)
    k = min(k, X.shape[0])
    if code != SQUARES or X.shape[0] <= k + SPARE_CANDIDATES:
        return _smallest_k(_exclude(compute_reduced_distances(X, Q, code, distance.p), excluded), k)
    centre, e = xp.mean(X, axis=0), (2.0 * X.shape[1] + 16.0) * 2.0**-53
    alpha, beta = X - centre, Q - centre
    lower = (1.0 - e) * xp.sum(alpha * alpha, axis=1) - 2.0 * xp.matmul(beta, alpha.T)
    values, rows = smallest(_exclude(lower, excluded), k + SPARE_CANDIDATES)
    rows = xp.sort(rows, axis=1)
    candidates = xp.reshape(xp.take(X, xp.reshape(rows, (-1,)), axis=0), (*rows.shape, X.shape[1]))
    distances = compute_reduced_distances(candidates, Q, code, distance.p)
    if excluded is not None:
        far = xp.reshape(xp.take(excluded, xp.reshape(rows, (-1,)), axis=0), rows.shape)
        distances = xp.where(far, np.inf * xp.ones_like(distances), distances)
    best, order = _smallest_k(distances, k)
    rows = along_rows(rows, order)
    allowed = best[:, -1] - (1.0 - e) * xp.sum(beta * beta, axis=1)
    unsure = ~(xp.max(values, axis=1) > allowed)
    if bool(xp.any(unsure)):
        (which,) = xp.nonzero(unsure)
        exact = compute_reduced_distances(X, xp.take(Q, which, axis=0), code, distance.p)
        some = _smallest_k(_exclude(exact, excluded), k)
        place = xp.cumulative_sum(xp.astype(unsure, xp.int64)) - 1
        place = xp.where(unsure, place, xp.zeros_like(place))
        best = xp.where(unsure[:, None], xp.take(some[0], place, axis=0), best)
        rows = xp.where(unsure[:, None], xp.take(some[1], place, axis=0), rows)
    return best, rows


def _smallest_k(distances: Array, k: int) -> tuple[Array, Array]:
    """The k smallest of each query and their places, of equals the first first."""
    order = namespace(distances).argsort(distances, axis=1)[:, :k]
    return along_rows(distances, order), order


def _exclude(distances: Array, excluded: Array | None) -> Array:
    if excluded is None:
        return distances
    xp = namespace(distances)
    return xp.where(excluded[None, :], np.inf * xp.ones_like(distances), distances)


def compute_reduced_distances(X: Array, Q: Array, code: int, p: float) -> Array:
    """Reduced distances (m, n) of queries (m, d) to samples (n, d), or to samples (m, n, d) of their own; feature by
    feature.
    """
    xp = namespace(X)

    def measure(difference: Array) -> Array:
        size = difference * difference if code == SQUARES else xp.abs(difference)
        return size if code in (SQUARES, SIZES, LARGEST) else size**p

    own = None if X.ndim == 2 else measure(X - Q[:, None, :])
    total = None
    for j in range(Q.shape[1]):
        size = measure(X[None, :, j] - Q[:, j][:, None]) if own is None else own[:, :, j]
        total = size if total is None else xp.maximum(total, size) if code == LARGEST else total + size
    assert total is not None
    return total


def find_within(distance: Distance, queries: Array, limits: Floats, block: Block) -> WithinRadius:
    """The samples of a block within limits: their rows, distances and targets leave the device."""
    assert isinstance(distance, Minkowski)
    xp, Q, code = namespace(block.X), distance.image(queries, True), metric_code(distance)
    n, m, bound, lists = block.X.shape[0], Q.shape[0], like(limits, block.X), []
    step = max(1, count_tile_values(block.X) // min(n, TILE_SAMPLES))
    for start in range(0, m, step):
        stop, parts = min(m, start + step), []
        for begin in range(0, n, TILE_SAMPLES):
            end = min(n, begin + TILE_SAMPLES)
            X = distance.image(block.X[begin:end, :], False)
            distances = compute_reduced_distances(X, Q[start:stop, :], code, distance.p)
            inside = distances <= bound[start:stop][:, None]
            if block.weight is not None:
                inside = inside & (block.weight[begin:end] > 0.0)[None, :]
            query, row = xp.nonzero(inside)
            values = xp.take(xp.reshape(distances, (-1,)), query * distances.shape[1] + row, axis=0)
            targets = xp.take(block.y[begin:end, :], row, axis=0)
            weights = None if block.weight is None else xp.take(block.weight[begin:end], row, axis=0)
            parts.append((query, row + begin, values, targets, weights))
        lists.append(_sort_by_query(parts, stop - start))
    return WithinRadius(n, (_stack(lists),))


def _sort_by_query(parts: list[tuple[Any, ...]], m: int) -> Neighbours:
    query, rows, distances, targets, weights = map(_concatenate, zip(*parts, strict=True))
    order = np.argsort(query, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=m))])
    weights = None if weights is None else weights[order]
    return Neighbours(offsets, distances[order], rows[order], targets[order], weights)


def _stack(lists: list[Neighbours]) -> Neighbours:
    """Lists of some queries, and then of others."""
    counts = np.concatenate([np.diff(part.offsets) for part in lists])
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Neighbours(offsets, *map(_concatenate, list(zip(*lists, strict=True))[1:]))


def _concatenate(parts: Any) -> Any:
    """Arrays one after the other, in memory; None of None."""
    return None if parts[0] is None else np.concatenate([on_host(part) for part in parts])
