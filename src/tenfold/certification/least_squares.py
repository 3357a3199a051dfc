"""Least squares: the residual of the fitted weights."""

from typing import Any

import numpy as np
from sklearn.utils import compute_sample_weight

from tenfold.arrays import Array, is_dask, is_foreign, like, namespace, on_host
from tenfold.certification.models import known, params, status, validated
from tenfold.estimators.classes import class_factors, factor_of_each, numbered
from tenfold.estimators.contract import as_rows, validate_weights
from tenfold.estimators.least_squares.ridge import signs
from tenfold.judge import Certificate, residual
from tenfold.plans.least_squares import ridge_problem
from tenfold.stats import Columns


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validated(model, X, y, numeric=True)
    return _least_squares(model, X, y, validate_weights(sample_weight, X))


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validated(model, X, y, numeric=False)
    weight = validate_weights(sample_weight, X)
    if y.ndim == 1:
        known(model, y)
        Y = signs(numbered(model.classes_, y, X), model.classes_.shape[0])
    else:
        Y = namespace(y).where(y > 0, 1.0, -1.0)
    if model.class_weight is not None:
        factor = _balance(model, y, X)
        weight = factor if weight is None else weight * factor
    return _least_squares(model, X, Y, weight)


def _balance(model: Any, y: Array, X: Array) -> Array:
    """The class weight of each row."""
    if is_dask(y) and y.ndim == 1:
        number = numbered(model.classes_, y, X)
        return factor_of_each(class_factors(model.class_weight, model.classes_, number, None), number)
    factor = np.asarray(compute_sample_weight(model.class_weight, on_host(y)), dtype=np.float64)
    return like(factor, X) if is_foreign(X) else factor


def _least_squares(model: Any, X: Array, y: Array, weight: Array | None) -> Certificate:
    rows = as_rows(X, y, weight)
    columns = rows.fold(Columns.lift)
    alpha = np.asarray(getattr(model, "alpha_", getattr(model, "alpha", 0.0)), dtype=np.float64)
    alpha = np.array(np.broadcast_to(np.ravel(alpha), rows.targets))
    problem = ridge_problem(alpha, columns.weight, model.fit_intercept, getattr(model, "positive", False))
    fitted, dtype = params(model, rows.targets)
    return residual(problem, rows, fitted, columns, status=status(model), dtype=dtype).certificate


JUDGES = {
    "LinearRegression": regression,
    "Ridge": regression,
    "RidgeCV": regression,
    "RidgeClassifier": classification,
    "RidgeClassifierCV": classification,
}
