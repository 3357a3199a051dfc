"""What one step of expectation leaves of the rows for a mixture of Gaussians.

Rows with missing values are taken pattern by pattern: with o the columns that are there and m the others, the density
of a row is that of x_o, and in component k the rest is Gaussian with mean m_m + A (x_o - m_o), A = C_mo C_oo^-1, and
covariance C_mm - A C_om. Sums over the rows of a pattern are therefore products of sums over its columns o alone.
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
    """At the parameters `at`, with the responsibilities r_ik of component k for row i times the row's weight: weight of
    the rows, sum of weight times log density, counts sum r (k,), sums of r (x - m_k) (k, p), and squares: sums of r (x
    - m_k)(x - m_k)' (k, p, p), their diagonals (k, p), or of a tied mixture sum w (x - c)(x - c)' (1, p, p) about its
    centre c. What is missing in a row counts with its mean and its covariance, given the rest.
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
    """The lift of `MixtureSums`; values that are not a number are `missing`, or make the sums so."""
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
        away = X - means[k, :]
        u = r[:, k : k + 1] * away
        sums.append(xp.sum(u, axis=0))
        if mixture.diagonal:
            squares.append(xp.sum(u * away, axis=0))
        elif mixture.centre is None:
            squares.append(cross(u, away))
    if mixture.centre is not None:
        away = X - like(mixture.centre, X)
        squares.append(cross(weight[:, None] * away, away))
    parts = [xp.sum(weight), xp.sum(value), xp.sum(r, axis=0), xp.stack(sums, axis=0), xp.stack(squares, axis=0)]
    parts = [xp.reshape(part, (1,)) if part.ndim == 0 else part for part in parts]
    return Deferred.of(parts, partial(_finished, mixture), key="mixture")


def _finished(
    mixture: Mixture, _: tuple[None, ...], weight: Floats, value: Floats, count: Floats, sums: Floats, squares: Floats
) -> MixtureSums:
    return MixtureSums(mixture, float(weight[0]), float(value[0]), count, sums, squares)


def posterior(X: Array, mixture: Mixture, shares: bool = True) -> tuple[Array, Array]:
    """Log densities (n,) of rows, and where asked for the shares (n, k) of the components, where X is; missing values
    are left out.
    """
    xp = namespace(X)
    if bool(xp.any(xp.isnan(X))):
        return _posterior_with_missing(X, mixture)
    if is_numpy(X):
        return _core.gmm_responsibilities(X, *_parts(mixture), shares, _threads(X, mixture))
    return posterior_in_arrays(xp.astype(X, xp.float64, copy=False), mixture)


def posterior_in_arrays(X: Array, mixture: Mixture) -> tuple[Array, Array]:
    """Log densities (n,) and shares (n, k), in the Array API."""
    xp, factors, z = namespace(X), mixture.factors, []
    means = like(mixture.means, X)
    for k in range(mixture.shape[0]):
        away = X - means[k, :]
        if factors.scales is not None:
            y = away * like(factors.scales[k], X)
        else:
            assert factors.triangles is not None
            y = xp.matmul(away, like(factors.triangles[min(k, len(factors.triangles) - 1)], X))
        z.append(float(mixture.offsets[k]) - 0.5 * xp.sum(y * y, axis=1))
    joint = xp.stack(z, axis=1)
    largest = xp.max(joint, axis=1, keepdims=True)
    parts = xp.exp(joint - largest)
    total = xp.sum(parts, axis=1, keepdims=True)
    return (largest + xp.log(total))[:, 0], parts / total


def _patterns(X: Array) -> Iterator[tuple[Columns, Columns]]:
    """The columns that are there, and the numbers of the rows of that pattern."""
    lacking = on_host(namespace(X).isnan(X))
    kinds, numbers = np.unique(np.packbits(lacking, axis=1), axis=0, return_inverse=True)
    order = np.argsort(numbers.ravel(), kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(numbers.ravel(), minlength=len(kinds)))[:-1]):
        yield np.flatnonzero(~lacking[rows[0]]), rows


def _part(X: Array, rows: Columns, columns: Columns) -> Array:
    """Some columns of some rows."""
    if is_numpy(X):
        return np.ascontiguousarray(X[rows[:, None], columns])
    return namespace(X).take(take_rows(X, rows), like(columns, X), axis=1)


def _with_missing(mixture: Mixture, block: Block) -> MixtureSums:
    if block.X.shape[0] == 0:
        return resolve(_sums(mixture, block))
    return reduce(MixtureSums.merge, (_of_pattern(mixture, block, *pattern) for pattern in _patterns(block.X)))


def _of_pattern(mixture: Mixture, block: Block, columns: Columns, rows: Columns) -> MixtureSums:
    weight = None if block.weight is None else take_rows(block.weight, rows)
    p = mixture.shape[1]
    if not columns.size:
        return _nothing_known(mixture, float(len(rows) if weight is None else on_host(namespace(weight).sum(weight))))
    X = block.X if len(columns) == p and len(rows) == block.X.shape[0] else _part(block.X, rows, columns)
    part = Block(X, take_rows(block.y, rows), None if weight is None else contiguous(weight))
    if len(columns) == p:
        return resolve(_sums(mixture, part))
    return _completed(mixture, resolve(_sums(mixture.marginal(columns), part)), columns)


