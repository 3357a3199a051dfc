"""Leave-one-out errors of ridge in the space of a kernel, by an inverse for each penalty.

With G = R K R + alpha I, R the roots of the weights, and its inverse from a Cholesky factor, the error of sample i by
all others is (G^-1 R y)_i / ((G^-1)_ii R_i): eigenvectors are not used.
"""

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Array, Floats, wide
from tenfold.kernels import Kernel
from tenfold.machine import one_blas_thread

MAX_PRODUCTS = 2e10  # n^3 for each kernel and penalty, up to which the inverses take about a second


def sum_squared_errors(kernel: Kernel, X: Array, Y: Floats, weight: Floats, alphas: Floats) -> Floats | None:
    """The weighted sums of squared errors (A,), over samples of positive weight and all targets, of targets (n, t);
    None where a matrix has no factor.
    """
    K = wide(kernel(X))
    inside = np.flatnonzero(weight > 0.0)
    root = np.sqrt(weight[inside])
    G, right = K[np.ix_(inside, inside)] * root[:, None] * root, Y[inside] * root[:, None]
    sums = np.empty(len(alphas))
    for k, alpha in enumerate(alphas):
        A = np.array(G, order="F")
        A[np.diag_indices_from(A)] += alpha
        with one_blas_thread:
            L, failed = lapack.dpotrf(A, lower=1, overwrite_a=1)
            inverse, _ = lapack.dpotri(L, lower=1) if failed == 0 else (L, 0)
        if failed:
            return None
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        errors = (inverse @ right) / np.diag(inverse)[:, None]
        sums[k] = np.sum(errors**2)
    return sums
