"""Tables from files, streams and frames: `read_table`."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tenfold.data.dialect import CsvOptions, Dialect, check_records, find_dialect, has_old_breaks, names_of, records
from tenfold.data.errors import Decision, TableError, some
from tenfold.data.text import parse_records
from tenfold.data.words import MISSING
from tenfold.features import arff
from tenfold.features.file_format import OpenedFile, open_source
from tenfold.features.frames import frame_of, is_frame, pl
from tenfold.features.parsing import check_finite, parse_numeric_columns, replace_missing_words, set_missing


@dataclass(frozen=True, eq=False)
class Reading:
    """A table and the decisions taken while reading it.

    Attributes
    ----------
    frame : polars.DataFrame
        Integers, numbers, booleans and text, with nulls. Dates and formatted numbers stay text: `TableEncoder`
        parses them by formats that fit all rows.
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
        """The reading with these values of its columns, such as ``{"age": [-999]}``, set to missing."""
        for name in missing:
            if name not in self.frame.columns:
                raise TableError(
                    f"missing values are given of a column {name!r}, which the table does not have. It has "
                    f"{some(self.frame.columns, 10)}.",
                    source=self.source,
                )
        frame, decisions = set_missing(self.frame, missing)
        return replace(self, frame=frame, decisions=(*self.decisions, *decisions))

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
    """Read a table of mixed types; its format is detected, and every decision is listed.

    Parameters
    ----------
    source : path, "-", binary stream, or frame
        CSV with commas, semicolons, tabs or bars; ARFF and KEEL, whose headers declare the columns; Parquet, Arrow and
        Feather; JSON lines. Text may be packed with gzip, Zstandard or zip. "-" is the standard input. A pandas or
        polars frame, an Arrow table and a `Reading` are passed on. The format is detected from the first bytes, not
        from the name.
    delimiter : str, default="auto"
        The delimiter of a CSV file; "auto" detects it.
    quote : str or None, default="auto"
        The quotation mark around cells that hold a delimiter; None: quotes are ordinary characters.
    header : bool or "auto", default="auto"
        Whether the first line names the columns.
    decimal : {"auto", ".", ","}, default="auto"
        The decimal sign.
    encoding : str, default=None
        None takes the byte-order mark, else UTF-8, else cp1252 (Latin-1).
    missing : collection of str or dict of name to values, default=None
        Cells that stand for missing values, without surrounding blanks; None takes the usual words, such as NA.
        ``{"age": [-999]}`` adds values of some columns.
    infinite : {"error", "missing"}, default="error"
        What to do with inf, -inf and numbers beyond float64.

    Returns
    -------
    Reading
        ``.frame`` (polars) and ``.decisions``.

    Raises
    ------
    TableError
        A ValueError that names the file, the line and the column, and says what to do.

    Notes
    -----
    Blank lines and blanks around cells are removed; repeated names get _2, missing names column_3, with a decision
    each. Integers with leading zeros (postcodes) and beyond 64 bits stay text. The whole table is held in memory;
    `tenfold.rows` reads larger files of numbers.

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
        reading = _make_reading(frame, [], name, "frame", infinite)
        return reading.without(missing) if isinstance(missing, Mapping) else reading
    words = MISSING if missing is None or isinstance(missing, Mapping) else frozenset(missing)
    options = CsvOptions(delimiter, quote, header, decimal, encoding, words)
    file = open_source(source, encoding=encoding)
    readers = {"csv": _read_csv, "arff": _read_arff}
    reading = readers.get(file.format, _read_typed)(file, options, infinite)
    return reading.without(missing) if isinstance(missing, Mapping) else reading


def _read_typed(file: OpenedFile, options: CsvOptions, infinite: str) -> Reading:
    """Read a format that has column types."""
    try:
        if file.format == "parquet":
            frame = pl.read_parquet(file.data)
        elif file.format == "arrow":
            frame = pl.read_ipc(file.data)
        elif file.format == "json":
            frame = pl.read_json(file.data, infer_schema_length=None)
        else:
            frame = pl.read_ndjson(file.data, infer_schema_length=None)
    except (Exception, pl.exceptions.PanicException) as reason:  # polars has errors of many kinds
        if file.format == "jsonl":
            raise _json_error(file) or TableError(
                f"the JSON lines cannot be read: {reason}", source=file.name
            ) from reason
        raise TableError(
            f"this begins like {file.format}, but cannot be read: {reason}. Copy or write the file again.",
            source=file.name,
        ) from reason
    decisions = [*file.decisions, Decision("format", f"{file.format}, with types of its own")]
    if file.format in ("jsonl", "json"):
        strings = [name for name, kind in frame.schema.items() if kind == pl.String]
        frame = frame.with_columns(pl.col(strings).str.strip_chars()) if strings else frame
        frame, words = replace_missing_words(frame, strings, options.missing)
        decisions += words
    return _make_reading(frame_of(frame), decisions, file.name, file.format, infinite)


def _json_error(file: OpenedFile) -> TableError | None:
    for number, line in enumerate(file.data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as reason:
            return TableError(f"this line is not JSON ({reason}). Correct it.", source=file.name, line=number)
        if not isinstance(value, dict):
            return TableError("this line is not an object {...} of names and values.", source=file.name, line=number)
    return None


def _make_reading(frame: pl.DataFrame, decisions: list[Decision], name: str, kind: str, infinite: str) -> Reading:
    if frame.width == 0:
        raise TableError("the table has no columns.", source=name)
    if frame.height == 0:
        raise TableError(
            f"the table has a header ({some(frame.columns)}) and no rows. Was the export interrupted?", source=name
        )
    frame, more = check_finite(frame, infinite, lambda row: TableError("", source=name, row=row))
    return Reading(frame, (*decisions, *more), name, kind)


def _read_csv(file: OpenedFile, options: CsvOptions, infinite: str) -> Reading:
    data, decisions = file.data, list(file.decisions)
    if has_old_breaks(data):
        data = data.replace(b"\r", b"\n")
        decisions.append(Decision("lines", "lines end with carriage returns alone"))
    sniffed = find_dialect(data, file.suffix, options, file.name)
    dialect, names, start, line = sniffed.dialect, sniffed.names, sniffed.start, sniffed.line
    decisions += sniffed.decisions
    frame, blank = _read_cells(data, start, line, dialect, names, file.name)
    if frame.height == 0:
        raise TableError(
            f"the file has a header ({some(names)}) and no rows. Was the export interrupted?", source=file.name
        )
    if blank:
        decisions.append(Decision("lines", f"{blank} blank line{'s' * (blank > 1)} left out"))
    if _has_blanks(data, dialect):
        frame = frame.select(pl.all().str.strip_chars())
    frame, words = replace_missing_words(frame, names, options.missing)
    frame, numeric = parse_numeric_columns(frame, dialect.decimal)

    def error_at(row: int) -> TableError:
        return TableError("", source=file.name, line=_line_of(data, start, line, dialect, row), row=row)

    frame, more = check_finite(frame, infinite, error_at)
    return Reading(frame, (*decisions, *words, *numeric, *more), file.name, "csv", dialect)


def _read_arff(file: OpenedFile, options: CsvOptions, infinite: str) -> Reading:
    """Read an ARFF or KEEL file, whose header declares the columns."""
    data = file.data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    header = arff.read_header(data, file.name)
    data = arff.without_comments(data, header.start)
    names, renamed = names_of(header.names)
    header = header.with_names(names)
    body = data[header.start :]
    if body.lstrip().startswith(b"{"):
        frame = arff.parse_sparse(data, header, file.name)
    elif b"'" in body or b'"' in body:
        frame = arff.parse_quoted(data, header, file.name)
    else:
        tabs = b"," not in body.lstrip().partition(b"\n")[0] and b"\t" in body
        dialect = Dialect("\t" if tabs else ",", None, header=False)
        frame, _ = _read_cells(data, header.start, header.line, dialect, names, file.name)
    frame = frame.select(pl.all().str.strip_chars())
    # '-' or 'none' may be declared values
    words = arff.MISSING | (options.missing - MISSING)
    frame, removed = replace_missing_words(frame, names, words)

    def line_of(row: int) -> int | None:
        return next(
            (line for number, (line, _) in enumerate(arff.iterate_rows(data, header), 1) if number == row), None
        )

    def error_at(sentence: str, column: str, row: int) -> TableError:
        return TableError(sentence, source=file.name, line=line_of(row), column=column, row=row)

    frame = arff.cast_to_declared(frame, header, error_at)
    kind = "KEEL" if header.inputs or header.outputs else "ARFF"
    sentence = f"{kind}: the header declares {len(names)} attribute{'s' * (len(names) > 1)} of {header.relation!r}"
    decisions = [*file.decisions, Decision("format", sentence), *renamed, *removed]
    decisions += [Decision("target", f"the header names it as an output: --target {n}", n) for n in header.outputs]
    return _make_reading(frame, decisions, file.name, "arff", infinite)


def _has_blanks(data: bytes, dialect: Dialect) -> bool:
    """Whether cells may begin or end with blanks."""
    blanks = b" \t\f\v\x1c\x1d\x1e\x1f".replace(dialect.delimiter.encode(), b"")
    return not data.isascii() or any(data.find(sign) >= 0 for sign in blanks)


def _read_cells(
    data: bytes, start: int, line: int, dialect: Dialect, names: list[str], source: str
) -> tuple[pl.DataFrame, int]:
    """All cells as text, and the number of blank lines."""
    place = np.full(len(names), -1, np.int32)
    plain = parse_records(data, start, len(data), data.count(b"\n", start) + 1, dialect, place, [])
    if plain is not None:
        rows = len(plain.cells.X)
        if rows == 0:
            return pl.DataFrame(schema=dict.fromkeys(names, pl.String)), len(plain.blanks)
        parts, at = [], start
        for begin, end in plain.blanks:
            parts.append(data[at:begin])
            at = end
        body = b"".join([*parts, data[at:]])
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
    parsed = check_records(data, start, line, dialect, names, source)
    columns = list(zip(*(record.cells for record in parsed), strict=True)) or [()] * len(names)
    frame = pl.DataFrame([pl.Series(name, cells, dtype=pl.String) for name, cells in zip(names, columns, strict=True)])
    return frame, 0


def _line_of(data: bytes, start: int, line: int, dialect: Dialect, row: int) -> int:
    for number, record in enumerate(records(data, dialect.delimiter, dialect.quote, start, line), 1):
        if number == row:
            return record.line
    return line
