"""The numbers behind the pictures of a run, and the weights of a linear model in the units of its columns."""

from typing import Any

import numpy as np

from tenfold.cli.preparing import Prepared
from tenfold.evaluation import Evaluation
from tenfold.plots import LeaveOneOutDisplay, PathDisplay
from tenfold.report.svg import thinned
from tenfold.selection import Result

MOST_POINTS, MOST_CURVES, MOST_WEIGHTS = 500, 12, 200


def confusion_of(evaluation: Evaluation) -> dict[str, Any] | None:
    """Counts of true and predicted classes."""
    if evaluation.confusion is None:
        return None
    return {"classes": [str(name) for name in evaluation.classes], "counts": evaluation.confusion.tolist()}


def pictures_of(result: Result, evaluation: Evaluation, table: Prepared) -> dict[str, Any]:
    """ROC curves and calibration, or residuals; the errors of all values tried, and the path of the weights."""
    held: dict[str, Any] = {}
    if evaluation.roc:
        curves = list(evaluation.roc.items())[:MOST_CURVES]
        held["roc"] = {"curves": [_roc(str(name), curve) for name, curve in curves]}
    if evaluation.calibration is not None:
        found = evaluation.calibration
        held["reliability"] = {
            "said": found.predicted.tolist(),
            "seen": found.observed.tolist(),
            "low": found.low.tolist(),
            "high": found.high.tolist(),
        }
    if evaluation.task == "regression":
        held["residuals"] = _residuals(result, table)
    return held | _tried(result.model)


def _tried(model: Any) -> dict[str, Any]:
    """The errors of all values that the model tried by itself, and the path of its weights, where it kept them."""
    held: dict[str, Any] = {}
    try:
        tried = LeaveOneOutDisplay.of(model)
    except ValueError:  # it chose nothing by itself
        return held
    order = np.argsort(tried.x)
    held["errors"] = {
        "x": tried.x[order].tolist(),
        "y": tried.error[order].tolist(),
        "chosen": tried.chosen,
        "title": f"Error by {tried.x_name}",
        "x_name": tried.x_name,
        "y_name": tried.y_name,
        "log": bool(tried.x.min() > 0.0 and tried.x.max() > 30.0 * tried.x.min()),
    }
    try:
        path = PathDisplay.of(model)
    except ValueError:  # it keeps none
        return held
    largest = np.argsort(-np.abs(path.coefs).max(axis=0))[:MOST_CURVES]
    held["path"] = {"x": path.x.tolist(), "curves": path.coefs[:, largest].T.tolist(), "x_name": path.x_name}
    return held


def _roc(name: str, curve: Any) -> dict[str, Any]:
    x, y = thinned(curve.false_positives, curve.true_positives)
    return {"x": x, "y": y, "label": name}


def _residuals(result: Result, table: Prepared) -> dict[str, Any]:
    seen = np.flatnonzero(result.tested)
    if len(seen) > MOST_POINTS:
        seen = np.sort(np.random.default_rng(0).choice(seen, MOST_POINTS, replace=False))
    predicted = result.predictions[seen].astype(np.float64)
    return {"predicted": predicted.tolist(), "residual": (table.y[seen] - predicted).tolist()}


def weights_of(model: Any, classes: Any) -> dict[str, Any] | None:
    """The weights of a linear model, largest effects first, in the units of the columns and of standardised ones."""
    encoder, last = model.steps[0][1], model.steps[-1][1]
    if not hasattr(last, "coef_") or np.ndim(last.coef_) > 2:
        return None
    names = encoder.get_feature_names_out()
    coef = np.atleast_2d(np.asarray(last.coef_, dtype=np.float64))
    if coef.shape[1] != len(names):
        return None
    scale = encoder.scales_
    size = np.abs(coef).max(axis=0)
    order = np.argsort(-size, kind="stable")[:MOST_WEIGHTS]
    several = len(coef) > 1
    head = [str(name) for name in classes] if several else ["for one unit more", "for one standard deviation more"]
    rows = [
        {
            "feature": str(names[j]),
            "weights": (coef[:, j] / scale[j]).tolist() if several else [coef[0, j] / scale[j], coef[0, j]],
        }
        for j in order
    ]
    effect = (
        "the prediction" if classes is None else "the score of a class" if several else f"the score of {classes[-1]}"
    )
    words = f"By how much {effect} changes when a column grows by one of its units and the others stay."
    return {"head": head, "rows": rows, "words": words}
