"""Initial factors, of scikit-learn's kinds: drawn at random, or non-negative double singular vectors (Boutsidis and
Gallopoulos 2008), whose zeros are left, or filled with the mean of X, or with small random values.

Of each pair of singular vectors the positive or the negative parts are taken, whichever have the larger product of
norms. Singular vectors are those of a random block after some power iterations: a start need not be exact.
"""

from typing import Any

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Array, Floats
from tenfold.linear_algebra import svd
from tenfold.machine import one_blas_thread
from tenfold.objectives.factorization import Factors, mean_of, multiply, times
from tenfold.stats.derivatives import adjoint

OVERSAMPLING, POWER_ITERATIONS = 10, 3
SMALL = 1e-6  # entries below it count as zero


def draw(X: Array, k: int, random: Any) -> Factors:
    """Absolute normal variates in units of sqrt(mean / k), with scikit-learn's draws."""
    n, p = X.shape
    unit, dtype = np.sqrt(mean_of(X) / k), X.dtype
    H = np.abs(unit * random.standard_normal(size=(k, p)).astype(dtype, copy=False))
    W = np.abs(unit * random.standard_normal(size=(n, k)).astype(dtype, copy=False))
    return Factors(W.astype(np.float64), H.astype(np.float64))


def double_svd(X: Array, k: int, fill: str, random: Any) -> Factors:
    """Non-negative double singular vectors; `fill` is "zeros", "mean" or "random"."""
    U, s, V = leading_vectors(X, k, random)
    W, H = np.zeros((X.shape[0], k)), np.zeros((k, X.shape[1]))
    W[:, 0], H[0] = np.sqrt(s[0]) * np.abs(U[:, 0]), np.sqrt(s[0]) * np.abs(V[0])
    for j in range(1, k):
        pairs = [(np.maximum(sign * U[:, j], 0.0), np.maximum(sign * V[j], 0.0)) for sign in (1.0, -1.0)]
        norms = [(float(np.linalg.norm(u)), float(np.linalg.norm(v))) for u, v in pairs]
        best = 0 if norms[0][0] * norms[0][1] > norms[1][0] * norms[1][1] else 1
        (u, v), (left, right) = pairs[best], norms[best]
        if left * right > 0.0:
            W[:, j], H[j] = np.sqrt(s[j] * right / left) * u, np.sqrt(s[j] * left / right) * v
    W[W < SMALL], H[H < SMALL] = 0.0, 0.0
    if fill == "mean":
        W[W == 0.0], H[H == 0.0] = (mean_of(X),) * 2
    elif fill == "random":
        for part in (W, H):
            part[part == 0.0] = np.abs(mean_of(X) * random.standard_normal(size=int(np.sum(part == 0.0))) / 100.0)
    return Factors(W, H)


def leading_vectors(X: Array, k: int, random: Any) -> tuple[Floats, Floats, Floats]:
    """Singular vectors U (n, k), values (k,) and vectors V (k, p), approximately the largest."""
    size = min(k + OVERSAMPLING, *X.shape)
    Q = np.asarray(random.standard_normal(size=(X.shape[1], size)))
    for _ in range(POWER_ITERATIONS):
        Q = _orthonormal(times(X, np.ascontiguousarray(Q.T)))
        Q = _orthonormal(np.ascontiguousarray(adjoint(X, Q).T))
    Q = _orthonormal(times(X, np.ascontiguousarray(Q.T)))
    left, s, V = svd(adjoint(X, Q))
    U = multiply(Q, np.ascontiguousarray(left))
    return U[:, :k], s[:k], V[:k]


def _orthonormal(A: Floats) -> Floats:
    with one_blas_thread:
        return np.ascontiguousarray(la.qr(A, mode="economic", check_finite=False)[0])
