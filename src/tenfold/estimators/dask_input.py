"""Dask arrays and data frames: validation on the workers, lazy predictions, scores by one pass. Imported only when a
Dask collection is passed.
"""

from collections.abc import Callable
from functools import partial
from numbers import Number
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from tenfold.arrays import Array, Floats, contiguous, is_dask
from tenfold.data import Rows, dask
from tenfold.data.dask import DaskRows
from tenfold.stats.combined import Several
from tenfold.stats.derivatives import Total
from tenfold.stats.moments import Moments


def validate(estimator: Any, X: Any, y: Any, *, numeric: bool, multi_output: bool) -> tuple[Array, Array]:
    """X of `data.dask.matrix`, and y, aligned with X and persisted on the workers; labels keep their type."""
    names = _column_names(X)
    X = _matrix(estimator, X)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    if not is_dask(y):
        y = check_array(y, ensure_2d=False, dtype="numeric" if numeric else None, input_name="y", estimator=estimator)
    y = dask.align(y, X, np.float64 if numeric else None)
    if y.ndim not in (1, 2) or (y.ndim == 2 and not multi_output):
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    if y.dtype.kind == "f" and (place := dask.place_of(y, _not_finite)) is not None:
        raise ValueError(f"Input y contains NaN or infinity: {place}.")
    _remember(estimator, X, names)
    return X, y


def validate_rows(estimator: Any, X: Any) -> Array:
    """Validate X without a target."""
    names = _column_names(X)
    X = _matrix(estimator, X)
    _remember(estimator, X, names)
    return X


def _matrix(estimator: Any, X: Any) -> Array:
    X = dask.matrix(X)
    if X.shape[0] == 0 or X.shape[1] == 0:
        what = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(
            f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required by "
            f"{type(estimator).__name__}."
        )
    return X


def _remember(estimator: Any, X: Array, names: Array | None) -> None:
    estimator.n_features_in_ = X.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    if names is not None:
        estimator.feature_names_in_ = names


def as_rows_without_target(X: Array, weight: Array | None) -> Rows:
    """Rows without a target; it is zero."""
    return as_rows(X, dask.rowwise(_zeros, X), weight)


def _zeros(chunk: Array) -> Array:
    return np.zeros(chunk.shape[0])


def _column_names(X: Any) -> Array | None:
    """The column names of a data frame, if all are strings."""
    names = list(X.columns) if dask.is_frame(X) and hasattr(X, "columns") else []
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def _not_finite(chunk: Array) -> Array:
    return ~np.isfinite(chunk)


def validate_weights(sample_weight: Any, X: Array) -> Array | None:
    """Weights (n,) in float64: finite, not negative, not all zero; None stays None."""
    if sample_weight is None:
        return None
    weight = np.full(X.shape[0], sample_weight) if isinstance(sample_weight, Number) else sample_weight
    weight = align_values(weight, X, "sample_weight")
    low, high = dask.reduce(_ends, _wider, (weight,))
    if low < 0:
        raise ValueError("Negative values in data passed to `sample_weight`: weights must be at least zero.")
    if not high > 0:
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight


def align_values(values: Any, X: Array, name: str) -> Array:
    """Finite values (n,) in float64, aligned with X and persisted on the workers."""
    array = dask.align(values, X)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1D array, one number a row, got {array.ndim}D array.")
    if (place := dask.place_of(array, _not_finite)) is not None:
        raise ValueError(f"Input {name} contains NaN or infinity: {place}.")
    return array


def _ends(number: int, chunk: Array) -> tuple[float, float]:
    return float(np.min(chunk, initial=np.inf)), float(np.max(chunk, initial=-np.inf))


def _wider(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), max(one[1], other[1])


def as_rows(X: Array, y: Array, weight: Array | None) -> Rows:
    """Rows with targets (n, t) in float64."""
    return DaskRows.of(X, y[:, None] if y.ndim == 1 else y, weight)


def encode_labels(y: Array) -> tuple[Array, Array]:
    """The classes of y on the client, and the class index of each sample on the workers."""
    classes = dask.distinct(y)
    check_classification_targets(classes)
    return classes, label_indices(classes, y)


def label_indices(classes: Array, y: Array) -> Array:
    """The class index of each sample."""
    return dask.rowwise(partial(_search_labels, classes), y)


def _search_labels(classes: Array, chunk: Array) -> Array:
    return np.searchsorted(classes, np.asarray(chunk))


def unknown_classes(classes: Array, y: Array) -> Array:
    """The values of y that are not among the classes."""
    return np.setdiff1d(dask.distinct(y), classes)


