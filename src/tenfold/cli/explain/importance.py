"""Permutation importance: how much worse a model predicts held-out samples when the values of a column are shuffled.

Breiman (2001), on held-out samples, for any model: all encoded features of a column move together. A shuffled loss
depends on two samples, the predicted one and the donor of the value, so that the drop is a U-statistic of order two.
With psi_k the influences of the samples on shuffle k of K (`influence_of`), R their mean over shuffles by the predicted
sample, D by the donor, and O the influences before, n Var = mean (R + D - O)^2 - mean psi_k^2 / K: the last term is
counted in both R and D. In simulations intervals of 95 % cover 93 to 98 %. Metrics without
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

MAX_SAMPLES, MIN_SAMPLES = 1000, 100  # held-out samples of a model
MAX_REPEATS = 5  # shuffles of a column
MAX_PARTS = 10  # of the samples, whose drops in score give the interval
PLANNED_FRACTION = 0.8  # fraction of the time limit for which samples and shuffles are planned


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
    """How much the metric worsens for each of `columns`, in this order until `seconds` are over; the largest first.

    At most `MAX_SAMPLES` held-out samples and `MAX_REPEATS` shuffles are taken; fewer where all columns would not fit
    into the time.
    """
    deadline = time.perf_counter() + seconds
    rng = np.random.default_rng(seed)
    max_samples = max(MIN_SAMPLES, MAX_SAMPLES // len(models))
    trials = [HeldOutTrial(one, data, metric, scoring, max_samples, rng) for one in models]
    total = sum(trial.seconds for trial in trials) * len(columns)
    repeats = int(np.clip(PLANNED_FRACTION * seconds / max(total, 1e-9), 1, MAX_REPEATS))
    if total > PLANNED_FRACTION * seconds:  # one shuffle of all samples is too many
        max_samples = max(MIN_SAMPLES, int(max_samples * PLANNED_FRACTION * seconds / total))
        trials = [HeldOutTrial(one, data, metric, scoring, max_samples, rng) for one in models]
    rows = []
    for name in columns:
        if time.perf_counter() > deadline:
            break
        try:
            drops = np.array([trial.drop(name, repeats, rng) for trial in trials])
        except OutOfTime:
            break
        defined = np.isfinite(drops).all(axis=1)
        if defined.any():
            rows.append({"name": name, **_interval(drops[defined])})
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


class HeldOutTrial:
    """Held-out samples of a model, and its predictions for them."""

    def __init__(
        self,
        held_out: HeldOut,
        data: Data,
        metric: Metric,
        scoring: Scoring,
        max_samples: int,
        rng: np.random.Generator,
    ) -> None:
        rows = held_out.rows
        self.rows = np.sort(rng.choice(rows, max_samples, replace=False)) if len(rows) > max_samples else rows
        self.model, self.metric, self.scoring = held_out.model, metric, scoring
        self.sign = 1.0 if metric.smaller else -1.0
        self.frame = rows_of(data.X, self.rows)
        self.y, self.weight = data.y[self.rows], None if data.weight is None else data.weight[self.rows]
        begin = time.perf_counter()
        self.predicted = outputs(self.model, self.frame)
        self.influence = influence_of(metric, self.y, self.predicted, self.weight)
        self.seconds = time.perf_counter() - begin
        self.parts = _split_stratified(self.y, self.predicted, rng)

    def drop(self, name: str, repeats: int, rng: np.random.Generator) -> tuple[float, float]:
        """How much the metric worsens when the column is shuffled, mean over shuffles; and the variance of that."""
        n = len(self.rows)
        copies = self.frame[np.tile(np.arange(n), repeats)]
        donors = [rng.permutation(n) for _ in range(repeats)]
        shuffled = outputs(self.model, copies.with_columns(self.frame[name][np.concatenate(donors)]))
        shuffles = [_part(shuffled, np.arange(k * n, (k + 1) * n)) for k in range(repeats)]
        if self.influence is None:
            return self._drop_by_parts(shuffles)
        computed = [influence_of(self.metric, self.y, one, self.weight) for one in shuffles]
        defined = [one for one in computed if one is not None]
        before, value = self.influence[0], float(np.mean([one[0] for one in defined]))
        return self.sign * (value - before), self._variance(np.array([one[1] for one in defined]), donors)

    def _variance(self, shuffled: Floats, donors: Sequence[Integers]) -> float:
        """Variance of the drop, from the influences of the predicted samples in each shuffle, and the donors."""
        assert self.influence is not None
        n, repeats = len(self.rows), len(shuffled)
        before, predicted = self.influence[1], shuffled.mean(axis=0)
        donated = np.zeros(n)
        for influence, donor in zip(shuffled, donors, strict=True):
            donated[donor] += influence / repeats
        total = float(np.mean((predicted + donated - before) ** 2) - np.mean(shuffled**2) / repeats)
        # the terms of an irrelevant column cancel; the variance of the predicted samples alone is a lower bound
        return max(total, float(np.mean((predicted - before) ** 2))) / n

    def _drop_by_parts(self, shuffled: Sequence[Outputs]) -> tuple[float, float]:
        """The same from scores of parts of the samples, larger is better."""
        before = self._score(self.predicted)
        drops = before - np.mean([self._score(one) for one in shuffled], axis=0)
        drops = drops[np.isfinite(drops)]
        if len(drops) < 2:
            return np.nan, np.nan
        return float(np.mean(drops)), float(np.var(drops, ddof=1)) / len(drops)

    def _score(self, computed: Outputs) -> Floats:
        """The score of each part; nan where it has none."""
        scores = np.full(len(self.parts), np.nan)
        for index, part in enumerate(self.parts):
            weight = None if self.weight is None else self.weight[part]
            data = Data(np.zeros((len(part), 1)), self.y[part], weight)
            try:
                scores[index] = self.scoring.of_outputs(last_step(self.model), data, _part(computed, part))
            except ValueError:  # a part without one of the classes
                continue
        return scores


def _part(computed: Outputs, rows: Integers) -> Outputs:
    """The outputs for some samples."""
    probabilities, scores = (
        None if values is None else values[rows] for values in (computed.probabilities, computed.scores)
    )
    return replace(computed, predictions=computed.predictions[rows], probabilities=probabilities, scores=scores)


def _split_stratified(y: Any, computed: Outputs, rng: np.random.Generator) -> list[Integers]:
    """Samples split into parts, stratified by class."""
    order = rng.permutation(len(y))
    if computed.classes is not None:
        order = order[np.argsort(np.unique(y, return_inverse=True)[1][order], kind="stable")]
    count = max(1, min(MAX_PARTS, len(y) // 5))
    return [np.sort(order[index::count]) for index in range(count)]
