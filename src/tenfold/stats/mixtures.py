"""The E-step of a Gaussian mixture.

Samples with missing values are processed by pattern: with o the observed features and m the missing ones, the density
of a sample is that of x_o, and in component k x_m is Gaussian with mean m_m + A (x_o - m_o), A = C_mo C_oo^-1, and
covariance C_mm - A C_om. Sums over a pattern therefore follow from sums over its observed features.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as la

from tenfold import _core
from tenfold.arrays import Array, Floats, contiguous, cross, is_numpy, like, namespace, on_host, take_rows, wide
from tenfold.data import Block, Deferred, MaybeDeferred, resolve, weights_of
from tenfold.machine import one_blas_thread, threads
from tenfold.stats.class_totals import ClassColumns
from tenfold.stats.gaussians import Mixture
from tenfold.stats.mixture_features import quadratic_forms

Columns = NDArray[np.intp]


@dataclass(frozen=True)
class MixtureSums:
    """At the parameters `at`, with r_ik the responsibility of component k for sample i times its weight: total weight,
    sum of weight times log density, counts sum r (k,), sums of r (x - m_k) (k, p), and squares: sums of r (x - m_k)(x -
    m_k)' (k, p, p), their diagonals (k, p), or of a tied mixture sum w (x - c)(x - c)' (1, p, p) about its centre c.
    Missing values enter with their conditional means and covariances.
    """

    at: Mixture
    weight: float
    value: float
    count: Floats
    sums: Floats
    squares: Floats

    def merge(self, other: "MixtureSums") -> "MixtureSums":
        return MixtureSums(
            self.at,
            self.weight + other.weight,
            self.value + other.value,
            self.count + other.count,
            self.sums + other.sums,
            self.squares + other.squares,
        )


def mixture_sums(mixture: Mixture, missing: bool = False) -> Callable[[Block], MaybeDeferred[MixtureSums]]:
    """The lift of `MixtureSums`; NaN is `missing`, or makes the sums NaN."""
    return partial(_with_missing if missing else _sums, mixture)


def _parts(mixture: Mixture) -> tuple[Floats, Floats | None, Floats | None, Floats | None, Floats]:
    factors = mixture.factors
    return mixture.means, factors.triangles, factors.scales, mixture.centre, mixture.offsets


def _threads(X: Array, mixture: Mixture) -> int:
    k, p = mixture.shape
    return threads(X.shape[0] * k * p * (1 if mixture.diagonal else p))


def _sums(mixture: Mixture, block: Block) -> MaybeDeferred[MixtureSums]:
    X = block.X
    if not is_numpy(X):
        return mixture_sums_in_arrays(mixture, block)
    forms = quadratic_forms(mixture)
    if forms is not None:
        return MixtureSums(mixture, *forms.sums(mixture, X, block.weight, _threads(X, mixture)))
    return MixtureSums(mixture, *_core.gmm_estep(X, block.weight, *_parts(mixture), _threads(X, mixture)))


def mixture_sums_in_arrays(mixture: Mixture, block: Block) -> Deferred[MixtureSums]:
    """The lift in the Array API: for other namespaces, and the reference for the compiled loop."""
    xp = namespace(block.X)
    X, weight = xp.astype(block.X, xp.float64, copy=False), weights_of(block)
    density, r = posterior_in_arrays(X, mixture)
    r = xp.where(weight[:, None] > 0.0, weight[:, None] * r, 0.0)
    value = xp.where(weight > 0.0, weight * density, xp.zeros_like(density))
    means, sums, squares = like(mixture.means, X), [], []
    for k in range(mixture.shape[0]):
        deviations = X - means[k, :]
        u = r[:, k : k + 1] * deviations
        sums.append(xp.sum(u, axis=0))
        if mixture.diagonal:
            squares.append(xp.sum(u * deviations, axis=0))
        elif mixture.centre is None:
            squares.append(cross(u, deviations))
    if mixture.centre is not None:
        deviations = X - like(mixture.centre, X)
        squares.append(cross(weight[:, None] * deviations, deviations))
    parts = [xp.sum(weight), xp.sum(value), xp.sum(r, axis=0), xp.stack(sums, axis=0), xp.stack(squares, axis=0)]
    parts = [xp.reshape(part, (1,)) if part.ndim == 0 else part for part in parts]
    return Deferred.of(parts, partial(_to_sums, mixture), key="mixture")


def _to_sums(
    mixture: Mixture, _: tuple[None, ...], weight: Floats, value: Floats, count: Floats, sums: Floats, squares: Floats
) -> MixtureSums:
    return MixtureSums(mixture, float(weight[0]), float(value[0]), count, sums, squares)


def posterior(X: Array, mixture: Mixture, responsibilities: bool = True) -> tuple[Array, Array]:
    """Log densities (n,) and, if requested, responsibilities (n, k), on the device of X; missing values are
    marginalised.
    """
    xp = namespace(X)
    if bool(xp.any(xp.isnan(X))):
        return _posterior_with_missing(X, mixture)
    if is_numpy(X):
        return _core.gmm_responsibilities(X, *_parts(mixture), responsibilities, _threads(X, mixture))
    return posterior_in_arrays(xp.astype(X, xp.float64, copy=False), mixture)


def posterior_in_arrays(X: Array, mixture: Mixture) -> tuple[Array, Array]:
    """Log densities (n,) and responsibilities (n, k), in the Array API."""
    xp, factors, z = namespace(X), mixture.factors, []
    means = like(mixture.means, X)
    for k in range(mixture.shape[0]):
        deviations = X - means[k, :]
        if factors.scales is not None:
            y = deviations * like(factors.scales[k], X)
        else:
            assert factors.triangles is not None
            y = xp.matmul(deviations, like(factors.triangles[min(k, len(factors.triangles) - 1)], X))
        z.append(float(mixture.offsets[k]) - 0.5 * xp.sum(y * y, axis=1))
    scores = xp.stack(z, axis=1)
    largest = xp.max(scores, axis=1, keepdims=True)
    parts = xp.exp(scores - largest)
    total = xp.sum(parts, axis=1, keepdims=True)
    return (largest + xp.log(total))[:, 0], parts / total


def _patterns(X: Array) -> Iterator[tuple[Columns, Columns]]:
    """For each pattern of missing values, the observed columns and the row indices."""
    missing_columns = on_host(namespace(X).isnan(X))
    kinds, numbers = np.unique(np.packbits(missing_columns, axis=1), axis=0, return_inverse=True)
    order = np.argsort(numbers.ravel(), kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(numbers.ravel(), minlength=len(kinds)))[:-1]):
        yield np.flatnonzero(~missing_columns[rows[0]]), rows


def _part(X: Array, rows: Columns, columns: Columns) -> Array:
    """Selected columns of selected rows."""
    if is_numpy(X):
        return np.ascontiguousarray(X[rows[:, None], columns])
    return namespace(X).take(take_rows(X, rows), like(columns, X), axis=1)


def _with_missing(mixture: Mixture, block: Block) -> MixtureSums:
    if block.X.shape[0] == 0:
        return resolve(_sums(mixture, block))
    return reduce(MixtureSums.merge, (_sums_of_pattern(mixture, block, *pattern) for pattern in _patterns(block.X)))


def _sums_of_pattern(mixture: Mixture, block: Block, columns: Columns, rows: Columns) -> MixtureSums:
    weight = None if block.weight is None else take_rows(block.weight, rows)
    p = mixture.shape[1]
    if not columns.size:
        return _all_missing(mixture, float(len(rows) if weight is None else on_host(namespace(weight).sum(weight))))
    X = block.X if len(columns) == p and len(rows) == block.X.shape[0] else _part(block.X, rows, columns)
    part = Block(X, take_rows(block.y, rows), None if weight is None else contiguous(weight))
    if len(columns) == p:
        return resolve(_sums(mixture, part))
    return _complete(mixture, resolve(_sums(mixture.marginal(columns), part)), columns)


def _all_missing(mixture: Mixture, weight: float) -> MixtureSums:
    """Samples with all values missing: their expectations are those of the mixture."""
    count = weight * mixture.weights / np.sum(mixture.weights)
    value = weight * float(np.log(np.sum(mixture.weights)))
    if mixture.diagonal:
        squares = count[:, None] * mixture.variances
    elif mixture.centre is None:
        squares = count[:, None, None] * mixture.covariances
    else:
        deviations = mixture.means - mixture.centre
        squares = (weight * mixture.covariances + np.einsum("k,ki,kj->ij", count, deviations, deviations))[None]
    return MixtureSums(mixture, weight, value, count, np.zeros(mixture.shape), squares)


def _complete(mixture: Mixture, known: MixtureSums, present: Columns) -> MixtureSums:
    """Sums of all features from those of the observed ones."""
    k, p = mixture.shape
    missing_columns = np.setdiff1d(np.arange(p), present)
    sums = np.zeros((k, p))
    if mixture.diagonal:
        squares = np.zeros((k, p))
        sums[:, present], squares[:, present] = known.sums, known.squares
        squares[:, missing_columns] = known.count[:, None] * mixture.variances[:, missing_columns]
        return MixtureSums(mixture, known.weight, known.value, known.count, sums, squares)
    if mixture.centre is None:
        squares = np.zeros((k, p, p))
        for c in range(k):
            T, rest = _regression(mixture.covariances[c], present, missing_columns)
            sums[c] = np.einsum("po,o->p", T, known.sums[c])
            squares[c] = _congruence(T, known.squares[c]) + known.count[c] * rest
        return MixtureSums(mixture, known.weight, known.value, known.count, sums, squares)
    T, rest = _regression(mixture.covariances, present, missing_columns)
    assert known.at.centre is not None
    sums = np.einsum("ko,po->kp", known.sums, T)
    within = known.squares[0] - _shift_correction(known.sums, known.count, known.at.means - known.at.centre)
    about = _congruence(T, within) + known.weight * rest
    total = about + _shift_correction(sums, known.count, mixture.means - mixture.centre)
    return MixtureSums(mixture, known.weight, known.value, known.count, sums, total[None])


def _shift_correction(sums: Floats, count: Floats, deviations: Floats) -> Floats:
    """The change of second moments when the centres move by `deviations`."""
    mixed = np.einsum("ki,kj->ij", sums, deviations)
    return mixed + mixed.T + np.einsum("k,ki,kj->ij", count, deviations, deviations)


def _congruence(T: Floats, S: Floats) -> Floats:
    """T S T'."""
    with one_blas_thread:
        return la.blas.dgemm(1.0, la.blas.dgemm(1.0, T, S), T, trans_b=True)


