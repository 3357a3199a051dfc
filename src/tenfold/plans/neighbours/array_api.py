"""Neighbours among rows of another library: in the Array API, where the rows are, a tile of them at a time.

Squares of distances go by products, as in the compiled search but in float64: with alpha and beta the rows and queries
about the middle of a tile, n and m their squares, u = 2^-53 and e = (2 d + 16) u, the computed value of
``(1 - e) n_j - 2 alpha_j . beta_i`` of a row whose squared distance is at most D is not above ``D - (1 - e) m_i``. A
few rows more than asked for are taken by these values and measured entry by entry; where the last of them is still not
above that of the farthest that is needed, a row may have been missed, and all rows of the tile are measured. Sums go
column by column, so that a distance has the same bits whoever takes it.
"""

from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, along_rows, like, namespace, on_host, smallest
from tenfold.data import Block, Deferred
from tenfold.distances import Distance, Minkowski
from tenfold.plans.neighbours.index import LARGEST, SIZES, SQUARES, Near, code_of
from tenfold.plans.neighbours.topk_merge import Inside, Shortlist

TILE = 1 << 16
"""Rows of a tile."""
PIECE = 1 << 24
"""Numbers of a temporary array."""
SPARE = 8
"""Candidates beyond those that are asked for."""


def is_possible(distance: Distance) -> bool:
    """Whether rows of another library can be compared: Minkowski's distances of mapped rows."""
    return isinstance(distance, Minkowski)


