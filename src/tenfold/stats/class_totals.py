"""Sums and moments of the features by class: the statistics of naive Bayes and of discriminant analysis.

The class of a sample is its group.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, contiguous, entries, is_numpy, is_sparse, like, namespace
from tenfold.data import Block, Deferred, MaybeDeferred, Rows, resolve, weights_of
from tenfold.machine import threads
from tenfold.stats.derivatives import Params, Total, adjoint, as_total, forward
from tenfold.stats.moments import is_noise


@dataclass(frozen=True, slots=True)
class ClassSums:
    """Weight (k,) of each class and weighted sums (k, p) of its features; the smallest value of X.

    With indicators of values above a threshold, `low` is infinite, or NaN where a value is not finite.
    """

    weight: Floats
    sums: Floats
    low: float

    def merge(self, other: "ClassSums") -> "ClassSums":
        return ClassSums(self.weight + other.weight, self.sums + other.sums, float(np.minimum(self.low, other.low)))


def class_sums(classes: int, threshold: float | None = None) -> Callable[[Block], MaybeDeferred[ClassSums]]:
    """The lift of `ClassSums`."""
    return partial(_class_sums, classes, threshold)


def _class_sums(classes: int, threshold: float | None, block: Block) -> MaybeDeferred[ClassSums]:
    X = block.X
    if not (is_sparse(X) or is_numpy(X)):
        return class_sums_in_arrays(classes, threshold, block)
    rest = (block.weight, groups_of(block), classes, threshold, threads(entries(X)))
    if is_sparse(X):
        return ClassSums(*_core.class_sums_csr(X.data, X.indices, X.indptr, X.shape[1], *rest))
    return ClassSums(*_core.class_sums(X, *rest))


def class_sums_in_arrays(classes: int, threshold: float | None, block: Block) -> Deferred[ClassSums]:
    """The lift in the Array API: for other namespaces, and the reference for the compiled loop."""
    xp, membership = namespace(block.X), memberships(block, classes)
    X = xp.astype(block.X, xp.float64, copy=False)
    low = xp.min(X) if threshold is None else np.inf + xp.sum(0.0 * X)
    low, X = xp.reshape(low, (1,)), X if threshold is None else indicators(X, threshold)
    return Deferred.of([xp.sum(membership, axis=0), xp.matmul(membership.T, X), low], _from_sums)


def indicators(X: Array, threshold: float) -> Array:
    """Indicators of X > threshold, in float64; of a sparse X, of the stored entries."""
    if is_sparse(X):
        return type(X)(((X.data > threshold).astype(np.float64), X.indices, X.indptr), X.shape)
    xp = namespace(X)
    return xp.astype(X > threshold, xp.float64)  # noqa: SIM300


def _from_sums(_: tuple[None, ...], weight: Floats, sums: Floats, low: Floats) -> ClassSums:
    return ClassSums(weight, sums, float(low[0]))


def groups_of(block: Block) -> Any:
    """The class number of each sample."""
    assert block.group is not None
    return block.group


def as_one_class(rows: Rows) -> Rows:
    """All samples in one class."""
    return rows.regroup(np.zeros(rows.shape[0], dtype=np.int32))


def memberships(block: Block, classes: int) -> Array:
    """One-hot class membership times the sample weight, (m, k)."""
    xp = namespace(block.y)
    membership = groups_of(block)[:, None] == like(np.arange(classes), block.y)[None, :]
    return xp.where(membership, weights_of(block)[:, None], 0.0)


@dataclass(frozen=True, slots=True)
class ClassColumns:
    """Weight (k,) of each class, or (k, p) of its non-missing values; means and centred sums of squares (k, p)."""

    weight: Floats
    mean: Floats
    squares: Floats

    def _by_column(self) -> Floats:
        """The weights, broadcastable over features."""
        return self.weight if self.weight.ndim == 2 else self.weight[:, None]

    def merge(self, other: "ClassColumns") -> "ClassColumns":
        """Chan, Golub and LeVeque (1979)."""
        before, new = self._by_column(), other._by_column()
        weight = before + new
        ratio = new / np.where(weight > 0.0, weight, 1.0)
        with np.errstate(invalid="ignore", over="ignore"):  # the caller of the fold rejects values that are not finite
            step = np.where(before > 0.0, other.mean - self.mean, other.mean)
            squares = self.squares + other.squares + before * ratio * step**2
            return ClassColumns(self.weight + other.weight, self.mean + ratio * step, squares)

    def together(self) -> "ClassColumns":
        """The moments of all samples together."""
        parts = zip(self.weight, self.mean, self.squares, strict=True)
        return reduce(ClassColumns.merge, (ClassColumns(*(part[None] for part in each)) for each in parts))


def class_columns(classes: int) -> Callable[[Block], MaybeDeferred[ClassColumns]]:
    """The lift of `ClassColumns`."""
    return partial(_class_columns, classes)


def _class_columns(classes: int, block: Block) -> MaybeDeferred[ClassColumns]:
    if is_sparse(block.X):
        return _sparse_columns(classes, block)
    if not is_numpy(block.X):
        return class_columns_in_arrays(classes, block)
    X, weight, group = block.X, block.weight, groups_of(block)
    shift = _core.estimate_class_means(X, weight, group, classes)
    return _about(shift, *_core.class_moments(X, weight, group, shift, threads(entries(X))))


def _sparse_columns(classes: int, block: Block) -> ClassColumns:
    """Raw squares, centred; zero where only rounding is left."""
    lift = class_sums(classes)
    values, squares = _resolve(lift(block)), _resolve(lift(replace(block, X=_square(block.X))))
    weight = np.where(values.weight > 0.0, values.weight, 1.0)[:, None]
    mean = values.sums / weight
    raw = weight * mean**2
    with np.errstate(invalid="ignore"):  # as in merge
        squares_left = squares.sums - raw
    return ClassColumns(values.weight, mean, np.where(is_noise(squares_left, raw, block.y.shape[0]), 0.0, squares_left))


def _resolve(result: MaybeDeferred[ClassSums]) -> ClassSums:
    return resolve(result)


def _square(X: Array) -> Array:
    return type(X)((np.square(X.data, dtype=np.float64), X.indices, X.indptr), X.shape)


def _about(shift: Floats, weight: Floats, sums: Floats, squares: Floats) -> ClassColumns:
    """From sums about a shift near the means."""
    with np.errstate(invalid="ignore", over="ignore"):  # as in merge
        step = sums / np.where(weight > 0.0, weight, 1.0)[:, None]
        return ClassColumns(weight, shift + step, np.maximum(squares - weight[:, None] * step**2, 0.0))


def class_columns_in_arrays(classes: int, block: Block) -> Deferred[ClassColumns]:
    """The lift in the Array API: means first, then squares about them."""
    xp, membership = namespace(block.X), memberships(block, classes)
    X = xp.astype(block.X, xp.float64, copy=False)
    weight = xp.sum(membership, axis=0)
    mean = xp.matmul(membership.T, X) / xp.where(weight > 0.0, weight, xp.ones_like(weight))[:, None]
    deviations = X - xp.take(mean, groups_of(block), axis=0)
    return Deferred.of([weight, mean, xp.matmul(membership.T, deviations * deviations)], _to_columns)


def _to_columns(_: tuple[None, ...], weight: Floats, mean: Floats, squares: Floats) -> ClassColumns:
    return ClassColumns(weight, mean, squares)


NO_PRODUCTS = np.zeros((0, 0, 0))


@dataclass(frozen=True, slots=True)
class ClassSumsAbout:
    """Weight (k,) of each class, and sums (k, p) of its features and of their squares about given centres; from the
    compiled loop also products (k, q, p) as in `ClassScatterProducts`.
    """

    weight: Floats
    sums: Floats
    squares: Floats
    products: Floats = field(default_factory=lambda: NO_PRODUCTS)

    def merge(self, other: "ClassSumsAbout") -> "ClassSumsAbout":
        return ClassSumsAbout(
            self.weight + other.weight,
            self.sums + other.sums,
            self.squares + other.squares,
            self.products + other.products,
        )


def class_sums_about(
    centres: Floats, vectors: Floats | None = None
) -> Callable[[Block], MaybeDeferred[ClassSumsAbout]]:
    """The lift of `ClassSumsAbout` the rows of `centres` (k, p); with `vectors` (k, q, p), or (1, q, p) for all
    classes, the scatter products of dense samples are included.
    """
    return partial(_class_sums_about, centres, vectors)


def _class_sums_about(centres: Floats, vectors: Floats | None, block: Block) -> MaybeDeferred[ClassSumsAbout]:
    X = block.X
    if is_sparse(X):
        lift = class_sums(len(centres))
        values, squares = _resolve(lift(block)), _resolve(lift(replace(block, X=_square(X)))).sums
        moved = squares - 2.0 * centres * values.sums + values.weight[:, None] * centres**2
        return ClassSumsAbout(values.weight, values.sums - values.weight[:, None] * centres, moved)
    if is_numpy(X):
        if vectors is not None:
            return ClassSumsAbout(*_compute_products(centres, vectors, block))
        return ClassSumsAbout(*_core.class_moments(X, block.weight, groups_of(block), centres, threads(entries(X))))
    xp, membership = namespace(X), memberships(block, len(centres))
    deviations = xp.astype(X, xp.float64, copy=False) - xp.take(like(centres, X), groups_of(block), axis=0)
    sums = [
        xp.sum(membership, axis=0),
        xp.matmul(membership.T, deviations),
        xp.matmul(membership.T, deviations * deviations),
    ]
    return Deferred.of(sums, _errors, key="errors")


def _errors(_: tuple[None, ...], weight: Floats, sums: Floats, squares: Floats) -> ClassSumsAbout:
    return ClassSumsAbout(weight, sums, squares)


DENSE_ENTRIES = 1 << 17  # entries of sparse samples that are made dense at a time: bounds the memory


def diagonal_distances(X: Array, centre: Floats, scale: Floats) -> Array:
    """sum_j (scale_kj (x_ij - centre_kj))^2 for samples i and classes k, (n, k) in float64, where X is."""
    if is_numpy(X):
        return _core.scaled_distances(X, centre, scale, threads(entries(X) * len(centre)))
    if is_sparse(X):  # dense some samples at a time: differences of products would lose digits far from zero
        step = max(1, DENSE_ENTRIES // X.shape[1])
        parts = (X[first : first + step].toarray() for first in range(0, X.shape[0], step))
        return np.concatenate([diagonal_distances(contiguous(part), centre, scale) for part in parts])
    xp = namespace(X)
    X, c, s = xp.astype(X, xp.float64, copy=False), like(centre, X), like(scale, X)
    return xp.stack([xp.sum(((X - c[k, :]) * s[k, :]) ** 2, axis=1) for k in range(len(centre))], axis=1)


def mahalanobis_distances(X: Array, centres: Floats, factors: Floats) -> Array:
    """||(x_i - c_k) B_k||^2 for samples i and centres k with upper triangles B_k, (n, k) in float64, where X is."""
    if is_numpy(X):
        return _core.mahalanobis_distances(X, centres, factors, threads(entries(X) * factors.shape[1]))
    xp = namespace(X)
    X, c, B = xp.astype(X, xp.float64, copy=False), like(centres, X), like(factors, X)
    return xp.stack([xp.sum(xp.matmul(X - c[k, :], B[k, :, :]) ** 2, axis=1) for k in range(len(centres))], axis=1)


@dataclass(frozen=True, slots=True)
class ClassScatterProducts:
    """Weight (k,) of each class, its sums (k, p) about given centres, and the products (k, q, p) of its second moments
    about them with q vectors.
    """

    weight: Floats
    sums: Floats
    products: Floats

    def merge(self, other: "ClassScatterProducts") -> "ClassScatterProducts":
        return ClassScatterProducts(self.weight + other.weight, self.sums + other.sums, self.products + other.products)


def class_scatter_products(centres: Floats, vectors: Floats) -> Callable[[Block], MaybeDeferred[ClassScatterProducts]]:
    """The lift of `ClassScatterProducts` about the rows of `centres` (k, p), with `vectors` (k, q, p) of each class:
    two products with the samples, without forming covariances.
    """
    return partial(_class_scatter_products, centres, vectors)


def _class_scatter_products(centres: Floats, vectors: Floats, block: Block) -> MaybeDeferred[ClassScatterProducts]:
    if is_numpy(block.X):
        weight, sums, _, products = _compute_products(centres, vectors, block)
        return ClassScatterProducts(weight, sums, products)
    return class_scatter_products_in_arrays(centres, vectors, block)


def _compute_products(centres: Floats, vectors: Floats, block: Block) -> tuple[Floats, Floats, Floats, Floats]:
    count = threads(entries(block.X) * max(1, vectors.shape[1]))
    return _core.class_scatter_products(block.X, block.weight, groups_of(block), centres, vectors, count)


def class_scatter_products_in_arrays(
    centres: Floats, vectors: Floats, block: Block
) -> MaybeDeferred[ClassScatterProducts]:
    """The lift in the Array API, and of sparse samples; the reference for the compiled loop."""
    (k, q, p), membership = vectors.shape, memberships(block, len(centres))
    X, xp = block.X, namespace(membership)
    shift = centres.mean(axis=0)  # near the samples, which preserves their digits
    along = np.einsum("kqp,kp->kq", vectors, centres - shift).ravel()
    z = xp.reshape(forward(X, Params(vectors.reshape(k * q, p), -along), shift), (-1, k, q))
    U = xp.concat([xp.reshape(membership[:, :, None] * z, (-1, k * q)), membership], axis=1)
    finish = partial(_recentre, centres - shift, (k, q, p))
    if is_numpy(U):
        return finish((), adjoint(X, contiguous(U), shift), U.sum(axis=0))
    result = xp.matmul(U.T, xp.astype(X, xp.float64, copy=False) - like(shift, X))
    return Deferred.of([result, xp.sum(U, axis=0)], finish)


def _recentre(
    centres: Floats, shape: tuple[int, int, int], _: tuple[None, ...], result: Floats, total: Floats
) -> ClassScatterProducts:
    """Sums (k q + k, p) about the shift, moved to the centres."""
    k, q, p = shape
    weight, products = total[k * q :], result[: k * q].reshape(k, q, p)
    products = products - total[: k * q].reshape(k, q)[:, :, None] * centres[:, None, :]
    return ClassScatterProducts(weight, result[k * q :] - weight[:, None] * centres, products)


def sum_scatter_products(centres: Floats, factors: Floats, vectors: Floats) -> Callable[[Block], MaybeDeferred[Total]]:
    """The lift of sum_c factor_c sum_i w (x_i - centre_c)((x_i - centre_c)'v) over samples i of classes c, (q, p),
    for vectors v (q, p).
    """
    return partial(_sum_scatter_products, centres, factors, vectors)


def _sum_scatter_products(centres: Floats, factors: Floats, vectors: Floats, block: Block) -> MaybeDeferred[Total]:
    if is_numpy(block.X):
        result = _class_scatter_products(centres, vectors[None], block)
        assert isinstance(result, ClassScatterProducts)
        return Total(np.einsum("k,kqp->qp", factors, result.products))
    X, group, shift = block.X, groups_of(block), centres.mean(axis=0)  # as in `class_scatter_products`
    deviations = centres - shift
    z = forward(X, Params(vectors, np.zeros(len(vectors))), shift)
    xp = namespace(z)
    z = z - xp.take(like(deviations @ vectors.T, z), group, axis=0)
    z = z * (weights_of(block) * xp.take(like(factors, z), group, axis=0))[:, None]
    membership = xp.astype(group[:, None] == like(np.arange(len(centres)), z)[None, :], xp.float64)
    if is_numpy(z):
        sums = _core.matvec_t(contiguous(z), contiguous(membership), None, threads(entries(z) * len(centres)))  # (k, q)
        return Total(adjoint(X, contiguous(z), shift) - sums.T @ deviations)
    result = xp.matmul(z.T, xp.astype(X, xp.float64, copy=False) - like(shift, X))
    return Deferred.of([result - xp.matmul(xp.matmul(membership.T, z).T, like(deviations, z))], as_total)


def fourth_powers(centre: Floats, scale: Floats) -> Callable[[Block], MaybeDeferred[Total]]:
    """The lift of sums (k,) over the samples of each class of (sum_j (scale_kj (x_ij - centre_kj))^2)^2."""
    return partial(_fourth_powers, centre, scale)


def _fourth_powers(centre: Floats, scale: Floats, block: Block) -> MaybeDeferred[Total]:
    membership, squares = memberships(block, len(centre)), diagonal_distances(block.X, centre, scale)
    xp = namespace(squares)
    powers = xp.sum(membership * squares**2, axis=0)
    return Total(powers) if is_numpy(powers) else Deferred.of([powers], as_total)
