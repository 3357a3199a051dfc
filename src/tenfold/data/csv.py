"""CSV files of numbers, read in chunks of whole records.

The beginning of the first file determines the dialect of all files and the types of the columns: integers, numbers,
booleans, times or text. Integers may be followed by other numbers. The compiled loop parses plain numbers; the few
other cells are parsed one by one, and errors name their line and column.
"""

import re
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from typing import TypeVar

import numpy as np

from tenfold.arrays import Array
from tenfold.data.column_errors import (
    ColumnBuffer,
    bytes_target,
    check_names,
    missing_value,
    not_finite,
    other_target,
    text_column,
    time_column,
)
from tenfold.data.dialect import CsvOptions, Dialect
from tenfold.data.files import File
from tenfold.data.prefetch import in_order
from tenfold.data.table import EXACT, Piece, Survey, too_large
from tenfold.data.text import NOTHING, Cells, Chunk, ColumnKind, TextFile
from tenfold.data.words import are_codes, in_64_bits, number_of
from tenfold.machine import threads

T = TypeVar("T")

# types of columns, in addition to those of `TIMES`; by Arrow's names, as for the other formats
WHOLE, NUMBER, TRUTH, TEXT, BYTES, EMPTY = "int64", "double", "bool", "string", "binary", "null"

TIMES = {
    "date32[day]": re.compile(r"\d{4}-\d\d-\d\d"),
    "timestamp[s]": re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?Z?"),
    "timestamp[ns]": re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\.\d+Z?"),
    "time32[s]": re.compile(r"\d\d:\d\d(:\d\d)?"),
}

TRUE, FALSE = frozenset({"true", "True", "TRUE", "1"}), frozenset({"false", "False", "FALSE", "0"})


def kind_of(words: Collection[str], numbers: Array, whole: bool, decimal: str = ".") -> str:
    """The type of a column, from its words that are not plain numbers, its numbers, and whether these are integers."""
    if all(number_of(word, decimal) is not None for word in words):
        if not words and not len(numbers):
            return EMPTY
        if whole and are_codes(words):
            return TEXT
        return WHOLE if whole and all(map(in_64_bits, words)) else NUMBER
    if whole and set(words) <= TRUE | FALSE and np.isin(numbers, (0.0, 1.0)).all():
        return TRUTH
    if not len(numbers):
        for kind, pattern in TIMES.items():
            if all(pattern.fullmatch(word) for word in words):
                return kind
    return TEXT


def _is_utf_8(word: str) -> bool:
    return not any("\udc80" <= sign <= "\udcff" for sign in word)


