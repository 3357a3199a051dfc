"""Splits of a cross-validated logistic model: their samples, those of positive weight, and scorers for them."""

import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from tenfold.arrays import Array, Integers


def rows_of_splits(splits: Iterable[tuple[Any, Any]], n: int) -> tuple[list[Integers], list[Integers]]:
    """Indices of the training and of the test samples of each split, as int32 where n samples need no more: there are
    several times as many indices as samples.
    """
    pairs = [tuple(_short(np.asarray(part), n) for part in split) for split in splits]
    return [train for train, _ in pairs], [test for _, test in pairs]


def _short(numbers: Array, n: int) -> Array:
    return numbers.astype(np.int32) if numbers.dtype == np.int64 and n <= np.iinfo(np.int32).max else numbers


def select_positive(folds: list[Integers], weight: Array | None) -> list[Integers]:
    """The samples of the folds by their indices among those of positive weight."""
    if weight is None or weight.all():
        return folds
    inside = weight > 0
    number = np.cumsum(inside) - 1
    return [number[fold[inside[fold]]] for fold in folds]


def mass(rows: Any, some: Any = slice(None)) -> float:
    """The sum of the weights of samples, of all or of some."""
    return float(len(rows.y[some])) if rows.weight is None else float(rows.weight[some].sum())


def check_test_folds(weight: Array | None, tests: list[Integers]) -> None:
    """Raise for folds without a test sample of positive weight."""
    for place, test in enumerate(tests):
        if not len(test if weight is None else test[weight[test] > 0]):
            raise ValueError(
                f"Fold {place} leaves out no row of positive weight: there is nothing to score. Use fewer folds."
            )


def part_of(value: Any, chosen: Array, n: int) -> Any:
    """The part of metadata that belongs to some samples, where it has one entry a sample."""
    return np.asarray(value)[chosen] if np.ndim(value) > 0 and len(value) == n else value


def pass_classes(scorer: Any, classes: Array) -> Any:
    """The scorer, with all classes as its labels where it takes labels: a fold may lack some."""
    function = getattr(scorer, "_score_func", None)
    if function is None or "labels" not in (parameters := inspect.signature(function).parameters):
        return scorer
    extra = {"pos_label": classes[-1]} if len(classes) == 2 and "pos_label" in parameters else {}
    return make_scorer(
        function,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        **{"labels": classes, **extra, **scorer._kwargs},
    )
