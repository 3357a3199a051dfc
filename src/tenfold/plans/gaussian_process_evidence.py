"""The evidence of a Gaussian process for targets with Gaussian noise, as a function of the hyper-parameters.

With C = K + diag(alpha), C = L L', and a_t = C^-1 y_t for each of T targets, the log evidence is
    E = -1/2 sum_t y_t'a_t - T sum_i log L_ii - T n / 2 log 2 pi,
    dE/dtheta_j = sum_uv A_uv dK_uv/dtheta_j,   A = 1/2 (sum_t a_t a_t' - T C^-1):
one Cholesky factor and one inverse an evaluation, and the derivatives of K are contracted with A tile by tile. The
model of the curvature is the average of the observed and the expected information (Gilmour, Thompson and Cullis 1995),
    B_jk = 1/2 sum_t (dK_j a_t)' C^-1 (dK_k a_t),
which is positive semidefinite and takes products of the dK_j with vectors only.

Where amplitude and noise alone are free, C = c K_0 + (s + alpha) I, the eigenvalues of K_0 and the targets in its
eigenvectors say all: after one eigendecomposition an evaluation takes n operations.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.kernels import Constant, Kernel, Product, Scaled, Sum, White
from tenfold.kernels.covariance import Covariance
from tenfold.kernels.evaluation import multiply_matrices
from tenfold.linear_algebra import add_outer, cholesky, dot, eigh, invert_positive, solve_lower
from tenfold.solvers.bounded_newton import Reading

MAX_PRODUCTS = 12  # hyper-parameters up to which the information is computed; for more, BFGS learns the curvature

LOG_TWO_PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Posterior:
    """The Cholesky factor of C, its lower triangle alone, the dual coefficients (n, t), and the evidence."""

    L: Floats
    dual: Floats
    evidence: float


def solve_posterior(K: Floats, y: Floats, alpha: Any) -> Posterior | None:
    """The posterior for K, which is overwritten, and targets (n, t); None where C is not positive definite."""
    index = np.arange(len(K))
    K[index, index] += alpha
    L = cholesky(K)
    if L is None or not np.isfinite(diagonal := np.diag(L)).all():
        return None
    dual = solve_lower(L, solve_lower(L, y), transposed=True)
    n, t = y.shape
    fit = sum(dot(np.ascontiguousarray(y[:, k]), np.ascontiguousarray(dual[:, k])) for k in range(t))
    evidence = -0.5 * fit - t * float(np.sum(np.log(diagonal))) - 0.5 * t * n * LOG_TWO_PI
    return Posterior(L, dual, evidence) if np.isfinite(evidence) else None


def weigh_pairs(L: Floats, dual: Floats) -> Floats:
    """A, the weights of the derivatives of K."""
    A = invert_positive(L)
    A *= -0.5 * dual.shape[1]
    for column in dual.T:
        add_outer(A, 0.5 * column, column)
    return A.T  # symmetric: in C order, as tiles read it


@dataclass(frozen=True)
class Evidence:
    """The negative log evidence of the hyper-parameters for samples X and targets y (n, t), which is minimised."""

    covariance: Covariance
    X: Any
    y: Floats
    alpha: Any

    @property
    def scale(self) -> float:
        """The number of observations."""
        return float(self.y.size)

    def posterior(self, theta: Floats) -> Posterior | None:
        """The posterior at hyper-parameters."""
        K = self.covariance.at(theta).block(self.X)
        return solve_posterior(K, self.y, self.alpha)

    def value(self, theta: Floats) -> float:
        """The negative evidence alone, without the inverse."""
        posterior = self.posterior(theta)
        return np.inf if posterior is None else -posterior.evidence

    def gradient(self, theta: Floats) -> tuple[float, Floats]:
        """The log evidence and its gradient; minus infinity and zeros where C is not positive definite."""
        here = self.read(theta, curvature=False)
        return -here.value, -here.gradient

    def read(self, theta: Floats, curvature: bool = True) -> Reading:
        """The negative evidence with its gradient and the model of its Hessian."""
        covariance = self.covariance.at(theta)
        posterior = solve_posterior(covariance.block(self.X), self.y, self.alpha)
        if posterior is None:
            return Reading(np.inf, np.zeros(len(theta)), None)
        gradient = -covariance.weighted_gradient(self.X, weigh_pairs(posterior.L, posterior.dual))
        if not np.isfinite(gradient).all():
            return Reading(np.inf, np.zeros(len(theta)), None)
        known = curvature and len(theta) <= MAX_PRODUCTS
        B = _information(covariance, self.X, posterior) if known else None
        return Reading(-posterior.evidence, gradient, B)

    def part(self, every: int) -> "Evidence":
        """The evidence of one sample in `every`."""
        alpha = self.alpha[::every] if np.ndim(self.alpha) else self.alpha
        X = self.X[::every]
        return Evidence(self.covariance, X, np.ascontiguousarray(self.y[::every]), alpha)

    def scale_shift(self, theta: Floats) -> Floats:
        """By how much to move theta so that the scale of K is that of the targets, where a scale is free."""
        direction = _scale_direction(self.covariance.evaluated)
        posterior = self.posterior(theta)
        if direction is None or posterior is None or self.covariance.slopes is not None:
            return np.zeros(len(theta))
        squares = float(np.sum(self.y * posterior.dual)) / self.scale
        return np.log(squares) * direction if 0.0 < squares < np.inf else np.zeros(len(theta))


def _information(covariance: Covariance, X: Any, posterior: Posterior) -> Floats:
    products = covariance.multiply_gradient(X, posterior.dual)
    d, n, t = products.shape
    whitened = solve_lower(posterior.L, np.ascontiguousarray(products.transpose(1, 0, 2)).reshape(n, d * t))
    rows = whitened.reshape(n, d, t).transpose(1, 0, 2).reshape(d, n * t)
    return 0.5 * multiply_matrices(rows, np.ascontiguousarray(rows.T))


def _scale_direction(kernel: Kernel | None) -> Floats | None:
    """The direction of theta that multiplies all of K by one factor, where there is one."""
    if isinstance(kernel, (Constant, White)):
        return np.ones(1) if kernel.n_dims else None
    if isinstance(kernel, Sum):
        parts = [_scale_direction(part) for part in (kernel.k1, kernel.k2)]
        return None if parts[0] is None or parts[1] is None else np.concatenate(parts)  # type: ignore[arg-type]
    if isinstance(kernel, Product):
        one, other = _scale_direction(kernel.k1), _scale_direction(kernel.k2)
        if one is not None:
            return np.concatenate([one, np.zeros(kernel.k2.n_dims)])
        return None if other is None else np.concatenate([np.zeros(kernel.k1.n_dims), other])
    if isinstance(kernel, Scaled) and kernel.own_hyperparameters[0].fixed is False:
        return np.concatenate([np.ones(1), np.zeros(kernel.kernel.n_dims)])
    return None


@dataclass(frozen=True)
class Amplitude:
    """A kernel as ``amplitude base + noise I``, and which of the free hyper-parameters the two are, if any."""

    base: Kernel
    amplitude: float = 1.0
    noise: float = 0.0
    amplitude_index: int | None = None
    noise_index: int | None = None


def split_amplitude(kernel: Kernel | None) -> Amplitude | None:
    """The kernel in this form where nothing else is free."""
    if isinstance(kernel, Sum):
        for i, (noise, other) in enumerate(((kernel.k1, kernel.k2), (kernel.k2, kernel.k1))):
            if isinstance(noise, White):
                return _add_noise(noise, other, noise_first=i == 0)
        return None
    if isinstance(kernel, Product):
        for factor, base in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
            if isinstance(factor, Constant) and not base.n_dims:
                return Amplitude(base, float(factor.constant_value), 0.0, 0 if factor.n_dims else None)
        return None
    if isinstance(kernel, Scaled) and not kernel.kernel.n_dims:
        return Amplitude(kernel.kernel, float(kernel.constant_value), 0.0, 0 if kernel.n_dims else None)
    return Amplitude(kernel) if kernel is not None and not kernel.n_dims else None


def _add_noise(noise: White, other: Kernel, noise_first: bool) -> Amplitude | None:
    form = split_amplitude(other)
    if form is None or form.noise or form.noise_index is not None or form.base._pair_form() is None:
        return None
    shift = noise.n_dims if noise_first else 0
    index = (0 if noise_first else other.n_dims) if noise.n_dims else None
    moved = None if form.amplitude_index is None else form.amplitude_index + shift
    return Amplitude(form.base, form.amplitude, float(noise.noise_level), moved, index)


@dataclass(frozen=True)
class SpectralEvidence:
    """The same function where amplitude and noise alone are free, from one eigendecomposition."""

    form: Amplitude
    eigenvalues: Floats
    squares: Floats
    """The sums over targets of the squares of the targets in the eigenvectors."""
    targets: int
    alpha: float
    scale: float = field(default=1.0)

    @classmethod
    def of(cls, evidence: Evidence, form: Amplitude) -> "SpectralEvidence":
        values, vectors = eigh(form.base.block(evidence.X))
        squares = np.sum(np.square(multiply_matrices(vectors.T, evidence.y)), axis=1)
        return cls(
            form, np.maximum(values, 0.0), squares, evidence.y.shape[1], float(evidence.alpha), float(evidence.y.size)
        )

    def read(self, theta: Floats) -> Reading:
        form, t = self.form, self.targets
        c = form.amplitude if form.amplitude_index is None else float(np.exp(theta[form.amplitude_index]))
        s = form.noise if form.noise_index is None else float(np.exp(theta[form.noise_index]))
        d = c * self.eigenvalues + (s + self.alpha)
        if not np.min(d) > 0.0:
            return Reading(np.inf, np.zeros(len(theta)), None)
        slopes = np.zeros((len(theta), len(d)))
        if form.amplitude_index is not None:
            slopes[form.amplitude_index] = c * self.eigenvalues / d
        if form.noise_index is not None:
            slopes[form.noise_index] = s / d
        fit = self.squares / d
        value = 0.5 * float(np.sum(fit) + t * np.sum(np.log(d))) + 0.5 * t * len(d) * LOG_TWO_PI
        gradient = 0.5 * np.sum(slopes * (t - fit), axis=1)
        return Reading(value, gradient, 0.5 * multiply_matrices(slopes * fit, np.ascontiguousarray(slopes.T)))
