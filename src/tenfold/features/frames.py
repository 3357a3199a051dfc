"""Tables in memory as polars frames. The only module that imports polars."""

from typing import Any

import narwhals
import numpy as np
from sklearn.utils import check_array

from tenfold.arrays import is_sparse
from tenfold.data.errors import TableError

try:
    import polars as pl
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "Tables of mixed types are read and encoded with polars, which is not installed: pip install 'tenfold[frames]'."
    ) from error


__all__ = ["frame_of", "has_nan", "is_frame", "pl", "series_of"]


def frame_of(table: Any) -> pl.DataFrame:
    """A polars frame of a frame of any library, an Arrow table, an array or lists of rows.

    Names are strings; the columns of arrays are x0, x1 and so on. NaN is missing. The index of a pandas frame is no
    column.
    """
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, pl.DataFrame):
        frame = table
    elif is_sparse(table):
        raise TypeError(
            "A sparse matrix was given, but a table of columns is expected: it has no types to infer. Give a sparse "
            "matrix to the estimator itself, beside this encoder."
        )
    elif is_frame(table):
        frame = _from_library(table)
    else:
        frame = _from_array(table)
    odd = [series.name for series in frame.get_columns() if series.dtype.is_float() and has_nan(series)]
    return frame.with_columns(pl.col(odd).fill_nan(None)) if odd else frame


def has_nan(series: pl.Series) -> bool:
    """Whether a column of floats holds a NaN that is not null."""
    # with many columns, expressions of polars cost more than NumPy
    return bool(np.count_nonzero(np.isnan(series.to_numpy())) > series.null_count())


def is_frame(table: Any) -> bool:
    """Whether a table has column names."""
    return isinstance(table, pl.LazyFrame) or hasattr(table, "columns") or hasattr(table, "__arrow_c_stream__")


def _from_library(table: Any) -> pl.DataFrame:
    try:
        native = narwhals.from_native(table, eager_only=True, pass_through=True)
    except narwhals.exceptions.DuplicateError:
        duplicate = next(str(name) for i, name in enumerate(table.columns) if name in list(table.columns[:i]))
        raise TableError(f"two columns are named {duplicate!r}. Rename one of them.", column=duplicate) from None
    if not isinstance(native, narwhals.DataFrame):
        return pl.DataFrame(table)
    names = [str(name) for name in native.columns]
    if not names:
        return pl.DataFrame()
    if narwhals.get_native_namespace(native).__name__ != "pandas":
        return native.to_polars()
    # column by column: object columns may hold values without an Arrow type
    return pl.DataFrame([_pandas_series(name, table.iloc[:, j]) for j, name in enumerate(names)])


def _pandas_series(name: str, column: Any) -> pl.Series:
    if column.dtype == object:
        return series_of(name, column.to_numpy())
    kind = column.dtype.categories.dtype if str(column.dtype) == "category" else column.dtype
    if str(kind).startswith(("period", "interval")):  # as they are printed
        return pl.Series(name, [None if v != v else str(v) for v in column.astype(object)], dtype=pl.String)
    if str(column.dtype).startswith("Sparse"):
        return series_of(name, np.asarray(column))
    return pl.Series(name, pl.from_pandas(column))


def series_of(name: str, values: Any) -> pl.Series:
    """A column of Python objects: booleans or numbers where all are, else strings; None and NaN are missing."""
    given = [None if v is None or v != v or type(v).__name__ == "NAType" else v for v in values]
    kinds = {type(v) for v in given if v is not None}
    if kinds and all(issubclass(k, (bool, np.bool_)) for k in kinds):
        return pl.Series(name, [None if v is None else bool(v) for v in given], dtype=pl.Boolean)
    if kinds and all(issubclass(k, (int, np.integer)) and not issubclass(k, bool) for k in kinds):
        return pl.Series(name, [None if v is None else int(v) for v in given], strict=False)
    if kinds and all(issubclass(k, (int, float, np.number)) and not issubclass(k, np.complexfloating) for k in kinds):
        return pl.Series(name, [None if v is None else float(v) for v in given], dtype=pl.Float64)
    if any(issubclass(k, (str, bytes, int, float, np.generic)) for k in kinds):
        return pl.Series(name, [_as_string(v) for v in given], dtype=pl.String)
    try:
        return pl.Series(name, given)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as reason:
        kind = next(iter(kinds)).__name__
        raise TypeError(f"Column {name!r}: argument must be a string or a number, but it holds {kind}.") from reason


def _as_string(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, (str, bytes)):
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, (int, float, np.generic)):
        return str(value)
    raise TypeError(f"argument must be a string or a number, but a column holds {type(value).__name__}.")


def _from_array(table: Any) -> pl.DataFrame:
    array = check_array(table, dtype=None, ensure_all_finite=False, input_name="X")
    names = [f"x{j}" for j in range(array.shape[1])]
    if array.dtype.kind in "OUSV":
        return pl.DataFrame([series_of(name, array[:, j].tolist()) for j, name in enumerate(names)])
    return pl.DataFrame(np.ascontiguousarray(array.T), schema=names, orient="col")
