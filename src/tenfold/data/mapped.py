"""Rows whose features are a function of other rows: made block by block, never kept as a whole."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tenfold.arrays import Array, is_numpy, namespace, some_rows
from tenfold.data.blocks import Block, MaybeDeferred, Rows, S, block_length, slice_rows
from tenfold.machine import require_memory

T = TypeVar("T")


@dataclass(frozen=True)
class MappedRows:
    """Rows with `function` of the samples in their place: dense, with `count` features of this dtype.

    Blocks of the source are cut again, so that the features of a block are no larger than blocks usually are.
    """

    rows: Rows
    function: Callable[[Array], Array]
    count: int
    dtype: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape[0], self.count

    @property
    def targets(self) -> int:
        return self.rows.targets

    @property
    def sparse(self) -> bool:
        return False

    @property
    def on_device(self) -> bool:
        return self.rows.on_device

    @property
    def distributed(self) -> bool:
        return self.rows.distributed

    @property
    def entries(self) -> int:
        return self.rows.shape[0] * self.count

    def fold(self, lift: Callable[[Block], MaybeDeferred[S]]) -> S:
        """See `Rows`."""
        return self.rows.fold(partial(_fold, self.function, self.count, lift))

    def scan(self, step: Callable[[T, Block], T], start: T) -> T:
        """See `Rows`."""
        return self.rows.scan(partial(_scan, self.function, self.count, step), start)

    def map(self, f: Callable[[Block], Array]) -> Array:
        """See `Rows`."""
        return self.rows.map(partial(_map, self.function, self.count, f))

    def subsample(self, step: int) -> "MappedRows":
        """See `Rows`."""
        return replace(self, rows=self.rows.subsample(step))

    def whole(self) -> Block:
        """See `Rows`."""
        size = self.entries * np.dtype(self.dtype).itemsize
        require_memory(f"The {self.count} features of {self.shape[0]} samples", size, "Take fewer features.")
        block = self.rows.whole()
        return replace(block, X=self.function(block.X), column_summary=None)

    def regroup(self, group: Array) -> "MappedRows":
        """See `Rows`."""
        return replace(self, rows=self.rows.regroup(group))

    def retarget(self, y: Array) -> "MappedRows":
        """See `Rows`."""
        return replace(self, rows=self.rows.retarget(y))


def _parts(function: Callable[[Array], Array], count: int, block: Block) -> Any:
    """The features of a block, some rows at a time."""
    n = block.X.shape[0]
    length = block_length(count, False, not (is_numpy(block.X) or hasattr(block.X, "indptr")))
    for start in range(0, max(n, 1), length):
        stop = min(n, start + length)
        X = function(some_rows(block.X, slice(start, stop)))
        parts = (slice_rows(part, start, stop) for part in (block.y, block.weight, block.group))
        yield Block(X, *parts)


def _fold(function: Callable[[Array], Array], count: int, lift: Callable[[Block], Any], block: Block) -> Any:
    total: Any = None
    for part in _parts(function, count, block):
        total = lift(part) if total is None else total.merge(lift(part))
    return total


def _scan(function: Callable[[Array], Array], count: int, step: Callable[[T, Block], T], state: T, block: Block) -> T:
    for part in _parts(function, count, block):
        state = step(state, part)
    return state


def _map(function: Callable[[Array], Array], count: int, f: Callable[[Block], Array], block: Block) -> Array:
    results = [f(part) for part in _parts(function, count, block)]
    return results[0] if len(results) == 1 else namespace(results[0]).concat(results, axis=0)
