"""Least squares with more features than samples: the n x n system (K + alpha I) c = y, w = X'c, K = X X' of weighted,
centred samples.

Without a penalty it is the interpolating solution of least norm. Needs the samples in memory. K squares the condition
number; residuals of the samples themselves restore the digits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import eigh, lapack

from tenfold import _core
from tenfold.arrays import Array, Floats, contiguous, entries, is_numpy, is_sparse, like, namespace, on_host
from tenfold.data import NotFinite, Rows
from tenfold.machine import one_blas_thread, require_memory, threads
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, adjoint, forward


@dataclass(frozen=True)
class Centred:
    """Samples in memory with their centre and the roots of their weights: A = root (X - centre), never formed for
    sparse X.
    """

    X: Array
    centre: Floats
    target: Floats
    root: Floats

    def back(self, c: Floats) -> Floats:
        """A'c as (t, p), for c (n, t)."""
        return adjoint(self.X, like(np.ascontiguousarray(self.root[:, None] * c), self.X), self.centre)

    def gram(self) -> Floats:
        """K = A A'."""
        K = self._gram()
        if not np.isfinite(K).all():
            raise NotFinite
        return K

    def _gram(self) -> Floats:
        n = self.X.shape[0]
        require_memory(
            f"The {n} x {n} matrix of a problem with more columns than rows", 8 * n * n, "Use fewer rows or a sparse X."
        )
        if is_sparse(self.X):
            K = np.asarray((self.X @ self.X.T).toarray(), dtype=np.float64)
            m = np.asarray(self.X @ self.centre)
            K += float(self.centre @ self.centre) - m[:, None] - m
            return self.root[:, None] * K * self.root
        if not is_numpy(self.X):
            return inner_products_in_arrays(self.X, self.centre, self.root)
        return _core.row_gram(self.X, self.centre, self.root, threads(entries(self.X)))


def inner_products_in_arrays(X: Array, centre: Floats, root: Floats) -> Floats:
    """A A' in the Array API: for other namespaces, and the reference for the compiled loop."""
    xp = namespace(X)
    A = (xp.astype(X, xp.float64, copy=False) - like(centre, X)) * like(root[:, None], X)
    return on_host(xp.matmul(A, A.T))


def centre_samples(rows: Rows, centre: Floats, target_mean: Floats) -> Centred:
    """`rows` about `centre`; targets about their means and times the root of the weights."""
    block = rows.whole()
    root = np.ones(rows.shape[0]) if block.weight is None else np.sqrt(on_host(block.weight))
    return Centred(contiguous(block.X), centre, (on_host(block.y) - target_mean) * root[:, None], root)


def solve(data: Centred, alpha: Floats) -> tuple[Floats, Floats, float]:
    """Dual coefficients (n, t), weights (t, p), and the condition of the worst system."""
    K = data.gram()
    c = np.empty_like(data.target)
    condition = 1.0
    for value in np.unique(alpha):
        member = np.flatnonzero(alpha == value)
        inverse, part_condition = _inverse(K, float(value))
        part = Centred(data.X, data.centre, np.ascontiguousarray(data.target[:, member]), data.root)
        c[:, member] = _refine(part, float(value), inverse, part_condition)
        condition = max(condition, part_condition)
    return c, data.back(c), condition


def _inverse(K: Floats, alpha: float) -> tuple[Callable[[Floats], Floats], float]:
    """(K + alpha I)^-1 as a map, and the condition of A; by Cholesky, or by eigenvalues where that is singular."""
    A = K.copy(order="F")
    A[np.diag_indices_from(A)] += alpha
    if alpha > 0.0:
        norm = float(np.abs(A).sum(axis=0).max())
        # on one thread: after a call on several, SciPy's BLAS keeps the cores spinning for a while
        with one_blas_thread:
            L, info = lapack.dpotrf(A, lower=1, overwrite_a=1)
            rcond = float(lapack.dpocon(L, norm, uplo="L")[0]) if info == 0 else 0.0
        if rcond > 1e-12:
            return partial(_solve, L), rcond**-0.5
    mu, Q = eigh(K)
    positive = mu > mu[-1] * len(mu) * np.finfo(np.float64).eps
    if not positive.any():
        return np.zeros_like, 1.0
    Q, total = Q[:, positive], mu[positive, None] + alpha
    return lambda right: np.asarray(Q @ ((Q.T @ right) / total)), float(np.sqrt(total[-1, 0] / total[0, 0]))


def _solve(L: Floats, right: Floats) -> Floats:
    with one_blas_thread:
        return np.asarray(lapack.dpotrs(L, right, lower=1)[0])


def _refine(data: Centred, alpha: float, inverse: Callable[[Floats], Floats], condition: float) -> Floats:
    """c with two steps of iterative refinement by the residual of the samples, where K has lost digits."""
    c = inverse(data.target)
    for _ in range(2 if condition > 1e3 else 0):
        w = Params(data.back(c), np.zeros(c.shape[1]))
        c = c + inverse(data.target - data.root[:, None] * on_host(forward(data.X, w, data.centre)) - alpha * c)
    return c


def about_means(rows: Rows, intercept: bool) -> tuple[Centred, Floats]:
    """`rows` about its weighted means (or the origin), and the means of the targets."""
    p = rows.shape[1]
    if not intercept:
        return centre_samples(rows, np.zeros(p), np.zeros(rows.targets)), np.zeros(rows.targets)
    columns = rows.fold(Columns.lift)
    return centre_samples(rows, columns.mean[:p], columns.mean[p:]), columns.mean[p:]
