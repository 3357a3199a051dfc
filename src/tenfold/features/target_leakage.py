"""Columns that predict the target alone: a leak, or at least a question.

What a column explains alone is measured by leaving one row out: numbers are cut into bins of equal counts, missing
values are a bin of their own, and a row is predicted by the other rows of its bin or level. Rows with equal values
count by the shares of their classes, so that the order of the rows, sorted by class or not, changes nothing.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.data.errors import TableError
from tenfold.features.dtypes import as_text, typed
from tenfold.features.frames import frame_of, pl
from tenfold.features.profiles import DAY
from tenfold.features.schema import ColumnType, Declared, infer_schema
from tenfold.features.target import infer_task, split_target

PERFECT, STRONG, STRONG_CLASSES = 0.999, 0.8, 0.95
SURELY_NOT = 0.5
MOST_BINS, ROWS_A_BIN, BLOCK = 100, 20, 1 << 22
MEASURED = ("number", "count", "date", "boolean")
LOOKED_AT = (*MEASURED, "ordinal", "category", "identifier")


@dataclass(frozen=True)
class Suspect:
    """A column that predicts the target alone.

    Attributes
    ----------
    column : its name.
    severity : "leak" (all but perfect) or "strong" (is it known when predictions are made?).
    explained : share of the variance, or of the errors of always guessing the most frequent class, that it removes in
        rows left out.
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
    """Columns that predict the target alone almost perfectly, or strongly: the worst first.

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
        found = split_target(table, target, task=task)
        frame, y, task = found.frame, found.y, found.task
    else:
        frame, y = frame_of(getattr(table, "frame", table)), np.asarray(target)
        if len(y) != frame.height:
            raise TableError(f"the target has {len(y)} values, but the table has {frame.height} rows.")
        task = infer_task(y)[0] if task == "auto" else task
    if task == "regression":
        about = _Target(y.astype(np.float64), _ranks(y.astype(np.float64)))
    else:
        about = _Target(np.unique(y, return_inverse=True)[1], None)
    schema = infer_schema(frame, types=types, ordinal=ordinal)
    kinds = dict(frame.schema)
    columns = [_measurable(c, kinds[c.name]) for c in schema.columns if c.kind in LOOKED_AT]
    measured = typed(frame, columns)
    far = _far_from_suspicion(measured, [column.name for column in columns if column.kind == "number"], about)
    near = [column for column in columns if column.name not in far]
    looked_at = (_looked_at(measured.get_column(column.name), column, about) for column in near)
    return tuple(sorted((one for one in looked_at if one is not None), key=lambda s: -s.explained))


@dataclass(frozen=True)
class _Target:
    """Numbers with their ranks, or classes from 0 on and no ranks."""

    values: Any
    ranks: Floats | None


def _measurable(column: ColumnType, kind: Any) -> ColumnType:
    """The column, and keys that are numbers as numbers."""
    return replace(column, kind="number") if column.kind == "identifier" and kind.is_numeric() else column


def _far_from_suspicion(frame: pl.DataFrame, names: list[str], target: _Target) -> set[str]:
    """Columns of numbers, none missing, that are no suspects: many at once, so that few need a long look.

    Rows stand in the order of a column, equal values in the order of the target: the most that any order of them could
    show. A number: what its bins explain of the target. A class: how many rows are like one of their neighbours.
    """
    order = np.argsort(target.values, kind="stable")
    y, n = target.values[order], frame.height
    found: set[str] = set()
    full = [name for name in names if not frame.get_column(name).null_count()] if n >= ROWS_A_BIN else []
    bins = _bins_of(n)
    starts = n * np.arange(bins) // bins
    many = max(1, BLOCK // max(n, 1))
    for first in range(0, len(full), many):
        block = full[first : first + many]
        ordered = y[np.argsort(frame.select(block).to_numpy()[order], axis=0, kind="stable")]
        if target.ranks is not None:
            sums = np.add.reduceat(ordered - y.mean(), starts, axis=0)
            between = np.sum(sums**2 / np.diff(starts, append=n)[:, None], axis=0)
            far = between < SURELY_NOT * np.sum((y - y.mean()) ** 2)
        else:
            same, alone = ordered[1:] == ordered[:-1], np.zeros((1, len(block)), dtype=bool)
            alike = np.vstack([same, alone]) | np.vstack([alone, same])
            most = int(np.bincount(y).max())
            far = alike.sum(axis=0) - most < SURELY_NOT * (n - most)
        found.update(name for name, yes in zip(block, far, strict=True) if yes)
    return found


def _bins_of(rows: int) -> int:
    return max(2, min(MOST_BINS, rows // ROWS_A_BIN))


def _looked_at(series: pl.Series, column: ColumnType, target: _Target) -> Suspect | None:
    """The column, if it predicts the target; the series is as its type says."""
    y, number = target.values, target.ranks is not None
    shares: dict[str, float] = {}
    correlation = None
    if column.kind in MEASURED:
        values = ((series.cast(pl.Int64) / DAY) if column.kind == "date" else series).to_numpy()
        group = _bins(values)
        if target.ranks is not None:
            correlation, ranked = _correlation(values, y), _correlation(_ranks(values), target.ranks)
            shares = {f"correlation {correlation:.3f}": correlation**2, f"rank correlation {ranked:.3f}": ranked**2}
        else:
            shares = {"by the nearest value": _errors_of_neighbours(values, y)}
    else:
        group = as_text(series).rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    shares = {"": _variance_explained(group, y) if number else _errors_removed(group, y), **shares}
    # the first of equals: a straight line before an order of ranks
    shown = max(shares, key=lambda how: round(shares[how], 6))
    explained = round(shares[shown], 12)  # sums in another order differ in their last digits
    if explained < (STRONG if number else STRONG_CLASSES):
        return None
    what = "of the variance of the target" if number else "of the errors of always guessing the most frequent class"
    verb = "explains" if number else "removes"
    said = f"{verb} {explained:.{1 if explained > 0.99 else 0}%} {what}" + (f", {shown}" if shown else "")
    if explained >= PERFECT or abs(correlation or 0.0) > PERFECT:
        sentence = f"predicts the target all but perfectly ({said}): has it been computed from it?"
        return Suspect(column.name, "leak", explained, correlation, sentence)
    sentence = f"alone {said}: strong; is it known at prediction time?"
    return Suspect(column.name, "strong", explained, correlation, sentence)


def _ranks(values: Floats) -> Floats:
    """From 1 on, equal values sharing the mean of their places; what is missing has none."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1))[place]
    ranks[np.isnan(values)] = np.nan
    return ranks


