"""Greedy selection: which products of columns are formed, the pursuit of each target, the judge, and corrections.

Where few of many columns are asked for, or the columns outnumber the rows, products are read from the rows as the
pursuit asks for them; else the whole Gram matrix comes from one fold. Weights of the columns that were taken are
corrected by the gradient that the judge reads from the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.judge.greedy_selection import greedy
from tenfold.judge.least_squares import Verdict
from tenfold.plans.least_squares import DENSE_COLUMNS, fold_moments
from tenfold.plans.result import Fitted, stored
from tenfold.problems import GreedyRule
from tenfold.solvers.greedy_selection import Path, pursue
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.gram import BATCH_COLUMNS, Gram, GramByColumns, WholeGram
from tenfold.stats.moments import Moments

FEW = 8
"""Products are read as they are asked for where the columns asked for are less than a share of 1 / FEW of all."""


@dataclass(frozen=True)
class Pursued:
    """A fit, and the path of each target."""

    fitted: Fitted
    paths: tuple[Path, ...]

    @property
    def premature(self) -> bool:
        return any(path.premature for path in self.paths)


def gram_of(rows: Rows, intercept: bool, asked: int, whole: bool | None = None) -> Gram:
    """The products of `asked` of the columns with all of them; `whole` says whether all products are formed, where
    somebody wants to say so.
    """
    n, p = rows.shape
    if whole is None:
        whole = p <= min(n, DENSE_COLUMNS) and (FEW * asked >= p or p <= BATCH_COLUMNS)
    return WholeGram.of(fold_moments(rows), intercept) if whole else GramByColumns.of(rows, intercept)


def paths(gram: Gram, rule: GreedyRule) -> tuple[Path, ...]:
    """The pursuit of each target."""
    p = gram.squares.size
    most = p if rule.tol is not None or rule.most is None else rule.most
    return tuple(
        pursue(gram, t, rule.promise, most, None if rule.tol is None else rule.tol * 4.0 ** -float(r))
        for t, r in enumerate(gram.target_scales)
    )


def fit(
    rows: Rows, rule: GreedyRule, intercept: bool, *, dtype: Any = np.float64, whole: bool | None = None
) -> Pursued:
    """Pursue, judge, and correct."""
    p = rows.shape[1]
    return _pursued(
        rows, gram_of(rows, intercept, p if rule.most is None else rule.most, whole), rule, intercept, dtype
    )


def pursued_on(rows: Rows, moments: Moments, rule: GreedyRule, intercept: bool, *, dtype: Any = np.float64) -> Pursued:
    """The same with the moments of `rows` at hand."""
    return _pursued(rows, WholeGram.of(moments, intercept), rule, intercept, dtype)


def _pursued(rows: Rows, gram: Gram, rule: GreedyRule, intercept: bool, dtype: Any) -> Pursued:
    found = paths(gram, rule)
    columns = gram.columns
    params = with_intercept(_weights(gram, found), columns, intercept)

    def judged(params: Params) -> tuple[Params, Verdict]:
        kept = stored(params, dtype, columns.centre(intercept))
        order = [path.order for path in found]
        return kept, greedy(rule, rows, kept, columns, intercept, order=order, dtype=dtype)

    kept, verdict = judged(params)
    # a floor above the tolerance says that digits are gone, not that there is nothing to gain
    if verdict.certificate.value > max(1e-10, min(16.0 * verdict.certificate.floor, verdict.certificate.tol)):
        again = judged(with_intercept(_corrected(gram, found, kept.coef, verdict.gradient), columns, intercept))
        if again[1].certificate.value <= verdict.certificate.value:
            kept, verdict = again
    fitted = Fitted(kept, verdict.certificate, "pursuit", residual_squares=verdict.residual_squares)
    return Pursued(fitted, found)


def _weights(gram: Gram, found: Sequence[Path]) -> Floats:
    coef = np.zeros((len(found), gram.squares.size))
    for t, path in enumerate(found):
        with np.errstate(over="ignore"):  # refused by name where they are stored
            coef[t, path.order] = np.ldexp(path.weights(), gram.target_scales[t] - gram.scales[path.order])
    return coef


def _corrected(gram: Gram, found: Sequence[Path], coef: Floats, gradient: Floats) -> Floats:
    """One step of Newton's method on the columns that were taken, with the gradient read from the rows."""
    coef = coef.copy()
    for t, path in enumerate(found):
        q = gram.scales[path.order]
        coef[t, path.order] -= np.ldexp(path.solve(np.ldexp(gradient[t, path.order], -q)), -q)
    return coef


def weights_of_steps(gram: Gram, rule: GreedyRule, intercept: bool) -> tuple[Floats, Floats]:
    """Weights (k, t, p) and intercepts (k, t) after every step, as many as all targets have."""
    found = paths(gram, rule)
    steps = min(len(path.order) for path in found)
    p = gram.squares.size
    with np.errstate(over="ignore"):
        each = zip(found, gram.target_scales, strict=True)
        coef = np.stack([np.ldexp(path.every(p)[:steps], r - gram.scales) for path, r in each], axis=1)
    if not np.isfinite(coef).all():
        raise ValueError("The weights of some columns are beyond the range of numbers: scale the columns.")
    offsets = with_intercept(coef.reshape(-1, p), gram.columns, intercept, repeat=steps).intercept
    return coef, offsets.reshape(steps, len(found))


def with_intercept(coef: Floats, columns: Columns, intercept: bool, repeat: int = 1) -> Params:
    """The intercept that makes the mean residual zero, for `repeat` weights of every target."""
    if not intercept:
        return Params(coef, np.zeros(coef.shape[0]))
    mean, target_mean = columns.mean[: columns.features], columns.mean[columns.features :]
    return Params(coef, np.tile(target_mean, repeat) - np.einsum("tp,p->t", coef, mean))
