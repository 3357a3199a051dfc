"""Gaussian distributions: marginals, conditionals, linear maps and what noisy linear observations say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
from scipy import linalg as la

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread


def _factor(C: Floats) -> Any:
    with one_blas_thread:
        try:
            return la.cho_factor(C, lower=True)
        except la.LinAlgError:
            raise ValueError("The covariance of what is conditioned on must be positive definite.") from None


def _solve(C: Floats, B: Floats) -> Floats:
    factor = _factor(C)
    with one_blas_thread:
        return np.asarray(la.cho_solve(factor, B))


@dataclass(frozen=True)
class Gaussian:
    """A Gaussian distribution N(m, C) of a vector.

    Parameters
    ----------
    mean : array-like of shape (p,)
        The mean m.
    covariance : array-like of shape (p, p)
        The covariance C, symmetric and positive semidefinite.

    Examples
    --------
    >>> from tenfold.distributions import Gaussian
    >>> joint = Gaussian([0.0, 1.0], [[2.0, 1.0], [1.0, 1.0]])
    >>> given = joint.condition({1: 3.0})
    >>> given.mean, given.covariance
    (array([2.]), array([[1.]]))
    """

    mean: Floats
    covariance: Floats

    def __post_init__(self) -> None:
        mean = np.atleast_1d(np.asarray(self.mean, dtype=np.float64))
        C = np.atleast_2d(np.asarray(self.covariance, dtype=np.float64))
        if mean.ndim != 1 or C.shape != (len(mean), len(mean)):
            raise ValueError(f"A mean of {mean.size} numbers needs a square covariance, got shape {C.shape}.")
        if not (np.isfinite(mean).all() and np.isfinite(C).all()):
            raise ValueError("Mean and covariance must be finite.")
        size = float(np.max(np.abs(C), initial=0.0))
        if np.max(np.abs(C - C.T), initial=0.0) > 1e-9 * size:
            raise ValueError("The covariance is not symmetric.")
        C = 0.5 * (C + C.T)
        with one_blas_thread:
            least = float(la.eigvalsh(C)[0]) if len(C) else 0.0
        if least < -1e-9 * size:
            raise ValueError(f"The covariance has the negative eigenvalue {least:.3g}.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", C)

    @property
    def distribution(self) -> Any:
        """The frozen distribution of SciPy, with `logpdf` and `rvs`."""
        return scipy.stats.multivariate_normal(self.mean, self.covariance, allow_singular=True)

    def marginal(self, features: Sequence[int]) -> "Gaussian":
        """The distribution of these `features`, numbers of entries."""
        some = np.asarray(features, dtype=np.intp)
        return Gaussian(self.mean[some], self.covariance[np.ix_(some, some)])

    def condition(self, values: dict[int, float]) -> "Gaussian":
        """The distribution of the other entries given `values` of some, by their numbers."""
        there = np.array(sorted(values), dtype=np.intp)
        rest = np.setdiff1d(np.arange(len(self.mean)), there)
        C = self.covariance
        across = C[np.ix_(there, rest)]
        away = np.array([values[int(i)] for i in there], dtype=np.float64) - self.mean[there]
        slopes = _solve(C[np.ix_(there, there)], across)
        return Gaussian(
            self.mean[rest] + np.einsum("ij,i->j", slopes, away),
            C[np.ix_(rest, rest)] - np.einsum("ij,ik->jk", slopes, across),
        )

    def transform(self, A: Any, b: Any = 0.0, noise: Any = None) -> "Gaussian":
        """The distribution of A x + b (q,), for a matrix `A` (q, p) and a vector `b`, with independent Gaussian `noise`
        of this covariance (q, q), None for none.
        """
        A = np.atleast_2d(np.asarray(A, dtype=np.float64))
        C = np.einsum("ij,jk,lk->il", A, self.covariance, A)
        mean = np.einsum("ij,j->i", A, self.mean) + np.asarray(b, dtype=np.float64)
        return Gaussian(mean, C if noise is None else C + np.asarray(noise, dtype=np.float64))

    def posterior(self, A: Any, noise: Any, y: Any, b: Any = 0.0) -> "Gaussian":
        """The distribution of x given the observation `y` (q,) of A x + b with a matrix `A` (q, p) and independent
        Gaussian `noise` of this covariance (q, q).
        """
        A = np.atleast_2d(np.asarray(A, dtype=np.float64))
        seen = self.transform(A, b, noise)
        across = np.einsum("ij,jk->ik", A, self.covariance)
        slopes = _solve(seen.covariance, across)
        away = np.atleast_1d(np.asarray(y, dtype=np.float64)) - seen.mean
        return Gaussian(
            self.mean + np.einsum("ij,i->j", slopes, away),
            self.covariance - np.einsum("ij,ik->jk", slopes, across),
        )

    def entropy(self) -> float:
        """1/2 log |2 pi e C| in nats."""
        p = len(self.mean)
        return 0.5 * (p * np.log(2.0 * np.pi * np.e) + float(np.linalg.slogdet(self.covariance)[1]))

    def divergence(self, other: "Gaussian") -> float:
        """KL(self || other) in nats."""
        p, away = len(self.mean), other.mean - self.mean
        inside = _solve(other.covariance, np.column_stack([self.covariance, away]))
        logs = float(np.linalg.slogdet(other.covariance)[1] - np.linalg.slogdet(self.covariance)[1])
        return 0.5 * (float(np.trace(inside[:, :p])) + float(np.sum(away * inside[:, p])) - p + logs)
