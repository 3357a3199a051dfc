"""The beta-divergence between samples X (n, p) and a product of factors W (n, k) and H (k, p), Y = W H:

    D(X, Y) = sum_ij d(x_ij, y_ij),    d(x, y) = (x - y)^2 / 2                                          beta = 2
                                                 x log(x / y) - x + y                                   beta = 1
                                                 x / y - log(x / y) - 1                                 beta = 0
                                                 (x^b + (b - 1) y^b - b x y^(b-1)) / (b (b - 1))        beta = b

with the gradients dD/dH = W'(Y^(b-1)) - W'(X Y^(b-2)) and dD/dW likewise, each as its positive and its negative part.
Entries of dense X that are NaN are missing: they have no term. The product is never formed for beta = 2 without
such, and for beta = 1 only where sparse X is not zero; else block by block. Where entries of Y are divided by they are
at least `floor`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import blas
from scipy.special import xlogy

from tenfold.arrays import Array, Floats, is_sparse
from tenfold.linear_algebra import dot
from tenfold.machine import one_blas_thread
from tenfold.problems import Factorization, length
from tenfold.stats.derivatives import Params, adjoint, forward

BLOCK_ENTRIES = 1 << 20  # of a product of factors that is formed at a time
FLOOR = 2.0**-23  # of the mean of X, at most of one: products of factors below it count as this where they divide


class Factors(NamedTuple):
    """W (n, k) and H (k, p)."""

    W: Floats
    H: Floats


class Slopes(NamedTuple):
    """The positive and the negative part of a gradient."""

    positive: Floats
    negative: Floats


def times(X: Array, H: Floats) -> Floats:
    """X H' as (n, k)."""
    return np.asarray(forward(X, Params(H, np.zeros(len(H)))))


def multiply(A: Floats, B: Floats) -> Floats:
    """A B of small or dense arrays in C order, on one thread."""
    with one_blas_thread:
        return np.asarray(blas.dgemm(1.0, B.T, A.T).T)


def gram(W: Floats) -> Floats:
    """W'W."""
    with one_blas_thread:
        return np.asarray(blas.dgemm(1.0, W.T, W.T, trans_b=1).T)


def inner(A: Floats, B: Floats) -> float:
    """The sum of products of the entries of two arrays in C order."""
    return dot(A.ravel(), B.ravel())


def sum_of_squares(X: Array) -> float:
    total = float(np.sum(np.square(X.data if is_sparse(X) else X, dtype=np.float64)))
    return float(np.nansum(np.square(X, dtype=np.float64))) if np.isnan(total) and not is_sparse(X) else total


def has_missing(X: Array) -> bool:
    """Whether entries of dense X are NaN."""
    return not is_sparse(X) and bool(np.isnan(np.sum(X))) and bool(np.isnan(X).any())


def mean_of(X: Array) -> float:
    if has_missing(X):
        return float(np.nansum(X, dtype=np.float64)) / max(1, int(np.sum(~np.isnan(X))))
    return float(np.sum(X.data if is_sparse(X) else X, dtype=np.float64)) / (X.shape[0] * X.shape[1])


