"""Small quadratic problems: reduction to regular ones, the solver, and the judge."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.judge.certificate import Certificate
from tenfold.judge.quadratic_program import QuadraticProgram, minimum
from tenfold.linear_algebra import eigh, svd
from tenfold.solvers.box_qp import Point, solve

SNAP = 1e-8  # relative distance from a bound at which an entry with a multiplier is on it
MAX_CONVEX_STEPS = 500  # of an objective that is not convex
INFEASIBLE = "The constraints exclude each other: {reason}."
UNBOUNDED = "The objective is unbounded below over the feasible points: give bounds, or a positive definite P."
UNREACHED = "No stationary point was reached: the objective may be unbounded below, so give bounds."


@dataclass(frozen=True)
class QpResult:
    """The minimiser of a quadratic problem.

    Attributes
    ----------
    x : ndarray of shape (n,)
        The minimiser.
    objective : float
        Its objective.
    equality_multipliers : ndarray of shape (m,)
        y of  P x + q = A'y + lower_multipliers - upper_multipliers.
    lower_multipliers, upper_multipliers : ndarray of shape (n,)
        Those of the bounds, at least zero, zero where the bound is not active.
    certificate_ : Certificate
        Kind gap where P is positive semidefinite: no feasible point is better by more. Otherwise kind stationarity.
    """

    x: Floats
    objective: float
    equality_multipliers: Floats
    lower_multipliers: Floats
    upper_multipliers: Floats
    certificate_: Certificate


def minimize_qp(P: Any, q: Any, *, A: Any = None, b: Any = None, low: Any = None, high: Any = None) -> QpResult:
    """Minimise 1/2 x'P x + q'x over A x = b, low <= x <= high, for small dense P.

    Parameters
    ----------
    P : array-like of shape (n, n)
        A symmetric matrix. Where it is not positive semidefinite the result is a stationary point.
    q : array-like of shape (n,)
        The linear part.
    A, b : array-like of shape (m, n) and (m,), default=None
        The equalities; None for none. Rows may depend on each other.
    low, high : float or array-like of shape (n,), default=None
        The bounds, which may be infinite; None for none.

    Returns
    -------
    QpResult
        The minimiser, the multipliers and the certificate.

    Raises
    ------
    ValueError
        If the constraints exclude each other, or the objective is unbounded below.

    Notes
    -----
    About 10 to 30 factorisations of a matrix of n + m rows, by an interior point method. Where P is not positive
    semidefinite, its negative part is replaced by its tangent, again and again: the objective falls in each step.
    Seeger, appendix A; Welling, appendix A.

    Examples
    --------
    >>> from tenfold import minimize_qp
    >>> result = minimize_qp([[1.0]], [0.0], high=-1.0)  # x^2 / 2 over x <= -1
    >>> result.x.round(6), result.upper_multipliers.round(6), result.certificate_.ok
    (array([-1.]), array([1.]), True)
    >>> minimize_qp([[2.0, 0.0], [0.0, 2.0]], [0.0, 0.0], A=[[1.0, 1.0]], b=[1.0]).x.round(6)
    array([0.5, 0.5])
    """
    problem = _validate(P, q, A, b, low, high)
    fixed = problem.low == problem.high
    units = _find_units(problem, fixed)
    reduced, rows = _reduce(problem, fixed, units)
    smallest = eigh(problem.P)[0][0] if len(problem.q) else 0.0
    convex = smallest >= -8.0 * EPS * len(problem.q) * float(np.max(np.abs(problem.P), initial=0.0))
    point = solve(*_parts(reduced)) if convex else _solve_nonconvex(reduced)
    x = np.where(fixed, problem.low, 0.0)
    inside = _restore_equalities(reduced, _put_on_bounds(reduced, point))
    x[~fixed] = np.clip(units * inside, problem.low[~fixed], problem.high[~fixed])
    y = rows @ point.y
    g = problem.gradient(x, y)
    lower, upper = np.where(fixed, np.maximum(g, 0.0), 0.0), np.where(fixed, np.maximum(-g, 0.0), 0.0)
    lower[~fixed], upper[~fixed] = point.lower / units, point.upper / units
    certificate = minimum(problem, x, y)
    if not certificate.ok:
        _raise_reason(reduced, convex)
    return QpResult(x, problem.value(x), y, lower, upper, certificate)


def _parts(problem: QuadraticProgram) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    return problem.P, problem.q, problem.A, problem.b, problem.low, problem.high


def _validate(P: Any, q: Any, A: Any, b: Any, low: Any, high: Any) -> QuadraticProgram:
    P, q = np.asarray(P, dtype=np.float64), np.asarray(q, dtype=np.float64)
    n = len(q) if q.ndim == 1 else -1
    if P.shape != (n, n):
        raise ValueError(f"P must be a matrix (n, n) and q a vector (n,). Got shapes {P.shape} and {q.shape}.")
    if np.max(np.abs(P - P.T), initial=0.0) > 64.0 * EPS * np.max(np.abs(P), initial=0.0):
        raise ValueError("P must be symmetric: use (P + P.T) / 2, which gives the same objective.")
    A = np.zeros((0, n)) if A is None else np.asarray(A, dtype=np.float64)
    b = np.zeros(len(A)) if b is None else np.asarray(b, dtype=np.float64)
    if A.ndim != 2 or A.shape[1] != n or b.shape != (len(A),):
        raise ValueError(f"A must be (m, {n}) and b (m,). Got shapes {A.shape} and {b.shape}.")
    bounds = [np.full(n, end) if part is None else np.asarray(part) for part, end in ((low, -np.inf), (high, np.inf))]
    low, high = (np.broadcast_to(part, n).astype(np.float64) for part in bounds)
    if not all(np.isfinite(part).all() for part in (P, q, A, b)) or np.isnan(low).any() or np.isnan(high).any():
        raise ValueError("P, q, A and b must be finite, and bounds numbers or infinite.")
    if np.any(low > high):
        j = int(np.argmax(low > high))
        raise ValueError(INFEASIBLE.format(reason=f"low[{j}] = {low[j]:g} is above high[{j}] = {high[j]:g}"))
    return QuadraticProgram(0.5 * (P + P.T), q, A, b, low, high)


def _find_units(problem: QuadraticProgram, fixed: Any) -> Floats:
    """Units of the entries that are not fixed, in which curvatures and ranges are at most one."""
    curvature, q = np.diag(problem.P)[~fixed], np.abs(problem.q[~fixed])
    width = (problem.high - problem.low)[~fixed]
    positive = curvature > EPS * float(np.max(curvature, initial=0.0)) * EPS
    unit = np.where(positive, 1.0 / np.sqrt(np.where(positive, curvature, 1.0)), np.inf)
    unit = np.minimum(unit, width)
    return np.where(np.isfinite(unit), unit, np.where(q > 0.0, 1.0 / np.where(q > 0.0, q, 1.0), 1.0))


def _reduce(problem: QuadraticProgram, fixed: Any, units: Floats) -> tuple[QuadraticProgram, Floats]:
    """The problem of the entries that are not fixed, in these units, with equalities of full rank; (m, rank) what makes
    its multipliers those of the problem.
    """
    x = np.where(fixed, problem.low, 0.0)
    A, b = problem.A[:, ~fixed] * units, problem.b - problem.A @ x
    P = problem.P[np.ix_(~fixed, ~fixed)] * units[:, None] * units
    q, low, high = (
        (problem.q + problem.P @ x)[~fixed] * units,
        problem.low[~fixed] / units,
        problem.high[~fixed] / units,
    )
    if not A.size:
        size = np.abs(problem.A) @ np.abs(x) + np.abs(problem.b)
        if np.any(np.abs(b) > 64.0 * EPS * len(x) * size):
            raise ValueError(INFEASIBLE.format(reason="all entries are fixed, and an equality does not hold"))
        return QuadraticProgram(P, q, A[:0], b[:0], low, high), np.zeros((len(b), 0))
    length = np.sqrt(np.sum(A * A, axis=1))
    length = np.where(length > 0.0, length, 1.0)
    U, s, Vt = svd(A / length[:, None])
    rank = int(np.sum(s > 1e-12 * s[0]))
    left = U[:, :rank] / length[:, None]
    wanted = U[:, :rank].T @ (b / length)
    missing = float(np.max(np.abs(b / length - U[:, :rank] @ wanted)))
    if missing > 1e-10 * max(1.0, float(np.max(np.abs(b / length)))):
        raise ValueError(INFEASIBLE.format(reason="two equalities contradict each other"))
    reduced = s[:rank, None] * Vt[:rank]
    return QuadraticProgram(P, q, reduced, wanted, low, high), left


def _solve_nonconvex(problem: QuadraticProgram) -> Point:
    """A stationary point: the concave part of the objective by its tangent, until the point stays."""
    values, vectors = eigh(problem.P)
    convex = (vectors * np.maximum(values, 0.0)) @ vectors.T
    concave = problem.P - convex
    point = solve(0.5 * (convex + convex.T), *_parts(problem)[1:])
    for _ in range(MAX_CONVEX_STEPS):
        parts = (problem.q + concave @ point.x, *_parts(problem)[2:])
        after = solve(0.5 * (convex + convex.T), *parts)
        moved = float(np.max(np.abs(after.x - point.x), initial=0.0))
        size = float(np.max(np.abs(after.x), initial=0.0))
        point = after
        if not np.isfinite(size) or size > 1e12:
            raise ValueError(UNBOUNDED)
        if moved <= 1e-11 * max(1.0, size):
            break
    return point


def _put_on_bounds(problem: QuadraticProgram, point: Point) -> Floats:
    """x with the entries on their bounds whose multipliers are larger than their distance to it."""
    x = np.clip(point.x, problem.low, problem.high)
    size = float(np.max(np.abs(problem.P), initial=0.0)) + float(np.max(np.abs(problem.q), initial=0.0))
    for bound, multiplier in ((problem.low, point.lower), (problem.high, point.upper)):
        finite = np.where(np.isfinite(bound), bound, 0.0)
        near = np.isfinite(bound) & (np.abs(x - finite) <= SNAP * (1.0 + np.abs(finite)))
        x = np.where(near & (multiplier > SNAP * size), finite, x)
    return x


def _restore_equalities(problem: QuadraticProgram, x: Floats) -> Floats:
    """x with the equalities as exact as rounding allows, by the shortest step of the entries inside their bounds."""
    inside = (x > problem.low) & (x < problem.high)
    A = problem.A[:, inside]
    if not A.size:
        return x
    U, s, Vt = svd(A)
    reached = s > 1e-12 * s[0]
    moved = Vt[reached].T @ ((U[:, reached].T @ (problem.b - problem.A @ x)) / s[reached])
    result = x.copy()
    result[inside] = np.clip(x[inside] + moved, problem.low[inside], problem.high[inside])
    return result


def _raise_reason(problem: QuadraticProgram, convex: bool) -> None:
    """Raise where no point is feasible, or the objective has no minimum."""
    n = len(problem.q)
    nearest = solve(
        problem.A.T @ problem.A, -problem.A.T @ problem.b, np.zeros((0, n)), np.zeros(0), problem.low, problem.high
    )
    residual = problem.A @ np.clip(nearest.x, problem.low, problem.high) - problem.b
    if len(residual) and float(np.max(np.abs(residual))) > 1e-7 * (1.0 + float(np.max(np.abs(problem.b)))):
        raise ValueError(INFEASIBLE.format(reason="no point within the bounds meets the equalities"))
    if not convex:
        raise ValueError(UNREACHED)
    # a direction of descent without curvature, within the cone of the bounds
    low, high = np.where(np.isfinite(problem.low), 0.0, -1.0), np.where(np.isfinite(problem.high), 0.0, 1.0)
    open_entries = low < high
    if not open_entries.any():
        return
    rows = np.vstack([problem.A, problem.P])[:, open_entries]
    q = problem.q[open_entries]
    penalty = 1e6 * rows.T @ rows
    d = solve(penalty, q, np.zeros((0, len(q))), np.zeros(0), low[open_entries], high[open_entries]).x
    if (
        float(q @ d) < -1e-6 * float(np.max(np.abs(q), initial=0.0))
        and float(np.max(np.abs(rows @ d), initial=0.0)) < 1e-4
    ):
        raise ValueError(UNBOUNDED)
