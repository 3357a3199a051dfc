"""Certificates of kernel Fisher directions: they solve their eigenproblem, and none better is missing.

With the kernel matrix K of the samples, P the projector on class means, and M the columns N_c^(1/2) (kappa_c - kappa)
of kernel means of classes about that of all, directions a solve S_B a = l A a, where S_B = M M' and A = K (I - P) K +
beta I. The judge evaluates K again, factors A = L L', and has W = L^-1 M: v = L'a are orthonormal eigenvectors of W W'.
Its nonzero eigenvalues are those of the small W'W, all of which are computed: none can be missing.
"""

from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array, Floats, Integers, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.eigenvectors import distance, slant
from tenfold.kernels import Kernel
from tenfold.kernels.centring import CentredKernel
from tenfold.linear_algebra import cholesky, eigenvalues, product, solve_lower

SINGULAR = "beta is lost in the rounding of the kernel matrix: increase it."


def kernel_fisher(
    kernel: Kernel,
    X: Array,
    number: Integers,
    beta: float,
    *,
    coef: Floats,
    values: Floats,
    means: Floats,
    variances: Floats,
    dtype: Any = np.float64,
) -> Certificate:
    """Judge directions (n, k), values (k,), and the means and variances (C, k) of the scores of each class.

    number: the class of each sample.
    """
    tol = RULES["spectral"].tol
    K = CentredKernel(kernel, X, center=False).dense()
    classes = int(number.max()) + 1
    one = np.eye(classes)[number]  # (n, C)
    counts = one.sum(axis=0)
    averages = product(K, one) / counts  # kappa_c as columns
    within = K - product(averages, np.ascontiguousarray(one.T))
    A = product(within, np.ascontiguousarray(within.T))
    A[np.diag_indices_from(A)] += beta
    L = cholesky(A)
    if L is None:
        return Certificate("spectral", np.inf, 1.0, tol, 0.0, 0.0, note=SINGULAR)
    L = np.asfortranarray(np.tril(L))
    W = solve_lower(L, (averages - K.mean(axis=1)[:, None]) * np.sqrt(counts))
    spectrum = np.maximum(eigenvalues(product(np.ascontiguousarray(W.T), W))[::-1], 0.0)
    top = max(float(spectrum[0]), np.finfo(np.float64).tiny)
    V = product(np.ascontiguousarray(coef.T), L)
    left = product(product(V, W), np.ascontiguousarray(W.T)) - values[:, None] * V
    scores = product(K, coef)
    own_means = np.stack([scores[number == c].mean(axis=0) for c in range(classes)])
    own_variances = np.stack([scores[number == c].var(axis=0) for c in range(classes)])
    spread = np.maximum(scores.std(axis=0), np.finfo(np.float64).tiny)
    size = float(np.max(np.abs(K).sum(axis=0), initial=0.0))
    condition = float(np.sqrt(1.0 + size**2 / beta))
    floor = max(64.0 * EPS, 16.0 * unit_roundoff(dtype)) * condition
    parts = [
        float(np.max(np.linalg.norm(left, axis=1), initial=0.0)) / top,
        slant(V),
        distance(values, spectrum[: len(values)], top),
        distance(means, own_means, spread),
        distance(variances, own_variances, spread**2),
    ]
    parts = [part if np.isfinite(part) else np.inf for part in parts]
    return Certificate("spectral", max(*parts, floor), 1.0, tol, floor, -float(np.sum(values)), parts=tuple(parts))
