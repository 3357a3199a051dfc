"""CSV files as text: chunks of whole records, and their cells."""

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
from tenfold.data.dialect import CsvOptions, Dialect, check_records, find_dialect, has_old_breaks, records
from tenfold.data.encoding import encoding_of
from tenfold.data.errors import TableError
from tenfold.data.files import File

CHUNK_BYTES = 1 << 21  # read at a time
BEGINNING_BYTES = 1 << 21  # of a file, from which its dialect is detected
RECORD_BYTES = 1 << 26  # a longer record means a quotation mark that is not closed


class Chunk(NamedTuple):
    """Whole records: the first `size` bytes of a text, the number of their first line, and their number of lines."""

    text: bytes
    size: int
    line: int
    lines: int


NOTHING = Chunk(b"", 0, 1, 0)


class ColumnKind(IntEnum):
    """The type as which the compiled loop reads a column; the same numbers as in csv.hpp."""

    NUMBER, WHOLE, TEXT = 0, 1, 2


class Cells(NamedTuple):
    """Columns of a chunk: the numbers X, for each column whether it holds only integers, and row, column and bytes of
    the cells that are not plain numbers, in their order; these are NaN in X.
    """

    X: Array
    whole: list[bool]
    others: list[tuple[int, int, bytes]]


class ParsedRecords(NamedTuple):
    """The result of the compiled loop: `Cells`, and begin and end of each blank line."""

    cells: Cells
    blanks: list[tuple[int, int]]


def parse_records(
    text: bytes, start: int, stop: int, lines: int, dialect: Dialect, place: Array, kinds: Sequence[ColumnKind]
) -> ParsedRecords | None:
    """Parse records of `len(place)` fields in text[start:stop] by the compiled loop.

    ``place[f]`` is the column of field f, or -1. None where the loop cannot parse a record: it has another number of
    fields, an unclosed quote, or blanks or text between a quote and a delimiter.
    """
    result = _core.csv_records(
        np.frombuffer(text, np.uint8, stop - start, start),
        lines,
        ord(dialect.delimiter),
        ord(dialect.quote or "\0"),
        ord(dialect.decimal),
        place,
        np.array(kinds, np.uint8),
    )
    if result is None:
        return None
    X, rows, whole, others, blanks = result
    at, columns, begins, ends = others.T.tolist()
    cells = [text[start + begin : start + end] for begin, end in zip(begins, ends, strict=True)]
    if dialect.quote is not None and cells and dialect.quote.encode() in text:
        mark = dialect.quote.encode()
        cells = [cell[1:-1].replace(mark * 2, mark) if cell[:1] == mark else cell for cell in cells]
    spans = [(start + begin, start + end) for begin, end in blanks.tolist()]
    return ParsedRecords(Cells(X[:rows], whole, list(zip(at, columns, cells, strict=True))), spans)