def _regression(C: Floats, present: Columns, missing_columns: Columns) -> tuple[Floats, Floats]:
    """The regression T (p, o) of all features on the observed ones, and the residual covariance (p, p)."""
    p = len(C)
    T, rest = np.zeros((p, len(present))), np.zeros((p, p))
    T[present, np.arange(len(present))] = 1.0
    with one_blas_thread:
        A = la.solve(
            C[present[:, None], present], C[present[:, None], missing_columns], assume_a="pos", check_finite=False
        ).T
        explained = la.blas.dgemm(1.0, A, C[present[:, None], missing_columns])
    T[missing_columns] = A
    rest[missing_columns[:, None], missing_columns] = C[missing_columns[:, None], missing_columns] - explained
    return T, 0.5 * (rest + rest.T)


def _posterior_with_missing(X: Array, mixture: Mixture) -> tuple[Array, Array]:
    n, k = X.shape[0], mixture.shape[0]
    density, r = np.zeros(n), np.zeros((n, k))
    for columns, rows in _patterns(X):
        if columns.size:
            result = posterior(_part(X, rows, columns), mixture.marginal(columns))
            density[rows], r[rows] = on_host(result[0]), on_host(result[1])
        else:
            density[rows], r[rows] = np.log(np.sum(mixture.weights)), mixture.weights / np.sum(mixture.weights)
    return like(density, X), like(r, X)


