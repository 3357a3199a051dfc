"""The folder of a run: written atomically, read with validation."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RECORD, MODEL, PAGE = "run.json", "model.tenfold", "report.html"
FORMAT = 1  # of a record; another version is not read


def check_is_run_folder(folder: Path) -> None:
    """Raise where a folder holds files other than those of an earlier run."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RECORD).is_file():
        raise ValueError(f"{folder} holds other files than a run: give another folder by --out.")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: give another folder by --out.")


@contextmanager
def write_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder to write into: it replaces `folder` on success and is removed on failure."""
    check_is_run_folder(folder)
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield partial
        partial.chmod(0o755)
        if folder.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            os.replace(folder, old)
            os.replace(partial, folder)
            shutil.rmtree(old)
        else:
            os.replace(partial, folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """A temporary file to write: it replaces `path` on success and is removed on failure."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
    os.close(handle)
    partial_file = Path(name)
    try:
        yield partial_file
        partial_file.chmod(0o644)
        os.replace(partial_file, path)
    except BaseException:
        partial_file.unlink(missing_ok=True)
        raise


def record_of(folder: Path) -> dict[str, Any]:
    """The record of a run."""
    path = folder / RECORD
    if not path.is_file():
        raise ValueError(f"{folder} is not a run: it has no {RECORD}. `tenfold fit` makes one.")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as reason:
        raise ValueError(f"{path} is damaged ({reason}): run `tenfold fit` again.") from reason
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"{path} is not of format {FORMAT}: this version of tenfold cannot read it.")
    return record


def as_json(record: Mapping[str, Any]) -> str:
    """The record as standard JSON: numbers that are not finite are null."""
    entries = (f" {_dump(name)}: {_lines(value)}" for name, value in _plain(record).items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _lines(value: Any) -> str:
    """One line per item: the indent option of `json` takes a minute for very many columns."""
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(map(_dump, value)) + "\n ]"
    if isinstance(value, dict) and value:
        return "{\n  " + ",\n  ".join(f"{_dump(name)}: {_dump(item)}" for name, item in value.items()) + "\n }"
    return _dump(value)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """Convert to built-in types."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    tolist: Callable[[], Any] | None = getattr(value, "tolist", None)
    if tolist is not None:
        return _plain(tolist())
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
