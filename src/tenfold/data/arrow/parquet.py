"""Parquet files: plain numbers by a loop of ours, everything else by Arrow."""

import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tenfold import _core
from tenfold.arrays import Array
from tenfold.data.ahead import together
from tenfold.data.arrow.batches import PIECE_BYTES, Batch, batch_rows, errors_of, next_of, row_of
from tenfold.data.arrow.columns import columns_of, dtype_of
from tenfold.data.arrow.parts import Part
from tenfold.data.files import File
from tenfold.data.table import Columns, InFile, Piece
from tenfold.machine import threads

PLAIN_TYPES = {
    "DOUBLE": {pa.float64()},
    "FLOAT": {pa.float32()},
    "INT64": {pa.int64()},
    "INT32": {pa.int32(), pa.int16(), pa.int8(), pa.uint16(), pa.uint8()},
}
"""What our reader takes: the types in the file, and the numbers that they may stand for."""

PLAIN_ENCODINGS = frozenset({"PLAIN", "RLE", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})


AHEAD_BYTES = 1 << 25
"""So much of the next row group the system is asked for in advance."""


class Chunk(NamedTuple):
    """What a row group holds of a column: its bytes in the file, its values and their type there, whether Snappy has
    packed them, and whether values may be missing.
    """

    offset: int
    size: int
    values: int
    type: str
    packed: bool
    optional: bool


