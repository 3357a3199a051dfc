"""Class by class: how often each category of a column came, and columns of which values are missing.

The number of a row's class is its group; what is not a number is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tenfold.arrays import Array, Floats
from tenfold.data import Block, NotFinite
from tenfold.stats.classes import ClassColumns, groups_of, memberships
from tenfold.stats.derivatives import back_times

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
    group, weight, X = groups_of(block), block.weight, block.X
    if weight is not None and not weight.all():  # a row of weight zero is none
        X, group, weight = X[weight > 0.0], group[weight > 0.0], weight[weight > 0.0]
    total = np.bincount(group, weight, minlength=classes).astype(np.float64)
    tables = []
    for column in np.ascontiguousarray(X.T):
        known = np.isfinite(column)
        if known.all():
            tables.append(_table(classes, column, group, weight))
        elif np.isinf(column).any():
            raise NotFinite
        else:
            tables.append(_table(classes, column[known], group[known], None if weight is None else weight[known]))
    return ClassTables(total, tuple(tables))


def _table(classes: int, column: Array, group: Array, weight: Array | None) -> Floats:
    if not column.size:
        return np.zeros((classes, 0))
    number = column.astype(np.int64)
    if number.min() < 0:
        raise NegativeCategory(f"a category is {column.min():g}; categories are whole numbers from zero on.")
    size = int(number.max()) + 1
    if size > MOST_CATEGORIES:
        raise NotACategory(f"a category is {column.max():g}, more than there can be; number them from zero on.")
    return np.bincount(group * size + number, weight, classes * size).astype(np.float64).reshape(classes, size)


def observed_columns(classes: int) -> Callable[[Block], ClassColumns]:
    """The lift of `ClassColumns` of what is known: weights are those of each column."""
    return partial(_observed_columns, classes)


def _observed_columns(classes: int, block: Block) -> ClassColumns:
    own, X = memberships(block, classes), np.array(block.X, dtype=np.float64, order="C")
    missing = np.isnan(X)
    X[missing] = 0.0
    weight = back_times(1.0 - missing, own)
    with np.errstate(invalid="ignore", over="ignore"):  # infinities are refused by whoever folds the rows
        mean = back_times(X, own) / np.where(weight > 0.0, weight, 1.0)
        away = X - mean[groups_of(block)]
        away[missing] = 0.0
        return ClassColumns(weight, mean, back_times(away * away, own))
