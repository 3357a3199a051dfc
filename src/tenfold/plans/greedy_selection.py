"""Greedy selection of features: products of the features, the pursuit of each target, the judge, and corrections.

Where few of many features are requested, or features outnumber samples, products are read from the samples as the
pursuit needs them; else the whole Gram matrix comes from one pass. The weights of the selected features are corrected
by the gradient that the judge reads from the samples.
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
from tenfold.plans.result import Fitted, round_to_dtype
from tenfold.problems import GreedyRule
from tenfold.solvers.greedy_selection import Path, pursue
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.gram import BATCH_COLUMNS, Gram, GramByColumns, WholeGram
from tenfold.stats.moments import Moments

GRAM_RATIO = 8  # the whole Gram matrix is formed where at least p / GRAM_RATIO features are requested


@dataclass(frozen=True)
class PursuitFit:
    """A fit, and the path of each target."""

    fitted: Fitted
    paths: tuple[Path, ...]

    @property
    def premature(self) -> bool:
        return any(path.premature for path in self.paths)


def gram_of(rows: Rows, intercept: bool, requested: int, whole: bool | None = None) -> Gram:
    """The products of `requested` of the features with all; `whole` overrides whether all products are formed."""
    n, p = rows.shape
    if whole is None:
        whole = p <= min(n, DENSE_COLUMNS) and (GRAM_RATIO * requested >= p or p <= BATCH_COLUMNS)
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
) -> PursuitFit:
    """Pursue, judge, and correct."""
    p = rows.shape[1]
    return _pursue(rows, gram_of(rows, intercept, p if rule.most is None else rule.most, whole), rule, intercept, dtype)


def fit_from_moments(
    rows: Rows, moments: Moments, rule: GreedyRule, intercept: bool, *, dtype: Any = np.float64
) -> PursuitFit:
    """The same from the moments of `rows`."""
    return _pursue(rows, WholeGram.of(moments, intercept), rule, intercept, dtype)


def _pursue(rows: Rows, gram: Gram, rule: GreedyRule, intercept: bool, dtype: Any) -> PursuitFit:
    solutions = paths(gram, rule)
    columns = gram.columns
    params = with_intercept(_weights(gram, solutions), columns, intercept)

    def judge(params: Params) -> tuple[Params, Verdict]:
        params = round_to_dtype(params, dtype, columns.centre(intercept))
        order = [path.order for path in solutions]
        return params, greedy(rule, rows, params, columns, intercept, order=order, dtype=dtype)

    params, verdict = judge(params)
    # a floor above the tolerance means lost digits, which a correction may restore
    if verdict.certificate.value > max(1e-10, min(16.0 * verdict.certificate.floor, verdict.certificate.tol)):
        again = judge(with_intercept(_correct(gram, solutions, params.coef, verdict.gradient), columns, intercept))
        if again[1].certificate.value <= verdict.certificate.value:
            params, verdict = again
    fitted = Fitted(params, verdict.certificate, "pursuit", residual_squares=verdict.residual_squares)
    return PursuitFit(fitted, solutions)


def _weights(gram: Gram, solutions: Sequence[Path]) -> Floats:
    coef = np.zeros((len(solutions), gram.squares.size))
    for t, path in enumerate(solutions):
        with np.errstate(over="ignore"):  # infinite weights raise an error where they are stored
            coef[t, path.order] = np.ldexp(path.weights(), gram.target_scales[t] - gram.scales[path.order])
    return coef


def _correct(gram: Gram, solutions: Sequence[Path], coef: Floats, gradient: Floats) -> Floats:
    """One Newton step on the selected features, with the gradient read from the samples."""
    coef = coef.copy()
    for t, path in enumerate(solutions):
        q = gram.scales[path.order]
        coef[t, path.order] -= np.ldexp(path.solve(np.ldexp(gradient[t, path.order], -q)), -q)
    return coef


def weights_of_steps(gram: Gram, rule: GreedyRule, intercept: bool) -> tuple[Floats, Floats]:
    """Weights (k, t, p) and intercepts (k, t) after each step that all targets have."""
    solutions = paths(gram, rule)
    steps = min(len(path.order) for path in solutions)
    p = gram.squares.size
    with np.errstate(over="ignore"):
        each = zip(solutions, gram.target_scales, strict=True)
        coef = np.stack([np.ldexp(path.every(p)[:steps], r - gram.scales) for path, r in each], axis=1)
    if not np.isfinite(coef).all():
        raise ValueError("The weights of some columns are beyond the range of numbers: scale the columns.")
    offsets = with_intercept(coef.reshape(-1, p), gram.columns, intercept, repeat=steps).intercept
    return coef, offsets.reshape(steps, len(solutions))


def with_intercept(coef: Floats, columns: Columns, intercept: bool, repeat: int = 1) -> Params:
    """The intercept that makes the mean residual zero, for `repeat` weights of each target."""
    if not intercept:
        return Params(coef, np.zeros(coef.shape[0]))
    mean, target_mean = columns.mean[: columns.features], columns.mean[columns.features :]
    return Params(coef, np.tile(target_mean, repeat) - np.einsum("tp,p->t", coef, mean))