def _nothing_known(mixture: Mixture, weight: float) -> MixtureSums:
    """Rows of which all is missing: they are what the mixture says."""
    count = weight * mixture.weights / np.sum(mixture.weights)
    value = weight * float(np.log(np.sum(mixture.weights)))
    if mixture.diagonal:
        squares = count[:, None] * mixture.variances
    elif mixture.centre is None:
        squares = count[:, None, None] * mixture.covariances
    else:
        away = mixture.means - mixture.centre
        squares = (weight * mixture.covariances + np.einsum("k,ki,kj->ij", count, away, away))[None]
    return MixtureSums(mixture, weight, value, count, np.zeros(mixture.shape), squares)


def _completed(mixture: Mixture, known: MixtureSums, there: Columns) -> MixtureSums:
    """Sums of all columns, from those of the columns that are there."""
    k, p = mixture.shape
    lacking = np.setdiff1d(np.arange(p), there)
    sums = np.zeros((k, p))
    if mixture.diagonal:
        squares = np.zeros((k, p))
        sums[:, there], squares[:, there] = known.sums, known.squares
        squares[:, lacking] = known.count[:, None] * mixture.variances[:, lacking]
        return MixtureSums(mixture, known.weight, known.value, known.count, sums, squares)
    if mixture.centre is None:
        squares = np.zeros((k, p, p))
        for c in range(k):
            T, rest = _regression(mixture.covariances[c], there, lacking)
            sums[c] = np.einsum("po,o->p", T, known.sums[c])
            squares[c] = _turned(T, known.squares[c]) + known.count[c] * rest
        return MixtureSums(mixture, known.weight, known.value, known.count, sums, squares)
    T, rest = _regression(mixture.covariances, there, lacking)
    assert known.at.centre is not None
    sums = np.einsum("ko,po->kp", known.sums, T)
    within = known.squares[0] - _moved(known.sums, known.count, known.at.means - known.at.centre)
    about = _turned(T, within) + known.weight * rest
    total = about + _moved(sums, known.count, mixture.means - mixture.centre)
    return MixtureSums(mixture, known.weight, known.value, known.count, sums, total[None])


def _moved(sums: Floats, count: Floats, away: Floats) -> Floats:
    """What squares about places grow by when they are measured from a point that the places are `away` from."""
    mixed = np.einsum("ki,kj->ij", sums, away)
    return mixed + mixed.T + np.einsum("k,ki,kj->ij", count, away, away)


def _turned(T: Floats, S: Floats) -> Floats:
    """T S T'."""
    with one_blas_thread:
        return la.blas.dgemm(1.0, la.blas.dgemm(1.0, T, S), T, trans_b=True)


def _regression(C: Floats, there: Columns, lacking: Columns) -> tuple[Floats, Floats]:
    """T (p, o), which completes deviations of the columns that are there, and the covariance (p, p) of what it leaves
    open.
    """
    p = len(C)
    T, rest = np.zeros((p, len(there))), np.zeros((p, p))
    T[there, np.arange(len(there))] = 1.0
    with one_blas_thread:
        A = la.solve(C[there[:, None], there], C[there[:, None], lacking], assume_a="pos", check_finite=False).T
        explained = la.blas.dgemm(1.0, A, C[there[:, None], lacking])
    T[lacking] = A
    rest[lacking[:, None], lacking] = C[lacking[:, None], lacking] - explained
    return T, 0.5 * (rest + rest.T)


def _posterior_with_missing(X: Array, mixture: Mixture) -> tuple[Array, Array]:
    n, k = X.shape[0], mixture.shape[0]
    density, r = np.zeros(n), np.zeros((n, k))
    for columns, rows in _patterns(X):
        if columns.size:
            found = posterior(_part(X, rows, columns), mixture.marginal(columns))
            density[rows], r[rows] = on_host(found[0]), on_host(found[1])
        else:
            density[rows], r[rows] = np.log(np.sum(mixture.weights)), mixture.weights / np.sum(mixture.weights)
    return like(density, X), like(r, X)


@dataclass(frozen=True)
class Gathered:
    """Rows (n, p) and their weights (n,) on this machine, in order."""

    X: Floats
    weight: Floats

    def merge(self, other: "Gathered") -> "Gathered":
        return Gathered(np.concatenate([self.X, other.X]), np.concatenate([self.weight, other.weight]))

    @classmethod
    def lift(cls, block: Block) -> "Gathered":
        """For samples: rows do not travel in numbers."""
        return cls(wide(block.X), wide(weights_of(block)))


def known_columns(block: Block) -> MaybeDeferred[ClassColumns]:
    """The lift of `ClassColumns` of one class, of the values that are not missing."""
    xp = namespace(block.X)
    X, own = xp.astype(block.X, xp.float64, copy=False), weights_of(block)[:, None]
    known = xp.where(xp.isnan(X), xp.zeros_like(X), own + xp.zeros_like(X))
    X = xp.where(xp.isnan(X), xp.zeros_like(X), X)
    weight = xp.sum(known, axis=0)
    with np.errstate(invalid="ignore"):  # what is infinite is refused by whoever folds it
        mean = xp.sum(known * X, axis=0) / xp.where(weight > 0.0, weight, xp.ones_like(weight))
        squares = xp.sum(known * (X - mean) ** 2, axis=0)
    return Deferred.of([weight[None, :], mean[None, :], squares[None, :]], _known)


def _known(_: tuple[None, ...], weight: Floats, mean: Floats, squares: Floats) -> ClassColumns:
    return ClassColumns(weight, mean, squares)
