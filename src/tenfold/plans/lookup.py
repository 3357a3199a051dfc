"""Tables of distinct samples, and straight lines between them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.judge import lookup as judge
from tenfold.judge.certificate import Certificate


@dataclass(frozen=True)
class Table:
    """Distinct samples (m, p) in lexicographic order, a value or a class number of each, and the certificate."""

    samples: Floats
    values: Any
    certificate: Certificate


def majority(X: Floats, number: Integers, weight: Floats, classes: int) -> Table:
    """The class of the largest weight of each distinct sample, the first among equal ones."""
    inside = weight > 0.0
    samples, row = np.unique(X[inside], axis=0, return_inverse=True)
    votes = np.zeros((len(samples), classes))
    np.add.at(votes, (np.ravel(row), number[inside]), weight[inside])
    chosen = np.argmax(votes, axis=1)
    return Table(samples, chosen, judge.majority(X, number, weight, samples, chosen))


def averages(x: Floats, y: Floats, weight: Floats) -> Table:
    """The weighted mean of the targets at each distinct place."""
    inside = weight > 0.0
    places, row = np.unique(x[inside], return_inverse=True)
    total = np.bincount(row, weight[inside], len(places))
    means = np.bincount(row, weight[inside] * y[inside], len(places)) / total
    return Table(places, means, judge.averages(x, y, weight, places, means))


def find_rows(table: Floats, X: Floats) -> Integers:
    """The number of the sample of a sorted table (m, p) that each sample (n, p) equals, or -1."""
    both = np.concatenate([table, X + 0.0])
    _, row = np.unique(both, axis=0, return_inverse=True)
    row = np.ravel(row)
    known = np.full(int(row.max(initial=-1)) + 1, -1)
    known[row[: len(table)]] = np.arange(len(table))
    return known[row[len(table) :]]
