"""Data of the charts of a report."""

from typing import Any

import numpy as np

from tenfold.arrays import is_sparse
from tenfold.cli.load_table import LoadedTable
from tenfold.evaluation import Evaluation
from tenfold.plots import LeaveOneOutDisplay, PathDisplay, SupportVectorDisplay
from tenfold.report.svg import subsample_curve
from tenfold.selection import Result

MOST_POINTS = 500  # of a scatter plot
MOST_EPOCHS = 200  # of a learning curve
MOST_CURVES = 10  # as many as there are colours
SCORE_BINS = 25  # of a histogram of scores
PLANE_GRID = 40  # points along each axis of a boundary


def confusion_of(evaluation: Evaluation) -> dict[str, Any] | None:
    """Counts of true and predicted classes."""
    if evaluation.confusion is None:
        return None
    return {"classes": [str(name) for name in evaluation.classes], "counts": evaluation.confusion.tolist()}


def pictures_of(result: Result, evaluation: Evaluation, table: LoadedTable) -> dict[str, Any]:
    """ROC curves and calibration, or residuals; the errors of all values tried, and the path of the weights."""
    pictures: dict[str, Any] = {}
    if evaluation.roc:
        curves = list(evaluation.roc.items())[:MOST_CURVES]
        pictures["roc"] = {"curves": [_roc(str(name), curve) for name, curve in curves]}
    if table.task == "binary" and evaluation.roc:
        pictures["precision_recall"] = _precision_recall(evaluation)
        pictures["scores"] = _score_histogram(result, table)
    if evaluation.calibration is not None:
        calibration = evaluation.calibration
        pictures["reliability"] = {
            "said": calibration.predicted.tolist(),
            "seen": calibration.observed.tolist(),
            "low": calibration.low.tolist(),
            "high": calibration.high.tolist(),
        }
    if evaluation.task == "regression":
        pictures["residuals"] = _residuals(result, table)
    if table.task == "binary" and (plane := plane_of(result.model, table.frame, table.y)):
        pictures["plane"] = plane
    return pictures | _selection_curves(result.model)


def plane_of(model: Any, frame: Any, y: Any) -> dict[str, Any] | None:
    """The boundary of a support vector machine of two classes and two features, its margins and its support vectors, in
    the units of the encoded features; None of any other model.
    """
    machine = model[-1]
    if not hasattr(machine, "support_") or len(getattr(machine, "classes_", ())) != 2:
        return None
    X = model[:-1].transform(frame)
    if X.shape[1] != 2 or is_sparse(X) or np.max(machine.support_, initial=-1) >= len(X):
        return None
    plane = SupportVectorDisplay.of(machine, X, y, grid_resolution=PLANE_GRID, eps=0.1)
    names = [str(name) for name in model[:-1].get_feature_names_out()]
    keep = np.flatnonzero(plane.types == "")
    if len(keep) > MOST_POINTS:
        keep = np.sort(np.random.default_rng(0).choice(keep, MOST_POINTS, replace=False))
    shown = np.zeros(len(X), dtype=bool)
    support = np.flatnonzero(plane.types != "")[:MOST_POINTS]
    shown[keep], shown[support] = True, True
    drawn = [(str(name), shown & (plane.labels == name)) for name in machine.classes_]
    marked = [(kind, shown & (plane.types == kind)) for kind in ("free", "bound", "outlier")]
    return {
        "x_name": names[0],
        "y_name": names[1],
        "classes": [_places(plane, name, where) for name, where in drawn],
        "support": [_places(plane, name, where) for name, where in marked if where.any()],
        "lines": [_ends(plane.contour(level)) for level in (0.0, *plane.margins)],
    }


def _places(plane: SupportVectorDisplay, name: str, where: Any) -> tuple[str, list[float], list[float]]:
    return name, plane.points[where, 0].tolist(), plane.points[where, 1].tolist()


