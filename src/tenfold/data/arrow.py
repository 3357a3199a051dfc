"""Rows from Arrow: Parquet, CSV and Arrow files, tables and data frames. The only module that knows pyarrow.

A source is a list of parts, one below the other: files, or frames in memory. A part hands out record batches of the
columns asked for, with the row group or the line that each row came from. The columns of the first part are those of
all.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeVar

import narwhals
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
from pyarrow import types

from tenfold.arrays import Array
from tenfold.data.ahead import in_order, together
from tenfold.data.files import File
from tenfold.data.table import EXACT, NOT_RESTARTABLE, Columns, Piece, Place, Survey, common_dtype, too_large
from tenfold.data.text import NOTHING, Chunk, Numbers, TextFile
from tenfold.machine import threads

T = TypeVar("T")

PIECE_BYTES = 1 << 22
"""About what a record batch holds in float64: small beside a block, much beside a call."""


class Batch(NamedTuple):
    """Columns of consecutive rows, and where they come from."""

    columns: pa.RecordBatch
    place: Place


class Part(Protocol):
    """A file or a frame."""

    schema: pa.Schema
    name: str = ""
    """What comes before a place in an error: the file, or nothing."""

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """The rows from the first on, in batches of about PIECE_BYTES; the columns in any order."""
        ...

    def pieces(self, columns: Sequence[str]) -> Generator[Piece]:
        """The same as numbers."""
        with closing(self.batches(columns)) as batches:
            for batch in batches:
                yield Piece(_columns(batch, columns), batch.place)

    def count(self) -> int:
        """The number of rows."""
        return sum(batch.columns.num_rows for batch in self.batches(self.schema.names[:1]))

    def example(self, name: str) -> str:
        """A value of a column of text, and its place, where they are at hand; in parentheses."""
        return ""


class ArrowReader:
    """Parts with named columns, one below the other."""

    named = True

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self.names = tuple(parts[0].schema.names)

    def survey(self, columns: Sequence[str], kept: Sequence[str]) -> Survey:
        """See `Reader`."""
        first = self._parts[0].schema
        for part in self._parts:
            _refuse_missing(part, self._parts[0], (*columns, *kept))
            for name in columns:
                _refuse_as_column(part, name)
            for name in kept:
                _refuse_as_target(part, name, _is_text(first.field(name).type))
        found = {name: _Values() for name in kept}
        count = 0
        for part in self._parts:
            if not kept:
                count += part.count()
                continue
            for batch in part.batches(kept):
                count += batch.columns.num_rows
                for name in kept:
                    found[name].add(_kept(batch, name))
        columns_kept = {name: values.whole() for name, values in found.items()}
        return Survey(count, count * len(columns), _dtype(self._parts, columns), False, columns_kept)

    def read(self, columns: Sequence[str]) -> Generator[Piece]:
        """See `Reader`."""
        for part in self._parts:
            with closing(part.pieces(columns)) as pieces:
                yield from pieces


# -- columns ---------------------------------------------------------------------------------------------------------


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _is_number(kind: pa.DataType) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    # a column of nothing but missing values has the type null; they are refused where they are met
    checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(check(kind) for check in checks)


def _dtype(parts: Sequence[Part], columns: Sequence[str]) -> np.dtype[Any]:
    """That of a matrix of these columns."""
    kinds = [part.schema.field(name).type for part in parts for name in columns]
    kinds = [kind.value_type if types.is_dictionary(kind) else kind for kind in kinds]
    return common_dtype([np.float32 if types.is_float32(kind) else np.float64 for kind in kinds])


def _refuse_missing(part: Part, first: Part, names: Sequence[str]) -> None:
    there = part.schema.names
    for name in names:
        if there.count(name) == 0:
            before = first.name.rstrip(", ") or "the first part"
            raise ValueError(f"{part.name}there is no column {name!r}, which {before} has.")
        if there.count(name) > 1:
            raise ValueError(f"{part.name}there are {there.count(name)} columns {name!r}: give each a name of its own.")


def _refuse_as_column(part: Part, name: str) -> None:
    kind = part.schema.field(name).type
    if _is_number(kind):
        return
    if _is_text(kind):
        found = f"is text{part.example(name)}"
        words = f"{found}, and columns of X are numbers. Encode it, for instance with sklearn's OneHotEncoder"
    elif types.is_temporal(kind):
        words = f"holds times ({kind}), and columns of X are numbers. Turn it into numbers, for instance days"
    else:
        words = f"has the type {kind}, and columns of X are numbers. Turn it into numbers"
    raise ValueError(f"{part.name}column {name!r} {words}, or leave it out: tenfold.rows(..., columns=[...]).")


def _refuse_as_target(part: Part, name: str, text: bool) -> None:
    kind = part.schema.field(name).type
    if types.is_binary(kind):
        raise ValueError(f"{part.name}column {name!r} holds bytes that are not text in UTF-8.")
    if not (_is_number(kind) or _is_text(kind)):
        raise ValueError(f"{part.name}column {name!r} has the type {kind}: targets are numbers or text.")
    if _is_text(kind) != text and not types.is_null(kind):
        found, before = ("text", "numbers") if _is_text(kind) else ("numbers", "text")
        raise ValueError(f"{part.name}column {name!r} holds {found}, but {before} in the first part.")


def _dense(batch: Batch, name: str, role: str) -> pa.Array:
    """A column with a value in every row."""
    column = batch.columns.column(name)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(f"{role} contains NaN: {batch.place(row)}, column {name!r} has no value.")
    return column


def _numbers(batch: Batch, name: str, role: str = "Input X") -> Array:
    """A column as an array of numbers."""
    column = _dense(batch, name, role)
    if not _is_number(column.type):
        raise ValueError(f"{batch.place(0)}, column {name!r}: expected numbers, got values of type {column.type}.")
    if types.is_decimal(column.type):
        column = column.cast(pa.float64())
    values = column.to_numpy(zero_copy_only=False)
    whole = types.is_int64(column.type) or types.is_uint64(column.type)
    if whole and len(values) and (values.max() > EXACT or values.min() < -EXACT):
        row = int(np.argmax((values > EXACT) | (values < -EXACT)))
        raise ValueError(too_large(batch.place(row), name, values[row]))
    return values


def _columns(batch: Batch, names: Sequence[str]) -> Columns:
    return Columns([_numbers(batch, name) for name in names])


def _kept(batch: Batch, name: str) -> Array:
    """A column that stays in memory, as numbers or as text."""
    if not _is_text(batch.columns.schema.field(name).type):
        values = _numbers(batch, name, f"Column {name!r}")
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"Column {name!r} contains NaN or infinity: {batch.place(row)}.")
        return values
    coded = _dense(batch, name, f"Column {name!r}").dictionary_encode()
    # the words once, then one copy of a word a row
    return np.array(coded.dictionary.to_pylist(), dtype=np.str_)[coded.indices.to_numpy()]


class _Values:
    """A column that stays in memory, batch after batch.

    Copied, because an array of Arrow's may hold on to much more than itself, and joined now and then, because many
    small arrays among the large ones that come and go would scatter the memory.
    """

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self._recent: list[Array] = []

    def add(self, values: Array) -> None:
        self._recent.append(values.copy())
        if len(self._recent) == 64:
            self._parts.append(np.concatenate(self._recent))
            self._recent = []

    def whole(self) -> Array:
        parts = [*self._parts, *self._recent]
        return np.concatenate(parts) if parts else np.empty(0)


def _batch_rows(columns: int) -> int:
    return max(1 << 8, 1 << (PIECE_BYTES // (8 * max(1, columns))).bit_length() - 1)


@contextmanager
def _errors_of(place: str) -> Iterator[None]:
    """What goes wrong inside Arrow or on the disk is a ValueError that names the place."""
    try:
        yield
    except (FileNotFoundError, MemoryError):
        raise
    except (pa.ArrowException, OSError) as reason:
        raise ValueError(f"{place}: {reason}") from reason


def _next(batches: Iterator[Any], place: str) -> Any:
    with _errors_of(place):
        return next(batches, None)


# -- files -----------------------------------------------------------------------------------------------------------


class ParquetPart(Part):
    """A Parquet file, read row group by row group."""

    def __init__(self, file: File) -> None:
        self._file, self.name = file, f"{file.path}, "
        with _errors_of(str(file.path)), pa.parquet.ParquetFile(file.path) as opened:
            self.schema, found = opened.schema_arrow, opened.metadata
            self._groups = [found.row_group(k).num_rows for k in range(found.num_row_groups)]

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
        """See `Part`; threads decode some columns each, and put them beside each other."""
        self._file.check()
        count = min(threads(), len(columns))
        with ExitStack() as stack:
            workers = []
            for start, stop in pairwise(len(columns) * k // count for k in range(count + 1)):
                decoded = stack.enter_context(closing(self._decoded(columns[start:stop], len(columns))))
                workers.append(partial(_put_next, decoded, slice(start, stop)))
            yield from stack.enter_context(closing(together(workers, self._empty(columns))))
        self._file.check()

    def _empty(self, columns: Sequence[str]) -> Iterator[Piece]:
        """What becomes the pieces; cut like the batches."""
        dtype, rows = _dtype([self], columns), _batch_rows(len(columns))
        for group, length in enumerate(self._groups):
            for start in range(0, length, rows):
                X = np.empty((min(rows, length - start), len(columns)), dtype)
                yield Piece(X, partial(_row_of, f"{self.name}row group {group}, ", start))

    def _decoded(self, columns: Sequence[str], width: int) -> Generator[Batch]:
        """Batches of some of `width` columns."""
        # without a buffer the reader would hold a whole row group
        buffer = max(1 << 14, PIECE_BYTES // width)
        with _errors_of(str(self._file.path)):
            opened = pa.parquet.ParquetFile(self._file.path, buffer_size=buffer)
        with opened:
            for group in range(opened.num_row_groups):
                place = f"{self.name}row group {group}"
                found = opened.iter_batches(_batch_rows(width), [group], list(columns), use_threads=False)
                start = 0
                while (batch := _next(found, place)) is not None:
                    yield Batch(batch, partial(_row_of, f"{place}, ", start))
                    start += batch.num_rows


def _put_next(batches: Iterator[Batch], inside: slice, piece: Piece) -> None:
    """Some columns of a piece."""
    batch = next(batches, None)
    if batch is None or batch.columns.num_rows != piece.X.shape[0]:
        raise ValueError(f"{piece.place(0)}: the data have changed since they were first read.")
    _columns(batch, batch.columns.schema.names).write(piece.matrix()[:, inside])


def _row_of(name: str, start: int, row: int) -> str:
    return f"{name}row {start + row + 1}"


class IpcPart(Part):
    """An Arrow or Feather file, read record batch by record batch."""

    def __init__(self, file: File) -> None:
        self._file, self.name = file, f"{file.path}, "
        with _errors_of(str(file.path)), pa.OSFile(str(file.path)) as raw:
            self.schema = pa.ipc.open_file(raw).schema

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """See `Part`."""
        self._file.check()
        options = pa.ipc.IpcReadOptions(included_fields=[self.schema.get_field_index(name) for name in columns])
        with pa.OSFile(str(self._file.path)) as raw:
            with _errors_of(str(self._file.path)):
                opened = pa.ipc.open_file(raw, options=options)
            for number in range(opened.num_record_batches):
                place = f"{self.name}record batch {number}"
                with _errors_of(place):
                    batch = opened.get_batch(number)
                yield from _sliced(batch, f"{place}, ", 0, len(columns))
        self._file.check()


def _sliced(batch: pa.RecordBatch, name: str, start: int, columns: int) -> Iterator[Batch]:
    length = _batch_rows(columns)
    for first in range(0, batch.num_rows, length):
        yield Batch(batch.slice(first, length), partial(_row_of, name, start + first))


class CsvPart(Part):
    """A CSV file; several threads decode its text.

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

    def count(self) -> int:
        """See `Part`."""
        return sum(self._each(self._rows_of))

    def _rows_of(self, chunk: Chunk) -> int:
        plain = self._text.numbers(chunk, [], set())
        if plain is not None:
            return len(plain.X)
        first = self._text.header[0]
        return self._decoded({first: pa.string()}, chunk).columns.num_rows

    def example(self, name: str) -> str:
        """See `Part`."""
        fault = self._fault(self._beginning, {name: pa.float64()})
        return "" if fault is None else f" ({fault[2]!r} in line {fault[0]})"

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """See `Part`."""
        return self._each(partial(self._batch, self._kinds(columns)))

    def pieces(self, columns: Sequence[str]) -> Generator[Piece]:
        """See `Part`."""
        return self._each(partial(self._piece, self._kinds(columns)))

    def _kinds(self, columns: Sequence[str]) -> dict[str, pa.DataType]:
        return {name: self.schema.field(name).type for name in columns}

    def _each(self, work: Callable[[Chunk], T]) -> Generator[T]:
        """What becomes of each chunk, in order."""
        self._file.check()
        with closing(self._text.body()) as body, closing(in_order(work, body, threads())) as found:
            yield from found
        self._file.check()

    def _piece(self, kinds: dict[str, pa.DataType], chunk: Chunk) -> Piece:
        plain = self._plain(kinds, chunk)
        if plain is None:
            batch = self._decoded(kinds, chunk)
            return Piece(_columns(batch, list(kinds)), batch.place)
        return Piece(plain.X, partial(self._text.place, chunk))

    def _batch(self, kinds: dict[str, pa.DataType], chunk: Chunk) -> Batch:
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


