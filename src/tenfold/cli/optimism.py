"""Optimism of the best score of the leaderboard, in its metric: the samples that select a model also score it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.cli.leaderboard import RankedModel
from tenfold.cli.load_table import LoadedTable
from tenfold.cli.scoring import BY_FOLDS, Metric
from tenfold.report.formatting import format_score
from tenfold.selection import Result, best_of
from tenfold.selection.racing import losses_of
from tenfold.selection.scoring import Outputs

MAX_DRAWN_LOSSES = 5e7  # losses that are resampled in all: about a second

MAX_RESAMPLES, MIN_RESAMPLES = 300, 50  # bootstrap: of 300, the level of a 95 % quantile is right to 1.3 %


def optimism_note(ranking: Sequence[RankedModel], best: RankedModel, metric: Metric, table: LoadedTable) -> str:
    """A sentence on the score of the best, corrected for its selection; empty where it cannot be corrected.

    The candidates are our models with as many folds as the best.
    """
    rivals = [one for one in ranking if one.line.ours and one.figure and one.result.tested.sum() == _count_tested(best)]
    if len(rivals) < 2 or best.figure is None:
        return ""
    results = [one.result for one in rivals]
    losses = _losses(metric, results, table)
    if losses is None:
        return ""
    tested = results[0].tested
    weight = None if table.weight is None else table.weight[tested]
    n = int(tested.sum())
    n_resamples = int(np.clip(MAX_DRAWN_LOSSES / (n * len(results)), MIN_RESAMPLES, MAX_RESAMPLES))
    corrected_best = best_of(losses, sample_weight=weight, n_samples=n, n_resamples=n_resamples)
    to_metric = _to_metric(metric, table.y[tested], weight)
    observed, corrected = to_metric(corrected_best.loss), to_metric(corrected_best.corrected)
    if rivals[corrected_best.best] is not best or not np.isclose(observed, best.figure.value, rtol=1e-6):
        return ""
    value, expected = (format_score(one, best.figure.low, best.figure.high)[0] for one in (observed, corrected))
    picked = f"picked among {len(rivals)} models by the samples that score it"
    unseen = "A table that nobody has looked at, --test, is not misled."
    if expected == value:
        return f"Having been {picked}, {best.line.name} looks better by less than the last digit of {value}. {unseen}"
    return (
        f"{best.line.name} was {picked}, so it looks better than it is: {metric.words} {expected} is to be expected "
        f"instead of {value} (bootstrap of the samples). {unseen}"
    )


def _count_tested(one: RankedModel) -> int:
    return int(one.result.tested.sum())


def _to_metric(metric: Metric, y: Any, weight: Any) -> Callable[[float], float]:
    """The function that converts a loss into the metric."""
    if metric.name == "rmse":
        return lambda loss: float(np.sqrt(loss))
    if metric.name == "r2":
        spread = float(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
        return lambda loss: 1.0 - loss / spread
    return (lambda loss: loss) if metric.smaller else (lambda loss: 1.0 - loss)


def _losses(metric: Metric, results: list[Result], table: LoadedTable) -> Any:
    """Losses of all samples, or a function of weights of the samples; None where the metric has neither."""
    tested = results[0].tested
    y = table.y[tested]
    if metric.name in BY_FOLDS:
        return _area_losses(metric, results, table.y)
    if metric.name == "balanced_accuracy":
        return _BalancedLoss.of(y, [result.predictions[tested] for result in results])
    columns = []
    for result in results:
        probabilities = result.probabilities
        predictions = result.predictions[tested]
        predictions = predictions.astype(np.float64) if result.classes is None else predictions
        loss = losses_of(
            metric.scorer,
            y,
            Outputs(predictions, None if probabilities is None else probabilities[tested], None, result.classes),
        )
        if loss is None:
            return None
        columns.append(loss)
    return np.stack(columns, axis=1)


class _BalancedLoss(NamedTuple):
    """One minus the balanced accuracy."""

    mistakes: Floats
    classes: Integers

    @classmethod
    def of(cls, y: Any, predictions: list[Any]) -> "_BalancedLoss":
        mistakes = np.stack([(one != y).astype(np.float64) for one in predictions], axis=1)
        return cls(mistakes, np.unique(y, return_inverse=True)[1])

    def __call__(self, weight: Floats) -> Floats:
        size = np.bincount(self.classes, weight)
        present = np.flatnonzero(size)
        each = np.divide(weight, size[self.classes], out=np.zeros_like(weight), where=weight > 0)
        return each @ self.mistakes / len(present)


def _area_losses(metric: Metric, results: list[Result], y: Any) -> Callable[[Floats], Floats] | None:
    """One minus the mean over folds of the area under a curve, for weights of the samples."""
    index = np.cumsum(results[0].tested) - 1
    area = {"roc_auc": _roc_area, "average_precision": _precision_area}[metric.name]
    folds: list[list[tuple[Integers, Any, Integers]]] = []
    for result in results:
        scores = result.decisions if result.probabilities is None else result.probabilities[:, 1]
        if scores is None:
            return None
        values = [np.asarray(scores[fold.rows], dtype=np.float64) for fold in result.folds]
        folds.append(
            [
                (index[fold.rows], y[fold.rows] == result.classes[1], np.unique(-value, return_inverse=True)[1])
                for fold, value in zip(result.folds, values, strict=True)
                if len(np.unique(y[fold.rows])) > 1
            ]
        )

    def losses(weight: Floats) -> Floats:
        return np.array(
            [
                1.0 - np.mean([area(weight[rows], positive_mask, rank) for rows, positive_mask, rank in each])
                for each in folds
            ]
        )

    return losses


def _roc_area(weight: Floats, positive_mask: Any, rank: Integers) -> float:
    """The area under the ROC curve; samples of equal score count half."""
    positive, negative = _by_rank(weight, positive_mask, rank)
    below = negative[::-1].cumsum()[::-1] - negative
    total = positive.sum() * negative.sum()
    return float(positive @ (below + negative / 2) / total) if total > 0.0 else np.nan


def _precision_area(weight: Floats, positive_mask: Any, rank: Integers) -> float:
    """The average precision."""
    positive, negative = _by_rank(weight, positive_mask, rank)
    hits = positive.cumsum()
    total = hits + negative.cumsum()
    precision = np.divide(hits, total, out=np.zeros_like(hits), where=total > 0.0)
    return float(positive @ precision / hits[-1]) if hits[-1] > 0.0 else np.nan


def _by_rank(weight: Floats, positive_mask: Any, rank: Integers) -> tuple[Floats, Floats]:
    """Weights of the positive and of the negative samples by the rank of their score, the largest score first."""
    count = int(rank.max()) + 1
    positive = np.asarray(np.bincount(rank, weight * positive_mask, count), dtype=np.float64)
    return positive, np.bincount(rank, weight, count) - positive
