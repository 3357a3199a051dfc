"""Models that keep their rows: these are compared with those given, and their neighbours with plain distances."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from tenfold.arrays import FLOATS, Integers, is_dask, is_sparse, namespace, on_host
from tenfold.certification.models import known
from tenfold.data import MemoryRows, Rows
from tenfold.estimators.classes import numbered as numbered_classes
from tenfold.estimators.contract import as_rows, rows_alone, source_of, validate, validate_rows, validate_weights
from tenfold.estimators.neighbours import KernelDensity
from tenfold.estimators.neighbours.reached import THERE
from tenfold.judge import Certificate
from tenfold.judge import neighbours as judge
from tenfold.plans.neighbours import numbered, rows_at


def index(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The judge asks the model for neighbours of some of its rows, as anybody would."""
    kept = model._fit_X
    there = source_of(kept) in THERE
    given = X if there or is_sparse(X) else np.asarray(X, dtype=kept.dtype if kept.dtype in FLOATS else None)
    weight = validate_weights(sample_weight, given)
    votes = getattr(model, "_votes", None)
    stored = _stored_there(model, X, y, weight) if there else _stored(model, given, y, weight)
    places = np.flatnonzero(on_host(votes)) if votes is not None else np.arange(kept.shape[0])
    k = getattr(model, "n_neighbors_", getattr(model, "n_neighbors", None))
    k = None if k is None else min(int(k), len(places) - 1)
    question = {"metric": model.effective_metric_, "params": model.effective_metric_params_}
    question |= {"k": k, "radius": None if k is not None else model.radius}
    rows = numbered(rows_alone(kept, votes))
    asked = places[judge.sample(len(places), kept.shape[1])]
    if model.effective_metric_ == "precomputed":
        return judge.neighbours(
            stored, rows, **question, asked=asked[:0], queries=kept, found=partial(_found, model, k)
        )
    missing = model.effective_metric_ == "nan_euclidean"
    queries = rows_at(rows, asked, missing=missing)
    return judge.neighbours(stored, rows, **question, asked=asked, queries=queries, found=partial(_found, model, k))


def _stored(model: Any, given: Any, y: Any, weight: Any) -> dict[str, tuple[Any, Any]]:
    """What the model keeps in memory, and what it was given."""
    kept, stored = model._fit_X, {"the rows": (model._fit_X, given)}
    if hasattr(model, "_y") and model._y is not None:
        if y is None:
            raise ValueError(f"{type(model).__name__} was fitted with targets: give y.")
        stored["the targets"] = (_targets(model), np.asarray(y).reshape(np.shape(_targets(model))))
    votes, ones = getattr(model, "_votes", None), np.ones(kept.shape[0])
    stored["the weights"] = (ones if votes is None else votes, ones if weight is None else weight)
    return stored


def _stored_there(model: Any, X: Any, y: Any, weight: Any) -> dict[str, tuple[Any, Any]]:
    """The same of rows that stay where they are: marks of both, for they are never together; on a device the numbers
    of entries that differ.
    """
    classes = hasattr(model, "classes_")
    if not hasattr(model, "_y"):
        kept, given = model._stored(), rows_alone(validate_rows(BaseEstimator(), X), weight)
    else:
        X, y = validate(BaseEstimator(), X, y, numeric=not classes, multi_output=True)
        if classes:
            each = [on_host(part) for part in (model.classes_ if model.outputs_2d_ else [model.classes_])]
            y = numbered_classes(each[0], y, X) if is_dask(y) else _numbers(each, on_host(y))
        kept, given = model._stored(), as_rows(X, y, weight)
    return _marks(kept, given)


def _marks(kept: Rows, given: Rows) -> dict[str, tuple[Any, Any]]:
    """What rows have in common that are never together: their marks, or the numbers of entries that differ."""
    if not isinstance(kept, MemoryRows) or not isinstance(given, MemoryRows):
        return {"the rows": (judge.mark(kept), judge.mark(given))}
    return {
        name: (np.array([_differences(getattr(kept, part), getattr(given, part))]), np.zeros(1))
        for name, part in (("the rows", "X"), ("the targets", "y"), ("the weights", "weight"))
    }


def _differences(one: Any, other: Any) -> float:
    """The number of entries that differ, where they are."""
    if one is None or other is None or one.shape != other.shape:
        return float(one is not other)
    xp = namespace(one)
    return float(xp.sum(xp.astype(one != other, xp.float64)))


