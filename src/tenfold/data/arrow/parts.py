"""A source is a list of parts, one below the other: files, or frames in memory. A part hands out record batches of the
columns asked for, with the row group or the line that each row came from. The columns of the first part are those of
all.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import zip_longest
from typing import Generic, Protocol, TypeVar

import pyarrow as pa
from pyarrow import types

from tenfold.data.arrow.batches import Batch
from tenfold.data.arrow.columns import Values, columns_of, dtype_of, is_number, is_text, kept_of
from tenfold.data.table import Piece, Survey


class Described(Protocol):
    """The columns of a part."""

    schema: pa.Schema
    name: str = ""
    """What comes before a place in an error: the file, or nothing."""

    def example(self, name: str) -> str:
        """A value of a column of text, and its place, where they are at hand; in parentheses."""
        return ""


class Part(Described, Protocol):
    """A file or a frame."""

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """The rows from the first on, in batches of about PIECE_BYTES; the columns in any order."""
        ...

    def pieces(self, columns: Sequence[str]) -> Generator[Piece]:
        """The same as numbers."""
        with closing(self.batches(columns)) as batches:
            for batch in batches:
                yield Piece(columns_of(batch, columns), batch.place)

    def count(self) -> int:
        """The number of rows."""
        return sum(batch.columns.num_rows for batch in self.batches(self.schema.names[:1]))

    def soon(self, columns: Sequence[str]) -> None:
        """Tell the system that these columns will be read next."""
        return


P = TypeVar("P", bound=Described)


class ArrowReader(ABC, Generic[P]):
    """Parts with named columns, one below the other."""

    named = True

    def __init__(self, parts: Sequence[P]) -> None:
        self._parts = parts
        self.names = tuple(parts[0].schema.names)

    @abstractmethod
    def count(self) -> int:
        """The number of rows."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """The rows of all parts."""

    @abstractmethod
    def read(self, columns: Sequence[str]) -> Generator[Piece]:
        """See `Reader`."""

    def survey(self, columns: Sequence[str], kept: Sequence[str]) -> Survey:
        """See `Reader`."""
        first = self._parts[0].schema
        for part in self._parts:
            refuse_missing(part, self._parts[0], (*columns, *kept))
            for name in columns:
                refuse_as_column(part, name)
            for name in kept:
                refuse_as_target(part, name, is_text(first.field(name).type))
        found = {name: Values() for name in kept}
        count = 0 if kept else self.count()
        for batch in self.batches(kept) if kept else ():
            count += batch.columns.num_rows
            for name in kept:
                found[name].add(kept_of(batch, name))
        dtype = dtype_of([part.schema for part in self._parts], columns)
        return Survey(
            count, count * len(columns), dtype, False, {name: values.whole() for name, values in found.items()}
        )


class PartsReader(ArrowReader[Part]):
    """One part after the other."""

    def count(self) -> int:
        """See `ArrowReader`."""
        return sum(part.count() for part in self._parts)

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """See `ArrowReader`."""
        for part in self._parts:
            yield from part.batches(columns)

    def read(self, columns: Sequence[str]) -> Generator[Piece]:
        """See `Reader`."""
        for part, following in zip_longest(self._parts, self._parts[1:]):
            if following is not None:
                following.soon(columns)
            with closing(part.pieces(columns)) as pieces:
                yield from pieces


def refuse_missing(part: Described, first: Described, names: Sequence[str]) -> None:
    there = part.schema.names
    for name in names:
        if there.count(name) == 0:
            before = first.name.rstrip(", ") or "the first part"
            raise ValueError(f"{part.name}there is no column {name!r}, which {before} has.")
        if there.count(name) > 1:
            raise ValueError(f"{part.name}there are {there.count(name)} columns {name!r}: give each a name of its own.")


def refuse_as_column(part: Described, name: str) -> None:
    kind = part.schema.field(name).type
    if is_number(kind):
        return
    if is_text(kind):
        found = f"is text{part.example(name)}"
        words = f"{found}, and columns of X are numbers. Encode it, for instance with sklearn's OneHotEncoder"
    elif types.is_temporal(kind):
        words = f"holds times ({kind}), and columns of X are numbers. Turn it into numbers, for instance days"
    else:
        words = f"has the type {kind}, and columns of X are numbers. Turn it into numbers"
    raise ValueError(f"{part.name}column {name!r} {words}, or leave it out: tenfold.rows(..., columns=[...]).")


def refuse_as_target(part: Described, name: str, text: bool) -> None:
    kind = part.schema.field(name).type
    if types.is_binary(kind):
        raise ValueError(f"{part.name}column {name!r} holds bytes that are not text in UTF-8.")
    if not (is_number(kind) or is_text(kind)):
        raise ValueError(f"{part.name}column {name!r} has the type {kind}: targets are numbers or text.")
    if is_text(kind) != text and not types.is_null(kind):
        found, before = ("text", "numbers") if is_text(kind) else ("numbers", "text")
        raise ValueError(f"{part.name}column {name!r} holds {found}, but {before} in the first part.")
