"""Predictive distributions of a Gaussian process, block by block of the queries.

With K_* = k(X_*, X) and C = L L', the mean is K_* C^-1 y, and the covariance k(X_*, X_*) - V'V for V = L^-1 K_*'. Of
standard deviations only the columns of V of one block of queries are in memory.
"""

import warnings
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.kernels.covariance import Covariance
from tenfold.linear_algebra import factor_semidefinite, solve_lower
from tenfold.machine import one_blas_thread, require_memory, run_concurrently

BLOCK_VALUES = 1 << 20  # of a block of k(X_*, X): 8 MiB in float64


def predict_deviations(covariance: Covariance, X: Any, dual: Floats, L: Floats, queries: Any) -> tuple[Floats, Floats]:
    """The means (m, t) and the standard deviations (m,) of the function at queries, dual coefficients (n, t)."""
    m, n = queries.shape[0] if hasattr(queries, "shape") else len(queries), len(L)
    step = max(1, BLOCK_VALUES // n)

    def predict(start: int) -> tuple[Floats, Floats, int]:
        part = queries[start : start + step]
        K = covariance.block(part, X)
        with one_blas_thread:
            mean = K @ dual
        V = solve_lower(L, K.T)
        variance = covariance.diagonal(part) - np.einsum("ij,ij->j", V, V)
        negative = int(np.sum(variance < 0.0))
        return mean, np.sqrt(np.maximum(variance, 0.0)), negative

    parts = run_concurrently(predict, range(0, m, step), entries=m * n)
    if any(negative for _, _, negative in parts):
        warnings.warn("Predicted variances smaller than 0. Setting those variances to 0.", stacklevel=4)
    return np.concatenate([mean for mean, _, _ in parts]), np.concatenate([deviation for _, deviation, _ in parts])


def predict_covariance(covariance: Covariance, X: Any, dual: Floats, L: Floats, queries: Any) -> tuple[Floats, Floats]:
    """The means (m, t) and the covariance (m, m) of the function at queries."""
    m = queries.shape[0] if hasattr(queries, "shape") else len(queries)
    instead = "Use return_std, whose blocks are small, or fewer queries."
    require_memory(f"The covariance of {m:,} predictions", 8 * m * (2 * m + len(L)), instead)
    K = covariance.block(queries, X)
    V = solve_lower(L, K.T)
    prior = covariance.block(queries)
    with one_blas_thread:
        return K @ dual, prior - V.T @ V


def draw(mean: Floats, covariance: Floats, count: int, random: np.random.RandomState) -> Floats:
    """Samples (m, count) of a normal distribution, whose covariance may be singular."""
    R = factor_semidefinite(covariance)
    with one_blas_thread:
        return mean[:, None] + R @ random.standard_normal((R.shape[1], count))
