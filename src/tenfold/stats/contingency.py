"""Category counts by class, and moments by class of features with missing values.

The class of a sample is its group; NaN is missing.
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

MAX_CATEGORIES = 1 << 20  # larger codes are taken for numbers that are not categories


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
        tables = tuple(_add_tables(a, b) for a, b in zip(self.tables, other.tables, strict=True))
        return ClassTables(self.weight + other.weight, tables)


def _add_tables(one: Floats, other: Floats) -> Floats:
    """The sum of two tables, one of which may have more categories."""
    if one.shape[1] < other.shape[1]:
        one, other = other, one
    total = one.copy()
    total[:, : other.shape[1]] += other
    return total


def category_counts(classes: int) -> Callable[[Block], ClassTables]:
    """The lift of `ClassTables`."""
    return partial(_category_counts, classes)


def _category_counts(classes: int, block: Block) -> ClassTables:
    X, count = contiguous(block.X), threads(entries(block.X))
    low, high, finite = _core.category_ranges(X, block.weight, count)
    if not finite:
        raise NotFinite
    if np.any(low <= -1.0):
        raise NegativeCategory(f"a category is {low[low <= -1.0][0]:g}; categories are whole numbers from zero on.")
    if np.any(high >= MAX_CATEGORIES):
        code = high[high >= MAX_CATEGORIES][0]
        raise NotACategory(f"a category is {code:g}, more than there can be; number them from zero on.")
    sizes = np.where(high >= low, high + 1.0, 0.0).astype(np.int64)
    starts = np.append(0, np.cumsum(sizes))
    weight, sums = _core.category_counts(X, block.weight, groups_of(block), classes, starts, count)
    return ClassTables(weight, tuple(sums[i:j].T.copy() for i, j in pairwise(starts)))


def has_missing(X: Array) -> bool:
    """Whether X holds a NaN."""
    with np.errstate(invalid="ignore", over="ignore"):  # the sum is fast, but may overflow to NaN
        return bool(np.isnan(np.sum(X))) and bool(np.isnan(X).any())


def nonmissing_columns(classes: int) -> Callable[[Block], ClassColumns]:
    """The lift of `ClassColumns` of the non-missing values, with weights per feature."""
    return partial(_nonmissing_columns, classes)


def _nonmissing_columns(classes: int, block: Block) -> ClassColumns:
    if not has_missing(block.X):
        result = resolve(class_columns(classes)(replace(block, X=contiguous(block.X))))
        return replace(result, weight=np.tile(result.weight[:, None], block.X.shape[1]))
    membership, X = memberships(block, classes), np.array(block.X, dtype=np.float64, order="C")
    missing = np.isnan(X)
    X[missing] = 0.0
    weight = adjoint(1.0 - missing, membership)
    with np.errstate(invalid="ignore", over="ignore"):  # the caller of the fold rejects infinities
        mean = adjoint(X, membership) / np.where(weight > 0.0, weight, 1.0)
        deviations = X - mean[groups_of(block)]
        deviations[missing] = 0.0
        return ClassColumns(weight, mean, adjoint(deviations * deviations, membership))
