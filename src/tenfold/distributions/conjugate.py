"""Conjugate families: a prior that data turn into a posterior of the same kind, and what that predicts."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.stats
from scipy.special import betaln, gammaln, multigammaln

from tenfold.arrays import Floats


@dataclass(frozen=True)
class BetaBernoulli:
    """The probability of a success, with a Beta(a, b) distribution.

    Parameters
    ----------
    a : float, default=1.0
        One more than the successes that the prior stands for.
    b : float, default=1.0
        One more than the failures that the prior stands for.

    Examples
    --------
    >>> from tenfold.distributions import BetaBernoulli
    >>> posterior = BetaBernoulli(2.0, 2.0).update(7, 3)
    >>> posterior, round(posterior.mode, 4)
    (BetaBernoulli(a=9.0, b=5.0), 0.6667)
    """

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        if not (0.0 < self.a < np.inf and 0.0 < self.b < np.inf):
            raise ValueError(f"a and b must be positive, got {self.a} and {self.b}.")

    def update(self, successes: float, failures: float) -> "BetaBernoulli":
        """The posterior after numbers of `successes` and `failures`."""
        if not (successes >= 0 and failures >= 0):
            raise ValueError(f"Counts must not be negative, got {successes} and {failures}.")
        return BetaBernoulli(self.a + successes, self.b + failures)

    @property
    def distribution(self) -> Any:
        """The frozen Beta distribution of SciPy."""
        return scipy.stats.beta(self.a, self.b)

    @property
    def mean(self) -> float:
        """a / (a + b): the probability that the next one is a success."""
        return self.a / (self.a + self.b)

    @property
    def mode(self) -> float:
        """(a - 1) / (a + b - 2), the MAP estimate; raises where the density has no largest value inside."""
        if not (self.a > 1.0 and self.b > 1.0):
            raise ValueError("The density has a mode inside (0, 1) only for a, b > 1.")
        return (self.a - 1.0) / (self.a + self.b - 2.0)

    def log_evidence(self, successes: float, failures: float) -> float:
        """The log probability of one sequence with these numbers of `successes` and `failures`."""
        after = self.update(successes, failures)
        return float(betaln(after.a, after.b) - betaln(self.a, self.b))


@dataclass(frozen=True)
class DirichletCategorical:
    """The probabilities of M categories, with a Dirichlet(alpha) distribution.

    Parameters
    ----------
    alpha : array-like of shape (M,)
        Concentrations, positive; twos give Laplace's smoothing as the mode.

    Examples
    --------
    >>> from tenfold.distributions import DirichletCategorical
    >>> DirichletCategorical([2.0, 2.0, 2.0]).update([3, 0, 1]).mode.round(3)
    array([0.571, 0.143, 0.286])
    """

    alpha: Floats

    def __post_init__(self) -> None:
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim != 1 or not np.all(alpha > 0.0) or not np.isfinite(alpha).all():
            raise ValueError(f"Concentrations must be a vector of positive numbers, got {self.alpha}.")
        object.__setattr__(self, "alpha", alpha)

    def update(self, counts: Any) -> "DirichletCategorical":
        """The posterior after `counts` (M,) of the categories."""
        counts = np.asarray(counts, dtype=np.float64)
        if counts.shape != self.alpha.shape:
            raise ValueError(f"There are {len(self.alpha)} categories, got counts of shape {counts.shape}.")
        if not np.all(counts >= 0.0):
            raise ValueError("Counts must not be negative.")
        return DirichletCategorical(self.alpha + counts)

    @property
    def distribution(self) -> Any:
        """The frozen Dirichlet distribution of SciPy."""
        return scipy.stats.dirichlet(self.alpha)

    @property
    def mean(self) -> Floats:
        """alpha / sum(alpha): the probabilities of the next category."""
        return self.alpha / np.sum(self.alpha)

    @property
    def mode(self) -> Floats:
        """(alpha - 1) / (sum(alpha) - M), the MAP estimate; raises where the density has no largest value inside."""
        if not np.all(self.alpha > 1.0):
            raise ValueError("The density has a mode inside only where all alpha > 1.")
        return (self.alpha - 1.0) / (np.sum(self.alpha) - len(self.alpha))

    def log_evidence(self, counts: Any) -> float:
        """The log probability of one sequence with these `counts` (M,)."""
        after = self.update(counts)
        return _log_beta(after.alpha) - _log_beta(self.alpha)


def _log_beta(alpha: Floats) -> float:
    return float(np.sum(gammaln(alpha)) - gammaln(np.sum(alpha)))


@dataclass(frozen=True)
class GaussianWishart:
    """Mean and precision L of Gaussian samples: L has a Wishart distribution, and the mean N(m, (b L)^-1).

    Parameters
    ----------
    mean : array-like of shape (p,)
        The mean m.
    precision : float
        How many samples b the mean stands for.
    degrees : float
        Degrees of freedom v > p - 1.
    scale : array-like of shape (p, p)
        The inverse V of the scale of the Wishart distribution: the expected precision is v V^-1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.distributions import GaussianWishart
    >>> prior = GaussianWishart([0.0], 1.0, 1.0, [[1.0]])
    >>> posterior = prior.update(np.array([[1.0], [3.0]]))
    >>> posterior.mean.round(3), posterior.precision, posterior.degrees, posterior.scale.round(3)
    (array([1.333]), 3.0, 3.0, array([[5.667]]))
    """

    mean: Floats
    precision: float
    degrees: float
    scale: Floats

    def __post_init__(self) -> None:
        mean = np.atleast_1d(np.asarray(self.mean, dtype=np.float64))
        V = np.atleast_2d(np.asarray(self.scale, dtype=np.float64))
        p = len(mean)
        if V.shape != (p, p) or not np.allclose(V, V.T) or not np.all(np.linalg.eigvalsh(V) > 0.0):
            raise ValueError(f"The scale must be a positive definite matrix of shape {(p, p)}.")
        if not self.precision > 0.0 or not self.degrees > p - 1.0:
            raise ValueError(f"The precision must be positive, and the degrees of freedom above {p - 1}.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "scale", V)

    def update(self, X: Any, weight: Any = None) -> "GaussianWishart":
        """The posterior after samples `X` (n, p), with optional weights `weight` (n,) that count as repetitions."""
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if X.shape[1] != len(self.mean) or not np.isfinite(X).all():
            raise ValueError(f"Samples must be finite and have {len(self.mean)} features, got shape {X.shape}.")
        w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
        n = float(np.sum(w))
        if n == 0.0:
            return self
        own = np.einsum("i,ij->j", w, X) / n
        away = X - own
        step = own - self.mean
        b = self.precision + n
        V = self.scale + np.einsum("i,ij,ik->jk", w, away, away) + self.precision * n / b * np.outer(step, step)
        return replace(self, mean=self.mean + n / b * step, precision=b, degrees=self.degrees + n, scale=V)

    @property
    def mode(self) -> tuple[Floats, Floats]:
        """The MAP estimate of the mean (p,), and that of the precision (p, p); raises where there is none."""
        p = len(self.mean)
        if self.degrees < p:
            raise ValueError(f"The joint density has a mode only with at least {p} degrees of freedom.")
        return self.mean, np.asarray((self.degrees - p) * np.linalg.inv(self.scale), dtype=np.float64)

    @property
    def wishart(self) -> Any:
        """The frozen Wishart distribution of the precision, of SciPy."""
        return scipy.stats.wishart(self.degrees, np.linalg.inv(self.scale))

    @property
    def predictive(self) -> Any:
        """The distribution of the next sample: SciPy's frozen multivariate t."""
        freedom: Any = self.degrees - len(self.mean) + 1.0
        shape = (self.precision + 1.0) / (self.precision * freedom) * self.scale
        return scipy.stats.multivariate_t(self.mean, shape, df=freedom)

    def log_evidence(self, X: Any) -> float:
        """The log density of the samples `X` (n, p) together, with mean and precision integrated out."""
        after, p = self.update(X), len(self.mean)
        n = after.precision - self.precision
        return after._log_norm() - self._log_norm() - 0.5 * n * p * float(np.log(2.0 * np.pi))

    def _log_norm(self) -> float:
        """The log of the integral of the density without its constants."""
        p, v = len(self.mean), self.degrees
        logs = -0.5 * v * float(np.linalg.slogdet(self.scale)[1]) + 0.5 * v * p * float(np.log(2.0))
        return logs + float(multigammaln(0.5 * v, p)) + 0.5 * p * float(np.log(2.0 * np.pi / self.precision))
