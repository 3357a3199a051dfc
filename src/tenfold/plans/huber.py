"""Huber's regression with its scale: Newton's method on weights, intercept and scale, then the judge."""

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from tenfold.data import Rows
from tenfold.judge import RULES, scaled_gap
from tenfold.judge.scaled import scale_of
from tenfold.losses import Huber
from tenfold.penalties import L2
from tenfold.plans.fitted import Fitted, stored
from tenfold.plans.frames import ROTATED_ROWS, Frame, middle, without_constants
from tenfold.problems import Glm, ScaledHuber
from tenfold.solvers import scaled
from tenfold.solvers.loop import Solution, Status, Step, Watch, run
from tenfold.stats import Params, mean_over_targets

COLUMNS = 4096
"""Up to so many columns the matrix of Newton's method is formed."""

ATTEMPTS = 3
"""How often a fit that is not certified is continued."""


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
    watch: Watch | None = None,
    dtype: Any = np.float64,
) -> HuberFit:
    """Minimise the weighted mean of sigma + sigma H((y - z) / sigma), plus strength / 2 ||w||^2, over w, b and
    sigma > 0; `start` has the scale as a second intercept.
    """
    n, p = rows.shape
    if p > COLUMNS and not (n <= ROTATED_ROWS and not rows.sparse and not rows.foreign):
        raise ValueError(
            f"HuberRegressor forms a matrix of {p + 2} x {p + 2} numbers, which is too many: it takes at most "
            f"{COLUMNS} columns. Use GeneralizedLinear(loss='huber'), whose width is given, or fewer columns."
        )
    problem = ScaledHuber(float(epsilon), float(strength), intercept)
    frame = Frame.of(rows, middle(rows, True) if intercept else np.zeros(p))
    allowed = 0.8 * RULES["gap"].tol * scale_of(problem, rows)
    first = _inside(frame, start) if start is not None else _first(rows, frame, intercept)
    path = scaled.steps(problem, frame.rows, first, frame.local, allowed)
    heard: Watch | None = None if watch is None else lambda record, params: watch(record, _outside(frame, params))
    solution = run(path, max_iter, time_limit, heard)
    found = _finished(problem, rows, frame, solution, dtype)
    for _ in range(ATTEMPTS):
        if found.certificate.ok or solution.status is not Status.CONVERGED:
            break
        ahead = next(path, None)
        if ahead is None:
            break
        past = solution.trace[-1]
        more = run(chain([Step(solution.params, past.objective, np.inf), ahead], path), max_iter - solution.iterations)
        later = tuple(replace(record, seconds=record.seconds + past.seconds) for record in more.trace[1:])
        solution = Solution(more.params, more.status, solution.trace + later)
        found = _finished(problem, rows, frame, solution, dtype)
    return replace(found, iterations=solution.iterations, trace=solution.trace)


def _first(rows: Rows, frame: Frame, intercept: bool) -> Params:
    """No weights; mean and standard deviation of the targets."""
    mean = mean_over_targets(rows, lambda y: y) if intercept else 0.0
    sigma = float(np.sqrt(mean_over_targets(rows, lambda y: (y - mean) ** 2)))
    sigma = sigma if sigma > 1e-12 * abs(mean) else abs(mean) or 1.0
    return Params(np.zeros((1, frame.rows.shape[1])), np.array([mean, sigma]))


def _inside(frame: Frame, params: Params) -> Params:
    moved = frame.inside(Params(params.coef, params.intercept[:1]))
    return Params(moved.coef, np.append(moved.intercept, params.intercept[1]))


def _outside(frame: Frame, params: Params) -> Params:
    moved = frame.outside(Params(params.coef, params.intercept[:1]))
    return Params(moved.coef, np.append(moved.intercept, params.intercept[1]))


def _finished(problem: ScaledHuber, rows: Rows, frame: Frame, solution: Solution, dtype: Any) -> HuberFit:
    """The parameters as they are stored, and the judge's word on them."""
    coef, (b, sigma) = _outside(frame, solution.params)
    as_glm = Glm(Huber(problem.epsilon), L2(problem.strength), problem.intercept)
    params = stored(without_constants(as_glm, rows, Params(coef, np.array([b]))), dtype)
    sigma = max(float(np.asarray(sigma).astype(dtype)), float(np.finfo(dtype).tiny))
    certificate = scaled_gap(problem, rows, params, sigma, status=solution.status.value, dtype=dtype)
    return HuberFit(params, certificate, "newton", scale=sigma)
