"""Losses that are negative log-likelihoods: -loss / dispersion is the log-density up to a term of the targets alone.

The Tweedie family of power p has variance dispersion * mean^p: the dispersion of counts (p = 1) is one, that of the
others is unknown. Classes have none. A likelihood has two curvatures: the observed information, the second derivative
in z, and the expected one, the Fisher information.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

from tenfold.arrays import Array, like, namespace, on_host
from tenfold.losses.classification import Logistic, Softmax
from tenfold.losses.deviances import IdentityDeviance, LogDeviance, Tweedie
from tenfold.losses.loss import Loss
from tenfold.losses.tweedie_density import log_saturated

LARGEST_EXPONENT = 700.0  # of a number of float64


@dataclass(frozen=True)
class Likelihood:
    """A distribution with its loss; `power` is None for classes."""

    loss: Loss
    power: float | None

    @property
    def name(self) -> str:
        """The name of the distribution."""
        known = {0.0: "Gaussian", 1.0: "Poisson", 2.0: "Gamma", 3.0: "inverse Gaussian"}
        return self.loss.name if self.power is None else known.get(self.power, f"Tweedie's of power {self.power:g}")

    @property
    def dispersed(self) -> bool:
        """Whether it has a dispersion to be estimated."""
        return self.power is not None and self.power != 1.0

    @property
    def canonical(self) -> bool:
        """Whether both curvatures are that of the loss."""
        return not isinstance(self.loss, LogDeviance | IdentityDeviance) and self.power in (None, 0.0, 1.0)

    def pearson(self, y: Array, z: Array) -> Array:
        """(y - mean)^2 / variance: the squared slope over Fisher's information, zero where that is zero."""
        xp = namespace(z)
        if isinstance(self.loss, Logistic):
            return xp.exp(xp.minimum(-y * z, LARGEST_EXPONENT))
        u, expected = self.loss.slope(y, z), self.fisher_information(y, z)
        positive = expected > 0
        return xp.where(positive, u * u / xp.where(positive, expected, xp.ones_like(u)), xp.zeros_like(u))

    def fisher_information(self, y: Array, z: Array) -> Array:
        """The Fisher information of z, the expected curvature."""
        if self.loss.link != "log":
            return self.loss.curvature(y, z)
        assert self.power is not None
        return namespace(z).exp((2.0 - self.power) * z)

    def second_derivative(self, y: Array, z: Array) -> Array:
        """The second derivative, which may be negative where the loss is not convex."""
        if isinstance(self.loss, LogDeviance):
            xp, p = namespace(z), self.loss.power
            return (2.0 - p) * xp.exp((2.0 - p) * z) - (1.0 - p) * y * xp.exp((1.0 - p) * z)
        if isinstance(self.loss, IdentityDeviance):
            return self.loss.curvature(y, z) * (1.0 - self.loss.power * (z - y) / z)
        return self.loss.curvature(y, z)

    def of_targets(self, y: Array) -> Array:
        """The term of the log-density that depends on targets alone, apart from the dispersion; NaN where the two do
        not separate. Counts on a device are copied to the host, for SciPy's gamma function.
        """
        xp = namespace(y)
        if self.power is None or self.power == 0.0:
            return xp.zeros_like(y)
        if self.power == 1.0:
            counts = on_host(y)
            return like(xlogy(counts, counts) - counts - gammaln(counts + 1.0), y)
        return -0.5 * self.power * xp.log(y) if self.power in (2.0, 3.0) else xp.full_like(y, xp.nan)

    @property
    def compound(self) -> bool:
        """Whether targets are compound Poisson sums, whose density is a series."""
        return self.power is not None and 1.0 < self.power < 2.0

    def log_saturated_density(self, y: Array, dispersion: float) -> Array:
        """The term of the targets in the log-density of compound Poisson sums, at a known dispersion; on the host."""
        assert self.power is not None
        return like(log_saturated(on_host(y), self.power, dispersion), y)

    def logarithm(self, deviance: float, count: float, targets: float, dispersion: float) -> float:
        """The log-likelihood of `count` samples from their deviance and the sum of `of_targets`, or of
        `log_saturated_density`.

        The Gaussian's is at the maximum likelihood variance, deviance / count.
        """
        if self.power is None or self.power == 1.0:
            return targets - 0.5 * deviance
        if self.power == 0.0 and self.loss.link == "identity":
            dispersion = deviance / count
        if not dispersion > 0.0:
            return np.nan
        if self.compound:
            return targets - 0.5 * deviance / dispersion
        each = 0.5 * np.log(2.0 * np.pi * dispersion)
        if self.power == 2.0:
            each = (1.0 + np.log(dispersion)) / dispersion + gammaln(1.0 / dispersion)
        return float(targets - 0.5 * deviance / dispersion - count * each)


def likelihood_of(loss: Loss) -> Likelihood | None:
    """The likelihood of a loss, or None."""
    if isinstance(loss, Logistic | Softmax):
        return Likelihood(loss, None)
    if isinstance(loss, Tweedie | LogDeviance | IdentityDeviance):
        return Likelihood(loss, float(loss.power))
    power = {"square": 0.0, "poisson": 1.0, "gamma": 2.0}.get(loss.name)
    return None if power is None else Likelihood(loss, power)
