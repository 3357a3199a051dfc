"""CSV as text: cut into chunks of whole records, and these into cells."""

import gzip
import os
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from tenfold import _core
from tenfold.arrays import Array
from tenfold.data.dialect import Asked, Dialect, check_records, find_dialect, has_old_breaks, records
from tenfold.data.encoding import encoding_of
from tenfold.data.errors import TableError
from tenfold.data.files import File

CHUNK_BYTES = 1 << 21
"""What is read at a time."""

BEGINNING_BYTES = 1 << 21
"""By what a file begins with it is decided how it is written."""

RECORD_BYTES = 1 << 26
"""A record that is longer is a quotation mark that was not closed."""


class Chunk(NamedTuple):
    """Whole records: the first `size` bytes of a text; the number of their first line, and how many lines they are."""

    text: bytes
    size: int
    line: int
    lines: int


NOTHING = Chunk(b"", 0, 1, 0)


class ColumnKind(IntEnum):
    """As what the loop reads a column: numbers, whole numbers, or text. As in csv.hpp."""

    NUMBER, WHOLE, TEXT = 0, 1, 2


class Cells(NamedTuple):
    """Some columns of a chunk: numbers, which columns of whole numbers held nothing else, and row, column and bytes of
    the cells that are no plain numbers, in their order; they are NaN in X.
    """

    X: Array
    whole: list[bool]
    others: list[tuple[int, int, bytes]]


class PlainRecords(NamedTuple):
    """What the loop finds where all records are plain: `Cells`, and begin and end of each blank line."""

    cells: Cells
    blanks: list[tuple[int, int]]


def plain_records(
    content: bytes, start: int, stop: int, lines: int, dialect: Dialect, place: Array, kinds: Sequence[ColumnKind]
) -> PlainRecords | None:
    """Records in some bytes of a text, of as many fields as `place` has entries, by the compiled loop.

    ``place[f]`` is the column of field f, or -1. None where a record is not plain: of another length, torn, or with
    blanks or text between a quote and a delimiter.
    """
    found = _core.csv_records(
        np.frombuffer(content, np.uint8, stop - start, start),
        lines,
        ord(dialect.delimiter),
        ord(dialect.quote or "\0"),
        ord(dialect.decimal),
        place,
        np.array(kinds, np.uint8),
    )
    if found is None:
        return None
    X, rows, whole, others, blanks = found
    at, columns, begins, ends = others.T.tolist()
    cells = [content[start + begin : start + end] for begin, end in zip(begins, ends, strict=True)]
    if dialect.quote is not None and cells and dialect.quote.encode() in content:
        mark = dialect.quote.encode()
        cells = [cell[1:-1].replace(mark * 2, mark) if cell[:1] == mark else cell for cell in cells]
    spans = [(start + begin, start + end) for begin, end in blanks.tolist()]
    return PlainRecords(Cells(X[:rows], whole, list(zip(at, columns, cells, strict=True))), spans)


