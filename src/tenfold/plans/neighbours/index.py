"""An index of rows: which compiled search answers for which distance.

Dense rows of few columns have a k-d tree; the Euclidean distance of many columns goes by products in float32 that
cannot miss a neighbour; every other distance is taken of all pairs, in float64. All give the same answer.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, entries, is_sparse
from tenfold.distances import Called, Distance, Entries, Given, Minkowski, Sets
from tenfold.machine import require_memory, threads

FEW_COLUMNS = 6
"""Up to so many a tree looks at few enough rows."""
FEW_ROWS = 64
"""A tree of fewer rows is one leaf."""
FEW_QUERIES = 3
"""For so many the rows are not worth packing."""
LEAF = 32
FINISH = {"same": 0, "root": 1, "half": 2, "power": 3}
SQUARES, SIZES, LARGEST, POWERS = 0, 1, 2, 3


class Near(NamedTuple):
    """Neighbours of queries: query i has those from offsets[i] to offsets[i + 1]."""

    offsets: Integers
    distances: Floats
    rows: Integers

    @classmethod
    def of_equally_many(cls, distances: Floats, rows: Integers) -> "Near":
        """From distances and rows (m, k): k neighbours each."""
        return cls(np.arange(0, rows.size + 1, rows.shape[1]), distances.ravel(), rows.ravel())


class Tree(NamedTuple):
    """A flat k-d tree: the order of the rows, the rows in this order, the boxes around their ranges."""

    order: Integers
    points: Floats
    boxes: Floats
    leaf: int


@dataclass(frozen=True)
class Index:
    """Rows in the form in which they are searched."""

    distance: Distance
    rows: Array
    tree: Tree | None
    columns: Array | None  # of sparse rows

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.rows.shape[0])

    def nearest(self, queries: Array, k: int, own: Integers | None = None) -> tuple[Floats, Integers]:
        """Distances and rows of the k nearest, (m, k), the nearest first, and of equal distances the first row first;
        own is the row that a query is itself, or -1: it is no neighbour.
        """
        size = 16 * queries.shape[0] * k
        require_memory(f"{k} neighbours of {queries.shape[0]} queries", size, "Ask for fewer queries at a time.")
        return self._search(queries, own, k=k, limits=None, by_distance=True)

    def within(self, queries: Array, radius: Any, own: Integers | None = None, *, by_distance: bool = False) -> Near:
        """All rows within a radius, a number or one for each query; in their order, or by distance."""
        limits = np.array(np.broadcast_to(np.asarray(radius, dtype=np.float64), (queries.shape[0],)))
        return Near(*self._search(queries, own, k=0, limits=self._reduced(limits), by_distance=by_distance))

    def _reduced(self, limits: Floats) -> Floats:
        """Distances in the unit of the searches: squares, or powers."""
        distance = self.distance
        if isinstance(distance, Minkowski) and distance.finish == "half":
            return 2.0 * limits
        if isinstance(distance, (Minkowski, Entries)) and distance.finish == "root":
            p = distance.p if isinstance(distance, Minkowski) else 2.0
            with np.errstate(over="ignore"):
                return limits if p in (1.0, np.inf) else limits**p
        return limits

    def _search(self, queries: Array, own: Integers | None, **asked: Any) -> Any:
        asked["own"] = None if own is None else np.ascontiguousarray(own, dtype=np.int64)
        asked["threads"] = threads(entries(self.rows) * max(1, queries.shape[0]))
        distance = self.distance
        if isinstance(distance, Minkowski):
            return self._minkowski(distance, distance.image(queries, True), asked)
        if isinstance(distance, Entries):
            asked |= {"finish": FINISH[distance.finish], "exponent": 1.0}
            return _core.near_entries(self.rows, _wide(queries), distance.code, 2.0, **asked)
        if isinstance(distance, Sets):
            return _core.near_sets(self.rows, bits(queries), queries.shape[1], distance.code, **asked)
        table = called(distance, self.rows, queries) if isinstance(distance, Called) else _wide(queries)
        return _core.near_table(table, **asked)

    def _minkowski(self, distance: Minkowski, queries: Array, asked: dict[str, Any]) -> Any:
        code = {2.0: SQUARES, 1.0: SIZES, np.inf: LARGEST}.get(distance.p, POWERS)
        finish = FINISH[distance.finish] if code == SQUARES else FINISH["power"] if code == POWERS else FINISH["same"]
        if is_sparse(self.rows):
            return self._sparse(queries, code, finish, asked)
        queries = _wide(queries.toarray() if is_sparse(queries) else queries)
        asked |= {"finish": finish, "exponent": 1.0 / distance.p}
        if self.tree is not None:
            return _core.near_tree(*self.tree, queries, code, distance.p, **asked)
        if code == SQUARES and len(queries) > FEW_QUERIES:
            return _core.near_products(self.rows, queries, **asked)
        return _core.near_entries(self.rows, queries, code, distance.p, **asked)

    def _sparse(self, queries: Array, code: int, finish: int, asked: dict[str, Any]) -> Any:
        if code not in (SQUARES, SIZES):
            raise ValueError("Sparse rows have Euclidean, city block and cosine distances.")
        queries = _compressed(queries)
        dtype = np.result_type(self.rows.indices.dtype, queries.indices.dtype, self.columns.indices.dtype)  # type: ignore[union-attr]
        parts = []
        for part in (self.rows, self.columns, queries):
            parts += [part.data, part.indices.astype(dtype, copy=False), part.indptr]  # type: ignore[union-attr]
        return _core.near_sparse(*parts, self.rows.shape[1], code, finish=finish, **asked)


def built(distance: Distance, X: Array, algorithm: str = "auto") -> Index:
    """The index of rows X; the algorithm is scikit-learn's word, and a tree of balls is a k-d tree here."""
    if isinstance(distance, Sets):
        return Index(distance, bits(X), None, None)
    if isinstance(distance, (Given, Called)):
        return Index(distance, X, None, None)
    if isinstance(distance, Entries):
        return Index(distance, _wide(X), None, None)
    rows = distance.image(X, False)
    if is_sparse(rows):
        rows = _compressed(rows)
        return Index(distance, rows, None, rows.tocsc())
    rows = np.ascontiguousarray(rows)
    wanted = algorithm in ("kd_tree", "ball_tree") or (algorithm == "auto" and rows.shape[1] <= FEW_COLUMNS)
    if wanted and distance.p >= 1.0 and len(rows) >= FEW_ROWS:
        order, points, boxes = _core.tree(rows, LEAF, threads(rows.size * 16))
        return Index(distance, rows, Tree(order, points, boxes, LEAF), None)
    return Index(distance, rows, None, None)


