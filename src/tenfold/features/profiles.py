"""Profiles of tables for JSON: types, ranges, distributions, levels and counts of missing values."""

from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.features.dtypes import as_text, cast_column, without_missing
from tenfold.features.frames import frame_of, pl
from tenfold.features.schema import DROPPED, ColumnType, Declared, Schema, infer_schema

POINTS, MIN_POINTS = 200, 5  # quantiles of a numeric column that a profile stores: 200 resolve shifts of 0.5 %
MAX_TOTAL_POINTS = 100_000  # of all columns: 2 MB of JSON
LEVELS = 1000  # most frequent categories of a column that a profile stores
DAY = 86_400e6  # microseconds


def profile(table: Any, *, types: Declared = None, ordinal: Any = None, dayfirst: bool | None = None) -> dict[str, Any]:
    """Kinds, ranges, distributions, levels and missing values of a table, as plain data for JSON.

    Parameters
    ----------
    table : frame or `Reading`
    types, ordinal, dayfirst : see `infer_schema`.

    Returns
    -------
    dict
        ``rows``, ``duplicates`` (rows that came before), ``schema``, and ``columns``: for numbers and dates ``points``
        and ``shares``, the share of values up to each of at most 200 points, fewer where there are over 500 columns;
        for categories ``levels``, the counts of the 1000 most frequent.

    Examples
    --------
    >>> import polars as pl
    >>> from tenfold.features import profile
    >>> found = profile(pl.DataFrame({"x": [1, 3, None, 2], "c": ["a", "b", "a", "a"]}))
    >>> found["columns"]["c"]["levels"], found["columns"]["x"]["points"], found["columns"]["x"]["missing"]
    ({'a': 3, 'b': 1}, [1.0, 2.0, 3.0], 1)
    """
    frame = frame_of(getattr(table, "frame", table))
    schema = infer_schema(frame, types=types, ordinal=ordinal, dayfirst=dayfirst)
    frame = without_missing(frame, schema.columns)
    points = max(MIN_POINTS, min(POINTS, MAX_TOTAL_POINTS // max(1, frame.width)))
    return {
        "rows": frame.height,
        "duplicates": duplicates(frame),
        "schema": schema.plain(),
        "columns": {name: column_profile(frame.get_column(name), schema[name], points) for name in schema},
    }


def duplicates(frame: pl.DataFrame) -> int:
    """The number of rows that are equal to an earlier one."""
    flat = [name for name, kind in frame.schema.items() if not kind.is_nested() and kind != pl.Object]
    return frame.height - frame.select(flat).n_unique() if flat and frame.height else 0


def column_profile(series: pl.Series, column: ColumnType, most: int = POINTS) -> dict[str, Any]:
    """The profile of a column of this type."""
    result: dict[str, Any] = {"kind": column.kind, "missing": series.null_count()}
    if column.kind in ("number", "count", "date"):
        values = numeric_values(series, column)
        points, shares = distribution(values, most)
        result |= {"count": len(values), "points": points.tolist(), "shares": shares.tolist()}
    elif column.kind in ("category", "boolean", "ordinal"):
        counts = count_levels(series, column)
        result |= {"levels": dict(list(counts.items())[:LEVELS]), "distinct": len(counts)}
    elif column.kind not in DROPPED:
        result["distinct"] = column.distinct
    return result


def numeric_values(series: pl.Series, column: ColumnType) -> Floats:
    """The values that are not missing, as numbers: dates as days since 1970."""
    values = cast_column(series, column)
    values = values.drop_nulls() if values.null_count() else values
    return ((values.cast(pl.Int64) / DAY) if column.kind == "date" else values).to_numpy()


def count_levels(series: pl.Series, column: ColumnType) -> dict[str, int]:
    """Counts of the levels, the most frequent first."""
    text = as_text(cast_column(series, column)).drop_nulls()
    return dict(sorted(text.value_counts().iter_rows(), key=lambda item: (-item[1], item[0])))


def distribution(values: Floats, most: int = POINTS) -> tuple[Floats, Floats]:
    """The empirical distribution function: at all distinct values where these are few, else at quantiles."""
    if not len(values):
        return np.zeros(0), np.zeros(0)
    ordered = np.sort(values)
    points = np.unique(ordered)
    if len(points) > most:
        points = np.unique(ordered[np.linspace(0, len(ordered) - 1, most).round().astype(np.int64)])
    return points, np.searchsorted(ordered, points, side="right") / len(ordered)


def schema_of(profile_: dict[str, Any]) -> Schema:
    """The types in a profile."""
    return Schema.from_plain(profile_["schema"])
