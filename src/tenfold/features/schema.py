"""Inference of column types: number, category, date and so on, each with a reason."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tenfold.data.errors import TableError, some
from tenfold.features.codes import NEARLY_ALL, date_format, text_code, whole_number_code
from tenfold.features.dates import date_formats
from tenfold.features.frames import frame_of, pl
from tenfold.features.number_formats import NumberFormat, find_number_format
from tenfold.features.parsing import set_missing

KINDS = (
    "number",
    "count",
    "ordinal",
    "category",
    "boolean",
    "date",
    "text",
    "identifier",
    "constant",
    "empty",
    "nested",
)
DECLARED = ("number", "count", "category", "boolean", "date", "text", "identifier")
DROPPED = ("identifier", "constant", "empty", "nested")
TRUTHS = {"true": True, "false": False, "yes": True, "no": False, "y": True, "n": False, "t": True, "f": False}
PAIRS = ({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"})
ID_NAME = re.compile(
    r"(?i)(^|[_\s.-])(id|ids|uuid|guid|key|index|idx|rowid|rownumber|nr|no)$|^unnamed|^column_1$|[a-z]I[dD]$"
)
WRITTEN_TOGETHER = {"%Y%m": "year and month", "%Y%m%d": "year, month and day"}
MIN_ROWS = 20  # values from which distinct ones are an identifier and not chance
COUNTED = ("ordinal", "category", "boolean", "text")


@dataclass(frozen=True)
class ColumnType:
    """The type of a column, with a reason.

    Attributes
    ----------
    name, kind : see `KINDS`.
    reason : in words.
    missing, distinct : the number of missing and of distinct values.
    formats : of dates in text.
    numerals : notation of numbers in text, (thousands separator, decimal sign, unit), or None.
    levels : of an ordinal, from the lowest.
    missing_values : declared values that stand for missing ones, such as -999.
    declared : whether the user declared the type.
    """

    name: str
    kind: str
    reason: str
    missing: int = 0
    distinct: int = 0
    formats: tuple[str, ...] = ()
    numerals: tuple[str, str, str] | None = None
    levels: tuple[str, ...] = ()
    missing_values: tuple[str, ...] = ()
    declared: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} ({self.reason})"


@dataclass(frozen=True)
class Schema(Mapping[str, ColumnType]):
    """The types of all columns, by name, in their order."""

    columns: tuple[ColumnType, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {column.name: column for column in self.columns})

    def __getitem__(self, name: str) -> ColumnType:
        by_name: dict[str, ColumnType] = self.__dict__["_by_name"]
        return by_name[name]

    def __iter__(self) -> Iterator[str]:
        return (column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        wide = max((len(name) for name in self), default=0)
        return "\n".join(f"{c.name:<{wide}}  {c.kind:<10}  {c.reason}" for c in self.columns)

    def of(self, *kinds: str) -> list[str]:
        """Names of the columns of these kinds."""
        return [column.name for column in self.columns if column.kind in kinds]

    def plain(self) -> list[dict[str, Any]]:
        """Lists, dictionaries, strings and numbers, for JSON."""
        return [
            {key: list(value) if isinstance(value, tuple) else value for key, value in vars(column).items()}
            for column in self.columns
        ]

    @staticmethod
    def from_plain(columns: Sequence[Mapping[str, Any]]) -> "Schema":
        """The inverse of `plain`."""
        return Schema(tuple(ColumnType(**{k: _as_tuple(v) for k, v in column.items()}) for column in columns))

    def text(self) -> str:
        """The schema as JSON, a parameter that is copied and compared as one string."""
        return json.dumps(self.plain())

    @staticmethod
    @lru_cache(maxsize=8)
    def from_text(text: str) -> "Schema":
        """The inverse of `text`."""
        return Schema.from_plain(json.loads(text))


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Declared = Mapping[str, str] | Schema | str | None


@dataclass(frozen=True)
class _Summary:
    """Counts and ranges of all columns."""

    rows: int
    missing: dict[str, int]
    distinct: dict[str, int]
    low: dict[str, float]
    high: dict[str, float]


def infer_schema(
    table: Any,
    *,
    types: Declared = None,
    ordinal: Mapping[str, Sequence[Any]] | None = None,
    dayfirst: bool | None = None,
    missing: Mapping[str, Sequence[Any]] | None = None,
) -> Schema:
    """Infer the type of each column of a table, with a reason.

    Parameters
    ----------
    table : frame or array
    types : name -> kind, `Schema` or `Schema.text()`, default=None
        Columns whose kind is known: number, count, category, boolean, date, text, identifier; or the schema of another
        table.
    ordinal : name -> levels from the lowest to the highest, default=None
    dayfirst : bool, default=None
        Whether the day comes first in dates such as 3/4/2013; None infers it from the whole column.
    missing : name -> values, default=None
        Values of columns that stand for missing ones, ``{"age": [-999]}``. The schema stores them, and with it every
        encoder and profile.

    Returns
    -------
    Schema

    Examples
    --------
    >>> import polars as pl
    >>> from tenfold.features import infer_schema
    >>> frame = pl.DataFrame({"price": ["$3", "$1,200"], "on": ["31.12.2012", "1.2.2013"], "size": ["S", "L"]})
    >>> print(infer_schema(frame, ordinal={"size": ["S", "M", "L"]}))
    price  number      numbers written as text, such as '$3'
    on     date        text such as '31.12.2012': day.month.year
    size   ordinal     declared: 'S' < 'M' < 'L'
    """
    frame = frame_of(table)
    known = Schema.from_text(types) if isinstance(types, str) else types or {}
    ordinal = dict(ordinal or {})
    given = {name: tuple(label(value) for value in values) for name, values in (missing or {}).items()}
    _check_declared(frame, known, ordinal, given)
    given |= {c.name: c.missing_values for c in known.values() if isinstance(c, ColumnType) and c.missing_values}
    frame, _ = set_missing(frame, given)
    summary = _summarize(frame, [name for name in frame.columns if not isinstance(known.get(name), ColumnType)], known)
    strings = _summarize_texts(
        frame.select([name for name in frame.columns if name not in known and name not in ordinal])
    )
    columns = []
    for series in frame.get_columns():
        name = series.name
        if name in ordinal:
            levels = tuple(label(level) for level in ordinal[name])
            reason = "declared: " + " < ".join(map(repr, levels))
            column = ColumnType(name, "ordinal", reason, levels=levels, declared=True)
        elif name in known:
            declared = known[name]
            column = declared if isinstance(declared, ColumnType) else _declare_column(series, declared, dayfirst)
        else:
            column = _infer_column(series, summary, strings.get(name), dayfirst)
        distinct = summary.distinct.get(name, column.distinct)
        absent = given.get(name, ())
        columns.append(replace(column, missing=summary.missing[name], distinct=distinct, missing_values=absent))
    return Schema(tuple(columns))


def _summarize(frame: pl.DataFrame, new: list[str], known: Mapping[str, Any]) -> _Summary:
    """Counts and ranges of new columns; for columns of a known schema only the counts that it does not have."""
    missing = {series.name: series.null_count() for series in frame.get_columns()}
    kinds = dict(frame.schema)
    names = [
        *new,
        *(name for name, declared in known.items() if isinstance(declared, ColumnType) and declared.kind in COUNTED),
    ]
    flat = [name for name in names if not kinds[name].is_nested() and kinds[name] not in (pl.Object, pl.Null)]
    unique = frame.select(pl.col(flat).n_unique()).row(0) if flat else ()
    distinct = {name: n - (missing[name] > 0) for name, n in zip(flat, unique, strict=True)}
    numeric = [name for name in new if kinds[name].is_numeric()]
    ends = [frame.select(e).row(0) if numeric else () for e in (pl.col(numeric).min(), pl.col(numeric).max())]
    low, high = (dict(zip(numeric, end, strict=True)) for end in ends)
    return _Summary(frame.height, missing, distinct, low, high)


def label(value: Any) -> str:
    """A level as text, as in columns: integers without a point, booleans in lower case."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _check_declared(
    frame: pl.DataFrame,
    types: Mapping[str, str] | Schema,
    ordinal: dict[str, Sequence[Any]],
    missing: Mapping[str, Sequence[Any]],
) -> None:
    names = set(frame.columns)
    for what, declared in (("types", types), ("ordinal", ordinal), ("missing", missing)):
        for name in declared:
            if name not in names:
                raise TableError(
                    f"{what} names a column {name!r} that the table does not have. It has {some(frame.columns)}.",
                    column=name,
                )
    for name, kind in types.items():
        if not isinstance(kind, ColumnType) and kind not in DECLARED:
            raise ValueError(f"types: {name!r} cannot be {kind!r}. Kinds to declare are {', '.join(DECLARED)}.")
    both = set() if isinstance(types, Schema) else set(types) & set(ordinal)
    if both:
        raise ValueError(f"{some(sorted(both))} stands in types and in ordinal. Leave one of them.")
    for name, levels in ordinal.items():
        if isinstance(levels, str) or len(levels) < 2 or len({label(v) for v in levels}) < len(levels):
            raise ValueError(f"ordinal: {name!r} needs two or more different levels, from the lowest on.")


