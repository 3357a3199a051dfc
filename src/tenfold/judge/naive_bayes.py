"""Naive Bayes judged.

The sums of the classes are formed again from the rows of one class after the other, or as products with the marks of
the classes; means and variances as sums about the stored means; the estimates then by division instead of differences
of logarithms.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers, contiguous, is_numpy, is_sparse, namespace, unit_roundoff
from tenfold.data import Block, Deferred, MaybeDeferred, Rows, resolve, weights_of
from tenfold.judge.certificate import Certificate
from tenfold.judge.recompute import Pair, exact, in_pieces
from tenfold.stats.class_totals import (
    ClassColumns,
    ClassScatterProducts,
    ClassSums,
    class_scatter_products,
    class_sums_about,
    groups_of,
    indicators,
    memberships,
)
from tenfold.stats.combined import Several
from tenfold.stats.contingency import ClassTables, has_missing
from tenfold.stats.derivatives import adjoint
from tenfold.stats.within_class_scatter import WithinQuadraticForms, within_quadratic_forms

ROUNDING = 512.0 * unit_roundoff(np.float64)
"""Of sums of numbers of one sign, in slots, and of a logarithm."""

HELD = 1 << 15
"""So many sums the cache holds: rows are read in their order then, else those of one class after the other."""


def sums_again(rows: Rows, classes: int, threshold: float | None = None) -> ClassSums:
    """Weights and sums of the classes, from packed tiles of dense rows, else from products of the rows with the marks
    of their classes.
    """
    return rows.fold(partial(_sums_again, classes, threshold))


def _sums_again(classes: int, threshold: float | None, block: Block) -> MaybeDeferred[ClassSums]:
    X = block.X if threshold is None else indicators(block.X, threshold)
    if is_numpy(X):
        places, none, rows = np.zeros((classes, X.shape[1])), np.zeros((1, 0, X.shape[1])), replace(block, X=X)
        found = (
            within_quadratic_forms(places, none[0])(rows)
            if places.size <= HELD
            else class_scatter_products(places, none)(rows)
        )
        assert isinstance(found, WithinQuadraticForms | ClassScatterProducts)
        return ClassSums(found.weight, found.sums, np.inf)
    own = memberships(block, classes)
    if is_sparse(X):  # one class after the other: of the others no entry is read
        sums = np.concatenate([adjoint(X, np.ascontiguousarray(own[:, k : k + 1])) for k in range(classes)])
        return ClassSums(np.sum(own, axis=0), sums, np.inf)
    xp = namespace(own)
    return Deferred.of([xp.sum(own, axis=0), xp.matmul(own.T, xp.astype(X, xp.float64, copy=False))], _as_sums)


def _as_sums(_: tuple[None, ...], weight: Floats, sums: Floats) -> ClassSums:
    return ClassSums(weight, sums, np.inf)


def shares(
    rows: Rows | None, sums: ClassSums | None, stored: Floats, priors: Floats | None, note: str = ""
) -> Certificate:
    """The shares of the classes alone."""
    again = sums_again(rows, len(stored)) if rows is not None else sums
    assert again is not None
    return exact({"priors": _relative(stored, _shares(again.weight, priors))}, floor=ROUNDING, note=note)


class Counted(NamedTuple):
    """What naive Bayes of counts stores: weights of the classes and logarithms of their priors (k,), sums of the
    columns (k, p), and their log probabilities or weights (k, p).
    """

    weight: Floats
    log_prior: Floats
    sums: Floats
    log_p: Floats


def multinomial(
    again: ClassSums, alpha: Floats, stored: Counted, *, priors: Floats | None, note: str = ""
) -> Certificate:
    """The probabilities of the columns in each class, and the shares of the classes."""
    alphas = np.broadcast_to(alpha, again.sums.shape[1:])
    total = np.sum(again.sums, axis=1, keepdims=True) + np.sum(alphas)
    return _discrete(again, lambda some: (again.sums[:, some] + alphas[some], total), stored, priors, note)


def bernoulli(
    again: ClassSums, alpha: Floats, stored: Counted, *, priors: Floats | None, note: str = ""
) -> Certificate:
    """The probabilities that a column is on in each class, and the shares of the classes."""
    alphas, weight = np.broadcast_to(alpha, again.sums.shape[1:]), again.weight[:, None]

    def shares_of(some: slice) -> tuple[Floats, Floats]:
        return again.sums[:, some] + alphas[some], weight + 2.0 * alphas[some]

    return _discrete(again, shares_of, stored, priors, note)


def complement(
    again: ClassSums,
    alpha: Floats,
    stored: Counted,
    *,
    together: Floats,
    norm: bool,
    priors: Floats | None,
    note: str = "",
) -> Certificate:
    """The weights of the columns in each class, the shares of the classes, and the sums of all classes `together`."""
    weights = stored.log_p
    pieces, alphas = in_pieces(again.sums.shape[1]), np.broadcast_to(alpha, again.sums.shape[1:])
    totals, added, totals_of = np.sum(again.sums, axis=1), float(np.sum(alphas)), np.sum(again.sums, axis=0)
    others = [float(np.sum(np.delete(totals, k))) + added for k in range(len(totals))]

    def counts(k: int, some: slice) -> Floats:
        """Of the other classes."""
        found = np.array(alphas[some])
        for i, own in enumerate(again.sums):
            if i != k:
                found += own[some]
        return found

    def against(k: int, some: slice) -> Floats:
        share = counts(k, some)
        with np.errstate(divide="ignore", invalid="ignore"):
            share /= others[k]
            return np.abs(np.log(share, out=share), out=share)

    classes = range(len(again.sums))
    if norm:
        expected = np.array([np.concatenate([against(k, some) for some in pieces]) for k in classes])
        if expected.shape[1] == 1:  # which says nothing
            expected[:] = 0.0
        else:
            expected /= expected.sum(axis=1, keepdims=True)
        size = np.maximum(expected, 1e-3 * np.max(expected, initial=0.0))
        found: Pair | Iterator[Pair] = (weights, expected, size)
    else:
        rarest = [min((float(np.min(counts(k, some))) for some in pieces), default=1.0) for k in classes]
        with np.errstate(divide="ignore", invalid="ignore"):
            least = 1e-3 * np.max(np.abs(np.log(np.divide(rarest, others))), initial=0.0)
        parts = ((k, some, against(k, some)) for k in classes for some in pieces)
        found = ((weights[k, some], own, np.maximum(own, least)) for k, some, own in parts)
        if weights.shape != again.sums.shape:
            found = iter([(weights, again.sums, 1.0)])
    pairs = {"weights": found, **_counts(again, stored, priors), "sums of all classes": _relative(together, totals_of)}
    return exact(pairs, floor=ROUNDING, note=note)


def tables_again(rows: Rows, classes: int, sizes: Sequence[int]) -> ClassTables:
    """Tables of the columns, counted again one column after the other, with room for `sizes` categories at least."""
    return rows.fold(partial(_tables_again, classes, tuple(sizes)))


def _tables_again(classes: int, sizes: tuple[int, ...], block: Block) -> ClassTables:
    group, weight = groups_of(block).astype(np.int64), block.weight
    tables = []
    for column, least in zip(np.ascontiguousarray(block.X.T), sizes, strict=True):
        known = column > -1.0 if weight is None else (column > -1.0) & (weight > 0.0)
        size = max(least, int(np.max(column, initial=-1.0, where=known)) + 1)
        number = np.where(known, column, size).astype(np.int64)  # others are counted apart, and not kept
        number += (size + 1) * group
        counts = np.bincount(number, weight, classes * (size + 1))
        tables.append(counts.reshape(classes, size + 1)[:, :size].astype(np.float64))
    return ClassTables(np.bincount(group, weight, classes).astype(np.float64), tuple(tables))


def categorical(
    again: ClassTables,
    alpha: float,
    *,
    weight: Floats,
    tables: Sequence[Floats],
    sizes: Integers,
    least: Integers,
    log_p: Sequence[Floats],
    log_prior: Floats,
    priors: Floats | None,
    note: str = "",
) -> Certificate:
    """The tables and probabilities of the categories in each class, the weights and shares of the classes, and the
    number of categories of each column: one more than the largest that comes, and at `least` as many as given.
    """
    pairs = {**_classes(again.weight, weight, log_prior, priors), **_categories(again, alpha, log_p)}
    most = [np.max(np.flatnonzero(table.any(axis=0)), initial=-1) + 1.0 for table in again.tables]
    pairs["numbers of categories"] = _relative(np.asarray(sizes, dtype=np.float64), np.maximum(most, least))
    widths = np.array([table.shape[1] for table in log_p], dtype=np.float64)
    pairs["widths of the tables"] = _relative(widths, np.maximum(most, least))
    pairs |= {
        f"counts of column {j}": _relative(*both) for j, both in enumerate(zip(tables, again.tables, strict=True))
    }
    return exact(pairs, floor=ROUNDING, note=note)


def _categories(again: ClassTables, alpha: float, log_p: Sequence[Floats]) -> dict[str, Pair]:
    pairs = {}
    for j, (stored, counts) in enumerate(zip(log_p, again.tables, strict=True)):
        counts = counts + alpha
        pairs[f"categories of column {j}"] = _logs(stored, _ratio(counts, counts.sum(axis=1, keepdims=True)))
    return pairs


def mixed_again(rows: Rows, classes: int, columns: Sequence[Integers], sizes: Sequence[int]) -> Several:
    """All sums again: of numbers and marks class by class, of the categories as `tables_again`."""
    return rows.fold(partial(_mixed_again, classes, tuple(columns), tuple(sizes)))


def _mixed_again(classes: int, columns: tuple[Integers, ...], sizes: tuple[int, ...], block: Block) -> Several:
    numbers, marked, tables = (replace(block, X=block.X[:, which]) for which in columns)
    on = np.where(np.isnan(marked.X), np.nan, np.sign(np.maximum(marked.X, 0.0)))
    return Several(
        (
            _each_class(classes, numbers),
            _each_class(classes, replace(marked, X=on)),
            _tables_again(classes, sizes, tables),
        )
    )


def _each_class(classes: int, block: Block) -> ClassColumns:
    """Weights, means and squares of what is known, from the rows of one class after the other."""
    if not has_missing(block.X):
        p, whole = block.X.shape[1], replace(block, X=contiguous(block.X))
        found = class_scatter_products(np.zeros((classes, p)), np.zeros((1, 0, p)))(whole)
        assert isinstance(found, ClassScatterProducts)
        mean = found.sums / np.where(found.weight > 0.0, found.weight, 1.0)[:, None]
        squares = resolve(class_sums_about(mean)(whole)).squares
        return ClassColumns(np.tile(found.weight[:, None], p), mean, squares)
    X, group, weight = block.X.astype(np.float64), groups_of(block), weights_of(block)
    parts = np.zeros((3, classes, X.shape[1]))
    for k in range(classes):
        own, w = X[group == k], weight[group == k][:, None]
        total = np.sum(np.where(np.isnan(own), 0.0, w), axis=0)
        mean = np.nansum(w * own, axis=0) / np.where(total > 0.0, total, 1.0)
        parts[:, k] = total, mean, np.nansum(w * (own - mean) ** 2, axis=0)
    return ClassColumns(*parts)


def mixed(
    again: Several,
    alpha: float,
    smoothing: float,
    added: float,
    *,
    numbers: tuple[Floats, Floats],
    indicators: Floats,
    tables: Sequence[Floats],
    weight: Floats,
    log_prior: Floats,
    priors: Floats | None,
    note: str = "",
) -> Certificate:
    """The estimates of all columns, and the weights and shares of the classes. What was `added` to the variances is to
    be `smoothing` times the largest variance of a column; a column that is not known in a class has the mean and the
    variance of all rows, and where nothing varies a variance is one.
    """
    columns, marked, counted = again.parts
    known, (mean, variance) = columns.weight > 0.0, numbers
    each = np.where(known, columns.weight, 1.0)
    all_mean, all_spread = _together(columns.weight, columns.mean, columns.squares / each)
    largest = smoothing * float(np.max(all_spread, initial=0.0))
    spread = np.where(known, columns.squares / each, all_spread) + largest
    spread = np.where(spread > 0.0, spread, 1.0)
    size = np.sqrt(mean**2 + variance)
    pairs: dict[str, Pair] = {
        **_classes(counted.weight, weight, log_prior, priors),
        "mean": (mean, np.where(known, columns.mean, all_mean), np.where(size > 0.0, size, 1.0)),
        "variance": (variance, spread, spread),
        "smoothing": _relative(np.asarray(added), np.asarray(largest)),
        "marks": _logs(indicators, _ratio(marked.mean * marked.weight + alpha, marked.weight + 2.0 * alpha)),
        **_categories(counted, alpha, tables),
    }
    return exact(pairs, floor=ROUNDING, note=note)


class Gaussian(NamedTuple):
    """What Gaussian naive Bayes stores: weights and priors of the classes (k,), means and variances of the columns (k,
    p), what was added to the variances, and the precision of all these.
    """

    weight: Floats
    priors: Floats
    mean: Floats
    variance: Floats
    added: float
    dtype: Any


def gaussian(
    rows: Rows,
    stored: Gaussian,
    smoothing: float,
    *,
    priors: Floats | None,
    spread_of: Rows | None = None,
    note: str = "",
) -> Certificate:
    """Means and variances of the columns in each class: sums about the stored means vanish, and those of squares are
    the stored variances. Added to these is `smoothing` times the largest variance of a column of all rows, or of the
    rows `spread_of`, which are the same with other weights.
    """
    mean = np.ascontiguousarray(stored.mean)
    found = _columns_about(rows, mean)
    whole = found if spread_of is None else _columns_about(spread_of, mean)
    return _gaussian(found, stored, smoothing * _largest_variance(whole), priors, note)


def _columns_about(rows: Rows, mean: Floats) -> ClassColumns:
    """Weights, and means and squares of the columns in each class, from sums about `mean`."""
    found = rows.fold(class_sums_about(mean))
    away = found.sums / np.where(found.weight > 0.0, found.weight, 1.0)[:, None]
    squares = np.maximum(found.squares - found.weight[:, None] * away**2, 0.0)
    return ClassColumns(found.weight, mean + away, squares)


def _largest_variance(columns: ClassColumns) -> float:
    """Of a column of all rows."""
    weight = columns.weight[:, None]
    variance = columns.squares / np.where(weight > 0.0, weight, 1.0)
    return float(np.max(_together(np.broadcast_to(weight, variance.shape), columns.mean, variance)[1], initial=0.0))


def _together(weight: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Means and variances (p,) of all rows, from weights, means and variances (k, p) of those of each class."""
    total = np.sum(weight, axis=0)
    shares = weight / np.where(total > 0.0, total, 1.0)
    middle = np.sum(shares * mean, axis=0)
    return middle, np.sum(shares * (variance + (mean - middle) ** 2), axis=0)


