"""Data frames and streams of record batches, in memory."""

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

import narwhals
import pyarrow as pa

from tenfold.data.arrow.batches import Batch, batch_rows, errors_of, next_of, row_of, slice_batch
from tenfold.data.arrow.fragments import Part
from tenfold.data.table import NOT_RESTARTABLE


class FramePart(Part):
    """A data frame in memory, read in slices of rows."""

    def __init__(self, frame: narwhals.DataFrame[Any]) -> None:
        self._frame = frame
        with errors_of("this frame"):
            # columns beyond those of the frame are the index of pandas
            start = frame[: batch_rows(len(frame.columns))].to_arrow()
            self.schema = start.select(range(len(frame.columns))).schema

    def count(self) -> int:
        """See `Part`."""
        return len(self._frame)

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """See `Part`."""
        index, length = [self.schema.get_field_index(name) for name in columns], batch_rows(len(columns))
        for start in range(0, len(self._frame), length):
            with errors_of(f"from row {start + 1} on"):
                table = self._frame[start : start + length, index].to_arrow()
            for batch in table.to_batches():
                yield Batch(batch, partial(row_of, "", start))
                start += batch.num_rows


class StreamPart(Part):
    """An object whose ``__arrow_c_stream__`` returns a new stream of record batches at every call."""

    def __init__(self, stream: Any) -> None:
        if isinstance(stream, pa.RecordBatchReader):
            raise ValueError(NOT_RESTARTABLE)
        self._stream = stream
        self.schema = self._open().schema

    def _open(self) -> pa.RecordBatchReader:
        with errors_of("this stream"):
            return pa.RecordBatchReader.from_stream(self._stream)

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """See `Part`."""
        start = 0
        with self._open() as opened:
            if opened.schema != self.schema:
                raise ValueError(NOT_RESTARTABLE)
            while (batch := next_of(opened, f"from row {start + 1} on")) is not None:
                yield from slice_batch(batch, "", start, len(columns))
                start += batch.num_rows


def frame_part(source: Any) -> Part:
    frame = narwhals.from_native(source, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        raise ValueError(
            "A lazy frame would be computed anew in every pass. Collect it, .collect(), or write it to files and read "
            "those: .sink_parquet(path), then tenfold.rows(path)."
        )
    return FramePart(frame) if isinstance(frame, narwhals.DataFrame) else StreamPart(source)
