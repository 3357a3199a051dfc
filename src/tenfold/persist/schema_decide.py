"""Schemas of the fitted attributes of `tenfold.decide`."""

from typing import Any

from tenfold.estimators.schema import ANY, Schema, floats, labels, many, nothing, text
from tenfold.persist.records import record
from tenfold.persist.schema_sklearn import model, values

INNER = {**ANY, "estimator_": model, "classes_": labels("k")}


def _curves(calibrator: Any) -> bool:
    """A curve for each class, of two classes one."""
    k = len(calibrator.classes_)
    return len(calibrator.calibrators_) == (1 if k == 2 else k)


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
