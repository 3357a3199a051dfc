"""The way in for rows outside memory."""

from collections.abc import Sequence
from typing import Any

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


def open_reader(source: Any) -> Reader:
    """The reader for a source."""
    return BlocksReader(source)
