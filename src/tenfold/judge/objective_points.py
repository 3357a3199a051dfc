"""Points of a convex problem of one target as the judge reads them: objective, gradient and Hessian, about a centre."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, namespace, on_host, unit_roundoff
from tenfold.data import Block, MaybeDeferred, MemoryRows, Rows, sampling_step, targets_of, weights_of
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.losses.loss import Loss
from tenfold.problems import Glm
from tenfold.stats.column_moments import Columns, column_squares
from tenfold.stats.combined import combine
from tenfold.stats.derivatives import Derivatives, Params, derivatives
from tenfold.stats.intercept_only import best_constant, mean_loss
from tenfold.stats.min_max import of_columns

SAMPLE_ROWS, SAMPLE_ENTRIES = 1024, 1 << 20
"""How many rows the judge reads first, to place the centre and to balance slopes; and at most so many numbers."""


EPS = float(np.finfo(np.float64).eps)


def sum_rounding(n: int) -> float:
    """The relative rounding of a mean of n numbers: that of the numbers, and of sums one after the other."""
    return EPS * (8.0 + float(np.sqrt(n)))


NOT_FINITE = "The weights are not finite."


def require_finite(kind: str, params: Params, tol: float | None = None) -> Certificate | None:
    """A certificate that is not ok, for parameters that are not numbers or infinite; None for others."""
    if all(np.isfinite(part).all() for part in params):
        return None
    tol = RULES[kind].tol if tol is None else tol
    return Certificate(kind, np.inf, 1.0, tol, 0.0, np.inf, status=NOT_JUDGED, parts=(np.inf,), note=NOT_FINITE)


def stored_roundoff(intercept: Floats, dtype: Any) -> float:
    """The unit roundoff of an intercept as it is stored: that of `dtype` where it is a number of it, else float64's."""
    with np.errstate(over="ignore"):
        rounded = np.asarray(intercept).astype(dtype).astype(np.float64)
    return unit_roundoff(dtype if np.array_equal(rounded, intercept) else np.float64)


def lower_bound(value: float, bound: float) -> float:
    """What no objective is below, by a point of objective `value` that can fall by `bound` at most: less the rounding
    of both, which is large where the point is far off. Losses and penalties are not negative.
    """
    found = value - bound - 16.0 * EPS * (abs(value) + abs(bound))
    return max(0.0, found) if np.isfinite(found) else 0.0


class Data(NamedTuple):
    """What is judged: rows measured from `centre`; a sample of them, and whether it is the `whole`, at hand; the mean
    squares (p,) of its columns about the centre, and the mean loss without weights.
    """

    problem: Glm
    strength: float
    rows: Rows
    centre: Floats
    sample: Rows
    whole: bool
    squares: Floats
    scale: float
    slope: float = 1.0
    """About how large the slopes are."""


class Point(NamedTuple):
    """The objective at parameters; its gradient (k,) and Hessian (k, k), k = p, or p + 1 with the intercept last.

    With an intercept the parameters are those for rows measured from the centre, else for the rows as they are.
    """

    params: Params
    weight: float
    value: float
    gradient: Floats
    hessian: Floats | None


