"""Rows outside memory: what is read again in every pass, and never as a whole."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy import sparse as csr

from tenfold import _core
from tenfold.arrays import FLOATS, Array, is_sparse
from tenfold.machine import require_memory, threads

Place: TypeAlias = Callable[[int], str]
"""Where a row of a piece, counted from 0, comes from, in words for an error."""


@dataclass(frozen=True, slots=True)
class Columns:
    """A matrix by its columns, which are put beside each other in the block where their rows go, and only there."""

    each: list[Array]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.each[0]), len(self.each)

    def __getitem__(self, chosen: slice) -> "Columns":
        return Columns([column[chosen] for column in self.each])

    def write(self, out: Array) -> None:
        """Fill a matrix in C order."""
        columns = [np.ascontiguousarray(column, out.dtype) for column in self.each]
        _core.columns_to_rows(columns, out, threads(out.size))

    def copy(self) -> Array:
        """The matrix, in C order."""
        out = np.empty(self.shape, common_dtype([column.dtype for column in self.each]))
        self.write(out)
        return out


class Piece(NamedTuple):
    """Consecutive rows (m, p) as a reader hands them out, and where they come from."""

    X: Array | Columns
    place: Place

    def matrix(self) -> Array:
        """The rows as a matrix, dense or CSR."""
        return self.X.copy() if isinstance(self.X, Columns) else self.X


@dataclass(frozen=True)
class Survey:
    """What one look at all rows finds: their number, how many numbers they hold, the dtype of X, whether it is sparse,
    and the columns that stay in memory.
    """

    count: int
    entries: int
    dtype: np.dtype[Any]
    sparse: bool
    kept: dict[str, Array]


class Reader(Protocol):
    """A restartable source of rows: files, tables of Arrow, an iterable of blocks."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, in order."""
        ...

    @property
    def named(self) -> bool:
        """Whether the names come from the data, and are not x0, x1, ..."""
        ...

    def survey(self, columns: Sequence[str], kept: Sequence[str]) -> Survey:
        """Read the columns `kept` as they are, labels included, and look at `columns`; refuses what is not numbers."""
        ...

    def read(self, columns: Sequence[str]) -> Generator[Piece]:
        """The rows from the first on, dense or CSR in float32 or float64, or columns; the same at every call.

        Raises ValueError, naming the place, where the data are not what the survey saw.
        """
        ...


