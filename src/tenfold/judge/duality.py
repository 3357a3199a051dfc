"""Kind gap: convex problems, by a dual point that is made feasible here."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tenfold.arrays import Array, Floats, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate, distances
from tenfold.losses import Loss
from tenfold.machine import one_blas_thread
from tenfold.problems import Glm, evaluate
from tenfold.rows import Block, Rows
from tenfold.stats import Params, Total, back_times, predictions

SEARCH_COLUMNS = 4096
"""With at most so many columns the judge looks for a better dual point by Newton steps of its own."""

SEARCH_STEPS = 4

SEPARATED = "The classes are separated by these weights, so the likelihood has no maximum: longer weights are always better. Use a finite C."
LOOSE = "Bound, not tight: the true distance to the optimum may be much smaller."


class _Data(NamedTuple):
    """What a dual value is computed from."""

    problem: Glm
    rows: Rows
    y: Floats
    weight: Floats
    centre: Floats


def gap(
    problem: Glm,
    rows: Rows,
    params: Params,
    *,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
) -> Certificate:
    """Judge a convex problem of one target by its duality gap: objective minus a dual value at slopes that are feasible.

    With u slopes of the loss at any margins, D(u) = -(1/W) sum weight conjugate(u) - penalty*(-X'(weight u)/W) bounds every objective
    from below, provided that sum weight u = 0 where there is an intercept. The slopes at the parameters' own margins give
    |gradient|^2 / (2 strength); where that is not enough, Newton steps of the judge's own make the bound tight.
    """
    centre = _middle(rows) if problem.intercept else np.zeros(rows.shape[1])
    local = Params(params.coef, params.intercept + params.coef @ centre)
    data = _Data(problem, rows, rows.map(lambda block: block.y), rows.map(_weights), centre)
    margins = rows.map(predictions(local, centre))
    objective = _objective(data, local, margins)
    scale = _objective(data, Params(np.zeros_like(local.coef), np.zeros(1)), np.zeros_like(margins))
    floor = _floor(problem, local, margins, max(objective, scale), dtype)
    tol = RULES["gap"].tol if tol is None else tol
    strength = float(np.max(problem.penalty.strength))
    if strength == 0.0 and np.min(data.y * margins, initial=np.inf, where=data.weight[:, None] > 0) > 0.0:
        return Certificate(
            "gap", objective, scale, tol, floor, objective, 0.0, status="no maximum", parts=(objective,), note=SEPARATED
        )
    lower, moved = _search(data, local, margins, objective - max(tol * scale, floor))
    value = max(objective - lower, floor)
    radius = float(np.sqrt(2.0 * value / strength)) if strength > 0.0 else None
    drift = 0.0
    if radius is not None and problem.intercept:
        # margins within r of each other have best intercepts within r of each other: they are monotone and move with a constant
        drift = radius * float(np.max(rows.map(lambda block: distances(block.X, centre)), initial=0.0)) + abs(moved)
    return Certificate(
        kind="gap",
        value=value,
        scale=scale,
        tol=tol,
        floor=floor,
        objective=objective,
        lower_bound=lower if np.isfinite(lower) else None,
        radius=radius,
        status=status,
        parts=(value,),
        note="" if value <= max(tol * scale, floor) or rows.shape[1] <= SEARCH_COLUMNS else LOOSE,
        _coef=np.asarray(params.coef, dtype=np.float64),
        _intercept=np.asarray(params.intercept, dtype=np.float64),
        _centre=centre,
        _drift=drift,
    )


def _middle(rows: Rows) -> Floats:
    """A point amid the rows: any is right, one near the mean keeps digits."""
    sample = rows.thin(max(1, rows.shape[0] // 1024)).whole().X
    return np.asarray(sample.mean(axis=0), dtype=np.float64).ravel()


def _weights(block: Block) -> Floats:
    return np.ones(block.X.shape[0]) if block.weight is None else np.asarray(block.weight)


def _objective(data: _Data, params: Params, margins: Floats) -> float:
    loss = data.problem.loss.value(data.y, margins)[:, 0]
    return float(data.weight @ loss / data.weight.sum() + data.problem.penalty.value(params.coef)[0])


def _floor(problem: Glm, params: Params, margins: Floats, size: float, dtype: Any) -> float:
    """Rounding of the objective, and what storing the weights in `dtype` can cost it."""
    stored = unit_roundoff(dtype) * (1.0 + params.coef.shape[1]) * float(np.max(np.abs(margins), initial=0.0))
    return 8.0 * float(np.finfo(np.float64).eps) * size + 0.5 * problem.loss.smoothness * stored**2


def _search(data: _Data, params: Params, margins: Floats, enough: float) -> tuple[float, float]:
    """The best dual value found, at most SEARCH_STEPS Newton steps from `params`, and the intercept's way to its best place at the start."""
    small = data.rows.shape[1] <= SEARCH_COLUMNS
    lower, moved = -np.inf, 0.0
    for step in range(SEARCH_STEPS + 1):
        value, way = _dual_value(data, params, margins)
        lower = max(lower, value)
        moved = way if step == 0 else moved
        if lower >= enough or not small or step == SEARCH_STEPS:
            break
        better = _newton_step(data, params)
        if better is None:
            break
        params = better
        margins = data.rows.map(predictions(params, data.centre))
    return lower, moved


def _dual_value(data: _Data, params: Params, margins: Floats) -> tuple[float, float]:
    """D(u) at slopes near those of `margins`, corrected to be feasible; -inf where that fails. And how far the intercept was moved."""
    problem, weight = data.problem, data.weight
    total = float(weight.sum())
    moved = best_intercept(problem.loss, data.y, margins, weight) if problem.intercept else 0.0
    margins = margins + moved
    u = problem.loss.slope(data.y, margins)
    if float(np.max(problem.penalty.strength)) == 0.0:
        u = _projected(data, params, margins, u)
        if u is None:
            return -np.inf, moved
    elif problem.intercept:
        u = _balanced(problem.loss, data.y, margins, u, weight)
    conjugate = float(weight @ problem.loss.conjugate(data.y, u)[:, 0])
    weighted = np.ascontiguousarray(weight[:, None] * u)
    pull = data.rows.retarget(weighted).fold(lambda block: Total(back_times(block.X, block.y, data.centre))).sum / total
    if float(np.max(problem.penalty.strength)) == 0.0:
        # projected up to rounding: what is left acts on weights of about this size
        return -conjugate / total - 2.0 * float(np.sum(np.abs(pull) * np.abs(params.coef))), moved
    return -conjugate / total - float(problem.penalty.conjugate(-pull)[0]), moved


def best_intercept(loss: Loss, y: Floats, margins: Floats, weight: Floats) -> float:
    """The constant to add to the margins that minimises the loss: Newton's method inside a bracket."""
    low, high, b = -np.inf, np.inf, 0.0
    for _ in range(60):
        z = margins + b
        slope = float(weight @ loss.slope(y, z)[:, 0])
        curvature = float(weight @ loss.curvature(y, z)[:, 0])
        low, high = (b, high) if slope < 0 else (low, b)
        step = -slope / curvature if curvature > 0 else -np.sign(slope)
        step = float(np.clip(step, -4.0, 4.0))
        new = b + step
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - b) <= 4e-16 * max(1.0, abs(b)) or slope == 0.0:
            return b
        b = new
    return b