@dataclass(frozen=True)
class Divergence:
    """The beta-divergence from samples, and its gradients."""

    X: Array
    beta: float
    floor: float
    missing: bool = False

    @classmethod
    def of(cls, X: Array, beta: float) -> "Divergence":
        return cls(X, float(beta), FLOOR * min(1.0, mean_of(X)) or np.finfo(np.float64).tiny, has_missing(X))

    def value(self, W: Floats, H: Floats) -> float:
        """D(X, W H)."""
        if self.is_quadratic:
            cross = float(np.sum(W * times(self.X, H)))
            apart = 0.5 * sum_of_squares(self.X) - cross + 0.5 * float(np.sum(gram(W) * gram(H.T)))
            # a small rest of large sums is known by its terms alone
            return apart if apart > 1e-6 * cross else self._small_square(W, H)
        if self._at_nonzeros:
            y = np.maximum(self.product_at_nonzeros(W, H), self.floor)
            x = self.X.data.astype(np.float64)
            return float(np.sum(xlogy(x, x / y)) - np.sum(x) + W.sum(axis=0) @ H.sum(axis=1))
        return sum(float(np.sum(self._terms(x, y))) for _, x, y in self.blocks(W, H))

    def slopes_H(self, W: Floats, H: Floats) -> Slopes:
        """The parts of the gradient in H, (k, p)."""
        if self.is_quadratic:
            return Slopes(multiply(gram(W), H), adjoint(self.X, W))
        if self._at_nonzeros:
            positive = np.broadcast_to(W.sum(axis=0)[:, None], H.shape)
            return Slopes(np.array(positive), adjoint(self._ratio(W, H), W))
        positive, negative = np.zeros_like(H), np.zeros_like(H)
        for rows, x, y in self.blocks(W, H):
            up, down = self.weights(x, y)
            part = np.ascontiguousarray(W[rows].T)
            positive += multiply(part, up)
            negative += multiply(part, down)
        return Slopes(positive, negative)

    def slopes_W(self, W: Floats, H: Floats) -> Slopes:
        """The parts of the gradient in W, (n, k)."""
        if self.is_quadratic:
            return Slopes(multiply(W, gram(H.T)), times(self.X, H))
        if self._at_nonzeros:
            return Slopes(np.array(np.broadcast_to(H.sum(axis=1), W.shape)), times(self._ratio(W, H), H))
        positive, negative = np.empty_like(W), np.empty_like(W)
        across = np.ascontiguousarray(H.T)
        for rows, x, y in self.blocks(W, H):
            up, down = self.weights(x, y)
            positive[rows], negative[rows] = multiply(up, across), multiply(down, across)
        return Slopes(positive, negative)

    def product_at_nonzeros(self, W: Floats, H: Floats) -> Floats:
        """(W H)_ij at the stored entries of a CSR matrix, in their order."""
        X, across = self.X, np.ascontiguousarray(H.T)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        result = np.empty(len(X.indices))
        step = max(1, BLOCK_ENTRIES // W.shape[1])
        for start in range(0, len(result), step):
            part = slice(start, start + step)
            result[part] = np.einsum("ik,ik->i", W[rows[part]], across[X.indices[part]])
        return result

    def largest_deficit(self, W: Floats, H: Floats) -> float:
        """max_ij (x_ij - y_ij) y_ij^(b-2): the steepest descent by a new component of one sample and one feature."""
        if is_sparse(self.X):
            x, y = self.X.data.astype(np.float64), self.product_at_nonzeros(W, H)
            return float(np.max((x - y) * np.maximum(y, self.floor) ** (self.beta - 2.0), initial=-np.inf))
        worst = -np.inf
        for _, x, y in self.blocks(W, H):
            deficit = (x - y) * np.maximum(y, self.floor) ** (self.beta - 2.0)
            worst = max(worst, float(np.max(np.where(np.isnan(x), -np.inf, deficit) if self.missing else deficit)))
        return worst

    @property
    def is_quadratic(self) -> bool:
        """Whether the loss is known from products with X."""
        return self.beta == 2.0 and not self.missing

    @property
    def _at_nonzeros(self) -> bool:
        return self.beta == 1.0 and is_sparse(self.X)

    def _small_square(self, W: Floats, H: Floats) -> float:
        return 0.5 * sum(float(np.sum((x - y) ** 2)) for _, x, y in self.blocks(W, H))

    def blocks(self, W: Floats, H: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """Samples, dense, and the product, some rows at a time."""
        n, p = self.X.shape
        step = max(1, BLOCK_ENTRIES // p)
        for start in range(0, n, step):
            rows = slice(start, min(n, start + step))
            x = self.X[rows].toarray() if is_sparse(self.X) else self.X[rows]
            yield rows, np.asarray(x, dtype=np.float64), multiply(np.ascontiguousarray(W[rows]), H)

    def _terms(self, x: Floats, y: Floats) -> Floats:
        b = self.beta
        if self.missing:
            known = ~np.isnan(x)
            x, y = x[known], y[known]
        if b == 2.0:
            return np.asarray(0.5 * (x - y) ** 2)
        y = np.maximum(y, self.floor)
        if b == 1.0:
            return np.asarray(xlogy(x, x / y) - x + y)
        if b == 0.0:
            return np.asarray(x / y - np.log(np.maximum(x, self.floor) / y) - 1.0)
        return np.asarray((x**b + (b - 1.0) * y**b - b * x * y ** (b - 1.0)) / (b * (b - 1.0)))

    def weights(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """y^(b-1) and x y^(b-2), and zeros where x is missing."""
        b, safe = self.beta, np.maximum(y, self.floor)
        up = np.ones_like(y) if b == 1.0 else (safe if b < 1.0 else y) ** (b - 1.0)
        down = x / safe if b == 1.0 else x * (safe if b < 2.0 else y) ** (b - 2.0)
        if self.missing:
            up, down = (np.where(np.isnan(x), 0.0, part) for part in (up, down))
        return up, down

    def _ratio(self, W: Floats, H: Floats) -> Array:
        """X / Y where X is not zero, of its sparsity."""
        ratio = self.X.data / np.maximum(self.product_at_nonzeros(W, H), self.floor)
        return sparse.csr_array((ratio, self.X.indices, self.X.indptr), shape=self.X.shape)


def penalty_value(problem: Factorization, W: Floats, H: Floats) -> float:
    """The penalties of both factors."""
    value = problem.l1_W * float(np.sum(W)) + problem.l1_H * float(np.sum(H))
    return value + 0.5 * (problem.l2_W * float(np.sum(W**2)) + problem.l2_H * float(np.sum(H**2)))


def find_violation(V: Floats, slopes: Slopes, l1: float, l2: float) -> float:
    """The norm of the projected gradient, with the positive part beside the mean of V as curvature, relative to that
    of the negative part; of a factor of samples in rows V (rows, k).
    """
    positive = slopes.positive + l1 + l2 * V
    mean = np.maximum(np.mean(V, axis=0), np.finfo(np.float64).tiny)
    value, size = length(np.minimum(positive - slopes.negative, positive * (V / mean))), length(slopes.negative)
    return 0.0 if value == 0.0 else value / size if size > 0.0 else inf
