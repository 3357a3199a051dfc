"""Gaussian classes fitted from their moments: linear and quadratic discriminants as they will be stored, judged by the
rows, or by the moments where these came in parts and the rows are gone.
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
from tenfold.plans.by_class import PARTS
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
from tenfold.stats.within_class_scatter import WithinMoments


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


def _amounts(rows: Rows | None, classes: Classes, shrinkage: Any) -> Floats:
    """How far covariances are moved towards spheres, (k,): not where `shrinkage` is None, else by it, or as Ledoit and
    Wolf say where it is "auto".
    """
    if shrinkage == "auto":
        assert rows is not None  # which must come at once
        return ledoit_wolf(rows, classes)
    return np.full(len(classes.weight), 0.0 if shrinkage is None else float(shrinkage))
