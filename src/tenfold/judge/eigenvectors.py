"""What judges of eigenvectors share: the deviation from orthonormality, and distances of stored values."""

from math import isfinite
from typing import Any

import numpy as np
from scipy.linalg import blas
from scipy.special import gammaincinv

from tenfold.arrays import Floats
from tenfold.judge.largest_eigenvalue import ERROR_PROBABILITY
from tenfold.machine import one_blas_thread

TOGETHER = 1 << 14  # entries of vectors of one product

TINY = float(np.finfo(np.float64).tiny)

# |E|_F^2 <= |E G|_F^2 / q for a matrix E and vectors G of normal numbers but for ERROR_PROBABILITY, whose quantile of
# chi-squared is q: the sum has at least the spread of one square a vector.
NORMAL_PROBES = 8
NORMAL_BOUND = float(2.0 * gammaincinv(0.5 * NORMAL_PROBES, ERROR_PROBABILITY)) ** -0.5


def distance(stored: Floats, actual: Floats, size: Floats | float) -> float:
    """The largest distance in units of `size`; infinite where shapes differ, or a number is not finite."""
    if np.shape(stored) != np.shape(actual):
        return np.inf
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        away = float((np.abs(stored - actual) / size).max(initial=0.0))
    return away if isfinite(away) else np.inf


def divide_by_lengths(V: Floats, values: Any) -> Floats:
    """Values (k,) over the squared lengths of vectors; zero vectors, which fail as not orthonormal, count as unit."""
    squares = np.asarray(np.einsum("kp,kp->k", V, V))
    return np.asarray(values / np.where(squares > 0.0, squares, 1.0))


def slant(V: Floats) -> float:
    """The deviation of vectors from orthonormality, by slices of columns, which bounds memory."""
    products = -np.eye(len(V))
    with one_blas_thread:
        for begin in range(0, V.shape[1], TOGETHER):
            some = V[:, begin : begin + TOGETHER].T
            products += blas.dgemm(1.0, some, some, trans_a=1)
    return float(np.max(np.abs(products)))
