"""Second moments within classes, of all classes together. The number of a row's class is its group."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import blas

from tenfold import _core
from tenfold.arrays import Array, Floats, entries, is_numpy, like, namespace
from tenfold.data import Block, Deferred, MaybeDeferred, weights_of
from tenfold.machine import one_blas_thread, threads
from tenfold.stats.class_totals import groups_of, memberships
from tenfold.stats.moments import GroupedMoments


@dataclass(frozen=True, slots=True)
class WithinMoments:
    """How many rows count, weights (k,) and means (k, p) of the classes, and the sum over all rows of w d d' (p, p), d
    what a row differs by from the mean of its class.
    """

    count: int
    weight: Floats
    mean: Floats
    scatter: Floats

    @classmethod
    def of(cls, moments: GroupedMoments) -> "WithinMoments":
        """From the moments of each class."""
        groups = moments.groups
        own = [group.weight * group.covariance() for group in groups if group.weight > 0.0]
        return cls(
            sum(group.count for group in groups),
            np.array([group.weight for group in groups]),
            np.array([group.mean if group.weight > 0.0 else np.zeros(group.features) for group in groups]),
            sum(own, np.zeros_like(groups[0].XX)),
        )

    @property
    def shares(self) -> Floats:
        """Of the classes in the weight of all rows."""
        return self.weight / self.weight.sum()

    def covariance(self) -> Floats:
        """Within classes, with divisor the weight of all rows."""
        return self.scatter / self.weight.sum()

    def merge(self, other: "WithinMoments") -> "WithinMoments":
        """The statistic of both sets of rows, class by class as in `Moments`."""
        total = self.weight + other.weight
        share = other.weight / np.where(total > 0.0, total, 1.0)
        both = (self.weight > 0.0) & (other.weight > 0.0)
        with np.errstate(invalid="ignore", over="ignore"):  # rows that are not finite are refused by whoever folds them
            step = other.mean - self.mean
            # constant on both sides and equal up to the rounding of a mean: constant
            still = np.abs(step) <= 8.0 * np.finfo(np.float64).eps * np.abs(self.mean)
            step[still & (np.diag(self.scatter + other.scatter) == 0.0)] = 0.0
            between = np.sqrt(np.where(both, self.weight * share, 0.0))[:, None] * step
            mean = np.where(share[:, None] == 1.0, other.mean, self.mean + share[:, None] * step)
            with one_blas_thread:
                moved = blas.dgemm(1.0, between.T, between.T, trans_b=True)
        return WithinMoments(self.count + other.count, total, mean, self.scatter + other.scatter + moved)


def within_moments(classes: int) -> Callable[[Block], WithinMoments]:
    """The lift of `WithinMoments`."""
    return partial(_within_moments, classes)


def _within_moments(classes: int, block: Block) -> WithinMoments:
    X, group = block.X, groups_of(block)
    if not is_numpy(X):
        return WithinMoments.of(GroupedMoments.lifter(classes)(block).result())
    places = _core.estimate_class_means(X, block.weight, group, classes)
    count, weight, sums, scatter = _core.within_scatter(X, block.weight, group, places, threads(entries(X)))
    with np.errstate(invalid="ignore", over="ignore"):  # as in merge
        mean = places + sums / np.where(weight > 0.0, weight, 1.0)[:, None]
    return WithinMoments(count, weight, mean, scatter)


@dataclass(frozen=True, slots=True)
class WithinForms:
    """With d what a row differs by from the given place of its class: weights (k,) of the classes, their sums (k, p) of
    w d and of w d^2, and forms (q, q), the sum over all rows of w (v'd)(d'u) for vectors v and u.
    """

    weight: Floats
    sums: Floats
    squares: Floats
    forms: Floats

    def merge(self, other: "WithinForms") -> "WithinForms":
        return WithinForms(
            self.weight + other.weight,
            self.sums + other.sums,
            self.squares + other.squares,
            self.forms + other.forms,
        )


def within_forms(places: Floats, vectors: Floats) -> Callable[[Block], MaybeDeferred[WithinForms]]:
    """The lift of `WithinForms` about the rows of `places` (k, p), for vectors (q, p)."""
    return partial(_within_forms, np.ascontiguousarray(places), np.ascontiguousarray(vectors))


def _within_forms(places: Floats, vectors: Floats, block: Block) -> MaybeDeferred[WithinForms]:
    X = block.X
    if not is_numpy(X):
        return within_forms_in_arrays(places, vectors, block)
    count = threads(entries(X) * max(1, len(vectors)))
    return WithinForms(*_core.within_quadratic_forms(X, block.weight, groups_of(block), places, vectors, count))


def within_forms_in_arrays(places: Floats, vectors: Floats, block: Block) -> Deferred[WithinForms]:
    """The lift in the Array API; the reference for the compiled loop."""
    X, xp, own = block.X, namespace(block.X), memberships(block, len(places))
    away = xp.astype(X, xp.float64, copy=False) - xp.take(like(places, X), groups_of(block), axis=0)
    z: Array = xp.matmul(away, like(vectors, X).T)
    sums = [xp.sum(own, axis=0), xp.matmul(own.T, away), xp.matmul(own.T, away * away)]
    forms = xp.matmul((z * weights_of(block)[:, None]).T, z)
    return Deferred.of([*sums, forms], _forms, key="forms")


def _forms(_: tuple[None, ...], weight: Floats, sums: Floats, squares: Floats, forms: Floats) -> WithinForms:
    return WithinForms(weight, sums, squares, forms)