def sums_by_class(number: Array, weight: Array | None, classes: int) -> Floats:
    """The sum of the weights of each class, or its number of samples."""
    return dask.reduce(partial(_class_sums, classes), np.add, (number, weight))


def _class_sums(classes: int, place: int, number: Array, weight: Array | None) -> Floats:
    return np.bincount(number, weight, minlength=classes).astype(np.float64)


def rowwise(f: Callable[..., Array], *values: Array) -> Array:
    """f of every chunk, lazily."""
    return dask.rowwise(f, *values)


def require_finite(estimator: Any, X: Array) -> None:
    """Raise where X holds a non-finite value, naming its place."""
    place = dask.place_of(X, _not_finite)
    if place is not None:
        raise ValueError(f"Input X contains NaN or infinity: {place}.")


def predictions(model: Any, X: Any, f: Callable[[Array], Array]) -> Array:
    """f of the rows, a lazy Dask array; chunks of unknown length stay so."""
    return dask.rowwise(f if model._allow_nan else partial(_predictions, f), to_predict(model, X))


def map_pairs(
    model: Any,
    X: Any,
    rows: DaskRows,
    lift: Callable[[Array], Callable[[Any], Any]],
    finish: Callable[[Any, Array | None], Array],
    nothing: Array,
    *,
    itself: bool = False,
) -> Array:
    """`finish` of the merged statistics of all rows for each chunk of queries, a lazy Dask array like `nothing`; a
    block is lifted by `lift(queries)`. Where the queries are the rows `itself`, `finish` gets their indices.
    """
    X = to_predict(model, X)
    starts = np.concatenate([[0], np.cumsum(X.chunks[0])]) if itself else None
    lifted = partial(_lift_queries, lift, bool(model._allow_nan))
    return dask.map_pairs(lifted, _merge, partial(_finish_chunk, finish, starts), X, rows._parts, nothing)


def _lift_queries(lift: Callable[[Array], Callable[[Any], Any]], missing: bool, queries: Array, *chunks: Array) -> Any:
    if not missing and not np.isfinite(queries).all():
        raise ValueError("Input X contains NaN or infinity.")
    return dask.in_memory(*chunks).fold(lift(contiguous(queries)))


def _finish_chunk(
    finish: Callable[[Any, Array | None], Array], starts: Array | None, number: int, merged: Any
) -> Array:
    return finish(merged, None if starts is None else np.arange(starts[number], starts[number + 1]))


def to_predict(model: Any, X: Any) -> Array:
    """Validate X against the features of the fit."""
    fitted, names = getattr(model, "feature_names_in_", None), _column_names(X)
    if fitted is not None and names is not None and list(fitted) != list(names):
        raise ValueError(
            "The feature names should match those that were passed during fit: take the columns of the data frame in "
            f"this order, X[{list(fitted)}]."
        )
    X = dask.columns_together(X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    return X


def _predictions(f: Callable[[Array], Array], chunk: Array) -> Array:
    if not np.isfinite(chunk).all():
        raise ValueError("Input X contains NaN or infinity.")
    return f(contiguous(chunk))


def score(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Accuracy, or R^2 averaged over the targets, by one pass that transfers only sums."""
    predicted, classifier = model.predict(X), is_classifier(model)
    X, y = validate(BaseEstimator(), X, y, numeric=not classifier, multi_output=True)
    weight = validate_weights(sample_weight, X)
    if classifier:
        correct, total = dask.reduce(_correct_weight, np.add, (predicted, y, weight))
        return float(correct / total)
    squares, moments = dask.reduce(_squares, _merge, (predicted, y, weight)).parts
    residual, spread = squares.sum, np.ldexp(np.diag(moments.XX), 2 * moments.exponent)
    r2 = np.where(spread > 0, 1.0 - residual / np.where(spread > 0, spread, 1.0), np.where(residual == 0, 1.0, 0.0))
    return float(np.mean(r2))


def _correct_weight(number: int, predicted: Array, y: Array, weight: Array | None) -> Floats:
    is_correct = predicted == np.asarray(y)
    is_correct = is_correct.all(axis=1) if is_correct.ndim == 2 else is_correct
    weight = np.ones(len(is_correct)) if weight is None else weight
    return np.array([weight @ is_correct, weight.sum()])


def _squares(number: int, predicted: Array, y: Array, weight: Array | None) -> Several:
    y, predicted = y.reshape(len(y), -1), predicted.reshape(len(y), -1).astype(np.float64)
    squares = np.square(y - predicted) if weight is None else weight[:, None] * np.square(y - predicted)
    return Several((Total(squares.sum(axis=0)), Moments.of(contiguous(y), None, weight)))


def _merge(one: Several, other: Several) -> Several:
    return one.merge(other)
