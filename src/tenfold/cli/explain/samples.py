"""The wrong samples worth looking at: the surest mistakes, or the largest errors, out of fold."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenfold.cli.load_table import Prepared
from tenfold.selection import Result

MOST, COLUMNS, LOOKED_AT = 15, 4, 500


def list_wrong_samples(result: Result, table: Prepared, columns: Sequence[str]) -> dict[str, Any]:
    """Of samples that the model had not seen: the row in the file, the truth, the prediction, and some columns.

    Of classes, the mistakes with the largest confidence (probability of the predicted class, or the margin where the
    model has no probabilities); of numbers, the largest residuals. `columns` are those shown beside, the first few.
    """
    seen = np.flatnonzero(result.tested)
    y, predicted = table.y[seen], result.predictions[seen]
    if result.classes is None:
        residual = y - predicted.astype(np.float64)
        worst, name = np.argsort(-np.abs(residual), kind="stable"), "residual"
        size, wrong = residual, None
    else:
        size, name = _confidence(result, seen)
        mistakes = np.flatnonzero(predicted != y)
        worst, wrong = mistakes[np.argsort(-size[mistakes], kind="stable")], len(mistakes)
    shown = [name for name in columns if name in table.frame.columns][:COLUMNS]
    rows = [
        {
            "row": int(table.rows[seen[place]]),
            "true": _plain(y[place]),
            "predicted": _plain(predicted[place]),
            "size": float(size[place]),
            "values": [_plain(table.frame[column][int(seen[place])]) for column in shown],
            "alike": alike,
        }
        for place, alike in _distinct(worst[:LOOKED_AT], seen, table)
    ]
    return {"size": name, "columns": shown, "rows": rows, "wrong": wrong, "samples": len(seen)}


def _distinct(worst: Any, seen: Any, table: Prepared) -> list[tuple[int, int]]:
    """The first samples that differ in some column or in the target, each with how many more are equal to it."""
    alike: dict[Any, list[int]] = {}
    for place in worst.tolist():
        row = int(seen[place])
        alike.setdefault((*map(str, table.frame.row(row)), str(table.y[row])), []).append(place)
    return [(places[0], len(places) - 1) for places in alike.values()][:MOST]


def _confidence(result: Result, seen: Any) -> tuple[Any, str]:
    if result.probabilities is not None:
        return np.max(result.probabilities[seen], axis=1), "probability"
    if result.decisions is None:
        return np.zeros(len(seen)), "margin"
    scores = result.decisions[seen]
    if scores.ndim == 1:
        return np.abs(scores), "margin"
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2], "margin"


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, bool | int | float) else str(value)
