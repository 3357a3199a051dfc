"""Predictions from neighbours: votes for classes and means of targets, weighted by distance and by sample."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.pairwise import Neighbours

TABLE_VALUES = 1 << 22  # votes (queries x classes) that are counted at a time: 32 MiB


def weigh_neighbours(weights: Any, near: Neighbours) -> Floats | None:
    """The weight of each neighbour by its distance; None where all have the same.

    "distance": one over it; where some distance of a query is zero, those neighbours have weight one and others zero.
    """
    if weights in (None, "uniform"):
        return None
    counts = np.diff(near.offsets)
    if callable(weights):
        return _call_weights(weights, near, counts)
    query = np.repeat(np.arange(len(counts)), counts)
    at_zero = near.distances == 0.0
    has_zero = np.bincount(query[at_zero], minlength=len(counts)).astype(bool)[query]
    with np.errstate(divide="ignore"):
        return np.where(has_zero, at_zero, 1.0 / near.distances)


def _call_weights(weights: Callable[[Any], Any], near: Neighbours, counts: Integers) -> Floats:
    """As scikit-learn calls it: with a matrix of distances where all have as many, else with an array of arrays."""
    if len(counts) and np.all(counts == counts[0]) and counts[0]:
        return np.asarray(weights(near.distances.reshape(len(counts), -1)), dtype=np.float64).ravel()
    lists = np.empty(len(counts), dtype=object)
    lists[:] = np.split(near.distances, near.offsets[1:-1])
    return np.concatenate([np.zeros(0), *(np.asarray(part, dtype=np.float64) for part in weights(lists))])


def _multiply_weights(weight: Floats | None, near: Neighbours) -> Floats | None:
    """The weight of each neighbour, by its distance and by its sample."""
    if near.weights is None or weight is None:
        return weight if near.weights is None else near.weights
    return weight * near.weights


def count_votes(near: Neighbours, weights: Any, counts: tuple[int, ...]) -> list[Floats]:
    """The votes for the classes of each target, (m, classes), weighted by distance and by sample; not normalised."""
    weight = _multiply_weights(weigh_neighbours(weights, near), near)
    return [_count_target(near, weight, t, count) for t, count in enumerate(counts)]


def _count_target(near: Neighbours, weight: Floats | None, target: int, classes: int) -> Floats:
    assert near.targets is not None
    m, number = len(near.offsets) - 1, near.targets[:, target].astype(np.intp, copy=False)
    votes = np.empty((m, classes))
    step = max(1, TABLE_VALUES // max(1, classes))
    for begin in range(0, m, step):
        end = min(m, begin + step)
        part = slice(near.offsets[begin], near.offsets[end])
        cell = np.repeat(np.arange(end - begin), np.diff(near.offsets[begin : end + 1])) * classes + number[part]
        sums = np.bincount(cell, None if weight is None else weight[part], minlength=(end - begin) * classes)
        votes[begin:end] = sums.reshape(-1, classes)
    return votes


def choose_classes(votes: Floats, near: Neighbours, seed: int | None, target: int = 0) -> Integers:
    """The class with most votes for each query, (m,): of several the first, or with a seed one at random.

    The draw is a hash of the seed, the target and the rows of the neighbours, in any order: it does not depend on the
    queries that are asked together, or on threads.
    """
    first = np.argmax(votes, axis=1)
    if seed is None:
        return first
    leads = votes == votes[np.arange(len(votes)), first][:, None]
    tied = np.flatnonzero(leads.sum(axis=1) > 1)
    if not tied.size:
        return first
    marks = _scramble(near.rows.astype(np.uint64) + _scramble(np.array([seed], dtype=np.uint64)))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(marks, dtype=np.uint64)])
    draws = _scramble(sums[near.offsets[tied + 1]] - sums[near.offsets[tied]] + np.uint64(target + 1))
    leads = leads[tied]
    which = (draws % leads.sum(axis=1).astype(np.uint64)).astype(np.intp)
    first[tied] = np.argmax(np.cumsum(leads, axis=1) == which[:, None] + 1, axis=1)
    return first


def _scramble(x: Any) -> Any:
    """All bits of a number from each of them (splitmix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def average_targets(near: Neighbours, weights: Any) -> Floats:
    """The mean of the targets of the neighbours, (m, t); not a number where there are none."""
    assert near.targets is not None
    m, counts = len(near.offsets) - 1, np.diff(near.offsets)
    weight = _multiply_weights(weigh_neighbours(weights, near), near)
    query = np.repeat(np.arange(m), counts)
    total = counts.astype(np.float64) if weight is None else np.bincount(query, weight, minlength=m)
    means = np.empty((m, near.targets.shape[1]))
    for t in range(means.shape[1]):
        values = near.targets[:, t].astype(np.float64, copy=False)
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = np.bincount(query, values if weight is None else weight * values, minlength=m)
            means[:, t] = sums / total
    return means
