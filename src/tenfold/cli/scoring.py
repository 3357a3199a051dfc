"""What ranks the models: figures by name, and the score of a model on rows that it has not seen, with its interval."""

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
    """A figure that ranks: its name in `evaluate`, scikit-learn's scorer for inner folds, and what it is called."""

    name: str
    scorer: str
    words: str
    smaller: bool = False

    def gap(self, score: float, baseline: float) -> float:
        """By how much a score is better than the baseline's."""
        return baseline - score if self.smaller else score - baseline


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
"""By task, the first is the one taken by itself."""

UNEVEN = 2.0
"""A class that is so many times as frequent as all are on the average makes accuracy a poor guide."""


def metric_for(task: str, name: str, y: Any) -> tuple[Metric, str]:
    """The metric asked for, or the one for this target; and why."""
    known = {metric.name: metric for metric in METRICS[task]}
    if name != "auto":
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ValueError(f"There is no metric {name!r} for this task.{hint} There are: {', '.join(known)}.")
        return known[name], f"ranked by {known[name].words}, as asked"
    first = METRICS[task][0]
    if task == "multiclass":
        _, counts = np.unique(y, return_counts=True)
        if counts.max() * len(counts) > UNEVEN * counts.sum():
            uneven = known["balanced_accuracy"]
            return (
                uneven,
                f"ranked by {uneven.words}, because one class has {counts.max() / counts.sum():.0%} of the rows",
            )
    return first, f"ranked by {first.words}"


def evaluated(result: Result, y: Any, weight: Any, groups: Any, *, full: bool = False) -> Evaluation:
    """Everything that is known of a model on the rows that its outer folds tested."""
    seen = result.tested
    probabilities, decisions = result.probabilities, result.decisions
    return evaluate(
        y[seen],
        result.predictions[seen].astype(y.dtype) if result.classes is None else result.predictions[seen],
        proba=None if probabilities is None else np.asarray(probabilities[seen], dtype=np.float64),
        score=None if decisions is None else np.asarray(decisions[seen], dtype=np.float64),
        classes=result.classes,
        sample_weight=None if weight is None else weight[seen],
        groups=None if groups is None else groups[seen],
        task="regression" if result.classes is None else "classification",
        interval="auto",
        n_resamples=2000 if full else 500,
    )


BY_FOLDS = ("roc_auc", "average_precision")
"""Figures that judge the order of samples. Scores of models of different folds are not on one scale, so the order is
judged within each fold: everywhere the figure is the mean over the folds.
"""


def score_of(metric: Metric, result: Result, y: Any, weight: Any, groups: Any) -> Figure:
    """The figure that ranks a model, on all rows that its outer folds tested."""
    if metric.name not in BY_FOLDS:
        return evaluated(result, y, weight, groups)[metric.name]
    return _mean_over_folds(metric.name, result, y, weight, groups)


def figures_of(evaluation: Evaluation, result: Result, y: Any, weight: Any, groups: Any) -> list[Figure]:
    """All figures of a model, those of the order of rows as the board has them."""
    binary = result.classes is not None and len(result.classes) == 2
    return [
        _mean_over_folds(name, result, y, weight, groups) if binary and name in BY_FOLDS else figure
        for name, figure in evaluation.figures.items()
    ]


def _mean_over_folds(name: str, result: Result, y: Any, weight: Any, groups: Any) -> Figure:
    """The mean of the folds' figures, whose variances add up."""
    parts = [
        evaluated(replace(result, folds=(fold,)), y, weight, groups)[name]
        for fold in result.folds
        if len(np.unique(y[fold.rows])) > 1
    ]
    return joined(name, parts)


def joined(name: str, parts: Sequence[Figure]) -> Figure:
    """The mean of a share over folds, with an interval by the variances of the parts, on the scale of log odds."""
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
