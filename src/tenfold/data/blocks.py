"""Blocks of rows, the protocol `Rows` of their sources, and the block length, which fixes where rows are cut."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from tenfold.arrays import (
    Array,
    ColumnSummary,
    Floats,
    column_summaries,
    contiguous,
    flat,
    namespace,
    on_host,
    ones,
    some_rows,
    split_flat,
)
from tenfold.data.passes import count_pass

BLOCK_BYTES = 1 << 25  # of a block in float64: amortises the cost of a call, and several blocks fit into memory
DEVICE_BYTES = 1 << 31  # on a device: a block takes about 30 calls, each as expensive as reading tens of megabytes
SPARSE_ROWS = 1 << 16  # rows of a sparse block
ONE_ARRAY_MAX_ENTRIES = 1 << 16  # of dense samples: up to here a pass over blocks costs mostly calls


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows in one array namespace: X (m, p), y (m, t), weight (m,), group (m,) with a class or fold
    number of each row; `column_summary` returns the column summary of [X y] where its source keeps one.
    """

    X: Array
    y: Array
    weight: Array | None = None
    group: Array | None = None
    column_summary: Callable[[], ColumnSummary] | None = None


class Statistic(Protocol):
    """An element of a commutative monoid: statistics of two sets of rows merge into that of their union."""

    def merge(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Statistic)
T = TypeVar("T")

MAX_PENDING_NUMBERS = 1 << 22  # float64 values of deferred statistics that are held on a device before they are fetched


class Pending(NamedTuple, Generic[S]):
    """Values (k,) of one or more blocks, still on their device; `finish(sources, numbers)` makes a statistic of them.
    Entries with the same `key` are sums, and may be added.
    """

    numbers: Array
    finish: Callable[[tuple[Any, ...], Floats], S]
    key: Any
    sources: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Deferred(Generic[S]):
    """Statistics of blocks whose values a device may still be computing. They are fetched once, at the end of a pass,
    because every fetch synchronises. `done` is the statistic of the blocks before those that are `waiting`.
    """

    waiting: tuple[Pending[S], ...]
    done: S | None = None

    @classmethod
    def of(
        cls, parts: Sequence[Array], finish: Callable[..., S], *, key: Any = None, source: Any = None
    ) -> "Deferred[S]":
        """The statistic finish(sources, *parts), with the parts as NumPy arrays in float64.

        Parts of consecutive blocks with the same `key` are added; `sources` has the `source` of each of them. Sources
        are held until the end of the pass: pass views of rows, not copies.
        """
        shapes = [tuple(part.shape) for part in parts]
        return cls((Pending(flat(parts), partial(_finish_block, finish, shapes), key, (source,)),))

    def merge(self, other: "Deferred[S]") -> "Deferred[S]":
        if other.done is not None:
            return Deferred((), self.result().merge(other.result()))
        waiting = list(self.waiting)
        for after in other.waiting:
            before = waiting[-1] if waiting else None
            if before is not None and before.key is not None and before.key == after.key:
                with np.errstate(invalid="ignore"):  # rows that are not finite are rejected by the caller of fold
                    sums = before.numbers + after.numbers
                waiting[-1] = before._replace(numbers=sums, sources=before.sources + after.sources)
            else:
                waiting.append(after)
        both = Deferred(tuple(waiting), self.done)
        size = sum(entry.numbers.shape[0] for entry in waiting)
        return Deferred((), both.result()) if len(waiting) > 1 and size > MAX_PENDING_NUMBERS else both

    def result(self) -> S:
        """The statistic of all blocks, merged in their order."""
        total = self.done
        if self.waiting:
            numbers = [entry.numbers for entry in self.waiting]
            values = on_host(flat(numbers) if len(numbers) > 1 else numbers[0])
            each = split_flat(values, [part.shape for part in numbers])
            for part, entry in zip(each, self.waiting, strict=True):
                more = entry.finish(entry.sources, part)
                total = more if total is None else total.merge(more)
        assert total is not None
        return total


def _finish_block(
    finish: Callable[..., S], shapes: list[tuple[int, ...]], sources: tuple[Any, ...], numbers: Floats
) -> S:
    return finish(sources, *split_flat(numbers, shapes))


MaybeDeferred: TypeAlias = S | Deferred[S]
"""What a lift returns: the statistic of a block, or one whose values are still on a device."""


def resolve(statistic: Any) -> Any:
    """The statistic itself where it is `Deferred`, any other as it is."""
    result = getattr(statistic, "result", None)
    return statistic if result is None else result()


