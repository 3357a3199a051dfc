"""What a fitted model says of rows, and its score."""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import brier_score_loss, get_scorer, log_loss
from sklearn.pipeline import Pipeline

from tenfold.selection.fitting import Data, transformed
from tenfold.selection.transform_cache import Shared


@dataclass(frozen=True)
class Outputs:
    """What a fitted model says of rows: predictions, and of a classifier probabilities or scores where it has them."""

    predictions: Any
    probabilities: Any = None
    scores: Any = None
    classes: Any = None
    seconds: float = 0.0


def outputs(model: Any, X: Any, shared: Shared | None = None) -> Outputs:
    """Everything that a model says of rows; the steps before the last run once. Seconds are those of the last step's
    `predict`: what candidates share is not counted against any of them.
    """
    last = model
    while isinstance(last, Pipeline):
        for _, step in last.steps[:-1]:
            X = transformed(step, X, shared)
        last = last.steps[-1][1]
    begin = time.perf_counter()
    predictions = np.asarray(last.predict(X))
    seconds = time.perf_counter() - begin
    if not is_classifier(last):
        return Outputs(predictions, seconds=seconds)
    # probabilities say all that scores do; a classifier that has none is asked for its scores
    probabilities = last.predict_proba(X) if hasattr(last, "predict_proba") else None
    scores = last.decision_function(X) if probabilities is None and hasattr(last, "decision_function") else None
    return Outputs(predictions, probabilities, scores, last.classes_, seconds)


class Reporter(BaseEstimator):
    """Outputs that are already there, in the shape of an estimator: scorers ask it and nothing is computed twice."""

    def __init__(self, said: Any = None, model: Any = None) -> None:
        self.said = said
        self.model = model

    @property
    def classes_(self) -> Any:
        return self.said.classes

    def fit(self, X: Any, y: Any = None) -> "Reporter":
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

    `classes` are all those of a classifier's target, None for numbers. No name stands for accuracy and R2, or for the
    model's own score.
    """

    def __init__(self, scoring: Any, classes: Any, of_model: bool = False) -> None:
        plain = "score" if of_model else "r2" if classes is None else "accuracy"
        self.name = plain if scoring is None else scoring if isinstance(scoring, str) else _name_of(scoring)
        # a function may ask the model for anything; a name is known to ask for outputs alone
        self.by_outputs = scoring is None or isinstance(scoring, str)
        self._scorer = scoring if not self.by_outputs else own_score if self.name == "score" else get_scorer(self.name)
        self._classes = classes

    def __call__(self, model: Any, data: Data) -> float:
        """The score of a model that says of the rows what it says."""
        if self.name in LABELLED and not self._all_there(model, data.y):
            return self._labelled(model, data)
        with warnings.catch_warnings():
            # a fold may lack a rare class: balanced accuracy is the mean of the others
            warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")
            return self._scored(model, data)

    def _scored(self, model: Any, data: Data) -> float:
        if data.weight is None:
            return float(self._scorer(model, data.X, data.y))
        try:
            return float(self._scorer(model, data.X, data.y, sample_weight=data.weight))
        except TypeError:  # a score that knows no weights
            return float(self._scorer(model, data.X, data.y))

    def of_outputs(self, model: Any, data: Data, said: Outputs) -> float:
        """The score of what a model said."""
        return self(Reporter(said, model) if self.by_outputs else model, data)

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


def own_score(model: Any, X: Any, y: Any, **extra: Any) -> float:
    """What a model has for a score itself."""
    return float(model.score(X, y, **extra))


LABELLED = {"neg_log_loss": log_loss, "neg_brier_score": brier_score_loss}
"""Losses that have to know of all classes."""


def _name_of(scoring: Any) -> str:
    return getattr(scoring, "__name__", None) or str(scoring)
