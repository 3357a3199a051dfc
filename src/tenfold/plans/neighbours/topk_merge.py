"""Neighbours among some of the rows, in a form that merges: with what these rows say, for they may be far away.

Distances are in the unit of the searches, and numbers of rows are counted from the first of those that were seen.
"""

from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Array, Floats, Integers
from tenfold.plans.neighbours.index import Near


@dataclass(frozen=True, slots=True)
class Shortlist:
    """Up to `most` nearest of `count` rows, for each of m queries: distances and rows (m, k), the nearest first and of
    equals the first; their targets (m, k, t), and weights (m, k) where rows have some.
    """

    most: int
    count: int
    distances: Floats
    rows: Integers
    targets: Array
    weights: Floats | None

    def merge(self, other: "Shortlist") -> "Shortlist":
        distances = np.concatenate([self.distances, other.distances], axis=1)
        # those of `self` come first, and of equals the first stays first
        order = np.argsort(distances, axis=1, kind="stable")[:, : self.most]
        rows = np.concatenate([self.rows, other.rows + self.count], axis=1)
        targets = np.concatenate([self.targets, other.targets], axis=1)
        weights = None
        if self.weights is not None and other.weights is not None:
            weights = np.take_along_axis(np.concatenate([self.weights, other.weights], axis=1), order, axis=1)
        return Shortlist(
            self.most,
            self.count + other.count,
            np.take_along_axis(distances, order, axis=1),
            np.take_along_axis(rows, order, axis=1),
            np.take_along_axis(targets, order[:, :, None], axis=1),
            weights,
        )

    def without(self, own: Integers, k: int) -> "Shortlist":
        """The k nearest without the row that a query is itself."""
        stays = self.rows != own[:, None]
        if self.rows.shape[1] > k:
            stays[stays.all(axis=1), -1] = False
        m, t = len(own), self.targets.shape[2]
        return Shortlist(
            k,
            self.count,
            self.distances[stays].reshape(m, k),
            self.rows[stays].reshape(m, k),
            self.targets[stays].reshape(m, k, t),
            None if self.weights is None else self.weights[stays].reshape(m, k),
        )


@dataclass(frozen=True, slots=True)
class Inside:
    """The rows within limits among `count`, part by part, in the order of the rows."""

    count: int
    parts: tuple[Near, ...]

    def merge(self, other: "Inside") -> "Inside":
        moved = tuple(part._replace(rows=part.rows + self.count) for part in other.parts)
        return Inside(self.count + other.count, self.parts + moved)

    def near(self, own: Integers | None, by_distance: bool) -> Near:
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
        return Near(
            np.concatenate([[0], np.cumsum(np.bincount(query[order], minlength=m))]),
            distances[order],
            rows[order],
            np.concatenate(targets)[order] if targets else None,
            np.concatenate(weights)[order] if weights else None,
        )