def _errors_of_neighbours(values: Floats, y: Integers) -> float:
    """As `_errors_removed`, each row predicted by a random one of the other rows with the nearest value.

    The expected number of right predictions: rows with equal values count by the shares of their classes, whatever
    their order.
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
        steps = np.diff(0.5 * levels)  # halved: the difference of two large numbers stays finite
        below, above = np.append(np.inf, steps)[level], np.append(steps, np.inf)[level]
        lower = np.where(below <= above, share(np.maximum(level - 1, 0), label), 0.0)
        upper = np.where(above <= below, share(np.minimum(level + 1, len(levels) - 1), label), 0.0)
        right += np.sum((lower + upper) / np.where(below == above, 2.0, 1.0))
    return float(right - (len(y) - wrong)) / wrong


def _bins(values: Floats) -> Integers:
    """Bins of about equal counts, all different values where they are few; missing values are bin 0."""
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
    # rows without a value are not explained
    return round(float(np.sum(a * b) / scale * np.sqrt(known.mean())), 12) if scale > 0 else 0.0


def _variance_explained(group: Integers, y: Floats) -> float:
    counts = np.bincount(group).astype(np.float64)
    means = np.bincount(group, y) / np.maximum(counts, 1.0)
    n, centred = counts[group], y - y.mean()
    # the mean of the others in the group; a row that is alone has that of all
    residual = np.where(n > 1, (y - means[group]) * n / np.maximum(n - 1.0, 1.0), centred)
    total = np.sum(centred * centred)
    return float(1.0 - np.sum(residual * residual) / total) if total > 0 else 0.0


def _errors_removed(group: Integers, y: Integers) -> float:
    classes = int(y.max()) + 1
    table = np.bincount(group * classes + y, minlength=(int(group.max()) + 1) * classes).reshape(-1, classes)
    right = 0
    for c in range(classes):
        # a row of class c is right where the others of its group have that class most often
        others = np.delete(table, c, axis=1).max(axis=1)
        right += int(table[table[:, c] - 1 > others, c].sum())
    wrong = len(y) - int(np.bincount(y).max())
    return (right - (len(y) - wrong)) / wrong if wrong else 0.0
