"""Kernel Fisher directions: one Cholesky factor of the scatter within classes, and an eigenproblem of classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, Integers
from tenfold.judge.certificate import Certificate
from tenfold.judge.kernel_fisher import kernel_fisher
from tenfold.kernels import Kernel
from tenfold.kernels.centring import CentredKernel
from tenfold.linear_algebra import eigh, product, solve_positive
from tenfold.machine import require_memory


@dataclass(frozen=True)
class FisherDirections:
    """Directions (n, k), their values (k,), and the means and variances (C, k) of the scores of each class."""

    coef: Floats
    values: Floats
    means: Floats
    variances: Floats
    certificate: Certificate


def fit_directions(kernel: Kernel, X: Array, number: Integers, count: int, beta: float, dtype: Any) -> FisherDirections:
    """`count` directions of samples with classes `number`: with A = K (I - P) K + beta I and the kernel means M of the
    classes, M' A^-1 M has the eigenvalues of S_B a = l A a, and a = A^-1 M u / l^(1/2).
    """
    n, classes = len(number), int(number.max()) + 1
    require_memory(f"The {n} x {n} kernel matrix and the scatter within classes", 40 * n * n, "Fit a sample.")
    centred = CentredKernel(kernel, X, center=False)
    K = centred.dense()
    means = np.stack([K[:, number == c].mean(axis=1) for c in range(classes)], axis=1)
    counts = np.bincount(number, minlength=classes)
    scatter = product(K, K) - product(means * counts, np.ascontiguousarray(means.T))
    scatter[np.diag_indices_from(scatter)] += beta
    M = (means - K.mean(axis=1)[:, None]) * np.sqrt(counts)
    solved = solve_positive(np.asfortranarray(scatter), M)
    if solved is None:
        raise ValueError(f"beta={beta:g} is lost in the rounding of the kernel matrix: increase it.")
    values, u = eigh(product(np.ascontiguousarray(M.T), solved))
    values, u = np.maximum(values[::-1][:count], 0.0), u[:, ::-1][:, :count]
    tiny = np.finfo(np.float64).tiny
    coef = product(solved, np.ascontiguousarray(u)) / np.sqrt(np.maximum(values, tiny))
    largest = coef[np.abs(coef).argmax(axis=0), np.arange(coef.shape[1])]
    kept = np.where(largest < 0.0, -coef, coef).astype(dtype)
    wide = kept.astype(np.float64)
    scores = product(K, wide)
    centres = np.stack([scores[number == c].mean(axis=0) for c in range(classes)]).astype(dtype)
    variances = np.stack([scores[number == c].var(axis=0) for c in range(classes)]).astype(dtype)
    values = values.astype(dtype)
    verdict = kernel_fisher(
        centred.kernel,
        centred.X,
        number,
        beta,
        coef=wide,
        values=values.astype(np.float64),
        means=centres.astype(np.float64),
        variances=variances.astype(np.float64),
        dtype=dtype,
    )
    return FisherDirections(kept, values, centres, variances, verdict)
