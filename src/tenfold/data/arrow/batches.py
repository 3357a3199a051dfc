"""Batches of rows as Arrow hands them out, and what goes wrong there."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from tenfold.data.table import Place

PIECE_BYTES = 1 << 23
"""About what a record batch holds in float64: small beside a block, much beside a call."""


class Batch(NamedTuple):
    """Columns of consecutive rows, and where they come from."""

    columns: pa.RecordBatch
    place: Place


def batch_rows(columns: int) -> int:
    return max(1 << 8, 1 << (PIECE_BYTES // (8 * max(1, columns))).bit_length() - 1)


def row_of(name: str, start: int, row: int) -> str:
    return f"{name}row {start + row + 1}"


def sliced(batch: pa.RecordBatch, name: str, start: int, columns: int) -> Iterator[Batch]:
    length = batch_rows(columns)
    for first in range(0, batch.num_rows, length):
        yield Batch(batch.slice(first, length), partial(row_of, name, start + first))


@contextmanager
def errors_of(place: str) -> Iterator[None]:
    """What goes wrong inside Arrow or on the disk is a ValueError that names the place."""
    try:
        yield
    except (FileNotFoundError, MemoryError):
        raise
    except (pa.ArrowException, OSError) as reason:
        raise ValueError(f"{place}: {reason}") from reason


def next_of(batches: Iterator[Any], place: str) -> Any:
    with errors_of(place):
        return next(batches, None)
