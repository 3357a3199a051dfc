"""The models of a leaderboard: classes whose registration has an entry, a baseline, and a challenger."""

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
from tenfold.estimators.registration import list_registered

BASELINE, CHALLENGER = "baseline", "gradient-boosting"
# baselines and challengers: the mean or the class frequencies, and scikit-learn's boosted trees
REFERENCES = {
    "regression": (DummyRegressor, HistGradientBoostingRegressor),
    "classification": (DummyClassifier, HistGradientBoostingClassifier),
}


DENSE_BYTES = 1 << 30  # models that need a larger dense copy of the table are skipped

TREES_MAX_COLUMNS = 5000  # features up to which boosting is tried

MAX_EXPANDED_COLUMNS = 2500  # features of an expansion: a Gram matrix of 50 MB

# feature expansions of linear models, by the suffix of the model's name
EXPANSIONS = {"splines": "cubic splines of each feature", "products": "products of pairs of features"}


@dataclass(frozen=True)
class LeaderboardModel:
    """A model of the leaderboard; `expansion` is a key of `EXPANSIONS`, or empty."""

    name: str
    model: Any
    entry: Entry | None = None
    expansion: str = ""

    @property
    def ours(self) -> bool:
        return self.entry is not None


def expansion_steps(kind: str, width: int) -> list[tuple[str, Any]]:
    """Pipeline steps of an expansion of `width` features, standardised, because they are penalised.

    Cubic splines with knots at quantiles; products of splines with few knots where there are few features, so that
    interactions may be nonlinear, else products of the features and their squares.
    """
    if kind == "splines":
        return [("splines", _splines(5)), ("scale", StandardScaler())]
    if count_expanded_columns(kind, width) == _products_of_splines(width):
        products = PolynomialFeatures(2, interaction_only=True, include_bias=False)
        return [
            ("splines", _splines(3)),
            ("centre", StandardScaler()),
            ("products", products),
            ("scale", StandardScaler()),
        ]
    return [("products", PolynomialFeatures(2, include_bias=False)), ("scale", StandardScaler())]


def count_expanded_columns(kind: str, width: int) -> int:
    """Number of features of an expansion."""
    if kind == "splines":
        return 6 * width
    products = _products_of_splines(width)
    return products if products <= MAX_EXPANDED_COLUMNS else width * (width + 3) // 2


def _splines(knots: int) -> SplineTransformer:
    # linear extrapolation: a cubic would diverge beyond the training samples
    return SplineTransformer(knots, knots="quantile", include_bias=False, extrapolation="linear")


def _products_of_splines(width: int) -> int:
    return 4 * width + 4 * width * (4 * width - 1) // 2


@cache
def leaderboard_classes() -> tuple[tuple[Entry, type], ...]:
    """The public classes with an entry for leaderboards, the fast ones first."""
    selected = [
        (cls._registration.board, cls) for cls in list_registered().values() if cls._registration.board is not None
    ]
    return tuple(sorted(selected, key=lambda pair: (not pair[0].fast, pair[0].name)))


def select_models(
    task: str,
    models: str,
    y: Any,
    shape: tuple[int, int],
    seed: int,
    *,
    dense: int | None = None,
    nonlinear: bool = False,
) -> tuple[list[LeaderboardModel], dict[str, str]]:
    """The models for a task, and the reasons why others are skipped, by name.

    `models` is "fast", "all", or names separated by commas; a model requested by name ignores limits of size. `shape`
    is that of the encoded table, `dense` its width for models that need it dense. With `nonlinear`, linear models are
    tried with their expansions as well.
    """
    by_name = {line.name: line for line in _candidate_models(task)}
    requested = None if models in ("fast", "all") else _parse_names(models, [*by_name, CHALLENGER])
    suitable: list[LeaderboardModel] = []
    skipped: dict[str, str] = {}
    for name in by_name if requested is None else [name for name in requested if name != CHALLENGER]:
        line = by_name[name]
        assert line.entry is not None
        if requested is None and ((line.expansion and not nonlinear) or not (line.entry.fast or models == "all")):
            continue
        reason = _why_unsuitable(line.entry, y) or (_why_too_large(line, shape, dense) if requested is None else "")
        if reason:
            skipped[name] = reason
        else:
            suitable.append(line)
    mean, boosted = REFERENCES[task]
    prior = {} if task == "regression" else {"strategy": "prior"}
    selected = [LeaderboardModel(BASELINE, mean(**prior)), *suitable]
    if requested is None or CHALLENGER in requested:
        trees = Entry(CHALLENGER, task, most_columns=TREES_MAX_COLUMNS, dense=True)
        reason = "" if requested else _why_too_large(LeaderboardModel(CHALLENGER, None, trees), shape, dense)
        if reason:
            skipped[CHALLENGER] = reason
        else:
            selected.append(LeaderboardModel(CHALLENGER, boosted(random_state=seed)))
    return selected, skipped


def _candidate_models(task: str) -> Iterator[LeaderboardModel]:
    """Our models for a task, linear ones with their expansions."""
    for entry, cls in leaderboard_classes():
        if entry.task == task:
            yield LeaderboardModel(entry.name, cls(**entry.settings), entry)
    for entry, cls in leaderboard_classes():
        if entry.task == task and entry.expands:
            yield from (
                LeaderboardModel(f"{entry.name}-{kind}", cls(**entry.settings), entry, kind) for kind in EXPANSIONS
            )


def _parse_names(models: str, names: Sequence[str]) -> list[str]:
    requested = [name.strip() for name in models.split(",") if name.strip()]
    for name in requested:
        if name not in names:
            close_matches = get_close_matches(name, names, 1)
            hint = f" Did you mean {close_matches[0]}?" if close_matches else ""
            raise ValueError(f"There is no model {name!r} for this task.{hint} There are: {', '.join(sorted(names))}.")
    return list(dict.fromkeys(requested))


def _why_unsuitable(entry: Entry, y: Any) -> str:
    """Why a model is not made for this target; empty where it is."""
    if entry.target == "any":
        return ""
    whole = bool(np.all(y == np.round(y)))
    fits = np.min(y) >= 0 and (whole or np.min(y) == 0) if entry.target == "counts" else np.min(y) > 0
    return "" if fits else f"it is made for {TARGETS[entry.target]}"


def _why_too_large(line: LeaderboardModel, shape: tuple[int, int], dense: int | None = None) -> str:
    entry = line.entry
    assert entry is not None
    rows, width = shape
    if line.expansion or entry.dense:
        width = width if dense is None else dense
    if entry.most_columns is not None and width > entry.most_columns:
        return f"{width:,} columns are too many for it ({entry.most_columns:,}); ask for it by name to try"
    if entry.most_rows is not None and rows > entry.most_rows:
        return f"{rows:,} rows are too many for it ({entry.most_rows:,}); ask for it by name to try"
    if rows < entry.fewest_rows:
        return f"it is made for {entry.fewest_rows:,} rows and more; ask for it by name to try"
    if line.expansion and (width := count_expanded_columns(line.expansion, width)) > MAX_EXPANDED_COLUMNS:
        return f"it would have {width:,} columns, more than {MAX_EXPANDED_COLUMNS:,}; ask for it by name to try"
    size = 8 * rows * width
    if (line.expansion or entry.dense) and size > DENSE_BYTES:
        return f"it needs the table dense, {size / 2**30:.1f} GiB; ask for it by name to try"
    return ""
