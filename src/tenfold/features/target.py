"""The target of a table, and inference of the task: regression or classification."""

import difflib
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.data.errors import Decision, TableError, some
from tenfold.features.dtypes import as_text
from tenfold.features.frames import frame_of, pl, series_of
from tenfold.features.number_formats import NumberFormat, parse_numbers
from tenfold.features.schema import infer_schema

MAX_CODES, MIN_ROWS_PER_CODE = 20, 3  # distinct whole numbers that are classes, and samples of each in the mean
MAX_GAPPED_CODES, MIN_ROWS_PER_GAPPED_CODE = 10, 20  # codes with gaps between them, such as 1, 2, 3, 4, 5, 7


@dataclass(frozen=True, eq=False)
class Target:
    """A table without its target, the target, and the task.

    Attributes
    ----------
    frame : polars.DataFrame, the other columns of the rows whose target is known.
    y : array of numbers (regression) or of labels.
    rows : array of the indices of the rows that have a target.
    task : "regression", "binary" or "multiclass"; `reason` in words.
    decisions : tuple of Decision
    """

    frame: pl.DataFrame
    y: Any
    rows: Any
    task: str
    reason: str
    decisions: tuple[Decision, ...]


def split_target(table: Any, target: str, *, task: str = "auto") -> Target:
    """Separate the target from a table, without the rows where it is missing.

    Parameters
    ----------
    table : frame, or `Reading`
    target : name of its column.
    task : "auto", "regression", "classification", "binary" or "multiclass"

    Raises
    ------
    TableError
        Where there is no such column (the nearest name is suggested), or it is constant, empty, or text that is
        different in every row.

    Examples
    --------
    >>> import polars as pl
    >>> from tenfold.features import split_target
    >>> found = split_target(pl.DataFrame({"x": [1, 2, 3, 4], "y": ["no", "yes", None, "no"]}), "y")
    >>> found.task, found.y.tolist(), found.frame["x"].to_list()
    ('binary', ['no', 'yes', 'no'], [1, 2, 4])
    """
    frame = frame_of(getattr(table, "frame", table))
    if target not in frame.columns:
        near = difflib.get_close_matches(target, frame.columns, n=1, cutoff=0.5)
        folded = [name for name in frame.columns if name.lower() == target.lower()]
        hint = f" Did you mean {(folded or near)[0]!r}?" if folded or near else ""
        raise TableError(f"there is no column {target!r} for a target.{hint} The table has {some(frame.columns, 10)}.")
    column = frame[target]
    known = column.is_not_null()
    if column.dtype == pl.String and not known.all():
        known &= column.str.strip_chars() != ""
    if not known.any():
        raise TableError("the target has no values. Choose another column.", column=target)
    decisions = []
    lost = frame.height - int(known.sum())
    if lost:
        sentence = f"{lost} of {frame.height} rows ({lost / frame.height:.1%}) left out, because the target is missing"
        decisions.append(Decision("target", sentence, target))
        frame = frame.filter(known)
    rows = np.flatnonzero(known.to_numpy())
    values = _values(frame[target])
    try:
        inferred, reason = infer_task(values)
        if task not in ("auto", inferred):
            inferred, reason = _check_task(task, values), "as asked"
    except TableError as error:
        raise TableError(error.what, column=target) from None
    if inferred == "regression":
        y = np.asarray(values, dtype=np.float64)
    else:
        y = np.asarray(values if values.dtype.kind in "iub" else as_text(frame[target]).to_list())
    decisions.append(Decision("task", f"{inferred}: {reason}", target))
    return Target(frame.drop(target), y, rows, inferred, reason, tuple(decisions))


def _values(column: pl.Series) -> Any:
    """The target as numbers where it is numeric, also formatted as text, else as text."""
    if column.dtype == pl.String:
        kind = infer_schema(column.to_frame())[column.name]
        if kind.numerals is not None:
            return parse_numbers(column, NumberFormat(*kind.numerals)).to_numpy()
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.to_numpy()
    if column.dtype.is_temporal():
        raise TableError("the target is a date, which no model here predicts. Take the days since a day instead.")
    return np.asarray(as_text(column).to_list(), dtype=object)


