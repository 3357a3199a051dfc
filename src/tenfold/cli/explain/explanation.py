"""All explanations of a run, within a time limit."""

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tenfold.cli.explain.column_profiles import profile_columns
from tenfold.cli.explain.differences import compare_models
from tenfold.cli.explain.held_out import HeldOut, Refit
from tenfold.cli.explain.importance import MAX_SAMPLES, permutation_importance
from tenfold.cli.explain.power_law import learning_curve
from tenfold.cli.explain.weights import LinearView, contributions_of, weights_of
from tenfold.cli.explain.wrong_samples import list_wrong_samples
from tenfold.cli.load_table import LoadedTable
from tenfold.cli.scoring import Metric
from tenfold.selection import Candidate
from tenfold.selection.time_limit import OutOfTime, until

SECONDS = 6.0  # default time limit of explanations

PROFILE_SECONDS = 1.0  # seconds that column profiles may take even where the limit is shorter: they need no fit

# parts of the time limit at which refits and permutations for importance end; the rest is for the learning curve
REFIT_FRACTION, IMPORTANCE_FRACTION = 0.35, 0.65


def explain(
    best: Any,
    ranking: Sequence[Any],
    table: LoadedTable,
    metric: Metric,
    candidate: Candidate,
    *,
    seed: int = 0,
    seconds: float = SECONDS,
) -> dict[str, Any]:
    """Everything about the best model that the report shows beyond scores, as plain values.

    Parameters
    ----------
    best, standing : the best of our models and all models of the board.
    table, metric : the samples and the figure that ranks.
    candidate : the best model as it entered, to be fitted without some of the samples.
    seed : of sub-samples and shuffles.
    seconds : float, default=6
        The time limit. What does not fit into it is left out, and `notes` says so; the parts that need no fit (column
        profiles, differences, wrong samples, weights) are sub-sampled instead.
    """
    begin = time.perf_counter()
    end = begin + seconds
    record: dict[str, Any] = {"seconds": seconds, "notes": []}
    sections = _Sections(record)
    sections.add("profiles", lambda: profile_columns(table, deadline=max(end, begin + PROFILE_SECONDS), seed=seed))
    sections.add("differences", lambda: compare_models(best, ranking, table, metric))
    features = _by_strength(record["profiles"])

    def importance() -> dict[str, Any]:
        refit = Refit.of(candidate, best.result, table, metric.scorer, seed)
        models: list[HeldOut] = []
        try:
            with until(begin + REFIT_FRACTION * seconds):
                for model in refit.fit_folds(MAX_SAMPLES, begin + REFIT_FRACTION * seconds):
                    models.append(model)
        except OutOfTime:
            if not models:
                raise
        remaining = begin + IMPORTANCE_FRACTION * seconds - time.perf_counter()
        with until(end):
            return permutation_importance(
                models, refit.data, metric, refit.scoring, features, seconds=remaining, seed=seed
            )

    def curve() -> dict[str, Any] | None:
        refit = Refit.of(candidate, best.result, table, metric.scorer, seed)
        with until(end):
            return learning_curve(refit, best.result, best.figure.value, smaller=metric.smaller, deadline=end)

    sections.add("importance", importance)
    important = [row["name"] for row in (record.get("importance") or {}).get("rows", ()) if row["drop"] > 0]
    sections.add("wrong", lambda: list_wrong_samples(best.result, table, important or features))
    sections.add("curve", curve)
    record["took"] = time.perf_counter() - begin
    return record


def explain_weights(best: Any, table: LoadedTable) -> dict[str, Any]:
    """The record's keys on a linear model: its table of effects, and the contributions of its columns."""
    result = best.result
    view = LinearView.of(result.model, table.frame)
    condition = getattr(result.certificate, "condition", None)
    weights = weights_of(view, result.classes, None if condition is None else float(condition))
    return {"weights": weights, "contributions": contributions_of(view)}


class _Sections:
    """Adds sections to a record; one that is out of time or fails becomes a note and never ends the run."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        self.stopped = False

    def add(self, name: str, compute: Callable[[], Any]) -> None:
        self.record[name] = None
        if self.stopped:
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the leaderboard shows the warnings of its own fits
                self.record[name] = compute()
        except OutOfTime:
            self.record["notes"].append(f"{TITLES[name]}: did not fit into {self.record['seconds']:.0f} s.")
        except KeyboardInterrupt:
            self.stopped = True
            self.record["notes"].append(f"{TITLES[name]}: interrupted.")
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as reason:
            self.record["notes"].append(f"{TITLES[name]}: {reason}")


TITLES = {
    "profiles": "Column profiles",
    "differences": "Differences between models",
    "importance": "Permutation importance",
    "wrong": "Wrong samples",
    "curve": "Learning curve",
}


def _by_strength(profiles: Sequence[dict[str, Any]] | None) -> list[str]:
    """Columns that become features, in decreasing order of the variance of the target that each explains alone."""
    kinds = ("number", "count", "date", "category", "boolean", "ordinal", "text")
    return [one["name"] for one in profiles or () if one["kind"] in kinds]
