"""Casts of columns to their inferred types: numbers in float64, dates as datetimes, others as text."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tenfold.data.errors import TableError
from tenfold.features.dates import parse_dates
from tenfold.features.frames import has_nan, pl
from tenfold.features.number_formats import NumberFormat, parse_numbers
from tenfold.features.parsing import set_missing
from tenfold.features.schema import TRUTHS, ColumnType

HINTS = {
    "number": "a number",
    "count": "a count (a whole number from 0 on)",
    "date": "a date like those the encoder was fitted on",
    "boolean": "true or false",
}


def cast_column(series: pl.Series, column: ColumnType) -> pl.Series:
    """Cast a column to its type; an invalid value raises with its row."""
    if column.missing_values:
        series = without_missing(series.to_frame(), [column]).get_column(series.name)
    if column.kind in ("number", "count"):
        return _cast_number(series, column)
    if column.kind == "boolean":
        return _cast_boolean(series, column)
    if column.kind == "date":
        return _cast_date(series, column)
    return as_text(series)


def cast_columns(frame: pl.DataFrame, columns: Sequence[ColumnType]) -> pl.DataFrame:
    """Cast columns of a frame to their types. Columns of plain numbers are cast all at once."""
    given = without_missing(frame.select([column.name for column in columns]), columns)
    kinds = dict(given.schema)
    plain = [column.name for column in columns if column.kind == "number" and kinds[column.name].is_numeric()]
    other = [name for name in plain if kinds[name] != pl.Float64]
    if other:
        given = given.with_columns(pl.col(other).cast(pl.Float64).fill_nan(None))
    for series in map(given.get_column, plain):
        if np.isinf(series.to_numpy()).any():
            raise _infinite_value(series)
    done = set(plain)
    text = ("category", "ordinal", "text")
    others = [
        cast_column(series, column)
        for series, column in zip(given.get_columns(), columns, strict=True)
        if column.name not in done and not (column.kind in text and series.dtype == pl.String)
    ]
    return given.with_columns(others) if others else given


def without_missing(frame: pl.DataFrame, columns: Iterable[ColumnType]) -> pl.DataFrame:
    """The table with the declared missing values of these columns set to null."""
    names = set(frame.columns)
    declared = {c.name: c.missing_values for c in columns if c.missing_values and c.name in names}
    return set_missing(frame, declared)[0] if declared else frame


def as_text(series: pl.Series) -> pl.Series:
    """Text; integers without a point, so that 1 and 1.0 are the same level."""
    if series.dtype == pl.String:
        return series
    if series.dtype.is_float():
        whole = series.is_null() | (series == series.floor())
        if whole.all() and (series.abs() < 2**53).all():
            return series.cast(pl.Int64).cast(pl.String)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise TableError(f"single values are expected, but it holds {series.dtype}.", column=series.name)
    return series.cast(pl.String)


def _invalid_value(series: pl.Series, bad: Any, kind: str) -> TableError:
    row = bad.arg_max() or 0
    value, count = series[row], bad.sum()
    others = "" if count == 1 else f", nor are {count - 1} others"
    return TableError(
        f"{value!r} is not {HINTS[kind]}{others}. Correct it or leave it empty; or fit again with "
        f"types={{{series.name!r}: 'category'}}.",
        column=series.name,
        row=row + 1,
    )


def _infinite_value(numbers: pl.Series) -> TableError:
    row = numbers.is_infinite().arg_max() or 0
    return TableError(
        f"{numbers[row]} (infinity, or a number too large for float64) is not a finite number. Correct it or leave it "
        "empty.",
        column=numbers.name,
        row=row + 1,
    )


def _cast_number(series: pl.Series, column: ColumnType) -> pl.Series:
    kind = series.dtype
    if kind == pl.Duration:
        numbers = series.dt.total_microseconds(fractional=True) / 86_400e6
    elif kind == pl.Time:
        numbers = series.cast(pl.Int64) / 3.6e12
    elif kind == pl.Float64:
        numbers = series
    elif kind.is_numeric() or kind == pl.Boolean or kind == pl.Null:
        numbers = series.cast(pl.Float64)
    elif kind in (pl.String, pl.Categorical, pl.Enum):
        text = series.cast(pl.String)
        text = text.set(text.str.strip_chars() == "", None) if (text == "").any() else text
        numbers = parse_numbers(text, NumberFormat(*(column.numerals or ())))
        plain = text.cast(pl.Float64, strict=False) if column.numerals is None else numbers
        numbers = numbers.fill_null(plain)
        wrong = numbers.is_null() & text.is_not_null()
        if wrong.any():
            raise _invalid_value(series, wrong, column.kind)
    else:
        raise TableError(f"{HINTS[column.kind]} is expected, but the column holds {kind}.", column=series.name)
    if has_nan(numbers):
        numbers = numbers.fill_nan(None)
    if np.isinf(numbers.to_numpy()).any():
        raise _infinite_value(numbers)
    if column.kind == "count":
        wrong = (numbers < 0) | (numbers != numbers.floor())
        if wrong.any():
            raise _invalid_value(series, wrong.fill_null(False), "count")
    return numbers


def _cast_boolean(series: pl.Series, column: ColumnType) -> pl.Series:
    if series.dtype == pl.Boolean or series.dtype == pl.Null:
        return series.cast(pl.Float64)
    if series.dtype.is_numeric():
        numbers = series.cast(pl.Float64)
        wrong = (numbers != 0) & (numbers != 1)
    else:
        text = series.cast(pl.String).str.strip_chars().str.to_lowercase()
        truth = {word: float(value) for word, value in TRUTHS.items()} | {"1": 1.0, "0": 0.0}
        numbers = text.replace_strict(truth, default=None, return_dtype=pl.Float64)
        wrong = numbers.is_null() & text.is_not_null() & (text != "")
    if wrong.any():
        raise _invalid_value(series, wrong.fill_null(False), "boolean")
    return numbers.alias(series.name)


def _cast_date(series: pl.Series, column: ColumnType) -> pl.Series:
    kind = series.dtype
    if kind == pl.Null:
        return series.cast(pl.Datetime("us"))
    if kind == pl.Date:
        return series.cast(pl.Datetime("us"))
    if isinstance(kind, pl.Datetime):
        moments = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if kind.time_zone else series
        return moments.cast(pl.Datetime("us"))
    text = as_text(series)
    text = text.set(text.str.strip_chars() == "", None) if (text == "").any() else text
    moments = parse_dates(text, column.formats or ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S"))
    wrong = moments.is_null() & text.is_not_null()
    if wrong.any():
        raise _invalid_value(series, wrong, "date")
    return moments.alias(series.name)
