"""Naive Bayes: features that are independent within a class, estimated from the sums of one pass.

With N_c the weight of class c and N_cj the weighted sum of column j in it, the estimates are the modes of Dirichlet and
Beta priors (alpha = 1 is Laplace's rule, 0 maximum likelihood):

multinomial     p_cj = (N_cj + alpha_j) / sum_l (N_cl + alpha_l)
bernoulli       p_cj = (N_cj + alpha_j) / (N_c + 2 alpha_j),         N_cj the weight of the samples with feature j on
complement      the multinomial of all samples outside c, with negated logarithms
categorical     p_cjv = (N_cjv + alpha) / sum_u (N_cju + alpha),     N_cjv the weight of the samples with x_j = v
gaussian        mean and variance of each column in the class, plus a fraction of the largest variance of a column

A score is log prior + log p(x | c).

A fit is judged by the rows, or by the sums after a `partial_fit`, when the rows are not available.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import TINY, Array, Floats, Integers, contiguous, entries, is_numpy, like, namespace, wide
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


def fold_sums(rows: Rows, classes: int, threshold: float | None = None) -> ClassSums:
    """Class sums of the values, or of indicators of values above a threshold."""
    sums = rows.fold(class_sums(classes, threshold))
    if np.isnan(sums.low) or not np.isfinite(sums.sums).all():
        raise NotFinite
    return sums


def fold_columns(rows: Rows, classes: int) -> ClassColumns:
    """Means and squares of the columns by class."""
    columns = rows.fold(class_columns(classes))
    if not (np.isfinite(columns.mean).all() and np.isfinite(columns.squares).all()):
        raise NotFinite
    return columns


def fold_mixed(rows: Rows, classes: int, columns: Sequence[Integers]) -> Several:
    """Class sums of numeric, binary and categorical columns."""
    sums = rows.fold(partial(_lift_mixed, classes, tuple(columns)))
    if not all(np.isfinite(part.squares).all() for part in sums.parts[:2]):
        raise NotFinite
    return sums


def _lift_mixed(classes: int, columns: tuple[Integers, ...], block: Block) -> Several:
    numeric, marked, tables = (replace(block, X=_select_columns(block.X, which)) for which in columns)
    on = np.where(np.isfinite(marked.X), marked.X > 0.0, marked.X)
    lifts = nonmissing_columns(classes), nonmissing_columns(classes), category_counts(classes)
    return Several(tuple(f(part) for f, part in zip(lifts, (numeric, replace(marked, X=on), tables), strict=True)))


def _select_columns(X: Array, which: Integers) -> Array:
    return X if len(which) == X.shape[1] else X[:, which]


def heterogeneous(sums: Several, alpha: float, smoothing: float) -> tuple[Floats, Floats, float, Floats, list[Floats]]:
    """Means and variances of numeric columns, the term added to the variances, log p of binary and categorical ones."""
    numeric, marked, tables = sums.parts
    total = numeric.together()
    spread = total.squares / np.where(total.weight > 0.0, total.weight, 1.0)
    added = smoothing * float(np.max(spread, initial=0.0))
    known = numeric.weight > 0.0
    variance = np.where(known, numeric.squares / np.where(known, numeric.weight, 1.0), spread) + added
    with np.errstate(divide="ignore", invalid="ignore"):
        on = np.log(marked.mean * marked.weight + alpha) - np.log(marked.weight + 2.0 * alpha)
    mean = np.where(known, numeric.mean, total.mean)
    return mean, np.where(variance > 0.0, variance, 1.0), added, on, categorical(tables.tables, alpha)


def log_priors(weight: Floats, fixed: Floats | None) -> Floats:
    """Log priors: fixed ones, or the class frequencies."""
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
    """The weights (k, p) of Rennie et al. (2003): minus log p of all other classes, optionally normalised."""
    # sums over the other classes: subtraction from the total would cancel
    others = np.ones((len(sums), len(sums))) - np.eye(len(sums))
    logs = multinomial(np.einsum("kl,lp->kp", others, sums), alpha)
    if not norm:
        return np.negative(logs, out=logs)
    if logs.shape[1] == 1:  # a single normalised weight is constant
        return np.zeros_like(logs)
    return logs / logs.sum(axis=1, keepdims=True)


def bernoulli(weight: Floats, sums: Floats, alpha: Floats) -> Floats:
    """log p (k, p) of features that are on."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(sums + alpha) - np.log(weight[:, None] + 2.0 * alpha)


def log_absent(log_p: Floats) -> Floats:
    """log(1 - p), accurate where p is small."""
    with np.errstate(divide="ignore"):
        return np.log1p(-np.exp(np.minimum(log_p, 0.0)))


