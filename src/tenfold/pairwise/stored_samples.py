"""Samples in memory that queries are compared with: neighbours of a distance, and tiles of a function of pairs.

`StoredSamples` searches neighbours by the form that fits its distance (`searches`). `StoredPoints` evaluates a
`PairFunction`: a block (queries x samples) written out, a product K V by tiles without K in memory, the diagonal.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tenfold import _core
from tenfold.arrays import (
    FLOATS,
    Array,
    Floats,
    Integers,
    device_of,
    entries,
    is_array_api,
    is_sparse,
    like,
    namespace,
    some_rows,
)
from tenfold.distances import Distance
from tenfold.machine import require_memory, threads
from tenfold.pairwise.array_api import compute_reduced_distances
from tenfold.pairwise.functions import INNER, SIZES, SQUARES, SUBSETS, PairFunction, compute_squared_lengths
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

    def block(self, queries: Array | None, function: PairFunction, dtype: Any = np.float64) -> Array:
        """All values k(q_i, x_j), (m, n), where the samples are, in float64 or float32; queries None: of all pairs of
        samples, exactly symmetric, each pair evaluated once where the tiles are compiled.
        """
        n = self.X.shape[0]
        m, dtype = n if queries is None else queries.shape[0], np.dtype(dtype)
        instead = "Use products by tiles, fewer samples, or float32."
        require_memory(f"The kernel matrix of {m} and {n} samples", dtype.itemsize * m * n, instead)
        if self._is_compiled:
            evaluate = _core.pairwise_block if dtype == np.float64 else _core.pairwise_block_float32
            X = _samples(self.X)
            Q = None if queries is None else np.ascontiguousarray(queries, dtype=X.dtype)
            if queries is not None and queries.dtype == np.float64 and X.dtype != np.float64:
                X, Q = X.astype(np.float64), np.ascontiguousarray(queries)
            return evaluate(X, Q, *function.arguments, threads(entries(self.X) * max(1, m)))
        return self._block_by_pieces(self.X if queries is None else queries, function, dtype, queries is None)

    def _block_by_pieces(self, queries: Array, function: PairFunction, dtype: np.dtype[Any], symmetric: bool) -> Array:
        """The block in pieces of queries, so that nothing of its size is kept beside it."""
        m, n = queries.shape[0], self.X.shape[0]
        out = empty(m, n, dtype, self.X)
        for a, b in _cut(m, n):
            out[a:b, :] = cast(function.evaluate(self._base(some_rows(queries, slice(a, b)), function)), dtype)
            if symmetric:
                mirror(out, a, b)
        return out

    def multiply(self, queries: Array, function: PairFunction, V: Array) -> Array:
        """K V, (m, t), for vectors V (n, t): by tiles, K is never in memory as a whole."""
        m = queries.shape[0]
        if self._is_compiled:
            vectors = np.ascontiguousarray(np.asarray(V, dtype=np.float64).T)
            count = threads(entries(self.X) * max(1, m))
            return _core.pairwise_product(_samples(self.X), to_dense(queries), vectors, *function.arguments, count)
        tiles = [some_rows(queries, slice(a, b)) for a, b in _cut(m, self.X.shape[0])] or [queries]
        xp = namespace(V)
        return xp.concat([xp.matmul(function.evaluate(self._base(tile, function)), V) for tile in tiles], axis=0)

    def gradient(self, queries: Array, function: PairFunction, W: Array, moment: int) -> Floats:
        """sum_ij W_ij f(v_ij) of squared distances v, (1,), times 1, or v, by the moment 0 or 1; 2: times the squared
        difference of each feature, (p,). W is (m, n), the samples are dense.
        """
        X, Q = (np.ascontiguousarray(part, dtype=np.float64) for part in (self.X, queries))
        arguments = function.arguments[1:]
        return _core.pairwise_gradient(X, Q, np.ascontiguousarray(W), moment, *arguments, threads(W.size * X.shape[1]))

    def diagonal(self, function: PairFunction) -> Array:
        """k(x_i, x_i), (n,), where the samples are."""
        about_zero = like(np.zeros(self.X.shape[1]), self.X) if is_array_api(self.X) else np.zeros(self.X.shape[1])
        return function.diagonal(_squares_about(self.X, about_zero))

    def _base(self, queries: Array, function: PairFunction) -> Array:
        """Inner products or squared distances (m, n), of sparse samples or in the Array API. Where a root follows,
        dense squared distances are sums of squared differences: products would leave the root of their rounding.
        """
        X, centre = self.X, self.centre
        if function.base not in (INNER, SQUARES):
            return reduce_features(X, queries, function.base)
        if function.takes_root and not is_sparse(X):
            X, queries = (namespace(X).astype(part, namespace(X).float64, copy=False) for part in (X, queries))
            return compute_reduced_distances(X, queries, DIFFERENCES, 2.0)
        if is_sparse(X):
            products: Array = np.asarray(to_csr(X) @ to_csr(queries).toarray().T).T
        else:
            xp = namespace(X)
            X, queries = (xp.astype(part, xp.float64, copy=False) for part in (X, queries))
            products = xp.matmul(queries - centre, (X - centre).T) if function.base == SQUARES else queries @ X.T
        if function.base != SQUARES:
            return products
        squares = _squares_about(queries, centre)[:, None] + self.squares[None, :] - 2.0 * products
        return namespace(squares).where(squares > 0.0, squares, namespace(squares).zeros_like(squares))


def reduce_features(X: Array, queries: Array, base: int) -> Array:
    """Sums or products over the features (m, n): feature by feature, of sparse samples those that some sample has."""
    if is_sparse(X):
        queries, X = queries.tocsc(), X.tocsc()
        columns = np.flatnonzero((np.diff(queries.indptr) > 0) | (np.diff(X.indptr) > 0))
    else:
        xp = namespace(X)
        X, queries = (xp.astype(part, xp.float64, copy=False) for part in (X, queries))
        columns = np.arange(X.shape[1])
    m, n = queries.shape[0], X.shape[0]
    total = empty(m, n, np.dtype(np.float64), X)
    total[:, :] = 1.0 if base == SUBSETS else 0.0
    for j in columns:
        x, q = (_column(part, int(j)) for part in (X, queries))
        _add_feature(total, x[None, :], q[:, None], base)
    return total


def _column(X: Array, j: int) -> Array:
    return X[:, [j]].toarray()[:, 0] if is_sparse(X) else X[:, j]


def _add_feature(total: Array, x: Array, q: Array, base: int) -> None:
    if base == SUBSETS:
        total *= 1.0 + x * q
    elif base == SIZES:
        total += abs(x - q)
    else:
        size, where = x + q, namespace(total).where
        total += where(size == 0.0, 0.0 * size, (x - q) ** 2 / where(size == 0.0, 1.0 + 0.0 * size, size))


def empty(m: int, n: int, dtype: np.dtype[Any], other: Array) -> Array:
    """A matrix without values, where another array is; beside sparse samples a NumPy array."""
    if not is_array_api(other):
        return np.empty((m, n), dtype=dtype)
    xp = namespace(other)
    return xp.empty((m, n), dtype=getattr(xp, dtype.name), device=device_of(other))


def cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """The values in float64 or float32."""
    xp = namespace(values)
    return xp.astype(values, getattr(xp, dtype.name), copy=False)


def mirror(out: Array, a: int, b: int) -> None:
    """Copy the values above the diagonal of rows a, ..., b - 1 of a square matrix to the places below it."""
    square, xp = out[a:b, a:b], namespace(out)
    out[a:b, a:b] = xp.triu(square) + xp.triu(square, k=1).T
    out[b:, a:b] = out[a:b, b:].T


def _cut(m: int, n: int) -> list[tuple[int, int]]:
    step = max(1, TILE_VALUES // max(1, n))
    return [(a, min(m, a + step)) for a in range(0, m, step)]


def _samples(X: Array) -> Floats:
    return np.ascontiguousarray(X, dtype=None if X.dtype in FLOATS else np.float64)


def _squares_about(X: Array, centre: Array) -> Array:
    """Squared distances from a centre (n,), where the samples are; sparse samples are taken about zero."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    xp = namespace(X)
    centred = xp.astype(X, xp.float64, copy=False) - centre
    return compute_squared_lengths(centred) if not is_array_api(X) else xp.sum(centred * centred, axis=1)
