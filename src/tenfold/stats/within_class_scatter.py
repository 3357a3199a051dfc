"""Pooled within-class second moments. The class of a sample is its group."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.linalg import blas

from tenfold import _core
from tenfold.arrays import Array, Floats, entries, is_numpy, like, namespace, wide
from tenfold.data import Block, Deferred, MaybeDeferred, weights_of
from tenfold.machine import one_blas_thread, threads
from tenfold.stats.class_totals import groups_of, memberships
from tenfold.stats.moments import GroupedMoments


@dataclass(frozen=True, slots=True)
class WithinMoments:
    """Number of samples of positive weight, weights (k,) and means (k, p) of the classes, and the scatter matrix: the
    sum of w d d' (p, p) with d the deviation of a sample from its class mean.
    """

    count: int
    weight: Floats
    mean: Floats
    scatter: Floats

    @classmethod
    def of(cls, moments: GroupedMoments) -> "WithinMoments":
        """From the moments of each class."""
        groups = moments.groups
        scatters = [group.weight * group.covariance() for group in groups if group.weight > 0.0]
        return cls(
            sum(group.count for group in groups),
            np.array([group.weight for group in groups]),
            np.array([group.mean if group.weight > 0.0 else np.zeros(group.features) for group in groups]),
            sum(scatters, np.zeros_like(groups[0].XX)),
        )

    @property
    def shares(self) -> Floats:
        """Class weights as fractions of the total."""
        return self.weight / self.weight.sum()

    def covariance(self) -> Floats:
        """Within-class covariance, with the total weight as divisor."""
        return self.scatter / self.weight.sum()

    def variances(self) -> Floats:
        """The diagonal of the covariance."""
        return np.diag(self.scatter) / self.weight.sum()

    def quadratic_form(self, vectors: Floats) -> Floats:
        """V'SV (q, q) for vectors (p, q) and the covariance S."""
        return np.asarray(vectors.T @ self.covariance() @ vectors)

    def merge(self, other: "WithinScatter") -> "WithinMoments":
        """The statistic of both sets of samples, class by class as in `Moments`."""
        total = self.weight + other.weight
        ratio = other.weight / np.where(total > 0.0, total, 1.0)
        both = (self.weight > 0.0) & (other.weight > 0.0)
        with np.errstate(invalid="ignore", over="ignore"):  # the caller of the fold rejects values that are not finite
            step = other.mean - self.mean
            # constant on both sides and equal up to the rounding of a mean: constant
            constant = np.abs(step) <= 8.0 * np.finfo(np.float64).eps * np.abs(self.mean)
            scatter = self.scatter + other.scatter
            step[constant & (np.diag(scatter) == 0.0)] = 0.0
            between = np.sqrt(np.where(both, self.weight * ratio, 0.0))[:, None] * step
            mean = np.where(ratio[:, None] == 1.0, other.mean, self.mean + ratio[:, None] * step)
            with one_blas_thread:
                between_scatter = blas.dgemm(1.0, between.T, between.T, trans_b=True)
        return WithinMoments(self.count + other.count, total, mean, scatter + between_scatter)


@dataclass(frozen=True, slots=True)
class WithinFactor:
    """As `WithinMoments`, of fewer samples than features: a factor A (m, p) of the scatter matrix A'A, which is formed
    only to merge.
    """

    count: int
    weight: Floats
    mean: Floats
    factor: Floats

    @property
    def largest_rank(self) -> int:
        """A bound on the rank: the weighted deviations of each class sum to zero."""
        return max(0, self.count - int(np.count_nonzero(self.weight)))

    @property
    def scatter(self) -> Floats:
        """A'A (p, p)."""
        with one_blas_thread:
            return np.asarray(blas.dgemm(1.0, self.factor.T, self.factor.T, trans_b=True))

    def covariance(self) -> Floats:
        """Within-class covariance, with the total weight as divisor."""
        return self.scatter / self.weight.sum()

    def variances(self) -> Floats:
        """The diagonal of the covariance."""
        return np.einsum("ij,ij->j", self.factor, self.factor) / self.weight.sum()

    def quadratic_form(self, vectors: Floats) -> Floats:
        """V'SV (q, q) for vectors (p, q) and the covariance S."""
        z = self.factor @ vectors
        return np.asarray(z.T @ z) / self.weight.sum()

    def standardize(self, scale: Floats) -> tuple[Floats, Floats]:
        """F = A diag(1 / scale) / sqrt(weight), with F'F the covariance in units of `scale`, and the upper triangle of
        F F'.
        """
        F = self.factor / (scale * np.sqrt(self.weight.sum()))
        with one_blas_thread:
            return F, blas.dsyrk(1.0, F.T, trans=1)

    def merge(self, other: "WithinScatter") -> WithinMoments:
        """The moments of both sets of rows."""
        return WithinMoments(self.count, self.weight, self.mean, self.scatter).merge(other)


