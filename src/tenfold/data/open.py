"""The way in for rows outside memory."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import narwhals
import numpy as np

from tenfold.arrays import is_sparse
from tenfold.data.files import InMemory, NpyFile, NumpyReader, are_paths, find_files
from tenfold.data.table import BlocksReader, Reader, Table


def rows(
    source: Any,
    target: str | Sequence[str] | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
) -> Table:
    """Rows that are read in pieces, in place of X wherever an estimator takes one.

    ``Ridge().fit(rows("data/*.parquet", target="y"))`` reads the files twice, a few blocks at a time, and gives the
    bits that it gives for the same rows in memory; so do ``predict``, ``score`` and `certify`.

    Parameters
    ----------
    source : an iterable of blocks
        Blocks are matrices X, dense or sparse, or tuples (X, y) or (X, y, weight). It is read many times: a list, an
        object whose ``__iter__`` starts afresh, or a function that makes a new iterator.
    target : name or names of columns, default=None
        What is predicted; it is kept in memory. Blocks that are tuples have a target "y". None asks for y in ``fit``.
    weight : name of a column, default=None
        Weights of the rows.
    columns : names of columns, default=None
        The columns of X, in this order; None takes all but target and weight.

    Returns
    -------
    Table

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import Ridge, rows
    >>> rng = np.random.RandomState(0)
    >>> blocks = [(X, X @ [1.0, 2.0]) for X in (rng.randn(50, 2), rng.randn(30, 2))]
    >>> table = rows(blocks)
    >>> table
    <tenfold.rows: 80 rows, 2 columns, with a target>
    >>> Ridge(alpha=1e-6).fit(table).coef_.round(4)
    array([1., 2.])
    """
    reader = open_reader(source)
    if isinstance(reader, BlocksReader):
        target = "y" if target is None and "y" in reader.extra else target
        weight = "weight" if weight is None and "weight" in reader.extra else weight
    return Table(reader, target, weight, columns)


@runtime_checkable
class ArrowStream(Protocol):
    """What hands out a stream of record batches by Arrow's C interface: tables, frames, results of queries."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


def open_reader(source: Any) -> Reader:
    """The reader for a source."""
    if are_paths(source):
        kind, files = find_files(source)
        return NumpyReader([NpyFile(file) for file in files]) if kind == "npy" else _arrow().open_files(kind, files)
    if isinstance(source, np.ndarray):
        if source.ndim != 2:
            raise ValueError(f"Expected a matrix of rows, got an array with {source.ndim} dimension(s).")
        return NumpyReader([InMemory(source)])
    if _is_frame(source):
        return _arrow().open_frames([source])
    if isinstance(source, (list, tuple)) and source and all(map(_is_frame, source)):
        return _arrow().open_frames(source)
    if is_sparse(source):
        return BlocksReader([source])
    if not (callable(source) or isinstance(source, Iterable)):
        raise TypeError(
            "Expected paths of files, a NumPy array, a data frame, an Arrow table or an iterable of blocks, got "
            f"{type(source).__name__}."
        )
    return BlocksReader(source)


def _is_frame(source: Any) -> bool:
    frame = narwhals.from_native(source, pass_through=True)
    return isinstance(frame, (narwhals.DataFrame, narwhals.LazyFrame)) or isinstance(source, ArrowStream)


def _arrow() -> Any:
    try:
        from tenfold.data import arrow
    except ImportError as reason:
        raise ImportError(
            "Parquet, CSV and Arrow files, tables and data frames are read with pyarrow, which is not there: "
            "pip install tenfold[frames]"
        ) from reason
    return arrow
