"""Samples and their nearest of a few centres: weights, sums and energy of each centre, and the farthest samples."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, entries, is_numpy, is_sparse, like, namespace, on_host, take_rows
from tenfold.data import Block, Deferred, MaybeDeferred, MemoryRows, Rows, weights_of
from tenfold.machine import threads
from tenfold.stats.derivatives import Params, forward

CALL_PRODUCTS = 1 << 24  # of samples and centres in one call of several steps: milliseconds

TILE_VALUES = 1 << 24  # products of samples and centres in the Array API at a time: 128 MiB in float64


@dataclass(frozen=True, slots=True)
class Assignment:
    """Of the samples that are nearest to each of k centres: their weight (k,), and sums (k, p) about a point; and the
    energy, the weighted sum of squared distances.
    """

    weight: Floats
    sums: Floats
    energy: float

    def merge(self, other: "Assignment") -> "Assignment":
        return Assignment(self.weight + other.weight, self.sums + other.sums, self.energy + other.energy)


def assign(centres: Floats, place: Floats) -> Callable[[Block], MaybeDeferred[Assignment]]:
    """The lift of `Assignment` for centres (k, p), with sums about `place` (p,)."""
    return partial(_assign_block, centres, place)


def _assign_block(centres: Floats, place: Floats, block: Block) -> MaybeDeferred[Assignment]:
    X = block.X
    rest = (block.weight, centres, place, threads(entries(X) * len(centres)))
    if is_sparse(X):
        return Assignment(*_core.kmeans_assign_csr(X.data, X.indices, X.indptr, X.shape[1], *rest))
    if is_numpy(X):
        return Assignment(*_core.kmeans_assign(X, *rest))
    return assign_in_arrays(centres, place, block)


def assign_in_arrays(centres: Floats, place: Floats, block: Block) -> Deferred[Assignment]:
    """The lift in the Array API: for other namespaces, and the reference for the compiled loop."""
    xp, k, weight = namespace(block.X), len(centres), weights_of(block)
    numbers = like(np.arange(k), block.X)
    total: list[Array] = []
    for start, stop in _pieces(block.X.shape[0], k):
        X = xp.astype(block.X[start:stop, :], xp.float64, copy=False)
        number, square = _nearest_in_arrays(X, centres)
        w = weight[start:stop]
        indicator = xp.where(number[:, None] == numbers[None, :], w[:, None], 0.0)
        sums = xp.matmul(indicator.T, X - like(place, X))
        parts = [xp.sum(indicator, axis=0), sums, xp.reshape(xp.sum(w * square), (1,))]
        total = [a + b for a, b in zip(total, parts, strict=True)] if total else parts
    return Deferred.of(total, _from_sums, key="assigned")


Sums: TypeAlias = tuple[Floats, Floats]
"""Weights (k,) and sums (k, p) of the samples that are nearest to each of some centres."""


class LloydRule(NamedTuple):
    """Of steps of Lloyd: the energy of one centre for all, the sum of squared moves and the relative decrease of the
    energy at which they end, and how many may be taken ahead of who asks for them.
    """

    scatter: float
    shift: float
    decrease: float
    ahead: int


class Assigner(Protocol):
    """Passes over the same samples for centres that move: their sums; and `sum_again` those of the last pass, which
    depend on nothing but the centre of each sample.
    """

    def __call__(self, centres: Floats) -> Sums: ...
    def sum_again(self) -> Sums: ...

    def steps(self, centres: Floats, rule: LloydRule) -> Iterator[tuple[Floats, Floats, float, float]]:
        """Centres, weights, energy and measure after each of some steps that cost less together; none elsewhere."""
        ...


def make_assigner(rows: Rows, place: Floats) -> Assigner:
    """Passes with sums about `place`. Samples in memory keep Hamerly's bounds from one pass to the next, so that most
    are compared with few centres, and samples that stay with their centre are not read.
    """
    if isinstance(rows, MemoryRows) and not rows.on_device:
        return _BoundsAssigner(rows, place)
    return _FoldAssigner(rows, place)


class _FoldAssigner:
    def __init__(self, rows: Rows, place: Floats) -> None:
        self._rows, self._place = rows, place
        self._last: Sums = (np.zeros(0), np.zeros((0, 0)))

    def __call__(self, centres: Floats) -> Sums:
        result: Assignment = self._rows.fold(assign(centres, self._place))
        self._last = result.weight, result.sums
        return self._last

    def steps(self, centres: Floats, rule: LloydRule) -> Iterator[tuple[Floats, Floats, float, float]]:
        return iter(())

    def sum_again(self) -> Sums:
        return self._last


class _BoundsAssigner:
    def __init__(self, rows: MemoryRows, place: Floats) -> None:
        self._place, self._entries = place, rows.entries
        self._loops = [_hamerly_loop(block.X, block.weight) for block in rows.blocks()]

    def __call__(self, centres: Floats) -> Sums:
        count = threads(self._entries)
        return _add([loop.step(centres, self._place, count) for loop in self._loops])

    def steps(self, centres: Floats, rule: LloydRule) -> Iterator[tuple[Floats, Floats, float, float]]:
        limit, done = min(rule.ahead, CALL_PRODUCTS // max(1, self._entries * len(centres))), 0
        while len(self._loops) == 1 and limit > 1 and done < rule.ahead:
            settings = (self._place, *rule[:3], min(limit, rule.ahead - done), threads(self._entries))
            places, weights, energies, measures = self._loops[0].steps(centres, *settings)
            yield from zip(places, weights, energies.tolist(), measures.tolist(), strict=True)
            done += len(places)
            if len(places) < settings[4] or measures[-1] <= 1.0:
                return
            centres = places[-1]

    def sum_again(self) -> Sums:
        count = threads(self._entries)
        return _add([loop.sum_again(self._place, count) for loop in self._loops])


def _hamerly_loop(X: Array, weight: Floats | None) -> _core.LloydHamerly:
    if is_sparse(X):
        return _core.LloydHamerly(X.data, X.indices, X.indptr, X.shape[1], weight)
    return _core.LloydHamerly(X, weight)


def _add(parts: list[Sums]) -> Sums:
    weight, sums = parts[0]
    for other in parts[1:]:
        weight, sums = weight + other[0], sums + other[1]
    return weight, sums


def _from_sums(_: tuple[None, ...], weight: Floats, sums: Floats, energy: Floats) -> Assignment:
    return Assignment(weight, sums, float(energy[0]))


def _pieces(n: int, k: int) -> Iterator[tuple[int, int]]:
    step = max(1, TILE_VALUES // k)
    return ((start, min(n, start + step)) for start in range(0, max(n, 1), step))


def _nearest_in_arrays(X: Array, centres: Floats) -> tuple[Array, Array]:
    """Number and squared distance of the nearest centre; X in float64."""
    xp, place = namespace(X), centres.mean(axis=0)
    centred = centres - place
    scores = xp.matmul(X - like(place, X), like(centred, X).T) - like(0.5 * np.sum(centred**2, axis=1), X)
    number = xp.argmax(scores, axis=1)
    return number, xp.sum((X - xp.take(like(centres, X), number, axis=0)) ** 2, axis=1)


def find_nearest(X: Array, centres: Floats) -> tuple[Array, Array]:
    """The number (n,) of each sample's nearest centre, the first of equals, and its squared distance (n,) in float64,
    where X is.
    """
    count = threads(entries(X) * len(centres))
    if is_sparse(X):
        return _core.nearest_centres_csr(X.data, X.indices, X.indptr, X.shape[1], centres, count)
    if is_numpy(X):
        return _core.nearest_centres(X, centres, count)
    xp = namespace(X)
    tiles = [
        _nearest_in_arrays(xp.astype(X[start:stop, :], xp.float64, copy=False), centres)
        for start, stop in _pieces(X.shape[0], len(centres))
    ]
    number, square = (xp.concat(parts, axis=0) if len(parts) > 1 else parts[0] for parts in zip(*tiles, strict=True))
    return xp.astype(number, xp.int32), square


def compute_squared_distances(X: Array, centres: Floats) -> Array:
    """Squared distances (n, k) of samples from centres in float64, where X is."""
    if is_numpy(X):
        return _core.scaled_distances(X, centres, np.ones_like(centres), threads(entries(X) * len(centres)))
    if is_sparse(X):
        squares = np.asarray(type(X)((np.square(X.data, dtype=np.float64), X.indices, X.indptr), X.shape).sum(axis=1))
        products = forward(X, Params(-2.0 * centres, np.sum(centres**2, axis=1)))
        return np.maximum(products + squares.reshape(-1, 1), 0.0)
    xp, C = namespace(X), like(centres, X)
    X = xp.astype(X, xp.float64, copy=False)
    return xp.stack([xp.sum((X - C[k, :]) ** 2, axis=1) for k in range(len(centres))], axis=1)


@dataclass(frozen=True, slots=True)
class Farthest:
    """Up to `most` different samples (m, p) that are farthest from their centres, the farthest first; their squared
    distances, centres and weights. Equal samples are one, with the sum of their weights, and equally far samples stand
    in the order of their values: neither repetitions nor the order of samples matter.
    """

    most: int
    rows: Floats
    square: Floats
    number: Integers
    weight: Floats

    def merge(self, other: "Farthest") -> "Farthest":
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("rows", "square", "number", "weight"))
        return _select_farthest(self.most, *(np.concatenate(pair) for pair in pairs))


def find_farthest(centres: Floats, most: int) -> Callable[[Block], Farthest]:
    """The lift of `Farthest`."""
    return partial(_farthest_of_block, centres, most)


def _farthest_of_block(centres: Floats, most: int, block: Block) -> Farthest:
    number, square = (on_host(part) for part in find_nearest(block.X, centres))
    weight = on_host(weights_of(block))
    square = np.where(weight > 0.0, square, 0.0)
    values = np.unique(square)[-most:]
    some = np.flatnonzero((square >= values[0]) & (square > 0.0))
    rows: Any = take_rows(block.X, some)
    rows = np.asarray(rows.toarray() if is_sparse(rows) else on_host(rows), dtype=np.float64)
    return _select_farthest(most, rows, square[some], number[some], weight[some])


def _select_farthest(most: int, rows: Floats, square: Floats, number: Integers, weight: Floats) -> Farthest:
    if not len(rows):
        return Farthest(most, rows, square, number, weight)
    different, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(which.ravel(), weight, minlength=len(different)).astype(np.float64)
    order = np.argsort(-square[first], kind="stable")[:most]
    first = first[order]
    return Farthest(most, rows[first], square[first], number[first], total[order])
