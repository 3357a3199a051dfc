"""Losses that are piecewise linear, with an elastic net penalty, its parts or none: the interior point method, whose
multipliers are the judge's dual point.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from tenfold.arrays import Floats, on_host
from tenfold.data import NotFinite, Rows, targets_of, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dual_point_search import gap_at_kinks
from tenfold.judge.linear_models import gap, prepare
from tenfold.judge.objective_points import LOOSE
from tenfold.losses.loss import Pieces, PiecewiseLinear
from tenfold.penalties import ElasticNet
from tenfold.plans.coordinates import approximate_centre, shift_intercept
from tenfold.plans.result import Fitted, not_judged, stored
from tenfold.problems import Glm
from tenfold.solvers import interior_point
from tenfold.solvers.loop import Status, Step, Watch, run
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params

EPS = float(np.finfo(np.float64).eps)

COLUMNS = 4096
"""Up to so many columns the weighted Gram matrix is formed."""

ENOUGH, CLOSER = 1e-3, 1e-8
"""The duality gap at which a fit ends, as a share of what the judge allows; beside a square, in which weights show the
root of the gap, and a step or two more squares what is left.
"""

HINT_COLUMNS, HINT_STEPS = 1024, 100
"""Up to so many columns a dual point is looked for in at most so many steps, for parameters that come without one."""

ZERO = 1e-7
"""Beside an L1 penalty a weight that moves predictions by so much less than others is none."""


def fit(
    rows: Rows,
    loss: PiecewiseLinear,
    l1: float,
    l2: float,
    intercept: bool,
    *,
    max_iter: int,
    time_limit: float | None = None,
    callback: Watch | None = None,
    dtype: Any = np.float64,
    intercept_penalty: float = 0.0,
) -> Fitted:
    """Minimise the weighted mean loss + l1 ||w||_1 + l2 / 2 ||w||^2 + tie / 2 b^2."""
    p = rows.shape[1]
    if p > COLUMNS:
        raise ValueError(
            f"A loss with kinks needs a matrix of {p} x {p} numbers here, which is too many: at most {COLUMNS} columns "
            "are taken. Use a smooth loss (for instance huber, or squared hinge), or fewer columns."
        )
    problem = Glm(loss, ElasticNet(l1, l2), intercept, intercept_penalty if intercept else 0.0)
    if rows.on_device or rows.distributed:
        raise ValueError("A loss with kinks keeps numbers for each row in this machine's memory: bring X there.")
    work = _Work.on(problem, rows)
    size = np.sqrt(work.inner.spread**2 + work.inner.shift**2)
    if problem.intercept_penalty > 0.0:
        size = np.append(
            size, np.sqrt(l2 / problem.intercept_penalty)
        )  # the intercept as the weight of a constant column
    _refuse_large(size, l1, l2, RULES["gap"].tol * work.scale)
    shift = work.inner.shift
    heard: Watch | None = (
        None if callback is None else lambda record, params: callback(record, shift_intercept(params, -shift))
    )
    solution = run(work.path(), max_iter, time_limit, heard)
    # one constant for all targets says all there is to say
    alone = solution.trace[0].objective == 0.0
    params = stored(
        shift_intercept(work.first if alone else _cleaned(solution.params, work.inner), -shift), dtype, shift
    )
    status = solution.status.value
    try:
        certificate = gap_at_kinks(problem, rows, params, hint=work.dual, status=status, dtype=dtype)
    except KeyboardInterrupt:
        certificate = not_judged("gap")
    return Fitted(params, certificate, "interior point", iterations=solution.iterations, trace=solution.trace)


def judge_at_kinks(problem: Glm, rows: Rows, params: Params, **options: Any) -> Certificate:
    """The judge's word on parameters that come without a dual point. Where those that the judge finds by itself do not
    suffice, the interior point method of at most `HINT_STEPS` steps hands over its own, which the judge does not trust.
    """
    found = gap_at_kinks(problem, rows, params, **options)
    if found.ok or rows.on_device or rows.distributed or rows.shape[1] > HINT_COLUMNS:
        return found
    try:
        work = _Work.on(problem, rows)
        tight = run(work.path(), HINT_STEPS).status is Status.CONVERGED
    except NotFinite:
        return found
    other = gap(problem, rows, params, dual=work.dual, **options)
    best = other if other.value < found.value else found
    return best if best.ok or tight else replace(best, note=f"{best.note} {LOOSE}".strip())


@dataclass
class _Work:
    """The interior point method on rows measured from a shift, from a constant; `scale` is that of the judge, `share`
    (n, 1) has the rows' shares of the weight, and `slopes` (n,) are those of the last step.
    """

    inner: interior_point.Problem
    first: Params
    share: Floats
    scale: float
    slopes: Floats

    @classmethod
    def on(cls, problem: Glm, rows: Rows) -> "_Work":
        penalty, p = cast(ElasticNet, problem.penalty), rows.shape[1]
        y, weight = on_host(rows.map(targets_of))[:, 0], on_host(rows.map(weights_of))
        share = (weight / weight.sum())[:, None]
        pieces = cast(PiecewiseLinear, problem.loss).pieces(np.asarray(y, dtype=np.float64))
        shift = approximate_centre(rows, True) if problem.intercept else np.zeros(p)
        weighted = Pieces(pieces.at, share * pieces.up, share * pieces.down)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = rows.fold(Columns.lift).squares_about(shift)
        if not np.isfinite(squares).all():
            raise NotFinite
        inner = interior_point.Problem(
            rows,
            weighted,
            penalty.l1,
            penalty.l2,
            problem.intercept,
            shift,
            np.sqrt(squares),
            problem.intercept_penalty,
        )
        first = Params(np.zeros((1, p)), np.array([_middle(pieces, share) if problem.balances else 0.0]))
        return cls(inner, first, share, prepare(problem, rows).scale, np.zeros(len(share)))

    def path(self) -> Iterator[Step]:
        allowed = (CLOSER if self.inner.l2 > 0.0 else ENOUGH) * RULES["gap"].tol * self.scale
        for step, slopes in interior_point.steps(self.inner, self.first, allowed):
            self.slopes = slopes
            yield step

    @property
    def dual(self) -> Floats:
        """The slopes of the rows, without their weights."""
        share = self.share[:, 0]
        return np.where(share > 0.0, self.slopes / np.where(share > 0.0, share, 1.0), 0.0)


def _refuse_large(size: Floats, l1: float, l2: float, allowed: float) -> None:
    """Refuse columns of such sizes (p,) that rounding of their sums exceeds the penalty; beside a square, where the
    penalty matters to others.
    """
    if 0.0 < l1 < 1e3 * EPS * float(np.max(size, initial=0.0)):
        raise ValueError(
            "Input X has a column so large that rounding of its sums exceeds the L1 penalty: Scale the columns, or use "
            "alpha=0."
        )
    large = size > 1e5 * np.sqrt(l2 * allowed) / EPS
    if l2 > 0.0 and large.any() and not large[size > 0.0].all():
        raise ValueError(
            "Input X has a column so large beside others that rounding of its sums exceeds the penalty: Scale the "
            "columns."
        )


def _middle(pieces: Pieces, share: Floats) -> float:
    """The weighted median of the kinks: where to start."""
    at, weight = pieces.at.ravel(), (share * (pieces.up + pieces.down)).ravel()
    order = np.argsort(at)
    total = np.cumsum(weight[order])
    return float(at[order[np.searchsorted(total, 0.5 * total[-1])]])


def _cleaned(params: Params, problem: interior_point.Problem) -> Params:
    """Without the weights that an interior point only leaves next to zero: beside an L1 penalty, those that move
    predictions by much less than the others, or than the targets are spread.
    """
    if problem.l1 == 0.0:
        return params
    size = np.abs(params.coef) * problem.spread
    small = size <= ZERO * max(float(np.max(size, initial=0.0)), float(np.ptp(problem.pieces.at)))
    return Params(np.where(small, 0.0, params.coef), params.intercept)
