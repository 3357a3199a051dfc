"""Certificates of nearest centroids: means by sums about them, medians by the weights on both sides, and shrinkage."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Array, Floats, is_sparse, unit_roundoff
from tenfold.data import Block, Rows, weights_of
from tenfold.judge.certificate import Certificate
from tenfold.judge.discriminant import Witness, judge_priors
from tenfold.judge.naive_bayes import recompute_sums
from tenfold.judge.recompute import Pair, exact
from tenfold.stats.class_totals import ClassSumsAbout, class_sums_about, groups_of, indicators, memberships
from tenfold.stats.moments import GroupedMoments

ROUNDING = 512.0 * unit_roundoff(np.float64)  # relative error of a recomputed value


class Stored(NamedTuple):
    """Fitted arrays: centroids and deviations (k, p), standard deviations (p,), priors (k,), and a triangular B with
    B'SB = I, S the covariance within classes, divided by n - k.
    """

    centroids: Floats
    deviations: Floats
    spread: Floats
    priors: Floats
    whitener: Floats | None = None


def centroids(
    rows: Rows | None,
    sums: Any,
    *,
    metric: str,
    threshold: float | None,
    stored: Stored,
    priors: Floats | None,
    note: str = "",
) -> Certificate:
    """Certificate of centroids; `priors` are given ones, None for the class frequencies."""
    fitted = stored.centroids
    pairs: dict[str, Pair] = {}
    if metric == "manhattan" and rows is not None:
        centre = recompute_medians(rows, len(fitted)) if threshold else fitted
        pairs["medians"] = _sides(rows, centre)
        weight, mean, squares = _about(rows, centre)
    elif rows is None:
        groups = sums.groups if isinstance(sums, GroupedMoments) else None
        weight = np.array([g.weight for g in groups]) if groups else sums.weight
        centre = np.array([g.mean for g in groups]) if groups else sums.mean
        squares = np.array([np.diag(g.covariance()) * g.weight for g in groups]) if groups else sums.squares
        mean = weight @ centre / weight.sum()
    else:
        again = recompute_sums(rows, len(fitted))
        centre = again.sums / again.weight[:, None]
        weight, mean, squares = _about(rows, centre)
    if stored.whitener is not None:
        whitener = stored.whitener
        witness = Witness.of_moments(sums, centre) if rows is None else Witness.of_rows(rows, centre)
        inside = whitener.T @ witness.pooled_products(weight / (weight.sum() - len(weight)), whitener.T).T
        pairs["whitener"] = (inside, np.eye(len(inside)), 1.0)
        pairs["triangle of the whitener"] = (np.tril(whitener, -1), np.zeros_like(whitener), 1.0)
    pairs |= _shrunk(weight, centre, mean, squares, threshold, stored)
    pairs["priors"] = judge_priors(stored.priors, weight, priors)
    return exact(pairs, floor=ROUNDING, note=note)


def _about(rows: Rows, centre: Floats) -> tuple[Floats, Floats, Floats]:
    """Class weights, the overall mean, and squares about the centres."""
    errors: ClassSumsAbout = rows.fold(class_sums_about(np.ascontiguousarray(centre)))
    mean = (errors.sums + errors.weight[:, None] * centre).sum(axis=0) / errors.weight.sum()
    return errors.weight, mean, errors.squares


def _shrunk(
    weight: Floats, centre: Floats, mean: Floats, squares: Floats, threshold: float | None, stored: Stored
) -> dict[str, Pair]:
    n, k = float(weight.sum()), len(weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(squares.sum(axis=0) / (n - k))
        # the standard deviation of a column that is constant up to rounding is not determined
        most = ROUNDING * np.max(np.abs(centre), axis=0)
        spread = np.where(np.maximum(stored.spread, spread) <= most, stored.spread, spread)
        unit = np.sqrt((n - weight) / (n * weight))[:, None] * (spread + np.median(spread))
        away = (centre - mean) / unit
    if threshold:
        away = np.clip(away - threshold, 0.0, None) + np.clip(away + threshold, None, 0.0)
        centre = mean + unit * away
    size = np.sqrt(centre**2 + squares / weight[:, None])
    size = np.where(size > 0.0, size, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rounding = 1.0 + np.abs(away) + size / unit  # of a difference of means, in its unit
    return {
        "centroids": (stored.centroids, centre, size),
        "deviations": (stored.deviations, away, np.where(np.isfinite(rounding), rounding, 1.0)),
        "spread": (stored.spread, spread, np.where(spread > 0.0, spread, np.max(size, initial=1.0))),
    }


@dataclass(frozen=True, slots=True)
class Sides:
    """For the samples of each class (k, p): their weight, the weights above and below a value, the largest value below
    and the smallest above it.
    """

    weight: Floats
    above: Floats
    below: Floats
    lower: Floats
    upper: Floats

    def merge(self, other: "Sides") -> "Sides":
        return Sides(
            self.weight + other.weight,
            self.above + other.above,
            self.below + other.below,
            np.maximum(self.lower, other.lower),
            np.minimum(self.upper, other.upper),
        )


def _sides(rows: Rows, centre: Floats) -> Pair:
    """The pair of medians: less than half of the weight of a class is above, and less than half below; where both are
    one half, the median is midway between the values on either side.
    """
    sides: Sides = rows.fold(partial(_weights_aside, centre))
    half = 0.5 * sides.weight
    even = (np.abs(sides.above - half) <= ROUNDING * half) & (np.abs(sides.below - half) <= ROUNDING * half)
    with np.errstate(invalid="ignore"):
        middle = np.where(even, 0.5 * (sides.lower + sides.upper), centre)
    inside = even | ((sides.above < half) & (sides.below < half))
    size = np.maximum(np.abs(sides.lower), np.abs(sides.upper))
    return np.where(inside, centre, np.inf), middle, np.where(np.isfinite(size) & (size > 0.0), size, 1.0)


def _weights_aside(centre: Floats, block: Block) -> Sides:
    X = np.asarray(block.X.toarray() if is_sparse(block.X) else block.X, dtype=np.float64)
    group, (k, p) = groups_of(block), centre.shape
    away = X - centre[group]
    member = memberships(block, k)
    above, below = member.T @ indicators(away, 0.0), member.T @ indicators(-away, 0.0)
    lower, upper = np.full((k, p), -np.inf), np.full((k, p), np.inf)
    some = weights_of(block) > 0.0
    for c in range(k):
        inside = (group == c) & some
        values, side = X[inside], away[inside]
        lower[c] = np.max(values, axis=0, initial=-np.inf, where=side < 0.0)
        upper[c] = np.min(values, axis=0, initial=np.inf, where=side > 0.0)
    return Sides(np.repeat(member.sum(axis=0)[:, None], p, axis=1), above, below, lower, upper)


MEDIAN_COLUMNS = 256  # whose medians are computed at a time


def recompute_medians(rows: Rows, classes: int) -> Floats:
    """Weighted medians (k, p) of the rows of each class, in memory: midway between the least value that has half of the
    weight at or below it, and the largest that has half at or above.
    """
    block = rows.whole()
    group, weight, p = groups_of(block), weights_of(block), rows.shape[1]
    medians = np.zeros((classes, p))
    for c in range(classes):
        inside = np.flatnonzero((group == c) & (weight > 0.0))
        for start in range(0, p, MEDIAN_COLUMNS):
            some = slice(start, start + MEDIAN_COLUMNS)
            part: Array = block.X[inside][:, some]
            values = np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)
            medians[c, some] = 0.5 * (_lower_median(values, weight[inside]) - _lower_median(-values, weight[inside]))
    return medians


def _lower_median(values: Floats, weight: Floats) -> Floats:
    """The least value of each column with half of the weight at or below it, up to rounding of the weights."""
    return np.quantile(values, 0.5 * (1.0 - 1e-12), axis=0, weights=weight, method="inverted_cdf")
