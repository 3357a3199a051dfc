"""Gaussian classes: linear and quadratic discriminants from the moments of one pass.

With w_c the weight of class c, m_c its mean, S_c its covariance (divided by the weight) and q_c its prior:

within          S = sum_c q_c S_c,                 m = sum_c q_c m_c
between         B = sum_c q_c (m_c - m)(m_c - m)'
linear          score_c = x' S^-1 m_c - 1/2 m_c' S^-1 m_c + log q_c
quadratic       score_c = -1/2 (x - m_c)' S_c^-1 (x - m_c) - 1/2 log|S_c| + log q_c
directions      B v = l S v, v' S v = 1, the largest l first

Shrinkage moves a covariance S towards (trace S / p) I. Ledoit and Wolf (2004) say how far, on columns of unit variance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Array, Floats, Integers, like, unit_roundoff
from tenfold.data import NotFinite, Rows
from tenfold.machine import one_blas_thread
from tenfold.plans.class_statistics import TooFewSamples
from tenfold.stats.argmax_float32 import decide_linear, decide_whole
from tenfold.stats.class_totals import fourth_powers, mahalanobis_distances
from tenfold.stats.derivatives import Params, Total, forward
from tenfold.stats.moments import GroupedMoments, Moments
from tenfold.stats.within_class_scatter import WithinMoments, within_scatter

NARROW = 511
"""A matrix of more columns is better summed by all threads together, class by class."""

LEAST_RANK = 1e-7
"""Directions in which classes vary by less, in units of the columns' own spread, cannot be told from rounding."""


@dataclass(frozen=True)
class Classes:
    """Weights (k,), means (k, p) and covariances (k, p, p) of classes."""

    weight: Floats
    mean: Floats
    covariance: Floats

    @classmethod
    def of(cls, moments: GroupedMoments) -> "Classes":
        groups: tuple[Moments, ...] = moments.groups
        p = groups[0].features
        weight = np.array([group.weight for group in groups])
        mean = np.array([group.mean if group.weight > 0.0 else np.zeros(p) for group in groups])
        covariance = [group.covariance() if group.weight > 0.0 else np.zeros((p, p)) for group in groups]
        return cls(weight, mean, np.array(covariance))

    def pooled(self, priors: Floats) -> Floats:
        """The mean of the covariances by the priors."""
        return np.einsum("k,kij->ij", priors, self.covariance)

    def total(self) -> Floats:
        """The covariance of all rows."""
        shares = self.weight / self.weight.sum()
        away = self.mean - shares @ self.mean
        # of a column that does not vary, means differ by rounding alone
        away = np.where(np.abs(away) > 16.0 * unit_roundoff(np.float64) * np.max(np.abs(self.mean), axis=0), away, 0.0)
        return self.pooled(shares) + np.einsum("k,ki,kj->ij", shares, away, away)

    def together(self) -> "Classes":
        """All rows in one class."""
        mean = self.weight @ self.mean / self.weight.sum()
        return Classes(self.weight.sum(keepdims=True), mean[None, :], self.total()[None, :, :])


def shrunk(S: Floats, amount: float) -> Floats:
    """(1 - amount) S + amount (trace S / p) I."""
    return (1.0 - amount) * S + amount * np.trace(S) / len(S) * np.eye(len(S))


def unit_shrunk(S: Floats, amount: float) -> Floats:
    """The same on columns of unit variance, and back."""
    scale = np.sqrt(np.diag(S))
    scale = np.where(scale > 0.0, scale, 1.0)
    return shrunk(S / np.outer(scale, scale), amount) * np.outer(scale, scale)


def ledoit_wolf(rows: Rows, classes: Classes) -> Floats:
    """The amounts of shrinkage (k,) that Ledoit and Wolf find, of columns of unit variance: one more pass."""
    variance = np.array([np.diag(S) for S in classes.covariance])
    scale = 1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0))
    powers: Total = rows.fold(fourth_powers(classes.mean, np.where(variance > 0.0, scale, 0.0)))
    amounts = [
        _amount(S * np.outer(s, s), w, power)
        for S, s, w, power in zip(classes.covariance, scale, classes.weight, powers.sum, strict=True)
    ]
    return np.array(amounts)


