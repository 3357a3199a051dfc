"""Naive Bayes: columns that are independent within a class, from the sums of one pass.

With N_c the weight of class c and N_cj the weighted sum of column j in it, the estimates are the modes of Dirichlet and
Beta priors (alpha = 1 is Laplace's rule, 0 maximum likelihood):

multinomial     p_cj = (N_cj + alpha_j) / sum_l (N_cl + alpha_l)
bernoulli       p_cj = (N_cj + alpha_j) / (N_c + 2 alpha_j),         N_cj the weight of the rows where column j is on
complement      the multinomial of all rows outside c, whose logarithms count against c
categorical     p_cjv = (N_cjv + alpha) / sum_u (N_cju + alpha),     N_cjv the weight of the rows where column j is v
gaussian        mean and variance of each column in the class, plus a share of the largest variance of all rows

A score is log prior + log p(x | c).

What is fitted is judged by the rows, or by the sums where these came in parts and the rows are gone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, contiguous, entries, is_numpy, like, namespace, wide
from tenfold.data import Block, NotFinite, Rows, block_length
from tenfold.judge import naive_bayes as judge
from tenfold.judge.certificate import Certificate
from tenfold.machine import threads
from tenfold.plans.class_statistics import PARTS_NOTE
from tenfold.stats.argmax_float32 import decide_linear, decide_scaled, leave_open
from tenfold.stats.class_totals import (
    ClassColumns,
    ClassSums,
    class_columns,
    class_sums,
    diagonal_distances,
    indicators,
)
from tenfold.stats.combined import Several
from tenfold.stats.contingency import ClassTables, category_counts, has_missing, nonmissing_columns
from tenfold.stats.derivatives import Params, forward

TINY = np.finfo(np.float64).tiny


def fold_sums(rows: Rows, classes: int, threshold: float | None = None) -> ClassSums:
    """The sums of values, or of marks of those above a threshold."""
    found = rows.fold(class_sums(classes, threshold))
    if np.isnan(found.low) or not np.isfinite(found.sums).all():
        raise NotFinite
    return found


def fold_columns(rows: Rows, classes: int) -> ClassColumns:
    """The means and squares of the columns."""
    found = rows.fold(class_columns(classes))
    if not (np.isfinite(found.mean).all() and np.isfinite(found.squares).all()):
        raise NotFinite
    return found


def fold_mixed(rows: Rows, classes: int, columns: Sequence[Integers]) -> Several:
    """The sums of columns of numbers, of marks, and of categories."""
    found = rows.fold(partial(_lift_mixed, classes, tuple(columns)))
    if not all(np.isfinite(part.squares).all() for part in found.parts[:2]):
        raise NotFinite
    return found


def _lift_mixed(classes: int, columns: tuple[Integers, ...], block: Block) -> Several:
    numbers, marked, tables = (replace(block, X=_columns_of(block.X, which)) for which in columns)
    on = np.where(np.isfinite(marked.X), marked.X > 0.0, marked.X)
    lifts = nonmissing_columns(classes), nonmissing_columns(classes), category_counts(classes)
    return Several(tuple(f(part) for f, part in zip(lifts, (numbers, replace(marked, X=on), tables), strict=True)))


def _columns_of(X: Array, which: Integers) -> Array:
    return X if len(which) == X.shape[1] else X[:, which]


def mixed(sums: Several, alpha: float, smoothing: float) -> tuple[Floats, Floats, float, Floats, list[Floats]]:
    """Means and variances of the columns of numbers, what was added to the variances, log p of marks and of tables."""
    numbers, marked, tables = sums.parts
    total = numbers.together()
    spread = total.squares / np.where(total.weight > 0.0, total.weight, 1.0)
    added = smoothing * float(np.max(spread, initial=0.0))
    known = numbers.weight > 0.0
    variance = np.where(known, numbers.squares / np.where(known, numbers.weight, 1.0), spread) + added
    with np.errstate(divide="ignore", invalid="ignore"):
        on = np.log(marked.mean * marked.weight + alpha) - np.log(marked.weight + 2.0 * alpha)
    mean = np.where(known, numbers.mean, total.mean)
    return mean, np.where(variance > 0.0, variance, 1.0), added, on, categorical(tables.tables, alpha)


def log_priors(weight: Floats, fixed: Floats | None) -> Floats:
    """Logarithms of the priors: fixed ones, or the shares of the classes."""
    with np.errstate(divide="ignore"):
        return np.log(weight) - np.log(weight.sum()) if fixed is None else np.log(fixed)


def multinomial(sums: Floats, alpha: Floats) -> Floats:
    """log p (k, p)."""
    counts = sums + alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.log(counts.sum(axis=1, keepdims=True))
        logs = np.log(counts, out=counts)
        logs -= total
    return logs


def complement(sums: Floats, alpha: Floats, norm: bool) -> Floats:
    """The weights (k, p) of Rennie et al. (2003): what speaks against all other classes, normalised on demand."""
    others = np.ones((len(sums), len(sums))) - np.eye(len(sums))
    logs = multinomial(np.einsum("kl,lp->kp", others, sums), alpha)  # never by subtraction
    if not norm:
        return np.negative(logs, out=logs)
    if logs.shape[1] == 1:  # which says nothing
        return np.zeros_like(logs)
    return logs / logs.sum(axis=1, keepdims=True)


def bernoulli(weight: Floats, sums: Floats, alpha: Floats) -> Floats:
    """log p (k, p) of a column that is on."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(sums + alpha) - np.log(weight[:, None] + 2.0 * alpha)


