"""Detection of target leakage: columns that predict the target alone.

The explained share is computed leave-one-out: numbers are cut into bins of equal counts, missing values are one bin,
and a row is predicted by the other rows of its bin or level. Tied values count by their class frequencies, so that the
result does not depend on the order of the rows.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.data.errors import TableError
from tenfold.features.dtypes import as_text, cast_columns
from tenfold.features.frames import frame_of, pl
from tenfold.features.profiles import DAY
from tenfold.features.schema import ColumnType, Declared, infer_schema
from tenfold.features.target import infer_task, split_target

PERFECT = 0.999  # fraction of the variance or of the errors that one column explains: it is the target
STRONG, STRONG_CLASSES = 0.8, 0.95  # the same for a strong suspicion, of numbers and of classes
MAX_RULED_OUT = 0.5  # fraction of variance or errors that neighbours must remove; below it a column is ruled out
MAX_BINS, MIN_ROWS_PER_BIN = 100, 20  # of a column's values, for the variance between bins
BLOCK_VALUES = 1 << 22  # values that are sorted at a time: 32 MiB
NUMERIC = ("number", "count", "date", "boolean")
EXAMINED = (*NUMERIC, "ordinal", "category", "identifier")


@dataclass(frozen=True)
class Suspect:
    """A column that predicts the target alone.

    Attributes
    ----------
    column : its name.
    severity : "leak" (all but perfect) or "strong" (is it known when predictions are made?).
    explained : share of the variance, or of the errors of the majority class, that it removes in leave-one-out.
    correlation : of numbers with a number, or None.
    sentence : in words.
    """

    column: str
    severity: str
    explained: float
    correlation: float | None
    sentence: str

    def __str__(self) -> str:
        return f"{self.column}: {self.sentence}"


def suspects(
    table: Any, target: Any, *, types: Declared = None, ordinal: Any = None, task: str = "auto"
) -> tuple[Suspect, ...]:
    """Columns that predict the target alone, perfectly or strongly, the strongest first.

    Parameters
    ----------
    table : frame or `Reading`
    target : name of a column, or an array beside the table.
    types, ordinal : see `infer_schema`.
    task : "auto", "regression", "classification", "binary" or "multiclass"

    Returns
    -------
    tuple of Suspect
        "leak": a correlation beyond 0.999, or at least 99.9 % explained. "strong": at least 80 % of the variance of a
        number, or 95 % of the errors of the most frequent class.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from tenfold.features import suspects
    >>> y = np.random.default_rng(0).standard_normal(200)
    >>> table = pl.DataFrame({"y": y, "doubled": 2 * y + 1, "noise": np.random.default_rng(1).standard_normal(200)})
    >>> print(*suspects(table, "y"))  # doctest: +NORMALIZE_WHITESPACE
    doubled: predicts the target all but perfectly (explains 100.0% of the variance of the target, correlation 1.000):
    has it been computed from it?
    """
    if isinstance(target, str):
        parts = split_target(table, target, task=task)
        frame, y, task = parts.frame, parts.y, parts.task
    else:
        frame, y = frame_of(getattr(table, "frame", table)), np.asarray(target)
        if len(y) != frame.height:
            raise TableError(f"the target has {len(y)} values, but the table has {frame.height} rows.")
        task = infer_task(y)[0] if task == "auto" else task
    if task == "regression":
        about = _Target(y.astype(np.float64), _midranks(y.astype(np.float64)))
    else:
        about = _Target(np.unique(y, return_inverse=True)[1], None)
    schema = infer_schema(frame, types=types, ordinal=ordinal)
    kinds = dict(frame.schema)
    columns = [_as_numeric(c, kinds[c.name]) for c in schema.columns if c.kind in EXAMINED]
    values = cast_columns(frame, columns)
    excluded = _rule_out(values, [column.name for column in columns if column.kind == "number"], about)
    remaining = [column for column in columns if column.name not in excluded]
    examined = (_examine(values.get_column(column.name), column, about) for column in remaining)
    return tuple(sorted((one for one in examined if one is not None), key=lambda s: -s.explained))


@dataclass(frozen=True)
class _Target:
    """Numbers with their ranks, or class indices without ranks."""

    values: Any
    ranks: Floats | None


def _as_numeric(column: ColumnType, kind: Any) -> ColumnType:
    """The column; a numeric identifier as a number."""
    return replace(column, kind="number") if column.kind == "identifier" and kind.is_numeric() else column


def _rule_out(frame: pl.DataFrame, names: list[str], target: _Target) -> set[str]:
    """Complete numeric columns that an upper bound rules out, many at once, so that few are examined in full.

    Rows are sorted by the column, ties by the target, which bounds every order of ties. Regression: the variance that
    bins explain. Classification: the number of rows with the class of a neighbour.
    """
    order = np.argsort(target.values, kind="stable")
    y, n = target.values[order], frame.height
    excluded: set[str] = set()
    complete = [name for name in names if not frame.get_column(name).null_count()] if n >= MIN_ROWS_PER_BIN else []
    bins = _bins_of(n)
    starts = n * np.arange(bins) // bins
    columns_at_once = max(1, BLOCK_VALUES // max(n, 1))
    for first in range(0, len(complete), columns_at_once):
        block = complete[first : first + columns_at_once]
        ordered = y[np.argsort(frame.select(block).to_numpy()[order], axis=0, kind="stable")]
        if target.ranks is not None:
            sums = np.add.reduceat(ordered - y.mean(), starts, axis=0)
            between = np.sum(sums**2 / np.diff(starts, append=n)[:, None], axis=0)
            is_far = between < MAX_RULED_OUT * np.sum((y - y.mean()) ** 2)
        else:
            same, alone = ordered[1:] == ordered[:-1], np.zeros((1, len(block)), dtype=bool)
            alike = np.vstack([same, alone]) | np.vstack([alone, same])
            most = int(np.bincount(y).max())
            is_far = alike.sum(axis=0) - most < MAX_RULED_OUT * (n - most)
        excluded.update(name for name, yes in zip(block, is_far, strict=True) if yes)
    return excluded


def _bins_of(rows: int) -> int:
    return max(2, min(MAX_BINS, rows // MIN_ROWS_PER_BIN))


def _examine(series: pl.Series, column: ColumnType, target: _Target) -> Suspect | None:
    """The suspect, if the column predicts the target; the series has its type."""
    y, number = target.values, target.ranks is not None
    shares: dict[str, float] = {}
    correlation = None
    if column.kind in NUMERIC:
        values = ((series.cast(pl.Int64) / DAY) if column.kind == "date" else series).to_numpy()
        group = _bins(values)
        if target.ranks is not None:
            correlation, ranked = _correlation(values, y), _correlation(_midranks(values), target.ranks)
            shares = {f"correlation {correlation:.3f}": correlation**2, f"rank correlation {ranked:.3f}": ranked**2}
        else:
            shares = {"by the nearest value": _errors_removed_by_neighbours(values, y)}
    else:
        group = as_text(series).rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    shares = {"": _variance_explained(group, y) if number else _errors_removed(group, y), **shares}
    # of equal shares the first: linear before rank correlation
    shown = max(shares, key=lambda how: round(shares[how], 6))
    explained = round(shares[shown], 12)  # rounding depends on the order of the sums
    if explained < (STRONG if number else STRONG_CLASSES):
        return None
    what = "of the variance of the target" if number else "of the errors of always guessing the most frequent class"
    verb = "explains" if number else "removes"
    effect = f"{verb} {explained:.{1 if explained > 0.99 else 0}%} {what}" + (f", {shown}" if shown else "")
    if explained >= PERFECT or abs(correlation or 0.0) > PERFECT:
        sentence = f"predicts the target all but perfectly ({effect}): has it been computed from it?"
        return Suspect(column.name, "leak", explained, correlation, sentence)
    sentence = f"alone {effect}: strong; is it known at prediction time?"
    return Suspect(column.name, "strong", explained, correlation, sentence)


def _midranks(values: Floats) -> Floats:
    """Ranks from 1 on, ties at their mean rank; NaN for missing values."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1))[place]
    ranks[np.isnan(values)] = np.nan
    return ranks


