"""Lists of neighbours: the k nearest samples of each query, or all within a radius.

`TopK` and `WithinRadius` are reductions of a part of the samples that merge: distances are reduced (squares, or
powers), samples are numbered from the first of the part, and their targets and weights come with them, for the samples
may be out of reach later.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Array, Floats, Integers


class Neighbours(NamedTuple):
    """Query i has the neighbours from offsets[i] to offsets[i + 1]: their distances and rows (l,); their targets (l, t)
    and weights (l,), where these are known.
    """

    offsets: Integers
    distances: Floats
    rows: Integers
    targets: Array | None = None
    weights: Floats | None = None

    @classmethod
    def from_table(cls, distances: Floats, rows: Integers) -> "Neighbours":
        """From distances and rows (m, k): k neighbours each."""
        return cls(np.arange(0, rows.size + 1, rows.shape[1]), distances.ravel(), rows.ravel())

    def table(self, k: int) -> tuple[Floats, Integers]:
        """Distances and rows (m, k), where all queries have k neighbours."""
        return self.distances.reshape(-1, k), self.rows.reshape(-1, k)


def read_graph(graph: Array, own: Integers | None, radius: Any = None) -> Neighbours:
    """The entries of a sparse matrix of distances (queries, samples), in their order; without those above a radius, and
    of a sample with itself.
    """
    query = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    counts = np.ones(len(query), dtype=bool) if own is None else graph.indices != own[query]
    if radius is not None:
        counts &= graph.data <= np.broadcast_to(np.asarray(radius, dtype=np.float64), (graph.shape[0],))[query]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(query[counts], minlength=graph.shape[0]))])
    return Neighbours(offsets, graph.data[counts].astype(np.float64), graph.indices[counts].astype(np.int64))


@dataclass(frozen=True, slots=True)
class TopK:
    """Up to `most` nearest of `count` samples, for each of m queries: reduced distances and rows (m, k), the nearest
    first and of equals the first; their targets (m, k, t), and weights (m, k) where samples have some.
    """

    most: int
    count: int
    distances: Floats
    rows: Integers
    targets: Array
    weights: Floats | None

    def merge(self, other: "TopK") -> "TopK":
        distances = np.concatenate([self.distances, other.distances], axis=1)
        # those of `self` come first, and a stable sort leaves the first of equals first
        order = np.argsort(distances, axis=1, kind="stable")[:, : self.most]
        rows = np.concatenate([self.rows, other.rows + self.count], axis=1)
        targets = np.concatenate([self.targets, other.targets], axis=1)
        weights = None
        if self.weights is not None and other.weights is not None:
            weights = np.take_along_axis(np.concatenate([self.weights, other.weights], axis=1), order, axis=1)
        return TopK(
            self.most,
            self.count + other.count,
            np.take_along_axis(distances, order, axis=1),
            np.take_along_axis(rows, order, axis=1),
            np.take_along_axis(targets, order[:, :, None], axis=1),
            weights,
        )

    def without(self, own: Integers, k: int) -> "TopK":
        """The k nearest without the row that a query is itself."""
        stays = self.rows != own[:, None]
        if self.rows.shape[1] > k:
            stays[stays.all(axis=1), -1] = False
        m, t = len(own), self.targets.shape[2]
        return TopK(
            k,
            self.count,
            self.distances[stays].reshape(m, k),
            self.rows[stays].reshape(m, k),
            self.targets[stays].reshape(m, k, t),
            None if self.weights is None else self.weights[stays].reshape(m, k),
        )


@dataclass(frozen=True, slots=True)
class WithinRadius:
    """The samples within limits among `count`, part by part, in the order of the samples."""

    count: int
    parts: tuple[Neighbours, ...]

    def merge(self, other: "WithinRadius") -> "WithinRadius":
        shifted = tuple(part._replace(rows=part.rows + self.count) for part in other.parts)
        return WithinRadius(self.count + other.count, self.parts + shifted)

    def collect(self, own: Integers | None, by_distance: bool) -> Neighbours:
        """All of them, query by query, without the row that a query is itself."""
        m = len(self.parts[0].offsets) - 1
        query = np.concatenate([np.repeat(np.arange(m), np.diff(part.offsets)) for part in self.parts])
        distances = np.concatenate([part.distances for part in self.parts])
        rows = np.concatenate([part.rows for part in self.parts])
        order = np.lexsort((rows, distances, query)) if by_distance else np.argsort(query, kind="stable")
        if own is not None:
            order = order[rows[order] != own[query[order]]]
        targets = [part.targets for part in self.parts if part.targets is not None]
        weights = [part.weights for part in self.parts if part.weights is not None]
        return Neighbours(
            np.concatenate([[0], np.cumsum(np.bincount(query[order], minlength=m))]),
            distances[order],
            rows[order],
            np.concatenate(targets)[order] if targets else None,
            np.concatenate(weights)[order] if weights else None,
        )
