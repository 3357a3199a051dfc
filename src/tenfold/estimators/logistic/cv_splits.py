"""The folds of a cross-validated logistic model: their rows, those that count, and scores on them."""

import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from tenfold.arrays import Array, Integers


def rows_of_splits(splits: Iterable[tuple[Any, Any]], n: int) -> tuple[list[Integers], list[Integers]]:
    """The rows that each split trains on, and those that it leaves out, in numbers no longer than n rows need: there
    are several times as many as rows.
    """
    pairs = [tuple(_short(np.asarray(part), n) for part in split) for split in splits]
    return [train for train, _ in pairs], [test for _, test in pairs]


def _short(numbers: Array, n: int) -> Array:
    return numbers.astype(np.int32) if numbers.dtype == np.int64 and n <= np.iinfo(np.int32).max else numbers


def counted_folds(folds: list[Integers], weight: Array | None) -> list[Integers]:
    """The rows of the folds by their numbers among those of positive weight."""
    if weight is None or weight.all():
        return folds
    inside = weight > 0
    number = np.cumsum(inside) - 1
    return [number[fold[inside[fold]]] for fold in folds]


def mass(rows: Any, some: Any = slice(None)) -> float:
    """The sum of the weights of rows, of all or of some."""
    return float(len(rows.y[some])) if rows.weight is None else float(rows.weight[some].sum())


def refuse_empty(weight: Array | None, tests: list[Integers]) -> None:
    """Refuse folds in which nothing that counts is left out."""
    for place, test in enumerate(tests):
        if not len(test if weight is None else test[weight[test] > 0]):
            raise ValueError(
                f"Fold {place} leaves out no row of positive weight: there is nothing to score. Use fewer folds."
            )


def part_of(value: Any, chosen: Array, n: int) -> Any:
    """The part of metadata that belongs to some rows, where it has one entry a row."""
    return np.asarray(value)[chosen] if np.ndim(value) > 0 and len(value) == n else value


def told_of_classes(scorer: Any, classes: Array) -> Any:
    """The scorer, told of all classes where it asks for them: a fold may lack some."""
    function = getattr(scorer, "_score_func", None)
    if function is None or "labels" not in (asked := inspect.signature(function).parameters):
        return scorer
    extra = {"pos_label": classes[-1]} if len(classes) == 2 and "pos_label" in asked else {}
    return make_scorer(
        function,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        **{"labels": classes, **extra, **scorer._kwargs},
    )
