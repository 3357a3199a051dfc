"""Generalised linear models: deviances, robust losses, quantiles."""

from tenfold.estimators.glm.deviance import GammaRegressor, PoissonRegressor, TweedieRegressor
from tenfold.estimators.glm.huber import HuberRegressor

__all__ = ["GammaRegressor", "HuberRegressor", "PoissonRegressor", "TweedieRegressor"]