class CsvPart:
    """A CSV file; `kinds` are the types of its columns, in their order."""

    def __init__(self, file: File, options: CsvOptions, first: "CsvPart | None" = None) -> None:
        self._file, self.name = file, f"{file.path}, "
        self._missing = options.missing
        if first is not None:
            options = replace(options, **asdict(first.dialect))
        self._text = TextFile(file, options)
        self.dialect: Dialect = self._text.dialect
        self._decimal = self.dialect.decimal
        self.header = self._text.header
        self._beginning = self._text.beginning() if first is None else NOTHING
        if first is None:
            self.kinds = self._infer()
        else:
            before = dict(zip(first.header, first.kinds, strict=True))
            self.kinds = [before.get(name, TEXT) for name in self.header]

    def _infer(self) -> list[str]:
        fields = range(len(self.header))
        if not self._beginning.size:
            return [EMPTY for _ in fields]
        cells = self._text.cells(self._beginning, fields, [ColumnKind.WHOLE] * len(fields))
        others: list[set[bytes]] = [set() for _ in fields]
        codes = self._columns_of_codes()
        plain = np.ones(cells.X.shape, bool)
        for row, column, word in cells.others:
            others[column].add(word)
            plain[row, column] = False
        kinds = []
        for j in fields:
            try:
                words = {word.decode().strip() for word in others[j]} - self._missing
            except UnicodeDecodeError:
                kinds.append(BYTES)
                continue
            numbers = cells.X[plain[:, j], j]
            kinds.append(TEXT if j in codes else kind_of(words, numbers, cells.whole[j], self._decimal))
        return kinds

    def _columns_of_codes(self) -> set[int]:
        """The columns that hold identifiers; parsed cell by cell, only where the text may have some."""
        start = self._beginning
        text = b"\n" + start.text[: start.size]
        # an expression that begins with a fixed character is searched ten times as fast as any other
        before = {"\n", " ", self.dialect.delimiter, self.dialect.quote or " "}
        if not any(re.search(re.escape(sign.encode()) + rb"(?:0[0-9]|\+[0-9]{7})", text) for sign in before):
            return set()
        columns = zip(*(cells for _, cells in self._text.records(start)), strict=True)
        return {j for j, cells in enumerate(columns) if are_codes({cell.strip() for cell in cells} - self._missing)}

    def kind(self, name: str) -> str:
        """The type of a column."""
        return self.kinds[self.header.index(name)]

    def check_column(self, name: str) -> None:
        """Raise where a column of X is not numeric."""
        kind = self.kind(name)
        if kind in (TEXT, BYTES):
            raise text_column(self.name, name, self._example(name))
        if kind in TIMES:
            raise time_column(self.name, name, kind)

    def check_target(self, name: str) -> None:
        """Raise where a target is neither numeric nor text."""
        kind = self.kind(name)
        if kind == BYTES:
            raise bytes_target(self.name, name)
        if kind in TIMES:
            raise other_target(self.name, name, kind)

    def _example(self, name: str) -> str:
        """A cell that is not a number, and its line, in parentheses."""
        index = self.header.index(name)
        for line, cells in self._text.records(self._beginning):
            word = cells[index].strip()
            if word not in self._missing and number_of(word, self._decimal) is None:
                return f" ({word!r} in line {line})"
        return ""

    def body(self) -> Generator[Chunk]:
        """The text, in chunks of whole records."""
        self.check()
        with closing(self._text.body()) as chunks:
            yield from chunks

    def check(self) -> None:
        """Raise where the file has changed."""
        self._file.check()

    def count(self, chunk: Chunk) -> int:
        """The number of rows of a chunk."""
        return len(self._text.cells(chunk, [], []).X)

    def piece(self, names: Sequence[str], chunk: Chunk) -> Piece:
        """Columns of a chunk as numbers."""
        cells = self._cells(names, chunk)
        self._fill_numbers(cells, names, chunk, "Input X")
        return Piece(cells.X, partial(self._text.place, chunk))

    def read_columns(self, names: Sequence[str], chunk: Chunk) -> list[Array]:
        """Columns of a chunk with their own types: integers, numbers, booleans or text."""
        cells = self._cells(names, chunk)
        texts = {j: self._text_column(cells, j, name, chunk) for j, name in enumerate(names) if self.kind(name) == TEXT}
        cells.others[:] = [other for other in cells.others if other[1] not in texts]
        self._fill_numbers(cells, names, chunk)
        return [texts[j] if j in texts else self._number_column(cells, j, name, chunk) for j, name in enumerate(names)]

    def _cells(self, names: Sequence[str], chunk: Chunk) -> Cells:
        codes = {WHOLE: ColumnKind.WHOLE, TEXT: ColumnKind.TEXT}
        kinds = [codes.get(self.kind(name), ColumnKind.NUMBER) for name in names]
        return self._text.cells(chunk, [self.header.index(name) for name in names], kinds)

    def _fill_numbers(self, cells: Cells, names: Sequence[str], chunk: Chunk, role: str = "") -> None:
        """Parse the cells that are not plain numbers into X; raise where one is no number. `role` is for errors."""
        place, unsure = partial(self._text.place, chunk), []
        for row, column, cell in cells.others:
            name, word = names[column], cell.decode(errors="replace").strip()
            if word in self._missing:
                raise missing_value(role or f"Column {name!r}", place(row), name, word)
            truth = self.kind(name) == TRUTH
            value = (
                float(word in TRUE)
                if truth and word in TRUE | FALSE
                else None
                if truth
                else number_of(word, self._decimal)
            )
            if value is None:
                raise self._cell_error(place(row), name, word)
            cells.X[row, column] = value
            if cells.whole[column]:
                cells.whole[column] = in_64_bits(word)
                unsure.append((row, column, word))
        for row, column, word in unsure:
            if cells.whole[column]:
                if abs(int(word)) > EXACT:
                    raise ValueError(too_large(place(row), names[column], word))
                cells.X[row, column] = int(word)  # an integer zero has no sign
        for column, name in enumerate(names):
            if self.kind(name) == TRUTH and not np.isin(cells.X[:, column], (0.0, 1.0)).all():
                row = int(np.argmin(np.isin(cells.X[:, column], (0.0, 1.0))))
                raise self._cell_error(place(row), name, f"{cells.X[row, column]:.15g}")

    def _cell_error(self, place: str, name: str, word: str) -> ValueError:
        truth = self.kind(name) == TRUTH
        expected = "true or false, as the values at the beginning are" if truth else "a number"
        return ValueError(f"{place}, column {name!r}: {word!r} is not {expected}.")

    def _text_column(self, cells: Cells, column: int, name: str, chunk: Chunk) -> Array:
        raw = [cell for _, at, cell in cells.others if at == column]  # one for each row
        words = {cell: cell.decode(errors="surrogateescape").strip() for cell in set(raw)}
        if not all(word not in self._missing and _is_utf_8(word) for word in words.values()):
            for row, cell in enumerate(raw):
                if words[cell] in self._missing:
                    raise missing_value(f"Column {name!r}", self._text.place(chunk, row), name, words[cell])
                if not _is_utf_8(words[cell]):
                    raise bytes_target(f"{self._text.place(chunk, row)}, ", name)
        return np.array([words[cell] for cell in raw], np.str_)

    def _number_column(self, cells: Cells, column: int, name: str, chunk: Chunk) -> Array:
        values = cells.X[:, column]
        if not np.isfinite(values).all():
            raise not_finite(name, self._text.place(chunk, int(np.argmin(np.isfinite(values)))))
        if self.kind(name) == TRUTH:
            return values.astype(np.bool_)
        return values.astype(np.int64) if cells.whole[column] else values


