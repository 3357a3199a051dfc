"""Models as files of JSON and arrays in a zip: loading executes no code and imports no name from the file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

import tenfold
from tenfold.persist.archive import Limits, open_archive, raise_load_errors
from tenfold.persist.archive import write as write_archive
from tenfold.persist.errors import LoadError, SaveError
from tenfold.persist.models import Instances
from tenfold.persist.models import write as write_instance
from tenfold.persist.values import Reader, Writer

__all__ = ["LoadError", "SaveError", "load", "save"]

FORMAT, VERSION = "tenfold model", 1
HEAD = ("format", "version", "made by", "model")
VERSIONS = ("tenfold", "scikit-learn", "numpy")


def save(model: Any, path: Any) -> None:
    """Write a model to a file atomically.

    The file holds parameters and fitted attributes as data: JSON and arrays in a zip, and no code. It can be read by
    `load`, and by anything that reads zips, JSON and ``.npy``.

    Parameters
    ----------
    model : estimator of tenfold, fitted or not, or a pipeline of one with scikit-learn's transformers
        The model; docs/persistence.md has the list of transformers.
    path : str or path
        By custom it ends in ``.tenfold``. A file of this name is replaced once the new one is complete.

    Raises
    ------
    SaveError
        Where something is no data: a function as a parameter, a class that is not in the list. The sentence names it.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import tenfold
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> path = os.path.join(tempfile.mkdtemp(), "line.tenfold")
    >>> tenfold.save(tenfold.LinearRegression().fit(X, y), path)
    >>> tenfold.load(path).predict([[3.0]]).round(6)
    array([7.])
    """
    if not isinstance(model, BaseEstimator):
        raise SaveError(f"save takes an estimator; got a {type(model).__name__}.")
    writer = Writer(write_instance)
    record = {
        "format": FORMAT,
        "version": VERSION,
        "made by": dict(zip(VERSIONS, (tenfold.__version__, sklearn.__version__, np.__version__), strict=True)),
        "model": writer.write(model, "The model"),
    }
    text = json.dumps(record, allow_nan=False, separators=(",", ":")).encode("ascii")
    write_archive(Path(path), text, writer.arrays)


def load(
    path: Any,
    *,
    max_bytes: int = Limits.bytes,
    max_ratio: float = Limits.ratio,
    max_entries: int = Limits.entries,
    max_depth: int = Limits.depth,
    max_array: int = Limits.array,
) -> Any:
    """Read a model that `save` wrote; the file need not be trusted.

    Nothing of the file is executed and no name of it is imported: classes come from a table. Types, shapes and ranges
    of all that was fitted are checked before the model is returned, so that a manipulated model can be wrong, but not
    harmful.

    Parameters
    ----------
    path : str or path
        A file that `save` wrote.
    max_bytes : int, default=4294967296
        The most bytes of the file, and of all that is in it; 4 GiB.
    max_ratio : float, default=100
        How many times smaller compressed data may be.
    max_entries : int, default=65536
        The most entries of the archive.
    max_depth : int, default=100
        The most levels of values within values.
    max_array : int, default=4294967296
        The most bytes of one array; 4 GiB.

    Returns
    -------
    model : estimator
        Its predictions are those of the one that was saved, to the bit.

    Raises
    ------
    LoadError
        Where the file is none of `save`, is damaged, comes from a later version, or asks for more than the limits.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tenfold import Ridge, load, save
    >>> model = Ridge().fit(np.eye(3), [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder + "/ridge.tenfold")
    ...     again = load(folder + "/ridge.tenfold")
    >>> bool(np.all(again.predict(np.eye(3)) == model.predict(np.eye(3))))
    True
    """
    limits = Limits(max_bytes, max_ratio, max_entries, max_depth, max_array)
    with open_archive(Path(path), limits) as archive:
        head = _parse_json(archive.text())
        version = _check_head(head)
        reader = Reader(archive.array, Instances(version, sklearn.__version__).table(), limits.depth)
        try:
            with raise_load_errors():
                model = reader.read(head["model"])
        except (TypeError, AttributeError, LookupError, RecursionError) as reason:
            raise LoadError(f"A value of the file is damaged: {reason}.") from reason
        archive.finish()
    if not isinstance(model, BaseEstimator):
        raise LoadError("The file holds something else than a model.")
    return model


def _parse_json(text: bytes) -> Any:
    try:
        return json.loads(text.decode("ascii"), object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except LoadError:
        raise
    except (ValueError, RecursionError) as reason:
        raise LoadError(f"The JSON of the file is damaged: {reason}.") from reason


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    items = dict(pairs)
    if len(items) != len(pairs):
        raise LoadError("The JSON of the file has a name twice.")
    return items


def _no_constant(name: str) -> Any:
    raise LoadError(f"The JSON of the file has {name}, which is no JSON.")


def _check_head(head: Any) -> str:
    """Check the head of the file; returns scikit-learn's version that wrote it."""
    if type(head) is not dict or head.get("format") != FORMAT:
        raise LoadError("The file is not a model that tenfold.save wrote.")
    version = head.get("version")
    if type(version) is not int or version < 1:
        raise LoadError("The file does not say in which version of the format it is.")
    if version > VERSION:
        raise LoadError(
            f"The file is in version {version} of the format, and this tenfold reads up to {VERSION}: install a later "
            "one."
        )
    writer = head.get("made by")
    if set(head) != set(HEAD) or type(writer) is not dict or set(writer) != set(VERSIONS):
        raise LoadError(f"The file must have {', '.join(HEAD)}, and nothing else.")
    if not all(type(value) is str for value in writer.values()):
        raise LoadError("The file does not say what made it.")
    return str(writer["scikit-learn"])
