"""Discriminants judged without a matrix of products of columns.

Means are judged by sums about them. A covariance S is never formed: its products with a few vectors come from two
products of the rows, S v = sum w (x - m) ((x - m)'v). What is stored is then asked for the same products: weights of a
linear discriminant must solve S (w_c - w_0) = m_c - m_0, axes and variances of a class must give what its covariance
gives.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.exact import Pair, exact
from tenfold.stats import (
    ClassErrors,
    GroupedMoments,
    class_errors,
    class_products,
    fourth_powers,
    pooled_products,
)

ROUNDING = 512.0 * unit_roundoff(np.float64)

PROBES = 4
"""So many vectors are a covariance's witnesses."""


@dataclass(frozen=True)
class Witness:
    """What the rows say of the classes: weights (k,), means away from the stored ones and variances (k, p), and the
    products (k, q, p) of their covariances with vectors of each, or (q, p) of their sum by factors (k,) with the same
    ones.
    """

    weight: Floats
    away: Floats
    variance: Floats
    products: Callable[[Floats], Floats]
    pooled_products: Callable[[Floats, Floats], Floats]

    @classmethod
    def of_rows(cls, rows: Rows, mean: Floats, vectors: Floats | None = None) -> "Witness":
        """`vectors` (k, q, p), or (1, q, p) of all classes, are those whose products will be asked for: of dense rows
        one pass has everything then.
        """
        mean, vectors = np.ascontiguousarray(mean), None if vectors is None else np.ascontiguousarray(vectors)
        found: ClassErrors = rows.fold(class_errors(mean, vectors))
        total = np.where(found.weight > 0.0, found.weight, 1.0)
        away = found.sums / total[:, None]
        variance = np.maximum(found.squares / total[:, None] - away**2, 0.0)

        def known(asked: Floats) -> Floats | None:
            some = vectors is not None and found.products.size > 0 and np.array_equal(asked, vectors)
            return found.products if some else None

        def products(asked: Floats) -> Floats:
            if asked.shape[1] == 0:
                return asked
            sums = known(asked)
            if sums is None:
                sums = rows.fold(class_products(mean, np.ascontiguousarray(asked))).products
            along = np.einsum("kqp,kp->kq", asked, away)
            return sums / total[:, None, None] - along[:, :, None] * away[:, None, :]

        def pooled(factors: Floats, asked: Floats) -> Floats:
            if not len(asked):
                return asked
            by_class = known(asked[None])
            if by_class is None:
                sums = rows.fold(pooled_products(mean, factors / total, np.ascontiguousarray(asked))).sum
            else:
                sums = np.einsum("k,kqp->qp", factors / total, by_class)
            return sums - np.einsum("k,qk,kp->qp", factors, asked @ away.T, away)

        return cls(found.weight, away, variance, products, pooled)

    @classmethod
    def of_moments(cls, moments: GroupedMoments, mean: Floats) -> "Witness":
        """Where the rows are gone."""
        groups = moments.groups
        weight = np.array([group.weight for group in groups])
        covariance = np.array([group.covariance() if group.weight > 0.0 else 0.0 * group.XX for group in groups])
        known = (weight > 0.0)[:, None]
        away = np.where(known, np.array([group.mean for group in groups]) - mean, 0.0)
        variance = np.einsum("kii->ki", covariance)
        return cls(
            weight,
            away,
            variance,
            lambda vectors: np.einsum("kqp,kpr->kqr", vectors, covariance),
            lambda factors, vectors: vectors @ np.einsum("k,kpr->pr", factors, covariance),
        )

    @property
    def shares(self) -> Floats:
        return self.weight / self.weight.sum()

    def pooled(self, priors: Floats) -> Floats:
        """Variances of the columns within classes."""
        return np.einsum("k,kp->p", priors, self.variance)


Products = Callable[[Floats], Floats]
"""S v of the rows v (q, p)."""


def within(witness: Witness, priors: Floats, amounts: Floats, unit: bool) -> Products:
    """Products with the mean of the covariances by the priors, each moved towards a sphere by its amount: on columns of
    unit variance, or on those of the data.
    """

    def times(v: Floats) -> Floats:
        spheres = [_sphere(own, unit) for own in witness.variance]
        return (
            witness.pooled_products(priors * (1.0 - amounts), v) + np.einsum("k,kp->p", priors * amounts, spheres) * v
        )

    return times


def _sphere(variance: Floats, unit: bool) -> Floats:
    """The diagonal of what a covariance is moved towards."""
    if unit:  # of unit variance are the columns that vary
        return np.where(variance > 0.0, variance, 1.0) * np.count_nonzero(variance) / len(variance)
    return np.full(len(variance), variance.mean())


def shrunk_products(amounts: Floats, unit: bool, product: Floats, v: Floats, variance: Floats) -> Floats:
    """Products (k, q, p) with covariances that are moved towards spheres by their amounts."""
    spheres = np.array([_sphere(own, unit) for own in variance])
    a = amounts[:, None, None]
    return (1.0 - a) * product + a * spheres[:, None, :] * v


