"""Scores of predictions that are already there, by scikit-learn's scorers, and the routing of their parameters."""

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from tenfold.arrays import Array, Floats, is_array_api, on_host
from tenfold.cross_validation.classifier_scores import roc_areas
from tenfold.estimators.parameters import Constraints, choice, function, nothing, splitter
from tenfold.estimators.validation import check_no_extra_params

SCORING: Constraints = {
    "scoring": (choice(*get_scorer_names()), function(), nothing()),
    "cv": (splitter(),),
}


class GivenPredictions(RegressorMixin, BaseEstimator):
    """Predictions that are already there, in the shape of an estimator, for scorers."""

    def predict(self, predictions: Array) -> Array:
        return predictions


class GivenClasses(ClassifierMixin, BaseEstimator):
    """Scores that are already there, in the shape of a classifier with classes 0, 1, ...; for scorers."""

    def __init__(self, classes: Any = None) -> None:
        self.classes = classes

    @property
    def classes_(self) -> Any:
        return self.classes

    def decision_function(self, scores: Array) -> Array:
        return scores

    def predict(self, scores: Array) -> Array:
        return self.classes[(scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]


class CvScoringMixin:
    """An estimator that chooses parameters by cross-validation, with `scoring` and `cv`."""

    scoring: Any
    cv: Any
    alpha_per_target: bool = False

    def _score_predictions(self, predictions: Floats, Y: Floats, routed: Bunch) -> Floats:
        """Scores (A, 1), or (A, t) a target, of predictions (n, t, A) by the user's scorer."""
        scorer, parameters = self._scorer(), routed.scorer.score
        count, t = predictions.shape[2], Y.shape[1]
        if is_classifier(self):
            given = GivenClasses(np.arange(max(2, t)))
            truth = (Y[:, 0] > 0).astype(np.intp) if t == 1 else Y.argmax(axis=1)
            if t == 1 and isinstance(self.scoring, str) and self.scoring == "roc_auc" and not parameters:
                return roc_areas(predictions[:, 0], truth == 1)[:, None]
            each = [predictions[:, 0, a] if t == 1 else predictions[:, :, a] for a in range(count)]
            return np.array([[scorer(given, scores, truth, **parameters)] for scores in each])
        columns = [slice(k, k + 1) for k in range(t)] if self.alpha_per_target else [slice(None)]
        flat = t == 1 or self.alpha_per_target

        def score(a: int, k: slice) -> float:
            predicted, truth = predictions[:, k, a], Y[:, k]
            return float(
                scorer(GivenPredictions(), predicted[:, 0], truth[:, 0], **parameters)
                if flat
                else scorer(GivenPredictions(), predicted, truth, **parameters)
            )

        return np.array([[score(a, k) for k in columns] for a in range(count)])

    def _scorer(self) -> Any:
        if get_config()["enable_metadata_routing"] and self.scoring is None:
            return get_scorer("accuracy" if is_classifier(self) else "r2").set_score_request(sample_weight=True)
        return check_scoring(estimator=self, scoring=self.scoring)

    def _route_parameters(self, weight: Array | None, params: dict[str, Any]) -> Bunch:
        """Parameters for the scorer and the splitter."""
        given = params if weight is None else {**params, "sample_weight": weight}
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **given)
        check_no_extra_params(self, set(params) - {"groups"})
        score = {} if weight is None else {"sample_weight": weight}
        return Bunch(
            scorer=Bunch(score=score),
            splitter=Bunch(split={"groups": params.get("groups")} if "groups" in params else {}),
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata for `fit`, for the scorer and for the splitter."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )


def score_model(scorer: Any, model: Any, X: Array, y: Array, parameters: dict[str, Any]) -> float:
    """The score, weighted where the scorer takes weights, as in scikit-learn's searches."""
    try:
        return float(scorer(model, X, y, **parameters))
    except TypeError:
        if "sample_weight" not in parameters:
            raise
    rest = {name: value for name, value in parameters.items() if name != "sample_weight"}
    return float(scorer(model, X, y, **rest))


def select_rows(value: Any, index: Array, n: int) -> Any:
    """The entries for some samples of a value with one entry per sample; others unchanged."""
    value = on_host(value) if is_array_api(value) else value
    return np.asarray(value)[index] if np.ndim(value) > 0 and len(value) == n else value
