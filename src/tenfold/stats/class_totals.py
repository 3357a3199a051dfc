"""Sums of the columns, class by class: what naive Bayes needs to know about the data.

The number of a row's class is its group.
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
    """Weight (k,) of each class and weighted sums (k, p) of its columns; the least value of X.

    Of marks of values above a threshold `low` is infinite, or not a number where a value is not finite.
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
    xp, own = namespace(block.X), memberships(block, classes)
    X = xp.astype(block.X, xp.float64, copy=False)
    low = xp.min(X) if threshold is None else np.inf + xp.sum(0.0 * X)
    low, X = xp.reshape(low, (1,)), X if threshold is None else marks(X, threshold)
    return Deferred.of([xp.sum(own, axis=0), xp.matmul(own.T, X), low], _from_sums)


def marks(X: Array, threshold: float) -> Array:
    """One where X exceeds the threshold, else zero, in float64; of a sparse X what is stored."""
    if is_sparse(X):
        return type(X)(((X.data > threshold).astype(np.float64), X.indices, X.indptr), X.shape)
    xp = namespace(X)
    return xp.astype(X > threshold, xp.float64)  # noqa: SIM300


def _from_sums(_: tuple[None, ...], weight: Floats, sums: Floats, low: Floats) -> ClassSums:
    return ClassSums(weight, sums, float(low[0]))


def groups_of(block: Block) -> Any:
    """The number of each row's class."""
    assert block.group is not None
    return block.group


def as_one_class(rows: Rows) -> Rows:
    """All rows in one class."""
    return rows.regroup(np.zeros(rows.shape[0], dtype=np.int32))


def memberships(block: Block, classes: int) -> Array:
    """The weight of each row in the column of its class, (m, k)."""
    xp = namespace(block.y)
    own = groups_of(block)[:, None] == like(np.arange(classes), block.y)[None, :]
    return xp.where(own, weights_of(block)[:, None], 0.0)


@dataclass(frozen=True, slots=True)
class ClassColumns:
    """Weight (k,) of each class, or (k, p) of what is known of each of its columns; means and sums of squares about
    them (k, p).
    """

    weight: Floats
    mean: Floats
    squares: Floats

    def _by_column(self) -> Floats:
        """The weights, with an axis of columns."""
        return self.weight if self.weight.ndim == 2 else self.weight[:, None]

    def merge(self, other: "ClassColumns") -> "ClassColumns":
        """Chan, Golub and LeVeque (1979)."""
        before, new = self._by_column(), other._by_column()
        weight = before + new
        share = new / np.where(weight > 0.0, weight, 1.0)
        with np.errstate(invalid="ignore", over="ignore"):  # rows that are not finite are refused by whoever folds them
            step = np.where(before > 0.0, other.mean - self.mean, other.mean)
            squares = self.squares + other.squares + before * share * step**2
            return ClassColumns(self.weight + other.weight, self.mean + share * step, squares)

    def together(self) -> "ClassColumns":
        """Of all rows, as one class."""
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
    """Squares about zero, moved to the means; where nothing but rounding is left of them, nothing is."""
    lift = class_sums(classes)
    values, squares = _settled(lift(block)), _settled(lift(replace(block, X=_squared(block.X))))
    weight = np.where(values.weight > 0.0, values.weight, 1.0)[:, None]
    mean = values.sums / weight
    raw = weight * mean**2
    with np.errstate(invalid="ignore"):  # as in merge
        left = squares.sums - raw
    return ClassColumns(values.weight, mean, np.where(is_noise(left, raw, block.y.shape[0]), 0.0, left))


def _settled(found: MaybeDeferred[ClassSums]) -> ClassSums:
    return resolve(found)


def _squared(X: Array) -> Array:
    return type(X)((np.square(X.data, dtype=np.float64), X.indices, X.indptr), X.shape)


def _about(shift: Floats, weight: Floats, sums: Floats, squares: Floats) -> ClassColumns:
    """From sums about places that are near the means."""
    with np.errstate(invalid="ignore", over="ignore"):  # as in merge
        step = sums / np.where(weight > 0.0, weight, 1.0)[:, None]
        return ClassColumns(weight, shift + step, np.maximum(squares - weight[:, None] * step**2, 0.0))


def class_columns_in_arrays(classes: int, block: Block) -> Deferred[ClassColumns]:
    """The lift in the Array API: means first, then squares about them."""
    xp, own = namespace(block.X), memberships(block, classes)
    X = xp.astype(block.X, xp.float64, copy=False)
    weight = xp.sum(own, axis=0)
    mean = xp.matmul(own.T, X) / xp.where(weight > 0.0, weight, xp.ones_like(weight))[:, None]
    away = X - xp.take(mean, groups_of(block), axis=0)
    return Deferred.of([weight, mean, xp.matmul(own.T, away * away)], _as_they_are)


