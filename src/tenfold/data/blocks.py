"""Blocks of rows, the protocol of their sources, and the one rule by which rows are cut."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from tenfold.arrays import (
    Array,
    Floats,
    Head,
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

BLOCK_BYTES = 1 << 25
"""About what a block holds in float64: large enough to travel, small enough to keep several in memory."""

DEVICE_BYTES = 1 << 31
"""The same on a device, where a block is some thirty calls, each as dear as reading some tens of megabytes."""

SPARSE_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows in one array namespace: X (m, p), y (m, t), weight (m,), group (m,) with a class or fold
    number of each row; and what looks up the head of [X y] where its source keeps it.
    """

    X: Array
    y: Array
    weight: Array | None = None
    group: Array | None = None
    head: Callable[[], Head] | None = None


class Statistic(Protocol):
    """An element of a commutative monoid: statistics of two sets of rows merge into that of their union."""

    def merge(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Statistic)
T = TypeVar("T")

WAITING = 1 << 22
"""So many numbers at most wait on a device for the end of a pass."""


class Numbers(NamedTuple, Generic[S]):
    """What blocks come to, (k,), where their rows are; `finish(sources, numbers)` makes a statistic of it. Numbers with
    the same `key` are sums, and may be added up.
    """

    numbers: Array
    finish: Callable[[tuple[Any, ...], Floats], S]
    key: Any
    sources: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Deferred(Generic[S]):
    """Statistics of blocks whose numbers a device may still be computing. It is asked for them once, at the end of a
    pass, for every question is a wait. `done` is the statistic of the blocks before those that are `waiting`.
    """

    waiting: tuple[Numbers[S], ...]
    done: S | None = None

    @classmethod
    def of(
        cls, parts: Sequence[Array], finish: Callable[..., S], *, key: Any = None, source: Any = None
    ) -> "Deferred[S]":
        """The statistic finish(sources, *parts), with the parts as NumPy arrays in float64.

        Where blocks with the same `key` follow each other, their parts are added up, and each has its `source` among
        the sources. What is kept here is held until the end of the pass: views of rows, not copies.
        """
        shapes = [tuple(part.shape) for part in parts]
        return cls((Numbers(flat(parts), partial(_finished, finish, shapes), key, (source,)),))

    def merge(self, other: "Deferred[S]") -> "Deferred[S]":
        if other.done is not None:
            return Deferred((), self.result().merge(other.result()))
        waiting = list(self.waiting)
        for after in other.waiting:
            before = waiting[-1] if waiting else None
            if before is not None and before.key is not None and before.key == after.key:
                with np.errstate(invalid="ignore"):  # rows that are not finite are refused by whoever folds them
                    sums = before.numbers + after.numbers
                waiting[-1] = before._replace(numbers=sums, sources=before.sources + after.sources)
            else:
                waiting.append(after)
        both = Deferred(tuple(waiting), self.done)
        size = sum(entry.numbers.shape[0] for entry in waiting)
        return Deferred((), both.result()) if len(waiting) > 1 and size > WAITING else both

    def result(self) -> S:
        """The statistic of all blocks, merged in their order."""
        total = self.done
        if self.waiting:
            numbers = [entry.numbers for entry in self.waiting]
            found = on_host(flat(numbers) if len(numbers) > 1 else numbers[0])
            each = split_flat(found, [part.shape for part in numbers])
            for part, entry in zip(each, self.waiting, strict=True):
                more = entry.finish(entry.sources, part)
                total = more if total is None else total.merge(more)
        assert total is not None
        return total


def _finished(finish: Callable[..., S], shapes: list[tuple[int, ...]], sources: tuple[Any, ...], numbers: Floats) -> S:
    return finish(sources, *split_flat(numbers, shapes))


MaybeDeferred: TypeAlias = S | Deferred[S]
"""What a lift gives: the statistic of a block, or the promise of one."""


def resolve(found: Any) -> Any:
    """A statistic without pending parts."""
    result = getattr(found, "result", None)
    return found if result is None else result()