def _balanced(loss: Loss, y: Floats, margins: Floats, u: Floats, weight: Floats) -> Floats:
    """Slopes whose weighted sum is zero to the last digit: a first-order move of the intercept, which stays inside the conjugate's domain."""
    curvature = loss.curvature(y, margins)
    for _ in range(2):
        total = float(weight @ curvature[:, 0])
        if total > 0.0:
            u = loss.clip(y, u - curvature * (float(weight @ u[:, 0]) / total))
    return u


def _projected(data: _Data, params: Params, margins: Floats, u: Floats) -> Floats | None:
    """Slopes with X'(weight u) = 0 (and sum zero), by u + curvature (X d + e) with the Newton direction (d, e); None if outside the domain."""
    loss = data.problem.loss
    curvature = loss.curvature(data.y, margins)
    for _ in range(2):
        direction = _newton_direction(data, params, u)
        if direction is None:
            return None
        d = Params(direction[None, :-1], direction[-1:] if data.problem.intercept else np.zeros(1))
        u = u + curvature * data.rows.map(predictions(d, data.centre))
    return u if bool(np.all(np.isfinite(loss.conjugate(data.y, u)))) else None


def _newton_direction(data: _Data, params: Params, u: Floats) -> Floats | None:
    """-H^-1 times the weighted sum of slopes u with the rows [x - centre, 1]."""
    weighted = np.ascontiguousarray(data.weight[:, None] * u)
    pull = data.rows.retarget(weighted).fold(lambda block: Total(back_times(block.X, block.y, data.centre))).sum[0]
    hessian = evaluate(data.problem, data.rows, params, 2, data.centre).hessian
    assert hessian is not None
    right = np.append(pull, weighted.sum() if data.problem.intercept else 0.0) / data.weight.sum()
    return _solve(hessian, -right)


def _newton_step(data: _Data, params: Params) -> Params | None:
    """A Newton step of the judge's own from `params`, halved until the objective falls."""
    here = evaluate(data.problem, data.rows, params, 2, data.centre)
    assert here.hessian is not None
    step = _solve(here.hessian, -here.gradient[0])
    if step is None:
        return None
    for halving in range(6):
        s = step * 0.5**halving
        new = Params(params.coef + s[None, :-1], params.intercept + s[-1:])
        if evaluate(data.problem, data.rows, new, 1, data.centre).value[0] <= here.value[0]:
            return new
    return None


def _solve(A: Array, b: Floats) -> Floats | None:
    """Solve a positive definite system after equilibration, or None where it is singular."""
    d = np.sqrt(np.diag(A))
    if not np.all(d > 0):
        return None
    try:
        with one_blas_thread:
            return np.asarray(cho_solve(cho_factor(A / d[:, None] / d), b / d) / d)
    except LinAlgError:
        return None
