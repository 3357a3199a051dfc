"""CSV as text: cut into chunks of whole records, and these into cells."""

import csv
import gzip
import io
import os
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from tenfold import _core
from tenfold.arrays import Array
from tenfold.data.files import File

CHUNK_BYTES = 1 << 21
"""What is read at a time."""

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


class TextFile:
    """A file of records with a header, separated by commas, or by tabs where its name does not say CSV."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.delimiter = "," if file.path.name.lower().removesuffix(".gz").endswith(".csv") else "\t"
        with closing(self._chunks(0, 1)) as chunks:
            start = next(chunks, NOTHING)
        end = _first_end(start)
        lines = start.text.count(b"\n", 0, end)
        _, self.header = next(self.records(Chunk(start.text, end, 1, lines)), (1, []))
        if not self.header:
            raise ValueError(f"{file.path}, line 1: expected the names of the columns.")
        self._body = end, 1 + lines

    def _chunks(self, start: int, line: int) -> Generator[Chunk]:
        """What begins at a byte and a line."""
        size = CHUNK_BYTES
        try:
            with _opened(self.file.path, start) as window:
                while text := window.look(size):
                    end, lines = _core.csv_cut(np.frombuffer(text, np.uint8))
                    if end == 0 and len(text) == size:
                        size = self._longer(size, line)
                        continue
                    # what comes after the last line break of the file is a record, too
                    chunk = Chunk(text, end, line, lines) if end else Chunk(text, len(text), line, lines + 1)
                    yield chunk
                    window.move(chunk.size)
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
        content = np.frombuffer(chunk.text, np.uint8, chunk.size)
        found = _core.csv_records(content, chunk.lines, ord(self.delimiter), place, np.array(kinds, np.uint8))
        if found is None:
            return self._cells_slowly(chunk, fields, kinds)
        X, rows, whole, others = found
        text = chunk.text
        at, columns, begins, ends = others.T.tolist()
        cells = [text[begin:end] for begin, end in zip(begins, ends, strict=True)]
        if cells and b'"' in text:
            cells = list(map(_unquoted, cells))
        return Cells(X[:rows], whole, list(zip(at, columns, cells, strict=True)))

    def _cells_slowly(self, chunk: Chunk, fields: Sequence[int], kinds: Sequence[ColumnKind]) -> Cells:
        """The same of any text, cell by cell."""
        others, rows, names = [], 0, len(self.header)
        for line, cells in self.records(chunk):
            if len(cells) != names:
                raise ValueError(
                    f"{self.file.path}, line {line}: {len(cells)} cells, but {names} names in the header. Is the file "
                    "cut short?"
                )
            others += [(rows, j, cells[field].encode(errors="surrogateescape")) for j, field in enumerate(fields)]
            rows += 1
        return Cells(np.full((rows, len(fields)), np.nan), [kind == ColumnKind.WHOLE for kind in kinds], others)

    def records(self, chunk: Chunk) -> Iterator[tuple[int, list[str]]]:
        """The line and the cells of each record; slow and exact."""
        text = io.StringIO(chunk.text[: chunk.size].decode("utf-8-sig", errors="surrogateescape"), newline="")
        found, line = csv.reader(text, delimiter=self.delimiter), chunk.line
        try:
            for cells in found:
                if cells:
                    yield line, cells
                line = chunk.line + found.line_num
        except csv.Error as reason:
            raise ValueError(f"{self.file.path}, line {line}: {reason}.") from reason

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


def _unquoted(cell: bytes) -> bytes:
    return cell[1:-1].replace(b'""', b'"') if cell[:1] == b'"' else cell


def _first_end(chunk: Chunk) -> int:
    """Where the first record ends: a line break after an even number of quotation marks."""
    text, size = chunk.text, chunk.size
    end = text.find(b"\n", 0, size) + 1
    while end and text.count(b'"', 0, end) % 2:
        end = text.find(b"\n", end, size) + 1
    return end or size
