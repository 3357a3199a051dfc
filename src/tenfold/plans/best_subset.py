"""The best subset: one fold, the search, a size, weights on its columns, the judge, and corrections."""

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
from tenfold.plans.result import Fitted, stored
from tenfold.solvers.leaps_and_bounds import BestSubsets, least_squares, search
from tenfold.solvers.loop import Status
from tenfold.stats.gram import WholeGram

MOST_COLUMNS = 40
"""With more columns a search can take hours; they are refused."""

RANK = 1e-10
"""Products are rounding up to this part of the largest."""

MOST_SATURATED = 4
"""Where all columns together leave nothing no bound helps a search, and only up to so many are tried."""


@dataclass(frozen=True)
class Size:
    """How many columns to take: so many, or as many as are best with a price `alpha` for each in
    (1/W) sum of squares + alpha size, or by a criterion W log(sum of squares / W) + factor size, with factor 2 (aic) or
    log W (bic).
    """

    count: int | None
    alpha: float | None
    criterion: str

    def costs(self, squares: Floats, weight: float, yy: float) -> Floats:
        """What is smallest at the size to take."""
        sizes = np.arange(len(squares))
        if self.alpha is not None:
            return squares / weight + self.alpha * sizes
        factor = 2.0 if self.criterion == "aic" else float(np.log(weight))
        floor = 1e-14 * yy if yy > 0.0 else 1.0
        return np.asarray(weight * np.log(np.maximum(squares, floor) / weight) + factor * sizes)


@dataclass(frozen=True)
class Chosen:
    """A fit; for each target what was found, in the units of the data, and the size that was taken."""

    fitted: Fitted
    found: tuple[BestSubsets, ...]
    sizes: tuple[int, ...]
    costs: tuple[Floats, ...]


def fit(rows: Rows, size: Size, intercept: bool, seconds: float, *, dtype: Any = np.float64) -> Chosen:
    """Search, choose, judge and correct."""
    p = rows.shape[1]
    moments = fold_moments(rows)
    gram = WholeGram.of(moments, intercept)
    largest = size.count if size.count is not None else _largest(gram, moments.count - intercept)
    found, sizes, costs = [], [], []
    coef = np.zeros((gram.target_scales.size, p))
    for t, r in enumerate(gram.target_scales):
        raw = search(gram, t, largest, seconds)
        squares = np.ldexp(raw.squares, 2 * int(r))
        costs.append(size.costs(squares, moments.weight, float(np.ldexp(gram.target_squares[t], 2 * int(r)))))
        k = len(squares) - 1 if size.count is not None else int(np.argmin(costs[-1]))
        some = np.flatnonzero(raw.inside[k])
        with np.errstate(over="ignore"):
            coef[t, some] = np.ldexp(least_squares(gram, some, gram.with_targets[some, t]), r - gram.scales[some])
        found.append(BestSubsets(raw.inside, squares, raw.nodes, raw.complete))
        sizes.append(k)
    status = Status.SOLVED if all(part.complete for part in found) else Status.TIME_LIMIT
    fitted = _judged(rows, gram, coef, intercept, size.count, status.value, dtype)
    return Chosen(fitted, tuple(found), tuple(sizes), tuple(costs))


def _largest(gram: WholeGram, free: int) -> int:
    """The largest size that is tried: one degree of freedom is left, without which no criterion tells sizes apart."""
    p = gram.squares.size
    return max(0, min(MOST_SATURATED, free - 1)) if free <= p or _leaves_nothing(gram) else min(p, free - 1)


def _leaves_nothing(gram: WholeGram) -> bool:
    """Whether columns that follow from each other fit some target exactly: the different rows are no more than they."""
    with one_blas_thread:
        values, axes = la.eigh(gram.matrix, check_finite=False)
    known = values > RANK * max(values[-1], 0.0)
    if known.all():
        return False
    fitted = np.sum((axes[:, known].T @ gram.with_targets) ** 2 / values[known, None], axis=0)
    return bool(np.any((gram.target_squares > 0.0) & (gram.target_squares - fitted <= RANK * gram.target_squares)))


def _judged(
    rows: Rows, gram: WholeGram, coef: Floats, intercept: bool, count: int | None, status: str, dtype: Any
) -> Fitted:
    def look(coef: Floats) -> tuple[Any, Any, Floats]:
        params = stored(with_intercept(coef, gram.columns, intercept), dtype, gram.columns.centre(intercept))
        certificate, gradient = best_subset(rows, params, gram.columns, intercept, count, status=status, dtype=dtype)
        return params, certificate, gradient

    params, certificate, gradient = look(coef)
    if certificate.value > 16.0 * certificate.floor:
        better = params.coef.copy()
        for t, weights in enumerate(better):
            some = np.flatnonzero(weights)
            q = gram.scales[some]
            better[t, some] -= np.ldexp(least_squares(gram, some, np.ldexp(gradient[t, some], -q)), -q)
        again = look(better)
        if again[1].value < certificate.value:
            params, certificate, _ = again
    return Fitted(params, certificate, "subsets")
