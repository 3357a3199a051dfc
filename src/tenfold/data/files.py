"""Files of rows: finding them by path or pattern, detecting changes, and NumPy's format."""

import glob
import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from tenfold.arrays import Array
from tenfold.data.blocks import block_length
from tenfold.data.table import Piece, Survey, as_floats, common_dtype

# the formats of files by the suffix of their names
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".txt": "csv",
    ".txt.gz": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npy": "npy",
}

ENDINGS = ", ".join(FORMATS)


@dataclass(frozen=True)
class File:
    """A file with its size and modification time when it was opened."""

    path: Path
    size: int
    modified: int

    @classmethod
    def stat(cls, path: Path) -> Self:
        """The file as it is now; FileNotFoundError where there is none."""
        status = path.stat()
        return cls(path, status.st_size, status.st_mtime_ns)

    def check(self) -> None:
        """Raise where the file has changed."""
        if File.stat(self.path) != self:
            raise ValueError(
                f"{self.path} has changed since it was first read: its size or its time of change is another. Make the "
                "rows anew with tenfold.rows, and leave the file alone while they are in use."
            )


def are_paths(source: Any) -> bool:
    """Whether `source` names files: a path, or a list of paths."""
    if isinstance(source, (list, tuple)):
        return len(source) > 0 and all(isinstance(name, (str, os.PathLike)) for name in source)
    return isinstance(source, (str, os.PathLike))


def find_files(source: Any) -> tuple[str, list[File]]:
    """The format of the files that paths, folders and patterns stand for, and the files, sorted within each."""
    names = source if isinstance(source, (list, tuple)) else [source]
    paths = [path for name in names for path in _paths(os.fspath(name))]
    formats = {path: _format(path) for path in paths}
    for path, format_ in formats.items():
        if format_ is None:
            raise ValueError(f"{path}: expected a name that ends in one of {ENDINGS}.")
        if format_ != formats[paths[0]]:
            raise ValueError(f"{paths[0]} and {path} are of two formats: read one format at a time.")
    return str(formats[paths[0]]), [File.stat(path) for path in paths]


def _paths(name: str) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        inside = sorted(inner for inner in path.iterdir() if _format(inner) and inner.name[0] not in "._")
        if not inside:
            raise FileNotFoundError(f"The folder {name} holds no file whose name ends in one of {ENDINGS}.")
        return inside
    if glob.has_magic(name) and not path.exists():
        matches = sorted(map(Path, glob.glob(name, recursive=True)))
        if not matches:
            raise FileNotFoundError(f"No file matches {name!r}.")
        return matches
    if not path.exists():
        raise FileNotFoundError(f"There is no file {name!r}.")
    return [path]


def _format(path: Path) -> str | None:
    name = path.name.lower()
    return next((FORMATS[ending] for ending in FORMATS if name.endswith(ending)), None)


class Matrix(Protocol):
    """A matrix that is read by ranges of rows."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def name(self) -> str:
        """The prefix of a row number in error messages."""
        ...

    def read(self, start: int, stop: int) -> Array: ...
    def check(self) -> None:
        """Raise where the matrix has changed."""
        ...


class InMemory(NamedTuple):
    """A NumPy array, a memory map among them."""

    array: Array
    name: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def read(self, start: int, stop: int) -> Array:
        """See `Matrix`; a memory map is copied, so that the prefetching thread waits for the disk."""
        part = self.array[start:stop]
        return np.array(part, subok=False) if isinstance(part, np.memmap) else part

    def check(self) -> None:
        """See `Matrix`."""


class NpyFile:
    """A matrix in a .npy file; read, not mapped: where the file is truncated a read raises, a map would be a SIGBUS."""

    def __init__(self, file: File) -> None:
        self._file, self.name = file, f"{file.path}, "
        try:
            with open(file.path, "rb") as opened:
                version = np.lib.format.read_magic(opened)
                read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else _header_2_0
                shape, self._by_columns, self.dtype = read_header(opened)
                self._offset = opened.tell()
        except ValueError as reason:
            raise ValueError(f"{file.path} is not a whole file of NumPy's format: {reason}") from None
        if len(shape) != 2:
            raise ValueError(f"{file.path}: expected a matrix of rows, got an array of shape {shape}.")
        self.shape = int(shape[0]), int(shape[1])
        whole = self._offset + self.dtype.itemsize * shape[0] * shape[1]
        if self.dtype.kind in "fiub" and file.size != whole:
            raise ValueError(
                f"{file.path} is not whole: {shape[0]} x {shape[1]} numbers of {self.dtype.itemsize} bytes need "
                f"{whole} bytes with the header, and the file has {file.size}."
            )

    def read(self, start: int, stop: int) -> Array:
        """See `Matrix`."""
        n, p = self.shape
        if not self._by_columns:
            return self._numbers(start * p, (stop - start) * p).reshape(stop - start, p)
        matrix = np.empty((stop - start, p), self.dtype)
        for j in range(p):
            matrix[:, j] = self._numbers(j * n + start, stop - start)
        return matrix

    def _numbers(self, first: int, count: int) -> Array:
        values = np.fromfile(self._file.path, self.dtype, count, offset=self._offset + first * self.dtype.itemsize)
        if len(values) < count:
            self.check()
        return values

    def check(self) -> None:
        """See `Matrix`."""
        self._file.check()


def _header_2_0(opened: Any) -> tuple[Any, bool, np.dtype[Any]]:
    return np.lib.format.read_array_header_2_0(opened)


class NumpyReader:
    """Matrices one below the other, without names."""

    named = False

    def __init__(self, parts: Sequence[Matrix]) -> None:
        self._parts = parts
        width = parts[0].shape[1]
        for part in parts:
            if part.dtype.kind not in "fiub":
                raise ValueError(f"{part.name}expected numbers, got values of type {part.dtype}.")
            if part.shape[1] != width:
                raise ValueError(f"{part.name}{part.shape[1]} columns, but the first matrix has {width}.")
        self.names = tuple(f"x{j}" for j in range(width))

    def survey(self, columns: Sequence[str], kept: Sequence[str]) -> Survey:
        """See `Reader`."""
        index = [int(name[1:]) for name in kept]
        stored = [np.concatenate([X[:, index] for X in self._all(part)]) for part in self._parts] if kept else []
        stored_columns = {name: np.concatenate([part[:, k] for part in stored]) for k, name in enumerate(kept)}
        count = sum(part.shape[0] for part in self._parts)
        dtype = common_dtype([part.dtype for part in self._parts])
        return Survey(count, count * len(columns), dtype, False, stored_columns)

    def read(self, columns: Sequence[str]) -> Generator[Piece]:
        """See `Reader`."""
        index = None if tuple(columns) == self.names else [int(name[1:]) for name in columns]
        for part in self._parts:
            start = 0
            for X in self._all(part):
                place = partial(_place, part.name, start)
                start += len(X)
                yield Piece(as_floats(X if index is None else X[:, index], columns, place), place)

    def _all(self, part: Matrix) -> Iterator[Array]:
        part.check()
        n, p = part.shape
        length = block_length(p, False)
        for start in range(0, n, length):
            yield part.read(start, min(n, start + length))
        part.check()


def _place(name: str, start: int, row: int) -> str:
    return f"{name}row {start + row + 1}"