class TextFile:
    """A CSV file; `options` are those of the caller."""

    def __init__(self, file: File, options: CsvOptions) -> None:
        self.file = file
        suffix = Path(file.path.name.lower().removesuffix(".gz")).suffix
        text = self._beginning()
        if not text.strip():
            raise TableError(
                "the file is empty. Expected a header and at least one row; was the export interrupted?",
                source=str(file.path),
            )
        self._encoding, mark, _ = encoding_of(text, str(file.path), options.encoding)
        if self._encoding.startswith(("utf-16", "utf-32")):
            raise TableError(
                f"this is text in {self._encoding}, and rows are read from text of one byte a character or UTF-8. "
                f"Convert it first: iconv -f {self._encoding} -t utf-8 FILE.",
                source=str(file.path),
            )
        self._old_breaks = has_old_breaks(text)
        text = self._normalize(text[mark:])
        sniffed = find_dialect(text, suffix, options, str(file.path))
        # fields after the beginning may be quoted: where none is, a quote character changes nothing
        quote = sniffed.dialect.quote or ('"' if options.quote == "auto" else None)
        self.dialect, self.header = replace(sniffed.dialect, quote=quote), sniffed.names
        self._body = mark + len(text[: sniffed.start].decode().encode(self._encoding)), sniffed.line

    def _beginning(self) -> bytes:
        """The beginning of the file, in whole lines unless a line is very long."""
        size = BEGINNING_BYTES
        try:
            with _open(self.file.path, 0) as window:
                text = window.look(size)
                while len(text) == size <= RECORD_BYTES and b"\n" not in text and b"\r" not in text:
                    size *= 2
                    text = window.look(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as reason:
            raise ValueError(f"{self.file.path}, after line 1: {reason}") from reason
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        return text[:end] if end and len(text) == size else text

    def _normalize(self, text: bytes) -> bytes:
        """The text in UTF-8 with line feeds."""
        if self._old_breaks:
            text = text.replace(b"\r", b"\n")
        return text if self._encoding == "utf-8" else text.decode(self._encoding, "replace").encode()

    def _chunks(self, start: int, line: int) -> Generator[Chunk]:
        """The chunks from a byte and a line on."""
        size = CHUNK_BYTES
        delimiter, quote = ord(self.dialect.delimiter), ord(self.dialect.quote or "\0")
        plain = self._encoding == "utf-8" and not self._old_breaks
        try:
            with _open(self.file.path, start) as window:
                while text := window.look(size):
                    if self._old_breaks:
                        text = text.replace(b"\r", b"\n")
                    if len(text) == size:
                        end, lines = _core.csv_cut(np.frombuffer(text, np.uint8), delimiter, quote)
                    else:  # the last record of a file may have no line break
                        end, lines = len(text), text.count(b"\n") + 1
                    if end == 0:
                        size = self._grow(size, line)
                        continue
                    normal = text if plain else self._normalize(text[:end])
                    yield Chunk(normal, end if plain else len(normal), line, lines)
                    window.move(end)
                    size, line = CHUNK_BYTES, line + lines
        except (EOFError, gzip.BadGzipFile, zlib.error) as reason:
            raise ValueError(f"{self.file.path}, after line {line}: {reason}") from reason

    def _grow(self, size: int, line: int) -> int:
        if size > RECORD_BYTES:
            raise ValueError(f"{self.file.path}, line {line}: this record has no end. Is a quotation mark not closed?")
        return 2 * size

    def beginning(self) -> Chunk:
        """The first records after the header."""
        with closing(self.body()) as body:
            return next(body, NOTHING)

    def body(self) -> Generator[Chunk]:
        """The chunks after the header, without blank ones."""
        with closing(self._chunks(*self._body)) as chunks:
            for chunk in chunks:
                # mostly the first characters show that it is not blank
                if not (chunk.text[: min(chunk.size, 64)].isspace() and chunk.text[: chunk.size].isspace()):
                    yield chunk

    def cells(self, chunk: Chunk, fields: Sequence[int], kinds: Sequence[ColumnKind]) -> Cells:
        """Fields of each record, as columns of `kinds`; raises where a record has another length than the header.

        Integers that float64 may not represent are among the `others` of `Cells`, and so is every cell of text.
        """
        place = np.full(len(self.header), -1, np.int32)
        place[list(fields)] = np.arange(len(fields))
        result = parse_records(chunk.text, 0, chunk.size, chunk.lines, self.dialect, place, kinds)
        return self._cells_by_record(chunk, fields, kinds) if result is None else result.cells

    def _cells_by_record(self, chunk: Chunk, fields: Sequence[int], kinds: Sequence[ColumnKind]) -> Cells:
        """The same for any text, record by record."""
        parsed = check_records(chunk.text[: chunk.size], 0, chunk.line, self.dialect, self.header, str(self.file.path))
        others = [
            (row, j, record.cells[field].encode(errors="surrogateescape"))
            for row, record in enumerate(parsed)
            for j, field in enumerate(fields)
        ]
        return Cells(np.full((len(parsed), len(fields)), np.nan), [kind == ColumnKind.WHOLE for kind in kinds], others)

    def records(self, chunk: Chunk) -> Iterator[tuple[int, list[str]]]:
        """The line and the cells of each record, in Python."""
        for record in records(chunk.text[: chunk.size], self.dialect.delimiter, self.dialect.quote, line=chunk.line):
            yield record.line, record.cells

    def place(self, chunk: Chunk, row: int) -> str:
        """The file and the line of a record."""
        line, _ = next(islice(self.records(chunk), row, None))
        return f"{self.file.path}, line {line}"


class _Window(Protocol):
    """A window into the bytes of a file."""

    def look(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end of the file."""
        ...

    def move(self, size: int) -> None:
        """Advance by `size` bytes."""
        ...


@contextmanager
def _open(path: Path, start: int) -> Iterator[_Window]:
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
        data = os.pread(self._descriptor, size, self._start)
        while len(data) < size and (more := os.pread(self._descriptor, size - len(data), self._start + len(data))):
            data += more
        return data

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