def log_absent(log_p: Floats) -> Floats:
    """log(1 - p), accurate where p is small."""
    with np.errstate(divide="ignore"):
        return np.log1p(-np.exp(np.minimum(log_p, 0.0)))


def categorical(tables: tuple[Floats, ...], alpha: float) -> list[Floats]:
    """log p (k, categories) for each column."""
    return [multinomial(table, np.array([alpha])) for table in tables]


def widened(tables: tuple[Floats, ...], sizes: Integers) -> tuple[Floats, ...]:
    """Tables with room for so many categories."""
    return tuple(
        np.pad(t, ((0, 0), (0, max(0, int(size) - t.shape[1])))) for t, size in zip(tables, sizes, strict=True)
    )


def gaussian(columns: ClassColumns, smoothing: float) -> tuple[Floats, Floats, float]:
    """Means, variances (k, p), and what was added to the variances: a share of the largest one of all rows."""
    weight = np.where(columns.weight > 0.0, columns.weight, 1.0)[:, None]
    total = columns.together()
    added = smoothing * float(np.max(total.squares) / total.weight[0])
    return columns.mean, columns.squares / weight + added, added


def fit_gaussian(
    sums: ClassColumns, rows: Rows | None, smoothing: float, priors: Floats | None, dtype: Any
) -> tuple[judge.Gaussian, Certificate]:
    """What is stored in `dtype`, in float64."""
    mean, variance, added = gaussian(sums, smoothing)
    shares = sums.weight / sums.weight.sum() if priors is None else priors
    parts = [wide(part.astype(dtype)) for part in (sums.weight, shares, mean, variance)]
    found = judge.Gaussian(parts[0], parts[1], parts[2], parts[3], added, dtype)
    if rows is None:
        return found, judge.gaussian_from_sums(sums, found, smoothing, priors=priors, note=PARTS_NOTE)
    return found, judge.gaussian(rows, found, smoothing, priors=priors)


def fit_multinomial(
    sums: ClassSums, rows: Rows | None, alpha: Floats, priors: Floats | None
) -> tuple[judge.Counted, Certificate]:
    found = _counted(sums, multinomial(sums.sums, alpha), priors)
    again, note = _sums_again(sums, rows)
    return found, judge.multinomial(again, alpha, found, priors=priors, note=note)