@dataclass(frozen=True)
class _TextSummary:
    digits: bool
    numbers: float
    words: float
    blanks: float


def _summarize_texts(frame: pl.DataFrame) -> dict[str, _TextSummary]:
    """Summaries of all columns of text."""
    names = [name for name, kind in frame.schema.items() if kind == pl.String]
    if not names:
        return {}
    sample = frame.select(names).head(100_000)
    columns = pl.col(names)
    rows = [
        sample.select(e).row(0)
        for e in (
            columns.str.contains(r"\d").all(),
            columns.cast(pl.Float64, strict=False).is_not_null().sum() / columns.count(),
            (columns.str.count_matches(r"\S+")).mean(),
            columns.str.contains(r"\s").mean(),
        )
    ]
    return {
        name: _TextSummary(bool(d), numbers or 0.0, words or 0.0, blanks or 0.0)
        for name, d, numbers, words, blanks in zip(names, *rows, strict=True)
    }


def _declare_column(series: pl.Series, kind: str, dayfirst: bool | None) -> ColumnType:
    name, given = series.name, series.drop_nulls()
    column = ColumnType(name, kind, "declared", declared=True)
    if series.dtype != pl.String or not len(given):
        return column
    if kind in ("number", "count"):
        format_ = find_number_format(given.unique(maintain_order=True)) or NumberFormat()
        return ColumnType(
            name, kind, "declared", numerals=(format_.thousands, format_.decimal, format_.unit), declared=True
        )
    if kind == "date":
        dates = date_formats(given.unique(maintain_order=True), dayfirst)
        if dates is None:
            raise TableError(
                f"declared as dates, but no format reads all of it; it begins with {given[0]!r}. Correct the values, "
                "or declare it as category or text.",
                column=name,
            )
        return ColumnType(
            name, kind, "declared" + (f"; {dates.note}" * bool(dates.note)), formats=dates.formats, declared=True
        )
    return column