class Rows(Protocol):
    """A source of rows that can be read again and again, always cut at the same row numbers."""

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
        """Whether the rows are on another device or machine: numbers for each of them should stay there."""
        ...

    @property
    def distributed(self) -> bool:
        """Whether the rows are on several machines, and never together: `whole` is refused."""
        ...

    @property
    def entries(self) -> int:
        """How many numbers are stored."""
        ...

    def fold(self, lift: Callable[[Block], MaybeDeferred[S]]) -> S:
        """Merge the statistics of all blocks, in the order of the rows."""
        ...

    def scan(self, step: Callable[[T, Block], T], start: T) -> T:
        """Carry a state through the blocks in order."""
        ...

    def map(self, f: Callable[[Block], Array]) -> Array:
        """One result a row, in order."""
        ...

    def thin(self, step: int) -> "Rows":
        """Every `step`-th row, in memory; `step` from `sampling_step`."""
        ...

    def whole(self) -> Block:
        """All rows at once; refused where there is no memory for them."""
        ...

    def grouped(self, group: Array) -> "Rows":
        """The same rows with other groups."""
        ...

    def retarget(self, y: Array) -> "Rows":
        """The same rows with other targets (n, t)."""
        ...


class Parts:
    """What follows from X (n, p) and y (n, t), wherever they are."""

    __slots__ = ()

    X: Any
    y: Any

    @property
    def entries(self) -> int:
        """How many numbers are stored."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def targets(self) -> int:
        return int(self.y.shape[1])


class InOrder(Parts):
    """What follows from blocks that come in the order of the rows.

    A block is let go of before the next one is asked for, so that a source need not hold both.
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
        return resolve(self.begun(lift))

    def begun(self, lift: Callable[[Block], MaybeDeferred[S]]) -> Any:
        """A fold of which a device is told, and not asked yet."""
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


def at_once(*asked: tuple[Rows, Callable[[Block], Any]]) -> list[Any]:
    """Several folds: a device is told of all of them before it is asked for the first."""
    begun = [rows.begun(lift) if isinstance(rows, InOrder) else rows.fold(lift) for rows, lift in asked]
    return [resolve(found) for found in begun]


def sampling_step(n: int, wanted: int) -> int:
    """The largest power of three that leaves at least `wanted` of n rows, or all of them.

    Odd, so that it does not fall in with rows that alternate; powers of one number, so that a sparse sample is a sample
    of a denser one and need not be read again.
    """
    step = 1
    while 3 * step * wanted <= n:
        step *= 3
    return step


def block_length(width: int, sparse: bool, device: bool = False) -> int:
    """Rows of a block: a power of two from the row width alone, so threads, dtypes and sources never move a cut."""
    if sparse:
        return SPARSE_ROWS
    size = DEVICE_BYTES if device else BLOCK_BYTES
    length = max(1, size // (8 * max(1, width)))
    return max(256, min(size >> 5, 1 << (length.bit_length() - 1)))


def weights_of(block: Block) -> Any:
    """The weights of the rows of a block, ones where there are none."""
    return ones(block.y.shape[0], block.y) if block.weight is None else block.weight


def column_summary(block: Block) -> Head:
    """The head of [X y]: what its source keeps, or read."""
    return column_summaries(block.X, block.y, [(0, block.X.shape[0])])[0] if block.head is None else block.head()


def is_near(shift: Floats, block: Block, reach: float = 1.0) -> bool:
    """Whether no column of X is shifted by more than `reach` times what it deviates from its mean: sums may then be
    moved afterwards, which costs about so many roundings and saves a pass.
    """
    if not shift.size or not block.X.shape[0]:
        return not shift.size
    return bool(np.all(np.abs(shift) <= reach * column_summary(block).deviation[: shift.size]))


def targets_of(block: Block) -> Any:
    """The targets of a block."""
    return block.y


def every(array: Array | None, step: int) -> Any:
    """Every `step`-th row, in C order, or nothing of nothing."""
    return None if array is None else contiguous(some_rows(array, slice(None, None, step)))


def rows_of(array: Array | None, start: int, stop: int) -> Any:
    """A slice of rows, or nothing of nothing."""
    return None if array is None else some_rows(array, slice(start, stop))