def fit_bernoulli(
    sums: ClassSums, rows: Rows | None, alpha: Floats, priors: Floats | None, threshold: float | None
) -> tuple[judge.Counted, Certificate]:
    """Of marks of the values above a threshold, or of values that are marks."""
    found = _counted(sums, bernoulli(sums.weight, sums.sums, alpha), priors)
    again, note = _sums_again(sums, rows, threshold)
    return found, judge.bernoulli(again, alpha, found, priors=priors, note=note)


def fit_complement(
    sums: ClassSums, rows: Rows | None, alpha: Floats, priors: Floats | None, norm: bool
) -> tuple[judge.Counted, Floats, Certificate]:
    """With the sums of all classes together."""
    found, together = _counted(sums, complement(sums.sums, alpha, norm), priors), sums.sums.sum(axis=0)
    again, note = _sums_again(sums, rows)
    certificate = judge.complement(again, alpha, found, together=together, norm=norm, priors=priors, note=note)
    return found, together, certificate


def _counted(sums: ClassSums, log_p: Floats, priors: Floats | None) -> judge.Counted:
    return judge.Counted(sums.weight, log_priors(sums.weight, priors), sums.sums, log_p)


def _sums_again(sums: ClassSums, rows: Rows | None, threshold: float | None = None) -> tuple[ClassSums, str]:
    """What the judge goes by, and its note."""
    return (sums, PARTS_NOTE) if rows is None else (judge.sums_again(rows, len(sums.weight), threshold), "")


def fit_priors(sums: ClassSums, rows: Rows | None, priors: Floats | None) -> tuple[Floats, Certificate]:
    """The shares of the classes alone, or priors that are given."""
    found = sums.weight / sums.weight.sum() if priors is None else priors
    return found, judge.shares(rows, sums, found, priors, PARTS_NOTE if rows is None else "")


class Tables(NamedTuple):
    """Logarithms of the probabilities of categories, (k, categories) of each column, and of the priors (k,)."""

    log_p: list[Floats]
    log_prior: Floats


def fit_categorical(
    sums: ClassTables, rows: Rows | None, alpha: float, priors: Floats | None, least: Integers
) -> tuple[Tables, Certificate]:
    """Of tables with room for the `least` numbers (p,) of categories."""
    found = Tables(categorical(sums.tables, alpha), log_priors(sums.weight, priors))
    sizes = [table.shape[1] for table in sums.tables]
    certificate = judge.categorical(
        sums if rows is None else judge.tables_again(rows, len(sums.weight), sizes),
        alpha,
        weight=sums.weight,
        tables=sums.tables,
        sizes=np.array(sizes),
        least=least,
        log_p=found.log_p,
        log_prior=found.log_prior,
        priors=priors,
        note=PARTS_NOTE if rows is None else "",
    )
    return found, certificate


class Mixed(NamedTuple):
    """Means and variances (k, numbers) and what was added to the variances, log p of marks (k, marks) and of tables,
    and logarithms of the priors (k,).
    """

    mean: Floats
    variance: Floats
    added: float
    indicators: Floats
    tables: list[Floats]
    log_prior: Floats


def fit_mixed(
    sums: Several,
    rows: Rows | None,
    alpha: float,
    smoothing: float,
    priors: Floats | None,
    columns: Sequence[Integers],
) -> tuple[Mixed, Certificate]:
    """Of the numbers of the `columns` of numbers, of marks, and of categories."""
    weight = sums.parts[2].weight
    found = Mixed(*mixed(sums, alpha, smoothing), log_priors(weight, priors))
    sizes = [table.shape[1] for table in found.tables]
    certificate = judge.mixed(
        sums if rows is None else judge.mixed_again(rows, len(weight), columns, sizes),
        alpha,
        smoothing,
        found.added,
        numbers=(found.mean, found.variance),
        indicators=found.marks,
        tables=found.tables,
        weight=weight,
        log_prior=found.log_prior,
        priors=priors,
        note=PARTS_NOTE if rows is None else "",
    )
    return found, certificate