def _errors_removed_by_neighbours(values: Floats, y: Integers) -> float:
    """As `_errors_removed`, with each row predicted by a random one of the other rows with the nearest value.

    This is the expected value: ties count by their class frequencies.
    """
    known = ~np.isnan(values)
    wrong = len(y) - int(np.bincount(y).max())
    if known.sum() < 3 or not wrong:
        return 0.0
    levels, code, sizes = np.unique(values[known], return_inverse=True, return_counts=True)
    classes = int(y.max()) + 1
    pairs, counts = np.unique(code * classes + y[known], return_counts=True)
    level, label = np.divmod(pairs, classes)
    size = sizes[level]
    many = size > 1
    right = np.sum(counts[many] * (counts[many] - 1.0) / (size[many] - 1.0))

    def share(of: Integers, label: Integers) -> Floats:
        place = np.minimum(np.searchsorted(pairs, of * classes + label), len(pairs) - 1)
        return np.where(pairs[place] == of * classes + label, counts[place] / sizes[of], 0.0)

    level, label = level[~many], label[~many]
    if len(levels) > 1:
        steps = np.diff(0.5 * levels)  # halved, so that the difference of two large numbers does not overflow
        below, above = np.append(np.inf, steps)[level], np.append(steps, np.inf)[level]
        lower = np.where(below <= above, share(np.maximum(level - 1, 0), label), 0.0)
        upper = np.where(above <= below, share(np.minimum(level + 1, len(levels) - 1), label), 0.0)
        right += np.sum((lower + upper) / np.where(below == above, 2.0, 1.0))
    return float(right - (len(y) - wrong)) / wrong


