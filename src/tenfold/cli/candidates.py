"""The models of a leaderboard: whatever the public classes say of themselves, a baseline, and a named challenger."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

from tenfold.estimators.leaderboard_entry import TARGETS, Entry
from tenfold.estimators.registration import registered

BASELINE, CHALLENGER = "baseline", "gradient-boosting"
REFERENCES = {
    "regression": (DummyRegressor, HistGradientBoostingRegressor),
    "classification": (DummyClassifier, HistGradientBoostingClassifier),
}
"""What every run is compared with: the mean or the shares of the classes, and scikit-learn's boosted trees."""


DENSE_BYTES = 1 << 30
"""The most that a dense copy of the table may take."""

MOST_COLUMNS_OF_TREES = 5000

MOST_EXPANDED = 2500
"""The most columns that splines or products of features may become: their Gram matrix takes 50 MB."""

EXPANSIONS = {"splines": "smooth curves of each feature", "products": "products of each two features"}
"""What makes a linear model more than linear, by the ending of its name."""


@dataclass(frozen=True)
class Line:
    """A model that a table is tried with; `expansion` is a key of `EXPANSIONS`, or empty."""

    name: str
    model: Any
    entry: Entry | None = None
    expansion: str = ""

    @property
    def ours(self) -> bool:
        return self.entry is not None


def expansion_steps(kind: str, width: int) -> list[tuple[str, Any]]:
    """The steps of an expansion of so many columns, each followed by a scale, as penalties need one.

    Cubic splines with knots at quantiles; products are of splines with few knots where the columns are few, so that
    what two features do together may be curved, and of the features and their squares else.
    """
    if kind == "splines":
        return [("splines", _splines(5)), ("scale", StandardScaler())]
    if expanded_width(kind, width) == _products_of_splines(width):
        products = PolynomialFeatures(2, interaction_only=True, include_bias=False)
        return [
            ("splines", _splines(3)),
            ("centre", StandardScaler()),
            ("products", products),
            ("scale", StandardScaler()),
        ]
    return [("products", PolynomialFeatures(2, include_bias=False)), ("scale", StandardScaler())]


def expanded_width(kind: str, width: int) -> int:
    """How many columns an expansion has."""
    if kind == "splines":
        return 6 * width
    return curved if (curved := _products_of_splines(width)) <= MOST_EXPANDED else width * (width + 3) // 2


def _splines(knots: int) -> SplineTransformer:
    # linear beyond the training samples: a cubic would run away from a single sample out there
    return SplineTransformer(knots, knots="quantile", include_bias=False, extrapolation="linear")


def _products_of_splines(width: int) -> int:
    return 4 * width + 4 * width * (4 * width - 1) // 2


@cache
def entered() -> tuple[tuple[Entry, type], ...]:
    """The public classes that enter leaderboards, those that are fast first."""
    found = [(cls._registration.board, cls) for cls in registered().values() if cls._registration.board is not None]
    return tuple(sorted(found, key=lambda pair: (not pair[0].fast, pair[0].name)))


def lines(
    task: str, models: str, y: Any, shape: tuple[int, int], seed: int, *, dense: int | None = None, curved: bool = False
) -> tuple[list[Line], dict[str, str]]:
    """The models for a task, and the reasons of those that stay away.

    `models` is "fast", "all", or names with commas between; what is asked for by name comes whatever its limits.
    `shape` is that of the encoded table, `dense` its width for models that need it dense. Where the dependence is
    `curved`, linear models come with their expansions as well.
    """
    known = {line.name: line for line in _known(task)}
    asked = None if models in ("fast", "all") else _asked(models, [*known, CHALLENGER])
    chosen: list[Line] = []
    away: dict[str, str] = {}
    for name in known if asked is None else [name for name in asked if name != CHALLENGER]:
        line = known[name]
        assert line.entry is not None
        if asked is None and ((line.expansion and not curved) or not (line.entry.fast or models == "all")):
            continue
        reason = _unfit(line.entry, y) or (_too_large(line, shape, dense) if asked is None else "")
        if reason:
            away[name] = reason
        else:
            chosen.append(line)
    mean, boosted = REFERENCES[task]
    prior = {} if task == "regression" else {"strategy": "prior"}
    found = [Line(BASELINE, mean(**prior)), *chosen]
    if asked is None or CHALLENGER in asked:
        trees = Entry(CHALLENGER, task, most_columns=MOST_COLUMNS_OF_TREES, dense=True)
        reason = "" if asked else _too_large(Line(CHALLENGER, None, trees), shape, dense)
        if reason:
            away[CHALLENGER] = reason
        else:
            found.append(Line(CHALLENGER, boosted(random_state=seed)))
    return found, away


def _known(task: str) -> Iterator[Line]:
    """Every model of ours for a task, linear ones with their expansions."""
    for entry, cls in entered():
        if entry.task == task:
            yield Line(entry.name, cls(**entry.settings), entry)
    for entry, cls in entered():
        if entry.task == task and entry.expands:
            yield from (Line(f"{entry.name}-{kind}", cls(**entry.settings), entry, kind) for kind in EXPANSIONS)


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


def _too_large(line: Line, shape: tuple[int, int], dense: int | None = None) -> str:
    entry = line.entry
    assert entry is not None
    rows, width = shape
    if line.expansion or entry.dense:
        width = width if dense is None else dense
    if entry.most_columns is not None and width > entry.most_columns:
        return f"{width:,} columns are too many for it ({entry.most_columns:,}); ask for it by name to try"
    if line.expansion and (width := expanded_width(line.expansion, width)) > MOST_EXPANDED:
        return f"it would have {width:,} columns, more than {MOST_EXPANDED:,}; ask for it by name to try"
    size = 8 * rows * width
    if (line.expansion or entry.dense) and size > DENSE_BYTES:
        return f"it needs the table dense, {size / 2**30:.1f} GiB; ask for it by name to try"
    return ""
