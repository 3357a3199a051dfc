"""Comparison of a model's predictions with those of its judged arrays.

A certificate speaks of the fitted arrays; users call `predict`. A class may predict from private copies of its arrays,
so `certify` also calls the model's methods on a few samples and compares what they return with values that the judged
arrays give, in float64, up to a bound on the rounding of the model's own arithmetic.
"""

import copy
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array, Floats, is_array_api, is_dask, is_sparse, numpy_dtype, on_host, unit_roundoff, wide
from tenfold.data import BatchRows, Table
from tenfold.estimators.validation import as_rows_without_target, validate_rows
from tenfold.string_codes import decode_strings, is_encoded

MAX_SAMPLES = 256  # on which methods of the model are compared


class Output(NamedTuple):
    """The expected output of a method, and a bound on the rounding of the model's value (broadcast)."""

    method: str
    value: Floats
    rounding: Floats | float


class Labels(NamedTuple):
    """Scores (n, K) by which a method picks one of K labels: the label returned must have the largest, up to rounding
    (n, 1).
    """

    method: str
    scores: Floats
    labels: Array
    rounding: Floats | float


Expect: TypeAlias = Callable[[Any, Any], "list[Output | Labels]"]
"""(model, X) -> the expected outputs of its methods on the samples X, a NumPy array or a CSR matrix."""


class _AnyValues(BaseEstimator):
    """Validates samples with missing values."""

    _allow_nan = True


def take_samples(X: Any) -> Array:
    """At most `MAX_SAMPLES` samples, evenly spaced, in memory, on the device of X."""
    if isinstance(X, list) and np.asarray(X, dtype=object).ndim == 1:  # samples that are no vectors
        return X[:: -(-len(X) // MAX_SAMPLES)]
    X = validate_rows(_AnyValues(), X)
    step = -(-X.shape[0] // MAX_SAMPLES)
    if isinstance(X, Table):
        return BatchRows(X, np.zeros((X.shape[0], 0))).subsample(step).X
    if is_dask(X):
        return np.asarray(as_rows_without_target(X, None).X[::step].compute())  # type: ignore[attr-defined]
    return X[::step, :]


def find_difference(model: Any, X: Any, expect: Expect) -> str:
    """The first method whose values differ from those of the judged arrays, as a sentence; "" where all agree."""
    samples = take_samples(X)
    # scikit-learn's Gaussian processes take strings as they are
    theirs = is_encoded(samples) and not type(model).__module__.startswith("tenfold")
    given = decode_strings(samples) if theirs else samples
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # the samples have no feature names, and values far off may overflow
        warnings.simplefilter("ignore")
        for output in expect(_bring_here(model), on_host(samples) if is_array_api(samples) else samples):
            own = getattr(model, output.method)(given)
            if not (_agrees if isinstance(output, Output) else _picks)(output, on_host(own)):
                return (
                    f"{type(model).__name__}.{output.method} does not return what the fitted arrays give: "
                    "it reads other arrays than those that were judged."
                )
    return ""


def _bring_here(model: Any) -> Any:
    """The model with NumPy arrays in place of those of a device."""
    arrays = {name: on_host(value) for name, value in vars(model).items() if is_array_api(value)}
    if not arrays:
        return model
    here = copy.copy(model)
    vars(here).update(arrays)
    return here


def _agrees(output: Any, own: Any) -> bool:
    value = np.asarray(output.value, dtype=np.float64)
    own = np.asarray(own.toarray() if is_sparse(own) else own, dtype=np.float64)
    if own.size != value.size:
        return False
    own = own.reshape(value.shape)
    return bool(np.all((own == value) | (np.abs(own - value) <= output.rounding)))


def _picks(output: Any, own: Any) -> bool:
    own = np.ravel(np.asarray(own))
    scores, labels = np.asarray(output.scores, dtype=np.float64), np.asarray(output.labels)
    if len(own) != len(scores):
        return False
    match = own[:, None] == labels[None, :]
    taken = np.max(np.where(match, scores, -np.inf), axis=1)
    with np.errstate(invalid="ignore"):
        short = np.max(scores, axis=1) - taken
    return bool(match.any(axis=1).all() and np.all(np.nan_to_num(short) <= np.ravel(output.rounding)))


def products(X: Array, coef: Array, intercept: Array) -> tuple[Floats, Floats]:
    """X coef' + intercept (n, t) in float64, and a bound on its rounding in the coarser dtype of X and coef."""
    u = max(unit_roundoff(numpy_dtype(part.dtype)) for part in (X, coef))
    X, coef, b = _wide(X), _wide(coef), np.asarray(on_host(intercept), dtype=np.float64)
    size = np.asarray(abs(X) @ np.abs(coef).T) + np.abs(b)
    return np.asarray(X @ coef.T) + b, (X.shape[1] + 8) * u * size + np.finfo(np.float64).tiny


def _wide(array: Any) -> Any:
    return array.astype(np.float64) if is_sparse(array) else wide(array)
