"""The best subset of columns of every size, by the compiled search of `core/include/tenfold/leaps_and_bounds.hpp`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread
from tenfold.stats.gram import WholeGram

RIDGE = 1e-13
"""So much of its square is added to every column, so that columns that depend on others do not break the factor; sums
of squares are right to that share of those of the target.
"""


@dataclass(frozen=True)
class Found:
    """Of every size the best columns (sizes, p) and the sum of squares that they leave (sizes,), in the units of the
    Gram matrix; how many sets were looked at, and whether that was all.
    """

    inside: NDArray[np.bool_]
    squares: Floats
    nodes: int
    complete: bool


def search(gram: WholeGram, target: int, largest: int, seconds: float) -> Found:
    """The best subsets of up to `largest` columns that vary."""
    p = gram.squares.size
    some = np.flatnonzero(gram.squares > 0.0)
    yy = float(gram.target_squares[target])
    largest = min(largest, some.size)
    if not some.size:
        return Found(np.zeros((1, p), dtype=bool), np.array([yy]), 1, True)
    R, z = factor(gram, some, target)
    rest = max(yy - float(z @ z), 0.0)
    squares, bits, nodes, complete = _core.best_subsets(np.ascontiguousarray(R), z, rest, largest, seconds)
    inside = np.zeros((largest + 1, p), dtype=bool)
    inside[:, some] = (bits[:, None] >> np.arange(some.size)) & 1
    return Found(inside, squares, nodes, complete)


def factor(gram: WholeGram, some: NDArray[np.intp], target: int) -> tuple[Floats, Floats]:
    """R with R'R the products of some columns and a little ridge, and z = R'^-1 of their products with the target."""
    G = gram.matrix[np.ix_(some, some)] + np.diag(RIDGE * gram.squares[some])
    with one_blas_thread:
        R, info = lapack.dpotrf(G, lower=0, clean=1)
        if info != 0:
            raise np.linalg.LinAlgError("the products of the columns are not those of any columns")
        return R, np.asarray(lapack.dtrtrs(R, gram.with_targets[some, target], lower=0, trans=1)[0])


def least_squares(gram: WholeGram, some: NDArray[np.intp], right: Floats) -> Floats:
    """(products of some columns)^-1 right."""
    if not some.size:
        return right
    G = gram.matrix[np.ix_(some, some)] + np.diag(RIDGE * gram.squares[some])
    with one_blas_thread:
        R, _ = lapack.dpotrf(G, lower=0)
        return np.asarray(lapack.dpotrs(R, right, lower=0)[0])
