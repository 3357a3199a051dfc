"""Centroids of classes: means or medians, shrunk towards the mean of all rows (Tibshirani et al. 2002); judged by the
rows, or by the sums where these came in parts and the rows are gone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Array, Floats, contiguous, is_sparse, like, namespace
from tenfold.data import NotFinite, Rows, block_length
from tenfold.judge import centroids as judge
from tenfold.judge.certificate import Certificate
from tenfold.plans.class_statistics import PARTS_NOTE, TooFewSamples
from tenfold.plans.discriminant import Classes, axes_of, triangle
from tenfold.stats.class_totals import (
    ClassColumns,
    class_columns,
    class_sums_about,
    diagonal_distances,
    mahalanobis_distances,
)
from tenfold.stats.derivatives import Params, forward
from tenfold.stats.moments import GroupedMoments


@dataclass(frozen=True)
class Centres:
    """Weights (k,) of classes, their centres and the squares of their columns about them (k, p), the mean of all rows
    (p,), and which columns vary at all.
    """

    weight: Floats
    centre: Floats
    squares: Floats
    mean: Floats
    varies: Array


def fold_columns(rows: Rows, classes: int) -> ClassColumns:
    found = rows.fold(class_columns(classes))
    if not np.isfinite(found.squares).all():
        raise NotFinite
    return found


def fold_moments(rows: Rows, classes: int) -> GroupedMoments:
    found: GroupedMoments = rows.fold(GroupedMoments.lifter(classes))
    if not all(np.isfinite(group.XX).all() for group in found.groups):
        raise NotFinite
    return found


def fold_medians(rows: Rows, classes: int) -> Centres:
    """Weighted medians of each class, from all rows at once."""
    if rows.distributed or rows.on_device:
        raise TypeError("metric='manhattan' sorts columns in memory: it reads NumPy and SciPy arrays, and files.")
    means = fold_columns(rows, classes)
    block = rows.whole()
    weight = np.ones(block.y.shape[0]) if block.weight is None else block.weight
    group = np.asarray(block.group)
    centre = np.array([_medians(block.X[group == k], weight[group == k]) for k in range(classes)])
    errors = rows.fold(class_sums_about(centre))
    total = means.together()
    return Centres(means.weight, centre, errors.squares, total.mean[0], total.squares[0] > 0.0)


def _medians(X: Array, weight: Floats) -> Floats:
    """Where half of the weight lies on each side; between two values their mean."""
    if not X.shape[0] or not weight.any():
        return np.zeros(X.shape[1])
    found, step = np.empty(X.shape[1]), 256
    for start in range(0, X.shape[1], step):
        part = X[:, start : start + step]
        part = np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)
        order = np.argsort(part, axis=0, kind="stable")
        below = np.cumsum(weight[order], axis=0)
        values, half = np.take_along_axis(part, order, axis=0), 0.5 * below[-1]
        first = np.argmax(below >= half * (1.0 - 1e-12), axis=0)
        second = np.argmax(below > half * (1.0 + 1e-12), axis=0)
        each = np.arange(part.shape[1])
        found[start : start + step] = 0.5 * (values[first, each] + values[second, each])
    return found


def centres_of(sums: Any) -> Centres:
    """From the sums of one pass."""
    if isinstance(sums, Centres):
        return sums
    if isinstance(sums, GroupedMoments):
        found = Classes.of(sums)
        squares = np.einsum("kii->ki", found.covariance) * found.weight[:, None]
        sums = ClassColumns(found.weight, found.mean, squares)
    total = sums.together()
    return Centres(sums.weight, sums.mean, sums.squares, total.mean[0], total.squares[0] > 0.0)


class Shrunk(NamedTuple):
    """Centroids and deviations (k, p), and the spread within classes (p,)."""

    centroids: Floats
    deviations: Floats
    spread: Floats


def shrunk_centroids(centres: Centres, threshold: float | None) -> Shrunk:
    """Deviations of the centres from the mean of all rows, in units of their errors, moved towards zero."""
    n, k = float(centres.weight.sum()), len(centres.weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(centres.squares.sum(axis=0) / (n - k))
        unit = np.sqrt(1.0 / centres.weight - 1.0 / n)[:, None] * (spread + np.median(spread))
        deviations = (centres.centre - centres.mean) / unit
    if not threshold:
        return Shrunk(centres.centre, deviations, spread)
    deviations = np.sign(deviations) * np.maximum(np.abs(deviations) - threshold, 0.0)
    return Shrunk(centres.mean + unit * deviations, deviations, spread)


def whitener(moments: GroupedMoments) -> Floats:
    """An upper triangle B with B B' the inverse of the covariance within classes, divided by n - k."""
    classes = Classes.of(moments)
    n = float(classes.weight.sum())
    S = classes.pooled(classes.weight / (n - len(classes.weight)))
    variances, axes = axes_of(S)
    if not variances[-1] > np.finfo(np.float64).eps * len(S) * max(variances[0], 0.0):
        raise TooFewSamples(
            "The covariance within classes is not positive definite: some columns do not vary, or depend on each "
            "other. Leave them out, or take the metric 'euclidean'."
        )
    return triangle(variances, axes)


