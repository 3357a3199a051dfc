"""Orthogonal matching pursuit and forward selection: features selected one after the other for least squares.

Given products of the features with each other and the target; returns the order, the Cholesky factor and the residual
sums of squares. With the features I selected so far and r the residual of least squares on them, the next is that with
the largest

    correlation  |x_j.r|              (orthogonal matching pursuit, as in scikit-learn)
    cosine       |x_j.r| / |x_j|      (the same for features of any length: Rosasco, section 11.2)
    gain         (x_j.r)^2 / |x_j - its projection on I|^2, the decrease of the sum of squares (forward selection).

The Cholesky factor L of the Gram matrix of I grows by a row a step. D = L^-1 (products of I with all features) has the
components of all features along the orthogonalised selected ones; each new row of D updates the correlations, the
squared norms and the sum of squares. k steps cost k^2 p multiplications, and the products of k features.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dgemv

from tenfold.arrays import Floats, Integers
from tenfold.machine import one_blas_thread
from tenfold.stats.gram import Gram

DEPENDENT = 1e-12  # relative squared norm of the part of a column outside the selected ones that is rounding


@dataclass(frozen=True)
class Path:
    """The features (k,) in the order of their selection, the factor L (k, k) of their products, the components of the
    target along them (k,), the residual sums of squares (k + 1,), and whether it ended before the limits because no
    feature was left.
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
            solution = right if half else lapack.dtrtrs(self.factor, right, lower=1)[0]
            return np.asarray(lapack.dtrtrs(self.factor, solution, lower=1, trans=1)[0])

    def every(self, p: int) -> Floats:
        """The weights (k, p) after each step."""
        k = len(self.order)
        weights = np.zeros((k, p))
        if k:
            with one_blas_thread:
                inverse = lapack.dtrtri(self.factor, lower=1)[0]
            weights[:, self.order] = np.cumsum(inverse * self.components[:, None], axis=0)
        return weights


def pursue(gram: Gram, target: int, rule: str, most: int, tol: float | None) -> Path:
    """Select up to `most` features, or until the sum of squares is at most `tol` (in the units of the Gram matrix)."""
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
            criterion = np.where(free, _criterion(rule, a, s, gram.squares, unit), -1.0)
            j = int(np.argmax(criterion))
            noise = 8.0 * (k + 2) * np.finfo(np.float64).eps
            if criterion[j] < 0.0 or not np.any(np.abs(a[free]) > noise * size[free]):
                premature = True
                break
            row = gram.row(j, criterion)
            if k == D.shape[0]:
                D = np.concatenate([D, np.empty((max(16, k), p))])
            components_j = D[:k, j].copy()
            pivot = np.sqrt(max(row[j] - components_j @ components_j, DEPENDENT * gram.squares[j]))
            D[k] = (row - dgemv(1.0, D[:k].T, components_j) if k else row) / pivot
            factor[k, :k], factor[k, k] = components_j, pivot
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


def _criterion(rule: str, a: Floats, s: Floats, squares: Floats, unit: Floats) -> Floats:
    """The criterion of the rule for each feature."""
    if rule == "correlation":
        return unit * np.abs(a)
    if rule == "cosine":
        return np.abs(a) / np.sqrt(np.where(squares > 0, squares, 1.0))
    return np.square(a) / np.where(s > 0, s, 1.0)
