"""Rows read from a `Table` in every pass: the same blocks as in memory, while a thread reads ahead."""

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tenfold.arrays import Array, contiguous, is_sparse
from tenfold.data.blocks import Block, InOrder, block_length, rows_of
from tenfold.data.memory import MemoryRows
from tenfold.data.table import Table

T = TypeVar("T")

AHEAD = 2
"""So many blocks wait, at most, while one is worked on."""


@dataclass(frozen=True, slots=True)
class BatchRows(InOrder):
    """X from a table, y (n, t) float64, weight (n,) float64 or None, group (n,) int32 or None in memory."""

    X: Table
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
        return self.X.sparse

    @property
    def foreign(self) -> bool:
        return False

    @property
    def scattered(self) -> bool:
        return False

    @property
    def entries(self) -> int:
        return self.X.entries

    def blocks(self) -> Iterator[Block]:
        start = 0
        for X in read_ahead(self.X.cut(block_length(self.shape[1], self.sparse)), AHEAD):
            stop = start + X.shape[0]
            y = contiguous(self.y[start:stop])
            yield Block(X, y, rows_of(self.weight, start, stop), rows_of(self.group, start, stop))
            start = stop

    def thin(self, step: int) -> MemoryRows:
        """See `Rows`."""
        X = self.X.thin(step)
        weight = None if self.weight is None else contiguous(self.weight[::step])
        group = None if self.group is None else contiguous(self.group[::step])
        return MemoryRows(X if is_sparse(X) else contiguous(X), contiguous(self.y[::step]), weight, group)

    def whole(self) -> Block:
        """See `Rows`."""
        return Block(self.X.load(), self.y, self.weight, self.group)

    def grouped(self, group: Array) -> "BatchRows":
        """See `Rows`."""
        return replace(self, group=group)

    def retarget(self, y: Array) -> "BatchRows":
        """See `Rows`."""
        return replace(self, y=y)


def read_ahead(source: Iterator[T], depth: int) -> Iterator[T]:
    """What `source` gives, made by another thread up to `depth` items ahead; its errors are raised here."""
    items: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(depth)
    stopped = threading.Event()

    def offer(item: T | None, error: BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                items.put((item, error), timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in source:
                if not offer(item, None):
                    return
            offer(None, StopIteration())
        except BaseException as error:
            offer(None, error)

    thread = threading.Thread(target=work, name="tenfold reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = items.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()
