"""Columns taken one after the other into least squares: orthogonal matching pursuit and forward selection.

With the columns I taken so far and r the residual of least squares on them, the next one is the free column with the
largest
    correlation  |x_j.r|              (orthogonal matching pursuit, as scikit-learn has it)
    cosine       |x_j.r| / |x_j|      (the same for columns of any length: Rosasco, section 11.2)
    gain         (x_j.r)^2 / |x_j - its projection on I|^2, by which the sum of squares falls (forward selection).

The Cholesky factor L of the Gram matrix of I grows by a row a step. D = L^-1 (products of I with all columns) holds
the components of all columns along the orthogonal directions; each new row of D takes its part from the correlations,
from the lengths that are left and from the sum of squares. k steps cost k^2 p products, and the products of k columns.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dgemv

from tenfold.arrays import Floats, Integers
from tenfold.machine import one_blas_thread
from tenfold.stats.gram import Gram

DEPENDENT = 1e-12
"""A column of which so little (as a square) is left beside those taken depends on them."""


@dataclass(frozen=True)
class Path:
    """The columns in the order in which they were taken, the factor L (k, k) of their products, the components of the
    target along them (k,), the sums of squares left (k + 1,), and whether nothing was left to take before the limits
    were met.
    """

    order: Integers
    factor: Floats
    components: Floats
    left: Floats
    premature: bool

    def weights(self) -> Floats:
        """The weights (k,) of the last step."""
        return self.solve(self.components, half=True)

    def solve(self, right: Floats, half: bool = False) -> Floats:
        """(L L')^-1 right, or L'^-1 right."""
        if not right.size:
            return right
        with one_blas_thread:
            found = right if half else lapack.dtrtrs(self.factor, right, lower=1)[0]
            return np.asarray(lapack.dtrtrs(self.factor, found, lower=1, trans=1)[0])

    def every(self, p: int) -> Floats:
        """The weights (k, p) after every step."""
        k = len(self.order)
        found = np.zeros((k, p))
        if k:
            with one_blas_thread:
                inverse = lapack.dtrtri(self.factor, lower=1)[0]
            found[:, self.order] = np.cumsum(inverse * self.components[:, None], axis=0)
        return found


def pursue(gram: Gram, target: int, rule: str, most: int, tol: float | None) -> Path:
    """Take up to `most` columns, or as many as it takes for a sum of squares of at most `tol` (in the units of the
    Gram matrix).
    """
    p = gram.squares.size
    a, s = gram.with_targets[:, target].copy(), gram.squares.copy()
    yy = float(gram.target_squares[target])
    size = np.sqrt(np.where(gram.squares > 0, gram.squares, 1.0) * (yy if yy > 0 else 1.0))
    unit = np.ldexp(1.0, gram.scales - np.max(gram.scales, initial=0))
    free = gram.squares > 0.0
    D = np.empty((0, p))
    order: list[int] = []
    components, left = [], [yy]
    factor = np.zeros((most, most), order="F")
    premature = False
    with one_blas_thread:
        while len(order) < most:
            k = len(order)
            free &= s > DEPENDENT * gram.squares
            promise = np.where(free, _promise(rule, a, s, gram.squares, unit), -1.0)
            j = int(np.argmax(promise))
            noise = 8.0 * (k + 2) * np.finfo(np.float64).eps
            if promise[j] < 0.0 or not np.any(np.abs(a[free]) > noise * size[free]):
                premature = True
                break
            row = gram.row(j, promise)
            if k == D.shape[0]:
                D = np.concatenate([D, np.empty((max(16, k), p))])
            along = D[:k, j].copy()
            pivot = np.sqrt(max(row[j] - along @ along, DEPENDENT * gram.squares[j]))
            D[k] = (row - dgemv(1.0, D[:k].T, along) if k else row) / pivot
            factor[k, :k], factor[k, k] = along, pivot
            beta = a[j] / pivot
            a -= beta * D[k]
            s -= D[k] ** 2
            free[j] = False
            order.append(j)
            components.append(beta)
            left.append(max(left[-1] - beta * beta, 0.0))
            if tol is not None and left[-1] <= tol:
                break
        else:
            premature = tol is not None
    k = len(order)
    return Path(
        np.array(order, dtype=np.int64),
        np.asfortranarray(factor[:k, :k]),
        np.array(components),
        np.array(left),
        premature,
    )


def _promise(rule: str, a: Floats, s: Floats, squares: Floats, unit: Floats) -> Floats:
    """What the rule looks at, for every column."""
    if rule == "correlation":
        return unit * np.abs(a)
    if rule == "cosine":
        return np.abs(a) / np.sqrt(np.where(squares > 0, squares, 1.0))
    return np.square(a) / np.where(s > 0, s, 1.0)
