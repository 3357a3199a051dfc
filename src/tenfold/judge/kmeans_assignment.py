"""Assignment of samples to their nearest centres for the judge: products of all samples with all centres in float64.

The loops are not those of a fit. For NumPy and SciPy a compiled loop forms all products, where that of a fit compares
in float32 first and skips what bounds exclude. For arrays of other libraries squared distances are formed as
|x|^2 - 2 x.c + |c|^2 about the mean of the centres. Either way, where two distances of a sample are equal up to
rounding, squared differences from all centres decide, and the first of equals counts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from tenfold import _core
from tenfold.arrays import (
    Array,
    Floats,
    Integers,
    entries,
    is_numpy,
    is_sparse,
    like,
    namespace,
    on_host,
    take_rows,
    unit_roundoff,
)
from tenfold.data import Block, MaybeDeferred, weights_of
from tenfold.machine import threads
from tenfold.pairwise.centres import Assignment

TILE_VALUES = 1 << 22  # distances in memory at a time: 32 MiB


def check_assignment(centres: Floats, place: Floats) -> Callable[[Block], MaybeDeferred[Assignment]]:
    """The lift of `Assignment` for centres (k, p), with sums about `place` (p,)."""
    return partial(_check_assignment, centres, place)


def _check_assignment(centres: Floats, place: Floats, block: Block) -> MaybeDeferred[Assignment]:
    X = block.X
    rest = (block.weight, centres, place, threads(entries(X) * len(centres)), True)
    if is_sparse(X):
        return Assignment(*_core.kmeans_assign_csr(X.data, X.indices, X.indptr, X.shape[1], *rest))
    if is_numpy(X):
        return Assignment(*_core.kmeans_assign(X, *rest))
    return assign_in_arrays(centres, place, block)


def assign_in_arrays(centres: Floats, place: Floats, block: Block) -> Assignment:
    """The lift in the Array API."""
    k, p = centres.shape
    xp, result = namespace(block.X), Assignment(np.zeros(k), np.zeros((k, p)), 0.0)
    for X, w, _ in _pieces(block, k):
        squares, slack = _squares(X, centres)
        number = _nearest(X, centres, squares, slack)
        energy = xp.sum(w * xp.sum((X - xp.take(like(centres, X), number, axis=0)) ** 2, axis=1))
        own = xp.where(number[:, None] == like(np.arange(k), X)[None, :], w[:, None], xp.zeros_like(squares))
        sums = xp.matmul(own.T, X - like(place, X))
        result = result.merge(Assignment(on_host(xp.sum(own, axis=0)), on_host(sums), float(energy)))
    return result


def _pieces(block: Block, k: int) -> Iterator[tuple[Array, Array, Array]]:
    """Samples in float64, dense, their weights and targets, some at a time."""
    weight, n = weights_of(block), block.X.shape[0]
    step = max(1, TILE_VALUES // max(k, block.X.shape[1]))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        X = block.X[part, :]
        if is_sparse(X):
            X = X.toarray()
        xp = namespace(X)
        yield xp.astype(X, xp.float64, copy=False), weight[part], block.y[part, :]


def _squares(X: Array, centres: Floats) -> tuple[Array, Array]:
    """Squared distances (m, k) by products, and a bound on their rounding (m,)."""
    xp, place = namespace(X), np.mean(centres, axis=0)
    away, about = like(centres - place, X), X - like(place, X)
    lengths, sizes = xp.sum(about**2, axis=1), xp.sum(away**2, axis=1)
    slack = 4.0 * (X.shape[1] + 8) * unit_roundoff(np.float64) * (lengths + xp.max(sizes))
    return lengths[:, None] - 2.0 * xp.matmul(about, away.T) + sizes[None, :], slack


def _nearest(X: Array, centres: Floats, squares: Array, slack: Array) -> Array:
    """The number of each sample's nearest centre; squared differences decide where products do not."""
    xp = namespace(X)
    number, least = xp.argmin(squares, axis=1), xp.min(squares, axis=1)
    near = xp.sum(xp.astype(squares <= (least + slack)[:, None], xp.int32), axis=1) > 1
    unsure = np.flatnonzero(on_host(near))
    if not unsure.size:
        return number
    result = np.array(on_host(number))
    result[unsure] = np.argmin(_differences(take_rows(X, unsure), centres), axis=1)
    return like(result, X)


def _differences(X: Array, centres: Floats) -> Floats:
    """Squared distances (m, k) by differences, in memory."""
    xp = namespace(X)
    return np.stack([on_host(xp.sum((X - like(centre, X)) ** 2, axis=1)) for centre in centres], axis=1)


@dataclass(frozen=True, slots=True)
class LabelCheck:
    """Labels of some samples: how many are not those of a nearest centre, how many samples, and the energy of the
    samples from the centres of their labels.
    """

    wrong: int
    count: int
    energy: float

    def merge(self, other: "LabelCheck") -> "LabelCheck":
        return LabelCheck(self.wrong + other.wrong, self.count + other.count, self.energy + other.energy)


def check_labels(centres: Floats, unit: float) -> Callable[[Block], LabelCheck]:
    """The lift of `LabelCheck` for samples whose targets are their labels. A label is right where its centre is as
    near as the nearest up to rounding by products in a precision of `unit`.
    """
    return partial(_check_labels, centres, unit)


def _check_labels(centres: Floats, unit: float, block: Block) -> LabelCheck:
    k = len(centres)
    result = LabelCheck(0, 0, 0.0)
    for X, w, y in _pieces(block, k):
        xp = namespace(X)
        label = np.asarray(on_host(y[:, 0]), dtype=np.float64)
        known = (label >= 0.0) & (label < k) & (label == np.floor(label))
        number: Integers = np.where(known, label, 0.0).astype(np.int64)
        squares, slack = _squares(X, centres)
        own = xp.sum((X - xp.take(like(centres, X), like(number, X), axis=0)) ** 2, axis=1)
        # beyond the judge's own rounding and that of the model's products
        more = slack * max(1.0, unit / unit_roundoff(np.float64))
        far = np.flatnonzero(known & ~on_host(own <= xp.min(squares, axis=1) + more))
        if far.size:
            away = _differences(take_rows(X, far), centres)
            nearer = away[np.arange(len(far)), number[far]] - np.min(away, axis=1) > on_host(take_rows(more, far))
            far = far[nearer]
        energy = float(xp.sum(w * own))
        result = result.merge(LabelCheck(int(np.sum(~known)) + len(far), len(number), energy))
    return result
