"""Kind stationarity: losses that are not convex. How far the objective is from being at rest.

The number is the norm, over the columns measured about their centre in units of their standard deviation and the
intercept, of the distance between minus the gradient of the mean loss and the subdifferential of the penalty. An entry
of the gradient is then at most the root mean square of the slopes, and that at zero weights is the scale.
"""

from typing import Any

import numpy as np

from tenfold.arrays import Floats, namespace, on_host, unit_roundoff
from tenfold.data import Block, Rows, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.objective_points import Data, centred, length, local, prepare, require_finite
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params, Total, derivatives, forward

EPS = float(np.finfo(np.float64).eps)


def stationarity(
    problem: Glm,
    rows: Rows,
    params: Params,
    start: Params,
    *,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
) -> Certificate:
    """Judge a smooth problem of one target that need not be convex; `start` are parameters without weights."""
    refused = require_finite("stationarity", params, tol)
    if refused is not None:
        return refused
    data = prepare(problem, rows)
    at = centred(params, data.centre) if problem.intercept else params
    sums = rows.fold(derivatives(problem.loss, local(data, at), 1, data.centre))
    assert sums.gradient is not None
    slope = float(sums.slope[0]) / sums.weight
    g = sums.gradient[0] / sums.weight
    g = g if problem.intercept else g + slope * data.centre
    spread = np.sqrt(np.where(data.squares > 0.0, data.squares, 1.0))
    distance = problem.penalty.subgradient_distance(params.coef, g[None, :])[0] / spread
    value = length(np.append(distance, slope if problem.intercept else 0.0))
    objective = float(sums.value[0]) / sums.weight + float(problem.penalty.value(params.coef)[0])
    bend, scale = _slopes(data, start)
    b = abs(float(start.intercept[0]))
    if not scale > 64.0 * EPS * abs(bend) * (1.0 + b):
        # targets that are all equal leave nothing to explain: the slope at a distance of the constant itself
        scale = abs(bend) * (b or 1.0)
    curvature, size = _slopes(data, at)
    about = float(np.sum(np.abs(params.coef[0]) * (spread + np.abs(data.centre)))) + abs(float(params.intercept[0]))
    floor = 8.0 * EPS * max(size, scale) * np.sqrt(len(g) + 1.0)
    floor += curvature * unit_roundoff(dtype) * about * np.sqrt(len(g) + 1.0)
    value = max(value, floor) if np.isfinite(value) else np.inf
    return Certificate(
        "stationarity",
        value,
        scale,
        RULES["stationarity"].tol if tol is None else tol,
        float(floor),
        objective,
        status=status,
        parts=(value,),
    )


def _slopes(data: Data, params: Params) -> Floats:
    """The mean curvature and the root mean square of the slopes of the sample's rows."""
    loss, at, centre = data.problem.loss, local(data, params), data.centre

    def lift(block: Block) -> Total:
        z, weight = forward(block.X, at, centre), weights_of(block)[:, None]
        xp = namespace(z)
        parts = (xp.ones_like(z), loss.curvature(block.y, z), loss.slope(block.y, z) ** 2)
        return Total(np.array([float(on_host(xp.sum(weight * part))) for part in parts]))

    with np.errstate(over="ignore", invalid="ignore"):
        total, curvature, squares = data.sample.fold(lift).sum
    return np.array([curvature / total, np.sqrt(squares / total)])
