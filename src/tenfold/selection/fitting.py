"""Pipelines fitted step by step, so that steps that two settings have in common are fitted once."""

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
from tenfold.selection.time_limit import check, remaining_time
from tenfold.selection.transform_cache import TransformCache

Params = dict[str, Any]


def rows_of(X: Any, rows: Integers) -> Any:
    """Some samples of an array, a sparse matrix, a data frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X) or isinstance(X, np.ndarray) or hasattr(X, "__array__"):
        return X[rows]
    return [X[row] for row in rows]


@dataclass(frozen=True)
class Data:
    """Samples, targets and weights, and parts of them by index; with a cache in `shared`, each part is made once."""

    X: Any
    y: Any
    weight: Any = None
    shared: TransformCache | None = None
    place: tuple[str, ...] = ()

    @classmethod
    def of(cls, X: Any, y: Any = None, weight: Any = None) -> "Data":
        """Check that samples can be selected by index and that targets and weights have one entry per sample."""
        if isinstance(X, Table):
            raise TypeError("Rows in files cannot be split here: load them, X.load(), or split the files.")
        X, y, weight = indexable(X, y, weight)
        if weight is not None:
            weight = np.asarray(weight, dtype=np.float64)
            if weight.ndim != 1:
                raise ValueError(f"sample_weight needs one entry for each row, got shape {weight.shape}.")
        return cls(X, None if y is None else np.asarray(y), weight)

    def part(self, rows: Integers) -> "Data":
        """Some of the samples; with a cache, the same object for the same indices."""
        place = (*self.place, hash_of(rows))
        if self.shared is None:
            return self._part(rows, place)
        return self.shared.part(place, lambda: self._part(rows, place))

    def _part(self, rows: Integers, place: tuple[str, ...]) -> "Data":
        weight = None if self.weight is None else self.weight[rows]
        y = None if self.y is None else self.y[rows]
        return Data(rows_of(self.X, rows), y, weight, self.shared, place)


def clone_with_seed(model: Any, seed: int) -> Any:
    """A clone in which every `random_state` that is None is `seed`."""
    model = clone(model)
    unset = [name for name, value in model.get_params().items() if _is_seed(name) and value is None]
    return model.set_params(**dict.fromkeys(unset, seed)) if unset else model


def _is_seed(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


class Chain:
    """Fits a pipeline to the same samples with one setting after the other, and reuses fitted steps.

    Steps are reused up to the first whose parameters differ from those of the setting before: settings in the order of
    `in_order` share as much as the memory of one pipeline allows. Test samples are transformed along with them.
    """

    def __init__(self, model: Any, data: Data, test: Any = None, deadline: float = inf) -> None:
        self._model = model
        self._data = data
        self._test = test
        self._deadline = deadline
        self._fitted_steps: list[tuple[str, Any, Any, Any]] = []

    def fit(self, params: Params, keys: tuple[str, ...]) -> tuple[Any, Any]:
        """The model fitted with these parameters, and the test samples as its last step gets them; `keys` identify the
        parameters of each step.
        """
        model = clone(self._model).set_params(**params)
        train, test = self.before_last(model, keys)
        if not isinstance(model, Pipeline):
            return fit_model(model, train, self._deadline), test
        name, last = model.steps[-1]
        model.steps[-1] = (name, last if is_passthrough(last) else fit_model(last, train, self._deadline))
        return model, test

    def before_last(self, model: Any, keys: tuple[str, ...]) -> tuple[Data, Any]:
        """Fit all steps of a pipeline but the last; returns training and test samples as the last step gets them."""
        X, test = self._data.X, self._test
        before = model.steps[:-1] if isinstance(model, Pipeline) else []
        for place, (title, unfitted) in enumerate(before):
            if len(self._fitted_steps) == place or self._fitted_steps[place][0] != keys[place]:
                del self._fitted_steps[place:]
                step, X = _fit_transform(unfitted, replace(self._data, X=X))
                test = None if test is None else transform(step, test, self._data.shared)
                self._fitted_steps.append((keys[place], step, X, test))
                check(self._deadline)
            _, step, X, test = self._fitted_steps[place]
            model.steps[place] = (title, step)
        return replace(self._data, X=X), test


def keys_of(model: Any, params: Params) -> tuple[str, ...]:
    """A key for each step of a pipeline, from its parameters: equal keys, equal steps."""
    if not isinstance(model, Pipeline):
        return ()
    return tuple(
        hash_of({name: value for name, value in params.items() if name == title or name.startswith(f"{title}__")})
        for title, _ in model.steps
    )


def in_order(keys: list[tuple[str, ...]]) -> list[int]:
    """Indices of the settings, those with equal first steps next to each other."""
    first = {key[:depth]: place for place, key in reversed(list(enumerate(keys))) for depth in range(len(key) + 1)}
    return sorted(range(len(keys)), key=lambda i: [first[keys[i][:depth]] for depth in range(len(keys[i]) + 1)])


def is_passthrough(step: Any) -> bool:
    """Whether a step of a pipeline leaves samples as they are."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def fit_model(model: Any, data: Data, deadline: float = inf) -> Any:
    """Fit an estimator, a pipeline step by step; its `time_limit`, where it has one, is set to the remaining time."""
    if isinstance(model, Pipeline):
        return Chain(model, data, deadline=deadline).fit({}, ("",) * len(model.steps))[0]
    left = remaining_time(deadline)
    if left is not None and "time_limit" in (own := model.get_params(deep=False)) and own["time_limit"] is None:
        model.set_params(time_limit=left)
    model.fit(data.X, data.y, **_weights(model, data.weight))
    check(deadline)
    return model


def _fit_transform(step: Any, data: Data) -> tuple[Any, Any]:
    """A fitted transformer, and its training samples transformed; from the cache, where there is one."""
    if is_passthrough(step):
        return step, data.X
    if data.shared is not None:
        return data.shared.fit_step(step, data, lambda: _fit_transform_once(step, data))
    return _fit_transform_once(step, data)


def _fit_transform_once(step: Any, data: Data) -> tuple[Any, Any]:
    extra = _weights(step, data.weight)
    if hasattr(step, "fit_transform"):
        return step, step.fit_transform(data.X, data.y, **extra)
    step.fit(data.X, data.y, **extra)
    return step, step.transform(data.X)


def transform(step: Any, X: Any, shared: TransformCache | None = None) -> Any:
    """Samples transformed by a fitted step."""
    if is_passthrough(step):
        return X
    return step.transform(X) if shared is None else shared.transform(step, X, lambda: step.transform(X))


def _weights(model: Any, weight: Any) -> dict[str, Any]:
    return {"sample_weight": weight} if weight is not None and has_fit_parameter(model, "sample_weight") else {}
