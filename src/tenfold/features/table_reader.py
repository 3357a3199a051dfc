"""Tables from files, streams and frames: `read_table`."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tenfold.data.dialect import Asked, Dialect, check_records, find_dialect, has_old_breaks, names_of, records
from tenfold.data.errors import Decision, TableError, some
from tenfold.data.text import plain_records
from tenfold.data.words import MISSING
from tenfold.features import arff
from tenfold.features.file_format import Opened, opened
from tenfold.features.frames import frame_of, is_frame, pl
from tenfold.features.parsing import finite, numbers_in, set_missing, words_removed


@dataclass(frozen=True, eq=False)
class Reading:
    """A table and what was decided while it was read.

    Attributes
    ----------
    frame : polars.DataFrame
        Whole numbers, numbers, truth values and text; what is missing is null. Dates and numbers in words stay text:
        `TableEncoder` takes them apart by what all rows say.
    decisions : tuple of `Decision`
        In words: ``print(*reading.decisions, sep="\\n")``.
    source : str
        The file, "standard input" or the kind of frame.
    format : str
        csv, arff, jsonl, json, parquet, arrow or frame.
    dialect : delimiter, quote, header and decimal sign of a CSV file, else None.
    """

    frame: pl.DataFrame
    decisions: tuple[Decision, ...]
    source: str
    format: str
    dialect: Dialect | None = None

    def without(self, missing: Mapping[str, Sequence[Any]]) -> "Reading":
        """The table with these values of its columns, such as ``{"age": [-999]}``, taken as missing."""
        for name in missing:
            if name not in self.frame.columns:
                raise TableError(
                    f"missing values are given of a column {name!r}, which the table does not have. It has "
                    f"{some(self.frame.columns, 10)}.",
                    source=self.source,
                )
        frame, said = set_missing(self.frame, missing)
        return replace(self, frame=frame, decisions=(*self.decisions, *said))

    def __repr__(self) -> str:
        rows, columns = self.frame.shape
        return f"<Reading of {self.source}: {rows} rows, {columns} columns, {len(self.decisions)} decisions>"


def read_table(
    source: Any,
    *,
    delimiter: str = "auto",
    quote: str | None = "auto",
    header: bool | Literal["auto"] = "auto",
    decimal: Literal["auto", ".", ","] = "auto",
    encoding: str | None = None,
    missing: Collection[str] | Mapping[str, Sequence[Any]] | None = None,
    infinite: Literal["error", "missing"] = "error",
) -> Reading:
    """Read a table of mixed types, find out how it is written, and say so.

    Parameters
    ----------
    source : path, "-", binary stream, or frame
        CSV with commas, semicolons, tabs or bars; ARFF and KEEL, whose headers declare the columns; Parquet, Arrow and
        Feather; JSON lines. Text may be packed with gzip, Zstandard or zip. "-" is the standard input. A pandas or
        polars frame, an Arrow table and a `Reading` are passed on as they are. The format is seen from the first bytes,
        not from the name.
    delimiter : str, default="auto"
        What divides the cells of a CSV file, where it should not be found out.
    quote : str or None, default="auto"
        What stands around cells that hold a delimiter; None: quotes mean nothing.
    header : bool or "auto", default="auto"
        Whether the first line names the columns.
    decimal : {"auto", ".", ","}, default="auto"
        The decimal sign.
    encoding : str, default=None
        None takes UTF-8 or what a byte-order mark says; text that is no UTF-8 at all is taken for cp1252 (Latin-1).
    missing : collection of str or dict of name to values, default=None
        Cells that stand for nothing, with blanks around them removed; None takes the usual words, such as NA.
        ``{"age": [-999]}`` says so of the values of some columns, beside the words of all.
    infinite : {"error", "missing"}, default="error"
        What to do with inf, -inf and numbers beyond float64.

    Returns
    -------
    Reading
        ``.frame`` (polars) and ``.decisions``.

    Raises
    ------
    TableError
        A ValueError that says what is wrong, in which file, line and column, and what to do.

    Notes
    -----
    Blank lines are left out; blanks around cells are removed; names that come twice get _2, names that are missing
    column_3: all of that is said. Whole numbers with leading zeros (postcodes) and beyond 64 bits stay text. The whole
    table is held in memory; `tenfold.rows` reads files of numbers that are larger.

    Examples
    --------
    >>> import io
    >>> from tenfold import read_table
    >>> table = read_table(io.BytesIO(b"size;price\\nS;1,5\\nM;?\\nL;2,25\\n"))
    >>> table.frame["price"].to_list()
    [1.5, None, 2.25]
    >>> print(*table.decisions, sep="\\n")
    semicolon: it divides 100% of the first lines alike
    the first line names the columns: 'price' stands above numbers
    decimal comma: 'price' has numbers such as '1,5'
    1 cell of 1 column is missing: '?' (1)
    """
    if isinstance(source, Reading):
        return source
    if infinite not in ("error", "missing"):
        raise ValueError(f"infinite is 'error' or 'missing', not {infinite!r}.")
    if not isinstance(source, (str, os.PathLike)) and not hasattr(source, "read"):
        if not is_frame(source) and np.ndim(source) != 2:
            raise TypeError(
                "A table is a path, '-', a binary stream, a pandas or polars frame, an Arrow table or an array of rows "
                f"and columns; {type(source).__name__} was given."
            )
        frame = frame_of(source)
        name = type(source).__module__.partition(".")[0] + " frame"
        reading = _finished(frame, [], name, "frame", infinite)
        return reading.without(missing) if isinstance(missing, Mapping) else reading
    words = MISSING if missing is None or isinstance(missing, Mapping) else frozenset(missing)
    asked = Asked(delimiter, quote, header, decimal, encoding, words)
    found = opened(source, encoding=encoding)
    readers = {"csv": _csv, "arff": _arff}
    reading = readers.get(found.format, _typed_file)(found, asked, infinite)
    return reading.without(missing) if isinstance(missing, Mapping) else reading


def _typed_file(found: Opened, asked: Asked, infinite: str) -> Reading:
    """Formats that carry their types."""
    try:
        if found.format == "parquet":
            frame = pl.read_parquet(found.data)
        elif found.format == "arrow":
            frame = pl.read_ipc(found.data)
        elif found.format == "json":
            frame = pl.read_json(found.data, infer_schema_length=None)
        else:
            frame = pl.read_ndjson(found.data, infer_schema_length=None)
    except (Exception, pl.exceptions.PanicException) as reason:  # polars has errors of many kinds
        if found.format == "jsonl":
            raise _json_fault(found) or TableError(
                f"the JSON lines cannot be read: {reason}", source=found.name
            ) from reason
        raise TableError(
            f"this begins like {found.format}, but cannot be read: {reason}. Copy or write the file again.",
            source=found.name,
        ) from reason
    said = [*found.decisions, Decision("format", f"{found.format}, with types of its own")]
    if found.format in ("jsonl", "json"):
        strings = [name for name, kind in frame.schema.items() if kind == pl.String]
        frame = frame.with_columns(pl.col(strings).str.strip_chars()) if strings else frame
        frame, words = words_removed(frame, strings, asked.missing)
        said += words
    return _finished(frame_of(frame), said, found.name, found.format, infinite)


def _json_fault(found: Opened) -> TableError | None:
    for number, line in enumerate(found.data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as reason:
            return TableError(f"this line is not JSON ({reason}). Correct it.", source=found.name, line=number)
        if not isinstance(value, dict):
            return TableError("this line is not an object {...} of names and values.", source=found.name, line=number)
    return None


def _finished(frame: pl.DataFrame, said: list[Decision], name: str, kind: str, infinite: str) -> Reading:
    if frame.width == 0:
        raise TableError("the table has no columns.", source=name)
    if frame.height == 0:
        raise TableError(
            f"the table has a header ({some(frame.columns)}) and no rows. Was the export interrupted?", source=name
        )
    frame, more = finite(frame, infinite, lambda row: TableError("", source=name, row=row))
    return Reading(frame, (*said, *more), name, kind)


def _csv(found: Opened, asked: Asked, infinite: str) -> Reading:
    data, said = found.data, list(found.decisions)
    if has_old_breaks(data):
        data = data.replace(b"\r", b"\n")
        said.append(Decision("lines", "lines end with carriage returns alone"))
    written = find_dialect(data, found.suffix, asked, found.name)
    dialect, names, start, line = written.dialect, written.names, written.start, written.line
    said += written.decisions
    frame, blank = _cells(data, start, line, dialect, names, found.name)
    if frame.height == 0:
        raise TableError(
            f"the file has a header ({some(names)}) and no rows. Was the export interrupted?", source=found.name
        )
    if blank:
        said.append(Decision("lines", f"{blank} blank line{'s' * (blank > 1)} left out"))
    if _padded(data, dialect):
        frame = frame.select(pl.all().str.strip_chars())
    frame, words = words_removed(frame, names, asked.missing)
    frame, kept = numbers_in(frame, dialect.decimal)

    def fault(row: int) -> TableError:
        return TableError("", source=found.name, line=_line_of(data, start, line, dialect, row), row=row)

    frame, more = finite(frame, infinite, fault)
    return Reading(frame, (*said, *words, *kept, *more), found.name, "csv", dialect)


def _arff(found: Opened, asked: Asked, infinite: str) -> Reading:
    """A file whose header declares the columns."""
    data = found.data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    header = arff.read_header(data, found.name)
    data = arff.without_comments(data, header.start)
    names, renamed = names_of(header.names)
    header = header.renamed(names)
    body = data[header.start :]
    if body.lstrip().startswith(b"{"):
        frame = arff.sparse_cells(data, header, found.name)
    elif b"'" in body or b'"' in body:
        frame = arff.quoted_cells(data, header, found.name)
    else:
        tabs = b"," not in body.lstrip().partition(b"\n")[0] and b"\t" in body
        dialect = Dialect("\t" if tabs else ",", None, header=False)
        frame, _ = _cells(data, header.start, header.line, dialect, names, found.name)
    frame = frame.select(pl.all().str.strip_chars())
    # the header says what is a value: '-' or 'none' may be one
    words = arff.MISSING | (asked.missing - MISSING)
    frame, removed = words_removed(frame, names, words)

    def line_of(row: int) -> int | None:
        return next((line for number, (line, _) in enumerate(arff.rows_of(data, header), 1) if number == row), None)

    def fault(sentence: str, column: str, row: int) -> TableError:
        return TableError(sentence, source=found.name, line=line_of(row), column=column, row=row)

    frame = arff.as_declared(frame, header, fault)
    kind = "KEEL" if header.inputs or header.outputs else "ARFF"
    declared = f"{kind}: the header declares {len(names)} attribute{'s' * (len(names) > 1)} of {header.relation!r}"
    said = [*found.decisions, Decision("format", declared), *renamed, *removed]
    said += [Decision("target", f"the header names it as an output: --target {n}", n) for n in header.outputs]
    return _finished(frame, said, found.name, "arff", infinite)


def _padded(data: bytes, dialect: Dialect) -> bool:
    """Whether some cell may begin or end with a blank."""
    blanks = b" \t\f\v\x1c\x1d\x1e\x1f".replace(dialect.delimiter.encode(), b"")
    return not data.isascii() or any(data.find(sign) >= 0 for sign in blanks)


def _cells(
    data: bytes, start: int, line: int, dialect: Dialect, names: list[str], source: str
) -> tuple[pl.DataFrame, int]:
    """All cells as text, and the number of blank lines."""
    place = np.full(len(names), -1, np.int32)
    plain = plain_records(data, start, len(data), data.count(b"\n", start) + 1, dialect, place, [])
    if plain is not None:
        rows = len(plain.cells.X)
        if rows == 0:
            return pl.DataFrame(schema=dict.fromkeys(names, pl.String)), len(plain.blanks)
        kept, at = [], start
        for begin, end in plain.blanks:
            kept.append(data[at:begin])
            at = end
        body = b"".join([*kept, data[at:]])
        try:
            frame = pl.read_csv(
                body,
                has_header=False,
                separator=dialect.delimiter,
                quote_char=dialect.quote,
                schema={str(j): pl.String for j in range(len(names))},
                infer_schema=False,
                raise_if_empty=False,
            )
        except pl.exceptions.PolarsError:
            frame = None
        if frame is not None and frame.shape == (rows, len(names)):
            frame.columns = names
            return frame, len(plain.blanks)
    found = check_records(data, start, line, dialect, names, source)
    columns = list(zip(*(record.cells for record in found), strict=True)) or [()] * len(names)
    frame = pl.DataFrame([pl.Series(name, cells, dtype=pl.String) for name, cells in zip(names, columns, strict=True)])
    return frame, 0


def _line_of(data: bytes, start: int, line: int, dialect: Dialect, row: int) -> int:
    for number, record in enumerate(records(data, dialect.delimiter, dialect.quote, start, line), 1):
        if number == row:
            return record.line
    return line
