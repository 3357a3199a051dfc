"""How a text is cut into cells: delimiter, quotes, header, decimal sign; and where it cannot be.

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
SAMPLE_BYTES, SAMPLE_ROWS, DECIMAL_ROWS = 1 << 17, 200, 1000
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
class Asked:
    """What the caller says about a text; "auto" is found out."""

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
class Found:
    """How a text is written, the names of its columns, the byte and the line where the rows begin, and why."""

    dialect: Dialect
    names: list[str]
    start: int
    line: int
    decisions: tuple[Decision, ...]


def find_dialect(data: bytes, suffix: str, asked: Asked, source: str) -> Found:
    """How a text in UTF-8, or the beginning of one, is written; `suffix` ends the name of its file."""
    said: list[Decision] = []
    start, line, sign = 0, 1, asked.delimiter
    if data[:4].lower() == b"sep=" and len(data) > 4:
        start, line = data.find(b"\n") + 1, 2
        sign = chr(data[4]) if sign == "auto" else sign
        said.append(Decision("delimiter", f"{NAMES.get(sign, sign)}: the first line says so"))
    if sign == "auto":
        sign, why = delimiter_of(data, start, line, suffix)
        said.append(Decision("delimiter", why))
    quote = quote_of(data, sign) if asked.quote == "auto" else asked.quote
    if quote == "'" and asked.quote == "auto":
        said.append(Decision("quote", "cells stand in single quotes (')"))
    rows = sample_of(data, sign, quote, start, line)
    if not rows:
        raise TableError("there are no rows after the line that names the delimiter.", source=source)
    header = asked.header
    if header == "auto":
        header, why = header_of(rows, asked.missing)
        said.append(Decision("header", why))
    if header:
        first = next(records(data, sign, quote, start, line))
        names, renamed = names_of(first.cells)
        start, line = first.end, line + data.count(b"\n", start, first.end)
        said += renamed
    else:
        names = [f"column_{j + 1}" for j in range(len(rows[0]))]
    dialect = Dialect(sign, quote, bool(header))
    if asked.decimal == "auto":
        rows = sample_of(data, sign, quote, start, line, DECIMAL_ROWS)
        decimal, why = decimal_of(rows, names, dialect, asked.missing)
        if why:
            said.append(Decision("decimal", why))
    else:
        decimal = asked.decimal
    return Found(replace(dialect, decimal=decimal), names, start, line, tuple(said))


def has_old_breaks(data: bytes) -> bool:
    """Whether lines end with carriage returns alone."""
    return b"\n" not in data and b"\r" in data


@dataclass(frozen=True)
class Record:
    """Cells of a row, the line where it begins, the byte after it; `torn` is the line of a quote with no good end."""

    line: int
    cells: list[str]
    end: int
    torn: int | None = None


def records(data: bytes, delimiter: str, quote: str | None, start: int = 0, line: int = 1) -> Generator[Record]:
    """The records of UTF-8 text, blank lines left out; what is no UTF-8 is kept by surrogates."""
    sign = re.escape(delimiter).encode()
    plain = re.compile(b"([^" + sign + b"\n]*)(" + sign + b"|\n|\\Z)")
    mark = b"" if quote is None else quote.encode()
    blank = b" " if delimiter == "\t" else b" \t"
    quoted = plain if quote is None else _quoted(sign, re.escape(mark), blank)
    position, size = start, len(data)
    while position < size:
        cells: list[str] = []
        begins, torn = line, None
        first = position
        while True:
            found = None
            if mark and data[position : position + 64].lstrip(blank).startswith(mark):
                found = quoted.match(data, position)
                if found is None:
                    torn = torn or line
                else:
                    inside, tail = found[1], found[2].rstrip(b"\r \t")
                    breaks = inside.count(b"\n")
                    if tail and breaks:
                        torn = torn or line
                    line += breaks
                    cells.append((inside.replace(mark * 2, mark) + tail).decode("utf-8", "surrogateescape"))
            if found is None:
                found = plain.match(data, position)
                assert found is not None
                cells.append(found[1].decode("utf-8", "surrogateescape"))
            position = found.end()
            if found[found.re.groups] != delimiter.encode():
                break
        line += 1
        cells[-1] = cells[-1].removesuffix("\r")
        if len(cells) > 1 or cells[0].strip(" \t") or data[first : first + 1] == mark != b"":
            yield Record(begins, cells, position, torn)


def _quoted(sign: bytes, mark: bytes, blank: bytes) -> re.Pattern[bytes]:
    inside = b"([^" + mark + b"]*(?:" + mark * 2 + b"[^" + mark + b"]*)*)"
    return re.compile(b"[" + blank + b"]*" + mark + inside + mark + b"([^" + sign + b"\n]*)(" + sign + b"|\n|\\Z)")


def check_records(data: bytes, start: int, line: int, dialect: Dialect, names: list[str], source: str) -> list[Record]:
    """All records, or an error that names the first one that does not go with the header."""
    found = []
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
        found.append(record)
    return found


def sample_of(
    data: bytes, delimiter: str, quote: str | None, start: int, line: int, most: int = SAMPLE_ROWS
) -> list[list[str]]:
    """The first records, at least two where there are as many."""
    cells = []
    for record in islice(records(data, delimiter, quote, start, line), most):
        cells.append(record.cells)
        if record.end - start > SAMPLE_BYTES and len(cells) > 5:
            break
    return cells


def quote_of(data: bytes, delimiter: str) -> str | None:
    """The quote that some field begins with, if any."""
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
    """The delimiter and why: that by which most of the first records have as many cells as the first one."""
    best = (0.0, 0, ",")
    quote = '"' if b'"' in data[start : start + SAMPLE_BYTES] else None
    for rank, sign in enumerate(DELIMITERS):
        rows = sample_of(data, sign, quote, start, line)
        if not rows:
            continue
        widths = Counter(map(len, rows))
        width, often = max(widths.items(), key=lambda item: (item[1], item[0]))
        share = often / len(rows)
        heads = len(rows[0])
        if max(width, heads) == 1 or (heads == 1 and share < 0.9):
            continue
        agree = sum(w == heads for w in map(len, rows)) / len(rows) if heads > 1 else 0.0
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


def _years(cells: list[str], below: list[list[str]]) -> bool:
    """Whether numbers above numbers are years that name columns: all different, and not those of the rows."""
    years = [cell.strip() for cell in cells]
    values = {cell.strip() for row in below for cell in row}
    return len(set(years)) == len(years) and all(re.match(r"(1[89]|20)\d\d$", y) and y not in values for y in years)


def _numbered(cells: list[str]) -> bool:
    """Whether the cells are 0, 1, 2 and so on, as frames without names are written, perhaps behind that of an index."""
    cells = [cell.strip() for cell in cells]
    return len(cells) > 2 and cells[cells[0] == "" :] == [str(j) for j in range(len(cells) - (cells[0] == ""))]


def header_of(rows: list[list[str]], missing: frozenset[str]) -> tuple[bool, str]:
    """Whether the first record names the columns, and why.

    It does where some column has numbers below a first cell that is none, and it does not where a first cell is a
    number like those below it. Where no column has numbers, it does unless a cell comes again below itself.
    """
    first, below = rows[0], rows[1:]
    if not below:
        numbers = [cell for cell in first if NUMBER.match(cell.strip())]
        if len(numbers) > len(first) / 2:
            return False, "no header: the only line has numbers"
        return True, "the only line names the columns"
    if _numbered(first) and first not in below:
        return True, "the first line numbers the columns from 0"
    alike = False
    for j, cell in enumerate(first):
        column = [row[j].strip() for row in below if len(row) > j and row[j].strip() not in missing]
        if not column or not all(NUMBER.match(value) for value in column):
            continue
        if cell.strip() and cell.strip() not in missing and not NUMBER.match(cell.strip()):
            return True, f"the first line names the columns: {cell.strip()!r} stands above numbers"
        alike = alike or bool(NUMBER.match(cell.strip()))
    if alike and not _years([cell for cell in first if NUMBER.match(cell.strip())], below):
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
    """Names of the columns: those that are missing or come twice get another one."""
    names: list[str] = []
    said: list[Decision] = []
    taken = {cell.strip() for cell in cells}
    seen: set[str] = set()
    for j, cell in enumerate(cells):
        wanted = cell.strip()
        name, tries = wanted or f"column_{j + 1}", 1
        while name in seen or (name != wanted and name in taken):
            tries += 1
            name = f"{wanted or f'column_{j + 1}'}_{tries}"
        if not wanted:
            said.append(Decision("names", f"column {j + 1} has no name and is called {name!r}", name))
        elif name != wanted:
            said.append(Decision("names", f"a second column {wanted!r} is called {name!r}", name))
        seen.add(name)
        names.append(name)
    if len(said) > 20:
        said = [Decision("names", f"{len(said)} columns have no name or one that came before, and are called anew")]
    return names, said


def decimal_of(
    rows: list[list[str]], names: Sequence[str], dialect: Dialect, missing: frozenset[str]
) -> tuple[str, str]:
    """The decimal sign, and why where it is a comma: columns have it, and no column has points."""
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
