"""Plans of linear and quadratic discriminants: fitted from class moments, in the precision of storage, and judged by
the rows, or by the moments after a `partial_fit`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, wide
from tenfold.data import Rows
from tenfold.judge import gaussian_classes as judge
from tenfold.judge.certificate import Certificate
from tenfold.judge.discriminant import Stored
from tenfold.plans.class_statistics import PARTS_NOTE
from tenfold.plans.discriminant import (
    Classes,
    axes_of,
    by_eigenvectors,
    by_solving,
    by_whitening,
    factors_of,
    ledoit_wolf,
    posterior_mode,
    shrunk,
    unit_shrunk,
)
from tenfold.stats.class_totals import as_one_class
from tenfold.stats.moments import GroupedMoments
from tenfold.stats.within_class_scatter import WithinMoments, WithinScatter


@dataclass(frozen=True)
class LinearSettings:
    """Settings of a linear discriminant: the solver, whitening ("svd"), least squares ("lsqr") or eigenvectors
    ("eigen"); shrinkage; the number of directions; the tolerance of their standard deviation; and given priors.
    """

    solver: str
    shrinkage: Any
    components: int
    tol: float
    priors: Floats | None


class FittedLinear(NamedTuple):
    """The fitted arrays in float64: means, priors, weights and intercepts, for two classes those of the second against
    the first; the covariance within classes, directions with their explained variance ratios, and the centre of the
    means, where the solver computes them; and the certificate.
    """

    scores: Stored
    covariance: Floats | None
    axes: judge.Axes | None
    centre: Floats | None
    certificate: Certificate


def fit_linear(
    settings: LinearSettings,
    sums: GroupedMoments | WithinScatter,
    rows: Rows | None,
    priors: Floats,
    given: tuple[Floats, Floats] | None,
    dtype: Any,
) -> FittedLinear:
    """Fit from class moments or pooled ones; `given` are covariances (k, p, p) of the classes and (p, p) of all samples
    from a covariance estimator.
    """
    pooled = sums if isinstance(sums, WithinScatter) else WithinMoments.of(sums)
    S = None
    if isinstance(sums, WithinScatter):
        discriminant = by_whitening(pooled, priors, settings.components, settings.tol)
    else:
        classes = Classes.of(sums)
        S = _within(settings, classes, rows, priors, given)
        if settings.solver == "svd":
            discriminant = by_whitening(pooled, priors, settings.components, settings.tol)
        elif settings.solver == "lsqr":
            discriminant = by_solving(classes, S, priors)
        else:
            discriminant = by_eigenvectors(
                classes, S, _total(settings, classes, rows, given), priors, settings.components
            )
    coef, intercept = discriminant.coef, discriminant.intercept
    if len(priors) == 2:
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]

    def convert(part: Floats) -> Floats:
        return wide(part.astype(dtype))

    scores = Stored(convert(pooled.mean), convert(priors), convert(coef), convert(intercept), dtype)
    axes = None
    if discriminant.directions is not None and discriminant.shares is not None:
        axes = convert(discriminant.directions), convert(discriminant.shares)
    covariance, note = None if S is None else convert(S), PARTS_NOTE if rows is None else ""
    if settings.solver == "svd":
        assert axes is not None
        centre = convert(priors @ pooled.mean)
        certificate = judge.svd_discriminant(
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
    certificate = judge.solver_discriminant(
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


def _total(
    settings: LinearSettings, classes: Classes, rows: Rows | None, given: tuple[Floats, Floats] | None
) -> Floats:
    """The covariance of all samples, shrunk as one class."""
    if given is not None:
        return given[1]
    whole, all_rows = classes.merge_classes(), None if rows is None else as_one_class(rows)
    shrink = unit_shrunk if settings.shrinkage == "auto" else shrunk
    return shrink(whole.covariance[0], float(_amounts(all_rows, whole, settings.shrinkage)[0]))


class Deficient(ValueError):
    """The covariance of the class with this index is singular."""

    def __init__(self, number: int) -> None:
        super().__init__(f"The covariance of class {number} is not of full rank.")
        self.number = number


@dataclass(frozen=True)
class QuadraticSettings:
    """Settings of a quadratic discriminant: regularisation by (1 - added) S + added I, or by shrinkage where `added` is
    None; the tolerance of variances; whether covariances are stored; and given priors.
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
    """Fit from class moments; `given` are covariances (k, p, p) from a covariance estimator."""
    classes = Classes.of(sums)
    spectra = [_regularize(S, settings.added) for S in _covariances(settings, classes, rows, given)]
    for k, (variances, _) in enumerate(spectra):
        if np.sum(variances > settings.tol) < len(variances):
            raise Deficient(k)
    stored = judge.Quadratic(
        classes.mean,
        priors,
        [variances for variances, _ in spectra],
        [axes for _, axes in spectra],
        [axes * variances @ axes.T for variances, axes in spectra] if settings.store_covariance else None,
    )
    certificate = judge.quadratic(
        rows,
        sums,
        stored,
        shrinkage=settings.shrinkage,
        added=settings.added,
        given=given,
        priors=settings.priors,
        note=PARTS_NOTE if rows is None else "",
    )
    return stored, certificate


def _covariances(settings: QuadraticSettings, classes: Classes, rows: Rows | None, given: Floats | None) -> Floats:
    """The class covariances, shrunk or given."""
    if given is not None:
        return given
    if settings.added is not None:
        return classes.covariance
    shrink = unit_shrunk if settings.shrinkage == "auto" else shrunk
    amounts = _amounts(rows, classes, settings.shrinkage)
    return np.array([shrink(S, a) for S, a in zip(classes.covariance, amounts, strict=True)])


def _regularize(S: Floats, added: float | None) -> tuple[Floats, Floats]:
    variances, axes = axes_of(S)
    return variances if added is None else (1.0 - added) * np.maximum(variances, 0.0) + added, axes


class PlugIn(NamedTuple):
    """Means (k, p), one covariance (p, p) or one for each class (k, p, p), and for two classes with one covariance the
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
    """Fit with one covariance for each class ("class"), for all ("shared"), or a multiple of the identity
    ("spherical"), or the identity ("unit"); `given` are given priors, `names` the class names.
    """
    classes = Classes.of(sums)
    pooled, total = classes.pool(classes.weight / classes.weight.sum()), float(classes.weight.sum())
    if kind == "class":
        pairs = zip(classes.covariance, classes.weight, strict=True)
        covariance = np.array([posterior_mode(S, w, wishart) for S, w in pairs])
    elif kind == "unit":
        covariance = np.eye(len(pooled))
    elif kind == "spherical":
        p = len(pooled)
        covariance = posterior_mode(np.trace(pooled) / p * np.eye(p), total, wishart)
    else:
        covariance = posterior_mode(pooled, total, wishart)
    factors_of(covariance, names)
    linear = None
    if len(priors) == 2 and kind != "class":
        discriminant = by_solving(classes, covariance, priors)
        linear = np.diff(discriminant.coef, axis=0), np.diff(discriminant.intercept)
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
        note=PARTS_NOTE if rows is None else "",
    )
    return PlugIn(classes.mean, covariance, linear), certificate


def _amounts(rows: Rows | None, classes: Classes, shrinkage: Any) -> Floats:
    """Amounts of shrinkage (k,): zero where `shrinkage` is None, Ledoit-Wolf where it is "auto", else its value."""
    if shrinkage == "auto":
        assert rows is not None  # partial_fit excludes shrinkage='auto'
        return ledoit_wolf(rows, classes)
    return np.full(len(classes.weight), 0.0 if shrinkage is None else float(shrinkage))
