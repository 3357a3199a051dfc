"""Rows from Arrow: Parquet, CSV and Arrow files, tables and data frames. The only package that knows pyarrow."""

from collections.abc import Sequence
from typing import Any

from tenfold.data.arrow.csv import CsvPart, CsvReader
from tenfold.data.arrow.frames import frame_part
from tenfold.data.arrow.ipc import IpcPart
from tenfold.data.arrow.parquet import ParquetPart
from tenfold.data.arrow.parts import ArrowReader, PartsReader
from tenfold.data.files import File


def open_files(kind: str, files: Sequence[File]) -> ArrowReader[Any]:
    """Files of one format."""
    if kind == "csv":
        first = CsvPart(files[0])
        return CsvReader([first, *(CsvPart(file, first) for file in files[1:])])
    part = ParquetPart if kind == "parquet" else IpcPart
    return PartsReader([part(file) for file in files])


def open_frames(frames: Sequence[Any]) -> ArrowReader[Any]:
    """Frames and other objects that Arrow can read, one below the other."""
    return PartsReader([frame_part(frame) for frame in frames])
