"""CSV as text: cut into whole records, which any decoder may take apart, and found again by line for errors."""

import csv
import gzip
import io
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.data.files import File

CHUNK_BYTES = 1 << 21
"""What is read at a time."""

RECORD_BYTES = 1 << 26
"""A record that is longer is a quotation mark that was not closed."""


class Chunk(NamedTuple):
    """Whole records, and the number of their first line."""

    text: bytearray
    line: int


NOTHING = Chunk(bytearray(), 1)


class TextFile:
    """A file of records with a header, separated by commas, or by tabs where its name does not say CSV."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.delimiter = "," if file.path.name.lower().removesuffix(".gz").endswith(".csv") else "\t"
        with closing(self._chunks()) as chunks:
            start = next(chunks, NOTHING).text
        _, self.header = next(self.records(Chunk(start[: _first_end(start)], 1)), (1, []))
        if not self.header:
            raise ValueError(f"{file.path}, line 1: expected the names of the columns.")

    def _chunks(self) -> Generator[Chunk]:
        rest, line = bytearray(), 1
        try:
            with _opened(self.file.path) as opened:
                while text := _read_after(rest, opened):
                    end = _last_end(text)
                    if end == 0 and len(text) > RECORD_BYTES:
                        raise ValueError(
                            f"{self.file.path}, line {line}: this record has no end. Is a quotation mark not closed?"
                        )
                    rest = text[end:]
                    del text[end:]
                    if text:
                        lines = text.count(b"\n")
                        yield Chunk(text, line)
                        line += lines
        except (EOFError, gzip.BadGzipFile, zlib.error) as reason:
            raise ValueError(f"{self.file.path}, after line {line}: {reason}") from reason
        if rest:
            yield Chunk(rest, line)

    def beginning(self) -> Chunk:
        """The first records after the header."""
        with closing(self.body()) as body:
            return next(body, NOTHING)

    def body(self) -> Generator[Chunk]:
        """What comes after the header."""
        with closing(self._chunks()) as chunks:
            start = next(chunks, NOTHING).text
            end = _first_end(start)
            for chunk in chain([Chunk(start[end:], 1 + start.count(b"\n", 0, end))], chunks):
                if chunk.text and not chunk.text.isspace():
                    yield chunk

    def records(self, chunk: Chunk) -> Iterator[tuple[int, list[str]]]:
        """The line and the cells of each record; slow and exact."""
        text = io.StringIO(chunk.text.decode("utf-8-sig", errors="replace"), newline="")
        found, line = csv.reader(text, delimiter=self.delimiter), chunk.line
        for cells in found:
            if cells:
                yield line, cells
            line = chunk.line + found.line_num

    def place(self, chunk: Chunk, row: int) -> str:
        """The file and the line of a record."""
        line, _ = next(islice(self.records(chunk), row, None))
        return f"{self.file.path}, line {line}"


def _opened(path: Path) -> Any:
    return gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb", buffering=0)


def _read_after(rest: bytearray, opened: Any) -> bytearray:
    """What is left and what comes next, in one piece; nothing at the end of the file."""
    text = bytearray(len(rest) + CHUNK_BYTES)
    text[: len(rest)] = rest
    with memoryview(text) as view:
        count = opened.readinto(view[len(rest) :])
    del text[len(rest) + count if count else 0 :]
    return text


def _first_end(text: bytearray) -> int:
    """Where the first record ends: a line break after an even number of quotation marks."""
    end = text.find(b"\n") + 1
    while end and text.count(b'"', 0, end) % 2:
        end = text.find(b"\n", end) + 1
    return end or len(text)


def _last_end(text: bytearray) -> int:
    """Where the last whole record ends, 0 where none does; the text begins with a record."""
    end = text.rfind(b"\n") + 1
    inside = text.count(b'"', 0, end) % 2
    while end and inside:
        earlier = text.rfind(b"\n", 0, end - 1) + 1
        inside ^= text.count(b'"', earlier, end) % 2
        end = earlier
    return end
