"""ARFF and KEEL files: a header that declares the attributes, then rows of cells, dense or sparse.

::

    % a comment
    @relation weather
    @attribute 'the outlook' {sunny, overcast, rainy}
    @attribute temperature real [-10.0, 45.5]
    @outputs play
    @data
    sunny, 21.5, yes
    {1 21.5, 2 yes}

Weka's format has ``numeric``, ``real``, ``integer``, ``string``, ``date`` and nominal attributes, ``?`` for missing
values, and sparse rows in braces, whose other cells are zero or the first of the declared values. KEEL's adds ranges,
``@inputs``, ``@outputs`` and ``<null>``.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from tenfold.data.errors import TableError, some
from tenfold.features.frames import pl

BEGIN = re.compile(rb"\A(?:[ \t]*(?:%[^\r\n]*)?[\r\n])*[ \t]*@(?:relation|attribute)\b", re.IGNORECASE)
QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
ATTRIBUTE = re.compile(rf"({QUOTED}|[^\s{{]+)\s*(.*)")
VALUE = re.compile(rf"\s*({QUOTED}|[^,\t]*?)\s*(?:[,\t]|$)")
ENTRY = re.compile(rf"\s*(\d+)\s+({QUOTED}|[^,]*?)\s*(?:,|$)")
NUMERIC = ("numeric", "real", "integer")
MISSING = frozenset({"", "?", "<null>"})
MAX_CELLS = 1 << 27  # of sparse rows, which become a dense table of 8 bytes a cell


@dataclass(frozen=True)
class Attribute:
    """A declared column: its type (numeric, real, integer, string, date, nominal), and the values of a nominal one."""

    name: str
    type: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Header:
    """The declarations before the rows.

    Attributes
    ----------
    relation : name of the table.
    attributes : in their order.
    inputs, outputs : names, where a KEEL file declares them.
    start, line : where the rows begin: byte, and line from 1.
    """

    relation: str
    attributes: tuple[Attribute, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    start: int
    line: int

    @property
    def names(self) -> list[str]:
        return [attribute.name for attribute in self.attributes]

    def with_names(self, names: list[str]) -> "Header":
        """The header with other names of the attributes."""
        attributes = (replace(attribute, name=name) for attribute, name in zip(self.attributes, names, strict=True))
        return replace(self, attributes=tuple(attributes))


def is_arff(data: bytes) -> bool:
    """Whether a text begins like an ARFF or KEEL file, after comments and blank lines."""
    return BEGIN.match(data) is not None


def read_header(data: bytes, source: str) -> Header:
    """The declarations up to ``@data``."""
    attributes: list[Attribute] = []
    roles: dict[str, tuple[str, ...]] = {"inputs": (), "outputs": ()}
    relation, position, line = "", 0, 0
    while position < len(data):
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end
        text, position, line = data[position:end].decode("utf-8").strip(), end + 1, line + 1
        if not text or text.startswith("%"):
            continue
        word, *more = text.split(maxsplit=1)
        keyword, rest = word.lower().removeprefix("@"), more[0] if more else ""
        if keyword == "data":
            if not attributes:
                break
            _check_roles(roles, attributes, source)
            return Header(relation, tuple(attributes), roles["inputs"], roles["outputs"], position, line + 1)
        if keyword == "relation":
            relation = _unquote(rest)
        elif keyword == "attribute":
            attributes.append(_parse_attribute(rest, source, line))
        elif keyword in ("input", "inputs", "output", "outputs"):
            roles[keyword.rstrip("s") + "s"] = _parse_values(rest)
        else:
            raise TableError(
                f"@relation, @attribute, @inputs, @outputs or @data is expected in the header of an ARFF or KEEL file, "
                f"but {text[:40]!r} was found.",
                source=source,
                line=line,
            )
    raise TableError(
        f"this begins like an ARFF or KEEL file, but {'@data is' if attributes else '@attribute lines are'} missing. "
        "Is the file cut short?",
        source=source,
    )


def _parse_attribute(text: str, source: str, line: int) -> Attribute:
    match = ATTRIBUTE.fullmatch(text)
    if match is None:
        raise TableError("a name and a type are expected after @attribute.", source=source, line=line)
    name, rest = _unquote(match[1]), match[2].strip()
    if rest.startswith("{"):
        if not rest.endswith("}"):
            raise TableError(
                "the values of the attribute are not closed by '}'.", source=source, line=line, column=name
            )
        values = tuple(dict.fromkeys(_parse_values(rest[1:-1])))
        return Attribute(name, "nominal", values)
    word = re.split(r"[\s\[]", rest, maxsplit=1)[0].lower()
    if word in (*NUMERIC, "string", "date"):
        return Attribute(name, word)
    if word == "relational":
        advice = "a table within the table is not read: write its columns beside the others."
    else:
        advice = "numeric, real, integer, string, date or {values} is expected."
    raise TableError(f"the attribute is of the type {word!r}; {advice}", source=source, line=line, column=name)


def _check_roles(roles: dict[str, tuple[str, ...]], attributes: list[Attribute], source: str) -> None:
    known = [attribute.name for attribute in attributes]
    for role, names in roles.items():
        strange = [name for name in names if name not in known]
        if strange:
            raise TableError(
                f"@{role} names {some(strange)}, but the attributes are {some(known, 10)}. Correct the header.",
                source=source,
            )


def _parse_values(text: str) -> tuple[str, ...]:
    """Values separated by commas."""
    return tuple(_unquote(value) for value in _split(text)) if text.strip() else ()


def _split(text: str) -> list[str]:
    values = []
    position = 0
    while True:
        match = VALUE.match(text, position)
        assert match is not None
        values.append(match[1])
        position = match.end()
        if position >= len(text) and not match[0].endswith((",", "\t")):
            return values


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def without_comments(data: bytes, start: int) -> bytes:
    """The text with comments after `start` replaced by blank lines, so that line numbers stay."""
    if b"%" not in data[start:]:
        return data
    return data[:start] + re.sub(rb"(?m)^[ \t]*%[^\n]*$", b"", data[start:])


def iterate_rows(data: bytes, header: Header) -> Iterator[tuple[int, str]]:
    """The rows that are not blank, with their lines."""
    for line, text in enumerate(data[header.start :].decode("utf-8").split("\n"), header.line):
        if text.strip():
            yield line, text.strip()


def parse_quoted(data: bytes, header: Header, source: str) -> pl.DataFrame:
    """Parse rows with single or double quotes, in which a backslash escapes a quote."""
    rows = []
    for line, text in iterate_rows(data, header):
        cells = [_unquote(cell) for cell in _split(text)]
        if len(cells) != len(header.attributes):
            raise TableError(
                f"{len(header.attributes)} cells are expected, as many as attributes, but {len(cells)} were found. "
                "Does a cell hold a comma or a quote without quotes around it?",
                source=source,
                line=line,
            )
        rows.append(cells)
    columns = zip(*rows, strict=True) if rows else [()] * len(header.attributes)
    return pl.DataFrame([pl.Series(n, c, dtype=pl.String) for n, c in zip(header.names, columns, strict=True)])


def parse_sparse(data: bytes, header: Header, source: str) -> pl.DataFrame:
    """Parse sparse rows; cells that a row does not name are 0, or the first of the declared values."""
    attributes = header.attributes
    for attribute in attributes:
        if attribute.type in ("string", "date"):
            raise TableError(
                f"sparse rows leave out what is zero, which a {attribute.type} never is. Write the rows in full.",
                source=source,
                column=attribute.name,
            )
    rows: list[dict[int, str]] = []
    for line, text in iterate_rows(data, header):
        entries = _parse_entries(text, source, line)
        if any(place >= len(attributes) for place in entries):
            raise TableError(
                f"attribute {max(entries)} is named, but the last of {len(attributes)} is {len(attributes) - 1}.",
                source=source,
                line=line,
            )
        rows.append(entries)
    if len(rows) * len(attributes) > MAX_CELLS:
        raise TableError(
            f"{len(rows):,} sparse rows of {len(attributes):,} attributes are too many cells for a table. Read them "
            "into a scipy.sparse matrix, and give that to an estimator.",
            source=source,
        )
    columns = [[attribute.values[0] if attribute.values else "0"] * len(rows) for attribute in attributes]
    for row, entries in enumerate(rows):
        for place, value in entries.items():
            columns[place][row] = value
    return pl.DataFrame([pl.Series(n, c, dtype=pl.String) for n, c in zip(header.names, columns, strict=True)])


def _parse_entries(text: str, source: str, line: int) -> dict[int, str]:
    inside = text[1:-1].strip()
    entries: dict[int, str] = {}
    position = 0
    while text.endswith("}") and position < len(inside):
        match = ENTRY.match(inside, position)
        if match is None:
            break
        entries[int(match[1])] = _unquote(match[2])
        position = match.end()
    else:
        if text.startswith("{") and text.endswith("}"):
            return entries
    raise TableError(
        f"a sparse row such as {{0 1.5, 3 yes}} is expected, but {text[:40]!r} was found.", source=source, line=line
    )


def cast_to_declared(
    frame: pl.DataFrame, header: Header, error_at: Callable[[str, str, int], TableError]
) -> pl.DataFrame:
    """Cast columns of text to their declared types; raises ``fault(sentence, column, row)`` for an invalid cell."""
    columns = []
    for series, attribute in zip(frame.get_columns(), header.attributes, strict=True):
        if attribute.type in NUMERIC:
            columns.append(_cast_numeric(series, error_at))
        elif attribute.type == "nominal":
            levels = series.cast(pl.Enum(list(attribute.values)), strict=False)
            wrong = levels.is_null() & series.is_not_null()
            if wrong.any():
                row = wrong.arg_max() or 0
                sentence = f"{series[row]!r} is none of the declared values {some(attribute.values, 10)}."
                raise error_at(f"{sentence} Correct it, or declare it.", series.name, row + 1)
            columns.append(levels)
        else:
            columns.append(series)
    return pl.DataFrame(columns)


def _cast_numeric(series: pl.Series, error_at: Callable[[str, str, int], TableError]) -> pl.Series:
    whole = series.cast(pl.Int64, strict=False)
    if whole.null_count() == series.null_count():
        return whole
    floats = series.cast(pl.Float64, strict=False)
    wrong = floats.is_null() & series.is_not_null()
    if wrong.any():
        row = wrong.arg_max() or 0
        raise error_at(f"{series[row]!r} is not a number, as the header declares.", series.name, row + 1)
    numbers = floats.fill_nan(None)
    values = numbers.drop_nulls().to_numpy()
    # integers written as 3.0
    if len(values) and np.all(np.abs(values) < 2**53) and np.all(values == np.floor(values)):
        return numbers.cast(pl.Int64)
    return numbers
