"""Searches of neighbours: samples in the form that a compiled loop reads, for each kind of distance.

Dense samples of few features have a k-d tree; the Euclidean distance of many features goes by products in float32
whose error bound leaves no neighbour out, and float64 distances of what remains; every other distance is taken of all
pairs in float64. All give the same neighbours.
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

TREE_MAX_FEATURES = 6  # up to here a tree reads few enough samples (benchmark: neighbours by dimension)
TREE_MIN_SAMPLES = 64  # a tree of fewer is one leaf
GEMM_MIN_QUERIES = 4  # for fewer, packing the samples costs more than it saves
LEAF_SAMPLES = 32
FINISH = {
    "same": 0,
    "root": 1,
    "half": 2,
    "power": 3,
}  # codes: from reduced distances to distances
SQUARES, SIZES, LARGEST, POWERS = 0, 1, 2, 3  # codes of the compiled distances of Minkowski


class SearchOptions(NamedTuple):
    """The k nearest, or with k = 0 all samples within limits (m,), which are reduced distances; own is the sample that
    each query is itself, or -1: it is no neighbour. With `reduced` distances stay reduced.
    """

    k: int
    limits: Floats | None
    by_distance: bool
    own: Integers | None
    reduced: bool

    def arguments(self, count: int) -> dict[str, Any]:
        """The arguments that all compiled searches have."""
        own = None if self.own is None else np.ascontiguousarray(self.own, dtype=np.int64)
        return {"k": self.k, "limits": self.limits, "by_distance": self.by_distance, "own": own, "threads": count}

    def finish(self, distance: Minkowski | Entries) -> dict[str, Any]:
        """How a compiled search makes a distance of a reduced one."""
        finish, exponent = ("same", 1.0) if self.reduced else finish_of(distance)
        return {"finish": FINISH[finish], "exponent": exponent}


class Search(Protocol):
    """A compiled search of samples, which it has in a form of its own."""

    @property
    def samples(self) -> Array: ...
    def __call__(self, queries: Array, options: SearchOptions) -> Any: ...


class KdTree(NamedTuple):
    """A flat k-d tree: the order of the samples, the samples in this order, the boxes around their ranges."""

    order: Integers
    points: Floats
    boxes: Floats
    leaf: int


@dataclass(frozen=True)
class TreeSearch:
    """Samples of few features."""

    distance: Minkowski
    samples: Floats
    tree: KdTree

    def __call__(self, queries: Array, options: SearchOptions) -> Any:
        queries = to_dense(self.distance.image(queries, True))
        arguments = options.arguments(_count_threads(self.samples, queries)) | options.finish(self.distance)
        return _core.knn_kd_tree(*self.tree, queries, metric_code(self.distance), self.distance.p, **arguments)


@dataclass(frozen=True)
class PairSearch:
    """All pairs, entry by entry; of squares most are left out by products in float32."""

    distance: Minkowski | Entries
    samples: Floats

    def __call__(self, queries: Array, options: SearchOptions) -> Any:
        distance = self.distance
        queries = to_dense(distance.image(queries, True) if isinstance(distance, Minkowski) else queries)
        arguments = options.arguments(_count_threads(self.samples, queries)) | options.finish(distance)
        is_euclidean = isinstance(distance, Minkowski) and metric_code(distance) == SQUARES
        if is_euclidean and len(queries) >= GEMM_MIN_QUERIES:
            return _core.knn_gemm(self.samples, queries, **arguments)
        p = distance.p if isinstance(distance, Minkowski) else 2.0
        return _core.knn_brute(self.samples, queries, metric_code(distance), p, **arguments)


@dataclass(frozen=True)
class SparseSearch:
    """Sparse samples, by their columns."""

    distance: Minkowski
    samples: Any
    columns: Any

    def __call__(self, queries: Array, options: SearchOptions) -> Any:
        code = metric_code(self.distance)
        if code not in (SQUARES, SIZES):
            raise ValueError("Sparse rows have Euclidean, city block and cosine distances.")
        arguments = options.arguments(_count_threads(self.samples, queries))
        arguments |= {"finish": options.finish(self.distance)["finish"]}
        queries = to_csr(self.distance.image(queries, True))
        dtype = np.result_type(self.samples.indices.dtype, queries.indices.dtype, self.columns.indices.dtype)
        for name, part in {"": self.samples, "c_": self.columns, "q_": queries}.items():
            indices = part.indices.astype(dtype, copy=False)
            arguments |= {f"{name}data": part.data, f"{name}indices": indices, f"{name}indptr": part.indptr}
        return _core.knn_csr(**arguments, columns=self.samples.shape[1], metric=code)


@dataclass(frozen=True)
class SetSearch:
    """Sets, 64 elements to a word."""

    distance: Sets
    samples: Any

    def __call__(self, queries: Array, options: SearchOptions) -> Any:
        arguments = options.arguments(_count_threads(self.samples, queries))
        return _core.knn_sets(self.samples, pack_bits(queries), queries.shape[1], self.distance.code, **arguments)


@dataclass(frozen=True)
class TableSearch:
    """Distances that are given, or that a function returns."""

    distance: Given | Called
    samples: Array

    def __call__(self, queries: Array, options: SearchOptions) -> Any:
        distance = self.distance
        table = call_metric(distance, self.samples, queries) if isinstance(distance, Called) else to_dense(queries)
        return _core.knn_table(table, **options.arguments(_count_threads(self.samples, queries)))


def metric_code(distance: Minkowski | Entries) -> int:
    """The code of the compiled loop of a distance."""
    if isinstance(distance, Entries):
        return distance.code
    return {2.0: SQUARES, 1.0: SIZES, np.inf: LARGEST}.get(distance.p, POWERS)


def finish_of(distance: Distance) -> tuple[str, float]:
    """How a distance is made of a reduced one, and the exponent of a power."""
    if isinstance(distance, Entries):
        return distance.finish, 1.0
    if not isinstance(distance, Minkowski):
        return "same", 1.0
    kinds = {SQUARES: distance.finish, POWERS: "power"}
    return kinds.get(metric_code(distance), "same"), 1.0 / distance.p


def from_reduced(distance: Distance, reduced: Floats) -> Floats:
    """Distances from reduced ones, bit by bit as a compiled search makes them."""
    finish, exponent = finish_of(distance)
    if finish == "power":  # that of the C library, whatever NumPy's is
        return np.array([_power(value, exponent) for value in reduced.ravel()]).reshape(reduced.shape)
    return {"same": reduced, "root": np.sqrt(reduced), "half": 0.5 * reduced}[finish]


def _power(value: float, exponent: float) -> float:
    try:
        return math.pow(value, exponent)
    except OverflowError:
        return math.inf


def to_reduced(distance: Distance, radius: Any, count: int) -> Floats:
    """Radii (m,) as reduced distances: squares, or powers."""
    limits = np.array(np.broadcast_to(np.asarray(radius, dtype=np.float64), (count,)))
    if isinstance(distance, Minkowski) and distance.finish == "half":
        return 2.0 * limits
    if isinstance(distance, (Minkowski, Entries)) and distance.finish == "root":
        p = distance.p if isinstance(distance, Minkowski) else 2.0
        with np.errstate(over="ignore"):
            return limits if p in (1.0, np.inf) else limits**p
    return limits


def uses_tree(distance: Distance, features: int, count: int, algorithm: str) -> bool:
    """Whether so many dense samples get a tree; the algorithm is scikit-learn's word, and a ball tree is a k-d tree
    here.
    """
    if not isinstance(distance, Minkowski) or distance.p < 1.0 or count < TREE_MIN_SAMPLES:
        return False
    return algorithm in ("kd_tree", "ball_tree") or (algorithm == "auto" and features <= TREE_MAX_FEATURES)


def build_tree(distance: Minkowski, samples: Array, leaf: int = LEAF_SAMPLES) -> TreeSearch:
    """A tree of mapped samples; where one leaf holds all of them, the tree is a plain loop with its bits."""
    samples = np.ascontiguousarray(samples)
    order, points, boxes = _core.kd_tree(samples, leaf, threads(samples.size * 16))
    return TreeSearch(distance, samples, KdTree(order, points, boxes, leaf))


def build_search(distance: Distance, X: Array, algorithm: str = "auto") -> Search:
    """The search of samples X."""
    return SEARCHES[type(distance)](distance, X, algorithm)


def _of_minkowski(distance: Minkowski, X: Array, algorithm: str) -> Search:
    samples = distance.image(X, False)
    if is_sparse(samples):
        samples = to_csr(samples)
        return SparseSearch(distance, samples, samples.tocsc())
    if uses_tree(distance, samples.shape[1], samples.shape[0], algorithm):
        return build_tree(distance, samples)
    return PairSearch(distance, np.ascontiguousarray(samples))


# the search of each kind of distance
SEARCHES: dict[type, Callable[[Any, Array, str], Search]] = {
    Minkowski: _of_minkowski,
    Entries: lambda distance, X, _: PairSearch(distance, to_dense(X)),
    Sets: lambda distance, X, _: SetSearch(distance, pack_bits(X)),
    Given: lambda distance, X, _: TableSearch(distance, X),
    Called: lambda distance, X, _: TableSearch(distance, X),
}


def call_metric(distance: Called, samples: Array, queries: Array) -> Floats:
    """All distances of queries to samples, (m, n), by a function of two points, (p,), or (1, p) where they are
    sparse.
    """
    m, n = queries.shape[0], samples.shape[0]
    require_memory(f"The distances of {m} queries to {n} rows", 8 * m * n, "Ask for fewer queries at a time.")
    table, others = np.empty((m, n)), one_by_one(samples)
    for i, query in enumerate(one_by_one(queries)):
        for j, sample in enumerate(others):
            table[i, j] = distance.function(query, sample, **distance.arguments)
    return table


def pack_bits(X: Array) -> Any:
    """Whether entries are zero, 64 to a word."""
    packed = np.packbits(np.asarray(X) != 0, axis=1)
    words = np.zeros((X.shape[0], -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view(np.uint64)


def _count_threads(samples: Array, queries: Array) -> int:
    return threads(entries(samples) * max(1, queries.shape[0]))


def to_dense(X: Array) -> Floats:
    """X in float64, in C order."""
    return np.ascontiguousarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def to_csr(X: Array) -> Any:
    """Sparse samples in float64 with their columns in order, each once."""
    rows = sparse.csr_array(X, dtype=np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows
