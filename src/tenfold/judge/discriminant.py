"""Certificates of discriminants without forming covariances.

Means are judged by sums about them. Products of a covariance S with a few vectors come from two products of the rows,
S v = sum w (x - m) ((x - m)'v), and are compared with those of the fitted arrays: weights of a linear discriminant must
solve S (w_c - w_0) = m_c - m_0, axes and variances of a class must give the products of its covariance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.recompute import Pair, exact
from tenfold.stats.class_totals import (
    ClassSumsAbout,
    class_scatter_products,
    class_sums_about,
    fourth_powers,
    sum_scatter_products,
)
from tenfold.stats.moments import GroupedMoments

ROUNDING = 512.0 * unit_roundoff(np.float64)  # relative error of a recomputed value

PROBES = 4  # random vectors by which a covariance is compared


@dataclass(frozen=True)
class Witness:
    """Class statistics of the rows: weights (k,), deviations of the means from the stored ones and variances (k, p),
    and functions for products (k, q, p) of the class covariances with vectors, or (q, p) of their weighted sum.
    """

    weight: Floats
    away: Floats
    variance: Floats
    products: Callable[[Floats], Floats]
    pooled_products: Callable[[Floats, Floats], Floats]

    @classmethod
    def of_rows(cls, rows: Rows, mean: Floats, vectors: Floats | None = None) -> "Witness":
        """Statistics about the stored means. Products with `vectors` (k, q, p), or (1, q, p) for all classes, are
        computed in the same pass where rows are dense.
        """
        mean, vectors = np.ascontiguousarray(mean), None if vectors is None else np.ascontiguousarray(vectors)
        errors: ClassSumsAbout = rows.fold(class_sums_about(mean, vectors))
        total = np.where(errors.weight > 0.0, errors.weight, 1.0)
        away = errors.sums / total[:, None]
        variance = np.maximum(errors.squares / total[:, None] - away**2, 0.0)

        def lookup(queries: Floats) -> Floats | None:
            some = vectors is not None and errors.products.size > 0 and np.array_equal(queries, vectors)
            return errors.products if some else None

        def products(queries: Floats) -> Floats:
            if queries.shape[1] == 0:
                return queries
            sums = lookup(queries)
            if sums is None:
                sums = rows.fold(class_scatter_products(mean, np.ascontiguousarray(queries))).products
            along = np.einsum("kqp,kp->kq", queries, away)
            return sums / total[:, None, None] - along[:, :, None] * away[:, None, :]

        def pool_products(factors: Floats, queries: Floats) -> Floats:
            if not len(queries):
                return queries
            by_class = lookup(queries[None])
            if by_class is None:
                sums = rows.fold(sum_scatter_products(mean, factors / total, np.ascontiguousarray(queries))).sum
            else:
                sums = np.einsum("k,kqp->qp", factors / total, by_class)
            return sums - np.einsum("k,qk,kp->qp", factors, queries @ away.T, away)

        return cls(errors.weight, away, variance, products, pool_products)

    @classmethod
    def of_moments(cls, moments: GroupedMoments, mean: Floats) -> "Witness":
        """Statistics from class moments."""
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

    def pool_variances(self, priors: Floats) -> Floats:
        """Variances of the columns within classes, averaged by the priors."""
        return np.einsum("k,kp->p", priors, self.variance)


def within(witness: Witness, v: Floats, priors: Floats, amounts: Floats, unit: bool) -> Floats:
    """Products (q, p) with the average of the class covariances by the priors, each shrunk by its amount; with `unit`
    for features of unit variance.
    """
    spheres = [_sphere(own, unit) for own in witness.variance]
    return witness.pooled_products(priors * (1.0 - amounts), v) + np.einsum("k,kp->p", priors * amounts, spheres) * v


def total_products(witness: Witness, v: Floats, mean: Floats, amount: float, unit: bool) -> Floats:
    """Products (q, p) with the shrunk covariance of all samples; `mean` (k, p) are the stored means."""
    shares = witness.shares
    centres = mean + witness.away
    centred = centres - shares @ centres
    # means of a constant feature differ by rounding only
    centred = np.where(
        np.abs(centred) > 16.0 * unit_roundoff(np.float64) * np.max(np.abs(centres), axis=0), centred, 0.0
    )
    product = witness.pooled_products(shares, v) + np.einsum("k,qk,kp->qp", shares, v @ centred.T, centred)
    variance = witness.pool_variances(shares) + shares @ centred**2
    return (1.0 - amount) * product + amount * _sphere(variance, unit) * v


def _sphere(variance: Floats, unit: bool) -> Floats:
    """The diagonal of the shrinkage target of a covariance."""
    if unit:  # unit variance, except of constant columns
        return np.where(variance > 0.0, variance, 1.0) * np.count_nonzero(variance) / len(variance)
    return np.full(len(variance), variance.mean())


def shrunk_products(amounts: Floats, unit: bool, product: Floats, v: Floats, variance: Floats) -> Floats:
    """Products (k, q, p) with shrunk class covariances."""
    spheres = np.array([_sphere(own, unit) for own in variance])
    a = amounts[:, None, None]
    return (1.0 - a) * product + a * spheres[:, None, :] * v


def judge_priors(stored: Floats, weight: Floats, given: Floats | None, normalise: bool = True) -> Pair:
    """The pair of stored priors and given ones, normalised, or class frequencies."""
    expected = weight if given is None else given
    total = float(np.sum(expected))
    if given is None or (normalise and abs(total - 1.0) > 1e-5):
        expected = expected / total
    return stored, expected, np.where(expected > 0.0, expected, 1.0)


def plug_in(
    seen: Witness,
    stored: Floats,
    *,
    kind: str,
    prior: float | None,
    mean: Floats,
    more: dict[str, Pair],
    linear: tuple[Floats, Floats, Floats] | None = None,
    note: str = "",
) -> Certificate:
    """Certificate of Gaussian classes: covariances (p, p), or (k, p, p) where `kind` is "class", by maximum likelihood
    or with a Wishart prior of a weight. For two classes with one covariance `linear` has weights (1, p), intercept
    (1,) and priors (2,).
    """
    weight, variance = seen.weight, seen.pool_variances(seen.shares)[None, :]
    if kind == "class":
        return quadratic(
            seen,
            lambda v: np.einsum("kqp,kpr->kqr", v, stored),
            mean=mean,
            expected=lambda product, v, _: _posterior(product, v, weight, prior),
            more={**more, "symmetry": (stored, np.swapaxes(stored, 1, 2), np.max(np.abs(stored), initial=1e-300))},
            note=note,
        )
    spread = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    v = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, mean.shape[1])) / spread
    product = np.mean(variance) * v if kind == "spherical" else seen.pooled_products(seen.shares, v)
    again = v if kind == "unit" else _posterior(product[None], v[None], np.array([weight.sum()]), prior)[0]
    size = np.sqrt(np.mean(mean**2 + seen.variance, axis=0))
    pairs: dict[str, Pair] = {
        "means": (seen.away, np.zeros_like(seen.away), np.where(size > 0.0, size, 1.0)),
        "covariance": (v @ stored, again, np.maximum(spread, np.abs(again)) * np.sqrt(mean.shape[1])),
        "symmetry": (stored, stored.T, np.max(np.abs(stored), initial=1e-300)),
        **more,
    }
    if linear is not None:
        pairs |= _second_against_first(stored, mean, *linear)
    return exact(pairs, floor=ROUNDING, note=note)


def _second_against_first(S: Floats, mean: Floats, coef: Floats, intercept: Floats, priors: Floats) -> dict[str, Pair]:
    """Pairs for the weights of the second class against the first, S w = m_1 - m_0, and their intercept."""
    w, between, spread = coef.reshape(-1), mean[1] - mean[0], np.sqrt(np.abs(np.diag(S)))
    terms = spread * float(np.sum(spread * np.abs(w)))
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(priors[1]) - np.log(priors[0])
    middle = 0.5 * (mean[0] + mean[1])
    size = 1.0 + float(np.sum(np.abs(w) * np.abs(middle))) + abs(float(intercept[0]))
    return {
        "weights": (S @ w, between, np.where(terms > 0.0, terms, 1.0)),
        "intercept": (np.asarray(intercept[0] + w @ middle), np.asarray(odds), size),
    }


def _posterior(product: Floats, v: Floats, weight: Floats, prior: float | None) -> Floats:
    if prior is None:
        return product
    n = weight[:, None, None]
    return (prior * v + n * product) / (prior + n - v.shape[-1] - 1.0)


def ledoit_wolf(rows: Rows, classes: int) -> Floats:
    """Ledoit-Wolf shrinkage (2004), recomputed from moments: with z the standardised rows, the mean squared distance of
    z z' from its mean C, relative to that of C from the shrinkage target.
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
    """Fitted arrays of a linear discriminant: means (k, p) and priors (k,); weights (k, p) and intercepts (k,), or (1,
    p) and (1,) of the second of two classes against the first; and their dtype.
    """

    mean: Floats
    priors: Floats
    coef: Floats
    intercept: Floats
    dtype: Any = np.float64

    def against_first(self) -> tuple[Floats, Floats]:
        """Weights and intercepts of all other classes against the first."""
        w, b = np.atleast_2d(self.coef), np.ravel(self.intercept)
        return (w, b) if len(w) < len(self.mean) else (w[1:] - w[0], b[1:] - b[0])


def linear(
    seen: Witness,
    vectors: Floats,
    images: tuple[Floats, Floats],
    stored: Stored,
    covariance: Floats,
    axes: tuple[Floats, Floats] | None,
    more: dict[str, Pair],
    note: str = "",
) -> Certificate:
    """Certificate of weights that solve S (w_c - w_0) = m_c - m_0, of the stored `covariance` S, and of `axes` (V,
    shares): T v = (1 + l) S v, v'S v = 1, the largest l first, and their fractions of the sum of the l. `images` are
    the products of S within classes, and of T of all samples, with `vectors`: the weights, the axes and `probes`.
    """
    mean, (w, _), spread = stored.mean, stored.against_first(), np.sqrt(seen.pool_variances(stored.priors))
    within, q, r = images[0], len(w), 0 if axes is None else axes[0].shape[1]
    between = mean[1:] - mean[0]
    scale = spread[None, :] * np.maximum(np.sum(spread * np.abs(w), axis=1), 1e-300)[:, None]
    left = within[:q] - between
    scale = np.where(scale > 0.0, scale, np.max(np.abs(between), initial=0.0) + 1e-300)
    pairs: dict[str, Pair] = {
        "weights": (left, np.zeros_like(left), scale),
        **judge_covariance(covariance, vectors[q + r :], within[q + r :], spread),
        **more,
    }
    if axes is not None:
        V, shares = axes
        whole = V.T @ images[1][q : q + r].T
        values = np.diag(whole) - 1.0
        largest = 1.0 + float(np.max(np.abs(values), initial=0.0))
        expected = 1.0 + np.minimum.accumulate(values)
        pairs["axes"] = (V.T @ within[q : q + r].T, np.eye(r), 1.0)
        pairs["eigenvectors"] = (whole, np.diag(expected), largest)
        total = float(np.sum(values))  # negative where shrinkage changes one covariance more than the other
        falling = np.sort(values)[:: -1 if total > 0.0 else 1]
        pairs["shares of the axes"] = (shares * total, falling[: len(shares)], largest)
    if len(stored.coef) > q:  # more than two classes: weights of each class, not only differences
        pairs |= _first_class_pairs(stored, covariance, spread)
    return certify_scores(seen.away, seen.variance, stored, spread, pairs, note)


def judge_covariance(S: Floats, vectors: Floats, images: Floats, spread: Floats) -> dict[str, Pair]:
    """Pairs that compare a stored covariance with its products `images` (q, p) with `vectors`, and its symmetry."""
    units = np.maximum(np.where(spread > 0.0, spread, 1.0), np.abs(images)) * np.sqrt(len(S))
    unit = np.where(spread > 0.0, spread, 1.0)
    return {
        "covariance": (vectors @ S, images, units),
        "symmetry": (S, S.T, np.outer(unit, unit)),
    }


def _first_class_pairs(stored: Stored, S: Floats, spread: Floats) -> dict[str, Pair]:
    """Pairs for the first class: S w = m, in the least-squares sense where S is singular, and its intercept."""
    w, m = stored.coef[0], stored.mean[0]
    left, size = S @ w - m, spread * max(float(np.sum(spread * np.abs(w))), 1e-300) + np.abs(m)
    nearest: Pair = (left, np.zeros_like(left), np.where(size > 0.0, size, 1.0))
    if np.any(np.abs(left) > RULES["exact"].tol * size):
        further = np.abs(S) @ size
        nearest = (S @ left, np.zeros_like(left), np.where(further > 0.0, further, 1.0))
    return {"weights of the first class": nearest, "intercept of the first class": own_intercept(stored, m)}


