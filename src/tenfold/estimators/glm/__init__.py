"""Generalised linear models: deviances, robust losses, quantiles."""

from tenfold.estimators.glm.classes import GeneralizedLinearClassifier
from tenfold.estimators.glm.families import GammaRegressor, PoissonRegressor, TweedieRegressor
from tenfold.estimators.glm.general import GeneralizedLinear
from tenfold.estimators.glm.huber import HuberRegressor
from tenfold.estimators.glm.quantile import QuantileRegressor

__all__ = [
    "GammaRegressor",
    "GeneralizedLinear",
    "GeneralizedLinearClassifier",
    "HuberRegressor",
    "PoissonRegressor",
    "QuantileRegressor",
    "TweedieRegressor",
]
