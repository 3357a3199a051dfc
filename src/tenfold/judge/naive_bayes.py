"""Certificates of naive Bayes.

Class sums are recomputed class by class, or as products with the class indicators; means and variances as sums about
the stored means; the estimates by division instead of differences of logarithms.
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

ROUNDING = 512.0 * unit_roundoff(np.float64)  # relative, of sums of one sign and of a logarithm
MAX_CACHED_SUMS = 1 << 15  # sums that fit into the cache: rows are read in order up to here, else class by class


def recompute_sums(rows: Rows, classes: int, threshold: float | None = None) -> ClassSums:
    """Weights and sums of the classes, from packed tiles of dense rows, else from products with the class
    indicators.
    """
    return rows.fold(partial(_recompute_sums, classes, threshold))


def _recompute_sums(classes: int, threshold: float | None, block: Block) -> MaybeDeferred[ClassSums]:
    X = block.X if threshold is None else indicators(block.X, threshold)
    if is_numpy(X):
        places, none, rows = np.zeros((classes, X.shape[1])), np.zeros((1, 0, X.shape[1])), replace(block, X=X)
        products = (
            within_quadratic_forms(places, none[0])(rows)
            if places.size <= MAX_CACHED_SUMS
            else class_scatter_products(places, none)(rows)
        )
        assert isinstance(products, WithinQuadraticForms | ClassScatterProducts)
        return ClassSums(products.weight, products.sums, np.inf)
    of_class = memberships(block, classes)
    if is_sparse(X):  # sums beyond the cache class by class, which reads each entry once
        if classes * X.shape[1] <= MAX_CACHED_SUMS:
            return ClassSums(np.sum(of_class, axis=0), adjoint(X, of_class), np.inf)
        sums = np.concatenate([adjoint(X, np.ascontiguousarray(of_class[:, k : k + 1])) for k in range(classes)])
        return ClassSums(np.sum(of_class, axis=0), sums, np.inf)
    xp = namespace(of_class)
    return Deferred.of(
        [xp.sum(of_class, axis=0), xp.matmul(of_class.T, xp.astype(X, xp.float64, copy=False))], _as_sums
    )


def _as_sums(_: tuple[None, ...], weight: Floats, sums: Floats) -> ClassSums:
    return ClassSums(weight, sums, np.inf)


def shares(
    rows: Rows | None, sums: ClassSums | None, stored: Floats, priors: Floats | None, note: str = ""
) -> Certificate:
    """Certificate of priors: the class frequencies."""
    actual = recompute_sums(rows, len(stored)) if rows is not None else sums
    assert actual is not None
    return exact({"priors": _relative_pair(stored, _shares(actual.weight, priors))}, floor=ROUNDING, note=note)


class Counted(NamedTuple):
    """The fitted arrays of naive Bayes for counts: class weights and log priors (k,), feature sums (k, p), and log
    probabilities or weights (k, p).
    """

    weight: Floats
    log_prior: Floats
    sums: Floats
    log_p: Floats


def multinomial(
    actual: ClassSums, alpha: Floats, stored: Counted, *, priors: Floats | None, note: str = ""
) -> Certificate:
    """Certificate of feature probabilities by class, and of priors."""
    alphas = np.broadcast_to(alpha, actual.sums.shape[1:])
    total = np.sum(actual.sums, axis=1, keepdims=True) + np.sum(alphas)
    return _judge_counts(actual, lambda some: (actual.sums[:, some] + alphas[some], total), stored, priors, note)


def bernoulli(
    actual: ClassSums, alpha: Floats, stored: Counted, *, priors: Floats | None, note: str = ""
) -> Certificate:
    """Certificate of the probabilities that a feature is on by class, and of priors."""
    alphas, weight = np.broadcast_to(alpha, actual.sums.shape[1:]), actual.weight[:, None]

    def shares_of(some: slice) -> tuple[Floats, Floats]:
        return actual.sums[:, some] + alphas[some], weight + 2.0 * alphas[some]

    return _judge_counts(actual, shares_of, stored, priors, note)


def complement(
    actual: ClassSums,
    alpha: Floats,
    stored: Counted,
    *,
    together: Floats,
    norm: bool,
    priors: Floats | None,
    note: str = "",
) -> Certificate:
    """Certificate of feature weights by class, of priors, and of the sums over all classes `together`."""
    weights = stored.log_p
    pieces, alphas = in_pieces(actual.sums.shape[1]), np.broadcast_to(alpha, actual.sums.shape[1:])
    totals, added, totals_of = np.sum(actual.sums, axis=1), float(np.sum(alphas)), np.sum(actual.sums, axis=0)
    others = [float(np.sum(np.delete(totals, k))) + added for k in range(len(totals))]

    def counts(k: int, some: slice) -> Floats:
        """The smoothed sums of the other classes."""
        sums = np.array(alphas[some])
        for i, of_class in enumerate(actual.sums):
            if i != k:
                sums += of_class[some]
        return sums

    def weights_of_class(k: int, some: slice) -> Floats:
        share = counts(k, some)
        with np.errstate(divide="ignore", invalid="ignore"):
            share /= others[k]
            return np.abs(np.log(share, out=share), out=share)

    classes = range(len(actual.sums))
    if norm:
        expected = np.array([np.concatenate([weights_of_class(k, some) for some in pieces]) for k in classes])
        if expected.shape[1] == 1:  # which says nothing
            expected[:] = 0.0
        else:
            expected /= expected.sum(axis=1, keepdims=True)
        size = np.maximum(expected, 1e-3 * np.max(expected, initial=0.0))
        pairs_of_weights: Pair | Iterator[Pair] = (weights, expected, size)
    else:
        rarest = [min((float(np.min(counts(k, some))) for some in pieces), default=1.0) for k in classes]
        with np.errstate(divide="ignore", invalid="ignore"):
            least = 1e-3 * np.max(np.abs(np.log(np.divide(rarest, others))), initial=0.0)
        parts = ((k, some, weights_of_class(k, some)) for k in classes for some in pieces)
        pairs_of_weights = ((weights[k, some], of_class, np.maximum(of_class, least)) for k, some, of_class in parts)
        if weights.shape != actual.sums.shape:
            pairs_of_weights = iter([(weights, actual.sums, 1.0)])
    pairs = {
        "weights": pairs_of_weights,
        **_pair_counts(actual, stored, priors),
        "sums of all classes": _relative_pair(together, totals_of),
    }
    return exact(pairs, floor=ROUNDING, note=note)


def recompute_tables(rows: Rows, classes: int, sizes: Sequence[int]) -> ClassTables:
    """Tables of the columns, counted column by column, with at least `sizes` categories."""
    return rows.fold(partial(_recompute_tables, classes, tuple(sizes)))


def _recompute_tables(classes: int, sizes: tuple[int, ...], block: Block) -> ClassTables:
    group, weight = groups_of(block).astype(np.int64), block.weight
    tables = []
    for column, least in zip(np.ascontiguousarray(block.X.T), sizes, strict=True):
        known = column > -1.0 if weight is None else (column > -1.0) & (weight > 0.0)
        size = max(least, int(np.max(column, initial=-1.0, where=known)) + 1)
        number = np.where(known, column, size).astype(np.int64)  # missing values go to an extra bin, which is dropped
        number += (size + 1) * group
        counts = np.bincount(number, weight, classes * (size + 1))
        tables.append(counts.reshape(classes, size + 1)[:, :size].astype(np.float64))
    return ClassTables(np.bincount(group, weight, classes).astype(np.float64), tuple(tables))


def categorical(
    actual: ClassTables,
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
    """Certificate of tables and probabilities of the categories by class, of class weights and priors, and of the
    number of categories of each column: one more than the largest, and at least `least`.
    """
    pairs = {
        **_pair_classes(actual.weight, weight, log_prior, priors),
        **_pair_categories(actual, alpha, log_p),
    }
    most = [np.max(np.flatnonzero(table.any(axis=0)), initial=-1) + 1.0 for table in actual.tables]
    pairs["numbers of categories"] = _relative_pair(np.asarray(sizes, dtype=np.float64), np.maximum(most, least))
    widths = np.array([table.shape[1] for table in log_p], dtype=np.float64)
    pairs["widths of the tables"] = _relative_pair(widths, np.maximum(most, least))
    pairs |= {
        f"counts of column {j}": _relative_pair(*both) for j, both in enumerate(zip(tables, actual.tables, strict=True))
    }
    return exact(pairs, floor=ROUNDING, note=note)


def _pair_categories(actual: ClassTables, alpha: float, log_p: Sequence[Floats]) -> dict[str, Pair]:
    pairs = {}
    for j, (stored, counts) in enumerate(zip(log_p, actual.tables, strict=True)):
        counts = counts + alpha
        pairs[f"categories of column {j}"] = _log_pair(stored, _ratio(counts, counts.sum(axis=1, keepdims=True)))
    return pairs


def recompute_by_kind(rows: Rows, classes: int, columns: Sequence[Integers], sizes: Sequence[int]) -> Several:
    """All sums: of numeric and binary columns class by class, of categories by `recompute_tables`."""
    return rows.fold(partial(_recompute_by_kind, classes, tuple(columns), tuple(sizes)))


def _recompute_by_kind(classes: int, columns: tuple[Integers, ...], sizes: tuple[int, ...], block: Block) -> Several:
    numbers, marked, tables = (replace(block, X=block.X[:, which]) for which in columns)
    on = np.where(np.isnan(marked.X), np.nan, np.sign(np.maximum(marked.X, 0.0)))
    return Several(
        (
            _each_class(classes, numbers),
            _each_class(classes, replace(marked, X=on)),
            _recompute_tables(classes, sizes, tables),
        )
    )


def _each_class(classes: int, block: Block) -> ClassColumns:
    """Weights, means and squares of the values that are not missing, class by class."""
    if not has_missing(block.X):
        p, whole = block.X.shape[1], replace(block, X=contiguous(block.X))
        products = class_scatter_products(np.zeros((classes, p)), np.zeros((1, 0, p)))(whole)
        assert isinstance(products, ClassScatterProducts)
        mean = products.sums / np.where(products.weight > 0.0, products.weight, 1.0)[:, None]
        squares = resolve(class_sums_about(mean)(whole)).squares
        return ClassColumns(np.tile(products.weight[:, None], p), mean, squares)
    X, group, weight = block.X.astype(np.float64), groups_of(block), weights_of(block)
    parts = np.zeros((3, classes, X.shape[1]))
    for k in range(classes):
        of_class, w = X[group == k], weight[group == k][:, None]
        total = np.sum(np.where(np.isnan(of_class), 0.0, w), axis=0)
        mean = np.nansum(w * of_class, axis=0) / np.where(total > 0.0, total, 1.0)
        parts[:, k] = total, mean, np.nansum(w * (of_class - mean) ** 2, axis=0)
    return ClassColumns(*parts)


def heterogeneous(
    actual: Several,
    alpha: float,
    smoothing: float,
    added: float,
    *,
    numbers: tuple[Floats, Floats],
    marks: Floats,
    tables: Sequence[Floats],
    weight: Floats,
    log_prior: Floats,
    priors: Floats | None,
    note: str = "",
) -> Certificate:
    """Certificate of the estimates of all columns, and of class weights and priors. The term `added` to the variances
    must be `smoothing` times the largest variance of a column; a column that is missing throughout a class has the
    overall mean and variance, and a constant column the variance one.
    """
    columns, marked, counted = actual.parts
    known, (mean, variance) = columns.weight > 0.0, numbers
    each = np.where(known, columns.weight, 1.0)
    all_mean, all_spread = _pool(columns.weight, columns.mean, columns.squares / each)
    largest = smoothing * float(np.max(all_spread, initial=0.0))
    spread = np.where(known, columns.squares / each, all_spread) + largest
    spread = np.where(spread > 0.0, spread, 1.0)
    size = np.sqrt(mean**2 + variance)
    pairs: dict[str, Pair] = {
        **_pair_classes(counted.weight, weight, log_prior, priors),
        "mean": (mean, np.where(known, columns.mean, all_mean), np.where(size > 0.0, size, 1.0)),
        "variance": (variance, spread, spread),
        "smoothing": _relative_pair(np.asarray(added), np.asarray(largest)),
        "marks": _log_pair(marks, _ratio(marked.mean * marked.weight + alpha, marked.weight + 2.0 * alpha)),
        **_pair_categories(counted, alpha, tables),
    }
    return exact(pairs, floor=ROUNDING, note=note)


class Gaussian(NamedTuple):
    """The fitted arrays of Gaussian naive Bayes: class weights and priors (k,), means and variances (k, p), the term
    added to the variances, and the dtype of all these.
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
    """Certificate of means and variances by class: sums about the stored means vanish, and those of squares are the
    stored variances, plus `smoothing` times the largest variance of a column over all rows, or over `spread_of`, the
    same rows with other weights.
    """
    mean = np.ascontiguousarray(stored.mean)
    columns = _columns_about(rows, mean)
    whole = columns if spread_of is None else _columns_about(spread_of, mean)
    return _gaussian(columns, stored, smoothing * _largest_variance(whole), priors, note)