def categorical(tables: tuple[Floats, ...], alpha: float) -> list[Floats]:
    """log p (k, categories) for each column."""
    return [multinomial(table, np.array([alpha])) for table in tables]


def pad_tables(tables: tuple[Floats, ...], sizes: Integers) -> tuple[Floats, ...]:
    """Tables padded to at least `sizes` categories."""
    return tuple(
        np.pad(t, ((0, 0), (0, max(0, int(size) - t.shape[1])))) for t, size in zip(tables, sizes, strict=True)
    )


def gaussian(columns: ClassColumns, smoothing: float) -> tuple[Floats, Floats, float]:
    """Means and variances (k, p), and the term added to the variances: a fraction of the largest overall variance."""
    weight = np.where(columns.weight > 0.0, columns.weight, 1.0)[:, None]
    total = columns.together()
    added = smoothing * float(np.max(total.squares) / total.weight[0])
    return columns.mean, columns.squares / weight + added, added


def fit_gaussian(
    sums: ClassColumns, rows: Rows | None, smoothing: float, priors: Floats | None, dtype: Any
) -> tuple[judge.Gaussian, Certificate]:
    """The estimates, rounded to `dtype` and returned in float64, and their certificate."""
    mean, variance, added = gaussian(sums, smoothing)
    shares = sums.weight / sums.weight.sum() if priors is None else priors
    parts = [wide(part.astype(dtype)) for part in (sums.weight, shares, mean, variance)]
    estimates = judge.Gaussian(parts[0], parts[1], parts[2], parts[3], added, dtype)
    if rows is None:
        return estimates, judge.gaussian_from_sums(sums, estimates, smoothing, priors=priors, note=PARTS_NOTE)
    return estimates, judge.gaussian(rows, estimates, smoothing, priors=priors)


def fit_multinomial(
    sums: ClassSums, rows: Rows | None, alpha: Floats, priors: Floats | None
) -> tuple[judge.Counted, Certificate]:
    estimates = _pack_counts(sums, multinomial(sums.sums, alpha), priors)
    again, note = _sums_to_judge(sums, rows)
    return estimates, judge.multinomial(again, alpha, estimates, priors=priors, note=note)


def fit_bernoulli(
    sums: ClassSums, rows: Rows | None, alpha: Floats, priors: Floats | None, threshold: float | None
) -> tuple[judge.Counted, Certificate]:
    """The estimates for indicators of values above a threshold, or for binary values."""
    estimates = _pack_counts(sums, bernoulli(sums.weight, sums.sums, alpha), priors)
    again, note = _sums_to_judge(sums, rows, threshold)
    return estimates, judge.bernoulli(again, alpha, estimates, priors=priors, note=note)


def fit_complement(
    sums: ClassSums, rows: Rows | None, alpha: Floats, priors: Floats | None, norm: bool
) -> tuple[judge.Counted, Floats, Certificate]:
    """The estimates, the feature sums over all classes, and the certificate."""
    estimates, feature_sums = _pack_counts(sums, complement(sums.sums, alpha, norm), priors), sums.sums.sum(axis=0)
    again, note = _sums_to_judge(sums, rows)
    certificate = judge.complement(again, alpha, estimates, together=feature_sums, norm=norm, priors=priors, note=note)
    return estimates, feature_sums, certificate


def _pack_counts(sums: ClassSums, log_p: Floats, priors: Floats | None) -> judge.Counted:
    return judge.Counted(sums.weight, log_priors(sums.weight, priors), sums.sums, log_p)


def _sums_to_judge(sums: ClassSums, rows: Rows | None, threshold: float | None = None) -> tuple[ClassSums, str]:
    """The sums that the judge uses, and its note."""
    return (sums, PARTS_NOTE) if rows is None else (judge.recompute_sums(rows, len(sums.weight), threshold), "")


def fit_priors(sums: ClassSums, rows: Rows | None, priors: Floats | None) -> tuple[Floats, Certificate]:
    """The class frequencies, or given priors."""
    shares = sums.weight / sums.weight.sum() if priors is None else priors
    return shares, judge.shares(rows, sums, shares, priors, PARTS_NOTE if rows is None else "")


class Tables(NamedTuple):
    """Log probabilities (k, categories) of the categories of each column, and log priors (k,)."""

    log_p: list[Floats]
    log_prior: Floats


