"""Generalised linear models: the duality gap at the fitted weights, or how far the objective is from being at rest."""

from typing import Any

import numpy as np

from tenfold.arrays import contiguous, namespace
from tenfold.certification.models import known, params, status, validated
from tenfold.data import Rows
from tenfold.estimators.contract import as_rows, counted, numbered, total_weight, validate_weights
from tenfold.estimators.glm import GeneralizedLinearClassifier
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


def _generalised(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    if isinstance(model, GeneralizedLinearClassifier):
        X, y = validated(model, X, y, numeric=False)
        known(model, y)
        y = _signs(model, X, y)
        kept, y, weight = counted(X, y, validate_weights(sample_weight, X))
        rows = as_rows(contiguous(kept) if isinstance(kept, np.ndarray) else kept, y, weight)
    else:
        rows, _ = rows_of(model, X, y, sample_weight)
    fitted, dtype = params(model, 1)
    loss, penalty = model._the_loss(), model._the_penalty(rows.shape[1])
    if loss.kinked and isinstance(penalty, L2):
        penalty = ElasticNet(0.0, float(np.max(penalty.strength)))
    problem = Glm(loss, penalty, bool(model.fit_intercept))
    if not loss.convex:
        start = Params(np.zeros((1, rows.shape[1])), first_constant(problem, rows)[0])
        return stationarity(problem, rows, fitted, start, status=status(model), dtype=dtype)
    dual = at_kinks(problem, rows, fitted, dtype) if loss.kinked else None
    return gap(problem, rows, fitted, dual=dual, status=status(model), dtype=dtype)


def _signs(model: Any, X: Any, y: Any) -> Any:
    """+1 for the second class, -1 for the first, where X lives."""
    number = numbered(model.classes_, y, X)
    return 2.0 * namespace(number).astype(number, namespace(number).float64) - 1.0


JUDGES = {
    "PoissonRegressor": _by_deviance,
    "QuantileRegressor": _quantile,
    "GammaRegressor": _by_deviance,
    "TweedieRegressor": _by_deviance,
    "GeneralizedLinear": _generalised,
    "GeneralizedLinearClassifier": _generalised,
    "HuberRegressor": _huber,
}
