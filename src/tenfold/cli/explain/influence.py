"""Metrics as smooth functions of means over samples: their value, and the influence of each sample on it.

The influence psi_i has mean zero, and the standard error of the value is that of the mean of psi. For the area under
the ROC curve psi is that of DeLong, DeLong and Clarke-Pearson (1988); for the root mean square error and R2 it is the
delta method. Differences of two sets of predictions on the same samples have the differences of their influences.
"""

from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.cli.scoring import Metric
from tenfold.selection.scoring import Outputs

Influence = tuple[float, Floats]
"""A value and the influence of each sample on it."""


def influence_of(metric: Metric, y: Any, outputs: Outputs, weight: Any = None) -> Influence | None:
    """The metric of predictions with the influence of each sample, or None where it has no such form."""
    weight = np.ones(len(y)) if weight is None else weight / np.mean(weight)
    name = metric.name
    if name in ("rmse", "mae", "r2"):
        return _of_errors(name, y, y - outputs.predictions.astype(np.float64), weight)
    if name == "accuracy":
        return _mean((outputs.predictions == y).astype(np.float64), weight)
    if name == "balanced_accuracy":
        return _mean_recall(outputs.predictions == y, y, weight)
    if name == "roc_auc":
        scores = outputs.scores if outputs.probabilities is None else outputs.probabilities[:, -1]
        return None if scores is None else _area(np.asarray(scores), y == outputs.classes[-1], weight)
    if name in ("log_loss", "brier") and outputs.probabilities is not None:
        return _of_probabilities(name, y, outputs, weight)
    return None


def variance_of_mean(influence: Floats, groups: Any = None) -> float:
    """Variance of the mean of influences; samples of a group are dependent."""
    units = influence if groups is None else np.bincount(np.unique(groups, return_inverse=True)[1], influence)
    return float(np.sum(units**2)) / len(influence) ** 2


def _mean(losses: Floats, weight: Floats) -> Influence:
    value = float(np.average(losses, weights=weight))
    return value, weight * (losses - value)


def _of_errors(name: str, y: Floats, error: Floats, weight: Floats) -> Influence:
    if name == "mae":
        return _mean(np.abs(error), weight)
    square, slope = _mean(error**2, weight)
    if name == "rmse":
        root = float(np.sqrt(square))
        return root, slope / (2.0 * root) if root > 0.0 else slope
    variance, of_variance = _mean((y - np.average(y, weights=weight)) ** 2, weight)
    return 1.0 - square / variance, square / variance**2 * of_variance - slope / variance


def _mean_recall(correct: Any, y: Any, weight: Floats) -> Influence:
    classes, codes = np.unique(y, return_inverse=True)
    totals = np.bincount(codes, weight)
    recall = np.bincount(codes, weight * correct) / totals
    scale = weight * len(y) / (len(classes) * totals[codes])
    return float(recall.mean()), scale * (correct - recall[codes])


def _of_probabilities(name: str, y: Any, outputs: Outputs, weight: Floats) -> Influence:
    probabilities = np.asarray(outputs.probabilities, dtype=np.float64)
    if name == "log_loss":
        columns = np.minimum(np.searchsorted(outputs.classes, y), len(outputs.classes) - 1)
        true_probability = np.where(outputs.classes[columns] == y, probabilities[np.arange(len(y)), columns], 0.0)
        return _mean(-np.log(np.maximum(true_probability, 1e-15)), weight)
    return _mean((probabilities[:, -1] - (y == outputs.classes[-1])) ** 2, weight)


def _area(score: Floats, positive: Any, weight: Floats) -> Influence:
    """The area under the ROC curve with DeLong's placements, weighted within each class."""
    if positive.all() or not positive.any():
        return np.nan, np.zeros(len(score))
    placements = np.empty(len(score))  # fraction of the other class below, ties count half
    for members in (positive, ~positive):
        order = np.argsort(score[~members], kind="stable")
        totals = np.concatenate([[0.0], np.cumsum(weight[~members][order])])
        below, at_most = (
            totals[np.searchsorted(score[~members][order], score[members], side=end)] for end in ("left", "right")
        )
        placements[members] = (below + at_most) / (2.0 * totals[-1])
    placements = np.where(positive, placements, 1.0 - placements)
    area = float(np.average(placements[positive], weights=weight[positive]))
    totals = np.where(positive, weight[positive].sum(), weight[~positive].sum())
    return area, len(score) * weight / totals * (placements - area)
