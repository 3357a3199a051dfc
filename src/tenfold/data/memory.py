"""Rows in memory: dense in any layout, or compressed sparse rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tenfold.arrays import Array, contiguous, entries, is_numpy, is_sparse
from tenfold.data.blocks import Block, InOrder, block_length, rows_of


@dataclass(frozen=True, slots=True)
class MemoryRows(InOrder):
    """X (n, p) dense or CSR, y (n, t) float64, weight (n,) float64 or None, group (n,) int32 or None."""

    X: Array
    y: Array
    weight: Array | None = None
    group: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def targets(self) -> int:
        return int(self.y.shape[1])

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    @property
    def sparse(self) -> bool:
        return is_sparse(self.X)

    @property
    def foreign(self) -> bool:
        return not (self.sparse or is_numpy(self.X))

    @property
    def scattered(self) -> bool:
        return False

    @property
    def entries(self) -> int:
        return entries(self.X)

    def blocks(self) -> Iterator[Block]:
        n, p = self.shape
        length = block_length(p, self.sparse)
        for start in range(0, max(n, 1), length):
            stop = min(n, start + length)
            X = self.X if stop - start == n else self.X[start:stop]
            # a Fortran or strided array is put in C order one block at a time, never as a whole
            yield Block(
                X if is_sparse(X) else contiguous(X),
                contiguous(self.y[start:stop]),
                rows_of(self.weight, start, stop),
                rows_of(self.group, start, stop),
            )

    def thin(self, step: int) -> "MemoryRows":
        weight = None if self.weight is None else contiguous(self.weight[::step])
        group = None if self.group is None else contiguous(self.group[::step])
        X = self.X[::step]
        return MemoryRows(X if is_sparse(X) else contiguous(X), contiguous(self.y[::step]), weight, group)

    def whole(self) -> Block:
        return Block(self.X, self.y, self.weight, self.group)

    def grouped(self, group: Array) -> "MemoryRows":
        return replace(self, group=group)

    def retarget(self, y: Array) -> "MemoryRows":
        return replace(self, y=y)