def fit_categorical(
    sums: ClassTables, rows: Rows | None, alpha: float, priors: Floats | None, least: Integers
) -> tuple[Tables, Certificate]:
    """The estimates for tables of at least `least` (p,) categories."""
    estimates = Tables(categorical(sums.tables, alpha), log_priors(sums.weight, priors))
    sizes = [table.shape[1] for table in sums.tables]
    certificate = judge.categorical(
        sums if rows is None else judge.recompute_tables(rows, len(sums.weight), sizes),
        alpha,
        weight=sums.weight,
        tables=sums.tables,
        sizes=np.array(sizes),
        least=least,
        log_p=estimates.log_p,
        log_prior=estimates.log_prior,
        priors=priors,
        note=PARTS_NOTE if rows is None else "",
    )
    return estimates, certificate


class Mixed(NamedTuple):
    """Means and variances of numeric columns with the term added to the variances, log p of binary columns and of
    categories, and log priors (k,).
    """

    mean: Floats
    variance: Floats
    added: float
    marks: Floats
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
    """The estimates; `columns` are the indices of the numeric, binary and categorical columns."""
    weight = sums.parts[2].weight
    estimates = Mixed(*heterogeneous(sums, alpha, smoothing), log_priors(weight, priors))
    sizes = [table.shape[1] for table in estimates.tables]
    certificate = judge.heterogeneous(
        sums if rows is None else judge.recompute_by_kind(rows, len(weight), columns, sizes),
        alpha,
        smoothing,
        estimates.added,
        numbers=(estimates.mean, estimates.variance),
        marks=estimates.marks,
        tables=estimates.tables,
        weight=weight,
        log_prior=estimates.log_prior,
        priors=priors,
        note=PARTS_NOTE if rows is None else "",
    )
    return estimates, certificate