@dataclass(frozen=True)
class CollectedRows:
    """Samples (n, p) and their weights (n,) in host memory, in order."""

    X: Floats
    weight: Floats

    def merge(self, other: "CollectedRows") -> "CollectedRows":
        return CollectedRows(np.concatenate([self.X, other.X]), np.concatenate([self.weight, other.weight]))

    @classmethod
    def lift(cls, block: Block) -> "CollectedRows":
        """For subsamples: too large a statistic for whole data sets."""
        return cls(wide(block.X), wide(weights_of(block)))


def nonmissing_moments(block: Block) -> MaybeDeferred[ClassColumns]:
    """The lift of `ClassColumns` of one class, of the non-missing values."""
    xp = namespace(block.X)
    X, own = xp.astype(block.X, xp.float64, copy=False), weights_of(block)[:, None]
    known = xp.where(xp.isnan(X), xp.zeros_like(X), own + xp.zeros_like(X))
    X = xp.where(xp.isnan(X), xp.zeros_like(X), X)
    weight = xp.sum(known, axis=0)
    with np.errstate(invalid="ignore"):  # the caller of the fold rejects infinities
        mean = xp.sum(known * X, axis=0) / xp.where(weight > 0.0, weight, xp.ones_like(weight))
        squares = xp.sum(known * (X - mean) ** 2, axis=0)
    return Deferred.of([weight[None, :], mean[None, :], squares[None, :]], _to_columns)


def _to_columns(_: tuple[None, ...], weight: Floats, mean: Floats, squares: Floats) -> ClassColumns:
    return ClassColumns(weight, mean, squares)
