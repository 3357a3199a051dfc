"""Outputs of a fitted model for samples, and its score."""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import brier_score_loss, get_scorer, log_loss
from sklearn.pipeline import Pipeline

from tenfold.selection.fitting import Data, transform
from tenfold.selection.transform_cache import TransformCache


@dataclass(frozen=True)
class Outputs:
    """Outputs of a fitted model: predictions, and of a classifier probabilities or scores where it has them."""

    predictions: Any
    probabilities: Any = None
    scores: Any = None
    classes: Any = None
    seconds: float = 0.0


def outputs(model: Any, X: Any, shared: TransformCache | None = None) -> Outputs:
    """All outputs of a model for samples; the steps before the last run once. Seconds are those of the last step's
    `predict`: shared steps are not counted.
    """
    last = model
    while isinstance(last, Pipeline):
        for _, step in last.steps[:-1]:
            X = transform(step, X, shared)
        last = last.steps[-1][1]
    begin = time.perf_counter()
    predictions = np.asarray(last.predict(X))
    seconds = time.perf_counter() - begin
    if not is_classifier(last):
        return Outputs(predictions, seconds=seconds)
    # scores are needed only of a classifier without probabilities
    probabilities = last.predict_proba(X) if hasattr(last, "predict_proba") else None
    scores = last.decision_function(X) if probabilities is None and hasattr(last, "decision_function") else None
    return Outputs(predictions, probabilities, scores, last.classes_, seconds)


class ComputedOutputs(BaseEstimator):
    """An estimator that returns computed outputs, for scorers: nothing is predicted twice."""

    def __init__(self, computed: Any = None, model: Any = None) -> None:
        self.computed = computed
        self.model = model

    @property
    def classes_(self) -> Any:
        return self.computed.classes

    def fit(self, X: Any, y: Any = None) -> "ComputedOutputs":
        """Nothing is learned here."""
        return self

    def predict(self, X: Any) -> Any:
        return self.computed.predictions

    def predict_proba(self, X: Any) -> Any:
        return self.computed.probabilities

    def decision_function(self, X: Any) -> Any:
        return self.computed.scores

    def __getattribute__(self, name: str) -> Any:
        # methods that the model does not have raise AttributeError here too
        missing = {"predict_proba": "probabilities", "decision_function": "scores", "classes_": "classes"}
        if name in missing and getattr(object.__getattribute__(self, "computed"), missing[name]) is None:
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Scoring:
    """A score of a fitted model, larger is better: scikit-learn's scorers, by name or function.

    `classes` are all those of a classifier's target, None for numbers. No name stands for accuracy and R2, or for the
    model's own score.
    """

    def __init__(self, scoring: Any, classes: Any, of_model: bool = False) -> None:
        default = "score" if of_model else "r2" if classes is None else "accuracy"
        self.name = default if scoring is None else scoring if isinstance(scoring, str) else _name_of(scoring)
        # a function may call any method of the model; a named score uses its outputs alone
        self.by_outputs = scoring is None or isinstance(scoring, str)
        self._scorer = scoring if not self.by_outputs else own_score if self.name == "score" else get_scorer(self.name)
        self._classes = classes

    def __call__(self, model: Any, data: Data) -> float:
        """The score of a model on these samples."""
        if self.name in NEEDS_ALL_LABELS and not self._has_all_classes(model, data.y):
            return self._score_with_labels(model, data)
        with warnings.catch_warnings():
            # a fold may lack a rare class: balanced accuracy is the mean of the others
            warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")
            return self._score(model, data)

    def _score(self, model: Any, data: Data) -> float:
        if data.weight is None:
            return float(self._scorer(model, data.X, data.y))
        try:
            return float(self._scorer(model, data.X, data.y, sample_weight=data.weight))
        except TypeError:  # a score that knows no weights
            return float(self._scorer(model, data.X, data.y))

    def of_outputs(self, model: Any, data: Data, computed: Outputs) -> float:
        """The score of computed outputs of a model."""
        return self(ComputedOutputs(computed, model) if self.by_outputs else model, data)

    def _has_all_classes(self, model: Any, y: Any) -> bool:
        return len(np.unique(y)) == len(model.classes_) == len(self._classes)

    def _score_with_labels(self, model: Any, data: Data) -> float:
        """The score where the training or the test samples lack a class: scikit-learn's metric gets all labels."""
        shares = np.zeros((len(data.y), len(self._classes)))
        shares[:, np.searchsorted(self._classes, model.classes_)] = model.predict_proba(data.X)
        if len(self._classes) == 2 and self.name == "neg_brier_score":
            shares = shares[:, 1]
        return -float(NEEDS_ALL_LABELS[self.name](data.y, shares, labels=self._classes, sample_weight=data.weight))


def own_score(model: Any, X: Any, y: Any, **extra: Any) -> float:
    """The model's own `score`."""
    return float(model.score(X, y, **extra))


NEEDS_ALL_LABELS = {"neg_log_loss": log_loss, "neg_brier_score": brier_score_loss}  # losses that need all classes


def _name_of(scoring: Any) -> str:
    return getattr(scoring, "__name__", None) or str(scoring)
