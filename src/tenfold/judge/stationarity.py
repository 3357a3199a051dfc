"""Kind stationarity: objectives that need not be convex. How far the gradient is from zero.

On a design the number is the norm, over the columns measured about their centre in units of their standard deviation
and the intercept, of the distance between minus the gradient of the mean loss and the subdifferential of the penalty.
An entry of the gradient is then at most the root mean square of the slopes, and that at zero weights is the scale. Of
any other smooth objective the number is the norm of its gradient, and that at a start is the scale.
"""

from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats, namespace, on_host, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.objective_points import DesignProblem, length, require_finite
from tenfold.objectives.design import DesignBlock
from tenfold.objectives.objective import Objective


def stationary_point(
    data: DesignProblem,
    x: Floats,
    start: Floats,
    stored: tuple[Floats, Floats],
    *,
    units: Floats,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
) -> Certificate:
    """Judge coefficients x (1, q) of a smooth problem of one output; `start` are coefficients without weights, `stored`
    the intercepts of both as they are stored, `units` (p,) the standard deviations of the columns.
    """
    design, problem, p = data.design, data.problem, data.design.columns
    means = design.read(problem.loss, x, 1)
    w, gradient = x[:, :p], means.gradient[:, :p]
    distance = problem.penalty.subgradient_distance(w, gradient)[0] / units
    value = length(np.append(distance, means.gradient[0, p:]))
    objective = means.value + float(problem.penalty.value(w)[0])
    bend, scale = _slopes(data, start)
    b = abs(float(stored[1][0]))
    if not scale > 64.0 * EPS * abs(bend) * (1.0 + b):
        # targets that are all equal leave nothing to explain: the slope at a distance of the constant itself
        scale = abs(bend) * (b or 1.0)
    curvature, size = _slopes(data, x)
    about, offset = design.margin_sizes(x)
    terms = float(max(about[0], np.sum(np.abs(w) * units))) + float(offset[0]) + abs(float(stored[0][0]))
    root = float(np.sqrt(p + 1.0))
    floor = 8.0 * EPS * max(size, scale) * root + curvature * unit_roundoff(dtype) * terms * root
    return _certificate(value, scale, floor, objective, tol, status)


def stationary_objective(
    objective: Objective, x: Floats, start: Floats, *, tol: float | None = None, status: str = "converged"
) -> Certificate:
    """Judge the coordinates x (q,) of any smooth objective; `start` are others, from which a solver may have begun."""
    invalid = require_finite("stationarity", (x,), tol)
    if invalid is not None:
        return invalid
    here, there = objective.read(x), objective.read(start)
    scale = length(there.gradient)
    floor = 8.0 * EPS * max(scale, length(here.gradient)) * float(np.sqrt(len(x)))
    return _certificate(length(here.gradient), scale, floor, here.value, tol, status)


def _certificate(
    value: float, scale: float, floor: float, objective: float, tol: float | None, status: str
) -> Certificate:
    value = max(value, floor) if np.isfinite(value) else np.inf
    tol = RULES["stationarity"].tol if tol is None else tol
    return Certificate("stationarity", value, scale, tol, float(floor), objective, status=status, parts=(value,))


def _slopes(data: DesignProblem, x: Floats) -> Floats:
    """The mean curvature and the root mean square of the slopes of the samples of the sample."""
    loss, predict = data.problem.loss, data.design.predictor(x)

    def lift(block: DesignBlock) -> Floats:
        z, weight = predict(block), block.weight[:, None]
        xp = namespace(z)
        parts = (xp.ones_like(z), loss.curvature(block.y, z), loss.slope(block.y, z) ** 2)
        return np.array([float(on_host(xp.sum(weight * part))) for part in parts])

    with np.errstate(over="ignore", invalid="ignore"):
        total, curvature, squares = data.design.sample.sum(lift)
    return np.array([curvature / total, np.sqrt(squares / total)])
