"""The plan of Huber regression with scale: Newton's method on weights, intercept and scale, and the certificate."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.data import Rows
from tenfold.judge.certificate import RULES
from tenfold.judge.gap_huber import huber_gap, scale_of
from tenfold.losses.regression import Huber, Laplace
from tenfold.penalties import L2
from tenfold.plans import piecewise_linear
from tenfold.plans.coordinates import ROTATED_ROWS, Frame, approximate_centre, shift_intercept, without_constants
from tenfold.plans.result import Fitted, round_to_dtype, solve_until_certified
from tenfold.problems import Glm, ScaledHuber
from tenfold.solvers import huber_newton
from tenfold.solvers.loop import Callback, Solution, Step
from tenfold.stats.derivatives import Params
from tenfold.stats.intercept_only import mean_and_deviation

HESSIAN_MAX_FEATURES = 4096  # up to which the Hessian is formed

SMALL_STEPS = 12  # Newton steps at a negligible scale after which absolute errors are minimised instead

INTERIOR_STEPS = 100  # largest number of interior-point steps, which typically take tens


@dataclass(frozen=True)
class HuberFit(Fitted):
    """A fit with its scale."""

    scale: float = 1.0


def fit(
    rows: Rows,
    epsilon: float,
    strength: float,
    intercept: bool,
    *,
    max_iter: int,
    start: Params | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    dtype: Any = np.float64,
) -> HuberFit:
    """Minimise the weighted mean of sigma + sigma H((y - z) / sigma), plus strength / 2 ||w||^2, over w, b and
    sigma > 0; `start` has the scale as a second intercept.
    """
    n, p = rows.shape
    if p > HESSIAN_MAX_FEATURES and not (n <= ROTATED_ROWS and not rows.sparse and not rows.on_device):
        raise ValueError(
            f"HuberRegressor forms a matrix of {p + 2} x {p + 2} numbers, which is too many: it takes at most "
            f"{HESSIAN_MAX_FEATURES} columns. "
            "Use GeneralizedLinear(loss='huber'), whose width is given, or fewer columns."
        )
    problem = ScaledHuber(float(epsilon), float(strength), intercept)
    centre = approximate_centre(rows, True) if intercept else np.zeros(p)
    frame = Frame.of(rows, centre, forms_hessian=p <= HESSIAN_MAX_FEATURES)
    allowed = 0.8 * RULES["gap"].tol * scale_of(problem, rows)
    first = _inside(frame, start) if start is not None else _first(rows, frame, intercept)
    path = _steps(problem, rows, frame, first, allowed)
    heard: Callback | None = (
        None if callback is None else lambda record, params: callback(record, _outside(frame, params))
    )

    def finish(solution: Solution) -> HuberFit:
        return _finish(problem, rows, frame, solution, dtype)

    solution, fitted = solve_until_certified(path, finish, lambda: None, max_iter, time_limit, heard)
    return replace(fitted, iterations=solution.iterations, trace=solution.trace)


def _steps(problem: ScaledHuber, rows: Rows, frame: Frame, first: Params, allowed: float) -> Iterator[Step]:
    """Newton steps. Where they end at a scale of next to nothing, the minimum is that of absolute errors, which the
    interior point method finds; the samples that are fitted exactly there are those within the width, and a few more
    Newton steps from there give them their slopes.
    """
    p, sigma, small = frame.rows.shape[1], float(first.intercept[1]), 0
    for step in huber_newton.steps(problem, frame.rows, first, frame.local, allowed):
        yield step
        first, sigma = step.params, float(step.params.intercept[1])
        small = small + 1 if sigma <= allowed else 0
        if small == SMALL_STEPS:
            break
    if sigma > allowed or p > HESSIAN_MAX_FEATURES or rows.on_device or rows.distributed:
        return
    strength = 0.5 * problem.strength / problem.epsilon
    limit = piecewise_linear.fit(frame.rows, Laplace(), 0.0, strength, problem.intercept, max_iter=INTERIOR_STEPS)
    coef, b = shift_intercept(limit.params, frame.local)
    start = Params(coef, np.append(b, sigma))
    path = huber_newton.steps(problem, frame.rows, start, frame.local, allowed)
    first_step = next(path)
    yield first_step._replace(measure=min(first_step.measure, 1.0))
    yield from path


def _first(rows: Rows, frame: Frame, intercept: bool) -> Params:
    """The start: zero weights, mean and standard deviation of the targets."""
    mean, sigma = mean_and_deviation(rows, intercept)
    sigma = sigma if sigma > 1e-12 * abs(mean) else abs(mean) or 1.0
    return Params(np.zeros((1, frame.rows.shape[1])), np.array([mean, sigma]))


def _inside(frame: Frame, params: Params) -> Params:
    inside = frame.inside(Params(params.coef, params.intercept[:1]))
    return Params(inside.coef, np.append(inside.intercept, params.intercept[1]))


def _outside(frame: Frame, params: Params) -> Params:
    outside = frame.outside(Params(params.coef, params.intercept[:1]))
    return Params(outside.coef, np.append(outside.intercept, params.intercept[1]))


def _finish(problem: ScaledHuber, rows: Rows, frame: Frame, solution: Solution, dtype: Any) -> HuberFit:
    """The parameters in the precision of storage, and their certificate."""
    coef, (b, sigma) = _outside(frame, solution.params)
    as_glm = Glm(Huber(problem.epsilon), L2(problem.strength), problem.intercept)
    params = round_to_dtype(without_constants(as_glm, rows, Params(coef, np.array([b]))), dtype, frame.shift)
    sigma = max(float(sigma), float(np.finfo(np.float64).tiny))
    certificate = huber_gap(problem, rows, params, sigma, status=solution.status.value, dtype=dtype)
    return HuberFit(params, certificate, "newton", scale=sigma)
