"""Generalised linear models: the duality gap at the fitted weights, or how far the objective is from being at rest."""

from typing import Any

import numpy as np

from tenfold.arrays import contiguous
from tenfold.certification.models import params, status, validated
from tenfold.data import Rows
from tenfold.estimators.contract import as_rows, counted, total_weight, validate_weights
from tenfold.estimators.glm.deviance import as_float
from tenfold.estimators.glm.huber import strength
from tenfold.judge import Certificate, at_kinks, gap, scaled_gap, stationarity
from tenfold.losses import Gamma, Loss, Poisson, Quantile, deviance
from tenfold.penalties import L2, ElasticNet
from tenfold.plans.glm import first_constant
from tenfold.problems import Glm, ScaledHuber
from tenfold.stats import Params


def rows_of(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, float]:
    """The rows of positive weight, and its sum."""
    X, y = validated(model, X, y, numeric=True)
    kept, y, weight = counted(X, as_float(y), validate_weights(sample_weight, X))
    rows = as_rows(contiguous(kept) if isinstance(kept, np.ndarray) else kept, y, weight)
    return rows, total_weight(y, weight)


def _by_deviance(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    rows, _ = rows_of(model, X, y, sample_weight)
    problem = Glm(_loss(model), L2(float(model.alpha)), bool(model.fit_intercept))
    fitted, dtype = params(model, 1)
    if problem.loss.convex:
        return gap(problem, rows, fitted, status=status(model), dtype=dtype)
    start = Params(np.zeros((1, rows.shape[1])), first_constant(problem, rows)[0])
    return stationarity(problem, rows, fitted, start, status=status(model), dtype=dtype)


def _loss(model: Any) -> Loss:
    name = type(model).__name__
    if name != "TweedieRegressor":
        return Poisson() if name == "PoissonRegressor" else Gamma()
    link = model.link if model.link != "auto" else "identity" if model.power <= 0 else "log"
    return deviance(float(model.power), link)


def _huber(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    rows, weight = rows_of(model, X, y, sample_weight)
    fitted, dtype = params(model, 1)
    problem = ScaledHuber(float(model.epsilon), strength(model.alpha, weight), bool(model.fit_intercept))
    return scaled_gap(problem, rows, fitted, float(model.scale_), status=status(model), dtype=dtype)


def _quantile(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    rows, _ = rows_of(model, X, y, sample_weight)
    fitted, dtype = params(model, 1)
    problem = Glm(Quantile(float(model.quantile)), ElasticNet(float(model.alpha)), bool(model.fit_intercept))
    dual = at_kinks(problem, rows, fitted, dtype)
    return gap(problem, rows, fitted, dual=dual, status=status(model), dtype=dtype)


JUDGES = {
    "PoissonRegressor": _by_deviance,
    "QuantileRegressor": _quantile,
    "GammaRegressor": _by_deviance,
    "TweedieRegressor": _by_deviance,
    "HuberRegressor": _huber,
}