@dataclass(frozen=True)
class LinearScores:
    """Scores that are linear in the features, or in indicators of features above a threshold.

    Logarithms of zero are separate, so that 0 * -inf is 0: a sample has the score -inf where `impossible` times its
    features plus `impossible_offset` is positive.
    """

    coef: Floats
    intercept: Floats
    impossible: Floats | None = None
    impossible_offset: Floats | None = None
    threshold: float | None = None

    @classmethod
    def of_present(cls, log_p: Floats, log_prior: Floats, threshold: float | None = None) -> "LinearScores":
        """Scores sum_j x_j log p_j: features that are off contribute nothing."""
        never = np.isneginf(log_p)
        if not never.any():
            return cls(log_p, log_prior, threshold=threshold)
        return cls(np.where(never, 0.0, log_p), log_prior, never.astype(np.float64), np.zeros(len(log_p)), threshold)

    @classmethod
    def of_all(cls, log_p: Floats, log_prior: Floats, threshold: float | None = None) -> "LinearScores":
        """Scores with log p for features that are on, and log(1 - p) for others."""
        off = log_absent(log_p)
        never, always = np.isneginf(log_p), np.isneginf(off)
        on, off = np.where(never, 0.0, log_p), np.where(always, 0.0, off)
        coef, intercept = on - off, log_prior + off.sum(axis=1)
        if not (never.any() or always.any()):
            return cls(coef, intercept, threshold=threshold)
        impossible = never.astype(np.float64) - always.astype(np.float64)
        return cls(coef, intercept, impossible, always.sum(axis=1).astype(np.float64), threshold)

    def decide(self, X: Array) -> Integers:
        """The argmax of the scores of dense rows, -1 where single precision does not decide it."""
        if self.threshold is not None or self.impossible is not None:
            return leave_open(X)
        return decide_linear(X, self.coef, self.intercept)

    def __call__(self, X: Array) -> Array:
        """The scores (n, k) in float64, on the device of X."""
        if self.threshold is None or not is_numpy(X):
            return self._scores(X)
        length = block_length(X.shape[1], False)  # indicators are computed block by block
        parts = [self._scores(X[start : start + length]) for start in range(0, max(1, X.shape[0]), length)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _scores(self, X: Array) -> Array:
        X = X if self.threshold is None else indicators(X, self.threshold)
        # log priors of -inf are set below, not added
        z = forward(X, Params(self.coef, np.where(np.isneginf(self.intercept), 0.0, self.intercept)))
        xp = namespace(z)
        is_impossible = like(np.isneginf(self.intercept), z)[None, :]
        if self.impossible is not None and self.impossible_offset is not None:
            is_impossible = is_impossible | (forward(X, Params(self.impossible, self.impossible_offset)) >= TINY)
        return (
            xp.where(is_impossible, -np.inf, z)
            if self.impossible is not None or np.isneginf(self.intercept).any()
            else z
        )


@dataclass(frozen=True)
class GaussianScores:
    """``log prior - 1/2 sum_j log(2 pi var_j) - 1/2 sum_j (x_j - mean_j)^2 / var_j``."""

    mean: Floats
    variance: Floats
    log_prior: Floats

    def decide(self, X: Array) -> Integers:
        """The argmax of the scores of dense rows, -1 where single precision does not decide it."""
        return decide_scaled(X, self.mean, self._scale(), self._constant())

    def __call__(self, X: Array) -> Array:
        """The scores (n, k) in float64, on the device of X."""
        halves = diagonal_distances(X, self.mean, self._scale())
        halves *= -1.0
        halves += like(self._constant(), halves)
        return halves

    def _scale(self) -> Floats:
        return np.sqrt(0.5 / self.variance)

    def _constant(self) -> Floats:
        return self.log_prior - 0.5 * np.sum(np.log(2.0 * np.pi * self.variance), axis=1)


class UnseenCategory(ValueError):
    """A category that was not seen in the fit."""


@dataclass(frozen=True)
class TableScores:
    """Scores of categorical features: ``log prior + sum_j log p_j[x_j]`` over the values that are not missing. Errors
    name the owner and the column.
    """

    owner: str
    log_p: tuple[Floats, ...]
    log_prior: Floats
    names: tuple[str, ...]

    def __call__(self, X: Array) -> Array:
        starts = np.append(0, np.cumsum([log_p.shape[1] for log_p in self.log_p], dtype=np.int64))
        table = np.concatenate([np.zeros((0, len(self.log_prior))), *(log_p.T for log_p in self.log_p)])
        count = threads(entries(X) * len(self.log_prior))
        z, unseen = _core.category_scores(contiguous(X), table, np.ascontiguousarray(self.log_prior), starts, count)
        if unseen >= 0:
            raise self._unseen_error(int(X.flat[unseen]), unseen % X.shape[1])
        return z

    def _unseen_error(self, category: int, column: int) -> UnseenCategory:
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
    """Sums of the scores of numeric, binary and categorical columns; missing values contribute nothing."""

    numeric: tuple[Integers, Floats, Floats]
    marks: tuple[Integers, Floats, Floats]
    tables: tuple[Integers, TableScores]

    def __call__(self, X: Array) -> Array:
        which, scores = self.tables
        z = scores(_select_columns(X, which))
        which, mean, variance = self.numeric
        if which.size:
            z += _gaussian_scores(contiguous(_select_columns(X, which)), mean, variance)
        which, on, off = self.marks
        if which.size:
            z += _bernoulli_scores(_select_columns(X, which), on, off)
        return z


def _gaussian_scores(X: Array, mean: Floats, variance: Floats) -> Array:
    """Sums of the Gaussian log densities of the values that are not missing, (n, k)."""
    logs, scale = 0.5 * np.log(2.0 * np.pi * variance), np.sqrt(0.5 / variance)
    z = -logs.sum(axis=1) - diagonal_distances(X, mean, scale)
    if not has_missing(X):
        return z
    lacking = np.flatnonzero(np.isnan(X).any(axis=1))
    part = X[lacking].astype(np.float64)
    missing = np.isnan(part)
    z[lacking] = np.stack(
        [_log_density_of_known(part, missing, *each) for each in zip(mean, scale, logs, strict=True)], axis=1
    )
    return z


def _log_density_of_known(X: Array, missing: Array, mean: Floats, scale: Floats, logs: Floats) -> Array:
    away = (X - mean) * scale
    return -np.sum(np.where(missing, 0.0, away * away + logs), axis=1)


def _bernoulli_scores(X: Array, on: Floats, off: Floats) -> Array:
    """Sums of log p of binary columns, on or off, (n, k)."""
    up, down = (X > 0.0).astype(np.float64), (X <= 0.0).astype(np.float64)
    if np.isfinite(on).all() and np.isfinite(off).all():
        none = np.zeros(len(on))
        return forward(up, Params(np.ascontiguousarray(on), none)) + forward(
            down, Params(np.ascontiguousarray(off), none)
        )
    parts = [np.where(up > 0.0, on[k], 0.0) + np.where(down > 0.0, off[k], 0.0) for k in range(len(on))]
    return np.stack([np.sum(part, axis=1) for part in parts], axis=1)


def draw_categories(log_p: Floats, which: Integers, random: Any) -> Floats:
    """Draw a category for each sample, given its class, from the table (k, categories) of a column."""
    below = np.cumsum(np.exp(log_p), axis=1)[which]
    return np.sum(random.uniform(size=(len(which), 1)) * below[:, -1:] > below, axis=1).astype(np.float64)