def _check_task(task: str, values: Any) -> str:
    number = values.dtype.kind in "fiub"
    distinct = len(np.unique(values)) if number else len(set(values.tolist()))
    if task == "regression":
        if not number:
            raise TableError(f"regression needs numbers, but the target has values such as {values[0]!r}.")
        return task
    if task not in ("classification", "binary", "multiclass"):
        raise ValueError(f"task is auto, regression, classification, binary or multiclass, not {task!r}.")
    if task == "binary" and distinct != 2:
        raise TableError(f"a binary target has two values, but this one has {distinct}.")
    return "binary" if distinct == 2 else "multiclass"


def infer_task(y: Any) -> tuple[str, str]:
    """Infer from a target whether the task is regression or classification, with the reason.

    Returns
    -------
    ("regression" | "binary" | "multiclass", reason)

    Notes
    -----
    Text and booleans are classes. So are two distinct numbers, and consecutive integers, at most 20 and with three rows
    each on average. Integers with gaps are classes where they begin at 0 or 1, at most a third of the range is absent,
    and they are at most 10, with twenty rows each on average: 1, 2, 3, 4, 5, 7. All other numbers are regression
    targets. Ratings from 1 to 5 may be either: the reason says how to overrule the inference.

    Examples
    --------
    >>> from tenfold.features import infer_task
    >>> infer_task([0, 1, 1, 0])
    ('binary', '2 different values, 0 and 1')
    >>> infer_task([0.5, 1.25, 3.0])
    ('regression', 'numbers, 3 different ones from 0.5 to 3')
    """
    values = np.asarray(y)
    if values.ndim != 1:
        values = values.ravel()
    if values.dtype == object:
        values = series_of("y", values).to_numpy() if len(values) else values
    given = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    given = given[np.asarray([v is not None for v in given], dtype=bool)] if values.dtype == object else given
    if not len(given):
        raise TableError("the target has no values. Choose another column.")
    if values.dtype.kind in "fiu":
        return _number_task(given)
    labels = sorted({str(v) for v in given.tolist()})
    if len(labels) == 1:
        raise TableError(_constant_error(labels[0], len(given)))
    if len(labels) == len(given) and len(given) > 2:
        raise TableError(
            f"the target is text that is different in each of the {len(given)} rows, such as {labels[0]!r}: nothing "
            "can be learned from it. Choose another column."
        )
    if len(labels) == 2:
        return "binary", f"2 different values, {labels[0]} and {labels[1]}"
    return "multiclass", f"{len(labels)} different labels"


def _number_task(given: Any) -> tuple[str, str]:
    if not np.isfinite(given).all():
        raise TableError("the target has infinite numbers. Correct them, or take them as missing.")
    distinct = np.unique(given)
    low, high = distinct[0], distinct[-1]
    if len(distinct) == 1:
        raise TableError(_constant_error(f"{low:g}", len(given)))
    if len(distinct) == 2:
        return "binary", f"2 different values, {low:g} and {high:g}"
    if not bool((distinct == np.floor(distinct)).all()) or len(distinct) > MAX_CODES:
        return "regression", f"numbers, {len(distinct)} different ones from {low:g} to {high:g}"
    if _are_codes(distinct, len(given)):
        reason = f"the whole numbers {_format_values(distinct)}, taken for codes of {len(distinct)} classes"
        return "multiclass", f"{reason}; where they are ratings, counts or amounts, say --task regression"
    reason = f"numbers, {len(distinct)} different ones from {low:g} to {high:g}"
    return "regression", f"{reason}, all whole; where they are codes of classes, say --task classification"


def _are_codes(distinct: Any, rows: int) -> bool:
    """Whether integers are codes of classes: consecutive, or with few gaps from 0 or 1 on and many rows each."""
    low, high = distinct[0], distinct[-1]
    span = high - low + 1
    if span == len(distinct):
        return bool(len(distinct) * MIN_ROWS_PER_CODE <= rows)
    gapped = low in (0, 1) and len(distinct) <= MAX_GAPPED_CODES and 2 * span <= 3 * len(distinct)
    return bool(gapped and len(distinct) * MIN_ROWS_PER_GAPPED_CODE <= rows)


def _format_values(distinct: Any) -> str:
    low, high = distinct[0], distinct[-1]
    if high - low + 1 == len(distinct):
        return f"{low:g} to {high:g}"
    return ", ".join(f"{value:g}" for value in distinct[:-1]) + f" and {high:g}"


def _constant_error(value: str, rows: int) -> str:
    return f"the target has the same value, {value}, in all {rows} rows. Choose another column."
