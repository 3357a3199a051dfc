"""Fits of pipelines step by step, so that what two settings share is computed once."""

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from joblib import hash as hash_of
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.validation import has_fit_parameter

from tenfold.arrays import Integers
from tenfold.data import Table
from tenfold.selection.time_limit import check, left_inside
from tenfold.selection.transform_cache import Shared

Params = dict[str, Any]


def rows_of(X: Any, rows: Integers) -> Any:
    """Some rows of an array, a sparse matrix, a data frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X) or isinstance(X, np.ndarray) or hasattr(X, "__array__"):
        return X[rows]
    return [X[row] for row in rows]


@dataclass(frozen=True)
class Data:
    """Rows, targets and weights; a part of them by row numbers. What is `shared` is computed once."""

    X: Any
    y: Any
    weight: Any = None
    shared: Shared | None = None
    place: tuple[str, ...] = ()

    @classmethod
    def of(cls, X: Any, y: Any = None, weight: Any = None) -> "Data":
        """What was given, such that rows can be taken out of it; everything has an entry for each row."""
        if isinstance(X, Table):
            raise TypeError("Rows in files cannot be split here: load them, X.load(), or split the files.")
        X, y, weight = indexable(X, y, weight)
        if weight is not None:
            weight = np.asarray(weight, dtype=np.float64)
            if weight.ndim != 1:
                raise ValueError(f"sample_weight needs one entry for each row, got shape {weight.shape}.")
        return cls(X, None if y is None else np.asarray(y), weight)

    def part(self, rows: Integers) -> "Data":
        """Some of the rows; where they are shared, the same object whenever the same are asked for."""
        place = (*self.place, hash_of(rows))
        if self.shared is None:
            return self._part(rows, place)
        return self.shared.part(place, lambda: self._part(rows, place))

    def _part(self, rows: Integers, place: tuple[str, ...]) -> "Data":
        weight = None if self.weight is None else self.weight[rows]
        y = None if self.y is None else self.y[rows]
        return Data(rows_of(self.X, rows), y, weight, self.shared, place)


def seeded(model: Any, seed: int) -> Any:
    """A clone in which every `random_state` that is None is `seed`."""
    model = clone(model)
    unset = [name for name, value in model.get_params().items() if _is_seed(name) and value is None]
    return model.set_params(**dict.fromkeys(unset, seed)) if unset else model


def _is_seed(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


class Chain:
    """Fits a pipeline to the same rows with one setting after the other, and keeps the steps that stay the same.

    The kept steps are those of the setting before, up to the first whose parameters differ: settings in the order of
    `in_order` share as much as they can in the memory of one pipeline. Rows to test on go through the steps with them.
    """

    def __init__(self, model: Any, data: Data, test: Any = None, deadline: float = inf) -> None:
        self._model = model
        self._data = data
        self._test = test
        self._deadline = deadline
        self._kept: list[tuple[str, Any, Any, Any]] = []

    def fit(self, params: Params, keys: tuple[str, ...]) -> tuple[Any, Any]:
        """The model with these parameters, fitted, and the rows to test on as its last step gets them; `keys` stand for
        the parameters of each step.
        """
        model = clone(self._model).set_params(**params)
        train, test = self.before_last(model, keys)
        if not isinstance(model, Pipeline):
            return fitted(model, train, self._deadline), test
        name, last = model.steps[-1]
        model.steps[-1] = (name, last if passes(last) else fitted(last, train, self._deadline))
        return model, test

    def before_last(self, model: Any, keys: tuple[str, ...]) -> tuple[Data, Any]:
        """Fits all steps of a pipeline but the last; gives the training rows and those to test on, as the last gets
        them.
        """
        X, test = self._data.X, self._test
        before = model.steps[:-1] if isinstance(model, Pipeline) else []
        for place, (title, given) in enumerate(before):
            if len(self._kept) == place or self._kept[place][0] != keys[place]:
                del self._kept[place:]
                step, X = _transformed(given, replace(self._data, X=X))
                test = None if test is None else transformed(step, test, self._data.shared)
                self._kept.append((keys[place], step, X, test))
                check(self._deadline)
            _, step, X, test = self._kept[place]
            model.steps[place] = (title, step)
        return replace(self._data, X=X), test


def keys_of(model: Any, params: Params) -> tuple[str, ...]:
    """For each step of a pipeline what its parameters are; equal keys, equal steps."""
    if not isinstance(model, Pipeline):
        return ()
    return tuple(
        hash_of({name: value for name, value in params.items() if name == title or name.startswith(f"{title}__")})
        for title, _ in model.steps
    )


def in_order(keys: list[tuple[str, ...]]) -> list[int]:
    """The numbers of settings, those with equal first steps next to each other."""
    first = {key[:depth]: place for place, key in reversed(list(enumerate(keys))) for depth in range(len(key) + 1)}
    return sorted(range(len(keys)), key=lambda i: [first[keys[i][:depth]] for depth in range(len(keys[i]) + 1)])


def passes(step: Any) -> bool:
    """Whether a step of a pipeline leaves rows as they are."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def fitted(model: Any, data: Data, deadline: float = inf) -> Any:
    """An estimator, fitted; a pipeline step by step."""
    if isinstance(model, Pipeline):
        return Chain(model, data, deadline=deadline).fit({}, ("",) * len(model.steps))[0]
    left = left_inside(deadline)
    if left is not None and "time_limit" in (own := model.get_params(deep=False)) and own["time_limit"] is None:
        model.set_params(time_limit=left)
    model.fit(data.X, data.y, **_weights(model, data.weight))
    check(deadline)
    return model


def _transformed(step: Any, data: Data) -> tuple[Any, Any]:
    """A transformer, fitted, and what it makes of the rows that it was fitted to."""
    if passes(step):
        return step, data.X
    if data.shared is not None:
        return data.shared.fitted(step, data, lambda: _fit_transformed(step, data))
    return _fit_transformed(step, data)


def _fit_transformed(step: Any, data: Data) -> tuple[Any, Any]:
    extra = _weights(step, data.weight)
    if hasattr(step, "fit_transform"):
        return step, step.fit_transform(data.X, data.y, **extra)
    step.fit(data.X, data.y, **extra)
    return step, step.transform(data.X)


def transformed(step: Any, X: Any, shared: Shared | None = None) -> Any:
    """Other rows, through a fitted step."""
    if passes(step):
        return X
    return step.transform(X) if shared is None else shared.transformed(step, X, lambda: step.transform(X))


def _weights(model: Any, weight: Any) -> dict[str, Any]:
    return {"sample_weight": weight} if weight is not None and has_fit_parameter(model, "sample_weight") else {}
