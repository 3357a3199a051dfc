"""Rows in the memory of this machine or of a device: dense in any layout, or CSR."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from tenfold.arrays import (
    Array,
    ColumnSummary,
    Floats,
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
from tenfold.data.blocks import Block, SequentialRows, block_length, slice_rows, take_every
from tenfold.data.passes import count_pass


@dataclass(frozen=True)
class MemoryRows(SequentialRows):
    """X (n, p) dense or CSR, y (n, t) float64, weight (n,) float64 or None, group (n,) int32 or None; all arrays are of
    one library, on one device.
    """

    X: Array
    y: Array
    weight: Array | None = None
    group: Array | None = None
    parent: "MemoryRows | None" = field(default=None, repr=False)
    """The rows of which these are a subsample, on a device."""

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
                contiguous(slice_rows(self.y, start, stop)),
                slice_rows(self.weight, start, stop),
                slice_rows(self.group, start, stop),
                partial(self._summary, k) if self.on_device and n else None,
            )

    def start_fold(self, lift: Callable[[Block], Any]) -> Any:
        """Of one block without its iteration, which takes a tenth of a small fit."""
        n, p = self.shape
        if self.on_device or not 0 < n <= block_length(p, self.sparse):
            return super().start_fold(lift)
        count_pass(self.entries)
        return lift(Block(contiguous(self.X), contiguous(self.y), self.weight, self.group))

    def _summary(self, block: int) -> ColumnSummary:
        return self._summaries[block]

    @cached_property
    def _summaries(self) -> list[ColumnSummary]:
        """The column summary of every block, computed once for all passes."""
        n, p = self.shape
        length = block_length(p, self.sparse, self.on_device)
        cuts = [(start, min(n, start + length)) for start in range(0, n, length)]
        if self.parent is not None and all(summary is self.parent._summaries[0] for summary in self.parent._summaries):
            return self.parent._summaries[:1] * len(cuts)  # all blocks agree, so the subsample has the same summary
        return column_summaries(self.X, self.y, cuts)

    def place(self) -> tuple[Floats, Floats] | None:
        """Approximate column means, exact in constant columns, and the mean squares of the columns about them, from
        the column summaries of the blocks on a device; None elsewhere, and where rows have weights.
        """
        if not self.on_device or self.weight is not None:
            return None
        mean, _, square, constant = (np.array(part)[:, : self.shape[1]] for part in zip(*self._summaries, strict=True))
        centre = np.where((constant == constant[0]).all(axis=0), constant[0], mean.mean(axis=0))
        with np.errstate(invalid="ignore", over="ignore"):  # as in heads_of
            return centre, np.mean(square + (mean - centre) ** 2, axis=0)

    @cached_property
    def transposed(self) -> Array:
        """Sparse X' as CSR, computed once for all who read by columns."""
        return self.X.T.tocsr()

    def subsample(self, step: int) -> "MemoryRows":
        if step == 1:
            return self
        X, y, weight, group = (take_every(part, step) for part in (self.X, self.y, self.weight, self.group))
        return (
            MemoryRows(make_contiguous(X), y, weight, group, self)
            if self.on_device
            else MemoryRows(X, y, weight, group)
        )

    def whole(self) -> Block:
        return Block(self.X, self.y, self.weight, self.group)

    def regroup(self, group: Array) -> "MemoryRows":
        return replace(self, group=like(group, self.X))

    def retarget(self, y: Array) -> "MemoryRows":
        return replace(self, y=like(y, self.X), parent=None)