def _ends(ends: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [round(x, 6) for x, _ in ends], [round(y, 6) for _, y in ends]


def _selection_curves(model: Any) -> dict[str, Any]:
    """Cross-validation errors of all candidates of the model, and its coefficient path, where it has them."""
    pictures: dict[str, Any] = _learning_curve(model)
    try:
        curve = LeaveOneOutDisplay.of(model)
    except ValueError:  # no hyper-parameters of its own
        return pictures
    order = np.argsort(curve.x)
    pictures["errors"] = {
        "x": curve.x[order].tolist(),
        "y": curve.error[order].tolist(),
        "chosen": curve.chosen,
        "title": f"Error by {curve.x_name}",
        "x_name": curve.x_name,
        "y_name": curve.y_name,
        "log": bool(curve.x.min() > 0.0 and curve.x.max() > 30.0 * curve.x.min()),
    }
    try:
        path = PathDisplay.of(model)
    except ValueError:  # no path
        return pictures
    largest = np.argsort(-np.abs(path.coefs).max(axis=0))[:MOST_CURVES]
    pictures["path"] = {"x": path.x.tolist(), "curves": path.coefs[:, largest].T.tolist(), "x_name": path.x_name}
    return pictures


def _roc(name: str, curve: Any) -> dict[str, Any]:
    x, y = subsample_curve(curve.false_positives, curve.true_positives)
    return {"x": x, "y": y, "label": name}


def _precision_recall(evaluation: Evaluation) -> dict[str, Any]:
    """Precision by recall, from the ROC curve and the share p of the class: p t / (p t + (1 - p) f)."""
    name, curve = next(iter(evaluation.roc.items()))
    assert evaluation.confusion is not None
    prevalence = float(evaluation.confusion[-1].sum() / evaluation.confusion.sum())
    hits, false = prevalence * curve.true_positives, (1.0 - prevalence) * curve.false_positives
    defined = hits + false > 0.0
    recall, precision = subsample_curve(
        curve.true_positives[defined].tolist(), (hits[defined] / (hits + false)[defined]).tolist()
    )
    return {"recall": recall, "precision": precision, "prevalence": prevalence, "class": str(name)}


def _score_histogram(result: Result, table: LoadedTable) -> dict[str, Any]:
    """Out-of-fold scores of the two classes, each as shares of its own samples."""
    tested = result.tested
    if result.probabilities is not None:
        scores, name = result.probabilities[tested][:, -1], f"predicted probability of {result.classes[-1]}"
        low, high = 0.0, 1.0
    else:
        scores, name = result.decisions[tested], f"score of {result.classes[-1]}"
        low, high = np.quantile(scores, [0.005, 0.995])
    edges = np.linspace(low, high, SCORE_BINS + 1)
    y = table.y[tested]
    counts = [np.histogram(np.clip(scores[y == label], low, high), edges)[0] for label in result.classes]
    return {
        "edges": edges.tolist(),
        "classes": [str(label) for label in result.classes],
        "counts": [int(part.sum()) for part in counts],
        "shares": [(part / max(1, part.sum())).tolist() for part in counts],
        "x_name": name,
    }


def _residuals(result: Result, table: LoadedTable) -> dict[str, Any]:
    tested = np.flatnonzero(result.tested)
    if len(tested) > MOST_POINTS:
        tested = np.sort(np.random.default_rng(0).choice(tested, MOST_POINTS, replace=False))
    predicted = result.predictions[tested].astype(np.float64)
    return {
        "predicted": predicted.tolist(),
        "residual": (table.y[tested] - predicted).tolist(),
        "rows": table.rows[tested].tolist(),
    }


def _learning_curve(model: Any) -> dict[str, Any]:
    """The loss of a network after each epoch or iteration, thinned to `MOST_EPOCHS`."""
    losses = getattr(model, "loss_curve_", None)
    if not isinstance(losses, list) or len(losses) < 2 or not np.isfinite(losses).all():
        return {}
    step = -(-len(losses) // MOST_EPOCHS)
    numbers = range(0, len(losses), step)
    return {"learning": {"x": [k + 1 for k in numbers], "y": [round(losses[k], 9) for k in numbers]}}
