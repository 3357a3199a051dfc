"""Kind stationarity: points that are said to be minima of a function that a caller writes.

The number is the norm of the gradient, computed again. What it does not say is checked besides, and makes it infinite
where it fails:

- the gradient agrees with differences of the function, at the start and at the point;
- the curvature is not negative along the gradient, x and some random directions;
- where coordinates are few, no eigenvalue of the Hessian is negative, and no step along the eigenvectors of the
  smallest eigenvalues lowers the function: then the point is a saddle or a maximum;
- the function is not larger than at the start.

The scale is the median norm of the gradient at random points nearby, at a tenth of the length of x or, where that is
larger, of the distance from the start up to one. The gradient at the start is none: from a start that is far away, or
one that is the minimum, it says nothing about this point. Hessians are differences of the gradient: those that a solver
uses may leave out a part, or be wrong.
"""

from dataclasses import dataclass, replace

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.judge.certificate import Certificate
from tenfold.judge.stationarity import stationary_objective
from tenfold.linear_algebra import eigh
from tenfold.objectives import differences
from tenfold.objectives.function import Function
from tenfold.objectives.objective import Objective

MAX_HESSIAN = 100  # coordinates up to which the Hessian is computed
PROBES = 4  # random directions along which gradient and function are compared
DISAGREEMENT = 1e-3  # of the gradient, from which it is wrong
FLAT = 1e-7  # eigenvalues below this part of the largest may be rounding
REACH = np.logspace(-5.0, 0.0, 11)  # lengths at which lower values are looked for, in units of max(1, |x|)
NEAR = 0.1  # distance of the points that give the scale, in units of the length of x

WRONG = (
    "The gradient contradicts differences of the function {where}: it is wrong, or the function is not smooth. Call "
    "tenfold.check_gradient."
)


@dataclass(frozen=True)
class StationaryPoint:
    """What a stationary point of a function is, by the eigenvalues of its Hessian.

    Attributes
    ----------
    kind : str
        "minimum" (all eigenvalues are positive), "maximum", "saddle", "degenerate" (some are zero, the others
        positive: a minimum along them; what the function does along the zero ones is not known), or "not stationary".
    gradient_norm : float
        The norm of the gradient.
    scale : float
        The norm of the gradient nearby, its unit.
    eigenvalues : ndarray of shape (q,)
        Those of the Hessian, ascending.
    eigenvectors : ndarray of shape (q, q)
        Its eigenvectors, in columns.
    lower : ndarray of shape (q,) or None
        A point at which the function is lower, found along the eigenvectors of the smallest eigenvalues; None where
        there is none.

    Examples
    --------
    >>> from tenfold import classify_stationary
    >>> classify_stationary(lambda x: x[0] ** 2 + x[1] ** 2, [0.0, 0.0]).eigenvalues.round(3)
    array([2., 2.])
    """

    kind: str
    gradient_norm: float
    scale: float
    eigenvalues: Floats
    eigenvectors: Floats
    lower: Floats | None

    def explain(self) -> str:
        """The kind in sentences."""
        low, high = self.eigenvalues[0], self.eigenvalues[-1]
        words = {
            "minimum": "A strict local minimum: all eigenvalues of the Hessian are positive.",
            "maximum": "A strict local maximum: all eigenvalues of the Hessian are negative.",
            "saddle": "A saddle point: the Hessian has negative and positive eigenvalues.",
            "degenerate": "Degenerate: the Hessian has eigenvalues of zero, which decide nothing.",
            "not stationary": f"Not stationary: the gradient is {self.gradient_norm:.2g}, nearby {self.scale:.2g}.",
        }[self.kind]
        words += f" The eigenvalues are between {low:.3g} and {high:.3g}."
        if self.lower is not None:
            words += " A lower value was found nearby, so this is not a minimum."
        return words


def classify(objective: Objective, x: Floats, scale: float, tol: float) -> StationaryPoint:
    """What the point is; stationary where the gradient is at most `tol` of `scale`."""
    here = objective.read(x)
    if isinstance(objective, Function) and objective.grad is None:
        hessian = differences.hessian_of_values(objective.value, x)
    else:
        hessian = differences.hessian(lambda at: objective.read(at).gradient, x)
    values, vectors = eigh(hessian)
    size = float(np.linalg.norm(here.gradient))
    zero = FLAT * float(np.max(np.abs(values)))
    positive, negative = values > zero, values < -zero
    if not size <= tol * scale:
        kind = "not stationary"
    elif positive.all():
        kind = "minimum"
    elif negative.all():
        kind = "maximum"
    else:
        kind = "saddle" if negative.any() else "degenerate"
    lower = None if kind == "minimum" else _lower(objective, x, here.value, vectors[:, ~positive])
    return StationaryPoint(kind, size, scale, values, vectors, lower)


