"""A source is a list of parts, stacked by rows: files, or frames in memory. A part yields record batches of the
requested columns, with their origin, a row group or row. All parts have the columns of the first one.
"""

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Protocol

import pyarrow as pa
from pyarrow import types

from tenfold.data.arrow.batches import Batch
from tenfold.data.arrow.columns import columns_of, dtype_of, is_number, is_text, read_column
from tenfold.data.column_errors import (
    ColumnBuffer,
    bytes_target,
    check_names,
    other_column,
    other_target,
    text_column,
    time_column,
)
from tenfold.data.table import Piece, Survey


class Part(Protocol):
    """A file or a frame."""

    schema: pa.Schema
    name: str = ""
    """The prefix of error messages: the file, or nothing."""

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """All rows in order, in batches of about PIECE_BYTES; the columns in any order."""
        ...

    def count(self) -> int:
        """The number of rows."""
        return sum(batch.columns.num_rows for batch in self.batches(self.schema.names[:1]))


class ArrowReader:
    """Parts with named columns, stacked by rows."""

    named = True

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self.names = tuple(parts[0].schema.names)

    def survey(self, columns: Sequence[str], kept: Sequence[str]) -> Survey:
        """See `Reader`."""
        first = self._parts[0]
        for part in self._parts:
            check_names(part.name, part.schema.names, first.name, (*columns, *kept))
            for name in columns:
                check_column(part, name)
            for name in kept:
                check_target(part, name, is_text(first.schema.field(name).type))
        buffers = {name: ColumnBuffer() for name in kept}
        count = 0 if kept else sum(part.count() for part in self._parts)
        for batch in self._batches(kept) if kept else ():
            count += batch.columns.num_rows
            for name in kept:
                buffers[name].add(read_column(batch, name))
        dtype = dtype_of([part.schema for part in self._parts], columns)
        return Survey(
            count, count * len(columns), dtype, False, {name: values.whole() for name, values in buffers.items()}
        )

    def read(self, columns: Sequence[str]) -> Generator[Piece]:
        """See `Reader`."""
        with closing(self._batches(columns)) as batches:
            for batch in batches:
                yield Piece(columns_of(batch, columns), batch.place)

    def _batches(self, columns: Sequence[str]) -> Generator[Batch]:
        for part in self._parts:
            with closing(part.batches(columns)) as batches:
                yield from batches


def check_column(part: Part, name: str) -> None:
    """Raise where a column of X is not numeric."""
    kind = part.schema.field(name).type
    if is_text(kind):
        raise text_column(part.name, name)
    if types.is_temporal(kind):
        raise time_column(part.name, name, str(kind))
    if not is_number(kind):
        raise other_column(part.name, name, str(kind))


def check_target(part: Part, name: str, text: bool) -> None:
    """Raise where a target is neither numeric nor text, or has another type than in the first part."""
    kind = part.schema.field(name).type
    if types.is_binary(kind):
        raise bytes_target(part.name, name)
    if not (is_number(kind) or is_text(kind)):
        raise other_target(part.name, name, str(kind))
    if is_text(kind) != text and not types.is_null(kind):
        holds, before = ("text", "numbers") if is_text(kind) else ("numbers", "text")
        raise ValueError(f"{part.name}column {name!r} holds {holds}, but {before} in the first part.")
