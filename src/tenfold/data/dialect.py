"""Dialects of CSV: delimiter, quotes, header and decimal sign, their detection, and a parser of records in Python.

A field that begins with the quote ends at the next single quote; two quotes inside stand for one. A quote in the middle
of a field is an ordinary character.
"""

import codecs
import re
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from tenfold.data.errors import Decision, TableError
from tenfold.data.words import COMMA_NUMBER, MISSING

DELIMITERS = ("\t", ";", "|", ",")
NAMES = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}
SAMPLE_BYTES, SAMPLE_ROWS = 1 << 17, 200  # of a file, on which dialects are tried
DECIMAL_ROWS = 1000  # records that decide between decimal point and comma
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*%?$")
COMMA = re.compile(COMMA_NUMBER)
POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?$")
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+$")
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})*$")


@dataclass(frozen=True)
class Dialect:
    """Delimiter, quote (None: quotes mean nothing), whether the first record is a header, decimal sign."""

    delimiter: str
    quote: str | None
    header: bool
    decimal: str = "."


@dataclass(frozen=True)
class CsvOptions:
    """The dialect that the caller asks for; "auto" is detected."""

    delimiter: str = "auto"
    quote: str | None = "auto"
    header: bool | str = "auto"
    decimal: str = "auto"
    encoding: str | None = None
    missing: frozenset[str] = MISSING

    def __post_init__(self) -> None:
        for name in ("delimiter", "quote"):
            sign = getattr(self, name)
            if sign not in ("auto", None) and not (isinstance(sign, str) and len(sign) == 1 and sign.isascii()):
                raise ValueError(f"{name} is one character of ASCII, or 'auto' to find it out, not {sign!r}.")
        if self.header not in ("auto", True, False):
            raise ValueError(f"header is True, False or 'auto', not {self.header!r}.")
        if self.decimal not in ("auto", ".", ","):
            raise ValueError(f"decimal is '.', ',' or 'auto', not {self.decimal!r}.")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(
                    f"encoding is a name such as 'utf-8' or 'cp1252'; {self.encoding!r} is not known."
                ) from None


@dataclass(frozen=True)
class SniffedDialect:
    """A dialect, the names of the columns, the byte and the line where the rows begin, and the decisions taken."""

    dialect: Dialect
    names: list[str]
    start: int
    line: int
    decisions: tuple[Decision, ...]


def find_dialect(data: bytes, suffix: str, options: CsvOptions, source: str) -> SniffedDialect:
    """The dialect of a text in UTF-8, or of the beginning of one; `suffix` is that of its file."""
    decisions: list[Decision] = []
    start, line, sign = 0, 1, options.delimiter
    if data[:4].lower() == b"sep=" and len(data) > 4:
        start, line = data.find(b"\n") + 1, 2
        sign = chr(data[4]) if sign == "auto" else sign
        decisions.append(Decision("delimiter", f"{NAMES.get(sign, sign)}: the first line says so"))
    if sign == "auto":
        sign, reason = delimiter_of(data, start, line, suffix)
        decisions.append(Decision("delimiter", reason))
    quote = quote_of(data, sign) if options.quote == "auto" else options.quote
    if quote == "'" and options.quote == "auto":
        decisions.append(Decision("quote", "cells stand in single quotes (')"))
    rows = sample_of(data, sign, quote, start, line)
    if not rows:
        raise TableError("there are no rows after the line that names the delimiter.", source=source)
    header = options.header
    if header == "auto":
        header, reason = header_of(rows, options.missing)
        decisions.append(Decision("header", reason))
    if header:
        first = next(records(data, sign, quote, start, line))
        names, renamed = names_of(first.cells)
        start, line = first.end, line + data.count(b"\n", start, first.end)
        decisions += renamed
    else:
        names = [f"column_{j + 1}" for j in range(len(rows[0]))]
    dialect = Dialect(sign, quote, bool(header))
    if options.decimal == "auto":
        rows = sample_of(data, sign, quote, start, line, DECIMAL_ROWS)
        decimal, reason = decimal_of(rows, names, dialect, options.missing)
        if reason:
            decisions.append(Decision("decimal", reason))
    else:
        decimal = options.decimal
    return SniffedDialect(replace(dialect, decimal=decimal), names, start, line, tuple(decisions))


def has_old_breaks(data: bytes) -> bool:
    """Whether lines end with carriage returns alone."""
    return b"\n" not in data and b"\r" in data


@dataclass(frozen=True)
class Record:
    """Cells of a row, the line where it begins, the byte after it; `torn` is the line of an unclosed quote."""

    line: int
    cells: list[str]
    end: int
    torn: int | None = None