def _columns_about(rows: Rows, mean: Floats) -> ClassColumns:
    """Weights, and means and squares of the columns in each class, from sums about `mean`."""
    errors = rows.fold(class_sums_about(mean))
    away = errors.sums / np.where(errors.weight > 0.0, errors.weight, 1.0)[:, None]
    squares = np.maximum(errors.squares - errors.weight[:, None] * away**2, 0.0)
    return ClassColumns(errors.weight, mean + away, squares)


def _largest_variance(columns: ClassColumns) -> float:
    """The largest variance of a column over all rows."""
    weight = columns.weight[:, None]
    variance = columns.squares / np.where(weight > 0.0, weight, 1.0)
    return float(np.max(_pool(np.broadcast_to(weight, variance.shape), columns.mean, variance)[1], initial=0.0))


def _pool(weight: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Overall means and variances (p,), from weights, means and variances (k, p) by class."""
    total = np.sum(weight, axis=0)
    shares = weight / np.where(total > 0.0, total, 1.0)
    middle = np.sum(shares * mean, axis=0)
    return middle, np.sum(shares * (variance + (mean - middle) ** 2), axis=0)


def gaussian_from_sums(
    sums: ClassColumns, stored: Gaussian, smoothing: float, *, priors: Floats | None, note: str = ""
) -> Certificate:
    """As `gaussian`, from the sums."""
    return _gaussian(sums, stored, smoothing * _largest_variance(sums), priors, note)


def _gaussian(actual: ClassColumns, stored: Gaussian, added: float, priors: Floats | None, note: str) -> Certificate:
    """The certificate from recomputed sums; a class without rows has the mean zero, and only the added variance."""
    mean, variance, some = stored.mean, stored.variance, (actual.weight > 0.0)[:, None]
    spread = actual.squares / np.where(some, actual.weight[:, None], 1.0) + added
    away, size = np.where(some, actual.mean - mean, -mean), np.sqrt(mean**2 + variance)
    pairs: dict[str, Pair] = {
        "weight": _relative_pair(stored.weight, actual.weight),
        "priors": _relative_pair(stored.priors, _shares(actual.weight, priors)),
        "mean": (away, np.zeros_like(away), np.where(size > 0.0, size, 1.0)),
        "variance": (variance, spread, np.where(spread > 0.0, spread, 1.0)),
        "smoothing": _relative_pair(np.asarray(stored.added), np.asarray(added)),
    }
    return exact(pairs, floor=max(ROUNDING, 4.0 * unit_roundoff(stored.dtype)), note=note)


def _judge_counts(
    actual: ClassSums,
    shares_of: Callable[[slice], tuple[Floats, Floats]],
    stored: Counted,
    priors: Floats | None,
    note: str,
) -> Certificate:
    """The certificate of probabilities given as numerators and denominators of a slice of columns."""
    log_p, pieces = stored.log_p, in_pieces(actual.sums.shape[1])
    pairs: dict[str, Pair | Iterator[Pair]] = {
        "log_p": (log_p, actual.sums, 1.0)  # unequal shapes are never ok
        if log_p.shape != actual.sums.shape
        else (_log_pair(log_p[:, some], _ratio(*shares_of(some))) for some in pieces),
        **_pair_counts(actual, stored, priors),
    }
    return exact(pairs, floor=ROUNDING, objective=_cost(actual, log_p, stored.log_prior), note=note)


def _pair_counts(actual: ClassSums, stored: Counted, priors: Floats | None) -> dict[str, Pair | Iterator[Pair]]:
    """Pairs of stored and recomputed column sums, by slices, class weights and priors."""
    pieces = in_pieces(actual.sums.shape[1])
    same = stored.sums.shape == actual.sums.shape
    sums = (_relative_pair(stored.sums[:, some], actual.sums[:, some]) for some in pieces)
    return {
        "sums": sums if same else (stored.sums, actual.sums, 1.0),
        **_pair_classes(actual.weight, stored.weight, stored.log_prior, priors),
    }


def _pair_classes(actual: Floats, weight: Floats, log_prior: Floats, priors: Floats | None) -> dict[str, Pair]:
    """Pairs of stored and recomputed class weights and priors."""
    return {
        "weight": _relative_pair(weight, actual),
        "log_prior": _log_pair(log_prior, _shares(actual, priors)),
    }


def _relative_pair(stored: Floats, actual: Floats) -> Pair:
    """A pair whose distance is relative to the recomputed value, where that is not zero."""
    return stored, actual, np.where(actual != 0.0, np.abs(actual), 1.0)


def _ratio(a: Floats, b: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b


def _log_pair(stored: Floats, p: Floats) -> Pair:
    """A pair of logarithms, whose difference is a relative distance of probabilities."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return stored, np.log(p), 1.0


def _shares(weight: Floats, priors: Floats | None) -> Floats:
    return weight / weight.sum() if priors is None else priors


def _cost(actual: ClassSums, log_p: Floats, log_prior: Floats) -> float:
    """The mean negative log likelihood of classes and features, at the stored estimates."""
    columns = 0.0
    with np.errstate(invalid="ignore"):
        for some in in_pieces(actual.sums.shape[1]):
            sums = actual.sums[:, some]
            columns += float(np.sum(sums * log_p[:, some], where=sums > 0.0))
        classes = np.where(actual.weight > 0.0, actual.weight * log_prior, 0.0)
    return -(columns + float(classes.sum())) / float(actual.weight.sum())
