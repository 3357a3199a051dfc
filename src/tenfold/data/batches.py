"""Rows read from a `Table` in every pass: the same blocks as in memory, prefetched by a thread."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import Array, contiguous
from tenfold.data.blocks import Block, SequentialRows, block_length, slice_rows, take_every, targets_of, weights_of
from tenfold.data.memory import MemoryRows
from tenfold.data.prefetch import read_ahead
from tenfold.data.table import Table

MAX_BLOCKS = 2  # in memory at a time: one is processed while a thread fills the next


@dataclass(frozen=True, slots=True)
class BatchRows(SequentialRows):
    """X from a table, y (n, t) float64, weight (n,) float64 or None, group (n,) int32 or None in memory."""

    X: Table
    y: Array
    weight: Array | None = None
    group: Array | None = None

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    @property
    def sparse(self) -> bool:
        return self.X.sparse

    @property
    def on_device(self) -> bool:
        return False

    @property
    def entries(self) -> int:
        return self.X.entries

    def blocks(self) -> Generator[Block]:
        start = 0
        with closing(read_ahead(self.X.cut(block_length(self.shape[1], self.sparse)), MAX_BLOCKS)) as arrays:
            for X in arrays:
                stop = start + X.shape[0]
                y = contiguous(self.y[start:stop])
                yield Block(X, y, slice_rows(self.weight, start, stop), slice_rows(self.group, start, stop))
                del X
                start = stop

    def map(self, f: Callable[[Block], Array]) -> Array:
        """See `Rows`; targets and weights are in memory, and need no read."""
        if f is targets_of:
            return self.y
        if f is weights_of:
            return np.ones(self.shape[0]) if self.weight is None else self.weight
        return SequentialRows.map(self, f)

    def subsample(self, step: int) -> MemoryRows:
        """See `Rows`."""
        X = contiguous(self.X.subsample(step))
        return MemoryRows(X, *(take_every(part, step) for part in (self.y, self.weight, self.group)))

    def whole(self) -> Block:
        """See `Rows`."""
        return Block(self.X.load(), self.y, self.weight, self.group)

    def regroup(self, group: Array) -> "BatchRows":
        """See `Rows`."""
        return replace(self, group=group)

    def retarget(self, y: Array) -> "BatchRows":
        """See `Rows`."""
        return replace(self, y=y)
