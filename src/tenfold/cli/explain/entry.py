"""What a run says beyond scores, within an allowance of time."""

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tenfold.cli.explain.columns import profile_columns
from tenfold.cli.explain.differences import compare_models
from tenfold.cli.explain.growth import learning_curve
from tenfold.cli.explain.held_out import HeldOut, Refit
from tenfold.cli.explain.importance import SAMPLES, permutation_importance
from tenfold.cli.explain.samples import list_wrong_samples
from tenfold.cli.explain.weights import LinearView, contributions_of, weights_of
from tenfold.cli.load_table import Prepared
from tenfold.cli.scoring import Metric
from tenfold.selection import Candidate
from tenfold.selection.time_limit import OutOfTime, until

SECONDS = 6.0
"""What explanations may take by default."""

PROFILES = 1.0
"""Seconds that column profiles may take even where the allowance is shorter: they need no fit."""

REFITS, IMPORTANCE = 0.35, 0.65
"""Shares of the allowance after which refits of held-out models and permutation importance end; the learning curve has
the rest."""


def explain(
    best: Any,
    standing: Sequence[Any],
    table: Prepared,
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
        The allowance. What does not fit into it is left out, and `notes` says so; the parts that need no fit (column
        profiles, differences, wrong samples, weights) are sub-sampled instead.
    """
    begin = time.perf_counter()
    end = begin + seconds
    found: dict[str, Any] = {"seconds": seconds, "notes": []}
    parts = _Parts(found)
    parts.add("profiles", lambda: profile_columns(table, deadline=max(end, begin + PROFILES), seed=seed))
    parts.add("differences", lambda: compare_models(best, standing, table, metric))
    learned = _by_strength(found["profiles"])

    def importance() -> dict[str, Any]:
        refit = Refit.of(candidate, best.result, table, metric.scorer, seed)
        models: list[HeldOut] = []
        try:
            with until(begin + REFITS * seconds):
                for model in refit.fit_folds(SAMPLES, begin + REFITS * seconds):
                    models.append(model)
        except OutOfTime:
            if not models:
                raise
        left = begin + IMPORTANCE * seconds - time.perf_counter()
        with until(end):
            return permutation_importance(models, refit.data, metric, refit.scoring, learned, seconds=left, seed=seed)

    def curve() -> dict[str, Any] | None:
        refit = Refit.of(candidate, best.result, table, metric.scorer, seed)
        with until(end):
            return learning_curve(refit, best.result, best.figure.value, smaller=metric.smaller, deadline=end)

    parts.add("importance", importance)
    important = [row["name"] for row in (found.get("importance") or {}).get("rows", ()) if row["drop"] > 0]
    parts.add("wrong", lambda: list_wrong_samples(best.result, table, important or learned))
    parts.add("curve", curve)
    found["took"] = time.perf_counter() - begin
    return found


def explain_weights(best: Any, table: Prepared) -> dict[str, Any]:
    """The record's keys on a linear model: its table of effects, and the contributions of its columns."""
    result = best.result
    view = LinearView.of(result.model, table.frame)
    condition = getattr(result.certificate, "condition", None)
    weights = weights_of(view, result.classes, None if condition is None else float(condition))
    return {"weights": weights, "contributions": contributions_of(view)}


class _Parts:
    """Adds parts to a record; one that is out of time or fails leaves a note, and never ends the run."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.stopped = False

    def add(self, name: str, compute: Callable[[], Any]) -> None:
        self.found[name] = None
        if self.stopped:
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of fits to parts of the samples; the board shows those of its own
                self.found[name] = compute()
        except OutOfTime:
            self.found["notes"].append(f"{TITLES[name]}: did not fit into {self.found['seconds']:.0f} s.")
        except KeyboardInterrupt:
            self.stopped = True
            self.found["notes"].append(f"{TITLES[name]}: interrupted.")
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as reason:
            self.found["notes"].append(f"{TITLES[name]}: {reason}")


TITLES = {
    "profiles": "Column profiles",
    "differences": "Differences between models",
    "importance": "Permutation importance",
    "wrong": "Wrong samples",
    "curve": "Learning curve",
}


def _by_strength(profiles: Sequence[dict[str, Any]] | None) -> list[str]:
    """Columns that are learned from, those first that explain most of the target alone."""
    learned = ("number", "count", "date", "category", "boolean", "ordinal", "text")
    return [one["name"] for one in profiles or () if one["kind"] in learned]