def gaussian_from_sums(
    sums: ClassColumns, stored: Gaussian, smoothing: float, *, priors: Floats | None, note: str = ""
) -> Certificate:
    """The same from the sums, where the rows are gone."""
    return _gaussian(sums, stored, smoothing * _largest_variance(sums), priors, note)


def _gaussian(again: ClassColumns, stored: Gaussian, added: float, priors: Floats | None, note: str) -> Certificate:
    """What is stored beside what it should be; a class without rows has the mean zero, and no variance of its own."""
    mean, variance, some = stored.mean, stored.variance, (again.weight > 0.0)[:, None]
    spread = again.squares / np.where(some, again.weight[:, None], 1.0) + added
    away, size = np.where(some, again.mean - mean, -mean), np.sqrt(mean**2 + variance)
    pairs: dict[str, Pair] = {
        "weight": _relative(stored.weight, again.weight),
        "priors": _relative(stored.priors, _shares(again.weight, priors)),
        "mean": (away, np.zeros_like(away), np.where(size > 0.0, size, 1.0)),
        "variance": (variance, spread, np.where(spread > 0.0, spread, 1.0)),
        "smoothing": _relative(np.asarray(stored.added), np.asarray(added)),
    }
    return exact(pairs, floor=max(ROUNDING, 4.0 * unit_roundoff(stored.dtype)), note=note)


