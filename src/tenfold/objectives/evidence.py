"""The evidence of Bayesian linear regression (MacKay 1992; Tipping 2001): the log marginal likelihood of the targets.

    y ~ N(X w, 1 / alpha),    w_j ~ N(0, 1 / lambda_j),    alpha ~ Gamma(a1, a2),    lambda_j ~ Gamma(l1, l2).

With w the posterior mean, N the sum of the sample weights, Sigma = (Lambda + alpha X'X)^-1 and up to a constant
    log p(y) = l1 sum log lambda - l2 sum lambda + a1 log alpha - a2 alpha
               + 1/2 (sum log lambda + N log alpha + log det Sigma - alpha ||y - X w||^2 - w' Lambda w).
Both classes are objectives -log p(y) / N of the logarithms of the precisions, with a Hessian whose eigenvalues are made
positive: the evidence is not concave.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import linalg as la
from scipy.linalg import lapack

from tenfold.arrays import EPS, Floats, Integers
from tenfold.linear_algebra import eigh, svd
from tenfold.machine import one_blas_thread
from tenfold.objectives.objective import Objective, Reading

MIN_CURVATURE = 1e-10  # of the modified Hessian, in nats a sample: where the evidence is flat, steps stay finite

MAX_LOGARITHM = 690.0  # of a precision, so that its ratio to another one is a number

RANK_TOLERANCE = 4.0 * EPS  # eigenvalues of a Gram matrix, and singular values, below this part of the largest, times p


class Prior(NamedTuple):
    """Shape and rate of the Gamma priors of the noise precision alpha and of the precisions lambda of the weights."""

    alpha_shape: float
    alpha_rate: float
    lambda_shape: float
    lambda_rate: float


def _precisions(logarithms: Floats) -> Floats:
    """Within the range of numbers: a step too far has a finite, bad value."""
    return np.exp(np.clip(logarithms, -MAX_LOGARITHM, MAX_LOGARITHM))


def _ratio(precision: float, alpha: float) -> float:
    """Of a precision of the weights to that of the noise, within the range of numbers."""
    return min(max(precision / alpha, np.exp(-MAX_LOGARITHM)), np.exp(MAX_LOGARITHM))


def make_positive(hessian: Floats) -> Floats:
    """The symmetric matrix with the absolute eigenvalues."""
    values, vectors = eigh(hessian)
    return np.asarray((vectors * np.maximum(np.abs(values), MIN_CURVATURE)) @ vectors.T)


@dataclass(frozen=True)
class Spectrum:
    """Least squares in the eigenvectors of the Gram matrix: its eigenvalues (p,), of which those of no rank are zero,
    the part of the targets' squares that each direction explains (p,), and the squares that none explains.
    """

    values: Floats
    explained: Floats
    unexplained: float
    samples: float
    noise: float = 0.0
    """The rounding of an eigenvalue."""

    def shrinkage(self, alpha: float, precision: float) -> Floats:
        """alpha s / (lambda + alpha s) of each direction: their sum is the number of effective parameters."""
        return self.values / (_ratio(precision, alpha) + self.values)

    def residual_squares(self, shrinkage: Floats) -> float:
        return self.unexplained + float(np.sum(self.explained * (1.0 - shrinkage) ** 2))

    def rounding(self, alpha: float, precision: float) -> float:
        """By how much the number of effective parameters may change where all eigenvalues change by their rounding."""
        ratio = _ratio(precision, alpha)
        return float(np.sum(np.minimum(self.noise / (ratio + self.values) * (ratio / (ratio + self.values)), 1.0)))

    def weight_squares(self, shrinkage: Floats) -> float:
        """||w||^2 of the posterior mean."""
        inside = self.values > 0.0
        return float(np.sum(self.explained[inside] * shrinkage[inside] ** 2 / self.values[inside]))


class RidgeEvidence(Objective):
    """-log p(y) / N of one precision for all weights, in x = (log alpha, log lambda); p operations a reading."""

    def __init__(self, spectrum: Spectrum, prior: Prior) -> None:
        self.spectrum, self.prior = spectrum, prior

    def evidence(self, alpha: float, precision: float) -> float:
        """log p(y), the constant -N / 2 log(2 pi) included."""
        s, prior = self.spectrum, self.prior
        r = s.shrinkage(alpha, precision)
        value = prior.lambda_shape * np.log(precision) - prior.lambda_rate * precision
        value += prior.alpha_shape * np.log(alpha) - prior.alpha_rate * alpha
        fit = alpha * s.residual_squares(r) + precision * s.weight_squares(r)
        ratio = _ratio(precision, alpha)
        volume = len(s.values) * np.log(ratio) - np.sum(np.log(ratio + s.values))
        return float(value + 0.5 * (volume + s.samples * (np.log(alpha) - np.log(2.0 * np.pi)) - fit))

    def read(self, x: Floats, order: int = 1) -> Reading:
        s, prior = self.spectrum, self.prior
        alpha, precision = (float(value) for value in _precisions(x))
        r = s.shrinkage(alpha, precision)
        noise, size = alpha * s.residual_squares(r), precision * s.weight_squares(r)
        effective, bend = float(np.sum(r)), r * (1.0 - r)
        gradient = np.array(
            [
                prior.alpha_shape - prior.alpha_rate * alpha + 0.5 * (s.samples - effective - noise),
                prior.lambda_shape - prior.lambda_rate * precision + 0.5 * (effective - size),
            ]
        )
        hessian = None
        if order == 2:
            part = alpha * (s.explained * bend)
            change, turn = 2.0 * float(np.sum(part * (1.0 - r))), float(np.sum(part * (1.0 - 2.0 * r)))
            first = -prior.alpha_rate * alpha - 0.5 * (noise - change + float(np.sum(bend)))
            mixed = 0.5 * (float(np.sum(bend)) - change)
            second = -prior.lambda_rate * precision - 0.5 * (float(np.sum(bend)) - turn)
            hessian = make_positive(-np.array([[first, mixed], [mixed, second]]) / s.samples)
        return Reading(-self.evidence(alpha, precision) / s.samples, -gradient / s.samples, hessian)


class Posterior(NamedTuple):
    """The posterior of the weights at given precisions: mean (p,), covariance (p, p), its log determinant, and the sum
    of squared residuals of the mean.
    """

    mean: Floats
    covariance: Floats
    log_determinant: float
    residual_squares: float


def _invert(A: Floats) -> tuple[Floats, float]:
    """The inverse of a symmetric matrix with unit diagonal, and its log determinant. Where it is singular up to
    rounding, as dependent features under little noise make it, its eigenvalues are at least the rounding.
    """
    with one_blas_thread:
        L, info = lapack.dpotrf(A, lower=1)
        if info == 0:
            half, _ = lapack.dpotri(L, lower=1)
            return np.tril(half) + np.tril(half, -1).T, 2.0 * float(np.sum(np.log(np.diag(L))))
    values, vectors = eigh(A)
    values = np.maximum(values, EPS * float(values[-1]))
    return np.asarray((vectors / values) @ vectors.T), float(np.sum(np.log(values)))


@dataclass(frozen=True)
class SecondMoments:
    """X'X (p, p), X'y (p,), y'y and the sum of the weights, of centred samples; and the sum of squares of a column that
    was summed to that end, which is larger where the column was not centred before.
    """

    XX: Floats
    Xy: Floats
    yy: float
    samples: float
    summed: float = 0.0

    def take(self, features: Integers) -> "SecondMoments":
        """Those of some features."""
        return SecondMoments(self.XX[np.ix_(features, features)], self.Xy[features], self.yy, self.samples)

    def decompose(self) -> tuple[Spectrum, Floats, Floats]:
        """The spectrum, the eigenvectors V (p, p) and V'X'y; what no direction explains is a difference."""
        values, vectors = eigh(self.XX)
        values, vectors = values[::-1], vectors[:, ::-1]
        largest = max(float(values[0]), 0.0)
        largest = max(largest, self.summed)
        inside = values > RANK_TOLERANCE * len(values) * largest
        values = np.where(inside, values, 0.0)
        projected = vectors.T @ self.Xy
        explained = np.zeros_like(values)
        explained[inside] = projected[inside] ** 2 / values[inside]
        unexplained = max(self.yy - float(np.sum(explained)), 0.0)
        noise = 8.0 * EPS * len(values) * largest
        return Spectrum(values, explained, unexplained, self.samples, noise), vectors, projected

    def posterior(self, alpha: float, precisions: Floats) -> Posterior:
        """By a Cholesky factor of the precision matrix scaled to unit diagonal."""
        if not len(precisions):
            return Posterior(np.zeros(0), np.zeros((0, 0)), 0.0, self.yy)
        A = alpha * self.XX
        A[np.diag_indices_from(A)] += precisions
        scale = 1.0 / np.sqrt(np.diag(A))
        covariance, logarithm = _invert(A * scale * scale[:, None])
        covariance *= scale * scale[:, None]
        mean = alpha * (covariance @ self.Xy)
        mean += covariance @ (alpha * (self.Xy - self.XX @ mean) - precisions * mean)  # one step of refinement
        logarithm = 2.0 * float(np.sum(np.log(scale))) - logarithm
        return Posterior(mean, covariance, logarithm, self.residual_squares(mean))

    def residual_squares(self, w: Floats) -> float:
        return max(self.yy - float(w @ (2.0 * self.Xy - self.XX @ w)), 0.0)

    def returns(self, alpha: float, precisions: Floats, outside: Integers, inside: Integers) -> tuple[Floats, Floats]:
        """x'C^-1 x and x'C^-1 y of the features outside, with C the covariance of y by those inside."""
        posterior = self.take(inside).posterior(alpha, precisions[inside])
        cross = self.XX[np.ix_(outside, inside)]
        s = alpha * np.diag(self.XX)[outside]
        s = s - alpha**2 * np.sum((cross @ posterior.covariance) * cross, axis=1)
        return s, alpha * (self.Xy[outside] - cross @ posterior.mean)


@dataclass(frozen=True)
class FactoredMoments(SecondMoments):
    """The same with a factor R (m, p + 1) of the samples and their targets, R'R = [X y]'[X y]: what is computed by QR
    has an error of the condition of X, not of its square.
    """

    factor: Floats = field(kw_only=True)

    @classmethod
    def of(cls, factor: Floats, samples: float) -> "FactoredMoments":
        X, y = factor[:, :-1], factor[:, -1]
        return cls(X.T @ X, X.T @ y, float(y @ y), samples, factor=factor)

    def take(self, features: Integers) -> "FactoredMoments":
        return FactoredMoments.of(self.factor[:, np.append(features, len(self.Xy))], self.samples)

    def decompose(self) -> tuple[Spectrum, Floats, Floats]:
        X, y = self.factor[:, :-1], self.factor[:, -1]
        U, sizes, vectors = svd(X)
        sizes = np.where(sizes > RANK_TOLERANCE * max(X.shape) * np.max(sizes, initial=0.0), sizes, 0.0)
        along = np.where(sizes > 0.0, U.T @ y, 0.0)
        rest = y - U @ along
        values, explained = np.zeros((2, X.shape[1]))
        values[: len(sizes)], explained[: len(sizes)] = sizes**2, along**2
        projected = np.zeros(X.shape[1])
        projected[: len(sizes)] = sizes * along
        basis = np.zeros((X.shape[1], X.shape[1]))
        basis[:, : len(sizes)] = vectors.T
        return Spectrum(values, explained, float(rest @ rest), self.samples), basis, projected

    def posterior(self, alpha: float, precisions: Floats) -> Posterior:
        """By the triangular factor of the samples above the roots of the precisions, its columns of unit length."""
        p = len(precisions)
        if not p:
            return Posterior(np.zeros(0), np.zeros((0, 0)), 0.0, self.yy)
        stacked, scale = self._stack(alpha, precisions)
        with one_blas_thread:
            T = la.qr(stacked, mode="r", check_finite=False)[0][: p + 1]
            sizes = np.abs(np.diag(T)[:p])
            T[np.diag_indices(p)] = np.where(sizes < EPS, EPS, np.diag(T)[:p])
            root = la.solve_triangular(T[:p, :p], np.eye(p), check_finite=False)
        mean = scale * (root @ T[:p, p])
        root *= scale[:, None]
        logarithm = 2.0 * float(np.sum(np.log(scale) - np.log(np.maximum(sizes, EPS))))
        return Posterior(mean, root @ root.T, logarithm, self.residual_squares(mean))

    def _stack(self, alpha: float, precisions: Floats) -> tuple[Floats, Floats]:
        """Samples and targets above the roots of the precisions, and by what the columns were multiplied."""
        p, m = len(precisions), len(self.factor)
        stacked = np.zeros((m + p, p + 1))
        stacked[:m] = np.sqrt(alpha) * self.factor
        stacked[m:, :p] = np.diag(np.sqrt(precisions))
        scale = 1.0 / np.linalg.norm(stacked[:, :p], axis=0)
        stacked[:, :p] *= scale
        return stacked, scale

    def residual_squares(self, w: Floats) -> float:
        residuals = self.factor[:, :-1] @ w - self.factor[:, -1]
        return float(residuals @ residuals)

    def returns(self, alpha: float, precisions: Floats, outside: Integers, inside: Integers) -> tuple[Floats, Floats]:
        stacked, _ = self.take(inside)._stack(alpha, precisions[inside])
        beyond = np.zeros((len(stacked), len(outside)))
        beyond[: len(self.factor)] = np.sqrt(alpha) * self.factor[:, outside]
        with one_blas_thread:
            Q = la.qr(stacked[:, :-1], mode="economic", check_finite=False)[0]
        for _ in range(2):
            beyond -= Q @ (Q.T @ beyond)
        return np.sum(beyond**2, axis=0), beyond.T @ stacked[:, -1]


class RelevanceEvidence(Objective):
    """-log p(y) / N of one precision for each weight, in x = (log alpha, log lambda_1, ...): p^3 operations."""

    def __init__(self, moments: SecondMoments, prior: Prior) -> None:
        self.moments, self.prior = moments, prior

    def evidence(self, alpha: float, precisions: Floats, posterior: Posterior) -> float:
        """log p(y) without its constant, as scikit-learn's scores."""
        prior, w = self.prior, posterior.mean
        value = float(np.sum(prior.lambda_shape * np.log(precisions) - prior.lambda_rate * precisions))
        value += prior.alpha_shape * np.log(alpha) - prior.alpha_rate * alpha
        volume = posterior.log_determinant + self.moments.samples * np.log(alpha) + float(np.sum(np.log(precisions)))
        return float(value + 0.5 * (volume - alpha * posterior.residual_squares - float(np.sum(precisions * w * w))))

    def read(self, x: Floats, order: int = 1) -> Reading:
        prior, N = self.prior, self.moments.samples
        alpha, precisions = float(_precisions(x[:1])[0]), _precisions(x[1:])
        posterior = self.moments.posterior(alpha, precisions)
        S, w = posterior.covariance, posterior.mean
        certain, size = precisions * np.diag(S), precisions * w * w
        noise = alpha * posterior.residual_squares
        gradient = np.empty_like(x)
        gradient[0] = prior.alpha_shape - prior.alpha_rate * alpha + 0.5 * (N - np.sum(1.0 - certain) - noise)
        gradient[1:] = prior.lambda_shape - prior.lambda_rate * precisions + 0.5 * (1.0 - certain - size)
        hessian = self._hessian(alpha, precisions, posterior) if order == 2 else None
        return Reading(-self.evidence(alpha, precisions, posterior) / N, -gradient / N, hessian)

    def _hessian(self, alpha: float, precisions: Floats, posterior: Posterior) -> Floats:
        prior, S, w = self.prior, posterior.covariance, posterior.mean
        response = S @ (precisions * w)  # dw / dlog alpha
        spread = np.diag(S) - np.einsum("ij,j,ij->i", S, precisions, S)  # -d diag(S) / dlog alpha
        scaled = precisions * w
        H = np.empty((len(w) + 1, len(w) + 1))
        H[1:, 1:] = 0.5 * (precisions[:, None] * S * precisions) * S + scaled[:, None] * S * scaled
        inner = np.diag_indices(len(w))
        H[1:, 1:][inner] -= 0.5 * (precisions * np.diag(S) + precisions * w * w) + prior.lambda_rate * precisions
        H[0, 1:] = H[1:, 0] = 0.5 * precisions * spread - scaled * response
        slope = alpha * posterior.residual_squares - 2.0 * float(scaled @ response) + float(np.sum(precisions * spread))
        H[0, 0] = -prior.alpha_rate * alpha - 0.5 * slope
        return make_positive(-H / self.moments.samples)