MISSING = frozenset(pa.csv.ConvertOptions().null_values)
TRUTH_VALUES = MISSING.union(pa.csv.ConvertOptions().true_values, pa.csv.ConvertOptions().false_values)


def _reads_as_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell in MISSING
    return "_" not in cell


# -- frames ----------------------------------------------------------------------------------------------------------


class FramePart(Part):
    """A data frame in memory, taken some rows at a time."""

    def __init__(self, frame: narwhals.DataFrame[Any]) -> None:
        self._frame = frame
        with _errors_of("this frame"):
            # what comes after the columns is the index of a pandas frame
            start = frame[: _batch_rows(len(frame.columns))].to_arrow()
            self.schema = start.select(range(len(frame.columns))).schema

    def count(self) -> int:
        """See `Part`."""
        return len(self._frame)

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """See `Part`."""
        index, length = [self.schema.get_field_index(name) for name in columns], _batch_rows(len(columns))
        for start in range(0, len(self._frame), length):
            with _errors_of(f"from row {start + 1} on"):
                table = self._frame[start : start + length, index].to_arrow()
            for batch in table.to_batches():
                yield Batch(batch, partial(_row_of, "", start))
                start += batch.num_rows


class StreamPart(Part):
    """An object that makes a new stream of record batches at every call of its ``__arrow_c_stream__``."""

    def __init__(self, stream: Any) -> None:
        if isinstance(stream, pa.RecordBatchReader):
            raise ValueError(NOT_RESTARTABLE)
        self._stream = stream
        self.schema = self._open().schema

    def _open(self) -> pa.RecordBatchReader:
        with _errors_of("this stream"):
            return pa.RecordBatchReader.from_stream(self._stream)

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """See `Part`."""
        start = 0
        with self._open() as opened:
            if opened.schema != self.schema:
                raise ValueError(NOT_RESTARTABLE)
            while (batch := _next(opened, f"from row {start + 1} on")) is not None:
                yield from _sliced(batch, "", start, len(columns))
                start += batch.num_rows


def open_files(kind: str, files: Sequence[File]) -> ArrowReader:
    """Files of one format."""
    if kind == "csv":
        first = CsvPart(files[0])
        return ArrowReader([first, *(CsvPart(file, first) for file in files[1:])])
    part = ParquetPart if kind == "parquet" else IpcPart
    return ArrowReader([part(file) for file in files])


def open_frames(frames: Sequence[Any]) -> ArrowReader:
    """Frames and other objects that Arrow can read, one below the other."""
    return ArrowReader([_frame_part(frame) for frame in frames])


def _frame_part(source: Any) -> Part:
    frame = narwhals.from_native(source, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        raise ValueError(
            "A lazy frame would be computed anew in every pass. Collect it, .collect(), or write it to files and read "
            "those: .sink_parquet(path), then tenfold.rows(path)."
        )
    return FramePart(frame) if isinstance(frame, narwhals.DataFrame) else StreamPart(source)