@dataclass(frozen=True)
class LinearScores:
    """Scores that are linear in the columns, or in marks of those above a threshold.

    Logarithms of zero are kept apart, so that nothing times minus infinity is nothing: a row has the score minus
    infinity where `barred` times its columns plus `barred_from` is positive.
    """

    coef: Floats
    intercept: Floats
    barred: Floats | None = None
    barred_from: Floats | None = None
    threshold: float | None = None

    @classmethod
    def of_present(cls, log_p: Floats, log_prior: Floats, threshold: float | None = None) -> "LinearScores":
        """Each unit of a column counts log p; absent ones do not."""
        never = np.isneginf(log_p)
        if not never.any():
            return cls(log_p, log_prior, threshold=threshold)
        return cls(np.where(never, 0.0, log_p), log_prior, never.astype(np.float64), np.zeros(len(log_p)), threshold)

    @classmethod
    def of_all(cls, log_p: Floats, log_prior: Floats, threshold: float | None = None) -> "LinearScores":
        """A column that is on counts log p, another one log(1 - p)."""
        off = log_absent(log_p)
        never, always = np.isneginf(log_p), np.isneginf(off)
        on, off = np.where(never, 0.0, log_p), np.where(always, 0.0, off)
        coef, intercept = on - off, log_prior + off.sum(axis=1)
        if not (never.any() or always.any()):
            return cls(coef, intercept, threshold=threshold)
        barred = never.astype(np.float64) - always.astype(np.float64)
        return cls(coef, intercept, barred, always.sum(axis=1).astype(np.float64), threshold)

    def decided(self, X: Array) -> Integers:
        """The numbers of the largest scores of dense rows, or -1 where single precision cannot tell."""
        if self.threshold is not None or self.barred is not None:
            return leave_open(X)
        return decide_linear(X, self.coef, self.intercept)

    def __call__(self, X: Array) -> Array:
        """The scores (n, k) in float64, where X is."""
        if self.threshold is None or not is_numpy(X):
            return self._of(X)
        length = block_length(X.shape[1], False)  # marks are made a block at a time
        parts = [self._of(X[start : start + length]) for start in range(0, max(1, X.shape[0]), length)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _of(self, X: Array) -> Array:
        X = X if self.threshold is None else indicators(X, self.threshold)
        # priors that are zero are not added to products
        z = forward(X, Params(self.coef, np.where(np.isneginf(self.intercept), 0.0, self.intercept)))
        xp = namespace(z)
        none = like(np.isneginf(self.intercept), z)[None, :]
        if self.barred is not None and self.barred_from is not None:
            none = none | (forward(X, Params(self.barred, self.barred_from)) >= TINY)
        return xp.where(none, -np.inf, z) if self.barred is not None or np.isneginf(self.intercept).any() else z


@dataclass(frozen=True)
class GaussianScores:
    """``log prior - 1/2 sum_j log(2 pi var_j) - 1/2 sum_j (x_j - mean_j)^2 / var_j``."""

    mean: Floats
    variance: Floats
    log_prior: Floats

    def decided(self, X: Array) -> Integers:
        """The numbers of the largest scores of dense rows, or -1 where single precision cannot tell."""
        return decide_scaled(X, self.mean, self._scale(), self._constant())

    def __call__(self, X: Array) -> Array:
        """The scores (n, k) in float64, where X is."""
        halves = diagonal_distances(X, self.mean, self._scale())
        halves *= -1.0
        halves += like(self._constant(), halves)
        return halves

    def _scale(self) -> Floats:
        return np.sqrt(0.5 / self.variance)

    def _constant(self) -> Floats:
        return self.log_prior - 0.5 * np.sum(np.log(2.0 * np.pi * self.variance), axis=1)


class UnseenCategory(ValueError):
    """A category that did not come in the fit."""


@dataclass(frozen=True)
class TableScores:
    """Scores of rows of categories: ``log prior + sum_j log p_j[x_j]``; what is missing is left out. Errors name the
    owner and the column.
    """

    owner: str
    log_p: tuple[Floats, ...]
    log_prior: Floats
    names: tuple[str, ...]

    def __call__(self, X: Array) -> Array:
        starts = np.append(0, np.cumsum([log_p.shape[1] for log_p in self.log_p], dtype=np.int64))
        table = np.concatenate([np.zeros((0, len(self.log_prior))), *(log_p.T for log_p in self.log_p)])
        count = threads(entries(X) * len(self.log_prior))
        z, strange = _core.category_scores(contiguous(X), table, np.ascontiguousarray(self.log_prior), starts, count)
        if strange >= 0:
            raise self._unseen(int(X.flat[strange]), strange % X.shape[1])
        return z

    def _unseen(self, category: int, column: int) -> UnseenCategory:
        name, known = self.names[column], self.log_p[column].shape[1]
        if category < 0:
            return UnseenCategory(
                f"Negative values in data passed to {self.owner} (input X): column {name} has {category}."
            )
        return UnseenCategory(
            f"Column {name} has the category {category}, and the fit knew {known}: 0 to {known - 1}. Give "
            "min_categories to leave room for others."
        )


@dataclass(frozen=True)
class MixedScores:
    """Sums of the scores of columns of several kinds: of numbers, of marks and of categories; what is missing is left
    out.
    """

    numbers: tuple[Integers, Floats, Floats]
    indicators: tuple[Integers, Floats, Floats]
    tables: tuple[Integers, TableScores]

    def __call__(self, X: Array) -> Array:
        which, scores = self.tables
        z = scores(_columns_of(X, which))
        which, mean, variance = self.numbers
        if which.size:
            z += _numbers(contiguous(_columns_of(X, which)), mean, variance)
        which, on, off = self.marks
        if which.size:
            z += _marks(_columns_of(X, which), on, off)
        return z


def _numbers(X: Array, mean: Floats, variance: Floats) -> Array:
    """log N of the columns that are there, (n, k)."""
    logs, scale = 0.5 * np.log(2.0 * np.pi * variance), np.sqrt(0.5 / variance)
    z = -logs.sum(axis=1) - diagonal_distances(X, mean, scale)
    if not has_missing(X):
        return z
    lacking = np.flatnonzero(np.isnan(X).any(axis=1))
    part = X[lacking].astype(np.float64)
    missing = np.isnan(part)
    z[lacking] = np.stack([_known(part, missing, *each) for each in zip(mean, scale, logs, strict=True)], axis=1)
    return z


def _known(X: Array, missing: Array, mean: Floats, scale: Floats, logs: Floats) -> Array:
    away = (X - mean) * scale
    return -np.sum(np.where(missing, 0.0, away * away + logs), axis=1)


def _marks(X: Array, on: Floats, off: Floats) -> Array:
    """log p of marks that are on, or off, (n, k)."""
    up, down = (X > 0.0).astype(np.float64), (X <= 0.0).astype(np.float64)
    if np.isfinite(on).all() and np.isfinite(off).all():
        none = np.zeros(len(on))
        return forward(up, Params(np.ascontiguousarray(on), none)) + forward(
            down, Params(np.ascontiguousarray(off), none)
        )
    parts = [np.where(up > 0.0, on[k], 0.0) + np.where(down > 0.0, off[k], 0.0) for k in range(len(on))]
    return np.stack([np.sum(part, axis=1) for part in parts], axis=1)


def drawn_categories(log_p: Floats, which: Integers, random: Any) -> Floats:
    """A category for each row, given its class, by the table (k, categories) of a column."""
    below = np.cumsum(np.exp(log_p), axis=1)[which]
    return np.sum(random.uniform(size=(len(which), 1)) * below[:, -1:] > below, axis=1).astype(np.float64)
