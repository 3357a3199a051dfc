"""Generalised linear models: deviances, robust losses, quantiles."""

from tenfold.estimators.glm.deviance import GammaRegressor, PoissonRegressor, TweedieRegressor

__all__ = ["GammaRegressor", "PoissonRegressor", "TweedieRegressor"]
