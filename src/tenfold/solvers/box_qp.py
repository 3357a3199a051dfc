"""Small dense quadratic problems with equalities and bounds, by an interior point method (Mehrotra 1992).

    min over x of  1/2 x'P x + q'x,  A x = b,  low <= x <= high,  P positive semidefinite, low < high, A of full rank.

On the central path (x - low) l = (high - x) u = mu with multipliers l, u >= 0 of the bounds that are finite, and
P x + q - A'y - l + u = 0. A Newton step solves [P + D, -A'; A, 0] (dx, dy), D = l / (x - low) + u / (high - x): of
(n + m)^3 / 3 operations, with one predictor and one corrector. x is always inside its bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import EPS, Floats
from tenfold.machine import one_blas_thread, poll

MAX_STEPS = 200
STEP_FRACTION = 0.995  # of the longest step that stays inside
PROXIMAL = 1e-13  # of the largest entry of P: keeps the matrix regular where the problem is flat

Solver: TypeAlias = Callable[[Floats], Floats]


class Point(NamedTuple):
    """x, and the multipliers of the equalities and of the lower and upper bounds."""

    x: Floats
    y: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True)
class _Problem:
    """The problem, its entries divided by the largest one."""

    P: Floats
    q: Floats
    A: Floats
    b: Floats
    low: Floats
    high: Floats

    @cached_property
    def has_low(self) -> Any:
        return np.isfinite(self.low)

    @cached_property
    def has_high(self) -> Any:
        return np.isfinite(self.high)

    def at(self, point: Point) -> "_Iterate":
        return _Iterate(
            point,
            np.where(self.has_low, point.x - self.low, 1.0),
            np.where(self.has_high, self.high - point.x, 1.0),
            self.P @ point.x + self.q - self.A.T @ point.y - point.lower + point.upper,
            self.A @ point.x - self.b,
        )

    def mean_product(self, below: Floats, above: Floats, lower: Floats, upper: Floats) -> float:
        """mu."""
        products = np.concatenate([(below * lower)[self.has_low], (above * upper)[self.has_high]])
        return float(np.mean(products)) if len(products) else 0.0

    def error(self, here: "_Iterate", mu: float) -> float:
        """How far a point is from the conditions, relative to the size of their terms."""
        return _largest(here.dual) / (1.0 + _largest(self.q)) + _largest(here.primal) / (1.0 + _largest(self.b)) + mu

    def direction(self, here: "_Iterate", solve_system: Solver, first: Floats, second: Floats) -> Point:
        """The Newton step to (x - low) l = first, (high - x) u = second."""
        point, below, above, dual, primal = here
        right = -dual + np.where(self.has_low, first / below - point.lower, 0.0)
        right -= np.where(self.has_high, second / above - point.upper, 0.0)
        both = solve_system(np.concatenate([right, -primal]))
        dx = both[: len(right)]
        lower = np.where(self.has_low, (first - point.lower * dx) / below - point.lower, 0.0)
        upper = np.where(self.has_high, (second + point.upper * dx) / above - point.upper, 0.0)
        return Point(dx, both[len(right) :], lower, upper)

    def length(self, here: "_Iterate", d: Point) -> float:
        """The longest step that keeps distances and multipliers positive."""
        pairs = (
            (here.below[self.has_low], d.x[self.has_low]),
            (here.above[self.has_high], -d.x[self.has_high]),
            (here.point.lower[self.has_low], d.lower[self.has_low]),
            (here.point.upper[self.has_high], d.upper[self.has_high]),
        )
        return min(float(np.min(-value[down < 0.0] / down[down < 0.0], initial=1e6)) for value, down in pairs)


class _Iterate(NamedTuple):
    """A point, its distances from the bounds, and the residuals of the conditions."""

    point: Point
    below: Floats
    above: Floats
    dual: Floats
    primal: Floats


def solve(P: Floats, q: Floats, A: Floats, b: Floats, low: Floats, high: Floats) -> Point:
    """The minimiser, as precise as float64 allows; of a problem that is unbounded or infeasible a point far off."""
    n = len(q)
    unit = max(_largest(P), _largest(q)) or 1.0
    problem = _Problem(P / unit, q / unit, A, b, low, high)
    at = best = _start(low, high, len(b))
    best_error = np.inf
    for _ in range(MAX_STEPS):
        poll()
        here = problem.at(at)
        mu = problem.mean_product(here.below, here.above, at.lower, at.upper)
        error = problem.error(here, mu)
        if error < best_error:
            best, best_error = at, error
        if not np.isfinite(error) or error <= 8.0 * EPS or min(_least(here.below), _least(here.above)) <= 0.0:
            break
        with np.errstate(over="ignore"):
            D = at.lower / here.below + at.upper / here.above
        solve_system = _factor(problem.P, A, D) if np.isfinite(D).all() else None
        if solve_system is None:
            break
        ahead = problem.direction(here, solve_system, np.zeros(n), np.zeros(n))
        t = min(1.0, problem.length(here, ahead))
        moved = problem.mean_product(
            here.below + t * ahead.x, here.above - t * ahead.x, at.lower + t * ahead.lower, at.upper + t * ahead.upper
        )
        centre = mu * (moved / mu) ** 3 if mu > 0.0 else 0.0
        move = problem.direction(here, solve_system, centre - ahead.x * ahead.lower, centre + ahead.x * ahead.upper)
        t = min(1.0, STEP_FRACTION * problem.length(here, move))
        at = Point(*(part + t * change for part, change in zip(at, move, strict=True)))
    return Point(best.x, unit * best.y, unit * best.lower, unit * best.upper)


def _start(low: Floats, high: Floats, equalities: int) -> Point:
    """The middle of the bounds, or one inside of the only one."""
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    low, high = np.where(has_low, low, 0.0), np.where(has_high, high, 0.0)
    x = np.where(has_low & has_high, 0.5 * low + 0.5 * high, 0.0)
    x = np.where(has_low & ~has_high, low + 1.0 + 1e-3 * np.abs(low), x)
    x = np.where(~has_low & has_high, high - 1.0 - 1e-3 * np.abs(high), x)
    return Point(x, np.zeros(equalities), np.where(has_low, 1.0, 0.0), np.where(has_high, 1.0, 0.0))


def _factor(P: Floats, A: Floats, D: Floats) -> Solver | None:
    """A function that solves [P + D, -A'; A, 0], refined once; None where it is singular."""
    n, m = len(P), len(A)
    M = np.zeros((n + m, n + m))
    M[:n, :n] = P
    diagonal = np.arange(n)
    M[diagonal, diagonal] += D
    M[:n, n:], M[n:, :n] = -A.T, -A
    regular = M.copy()
    regular[diagonal, diagonal] += PROXIMAL * max(1.0, float(np.max(np.abs(P), initial=0.0)))
    with one_blas_thread:
        factors, pivots, info = lapack.dsytrf(regular, lower=1)
    if info != 0:
        return None

    def solve_system(right: Floats) -> Floats:
        right = np.concatenate([right[:n], -right[n:]])
        with one_blas_thread:
            x = lapack.dsytrs(factors, pivots, right, lower=1)[0]
            for _ in range(2):
                x = x + lapack.dsytrs(factors, pivots, right - M @ x, lower=1)[0]
        return np.asarray(x)

    return solve_system


def _largest(values: Floats) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _least(values: Floats) -> float:
    return float(np.min(values, initial=1.0))
