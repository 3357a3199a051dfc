"""Record batches of Arrow and their origins, and its errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from tenfold.data.table import Place

PIECE_BYTES = 1 << 23  # of a record batch in float64: a fraction of a block, large enough to amortise a call


class Batch(NamedTuple):
    """Columns of consecutive rows, and the origin of each row."""

    columns: pa.RecordBatch
    place: Place


def batch_rows(columns: int) -> int:
    return max(1 << 8, 1 << (PIECE_BYTES // (8 * max(1, columns))).bit_length() - 1)


def row_of(name: str, start: int, row: int) -> str:
    return f"{name}row {start + row + 1}"


def slice_batch(batch: pa.RecordBatch, name: str, start: int, columns: int) -> Iterator[Batch]:
    length = batch_rows(columns)
    for first in range(0, batch.num_rows, length):
        yield Batch(batch.slice(first, length), partial(row_of, name, start + first))


@contextmanager
def errors_of(place: str) -> Iterator[None]:
    """Turn errors of Arrow and of the disk into a ValueError that names the place."""
    try:
        yield
    except (FileNotFoundError, MemoryError):
        raise
    except (pa.ArrowException, OSError) as reason:
        raise ValueError(f"{place}: {reason}") from reason


def next_of(batches: Iterator[Any], place: str) -> Any:
    with errors_of(place):
        return next(batches, None)
