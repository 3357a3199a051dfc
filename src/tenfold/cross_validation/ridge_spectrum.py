"""One eigendecomposition for every alpha of a ridge: S = V diag(mu) V' of the moments, or K = Q diag(mu) Q' of wide X.

Weights at alpha are V diag(1 / (mu + alpha)) V'c in the first form and A'Q diag(1 / (mu + alpha)) Q'y in the second,
A the weighted and centred X.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh, qr, svd

from tenfold.arrays import EPS, Floats
from tenfold.data import Rows
from tenfold.machine import one_blas_thread
from tenfold.plans.least_squares import fold_moments
from tenfold.solvers import dual_ridge
from tenfold.stats.moments import Moments
from tenfold.stats.rfactor import RFactor

UNEVEN = (
    "The columns of X are so different in scale, or so far from zero without an intercept, that the "
    "errors of the candidates "
    "would lose all digits. Scale or centre the columns first."
)


class Spectrum(Protocol):
    """The interface of both forms: eigenvalues (r,), largest first, the means, and the weights of any alphas."""

    @property
    def values(self) -> Floats: ...
    @property
    def mean(self) -> Floats: ...
    @property
    def target_mean(self) -> Floats: ...
    def coef(self, alphas: Floats) -> Floats:
        """Weights (A, t, p) at every alpha."""
        ...

    def training_error(self, alphas: Floats) -> Floats:
        """Weighted sums of squared residuals (A, t)."""
        ...


def inverse(values: Floats, alphas: Floats) -> Floats:
    """1 / (mu + alpha), (A, r), with zero in place of the inverse of a numerical zero."""
    total = values + np.asarray(alphas, dtype=np.float64)[:, None]
    zero = total <= cut(values)
    return np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, total))


def cut(values: Floats) -> float:
    """Eigenvalues up to here are zero to rounding."""
    return float(np.max(values, initial=0.0)) * len(values) * EPS


@dataclass(frozen=True)
class Tall:
    """The p x p form: eigenvectors V (p, p), V'c as `right` (p, t), and the sums of squared targets (t,);
    the sum of the weights."""

    values: Floats
    vectors: Floats
    right: Floats
    squares: Floats
    mean: Floats
    target_mean: Floats
    weight: float

    def coef(self, alphas: Floats) -> Floats:
        filtered = self.right.T[None] * inverse(self.values, alphas)[:, None, :]
        with one_blas_thread:
            return np.asarray(filtered @ self.vectors.T)

    def training_error(self, alphas: Floats) -> Floats:
        # the error of least squares, and what the penalty adds to it: the second has no cancellation
        kept = self.values > cut(self.values)
        own = np.where(kept, 1.0 / np.where(kept, self.values, 1.0), 0.0)[:, None] * self.right**2
        lost = (np.asarray(alphas)[:, None] * inverse(self.values, alphas)) ** 2
        return np.maximum(self.squares - own.sum(axis=0), 0.0) + lost @ own


@dataclass(frozen=True)
class Wide:
    """The n x n form: eigenvectors Q (n, r), Q'y as `right` (r, t), and the centred X."""

    values: Floats
    vectors: Floats
    right: Floats
    data: dual_ridge.Centred
    target_mean: Floats

    @property
    def mean(self) -> Floats:
        return self.data.centre

    def dual_coef(self, alphas: Floats) -> Floats:
        """(K + alpha I)^-1 y as (n, A, t)."""
        filtered = inverse(self.values, alphas).T[:, :, None] * self.right[:, None, :]
        flat = self.vectors @ filtered.reshape(len(self.values), -1)
        return np.asarray(flat).reshape(len(self.vectors), len(alphas), -1)

    def coef(self, alphas: Floats) -> Floats:
        c = self.dual_coef(alphas)
        return self.data.back(c.reshape(len(c), -1)).reshape(c.shape[1], c.shape[2], -1)

    def training_error(self, alphas: Floats) -> Floats:
        left = 1.0 - self.values * inverse(self.values, alphas)
        return np.asarray(left**2 @ self.right**2)