def _infer_column(series: pl.Series, summary: _Summary, text: _TextSummary | None, dayfirst: bool | None) -> ColumnType:
    name, kind = series.name, series.dtype
    missing, distinct = summary.missing[name], summary.distinct.get(name, 0)
    if missing == summary.rows:
        return ColumnType(name, "empty", "no values")
    if kind.is_nested() or kind == pl.Object or kind == pl.Binary:
        return ColumnType(name, "nested", f"holds {kind}, not single values: take it apart first")
    if distinct == 1:
        value = series.drop_nulls()[0]
        if not missing:
            return ColumnType(name, "constant", f"the same value, {value!r}, in all rows")
        return ColumnType(name, "category", f"one value, {value!r}, or missing")
    if kind == pl.Boolean:
        return ColumnType(name, "boolean", "truth values")
    if kind.is_temporal():
        if kind == pl.Time or kind == pl.Duration:
            return ColumnType(name, "number", "times of the day, in hours" if kind == pl.Time else "durations, in days")
        return ColumnType(name, "date", "dates")
    if kind.is_numeric():
        return _number_type(series, summary)
    if kind != pl.String:
        return ColumnType(name, "category", f"declared as categories: {distinct} in {summary.rows} rows")
    assert text is not None
    return _text_type(series, summary, text, dayfirst)


