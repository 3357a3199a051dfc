"""How much better the best model looks for having been picked by the samples that score it, in the board's metric."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.cli.leaderboard import Standing
from tenfold.cli.load_table import Prepared
from tenfold.cli.scoring import BY_FOLDS, Metric
from tenfold.report.words import scored
from tenfold.selection import Result, best_of
from tenfold.selection.racing import losses_of
from tenfold.selection.scoring import Outputs

ENTRIES = 5e7
"""Losses of samples that are drawn again in all: about a second."""

MOST_RESAMPLES, FEWEST_RESAMPLES = 300, 50


def picked_note(standing: Sequence[Standing], best: Standing, metric: Metric, table: Prepared) -> str:
    """A sentence on the score of the best once it is allowed for that it was picked; empty where nothing can be said.

    The models are those of ours with as many folds as the best.
    """
    rivals = [one for one in standing if one.line.ours and one.figure and one.result.tested.sum() == _tested(best)]
    if len(rivals) < 2 or best.figure is None:
        return ""
    results = [one.result for one in rivals]
    losses = _losses(metric, results, table)
    if losses is None:
        return ""
    seen = results[0].tested
    weight = None if table.weight is None else table.weight[seen]
    n = int(seen.sum())
    often = int(np.clip(ENTRIES / (n * len(results)), FEWEST_RESAMPLES, MOST_RESAMPLES))
    found = best_of(losses, sample_weight=weight, n_samples=n, n_resamples=often)
    back = _to_metric(metric, table.y[seen], weight)
    observed, corrected = back(found.loss), back(found.corrected)
    if rivals[found.best] is not best or not np.isclose(observed, best.figure.value, rtol=1e-6):
        return ""
    value, expected = (scored(one, best.figure.low, best.figure.high)[0] for one in (observed, corrected))
    picked = f"picked among {len(rivals)} models by the samples that score it"
    unseen = "A table that nobody has looked at, --test, is not misled."
    if expected == value:
        return f"Having been {picked}, {best.line.name} looks better by less than the last digit of {value}. {unseen}"
    return (
        f"{best.line.name} was {picked}, so it looks better than it is: {metric.words} {expected} is to be expected "
        f"instead of {value} (bootstrap of the samples). {unseen}"
    )


def _tested(one: Standing) -> int:
    return int(one.result.tested.sum())


def _to_metric(metric: Metric, y: Any, weight: Any) -> Callable[[float], float]:
    """From a loss to the metric."""
    if metric.name == "rmse":
        return lambda loss: float(np.sqrt(loss))
    if metric.name == "r2":
        spread = float(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
        return lambda loss: 1.0 - loss / spread
    return (lambda loss: loss) if metric.smaller else (lambda loss: 1.0 - loss)


def _losses(metric: Metric, results: list[Result], table: Prepared) -> Any:
    """Losses of all samples, or a function of weights of the samples; None where the metric has neither."""
    seen = results[0].tested
    y = table.y[seen]
    if metric.name in BY_FOLDS:
        return _areas(metric, results, table.y)
    if metric.name == "balanced_accuracy":
        return _BalancedLoss.of(y, [result.predictions[seen] for result in results])
    columns = []
    for result in results:
        shares = result.probabilities
        said = result.predictions[seen]
        said = said.astype(np.float64) if result.classes is None else said
        loss = losses_of(
            metric.scorer, y, Outputs(said, None if shares is None else shares[seen], None, result.classes)
        )
        if loss is None:
            return None
        columns.append(loss)
    return np.stack(columns, axis=1)


class _BalancedLoss(NamedTuple):
    """One minus the mean of the classes' shares of right predictions."""

    wrong: Floats
    classes: Integers

    @classmethod
    def of(cls, y: Any, said: list[Any]) -> "_BalancedLoss":
        wrong = np.stack([(one != y).astype(np.float64) for one in said], axis=1)
        return cls(wrong, np.unique(y, return_inverse=True)[1])

    def __call__(self, weight: Floats) -> Floats:
        size = np.bincount(self.classes, weight)
        there = np.flatnonzero(size)
        each = np.divide(weight, size[self.classes], out=np.zeros_like(weight), where=weight > 0)
        return each @ self.wrong / len(there)


def _areas(metric: Metric, results: list[Result], y: Any) -> Callable[[Floats], Floats] | None:
    """One minus the mean over folds of the area under a curve, for weights of the samples."""
    place = np.cumsum(results[0].tested) - 1
    area = {"roc_auc": _roc_area, "average_precision": _precision_area}[metric.name]
    folds: list[list[tuple[Integers, Any, Integers]]] = []
    for result in results:
        scores = result.decisions if result.probabilities is None else result.probabilities[:, 1]
        if scores is None:
            return None
        values = [np.asarray(scores[fold.rows], dtype=np.float64) for fold in result.folds]
        folds.append(
            [
                (place[fold.rows], y[fold.rows] == result.classes[1], np.unique(-value, return_inverse=True)[1])
                for fold, value in zip(result.folds, values, strict=True)
                if len(np.unique(y[fold.rows])) > 1
            ]
        )

    def losses(weight: Floats) -> Floats:
        return np.array([1.0 - np.mean([area(weight[rows], hit, rank) for rows, hit, rank in each]) for each in folds])

    return losses


def _roc_area(weight: Floats, hit: Any, rank: Integers) -> float:
    """The area under the ROC curve; samples of equal score count half."""
    good, bad = _by_rank(weight, hit, rank)
    below = bad[::-1].cumsum()[::-1] - bad
    total = good.sum() * bad.sum()
    return float(good @ (below + bad / 2) / total) if total > 0.0 else np.nan


def _precision_area(weight: Floats, hit: Any, rank: Integers) -> float:
    """The average precision."""
    good, bad = _by_rank(weight, hit, rank)
    found = good.cumsum()
    total = found + bad.cumsum()
    precision = np.divide(found, total, out=np.zeros_like(found), where=total > 0.0)
    return float(good @ precision / found[-1]) if found[-1] > 0.0 else np.nan


def _by_rank(weight: Floats, hit: Any, rank: Integers) -> tuple[Floats, Floats]:
    """Weights of the positive and of the negative samples by the rank of their score, the largest score first."""
    count = int(rank.max()) + 1
    good = np.asarray(np.bincount(rank, weight * hit, count), dtype=np.float64)
    return good, np.bincount(rank, weight, count) - good
