"""The best subset of features of each size, by leaps and bounds (Furnival and Wilson 1974): the compiled search is
core/include/tenfold/leaps_and_bounds.hpp.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as la
from scipy.linalg import lapack

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread
from tenfold.stats.gram import WholeGram

RIDGE = 1e-13  # relative, added to each square so that dependent features have a Cholesky factor; an error of the sums

DEPENDENT = 1e-12  # relative norm outside other features up to which a feature depends on them, by a QR

LARGEST_RIDGE = 1e-6  # above the rounding of products of features whose means exceed their deviations a thousandfold


@dataclass(frozen=True)
class BestSubsets:
    """The best features (sizes, p) of each size and the sums of squares that they leave (sizes,), in the units of the
    Gram matrix; the number of sets that were visited, and whether the search is complete.
    """

    inside: NDArray[np.bool_]
    squares: Floats
    nodes: int
    complete: bool


def search(gram: WholeGram, target: int, largest: int, seconds: float, samples: Floats | None = None) -> BestSubsets:
    """The best subsets of up to `largest` features that vary; `samples` is the triangular factor of features and
    targets in the units of the Gram matrix, where the search shall not use products.
    """
    p = gram.squares.size
    varying = np.flatnonzero(gram.squares > 0.0)
    yy = float(gram.target_squares[target])
    largest = min(largest, varying.size)
    if not varying.size:
        return BestSubsets(np.zeros((1, p), dtype=bool), np.array([yy]), 1, True)
    if samples is None:
        R, z = factor(gram, varying, target)
        rest = max(yy - float(z @ z), 0.0)
    else:
        R, z, rest = _reduce(samples[:, varying], samples[:, p + target])
    squares, bits, nodes, complete = _core.best_subsets(np.ascontiguousarray(R), z, rest, largest, seconds)
    inside = np.zeros((largest + 1, p), dtype=bool)
    inside[:, varying] = (bits[:, None] >> np.arange(varying.size)) & 1
    return BestSubsets(inside, squares, nodes, complete)


def factor(gram: WholeGram, varying: NDArray[np.intp], target: int) -> tuple[Floats, Floats]:
    """R with R'R the products of some features plus a ridge, and z = R'^-1 of their products with the target."""
    R = _cholesky(gram, varying)
    with one_blas_thread:
        return R, np.asarray(lapack.dtrtrs(R, gram.with_targets[varying, target], lower=0, trans=1)[0])


def _reduce(X: Floats, y: Floats) -> tuple[Floats, Floats, float]:
    """R of X with a ridge below, z = Q'y and the sum of squares that all features leave."""
    p = X.shape[1]
    ridge = DEPENDENT * np.sqrt(np.einsum("ij,ij->j", X, X))
    with one_blas_thread:
        stacked = np.column_stack([np.vstack([X, np.diag(ridge)]), np.append(y, np.zeros(p))])
        R = np.triu(lapack.dgeqrf(np.asfortranarray(stacked))[0][: p + 1])
    return R[:p, :p], np.ascontiguousarray(R[:p, p]), float(R[p, p] ** 2) if len(R) > p else 0.0


def least_squares_of_samples(X: Floats, y: Floats) -> Floats:
    """The weights of some features by a pivoted QR of their triangular factor."""
    if not X.shape[1]:
        return np.zeros(0)
    with one_blas_thread:
        return np.asarray(la.lstsq(X, y, cond=DEPENDENT, lapack_driver="gelsy", check_finite=False)[0])


def least_squares(gram: WholeGram, varying: NDArray[np.intp], right: Floats) -> Floats:
    """(products of some features)^-1 right."""
    if not varying.size:
        return right
    R = _cholesky(gram, varying)
    with one_blas_thread:
        return np.asarray(lapack.dpotrs(R, right, lower=0)[0])


def _cholesky(gram: WholeGram, varying: NDArray[np.intp]) -> Floats:
    """The upper Cholesky factor of the products of some features, with the first of the ridges RIDGE, 10 RIDGE, ...
    that makes them positive definite: means far from zero leave rounding beyond RIDGE in products about them.
    """
    G, ridge = gram.matrix[np.ix_(varying, varying)], RIDGE
    while ridge <= LARGEST_RIDGE:
        with one_blas_thread:
            R, info = lapack.dpotrf(G + np.diag(ridge * gram.squares[varying]), lower=0, clean=1)
        if info == 0:
            return np.asarray(R)
        ridge *= 10.0
    raise np.linalg.LinAlgError("the products of the columns are not those of any columns")
