"""Gaussian class models: linear and quadratic discriminants from the moments of one pass.

With w_c the weight of class c, m_c its mean, S_c its covariance (divided by the weight) and q_c its prior:

within          S = sum_c q_c S_c,                 m = sum_c q_c m_c
between         B = sum_c q_c (m_c - m)(m_c - m)'
linear          score_c = x' S^-1 m_c - 1/2 m_c' S^-1 m_c + log q_c
quadratic       score_c = -1/2 (x - m_c)' S_c^-1 (x - m_c) - 1/2 log|S_c| + log q_c
directions      B v = l S v, v' S v = 1, the largest l first

Shrinkage moves a covariance S towards (trace S / p) I, by a given amount or that of Ledoit and Wolf (2004) for features
of unit variance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg as la
from scipy.linalg import blas

from tenfold.arrays import Array, Floats, Integers, is_numpy, like, unit_roundoff
from tenfold.data import MemoryRows, NotFinite, Rows
from tenfold.machine import one_blas_thread
from tenfold.plans.class_statistics import TooFewSamples
from tenfold.stats.argmax_float32 import decide_linear, decide_whole
from tenfold.stats.class_totals import fourth_powers, mahalanobis_distances
from tenfold.stats.derivatives import Params, Total, forward
from tenfold.stats.moments import GroupedMoments, Moments
from tenfold.stats.within_class_scatter import WithinFactor, WithinMoments, WithinScatter, within_factor, within_scatter

MAX_NARROW_FEATURES = 511  # features up to which class moments are summed in one packed loop, beyond it class by class

RANK_TOL = 1e-7  # relative standard deviation within classes below which a direction is rounding


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

    def pool(self, priors: Floats) -> Floats:
        """The covariances averaged by the priors."""
        return np.einsum("k,kij->ij", priors, self.covariance)

    def total(self) -> Floats:
        """The covariance of all samples."""
        shares = self.weight / self.weight.sum()
        away = self.mean - shares @ self.mean
        # means of a constant column differ by rounding only
        away = np.where(np.abs(away) > 16.0 * unit_roundoff(np.float64) * np.max(np.abs(self.mean), axis=0), away, 0.0)
        return self.pool(shares) + np.einsum("k,ki,kj->ij", shares, away, away)

    def merge_classes(self) -> "Classes":
        """All samples as one class."""
        mean = self.weight @ self.mean / self.weight.sum()
        return Classes(self.weight.sum(keepdims=True), mean[None, :], self.total()[None, :, :])


def shrunk(S: Floats, amount: float) -> Floats:
    """(1 - amount) S + amount (trace S / p) I."""
    return (1.0 - amount) * S + amount * np.trace(S) / len(S) * np.eye(len(S))


def unit_shrunk(S: Floats, amount: float) -> Floats:
    """Shrinkage of the correlations, rescaled to covariances."""
    scale = np.sqrt(np.diag(S))
    scale = np.where(scale > 0.0, scale, 1.0)
    return shrunk(S / np.outer(scale, scale), amount) * np.outer(scale, scale)


def ledoit_wolf(rows: Rows, classes: Classes) -> Floats:
    """Ledoit-Wolf shrinkage (k,) of each class, for features of unit variance; takes one more pass."""
    variance = np.array([np.diag(S) for S in classes.covariance])
    scale = 1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0))
    powers: Total = rows.fold(fourth_powers(classes.mean, np.where(variance > 0.0, scale, 0.0)))
    amounts = [
        _amount(S * np.outer(s, s), w, power)
        for S, s, w, power in zip(classes.covariance, scale, classes.weight, powers.sum, strict=True)
    ]
    return np.array(amounts)


def _amount(C: Floats, weight: float, powers: float) -> float:
    """Ledoit-Wolf shrinkage of one class, from the correlations and the sum of (z'z)^2 over its standardised rows z."""
    p = len(C)
    if weight <= 0.0 or p == 1:
        return 0.0
    mean, square = np.trace(C) / p, float(np.sum(C * C))
    noise = (powers / weight - square) / (p * weight)
    spread = (square - 2.0 * mean * np.trace(C) + p * mean**2) / p
    return 0.0 if min(noise, spread) <= 0.0 else min(noise, spread) / spread


def posterior_mode(S: Floats, weight: float, prior: float | None) -> Floats:
    """Posterior mode with a Wishart prior on the precision: (a I + n S) / (a + n - p - 1)."""
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
    """Weights (k, p), intercepts (k,), directions (p, r), and their explained variance ratios between classes."""

    coef: Floats
    intercept: Floats
    directions: Floats | None
    shares: Floats | None


def fold_within(rows: Rows, classes: int) -> WithinScatter:
    """The pooled covariance within classes, without those of each class; one transfer from a device. Of fewer dense
    samples in memory than features, a factor, by a QR factorisation of their deviations.
    """
    if isinstance(rows, MemoryRows) and is_numpy(rows.X) and rows.shape[0] < rows.shape[1]:
        sums = within_factor(classes, rows.whole())
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(sums.variances()).all() and np.isfinite(sums.mean).all()
        if not finite:
            raise NotFinite
        with one_blas_thread:  # rotates the samples, so that none is kept
            return replace(sums, factor=np.ascontiguousarray(la.qr(sums.factor, mode="r", check_finite=False)[0]))
    if rows.shape[1] > MAX_NARROW_FEATURES or (rows.on_device and not rows.distributed):
        moments = WithinMoments.of(rows.fold(GroupedMoments.lifter(classes)))
    else:
        moments = rows.fold(within_scatter(classes))
    if not (np.isfinite(moments.scatter).all() and np.isfinite(moments.mean).all()):
        raise NotFinite
    return moments


@dataclass(frozen=True)
class Whitening:
    """Axes (p, r) along which the variance within classes is 1: `axes`, or `base`' `axes` with axes (m, r)."""

    axes: Floats
    base: Floats | None = None

    @classmethod
    def of(cls, classes: WithinScatter, tol: float) -> "Whitening":
        """From the eigenvectors of the covariance of standardised features; of fewer samples than features from those
        of F F', whose images F'u / sqrt(l) they are, without forming them.
        """
        tol = max(tol, RANK_TOL)
        scale = np.sqrt(classes.variances())
        scale = np.where(scale > 0.0, scale, 1.0)
        if isinstance(classes, WithinFactor):
            F, gram = classes.standardize(scale)
            with one_blas_thread:
                values, vectors = la.eigh(gram, lower=False, check_finite=False)
            rank = min(int(np.sum(values > tol**2)), classes.largest_rank)
            return cls(vectors[:, ::-1][:, :rank] / values[::-1][:rank], F / scale)
        with one_blas_thread:
            values, vectors = la.eigh(classes.covariance() / np.outer(scale, scale), check_finite=False)
        spread = np.sqrt(np.maximum(values[::-1], 0.0))
        rank = int(np.sum(spread > tol))
        return cls(vectors[:, ::-1][:, :rank] / scale[:, None] / spread[:rank])

    def project(self, rows: Floats) -> Floats:
        """Coordinates (k, r) of rows (k, p)."""
        if self.base is None:
            return rows @ self.axes
        with one_blas_thread:
            return np.asarray(blas.dgemm(1.0, self.base.T, rows.T, trans_a=True).T @ self.axes)

    def expand(self, coordinates: Floats) -> Floats:
        """Combinations (p, q) of the axes by coordinates (r, q)."""
        if self.base is None:
            return self.axes @ coordinates
        with one_blas_thread:
            return np.asarray(blas.dgemm(1.0, self.base.T, self.axes @ coordinates))


def by_whitening(classes: WithinScatter, priors: Floats, components: int, tol: float) -> Linear:
    """Whitening by an SVD; directions with a relative standard deviation within classes below `tol` are dropped."""
    centre, whitening = priors @ classes.mean, Whitening.of(classes, tol)
    count = len(priors)
    factor = 1.0 if count == 1 else 1.0 / (count - 1)
    middle = whitening.project(np.sqrt(classes.weight.sum() * priors * factor)[:, None] * (classes.mean - centre))
    with one_blas_thread:
        _, sizes, rows = la.svd(middle, full_matrices=False, check_finite=False)
    part = (sizes**2 / np.sum(sizes**2))[:components] if components else np.zeros(0)
    kept = int(np.sum(sizes > tol * sizes[0])) if sizes.size else 0
    directions = whitening.expand(rows.T[:, :kept])
    inside = (classes.mean - centre) @ directions
    coef = inside @ directions.T
    with np.errstate(divide="ignore"):
        intercept = -0.5 * np.sum(inside**2, axis=1) + np.log(priors) - coef @ centre
    return Linear(coef, intercept, directions, part)


def by_eigenvectors(classes: Classes, S: Floats, total: Floats, priors: Floats, components: int) -> Linear:
    """All directions, by the generalised eigenproblem of the two matrices."""
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
    """The error of a covariance within classes that is not positive definite."""
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
    """Minimum-norm solutions of S w = m_c."""
    with one_blas_thread:
        coef = la.lstsq(S, classes.mean.T, check_finite=False)[0].T
    return Linear(coef, _offsets(classes.mean, coef, priors), None, None)


def _offsets(mean: Floats, coef: Floats, priors: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -0.5 * np.sum(mean * coef, axis=1) + np.log(priors)


def factors_of(covariance: Floats, names: Sequence[Any]) -> tuple[Floats, Floats]:
    """Triangular factors of the precisions (k, p, p) and log determinants (k,), from one covariance or one for each
    class; raises, by name, where one is not positive definite.
    """
    each = covariance if covariance.ndim == 3 else covariance[None, :, :]
    factors = []
    for S, name in zip(each, names if covariance.ndim == 3 else ["of all classes"], strict=True):
        variances, axes = axes_of(S)
        if not variances[-1] > np.finfo(np.float64).eps * len(S) * max(variances[0], 0.0):
            raise TooFewSamples(
                f"The covariance {name} is not positive definite: some columns do not vary, or depend on each "
                "other, or there are too few rows. Give wishart, or leave columns out."
            )
        factors.append((triangle(variances, axes), np.sum(np.log(variances))))
    count = len(names)
    triangles, logs = (np.array([part[i] for part in factors]) for i in (0, 1))
    return (
        np.ascontiguousarray(np.broadcast_to(triangles, (count, *triangles.shape[1:]))),
        np.broadcast_to(logs, count),
    )


def axes_of(S: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues in descending order, and eigenvectors (p, p) of a covariance."""
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

    def decide(self, X: Array) -> Integers:
        """The argmax of the scores of dense rows, -1 where single precision does not decide it."""
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

    def decide(self, X: Array) -> Integers:
        """The argmax of the scores of dense rows, -1 where single precision does not decide it."""
        return decide_whole(X, self.mean, self.factors, self.offset)

    def __call__(self, X: Array) -> Array:
        z = mahalanobis_distances(X, self.mean, self.factors)
        z *= -0.5
        z += like(self.offset, z)
        return z
