"""Parquet files."""

from collections.abc import Generator, Sequence
from functools import partial

import pyarrow.parquet

from tenfold.data.arrow.batches import Batch, batch_rows, errors_of, next_of, row_of
from tenfold.data.arrow.fragments import Part
from tenfold.data.files import File
from tenfold.machine import threads

# Bytes read of a column at a time, in addition to the page that is decoded. Without a buffer, or with Arrow's own
# prefetching (`pre_buffer`), a whole row group would be in memory; the thread that fills the next block prefetches.
BUFFER_BYTES = 1 << 16


class ParquetPart(Part):
    """A Parquet file, read row group by row group; Arrow's threads decode several columns at a time."""

    def __init__(self, file: File) -> None:
        self._file, self.name = file, f"{file.path}, "
        with self._open() as opened:
            self.schema, self._count = opened.schema_arrow, opened.metadata.num_rows

    def _open(self) -> pyarrow.parquet.ParquetFile:
        with errors_of(str(self._file.path)):
            return pyarrow.parquet.ParquetFile(self._file.path, buffer_size=BUFFER_BYTES, pre_buffer=False)

    def count(self) -> int:
        """See `Part`."""
        self._file.check()
        return int(self._count)

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """See `Part`."""
        self._file.check()
        rows, use_threads = batch_rows(len(columns)), threads() > 1
        with self._open() as opened:
            for group in range(opened.num_row_groups):
                place = f"{self.name}row group {group}"
                record_batches = opened.iter_batches(rows, [group], list(columns), use_threads=use_threads)
                start = 0
                while (batch := next_of(record_batches, place)) is not None:
                    yield Batch(batch, partial(row_of, f"{place}, ", start))
                    start += batch.num_rows
        self._file.check()