def sampled(rows: Rows) -> tuple[Floats, Rows, Floats]:
    """A centre, a sample of the rows, and the mean squares of its columns about the centre."""
    n, p = rows.shape
    wanted = 8 * SAMPLE_ROWS if rows.sparse else min(max(SAMPLE_ENTRIES // p, 64), SAMPLE_ROWS)
    sample = rows.subsample(sampling_step(n, wanted))
    if isinstance(rows, MemoryRows) and (place := rows.place()) is not None:
        return place[0], sample, place[1]
    # any centre is right; one amid the rows keeps digits, but not those of sparse rows, which are never centred
    if rows.sparse:
        sums = sample.fold(column_squares).sum
        return np.zeros(p), sample, sums[:-1] / (sums[-1] or 1.0)
    columns, extremes = sample.fold(combine([Columns.lift, of_columns])).parts
    centre = columns.middle(extremes)
    with np.errstate(over="ignore", invalid="ignore"):  # rows that are not finite are found when all are read
        return centre, sample, columns.squares_about(centre)


def prepare(problem: Glm, rows: Rows) -> Data:
    """Read a sample."""
    centre, sample, squares = sampled(rows)
    scale = _without_weights(problem, rows, sample)
    whole = sample.shape[0] == rows.shape[0] and not sample.on_device
    return Data(problem, float(np.max(problem.penalty.strength)), rows, centre, sample, whole, squares, scale)


def _without_weights(problem: Glm, rows: Rows, sample: Rows) -> float:
    """The mean loss at zero weights, of a sample where it must be searched for; that of numbers, which may have any
    offset, at the best intercept. Targets that are all equal leave nothing to explain: then at no intercept.
    """
    loss = problem.loss
    if loss.signs:
        return float(loss.value(np.ones(1), np.zeros(1))[0]) or 1.0  # of every row
    if loss.link is not None:
        zero = mean_loss(loss, rows, 0.0)
        best = best_constant(loss, rows).value if problem.intercept else zero
    else:
        zero, best = _at_best(loss, sample, problem.intercept and loss.convex)
    noise = _noise(loss)
    if best > max(1e-9 * zero, noise) or not np.isfinite(zero):
        return best
    return zero if zero > noise else 1.0


def _noise(loss: Loss) -> float:
    """What rounding leaves of a loss that is zero: the terms of a deviance cancel, and are large for some powers."""
    if loss.link != "log":
        return 0.0
    product = abs((1.0 - loss.parameter) * (2.0 - loss.parameter)) if hasattr(loss, "power") else 1.0
    return 64.0 * EPS * (1.0 + 1.0 / product)


def _at_best(loss: Loss, sample: Rows, searched: bool) -> tuple[float, float]:
    """The mean loss of a sample at zero, and at the best constant where that is searched for."""
    y, weight = (
        part if sample.on_device else on_host(part) for part in (sample.map(targets_of), sample.map(weights_of))
    )
    y, xp = y[:, 0], namespace(y)
    total = float(xp.sum(weight))
    if total == 0.0:
        return 0.0, 0.0

    def at(b: float) -> tuple[float, float]:
        z = xp.full_like(y, b)
        with np.errstate(over="ignore"):
            value, slope = loss.value(y, z), loss.slope(y, z)
        return float(xp.sum(weight * value)) / total, float(xp.sum(weight * slope))

    zero, slope = at(0.0)
    if not searched or slope == 0.0:
        return zero, zero
    value, step, side = zero, 1.0, -float(np.sign(slope))
    while step < 1e300 and at(side * step)[1] * slope > 0.0:
        step *= 4.0
    low, high = sorted((0.0, side * step))
    for _ in range(60):
        middle = 0.5 * (low + high)
        found, slope = at(middle)
        value = min(value, found)
        low, high = (middle, high) if slope < 0.0 else (low, middle)
    return zero, value


def centred(params: Params, centre: Floats) -> Params:
    """The same model for rows measured from `centre`; in extended precision, for an offset must not cost digits."""
    if not centre.any():
        return params
    used = np.flatnonzero(params.coef.any(axis=0))
    moved = params.coef[:, used].astype(np.longdouble) @ centre[used].astype(np.longdouble)
    return Params(params.coef, np.asarray(params.intercept + moved, dtype=np.float64))


def local(data: Data, params: Params) -> Params:
    """Parameters of a point for rows measured from the centre."""
    return params if data.problem.intercept else centred(Params(params.coef, np.zeros(1)), data.centre)


def outer_intercept(data: Data, params: Params) -> float:
    """The intercept of a point for the rows as they are."""
    return float(centred(params, -data.centre).intercept[0])


def intercept_of(data: Data, params: Params) -> float:
    """The intercept that a dual point pulls at: of rows measured from the centre where it is free, else as they are."""
    if not data.problem.intercept:
        return 0.0
    return float(params.intercept[0]) if data.problem.balances else outer_intercept(data, params)


def read(data: Data, params: Params, order: int) -> Point:
    """The point at `params`, with its Hessian at order 2: one pass over the rows."""
    return point_of(data, params, data.rows.fold(reading(data, params, order)))


def valued(data: Data, params: Params) -> Point:
    """The point at `params` with its objective alone: half of a pass over sparse rows of many columns."""
    return point_alone(data, params, data.rows.fold(reading(data, params, 0)))


def point_alone(data: Data, params: Params, sums: Derivatives) -> Point:
    """The point at `params` without its gradient, from sums over the rows."""
    return Point(params, sums.weight, _value(data, params, sums), np.empty(0), None)


def reading(data: Data, params: Params, order: int) -> Callable[[Block], MaybeDeferred[Derivatives]]:
    """The lift of what makes a point."""
    return derivatives(data.problem.loss, local(data, params), order, data.centre)


def point_of(data: Data, params: Params, sums: Derivatives) -> Point:
    """The point at `params`, from sums over the rows."""
    problem, c = data.problem, data.centre
    assert sums.gradient is not None
    g, slope = sums.gradient[0] / sums.weight, sums.slope / sums.weight
    hessian = None if sums.hessian is None else sums.hessian / sums.weight
    if problem.intercept:
        g = np.concatenate([g, slope])
    else:
        # the derivatives for the rows as they are
        g = g + slope * c
        if hessian is not None:
            q, h = hessian[:-1, -1], hessian[-1, -1]
            hessian = hessian[:-1, :-1] + np.outer(c, q) + np.outer(q + h * c, c)
    p = len(c)
    g[:p] += data.strength * params.coef[0]
    if hessian is not None:
        hessian[np.arange(p), np.arange(p)] += data.strength
    if problem.intercept_penalty > 0.0:
        b, ends = outer_intercept(data, params), np.append(-c, 1.0)
        g += problem.intercept_penalty * b * ends
        hessian = None if hessian is None else hessian + problem.intercept_penalty * np.outer(ends, ends)
    return Point(params, sums.weight, _value(data, params, sums), g, hessian)


def _value(data: Data, params: Params, sums: Derivatives) -> float:
    """The objective, from sums over the rows."""
    problem = data.problem
    value = float(sums.value[0]) / sums.weight + float(problem.penalty.value(params.coef)[0])
    return value + (
        0.5 * problem.intercept_penalty * outer_intercept(data, params) ** 2 if problem.intercept_penalty > 0.0 else 0.0
    )


def length(x: Floats) -> float:
    """The Euclidean length; not by NumPy's BLAS, which has threads of its own."""
    return float(np.sqrt(np.sum(np.square(x))))
