"""Small dense quadratic problems with equalities and bounds, by an interior point method (Mehrotra 1992).

    min over x of  1/2 x'P x + q'x,  A x = b,  low <= x <= high,  P positive semidefinite, low < high, A of full rank.

On the central path (x - low) l = (high - x) u = mu with multipliers l, u >= 0 of the bounds that are finite, and
P x + q - A'y - l + u = 0. A Newton step solves [P + D, -A'; A, 0] (dx, dy), D = l / (x - low) + u / (high - x): of
(n + m)^3 / 3 operations, with one predictor and one corrector. x is always inside its bounds.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import EPS, Floats
from tenfold.machine import one_blas_thread, poll

MAX_STEPS = 200
STEP_FRACTION = 0.995  # of the longest step that stays inside
PROXIMAL = 1e-13  # of the largest entry of P: keeps the matrix regular where the problem is flat


class Point(NamedTuple):
    """x, and the multipliers of the equalities and of the lower and upper bounds."""

    x: Floats
    y: Floats
    lower: Floats
    upper: Floats


def solve(P: Floats, q: Floats, A: Floats, b: Floats, low: Floats, high: Floats) -> Point:
    """The minimiser, as precise as float64 allows; of a problem that is unbounded or infeasible a point far off."""
    n, m = len(q), len(b)
    unit = max(float(np.max(np.abs(P), initial=0.0)), float(np.max(np.abs(q), initial=0.0))) or 1.0
    P, q = P / unit, q / unit
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    at = _start(low, high, m)
    best, best_error = at, np.inf
    for _ in range(MAX_STEPS):
        poll()
        below = np.where(has_low, at.x - low, 1.0)
        above = np.where(has_high, high - at.x, 1.0)
        dual = P @ at.x + q - A.T @ at.y - at.lower + at.upper
        primal = A @ at.x - b
        products = np.concatenate([(below * at.lower)[has_low], (above * at.upper)[has_high]])
        mu = float(np.mean(products)) if len(products) else 0.0
        error = _largest(dual) / (1.0 + _largest(q)) + _largest(primal) / (1.0 + _largest(b)) + mu
        if error < best_error:
            best, best_error = at, error
        if not np.isfinite(error) or error <= 8.0 * EPS or min(_least(below), _least(above)) <= 0.0:
            break
        D = at.lower / below + at.upper / above
        step = _factor(P, A, D)
        if step is None:
            break

        def direction(
            first: Floats,
            second: Floats,
            at: Point = at,
            step: object = step,
            below: Floats = below,
            above: Floats = above,
            dual: Floats = dual,
            primal: Floats = primal,
        ) -> Point:
            """The Newton step to (x - low) l = first, (high - x) u = second."""
            right = -dual + np.where(has_low, first / below - at.lower, 0.0)
            right -= np.where(has_high, second / above - at.upper, 0.0)
            both = step(np.concatenate([right, -primal]))  # type: ignore[operator]
            dx = both[:n]
            lower = np.where(has_low, (first - at.lower * dx) / below - at.lower, 0.0)
            upper = np.where(has_high, (second + at.upper * dx) / above - at.upper, 0.0)
            return Point(dx, both[n:], lower, upper)

        ahead = direction(np.zeros(n), np.zeros(n))
        t = min(1.0, _length(at, ahead, below, above, has_low, has_high))
        moved = np.concatenate(
            [
                ((below + t * ahead.x) * (at.lower + t * ahead.lower))[has_low],
                ((above - t * ahead.x) * (at.upper + t * ahead.upper))[has_high],
            ]
        )
        centre = mu * (float(np.mean(moved)) / mu) ** 3 if mu > 0.0 else 0.0
        move = direction(centre - ahead.x * ahead.lower, centre + ahead.x * ahead.upper)
        t = min(1.0, STEP_FRACTION * _length(at, move, below, above, has_low, has_high))
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


def _factor(P: Floats, A: Floats, D: Floats) -> object | None:
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


def _length(at: Point, d: Point, below: Floats, above: Floats, has_low: Floats, has_high: Floats) -> float:
    """The longest step that keeps distances and multipliers positive."""
    pairs = (
        (below[has_low], d.x[has_low]),
        (above[has_high], -d.x[has_high]),
        (at.lower[has_low], d.lower[has_low]),
        (at.upper[has_high], d.upper[has_high]),
    )
    steps = [float(np.min(-value[down < 0.0] / down[down < 0.0], initial=1e6)) for value, down in pairs]
    return min(steps)


def _largest(values: Floats) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _least(values: Floats) -> float:
    return float(np.min(values, initial=1.0))
