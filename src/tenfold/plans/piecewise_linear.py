"""Piecewise linear losses with an elastic net penalty or none: the interior point method, whose multipliers are the
dual point of the judge.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from tenfold.arrays import Floats, on_host
from tenfold.data import MemoryRows, NotFinite, Rows, targets_of, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dual_point_search import gap_at_kinks
from tenfold.judge.linear_models import gap, scale_of
from tenfold.judge.objective_points import LOOSE
from tenfold.losses.loss import Pieces, PiecewiseLinear
from tenfold.penalties import ElasticNet
from tenfold.plans import dense_glm
from tenfold.plans.coordinates import approximate_centre, shift_intercept
from tenfold.plans.result import Fitted, not_judged, round_to_dtype
from tenfold.problems import Glm
from tenfold.solvers import interior_point
from tenfold.solvers.loop import Callback, Status, Step, run
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, Total, adjoint

EPS = float(np.finfo(np.float64).eps)

MAX_FEATURES = 4096  # up to here the weighted Gram matrix is formed

GAP_FRACTION = 1e-3  # of the allowed gap, at which a fit ends
GAP_FRACTION_L2 = 1e-8  # the same with an L2 penalty, where weights have errors of the root of the gap

HINT_FEATURES, HINT_STEPS = 1024, 100  # limits of the search for a dual point for given parameters

WIDE_RATIO = 2  # features for each sample from which an L1 penalty is solved on working sets of features
PRICING_MEASURE = 1e6  # measure of the subproblem at which features are priced first: a relative gap of 1e-3
PRICING_TOL, FINAL_PRICING_TOL = 1e-3, 1e-8  # relative violations of the L1 bound that enter the working set

ZERO_TOL = 1e-7  # with an L1 penalty, weights with so small relative effects on predictions are set to zero


def fit(
    rows: Rows,
    loss: PiecewiseLinear,
    l1: float,
    l2: float,
    intercept: bool,
    *,
    max_iter: int,
    time_limit: float | None = None,
    callback: Callback | None = None,
    dtype: Any = np.float64,
    intercept_penalty: float = 0.0,
) -> Fitted:
    """Minimise the weighted mean loss + l1 ||w||_1 + l2 / 2 ||w||^2 + intercept_penalty / 2 b^2."""
    p = rows.shape[1]
    if p > MAX_FEATURES:
        raise ValueError(
            f"A loss with kinks needs a matrix of {p} x {p} numbers here, which is too many: at most {MAX_FEATURES} "
            "columns are taken. Use a smooth loss (for instance huber, or squared hinge), or fewer columns."
        )
    problem = Glm(loss, ElasticNet(l1, l2), intercept, intercept_penalty if intercept else 0.0)
    if rows.distributed:
        raise ValueError("A loss with kinks keeps numbers for each sample in the memory of one machine: bring X there.")
    settings = dense_glm.Settings(0.0, max_iter, time_limit, callback, dtype)
    dense = dense_glm.fit(problem, rows, settings)
    if dense is not None:
        return dense
    work = _Work.on(problem, rows)
    size = np.sqrt(work.inner.spread**2 + work.inner.shift**2)
    if problem.intercept_penalty > 0.0:
        size = np.append(
            size, np.sqrt(l2 / problem.intercept_penalty)
        )  # the intercept as the weight of a constant column
    _check_scale(size, l1, l2, RULES["gap"].tol * work.scale)
    shift = work.inner.shift
    heard: Callback | None = (
        None if callback is None else lambda record, params: callback(record, shift_intercept(params, -shift))
    )
    solution = run(work.path(), max_iter, time_limit, heard)
    # a constant that fits all targets is the optimum
    constant = solution.trace[0].objective == 0.0
    params = round_to_dtype(
        shift_intercept(work.first if constant else _drop_small(solution.params, work.inner), -shift), dtype, shift
    )
    status = solution.status.value
    try:
        certificate = None
        if (
            l2 > 0.0
        ):  # the gap of the last step is far below the allowed one, so that its own dual point mostly suffices
            certificate = gap(problem, rows, params, dual=work.dual, status=status, dtype=dtype)
        if certificate is None or not certificate.ok:
            certificate = gap_at_kinks(problem, rows, params, hint=work.dual, status=status, dtype=dtype)
    except KeyboardInterrupt:
        certificate = not_judged("gap")
    return Fitted(params, certificate, "interior point", iterations=solution.iterations, trace=solution.trace)


def judge_at_kinks(problem: Glm, rows: Rows, params: Params, **options: Any) -> Certificate:
    """The certificate of parameters without a dual point. Where the judge's own search does not suffice, at most
    `HINT_STEPS` steps of the interior point method give one, which the judge checks.
    """
    certificate = gap_at_kinks(problem, rows, params, **options)
    if certificate.ok or rows.distributed or rows.shape[1] > HINT_FEATURES:
        return certificate
    try:
        work = _Work.on(problem, rows)
        tight = run(work.path(), HINT_STEPS).status is Status.CONVERGED
    except NotFinite:
        return certificate
    certified_dual = gap(problem, rows, params, dual=work.dual, **options)
    best = certified_dual if certified_dual.value < certificate.value else certificate
    return best if best.ok or tight else replace(best, note=f"{best.note} {LOOSE}".strip())


@dataclass
class _Work:
    """The interior point method on samples measured from a shift, started from a constant; `scale` is that of the
    judge, `share` (n, 1) the normalised sample weights, and `slopes` (n,) are those of the last step.
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
        return cls(inner, first, share, scale_of(problem, rows), np.zeros(len(share)))

    def path(self) -> Iterator[Step]:
        allowed = (GAP_FRACTION_L2 if self.inner.l2 > 0.0 else GAP_FRACTION) * RULES["gap"].tol * self.scale
        rows, (n, p) = self.inner.rows, self.inner.rows.shape
        wide = self.inner.l1 > 0.0 and self.inner.intercept_penalty == 0.0 and WIDE_RATIO * n <= p
        if wide and not (rows.sparse or rows.on_device or rows.distributed):
            block = rows.whole()  # n p numbers are fewer than the p^2 of a step on all features
            yield from self._on_working_sets(MemoryRows(block.X, block.y, block.weight), allowed)
            return
        for step, slopes in interior_point.steps(self.inner, self.first, allowed):
            self.slopes = slopes
            yield step

    def _on_working_sets(self, rows: MemoryRows, allowed: float) -> Iterator[Step]:
        """Interior points on the features whose correlation with the slopes exceeded the L1 penalty so far, of which
        an optimum uses no more than there are samples. A step has converged where no other feature exceeds it.
        """
        inner, (n, p) = self.inner, rows.shape
        at, up, down = inner.pieces
        above = at > self.first.intercept[0]
        self.slopes = -np.where(above, up, -down).sum(axis=1)
        distance = at - self.first.intercept[0]
        value = float(np.sum(np.where(above, up, -down) * distance))
        yield Step(self.first, value, value / allowed)  # no objective is negative
        columns = np.sort(np.argsort(-self._violations(rows))[:n])
        while True:
            X = np.ascontiguousarray(rows.X[:, columns])
            part = inner._replace(
                rows=MemoryRows(X, rows.y, rows.weight), shift=inner.shift[columns], spread=inner.spread[columns]
            )
            start = Params(np.zeros((1, len(columns))), self.first.intercept)
            entering, tol = np.zeros(0, dtype=np.intp), PRICING_TOL
            for step, slopes in interior_point.steps(part, start, allowed):
                self.slopes, coef = slopes, np.zeros((1, p))
                coef[:, columns] = step.params.coef
                step = step._replace(params=Params(coef, step.params.intercept))
                priced = step.measure <= 1.0 or (step.measure <= PRICING_MEASURE and tol == PRICING_TOL)
                if priced:
                    violations = self._violations(rows)
                    violations[columns] = 0.0
                    tol = FINAL_PRICING_TOL if step.measure <= 1.0 else tol
                    entering = np.argsort(-violations)[:n]
                    entering = entering[violations[entering] > tol]
                    tol = FINAL_PRICING_TOL
                if entering.size:
                    break
                if tol == FINAL_PRICING_TOL:
                    yield step
            # a working set that does not last counts as one step; one that ended before it was priced is the last
            if entering.size:
                yield step._replace(measure=max(step.measure, 1.0 + 1e-9))
            else:
                if tol == PRICING_TOL:
                    yield step
                return
            columns = np.union1d(columns, entering)

    def _violations(self, rows: MemoryRows) -> Floats:
        """By how much the correlations (p,) with the slopes exceed the L1 penalty, relative to it."""
        inner = self.inner
        u = np.ascontiguousarray(self.slopes[:, None])
        sums = rows.retarget(u).fold(lambda block: Total(adjoint(block.X, block.y, inner.shift))).sum[0]
        return np.where(inner.spread > 0.0, np.abs(sums) / inner.l1 - 1.0, -1.0)

    @property
    def dual(self) -> Floats:
        """The slopes of the losses, without sample weights."""
        share = self.share[:, 0]
        return np.where(share > 0.0, self.slopes / np.where(share > 0.0, share, 1.0), 0.0)


def _check_scale(size: Floats, l1: float, l2: float, allowed: float) -> None:
    """Raise an error where features of sizes (p,) have sums whose rounding exceeds the penalty; with an L2 penalty
    where other features need it.
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
    """The weighted median of the kinks, as a start."""
    at, weight = pieces.at.ravel(), (share * (pieces.up + pieces.down)).ravel()
    order = np.argsort(at)
    total = np.cumsum(weight[order])
    return float(at[order[np.searchsorted(total, 0.5 * total[-1])]])


def _drop_small(params: Params, problem: interior_point.Problem) -> Params:
    """Set weights to zero that an interior point only leaves near it: with an L1 penalty, those with effects on
    predictions far below those of others, or the range of the targets.
    """
    if problem.l1 == 0.0:
        return params
    size = np.abs(params.coef) * problem.spread
    small = size <= ZERO_TOL * max(float(np.max(size, initial=0.0)), float(np.ptp(problem.pieces.at)))
    return Params(np.where(small, 0.0, params.coef), params.intercept)