def plug_in(
    seen: Witness, stored: Floats, *, kind: str, prior: float | None, mean: Floats, note: str = ""
) -> Certificate:
    """The certificate of Gaussian classes: covariances (p, p), or (k, p, p) where `kind` is "class", by maximum
    likelihood or with a Wishart prior of a weight.
    """
    weight, variance = seen.weight, seen.pooled(seen.shares)[None, :]
    if kind == "class":
        return quadratic(
            seen,
            lambda v: np.einsum("kqp,kpr->kqr", v, stored),
            mean=mean,
            expected=lambda product, v, _: _posterior(product, v, weight, prior),
            note=note,
        )
    spread = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    v = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, mean.shape[1])) / spread
    product = np.mean(variance) * v if kind == "spherical" else seen.pooled_products(seen.shares, v)
    again = _posterior(product[None], v[None], np.array([weight.sum()]), prior)[0]
    size = np.sqrt(np.mean(mean**2 + seen.variance, axis=0))
    pairs: dict[str, Pair] = {
        "means": (seen.away, np.zeros_like(seen.away), np.where(size > 0.0, size, 1.0)),
        "covariance": (v @ stored, again, np.maximum(spread, np.abs(again)) * np.sqrt(mean.shape[1])),
    }
    return exact(pairs, floor=ROUNDING, note=note)


def _posterior(product: Floats, v: Floats, weight: Floats, prior: float | None) -> Floats:
    if prior is None:
        return product
    n = weight[:, None, None]
    return (prior * v + n * product) / (prior + n - v.shape[-1] - 1.0)


def ledoit_wolf(rows: Rows, classes: int) -> Floats:
    """The amounts of Ledoit and Wolf (2004), formed again from moments: with z the rows of unit variance, the squared
    distance of z z' from its mean C in parts of that of C from the sphere.
    """
    groups = rows.fold(GroupedMoments.lifter(classes)).groups
    covariance = np.array([group.covariance() for group in groups])
    scale = np.sqrt(np.einsum("kii->ki", covariance))
    unit = np.where(scale > 0.0, 1.0 / np.where(scale > 0.0, scale, 1.0), 0.0)
    mean = np.array([group.mean for group in groups])
    powers = rows.fold(fourth_powers(mean, unit)).sum
    amounts = []
    for group, S, u, power in zip(groups, covariance, unit, powers, strict=True):
        C, p = S * np.outer(u, u), len(S)
        sphere = float(np.sum((C - np.trace(C) / p * np.eye(p)) ** 2))
        noise = (power / group.weight - float(np.sum(C**2))) / group.weight
        amounts.append(min(max(noise, 0.0), sphere) / sphere if sphere > 0.0 and p > 1 else 0.0)
    return np.array(amounts)


class Stored(NamedTuple):
    """Of a linear discriminant: means (k, p) and priors (k,) of the classes; weights (k, p) and intercepts (k,), or (1,
    p) and (1,) of the second of two classes against the first; and the precision that they are stored in.
    """

    mean: Floats
    priors: Floats
    coef: Floats
    intercept: Floats
    dtype: Any = np.float64

    def against_first(self) -> tuple[Floats, Floats]:
        """Weights and intercepts of the classes after the first against it."""
        w, b = np.atleast_2d(self.coef), np.ravel(self.intercept)
        return (w, b) if len(w) < len(self.mean) else (w[1:] - w[0], b[1:] - b[0])


def asked_of_weights(coef: Floats, axes: Floats | None = None) -> list[Floats]:
    """What the covariance is multiplied by, (q, p) each: weights of the classes against the first, and axes (p, r)
    where there are some.
    """
    coef = np.atleast_2d(coef)
    return [coef if len(coef) == 1 else coef[1:] - coef[0], *([] if axes is None else [axes.T])]


def linear(
    seen: Witness,
    products: Products,
    stored: Stored,
    variance: Floats,
    axes: Floats | None = None,
    shares: Floats | None = None,
    note: str = "",
) -> Certificate:
    """The certificate of weights that solve S (w_c - w_0) = m_c - m_0, and of `axes` (p, r) that have unit variance
    within classes; with the `shares` of the classes, where no shrinkage moves them, of axes with B v = l S v, B the
    covariance of the means. `variance` (p,) are the units of the columns.
    """
    mean, (w, _) = stored.mean, stored.against_first()
    asked = asked_of_weights(stored.coef, axes)
    images = np.split(products(np.vstack(asked)), np.cumsum([len(part) for part in asked])[:-1])
    between, spread = mean[1:] - mean[0], np.sqrt(variance)
    scale = spread[None, :] * np.maximum(np.sum(spread * np.abs(w), axis=1), 1e-300)[:, None]
    left = images[0] - between
    scale = np.where(scale > 0.0, scale, np.max(np.abs(between), initial=0.0) + 1e-300)
    pairs: dict[str, Pair] = {"weights": (left, np.zeros_like(left), scale)}
    if axes is not None and axes.size:
        pairs["axes"] = (axes.T @ images[-1].T, np.eye(axes.shape[1]), 1.0)
        if shares is not None:
            pairs |= _telling(images[-1], axes, mean, shares, stored, spread)
    return of_scores(seen.away, seen.variance, stored, spread, pairs, note)