class Rows(Protocol):
    """A source of rows that can be read any number of times, always cut at the same row numbers."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def targets(self) -> int: ...
    @property
    def dtype(self) -> Any:
        """That of X; fitted arrays keep it."""
        ...

    @property
    def sparse(self) -> bool: ...
    @property
    def on_device(self) -> bool:
        """Whether the rows are on another device or machine: arrays with an entry for each row should stay there."""
        ...

    @property
    def distributed(self) -> bool:
        """Whether the rows are on several machines: `whole` raises."""
        ...

    @property
    def entries(self) -> int:
        """The number of stored values."""
        ...

    def fold(self, lift: Callable[[Block], MaybeDeferred[S]]) -> S:
        """Merge the statistics of all blocks, in the order of the rows."""
        ...

    def scan(self, step: Callable[[T, Block], T], start: T) -> T:
        """Carry a state through the blocks in order."""
        ...

    def map(self, f: Callable[[Block], Array]) -> Array:
        """One result for each row, in order."""
        ...

    def subsample(self, step: int) -> "Rows":
        """Every `step`-th row, in memory; `step` from `sampling_step`."""
        ...

    def whole(self) -> Block:
        """All rows at once; raises where there is no memory for them."""
        ...

    def regroup(self, group: Array) -> "Rows":
        """The same rows with other groups."""
        ...

    def retarget(self, y: Array) -> "Rows":
        """The same rows with other targets (n, t)."""
        ...


class ArrayShapes:
    """The shape properties of rows, from X (n, p) and y (n, t) of any array library."""

    __slots__ = ()

    X: Any
    y: Any

    @property
    def entries(self) -> int:
        """The number of stored values."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def targets(self) -> int:
        return int(self.y.shape[1])


class SequentialRows(ArrayShapes):
    """`fold`, `scan` and `map` of a source that yields its blocks in the order of the rows.

    A block is released before the next one is requested, so that a source need not hold both.
    """

    __slots__ = ()

    @property
    def distributed(self) -> bool:
        return False

    def blocks(self) -> Generator[Block]:
        """The blocks, from the first row on."""
        raise NotImplementedError

    def fold(self, lift: Callable[[Block], MaybeDeferred[S]]) -> S:
        """See `Rows`."""
        return resolve(self.start_fold(lift))

    def start_fold(self, lift: Callable[[Block], MaybeDeferred[S]]) -> Any:
        """A fold whose result is not fetched yet: on a device the computation is only enqueued."""
        count_pass(self.entries)
        with closing(self.blocks()) as blocks:
            total: Any = lift(next(blocks))
            for block in blocks:
                total = total.merge(lift(block))
                del block
        return total

    def scan(self, step: Callable[[T, Block], T], start: T) -> T:
        """See `Rows`."""
        count_pass(self.entries)
        state = start
        with closing(self.blocks()) as blocks:
            for block in blocks:
                state = step(state, block)
                del block
        return state

    def map(self, f: Callable[[Block], Array]) -> Array:
        """See `Rows`."""
        if f is not targets_of and f is not weights_of:
            count_pass(self.entries)
        parts = []
        with closing(self.blocks()) as blocks:
            for block in blocks:
                parts.append(f(block))
                del block
        return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=0)


def fold_together(*requests: tuple[Rows, Callable[[Block], Any]]) -> list[Any]:
    """Several folds; on a device all are enqueued before the first result is fetched."""
    folds = [rows.start_fold(lift) if isinstance(rows, SequentialRows) else rows.fold(lift) for rows, lift in requests]
    return [resolve(fold) for fold in folds]


def sampling_step(n: int, size: int) -> int:
    """The largest power of three that leaves at least `wanted` of n rows; 1 where there are not as many.

    Odd, so that rows in alternating order are sampled evenly; powers of one number, so that a smaller sample is a
    subsample of a larger one and need not be read again.
    """
    step = 1
    while 3 * step * size <= n:
        step *= 3
    return step


def block_length(width: int, sparse: bool, device: bool = False) -> int:
    """Rows of a block: a power of two that depends on the row width alone, so that threads, dtypes and sources never
    move a cut.
    """
    if sparse:
        return SPARSE_ROWS
    size = DEVICE_BYTES if device else BLOCK_BYTES
    length = max(1, size // (8 * max(1, width)))
    return max(256, min(size >> 5, 1 << (length.bit_length() - 1)))


def weights_of(block: Block) -> Any:
    """The sample weights of a block, ones where there are none."""
    return ones(block.y.shape[0], block.y) if block.weight is None else block.weight


def column_summary(block: Block) -> ColumnSummary:
    """The column summary of [X y]: the one that the source keeps, or computed."""
    return (
        column_summaries(block.X, block.y, [(0, block.X.shape[0])])[0]
        if block.column_summary is None
        else block.column_summary()
    )


def is_near(shift: Floats, block: Block, reach: float = 1.0) -> bool:
    """Whether |shift| is at most `reach` times the mean absolute deviation in every column of X: sums about the shift
    may then be recentred afterwards, at a loss of about `reach` roundings, which saves a pass.
    """
    if not shift.size or not block.X.shape[0]:
        return not shift.size
    return bool(np.all(np.abs(shift) <= reach * column_summary(block).deviation[: shift.size]))


def is_small_dense(rows: Rows) -> bool:
    """Whether these are few dense samples of this machine, which are best read at once (`whole`), as one array."""
    return not (rows.sparse or rows.on_device or rows.distributed) and rows.entries <= ONE_ARRAY_MAX_ENTRIES


def targets_of(block: Block) -> Any:
    """The targets of a block."""
    return block.y


def take_every(array: Array | None, step: int) -> Any:
    """Every `step`-th row, in C order; None of None."""
    return None if array is None else contiguous(some_rows(array, slice(None, None, step)))


def slice_rows(array: Array | None, start: int, stop: int) -> Any:
    """A slice of rows; None of None."""
    return None if array is None else some_rows(array, slice(start, stop))
