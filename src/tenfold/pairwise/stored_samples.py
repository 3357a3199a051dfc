"""Samples in memory that queries are compared with: neighbours of a distance, and tiles of a function of pairs.

`StoredSamples` searches neighbours by the form that fits its distance (`searches`). `StoredPoints` evaluates a
`PairFunction`: a block (queries x samples) written out, a product K V by tiles without K in memory, the diagonal.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tenfold import _core
from tenfold.arrays import FLOATS, Array, Floats, Integers, entries, is_array_api, is_sparse, like, namespace
from tenfold.distances import Distance
from tenfold.machine import require_memory, threads
from tenfold.pairwise.array_api import compute_reduced_distances
from tenfold.pairwise.functions import SQUARES, PairFunction, compute_squared_lengths
from tenfold.pairwise.neighbour_lists import Neighbours
from tenfold.pairwise.query_pieces import cut_queries, take_piece
from tenfold.pairwise.searches import SQUARES as DIFFERENCES
from tenfold.pairwise.searches import Search, SearchOptions, build_search, to_csr, to_dense, to_reduced

TILE_VALUES = 1 << 22  # of a tile in the Array API or of sparse samples: 32 MiB in float64


@dataclass(frozen=True)
class StoredSamples:
    """Samples in memory, in the form in which their neighbours are searched."""

    distance: Distance
    search: Search

    @property
    def count(self) -> int:
        """The number of samples."""
        return int(self.search.samples.shape[0])

    def nearest(
        self, queries: Array, k: int, own: Integers | None = None, *, reduced: bool = False
    ) -> tuple[Floats, Integers]:
        """Distances and rows of the k nearest, (m, k), the nearest first, and of equal distances the first row first;
        own is the row that a query is itself, or -1: it is no neighbour.
        """
        size = 16 * queries.shape[0] * k
        require_memory(f"{k} neighbours of {queries.shape[0]} queries", size, "Ask for fewer queries at a time.")
        parts = [
            self.search(queries[piece], SearchOptions(k, None, True, take_piece(own, piece), reduced))
            for piece in cut_queries(queries.shape[0], entries(self.search.samples))
        ]
        if len(parts) == 1:
            return parts[0]
        distances = np.concatenate([np.zeros((0, k)), *(part[0] for part in parts)])
        return distances, np.concatenate([np.zeros((0, k), dtype=np.int64), *(part[1] for part in parts)])

    def within(
        self,
        queries: Array,
        radius: Any,
        own: Integers | None = None,
        *,
        by_distance: bool = False,
        reduced: bool = False,
    ) -> Neighbours:
        """All samples within a radius, a number or one for each query; in their order, or by distance."""
        limits = to_reduced(self.distance, radius, queries.shape[0])
        parts = [
            self.search(queries[piece], SearchOptions(0, limits[piece], by_distance, take_piece(own, piece), reduced))
            for piece in cut_queries(queries.shape[0], entries(self.search.samples))
        ]
        if len(parts) == 1:
            return Neighbours(*parts[0])
        counts = [np.zeros(1, dtype=np.int64), *(np.diff(offsets) for offsets, *_ in parts)]
        distances = np.concatenate([np.zeros(0), *(part[1] for part in parts)])
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(part[2] for part in parts)])
        return Neighbours(np.cumsum(np.concatenate(counts)), distances, rows)


def store_samples(distance: Distance, X: Array, algorithm: str = "auto") -> StoredSamples:
    """Samples X (n, p), dense or sparse, for searches of neighbours."""
    return StoredSamples(distance, build_search(distance, X, algorithm))


@dataclass(frozen=True)
class StoredPoints:
    """Samples X (n, p) whose kernel blocks are evaluated: float32 or float64, sparse, or an array of another library.

    Dense NumPy samples go through the compiled tiles, all others tile by tile in the Array API. Squared distances are
    formed about the mean of the samples from their squared lengths, which are computed once.
    """

    X: Array

    @cached_property
    def centre(self) -> Array:
        """The mean of the samples (p,); zero for sparse ones."""
        if is_sparse(self.X):
            return np.zeros(self.X.shape[1])
        xp = namespace(self.X)
        return xp.mean(xp.astype(self.X, xp.float64, copy=False), axis=0)

    @cached_property
    def squares(self) -> Array:
        """Squared distances of the samples from the centre (n,)."""
        return _squares_about(self.X, self.centre)

    @property
    def _is_compiled(self) -> bool:
        return not is_sparse(self.X) and not is_array_api(self.X)

    def block(self, queries: Array, function: PairFunction) -> Array:
        """All values k(q_i, x_j), (m, n), where the samples are."""
        m, n = queries.shape[0], self.X.shape[0]
        require_memory(f"The kernel of {m} queries and {n} samples", 8 * m * n, "Use products, or fewer queries.")
        if self._is_compiled and function.is_compiled:
            count = threads(entries(self.X) * max(1, m))
            parts = [
                _core.pairwise_block(_samples(self.X), to_dense(queries[piece]), *function.arguments, count)
                for piece in cut_queries(m, entries(self.X))
            ]
            return parts[0] if len(parts) == 1 else np.concatenate([np.zeros((0, n)), *parts])
        return function.evaluate(self._base(queries, function))

    def multiply(self, queries: Array, function: PairFunction, V: Array) -> Array:
        """K V, (m, t), for vectors V (n, t): by tiles, K is never in memory as a whole."""
        m = queries.shape[0]
        if self._is_compiled:
            vectors = np.ascontiguousarray(np.asarray(V, dtype=np.float64).T)
            count = threads(entries(self.X) * max(1, m))
            parts = [
                _core.pairwise_product(_samples(self.X), to_dense(queries[piece]), vectors, *function.arguments, count)
                for piece in cut_queries(m, entries(self.X))
            ]
            return parts[0] if len(parts) == 1 else np.concatenate([np.zeros((0, V.shape[1])), *parts])
        step = max(1, TILE_VALUES // max(1, self.X.shape[0]))
        tiles = [queries[start : min(m, start + step), :] for start in range(0, max(m, 1), step)]
        xp = namespace(V)
        return xp.concat([xp.matmul(function.evaluate(self._base(tile, function)), V) for tile in tiles], axis=0)

    def diagonal(self, function: PairFunction) -> Array:
        """k(x_i, x_i), (n,), where the samples are."""
        if function.name == "subsets":
            return np.prod(1.0 + np.asarray(self.X, dtype=np.float64) ** 2, axis=1)
        about_zero = like(np.zeros(self.X.shape[1]), self.X) if is_array_api(self.X) else np.zeros(self.X.shape[1])
        return function.diagonal(_squares_about(self.X, about_zero))

    def _base(self, queries: Array, function: PairFunction) -> Array:
        """Inner products or squared distances (m, n), of sparse samples or in the Array API. Where a root follows,
        dense squared distances are sums of squared differences: products would leave the root of their rounding.
        """
        X, centre = self.X, self.centre
        if function.base not in (0, 1):
            return _entrywise(X, queries, function.base)
        if self._is_compiled and function.base == SQUARES:
            return self.block(queries, PairFunction("squares"))
        if function.takes_root and not is_sparse(X):
            X, queries = (namespace(X).astype(part, namespace(X).float64, copy=False) for part in (X, queries))
            return compute_reduced_distances(X, queries, DIFFERENCES, 2.0)
        if is_sparse(X):
            products: Array = to_csr(queries) @ to_csr(X).T
            products = products.toarray()
        else:
            xp = namespace(X)
            X, queries = (xp.astype(part, xp.float64, copy=False) for part in (X, queries))
            products = xp.matmul(queries - centre, (X - centre).T) if function.base == SQUARES else queries @ X.T
        if function.base != SQUARES:
            return products
        squares = _squares_about(queries, centre)[:, None] + self.squares[None, :] - 2.0 * products
        return namespace(squares).where(squares > 0.0, squares, namespace(squares).zeros_like(squares))


def _entrywise(X: Array, queries: Array, base: int) -> Array:
    """Sums or products over the features."""
    X, queries = (part.toarray() if is_sparse(part) else part for part in (X, queries))
    xp = namespace(X)
    X, queries = (xp.astype(part, xp.float64, copy=False) for part in (X, queries))
    total = queries[:, [0]] * X[:, 0][None, :] * 0.0 + (1.0 if base == 3 else 0.0)
    for j in range(X.shape[1]):
        x, q = X[:, j][None, :], queries[:, [j]]
        if base == 3:
            total = total * (1.0 + x * q)
        elif base == 2:
            total = total + abs(x - q)
        else:
            size = x + q
            total = total + xp.where(size > 0.0, (x - q) ** 2 / xp.where(size > 0.0, size, 1.0 + size), 0.0 * size)
    return total


def _samples(X: Array) -> Floats:
    return np.ascontiguousarray(X, dtype=None if X.dtype in FLOATS else np.float64)


def _squares_about(X: Array, centre: Array) -> Array:
    """Squared distances from a centre (n,), where the samples are; sparse samples are taken about zero."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    xp = namespace(X)
    centred = xp.astype(X, xp.float64, copy=False) - centre
    return compute_squared_lengths(centred) if not is_array_api(X) else xp.sum(centred * centred, axis=1)
