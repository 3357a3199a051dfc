"""Matching pursuit: the steps of each target on products of features, and the judge."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.judge.matching_pursuit import Steps, matching
from tenfold.plans.greedy_selection import gram_of, with_intercept
from tenfold.plans.result import Fitted, round_to_dtype
from tenfold.solvers.matching_pursuit import Matched, match
from tenfold.stats.gram import Gram, GramByColumns


@dataclass(frozen=True)
class MatchingFit:
    """A fit, the steps of each target, and the residual sums of squares, in the units of the data."""

    fitted: Fitted
    results: tuple[Matched, ...]
    left: tuple[Floats, ...]


def fit(
    rows: Rows, most: int, tol: float | None, intercept: bool, *, dtype: Any = np.float64, whole: bool | None = None
) -> MatchingFit:
    """At most `most` steps, fewer where the sum of squares reaches `tol`; then the judge repeats them. Moments of
    sparse samples far from zero lose digits: where the judge reports so, products are computed about the means.
    """
    gram = gram_of(rows, intercept, min(most, rows.shape[1]), whole)
    result = _match(rows, gram, most, tol, intercept, dtype)
    if result.fitted.certificate.ok or isinstance(gram, GramByColumns):
        return result
    again = _match(rows, GramByColumns.of(rows, intercept), most, tol, intercept, dtype)
    return again if again.fitted.certificate.value < result.fitted.certificate.value else result


def _match(rows: Rows, gram: Gram, most: int, tol: float | None, intercept: bool, dtype: Any) -> MatchingFit:
    scales = gram.target_scales
    limits = [None if tol is None else tol * 4.0 ** -float(r) for r in scales]
    results = tuple(match(gram, t, most, limit) for t, limit in enumerate(limits))
    with np.errstate(over="ignore"):  # infinite weights raise an error where they are stored
        coef = np.stack([np.ldexp(result.weights, r - gram.scales) for result, r in zip(results, scales, strict=True)])
    params = round_to_dtype(with_intercept(coef, gram.columns, intercept), dtype, gram.columns.centre(intercept))
    steps = Steps(most, tol, [result.order for result in results])
    certificate = matching(steps, rows, params, gram.columns, intercept, dtype=dtype)
    left = tuple(np.ldexp(result.left, 2 * r) for result, r in zip(results, scales, strict=True))
    return MatchingFit(Fitted(params, certificate, "matching pursuit"), results, left)