def fit_centroids(
    centres: Centres,
    sums: Any,
    rows: Rows | None,
    priors: Floats,
    *,
    metric: str,
    threshold: float | None,
    given: Floats | None,
) -> tuple[judge.Stored, Certificate]:
    """From centres of these sums; `given` are the priors that were given, None for the shares of the classes."""
    found = shrunk_centroids(centres, threshold)
    if np.any(found.spread == 0.0) and not np.any(centres.varies):
        raise ValueError("All features have zero variance. Division by zero.")
    stored = judge.Stored(*found, priors, whitener(sums) if isinstance(sums, GroupedMoments) else None)
    certificate = judge.centroids(
        rows,
        sums,
        metric=metric,
        threshold=threshold,
        stored=stored,
        priors=given,
        note=PARTS_NOTE if rows is None else "",
    )
    return stored, certificate


def scores(metric: str, centroids: Floats, unit: Floats, priors: Floats) -> Callable[[Array], Array]:
    """``-d^2 + 2 log q_c`` of rows and centroids, d in the units of the columns, or with a triangle for them all."""
    with np.errstate(divide="ignore"):
        offset = 2.0 * np.log(priors)
    return partial({"manhattan": _city, "mahalanobis": _whitened}.get(metric, _euclidean), centroids, unit, offset)


def _euclidean(centroids: Floats, unit: Floats, offset: Floats, X: Array) -> Array:
    if is_sparse(X):  # as a sum of three products
        squares = type(X)((X.data.astype(np.float64) ** 2, X.indices, X.indptr), X.shape)
        z = forward(X, Params(centroids / unit**2, np.zeros(len(centroids))))
        length = forward(squares, Params((1.0 / unit**2)[None, :], np.zeros(1)))
        return offset - (length - 2.0 * z + np.sum((centroids / unit) ** 2, axis=1))
    z = diagonal_distances(X, centroids, np.ascontiguousarray(np.broadcast_to(1.0 / unit, centroids.shape)))
    return like(offset, z) - z


def _whitened(centroids: Floats, factor: Floats, offset: Floats, X: Array) -> Array:
    if is_sparse(X):
        X = X.toarray()
    z = mahalanobis_distances(
        X, centroids, np.ascontiguousarray(np.broadcast_to(factor, (len(centroids), *factor.shape)))
    )
    return like(offset, z) - z


def _city(centroids: Floats, unit: Floats, offset: Floats, X: Array) -> Array:
    length, parts = block_length(X.shape[1], False), []
    for start in range(0, max(1, X.shape[0]), length):
        part = X[start : start + length]
        part = contiguous(np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64))
        parts.append(np.stack([np.sum(np.abs(part - c) / unit, axis=1) for c in centroids], axis=1))
    return offset - namespace(parts[0]).concat(parts, axis=0) ** 2
