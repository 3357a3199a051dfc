"""Categories as numbers: one-hot columns, or the mean target of a level."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from tenfold.arrays import Floats, Integers
from tenfold.data.errors import TableError
from tenfold.features.column_encoders import Block
from tenfold.features.dtypes import as_text
from tenfold.features.frames import frame_of, pl
from tenfold.features.target import infer_task

MISSING, RARE = "(missing)", "(rare)"


class Levels(Block):
    """One-hot encoding of categories, sparse.

    Parameters
    ----------
    min_frequency : int, default=1
        Levels in fewer rows are merged into one, ``colour=(rare)``.
    max_levels : int, default=None
        The number of most frequent levels that get a column; the others are rare.

    Attributes
    ----------
    levels_ : for each column, the levels that are encoded, in order.
    rare_ : for each column, the levels that are rare.
    gaps_ : for each column, whether some values were missing; these are the level ``colour=(missing)``.

    Notes
    -----
    No level is dropped: penalised models do not need a reference level, and treat all levels alike. A new level is rare
    where there are rare levels, else its row is zero in all columns of the category. Cookbook, section 4.3.
    """

    def __init__(self, *, min_frequency: int = 1, max_levels: int | None = None) -> None:
        self.min_frequency = min_frequency
        self.max_levels = max_levels

    def fit(self, X: Any, y: Any = None) -> "Levels":
        """Count the levels."""
        self.levels_: list[list[str]] = []
        self.rare_: list[list[str]] = []
        self.gaps_: list[bool] = []
        self.names_out_ = []
        texts = _as_texts(self._names(X))
        tallies = texts.select(pl.all().drop_nulls().value_counts().implode()).row(0)
        for counts_of_column, missing in zip(tallies, texts.null_count().row(0), strict=True):
            counts = sorted((tuple(item.values()) for item in counts_of_column), key=lambda item: (-item[1], item[0]))
            frequent = [level for level, n in counts if n >= self.min_frequency][: self.max_levels]
            kept = set(frequent)
            self.levels_.append(sorted(frequent))
            self.rare_.append(sorted(level for level, _ in counts if level not in kept))
            self.gaps_.append(missing > 0)
        for name, levels, rare, gaps in zip(self.names_, self.levels_, self.rare_, self.gaps_, strict=True):
            self.names_out_ += [f"{name}={level}" for level in levels]
            self.names_out_ += [f"{name}={RARE}"] * bool(rare) + [f"{name}={MISSING}"] * gaps
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """One-hot columns."""
        texts = _as_texts(frame_of(X))
        codes, missing = _codes(texts, self.levels_), texts.select(pl.all().is_null()).to_numpy()
        start = 0
        for j, (levels, rare, gaps) in enumerate(zip(self.levels_, self.rare_, self.gaps_, strict=True)):
            new = start + len(levels) if rare else -1
            gap = start + len(levels) + bool(rare) if gaps else -1
            codes[:, j] = np.where(codes[:, j] >= 0, codes[:, j] + start, np.where(missing[:, j], gap, new))
            start += len(levels) + bool(rare) + gaps
        known = codes >= 0
        ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        places = codes[known]
        kind = np.int32 if max(len(places), start) < 2**31 else np.int64
        values = np.ones(len(places))
        return sparse.csr_array((values, places.astype(kind), ends.astype(kind)), shape=(len(codes), start))

    def unseen(self, X: Any) -> dict[str, dict[str, int]]:
        """The levels of each column that fit did not see, and their counts."""
        return _count_unseen(self._columns(X), self.seen())

    def seen(self) -> list[list[str]]:
        """All levels of each column that fit saw."""
        return [levels + rare for levels, rare in zip(self.levels_, self.rare_, strict=True)]


class TargetMeans(Block):
    """Target encoding: the mean target of a level, shrunk towards the overall mean.

    A level of n rows with mean m and variance v is encoded as ``w m + (1 - w) M`` with ``w = n V / (n V + v)``, where M
    and V are mean and variance of all rows: scikit-learn's `TargetEncoder` with ``smooth="auto"``. With more than two
    classes the indicator of each class is a target.

    `fit_transform` encodes each row by the means of the *other* folds (cross-fitting); `transform` encodes new rows by
    the means of all. A new level gets the overall mean; missing values are a level.

    Parameters
    ----------
    task : "auto", "regression" or "classification"
    folds : int, default=5
        Folds of `fit_transform`.
    random_state : seed of the folds.

    Attributes
    ----------
    levels_ : for each column, the levels.
    means_ : for each column, an array of levels, then the missing ones, by targets.
    overall_ : mean of each target.
    classes_ : the classes, or None where the target is a number.
    """

    def __init__(self, *, task: str = "auto", folds: int = 5, random_state: Any = None) -> None:
        self.task = task
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "TargetMeans":
        """Learn the means of all rows."""
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Floats:
        """Means of the other folds."""
        codes, targets = self._learn(X, y)
        rows = len(targets)
        fold = np.empty(rows, dtype=np.int64)
        fold[check_random_state(self.random_state).permutation(rows)] = np.arange(rows) % min(self.folds, rows)
        out = np.empty((rows, len(self.names_out_)))
        for k in range(min(self.folds, rows)):
            here, others = fold == k, fold != k
            if not others.any():
                others = here
            overall = targets[others].mean(axis=0)
            parts = [
                _shrink_means(code[others], len(levels) + 1, targets[others], overall)[code[here]]
                for code, levels in zip(codes, self.levels_, strict=True)
            ]
            out[here] = np.hstack(parts)
        return out

    def transform(self, X: Any) -> Floats:
        """Means of all rows of fit."""
        codes = self._encode_with_missing(frame_of(X))
        return np.hstack(
            [np.vstack([means, self.overall_])[code] for code, means in zip(codes, self.means_, strict=True)]
        )

    def unseen(self, X: Any) -> dict[str, dict[str, int]]:
        """The levels of each column that fit did not see, and their counts."""
        return _count_unseen(self._columns(X), self.levels_)

    def seen(self) -> list[list[str]]:
        """All levels of each column that fit saw."""
        return list(self.levels_)

    def _learn(self, X: Any, y: Any) -> tuple[list[Any], Floats]:
        frame, y = self._names(X), np.asarray(y)
        self.levels_ = [sorted(series.drop_nulls().unique().to_list()) for series in _as_texts(frame).get_columns()]
        self.classes_ = None if self._is_number(y) else np.unique(y)
        ends = [""]
        if self.classes_ is None:
            targets = y.astype(np.float64).reshape(-1, 1)
        else:
            shown = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
            targets = (y[:, None] == shown[None, :]).astype(np.float64)
            ends = [""] if len(shown) == 1 else [f" of {c}" for c in shown]
        self.overall_ = targets.mean(axis=0)
        codes = self._encode_with_missing(frame)
        self.means_ = [
            _shrink_means(code, len(levels) + 1, targets, self.overall_)
            for code, levels in zip(codes, self.levels_, strict=True)
        ]
        self.names_out_ = [f"{name}: mean target{end}" for name in self.names_ for end in ends]
        return codes, targets

    def _is_number(self, y: Any) -> bool:
        if self.task != "auto":
            return self.task == "regression"
        try:
            return infer_task(y)[0] == "regression"
        except TableError:  # one value in all rows
            return y.dtype.kind in "fiu"

    def _encode_with_missing(self, frame: pl.DataFrame) -> list[Integers]:
        # missing values get the index after the levels, new levels the next one
        texts = _as_texts(frame)
        codes, missing = _codes(texts, self.levels_), texts.select(pl.all().is_null()).to_numpy()
        sizes = [len(levels) for levels in self.levels_]
        return [
            np.where(c >= 0, c, np.where(gap, n, n + 1)) for c, gap, n in zip(codes.T, missing.T, sizes, strict=True)
        ]


def _shrink_means(code: Any, levels: int, targets: Floats, overall: Floats) -> Floats:
    """Means of the targets by level; a level without rows has the mean of all."""
    counts = np.bincount(code, minlength=levels).astype(np.float64)[:, None]
    total = targets.var(axis=0)
    sums = np.column_stack([np.bincount(code, column, levels) for column in targets.T])
    means = sums / np.maximum(counts, 1.0)
    apart = (targets - means[code]) ** 2
    within = np.column_stack([np.bincount(code, column, levels) for column in apart.T]) / np.maximum(counts, 1.0)
    scale = counts * total + within
    weight = np.divide(counts * total, scale, out=np.zeros_like(scale), where=scale > 0)
    return weight * means + (1.0 - weight) * overall


def _as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    others = [as_text(series) for series in frame.get_columns() if series.dtype != pl.String]
    return frame.with_columns(others) if others else frame


def _codes(texts: pl.DataFrame, levels: Sequence[Sequence[str]]) -> Integers:
    """Indices of values among the levels of their column, -1 for others."""
    places = [
        pl.col(name).cast(pl.Enum(known), strict=False).to_physical().cast(pl.Int64).fill_null(-1)
        if known
        else pl.lit(-1, pl.Int64).repeat_by(pl.len()).explode().alias(name)
        for name, known in zip(texts.columns, levels, strict=True)
    ]
    return np.array(texts.select(places).to_numpy(), order="F")


def _count_unseen(columns: list[pl.Series], levels: list[list[str]]) -> dict[str, dict[str, int]]:
    unseen = {}
    for series, known in zip(columns, levels, strict=True):
        text = as_text(series).drop_nulls()
        new = text.filter(~text.is_in(known))
        if len(new):
            unseen[series.name] = dict(sorted(new.value_counts().iter_rows(), key=lambda item: (-item[1], item[0])))
    return unseen
