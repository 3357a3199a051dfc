"""Starts of EM for Gaussian mixtures: from k-means, from samples, or from random responsibilities.

k-means runs on an evenly spaced subsample; missing values are replaced by column means here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import MemoryRows, NotFinite, Rows, sampling_step
from tenfold.machine import interrupted
from tenfold.plans import kmeans
from tenfold.plans.mixture import GaussianSteps
from tenfold.stats.class_totals import ClassColumns, as_one_class, class_columns
from tenfold.stats.derivatives import adjoint
from tenfold.stats.gaussians import Mixture
from tenfold.stats.mixtures import CollectedRows, MixtureSums, nonmissing_moments
from tenfold.stats.moments import GroupedMoments

SAMPLE = 20_000  # smallest size of the subsample

SAMPLE_PER_COMPONENT = 256  # samples of the subsample for each component

MAX_KMEANS_ITER = 100  # iterations of k-means for a start: EM refines it


@dataclass(frozen=True)
class Seen:
    """Means and variances (p,) of the columns, and whether values are missing."""

    mean: Floats
    variance: Floats
    missing: bool


def look(rows: Rows) -> Seen:
    """The column summary of one pass; raises where samples are not finite or a column has no values."""
    with np.errstate(invalid="ignore", over="ignore"):
        columns: ClassColumns = as_one_class(rows).fold(class_columns(1))
    if np.isfinite(columns.mean).all() and np.isfinite(columns.squares).all():
        return Seen(columns.mean[0], columns.squares[0] / columns.weight[0], False)
    columns = rows.fold(nonmissing_moments)
    weight, mean, squares = columns.weight[0], columns.mean[0], columns.squares[0]
    if not (np.isfinite(mean).all() and np.isfinite(squares).all()):
        raise NotFinite
    if not np.all(weight > 0.0):
        raise ValueError(
            f"Columns {np.flatnonzero(weight <= 0.0).tolist()} have no value in any row: leave them out, for nothing "
            "can be learned of them."
        )
    return Seen(mean, squares / weight, True)


@dataclass(frozen=True)
class Given:
    """Given parts of a start: weights (k,), means (k, p) and covariances of the kind; None is initialised."""

    weights: Floats | None = None
    means: Floats | None = None
    covariances: Floats | None = None

    @property
    def all(self) -> bool:
        return not any(part is None for part in (self.weights, self.means, self.covariances))

    def over(self, start: Mixture) -> Mixture:
        return Mixture(
            start.kind,
            start.weights if self.weights is None else self.weights,
            start.means if self.means is None else self.means,
            start.covariances if self.covariances is None else self.covariances,
        )


def start(
    model: GaussianSteps, rows: Rows, seen: Seen, kind: str, components: int, init: str, given: Given, random: Any
) -> Mixture:
    """The parameters that EM starts from."""
    if given.all:
        assert given.weights is not None
        assert given.means is not None
        assert given.covariances is not None
        return Mixture(kind, given.weights, given.means, given.covariances)
    X, weight = _sample(rows, components, seen)
    if init == "random":
        shares = random.uniform(size=(len(X), components))
        return given.over(
            _from_responsibilities(model, kind, X, weight, shares / np.sum(shares, axis=1, keepdims=True), seen)
        )
    if init == "random_from_data":
        return given.over(_at_rows(model, kind, X[random.choice(len(X), components, replace=False)], seen))
    sample = MemoryRows(X, np.zeros((len(X), 0)), weight)
    seeds = kmeans.plus_plus(components)
    if init == "k-means++":
        return given.over(_at_rows(model, kind, seeds(sample, random), seen))
    clusters = kmeans.of_rows(sample, seeds, components, starts=1, max_iter=MAX_KMEANS_ITER, tol=1e-4, random=random)
    if interrupted():  # no mixture exists yet
        raise KeyboardInterrupt
    label = kmeans.label_samples(sample, weight, clusters.centres)[0]
    if kind == "full":
        return given.over(_from_groups(model, sample.regroup(label.astype(np.int32)), components, seen))
    return given.over(_from_responsibilities(model, kind, X, weight, np.eye(components)[label], seen))


def _sample(rows: Rows, components: int, seen: Seen) -> tuple[Floats, Floats]:
    """A subsample of positive weight with missing values imputed, and its weights."""
    sample: CollectedRows = rows.subsample(
        sampling_step(rows.shape[0], max(SAMPLE, SAMPLE_PER_COMPONENT * components))
    ).fold(CollectedRows.lift)
    inside = sample.weight > 0.0
    X = np.where(np.isnan(sample.X), seen.mean, sample.X) if seen.missing else sample.X
    X, weight = (X, sample.weight) if inside.all() else (X[inside], sample.weight[inside])
    if len(X) < components:
        raise ValueError(
            f"Expected n_samples >= n_components but got n_components = {components}, n_samples = {len(X)} of positive "
            "weight"
        )
    return np.ascontiguousarray(X), weight


def _at_rows(model: GaussianSteps, kind: str, means: Floats, seen: Seen) -> Mixture:
    """Narrow components of equal weight at samples: the first step assigns each sample to the nearest."""
    k, p = means.shape
    variance = (
        model.problem.reg_covar if model.problem.reg_covar > 0.0 else 1e-6 * max(float(np.mean(seen.variance)), 1e-300)
    )
    return Mixture(kind, np.full(k, 1.0 / k), means, spread(kind, (k, p), np.full(p, variance)))


def spread(kind: str, shape: tuple[int, int], variance: Floats) -> Floats:
    """Covariances of a kind with these variances (p,) in every component."""
    k = shape[0]
    if kind in ("spherical", "unit"):
        return np.full(k, 1.0 if kind == "unit" else float(np.mean(variance)))
    if kind == "diag":
        return np.tile(variance, (k, 1))
    return np.diag(variance) if kind == "tied" else np.tile(np.diag(variance), (k, 1, 1))


def _from_groups(model: GaussianSteps, rows: Rows, components: int, seen: Seen) -> Mixture:
    """The M-step for hard assignments, with full covariances."""
    groups = rows.fold(GroupedMoments.lifter(components)).groups
    p, count = rows.shape[1], np.array([group.weight for group in groups])
    away = np.array([group.mean - seen.mean if group.weight > 0.0 else np.zeros(p) for group in groups])
    own = [group.weight * group.covariance() if group.weight > 0.0 else np.zeros((p, p)) for group in groups]
    squares = np.array(own) + np.einsum("k,ki,kj->kij", count, away, away)
    k, full = components, "full"
    at = Mixture(full, np.full(k, 1.0 / k), np.tile(seen.mean, (k, 1)), spread(full, (k, p), np.ones(p)))
    sums = MixtureSums(at, float(count.sum()), 0.0, count, count[:, None] * away, squares)
    return model.maximise(sums)


def _from_responsibilities(
    model: GaussianSteps, kind: str, X: Floats, weight: Floats, shares: Floats, seen: Seen
) -> Mixture:
    """The M-step for responsibilities (n, k)."""
    p, k = X.shape[1], shares.shape[1]
    at = Mixture(kind, np.full(k, 1.0 / k), np.tile(seen.mean, (k, 1)), spread(kind, (k, p), np.ones(p)))
    r, away = np.ascontiguousarray(weight[:, None] * shares), X - seen.mean
    sums = adjoint(away, r)
    if kind == "full":
        squares = np.array([adjoint(away, r[:, c : c + 1] * away) for c in range(k)])
    else:
        squares = adjoint(away, weight[:, None] * away)[None] if kind == "tied" else adjoint(away**2, r)
    return model.maximise(MixtureSums(at, float(weight.sum()), 0.0, r.sum(axis=0), sums, squares))
