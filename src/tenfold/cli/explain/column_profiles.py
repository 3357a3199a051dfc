"""Column profiles: the distribution of a column, its missing values, and the target by its bins."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.cli.load_table import LoadedTable
from tenfold.evaluation import clopper_pearson
from tenfold.features.dtypes import as_text, cast_column

MAX_BINS, MAX_LEVELS, MAX_CLASSES = 12, 8, 10  # bars, categories and colours of a card
MAX_COLUMNS, MAX_SAMPLES = 200, 20_000  # that are profiled
MICROSECONDS_A_DAY = 86_400e6


def profile_columns(table: LoadedTable, *, deadline: float, seed: int = 0) -> list[dict[str, Any]]:
    """A profile of each column, at most `MOST_COLUMNS`, those that explain most of the target first.

    `strength` is the share of the target's variance (of its class indicators, for classes: Goodman and Kruskal's tau)
    that the bins of the column explain, adjusted for their number, or for numbers a line if that is more. Large tables
    are sub-sampled to `MAX_SAMPLES`.
    """
    n = table.frame.height
    rows = np.arange(n)
    if n > MAX_SAMPLES:
        rows = np.sort(np.random.default_rng(seed).choice(n, MAX_SAMPLES, replace=False))
    frame = table.frame[rows]
    target = None if table.y is None else Target.of(table.y[rows], table.task)
    profiles = []
    for name in table.schema:
        profiles.append(_profile(frame[name], table.schema[name], target, table.frame[name].null_count() / n))
        if len(profiles) == MAX_COLUMNS or time.perf_counter() > deadline:
            break
    return sorted(profiles, key=lambda one: -(one["strength"] or 0.0))


@dataclass(frozen=True)
class Target:
    """The target: numbers, or codes of classes with their names, rare ones of many classes taken together."""

    task: str
    values: Floats | None = None
    codes: Any = None
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, y: Any, task: str) -> "Target":
        if task == "regression":
            return cls(task, values=np.asarray(y, dtype=np.float64))
        classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        names = [str(name) for name in classes]
        if len(classes) > MAX_CLASSES:
            frequent = np.sort(np.argsort(-counts, kind="stable")[: MAX_CLASSES - 1])
            position = np.full(len(classes), MAX_CLASSES - 1)
            position[frequent] = np.arange(MAX_CLASSES - 1)
            codes, names = position[codes], [*(names[j] for j in frequent), "others"]
        return cls(task, codes=codes, names=tuple(names))

    def part(self, rows: Any) -> "Target":
        """The target of some samples, with the same classes."""
        values, codes = (None if values_ is None else values_[rows] for values_ in (self.values, self.codes))
        return replace(self, values=values, codes=codes)

    def strength(self, bins: Integers) -> float | None:
        """Adjusted fraction of the target's variance between bins; None where the target is constant."""
        n, k = len(bins), len(np.unique(bins))
        if n <= k:
            return None
        counts = np.bincount(bins).astype(np.float64)
        if self.values is not None:
            centred = self.values - self.values.mean()
            between = np.sum(np.bincount(bins, centred) ** 2 / np.maximum(counts, 1.0))
            total = np.sum(centred**2)
        else:
            table = np.zeros((len(counts), len(self.names)))
            np.add.at(table, (bins, self.codes), 1.0)
            chance = np.sum(table.sum(axis=0) ** 2) / n
            between = np.sum(table**2 / np.maximum(counts, 1.0)[:, None]) - chance
            total = n - chance
        if not total > 0.0:
            return None
        return float(np.clip(1.0 - (1.0 - between / total) * (n - 1) / (n - k), 0.0, 1.0))

    def strength_of_line(self, x: Floats, seen: Any) -> float:
        """Fraction of a numeric target's variance that a line in x explains."""
        if self.values is None or np.count_nonzero(seen) < 3 or np.ptp(x[seen]) == 0.0:
            return 0.0
        a, b = x[seen] - x[seen].mean(), self.values[seen] - self.values[seen].mean()
        total = float(np.sum((self.values - self.values.mean()) ** 2))
        return float(np.clip((a @ b) ** 2 / ((a @ a) * total), 0.0, 1.0)) if total > 0.0 else 0.0

    def summarize(self, bins: Integers, count: int) -> dict[str, Any]:
        """The target in each bin: mean or class frequency with its interval, or counts of several classes."""
        sizes = np.bincount(bins, minlength=count).astype(np.float64)
        if self.task == "multiclass":
            table = np.zeros((len(self.names), count))
            np.add.at(table, (self.codes, bins), 1.0)
            return {"classes": list(self.names), "stack": table.astype(int).tolist()}
        if self.values is None:
            hits = np.bincount(bins, self.codes, minlength=count)
            low, high = clopper_pearson(hits, np.maximum(sizes, 1.0))
            return _as_lists(sizes, hits / np.maximum(sizes, 1.0), low, high) | {"of": self.names[-1]}
        known = np.maximum(sizes, 1.0)
        mean = np.bincount(bins, self.values, minlength=count) / known
        squares = np.bincount(bins, (self.values - mean[bins]) ** 2, minlength=count)
        error = 1.96 * np.sqrt(squares / np.maximum(sizes - 1.0, 1.0) / known)
        single = sizes < 2
        return _as_lists(sizes, mean, np.where(single, np.nan, mean - error), np.where(single, np.nan, mean + error))


