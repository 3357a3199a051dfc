"""One eigendecomposition that serves every ridge: S = V diag(mu) V' from the moments, or K = Q diag(mu) Q' of wide rows.

Weights at alpha are V diag(1 / (mu + alpha)) V'c in the first form and A'Q diag(1 / (mu + alpha)) Q'y in the second, A the weighted and
centred rows. Both are held as `basis` B and `right` so that w(alpha) = sum_k B_k right_k / (mu_k + alpha).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread
from tenfold.rows import Rows
from tenfold.solvers import dual
from tenfold.stats import Moments


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues mu (r,), basis (p, r), right-hand sides in it (r, t), least sum of squares (t,), and the means.

    For the wide form `basis` is A'Q, `vectors` is Q, and `right` is Q'y.
    """

    values: Floats
    basis: Floats
    right: Floats
    least: Floats
    mean: Floats
    target_mean: Floats
    vectors: Floats | None = None

    def coef(self, alphas: Floats) -> Floats:
        """Weights (A, t, p) at every alpha."""
        filtered = self.right.T[None] * self.inverse(alphas)[:, None, :]
        with one_blas_thread:
            return np.asarray(filtered @ self.basis.T)

    def inverse(self, alphas: Floats) -> Floats:
        """1 / (mu + alpha), (A, r), with zero in place of the inverse of a numerical zero."""
        total = self.values + np.asarray(alphas, dtype=np.float64)[:, None]
        zero = total <= self.cut
        return np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, total))

    @property
    def cut(self) -> float:
        """Eigenvalues up to here are zero to rounding."""
        return float(np.max(self.values, initial=0.0)) * max(self.basis.shape) * float(np.finfo(np.float64).eps)

    def intercepts(self, coef: Floats) -> Floats:
        """Intercepts for weights (..., t, p)."""
        return self.target_mean - coef @ self.mean


def tall(moments: Moments, intercept: bool) -> Spectrum:
    """The p x p form."""
    p = moments.features
    S, C, yy = moments.about(origin=not intercept)
    e = moments.exponent
    S = np.ldexp(S, e[:p, None] + e[:p])
    C = np.ldexp(C, e[:p, None] + e[p:])
    if not (np.isfinite(S).all() and np.isfinite(C).all()):
        raise ValueError("Columns of X differ too much in scale to choose a penalty common to all. Scale them first.")
    with one_blas_thread:
        values, V = eigh(S, driver="evd", check_finite=False)
    values, V = np.maximum(values[::-1], 0.0), np.ascontiguousarray(V[:, ::-1])
    right = V.T @ C
    kept = values > values[0] * p * np.finfo(np.float64).eps if p else values > 0
    least = np.ldexp(yy, 2 * e[p:]) - np.sum(right[kept] ** 2 / values[kept, None], axis=0)
    zero, t = np.zeros(p), C.shape[1]
    return Spectrum(
        values,
        V,
        right,
        np.maximum(least, 0.0),
        moments.mean if intercept else zero,
        moments.target_mean if intercept else np.zeros(t),
    )


def wide(data: dual.Centred, target_mean: Floats) -> Spectrum:
    """The n x n form, for rows in memory."""
    values, Q = eigh(data.gram(), driver="evd", check_finite=False)
    values, Q = np.maximum(values[::-1], 0.0), np.ascontiguousarray(Q[:, ::-1])
    right = Q.T @ data.target
    kept = values > values[0] * len(values) * np.finfo(np.float64).eps
    return Spectrum(
        values, data.back(Q).T, right, np.sum(right[~kept] ** 2, axis=0), data.centre, target_mean, Q
    )


def of(rows: Rows, intercept: bool, moments: Moments | None = None) -> Spectrum:
    """The cheaper form for these rows."""
    if moments is not None or rows.shape[0] >= rows.shape[1]:
        return tall(rows.fold(Moments.lift) if moments is None else moments, intercept)
    return wide(*dual.about_means(rows, intercept))
