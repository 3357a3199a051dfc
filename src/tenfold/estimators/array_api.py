"""Arrays of other libraries of the Array API: checked by us, so that no switch is asked of the user, and used where
they are.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_array

from tenfold.arrays import (
    FLOATS,
    Array,
    device_of,
    is_array_api,
    like,
    namespace,
    numpy_dtype,
    on_host,
    on_same_device,
    ones,
)


def validate(estimator: Any, X: Array, y: Any, *, numeric: bool, multi_output: bool) -> tuple[Array, Array]:
    """X and y in the namespace and on the device of X; y may come from the host. No switch is asked of the user."""
    X = matrix(estimator, X)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    if not is_array_api(y):
        y = check_array(y, ensure_2d=False, dtype="numeric" if numeric else None, input_name="y", estimator=estimator)
        y = y if y.dtype.kind in "OUS" else like(y, X)
    if is_array_api(y):
        refuse_elsewhere(X, y, "y")
        xp = namespace(y)
        y = y if xp.isdtype(y.dtype, ("real floating", "integral", "bool")) else xp.astype(y, xp.float64, copy=False)
        if xp.isdtype(y.dtype, "real floating") and not bool(xp.all(xp.isfinite(y))):
            raise ValueError("Input y contains NaN or infinity.")
    if y.ndim not in (1, 2) or (y.ndim == 2 and not multi_output):
        raise ValueError(f"y should be a 1d array, got an array of shape {tuple(y.shape)} instead.")
    if y.shape[0] != X.shape[0]:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[X.shape[0], y.shape[0]]}")
    estimator.n_features_in_ = X.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    return X, y


def matrix(estimator: Any, X: Array) -> Array:
    """X in float32 or float64; refuses what is not a matrix of real numbers."""
    xp = namespace(X)
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: reshape it to rows and columns.")
    if X.shape[0] == 0 or X.shape[1] == 0:
        what = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(
            f"Found array with 0 {what} (shape={tuple(X.shape)}) while a minimum of 1 is required by "
            f"{type(estimator).__name__}."
        )
    if not xp.isdtype(X.dtype, ("real floating", "integral", "bool")):
        raise ValueError(f"X must hold real numbers, got {X.dtype}.")
    return X if numpy_dtype(X.dtype) in FLOATS else xp.astype(X, xp.float64, copy=False)


def refuse_elsewhere(X: Array, other: Array, name: str) -> None:
    """Nothing is copied between devices silently."""
    if not on_same_device(X, other):
        raise ValueError(
            f"{name} is an array of {type(other).__module__} on {device_of(other)}, X is on {device_of(X)}: move one "
            "of them, fits copy nothing between devices."
        )


def weights(given: Array) -> Array | None:
    """Weights in float64, looked at where they are; None where they are to be refused."""
    xp = namespace(given)
    weight = xp.astype(given, xp.float64, copy=False)
    fine = xp.all(xp.isfinite(weight) & (weight >= 0.0)) & xp.any(weight > 0.0)
    return weight if bool(fine) else None


def to_predict(model: Any, X: Array) -> Array:
    """X in the namespace and on the device where it is, with the columns of the fit."""
    X = matrix(model, X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    xp = namespace(X)
    fine = xp.isfinite(X) | xp.isnan(X) if getattr(model, "_missing", False) else xp.isfinite(X)
    if not bool(xp.all(fine)):
        raise ValueError("Input X contains NaN or infinity.")
    return X


def score(estimator: Any, X: Array, y: Any, weight: Array | None) -> float:
    """Accuracy, or R^2 averaged over the targets, where the arrays are."""
    X, y = validate(BaseEstimator(), X, y, numeric=False, multi_output=True)
    xp, found = namespace(X), estimator.predict(X)
    weight = ones(X.shape[0], X) if weight is None else weight
    if is_classifier(estimator):
        if not is_array_api(y):
            return float(np.average(found == y, weights=on_host(weight)))
        right = xp.astype(found == y, xp.float64, copy=False)
        right = xp.min(right, axis=1) if right.ndim == 2 else right
        return float(xp.sum(weight * right) / xp.sum(weight))
    y, found = (xp.astype(xp.reshape(part, (X.shape[0], -1)), xp.float64) for part in (y, found))
    residual = xp.matmul(weight, (y - found) ** 2)
    total = xp.matmul(weight, (y - xp.matmul(weight, y) / xp.sum(weight)) ** 2)
    r2 = xp.where(total > 0, 1.0 - residual / xp.where(total > 0, total, xp.ones_like(total)), xp.zeros_like(total))
    return float(xp.mean(xp.where((total == 0) & (residual == 0), xp.ones_like(r2), r2)))
