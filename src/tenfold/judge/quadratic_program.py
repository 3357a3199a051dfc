"""Kinds gap and stationarity: small quadratic problems with equalities and bounds, and the conditions of Karush, Kuhn
and Tucker.

    min over x of  f(x) = 1/2 x'P x + q'x,  A x = b,  low <= x <= high

For positive semidefinite P and any x0 and multipliers y of the equalities, with g = P x0 + q - A'y,

    f(x) >= 1/2 x0'P x0 + q'x0 - y'(A x0 - b) + sum over bounded j of min g_j (x_j - x0_j) - 1/2 g_F' P^+ g_F

for all feasible x, where F are the entries without a bound on the side to which g_j pushes them. Where P does not
reach g_F, beyond rounding, there is no such bound.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.objective_points import require_finite
from tenfold.linear_algebra import eigh

INFEASIBLE = "The equalities hold only up to {residual:.2g}, the bounds up to {outside:.2g}."
INDEFINITE = (
    "The matrix is not positive semidefinite, with an eigenvalue {smallest:.2g}: no duality gap exists, and the number "
    "is the length of the projected gradient of the Lagrangian. Another point may be better."
)
FEASIBLE = 1e-9  # relative, of equalities and bounds


@dataclass(frozen=True)
class QuadraticProgram:
    """P (n, n) symmetric, q (n,), A (m, n), b (m,), low and high (n,), which may be infinite."""

    P: Floats
    q: Floats
    A: Floats
    b: Floats
    low: Floats
    high: Floats

    def value(self, x: Floats) -> float:
        """f(x)."""
        return 0.5 * float(x @ (self.P @ x)) + float(self.q @ x)

    def gradient(self, x: Floats, y: Floats) -> Floats:
        """That of the Lagrangian of the equalities."""
        return self.P @ x + self.q - self.A.T @ y


def minimum(problem: QuadraticProgram, x: Floats, y: Floats, *, status: str = "solved") -> Certificate:
    """Judge a point x and multipliers y of the equalities."""
    values, vectors = eigh(problem.P) if len(x) else (np.zeros(0), np.zeros((0, 0)))
    size = float(np.max(np.abs(values), initial=0.0))
    rounding = 8.0 * EPS * len(x) * size
    convex = bool(np.min(values, initial=0.0) >= -rounding)
    invalid = require_finite("gap" if convex else "stationarity", (x, y))
    if invalid is not None:
        return invalid
    residual, outside = _infeasibility(problem, x, y)
    objective, g = problem.value(x), problem.gradient(x, y)
    terms = 0.5 * float(np.abs(x) @ np.abs(problem.P) @ np.abs(x)) + float(np.abs(problem.q) @ np.abs(x))
    price = float(np.abs(y) @ (np.abs(problem.A) @ np.abs(x) + np.abs(problem.b)))
    feasible = residual <= FEASIBLE and outside <= FEASIBLE
    note = "" if feasible else INFEASIBLE.format(residual=residual, outside=outside)
    if not convex:
        certificate = _stationarity(problem, x, g, objective, size, status)
        note = f"{INDEFINITE.format(smallest=float(values[0]))} {note}".strip()
    else:
        # the objective of what is feasible, by the price of what is missing
        lower = _bound(problem, x, y, g, values, vectors, rounding)
        floor = 16.0 * EPS * len(x) * (terms + price) + np.finfo(np.float64).tiny
        scale = terms if terms > 0.0 else max(1.0, float(np.max(np.abs(problem.q), initial=0.0)))
        value = max(objective - lower, abs(float(y @ (problem.A @ x - problem.b))), floor)
        certificate = Certificate(
            "gap", value, scale, RULES["gap"].tol, floor, objective, lower, status=status, parts=(value,)
        )
    if not feasible:
        certificate = replace(certificate, value=np.inf, parts=(np.inf,))
    return replace(certificate, note=note)


def _infeasibility(problem: QuadraticProgram, x: Floats, y: Floats) -> tuple[float, float]:
    """By how much equalities and bounds are violated, relative to their terms."""
    sizes = np.abs(problem.A) @ np.abs(x) + np.abs(problem.b)
    residual = np.abs(problem.A @ x - problem.b) / np.where(sizes > 0.0, sizes, 1.0)
    outside = np.maximum(np.maximum(problem.low - x, x - problem.high), 0.0) / (1.0 + np.abs(x))
    return float(np.max(residual, initial=0.0)), float(np.max(outside, initial=0.0))


def _bound(
    problem: QuadraticProgram, x: Floats, y: Floats, g: Floats, values: Floats, vectors: Floats, rounding: float
) -> float:
    """A lower bound on f of all feasible points; minus infinity where there is none."""
    down = np.where(g > 0.0, problem.low - x, problem.high - x)  # where g.d is least
    free = ~np.isfinite(down) & (g != 0.0)
    linear = float(np.sum(np.where(free | (g == 0.0), 0.0, g * np.where(np.isfinite(down), down, 0.0))))
    along = vectors.T @ np.where(free, g, 0.0)
    flat = values <= rounding
    # what P does not reach must be rounding of the gradient, and costs as much as x is long
    gradient_rounding = (
        16.0 * EPS * len(x) * float(np.max(np.abs(problem.P) @ np.abs(x) + np.abs(problem.q) + _sizes(problem, y)))
        if len(x)
        else 0.0
    )
    lost = float(np.sqrt(np.sum(np.square(along[flat]))))
    if lost > gradient_rounding * 64.0:
        return -np.inf
    curved = 0.5 * float(np.sum(np.square(along[~flat]) / values[~flat])) if (~flat).any() else 0.0
    start = problem.value(x) - float(y @ (problem.A @ x - problem.b))
    return start + linear - curved - lost * (1.0 + float(np.sqrt(x @ x)))


def _sizes(problem: QuadraticProgram, y: Floats) -> Floats:
    return np.abs(problem.A).T @ np.abs(y) if len(y) else np.zeros(len(problem.q))


def _stationarity(
    problem: QuadraticProgram, x: Floats, g: Floats, objective: float, size: float, status: str
) -> Certificate:
    step = 1.0 / size
    moved = x - np.clip(x - step * g, problem.low, problem.high)
    value = float(np.sqrt(np.sum(np.square(moved)))) / step
    terms = np.abs(problem.P) @ np.abs(x) + np.abs(problem.q)
    scale = float(np.sqrt(np.sum(np.square(terms)))) or 1.0
    floor = 16.0 * EPS * len(x) * scale
    value = max(value, floor)
    tol = RULES["stationarity"].tol
    return Certificate("stationarity", value, scale, tol, floor, objective, status=status, parts=(value,))


@dataclass(frozen=True)
class KktReport:
    """How far a point and its multipliers are from the conditions of Karush, Kuhn and Tucker.

    Attributes
    ----------
    stationarity : float
        The largest entry of the gradient of the Lagrangian.
    equality : float
        The largest violation of an equality.
    inequality : float
        The largest violation of an inequality.
    sign : float
        By how much a multiplier of an inequality is below zero.
    complementarity : float
        The largest product of a multiplier with the slack of its inequality.
    active : ndarray of shape (k,)
        Whether each inequality holds with equality, up to `tol`.
    tol : float
        Up to which the conditions count as met.
    """

    stationarity: float
    equality: float
    inequality: float
    sign: float
    complementarity: float
    active: Any
    tol: float

    @property
    def largest(self) -> float:
        """The largest of the five numbers."""
        return max(self.stationarity, self.equality, self.inequality, self.sign, self.complementarity)

    @property
    def holds(self) -> bool:
        """Whether all conditions hold up to `tol`: of a convex problem the point is then optimal."""
        return bool(self.largest <= self.tol)

    def explain(self) -> str:
        """The report in sentences."""
        numbers = {
            "the gradient of the Lagrangian": self.stationarity,
            "an equality": self.equality,
            "an inequality": self.inequality,
            "the sign of a multiplier": self.sign,
            "a multiplier times its slack": self.complementarity,
        }
        if self.holds:
            return f"All conditions hold up to {self.largest:.2g}; {int(np.sum(self.active))} inequalities are active."
        failed = ", ".join(f"{name} by {value:.2g}" for name, value in numbers.items() if not value <= self.tol)
        return f"Violated: {failed}; allowed {self.tol:.2g}."


def kkt(
    gradient: Any,
    x: Any,
    *,
    A: Any = None,
    b: Any = None,
    equality_multipliers: Any = None,
    G: Any = None,
    h: Any = None,
    multipliers: Any = None,
    tol: float = 1e-8,
) -> KktReport:
    """Check the conditions of Karush, Kuhn and Tucker of  min f(x), A x = b, G x <= h  at a point.

    With the Lagrangian f(x) + lambda'(A x - b) + alpha'(G x - h) they are: its gradient is zero, the constraints hold,
    alpha >= 0, and alpha_k (G x - h)_k = 0. Where f is convex they are sufficient.

    Parameters
    ----------
    gradient : array-like of shape (n,)
        The gradient of f at x.
    x : array-like of shape (n,)
        The point.
    A, b : array-like of shape (m, n) and (m,), default=None
        The equalities; None for none.
    equality_multipliers : array-like of shape (m,), default=None
        lambda; None for zeros.
    G, h : array-like of shape (k, n) and (k,), default=None
        The inequalities; None for none.
    multipliers : array-like of shape (k,), default=None
        alpha; None for zeros.
    tol : float, default=1e-8
        Up to which the conditions count as met.

    Returns
    -------
    KktReport
        The five numbers, and whether all are within `tol`.

    Notes
    -----
    Seeger, appendix A; Welling, appendix A.

    Examples
    --------
    >>> from tenfold import kkt
    >>> report = kkt([-1.0], [-1.0], G=[[1.0]], h=[-1.0], multipliers=[1.0])  # x^2 / 2 over x <= -1
    >>> report.holds, report.active
    (True, array([ True]))
    >>> kkt([0.0], [0.0], G=[[1.0]], h=[-1.0]).explain()
    'Violated: an inequality by 1; allowed 1e-08.'
    """
    x, total = np.asarray(x, dtype=np.float64), np.array(gradient, dtype=np.float64)
    if x.ndim != 1 or total.shape != x.shape:
        raise ValueError(f"gradient must have the shape of x, {x.shape}. Got {total.shape}.")
    A, b, lagrange = _constraints(x, A, b, equality_multipliers, "A")
    G, h, alpha = _constraints(x, G, h, multipliers, "G")
    total = total + A.T @ lagrange + G.T @ alpha
    slack = h - G @ x
    return KktReport(
        float(np.max(np.abs(total), initial=0.0)),
        float(np.max(np.abs(A @ x - b), initial=0.0)),
        float(np.max(-slack, initial=0.0)),
        float(np.max(-alpha, initial=0.0)),
        float(np.max(np.abs(alpha * slack), initial=0.0)),
        np.abs(slack) <= tol,
        tol,
    )


def _constraints(x: Floats, A: Any, b: Any, multipliers: Any, name: str) -> tuple[Floats, Floats, Floats]:
    A = np.zeros((0, len(x))) if A is None else np.asarray(A, dtype=np.float64)
    if A.ndim != 2 or A.shape[1] != len(x):
        raise ValueError(f"{name} must have {len(x)} columns, as x has entries. Got shape {A.shape}.")
    given = [np.zeros(len(A)) if part is None else np.asarray(part, dtype=np.float64) for part in (b, multipliers)]
    if any(part.shape != (len(A),) for part in given):
        raise ValueError(f"There must be a right side and a multiplier for each of the {len(A)} rows of {name}.")
    return A, given[0], given[1]


def lagrange_dual(
    P: Any,
    q: Any,
    *,
    A: Any = None,
    b: Any = None,
    equality_multipliers: Any = None,
    G: Any = None,
    h: Any = None,
    multipliers: Any = None,
) -> float:
    """The dual function of  min 1/2 x'P x + q'x, A x = b, G x <= h:  min over x of the Lagrangian.

    For all multipliers (alpha >= 0) it is at most the objective of every feasible point (weak duality); where P is
    positive semidefinite its maximum is the minimum (strong duality).

    Parameters
    ----------
    P, q : array-like of shape (n, n) and (n,)
        The objective; P symmetric and positive semidefinite.
    A, b : array-like of shape (m, n) and (m,), default=None
        The equalities; None for none.
    equality_multipliers : array-like of shape (m,), default=None
        lambda; None for zeros.
    G, h : array-like of shape (k, n) and (k,), default=None
        The inequalities; None for none.
    multipliers : array-like of shape (k,), default=None
        alpha, none of them below zero; None for zeros.

    Returns
    -------
    float
        The value; minus infinity where the Lagrangian is unbounded.

    Notes
    -----
    Seeger, appendix A (A.3) and (A.4); Welling, appendix A.

    Examples
    --------
    >>> from tenfold import lagrange_dual
    >>> [lagrange_dual([[1.0]], [0.0], G=[[1.0]], h=[-1.0], multipliers=[a]) for a in (0.0, 1.0, 2.0)]  # a - a^2 / 2
    [0.0, 0.5, 0.0]
    """
    P, q = np.asarray(P, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if P.shape != (len(q), len(q)):
        raise ValueError(f"P must be a matrix of {len(q)} x {len(q)}, as q has entries. Got shape {P.shape}.")
    A, b, lagrange = _constraints(q, A, b, equality_multipliers, "A")
    G, h, alpha = _constraints(q, G, h, multipliers, "G")
    if np.any(alpha < 0.0):
        raise ValueError("multipliers of inequalities must not be negative.")
    g = q + A.T @ lagrange + G.T @ alpha
    values, vectors = eigh(0.5 * (P + P.T))
    flat = values <= 8.0 * EPS * len(q) * float(np.max(np.abs(values), initial=0.0))
    if np.any(values < -8.0 * EPS * len(q) * float(np.max(np.abs(values), initial=0.0))):
        raise ValueError(f"P must be positive semidefinite; an eigenvalue is {values[0]:.2g}.")
    along = vectors.T @ g
    sizes = np.abs(q) + np.abs(A).T @ np.abs(lagrange) + np.abs(G).T @ np.abs(alpha)
    if np.any(np.abs(along[flat]) > 16.0 * EPS * len(q) * float(np.max(sizes, initial=0.0))):
        return -np.inf
    return 0.0 - 0.5 * float(np.sum(np.square(along[~flat]) / values[~flat])) - float(lagrange @ b) - float(alpha @ h)