def _discrete(
    again: ClassSums,
    shares_of: Callable[[slice], tuple[Floats, Floats]],
    stored: Counted,
    priors: Floats | None,
    note: str,
) -> Certificate:
    """Of probabilities whose numerators and denominators are known of some columns at a time."""
    log_p, pieces = stored.log_p, in_pieces(again.sums.shape[1])
    pairs: dict[str, Pair | Iterator[Pair]] = {
        "log_p": (log_p, again.sums, 1.0)  # which are of other shapes
        if log_p.shape != again.sums.shape
        else (_logs(log_p[:, some], _ratio(*shares_of(some))) for some in pieces),
        **_counts(again, stored, priors),
    }
    return exact(pairs, floor=ROUNDING, objective=_cost(again, log_p, stored.log_prior), note=note)


def _counts(again: ClassSums, stored: Counted, priors: Floats | None) -> dict[str, Pair | Iterator[Pair]]:
    """Sums of the columns, some at a time, and weights and priors of the classes."""
    pieces = in_pieces(again.sums.shape[1])
    same = stored.sums.shape == again.sums.shape
    sums = (_relative(stored.sums[:, some], again.sums[:, some]) for some in pieces)
    return {
        "sums": sums if same else (stored.sums, again.sums, 1.0),
        **_classes(again.weight, stored.weight, stored.log_prior, priors),
    }