def _as_they_are(_: tuple[None, ...], weight: Floats, mean: Floats, squares: Floats) -> ClassColumns:
    return ClassColumns(weight, mean, squares)


NO_PRODUCTS = np.zeros((0, 0, 0))


@dataclass(frozen=True, slots=True)
class ClassErrors:
    """Weight (k,) of each class, and sums (k, p) of its columns and of their squares about places that are given; where
    a compiled loop has them for nothing, also products (k, q, p) as in `ClassProducts`.
    """

    weight: Floats
    sums: Floats
    squares: Floats
    products: Floats = field(default_factory=lambda: NO_PRODUCTS)

    def merge(self, other: "ClassErrors") -> "ClassErrors":
        return ClassErrors(
            self.weight + other.weight,
            self.sums + other.sums,
            self.squares + other.squares,
            self.products + other.products,
        )


def class_errors(places: Floats, vectors: Floats | None = None) -> Callable[[Block], MaybeDeferred[ClassErrors]]:
    """The lift of `ClassErrors` about the rows of `places` (k, p); with `vectors` (k, q, p), or (1, q, p) for all
    classes, the products of dense rows come with it.
    """
    return partial(_class_errors, places, vectors)


def _class_errors(places: Floats, vectors: Floats | None, block: Block) -> MaybeDeferred[ClassErrors]:
    X = block.X
    if is_sparse(X):
        lift = class_sums(len(places))
        values, squares = _settled(lift(block)), _settled(lift(replace(block, X=_squared(X)))).sums
        moved = squares - 2.0 * places * values.sums + values.weight[:, None] * places**2
        return ClassErrors(values.weight, values.sums - values.weight[:, None] * places, moved)
    if is_numpy(X):
        if vectors is not None:
            return ClassErrors(*_compiled_products(places, vectors, block))
        return ClassErrors(*_core.class_moments(X, block.weight, groups_of(block), places, threads(entries(X))))
    xp, own = namespace(X), memberships(block, len(places))
    away = xp.astype(X, xp.float64, copy=False) - xp.take(like(places, X), groups_of(block), axis=0)
    sums = [xp.sum(own, axis=0), xp.matmul(own.T, away), xp.matmul(own.T, away * away)]
    return Deferred.of(sums, _errors, key="errors")


def _errors(_: tuple[None, ...], weight: Floats, sums: Floats, squares: Floats) -> ClassErrors:
    return ClassErrors(weight, sums, squares)


def scaled_distances(X: Array, centre: Floats, scale: Floats) -> Array:
    """sum_j (scale_kj (x_ij - centre_kj))^2 for rows i and classes k, (n, k) in float64, where X is."""
    if is_numpy(X):
        return _core.scaled_distances(X, centre, scale, threads(entries(X) * len(centre)))
    xp = namespace(X)
    X, c, s = xp.astype(X, xp.float64, copy=False), like(centre, X), like(scale, X)
    return xp.stack([xp.sum(((X - c[k, :]) * s[k, :]) ** 2, axis=1) for k in range(len(centre))], axis=1)


def quadratics(X: Array, centres: Floats, factors: Floats) -> Array:
    """||(x_i - c_k) B_k||^2 for rows i and centres k with upper triangles B_k, (n, k) in float64, where X is."""
    if is_numpy(X):
        return _core.mahalanobis_distances(X, centres, factors, threads(entries(X) * factors.shape[1]))
    xp = namespace(X)
    X, c, B = xp.astype(X, xp.float64, copy=False), like(centres, X), like(factors, X)
    return xp.stack([xp.sum(xp.matmul(X - c[k, :], B[k, :, :]) ** 2, axis=1) for k in range(len(centres))], axis=1)


@dataclass(frozen=True, slots=True)
class ClassProducts:
    """Weight (k,) of each class, its sums (k, p) about given places, and the products (k, q, p) of its second moments
    about them with q vectors.
    """

    weight: Floats
    sums: Floats
    products: Floats

    def merge(self, other: "ClassProducts") -> "ClassProducts":
        return ClassProducts(self.weight + other.weight, self.sums + other.sums, self.products + other.products)


def class_products(places: Floats, vectors: Floats) -> Callable[[Block], MaybeDeferred[ClassProducts]]:
    """The lift of `ClassProducts` about the rows of `places` (k, p), with `vectors` (k, q, p) of each class: two
    products of the rows, and no matrix of products of columns.
    """
    return partial(_class_products, places, vectors)


