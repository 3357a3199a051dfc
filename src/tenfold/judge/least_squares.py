"""Certificates of kind residual: least squares, ridge or nonnegative, by one pass over the rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.objective_points import storage_roundoff
from tenfold.objectives.linear_design import center
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
    eps = float(np.finfo(np.float64).eps)
    weight, mean = columns.weight, columns.mean[: columns.features]
    lengths, targets = columns.lengths(origin=not problem.intercept)
    assert sums.gradient is not None
    if not (np.isfinite(sums.value).all() and np.isfinite(sums.gradient).all()):
        return Verdict(_fail("residual", status), sums.gradient, 2.0 * sums.value)
    # a centred constant column holds only rounding
    gradients = np.where(lengths > 0, sums.gradient, 0.0)
    alpha = weight * np.broadcast_to(np.asarray(problem.penalty.strength, dtype=np.float64), sums.value.shape)
    distance = weight * problem.penalty.subgradient_distance(params.coef, gradients / weight)
    distance = distance if free is None else np.where(free, distance, 0.0)
    if level is not None:
        above = np.abs(gradients) - level[:, None]
        distance = np.where(lengths > 0, np.where(params.coef != 0.0, np.abs(above), np.maximum(above, 0.0)), 0.0)
    ridge, size_of_weights = np.sqrt(alpha), np.abs(params.coef)
    # what reading a sample and adding up its terms can round, offsets included: the intercept takes up the product of
    # means and weights
    raw, raw_target = columns.lengths(origin=True)
    reading = raw_target + size_of_weights @ raw + ridge * np.sum(size_of_weights, axis=1)
    # what weights can move when they are stored in dtype: features about their means, for the intercept can take up the
    # rest
    kept = size_of_weights @ lengths + ridge * np.sum(size_of_weights, axis=1)
    lengths = np.hypot(lengths, ridge[:, None])
    size = np.hypot(np.sqrt(2.0 * sums.value), ridge * _norms(params.coef))
    terms, rounded = 4.0 + np.sqrt(columns.features), unit_roundoff(dtype)
    noise = terms * unit_roundoff(np.float64) * reading + rounded * kept
    noise += storage_roundoff(params.intercept, dtype) * np.abs(params.intercept) * np.sqrt(weight)
    # a residual within that rounding, which is nothing beside the spread of the targets, has no direction: the fit is
    # exact
    nothing = np.maximum(np.sqrt(eps), terms * rounded) * targets
    exact = size <= terms * eps * raw_target + np.minimum(terms * noise, nothing)
    divisor = np.where(exact, 1.0, size)
    cosines = distance / np.where(lengths > 0, lengths, 1.0) / divisor[:, None]
    ones = np.abs(sums.slope) / np.sqrt(weight) / divisor if problem.intercept else np.zeros_like(size)
    parts = np.where(exact, 0.0, np.maximum(np.max(cosines, axis=1, initial=0.0), ones))
    rounding = np.where(exact, max(eps, rounded), noise / divisor)
    if lost is not None:
        blurred = np.max(np.where(lengths > 0, lost, 0.0) / np.where(lengths > 0, lengths, 1.0), axis=1, initial=0.0)
        rounding = np.maximum(rounding, np.where(exact, 0.0, blurred / divisor))
    cosine = _largest(np.maximum(parts, rounding))
    orthogonal = _largest(parts) <= max(RULES["residual"].tol, _largest(rounding))
    if not alpha.any() and free is None and level is None and samples <= columns.features + problem.intercept:
        # samples that can be interpolated: weights with residual r are exact for the targets y - r
        # a residual within rounding is rounding, and reported as that
        left = np.where(size <= noise, noise, size + noise)
        change = np.where(targets > 0.0, left / np.where(targets > 0.0, targets, 1.0), np.inf)
        smaller = change < np.maximum(parts, rounding)
        parts = np.where(smaller, change, parts)
        rounding = np.where(smaller, noise / np.where(targets > 0.0, targets, 1.0), rounding)
    gradient = gradients + alpha[:, None] * params.coef
    radius, drift = None, 0.0
    if np.all(alpha > 0):
        # the gradient has the rounding of its sums
        known = _norms(gradient) + terms * eps * reading * _norms(lengths)
        radius = float(np.max(known / alpha, initial=0.0))
        # about the means the best intercept is the mean of the targets, whatever the weights
        drift = float(np.max(np.abs(sums.slope) / weight, initial=0.0)) if problem.intercept else 0.0
    certificate = Certificate(
        kind="residual",
        value=_largest(np.maximum(parts, rounding)),
        scale=1.0,
        tol=RULES["residual"].tol,
        floor=_largest(rounding),
        objective=float(np.sum(size**2) / (2.0 * weight)),
        radius=radius,
        condition=condition,
        status=status,
        parts=tuple(float(v) for v in np.maximum(parts, rounding)),
        _coef=np.asarray(params.coef, dtype=np.float64),
        _intercept=np.asarray(params.intercept, dtype=np.float64),
        _centre=mean if problem.intercept else np.zeros_like(mean),
        _drift=drift,
    )
    return Verdict(certificate, gradient, 2.0 * sums.value, cosine, orthogonal)


def _fail(kind: str, status: str) -> Certificate:
    """The certificate of parameters that are not finite, or that overflow."""
    return Certificate(
        kind, np.inf, 1.0, RULES[kind].tol, 0.0, np.inf, status=status, note="The weights are not finite."
    )


def _norms(rows: Floats) -> Floats:
    """Euclidean norms of rows, without overflow."""
    with np.errstate(over="ignore"):
        plain = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if np.all((plain > 1e-150) & (plain < np.inf)):
        return plain
    unit = np.max(np.abs(rows), axis=1, initial=0.0)
    unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)
    return unit * np.linalg.norm(rows / unit[:, None], axis=1)


def _largest(values: Floats) -> float:
    """The maximum, with NaN as infinity."""
    return float(np.max(np.where(np.isnan(values), np.inf, values), initial=0.0))
