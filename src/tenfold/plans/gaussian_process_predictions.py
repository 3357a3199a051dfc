"""Predictive distributions of a Gaussian process, block by block of the queries.

With K_* = k(X_*, X) and C = L L', the mean is K_* C^-1 y, and the covariance k(X_*, X_*) - V'V for V = L^-1 K_*'. Of
standard deviations only the columns of V of one block of queries are in memory.
"""

from typing import Any

import numpy as np
from scipy.special import erf

from tenfold.arrays import Floats
from tenfold.kernels.covariance import Covariance
from tenfold.kernels.evaluation import count, multiply_matrices
from tenfold.linear_algebra import factor_semidefinite, solve_lower
from tenfold.machine import require_memory, run_concurrently

BLOCK_VALUES = 1 << 20  # of a block of k(X_*, X): 8 MiB in float64


# a logistic function as 1/2 + 1/2 sum_j COEFFICIENTS_j erf(WIDTHS_j x) + (sum_j COEFFICIENTS_j - 1) / 2, fitted at few
# points, as scikit-learn has it (Williams and Barber 1998, appendix A)
WIDTHS = np.array([0.41, 0.4, 0.37, 0.44, 0.39])
COEFFICIENTS = np.array([-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654])


def predict_variances(
    covariance: Covariance, X: Any, dual: Floats, L: Floats, queries: Any, root: Floats | None = None
) -> tuple[Floats, Floats]:
    """The means (m, t) and the variances (m,) of the function at queries, from dual coefficients (n, t); `root`: of the
    curvatures of the likelihood, by which K_* is multiplied, where L L' is I + W^1/2 K W^1/2. Rounding may make small
    variances negative.
    """
    m, n = count(queries), len(L)
    step = max(1, BLOCK_VALUES // n)

    def predict(start: int) -> tuple[Floats, Floats]:
        part = queries[start : start + step]
        K = covariance.block(part, X)
        mean = multiply_matrices(K, dual)
        if root is not None:
            K *= root
        V = solve_lower(L, K.T)
        return mean, covariance.diagonal(part) - np.einsum("ij,ij->j", V, V)

    parts = run_concurrently(predict, range(0, m, step), entries=m * n)
    return np.concatenate([mean for mean, _ in parts]), np.concatenate([variance for _, variance in parts])


def average_logistic(mean: Floats, variance: Floats) -> Floats:
    """The mean of the logistic function of normal numbers, to some 1e-4."""
    width = WIDTHS[:, None] / np.sqrt(1.0 + 2.0 * WIDTHS[:, None] ** 2 * np.maximum(variance, 0.0))
    integrals = 0.5 * COEFFICIENTS[:, None] * erf(width * mean)
    return np.asarray(np.sum(integrals, axis=0)) + 0.5 * float(np.sum(COEFFICIENTS))


def predict_covariance(covariance: Covariance, X: Any, dual: Floats, L: Floats, queries: Any) -> tuple[Floats, Floats]:
    """The means (m, t) and the covariance (m, m) of the function at queries."""
    m = count(queries)
    instead = "Use return_std, whose blocks are small, or fewer queries."
    require_memory(f"The covariance of {m:,} predictions", 8 * m * (2 * m + len(L)), instead)
    K = covariance.block(queries, X)
    V = solve_lower(L, K.T)
    result = covariance.block(queries)
    result -= multiply_matrices(V.T, V)
    return multiply_matrices(K, dual), result


def draw(mean: Floats, covariance: Floats, samples: int, random: np.random.RandomState) -> Floats:
    """Numbers (m, samples) of a normal distribution, whose covariance may be singular."""
    R = factor_semidefinite(covariance)
    return mean[:, None] + multiply_matrices(R, random.standard_normal((R.shape[1], samples)))