def _as_lists(sizes: Floats, mean: Floats, low: Floats, high: Floats) -> dict[str, Any]:
    """Values of bins; None where a bin is empty or has no interval."""
    seen = sizes > 0
    names = {"mean": mean, "low": low, "high": high}
    return {
        name: [float(v) if s and np.isfinite(v) else None for v, s in zip(values, seen, strict=True)]
        for name, values in names.items()
    }


def _profile(series: Any, column: Any, target: Target | None, missing: float) -> dict[str, Any]:
    profile: dict[str, Any] = {"name": column.name, "kind": column.kind, "missing": missing, "strength": None}
    if column.kind in ("number", "count", "date"):
        values = cast_column(series, column)
        missing_rows = values.is_null().to_numpy()
        days = values.cast(int) / MICROSECONDS_A_DAY if column.kind == "date" else values
        numbers = days.to_numpy().astype(np.float64)
        missing_rows |= ~np.isfinite(numbers)
        if missing_rows.all():
            return profile
        bins, edges = bin_numbers(numbers[~missing_rows])
        profile["edges"], count = edges.tolist(), len(edges) - 1
        profile["ends"] = np.quantile(numbers[~missing_rows], [0.0, 1.0]).tolist()
        strength_bins = _by_quantiles(numbers, missing_rows)
        line = 0.0 if target is None else target.strength_of_line(numbers, ~missing_rows)
    elif column.kind in ("category", "boolean", "ordinal"):
        text = as_text(cast_column(series, column))
        missing_rows = text.is_null().to_numpy()
        if missing_rows.all():
            return profile
        bins, profile["levels"] = _bin_levels(text.drop_nulls(), column.levels)
        count = len(profile["levels"])
        strength_bins, line = np.full(len(missing_rows), count), 0.0
        strength_bins[~missing_rows] = bins
    else:
        return profile
    profile["counts"] = np.bincount(bins, minlength=count).tolist()
    if target is not None:
        binned = target.strength(np.unique(strength_bins, return_inverse=True)[1])
        profile["strength"] = None if binned is None else max(binned, line)
        profile |= target.part(~missing_rows).summarize(bins, count)
    return profile


def bin_numbers(values: Floats) -> tuple[Integers, Floats]:
    """Bins of equal width between the first and last percentile, end bins include what is beyond; or one per value."""
    known = np.unique(values)
    if len(known) <= MAX_BINS:
        middle = (known[1:] + known[:-1]) / 2.0
        half = 0.5 if len(known) == 1 else min(0.5, float(np.min(np.diff(known))) / 2.0)
        edges = np.concatenate([[known[0] - half], middle, [known[-1] + half]])
    else:
        low, high = np.quantile(values, [0.01, 0.99])
        if not high > low:
            low, high = known[0], known[-1]
        edges = np.linspace(low, high, MAX_BINS + 1)
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2), edges


def _by_quantiles(values: Floats, missing_rows: Any) -> Integers:
    """Ten bins of about equal counts, and one of missing values, for the strength of a column."""
    inner = np.unique(np.quantile(values[~missing_rows], np.linspace(0.1, 0.9, 9)))
    return np.where(missing_rows, len(inner) + 1, np.searchsorted(inner, values, side="left"))


def _bin_levels(text: Any, ordered: tuple[str, ...]) -> tuple[Integers, list[str]]:
    """The most frequent levels, or all of an ordinal in their order; the others are grouped."""
    counts = dict(sorted(text.value_counts().iter_rows(), key=lambda item: (-item[1], item[0])))
    levels = list(ordered) if ordered else list(counts)[:MAX_LEVELS]
    position = {level: j for j, level in enumerate(levels)}
    others = len(counts) > len(levels) and not ordered
    codes = text.replace_strict(position, default=len(levels), return_dtype=int).to_numpy()
    return codes, [*levels, "others"] if others else levels
