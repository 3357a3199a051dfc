"""Kind residual: least squares, with a ridge or with signs, by one pass over the rows."""

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
    """A certificate, and what was read from the rows on the way: the gradient (t, p) of half the penalised sum of
    squares, and the
    sums of squared residuals (t,)."""

    certificate: Certificate
    gradient: Floats
    residual_squares: Floats


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
    from zero, all of them where it is not given: only their columns count. `level` (t,) is asked for by least angles:
    the size of the products of the residual with columns of weights that are not zero, no others being larger.
    """
    mean = columns.mean[: columns.features]
    centre = mean if problem.intercept else None
    local = center(params, mean) if problem.intercept else params
    sums = rows.fold(derivatives(problem.loss, local, 1, centre))
    return _verdict(problem, params, columns, sums, None, condition, status, dtype, free, level)


FROM_MOMENTS = "Judged from merged moments, not from the rows, which are gone."


def residual_from_moments(
    problem: Glm, moments: Moments, params: Params, *, condition: float | None = None, dtype: Any = np.float64
) -> Verdict:
    """The same from the moments of the rows, where these are gone: digits that the moments have lost stay lost.

    With W the weights in the units of the moments, the sums of squares are yy - 2 C'W + W'SW, and their gradient is
    SW - C.
    """
    p, e = moments.features, moments.exponent.astype(np.int64)
    S, C, yy = moments.about(origin=not problem.intercept)
    W = np.ldexp(params.coef, e[:p] - e[p:, None])
    pull = W @ S - C.T
    squares = yy + np.einsum("tp,tp->t", W, pull - C.T)
    # what the sums can have rounded
    noise = float(np.finfo(np.float64).eps) * (4.0 + np.sqrt(p))
    most = yy + np.einsum("tp,tp->t", np.abs(W), np.abs(W) @ np.abs(S) + 2.0 * np.abs(C.T))
    away = np.zeros(len(yy))
    if problem.intercept:
        away = params.intercept + params.coef @ moments.mean - moments.target_mean
    slope = moments.weight * away
    value = 0.5 * (np.ldexp(np.maximum(squares, noise * most), 2 * e[p:]) + slope * away)
    gradient = np.ldexp(pull, e[:p] + e[p:, None])
    sums = Derivatives(moments.weight, value, slope, gradient)
    rounding = noise * np.ldexp(np.abs(W) @ np.abs(S) + np.abs(C.T), e[:p] + e[p:, None])
    found = _verdict(problem, params, Columns.of(moments), sums, rounding, condition, "solved", dtype)
    return replace(found, certificate=replace(found.certificate, note=FROM_MOMENTS))


def _verdict(
    problem: Glm,
    params: Params,
    columns: Columns,
    sums: Derivatives,
    lost: Floats | None,
    condition: float | None,
    status: str,
    dtype: Any,
    free: NDArray[np.bool_] | None = None,
    level: Floats | None = None,
) -> Verdict:
    """From the sums over the rows about their centre; `lost` is what the gradient in them may have rounded already."""
    eps = float(np.finfo(np.float64).eps)
    weight, mean = columns.weight, columns.mean[: columns.features]
    lengths, targets = columns.lengths(origin=not problem.intercept)
    assert sums.gradient is not None
    if not (np.isfinite(sums.value).all() and np.isfinite(sums.gradient).all()):
        return Verdict(_refused("residual", status), sums.gradient, 2.0 * sums.value)
    # about its mean a constant column is nothing: what is read there is rounding
    pulls = np.where(lengths > 0, sums.gradient, 0.0)
    alpha = weight * np.broadcast_to(np.asarray(problem.penalty.strength, dtype=np.float64), sums.value.shape)
    distance = weight * problem.penalty.subgradient_distance(params.coef, pulls / weight)
    distance = distance if free is None else np.where(free, distance, 0.0)
    if level is not None:
        above = np.abs(pulls) - level[:, None]
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
    gradient = pulls + alpha[:, None] * params.coef
    radius, drift = None, 0.0
    if np.all(alpha > 0):
        # the gradient is itself known up to the rounding of its sums
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
    return Verdict(certificate, gradient, 2.0 * sums.value)


def _refused(kind: str, status: str) -> Certificate:
    """The certificate of parameters that are not finite, or with which no sum is."""
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
    """The maximum, in which a not-a-number counts as infinite: it must never pass for small."""
    return float(np.max(np.where(np.isnan(values), np.inf, values), initial=0.0))