def tall(moments: Moments, intercept: bool) -> Tall:
    """The p x p form."""
    p = moments.features
    S, C, yy = moments.about(origin=not intercept)
    e = moments.exponent
    with np.errstate(over="ignore"):
        S = np.ldexp(S, e[:p, None] + e[:p])
        C = np.ldexp(C, e[:p, None] + e[p:])
    if not (np.isfinite(S).all() and np.isfinite(C).all()):
        raise ValueError(UNEVEN)
    with one_blas_thread:
        values, V = eigh(S, driver="evd", check_finite=False)
        V = np.ascontiguousarray(V[:, ::-1])
        right = V.T @ C
    mean = moments.mean if intercept else np.zeros(p)
    target_mean = moments.target_mean if intercept else np.zeros(C.shape[1])
    return Tall(np.maximum(values[::-1], 0.0), V, right, np.ldexp(yy, 2 * e[p:]), mean, target_mean, moments.weight)


def tall_by_rows(rows: Rows, moments: Moments, intercept: bool) -> Tall:
    """The p x p form from a QR factor of X: one more pass, and the condition number is not squared."""
    p, t = moments.features, rows.targets
    shift = np.concatenate([moments.mean, moments.target_mean]) if intercept else np.zeros(p + t)
    R = rows.fold(RFactor.lifter(shift, np.ones(p + t))).R
    with one_blas_thread:
        U, s, Vt = svd(R[:p, :p])
        right = s[:, None] * (U.T @ R[:p, p:])
    squares = np.sum(R[:, p:] ** 2, axis=0)
    return Tall(s**2, np.ascontiguousarray(Vt.T), right, squares, shift[:p], shift[p:], moments.weight)


def wide(data: dual_ridge.Centred, target_mean: Floats, intercept: bool) -> Wide:
    """The n x n form, for X in memory.

    With an intercept K root = 0 for the root weights: that direction is left out, so that no small alpha amplifies its
    rounding.
    """
    values, Q = eigh(data.gram(), driver="evd", check_finite=False)
    values, Q = np.maximum(values[::-1], 0.0), np.ascontiguousarray(Q[:, ::-1])
    if intercept:
        zero = np.flatnonzero(values <= cut(values))
        root = data.root / np.linalg.norm(data.root)
        rest = Q[:, zero] - np.outer(root, root @ Q[:, zero])
        # by pivoted QR: one of these columns may be the root itself, of which only rounding remains
        others = qr(rest, mode="economic", pivoting=True)[0][:, : max(len(zero) - 1, 0)]
        Q = np.ascontiguousarray(np.column_stack([np.delete(Q, zero, axis=1), others]))
        values = np.append(np.delete(values, zero), np.zeros(others.shape[1]))
    return Wide(values, Q, Q.T @ data.target, data, target_mean)


def of(rows: Rows, intercept: bool, moments: Moments | None = None) -> Tall | Wide:
    """The cheaper form for this shape."""
    if moments is not None or rows.shape[0] >= rows.shape[1]:
        return tall(fold_moments(rows) if moments is None else moments, intercept)
    return wide(*dual_ridge.about_means(rows, intercept), intercept)


def intercepts(spectrum: Spectrum, coef: Floats) -> Floats:
    """Intercepts for weights (..., t, p)."""
    return np.asarray(spectrum.target_mean - coef @ spectrum.mean)


def coef_of_each(spectrum: Spectrum, alpha: Floats) -> Floats:
    """Weights (t, p) with an alpha for each target."""
    distinct, index = np.unique(alpha, return_inverse=True)
    return spectrum.coef(distinct)[index, np.arange(len(alpha))]


def agrees(spectrum: Tall, alpha: Floats, fitted: Floats, moments: Moments, intercept: bool) -> bool:
    """Whether the eigendecomposition gives the fitted weights (t, p) at each target's alpha: if not, it has lost
    precision.
    """
    p = moments.features
    S, _, yy = moments.about(origin=not intercept)
    length = np.ldexp(np.sqrt(np.diag(S)), moments.exponent[:p])
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.sum(np.abs(fitted) * length, axis=1) + np.ldexp(np.sqrt(yy), moments.exponent[p:])
        # weights may be stored in single precision
        allowed = 1e-6 * size[:, None]
        return bool(np.all(np.abs(coef_of_each(spectrum, alpha) - fitted) * length <= allowed))
