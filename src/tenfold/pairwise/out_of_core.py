"""Neighbours of samples that stay in files, on workers or on a device: every block finds those among its own samples,
and the lists of blocks merge.

A block is searched as samples in memory are, with reduced distances; merged by distance and then by row, lists are
those of all samples, bit by bit. A query that is itself a sample is left out at the end, for every block finds one
neighbour more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, Floats, Integers, is_array_api, is_numpy, is_sparse, namespace, on_host, take_rows
from tenfold.data import Block, MaybeDeferred, MemoryRows, NotFinite, Rows
from tenfold.distances import Distance, Given, Minkowski
from tenfold.machine import require_memory
from tenfold.pairwise.array_api import find_nearest, find_within
from tenfold.pairwise.neighbour_lists import Neighbours, TopK, WithinRadius, read_graph
from tenfold.pairwise.searches import TreeSearch, build_tree, from_reduced, to_reduced, uses_tree
from tenfold.pairwise.stored_samples import StoredSamples, store_samples

TREE_MIN_QUERIES = 64  # for fewer, building the tree of a block costs more than it saves


@dataclass(frozen=True)
class BlockSearch:
    """How blocks are searched: bits follow from the distance, and from whether there are trees."""

    distance: Distance
    uses_tree: bool

    def store(self, X: Array, queries: int) -> StoredSamples:
        """The samples of a block, for so many queries."""
        distance = self.distance
        if self.uses_tree and isinstance(distance, Minkowski):
            samples = distance.image(X, False)
            return StoredSamples(
                distance, build_tree(distance, samples) if queries >= TREE_MIN_QUERIES else _one_leaf(distance, samples)
            )
        return store_samples(distance, X, "brute")


def _one_leaf(distance: Minkowski, samples: Array) -> TreeSearch:
    return build_tree(distance, samples, samples.shape[0])


class Request(Protocol):
    """A request of queries: the lift of a block, and the result from the merged blocks."""

    def lift(self, form: BlockSearch, queries: Array, itself: bool) -> Callable[[Block], MaybeDeferred[Any]]: ...
    def finish(self, form: BlockSearch, result: Any, own: Integers | None) -> Any: ...


class NeighbourRequest(Request, Protocol):
    """A request for neighbours, also among samples in memory."""

    def search(self, stored: StoredSamples, queries: Array, own: Integers | None) -> Neighbours: ...
    def read_graph(self, graph: Array, own: Integers | None) -> Neighbours: ...


@dataclass(frozen=True)
class NearestRequest:
    """The k nearest samples."""

    k: int

    def search(self, stored: StoredSamples, queries: Array, own: Integers | None) -> Neighbours:
        return Neighbours.from_table(*stored.nearest(queries, self.k, own))

    def read_graph(self, graph: Array, own: Integers | None) -> Neighbours:
        near = read_graph(graph, own)
        fewest = int(np.diff(near.offsets).min(initial=self.k))
        if fewest < self.k:
            raise ValueError(
                f"{self.k} neighbors per samples are required, but some samples have only {fewest} neighbors in "
                "precomputed graph matrix. Decrease number of neighbors used or recompute the graph with more "
                "neighbors."
            )
        place = near.offsets[:-1, None] + np.arange(self.k)
        return Neighbours.from_table(near.distances[place], near.rows[place])

    def lift(self, form: BlockSearch, queries: Array, itself: bool) -> Callable[[Block], MaybeDeferred[TopK]]:
        """One more where a query may be one of the rows."""
        size = 16 * queries.shape[0] * (self.k + 1)
        require_memory(f"{self.k} neighbours of {queries.shape[0]} queries", size, "Ask for fewer queries at a time.")
        return partial(_nearest_of_block, form, queries, self.k + itself)

    def finish(self, form: BlockSearch, result: TopK, own: Integers | None) -> Neighbours:
        top = result if own is None else result.without(own, self.k)
        near = Neighbours.from_table(from_reduced(form.distance, top.distances), top.rows)
        weights = None if top.weights is None else top.weights.ravel()
        return near._replace(targets=top.targets.reshape(top.rows.size, top.targets.shape[2]), weights=weights)


@dataclass(frozen=True)
class RadiusRequest:
    """All samples within a radius, in their order or by distance."""

    radius: Any
    by_distance: bool = False

    def search(self, stored: StoredSamples, queries: Array, own: Integers | None) -> Neighbours:
        return stored.within(queries, self.radius, own, by_distance=self.by_distance)

    def read_graph(self, graph: Array, own: Integers | None) -> Neighbours:
        return read_graph(graph, own, self.radius)

    def lift(self, form: BlockSearch, queries: Array, itself: bool) -> Callable[[Block], MaybeDeferred[WithinRadius]]:
        return partial(_within_of_block, form, queries, self.radius)

    def finish(self, form: BlockSearch, result: WithinRadius, own: Integers | None) -> Neighbours:
        near = result.collect(own, self.by_distance)
        return near._replace(distances=from_reduced(form.distance, near.distances))


@dataclass(frozen=True)
class NeighbourSamples:
    """Samples in memory of which those of positive weight are searched: the numbers of these (None: all); targets
    (n, t) and weights (n,).
    """

    stored: StoredSamples
    numbers: Integers | None
    targets: Array | None
    weights: Floats | None

    @property
    def count(self) -> int:
        """The number of samples of positive weight."""
        return self.stored.count

    def query(self, request: NeighbourRequest, queries: Array, own: Integers | None = None) -> Neighbours:
        """Neighbours of queries, with their targets and weights; own is the number of the sample that a query is."""
        if isinstance(self.stored.distance, Given) and is_sparse(queries):
            return self.add_targets(request.read_graph(queries, self.find_places(own)))
        return self.add_targets(request.search(self.stored, queries, self.find_places(own)))

    def find_places(self, own: Integers | None) -> Integers | None:
        """Places among the stored samples by their numbers, -1 of those that are not stored."""
        if own is None or self.numbers is None:
            return own
        place = np.searchsorted(self.numbers, own)
        return np.where(np.append(self.numbers, -1)[place] == own, place, -1)

    def add_targets(self, near: Neighbours) -> Neighbours:
        """Neighbours by their places, with their numbers, targets and weights."""
        rows = near.rows if self.numbers is None else self.numbers[near.rows]
        targets = None if self.targets is None else self.targets[rows]
        weights = None if self.weights is None else self.weights[rows]
        return Neighbours(near.offsets, near.distances, rows, targets, weights)


@dataclass(frozen=True)
class RowsSamples:
    """Samples in Rows that are searched block by block; count of them have a positive weight."""

    form: BlockSearch
    rows: Rows
    count: int

    @property
    def distance(self) -> Distance:
        return self.form.distance

    def query(self, request: Request, queries: Array, own: Integers | None = None) -> Any:
        """The result at the queries: neighbours with their targets and weights, or sums of kernels."""
        result = self.rows.fold(request.lift(self.form, queries, own is not None))
        return request.finish(self.form, result, own)


def search_rows(distance: Distance, rows: Rows, count: int, algorithm: str) -> RowsSamples:
    """Samples that stay where they are."""
    has_tree = not rows.sparse and uses_tree(distance, rows.shape[1], count, algorithm)
    return RowsSamples(BlockSearch(distance, has_tree), rows, count)


def _select_weighted(block: Block) -> tuple[Array, Integers | None]:
    """The samples of positive weight, and their numbers in the block where some have none."""
    if block.weight is None or block.weight.all():
        return block.X, None
    inside = np.flatnonzero(block.weight)
    return block.X[inside], inside


def _nearest_of_block(form: BlockSearch, queries: Array, k: int, block: Block) -> MaybeDeferred[TopK]:
    if is_array_api(block.X):
        return find_nearest(form.distance, queries, k, block)
    X, inside = _select_weighted(block)
    m, some = queries.shape[0], min(k, X.shape[0])
    distances, rows = np.zeros((m, 0)), np.zeros((m, 0), dtype=np.int64)
    if some and m:
        distances, rows = form.store(X, m).nearest(queries, some, reduced=True)
    rows = rows if inside is None else inside[rows]
    weights = None if block.weight is None else block.weight[rows]
    return TopK(k, block.X.shape[0], distances, rows, block.y[rows], weights)


def _within_of_block(form: BlockSearch, queries: Array, radius: Any, block: Block) -> MaybeDeferred[WithinRadius]:
    limits = to_reduced(form.distance, radius, queries.shape[0])
    if is_array_api(block.X):
        return find_within(form.distance, queries, limits, block)
    X, inside = _select_weighted(block)
    m = queries.shape[0]
    near = Neighbours(np.zeros(m + 1, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64))
    if X.shape[0] and m:
        near = form.store(X, m).within(queries, radius, reduced=True)
    rows = near.rows if inside is None else inside[near.rows]
    weights = None if block.weight is None else block.weight[rows]
    return WithinRadius(block.X.shape[0], (Neighbours(near.offsets, near.distances, rows, block.y[rows], weights),))


@dataclass(frozen=True)
class SelectedRows:
    """Some rows, in their order."""

    parts: tuple[Array, ...]

    def merge(self, other: "SelectedRows") -> "SelectedRows":
        return SelectedRows(self.parts + other.parts)

    def collect(self) -> Array:
        parts = [part for part in self.parts if part.shape[0]]
        return parts[0] if len(parts) == 1 else _concatenate(parts)


def _concatenate(parts: list[Array]) -> Array:
    if is_sparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return namespace(parts[0]).concat(parts, axis=0)


def number_rows(rows: Rows) -> Rows:
    """The same rows with their numbers as targets."""
    return rows.retarget(np.arange(rows.shape[0], dtype=np.float64)[:, None])


def collect_rows(rows: Rows, numbers: Integers, *, missing: bool = False) -> Array:
    """The rows of these numbers, which ascend, where they are; raises NotFinite (where values may be `missing`, for
    infinite ones alone), as the first pass over rows does.
    """
    if isinstance(rows, MemoryRows) and not rows.on_device:
        return rows.X[numbers]
    return number_rows(rows).fold(partial(_select_rows, numbers, missing)).collect()


def _select_rows(numbers: Integers, missing: bool, block: Block) -> SelectedRows:
    X = block.X
    values = X.data if is_sparse(X) else X
    xp = namespace(values)
    valid = xp.isfinite(values) | xp.isnan(values) if missing else xp.isfinite(values)
    if not bool(xp.all(valid)):
        raise NotFinite
    if not X.shape[0]:
        return SelectedRows((X,))
    first = int(on_host(block.y[:1, 0])[0])
    inside = numbers[(numbers >= first) & (numbers < first + X.shape[0])] - first
    return SelectedRows((X[inside] if is_numpy(X) or is_sparse(X) else take_rows(X, inside),))
