"""The best subset: one pass, the search, the choice of a size, weights, the judge, and corrections."""

from dataclasses import dataclass, replace
from time import monotonic
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
from tenfold.solvers.leaps_and_bounds import BestSubsets, least_squares, least_squares_of_samples, search
from tenfold.solvers.loop import Status
from tenfold.stats.gram import WholeGram
from tenfold.stats.moments import Moments
from tenfold.stats.rfactor import RFactor

MAX_FEATURES = 40  # with more features a search can take hours

RANK_TOL = 1e-10  # relative eigenvalues of the Gram matrix up to here are rounding

CORRECTIONS = 4  # of weights by the gradient that the judge reads; one does unless features nearly depend on each other

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
    """Search, choose, judge and correct; once more by a QR of the samples, at 19 times the cost of products, where
    features so nearly depend on each other that the result is not certified.
    """
    begin = monotonic()
    moments = fold_moments(rows)
    gram = WholeGram.of(moments, intercept)
    first = _fit(rows, moments, gram, size, intercept, seconds, dtype)
    left = seconds - (monotonic() - begin)
    if first.fitted.certificate.ok or first.fitted.certificate.status == Status.TIME_LIMIT.value or left <= 0.0:
        return first
    mean = gram.columns.mean if intercept else np.zeros_like(gram.columns.mean)
    scales = np.ldexp(1.0, -np.concatenate([gram.scales, gram.target_scales]))
    samples = rows.fold(RFactor.lifter(mean, scales)).R
    second = _fit(rows, moments, gram, size, intercept, left, np.float64, samples)
    if second.fitted.certificate.value >= first.fitted.certificate.value:
        return first
    # the better subset, though `dtype` may be too short for its weights
    coef, status = second.fitted.params.coef, second.fitted.certificate.status
    return replace(second, fitted=_judge_and_correct(rows, gram, coef, intercept, size.count, status, dtype))


def _fit(
    rows: Rows,
    moments: Moments,
    gram: WholeGram,
    size: Size,
    intercept: bool,
    seconds: float,
    dtype: Any,
    samples: Floats | None = None,
) -> SubsetFit:
    """The fit from products or, where it is given, from the triangular factor of the `samples`."""
    p = rows.shape[1]
    largest = size.count if size.count is not None else _largest(gram, moments.count - intercept)
    subsets, sizes, costs = [], [], []
    coef = np.zeros((gram.target_scales.size, p))
    for t, r in enumerate(gram.target_scales):
        raw = search(gram, t, largest, seconds, samples)
        squares = np.ldexp(raw.squares, 2 * int(r))
        costs.append(size.costs(squares, moments.weight, float(np.ldexp(gram.target_squares[t], 2 * int(r)))))
        k = len(squares) - 1 if size.count is not None else int(np.argmin(costs[-1]))
        support = np.flatnonzero(raw.inside[k])
        if samples is None:
            weights = least_squares(gram, support, gram.with_targets[support, t])
        else:
            weights = least_squares_of_samples(samples[:, support], samples[:, p + t])
        with np.errstate(over="ignore"):
            coef[t, support] = np.ldexp(weights, r - gram.scales[support])
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
    for _ in range(CORRECTIONS if certificate.value > 16.0 * certificate.floor else 0):
        better = params.coef.copy()
        for t, weights in enumerate(better):
            support = np.flatnonzero(weights)
            q = gram.scales[support]
            better[t, support] -= np.ldexp(least_squares(gram, support, np.ldexp(gradient[t, support], -q)), -q)
        again = judge(better)
        if not again[1].value < certificate.value:
            break
        params, certificate, gradient = again
        if certificate.ok:
            break
    return Fitted(params, certificate, "subsets")
