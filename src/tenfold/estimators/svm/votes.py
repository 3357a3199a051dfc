"""Votes of machines for the pairs i < j of classes, whose values are positive for class i."""

import numpy as np

from tenfold.arrays import Floats, Integers


def pairs_of(count: int) -> tuple[Integers, Integers]:
    """The first and the second class of each pair."""
    first, second = np.triu_indices(count, 1)
    return first, second


def _count(values: Floats, count: int) -> Floats:
    votes = np.zeros((len(values), count))
    for t, (i, j) in enumerate(zip(*pairs_of(count), strict=True)):
        ahead = values[:, t] > 0.0
        votes[:, i] += ahead
        votes[:, j] += ~ahead
    return votes


def classify_pairs(values: Floats, count: int) -> Integers:
    """The class with the most votes, of equal ones the first."""
    return np.argmax(_count(values, count), axis=1)


def one_against_rest(values: Floats, count: int) -> Floats:
    """Votes (n, classes), and for equal ones the sum s of the values in favour of a class as s / (3 (|s| + 1)), below
    a third of a vote.
    """
    sums = np.zeros((len(values), count))
    for t, (i, j) in enumerate(zip(*pairs_of(count), strict=True)):
        sums[:, i] += values[:, t]
        sums[:, j] -= values[:, t]
    votes = np.zeros_like(sums)
    for t, (i, j) in enumerate(zip(*pairs_of(count), strict=True)):
        votes[:, i] += values[:, t] >= 0.0
        votes[:, j] += values[:, t] < 0.0
    return votes + sums / (3.0 * (np.abs(sums) + 1.0))