class CsvReader:
    """CSV files. Several threads parse them, and begin the next file before the last one is finished."""

    named = True

    def __init__(self, files: Sequence[File], options: CsvOptions) -> None:
        first = CsvPart(files[0], options)
        self._parts = [first, *(CsvPart(file, options, first) for file in files[1:])]
        self.names = tuple(first.header)

    def survey(self, columns: Sequence[str], kept: Sequence[str]) -> Survey:
        """See `Reader`."""
        for part in self._parts:
            check_names(part.name, part.header, self._parts[0].name, (*columns, *kept))
            for name in columns:
                part.check_column(name)
            for name in kept:
                part.check_target(name)
        values, count = [ColumnBuffer() for _ in kept], 0
        if kept:
            for columns_of_chunk in self._map_chunks(lambda part, chunk: part.read_columns(kept, chunk)):
                count += len(columns_of_chunk[0])
                for buffer, more in zip(values, columns_of_chunk, strict=True):
                    buffer.add(more)
        else:
            count = sum(self._map_chunks(CsvPart.count))
        stored = {name: buffer.whole() for name, buffer in zip(kept, values, strict=True)}
        return Survey(count, count * len(columns), np.dtype(np.float64), False, stored)

    def read(self, columns: Sequence[str]) -> Generator[Piece]:
        """See `Reader`."""
        return self._map_chunks(lambda part, chunk: part.piece(columns, chunk))

    def _map_chunks(self, work: Callable[[CsvPart, Chunk], T]) -> Generator[T]:
        """`work` of each chunk, in order, by threads."""
        with (
            closing(self._chunks()) as chunks,
            closing(in_order(lambda item: work(*item), chunks, threads())) as results,
        ):
            yield from results
        for part in self._parts:
            part.check()

    def _chunks(self) -> Generator[tuple[CsvPart, Chunk]]:
        for part in self._parts:
            with closing(part.body()) as body:
                for chunk in body:
                    yield part, chunk
