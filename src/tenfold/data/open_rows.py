"""`tenfold.rows`: opens files, frames and iterables of blocks as rows outside memory."""

from collections.abc import Collection, Iterable, Sequence
from math import isfinite, nan
from typing import Any, Literal, Protocol, runtime_checkable

import narwhals
import numpy as np

from tenfold.arrays import is_sparse
from tenfold.data.csv import CsvReader
from tenfold.data.dialect import CsvOptions
from tenfold.data.files import InMemory, NpyFile, NumpyReader, are_paths, find_files
from tenfold.data.table import BlocksReader, Reader, Table
from tenfold.data.words import MISSING, number_of


def rows(
    source: Any,
    target: str | Sequence[str] | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    delimiter: str = "auto",
    quote: str | None = "auto",
    header: bool | Literal["auto"] = "auto",
    decimal: Literal["auto", ".", ","] = "auto",
    encoding: str | None = None,
    missing: Collection[str] | None = None,
) -> Table:
    """Rows that are read in pieces, in place of X wherever an estimator takes one.

    ``Ridge().fit(rows("data/*.parquet", target="y"))`` reads the files twice, two blocks of about 32 MiB at a time,
    and gives the bits that it gives for the same rows in memory; so do ``predict``, ``score`` and `certify`.

    Parameters
    ----------
    source : files, an array, a frame or an iterable of blocks
        Files: a path, a folder, a pattern such as ``"data/*.parquet"``, or a list of these; sorted by name within a
        folder or a pattern. Parquet (.parquet, .pq), CSV (.csv, .tsv, .txt; all of them with .gz, too), Arrow and
        Feather (.arrow, .feather), and NumPy's matrices (.npy), all of one format.

        A NumPy array or a memory map. A pandas or polars frame, an Arrow table, any other object with
        ``__arrow_c_stream__``, or a list of such.

        An iterable of blocks: matrices X, dense or sparse, or tuples (X, y) or (X, y, weight). It is read many times:
        a list, an object whose ``__iter__`` starts afresh, or a function that makes a new iterator.
    target : name or names of columns, default=None
        The target, numbers or text; it is kept in memory. Blocks that are tuples have a target "y". With None,
        ``fit`` needs y.
    weight : name of a column, default=None
        Sample weights, kept in memory. Blocks of three parts have a weight "weight".
    columns : names of columns, default=None
        The columns of X, in this order; None takes all but target and weight. They are numbers: integers, truth
        values, decimals and categories of numbers become float64; float32 stays where all columns have it.
    delimiter : str, default="auto"
        The delimiter of CSV files. "auto" detects this and the following parameters from the beginning of the first
        file, as `read_table` does, which reads the same cells from the same files.
    quote : str or None, default="auto"
        The quotation mark around cells that hold a delimiter; None: quotes are ordinary characters.
    header : bool or "auto", default="auto"
        Whether the first line names the columns.
    decimal : {"auto", ".", ","}, default="auto"
        The decimal sign.
    encoding : str, default=None
        None takes UTF-8, or cp1252 (Latin-1) where the beginning is not UTF-8. Text in UTF-16 raises.
    missing : collection of str, default=None
        Words that stand for missing values, which raise; None takes the usual ones, such as NA.

    Returns
    -------
    Table

    Raises
    ------
    FileNotFoundError
        Where a path or a pattern stands for no file.
    ValueError
        Where cells are not numeric or missing, a file is truncated, or does not match the first file; names the file,
        the row group or the line, and the column. Passes raise it, too, since all rows are first read there. A fit
        that raises leaves its estimator unchanged.

    Notes
    -----
    Opening a source reads target and weight (CSV: everything) once. Files are identified by size and modification
    time; a change of these raises. Parquet, Arrow and frames need
    pyarrow (``pip install 'tenfold[frames]'``); CSV, .npy, arrays and blocks do not.

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
    words = MISSING if missing is None else frozenset(missing)
    numbers = [word for word in words if isfinite(nan if (value := number_of(word)) is None else value)]
    if numbers:
        raise ValueError(
            f"{numbers[0]!r} in missing is a number, and rows refuse what is missing: leave these rows out."
        )
    reader = open_reader(source, CsvOptions(delimiter, quote, header, decimal, encoding, words))
    if isinstance(reader, BlocksReader):
        target = "y" if target is None and "y" in reader.extra else target
        weight = "weight" if weight is None and "weight" in reader.extra else weight
    return Table(reader, target, weight, columns)


@runtime_checkable
class ArrowStream(Protocol):
    """An object that exports record batches by Arrow's C stream interface: tables, frames, results of queries."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


def open_reader(source: Any, options: CsvOptions) -> Reader:
    """The reader for a source; `options` describe CSV files."""
    kind, files = find_files(source) if are_paths(source) else ("", [])
    if kind == "csv":
        return CsvReader(files, options)
    if options != CsvOptions():
        raise ValueError(
            "delimiter, quote, header, decimal, encoding and missing say how CSV files are written, and this source is "
            "none. Leave them out."
        )
    if kind == "npy":
        return NumpyReader([NpyFile(file) for file in files])
    if kind:
        return _arrow().open_files(kind, files)
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
            "Parquet and Arrow files, tables and data frames are read with pyarrow, which is not installed: "
            "pip install 'tenfold[frames]'. CSV files, NumPy's matrices and blocks are read without it."
        ) from reason
    return arrow
