"""Certificates of fitted discriminants, by the rows, or by the class moments after a `partial_fit`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.judge import discriminant as judge
from tenfold.judge import lda_directions as along
from tenfold.judge.certificate import Certificate
from tenfold.stats.class_totals import as_one_class

Axes = tuple[Floats, Floats]
"""Directions (p, r), and their explained variance ratios between classes."""


def svd_discriminant(
    rows: Rows | None,
    sums: Any,
    stored: judge.Stored,
    axes: Axes,
    tol: float,
    *,
    centre: Floats,
    covariance: Floats | None,
    priors: Floats | None,
    note: str = "",
) -> Certificate:
    """Certificate of a linear discriminant in directions of unit variance within classes, and of its `covariance` where
    that is stored. `priors` are given ones.
    """
    (V, shares), mean = axes, stored.mean
    seen = (
        along.DirectionStatistics.of_moments(sums, mean, V)
        if rows is None
        else along.DirectionStatistics.of_rows(rows, mean, V)
    )
    more = {"priors": judge.judge_priors(stored.priors, seen.weight, priors)}
    if covariance is not None:
        probes = judge.probes(seen.within[None])[0]
        images = _witness(rows, sums, mean, probes[None]).pooled_products(stored.priors, probes)
        more |= judge.judge_covariance(covariance, probes, images, np.sqrt(seen.within))
    return along.judge_directions(seen, stored, V, tol, centre=centre, shares=shares, more=more, note=note)


def solver_discriminant(
    rows: Rows | None,
    sums: Any,
    stored: judge.Stored,
    axes: Axes | None,
    *,
    covariance: Floats,
    shrinkage: Any,
    given: tuple[Floats, Floats] | None,
    priors: Floats | None,
    note: str = "",
) -> Certificate:
    """Certificate of a linear discriminant whose weights solve S w = m, with the covariance S within classes; `axes`
    are generalised eigenvectors of the covariance of all samples with respect to S, or None. Covariances are shrunk, or
    `given`: within classes, and of all samples. `priors` are given ones.
    """
    against, mean = stored.against_first()[0], stored.mean
    vectors = np.vstack([against, *(() if axes is None else (axes[0].T,)), judge.probes(np.diag(covariance)[None])[0]])
    seen = _witness(rows, sums, mean, vectors[None])
    if given is None:
        unit = shrinkage == "auto"
        amounts = _amounts(rows, len(mean), shrinkage)
        within = judge.within(seen, vectors, stored.priors, amounts, unit)
        of_all = within
        if axes is not None:
            amount = _amounts(as_one_class(rows), 1, shrinkage)[0] if unit and rows is not None else amounts[0]
            of_all = judge.total_products(seen, vectors, mean, float(amount), unit)
    else:
        within, of_all = vectors @ given[0], vectors @ given[1]
    more = {"priors": judge.judge_priors(stored.priors, seen.weight, priors)}
    return judge.linear(seen, vectors, (within, of_all), stored, covariance, axes, more, note)


class Quadratic(NamedTuple):
    """Fitted arrays of a quadratic discriminant: means (k, p), priors (k,), for each class variances (p,) along axes
    (p, p), and covariances (p, p) where stored.
    """

    mean: Floats
    priors: Floats
    variances: Sequence[Floats]
    axes: Sequence[Floats]
    covariances: Sequence[Floats] | None = None


def quadratic(
    rows: Rows | None,
    sums: Any,
    stored: Quadratic,
    *,
    shrinkage: Any,
    added: float | None,
    given: Floats | None,
    priors: Floats | None,
    note: str = "",
) -> Certificate:
    """Certificate of a quadratic discriminant with covariances that are shrunk, regularised by (1 - added) S + added I,
    or `given` (k, p, p). `priors` are given ones.
    """
    expected: Callable[[Floats, Floats, Floats], Floats]
    if given is not None:
        expected = partial(_multiply_given, given)
    elif added is not None:
        expected = partial(_regularize_products, added)
    else:
        expected = partial(judge.shrunk_products, _amounts(rows, len(stored.variances), shrinkage), shrinkage == "auto")
    variance = np.array([R**2 @ s for s, R in zip(stored.variances, stored.axes, strict=True)])
    seen = _witness(rows, sums, stored.mean, judge.probes(variance))
    return judge.quadratic(
        seen,
        partial(_products, stored),
        mean=stored.mean,
        expected=expected,
        variance=variance,
        dense=stored.covariances,
        more={
            "priors": judge.judge_priors(stored.priors, seen.weight, priors, False),
            "axes": judge.orthonormal(stored.axes),
        },
        note=note,
    )


def plug_in(
    rows: Rows | None,
    sums: Any,
    covariance: Floats,
    *,
    kind: str,
    wishart: float | None,
    mean: Floats,
    shares: Floats,
    linear: tuple[Floats, Floats] | None,
    priors: Floats | None,
    note: str = "",
) -> Certificate:
    """Certificate of covariances by maximum likelihood or with a prior, and of the stored priors `shares`; `linear` are
    the weights and intercept of two classes. `priors` are given ones.
    """
    seen = _witness(rows, sums, mean)
    return judge.plug_in(
        seen,
        covariance,
        kind=kind,
        prior=wishart,
        mean=mean,
        more={"priors": judge.judge_priors(shares, seen.weight, priors)},
        linear=None if linear is None else (*linear, shares),
        note=note,
    )


def _witness(rows: Rows | None, sums: Any, mean: Floats, vectors: Floats | None = None) -> judge.Witness:
    """The statistics of the rows or moments, with products with `vectors`."""
    return judge.Witness.of_moments(sums, mean) if rows is None else judge.Witness.of_rows(rows, mean, vectors)


def _amounts(rows: Rows | None, classes: int, shrinkage: Any) -> Floats:
    """The expected amounts of shrinkage."""
    if shrinkage == "auto" and rows is not None:
        return judge.ledoit_wolf(rows, classes)
    return np.full(classes, 0.0 if shrinkage is None else float(shrinkage))


def _products(stored: Quadratic, v: Floats) -> Floats:
    return np.array([(part @ R * s) @ R.T for part, s, R in zip(v, stored.variances, stored.axes, strict=True)])


def _regularize_products(amount: float, product: Floats, v: Floats, variance: Floats) -> Floats:
    return (1.0 - amount) * product + amount * v


def _multiply_given(covariance: Floats, product: Floats, v: Floats, variance: Floats) -> Floats:
    return np.einsum("kqp,kpr->kqr", v, covariance)
