"""How a text is cut into cells: delimiter, quotes, header; and where it cannot be.

A field that begins with the quote ends at the next single quote; two quotes inside stand for one. A quote in the middle
of a field is an ordinary character.
"""

import re
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tenfold.features.faults import TableError

DELIMITERS = ("\t", ";", "|", ",")
NAMES = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}
SAMPLE_BYTES, SAMPLE_ROWS = 1 << 17, 200
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*%?$")


@dataclass(frozen=True)
class Dialect:
    """Delimiter, quote (None: quotes mean nothing), whether the first record is a header, decimal sign."""

    delimiter: str
    quote: str | None
    header: bool
    decimal: str = "."


@dataclass(frozen=True)
class Record:
    """Cells of a row, the line where it begins, the byte after it; `torn` is the line of a quote with no good end."""

    line: int
    cells: list[str]
    end: int
    torn: int | None = None


def records(data: bytes, delimiter: str, quote: str | None, start: int = 0, line: int = 1) -> Generator[Record]:
    """The records of UTF-8 text, blank lines left out."""
    sign = re.escape(delimiter).encode()
    plain = re.compile(b"([^" + sign + b"\n]*)(" + sign + b"|\n|\\Z)")
    mark = b"" if quote is None else quote.encode()
    quoted = plain if quote is None else _quoted(sign, mark, delimiter != "\t")
    position, size = start, len(data)
    while position < size:
        cells: list[str] = []
        begins, torn = line, None
        first = position
        while True:
            found = None
            if mark and data[position : position + 64].lstrip(b" \t").startswith(mark):
                found = quoted.match(data, position)
                if found is None:
                    torn = torn or line
                else:
                    inside, tail = found[1], found[2].rstrip(b"\r \t")
                    breaks = inside.count(b"\n")
                    if tail and breaks:
                        torn = torn or line
                    line += breaks
                    cells.append((inside.replace(mark * 2, mark) + tail).decode("utf-8"))
            if found is None:
                found = plain.match(data, position)
                assert found is not None
                cells.append(found[1].decode("utf-8"))
            position = found.end()
            if found[found.re.groups] != delimiter.encode():
                break
        line += 1
        cells[-1] = cells[-1].removesuffix("\r")
        if len(cells) > 1 or cells[0].strip() or data[first : first + 1] == mark != b"":
            yield Record(begins, cells, position, torn)


def _quoted(sign: bytes, mark: bytes, tabs: bool) -> re.Pattern[bytes]:
    blank = b"[ \t]*" if tabs else b"[ ]*"
    inside = b"([^" + mark + b"]*(?:" + mark * 2 + b"[^" + mark + b"]*)*)"
    return re.compile(blank + mark + inside + mark + b"([^" + sign + b"\n]*)(" + sign + b"|\n|\\Z)")


def counted(data: bytes, start: int, dialect: Dialect, width: int) -> tuple[int, list[tuple[int, int]]] | None:
    """How many records there are from `start` on, and the spans of blank lines; None where some record is not plain.

    A quick look by counting: each line must have as many delimiters outside quotes as the header.
    """
    body = np.frombuffer(data, np.uint8)[start:]
    carry, rows, inside, first = 0, 0, np.uint8(0), 0
    blanks: list[tuple[int, int]] = []
    for begin in range(0, len(body), 1 << 22):
        block = body[begin : begin + (1 << 22)]
        ends, marks = block == 10, block == ord(dialect.delimiter)
        if dialect.quote is not None:
            quotes = (block == ord(dialect.quote)).view(np.uint8)
            within = np.bitwise_xor.accumulate(quotes) ^ inside
            inside = within[-1]
            ends &= within == 0
            marks &= within == 0
        at = np.flatnonzero(ends)
        before = np.concatenate([[-carry], np.searchsorted(np.flatnonzero(marks), at)])
        counts = np.diff(before)
        carry = int(np.count_nonzero(marks)) - int(before[-1])
        starts = np.concatenate([[first - begin], at + 1])
        first = int(starts[-1]) + begin
        odd = np.flatnonzero(counts != width - 1) if width > 1 else np.flatnonzero(np.diff(starts) <= 2)
        for i in odd:
            a, b = int(starts[i]) + begin, int(at[i]) + begin + 1
            if bytes(body[a:b]).strip():
                if width > 1:
                    return None
            else:
                blanks.append((start + a, start + b))
        rows += len(at)
    if inside or (first < len(body) and bytes(body[first:]).strip() and carry != width - 1):
        return None
    if first < len(body):
        if bytes(body[first:]).strip():
            rows += 1
        else:
            blanks.append((start + first, start + len(body)))
            rows += 1
    return rows - len(blanks), blanks


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


def sample_of(data: bytes, delimiter: str, quote: str | None, start: int, line: int) -> list[list[str]]:
    """The first records, at least two where there are as many."""
    cells = []
    for record in islice(records(data, delimiter, quote, start, line), SAMPLE_ROWS):
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