WithinScatter: TypeAlias = WithinMoments | WithinFactor


def within_factor(classes: int, block: Block) -> WithinFactor:
    """The class means, and the weighted deviations from them as the factor (samples of positive weight, p)."""
    centres = _core.estimate_class_means(block.X, block.weight, groups_of(block), classes)
    weight = wide(weights_of(block))
    member = np.eye(classes)[groups_of(block)] * weight[:, None]
    total = member.sum(axis=0)
    with np.errstate(invalid="ignore", over="ignore"):  # as in merge
        deviations = wide(block.X) - centres[groups_of(block)]
        with one_blas_thread:
            sums = blas.dgemm(1.0, deviations.T, member.T, trans_b=True).T
        step = sums / np.where(total > 0.0, total, 1.0)[:, None]
        deviations -= step[groups_of(block)]
        deviations *= np.sqrt(weight)[:, None]
    if not weight.all():
        deviations = deviations[weight > 0.0]
    return WithinFactor(len(deviations), total, centres + step, deviations)


def within_scatter(classes: int) -> Callable[[Block], WithinMoments]:
    """The lift of `WithinMoments`."""
    return partial(_within_scatter, classes)


def _within_scatter(classes: int, block: Block) -> WithinMoments:
    X, group = block.X, groups_of(block)
    if not is_numpy(X):
        return WithinMoments.of(GroupedMoments.lifter(classes)(block).result())
    centres = _core.estimate_class_means(X, block.weight, group, classes)
    count, weight, sums, scatter = _core.within_scatter(X, block.weight, group, centres, threads(entries(X)))
    with np.errstate(invalid="ignore", over="ignore"):  # as in merge
        mean = centres + sums / np.where(weight > 0.0, weight, 1.0)[:, None]
    return WithinMoments(count, weight, mean, scatter)


@dataclass(frozen=True, slots=True)
class WithinQuadraticForms:
    """With d the deviation of a sample from the given centre of its class: class weights (k,), class sums (k, p) of w d
    and of w d^2, and forms (q, q), the sum over all samples of w (v'd)(d'u) for vectors v and u.
    """

    weight: Floats
    sums: Floats
    squares: Floats
    forms: Floats

    def merge(self, other: "WithinQuadraticForms") -> "WithinQuadraticForms":
        return WithinQuadraticForms(
            self.weight + other.weight,
            self.sums + other.sums,
            self.squares + other.squares,
            self.forms + other.forms,
        )


def within_quadratic_forms(centres: Floats, vectors: Floats) -> Callable[[Block], MaybeDeferred[WithinQuadraticForms]]:
    """The lift of `WithinQuadraticForms` about the rows of `centres` (k, p), for vectors (q, p)."""
    return partial(_within_quadratic_forms, np.ascontiguousarray(centres), np.ascontiguousarray(vectors))


def _within_quadratic_forms(centres: Floats, vectors: Floats, block: Block) -> MaybeDeferred[WithinQuadraticForms]:
    X = block.X
    if not is_numpy(X):
        return within_quadratic_forms_in_arrays(centres, vectors, block)
    count = threads(entries(X) * max(1, len(vectors)))
    return WithinQuadraticForms(
        *_core.within_quadratic_forms(X, block.weight, groups_of(block), centres, vectors, count)
    )


def within_quadratic_forms_in_arrays(centres: Floats, vectors: Floats, block: Block) -> Deferred[WithinQuadraticForms]:
    """The lift in the Array API; the reference for the compiled loop."""
    X, xp, scatters = block.X, namespace(block.X), memberships(block, len(centres))
    deviations = xp.astype(X, xp.float64, copy=False) - xp.take(like(centres, X), groups_of(block), axis=0)
    z: Array = xp.matmul(deviations, like(vectors, X).T)
    sums = [xp.sum(scatters, axis=0), xp.matmul(scatters.T, deviations), xp.matmul(scatters.T, deviations * deviations)]
    forms = xp.matmul((z * weights_of(block)[:, None]).T, z)
    return Deferred.of([*sums, forms], _forms, key="forms")


def _forms(_: tuple[None, ...], weight: Floats, sums: Floats, squares: Floats, forms: Floats) -> WithinQuadraticForms:
    return WithinQuadraticForms(weight, sums, squares, forms)