class TextFile:
    """A file of records; `asked` is what is known of how they are written."""

    def __init__(self, file: File, asked: Asked) -> None:
        self.file = file
        suffix = Path(file.path.name.lower().removesuffix(".gz")).suffix
        text = self._beginning()
        if not text.strip():
            raise TableError(
                "the file is empty. Expected a header and at least one row; was the export interrupted?",
                source=str(file.path),
            )
        self._encoding, mark, _ = encoding_of(text, str(file.path), asked.encoding)
        if self._encoding.startswith(("utf-16", "utf-32")):
            raise TableError(
                f"this is text in {self._encoding}, and rows are read from text of one byte a character or UTF-8. "
                f"Convert it first: iconv -f {self._encoding} -t utf-8 FILE.",
                source=str(file.path),
            )
        self._old_breaks = has_old_breaks(text)
        text = self._usual(text[mark:])
        found = find_dialect(text, suffix, asked, str(file.path))
        # quotes may come after the beginning: where no field begins with them they do no harm
        quote = found.dialect.quote or ('"' if asked.quote == "auto" else None)
        self.dialect, self.header = replace(found.dialect, quote=quote), found.names
        self._body = mark + len(text[: found.start].decode().encode(self._encoding)), found.line

    def _beginning(self) -> bytes:
        """Whole lines, as a rule."""
        size = BEGINNING_BYTES
        try:
            with _opened(self.file.path, 0) as window:
                text = window.look(size)
                while len(text) == size <= RECORD_BYTES and b"\n" not in text and b"\r" not in text:
                    size *= 2
                    text = window.look(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as reason:
            raise ValueError(f"{self.file.path}, after line 1: {reason}") from reason
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        return text[:end] if end and len(text) == size else text

    def _usual(self, text: bytes) -> bytes:
        """Text in UTF-8 with line breaks of today."""
        if self._old_breaks:
            text = text.replace(b"\r", b"\n")
        return text if self._encoding == "utf-8" else text.decode(self._encoding, "replace").encode()

    def _chunks(self, start: int, line: int) -> Generator[Chunk]:
        """What begins at a byte and a line."""
        size = CHUNK_BYTES
        delimiter, quote = ord(self.dialect.delimiter), ord(self.dialect.quote or "\0")
        plain = self._encoding == "utf-8" and not self._old_breaks
        try:
            with _opened(self.file.path, start) as window:
                while text := window.look(size):
                    if self._old_breaks:
                        text = text.replace(b"\r", b"\n")
                    if len(text) == size:
                        end, lines = _core.csv_cut(np.frombuffer(text, np.uint8), delimiter, quote)
                    else:  # what comes after the last line break of the file is a record, too
                        end, lines = len(text), text.count(b"\n") + 1
                    if end == 0:
                        size = self._longer(size, line)
                        continue
                    usual = text if plain else self._usual(text[:end])
                    yield Chunk(usual, end if plain else len(usual), line, lines)
                    window.move(end)
                    size, line = CHUNK_BYTES, line + lines
        except (EOFError, gzip.BadGzipFile, zlib.error) as reason:
            raise ValueError(f"{self.file.path}, after line {line}: {reason}") from reason

    def _longer(self, size: int, line: int) -> int:
        if size > RECORD_BYTES:
            raise ValueError(f"{self.file.path}, line {line}: this record has no end. Is a quotation mark not closed?")
        return 2 * size

    def beginning(self) -> Chunk:
        """The first records after the header."""
        with closing(self.body()) as body:
            return next(body, NOTHING)

    def body(self) -> Generator[Chunk]:
        """What comes after the header."""
        with closing(self._chunks(*self._body)) as chunks:
            for chunk in chunks:
                # as a rule the first characters say that it is not empty
                if not (chunk.text[: min(chunk.size, 64)].isspace() and chunk.text[: chunk.size].isspace()):
                    yield chunk

    def cells(self, chunk: Chunk, fields: Sequence[int], kinds: Sequence[ColumnKind]) -> Cells:
        """Some fields of each record, as columns of some kinds; refuses records of another length than the header.

        In columns of whole numbers those that float64 may not have are no plain ones; in text nothing is.
        """
        place = np.full(len(self.header), -1, np.int32)
        place[list(fields)] = np.arange(len(fields))
        found = plain_records(chunk.text, 0, chunk.size, chunk.lines, self.dialect, place, kinds)
        return self._cells_slowly(chunk, fields, kinds) if found is None else found.cells

    def _cells_slowly(self, chunk: Chunk, fields: Sequence[int], kinds: Sequence[ColumnKind]) -> Cells:
        """The same of any text, cell by cell."""
        found = check_records(chunk.text[: chunk.size], 0, chunk.line, self.dialect, self.header, str(self.file.path))
        others = [
            (row, j, record.cells[field].encode(errors="surrogateescape"))
            for row, record in enumerate(found)
            for j, field in enumerate(fields)
        ]
        return Cells(np.full((len(found), len(fields)), np.nan), [kind == ColumnKind.WHOLE for kind in kinds], others)

    def records(self, chunk: Chunk) -> Iterator[tuple[int, list[str]]]:
        """The line and the cells of each record; slow and exact."""
        for record in records(chunk.text[: chunk.size], self.dialect.delimiter, self.dialect.quote, line=chunk.line):
            yield record.line, record.cells

    def place(self, chunk: Chunk, row: int) -> str:
        """The file and the line of a record."""
        line, _ = next(islice(self.records(chunk), row, None))
        return f"{self.file.path}, line {line}"


class _Window(Protocol):
    """The bytes of a file from a place on."""

    def look(self, size: int) -> bytes:
        """The next bytes; fewer than `size` at the end of the file alone."""
        ...

    def move(self, size: int) -> None:
        """Go on by so many bytes."""
        ...


@contextmanager
def _opened(path: Path, start: int) -> Iterator[_Window]:
    if path.suffix.lower() == ".gz":
        with gzip.open(path) as stream:
            stream.seek(start)
            yield _Compressed(stream)
    else:
        with open(path, "rb", buffering=0) as file:
            yield _Plain(file.fileno(), start)


class _Plain:
    def __init__(self, descriptor: int, start: int) -> None:
        self._descriptor, self._start = descriptor, start

    def look(self, size: int) -> bytes:
        found = os.pread(self._descriptor, size, self._start)
        while len(found) < size and (more := os.pread(self._descriptor, size - len(found), self._start + len(found))):
            found += more
        return found

    def move(self, size: int) -> None:
        self._start += size


class _Compressed:
    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream, self._rest = stream, b""

    def look(self, size: int) -> bytes:
        parts = [self._rest]
        size -= len(self._rest)
        while size > 0 and (more := self._stream.read(size)):
            parts.append(more)
            size -= len(more)
        self._rest = b"".join(parts)
        return self._rest

    def move(self, size: int) -> None:
        self._rest = self._rest[size:]
