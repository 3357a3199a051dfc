"""Gaussian classes: linear and quadratic discriminants from the moments of one pass.

With w_c the weight of class c, m_c its mean, S_c its covariance (divided by the weight) and q_c its prior:

within          S = sum_c q_c S_c,                 m = sum_c q_c m_c
between         B = sum_c q_c (m_c - m)(m_c - m)'
linear          score_c = x' S^-1 m_c - 1/2 m_c' S^-1 m_c + log q_c
quadratic       score_c = -1/2 (x - m_c)' S_c^-1 (x - m_c) - 1/2 log|S_c| + log q_c
directions      B v = l S v, v' S v = 1, the largest l first

Shrinkage moves a covariance S towards (trace S / p) I. Ledoit and Wolf (2004) say how far, on columns of unit variance.

What is fitted is judged by the rows, or by the moments where these came in parts and the rows are gone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Array, Floats, Integers, like, unit_roundoff, wide
from tenfold.data import NotFinite, Rows
from tenfold.judge import gaussian_classes as judge
from tenfold.judge.certificate import Certificate
from tenfold.judge.discriminant import Stored
from tenfold.machine import one_blas_thread
from tenfold.plans.by_class import PARTS, TooFewRows
from tenfold.stats.argmax_float32 import decide_linear, decide_whole
from tenfold.stats.class_totals import as_one_class, fourth_powers, quadratics
from tenfold.stats.derivatives import Params, Total, times
from tenfold.stats.moments import GroupedMoments, Moments
from tenfold.stats.within_class_scatter import WithinMoments, within_moments

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


def _amounts(rows: Rows | None, classes: Classes, shrinkage: Any) -> Floats:
    """How far covariances are moved towards spheres, (k,): not where `shrinkage` is None, else by it, or as Ledoit and
    Wolf say where it is "auto".
    """
    if shrinkage == "auto":
        assert rows is not None  # which must come at once
        return ledoit_wolf(rows, classes)
    return np.full(len(classes.weight), 0.0 if shrinkage is None else float(shrinkage))


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
    if rows.shape[1] > NARROW or (rows.foreign and not rows.scattered):
        found = WithinMoments.of(rows.fold(GroupedMoments.lifter(classes)))
    else:
        found = rows.fold(within_moments(classes))
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


@dataclass(frozen=True)
class LinearSettings:
    """How a linear discriminant is found: by whitening ("svd"), solving ("lsqr") or eigenvectors ("eigen"); how far
    covariances are moved towards spheres; how many directions have shares; the least spread of a direction; and the
    priors that were given.
    """

    solver: str
    shrinkage: Any
    components: int
    tol: float
    priors: Floats | None


class FittedLinear(NamedTuple):
    """What is stored, in float64: means, priors, weights and intercepts, of two classes those of the second against the
    first; the covariance within classes, directions with their shares, and the centre of the means, where they are
    known; and what the judge says.
    """

    scores: Stored
    covariance: Floats | None
    axes: judge.Axes | None
    centre: Floats | None
    certificate: Certificate


def fit_linear(
    settings: LinearSettings,
    sums: GroupedMoments | WithinMoments,
    rows: Rows | None,
    priors: Floats,
    given: tuple[Floats, Floats] | None,
    dtype: Any,
) -> FittedLinear:
    """From the moments of the classes, or those within them; `given` are covariances (k, p, p) of the classes, and
    (p, p) of all rows, that another estimator has found.
    """
    pooled = sums if isinstance(sums, WithinMoments) else WithinMoments.of(sums)
    S = None
    if isinstance(sums, WithinMoments):
        found = by_whitening(pooled, priors, settings.components, settings.tol)
    else:
        classes = Classes.of(sums)
        S = _within(settings, classes, rows, priors, given)
        if settings.solver == "svd":
            found = by_whitening(pooled, priors, settings.components, settings.tol)
        elif settings.solver == "lsqr":
            found = by_solving(classes, S, priors)
        else:
            found = by_eigenvectors(classes, S, _of_all(settings, classes, rows, given), priors, settings.components)
    coef, intercept = found.coef, found.intercept
    if len(priors) == 2:
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]

    def kept(part: Floats) -> Floats:
        return wide(part.astype(dtype))

    scores = Stored(kept(pooled.mean), kept(priors), kept(coef), kept(intercept), dtype)
    axes = None
    if found.directions is not None and found.shares is not None:
        axes = kept(found.directions), kept(found.shares)
    covariance, note = None if S is None else kept(S), PARTS if rows is None else ""
    if settings.solver == "svd":
        assert axes is not None
        centre = kept(priors @ pooled.mean)
        certificate = judge.whitened(
            rows,
            sums,
            scores,
            axes,
            settings.tol,
            centre=centre,
            covariance=covariance,
            priors=settings.priors,
            note=note,
        )
        return FittedLinear(scores, covariance, axes, centre, certificate)
    assert covariance is not None
    certificate = judge.solved(
        rows,
        sums,
        scores,
        axes,
        covariance=covariance,
        shrinkage=settings.shrinkage,
        given=None if given is None else (np.einsum("k,kij->ij", scores.priors, given[0]), given[1]),
        priors=settings.priors,
        note=note,
    )
    return FittedLinear(scores, covariance, axes, None, certificate)


def _within(
    settings: LinearSettings,
    classes: Classes,
    rows: Rows | None,
    priors: Floats,
    given: tuple[Floats, Floats] | None,
) -> Floats:
    """The covariance within classes, shrunk."""
    if given is not None:
        return np.einsum("k,kij->ij", priors, given[0])
    shrink = unit_shrunk if settings.shrinkage == "auto" else shrunk
    amounts = _amounts(rows, classes, settings.shrinkage)
    moved = [shrink(S, a) if a else S for S, a in zip(classes.covariance, amounts, strict=True)]
    return np.einsum("k,kij->ij", priors, np.array(moved))


def _of_all(
    settings: LinearSettings, classes: Classes, rows: Rows | None, given: tuple[Floats, Floats] | None
) -> Floats:
    """The covariance of all rows, shrunk as one class."""
    if given is not None:
        return given[1]
    whole, all_rows = classes.together(), None if rows is None else as_one_class(rows)
    shrink = unit_shrunk if settings.shrinkage == "auto" else shrunk
    return shrink(whole.covariance[0], float(_amounts(all_rows, whole, settings.shrinkage)[0]))


class Deficient(ValueError):
    """A class whose covariance is not of full rank, by its number."""

    def __init__(self, number: int) -> None:
        super().__init__(f"The covariance of class {number} is not of full rank.")
        self.number = number


@dataclass(frozen=True)
class QuadraticSettings:
    """How covariances of classes are regularised: moved to the identity by the share `added`, or where that is None
    towards spheres; the least variance that counts; whether covariances are stored; and the priors that were given.
    """

    added: float | None
    shrinkage: Any
    tol: float
    store_covariance: bool
    priors: Floats | None


def fit_quadratic(
    settings: QuadraticSettings,
    sums: GroupedMoments,
    rows: Rows | None,
    priors: Floats,
    given: Floats | None,
) -> tuple[judge.Quadratic, Certificate]:
    """`given` are covariances (k, p, p) that another estimator has found."""
    classes = Classes.of(sums)
    found = [_regularised(S, settings.added) for S in _covariances(settings, classes, rows, given)]
    for k, (variances, _) in enumerate(found):
        if np.sum(variances > settings.tol) < len(variances):
            raise Deficient(k)
    stored = judge.Quadratic(
        classes.mean,
        priors,
        [variances for variances, _ in found],
        [axes for _, axes in found],
        [axes * variances @ axes.T for variances, axes in found] if settings.store_covariance else None,
    )
    certificate = judge.quadratic(
        rows,
        sums,
        stored,
        shrinkage=settings.shrinkage,
        added=settings.added,
        given=given,
        priors=settings.priors,
        note=PARTS if rows is None else "",
    )
    return stored, certificate


def _covariances(settings: QuadraticSettings, classes: Classes, rows: Rows | None, given: Floats | None) -> Floats:
    """Moved towards spheres, or as given."""
    if given is not None:
        return given
    if settings.added is not None:
        return classes.covariance
    shrink = unit_shrunk if settings.shrinkage == "auto" else shrunk
    amounts = _amounts(rows, classes, settings.shrinkage)
    return np.array([shrink(S, a) for S, a in zip(classes.covariance, amounts, strict=True)])


def _regularised(S: Floats, added: float | None) -> tuple[Floats, Floats]:
    variances, axes = axes_of(S)
    return variances if added is None else (1.0 - added) * np.maximum(variances, 0.0) + added, axes


class PlugIn(NamedTuple):
    """Means (k, p), the covariance (p, p) of all classes or (k, p, p) of each, and of two classes with one covariance
    weights (1, p) and intercept (1,) of the second against the first.
    """

    mean: Floats
    covariance: Floats
    linear: tuple[Floats, Floats] | None


def fit_plug_in(
    sums: GroupedMoments,
    rows: Rows | None,
    priors: Floats,
    *,
    kind: str,
    wishart: float | None,
    given: Floats | None,
    names: Sequence[Any],
) -> tuple[PlugIn, Certificate]:
    """Of one covariance for each class ("class"), for all ("shared"), or a multiple of the identity ("spherical");
    `given` are the priors that were given, `names` those of the classes.
    """
    classes = Classes.of(sums)
    pooled, total = classes.pooled(classes.weight / classes.weight.sum()), float(classes.weight.sum())
    if kind == "class":
        pairs = zip(classes.covariance, classes.weight, strict=True)
        covariance = np.array([posterior_mode(S, w, wishart) for S, w in pairs])
    elif kind == "spherical":
        p = len(pooled)
        covariance = posterior_mode(np.trace(pooled) / p * np.eye(p), total, wishart)
    else:
        covariance = posterior_mode(pooled, total, wishart)
    factors_of(covariance, names)
    linear = None
    if len(priors) == 2 and kind != "class":
        found = by_solving(classes, covariance, priors)
        linear = np.diff(found.coef, axis=0), np.diff(found.intercept)
    certificate = judge.plug_in(
        rows,
        sums,
        covariance,
        kind=kind,
        wishart=wishart,
        mean=classes.mean,
        shares=priors,
        linear=linear,
        priors=given,
        note=PARTS if rows is None else "",
    )
    return PlugIn(classes.mean, covariance, linear), certificate


def factors_of(covariance: Floats, names: Sequence[Any]) -> tuple[Floats, Floats]:
    """Triangles (k, p, p) and log determinants (k,) of classes of these names, from the covariance of all or of each;
    refuses one that is not positive definite.
    """
    each = covariance if covariance.ndim == 3 else covariance[None, :, :]
    found = []
    for S, name in zip(each, names if covariance.ndim == 3 else ["of all classes"], strict=True):
        variances, axes = axes_of(S)
        if not variances[-1] > np.finfo(np.float64).eps * len(S) * max(variances[0], 0.0):
            raise TooFewRows(
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
        z = times(X, Params(self.coef, np.where(none, 0.0, self.intercept)))
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
        z = quadratics(X, self.mean, self.factors)
        z *= -0.5
        z += like(self.offset, z)
        return z
