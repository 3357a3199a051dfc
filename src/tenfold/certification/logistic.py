"""Logistic regression: the duality gap at the fitted weights."""

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, is_sparse
from tenfold.certification.models import known, params, status, validated
from tenfold.data import Table
from tenfold.estimators.classes import numbered, targets
from tenfold.estimators.contract import kept_rows, rowwise, total_weight, validate_weights
from tenfold.estimators.labels import weighted
from tenfold.estimators.logistic.settings import Chosen
from tenfold.judge import Certificate, gap, gap_of_classes
from tenfold.losses import Logistic, Softmax
from tenfold.problems import Glm
from tenfold.stats import Params


def logistic(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validated(model, X, y, numeric=False)
    known(model, y)
    count = int(model.classes_.shape[0])
    number = numbered(model.classes_, y, X)
    weight = weighted(model.class_weight, model.classes_, number, validate_weights(sample_weight, X))
    fitted, dtype = params(model, 1 if count == 2 else count)
    intercept = bool(model.fit_intercept)
    if intercept and model.solver == "liblinear" and type(model).__module__.startswith("sklearn."):
        # liblinear: the intercept is the weight of one more column, and penalised
        unit = float(model.intercept_scaling)
        X = X.load() if isinstance(X, Table) else X
        X = rowwise(partial(_with_column, unit), X)
        fitted = Params(np.column_stack([fitted.coef, fitted.intercept / unit]), np.zeros(1))
        intercept = False
    target = targets(number, count)
    rows = kept_rows(X, target, weight)
    penalty = chosen(model).penalty(total_weight(target, weight))
    if count > 2:
        return gap_of_classes(Glm(Softmax(), penalty, intercept), rows, fitted, status=status(model), dtype=dtype)
    return gap(Glm(Logistic(), penalty, intercept), rows, fitted, status=status(model), dtype=dtype)


def _with_column(value: float, X: Array) -> Array:
    """X with one more column, of one value."""
    column = np.full((X.shape[0], 1), value, dtype=X.dtype)
    return sparse.hstack([X, sparse.csr_array(column)], format="csr") if is_sparse(X) else np.hstack([X, column])


def chosen(model: Any) -> Chosen:
    """C, infinite where there is no penalty, and the share of L1; what cross-validation has chosen where it has."""
    C = float(np.ravel(getattr(model, "C_", getattr(model, "C", np.inf)))[0])
    if model.penalty is None or np.inf == C:
        return Chosen(np.inf, 0.0)
    ratio = np.ravel(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 0.0)))[0]
    return Chosen(C, {"l1": 1.0, "l2": 0.0}.get(str(model.penalty), float(ratio or 0.0)))


JUDGES = {"LogisticRegression": logistic, "LogisticRegressionCV": logistic}