def records(data: bytes, delimiter: str, quote: str | None, start: int = 0, line: int = 1) -> Generator[Record]:
    """The records of UTF-8 text, without blank lines; bytes that are not UTF-8 become surrogates."""
    sign = re.escape(delimiter).encode()
    plain = re.compile(b"([^" + sign + b"\n]*)(" + sign + b"|\n|\\Z)")
    mark = b"" if quote is None else quote.encode()
    blank = b" " if delimiter == "\t" else b" \t"
    quoted = plain if quote is None else _match_quoted_field(sign, re.escape(mark), blank)
    position, size = start, len(data)
    while position < size:
        cells: list[str] = []
        begins, torn = line, None
        first = position
        while True:
            match = None
            if mark and data[position : position + 64].lstrip(blank).startswith(mark):
                match = quoted.match(data, position)
                if match is None:
                    torn = torn or line
                else:
                    inside, tail = match[1], match[2].rstrip(b"\r \t")
                    breaks = inside.count(b"\n")
                    if tail and breaks:
                        torn = torn or line
                    line += breaks
                    cells.append((inside.replace(mark * 2, mark) + tail).decode("utf-8", "surrogateescape"))
            if match is None:
                match = plain.match(data, position)
                assert match is not None
                cells.append(match[1].decode("utf-8", "surrogateescape"))
            position = match.end()
            if match[match.re.groups] != delimiter.encode():
                break
        line += 1
        cells[-1] = cells[-1].removesuffix("\r")
        if len(cells) > 1 or cells[0].strip(" \t") or data[first : first + 1] == mark != b"":
            yield Record(begins, cells, position, torn)


def _match_quoted_field(sign: bytes, mark: bytes, blank: bytes) -> re.Pattern[bytes]:
    inside = b"([^" + mark + b"]*(?:" + mark * 2 + b"[^" + mark + b"]*)*)"
    return re.compile(b"[" + blank + b"]*" + mark + inside + mark + b"([^" + sign + b"\n]*)(" + sign + b"|\n|\\Z)")


def check_records(data: bytes, start: int, line: int, dialect: Dialect, names: list[str], source: str) -> list[Record]:
    """All records; raises where one has an unclosed quote or another number of fields than the header."""
    checked = []
    for record in records(data, dialect.delimiter, dialect.quote, start, line):
        if record.torn is not None:
            raise TableError(
                f"a quote ({dialect.quote}) opens a field in this line and is not closed. Close it, double quotes "
                "that are part of a text, or give quote=None where quotes mean nothing.",
                source=source,
                line=record.torn,
            )
        if len(record.cells) != len(names):
            few = len(record.cells) < len(names)
            advice = (
                "Is the file cut short, or does a cell hold a line break without quotes?"
                if few
                else f"Does a cell hold a {NAMES.get(dialect.delimiter, repr(dialect.delimiter))} without quotes?"
            )
            raise TableError(
                f"{len(names)} fields are expected, as in the header, but {len(record.cells)} were found. {advice} "
                "Correct the line, or remove it.",
                source=source,
                line=record.line,
                column=names[len(record.cells)] if few else None,
            )
        checked.append(record)
    return checked


def sample_of(
    data: bytes, delimiter: str, quote: str | None, start: int, line: int, most: int = SAMPLE_ROWS
) -> list[list[str]]:
    """The cells of the first records."""
    cells = []
    for record in islice(records(data, delimiter, quote, start, line), most):
        cells.append(record.cells)
        if record.end - start > SAMPLE_BYTES and len(cells) > 5:
            break
    return cells


def quote_of(data: bytes, delimiter: str) -> str | None:
    """The quotation mark with which a field begins, if any."""
    sign, at = re.escape(delimiter).encode(), data.find(b'"')
    while at >= 0:
        before = data[max(0, at - 64) : at].rstrip(b" ")
        if not before or before[-1:] in (b"\n", delimiter.encode()):
            return '"'
        at = data.find(b'"', at + 1)
    start = data[:SAMPLE_BYTES]
    edges = re.compile(b"(?:\\A|[\n" + sign + b"])[ ]*'([^'\n]*)'?[ ]*(?=\r?\n|" + sign + b"|\\Z)")
    opened = list(edges.finditer(start))
    closed = [m for m in opened if m[0].rstrip().endswith(b"'") and len(m[0].strip(b"\n" + delimiter.encode())) > 1]
    return "'" if opened and len(opened) == len(closed) else None


def delimiter_of(data: bytes, start: int, line: int, suffix: str) -> tuple[str, str]:
    """The delimiter by which most of the first records have as many cells as the first one, and the reason."""
    best = (0.0, 0, ",")
    quote = '"' if b'"' in data[start : start + SAMPLE_BYTES] else None
    for rank, sign in enumerate(DELIMITERS):
        rows = sample_of(data, sign, quote, start, line)
        if not rows:
            continue
        widths = Counter(map(len, rows))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
        share = count / len(rows)
        header_width = len(rows[0])
        if max(width, header_width) == 1 or (header_width == 1 and share < 0.9):
            continue
        agree = sum(w == header_width for w in map(len, rows)) / len(rows) if header_width > 1 else 0.0
        score = max(share if width > 1 else 0.0, agree)
        if sign == "\t" and suffix in (".tsv", ".tab"):
            return sign, "tab, by the name of the file and its lines"
        best = max(best, (score, -rank, sign))
    score, _, sign = best
    if score == 0.0:
        absent = next((sign for sign in (",", *DELIMITERS) if sign.encode() not in data), "\x1f")
        return absent, "one column: no delimiter divides the lines"
    kind = NAMES[sign]
    return sign, f"{kind}: it divides {score:.0%} of the first lines alike"