def nearest_in_arrays(distance: Distance, queries: Array, k: int, block: Block) -> Deferred[Shortlist]:
    """The shortlist of a block, of which a device is told and not asked."""
    assert isinstance(distance, Minkowski)
    xp, Q = namespace(block.X), distance.image(queries, True)
    n, p = block.X.shape[0], Q.shape[1]
    step = max(1, PIECE // max(min(n, TILE), (k + SPARE) * p))
    cuts = [(start, min(Q.shape[0], start + step)) for start in range(0, Q.shape[0], step)]
    found: list[Any] = [None] * len(cuts)
    for begin in range(0, n, TILE):
        end = min(n, begin + TILE)
        X = distance.image(block.X[begin:end, :], False)
        none = None if block.weight is None else block.weight[begin:end] == 0.0
        for i, (start, stop) in enumerate(cuts):
            more = _nearest_of_tile(distance, X, Q[start:stop, :], k, none)
            found[i] = _merged(found[i], (more[0], more[1] + begin), k)
    distances, rows = (xp.concat([part[i] for part in found], axis=0) for i in range(2))
    m, width, t = rows.shape[0], rows.shape[1], block.y.shape[1]
    flat = xp.reshape(rows, (-1,))
    parts = [distances, xp.astype(rows, xp.float64), xp.reshape(xp.take(block.y, flat, axis=0), (m, width, t))]
    if block.weight is not None:
        parts.append(xp.reshape(xp.take(block.weight, flat, axis=0), (m, width)))
    return Deferred.of(parts, partial(_shortlist, k, n))


def _shortlist(
    most: int, count: int, _: Any, distances: Floats, rows: Floats, targets: Floats, weights: Floats | None = None
) -> Shortlist:
    return Shortlist(most, count, distances, rows.astype(np.int64), targets, weights)


def _merged(before: Any, more: tuple[Array, Array], k: int) -> tuple[Array, Array]:
    """The first k of two lists, by distance and then by row."""
    if before is None:
        return more
    xp = namespace(more[0])
    distances, rows = (xp.concat(parts, axis=1) for parts in zip(before, more, strict=True))
    order = xp.argsort(distances, axis=1)[:, :k]
    return along_rows(distances, order), along_rows(rows, order)


def _nearest_of_tile(distance: Minkowski, X: Array, Q: Array, k: int, none: Array | None) -> tuple[Array, Array]:
    """Distances and rows of the k nearest of a tile, or of all where there are fewer; `none` of a row says that it does
    not count, and is infinitely far.
    """
    xp, code = namespace(X), code_of(distance)
    k = min(k, X.shape[0])
    if code != SQUARES or X.shape[0] <= k + SPARE:
        return _first(_far(measured(X, Q, code, distance.p), none), k)
    centre, e = xp.mean(X, axis=0), (2.0 * X.shape[1] + 16.0) * 2.0**-53
    alpha, beta = X - centre, Q - centre
    lower = (1.0 - e) * xp.sum(alpha * alpha, axis=1) - 2.0 * xp.matmul(beta, alpha.T)
    values, rows = smallest(_far(lower, none), k + SPARE)
    rows = xp.sort(rows, axis=1)
    near = xp.reshape(xp.take(X, xp.reshape(rows, (-1,)), axis=0), (*rows.shape, X.shape[1]))
    distances = measured(near, Q, code, distance.p)
    if none is not None:
        away = xp.reshape(xp.take(none, xp.reshape(rows, (-1,)), axis=0), rows.shape)
        distances = xp.where(away, np.inf * xp.ones_like(distances), distances)
    best, order = _first(distances, k)
    rows = along_rows(rows, order)
    allowed = best[:, -1] - (1.0 - e) * xp.sum(beta * beta, axis=1)
    unsure = ~(xp.max(values, axis=1) > allowed)
    if bool(xp.any(unsure)):
        (which,) = xp.nonzero(unsure)
        some = _first(_far(measured(X, xp.take(Q, which, axis=0), code, distance.p), none), k)
        place = xp.cumulative_sum(xp.astype(unsure, xp.int64)) - 1
        place = xp.where(unsure, place, xp.zeros_like(place))
        best = xp.where(unsure[:, None], xp.take(some[0], place, axis=0), best)
        rows = xp.where(unsure[:, None], xp.take(some[1], place, axis=0), rows)
    return best, rows


def _first(distances: Array, k: int) -> tuple[Array, Array]:
    """The k smallest of each query and their places, of equals the first first."""
    order = namespace(distances).argsort(distances, axis=1)[:, :k]
    return along_rows(distances, order), order


def _far(distances: Array, none: Array | None) -> Array:
    if none is None:
        return distances
    return namespace(distances).where(none[None, :], np.inf * namespace(distances).ones_like(distances), distances)


def measured(X: Array, Q: Array, code: int, p: float) -> Array:
    """Distances (m, n) of queries (m, d) to rows (n, d), or to rows (m, n, d) of their own, in the unit of the
    searches; column by column.
    """
    xp = namespace(X)
    total = None
    for j in range(Q.shape[1]):
        away = (X[None, :, j] if X.ndim == 2 else X[:, :, j]) - Q[:, j][:, None]
        size = away * away if code == SQUARES else xp.abs(away)
        size = size if code in (SQUARES, SIZES, LARGEST) else size**p
        total = size if total is None else xp.maximum(total, size) if code == LARGEST else total + size
    assert total is not None
    return total


def inside_in_arrays(distance: Distance, queries: Array, limits: Floats, block: Block) -> Inside:
    """The rows of a block within limits: their numbers, distances and targets leave the device."""
    assert isinstance(distance, Minkowski)
    xp, Q, code = namespace(block.X), distance.image(queries, True), code_of(distance)
    n, m, far, parts = block.X.shape[0], Q.shape[0], like(limits, block.X), []
    step = max(1, PIECE // min(n, TILE))
    for start in range(0, m, step):
        stop, found = min(m, start + step), []
        for begin in range(0, n, TILE):
            end = min(n, begin + TILE)
            X = distance.image(block.X[begin:end, :], False)
            away = measured(X, Q[start:stop, :], code, distance.p)
            near = away <= far[start:stop][:, None]
            if block.weight is not None:
                near = near & (block.weight[begin:end] > 0.0)[None, :]
            query, row = xp.nonzero(near)
            flat = xp.reshape(away, (-1,))
            values = xp.take(flat, query * away.shape[1] + row, axis=0)
            targets = xp.take(block.y[begin:end, :], row, axis=0)
            weights = None if block.weight is None else xp.take(block.weight[begin:end], row, axis=0)
            found.append((query, row + begin, values, targets, weights))
        parts.append(_near(found, stop - start))
    return Inside(n, (_stacked(parts),))


def _near(found: list[tuple[Any, ...]], m: int) -> Near:
    query, rows, distances, targets, weights = map(_together, zip(*found, strict=True))
    order = np.argsort(query, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=m))])
    return Near(offsets, distances[order], rows[order], targets[order], None if weights is None else weights[order])


def _stacked(parts: list[Near]) -> Near:
    """Lists of some queries, and then of more."""
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return Near(np.concatenate([[0], np.cumsum(counts)]), *map(_together, list(zip(*parts, strict=True))[1:]))


def _together(parts: Any) -> Any:
    """Arrays one after the other, in memory; nothing of nothing."""
    return None if parts[0] is None else np.concatenate([on_host(part) for part in parts])
