"""Rows in memory: dense in any layout, or compressed sparse rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tenfold.arrays import Array, contiguous, entries, is_sparse
from tenfold.rows.blocks import Block, S, block_length, rows_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoryRows:
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
    def sparse(self) -> bool:
        return is_sparse(self.X)

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

    def fold(self, lift: Callable[[Block], S]) -> S:
        blocks = self.blocks()
        total = lift(next(blocks))
        for block in blocks:
            total = total.merge(lift(block))
        return total

    def scan(self, step: Callable[[T, Block], T], start: T) -> T:
        state = start
        for block in self.blocks():
            state = step(state, block)
        return state

    def map(self, f: Callable[[Block], Array]) -> Array:
        parts = [f(block) for block in self.blocks()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

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