def _are_years(cells: list[str], below: list[list[str]]) -> bool:
    """Whether numbers in the first row are years that name columns: all different, and not among the rows."""
    years = [cell.strip() for cell in cells]
    values = {cell.strip() for row in below for cell in row}
    return len(set(years)) == len(years) and all(re.match(r"(1[89]|20)\d\d$", y) and y not in values for y in years)


def _is_counter(cells: list[str]) -> bool:
    """Whether the cells are 0, 1, 2, ..., as frames without column names are written, perhaps after an index."""
    cells = [cell.strip() for cell in cells]
    return len(cells) > 2 and cells[cells[0] == "" :] == [str(j) for j in range(len(cells) - (cells[0] == ""))]


def header_of(rows: list[list[str]], missing: frozenset[str]) -> tuple[bool, str]:
    """Whether the first record names the columns, and the reason.

    It does where some column has numbers below a first cell that is not one, and does not where a first cell is a
    number like those below it. Where no column has numbers, it does unless a cell is repeated below.
    """
    first, below = rows[0], rows[1:]
    if not below:
        numbers = [cell for cell in first if NUMBER.match(cell.strip())]
        if len(numbers) > len(first) / 2:
            return False, "no header: the only line has numbers"
        return True, "the only line names the columns"
    if _is_counter(first) and first not in below:
        return True, "the first line numbers the columns from 0"
    alike = False
    for j, cell in enumerate(first):
        column = [row[j].strip() for row in below if len(row) > j and row[j].strip() not in missing]
        if not column or not all(NUMBER.match(value) for value in column):
            continue
        if cell.strip() and cell.strip() not in missing and not NUMBER.match(cell.strip()):
            return True, f"the first line names the columns: {cell.strip()!r} stands above numbers"
        alike = alike or bool(NUMBER.match(cell.strip()))
    if alike and not _are_years([cell for cell in first if NUMBER.match(cell.strip())], below):
        return False, "no header: the first line has numbers where the next lines have them"
    if any(NUMBER.match(cell.strip()) for cell in first) or len(set(first)) < len(first):
        again = any(cell.strip() and cell in {row[j] for row in below if len(row) > j} for j, cell in enumerate(first))
        if again:
            return False, "no header: cells of the first line come again below"
    elif len(below) > 3:
        repeated = sum(
            cell.strip() != "" and cell in {r[j] for r in below if len(r) > j} for j, cell in enumerate(first)
        )
        if repeated >= max(1, len(first) / 2):
            return False, "no header: cells of the first line come again below"
    return True, "the first line is taken for the names of the columns"


def names_of(cells: list[str]) -> tuple[list[str], list[Decision]]:
    """Unique names of the columns: missing and repeated ones are replaced."""
    names: list[str] = []
    decisions: list[Decision] = []
    taken = {cell.strip() for cell in cells}
    seen: set[str] = set()
    for j, cell in enumerate(cells):
        wanted = cell.strip()
        name, tries = wanted or f"column_{j + 1}", 1
        while name in seen or (name != wanted and name in taken):
            tries += 1
            name = f"{wanted or f'column_{j + 1}'}_{tries}"
        if not wanted:
            decisions.append(Decision("names", f"column {j + 1} has no name and is called {name!r}", name))
        elif name != wanted:
            decisions.append(Decision("names", f"a second column {wanted!r} is called {name!r}", name))
        seen.add(name)
        names.append(name)
    if len(decisions) > 20:
        decisions = [
            Decision("names", f"{len(decisions)} columns have no name or one that came before, and are called anew")
        ]
    return names, decisions


def decimal_of(
    rows: list[list[str]], names: Sequence[str], dialect: Dialect, missing: frozenset[str]
) -> tuple[str, str]:
    """The decimal sign, and the reason where it is a comma: some column has commas, and none has points."""
    if dialect.delimiter == "," and dialect.quote is None:
        return ".", ""
    comma: dict[str, list[str]] = {}
    columns = zip(*(row for row in rows if len(row) == len(names)), strict=True)
    for name, column in zip(names, columns, strict=False):
        cells = [cell.strip() for cell in column if cell.strip() not in missing]
        if all(map(COMMA.match, cells)) and any("," in cell for cell in cells):
            comma[name] = cells
        elif any(map(POINT.match, cells)) and not all(map(GROUPED.match, cells)):
            return ".", ""
    if not comma:
        return ".", ""
    if dialect.delimiter != ";" and all(all(map(THOUSANDS.match, cells)) for cells in comma.values()):
        return ".", ""  # quoted thousands, such as "1,234": see the types of the columns
    name, cells = next(iter(comma.items()))
    example = next(cell for cell in cells if "," in cell)
    return ",", f"decimal comma: {name!r} has numbers such as {example!r}"
