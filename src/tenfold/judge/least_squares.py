"""Certificates of kind residual: least squares, ridge or nonnegative, by one pass over the rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tenfold import _core
from tenfold.arrays import Floats, contiguous, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.objective_points import storage_roundoff
from tenfold.objectives.linear_design import center
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Derivatives, Params, derivatives
from tenfold.stats.moments import Moments


@dataclass(frozen=True)
class Verdict:
    """A certificate, and what was read from the samples on the way: the gradient (t, p) of half the penalised sum of
    squares, the sums of squared residuals (t,), the largest cosine of a residual with a column, and whether all are as
    small as is allowed: a direct solve is repaired until they are, interpolation or not.
    """

    certificate: Certificate
    gradient: Floats
    residual_squares: Floats
    cosine: float = np.inf
    orthogonal: bool = False


def residual(
    problem: Glm,
    rows: Rows,
    params: Params,
    columns: Columns,
    *,
    condition: float | None = None,
    status: str = "solved",
    dtype: Any = np.float64,
    free: NDArray[np.bool_] | None = None,
    level: Floats | None = None,
) -> Verdict:
    """Judge least squares with a ridge penalty (alpha = strength times the weight) by one pass over the rows.

    With sqrt(alpha) I below X and 0 below y, the gradient of half the sum of squares is -A'r, and |A_j'r| / (|A_j|
    |r|) are cosines. `dtype` is that in which the weights are kept. `free` (t, p) are the weights that may differ
    from zero, by default all: only their columns count. `level` (t,) is for least angles: the absolute correlation of
    the residual with active columns, which no other exceeds.
    """
    mean = columns.mean[: columns.features]
    centre = mean if problem.intercept else None
    local = center(params, mean) if problem.intercept else params
    sums = rows.fold(derivatives(problem.loss, local, 1, centre))
    return _verdict(problem, params, columns, rows.shape[0], sums, None, condition, status, dtype, free, level)


FROM_MOMENTS = "Judged from merged moments, not from the rows, which are gone."


def residual_from_moments(
    problem: Glm, moments: Moments, params: Params, *, condition: float | None = None, dtype: Any = np.float64
) -> Verdict:
    """As `residual`, from the moments of the rows alone, with their rounding.

    With W the weights in the units of the moments, the sums of squares are yy - 2 C'W + W'SW, and their gradient is
    SW - C.
    """
    p, e = moments.features, moments.exponent.astype(np.int64)
    S, C, yy = moments.about(origin=not problem.intercept)
    W = np.ldexp(params.coef, e[:p] - e[p:, None])
    gradient = W @ S - C.T
    squares = yy + np.einsum("tp,tp->t", W, gradient - C.T)
    # rounding of the sums
    noise = float(np.finfo(np.float64).eps) * (4.0 + np.sqrt(p))
    most = yy + np.einsum("tp,tp->t", np.abs(W), np.abs(W) @ np.abs(S) + 2.0 * np.abs(C.T))
    away = np.zeros(len(yy))
    if problem.intercept:
        away = params.intercept + params.coef @ moments.mean - moments.target_mean
    slope = moments.weight * away
    value = 0.5 * (np.ldexp(np.maximum(squares, noise * most), 2 * e[p:]) + slope * away)
    gradient = np.ldexp(gradient, e[:p] + e[p:, None])
    sums = Derivatives(moments.weight, value, slope, gradient)
    rounding = noise * np.ldexp(np.abs(W) @ np.abs(S) + np.abs(C.T), e[:p] + e[p:, None])
    columns = Columns.of(moments)
    verdict = _verdict(problem, params, columns, moments.count, sums, rounding, condition, "solved", dtype)
    return replace(verdict, certificate=replace(verdict.certificate, note=FROM_MOMENTS))


def _verdict(
    problem: Glm,
    params: Params,
    columns: Columns,
    samples: int,
    sums: Derivatives,
    lost: Floats | None,
    condition: float | None,
    status: str,
    dtype: Any,
    free: NDArray[np.bool_] | None = None,
    level: Floats | None = None,
) -> Verdict:
    """The verdict from centred sums; `lost` is the rounding of their gradient."""
    assert sums.gradient is not None
    penalty, weight, p = problem.penalty, columns.weight, columns.features
    coef, intercept = (contiguous(np.asarray(part, dtype=np.float64)) for part in params)
    alpha = weight * (penalty.strength + np.zeros(len(sums.value)))
    unpenalised = not alpha.any()
    distance = None
    if free is not None or level is not None or not isinstance(penalty, L2):
        distance = _distance(problem, params, columns, sums.gradient, free, level)
    # samples that can be interpolated: weights with residual r are exact for the targets y - r
    interpolated = unpenalised and free is None and level is None and samples <= p + problem.intercept
    finite, gradient, parts, value, floor, largest_part, largest_rounding, objective, radius, drift = (
        _core.residual_cosines(
            sums.value,
            sums.slope,
            contiguous(sums.gradient),
            coef,
            intercept,
            columns.mean,
            columns.spread,
            alpha,
            None if distance is None else contiguous(distance),
            None if lost is None else contiguous(lost),
            weight,
            bool(problem.intercept),
            isinstance(penalty, L2) and penalty.positive,
            bool(interpolated),
            unit_roundoff(dtype),
            storage_roundoff(intercept, dtype),
        )
    )
    if not finite:
        return Verdict(_fail("residual", status), gradient, 2.0 * sums.value)
    floor = _number(floor)
    certificate = Certificate(
        kind="residual",
        value=max(_number(value), floor),
        scale=1.0,
        tol=RULES["residual"].tol,
        floor=floor,
        objective=objective,
        radius=radius if (alpha > 0.0).all() else None,
        condition=condition,
        status=status,
        parts=tuple(parts),
        _coef=coef,
        _intercept=intercept,
        _centre=columns.centre(problem.intercept),
        _drift=drift,
    )
    cosine = max(_number(largest_part), _number(largest_rounding))
    orthogonal = _number(largest_part) <= max(RULES["residual"].tol, _number(largest_rounding))
    return Verdict(certificate, gradient, 2.0 * sums.value, cosine, orthogonal)


def _distance(
    problem: Glm,
    params: Params,
    columns: Columns,
    gradient: Floats,
    free: NDArray[np.bool_] | None,
    level: Floats | None,
) -> Floats:
    """How far the gradient (t, p) is from what is allowed, by entry: the penalty's subdifferential for all weights or
    for `free` ones, or a `level`.
    """
    # a centred constant column holds only rounding
    varies = columns.lengths(origin=not problem.intercept)[0] > 0
    gradient = np.where(varies, gradient, 0.0)
    if level is not None:
        above = np.abs(gradient) - level[:, None]
        return np.where(varies, np.where(params.coef != 0.0, np.abs(above), np.maximum(above, 0.0)), 0.0)
    distance = columns.weight * problem.penalty.subgradient_distance(params.coef, gradient / columns.weight)
    return distance if free is None else np.where(free, distance, 0.0)


def _fail(kind: str, status: str) -> Certificate:
    """The certificate of parameters that are not finite, or that overflow."""
    return Certificate(
        kind, np.inf, 1.0, RULES[kind].tol, 0.0, np.inf, status=status, note="The weights are not finite."
    )


def _number(value: float) -> float:
    """The value, with NaN as infinity."""
    return value if value == value else np.inf
