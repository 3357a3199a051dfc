"""The folder of a run: written whole or not at all, read with care."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RECORD, MODEL, PAGE = "run.json", "model.tenfold", "report.html"
FORMAT = 1


def refuse_other(folder: Path) -> None:
    """Refuse a folder that holds something else than an earlier run."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RECORD).is_file():
        raise ValueError(f"{folder} holds other files than a run: give another folder by --out.")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: give another folder by --out.")


@contextmanager
def written(folder: Path) -> Iterator[Path]:
    """A folder to write into, which takes the place of `folder` when all went well, and vanishes otherwise."""
    refuse_other(folder)
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield part
        part.chmod(0o755)
        if folder.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            os.replace(folder, old)
            os.replace(part, folder)
            shutil.rmtree(old)
        else:
            os.replace(part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A file to write, which takes the place of `path` when all went well."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(0o644)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
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
    """The record as JSON that any reader takes: numbers that are not finite are null."""
    entries = (f" {_dumped(name)}: {_lines(value)}" for name, value in _plain(record).items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _lines(value: Any) -> str:
    """A line an item, where there are several: json's own indents cost a minute for very many columns."""
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(map(_dumped, value)) + "\n ]"
    if isinstance(value, dict) and value:
        return "{\n  " + ",\n  ".join(f"{_dumped(name)}: {_dumped(item)}" for name, item in value.items()) + "\n }"
    return _dumped(value)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """Built-in types alone."""
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
