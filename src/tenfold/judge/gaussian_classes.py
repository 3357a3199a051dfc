"""Gaussian classes judged as they are stored, by the rows, or by the sums where the rows are gone."""

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
"""Directions (p, r), and their shares of what lies between classes."""


def whitened(
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
    """Of a linear discriminant along directions of unit variance within classes; of its `covariance` where that is
    stored beside. `priors` are those given.
    """
    (V, shares), mean = axes, stored.mean
    seen = along.Along.of_moments(sums, mean, V) if rows is None else along.Along.of_rows(rows, mean, V)
    more = {"priors": judge.judge_priors(stored.priors, seen.weight, priors)}
    if covariance is not None:
        asked = judge.probes(seen.within[None])[0]
        images = _witness(rows, sums, mean, asked[None]).pooled_products(stored.priors, asked)
        more |= judge.judge_covariance(covariance, asked, images, np.sqrt(seen.within))
    return along.whitened(seen, stored, V, tol, centre=centre, shares=shares, more=more, note=note)


def solved(
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
    """Of a linear discriminant whose weights solve S w = m, with the covariance S within classes; `axes` are those of
    all samples with respect to S, None where they are not stored. Covariances are moved towards spheres, or `given`:
    within classes, and of all samples. `priors` are those given.
    """
    against, mean = stored.against_first()[0], stored.mean
    asked = np.vstack([against, *(() if axes is None else (axes[0].T,)), judge.probes(np.diag(covariance)[None])[0]])
    seen = _witness(rows, sums, mean, asked[None])
    if given is None:
        unit = shrinkage == "auto"
        amounts = _amounts(rows, len(mean), shrinkage)
        within = judge.within(seen, asked, stored.priors, amounts, unit)
        of_all = within
        if axes is not None:
            amount = _amounts(as_one_class(rows), 1, shrinkage)[0] if unit and rows is not None else amounts[0]
            of_all = judge.of_all(seen, asked, mean, float(amount), unit)
    else:
        within, of_all = asked @ given[0], asked @ given[1]
    more = {"priors": judge.judge_priors(stored.priors, seen.weight, priors)}
    return judge.linear(seen, asked, (within, of_all), stored, covariance, axes, more, note)


class Quadratic(NamedTuple):
    """Means (k, p) and priors (k,) of classes, and of each the variances (p,) along axes (p, p); covariances (p, p)
    where they are stored beside.
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
    """Of covariances that are moved towards spheres, or to the identity by the share `added`, or `given` (k, p, p).
    `priors` are those given.
    """
    expected: Callable[[Floats, Floats, Floats], Floats]
    if given is not None:
        expected = partial(_given_products, given)
    elif added is not None:
        expected = partial(_regularised_products, added)
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
    """Of covariances by maximum likelihood or with a prior, and of the priors `shares` of the classes; `linear` are
    weights and intercept of two classes. `priors` are those given.
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
    """With the `vectors` whose products will be asked for."""
    return judge.Witness.of_moments(sums, mean) if rows is None else judge.Witness.of_rows(rows, mean, vectors)


def _amounts(rows: Rows | None, classes: int, shrinkage: Any) -> Floats:
    """How far covariances are to be moved towards spheres."""
    if shrinkage == "auto" and rows is not None:
        return judge.ledoit_wolf(rows, classes)
    return np.full(classes, 0.0 if shrinkage is None else float(shrinkage))


def _products(stored: Quadratic, v: Floats) -> Floats:
    return np.array([(part @ R * s) @ R.T for part, s, R in zip(v, stored.variances, stored.axes, strict=True)])


def _regularised_products(amount: float, product: Floats, v: Floats, variance: Floats) -> Floats:
    return (1.0 - amount) * product + amount * v


def _given_products(covariance: Floats, product: Floats, v: Floats, variance: Floats) -> Floats:
    return np.einsum("kqp,kpr->kqr", v, covariance)
