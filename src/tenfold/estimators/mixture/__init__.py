"""Mixtures, and the driver of EM that fits them."""

from tenfold.estimators.mixture.driver import Ascent, em
from tenfold.estimators.mixture.gaussian import GaussianMixture

__all__ = ["Ascent", "GaussianMixture", "em"]
