"""Metrics that rank the models, and out-of-fold scores with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from tenfold.evaluation import Evaluation, Figure, evaluate
from tenfold.selection import Result


@dataclass(frozen=True)
class Metric:
    """A metric: its name in `evaluate`, scikit-learn's scorer for inner folds, and its name for users."""

    name: str
    scorer: str
    words: str
    smaller: bool = False

    def gap(self, score: float, baseline: float) -> float:
        """Advantage of a score over the baseline, positive where better."""
        return baseline - score if self.smaller else score - baseline


# by task; the first is the default
METRICS = {
    "regression": (
        Metric("rmse", "neg_root_mean_squared_error", "RMSE", smaller=True),
        Metric("mae", "neg_mean_absolute_error", "mean absolute error", smaller=True),
        Metric("median_absolute_error", "neg_median_absolute_error", "median absolute error", smaller=True),
        Metric("r2", "r2", "R²"),
    ),
    "binary": (
        Metric("roc_auc", "roc_auc", "ROC AUC"),
        Metric("accuracy", "accuracy", "accuracy"),
        Metric("balanced_accuracy", "balanced_accuracy", "balanced accuracy"),
        Metric("f1", "f1_macro", "F1"),
        Metric("log_loss", "neg_log_loss", "log loss", smaller=True),
        Metric("brier", "neg_brier_score", "Brier score", smaller=True),
        Metric("average_precision", "average_precision", "average precision"),
    ),
    "multiclass": (
        Metric("accuracy", "accuracy", "accuracy"),
        Metric("balanced_accuracy", "balanced_accuracy", "balanced accuracy"),
        Metric("f1_macro", "f1_macro", "F1, mean over classes"),
        Metric("log_loss", "neg_log_loss", "log loss", smaller=True),
    ),
}

IMBALANCE = 2.0  # balanced accuracy ranks where the largest class has more than this multiple of the mean class size


def metric_for(task: str, name: str, y: Any) -> tuple[Metric, str]:
    """The requested metric, or the default for this target; and why."""
    known = {metric.name: metric for metric in METRICS[task]}
    if name != "auto":
        if name not in known:
            close_matches = get_close_matches(name, known, 1)
            hint = f" Did you mean {close_matches[0]}?" if close_matches else ""
            raise ValueError(f"There is no metric {name!r} for this task.{hint} There are: {', '.join(known)}.")
        return known[name], f"ranked by {known[name].words}, as asked"
    first = METRICS[task][0]
    if task == "multiclass":
        _, counts = np.unique(y, return_counts=True)
        if counts.max() * len(counts) > IMBALANCE * counts.sum():
            uneven = known["balanced_accuracy"]
            return (
                uneven,
                f"ranked by {uneven.words}, because one class has {counts.max() / counts.sum():.0%} of the rows",
            )
    return first, f"ranked by {first.words}"


def evaluate_result(result: Result, y: Any, weight: Any, groups: Any, *, full: bool = False) -> Evaluation:
    """The evaluation of a model by its out-of-fold predictions."""
    tested = result.tested
    probabilities, decisions = result.probabilities, result.decisions
    return evaluate(
        y[tested],
        result.predictions[tested].astype(y.dtype) if result.classes is None else result.predictions[tested],
        proba=None if probabilities is None else np.asarray(probabilities[tested], dtype=np.float64),
        score=None if decisions is None else np.asarray(decisions[tested], dtype=np.float64),
        classes=result.classes,
        sample_weight=None if weight is None else weight[tested],
        groups=None if groups is None else groups[tested],
        task="regression" if result.classes is None else "classification",
        interval="auto",
        n_resamples=2000 if full else 500,
    )


# Metrics of the order of samples. Scores of models of different folds are not on one scale, so these metrics are
# computed within each fold and averaged.
BY_FOLDS = ("roc_auc", "average_precision")


def score_of(metric: Metric, result: Result, y: Any, weight: Any, groups: Any) -> Figure:
    """The metric that ranks a model, out of fold."""
    if metric.name not in BY_FOLDS:
        return evaluate_result(result, y, weight, groups)[metric.name]
    return _mean_over_folds(metric.name, result, y, weight, groups)


def figures_of(evaluation: Evaluation, result: Result, y: Any, weight: Any, groups: Any) -> list[Figure]:
    """All metrics of a model, those of the order of samples averaged over folds."""
    binary = result.classes is not None and len(result.classes) == 2
    return [
        _mean_over_folds(name, result, y, weight, groups) if binary and name in BY_FOLDS else figure
        for name, figure in evaluation.figures.items()
    ]


def _mean_over_folds(name: str, result: Result, y: Any, weight: Any, groups: Any) -> Figure:
    """The mean of a metric over the folds."""
    parts = [
        evaluate_result(replace(result, folds=(fold,)), y, weight, groups)[name]
        for fold in result.folds
        if len(np.unique(y[fold.rows])) > 1
    ]
    return average_folds(name, parts)


def average_folds(name: str, parts: Sequence[Figure]) -> Figure:
    """The mean of a metric in [0, 1] over folds, with an interval from the folds' variances on the logit scale."""
    if len(parts) == 1:
        return parts[0]
    known = [part for part in parts if np.isfinite(part.value)]
    if not known:
        return Figure(name, np.nan, np.nan, np.nan, 0.95, "no fold has rows of both classes", "higher")
    mean = float(np.mean([part.value for part in known]))
    spread = [part for part in known if np.isfinite(part.low) and np.isfinite(part.high)]
    method = f"mean over folds; {known[0].method} within each"
    if not spread or not 0.0 < mean < 1.0:
        return replace(known[0], value=mean, low=np.nan, high=np.nan, method=method)
    z = norm.ppf(0.5 + known[0].confidence / 2)
    ends = [(max(part.low, 1e-12), min(part.high, 1 - 1e-12)) for part in spread]
    errors = [(logit(high) - logit(low)) / (2 * z) for low, high in ends]
    error = float(np.linalg.norm(errors)) / len(errors)
    low, high = expit(logit(mean) - z * error), expit(logit(mean) + z * error)
    return replace(known[0], value=mean, low=float(low), high=float(high), method=method)