def called(distance: Called, rows: Array, queries: Array) -> Floats:
    """All distances of queries to rows, (m, n), by a function of two rows."""
    m, n = queries.shape[0], rows.shape[0]
    require_memory(f"The distances of {m} queries to {n} rows", 8 * m * n, "Ask for fewer queries at a time.")
    found = np.empty((m, n))
    for i in range(m):
        for j in range(n):
            found[i, j] = distance.function(queries[i], rows[j], **distance.arguments)
    return found


def bits(X: Array) -> Any:
    """Whether entries are zero, 64 to a word."""
    packed = np.packbits(np.asarray(X) != 0, axis=1)
    words = np.zeros((X.shape[0], -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view(np.uint64)


def _wide(X: Array) -> Floats:
    return np.ascontiguousarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def _compressed(X: Array) -> Any:
    """Sparse rows in float64 with their columns in order, each once."""
    found = sparse.csr_array(X, dtype=np.float64)
    if not found.has_canonical_format:
        found = found.copy()
        found.sum_duplicates()
    return found


def from_graph(graph: Array, own: Integers | None, radius: Any = None) -> Near:
    """The entries of a sparse matrix of distances, each row by distance; not those above a radius, nor of a row with
    itself.
    """
    query = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    keep = np.ones(len(query), dtype=bool) if own is None else graph.indices != own[query]
    if radius is not None:
        keep &= graph.data <= np.broadcast_to(np.asarray(radius, dtype=np.float64), (graph.shape[0],))[query]
    counts = np.bincount(query[keep], minlength=graph.shape[0])
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Near(offsets, graph.data[keep].astype(np.float64), graph.indices[keep].astype(np.int64))
