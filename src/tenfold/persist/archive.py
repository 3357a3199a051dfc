"""The file: a zip with ``model.json`` and arrays as ``.npy``, written atomically, read with limits.

Arrays are stored uncompressed, the JSON is compressed. Entry names are one of those two, so that none is a path
outside, and no memory is allocated for sizes that a header claims beyond the bytes of its entry.
"""

import contextlib
import math
import os
import re
import secrets
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tenfold.persist.errors import LoadError, SaveError

JSON = "model.json"
NAME = re.compile(r"arrays/(0|[1-9][0-9]{0,8})\.npy")
ENTRY_DATE = (1980, 1, 1, 0, 0, 0)  # date of all entries, so that equal models are equal files
MAGIC = b"\x93NUMPY\x01\x00"
# the header as NumPy writes it; other forms that NumPy reads are rejected
HEADER = re.compile(
    rb"\{'descr': '([<|][biufcSUmM][0-9]{1,9}(?:\[[0-9a-zA-Z]{1,9}\])?)', 'fortran_order': (True|False), "
    rb"'shape': \(([0-9, ]*)\), \} *\n"
)
MAX_DIMENSIONS, MAX_LENGTH = 32, 1 << 40  # of an array: more are a damaged file
# a JSON entry that would compress by more is stored uncompressed, so that no file looks like a zip bomb
MAX_RATIO = 100
MAX_HEADER = 10_000  # bytes before the values of an array
LAST_CODE_POINT = 0x10FFFF  # of Unicode

# exceptions of `zipfile` on damaged files
READ_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    KeyError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
)


@dataclass(frozen=True)
class Limits:
    """Limits on the content of a file.

    Attributes
    ----------
    bytes : of the file, and of all that is in it.
    ratio : how many times smaller compressed data may be.
    entries : arrays and the JSON.
    depth : of values within values.
    array : bytes of one array.
    """

    bytes: int = 1 << 32
    ratio: float = MAX_RATIO
    entries: int = 1 << 16
    depth: int = 100
    array: int = 1 << 32


def write(path: Path, text: bytes, arrays: Iterable[Any]) -> None:
    """Write a temporary file, sync it and rename it to `path`: a reader sees all of it or nothing."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as reason:
        raise SaveError(f"There can be no file in the folder {str(path.parent)!r}: {reason.strerror}.") from reason
    try:
        with os.fdopen(handle, "wb") as file:
            _write_entries(file, text, arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as reason:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(reason, OSError):
            raise SaveError(
                f"{str(path)!r} could not be written ({reason.strerror}); nothing was left behind."
            ) from reason
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Sync the folder, where that is possible, so that the rename is durable."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_entries(file: BinaryIO, text: bytes, arrays: Iterable[Any]) -> None:
    shorter = len(text) <= MAX_RATIO * len(zlib.compress(text, 6)) // 2
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(_entry(JSON, zipfile.ZIP_DEFLATED if shorter else zipfile.ZIP_STORED), text)
        for number, array in enumerate(arrays):
            with archive.open(_entry(f"arrays/{number}.npy"), "w", force_zip64=array.nbytes > 1 << 31) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def _entry(name: str, how: int = zipfile.ZIP_STORED) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, ENTRY_DATE)
    entry.compress_type = how
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry


class Archive:
    """An open file: its JSON and its arrays, each of which is read once."""

    def __init__(self, archive: zipfile.ZipFile, limits: Limits) -> None:
        self._archive = archive
        self._limits = limits
        self._entries = {entry.filename: entry for entry in archive.infolist()}

    def text(self) -> bytes:
        return self._read(JSON)

    def array(self, number: Any) -> Any:
        """Read an array; a second read raises."""
        name = f"arrays/{number}.npy" if type(number) is int else ""
        if name not in self._entries:
            raise LoadError(f"The file has no array {number!r}, or uses it twice.")
        return parse_array(self._read(name), name, self._limits.array)

    def finish(self) -> None:
        """Raise where entries were not read."""
        if self._entries:
            raise LoadError(f"The file has an entry that the model does not use: {min(self._entries)!r}.")

    def _read(self, name: str) -> bytes:
        entry = self._entries.pop(name, None)
        if entry is None:
            raise LoadError(f"The file has no {name}: it is not a model that tenfold.save wrote.")
        with raise_load_errors():
            return self._archive.read(entry)


@contextlib.contextmanager
def raise_load_errors() -> Iterator[None]:
    try:
        yield
    except LoadError:
        raise
    except READ_ERRORS as reason:
        raise LoadError(f"The file is damaged or cut short: {str(reason) or type(reason).__name__}.") from reason


@contextlib.contextmanager
def open_archive(path: Path, limits: Limits) -> Iterator[Archive]:
    """Open a file and check the directory of the zip."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - the error of opening is the caller's, not that of a damaged file
    except OSError as reason:
        raise LoadError(f"{str(path)!r} could not be opened: {reason.strerror}.") from reason
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > limits.bytes:
            raise LoadError(f"The file has {size:,} bytes; max_bytes allows {limits.bytes:,}.")
        with raise_load_errors():
            _check_ends(file, size)
            archive = zipfile.ZipFile(file)
        with archive:
            check_entries(archive.infolist(), archive.start_dir, limits)
            yield Archive(archive, limits)


