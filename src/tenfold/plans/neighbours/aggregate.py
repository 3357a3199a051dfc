"""What neighbours say of a query: shares of classes and means of targets, by weights of distances and of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.plans.neighbours.index import Near

TOGETHER = 1 << 22
"""Shares of classes that are counted at once."""


def weighed(weights: Any, near: Near) -> Floats | None:
    """The weight of each neighbour by its distance; None where all count alike.

    "distance": one over it; where some distance of a query is zero, those neighbours count one and others nothing.
    """
    if weights in (None, "uniform"):
        return None
    counts = np.diff(near.offsets)
    if callable(weights):
        return _by_function(weights, near, counts)
    query = np.repeat(np.arange(len(counts)), counts)
    at_zero = near.distances == 0.0
    some = np.bincount(query[at_zero], minlength=len(counts)).astype(bool)[query]
    with np.errstate(divide="ignore"):
        return np.where(some, at_zero, 1.0 / near.distances)


def _by_function(weights: Callable[[Any], Any], near: Near, counts: Integers) -> Floats:
    """As scikit-learn calls it: with a matrix of distances where all have as many, else with an array of arrays."""
    if len(counts) and np.all(counts == counts[0]) and counts[0]:
        return np.asarray(weights(near.distances.reshape(len(counts), -1)), dtype=np.float64).ravel()
    lists = np.empty(len(counts), dtype=object)
    lists[:] = np.split(near.distances, near.offsets[1:-1])
    found = weights(lists)
    return np.concatenate([np.zeros(0), *(np.asarray(part, dtype=np.float64) for part in found)])


def _products(weight: Floats | None, near: Near) -> Floats | None:
    """The weight of each neighbour, by its distance and by its row."""
    if near.weights is None or weight is None:
        return weight if near.weights is None else near.weights
    return weight * near.weights


def votes(near: Near, weights: Any, counts: tuple[int, ...]) -> list[Floats]:
    """The votes for the classes of each target, (m, classes), by weights of neighbours and of rows; not divided by
    their sum.
    """
    weight = _products(weighed(weights, near), near)
    return [_votes(near, weight, t, count) for t, count in enumerate(counts)]


def _votes(near: Near, weight: Floats | None, target: int, classes: int) -> Floats:
    assert near.targets is not None
    m, number = len(near.offsets) - 1, near.targets[:, target].astype(np.intp, copy=False)
    found = np.empty((m, classes))
    step = max(1, TOGETHER // max(1, classes))
    for begin in range(0, m, step):
        end = min(m, begin + step)
        part = slice(near.offsets[begin], near.offsets[end])
        cell = np.repeat(np.arange(end - begin), np.diff(near.offsets[begin : end + 1])) * classes + number[part]
        sums = np.bincount(cell, None if weight is None else weight[part], minlength=(end - begin) * classes)
        found[begin:end] = sums.reshape(-1, classes)
    return found


def means(near: Near, weights: Any) -> Floats:
    """The mean of the targets of the neighbours, (m, t); not a number where there are none."""
    assert near.targets is not None
    m, counts = len(near.offsets) - 1, np.diff(near.offsets)
    weight = _products(weighed(weights, near), near)
    query = np.repeat(np.arange(m), counts)
    total = counts.astype(np.float64) if weight is None else np.bincount(query, weight, minlength=m)
    found = np.empty((m, near.targets.shape[1]))
    for t in range(found.shape[1]):
        values = near.targets[:, t].astype(np.float64, copy=False)
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = np.bincount(query, values if weight is None else weight * values, minlength=m)
            found[:, t] = sums / total
    return found
