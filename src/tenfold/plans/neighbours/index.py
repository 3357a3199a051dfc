"""An index of rows: which compiled search answers for which distance.

Dense rows of few columns have a k-d tree; the Euclidean distance of many columns goes by products in float32 that
cannot miss a neighbour; every other distance is taken of all pairs, in float64. All give the same answer.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, entries, is_sparse, one_by_one
from tenfold.distances import Called, Distance, Entries, Given, Minkowski, Sets
from tenfold.machine import require_memory, threads
from tenfold.plans.neighbours.pieces import in_pieces, some

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
    """Neighbours of queries: query i has those from offsets[i] to offsets[i + 1]; and their targets (l, t) and weights
    (l,), where they are known.
    """

    offsets: Integers
    distances: Floats
    rows: Integers
    targets: Array | None = None
    weights: Floats | None = None

    @classmethod
    def of_equally_many(cls, distances: Floats, rows: Integers) -> "Near":
        """From distances and rows (m, k): k neighbours each."""
        return cls(np.arange(0, rows.size + 1, rows.shape[1]), distances.ravel(), rows.ravel())

    def table(self, k: int) -> tuple[Floats, Integers]:
        """Distances and rows (m, k), where all queries have k neighbours."""
        return self.distances.reshape(-1, k), self.rows.reshape(-1, k)


class Asked(NamedTuple):
    """What is asked of a search: the k nearest, or with k = 0 all rows within limits (m,), in the unit of the searches;
    own is the row that each query is itself, or -1: it is no neighbour. Reduced distances are left in this unit.
    """

    k: int
    limits: Floats | None
    by_distance: bool
    own: Integers | None
    reduced: bool

    def of(self, count: int) -> dict[str, Any]:
        """The arguments that all compiled searches have."""
        own = None if self.own is None else np.ascontiguousarray(self.own, dtype=np.int64)
        return {"k": self.k, "limits": self.limits, "by_distance": self.by_distance, "own": own, "threads": count}

    def finished(self, distance: Minkowski | Entries) -> dict[str, Any]:
        """How a distance is made of what is summed."""
        finish, exponent = ("same", 1.0) if self.reduced else finish_of(distance)
        return {"finish": FINISH[finish], "exponent": exponent}


class Search(Protocol):
    """A compiled search of rows, which it has in a form of its own."""

    @property
    def rows(self) -> Array: ...
    def __call__(self, queries: Array, asked: Asked) -> Any: ...


class Tree(NamedTuple):
    """A flat k-d tree: the order of the rows, the rows in this order, the boxes around their ranges."""

    order: Integers
    points: Floats
    boxes: Floats
    leaf: int


@dataclass(frozen=True)
class ByTree:
    """Rows of few columns."""

    distance: Minkowski
    rows: Floats
    tree: Tree

    def __call__(self, queries: Array, asked: Asked) -> Any:
        queries = _wide(self.distance.image(queries, True))
        arguments = asked.of(_threads(self.rows, queries)) | asked.finished(self.distance)
        return _core.near_tree(*self.tree, queries, code_of(self.distance), self.distance.p, **arguments)


@dataclass(frozen=True)
class ByEntries:
    """All pairs, entry by entry; of squares most are left out by products."""

    distance: Minkowski | Entries
    rows: Floats

    def __call__(self, queries: Array, asked: Asked) -> Any:
        distance = self.distance
        mapped = isinstance(distance, Minkowski)
        queries = _wide(distance.image(queries, True) if isinstance(distance, Minkowski) else queries)
        arguments = asked.of(_threads(self.rows, queries)) | asked.finished(distance)
        if mapped and code_of(distance) == SQUARES and len(queries) > FEW_QUERIES:
            return _core.near_products(self.rows, queries, **arguments)
        p = distance.p if isinstance(distance, Minkowski) else 2.0
        return _core.near_entries(self.rows, queries, code_of(distance), p, **arguments)


@dataclass(frozen=True)
class BySparse:
    """Sparse rows, by their columns."""

    distance: Minkowski
    rows: Any
    columns: Any

    def __call__(self, queries: Array, asked: Asked) -> Any:
        code = code_of(self.distance)
        if code not in (SQUARES, SIZES):
            raise ValueError("Sparse rows have Euclidean, city block and cosine distances.")
        arguments = asked.of(_threads(self.rows, queries)) | {"finish": asked.finished(self.distance)["finish"]}
        queries = _compressed(self.distance.image(queries, True))
        dtype = np.result_type(self.rows.indices.dtype, queries.indices.dtype, self.columns.indices.dtype)
        for name, part in {"": self.rows, "c_": self.columns, "q_": queries}.items():
            indices = part.indices.astype(dtype, copy=False)
            arguments |= {f"{name}data": part.data, f"{name}indices": indices, f"{name}indptr": part.indptr}
        return _core.near_sparse(**arguments, columns=self.rows.shape[1], metric=code)


@dataclass(frozen=True)
class BySets:
    """Sets, 64 elements to a word."""

    distance: Sets
    rows: Any

    def __call__(self, queries: Array, asked: Asked) -> Any:
        arguments = asked.of(_threads(self.rows, queries))
        return _core.near_sets(self.rows, bits(queries), queries.shape[1], self.distance.code, **arguments)


@dataclass(frozen=True)
class ByTable:
    """Distances that are given, or that a function gives."""

    distance: Given | Called
    rows: Array

    def __call__(self, queries: Array, asked: Asked) -> Any:
        distance = self.distance
        table = called(distance, self.rows, queries) if isinstance(distance, Called) else _wide(queries)
        return _core.near_table(table, **asked.of(_threads(self.rows, queries)))


@dataclass(frozen=True)
class Index:
    """Rows in memory, in the form in which they are searched."""

    distance: Distance
    search: Search

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.search.rows.shape[0])

    def nearest(
        self, queries: Array, k: int, own: Integers | None = None, *, reduced: bool = False
    ) -> tuple[Floats, Integers]:
        """Distances and rows of the k nearest, (m, k), the nearest first, and of equal distances the first row first;
        own is the row that a query is itself, or -1: it is no neighbour.
        """
        size = 16 * queries.shape[0] * k
        require_memory(f"{k} neighbours of {queries.shape[0]} queries", size, "Ask for fewer queries at a time.")
        found = [
            self.search(queries[piece], Asked(k, None, True, some(own, piece), reduced))
            for piece in in_pieces(queries.shape[0], entries(self.search.rows))
        ]
        if len(found) == 1:
            return found[0]
        distances = np.concatenate([np.zeros((0, k)), *(part[0] for part in found)])
        return distances, np.concatenate([np.zeros((0, k), dtype=np.int64), *(part[1] for part in found)])

    def within(
        self,
        queries: Array,
        radius: Any,
        own: Integers | None = None,
        *,
        by_distance: bool = False,
        reduced: bool = False,
    ) -> Near:
        """All rows within a radius, a number or one for each query; in their order, or by distance."""
        limits = limits_of(self.distance, radius, queries.shape[0])
        found = [
            self.search(queries[piece], Asked(0, limits[piece], by_distance, some(own, piece), reduced))
            for piece in in_pieces(queries.shape[0], entries(self.search.rows))
        ]
        if len(found) == 1:
            return Near(*found[0])
        counts = [np.zeros(1, dtype=np.int64), *(np.diff(offsets) for offsets, *_ in found)]
        distances = np.concatenate([np.zeros(0), *(part[1] for part in found)])
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(part[2] for part in found)])
        return Near(np.cumsum(np.concatenate(counts)), distances, rows)


def code_of(distance: Minkowski | Entries) -> int:
    """The code of the compiled loop of a distance."""
    if isinstance(distance, Entries):
        return distance.code
    return {2.0: SQUARES, 1.0: SIZES, np.inf: LARGEST}.get(distance.p, POWERS)


def finish_of(distance: Distance) -> tuple[str, float]:
    """How a distance is made of what is summed, and the exponent of a power."""
    if isinstance(distance, Entries):
        return distance.finish, 1.0
    if not isinstance(distance, Minkowski):
        return "same", 1.0
    kinds = {SQUARES: distance.finish, POWERS: "power"}
    return kinds.get(code_of(distance), "same"), 1.0 / distance.p


def finished(distance: Distance, reduced: Floats) -> Floats:
    """Distances from those in the unit of the searches, bit by bit as a search makes them."""
    finish, exponent = finish_of(distance)
    if finish == "power":  # that of the C library, whatever NumPy's is
        return np.array([_power(value, exponent) for value in reduced.ravel()]).reshape(reduced.shape)
    return {"same": reduced, "root": np.sqrt(reduced), "half": 0.5 * reduced}[finish]


def _power(value: float, exponent: float) -> float:
    try:
        return math.pow(value, exponent)
    except OverflowError:
        return math.inf


def limits_of(distance: Distance, radius: Any, count: int) -> Floats:
    """Radii (m,) in the unit of the searches: squares, or powers."""
    limits = np.array(np.broadcast_to(np.asarray(radius, dtype=np.float64), (count,)))
    if isinstance(distance, Minkowski) and distance.finish == "half":
        return 2.0 * limits
    if isinstance(distance, (Minkowski, Entries)) and distance.finish == "root":
        p = distance.p if isinstance(distance, Minkowski) else 2.0
        with np.errstate(over="ignore"):
            return limits if p in (1.0, np.inf) else limits**p
    return limits


def is_treed(distance: Distance, columns: int, count: int, algorithm: str) -> bool:
    """Whether so many dense rows get a tree; the algorithm is scikit-learn's word, and a tree of balls is a k-d tree
    here.
    """
    if not isinstance(distance, Minkowski) or distance.p < 1.0 or count < FEW_ROWS:
        return False
    return algorithm in ("kd_tree", "ball_tree") or (algorithm == "auto" and columns <= FEW_COLUMNS)


def built(distance: Distance, X: Array, algorithm: str = "auto") -> Index:
    """The index of rows X."""
    return Index(distance, SEARCHES[type(distance)](distance, X, algorithm))


def treed(distance: Minkowski, rows: Array, leaf: int = LEAF) -> ByTree:
    """A tree of rows that were mapped; where a leaf holds all of them, it is only a way to measure them."""
    rows = np.ascontiguousarray(rows)
    order, points, boxes = _core.tree(rows, leaf, threads(rows.size * 16))
    return ByTree(distance, rows, Tree(order, points, boxes, leaf))


def _of_minkowski(distance: Minkowski, X: Array, algorithm: str) -> Search:
    rows = distance.image(X, False)
    if is_sparse(rows):
        rows = _compressed(rows)
        return BySparse(distance, rows, rows.tocsc())
    if is_treed(distance, rows.shape[1], rows.shape[0], algorithm):
        return treed(distance, rows)
    return ByEntries(distance, np.ascontiguousarray(rows))


SEARCHES: dict[type, Callable[[Any, Array, str], Search]] = {
    Minkowski: _of_minkowski,
    Entries: lambda distance, X, _: ByEntries(distance, _wide(X)),
    Sets: lambda distance, X, _: BySets(distance, bits(X)),
    Given: lambda distance, X, _: ByTable(distance, X),
    Called: lambda distance, X, _: ByTable(distance, X),
}
"""How rows in memory are searched, for every kind of distance."""


def called(distance: Called, rows: Array, queries: Array) -> Floats:
    """All distances of queries to rows, (m, n), by a function of two rows, (p,), or (1, p) where they are sparse."""
    m, n = queries.shape[0], rows.shape[0]
    require_memory(f"The distances of {m} queries to {n} rows", 8 * m * n, "Ask for fewer queries at a time.")
    found, others = np.empty((m, n)), one_by_one(rows)
    for i, query in enumerate(one_by_one(queries)):
        for j, row in enumerate(others):
            found[i, j] = distance.function(query, row, **distance.arguments)
    return found


def bits(X: Array) -> Any:
    """Whether entries are zero, 64 to a word."""
    packed = np.packbits(np.asarray(X) != 0, axis=1)
    words = np.zeros((X.shape[0], -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view(np.uint64)


def _threads(rows: Array, queries: Array) -> int:
    return threads(entries(rows) * max(1, queries.shape[0]))


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
