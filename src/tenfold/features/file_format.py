"""From a path or a stream to decompressed bytes, in UTF-8 where they are text, and their format."""

import difflib
import io
import os
import re
import struct
import sys
import zipfile
import zlib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any

from tenfold.data.encoding import as_utf8
from tenfold.data.errors import Decision, TableError, some
from tenfold.features.arff import is_arff

# Magic bytes of the supported binary formats, and of unsupported ones with advice.
TABLES = {b"PAR1": "parquet", b"ARROW1": "arrow"}
UNSUPPORTED = {
    b"FEA1": ("a Feather file of the first version", "Write it again with a newer pyarrow."),
    b"\x93NUMPY": ("a NumPy array", "Read it with numpy.load, or with tenfold.rows."),
    b"\x89HDF": ("an HDF5 file", "Export the table as CSV or Parquet."),
    b"SQLite format 3": ("a SQLite database", "Export a table as CSV: sqlite3 -csv -header FILE 'select ...'."),
    b"\xd0\xcf\x11\xe0": ("an old Excel or Word file", "Open it there and save the sheet as CSV."),
    b"%PDF": ("a PDF document", "Export the table as CSV."),
    b"\x89PNG": ("an image (PNG)", "A table is expected: CSV, TSV, Parquet, Arrow or JSON lines."),
    b"\xff\xd8\xff": ("an image (JPEG)", "A table is expected: CSV, TSV, Parquet, Arrow or JSON lines."),
    b"GIF8": ("an image (GIF)", "A table is expected: CSV, TSV, Parquet, Arrow or JSON lines."),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", "Unpack it first."),
    b"BZh": ("packed with bzip2", "Unpack it first: bunzip2 FILE."),
    b"\xfd7zXZ": ("packed with xz", "Unpack it first: unxz FILE."),
    b"Rar!": ("a RAR archive", "Unpack it first."),
    b"\x7fELF": ("a program", "A table is expected: CSV, TSV, Parquet, Arrow or JSON lines."),
    b"RDX": ("an R data file", "Write the table with write.csv in R."),
    b"ORC": ("an ORC file", "Write it as Parquet."),
    b"Obj\x01": ("an Avro file", "Write it as Parquet."),
}
PICKLE = re.compile(rb"\x80[\x02-\x05][\x95\x8c(}\]cq\x00-\x0f]")
PACKED = {".gz", ".zst", ".zip", ".zstd"}


@dataclass(frozen=True)
class OpenedFile:
    """Bytes of a table: its name for messages, its format (csv, arff, jsonl, json, parquet, arrow), decisions."""

    name: str
    format: str
    data: bytes
    suffix: str
    decisions: tuple[Decision, ...]


def open_source(source: Any, *, encoding: str | None = None) -> OpenedFile:
    """Read a path, ``"-"`` (standard input) or a binary stream to the end, and unpack it."""
    name, suffixes, data = _read_bytes(source)
    decisions: list[Decision] = []
    for _ in range(3):  # nested archives, up to a depth of three
        inner = _decompress(data, name, suffixes)
        if inner is None:
            break
        data, suffixes, how = inner
        decisions.append(Decision("packing", how))
    if not data.strip():
        raise TableError(
            "the file is empty. Expected a header and at least one row; was the export interrupted?", source=name
        )
    for magic, kind in TABLES.items():
        if data.startswith(magic):
            return OpenedFile(name, kind, data, suffixes[-1] if suffixes else "", tuple(decisions))
    for magic, (what, advice) in UNSUPPORTED.items():
        if data.startswith(magic):
            raise TableError(f"this is {what}, not a table. {advice}", source=name)
    if PICKLE.match(data):
        raise TableError(
            "this is a pickle, which runs code when it is loaded, and is not read. Load it where you trust it and "
            "write the frame with .to_parquet(...).",
            source=name,
        )
    text, of_encoding = as_utf8(data, name, encoding)
    suffix = suffixes[-1] if suffixes else ""
    start = text[:1000].lstrip()[:1]
    kinds = {b"{": "jsonl", b"[": "json" if suffix == ".json" else "csv"}
    format = "arff" if is_arff(text) else kinds.get(start, "csv")
    return OpenedFile(name, format, text, suffix, (*decisions, *of_encoding))