def _class_products(places: Floats, vectors: Floats, block: Block) -> MaybeDeferred[ClassProducts]:
    if is_numpy(block.X):
        weight, sums, _, products = _compiled_products(places, vectors, block)
        return ClassProducts(weight, sums, products)
    return class_products_in_arrays(places, vectors, block)


def _compiled_products(places: Floats, vectors: Floats, block: Block) -> tuple[Floats, Floats, Floats, Floats]:
    count = threads(entries(block.X) * max(1, vectors.shape[1]))
    return _core.class_scatter_products(block.X, block.weight, groups_of(block), places, vectors, count)


def class_products_in_arrays(places: Floats, vectors: Floats, block: Block) -> MaybeDeferred[ClassProducts]:
    """The lift in the Array API, and of sparse rows; the reference for the compiled loop."""
    (k, q, p), own = vectors.shape, memberships(block, len(places))
    X, xp, shift = block.X, namespace(own), places.mean(axis=0)  # a place near the rows keeps their digits
    along = np.einsum("kqp,kp->kq", vectors, places - shift).ravel()
    z = xp.reshape(forward(X, Params(vectors.reshape(k * q, p), -along), shift), (-1, k, q))
    U = xp.concat([xp.reshape(own[:, :, None] * z, (-1, k * q)), own], axis=1)
    finish = partial(_about_places, places - shift, (k, q, p))
    if is_numpy(U):
        return finish((), adjoint(X, contiguous(U), shift), U.sum(axis=0))
    found = xp.matmul(U.T, xp.astype(X, xp.float64, copy=False) - like(shift, X))
    return Deferred.of([found, xp.sum(U, axis=0)], finish)


def _about_places(
    places: Floats, shape: tuple[int, int, int], _: tuple[None, ...], found: Floats, total: Floats
) -> ClassProducts:
    """Sums (k q + k, p) about the origin, moved to the places."""
    k, q, p = shape
    weight, products = total[k * q :], found[: k * q].reshape(k, q, p)
    products = products - total[: k * q].reshape(k, q)[:, :, None] * places[:, None, :]
    return ClassProducts(weight, found[k * q :] - weight[:, None] * places, products)


def pooled_products(places: Floats, factors: Floats, vectors: Floats) -> Callable[[Block], MaybeDeferred[Total]]:
    """The lift of sum_c factor_c sum_i w (x_i - place_c)((x_i - place_c)'v) over the rows i of the classes c, (q, p),
    for vectors v (q, p).
    """
    return partial(_pooled_products, places, factors, vectors)


def _pooled_products(places: Floats, factors: Floats, vectors: Floats, block: Block) -> MaybeDeferred[Total]:
    if is_numpy(block.X):
        found = _class_products(places, vectors[None], block)
        assert isinstance(found, ClassProducts)
        return Total(np.einsum("k,kqp->qp", factors, found.products))
    X, group, shift = block.X, groups_of(block), places.mean(axis=0)  # as in `class_products`
    away = places - shift
    z = forward(X, Params(vectors, np.zeros(len(vectors))), shift)
    xp = namespace(z)
    z = z - xp.take(like(away @ vectors.T, z), group, axis=0)
    z = z * (weights_of(block) * xp.take(like(factors, z), group, axis=0))[:, None]
    own = xp.astype(group[:, None] == like(np.arange(len(places)), z)[None, :], xp.float64)
    if is_numpy(z):
        sums = _core.matvec_t(contiguous(z), contiguous(own), None, threads(entries(z) * len(places)))  # (k, q)
        return Total(adjoint(X, contiguous(z), shift) - sums.T @ away)
    found = xp.matmul(z.T, xp.astype(X, xp.float64, copy=False) - like(shift, X))
    return Deferred.of([found - xp.matmul(xp.matmul(own.T, z).T, like(away, z))], as_total)


def fourth_powers(centre: Floats, scale: Floats) -> Callable[[Block], MaybeDeferred[Total]]:
    """The lift of sums (k,) over the rows of each class of (sum_j (scale_kj (x_ij - centre_kj))^2)^2."""
    return partial(_fourth_powers, centre, scale)


def _fourth_powers(centre: Floats, scale: Floats, block: Block) -> MaybeDeferred[Total]:
    own, squares = memberships(block, len(centre)), scaled_distances(block.X, centre, scale)
    xp = namespace(squares)
    powers = xp.sum(own * squares**2, axis=0)
    return Total(powers) if is_numpy(powers) else Deferred.of([powers], as_total)