def _amount(C: Floats, weight: float, powers: float) -> float:
    """Of one class, from the correlations and the sum of (z'z)^2 over its rows z."""
    p = len(C)
    if weight <= 0.0 or p == 1:
        return 0.0
    mean, square = np.trace(C) / p, float(np.sum(C * C))
    noise = (powers / weight - square) / (p * weight)
    spread = (square - 2.0 * mean * np.trace(C) + p * mean**2) / p
    return 0.0 if min(noise, spread) <= 0.0 else min(noise, spread) / spread


def posterior_mode(S: Floats, weight: float, prior: float | None) -> Floats:
    """With a Wishart prior on the inverse of the covariance: (a I + n S) / (a + n - p - 1)."""
    if prior is None:
        return S
    total = prior + weight - len(S) - 1.0
    if not total > 0.0:
        raise ValueError(
            f"wishart + weight of the rows must exceed n_features + 1 = {len(S) + 1}, for a mode to exist; got "
            f"{prior + weight:g}."
        )
    return (prior * np.eye(len(S)) + weight * S) / total


class Linear(NamedTuple):
    """Weights (k, p), intercepts (k,), directions (p, r), and their shares of what lies between classes."""

    coef: Floats
    intercept: Floats
    directions: Floats | None
    shares: Floats | None


def fold_within(rows: Rows, classes: int) -> WithinMoments:
    """The covariance within classes, without that of each class. A device is asked once, for all classes."""
    if rows.shape[1] > NARROW or (rows.on_device and not rows.distributed):
        found = WithinMoments.of(rows.fold(GroupedMoments.lifter(classes)))
    else:
        found = rows.fold(within_scatter(classes))
    if not (np.isfinite(found.scatter).all() and np.isfinite(found.mean).all()):
        raise NotFinite
    return found


def by_whitening(classes: WithinMoments, priors: Floats, components: int, tol: float) -> Linear:
    """Directions in which classes vary by less than `tol`, in units of each column's own spread, are left out."""
    S, centre = classes.covariance(), priors @ classes.mean
    scale = np.sqrt(np.diag(S))
    scale = np.where(scale > 0.0, scale, 1.0)
    with one_blas_thread:
        values, vectors = la.eigh(S / np.outer(scale, scale), check_finite=False)
    spread = np.sqrt(np.maximum(values[::-1], 0.0))
    rank = int(np.sum(spread > max(tol, LEAST_RANK)))
    whiten = vectors[:, ::-1][:, :rank] / scale[:, None] / spread[:rank]
    count = len(priors)
    factor = 1.0 if count == 1 else 1.0 / (count - 1)
    middle = np.sqrt(classes.weight.sum() * priors * factor)[:, None] * (classes.mean - centre) @ whiten
    with one_blas_thread:
        _, sizes, rows = la.svd(middle, full_matrices=False, check_finite=False)
    part = (sizes**2 / np.sum(sizes**2))[:components] if components else np.zeros(0)
    kept = int(np.sum(sizes > tol * sizes[0])) if sizes.size else 0
    directions = whiten @ rows.T[:, :kept]
    inside = (classes.mean - centre) @ directions
    coef = inside @ directions.T
    with np.errstate(divide="ignore"):
        intercept = -0.5 * np.sum(inside**2, axis=1) + np.log(priors) - coef @ centre
    return Linear(coef, intercept, directions, part)


def by_eigenvectors(classes: Classes, S: Floats, total: Floats, priors: Floats, components: int) -> Linear:
    """All directions, from the two matrices."""
    try:
        with one_blas_thread:
            values, vectors = la.eigh(total - S, S, check_finite=False)
    except la.LinAlgError as error:
        raise la.LinAlgError(_singular(S)) from error
    order = np.argsort(values)[::-1]
    directions = vectors[:, order]
    coef = (classes.mean @ directions) @ directions.T
    shares = np.sort(values / values.sum())[::-1][:components] if components else np.zeros(0)
    return Linear(coef, _offsets(classes.mean, coef, priors), directions, shares)