def _check_ends(file: BinaryIO, size: int) -> None:
    """Check that the file begins with an entry and ends with the end of the directory."""
    if size < 22:
        raise LoadError("The file is too short to be a model.")
    beginning = file.read(4)
    file.seek(size - 22)
    ending = file.read(22)
    file.seek(0)
    if beginning != b"PK\x03\x04":
        raise LoadError("The file is not a model that tenfold.save wrote: it does not begin like one.")
    if ending[:4] != b"PK\x05\x06" or ending[20:] != b"\x00\x00":
        raise LoadError("The file is cut short, or something was added behind its end.")


def check_entries(entries: list[zipfile.ZipInfo], end: int, limits: Limits) -> None:
    """Raise for names, kinds and sizes of entries that `save` never writes."""
    if len(entries) > limits.entries:
        raise LoadError(f"The file has {len(entries):,} entries; max_entries allows {limits.entries:,}.")
    seen: set[str] = set()
    total, before = 0, 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        name = entry.filename
        if name in seen:
            raise LoadError(f"The file has two entries of the name {name!r}.")
        seen.add(name)
        if name != JSON and not NAME.fullmatch(name):
            raise LoadError(f"The file has an entry of the name {name!r}, which no model has.")
        if entry.flag_bits & 0x1:
            raise LoadError(f"The entry {name!r} is encrypted.")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise LoadError(f"The entry {name!r} is compressed in a way that no model is.")
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            raise LoadError(f"The entry {name!r} is a link or a folder, not a file.")
        if entry.compress_type == zipfile.ZIP_STORED and entry.file_size != entry.compress_size:
            raise LoadError(f"The entry {name!r} has a size that cannot be.")
        if entry.header_offset < before:
            raise LoadError(f"The entry {name!r} overlaps another.")
        before = entry.header_offset + 30 + len(name) + entry.compress_size
        total += entry.file_size
        if entry.file_size > limits.ratio * max(1, entry.compress_size):
            raise LoadError(f"The entry {name!r} would be {entry.file_size:,} bytes; max_ratio forbids it.")
        if name != JSON and entry.file_size > limits.array + MAX_HEADER:
            raise LoadError(f"The array {name!r} has {entry.file_size:,} bytes; max_array allows {limits.array:,}.")
    if before > end:
        raise LoadError("An entry of the file overlaps its directory.")
    if total > limits.bytes:
        raise LoadError(f"The file holds {total:,} bytes; max_bytes allows {limits.bytes:,}.")


def parse_array(data: bytes, name: str, max_bytes: int) -> Any:
    """The array of a ``.npy``: the header is compared with the size of the data before allocation."""
    start = 10 + int.from_bytes(data[8:10], "little")
    header = HEADER.fullmatch(data[10:start])
    if data[:8] != MAGIC or header is None:
        raise LoadError(f"The header of the array {name!r} is damaged.")
    kind, by_columns, sides = (part.decode() for part in header.groups())
    try:
        dtype = np.dtype(kind)
    except TypeError:
        raise LoadError(f"The array {name!r} holds {kind!r}, which is not known here.") from None
    shape = tuple(int(side) for side in sides.split(",") if side.strip())
    claimed_bytes = math.prod(shape, start=dtype.itemsize)
    n_bytes = len(data) - start
    if (
        claimed_bytes != n_bytes
        or claimed_bytes > max_bytes
        or len(shape) > MAX_DIMENSIONS
        or max((1, *shape)) > MAX_LENGTH
    ):
        raise LoadError(f"The array {name!r} claims the shape {shape} of {dtype}, and has {n_bytes:,} bytes.")
    order: Any = "F" if by_columns == "True" else "C"
    if claimed_bytes == 0:
        with raise_load_errors():
            return np.zeros(shape, dtype, order)
    flat = np.frombuffer(data, dtype, offset=start).copy()
    _check_values(flat, name)
    return flat.reshape(shape, order=order)


def _check_values(flat: Any, name: str) -> None:
    """Check that bools are 0 or 1 and that characters are valid code points."""
    wrong = (flat.dtype.kind == "b" and flat.view(np.uint8).max() > 1) or (
        flat.dtype.kind == "U" and flat.dtype.itemsize and flat.view(np.uint32).max() > LAST_CODE_POINT
    )
    if wrong:
        raise LoadError(f"The array {name!r} has bits that are no values of {flat.dtype}.")
