"""The power method, of several vectors orthogonal iteration: multiply by the matrix, and orthonormalise.

The part of an eigenvector in the span grows by its eigenvalue, so that those largest in size remain; the error falls by
the ratio |l_(k+1) / l_k| a step. The eigenvalues and vectors of a step are those of the matrix in the span.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg as la

from tenfold.arrays import TINY, Floats
from tenfold.machine import one_blas_thread
from tenfold.solvers.loop import Step


class Pairs(NamedTuple):
    """Values (k,), the largest in size first, and unit vectors (k, size)."""

    values: Floats
    vectors: Floats


def steps(apply: Callable[[Floats], Floats], start: Floats, tol: float) -> Iterator[Step]:
    """Steps from the span of the rows of `start` (k, size), which `apply` maps to their products. The measure is the
    largest residual over `tol` and the largest eigenvalue; the objective minus the sum of the sizes.
    """
    V = _orthonormal(start)
    while True:
        images = apply(V)
        with one_blas_thread:
            T = V @ images.T
            values, turn = la.eigh(0.5 * (T + T.T), check_finite=False)
        order = np.argsort(-np.abs(values), kind="stable")
        values, turn = values[order], turn[:, order]
        V, images = turn.T @ V, turn.T @ images
        residuals = np.linalg.norm(images - values[:, None] * V, axis=1)
        size = max(float(np.abs(values[0])), TINY)
        yield Step(Pairs(values, V), -float(np.sum(np.abs(values))), float(np.max(residuals)) / size / tol)
        if not np.abs(images).max() > 0.0:
            return
        V = _orthonormal(images)


def _orthonormal(rows: Floats) -> Floats:
    with one_blas_thread:
        return np.ascontiguousarray(la.qr(rows.T, mode="economic", check_finite=False)[0].T)