def _bins(values: Floats) -> Integers:
    """Bins of about equal counts, or one for each value where these are few; missing values are bin 0."""
    given = np.sort(values[~np.isnan(values)])
    bins = _bins_of(len(given))
    edges = np.unique(given)
    if len(edges) > bins:
        edges = np.unique(given[len(given) * np.arange(bins) // bins])
    return np.where(np.isnan(values), 0, np.searchsorted(edges, values, side="right"))


def _correlation(values: Floats, y: Floats) -> float:
    known = ~np.isnan(values)
    if known.sum() < 3:
        return 0.0
    a, b = values[known] - values[known].mean(), y[known] - y[known].mean()
    scale = np.sqrt(np.sum(a * a) * np.sum(b * b))
    # missing values explain nothing
    return round(float(np.sum(a * b) / scale * np.sqrt(known.mean())), 12) if scale > 0 else 0.0


def _variance_explained(group: Integers, y: Floats) -> float:
    counts = np.bincount(group).astype(np.float64)
    means = np.bincount(group, y) / np.maximum(counts, 1.0)
    n, centred = counts[group], y - y.mean()
    # the mean of the others in the group; of all rows where the group is a single row
    residual = np.where(n > 1, (y - means[group]) * n / np.maximum(n - 1.0, 1.0), centred)
    total = np.sum(centred * centred)
    return float(1.0 - np.sum(residual * residual) / total) if total > 0 else 0.0


def _errors_removed(group: Integers, y: Integers) -> float:
    classes = int(y.max()) + 1
    table = np.bincount(group * classes + y, minlength=(int(group.max()) + 1) * classes).reshape(-1, classes)
    right = 0
    for c in range(classes):
        # a row of class c is predicted correctly where c is the majority of the others in its group
        others = np.delete(table, c, axis=1).max(axis=1)
        right += int(table[table[:, c] - 1 > others, c].sum())
    wrong = len(y) - int(np.bincount(y).max())
    return (right - (len(y) - wrong)) / wrong if wrong else 0.0
