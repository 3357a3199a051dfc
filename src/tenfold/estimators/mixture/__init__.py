"""Mixtures, and the driver of EM that fits them."""

from tenfold.estimators.mixture.driver import em
from tenfold.estimators.mixture.gaussian import GaussianMixture

__all__ = ["GaussianMixture", "em"]
