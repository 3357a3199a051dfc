"""Class by class: how often each category of a column came, and columns of which values are missing.

The number of a row's class is its group; what is not a number is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, contiguous, entries
from tenfold.data import Block, NotFinite, resolve
from tenfold.machine import threads
from tenfold.stats.class_totals import ClassColumns, class_columns, groups_of, memberships
from tenfold.stats.derivatives import adjoint

MOST_CATEGORIES = 1 << 20
"""More are taken for a number that is no category."""


class NotACategory(ValueError):
    """A value that is not a whole number from zero on."""


class NegativeCategory(NotACategory):
    """A value below zero."""


@dataclass(frozen=True, slots=True)
class ClassTables:
    """Weight (k,) of each class, and for each column the weights (k, categories) of its categories."""

    weight: Floats
    tables: tuple[Floats, ...]

    def merge(self, other: "ClassTables") -> "ClassTables":
        tables = tuple(_added(a, b) for a, b in zip(self.tables, other.tables, strict=True))
        return ClassTables(self.weight + other.weight, tables)


def _added(one: Floats, other: Floats) -> Floats:
    """The sum of two tables, of which one may know more categories."""
    if one.shape[1] < other.shape[1]:
        one, other = other, one
    total = one.copy()
    total[:, : other.shape[1]] += other
    return total


def class_tables(classes: int) -> Callable[[Block], ClassTables]:
    """The lift of `ClassTables`."""
    return partial(_class_tables, classes)


def _class_tables(classes: int, block: Block) -> ClassTables:
    X, count = contiguous(block.X), threads(entries(block.X))
    low, high, finite = _core.category_ranges(X, block.weight, count)
    if not finite:
        raise NotFinite
    if np.any(low <= -1.0):
        raise NegativeCategory(f"a category is {low[low <= -1.0][0]:g}; categories are whole numbers from zero on.")
    if np.any(high >= MOST_CATEGORIES):
        largest = high[high >= MOST_CATEGORIES][0]
        raise NotACategory(f"a category is {largest:g}, more than there can be; number them from zero on.")
    sizes = np.where(high >= low, high + 1.0, 0.0).astype(np.int64)
    starts = np.append(0, np.cumsum(sizes))
    weight, sums = _core.category_counts(X, block.weight, groups_of(block), classes, starts, count)
    return ClassTables(weight, tuple(sums[i:j].T.copy() for i, j in pairwise(starts)))


def some_missing(X: Array) -> bool:
    """Whether a value of X is not a number."""
    with np.errstate(invalid="ignore", over="ignore"):  # a sum is quicker than a look at each, and may fail without one
        return bool(np.isnan(np.sum(X))) and bool(np.isnan(X).any())


def observed_columns(classes: int) -> Callable[[Block], ClassColumns]:
    """The lift of `ClassColumns` of what is known: weights are those of each column."""
    return partial(_observed_columns, classes)


def _observed_columns(classes: int, block: Block) -> ClassColumns:
    if not some_missing(block.X):
        found = resolve(class_columns(classes)(replace(block, X=contiguous(block.X))))
        return replace(found, weight=np.tile(found.weight[:, None], block.X.shape[1]))
    own, X = memberships(block, classes), np.array(block.X, dtype=np.float64, order="C")
    missing = np.isnan(X)
    X[missing] = 0.0
    weight = adjoint(1.0 - missing, own)
    with np.errstate(invalid="ignore", over="ignore"):  # infinities are refused by whoever folds the rows
        mean = adjoint(X, own) / np.where(weight > 0.0, weight, 1.0)
        away = X - mean[groups_of(block)]
        away[missing] = 0.0
        return ClassColumns(weight, mean, adjoint(away * away, own))