class ParquetPart(Part):
    """A Parquet file, read row group by row group."""

    def __init__(self, file: File) -> None:
        self._file, self.name = file, f"{file.path}, "
        with errors_of(str(file.path)), pa.parquet.ParquetFile(file.path) as opened:
            self.schema, self._found, self._leaves = opened.schema_arrow, opened.metadata, opened.schema
        self._groups = [self._found.row_group(k).num_rows for k in range(self._found.num_row_groups)]
        self._plain: dict[str, list[Chunk] | None] = {}

    def count(self) -> int:
        """See `Part`."""
        self._file.check()
        return sum(self._groups)

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """See `Part`."""
        self._file.check()
        yield from self._decoded(columns, len(columns))
        self._file.check()

    def pieces(self, columns: Sequence[str]) -> Generator[Piece]:
        """See `Part`; by our reader where all columns are plain numbers."""
        self._file.check()
        chunks = [self._chunks(name) for name in columns]
        plain = [each for each in chunks if each is not None]
        with closing(self._by_us(columns, plain) if len(plain) == len(columns) else self._by_arrow(columns)) as found:
            yield from found
        self._file.check()

    def _chunks(self, name: str) -> list[Chunk] | None:
        """A column's chunks, one for each row group; None where they are not all plain numbers."""
        if name not in self._plain:
            leaves = [k for k in range(len(self._leaves)) if self._leaves.column(k).path == name]
            plain = len(leaves) == 1 and sys.byteorder == "little"
            found = [self._chunk(name, group, leaves[0]) for group in range(len(self._groups))] if plain else [None]
            chunks = [chunk for chunk in found if chunk is not None]
            self._plain[name] = chunks if len(chunks) == len(found) else None
        return self._plain[name]

    def _chunk(self, name: str, group: int, leaf: int) -> Chunk | None:
        found, column = self._found.row_group(group).column(leaf), self._leaves.column(leaf)
        plain = self.schema.field(name).type in PLAIN_TYPES.get(found.physical_type, ())
        flat = column.max_definition_level <= 1 and column.max_repetition_level == 0
        known = PLAIN_ENCODINGS.issuperset(found.encodings) and found.compression in ("UNCOMPRESSED", "SNAPPY")
        if not (plain and flat and known and found.num_values == self._groups[group]):
            return None
        first, dictionary = found.data_page_offset, found.dictionary_page_offset
        return Chunk(
            first if dictionary is None else min(first, dictionary),
            found.total_compressed_size,
            found.num_values,
            found.physical_type,
            found.compression == "SNAPPY",
            column.max_definition_level == 1,
        )

    def soon(self, columns: Sequence[str]) -> None:
        """See `Part`."""
        chunks = [self._chunks(name) for name in columns]
        plain = [each for each in chunks if each is not None]
        if len(plain) == len(columns):
            # what is wrong with the file is said when it is read
            with suppress(OSError), open(self._file.path, "rb", buffering=0) as file:
                _ask_for(file.fileno(), plain, 0)

    def _by_us(self, columns: Sequence[str], chunks: Sequence[Sequence[Chunk]]) -> Generator[Piece]:
        dtype, rows = dtype_of([self.schema], columns), batch_rows(len(columns))
        with open(self._file.path, "rb", buffering=0) as file:
            for group, length in enumerate(self._groups):
                _ask_for(file.fileno(), chunks, group + 1)
                again = partial(self._decoded, columns, len(columns), [group])
                inside = _RowGroup(self._place(group), file.fileno(), [each[group] for each in chunks], again)
                for start in range(0, length, rows):
                    shape = min(rows, length - start), len(columns)
                    yield Piece(InFile(inside.read, start, shape, dtype), partial(row_of, self._place(group), start))

    def _by_arrow(self, columns: Sequence[str]) -> Generator[Piece]:
        """Threads decode some columns each, and put them beside each other."""
        count = min(threads(), len(columns))
        with ExitStack() as stack:
            workers = []
            for start, stop in pairwise(len(columns) * k // count for k in range(count + 1)):
                decoded = stack.enter_context(closing(self._decoded(columns[start:stop], len(columns))))
                workers.append(partial(_put_next, decoded, slice(start, stop)))
            yield from stack.enter_context(closing(together(workers, self._empty(columns))))

    def _empty(self, columns: Sequence[str]) -> Iterator[Piece]:
        """What becomes the pieces; cut like the batches."""
        dtype, rows = dtype_of([self.schema], columns), batch_rows(len(columns))
        for group, length in enumerate(self._groups):
            for start in range(0, length, rows):
                X = np.empty((min(rows, length - start), len(columns)), dtype)
                yield Piece(X, partial(row_of, self._place(group), start))

    def _place(self, group: int) -> str:
        return f"{self.name}row group {group}, "

    def _decoded(self, columns: Sequence[str], width: int, groups: Sequence[int] | None = None) -> Generator[Batch]:
        """Batches of some of `width` columns, of all row groups or of some."""
        # without a buffer the reader would hold a whole row group
        buffer = max(1 << 14, PIECE_BYTES // width)
        with errors_of(str(self._file.path)):
            opened = pa.parquet.ParquetFile(self._file.path, buffer_size=buffer)
        with opened:
            for group in range(opened.num_row_groups) if groups is None else groups:
                place = self._place(group)
                found = opened.iter_batches(batch_rows(width), [group], list(columns), use_threads=False)
                start = 0
                while (batch := next_of(found, place.rstrip(", "))) is not None:
                    yield Batch(batch, partial(row_of, place, start))
                    start += batch.num_rows


def _ask_for(descriptor: int, chunks: Sequence[Sequence[Chunk]], group: int) -> None:
    """Tell the system that a row group will be read soon: else all columns would wait for their beginnings."""
    if hasattr(os, "posix_fadvise"):
        size = max(1 << 16, min(1 << 20, AHEAD_BYTES // len(chunks)))
        for each in chunks:
            if group < len(each):
                start, length = each[group].offset, min(size, each[group].size)
                os.posix_fadvise(descriptor, start, length, os.POSIX_FADV_WILLNEED)


class _RowGroup:
    """The rows of a row group, from the first on: by our reader, or from where that stops by Arrow, which knows all of
    Parquet, and what is wrong.
    """

    def __init__(self, place: str, descriptor: int, chunks: list[Chunk], again: Callable[[], Generator[Batch]]) -> None:
        self._place, self._descriptor, self._chunks, self._again = place, descriptor, chunks, again
        self._reader: _core.ParquetDoubles | _core.ParquetFloats | None = None
        self._rest: Iterator[Columns] | None = None
        self._next = 0

    def read(self, start: int, out: Array) -> None:
        """The rows from `start` on, which must not be before those of the last call."""
        if self._next == 0:
            kind = _core.ParquetDoubles if out.dtype == np.float64 else _core.ParquetFloats
            self._reader = kind(self._descriptor, self._chunks)
        while self._next < start:
            self.read(self._next, np.empty((min(start - self._next, len(out)), out.shape[1]), out.dtype))
        assert self._next == start
        if self._rest is None and not (self._reader and self._reader.read(out, threads(out.size))):
            self._rest, self._reader = self._from(start), None
        if self._rest is not None:
            self._take(self._rest, out)
        self._next = start + len(out)

    def _from(self, start: int) -> Iterator[Columns]:
        """What Arrow makes of the rows, some at a time."""
        with closing(self._again()) as batches:
            for batch in batches:
                found = columns_of(batch, batch.columns.schema.names)
                skipped = min(start, found.shape[0])
                start -= skipped
                yield found[skipped:]

    def _take(self, rest: Iterator[Columns], out: Array) -> None:
        filled = 0
        while filled < len(out):
            found = next(rest, None)
            if found is None:
                raise ValueError(
                    f"{self._place}row {self._next + 1}: the data have changed since they were first read."
                )
            taken = min(found.shape[0], len(out) - filled)
            found[:taken].write(out[filled : filled + taken])
            filled += taken
            if taken < found.shape[0]:
                self._rest = chain([found[taken:]], rest)


def _put_next(batches: Iterator[Batch], inside: slice, piece: Piece) -> None:
    """Some columns of a piece."""
    batch = next(batches, None)
    if batch is None or batch.columns.num_rows != piece.X.shape[0]:
        raise ValueError(f"{piece.place(0)}: the data have changed since they were first read.")
    columns_of(batch, batch.columns.schema.names).write(piece.matrix()[:, inside])
