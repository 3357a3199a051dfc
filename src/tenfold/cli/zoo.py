"""The models of a leaderboard: whatever the public classes say of themselves, a baseline, and a named challenger."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import tenfold
from tenfold.estimators.entries import TARGETS, Entry

BASELINE, CHALLENGER = "baseline", "gradient-boosting"
REFERENCES = {
    "regression": (DummyRegressor, HistGradientBoostingRegressor),
    "classification": (DummyClassifier, HistGradientBoostingClassifier),
}
"""What every run is compared with: the mean or the shares of the classes, and scikit-learn's boosted trees."""


DENSE_BYTES = 1 << 30
"""The most that a dense copy of the table may take."""

MOST_COLUMNS_OF_TREES = 5000


@dataclass(frozen=True)
class Line:
    """A model that a table is tried with."""

    name: str
    model: Any
    entry: Entry | None = None

    @property
    def ours(self) -> bool:
        return self.entry is not None


@cache
def entered() -> tuple[tuple[Entry, type], ...]:
    """The public classes that enter leaderboards, those that are fast first."""
    public = (getattr(tenfold, name) for name in tenfold.__all__)
    found = [(vars(thing)["_zoo"], thing) for thing in public if isinstance(thing, type) and "_zoo" in vars(thing)]
    return tuple(sorted(found, key=lambda pair: (not pair[0].fast, pair[0].name)))


def lines(task: str, models: str, y: Any, shape: tuple[int, int], seed: int) -> tuple[list[Line], dict[str, str]]:
    """The models for a task, in the order they are tried, and the reasons of those that stay away.

    `models` is "fast", "all", or names with commas between; what is asked for by name comes whatever its limits.
    """
    known = {entry.name: (entry, cls) for entry, cls in entered() if entry.task == task}
    asked = None if models in ("fast", "all") else _asked(models, [*known, CHALLENGER])
    names = [name for name, (entry, _) in known.items() if entry.fast or models == "all"] if asked is None else asked
    chosen: list[Line] = []
    away: dict[str, str] = {}
    for name in names:
        if name == CHALLENGER:
            continue
        entry, cls = known[name]
        reason = _unfit(entry, y) or (_too_large(entry, shape) if asked is None else "")
        if reason:
            away[name] = reason
        else:
            chosen.append(Line(name, cls(**entry.settings), entry))
    mean, boosted = REFERENCES[task]
    challenger = [Line(CHALLENGER, boosted(random_state=seed))] if asked is None or CHALLENGER in asked else []
    reason = _too_large(Entry(CHALLENGER, task, most_columns=MOST_COLUMNS_OF_TREES, dense=True), shape)
    if asked is None and reason:
        challenger, away[CHALLENGER] = [], reason
    fast = [line for line in chosen if line.entry is not None and line.entry.fast]
    slow = [line for line in chosen if line not in fast]
    prior = {} if task == "regression" else {"strategy": "prior"}
    return [Line(BASELINE, mean(**prior)), *fast, *challenger, *slow], away


def _asked(models: str, known: Sequence[str]) -> list[str]:
    names = [name.strip() for name in models.split(",") if name.strip()]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ValueError(f"There is no model {name!r} for this task.{hint} There are: {', '.join(sorted(known))}.")
    return list(dict.fromkeys(names))


def _unfit(entry: Entry, y: Any) -> str:
    """Why a model is not made for this target."""
    if entry.target == "any":
        return ""
    whole = bool(np.all(y == np.round(y)))
    fits = np.min(y) >= 0 and (whole or np.min(y) == 0) if entry.target == "counts" else np.min(y) > 0
    return "" if fits else f"it is made for {TARGETS[entry.target]}"


def _too_large(entry: Entry, shape: tuple[int, int]) -> str:
    for limit, size, what in zip((entry.most_rows, entry.most_columns), shape, ("rows", "columns"), strict=True):
        if limit is not None and size > limit:
            return f"{size:,} {what} are too many for it ({limit:,}); ask for it by name to try"
    dense = 8 * shape[0] * shape[1]
    if entry.dense and dense > DENSE_BYTES:
        return f"it needs the table dense, {dense / 2**30:.1f} GiB; ask for it by name to try"
    return ""