def _telling(
    images: Floats, axes: Floats, mean: Floats, shares: Floats, stored: Stored, spread: Floats
) -> dict[str, Pair]:
    """Axes as eigenvectors, the largest value first; where there are as many as the means have directions, their values
    sum up to what the weights, judged beside, say of all: the mean of (m_c - m)'w_c.
    """
    centred = mean - shares @ mean
    along = centred @ axes
    values = np.einsum("k,kr,kr->r", shares, along, along)
    left = np.einsum("k,kr,kp->rp", shares, along, centred) - values[:, None] * images
    unit = np.where(spread > 0.0, spread, 1.0)
    largest = max(float(np.max(values, initial=0.0)), 1.0)
    pairs: dict[str, Pair] = {
        "eigenvectors": (left / unit, np.zeros_like(left), largest),
        "order of the axes": ordered(axes, mean, shares),
    }
    if axes.shape[1] == min(len(mean) - 1, mean.shape[1]):
        w = np.vstack([np.zeros_like(mean[:1]), stored.against_first()[0]])
        total = float(np.einsum("k,kp,kp->", shares, centred, w))
        pairs["values"] = (np.sum(values), np.asarray(total), max(total, 1.0))
    return pairs


def ordered(V: Floats, mean: Floats, shares: Floats) -> Pair:
    """The covariance of the means, by their shares, along directions: diagonal, the largest first."""
    z = np.sqrt(shares)[:, None] * (mean - shares @ mean) @ V
    between = z.T @ z
    along = np.diag(between)
    expected = np.diag(np.minimum.accumulate(along)) if along.size else between
    return between, expected, max(float(np.max(along, initial=0.0)), 1.0)


def of_scores(
    away: Floats, variance: Floats, stored: Stored, spread: Floats, pairs: dict[str, Pair], note: str
) -> Certificate:
    """With the means, which are to be `away` by nothing, and the intercepts that follow from the weights."""
    mean, (w, b) = stored.mean, stored.against_first()
    middle = b + np.einsum("kp,kp->k", w, 0.5 * (mean[1:] + mean[0]))
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(stored.priors[1:]) - np.log(stored.priors[0])
    size = np.sqrt(np.mean(mean**2 + variance, axis=0))
    means: Pair = (away, np.zeros_like(away), np.where(size > 0.0, size, 1.0))
    intercepts: Pair = (middle, odds, 1.0 + np.abs(middle - b) + np.abs(b))
    floor = max(ROUNDING, 16.0 * unit_roundoff(stored.dtype) * _amplified(w, spread, mean))
    return exact({"means": means, **pairs, "intercepts": intercepts}, floor=floor, note=note)


def _amplified(w: Floats, spread: Floats, mean: Floats) -> float:
    """How much larger the terms of a score are than the score: rounding of stored weights is so much amplified."""
    terms = np.sum(np.abs(w) * (spread + np.max(np.abs(mean), axis=0)), axis=1)
    return float(1.0 + np.max(terms, initial=0.0))


def probes(variance: Floats) -> Floats:
    """Vectors (k, q, p) of random signs, in units of variances (k, p) of the columns."""
    spread = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    return np.random.default_rng(0).choice([-1.0, 1.0], (len(spread), PROBES, spread.shape[1])) / spread[:, None, :]


def quadratic(
    seen: Witness,
    stored: Callable[[Floats], Floats],
    *,
    mean: Floats,
    expected: Callable[[Floats, Floats, Floats], Floats],
    variance: Floats | None = None,
    dtype: Any = np.float64,
    note: str = "",
) -> Certificate:
    """The certificate of covariances of classes: `stored(v)` are their products with vectors (k, q, p), `expected(S v,
    v, variances)` what these should be, given those of the rows. `variance` (k, p) are the units of the vectors, else
    those of the rows.
    """
    p, variance = mean.shape[1], seen.variance if variance is None else variance
    spread, vectors = np.sqrt(np.where(variance > 0.0, variance, 1.0)), probes(variance)
    again = expected(seen.products(vectors), vectors, seen.variance)
    size = np.sqrt(np.mean(mean**2 + seen.variance, axis=0))
    pairs = {
        "means": (seen.away, np.zeros_like(seen.away), np.where(size > 0.0, size, 1.0)),
        "covariances": (stored(vectors), again, np.maximum(spread[:, None, :], np.abs(again)) * np.sqrt(p)),
    }
    return exact(pairs, floor=max(ROUNDING, 16.0 * p * unit_roundoff(dtype)), note=note)
