"""Arrow and Feather files."""

from collections.abc import Generator, Sequence

import pyarrow as pa
import pyarrow.ipc

from tenfold.data.arrow.batches import Batch, errors_of, slice_batch
from tenfold.data.arrow.fragments import Part
from tenfold.data.files import File


class IpcPart(Part):
    """An Arrow or Feather file, read record batch by record batch."""

    def __init__(self, file: File) -> None:
        self._file, self.name = file, f"{file.path}, "
        with errors_of(str(file.path)), pa.OSFile(str(file.path)) as raw:
            self.schema = pa.ipc.open_file(raw).schema

    def batches(self, columns: Sequence[str]) -> Generator[Batch]:
        """See `Part`."""
        self._file.check()
        options = pa.ipc.IpcReadOptions(included_fields=[self.schema.get_field_index(name) for name in columns])
        with pa.OSFile(str(self._file.path)) as raw:
            with errors_of(str(self._file.path)):
                opened = pa.ipc.open_file(raw, options=options)
            for number in range(opened.num_record_batches):
                place = f"{self.name}record batch {number}"
                with errors_of(place):
                    batch = opened.get_batch(number)
                yield from slice_batch(batch, f"{place}, ", 0, len(columns))
        self._file.check()
