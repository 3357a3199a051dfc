"""The best subset: one pass, the search, the choice of a size, weights, the judge, and corrections."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.judge.best_subset_bound import best_subset
from tenfold.machine import one_blas_thread
from tenfold.plans.greedy_selection import with_intercept
from tenfold.plans.least_squares import fold_moments
from tenfold.plans.result import Fitted, round_to_dtype
from tenfold.solvers.leaps_and_bounds import BestSubsets, least_squares, search
from tenfold.solvers.loop import Status
from tenfold.stats.gram import WholeGram

MAX_FEATURES = 40  # with more features a search can take hours

RANK_TOL = 1e-10  # relative eigenvalues of the Gram matrix up to here are rounding

MAX_SATURATED_SIZE = 4  # largest size where all features together fit exactly: no bound prunes the search then


@dataclass(frozen=True)
class Size:
    """The size of the subset: `count`, or the best with a price `alpha` for each feature in (1/W) sum of squares +
    alpha size, or by a criterion W log(sum of squares / W) + factor size, with factor 2 (aic) or log W (bic).
    """

    count: int | None
    alpha: float | None
    criterion: str

    def costs(self, squares: Floats, weight: float, yy: float) -> Floats:
        """The costs of all sizes."""
        sizes = np.arange(len(squares))
        if self.alpha is not None:
            return squares / weight + self.alpha * sizes
        factor = 2.0 if self.criterion == "aic" else float(np.log(weight))
        floor = 1e-14 * yy if yy > 0.0 else 1.0
        return np.asarray(weight * np.log(np.maximum(squares, floor) / weight) + factor * sizes)


@dataclass(frozen=True)
class SubsetFit:
    """A fit; for each target the best subsets, in the units of the data, the chosen size and the costs."""

    fitted: Fitted
    subsets: tuple[BestSubsets, ...]
    sizes: tuple[int, ...]
    costs: tuple[Floats, ...]


def fit(rows: Rows, size: Size, intercept: bool, seconds: float, *, dtype: Any = np.float64) -> SubsetFit:
    """Search, choose, judge and correct."""
    p = rows.shape[1]
    moments = fold_moments(rows)
    gram = WholeGram.of(moments, intercept)
    largest = size.count if size.count is not None else _largest(gram, moments.count - intercept)
    subsets, sizes, costs = [], [], []
    coef = np.zeros((gram.target_scales.size, p))
    for t, r in enumerate(gram.target_scales):
        raw = search(gram, t, largest, seconds)
        squares = np.ldexp(raw.squares, 2 * int(r))
        costs.append(size.costs(squares, moments.weight, float(np.ldexp(gram.target_squares[t], 2 * int(r)))))
        k = len(squares) - 1 if size.count is not None else int(np.argmin(costs[-1]))
        support = np.flatnonzero(raw.inside[k])
        with np.errstate(over="ignore"):
            coef[t, support] = np.ldexp(
                least_squares(gram, support, gram.with_targets[support, t]), r - gram.scales[support]
            )
        subsets.append(BestSubsets(raw.inside, squares, raw.nodes, raw.complete))
        sizes.append(k)
    status = Status.SOLVED if all(part.complete for part in subsets) else Status.TIME_LIMIT
    fitted = _judge_and_correct(rows, gram, coef, intercept, size.count, status.value, dtype)
    return SubsetFit(fitted, tuple(subsets), tuple(sizes), tuple(costs))


def _largest(gram: WholeGram, free: int) -> int:
    """The largest size of the search: it leaves one degree of freedom, without which criteria are useless."""
    p = gram.squares.size
    return max(0, min(MAX_SATURATED_SIZE, free - 1)) if free <= p or _is_saturated(gram) else min(p, free - 1)


def _is_saturated(gram: WholeGram) -> bool:
    """Whether linearly dependent features fit some target exactly."""
    with one_blas_thread:
        values, axes = la.eigh(gram.matrix, check_finite=False)
    positive = values > RANK_TOL * max(values[-1], 0.0)
    if positive.all():
        return False
    fitted = np.sum((axes[:, positive].T @ gram.with_targets) ** 2 / values[positive, None], axis=0)
    return bool(np.any((gram.target_squares > 0.0) & (gram.target_squares - fitted <= RANK_TOL * gram.target_squares)))


def _judge_and_correct(
    rows: Rows, gram: WholeGram, coef: Floats, intercept: bool, count: int | None, status: str, dtype: Any
) -> Fitted:
    def judge(coef: Floats) -> tuple[Any, Any, Floats]:
        params = round_to_dtype(with_intercept(coef, gram.columns, intercept), dtype, gram.columns.centre(intercept))
        certificate, gradient = best_subset(rows, params, gram.columns, intercept, count, status=status, dtype=dtype)
        return params, certificate, gradient

    params, certificate, gradient = judge(coef)
    if certificate.value > 16.0 * certificate.floor:
        better = params.coef.copy()
        for t, weights in enumerate(better):
            support = np.flatnonzero(weights)
            q = gram.scales[support]
            better[t, support] -= np.ldexp(least_squares(gram, support, np.ldexp(gradient[t, support], -q)), -q)
        again = judge(better)
        if again[1].value < certificate.value:
            params, certificate, _ = again
    return Fitted(params, certificate, "subsets")