def _lower(objective: Objective, x: Floats, value: float, directions: Floats) -> Floats | None:
    """A point along the directions whose value is lower by more than rounding."""
    unit = max(1.0, float(np.max(np.abs(x))))
    for v in directions.T[:PROBES]:
        for length in REACH * unit:
            for sign in (1.0, -1.0):
                point = x + sign * length * v
                there = objective.values([point])[0]
                if there < value - 64.0 * EPS * max(abs(value), abs(there)):
                    return point
    return None


def local_minimum(
    objective: Objective, x: Floats, start: Floats, *, tol: float | None = None, status: str = "converged"
) -> Certificate:
    """Judge a point that a solver returned from `start`."""
    first = stationary_objective(objective, x, start, tol=tol, status=status)
    if not np.isfinite(first.value):
        return first
    scale = slope_nearby(objective, x, start)
    certificate = replace(first, scale=scale)
    wrong = [
        where for where, point in (("at the start", start), ("at the point", x)) if not agrees(objective, point, scale)
    ]
    if wrong:
        return _reject(certificate, WRONG.format(where=" and ".join(wrong)))
    before = objective.values([start])[0]
    if not first.objective <= before + objective.noise * abs(before):
        return _reject(certificate, f"The function is {first.objective:.6g} here and {before:.6g} at the start.")
    if len(x) > MAX_HESSIAN:
        least, most = curvatures(objective, x)
        if least < -FLAT * most:
            return _reject(certificate, f"The curvature is negative along some direction, {least:.3g}: no minimum.")
        note = f"Of {len(x)} coordinates the curvature was checked along {2 + PROBES} directions alone."
        return replace(certificate, note=f"{note} Along these it is not negative; it may be a saddle point.")
    point = classify(objective, x, scale, max(certificate.tol, certificate.floor / scale) if scale > 0.0 else 1.0)
    if point.lower is not None or point.kind in ("saddle", "maximum"):
        return _reject(certificate, point.explain())
    g = objective.read(x).gradient
    curved = point.eigenvalues > FLAT * point.eigenvalues[-1]
    decrease = 0.5 * float(np.sum((g @ point.eigenvectors[:, curved]) ** 2 / point.eigenvalues[curved]))
    note = f"{point.explain()} A Newton step would lower the function by {decrease:.2g}."
    if point.kind == "degenerate":
        note = f"{point.explain()} No lower value was found along them."
    return replace(certificate, note=note)


def slope_nearby(objective: Objective, x: Floats, start: Floats) -> float:
    """The median norm of the gradient nearby."""
    moved = float(np.linalg.norm(x - start))
    distance = NEAR * (max(float(np.linalg.norm(x)), min(moved, 1.0)) or 1.0)
    random = np.random.default_rng(0).standard_normal((2 * PROBES, len(x)))
    points = x + distance * random / np.linalg.norm(random, axis=1, keepdims=True)
    sizes = np.array([np.linalg.norm(objective.read(point).gradient) for point in points])
    sizes = sizes[np.isfinite(sizes)]
    return float(np.median(sizes)) if sizes.size else 0.0


def curvatures(objective: Objective, x: Floats) -> tuple[float, float]:
    """The smallest curvature, and the largest in size, along the gradient, x itself and random directions."""
    g = objective.read(x).gradient
    random = np.random.default_rng(2).standard_normal((PROBES, len(x)))
    directions = [d / np.linalg.norm(d) for d in (g, x, *random) if d.any()]
    bends = [float(d @ differences.product(lambda at: objective.read(at).gradient, x, d)) for d in directions]
    return min(bends), float(np.max(np.abs(bends)))


def agrees(objective: Objective, x: Floats, scale: float) -> bool:
    """Whether the gradient at x agrees with differences of the function, up to a part of `scale` and of itself."""
    g = objective.read(x).gradient
    random = np.random.default_rng(1).standard_normal((PROBES, len(x)))
    for d in random / np.linalg.norm(random, axis=1, keepdims=True):
        unit = float(np.max(np.abs(d) / differences.units(x)))
        quotients, rounding = [], []
        for h in np.array([10.0, 1.0, 0.1]) * differences.SYMMETRIC / unit:
            low, high = objective.values([x - h * d, x + h * d])
            quotients.append((high - low) / (2.0 * h))
            rounding.append(4.0 * EPS * max(abs(low), abs(high)) / h)
        error = np.abs(np.diff(quotients)) + np.maximum(rounding[:-1], rounding[1:])
        k = int(np.argmin(error)) if np.isfinite(error).all() else 0
        allowed = DISAGREEMENT * max(scale, float(np.linalg.norm(g))) + 2.0 * float(error[k])
        if not abs(quotients[1] - float(g @ d)) <= allowed:
            return False
    return True


def _reject(certificate: Certificate, reason: str) -> Certificate:
    return replace(certificate, value=np.inf, parts=(np.inf,), note=reason)
