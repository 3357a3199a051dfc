"""Rows with a constant column appended: a penalised intercept is the weight of such a column."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, is_sparse, namespace
from tenfold.data.blocks import Block, MaybeDeferred, Rows, S
from tenfold.data.memory import MemoryRows

T = TypeVar("T")


def with_constant(rows: Rows, value: float) -> Rows:
    """`rows` with a last column of `value`; rows in memory are copied, others are widened block by block."""
    if isinstance(rows, MemoryRows):
        return replace(rows, X=with_column(rows.X, value), parent=None)
    return WithConstant(rows, value)


@dataclass(frozen=True, slots=True)
class WithConstant:
    """`rows` with a last column of `value`, which is added to one block at a time."""

    rows: Rows
    value: float

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.rows.shape
        return n, p + 1

    @property
    def targets(self) -> int:
        return self.rows.targets

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    @property
    def sparse(self) -> bool:
        return self.rows.sparse

    @property
    def on_device(self) -> bool:
        return self.rows.on_device

    @property
    def distributed(self) -> bool:
        return self.rows.distributed

    @property
    def entries(self) -> int:
        return self.rows.entries + self.rows.shape[0]

    def _widen(self, block: Block) -> Block:
        return replace(block, X=with_column(block.X, self.value))

    def fold(self, lift: Callable[[Block], MaybeDeferred[S]]) -> S:
        """See `Rows`."""
        return self.rows.fold(lambda block: lift(self._widen(block)))

    def scan(self, step: Callable[[T, Block], T], start: T) -> T:
        """See `Rows`."""
        return self.rows.scan(lambda state, block: step(state, self._widen(block)), start)

    def map(self, f: Callable[[Block], Array]) -> Array:
        """See `Rows`."""
        return self.rows.map(lambda block: f(self._widen(block)))

    def subsample(self, step: int) -> Rows:
        """See `Rows`."""
        return with_constant(self.rows.subsample(step), self.value)

    def whole(self) -> Block:
        """See `Rows`."""
        return self._widen(self.rows.whole())

    def regroup(self, group: Array) -> "WithConstant":
        """See `Rows`."""
        return WithConstant(self.rows.regroup(group), self.value)

    def retarget(self, y: Array) -> "WithConstant":
        """See `Rows`."""
        return WithConstant(self.rows.retarget(y), self.value)


def with_column(X: Array, value: float) -> Array:
    """X with a last column of `value`."""
    if is_sparse(X):
        column = np.full((X.shape[0], 1), value, dtype=X.dtype)
        return sparse.hstack([X, sparse.csr_array(column)], format="csr")
    xp = namespace(X)
    return xp.concat([X, value * xp.ones_like(X[:, :1])], axis=1)
