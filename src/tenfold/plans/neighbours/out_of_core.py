"""Rows that stay where they are: every block gives the nearest of its own, and these merge.

What is kept of a block is what a search of it alone finds, in the unit of the searches; merged by distance and then by
row the lists are those of all rows, bit by bit. A row that is asked for its neighbours is left out at the end, for one
more is kept of every block.
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
from tenfold.plans.neighbours.array_api import inside_in_arrays, nearest_in_arrays
from tenfold.plans.neighbours.index import Index, Near, built, finished, from_graph, is_treed, limits_of, treed
from tenfold.plans.neighbours.topk_merge import Inside, Shortlist

MANY_QUERIES = 64
"""For fewer a block is measured, and no tree is grown in it."""


@dataclass(frozen=True)
class Form:
    """How the blocks of rows are searched: bits follow from the distance, and from whether there are trees."""

    distance: Distance
    treed: bool

    def index(self, X: Array, queries: int) -> Index:
        """The index of a block."""
        distance = self.distance
        if self.treed and isinstance(distance, Minkowski):
            rows = distance.image(X, False)
            return Index(distance, treed(distance, rows) if queries >= MANY_QUERIES else _leaf(distance, rows))
        return built(distance, X, "brute")


def _leaf(distance: Minkowski, rows: Array) -> Any:
    return treed(distance, rows, rows.shape[0])


class Question(Protocol):
    """What is asked of rows that stay where they are: of a block, and of what blocks gave together."""

    def lift(self, form: Form, queries: Array, itself: bool) -> Callable[[Block], MaybeDeferred[Any]]: ...
    def near(self, form: Form, found: Any, own: Integers | None) -> Any: ...


class Searching(Question, Protocol):
    """A question for neighbours, also among rows in memory."""

    def of_index(self, index: Index, queries: Array, own: Integers | None) -> Near: ...
    def of_graph(self, graph: Array, own: Integers | None) -> Near: ...


@dataclass(frozen=True)
class TheNearest:
    """The k nearest rows."""

    k: int

    def of_index(self, index: Index, queries: Array, own: Integers | None) -> Near:
        return Near.of_equally_many(*index.nearest(queries, self.k, own))

    def of_graph(self, graph: Array, own: Integers | None) -> Near:
        near = from_graph(graph, own)
        fewest = int(np.diff(near.offsets).min(initial=self.k))
        if fewest < self.k:
            raise ValueError(
                f"{self.k} neighbors per samples are required, but some samples have only {fewest} neighbors in "
                "precomputed graph matrix. Decrease number of neighbors used or recompute the graph with more "
                "neighbors."
            )
        place = near.offsets[:-1, None] + np.arange(self.k)
        return Near.of_equally_many(near.distances[place], near.rows[place])

    def lift(self, form: Form, queries: Array, itself: bool) -> Callable[[Block], MaybeDeferred[Shortlist]]:
        """One more where a query may be one of the rows."""
        size = 16 * queries.shape[0] * (self.k + 1)
        require_memory(f"{self.k} neighbours of {queries.shape[0]} queries", size, "Ask for fewer queries at a time.")
        return partial(_nearest_of_block, form, queries, self.k + itself)

    def near(self, form: Form, found: Shortlist, own: Integers | None) -> Near:
        found = found if own is None else found.without(own, self.k)
        near = Near.of_equally_many(finished(form.distance, found.distances), found.rows)
        t = found.targets.shape[2]
        weights = None if found.weights is None else found.weights.ravel()
        return near._replace(targets=found.targets.reshape(found.rows.size, t), weights=weights)


@dataclass(frozen=True)
class AllWithin:
    """All rows within a radius, in their order or by distance."""

    radius: Any
    by_distance: bool = False

    def of_index(self, index: Index, queries: Array, own: Integers | None) -> Near:
        return index.within(queries, self.radius, own, by_distance=self.by_distance)

    def of_graph(self, graph: Array, own: Integers | None) -> Near:
        return from_graph(graph, own, self.radius)

    def lift(self, form: Form, queries: Array, itself: bool) -> Callable[[Block], MaybeDeferred[Inside]]:
        return partial(_inside_of_block, form, queries, self.radius)

    def near(self, form: Form, found: Inside, own: Integers | None) -> Near:
        near = found.near(own, self.by_distance)
        return near._replace(distances=finished(form.distance, near.distances))


@dataclass(frozen=True)
class Kept:
    """Rows in memory, those of positive weight in an index, and what they say: targets (n, t) and weights (n,)."""

    index: Index
    kept: Integers | None
    targets: Array | None
    weights: Floats | None

    @property
    def count(self) -> int:
        """The number of rows that count."""
        return self.index.count

    def near(self, question: Searching, queries: Array, own: Integers | None = None) -> Near:
        """Neighbours of queries, with their targets and weights; own is the number of the row that a query is."""
        if isinstance(self.index.distance, Given) and is_sparse(queries):
            return self.told(question.of_graph(queries, self.placed(own)))
        return self.told(question.of_index(self.index, queries, self.placed(own)))

    def placed(self, own: Integers | None) -> Integers | None:
        """Places in the index of rows by their numbers, -1 of those that do not count."""
        if own is None or self.kept is None:
            return own
        place = np.searchsorted(self.kept, own)
        there = np.append(self.kept, -1)[place] == own
        return np.where(there, place, -1)

    def told(self, near: Near) -> Near:
        """Neighbours by their places in the index, by their numbers and with what they say."""
        rows = near.rows if self.kept is None else self.kept[near.rows]
        targets = None if self.targets is None else self.targets[rows]
        return Near(near.offsets, near.distances, rows, targets, None if self.weights is None else self.weights[rows])


@dataclass(frozen=True)
class Source:
    """Rows that are searched block by block; count of them have a positive weight."""

    form: Form
    rows: Rows
    count: int

    def near(self, question: Question, queries: Array, own: Integers | None = None) -> Any:
        """What is asked for at the queries: neighbours with their targets and weights, or sums of windows."""
        found = self.rows.fold(question.lift(self.form, queries, own is not None))
        return question.near(self.form, found, own)


def kept_where_they_are(distance: Distance, rows: Rows, count: int, algorithm: str) -> Source:
    """The index of rows that stay where they are."""
    treed = not rows.sparse and is_treed(distance, rows.shape[1], count, algorithm)
    return Source(Form(distance, treed), rows, count)


def _counted(block: Block) -> tuple[Array, Integers | None]:
    """The rows of positive weight, and their numbers in the block where some have none."""
    if block.weight is None or block.weight.all():
        return block.X, None
    inside = np.flatnonzero(block.weight)
    return block.X[inside], inside


def _nearest_of_block(form: Form, queries: Array, k: int, block: Block) -> MaybeDeferred[Shortlist]:
    if is_array_api(block.X):
        return nearest_in_arrays(form.distance, queries, k, block)
    X, inside = _counted(block)
    m, some = queries.shape[0], min(k, X.shape[0])
    distances, rows = np.zeros((m, 0)), np.zeros((m, 0), dtype=np.int64)
    if some and m:
        distances, rows = form.index(X, m).nearest(queries, some, reduced=True)
    rows = rows if inside is None else inside[rows]
    weights = None if block.weight is None else block.weight[rows]
    return Shortlist(k, block.X.shape[0], distances, rows, block.y[rows], weights)


def _inside_of_block(form: Form, queries: Array, radius: Any, block: Block) -> MaybeDeferred[Inside]:
    limits = limits_of(form.distance, radius, queries.shape[0])
    if is_array_api(block.X):
        return inside_in_arrays(form.distance, queries, limits, block)
    X, inside = _counted(block)
    m = queries.shape[0]
    near = Near(np.zeros(m + 1, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64))
    if X.shape[0] and m:
        near = form.index(X, m).within(queries, radius, reduced=True)
    rows = near.rows if inside is None else inside[near.rows]
    weights = None if block.weight is None else block.weight[rows]
    return Inside(block.X.shape[0], (Near(near.offsets, near.distances, rows, block.y[rows], weights),))


# -- looking at rows


@dataclass(frozen=True)
class Picked:
    """Some rows, in their order."""

    parts: tuple[Array, ...]

    def merge(self, other: "Picked") -> "Picked":
        return Picked(self.parts + other.parts)

    def whole(self) -> Array:
        parts = [part for part in self.parts if part.shape[0]]
        return parts[0] if len(parts) == 1 else _joined(parts)


def _joined(parts: list[Array]) -> Array:
    if is_sparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return namespace(parts[0]).concat(parts, axis=0)


def numbered(rows: Rows) -> Rows:
    """The same rows with their numbers as targets."""
    return rows.retarget(np.arange(rows.shape[0], dtype=np.float64)[:, None])


def rows_at(rows: Rows, numbers: Integers, *, missing: bool = False) -> Array:
    """The rows of these numbers, which rise, where they are; refuses rows that are not finite (or, where values may be
    `missing`, infinite), as the first pass over rows does.
    """
    if isinstance(rows, MemoryRows) and not rows.on_device:
        return rows.X[numbers]
    return numbered(rows).fold(partial(_picked, numbers, missing)).whole()


def _picked(numbers: Integers, missing: bool, block: Block) -> Picked:
    X = block.X
    values = X.data if is_sparse(X) else X
    xp = namespace(values)
    fine = xp.isfinite(values) | xp.isnan(values) if missing else xp.isfinite(values)
    if not bool(xp.all(fine)):
        raise NotFinite
    if not X.shape[0]:
        return Picked((X,))
    first = int(on_host(block.y[:1, 0])[0])
    inside = numbers[(numbers >= first) & (numbers < first + X.shape[0])] - first
    return Picked((X[inside] if is_numpy(X) or is_sparse(X) else take_rows(X, inside),))
