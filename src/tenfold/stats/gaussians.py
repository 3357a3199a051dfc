"""Gaussian mixtures as frozen values: parameters, precision factors and marginals.

    p(x) = sum_k pi_k N(x; m_k, C_k),        C_k^-1 = B_k B_k' with an upper triangle B_k

kind           covariances     C_k
full           (k, p, p)       of each component
tied           (p, p)          one of all
diag           (k, p)          variances of the columns in each component
spherical      (k,)            one variance in each component
unit           (k,)            ones: the identity, which is not learned
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread

KINDS = ("full", "tied", "diag", "spherical", "unit")


class Singular(ValueError):
    """Covariances of these components are not positive definite."""

    def __init__(self, components: tuple[int, ...]) -> None:
        super().__init__(
            "Fitting the mixture model failed because some components have ill-defined empirical covariance (for "
            "instance caused by singleton or collapsed samples). Try to decrease the number of components, increase "
            f"reg_covar, or scale the input data. Components: {list(components)}."
        )
        self.components = components


@dataclass(frozen=True)
class Factors:
    """Precision factors: upper triangles B (k, p, p) or (1, p, p), or diagonals `scales` (k, p); log |B_k| (k,)."""

    triangles: Floats | None
    scales: Floats | None
    logs: Floats


@dataclass(frozen=True)
class Mixture:
    """Weights (k,), means (k, p) and covariances of the given kind."""

    kind: str
    weights: Floats
    means: Floats
    covariances: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return self.means.shape[0], self.means.shape[1]

    @property
    def diagonal(self) -> bool:
        return self.kind not in ("full", "tied")

    @cached_property
    def variances(self) -> Floats:
        """Variances of the features in each component, (k, p)."""
        if self.kind == "full":
            return np.einsum("kjj->kj", self.covariances).copy()
        result = np.diag(self.covariances) if self.kind == "tied" else self.covariances
        result = result[:, None] if result.ndim == 1 and self.diagonal else result
        return np.ascontiguousarray(np.broadcast_to(result, self.shape))

    def matrix(self, k: int) -> Floats:
        """The covariance (p, p) of a component."""
        if self.diagonal:
            return np.diag(self.variances[k])
        return self.covariances if self.kind == "tied" else self.covariances[k]

    @cached_property
    def factors(self) -> Factors:
        """Precision factors; raises `Singular` for covariances that are not positive definite."""
        if self.diagonal:
            failed = ~np.all(self.variances > 0.0, axis=1)
            if failed.any():
                raise Singular(tuple(np.flatnonzero(failed).tolist()))
            scales = 1.0 / np.sqrt(self.variances)
            return Factors(None, scales, np.sum(np.log(scales), axis=1))
        triangles = inverse_triangles(self.covariances if self.kind == "full" else self.covariances[None])
        logs = np.sum(np.log(np.einsum("kjj->kj", triangles)), axis=1)
        return Factors(triangles, None, np.array(np.broadcast_to(logs, len(self.weights))))

    @cached_property
    def offsets(self) -> Floats:
        """log pi_k + log|B_k| - p/2 log 2 pi, (k,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.weights) + self.factors.logs - 0.5 * self.shape[1] * np.log(2.0 * np.pi)

    @cached_property
    def centre(self) -> Floats | None:
        """The centre about which samples of a tied mixture are accumulated."""
        return self.weights @ self.means / np.sum(self.weights) if self.kind == "tied" else None

    @property
    def precisions(self) -> Floats:
        """Inverses of the covariances, of their shape."""
        if self.diagonal:
            return 1.0 / self.covariances
        triangles = self.factors.triangles
        assert triangles is not None
        result = np.einsum("kij,klj->kil", triangles, triangles)
        return result if self.kind == "full" else result[0]

    @property
    def triangles(self) -> Floats:
        """Factors B of the precisions, of the shape of the covariances."""
        if self.diagonal:
            return 1.0 / np.sqrt(self.covariances)
        triangles = self.factors.triangles
        assert triangles is not None
        return triangles if self.kind == "full" else triangles[0]

    @property
    def traces(self) -> Floats:
        """Traces (k,) of the precisions."""
        factors = self.factors
        if factors.scales is not None:
            return np.sum(factors.scales**2, axis=1)
        assert factors.triangles is not None
        return np.array(np.broadcast_to(np.einsum("kij,kij->k", factors.triangles, factors.triangles), self.shape[0]))

    def lengths(self, deviations: Floats) -> Floats:
        """Squared Mahalanobis norms d_k' C_k^-1 d_k, (k,), of one deviation d (k, p) per component."""
        factors = self.factors
        if factors.scales is not None:
            return np.sum((deviations * factors.scales) ** 2, axis=1)
        assert factors.triangles is not None
        triangles = np.broadcast_to(factors.triangles, (len(deviations), *factors.triangles.shape[1:]))
        return np.sum(np.einsum("ki,kij->kj", deviations, triangles) ** 2, axis=1)

    def marginal(self, columns: NDArray[np.intp]) -> "Mixture":
        """The marginal mixture of these columns."""
        means = np.ascontiguousarray(self.means[:, columns])
        if self.kind == "full":
            return Mixture(self.kind, self.weights, means, self.covariances[:, columns[:, None], columns])
        if self.kind == "tied":
            return Mixture(self.kind, self.weights, means, self.covariances[columns[:, None], columns])
        covariances = self.covariances[:, columns] if self.kind == "diag" else self.covariances
        return Mixture(self.kind, self.weights, means, covariances)

    def __getstate__(self) -> dict[str, Any]:
        """Without cached factors, which are as large as the parameters: workers recompute them."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def inverse_triangles(covariances: Floats) -> Floats:
    """Upper triangles B (k, p, p) with B B' = C^-1: B' is the inverse of the lower triangle L of C = L L'."""
    result, failed = np.zeros(covariances.shape), []
    with one_blas_thread:
        for k, C in enumerate(covariances):
            L, info = lapack.dpotrf(C, lower=1, clean=1)
            inverse, singular = lapack.dtrtri(L, lower=1) if info == 0 else (L, 1)
            if info or singular or not np.isfinite(inverse).all():
                failed.append(k)
            else:
                result[k] = inverse.T
    if failed:
        raise Singular(tuple(failed))
    return result
