"""Generalised linear models: the duality gap at the fitted weights, or how far the objective is from being at rest."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, contiguous
from tenfold.certification.models import params, status, validated
from tenfold.data import Rows
from tenfold.estimators.contract import as_rows, counted, validate_weights
from tenfold.estimators.glm.deviance import as_float
from tenfold.judge import Certificate, gap, stationarity
from tenfold.losses import Gamma, Loss, Poisson, deviance
from tenfold.penalties import L2
from tenfold.plans.glm import first_constant
from tenfold.problems import Glm
from tenfold.stats import Params


def rows_of(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Array]:
    """The rows of positive weight, with their targets."""
    X, y = validated(model, X, y, numeric=True)
    kept, y, weight = counted(X, as_float(y), validate_weights(sample_weight, X))
    return as_rows(contiguous(kept) if isinstance(kept, np.ndarray) else kept, y, weight), y


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


JUDGES = {"PoissonRegressor": _by_deviance, "GammaRegressor": _by_deviance, "TweedieRegressor": _by_deviance}