def _read_bytes(source: Any) -> tuple[str, list[str], bytes]:
    if isinstance(source, str) and source == "-":
        source = sys.stdin.buffer
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        name = str(path)
        if path.is_dir():
            raise TableError(
                "this is a folder, not a file. Give one file; tenfold.rows reads a folder of files that are numbers.",
                source=name,
            )
        try:
            return name, [s.lower() for s in path.suffixes], path.read_bytes()
        except FileNotFoundError:
            raise TableError(f"there is no such file.{_nearest_file(path)}", source=name) from None
        except OSError as reason:
            why = reason.strerror or str(reason)
            raise TableError(f"the file cannot be read ({why}). Check its permissions.", source=name) from reason
    data = source.read()
    stream_name = getattr(source, "name", None)
    name = stream_name if isinstance(stream_name, str) and stream_name != "<stdin>" else "standard input"
    suffixes = [s.lower() for s in PurePath(name).suffixes]
    return name, suffixes, data.encode("utf-8") if isinstance(data, str) else bytes(data)


def _nearest_file(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return " Its folder does not exist either."
    near = difflib.get_close_matches(path.name, names, n=1)
    return f" Did you mean {str(path.with_name(near[0]))!r}?" if near else " Check the path."


def _decompress(data: bytes, name: str, suffixes: list[str]) -> tuple[bytes, list[str], str] | None:
    rest = suffixes[:-1] if suffixes and suffixes[-1] in PACKED else suffixes
    if data.startswith(b"\x1f\x8b"):
        return _gunzip(data, name), rest, "unpacked with gzip"
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return _unzstd(data, name), rest, "unpacked with Zstandard"
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _unzip(data, name)
    return None


def _gunzip(data: bytes, name: str) -> bytes:
    parts = []
    try:
        while data:  # a file may hold several members, one after the other
            inflate = zlib.decompressobj(31)
            parts.append(inflate.decompress(data))
            if not inflate.eof:
                raise TableError("the gzip stream ends too early. Copy or download the file again.", source=name)
            data = inflate.unused_data.lstrip(b"\0")
    except zlib.error as reason:
        raise TableError(f"the gzip stream is damaged ({reason}). Copy the file again.", source=name) from None
    return b"".join(parts)


def _unzstd(data: bytes, name: str) -> bytes:
    try:
        zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ModuleNotFoundError:
        raise TableError(
            "Zstandard is unpacked with backports.zstd, which is not installed: pip install 'tenfold[frames]'. Or "
            "unpack the file: unzstd FILE.",
            source=name,
        ) from None
    try:
        return bytes(zstd.decompress(data))
    except zstd.ZstdError as reason:
        raise TableError(f"the Zstandard stream is damaged ({reason}). Copy the file again.", source=name) from None


def _unzip(data: bytes, name: str) -> tuple[bytes, list[str], str]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX")]
            if "[Content_Types].xml" in names:
                raise TableError("this is an Excel or Word file. Open it there and save the sheet as CSV.", source=name)
            if "mimetype" in names:
                raise TableError("this is an office document. Open it there and save the sheet as CSV.", source=name)
            if len(names) != 1:
                raise TableError(
                    f"the zip archive holds {len(names)} files ({some(names)}), but one table is expected. Unpack it "
                    "and give the file.",
                    source=name,
                )
            suffixes = [s.lower() for s in PurePath(names[0]).suffixes]
            return archive.read(names[0]), suffixes, f"took {names[0]!r} out of the zip archive"
    except TableError:
        raise
    except (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, OSError, EOFError, struct.error) as reason:
        raise TableError(f"the zip archive cannot be read ({reason}). Unpack it first.", source=name) from None
