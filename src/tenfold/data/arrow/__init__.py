"""Rows from Arrow: Parquet and Arrow files, tables and data frames. The only package that imports pyarrow."""

from collections.abc import Sequence
from typing import Any

from tenfold.data.arrow.fragments import ArrowReader
from tenfold.data.arrow.frames import frame_part
from tenfold.data.arrow.ipc import IpcPart
from tenfold.data.arrow.parquet import ParquetPart
from tenfold.data.files import File


def open_files(kind: str, files: Sequence[File]) -> ArrowReader:
    """Files of one format."""
    part = ParquetPart if kind == "parquet" else IpcPart
    return ArrowReader([part(file) for file in files])


def open_frames(frames: Sequence[Any]) -> ArrowReader:
    """Frames and other objects that Arrow can read, one below the other."""
    return ArrowReader([frame_part(frame) for frame in frames])
