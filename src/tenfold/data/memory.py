"""Rows in memory, of this machine or of a device: dense in any layout, or compressed sparse rows."""

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from tenfold.arrays import (
    Array,
    Floats,
    Head,
    column_summaries,
    contiguous,
    entries,
    is_numpy,
    is_sparse,
    like,
    make_contiguous,
    numpy_dtype,
    some_rows,
)
from tenfold.data.blocks import Block, InOrder, block_length, every, rows_of


@dataclass(frozen=True)
class MemoryRows(InOrder):
    """X (n, p) dense or CSR, y (n, t) float64, weight (n,) float64 or None, group (n,) int32 or None; all arrays are of
    one library, on one device.
    """

    X: Array
    y: Array
    weight: Array | None = None
    group: Array | None = None
    thinned: "MemoryRows | None" = field(default=None, repr=False)
    """Of which rows these are a sample, on a device."""

    @property
    def dtype(self) -> Any:
        return numpy_dtype(self.X.dtype)

    @property
    def sparse(self) -> bool:
        return is_sparse(self.X)

    @property
    def on_device(self) -> bool:
        return not (self.sparse or is_numpy(self.X))

    @property
    def entries(self) -> int:
        return entries(self.X)

    def blocks(self) -> Generator[Block]:
        n, p = self.shape
        length = block_length(p, self.sparse, self.on_device)
        for k, start in enumerate(range(0, max(n, 1), length)):
            stop = min(n, start + length)
            X = self.X if stop - start == n else some_rows(self.X, slice(start, stop))
            # a Fortran or strided array is put in C order one block at a time, never as a whole
            yield Block(
                contiguous(X),
                contiguous(rows_of(self.y, start, stop)),
                rows_of(self.weight, start, stop),
                rows_of(self.group, start, stop),
                partial(self._head, k) if self.on_device and n else None,
            )

    def _head(self, block: int) -> Head:
        return self._heads[block]

    @cached_property
    def _heads(self) -> list[Head]:
        """The head of every block, read once for all passes."""
        n, p = self.shape
        length = block_length(p, self.sparse, self.on_device)
        cuts = [(start, min(n, start + length)) for start in range(0, n, length)]
        if self.thinned is not None and all(head is self.thinned._heads[0] for head in self.thinned._heads):
            return self.thinned._heads[:1] * len(cuts)  # they agree, and that of a sample is known
        return column_summaries(self.X, self.y, cuts)

    def place(self) -> tuple[Floats, Floats] | None:
        """A point amid the rows, with the very value of a constant column, and the mean squares of the columns about
        it, as the heads of blocks on a device know them; None elsewhere, and where rows have weights.
        """
        if not self.on_device or self.weight is not None:
            return None
        mean, _, square, constant = (np.array(part)[:, : self.shape[1]] for part in zip(*self._heads, strict=True))
        centre = np.where((constant == constant[0]).all(axis=0), constant[0], mean.mean(axis=0))
        with np.errstate(invalid="ignore", over="ignore"):  # as in heads_of
            return centre, np.mean(square + (mean - centre) ** 2, axis=0)

    def thin(self, step: int) -> "MemoryRows":
        if step == 1:
            return self
        X, y, weight, group = (every(part, step) for part in (self.X, self.y, self.weight, self.group))
        return (
            MemoryRows(make_contiguous(X), y, weight, group, self)
            if self.on_device
            else MemoryRows(X, y, weight, group)
        )

    def whole(self) -> Block:
        return Block(self.X, self.y, self.weight, self.group)

    def grouped(self, group: Array) -> "MemoryRows":
        return replace(self, group=like(group, self.X))

    def retarget(self, y: Array) -> "MemoryRows":
        return replace(self, y=like(y, self.X), thinned=None)
