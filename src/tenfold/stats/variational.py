"""Variational posteriors of Gaussian mixtures: a Dirichlet or stick-breaking weights, and Gauss-Wishart components.

q(pi) is Dirichlet(c_1, ..., c_k), or that of sticks v_k of Beta(c_k, d_k) with pi_k = v_k prod_(l < k) (1 - v_l);
q(mu_k, L_k) = N(mu_k; m_k, (b_k L_k)^-1) Wishart(L_k; (v_k C_k)^-1, v_k), with the mean precision C_k^-1. For C_k that
are diagonal, multiples of the identity or the same in all components the family is restricted to such scales; the prior
has scale V^-1, v0 degrees of freedom and the mean N(m0, (b0 L)^-1).

With expectations under q the joint of a sample and a component is that of a Gaussian mixture of other weights,

    E log pi_k + E log N(x; mu_k, L_k^-1) = log u_k + log N(x; m_k, C_k),
    log u_k = E log pi_k + 1/2 [sum_j psi((v_k - j) / 2) + p log 2 - p log v_k - p / b_k],   j = 0, ..., p - 1.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betaln, digamma, gammaln

from tenfold.arrays import Floats
from tenfold.stats.gaussians import Mixture


@dataclass(frozen=True)
class Variational:
    """Concentrations (k,), or (2, k) of sticks; precisions b (k,) of the means (k, p); degrees of freedom (k,), or one
    number where covariances are tied; and covariances C of the kind.
    """

    kind: str
    concentration: Floats
    mean_precision: Floats
    means: Floats
    degrees: Floats
    covariances: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return self.means.shape[0], self.means.shape[1]

    @property
    def sticks(self) -> bool:
        return self.concentration.ndim == 2

    @cached_property
    def each_degrees(self) -> Floats:
        """Degrees of freedom (k,)."""
        return np.array(np.broadcast_to(self.degrees, (self.shape[0],)), dtype=np.float64)

    @cached_property
    def expected_log_weights(self) -> Floats:
        """E log pi (k,)."""
        c = self.concentration
        if not self.sticks:
            return np.asarray(digamma(c) - digamma(np.sum(c)))
        both = digamma(c[0] + c[1])
        left = np.concatenate([[0.0], np.cumsum(digamma(c[1]) - both)[:-1]])
        return np.asarray(digamma(c[0]) - both + left)

    @property
    def weights(self) -> Floats:
        """E pi, normalised, (k,)."""
        c = self.concentration
        if not self.sticks:
            return c / np.sum(c)
        v = c[0] / (c[0] + c[1])
        weights = v * np.concatenate([[1.0], np.cumprod(1.0 - v)[:-1]])
        return weights / np.sum(weights)

    @cached_property
    def log_volume(self) -> Floats:
        """sum_j psi((v_k - j) / 2) (k,)."""
        return np.asarray(np.sum(digamma(0.5 * (self.each_degrees - np.arange(self.shape[1])[:, None])), axis=0))

    @cached_property
    def mixture(self) -> Mixture:
        """The Gaussian mixture of the same joint."""
        p, degrees = self.shape[1], self.each_degrees
        more = self.log_volume + p * np.log(2.0) - p * np.log(degrees) - p / self.mean_precision
        return Mixture(self.kind, np.exp(self.expected_log_weights + 0.5 * more), self.means, self.covariances)


@dataclass(frozen=True)
class VariationalPrior:
    """max over q of  sum_i weight_i log sum_k u_k N(x_i; m_k, C_k) - KL(q || prior),  a lower bound on the log
    evidence.

    The prior: Dirichlet(a, ..., a), or sticks of Beta(1, a); means N(m0, (b0 L)^-1), precisions Wishart(V^-1, v0) with
    V of the kind. The stored scatter has reg_covar I added for each sample, which is not part of the bound.
    """

    kind: str
    sticks: bool
    concentration: float
    mean_precision: float
    mean: Floats
    degrees: float
    scale: Floats
    reg_covar: float = 0.0

    @cached_property
    def raw_log_scale(self) -> float:
        """log |V|, -inf where V is singular."""
        p = len(self.mean)
        with np.errstate(divide="ignore"):
            if self.kind in ("full", "tied"):
                return float(np.linalg.slogdet(self.scale)[1])
            return float(np.sum(np.log(self.scale))) * (p if self.kind == "spherical" else 1)

    @property
    def log_scale(self) -> float:
        """log |V|; zero where V is singular: then the prior has no density, and the bound is known up to a constant."""
        return self.raw_log_scale if np.isfinite(self.raw_log_scale) else 0.0

    def divergence(self, q: Variational) -> float:
        """KL(q || prior)."""
        return self._of_weights(q) + float(np.sum(self._of_components(q)))

    def _of_weights(self, q: Variational) -> float:
        a, c = self.concentration, q.concentration
        if self.sticks:
            both = digamma(c[0] + c[1])
            parts = betaln(1.0, a) - betaln(c[0], c[1]) + (c[0] - 1.0) * digamma(c[0]) + (c[1] - a) * digamma(c[1])
            return float(np.sum(parts - (c[0] + c[1] - 1.0 - a) * both))
        k, total = len(c), np.sum(c)
        norms = gammaln(total) - np.sum(gammaln(c)) - gammaln(k * a) + k * gammaln(a)
        return float(norms + np.sum((c - a) * (digamma(c) - digamma(total))))

    def _of_components(self, q: Variational) -> Floats:
        p, v, b, v0, b0 = q.shape[1], q.each_degrees, q.mean_precision, self.degrees, self.mean_precision
        mixture, half = q.mixture, 0.5 * np.arange(p)[:, None]
        means = p * np.log(b / b0) - p + p * b0 / b + b0 * mixture.lengths(q.means - self.mean)
        logs = 2.0 * mixture.factors.logs - p * np.log(v)  # log |W_k|
        traces = self._traces(mixture)
        gammas = np.sum(gammaln(0.5 * v0 - half) - gammaln(0.5 * v - half), axis=0)
        spread = 0.5 * (v0 * (-self.log_scale - logs) + traces - v * p) + gammas + 0.5 * (v - v0) * q.log_volume
        return np.asarray(0.5 * means + spread)

    def _traces(self, mixture: Mixture) -> Floats:
        """tr(V C_k^-1) (k,)."""
        k, p = mixture.shape
        precisions = mixture.precisions
        if self.kind in ("full", "tied"):
            return np.broadcast_to(np.sum(self.scale * precisions, axis=(-2, -1)), (k,))
        return np.sum(self.scale * precisions, axis=1) if self.kind == "diag" else p * self.scale * precisions

    def constant(self, k: int, weight: float) -> float:
        """What scikit-learn leaves out of the bound: terms in which no parameter is."""
        p, v0, a = len(self.mean), self.degrees, self.concentration
        gammas = float(np.sum(gammaln(0.5 * (v0 - np.arange(p)))))
        wishart = -(-0.5 * v0 * self.log_scale + 0.5 * v0 * p * np.log(2.0) + gammas)
        weights = k * float(betaln(1.0, a)) if self.sticks else float(k * gammaln(a) - gammaln(k * a))
        return k * (0.5 * p * np.log(self.mean_precision) + wishart) - weights - 0.5 * weight * p * np.log(2.0 * np.pi)


def count_samples(prior: VariationalPrior, counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Concentrations, precisions of the means and degrees of freedom for counts (k,) of samples."""
    if prior.sticks:
        after = np.concatenate([np.cumsum(counts[::-1])[-2::-1], [0.0]])
        concentration = np.stack([1.0 + counts, prior.concentration + after])
    else:
        concentration = prior.concentration + counts
    shared = np.array(np.sum(counts) / len(counts)) if prior.kind == "tied" else counts
    return concentration, prior.mean_precision + counts, prior.degrees + shared
