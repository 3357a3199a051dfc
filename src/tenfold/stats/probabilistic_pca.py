"""The E-step of probabilistic principal components with missing values.

Samples are ``x = m + W'z + e`` with z of unit variance and e of variance s in each feature, so that the covariance is
C = W'W + s I. For a sample with observed features o let M = s I + W_o W_o'. Then

    E[z | x_o] = M^-1 W_o (x_o - m_o),        Cov[z | x_o] = s M^-1,
    (x_o - m_o)' C_oo^-1 (x_o - m_o) = |x_o - m_o - W_o'E[z]|^2 / s + |E[z]|^2,
    log|C_oo| = (|o| - k) log s + log|M|,

and missing features have means m + W'E[z] and covariances s (W'M^-1 W + I). The matrices M are those of the patterns of
observed features, all at once.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import Array, Floats, is_sparse, wide
from tenfold.data import Block, weights_of
from tenfold.linear_algebra import eigh, product

PIECE_ENTRIES = 1 << 21  # entries of the conditional covariances of the patterns that are held at a time


@dataclass(frozen=True)
class Subspace:
    """Mean (p,), orthonormal axes (k, p), variances along them (k,), and the variance in all other directions, zero
    where there are none.
    """

    mean: Floats
    axes: Floats
    variances: Floats
    noise: float

    @cached_property
    def spread(self) -> float:
        """The variance that counts as noise: with as many axes as features the least along them, which is the same."""
        k, p = self.axes.shape
        return self.noise if k < p else float(np.min(self.variances))

    @cached_property
    def loadings(self) -> Floats:
        """W (k, p) of the covariance W'W + s I, with s = `spread`."""
        return np.sqrt(np.maximum(self.variances - self.spread, 0.0))[:, None] * self.axes

    @cached_property
    def covariance(self) -> Floats:
        return self.loadings.T @ self.loadings + self.spread * np.eye(self.axes.shape[1])


def fit_covariance(mean: Floats, S: Floats, count: int, least: float) -> Subspace:
    """The most likely subspace for samples of this mean and covariance, with variances of at least `least` (Tipping
    and Bishop, 1999): the leading eigenvectors, and the mean of the other eigenvalues.
    """
    values, vectors = eigh(S)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    noise = max(float(np.mean(values[count:])), least) if count < len(values) else 0.0
    return Subspace(mean, np.ascontiguousarray(vectors[:, :count].T), np.maximum(values[:count], least), noise)


class Posterior(NamedTuple):
    """Log densities (n,), deviations from the mean with expectations of the missing ones (n, p); the pattern of each
    sample (n,), the missing features of each pattern (m, p), and the inverse factors of M (m, k, k).
    """

    density: Floats
    deviations: Floats
    pattern: NDArray[np.intp]
    lacking: NDArray[np.bool_]
    inverses: Floats


def condition_on_observed(model: Subspace, X: Floats) -> Posterior:
    """What the observed values of samples (n, p), NaN where they are missing, say of the others."""
    W, s = model.loadings, model.spread
    k, p = W.shape
    there = ~np.isnan(X)
    away = np.where(there, X - model.mean, 0.0)
    _, first, pattern = np.unique(np.packbits(there, axis=1), axis=0, return_index=True, return_inverse=True)
    pattern, kinds = pattern.ravel(), there[first]
    products = (W[:, None, :] * W[None, :, :]).reshape(k * k, p)
    M = product(kinds.astype(np.float64), np.ascontiguousarray(products.T)).reshape(len(kinds), k, k) + s * np.eye(k)
    L = np.linalg.cholesky(M)
    T = np.linalg.inv(L)
    z = product(away, np.ascontiguousarray(W.T))
    if len(kinds) == 1:
        z = product(z, T[0].T @ T[0])
    else:
        z = np.einsum("nba,nb->na", T[pattern], np.einsum("nab,nb->na", T[pattern], z))
    expected = product(z, W)
    left = np.where(there, away - expected, 0.0)
    known = kinds.sum(axis=1)
    logs = (known - k) * np.log(s) + 2.0 * np.sum(np.log(np.einsum("mkk->mk", L)), axis=1)
    constant = known * float(np.log(2.0 * np.pi)) + logs
    squares = np.einsum("np,np->n", left, left) / s + np.einsum("nk,nk->n", z, z)
    return Posterior(-0.5 * (constant[pattern] + squares), np.where(there, away, expected), pattern, ~kinds, T)


@dataclass(frozen=True)
class CompletedSums:
    """At the parameters `at`: total weight, sum of weight times log density, and the expected sums of w (x - m) (p,)
    and of w (x - m)(x - m)' (p, p).
    """

    at: Subspace
    weight: float
    value: float
    sums: Floats
    squares: Floats

    def merge(self, other: "CompletedSums") -> "CompletedSums":
        return CompletedSums(
            self.at,
            self.weight + other.weight,
            self.value + other.value,
            self.sums + other.sums,
            self.squares + other.squares,
        )


def sum_completed(model: Subspace, block: Block) -> CompletedSums:
    """The lift of `CompletedSums`."""
    X, weight = as_dense(block.X), wide(weights_of(block))
    k, p = model.axes.shape
    length = max(1, PIECE_ENTRIES // (p * max(k, 1)))
    total = CompletedSums(model, 0.0, 0.0, np.zeros(p), np.zeros((p, p)))
    for start in range(0, len(X), length):
        total = total.merge(_sums_of_piece(model, X[start : start + length], weight[start : start + length]))
    return total


def _sums_of_piece(model: Subspace, X: Floats, weight: Floats) -> CompletedSums:
    seen = condition_on_observed(model, X)
    p = X.shape[1]
    squares = product(np.ascontiguousarray((weight[:, None] * seen.deviations).T), seen.deviations)
    if seen.lacking.any():
        totals = np.bincount(seen.pattern, weights=weight, minlength=len(seen.lacking))
        sizes = np.sqrt(model.spread * totals)[:, None, None]
        roots = model.loadings.T @ np.swapaxes(seen.inverses, 1, 2)  # (m, p, k), of W'M^-1 W
        roots = (sizes * np.where(seen.lacking[:, :, None], roots, 0.0)).transpose(1, 0, 2).reshape(p, -1)
        squares += product(roots, np.ascontiguousarray(roots.T)) + np.diag(model.spread * (totals @ seen.lacking))
    value = float(np.sum(weight * seen.density))
    return CompletedSums(model, float(np.sum(weight)), value, weight @ seen.deviations, squares)


def as_dense(X: Array) -> Floats:
    """Samples in host memory, in float64."""
    return np.asarray(X.toarray(), dtype=np.float64) if is_sparse(X) else wide(X)
