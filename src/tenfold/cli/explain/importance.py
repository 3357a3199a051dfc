"""Permutation importance: how much worse a model predicts held-out samples when the values of a column are shuffled.

Breiman (2001), on held-out samples, for any model: all encoded features of a column move together. A shuffled loss
belongs to two samples, the one that is predicted and the one that lends its value, so that the drop is a U-statistic of
order two. With psi_k the influences of the samples on shuffle k of K (`influence_of`), R their mean over shuffles by
the sample that is predicted, D by the one that lends, and O the influences before, n Var = mean (R + D - O)^2 - mean
psi_k^2 / K: the last term is what R and D both count. In simulations intervals of 95 % hold 93 to 98 %. Metrics without
influences have the spread over parts of the samples. Columns that carry the same information share their importance.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm

from tenfold.arrays import Floats, Integers
from tenfold.cli.explain.held_out import HeldOut
from tenfold.cli.explain.influence import influence_of
from tenfold.cli.scoring import Metric
from tenfold.selection.fitting import Data, rows_of
from tenfold.selection.scoring import Outputs, Scoring, outputs
from tenfold.selection.shortcuts import last_step
from tenfold.selection.time_limit import OutOfTime

SAMPLES, FEWEST_SAMPLES, REPEATS, PARTS = 1000, 100, 5, 10
USED = 0.8
"""The share of the allowance that the plan of samples and shuffles fills."""


def permutation_importance(
    models: Sequence[HeldOut],
    data: Data,
    metric: Metric,
    scoring: Scoring,
    columns: Sequence[str],
    *,
    seconds: float,
    seed: int = 0,
) -> dict[str, Any]:
    """By how much the metric worsens for each of `columns`, in this order until `seconds` are over, the largest first.

    At most `SAMPLES` held-out samples and `REPEATS` shuffles are taken; fewer where all columns would not fit into the
    time.
    """
    deadline = time.perf_counter() + seconds
    rng = np.random.default_rng(seed)
    most = max(FEWEST_SAMPLES, SAMPLES // len(models))
    trials = [Trial(one, data, metric, scoring, most, rng) for one in models]
    whole = sum(trial.seconds for trial in trials) * len(columns)
    repeats = int(np.clip(USED * seconds / max(whole, 1e-9), 1, REPEATS))
    if whole > USED * seconds:  # one shuffle of all samples is too many
        most = max(FEWEST_SAMPLES, int(most * USED * seconds / whole))
        trials = [Trial(one, data, metric, scoring, most, rng) for one in models]
    rows = []
    for name in columns:
        if time.perf_counter() > deadline:
            break
        try:
            drops = np.array([trial.drop(name, repeats, rng) for trial in trials])
        except OutOfTime:
            break
        known = np.isfinite(drops).all(axis=1)
        if known.any():
            rows.append({"name": name, **_interval(drops[known])})
    return {
        "rows": sorted(rows, key=lambda row: -row["drop"]),
        "samples": sum(len(trial.rows) for trial in trials),
        "repeats": repeats,
        "columns": len(columns),
        "models": len(models),
        "trained": int(np.mean([one.trained for one in models])),
    }


def _interval(drops: Floats) -> dict[str, float]:
    """The mean over models with its 95 % interval, from the drop and the variance of each."""
    mean = float(np.mean(drops[:, 0]))
    half = float(norm.ppf(0.975) * np.sqrt(np.sum(drops[:, 1])) / len(drops))
    return {"drop": mean, "low": mean - half, "high": mean + half}


class Trial:
    """Held-out samples of a model, and what it predicts of them."""

    def __init__(
        self, held_out: HeldOut, data: Data, metric: Metric, scoring: Scoring, most: int, rng: np.random.Generator
    ) -> None:
        rows = held_out.rows
        self.rows = np.sort(rng.choice(rows, most, replace=False)) if len(rows) > most else rows
        self.model, self.metric, self.scoring = held_out.model, metric, scoring
        self.sign = 1.0 if metric.smaller else -1.0
        self.frame = rows_of(data.X, self.rows)
        self.y, self.weight = data.y[self.rows], None if data.weight is None else data.weight[self.rows]
        begin = time.perf_counter()
        self.found = outputs(self.model, self.frame)
        self.influence = influence_of(metric, self.y, self.found, self.weight)
        self.seconds = time.perf_counter() - begin
        self.parts = _deal(self.y, self.found, rng)

    def drop(self, name: str, repeats: int, rng: np.random.Generator) -> tuple[float, float]:
        """By how much the metric worsens when the column is shuffled, mean over shuffles; and the variance of that."""
        n = len(self.rows)
        copies = self.frame[np.tile(np.arange(n), repeats)]
        lenders = [rng.permutation(n) for _ in range(repeats)]
        shuffled = outputs(self.model, copies.with_columns(self.frame[name][np.concatenate(lenders)]))
        every = [_part(shuffled, np.arange(k * n, (k + 1) * n)) for k in range(repeats)]
        if self.influence is None:
            return self._drop_by_parts(every)
        found = [influence_of(self.metric, self.y, one, self.weight) for one in every]
        known = [one for one in found if one is not None]
        before, value = self.influence[0], float(np.mean([one[0] for one in known]))
        return self.sign * (value - before), self._variance(np.array([one[1] for one in known]), lenders)

    def _variance(self, shuffled: Floats, lenders: Sequence[Integers]) -> float:
        """Of the drop, from the influences of each shuffle by the sample that is predicted, and who lends to whom."""
        assert self.influence is not None
        n, repeats = len(self.rows), len(shuffled)
        before, predicted = self.influence[1], shuffled.mean(axis=0)
        lent = np.zeros(n)
        for influence, lender in zip(shuffled, lenders, strict=True):
            lent[lender] += influence / repeats
        whole = float(np.mean((predicted + lent - before) ** 2) - np.mean(shuffled**2) / repeats)
        # the terms of a column that does not matter cancel; no variance is below that of the predicted samples alone
        return max(whole, float(np.mean((predicted - before) ** 2))) / n

    def _drop_by_parts(self, shuffled: Sequence[Outputs]) -> tuple[float, float]:
        """The same by the scores of parts of the samples, which are larger where they are better."""
        before = self._score(self.found)
        drops = before - np.mean([self._score(one) for one in shuffled], axis=0)
        drops = drops[np.isfinite(drops)]
        if len(drops) < 2:
            return np.nan, np.nan
        return float(np.mean(drops)), float(np.var(drops, ddof=1)) / len(drops)

    def _score(self, found: Outputs) -> Floats:
        """The score of each part; nan where it has none."""
        scores = np.full(len(self.parts), np.nan)
        for place, part in enumerate(self.parts):
            weight = None if self.weight is None else self.weight[part]
            data = Data(np.zeros((len(part), 1)), self.y[part], weight)
            try:
                scores[place] = self.scoring.of_outputs(last_step(self.model), data, _part(found, part))
            except ValueError:  # a part without one of the classes
                continue
        return scores


def _part(found: Outputs, rows: Integers) -> Outputs:
    """What was predicted of some samples."""
    shares, scores = (None if kept is None else kept[rows] for kept in (found.probabilities, found.scores))
    return replace(found, predictions=found.predictions[rows], probabilities=shares, scores=scores)


def _deal(y: Any, found: Outputs, rng: np.random.Generator) -> list[Integers]:
    """The samples dealt into parts, classes in turn, so that each part has its share of every class."""
    order = rng.permutation(len(y))
    if found.classes is not None:
        order = order[np.argsort(np.unique(y, return_inverse=True)[1][order], kind="stable")]
    count = max(1, min(PARTS, len(y) // 5))
    return [np.sort(order[place::count]) for place in range(count)]