def _singular(S: Floats) -> str:
    """What to do about a covariance within classes that is not positive definite."""
    constant = np.flatnonzero(np.diag(S) <= 0.0)
    cause = "columns are combinations of others"
    if constant.size:
        named = ", ".join(str(j) for j in constant[:5]) + (", ..." if constant.size > 5 else "")
        cause = f"columns that do not vary: {named}" if constant.size > 1 else f"column {named} does not vary"
    return (
        f"solver='eigen' needs a covariance within classes that is positive definite, and it is not ({cause}). Leave "
        "these columns out, use solver='svd', or set shrinkage."
    )


def by_solving(classes: Classes, S: Floats, priors: Floats) -> Linear:
    """The shortest solutions of S w = m_c."""
    with one_blas_thread:
        coef = la.lstsq(S, classes.mean.T, check_finite=False)[0].T
    return Linear(coef, _offsets(classes.mean, coef, priors), None, None)


def _offsets(mean: Floats, coef: Floats, priors: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -0.5 * np.sum(mean * coef, axis=1) + np.log(priors)


def factors_of(covariance: Floats, names: Sequence[Any]) -> tuple[Floats, Floats]:
    """Triangles (k, p, p) and log determinants (k,) of classes of these names, from the covariance of all or of each;
    refuses one that is not positive definite.
    """
    each = covariance if covariance.ndim == 3 else covariance[None, :, :]
    found = []
    for S, name in zip(each, names if covariance.ndim == 3 else ["of all classes"], strict=True):
        variances, axes = axes_of(S)
        if not variances[-1] > np.finfo(np.float64).eps * len(S) * max(variances[0], 0.0):
            raise TooFewSamples(
                f"The covariance {name} is not positive definite: some columns do not vary, or depend on each "
                "other, or there are too few rows. Give wishart, or leave columns out."
            )
        found.append((triangle(variances, axes), np.sum(np.log(variances))))
    count = len(names)
    triangles, logs = (np.array([part[i] for part in found]) for i in (0, 1))
    return (
        np.ascontiguousarray(np.broadcast_to(triangles, (count, *triangles.shape[1:]))),
        np.broadcast_to(logs, count),
    )


def axes_of(S: Floats) -> tuple[Floats, Floats]:
    """Variances, the largest first, and the axes (p, p) of a covariance."""
    with one_blas_thread:
        values, vectors = la.eigh(S, check_finite=False)
    return values[::-1].copy(), vectors[:, ::-1].copy()


def triangle(variances: Floats, axes: Floats) -> Floats:
    """An upper triangle B with B B' = axes diag(1 / variances) axes'."""
    with one_blas_thread:
        # B' B' ' = A A' with A = axes / sqrt(variances): the triangle of a QR factorisation of A'
        R = la.qr((axes / np.sqrt(variances)).T[::-1, ::-1], mode="r", check_finite=False)[0]
    return np.ascontiguousarray(R.T[::-1, ::-1])


@dataclass(frozen=True)
class LinearScores:
    """x'w_c + b_c."""

    coef: Floats
    intercept: Floats

    def decided(self, X: Array) -> Integers:
        """The numbers of the largest scores of dense rows, or -1 where single precision cannot tell."""
        return decide_linear(X, self.coef, self.intercept)

    def __call__(self, X: Array) -> Array:
        none = np.isneginf(self.intercept)
        z = forward(X, Params(self.coef, np.where(none, 0.0, self.intercept)))
        return z + like(np.where(none, -np.inf, 0.0), z) if none.any() else z


@dataclass(frozen=True)
class QuadraticScores:
    """b_c - 1/2 ||(x - m_c) B_c||^2."""

    mean: Floats
    factors: Floats
    offset: Floats

    def decided(self, X: Array) -> Integers:
        """The numbers of the largest scores of dense rows, or -1 where single precision cannot tell."""
        return decide_whole(X, self.mean, self.factors, self.offset)

    def __call__(self, X: Array) -> Array:
        z = mahalanobis_distances(X, self.mean, self.factors)
        z *= -0.5
        z += like(self.offset, z)
        return z