def _number_type(series: pl.Series, summary: _Summary) -> ColumnType:
    name = series.name
    rows, missing, distinct = summary.rows, summary.missing[name], summary.distinct[name]
    whole = series.dtype.is_integer()
    if whole and not missing and distinct == rows and rows >= MIN_ROWS:
        low, high = summary.low[name], summary.high[name]
        if low in (0, 1) and high == low + rows - 1 and (series.is_sorted() or series.is_sorted(descending=True)):
            return ColumnType(name, "identifier", f"the numbers {low} to {high} in order: a row number")
        if ID_NAME.search(name):
            return ColumnType(name, "identifier", "a different whole number in every row, and named like a key")
    if whole:
        low, high = int(summary.low[name]), int(summary.high[name])
        form = date_format(series, low, high)
        if form:
            return ColumnType(name, "date", f"whole numbers such as {low}: {WRITTEN_TOGETHER[form]}", formats=(form,))
        code = whole_number_code(name, low, high, distinct, rows - missing)
        if code:
            return _code_type(
                name, f"{code}; where they are amounts, say --type {name}=number", distinct, rows - missing
            )
    about = f"{distinct} different, {summary.low[name]:g} to {summary.high[name]:g}"
    return ColumnType(name, "number", "whole numbers, " * whole + about)


def _code_type(name: str, reason: str, distinct: int, given: int) -> ColumnType:
    """Codes: categories where they repeat, identifiers where nearly all are distinct."""
    kind = "identifier" if given >= MIN_ROWS and distinct > NEARLY_ALL * given else "category"
    return ColumnType(name, kind, f"{distinct} different codes in {given} rows: {reason}")


def _text_type(series: pl.Series, summary: _Summary, text: _TextSummary, dayfirst: bool | None) -> ColumnType:
    name, distinct = series.name, summary.distinct[series.name]
    given = summary.rows - summary.missing[name]
    if distinct == 2:
        words = {str(v).strip().lower() for v in series.drop_nulls().unique()}
        if words in PAIRS:
            return ColumnType(name, "boolean", f"the words {some(sorted(words))}")
    hint = ""
    values = None
    if text.digits:
        values = series.drop_nulls().unique(maintain_order=True)
        code = text_code(name, values)
        if code:
            return _code_type(name, code, distinct, given)
        format_ = find_number_format(values.head(200)) and find_number_format(values)
        if format_:
            written = (format_.thousands, format_.decimal, format_.unit)
            return ColumnType(name, "number", f"numbers written as text, such as {values[0]!r}", numerals=written)
        dates = date_formats(values.head(200), dayfirst) and date_formats(values, dayfirst)
        if dates:
            spelled = " or ".join(map(_spell_out, dates.formats))
            reason = f"text such as {values[0]!r}: {spelled}" + (f"; {dates.note}" if dates.note else "")
            return ColumnType(name, "date", reason, formats=dates.formats)
    if given >= MIN_ROWS and 0.9 < text.numbers < 1.0:
        wrong = series.cast(pl.Float64, strict=False).is_null() & series.is_not_null()
        row = wrong.arg_max() or 0
        hint = f"; nearly all are numbers, but {series[row]!r} in row {row + 1} is not"
    share = distinct / given
    if given >= MIN_ROWS and share > NEARLY_ALL and text.blanks < 0.5:
        return ColumnType(name, "identifier", f"{distinct} different words in {given} rows{hint}")
    if (text.words >= 3 and share > 0.5 and distinct > 10) or (text.words >= 8 and share > 0.1):
        return ColumnType(name, "text", f"{distinct} different texts of {text.words:.0f} words on average")
    if given >= MIN_ROWS and share > NEARLY_ALL:
        return ColumnType(name, "identifier", f"{distinct} different names in {given} rows{hint}")
    return ColumnType(name, "category", f"{distinct} different values in {summary.rows} rows{hint}")


def _spell_out(form: str) -> str:
    names = {
        "%Y": "year", "%y": "year", "%m": "month", "%d": "day", "%b": "month", "%B": "month", "%H:%M:%S": "time",
        "%H:%M": "time", "%I:%M %p": "time", "%I:%M:%S %p": "time", "%z": " with zone",
    }  # fmt: skip
    for sign, word in sorted(names.items(), key=lambda item: -len(item[0])):
        form = form.replace(sign, word)
    return form
