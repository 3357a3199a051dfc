"""Differences between models on the same samples, with paired intervals.

The standard error is that of the mean of the differences of influences (`influence_of`); areas under ROC curves are
compared fold by fold, as the board has them. Metrics without influences are compared by the folds' scores (Nadeau and
Bengio 2003). The interval is about these fits on new samples, not about other training samples.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import norm

from tenfold.cli.explain.influence import Influence, influence_of, variance_of_mean
from tenfold.cli.load_table import LoadedTable
from tenfold.cli.scoring import Metric
from tenfold.selection import Result
from tenfold.selection.comparing import compute_resampled_t
from tenfold.selection.scoring import Outputs


def compare_models(best: Any, others: Sequence[Any], table: LoadedTable, metric: Metric) -> list[dict[str, Any]]:
    """Differences of the best model to each other model, positive where the best is better."""
    rows = []
    for other in others:
        if other is best or other.figure is None or not other.result.folds:
            continue
        difference = _compare(best.result, other.result, table, metric)
        if difference is not None:
            rows.append({"name": other.line.name, **difference})
    return rows


def _compare(first: Result, second: Result, table: LoadedTable, metric: Metric) -> dict[str, Any] | None:
    sign = -1.0 if metric.smaller else 1.0
    tested = second.tested
    folds = [fold.rows for fold in first.folds if tested[fold.rows].all()]
    if not folds:
        return None
    parts = folds if metric.name == "roc_auc" else [np.concatenate(folds)]
    pairs = [tuple(_influence(one, rows, table, metric) for one in (first, second)) for rows in parts]
    if any(one is None or other is None for one, other in pairs):
        return _by_folds(first, second)
    differences, variances = [], []
    for rows, (one, other) in zip(parts, pairs, strict=True):
        if one is None or other is None or not np.isfinite(one[0] - other[0]):
            continue  # a fold without one of the classes has no area
        differences.append(sign * (one[0] - other[0]))
        variances.append(variance_of_mean(one[1] - other[1], None if table.groups is None else table.groups[rows]))
    if not differences:
        return None
    mean, error = float(np.mean(differences)), float(np.sqrt(np.sum(variances))) / len(variances)
    half = float(norm.ppf(0.975)) * error
    samples = int(sum(len(rows) for rows in parts))
    return {"difference": mean, "low": mean - half, "high": mean + half, "samples": samples, "by": "samples"}


def _by_folds(first: Result, second: Result) -> dict[str, Any] | None:
    """The difference of the scores of the folds that both have, larger is better."""
    count = min(len(first.folds), len(second.folds))
    if count < 2:
        return None
    ratio = float(np.mean([len(fold.rows) / fold.trained for fold in first.folds]))
    difference = compute_resampled_t(first.scores[:count] - second.scores[:count], ratio)
    samples = sum(len(fold.rows) for fold in first.folds[:count])
    ends = {"low": difference.interval.low, "high": difference.interval.high}
    return {"difference": difference.difference, **ends, "samples": samples, "by": "folds"}


def _influence(result: Result, rows: Any, table: LoadedTable, metric: Metric) -> Influence | None:
    """Value and influences of the metric on out-of-fold predictions of some samples."""
    probabilities, scores = (
        None if values is None else values[rows] for values in (result.probabilities, result.decisions)
    )
    outputs = Outputs(result.predictions[rows], probabilities, scores, result.classes)
    return influence_of(metric, table.y[rows], outputs, None if table.weight is None else table.weight[rows])