def _classes(again: Floats, weight: Floats, log_prior: Floats, priors: Floats | None) -> dict[str, Pair]:
    """Weights and priors of the classes, from their weights `again`."""
    return {"weight": _relative(weight, again), "log_prior": _logs(log_prior, _shares(again, priors))}


def _relative(stored: Floats, again: Floats) -> Pair:
    """A distance relative to the second number, where that is not zero."""
    return stored, again, np.where(again != 0.0, np.abs(again), 1.0)


def _ratio(a: Floats, b: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b


def _logs(stored: Floats, p: Floats) -> Pair:
    """A difference of logarithms is a relative distance of probabilities."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return stored, np.log(p), 1.0


def _shares(weight: Floats, priors: Floats | None) -> Floats:
    return weight / weight.sum() if priors is None else priors


def _cost(again: ClassSums, log_p: Floats, log_prior: Floats) -> float:
    """The mean of -log p of class and columns that are on, at the stored numbers."""
    columns = 0.0
    with np.errstate(invalid="ignore"):
        for some in in_pieces(again.sums.shape[1]):
            sums = again.sums[:, some]
            columns += float(np.sum(sums * log_p[:, some], where=sums > 0.0))
        classes = np.where(again.weight > 0.0, again.weight * log_prior, 0.0)
    return -(columns + float(classes.sum())) / float(again.weight.sum())