def own_intercept(stored: Stored, about: Floats) -> Pair:
    """The intercept of the first class, log q - 1/2 w'about."""
    w, b = stored.coef[0], np.ravel(stored.intercept)[0]
    with np.errstate(divide="ignore"):
        odds = np.log(stored.priors[0])
    half = 0.5 * float(w @ about)
    return np.asarray(b + half), np.asarray(odds), 1.0 + float(np.sum(np.abs(w) * np.abs(about))) + abs(half)


def between_pair(V: Floats, mean: Floats, shares: Floats) -> Pair:
    """The pair for the covariance of the means along directions: diagonal, in descending order."""
    z = np.sqrt(shares)[:, None] * (mean - shares @ mean) @ V
    between = z.T @ z
    along = np.diag(between)
    expected = np.diag(np.minimum.accumulate(along)) if along.size else between
    return between, expected, max(float(np.max(along, initial=0.0)), 1.0)


def certify_scores(
    away: Floats, variance: Floats, stored: Stored, spread: Floats, pairs: dict[str, Pair], note: str
) -> Certificate:
    """The certificate of `pairs`, of means, whose deviations `away` must vanish, and of the intercepts."""
    mean, (w, b) = stored.mean, stored.against_first()
    middle = b + np.einsum("kp,kp->k", w, 0.5 * (mean[1:] + mean[0]))
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(stored.priors[1:]) - np.log(stored.priors[0])
    size = np.sqrt(np.mean(mean**2 + variance, axis=0))
    means: Pair = (away, np.zeros_like(away), np.where(size > 0.0, size, 1.0))
    intercepts: Pair = (middle, odds, 1.0 + np.abs(middle - b) + np.abs(b))
    floor = max(ROUNDING, 16.0 * unit_roundoff(stored.dtype) * _amplification(w, spread, mean))
    return exact({"means": means, **pairs, "intercepts": intercepts}, floor=floor, note=note)


def _amplification(w: Floats, spread: Floats, mean: Floats) -> float:
    """The size of the terms of a score relative to the score, which amplifies the rounding of stored weights."""
    terms = np.sum(np.abs(w) * (spread + np.max(np.abs(mean), axis=0)), axis=1)
    return float(1.0 + np.max(terms, initial=0.0))


def probes(variance: Floats) -> Floats:
    """Vectors (k, q, p) of random signs, in units of variances (k, p) of the columns."""
    spread = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    return _signs(*spread.shape) / spread[:, None, :]


@lru_cache(maxsize=8)
def _signs(count: int, features: int) -> Floats:
    """Random signs (count, PROBES, features), the same in every call."""
    return np.random.default_rng(0).choice([-1.0, 1.0], (count, PROBES, features))


def quadratic(
    seen: Witness,
    stored: Callable[[Floats], Floats],
    *,
    mean: Floats,
    expected: Callable[[Floats, Floats, Floats], Floats],
    variance: Floats | None = None,
    dense: Sequence[Floats] | None = None,
    more: dict[str, Pair],
    dtype: Any = np.float64,
    note: str = "",
) -> Certificate:
    """Certificate of class covariances: `stored(v)` are their products with vectors (k, q, p), `expected(S v, v,
    variances)` the expected ones, given those of the rows. `variance` (k, p) are the units of the vectors, by default
    those of the rows; `dense` are explicitly stored covariances (p, p); `more` has further pairs.
    """
    p, variance = mean.shape[1], seen.variance if variance is None else variance
    spread, vectors = np.sqrt(np.where(variance > 0.0, variance, 1.0)), probes(variance)
    again = expected(seen.products(vectors), vectors, seen.variance)
    size = np.sqrt(np.mean(mean**2 + seen.variance, axis=0))
    pairs: dict[str, Pair] = {
        "means": (seen.away, np.zeros_like(seen.away), np.where(size > 0.0, size, 1.0)),
        "covariances": (stored(vectors), again, np.maximum(spread[:, None, :], np.abs(again)) * np.sqrt(p)),
        **more,
    }
    if dense is not None:
        products = np.array([v @ S for v, S in zip(vectors, dense, strict=True)])
        pairs["stored covariances"] = (products, again, np.maximum(spread[:, None, :], np.abs(again)) * np.sqrt(p))
    return exact(pairs, floor=max(ROUNDING, 16.0 * p * unit_roundoff(dtype)), note=note)


def orthonormal(axes: Sequence[Floats]) -> Pair:
    """The pair that tests whether the axes (p, p) of each class are orthonormal."""
    products = np.array([R.T @ R for R in axes])
    return products, np.broadcast_to(np.eye(products.shape[1]), products.shape), 1.0