class Table:
    """Rows that are read in pieces: X for every estimator, with its own target and weights where it has them.

    Made by `tenfold.rows`. Targets and weights are kept in memory, the columns of X never.

    Attributes
    ----------
    shape : (rows, columns of X)
    names : the columns of X
    y : the target, an array (n,) or (n, t); None where there is none
    weight : an array (n,), or None
    """

    def __init__(
        self,
        reader: Reader,
        target: str | Sequence[str] | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._reader = reader
        targets = () if target is None else (target,) if isinstance(target, str) else tuple(target)
        others = targets if weight is None else (*targets, weight)
        self.names = tuple(columns) if columns is not None else tuple(n for n in reader.names if n not in others)
        _refuse_unknown(reader.names, (*self.names, *others))
        if not self.names:
            raise ValueError("No column is left for X: name at least one that is neither target nor weight.")
        found = reader.survey(self.names, others)
        if found.count == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape=(0, {len(self.names)})) while 1 are required.")
        self.shape = (found.count, len(self.names))
        self.dtype, self.sparse, self.entries = found.dtype, found.sparse, found.entries
        columns_of_y = [found.kept[name] for name in targets]
        self.y = None if not targets else columns_of_y[0] if isinstance(target, str) else np.column_stack(columns_of_y)
        self.weight = None if weight is None else found.kept[weight]
        self._sample: tuple[int, Array] | None = None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of X where the data have names."""
        return self.names if self._reader.named else None

    def pieces(self) -> Generator[Piece]:
        """The rows in the order of the file, in pieces of any length; refuses a source that has changed."""
        seen = 0
        with closing(self._reader.read(self.names)) as pieces:
            for piece in pieces:
                seen += piece.X.shape[0]
                if piece.X.shape[1] != self.shape[1] or is_sparse(piece.X) != self.sparse or seen > self.shape[0]:
                    raise ValueError(f"{piece.place(0)}: the data have changed since they were first read.")
                yield piece
                del piece
        if seen != self.shape[0]:
            raise ValueError(f"The data have changed: {self.shape[0]} rows were there before, now there are {seen}.")

    def cut(self, length: int) -> Generator[Array]:
        """The rows in blocks of `length`, the last one shorter."""
        left = self.shape[0]
        block = _Block(min(length, left), self)
        with closing(self.pieces()) as pieces:
            for piece in pieces:
                start, m = 0, piece.X.shape[0]
                while start < m:
                    stop = min(m, start + block.length - block.count)
                    block.add(piece.X[start:stop])
                    start = stop
                    if block.count == block.length:
                        yield block.whole()
                        left -= block.length
                        block = _Block(min(length, left), self)

    def thin(self, step: int) -> Array:
        """Every `step`-th row, in memory; the densest sample so far is kept."""
        if self._sample is None or step % self._sample[0]:
            found, start = [], 0
            for piece in self.pieces():
                # a copy: a slice would hold the whole piece in memory
                found.append(piece.X[-start % step :: step].copy())
                start += piece.X.shape[0]
            self._sample = step, joined(found, self.dtype)
        kept, sample = self._sample
        return sample if kept == step else sample[:: step // kept]

    def load(self) -> Array:
        """All of X at once, where there is memory for it."""
        n, p = self.shape
        require_memory(
            f"X with its {n} x {p} entries, which this method needs in memory at once,",
            (12 if self.sparse else self.dtype.itemsize) * self.entries,
            "Use a method that reads the rows in blocks, fewer rows, or fewer columns.",
        )
        (X,) = self.cut(n)
        return X

    def place_of(self, bad: Callable[[Array], Array]) -> str | None:
        """Where the first entry is of which `bad`, of a dense array, is true; None where there is none."""
        for piece in self.pieces():
            X = piece.matrix()
            found = np.argwhere(bad(X.toarray() if is_sparse(X) else X))
            if len(found):
                row, column = found[0]
                return f"{piece.place(int(row))}, column {self.names[column]!r}"
        return None

    def place_of_row(self, row: int) -> str:
        """Where a row, counted from 0, is."""
        for piece in self.pieces():
            if row < piece.X.shape[0]:
                return piece.place(row)
            row -= piece.X.shape[0]
        raise IndexError(f"There are {self.shape[0]} rows.")

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        target = "no target" if self.y is None else "with a target"
        return f"<tenfold.rows: {self.shape[0]} rows, {self.shape[1]} columns, {target}>"


class _Block:
    """A block that is filled piece by piece, so that no piece is kept; one piece that fills it is not copied."""

    def __init__(self, length: int, table: Table) -> None:
        self.length, self.count = length, 0
        self._shape, self._dtype = (length, table.shape[1]), table.dtype
        self._parts: list[Array] = []
        self._filled: Array | None = None

    def add(self, X: Array | Columns) -> None:
        m = X.shape[0]
        apart = isinstance(X, Columns)
        if is_sparse(X) or (m == self.length and not apart):
            self._parts.append(X)
        else:
            if self._filled is None:
                self._filled = np.empty(self._shape, self._dtype)
            out = self._filled[self.count : self.count + m]
            if apart:
                X.write(out)
            else:
                out[...] = X
        self.count += m

    def whole(self) -> Array:
        return joined(self._parts, self._dtype) if self._filled is None else self._filled


def joined(parts: list[Array], dtype: Any) -> Array:
    """Pieces one after the other, in C order."""
    if is_sparse(parts[0]):
        found = parts[0] if len(parts) == 1 else csr.vstack(parts, format="csr")
        return found.astype(dtype, copy=False)
    if len(parts) == 1 and parts[0].flags.c_contiguous and parts[0].dtype == dtype:
        return parts[0]
    return np.concatenate(parts, axis=0, dtype=dtype)


def _refuse_unknown(names: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    for name in wanted:
        if name not in names:
            shown = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
            raise ValueError(f"There is no column {name!r}; there are {shown}.")
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"A column is named twice among {', '.join(map(repr, wanted))}.")


EXACT = 1 << 53
"""Whole numbers up to this size are numbers in float64, too."""


def as_floats(X: Array, names: Sequence[str] | None, place: Place) -> Array:
    """A matrix of numbers, dense or CSR, in float32 or float64; refuses whole numbers that float64 does not have."""
    if X.dtype in FLOATS:
        return X
    if X.dtype.kind in "iu" and X.dtype.itemsize == 8 and X.size:
        low, high = X.min(), X.max()
        if low < -EXACT or high > EXACT:
            dense = X.toarray() if is_sparse(X) else X
            row, column = np.argwhere((dense < -EXACT) | (dense > EXACT))[0]
            name = f"x{column}" if names is None else names[column]
            raise ValueError(too_large(place(int(row)), name, dense[row, column]))
    return X.astype(np.float32 if X.dtype.kind == "f" and X.dtype.itemsize == 4 else np.float64)


def too_large(place: str, name: str, value: Any) -> str:
    """Why a whole number is refused."""
    return (
        f"{place}, column {name!r}: {value} is beyond 2**53, where float64 does not have all whole numbers. Subtract "
        "an offset, leave the column out, or store it as a floating-point number."
    )


def common_dtype(dtypes: Sequence[Any]) -> np.dtype[Any]:
    """float32 where all are, float64 otherwise."""
    return np.dtype(np.float32 if all(d == np.float32 for d in dtypes) else np.float64)


class BlocksReader:
    """Any restartable iterable of blocks: arrays or sparse matrices X, or tuples (X, y) or (X, y, weight).

    A function without arguments that makes a new iterator is restartable, too.
    """

    named = False

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks
        first = next(iter(self._iterate()), None)
        if first is None:
            raise ValueError("The iterable of blocks is empty.")
        X = self._parts(first, 1)[0]
        self._width, self._parts_a_block = X.shape[1], len(first) if isinstance(first, tuple) else 1
        # read twice from the start: an iterable that goes on where it stopped is found out here
        again = next(iter(self._iterate()), None)
        if again is None:
            raise ValueError(NOT_RESTARTABLE)
        self.extra = ("y", "weight")[: self._parts_a_block - 1]

    @property
    def names(self) -> tuple[str, ...]:
        return (*(f"x{j}" for j in range(self._width)), *self.extra)

    def _iterate(self) -> Iterator[Any]:
        blocks = self._blocks() if callable(self._blocks) else self._blocks
        found = iter(blocks)
        if found is self._blocks:
            raise ValueError(NOT_RESTARTABLE)
        return found

    def _parts(self, block: Any, number: int) -> tuple[Array, ...]:
        parts = block if isinstance(block, tuple) else (block,)
        X: Array = parts[0] if is_sparse(parts[0]) else np.asarray(parts[0])
        place = f"block {number}"
        if X.ndim != 2:
            raise ValueError(f"{place}: expected a matrix of rows, got an array with {X.ndim} dimension(s).")
        if X.dtype.kind not in "fiub":
            raise ValueError(f"{place}: expected numbers, got values of type {X.dtype}.")
        if is_sparse(X):
            X = X.tocsr()
        X = as_floats(X, None, partial(_place_in_block, number))
        others = tuple(np.asarray(part) for part in parts[1:])
        for name, part in zip(("y", "weight"), others, strict=False):
            if part.shape[:1] != X.shape[:1]:
                raise ValueError(f"{place}: {X.shape[0]} rows, but {len(part)} values of {name}.")
        return (X, *others)

    def _all(self) -> Iterator[tuple[Array, ...]]:
        for number, block in enumerate(self._iterate(), start=1):
            parts = self._parts(block, number)
            if parts[0].shape[1] != self._width or len(parts) != self._parts_a_block:
                raise ValueError(
                    f"block {number}: {parts[0].shape[1]} columns in a block of {len(parts)} part(s), but the first "
                    f"block had {self._width} in {self._parts_a_block}."
                )
            yield parts

    def survey(self, columns: Sequence[str], kept: Sequence[str]) -> Survey:
        """See `Reader`."""
        count = entries = 0
        dtypes, storage, found = [], set(), []
        for parts in self._all():
            X = parts[0]
            count += X.shape[0]
            entries += X.nnz if is_sparse(X) else X.size
            dtypes.append(X.dtype)
            storage.add(is_sparse(X))
            found.append(parts[1:])
        if len(storage) > 1:
            raise ValueError("Some blocks are dense and some are sparse: make them all the same.")
        columns_kept = {
            name: np.concatenate([p[k] for p in found]) for k, name in enumerate(self.extra) if name in kept
        }
        return Survey(count, entries, common_dtype(dtypes), storage.pop(), columns_kept)

    def read(self, columns: Sequence[str]) -> Generator[Piece]:
        """See `Reader`."""
        every = tuple(columns) == tuple(f"x{j}" for j in range(self._width))
        index = [int(name[1:]) for name in columns]
        for number, parts in enumerate(self._all(), start=1):
            yield Piece(parts[0] if every else parts[0][:, index], partial(_place_in_block, number))


def _place_in_block(number: int, row: int) -> str:
    return f"block {number}, row {row + 1}"


NOT_RESTARTABLE = (
    "Rows are read more than once, and this iterator can be read only once. Pass a list, an object whose __iter__ "
    "starts afresh, or a function that makes a new iterator."
)
