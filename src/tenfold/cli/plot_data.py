"""The numbers behind the pictures of a run."""

from typing import Any

import numpy as np

from tenfold.cli.load_table import Prepared
from tenfold.evaluation import Evaluation
from tenfold.plots import LeaveOneOutDisplay, PathDisplay
from tenfold.report.svg import thinned
from tenfold.selection import Result

MOST_POINTS, MOST_CURVES, SCORE_BINS = 500, 10, 25


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
    if table.task == "binary" and evaluation.roc:
        held["precision_recall"] = _precision_recall(evaluation)
        held["scores"] = _score_histogram(result, table)
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


def _precision_recall(evaluation: Evaluation) -> dict[str, Any]:
    """Precision by recall, from the ROC curve and the share p of the class: p t / (p t + (1 - p) f)."""
    name, curve = next(iter(evaluation.roc.items()))
    assert evaluation.confusion is not None
    share = float(evaluation.confusion[-1].sum() / evaluation.confusion.sum())
    found, false = share * curve.true_positives, (1.0 - share) * curve.false_positives
    some = found + false > 0.0
    recall, precision = thinned(curve.true_positives[some].tolist(), (found[some] / (found + false)[some]).tolist())
    return {"recall": recall, "precision": precision, "prevalence": share, "class": str(name)}


def _score_histogram(result: Result, table: Prepared) -> dict[str, Any]:
    """Out-of-fold scores of the two classes, each as shares of its own samples."""
    seen = result.tested
    if result.probabilities is not None:
        scores, name = result.probabilities[seen][:, -1], f"predicted probability of {result.classes[-1]}"
        low, high = 0.0, 1.0
    else:
        scores, name = result.decisions[seen], f"score of {result.classes[-1]}"
        low, high = np.quantile(scores, [0.005, 0.995])
    edges = np.linspace(low, high, SCORE_BINS + 1)
    y = table.y[seen]
    counts = [np.histogram(np.clip(scores[y == label], low, high), edges)[0] for label in result.classes]
    return {
        "edges": edges.tolist(),
        "classes": [str(label) for label in result.classes],
        "counts": [int(part.sum()) for part in counts],
        "shares": [(part / max(1, part.sum())).tolist() for part in counts],
        "x_name": name,
    }


def _residuals(result: Result, table: Prepared) -> dict[str, Any]:
    seen = np.flatnonzero(result.tested)
    if len(seen) > MOST_POINTS:
        seen = np.sort(np.random.default_rng(0).choice(seen, MOST_POINTS, replace=False))
    predicted = result.predictions[seen].astype(np.float64)
    return {
        "predicted": predicted.tolist(),
        "residual": (table.y[seen] - predicted).tolist(),
        "rows": table.rows[seen].tolist(),
    }
