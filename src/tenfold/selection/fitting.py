"""Fits of pipelines step by step, so that what two candidates share is computed once; and what a fitted model says."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from joblib import hash as hash_of
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import brier_score_loss, get_scorer, log_loss
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from tenfold.arrays import Integers
from tenfold.data import Table
from tenfold.selection.limits import check, left_inside
from tenfold.selection.protocols import Pair

Params = dict[str, Any]


def rows_of(X: Any, rows: Integers) -> Any:
    """Some rows of an array, a sparse matrix, a data frame or a list."""
    if isinstance(X, Table):
        raise TypeError("Rows in files cannot be split here: load them, X.load(), or split the files.")
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X) or isinstance(X, np.ndarray) or hasattr(X, "__array__"):
        return X[rows]
    return [X[row] for row in rows]


@dataclass(frozen=True)
class Data:
    """Rows, targets and weights; a part of them by row numbers."""

    X: Any
    y: Any
    weight: Any = None

    def part(self, rows: Integers) -> "Data":
        weight = None if self.weight is None else self.weight[rows]
        return Data(rows_of(self.X, rows), None if self.y is None else self.y[rows], weight)


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
        if not isinstance(model, Pipeline):
            return fitted(model, self._data, self._deadline), self._test
        *before, (name, last) = model.steps
        X, test, steps = self._data.X, self._test, []
        for place, (title, given) in enumerate(before):
            if len(self._kept) == place or self._kept[place][0] != keys[place]:
                del self._kept[place:]
                step, X = _transformed(given, replace(self._data, X=X))
                test = test if test is None or passes(step) else step.transform(test)
                self._kept.append((keys[place], step, X, test))
                check(self._deadline)
            _, step, X, test = self._kept[place]
            steps.append((title, step))
        if not passes(last):
            last = fitted(last, replace(self._data, X=X), self._deadline)
        model.steps = [*steps, (name, last)]
        return model, test


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
    extra = _weights(step, data.weight)
    if hasattr(step, "fit_transform"):
        return step, step.fit_transform(data.X, data.y, **extra)
    step.fit(data.X, data.y, **extra)
    return step, step.transform(data.X)


def _weights(model: Any, weight: Any) -> dict[str, Any]:
    return {"sample_weight": weight} if weight is not None and has_fit_parameter(model, "sample_weight") else {}


@dataclass(frozen=True)
class Outputs:
    """What a fitted model says of rows: predictions, and of a classifier probabilities or scores where it has them."""

    predictions: Any
    probabilities: Any = None
    scores: Any = None
    classes: Any = None
    seconds: float = 0.0


def outputs(model: Any, X: Any) -> Outputs:
    """Everything that a model says of rows; the steps before the last run once. Seconds are those of `predict`."""
    begin = time.perf_counter()
    last = model
    while isinstance(last, Pipeline):
        for _, step in last.steps[:-1]:
            X = X if passes(step) else step.transform(X)
        last = last.steps[-1][1]
    predictions = np.asarray(last.predict(X))
    seconds = time.perf_counter() - begin
    if not is_classifier(last):
        return Outputs(predictions, seconds=seconds)
    # probabilities say all that scores do; a classifier that has none is asked for its scores
    probabilities = last.predict_proba(X) if hasattr(last, "predict_proba") else None
    scores = last.decision_function(X) if probabilities is None and hasattr(last, "decision_function") else None
    return Outputs(predictions, probabilities, scores, last.classes_, seconds)


class Told(BaseEstimator):
    """Outputs that are already there, in the shape of an estimator: scorers ask it and nothing is computed twice."""

    def __init__(self, said: Any = None, model: Any = None) -> None:
        self.said = said
        self.model = model

    @property
    def classes_(self) -> Any:
        return self.said.classes

    def fit(self, X: Any, y: Any = None) -> "Told":
        """Nothing is learned here."""
        return self

    def predict(self, X: Any) -> Any:
        return self.said.predictions

    def predict_proba(self, X: Any) -> Any:
        return self.said.probabilities

    def decision_function(self, X: Any) -> Any:
        return self.said.scores

    def __getattribute__(self, name: str) -> Any:
        # what the model does not have, its stand-in does not have either
        missing = {"predict_proba": "probabilities", "decision_function": "scores", "classes_": "classes"}
        if name in missing and getattr(object.__getattribute__(self, "said"), missing[name]) is None:
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Scoring:
    """A score of a fitted model on rows, larger is better: scikit-learn's scorers, by name or function.

    `classes` are all those of a classifier's target, None for numbers.
    """

    def __init__(self, scoring: Any, classes: Any) -> None:
        plain = "r2" if classes is None else "accuracy"
        self.name = plain if scoring is None else scoring if isinstance(scoring, str) else _name_of(scoring)
        # a function may ask the model for anything; a name is known to ask for outputs alone
        self.by_outputs = scoring is None or isinstance(scoring, str)
        self._scorer = get_scorer(self.name) if self.by_outputs else scoring
        self._classes = classes

    def __call__(self, model: Any, data: Data) -> float:
        """The score of a model that says of the rows what it says."""
        if self.name in LABELLED and not self._all_there(model, data.y):
            return self._labelled(model, data)
        if data.weight is None:
            return float(self._scorer(model, data.X, data.y))
        try:
            return float(self._scorer(model, data.X, data.y, sample_weight=data.weight))
        except TypeError:  # a score that knows no weights
            return float(self._scorer(model, data.X, data.y))

    def of_outputs(self, model: Any, data: Data, said: Outputs) -> float:
        """The score of what a model said."""
        return self(Told(said, model) if self.by_outputs else model, data)

    def _all_there(self, model: Any, y: Any) -> bool:
        return len(np.unique(y)) == len(model.classes_) == len(self._classes)

    def _labelled(self, model: Any, data: Data) -> float:
        """The score where the training rows or those that are tested lack a class, which scikit-learn's scorer would
        have to be told of.
        """
        shares = np.zeros((len(data.y), len(self._classes)))
        shares[:, np.searchsorted(self._classes, model.classes_)] = model.predict_proba(data.X)
        if len(self._classes) == 2 and self.name == "neg_brier_score":
            shares = shares[:, 1]
        return -float(LABELLED[self.name](data.y, shares, labels=self._classes, sample_weight=data.weight))


LABELLED = {"neg_log_loss": log_loss, "neg_brier_score": brier_score_loss}
"""Losses that have to know of all classes."""


def _name_of(scoring: Any) -> str:
    return getattr(scoring, "__name__", None) or str(scoring)


@dataclass(frozen=True)
class Tried:
    """One setting on one split; where the fit failed, the score is nan and there is an error."""

    setting: int
    score: float
    fit_seconds: float
    score_seconds: float
    error: Exception | None = None


def scores_of(
    model: Any, settings: dict[int, Params], data: Data, pair: Pair, scoring: Scoring, deadline: float = inf
) -> Iterator[Tried]:
    """Scores of settings of a model on one split, in an order that shares the first steps of the pipeline."""
    train, test = data.part(pair[0]), data.part(pair[1])
    chain = Chain(model, train, test.X, deadline)
    numbers = list(settings)
    keys = [keys_of(model, settings[number]) for number in numbers]
    for place in in_order(keys):
        check(deadline)
        begin = middle = time.perf_counter()
        score, error = np.nan, None
        try:
            whole, X = chain.fit(settings[numbers[place]], keys[place])
            middle = time.perf_counter()
            score = scoring(whole.steps[-1][1], replace(test, X=X)) if _opened(whole, scoring) else scoring(whole, test)
        except Exception as failure:
            error = failure
        yield Tried(numbers[place], score, middle - begin, time.perf_counter() - middle, error)


def _opened(model: Any, scoring: Scoring) -> bool:
    """Whether the last step alone can be scored, on rows that went through the steps before it."""
    return scoring.by_outputs and isinstance(model, Pipeline) and not passes(model.steps[-1][1])
