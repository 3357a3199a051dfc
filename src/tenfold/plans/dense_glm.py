"""Linear models of one target on few dense samples: one array, one compiled call that solves, and the judge.

Newton's method for smooth losses with an L2 penalty, an elastic net or none; interior points for losses with kinks and
an L2 penalty. Passes over blocks cost mostly calls there. What is not certified this way is left to the plans that
take any data: `fit` returns None.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.data import Rows, is_small_dense
from tenfold.judge.certificate import RULES
from tenfold.judge.dual_point_search import gap_at_kinks
from tenfold.judge.linear_models import gap, scale_of
from tenfold.losses.loss import Pieces, PiecewiseLinear
from tenfold.penalties import L2, ElasticNet
from tenfold.plans.coordinates import shift_intercept
from tenfold.plans.result import Fitted, not_judged, round_to_dtype
from tenfold.problems import Glm
from tenfold.solvers.dense_newton import DenseProblem, Rule, interior_point_steps, newton_steps
from tenfold.solvers.loop import Callback, Solution, Status, Step, map_params, run
from tenfold.stats.derivatives import Params

# of the gap that the judge allows: weights have errors of its root, and rarely does this take a step more than 1e-3
NEWTON_FRACTION, INTERIOR_FRACTION = 1e-7, 1e-8

SHARP = 1e-6  # of the allowed gap: above it, as far from zero, the dual point of the last step is not the best at hand

ROUNDING = 1e-26  # decrease relative to the scale below which nothing but rounding is left

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Settings:
    """Of a fit: the tolerance, limits, callback, dtype of storage and initial parameters."""

    tol: float
    max_iter: int
    time_limit: float | None = None
    callback: Callback | None = None
    dtype: Any = np.float64
    start: Params | None = None


def fit(problem: Glm, rows: Rows, settings: Settings) -> Fitted | None:
    """Minimise; None where that is left to others."""
    if not (is_small_dense(rows) and rows.shape[1] <= rows.shape[0] and _is_taken(problem)):
        return None
    samples = _samples(problem, rows)
    if samples is None:
        return None
    return (
        _by_interior_points(problem, rows, samples, settings)
        if problem.loss.nonsmooth
        else _by_newton(problem, rows, samples, settings)
    )


def _is_taken(problem: Glm) -> bool:
    loss, penalty = problem.loss, problem.penalty
    if not loss.convex or loss.multi_output or getattr(penalty, "positive", False) or np.ndim(penalty.strength):
        return False
    if loss.nonsmooth:
        return isinstance(penalty, ElasticNet) and penalty.l1 == 0.0 and 0.0 < penalty.l2 < np.inf
    return isinstance(penalty, L2 | ElasticNet) and bool(np.max(penalty.strength) < np.inf)


def _samples(problem: Glm, rows: Rows) -> DenseProblem | None:
    """The samples as one array, measured from their means where the intercept is free; None where their squares
    overflow.
    """
    block, p = rows.whole(), rows.shape[1]
    X = np.ascontiguousarray(block.X, dtype=np.float64)
    shift, squares = _core.dense_centre(X)
    if not np.isfinite(squares).all():
        return None
    if not problem.balances:
        shift = np.zeros(p)
    ridge, limits = np.full(p + 1, float(np.max(problem.penalty.strength))), None
    ridge[p] = problem.intercept_penalty
    l1 = getattr(problem.penalty, "l1", 0.0)
    if l1 > 0.0:
        limits = np.full(p + 1, float(l1))
        limits[p] = 0.0
    y = np.ascontiguousarray(block.y[:, 0])
    weight = None if block.weight is None else np.ascontiguousarray(block.weight)
    return DenseProblem(X, y, weight, shift, problem.intercept, ridge, limits)


def _by_newton(problem: Glm, rows: Rows, samples: DenseProblem, settings: Settings) -> Fitted | None:
    scale = scale_of(problem, rows)
    if not np.isfinite(scale):
        return None
    allowed = NEWTON_FRACTION * RULES["gap"].tol * scale
    rule = Rule(max(settings.tol, TINY), max(allowed, TINY), max(ROUNDING * scale, TINY))
    start = _start(problem, samples, settings)
    path = newton_steps(problem.loss, samples, start, rule, settings.max_iter)
    return _finish(problem, rows, samples, path, settings, "newton")


def _start(problem: Glm, samples: DenseProblem, settings: Settings) -> Floats:
    """The initial coefficients: those that are given, or the best constant where the loss has a formula for it."""
    start = np.zeros(len(samples.ridge))
    if settings.start is not None:
        inside = shift_intercept(settings.start, samples.shift)
        start[:-1], start[-1:] = inside.coef[0], inside.intercept
        return start
    if problem.intercept and problem.loss.link is not None:
        weight = samples.weight
        mean = float(np.mean(samples.y) if weight is None else np.sum(weight * samples.y) / np.sum(weight))
        start[-1] = mean if problem.loss.link == "identity" else np.log(mean) if mean > 0.0 else MIN_LOG_MEAN
    return start


MIN_LOG_MEAN = -30.0  # the initial intercept where every count is zero, and the best one is minus infinity


def _by_interior_points(problem: Glm, rows: Rows, samples: DenseProblem, settings: Settings) -> Fitted | None:
    weight = np.ones(len(samples.y)) if samples.weight is None else samples.weight
    share = (weight / np.sum(weight))[:, None]
    pieces = cast(PiecewiseLinear, problem.loss).pieces(samples.y)
    weighted = Pieces(pieces.at, share * pieces.up, share * pieces.down)
    start = np.zeros(len(samples.ridge))
    start[-1] = float(np.median(pieces.at)) if problem.balances else 0.0
    allowed = max(INTERIOR_FRACTION * RULES["gap"].tol * scale_of(problem, rows), TINY)
    path, slopes = interior_point_steps(samples, weighted, start, allowed, settings.max_iter)
    dual = np.where(share[:, 0] > 0.0, slopes / np.where(share[:, 0] > 0.0, share[:, 0], 1.0), 0.0)
    return _finish(problem, rows, samples, path, settings, "interior point", dual)


def _finish(
    problem: Glm,
    rows: Rows,
    samples: DenseProblem,
    path: Iterator[Step],
    settings: Settings,
    method: str,
    dual: Floats | None = None,
) -> Fitted | None:
    """The steps run to their end, and judged; None where they end without a certificate."""
    shift, p = samples.shift, rows.shape[1]

    def outside(x: Floats) -> Params:
        intercept = x[p:].copy() if problem.intercept else np.zeros(1)
        return shift_intercept(Params(x[None, :p].copy(), intercept), -shift)

    if settings.callback is not None:
        path = map_params(path, outside)
    first = next(path, None)
    if first is None:
        return None
    solution = run(_chain(first, path), settings.max_iter, settings.time_limit, settings.callback)
    params = solution.params if settings.callback is not None else outside(solution.params)
    params = round_to_dtype(params, settings.dtype, shift if problem.balances else None)
    try:
        certificate = gap(problem, rows, params, dual=dual, status=solution.status.value, dtype=settings.dtype)
        if dual is not None and certificate.value > max(2.0 * certificate.floor, SHARP * certificate.allowed):
            other = gap_at_kinks(problem, rows, params, status=solution.status.value, dtype=settings.dtype)
            certificate = min(certificate, other, key=lambda one: one.value)
    except KeyboardInterrupt:
        certificate = not_judged("gap")
    ended = solution.status in (Status.CONVERGED, Status.STALLED)
    if ended and not certificate.ok:
        return None
    return Fitted(params, certificate, method, solution.iterations, _trace(solution, certificate.objective))


def _chain(first: Step, rest: Iterator[Step]) -> Iterator[Step]:
    yield first
    yield from rest


def _trace(solution: Solution, objective: float) -> Any:
    """The trace, with the objective that the judge has seen: the solver need not have evaluated the last step."""
    trace = solution.trace
    if len(trace) < 2:
        return trace
    return (*trace[:-1], replace(trace[-1], objective=min(trace[-2].objective, objective)))
