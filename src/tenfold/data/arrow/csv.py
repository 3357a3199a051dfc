"""CSV files: plain numbers by a loop of ours, everything else by Arrow."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
from pyarrow import types

from tenfold.data.ahead import in_order
from tenfold.data.arrow.batches import Batch
from tenfold.data.arrow.columns import columns_of
from tenfold.data.arrow.parts import ArrowReader, Described
from tenfold.data.files import File
from tenfold.data.table import Piece
from tenfold.data.text import NOTHING, Chunk, Numbers, TextFile
from tenfold.machine import threads

T = TypeVar("T")


class CsvPart(Described):
    """A CSV file.

    The columns have the types that the beginning of the first file shows: whole numbers, numbers, truth values or
    text. Whole numbers may be followed by others.
    """

    def __init__(self, file: File, first: "CsvPart | None" = None) -> None:
        self._file, self.name = file, f"{file.path}, "
        self._text = TextFile(file)
        self._not_whole: set[str] = set()
        self._beginning = self._text.beginning() if first is None else NOTHING
        self.schema: pa.Schema = self._inferred() if first is None else self._like(first.schema)

    def _inferred(self) -> pa.Schema:
        if not self._beginning.size:
            return pa.schema([(name, pa.null()) for name in self._text.header])
        try:
            return self._parse(self._beginning, None, {}).schema
        except pa.ArrowInvalid as reason:
            raise self._explained(self._beginning, {}, reason) from reason

    def _like(self, schema: pa.Schema) -> pa.Schema:
        kinds = dict(zip(schema.names, schema.types, strict=True))
        return pa.schema([(name, kinds.get(name, pa.string())) for name in self._text.header])

    def rows_of(self, chunk: Chunk) -> int:
        """How many rows a chunk has."""
        plain = self._text.numbers(chunk, [], set())
        if plain is not None:
            return len(plain.X)
        first = self._text.header[0]
        return self._decoded({first: pa.string()}, chunk).columns.num_rows

    def example(self, name: str) -> str:
        """See `Part`."""
        fault = self._fault(self._beginning, {name: pa.float64()})
        return "" if fault is None else f" ({fault[2]!r} in line {fault[0]})"

    def body(self) -> Generator[Chunk]:
        """The text, in chunks of whole records."""
        self.check()
        with closing(self._text.body()) as chunks:
            yield from chunks

    def check(self) -> None:
        """Refuse a file that is not what it was."""
        self._file.check()

    def _kinds(self, columns: Sequence[str]) -> dict[str, pa.DataType]:
        return {name: self.schema.field(name).type for name in columns}

    def piece(self, columns: Sequence[str], chunk: Chunk) -> Piece:
        """The columns of a chunk as numbers."""
        kinds = self._kinds(columns)
        plain = self._plain(kinds, chunk)
        if plain is None:
            batch = self._decoded(kinds, chunk)
            return Piece(columns_of(batch, list(kinds)), batch.place)
        return Piece(plain.X, partial(self._text.place, chunk))

    def batch(self, columns: Sequence[str], chunk: Chunk) -> Batch:
        """The columns of a chunk as they are."""
        kinds = self._kinds(columns)
        plain = self._plain(kinds, chunk)
        if plain is None:
            return self._decoded(kinds, chunk)
        columns = [
            plain.X[:, j].astype(np.int64 if name in plain.whole else np.float64) for j, name in enumerate(kinds)
        ]
        return Batch(pa.RecordBatch.from_arrays(columns, list(kinds)), partial(self._text.place, chunk))

    def _plain(self, kinds: dict[str, pa.DataType], chunk: Chunk) -> Numbers | None:
        """A chunk without text, missing values and other oddities, much sooner than Arrow has it."""
        if not all(types.is_int64(kind) or types.is_float64(kind) or types.is_null(kind) for kind in kinds.values()):
            return None
        whole = {name for name, kind in kinds.items() if types.is_int64(kind)} - self._not_whole
        plain = self._text.numbers(chunk, list(kinds), whole)
        if plain is not None:
            self._not_whole |= whole - plain.whole
        return plain

    def _decoded(self, kinds: dict[str, pa.DataType], chunk: Chunk) -> Batch:
        loose = {name: pa.float64() for name in kinds if types.is_null(kinds[name]) or name in self._not_whole}
        try:
            table = self._parse(chunk, list(kinds), kinds | loose)
        except pa.ArrowInvalid:
            whole = [name for name in kinds if name not in loose and types.is_int64(kinds[name])]
            self._not_whole.update(name for name in whole if not self._is_whole(chunk, name))
            loose |= dict.fromkeys(whole, pa.float64())
            try:
                table = self._parse(chunk, list(kinds), kinds | loose)
            except pa.ArrowInvalid as reason:
                raise self._explained(chunk, kinds | loose, reason) from reason
        return Batch(table.combine_chunks().to_batches()[0], partial(self._text.place, chunk))

    def _is_whole(self, chunk: Chunk, name: str) -> bool:
        try:
            self._parse(chunk, [name], {name: pa.int64()})
        except pa.ArrowInvalid:
            return False
        return True

    def _parse(self, chunk: Chunk, columns: list[str] | None, kinds: dict[str, pa.DataType]) -> pa.Table:
        return pa.csv.read_csv(
            pa.BufferReader(pa.py_buffer(chunk.text).slice(0, chunk.size)),
            pa.csv.ReadOptions(use_threads=False, block_size=chunk.size + 1, column_names=self._text.header),
            pa.csv.ParseOptions(delimiter=self._text.delimiter, newlines_in_values=b'"' in chunk.text),
            pa.csv.ConvertOptions(include_columns=columns, column_types=kinds, strings_can_be_null=True),
        )

    def _explained(self, chunk: Chunk, kinds: dict[str, pa.DataType], reason: Exception) -> ValueError:
        """What is wrong in a piece of text, by a second, slow look at it."""
        names = len(self._text.header)
        for line, cells in self._text.records(chunk):
            if len(cells) != names:
                return ValueError(
                    f"{self.name}line {line}: {len(cells)} cells, but {names} names in the header. Is the file cut "
                    "short?"
                )
        fault = self._fault(chunk, kinds)
        if fault is None:
            return ValueError(f"{self.name}from line {chunk.line} on: {reason}")
        line, name, cell, expected = fault
        return ValueError(f"{self.name}line {line}, column {name!r}: {cell!r} is not {expected}.")

    def _fault(self, chunk: Chunk, kinds: dict[str, pa.DataType]) -> tuple[int, str, str, str] | None:
        """Line, column and text of the first cell that is not of its kind, and what it should be."""
        wanted = [(self._text.header.index(name), name, kind) for name, kind in kinds.items()]
        for line, cells in self._text.records(chunk):
            for index, name, kind in wanted:
                cell = cells[index].strip()
                if types.is_floating(kind) and not _reads_as_number(cell):
                    return line, name, cell, "a number"
                if types.is_boolean(kind) and cell not in TRUTH_VALUES:
                    return line, name, cell, "true or false, as the values at the beginning are"
        return None


class CsvReader(ArrowReader[CsvPart]):
    """CSV files. Several threads decode their text, and go on to the next file before the last one is finished."""

    def count(self) -> int:
        """See `ArrowReader`."""
        return sum(self._each(CsvPart.rows_of))

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """See `ArrowReader`."""
        return self._each(lambda part, chunk: part.batch(columns, chunk))

    def read(self, columns: Sequence[str]) -> Generator[Piece]:
        """See `Reader`."""
        return self._each(lambda part, chunk: part.piece(columns, chunk))

    def _each(self, work: Callable[[CsvPart, Chunk], T]) -> Generator[T]:
        """What becomes of each chunk, in order."""
        with (
            closing(self._chunks()) as chunks,
            closing(in_order(lambda item: work(*item), chunks, threads())) as found,
        ):
            yield from found
        for part in self._parts:
            part.check()

    def _chunks(self) -> Generator[tuple[CsvPart, Chunk]]:
        for part in self._parts:
            with closing(part.body()) as body:
                for chunk in body:
                    yield part, chunk


MISSING = frozenset(pa.csv.ConvertOptions().null_values)
TRUTH_VALUES = MISSING.union(pa.csv.ConvertOptions().true_values, pa.csv.ConvertOptions().false_values)


def _reads_as_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell in MISSING
    return "_" not in cell
