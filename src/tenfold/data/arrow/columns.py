"""Columns of Arrow as arrays: numeric types, and the errors of others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from tenfold.arrays import Array
from tenfold.data.arrow.batches import Batch
from tenfold.data.column_errors import missing_value, not_finite
from tenfold.data.table import EXACT, Columns, common_dtype, too_large


def is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def is_number(kind: pa.DataType) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    # a column of missing values only has the type null; reading it raises
    checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(check(kind) for check in checks)


def dtype_of(schemas: Sequence[pa.Schema], columns: Sequence[str]) -> np.dtype[Any]:
    """The dtype of a matrix of these columns over all schemas."""
    kinds = [schema.field(name).type for schema in schemas for name in columns]
    kinds = [kind.value_type if types.is_dictionary(kind) else kind for kind in kinds]
    return common_dtype([np.float32 if types.is_float32(kind) else np.float64 for kind in kinds])


def _dense(batch: Batch, name: str, role: str) -> pa.Array:
    """A column with a value in every row."""
    column = batch.columns.column(name)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise missing_value(role, batch.place(row), name)
    return column


def _numbers(batch: Batch, name: str, role: str = "Input X") -> Array:
    """A column as an array of numbers."""
    column = _dense(batch, name, role)
    if not is_number(column.type):
        raise ValueError(f"{batch.place(0)}, column {name!r}: expected numbers, got values of type {column.type}.")
    if types.is_decimal(column.type):
        column = column.cast(pa.float64())
    values = column.to_numpy(zero_copy_only=False)
    whole = types.is_int64(column.type) or types.is_uint64(column.type)
    if whole and len(values) and (values.max() > EXACT or values.min() < -EXACT):
        row = int(np.argmax((values > EXACT) | (values < -EXACT)))
        raise ValueError(too_large(batch.place(row), name, values[row]))
    return values


def columns_of(batch: Batch, names: Sequence[str]) -> Columns:
    return Columns([_numbers(batch, name) for name in names])


def read_column(batch: Batch, name: str) -> Array:
    """A column that stays in memory, as numbers or as text."""
    if not is_text(batch.columns.schema.field(name).type):
        values = _numbers(batch, name, f"Column {name!r}")
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise not_finite(name, batch.place(row))
        return values
    coded = _dense(batch, name, f"Column {name!r}").dictionary_encode()
    # decode each distinct word once
    return np.array(coded.dictionary.to_pylist(), dtype=np.str_)[coded.indices.to_numpy()]
