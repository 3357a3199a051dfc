"""Orthogonal matching pursuit and forward selection: features selected one after the other for least squares.

Given products of the features with each other and the target; returns the order, the Cholesky factor and the residual
sums of squares. With the features I selected so far and r the residual of least squares on them, the next is that with
the largest

    correlation  |x_j.r|              (orthogonal matching pursuit, as in scikit-learn)
    cosine       |x_j.r| / |x_j|      (the same for features of any length: Rosasco, section 11.2)
    gain         (x_j.r)^2 / |x_j - its projection on I|^2, the decrease of the sum of squares (forward selection).

The Cholesky factor L of the Gram matrix of I grows by a row a step. D = L^-1 (products of I with all features) has the
components of all features along the orthogonalised selected ones; each new row of D updates the correlations, the
squared norms and the sum of squares. k steps cost k^2 p multiplications, and the products of k features; or, where few
dense samples have more features, one product of all features with the orthogonalised one, n p multiplications, a step.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dgemv

from tenfold.arrays import EPS, Floats, Integers
from tenfold.machine import one_blas_thread
from tenfold.stats.gram import Gram, Samples

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


class _Directions(Protocol):
    """The orthogonalised selected features."""

    def add(self, j: int, criterion: Floats) -> tuple[Floats, float, Floats]:
        """Select feature j: its components along those before, the norm of what is left of it, and the components (p,)
        of all features along that.
        """
        ...


class _FromGram:
    """Directions by their components of all features, from rows of the Gram matrix."""

    def __init__(self, gram: Gram) -> None:
        self.gram, self.count, self.D = gram, 0, np.empty((0, gram.squares.size))

    def add(self, j: int, criterion: Floats) -> tuple[Floats, float, Floats]:
        k, row = self.count, self.gram.row(j, criterion)
        if k == self.D.shape[0]:
            self.D = np.concatenate([self.D, np.empty((max(16, k), row.size))])
        components = self.D[:k, j].copy()
        norm = np.sqrt(max(row[j] - components @ components, DEPENDENT * self.gram.squares[j]))
        self.D[k] = (row - dgemv(1.0, self.D[:k].T, components) if k else row) / norm
        self.count += 1
        return components, norm, self.D[k]


class _FromSamples:
    """Directions in the space of the samples, orthogonalised twice (Daniel, Gragg, Kaufman and Stewart 1976)."""

    def __init__(self, gram: Gram, samples: Samples, most: int) -> None:
        self.squares, self.samples, self.count = gram.squares, samples, 0
        self.Q = np.empty((min(most, samples.count), samples.count))

    def add(self, j: int, criterion: Floats) -> tuple[Floats, float, Floats]:
        k, d = self.count, self.samples.column(j)
        if k == self.Q.shape[0]:  # more directions than samples: rounding
            self.Q = np.concatenate([self.Q, np.empty((16, self.samples.count))])
        Q = self.Q[:k].T
        components = np.zeros(k)
        for _ in range(2 if k else 0):
            along = dgemv(1.0, Q, d, trans=1)
            components += along
            d -= dgemv(1.0, Q, along)
        norm = np.sqrt(max(d @ d, DEPENDENT * self.squares[j]))
        self.Q[k] = d / norm
        self.count += 1
        return components, norm, self.samples.products(self.Q[k])


def pursue(gram: Gram, target: int, rule: str, most: int, tol: float | None) -> Path:
    """Select up to `most` features, or until the sum of squares is at most `tol` (in the units of the Gram matrix)."""
    a, s = gram.with_targets[:, target].copy(), gram.squares.copy()
    yy = float(gram.target_squares[target])
    size = np.sqrt(np.where(gram.squares > 0, gram.squares, 1.0) * (yy if yy > 0 else 1.0))
    unit = np.ldexp(1.0, gram.scales - np.max(gram.scales, initial=0))
    free, dependent = gram.squares > 0.0, DEPENDENT * gram.squares
    samples = gram.samples()
    directions: _Directions = _FromGram(gram) if samples is None else _FromSamples(gram, samples, most)
    order: list[int] = []
    components, left = [], [yy]
    factor = np.zeros((most, most), order="F")
    premature = False
    with one_blas_thread:
        while len(order) < most:
            k = len(order)
            free &= s > dependent
            criterion = np.where(free, _criterion(rule, a, s, gram.squares, unit), -1.0)
            j = int(np.argmax(criterion))
            noise = 8.0 * (k + 2) * EPS
            beyond = abs(a[j]) > noise * size[j] or np.any(np.abs(a[free]) > noise * size[free])
            if criterion[j] < 0.0 or not beyond:
                premature = True
                break
            factor[k, :k], pivot, along = directions.add(j, criterion)
            factor[k, k] = pivot
            beta = a[j] / pivot
            a -= beta * along
            s -= along**2
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
