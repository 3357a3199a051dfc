"""Schemas of the fitted attributes of `tenfold.decide`."""

from typing import Any

import numpy as np

from tenfold.estimators.schema import ANY, Schema, floats, integers, labels, many, nothing, text
from tenfold.persist.records import record
from tenfold.persist.schema_sklearn import model, values

CONFORMAL = {
    "estimator_": model,
    "method_": text("split", "cv+", "jackknife+"),
    "guarantee_": record("Guarantee"),
    "_models": many(model),
    "_model_of": integers("*", low=0),
}

INNER = {**ANY, "estimator_": model, "classes_": labels("k")}


def _curves(calibrator: Any) -> bool:
    """A curve for each class, of two classes one."""
    k = len(calibrator.classes_)
    return len(calibrator.calibrators_) == (1 if k == 2 else k)


def _left_out(fitted: Any) -> bool:
    """A model for each left-out score."""
    count = len(fitted._model_of)
    if count == 0:
        return not fitted._models
    scores = fitted.scores_ if hasattr(fitted, "scores_") else fitted.errors_
    return len(scores) == count and int(np.max(fitted._model_of)) < len(fitted._models)


def _decisions(classifier: Any) -> bool:
    return classifier.decisions_.shape == classifier.loss_.shape[:1]


# schemas of all classes of `tenfold.decide`
DECISIONS: dict[str, Schema] = {
    "Calibrator": Schema(
        {
            **INNER,
            "calibrators_": many(record("Sigmoid", "Isotonic")),
            "left_out_scores_": floats("n") | floats("n k"),
            "protocol_": text(),
            "certificate_": record("Certificate"),
        },
        {"there must be a curve for each class": _curves},
    ),
    "ConformalClassifier": Schema(
        {**INNER, **CONFORMAL, "scores_": floats("*", low=0.0, inf=True)},
        {"every score must have a model": _left_out},
    ),
    "ConformalRegressor": Schema(
        {
            **ANY,
            **CONFORMAL,
            "errors_": floats("*", low=0.0) | floats("* *", low=0.0) | nothing(),
            "_exact": model | nothing(),
        },
        {"every error must have a model": _left_out},
    ),
    "DecisionClassifier": Schema(
        {
            **INNER,
            "loss_": floats("j k"),
            "decisions_": values,
            "trained_priors_": floats("k", low=0.0),
            "priors_": floats("k", low=0.0),
            "threshold_": record("Threshold") | nothing(),
        },
        {"every decision must have a row of losses": _decisions},
    ),
}