def _numbers(each: list[Any], y: Any) -> Any:
    """Numbers of classes (n, t), -1 of what is none."""
    columns = y.reshape(len(y), -1).T
    found = []
    for classes, column in zip(each, columns, strict=True):
        place = np.minimum(np.searchsorted(classes, column), len(classes) - 1)
        found.append(np.where(classes[place] == column, place, -1))
    return np.column_stack(found)


def _targets(model: Any) -> Any:
    if not hasattr(model, "classes_"):
        return model._y
    if not model.outputs_2d_:
        return model.classes_[model._y]
    return np.column_stack([classes[model._y[:, t]] for t, classes in enumerate(model.classes_)])


def _found(model: Any, k: int | None, queries: Any, asked: Integers) -> judge.Answer:
    """Neighbours of some rows, other than these: one more is asked for, and the row itself left out."""
    if k is None:
        distances, rows = (on_host(part) for part in model.radius_neighbors(queries))
        counts = np.array([len(one) for one in rows])
        distances, rows = np.concatenate(list(distances)), np.concatenate(list(rows))
        stays = rows != np.repeat(asked, counts)
        counts = np.add.reduceat(np.append(stays, 0), np.append(0, np.cumsum(counts))[:-1]) * (counts > 0)
    else:
        distances, rows = (on_host(part) for part in model.kneighbors(queries, k + 1))
        stays = rows != asked[:, None]
        stays[stays.all(axis=1), -1] = False  # more rows at its place than neighbours
        counts = stays.sum(axis=1)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return offsets, np.asarray(distances[stays], dtype=np.float64), rows[stays].astype(np.int64)


def windows(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Densities and local means; scikit-learn's density is asked for its own logarithms."""
    ours = model if hasattr(model, "judged") else _as_ours(model)
    told = ours._targets is not None
    if told and y is None and source_of(X) != "files":
        raise ValueError("ParzenRegressor was fitted with targets: give y.")
    if source_of(ours._rows) in THERE:
        X, y = (
            validate(BaseEstimator(), X, y, numeric=True, multi_output=True)
            if told
            else (validate_rows(BaseEstimator(), X), None)
        )
        weight = validate_weights(sample_weight, X)
        given = as_rows(X, y, weight) if told else rows_alone(X, weight)
        return ours.judged(_marks(ours._stored(), given))
    X = validate_data(ours, X, order="C", dtype=np.float64, reset=False)
    weight = validate_weights(sample_weight, X)
    y = np.asarray(y, dtype=np.float64).reshape(len(X), -1) if told else None
    if weight is not None and not weight.all():
        inside = weight > 0
        X, y, weight = X[inside], None if y is None else y[inside], weight[inside]
        if model is not ours and len(ours._rows) == len(inside):
            ours._rows = ours._rows[inside]  # scikit-learn keeps rows of weight zero
    ones = np.ones(len(X))
    stored = {"the rows": (ours._rows, X)}
    if told:
        stored["the targets"] = (ours._targets, y)
    if model is ours:
        own = np.ones(len(ours._rows)) if ours._weight is None else ours._weight
        stored["the weights"] = (own, ones if weight is None else weight)
    else:
        ours._weight = weight
    return ours.judged(stored)


class _Asked(KernelDensity):
    """A density of scikit-learn's, in the shape of ours; its own logarithms are judged."""

    def _logs(self, queries: Any) -> Any:
        return self._his.score_samples(queries)


def _as_ours(model: Any) -> Any:
    ours = _Asked(**model.get_params(deep=False))
    ours._his, ours._rows, ours._weight = model, np.array(model.tree_.data), None
    ours.bandwidth_, ours.n_features_in_ = model.bandwidth_, model.n_features_in_
    ours._index = ours._indexed()
    return ours


def histogram(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Bars, counted again."""
    return model.judged(*model._validated(X, sample_weight))


JUDGES: dict[str, Callable[..., Certificate]] = dict.fromkeys(
    (
        "NearestNeighbors",
        "KNeighborsClassifier",
        "KNeighborsClassifierCV",
        "KNeighborsCV",
        "KNeighborsRegressor",
        "KNeighborsTransformer",
        "RadiusNeighborsClassifier",
        "RadiusNeighborsRegressor",
        "RadiusNeighborsTransformer",
    ),
    index,
)
JUDGES |= {"KernelDensity": windows, "ParzenRegressor": windows, "Histogram": histogram}


def prototypes(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Means of the rows of each class that are nearest to a prototype."""
    X, y = validate_data(model, X, y, dtype=np.float64, order="C", reset=False)
    weight = validate_weights(sample_weight, X)
    known(model, y)
    if weight is not None and not weight.all():
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    return model.judged(X, np.searchsorted(model.classes_, y), weight)


JUDGES["PrototypeClassifier"] = prototypes
