"""Out-of-fold mistakes with the largest confidence, or the largest residuals."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenfold.cli.load_table import LoadedTable
from tenfold.selection import Result

MAX_SAMPLES, MAX_COLUMNS, MAX_EXAMINED = 15, 4, 500  # samples and columns of the table, of so many worst ones


def list_wrong_samples(result: Result, table: LoadedTable, columns: Sequence[str]) -> dict[str, Any]:
    """Held-out samples with their row in the file, the true and the predicted target, and some columns.

    Of classes, the mistakes with the largest confidence (probability of the predicted class, or the margin where the
    model has no probabilities); of numbers, the largest residuals. The first few of `columns` are shown.
    """
    tested = np.flatnonzero(result.tested)
    y, predicted = table.y[tested], result.predictions[tested]
    if result.classes is None:
        residual = y - predicted.astype(np.float64)
        order, name = np.argsort(-np.abs(residual), kind="stable"), "residual"
        size, wrong = residual, None
    else:
        size, name = _confidence(result, tested)
        mistakes = np.flatnonzero(predicted != y)
        order, wrong = mistakes[np.argsort(-size[mistakes], kind="stable")], len(mistakes)
    shown = [name for name in columns if name in table.frame.columns][:MAX_COLUMNS]
    rows = [
        {
            "row": int(table.rows[tested[index]]),
            "true": _plain(y[index]),
            "predicted": _plain(predicted[index]),
            "size": float(size[index]),
            "values": [_plain(table.frame[column][int(tested[index])]) for column in shown],
            "alike": equal,
        }
        for index, equal in _distinct(order[:MAX_EXAMINED], tested, table)
    ]
    return {"size": name, "columns": shown, "rows": rows, "wrong": wrong, "samples": len(tested)}


def _distinct(order: Any, tested: Any, table: LoadedTable) -> list[tuple[int, int]]:
    """The first distinct samples (columns and target), each with the number of its duplicates."""
    equal: dict[Any, list[int]] = {}
    for index in order.tolist():
        row = int(tested[index])
        equal.setdefault((*map(str, table.frame.row(row)), str(table.y[row])), []).append(index)
    return [(indices[0], len(indices) - 1) for indices in equal.values()][:MAX_SAMPLES]


def _confidence(result: Result, tested: Any) -> tuple[Any, str]:
    if result.probabilities is not None:
        return np.max(result.probabilities[tested], axis=1), "probability"
    if result.decisions is None:
        return np.zeros(len(tested)), "margin"
    scores = result.decisions[tested]
    if scores.ndim == 1:
        return np.abs(scores), "margin"
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2], "margin"


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, bool | int | float) else str(value)
