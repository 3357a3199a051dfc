"""Jackknife+ intervals of ridge in the feature space of a kernel (Barber, Candes, Ramdas and Tibshirani 2021).

With G = R K R + alpha I, R the roots of the weights, z = G^-1 R y and d the diagonal of G^-1, the fit without sample i
has z - G^-1 e_i z_i / d_i in place of z (the block formula for one sample), so that its residual is e_i = z_i / (d_i
R_i), and it predicts f(x) - g_i(x), g(x) = (k(x, .) R G^-1) * z / d.
"""

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Array, Floats, is_sparse
from tenfold.cross_validation.ridge_loo import enclose
from tenfold.kernels import Kernel, Precomputed
from tenfold.linear_algebra import factor_in_place, solve_factored
from tenfold.machine import one_blas_thread, require_memory
from tenfold.plans.kernel_ridge import INSTEAD, keep_weighted
from tenfold.solvers.kernel_system import KernelSystem

TILE_VALUES = 1 << 21  # of predictions without each sample that are kept at a time


def jackknife_plus(
    kernel: Kernel,
    X: Array,
    weight: Floats | None,
    coef: Floats,
    alpha: Floats,
    queries: Array,
    fits: Floats,
    coverage: float,
) -> Floats:
    """Intervals (m, t, 2) around predictions `fits` (m, t) for queries, from dual coefficients (n, t)."""
    n = X.shape[0]
    require_memory(f"The factor of a {n} x {n} kernel matrix and its inverse", 16 * n * n, INSTEAD)
    part = keep_weighted(kernel, X, coef, weight)
    root = np.ones(len(part.Y)) if part.root is None else np.asarray(part.root)
    system = KernelSystem(kernel, part.X, part.root)
    result = np.empty((*fits.shape, 2))
    for value in np.unique(alpha):
        G = system.matrix()
        G[np.diag_indices_from(G)] += value
        if not factor_in_place(G):
            raise ValueError(
                "Without a penalty, samples of this kernel matrix cannot be left out: it is singular. Use a positive "
                "alpha."
            )
        diagonal = _diagonal_of_inverse(G)
        for t in np.flatnonzero(alpha == value):
            z = part.Y[:, t] / root
            step = max(1, TILE_VALUES // max(1, len(z)))
            for a in range(0, len(fits), step):
                rows = slice(a, min(len(fits), a + step))
                moves = _solve_queries(kernel, system, root, G, queries[rows], part.index) * (z / diagonal)
                result[rows, t] = enclose(fits[rows, t, None] - moves, np.abs(z / (diagonal * root)), coverage)
    return result


def _solve_queries(
    kernel: Kernel, system: KernelSystem, root: Floats, L: Floats, queries: Array, index: Array
) -> Floats:
    """k(x, .) R G^-1 for some queries, (m, n)."""
    if not isinstance(kernel, Precomputed):
        K = kernel(queries, system.X)
    else:
        queries = queries.toarray() if is_sparse(queries) else queries
        K = np.asarray(queries if index is None else queries[:, index], dtype=np.float64)
    return np.asarray(solve_factored(L, (K * root).T).T)


def _diagonal_of_inverse(L: Floats) -> Floats:
    """The diagonal of (L L')^-1: the squared lengths of the columns of L^-1."""
    with one_blas_thread:
        inverse, info = lapack.dtrtri(L, lower=1)
    assert info == 0
    return np.asarray(np.sum(np.tril(inverse) ** 2, axis=0))
