"""Data of a fitted model: validation as by its `fit`, parameters, classes, status."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from tenfold.arrays import FLOATS, Array, is_array_api, is_sparse, on_host
from tenfold.data import Table
from tenfold.estimators.class_labels import unknown_classes
from tenfold.estimators.validation import finiteness, sum_duplicates, validate
from tenfold.judge.certificate import Certificate
from tenfold.stats.derivatives import Params

STATUS = "judged"

# the fitted arrays are certified, and another part of the model contradicts them or the data
INCONSISTENT = "inconsistent"


def is_pipeline(model: Any) -> bool:
    """Whether a model is a pipeline of scikit-learn, without importing their module."""
    module = sys.modules.get("sklearn.pipeline")
    return module is not None and isinstance(model, module.Pipeline)


def validate_like_fit(model: Any, X: Any, y: Any, *, numeric: bool) -> tuple[Array, Array]:
    """X and y validated as by the model's `fit`; the model is not changed."""
    if isinstance(X, Table) or is_array_api(X):
        return validate(BaseEstimator(), X, y, numeric=numeric)
    X, y = validate_data(
        model,
        X,
        y,
        reset=False,
        accept_sparse="csr",
        dtype=list(FLOATS),
        ensure_all_finite=finiteness(model),
        multi_output=True,
        y_numeric=numeric,
    )
    return sum_duplicates(X), np.ravel(y) if y.ndim == 2 and y.shape[1] == 1 else y


def check_known_classes(model: Any, y: Array) -> None:
    unknown = unknown_classes(model.classes_, y)
    if unknown.size:
        raise ValueError(
            f"y holds classes that the model does not know: {unknown.tolist()}; it knows {model.classes_}."
        )


def take_params(model: Any, targets: int) -> tuple[Params, Any]:
    """The fitted weights and intercepts in float64, and the dtype in which the model keeps them.

    An intercept that was set by the user and not fitted is not part of any problem here.
    """
    coef = model.coef_.toarray() if is_sparse(model.coef_) else on_host(model.coef_)
    b = np.broadcast_to(np.ravel(np.asarray(on_host(model.intercept_), dtype=np.float64)), targets)
    if not getattr(model, "fit_intercept", True) and np.any(b):
        raise TypeError("certify cannot judge a model whose intercept was given and not fitted.")
    dtype = coef.dtype if coef.dtype in FLOATS else np.float64
    coef = np.ascontiguousarray(coef.reshape(targets, -1), dtype=np.float64)
    return Params(coef, np.ascontiguousarray(b)), dtype


def contradict(certificate: Certificate, complaint: str) -> Certificate:
    """The failed certificate of a model, another part of which contradicts the certified arrays or the data."""
    return replace(certificate, value=np.inf, status=INCONSISTENT, note=complaint)


def fit_status(model: Any) -> str:
    """The status of the fit, where the model has one."""
    return str(getattr(model, "status_", STATUS))
