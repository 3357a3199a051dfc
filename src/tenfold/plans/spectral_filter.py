"""Spectral filters: least squares whose iterations, or components, are stopped early.

With A the weighted and centred samples (or the scores of a centred kernel matrix), B the weighted and centred targets,
S = A'A = V diag(s) V' and C = A'B, the weights after step t are w_t = V diag(g_t(s)) V'C:

=================  =====================================================  ======================================
method             step                                                   g_t(s), x = s / s_1
=================  =====================================================  ======================================
landweber          w + h (C - S w), h = step_size / s_1                   (1 - (1 - step_size x)^t) / s
nu                 w + u_t (w - w_before) + o_t (C - S w) / s_1           by its recursion in every s
iterated_tikhonov  (S + alpha I)^-1 (C + alpha w)                         (1 - (alpha / (s + alpha))^t) / s
truncated_svd      the t largest singular values                          1 / s for the t largest, else 0
pcr                the t first principal components                       1 / s for the t largest, else 0
=================  =====================================================  ======================================

from w_0 = 0. The nu-method (Brakhage 1987) has u_t = (t - 1)(2t - 3)(2t + 2v - 1) / ((t + 2v - 1)(2t + 4v - 1)
(2t + 2v - 3)), o_t = 4 (2t + 2v - 1)(t + v - 1) / ((t + 2v - 1)(2t + 4v - 1)), v = nu, and needs the square root of the
steps of gradient descent. Rosasco, sections 4.3 and 8.1; Seeger, section 7.2.1. Without an intercept samples are as
they are; with one they are centred, the two last are the same, and b = mean(y) - mean(x).w.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array, Floats, is_array_api, is_sparse, on_host
from tenfold.data import NotFinite, Rows
from tenfold.kernels import Kernel
from tenfold.kernels.evaluation import count
from tenfold.linear_algebra import eigh
from tenfold.machine import one_blas_thread, require_memory
from tenfold.plans.least_squares import fold_moments

METHODS = ("landweber", "nu", "iterated_tikhonov", "truncated_svd", "pcr")
TRUNCATED = ("truncated_svd", "pcr")


@dataclass(frozen=True)
class Filter:
    """A method and its parameters."""

    method: str
    step_size: float = 1.0
    nu: float = 1.0
    alpha: float = 1.0

    def factors(self, values: Floats, steps: int) -> Floats:
        """g_t(s), (steps + 1, r), for the eigenvalues s (r,), the largest first; zero for those that are rounding."""
        largest = float(np.max(values, initial=0.0))
        kept = values > cut_of(values)
        s, t = np.where(kept, values, 1.0), np.arange(steps + 1.0)[:, None]
        if self.method in TRUNCATED:
            result = np.where(np.arange(len(values)) < t, 1.0 / s, 0.0)
        elif self.method == "landweber":
            result = self._landweber(s, self.step_size * s / (largest or 1.0), t)
        elif self.method == "iterated_tikhonov":
            result = -np.expm1(-t * np.log1p(s / self.alpha)) / s if self.alpha > 0.0 else np.where(t > 0, 1.0 / s, 0.0)
        else:
            result = self._nu_method(s, largest, steps)
        return np.where(kept, result, 0.0)

    def _landweber(self, s: Floats, x: Floats, t: Floats) -> Floats:
        """(1 - (1 - x)^t) / s without cancellation for small x."""
        small = x < 0.5
        with np.errstate(divide="ignore", invalid="ignore"):
            careful = -np.expm1(t * np.log1p(-np.where(small, x, 0.0)))
        return np.where(small, careful, 1.0 - (1.0 - x) ** t) / s

    def _nu_method(self, s: Floats, largest: float, steps: int) -> Floats:
        x, g = s / (largest or 1.0), np.zeros((steps + 1, len(s)))
        for t in range(1, steps + 1):
            u, o = momentum(t, self.nu)
            before = g[t - 2] if t > 1 else 0.0
            g[t] = g[t - 1] + u * (g[t - 1] - before) + o * (1.0 - x * g[t - 1])
        return g / (largest or 1.0)


def momentum(t: int, nu: float) -> tuple[float, float]:
    """u_t and o_t of the nu-method."""
    below = (t + 2.0 * nu - 1.0) * (2.0 * t + 4.0 * nu - 1.0)
    u = (
        (t - 1.0) * (2.0 * t - 3.0) * (2.0 * t + 2.0 * nu - 1.0) / (below * (2.0 * t + 2.0 * nu - 3.0))
        if t > 1
        else 0.0
    )
    return u, 4.0 * (2.0 * t + 2.0 * nu - 1.0) * (t + nu - 1.0) / below


def cut_of(values: Floats) -> float:
    """Eigenvalues up to here are rounding."""
    return float(np.max(values, initial=0.0)) * len(values) * EPS


@dataclass(frozen=True)
class System:
    """The eigenvalues s (r,), the largest first, V'C (r, t), and how weights in their basis become those of features or
    samples: `basis` V (p, r), or Q diag(s)^-1/2 (n, r) of a kernel matrix. `mean`, `target_mean`: the centres.
    """

    values: Floats
    right: Floats
    basis: Floats
    mean: Floats
    target_mean: Floats
    total: float

    @property
    def rank(self) -> int:
        return int(np.count_nonzero(self.values > cut_of(self.values)))

    def coef_path(self, factors: Floats) -> Floats:
        """Weights (steps + 1, t, p) of features, or of samples."""
        inner = factors[:, None, :] * self.right.T[None]
        with one_blas_thread:
            return np.asarray(inner.reshape(-1, len(self.values)) @ self.basis.T).reshape(*inner.shape[:2], -1)


def system_of_features(rows: Rows, centred: bool) -> System:
    """From the moments of one pass."""
    p = rows.shape[1]
    moments = fold_moments(rows)
    S, C, _ = moments.about(origin=not centred)
    e = moments.exponent
    with np.errstate(over="ignore"):
        S, C = np.ldexp(S, e[:p, None] + e[:p]), np.ldexp(C, e[:p, None] + e[p:])
    if not (np.isfinite(S).all() and np.isfinite(C).all()):
        raise NotFinite("The squares of the columns overflow: divide them by their largest value.")
    values, V = eigh(S)
    values, V = np.maximum(values[::-1], 0.0), np.ascontiguousarray(V[:, ::-1])
    with one_blas_thread:
        right = V.T @ C
    return System(values, right, V, moments.mean, moments.target_mean, moments.weight)


@dataclass(frozen=True)
class KernelSystem:
    """The system of a kernel, and what makes its weights those of an uncentred kernel: the roots of the weights (n,)
    and the weighted means of the columns of the kernel matrix (n,); the scores (n, r) of the samples.
    """

    system: System
    root: Floats
    column_means: Floats
    scores: Floats

    def dual_path(self, factors: Floats, intercept: bool) -> tuple[Floats, Floats]:
        """Weights of the samples (steps + 1, t, n) and intercepts (steps + 1, t)."""
        a = self.system.coef_path(factors) * self.root
        if not intercept:
            return a, np.zeros(a.shape[:2])
        weight = self.root**2
        beta = a - weight / self.system.total * a.sum(axis=2, keepdims=True)
        return beta, self.system.target_mean - beta @ self.column_means


def system_of_kernel(kernel: Kernel, X: Array, Y: Floats, weight: Floats | None, intercept: bool) -> KernelSystem:
    """From one eigendecomposition of the weighted, centred kernel matrix."""
    n = count(X)
    require_memory(f"The kernel matrix of {n} samples and its eigenvectors", 24 * n * n, "Take fewer samples.")
    K = np.asarray(on_host(kernel.block(X)), dtype=np.float64)
    if not np.isfinite(K).all():
        raise ValueError("The kernel matrix overflows or is NaN: scale the features, or take other parameters.")
    mass = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    total, root = float(np.sum(mass)), np.sqrt(mass)
    means = mass @ K / total
    centred, target_mean = K, np.zeros(Y.shape[1])
    if intercept:
        centred = K - means - means[:, None] + float(mass @ means) / total
        target_mean = mass @ Y / total
    A = root[:, None] * centred * root
    values, Q = eigh(0.5 * (A + A.T))
    values, Q = np.maximum(values[::-1], 0.0), np.ascontiguousarray(Q[:, ::-1])
    kept = values > cut_of(values)
    s = np.where(kept, values, 1.0)
    right = np.where(kept, np.sqrt(s), 0.0)[:, None] * (Q.T @ (root[:, None] * (Y - target_mean)))
    basis = Q * np.where(kept, 1.0 / np.sqrt(s), 0.0)
    scores = Q * np.sqrt(np.where(kept, s, 0.0)) / np.where(root > 0.0, root, 1.0)[:, None]
    system = System(np.where(kept, values, 0.0), right, basis, np.zeros(0), target_mean, total)
    return KernelSystem(system, root, means, scores)


def as_host_samples(X: Array) -> Any:
    """The samples in the memory of this machine."""
    return on_host(X) if is_array_api(X) and not is_sparse(X) else X
