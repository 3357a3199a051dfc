"""Kind gap: the Lasso, the elastic net and their multi-task forms, by one pass over the samples or from their moments.

The objective is compared with the best of three lower bounds (lasso_dual_points.py). A dual value bounds every
objective, whichever weights its residuals come from. Where the stored weights have rounded digits of the residuals away
- in float32, without an intercept, features far from zero cancel - bounds are also taken at corrected weights: those at
which the correlations of the active features satisfy the optimality condition for the signs of the stored weights.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import EPS, Floats, Integers, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.lasso_dual_points import (
    EIGENVALUE_FEATURES,
    Bound,
    Part,
    bound_by_curvature,
    bound_scaled,
    bound_unscaled,
    strongest,
)
from tenfold.judge.newton_decrement_bound import factor_matrix
from tenfold.judge.objective_points import storage_roundoff
from tenfold.lasso_dual import duality_gap, feature_norms
from tenfold.losses.regression import Square
from tenfold.machine import one_blas_thread
from tenfold.objectives.linear_design import center
from tenfold.penalties import SparsePenalty
from tenfold.problems import Glm, sparse_penalty
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, derivatives, inner_products
from tenfold.stats.gram import moments_of
from tenfold.stats.moments import Moments, products_with

CORRECTION_FEATURES = 4096  # up to so many active features corrected weights are computed
CORRECTION_STEPS = 2  # the second step is an iterative refinement

ALL_ZERO = "All weights are zero: no column is worth its penalty. A smaller alpha would use some."


class _Read(NamedTuple):
    """Means over the samples for each target: the loss (t,), the squares (t,) of the centred residuals, their
    correlations X'r (t, p), and bounds of the rounding errors of both.
    """

    loss: Floats
    squares: Floats
    correlation: Floats
    squares_error: Floats
    correlation_error: Floats


class _Point(NamedTuple):
    """Parameters, and the means there."""

    params: Params
    read: _Read


class Gaps(NamedTuple):
    """A certificate; the gap of each problem (one a target, or one for all) without its floor; and X'r (t, p) and |r|^2
    (t,), of which these are computed.
    """

    certificate: Certificate
    gaps: Floats
    correlation: Floats
    squares: Floats


def lasso_gap(
    problem: Glm,
    rows: Rows,
    params: Params,
    columns: Columns,
    *,
    tol: float,
    moments: Moments | None = None,
    thorough: bool = True,
    status: str = "converged",
    dtype: Any = np.float64,
) -> Gaps:
    """Judge by one pass over the samples; the gap allowed is `tol` times the mean square of the centred targets.

    Where the bounds at these weights do not suffice and the judge is to be `thorough`, bounds at corrected weights read
    the samples again; `moments` serve them where they are known. Within a fit the judge need not be.
    """
    here = _Point(params, _read_rows(problem, rows, params, columns))

    def certify(corrected: Sequence[_Point] | None, moments: Moments | None) -> Gaps:
        return _certify(problem, here, corrected, columns, tol, moments, status, dtype)

    result = certify([], None)
    if not (thorough and _is_loose(result)):
        return result
    products = _Products(problem, moments, lambda used: rows.fold(moments_of(used)))
    corrected: list[_Point] = []
    for point in _correct(problem, here, columns, products, lambda params: _read_rows(problem, rows, params, columns)):
        corrected.append(point)
        result = certify(corrected, None)
        if not _is_loose(result):
            return result
    n, p = rows.shape
    if moments is None and p <= min(EIGENVALUE_FEATURES, n):
        moments = rows.fold(Moments.lift)
    by_curvature = certify(corrected or None, moments)
    return by_curvature if by_curvature.certificate.value < result.certificate.value or not corrected else result


def _is_loose(result: Gaps) -> bool:
    """Whether the gap exceeds the tolerance, if only by rounding."""
    certificate = result.certificate
    return np.isfinite(certificate.objective) and certificate.value > certificate.tol * certificate.scale


def _read_rows(problem: Glm, rows: Rows, params: Params, columns: Columns) -> _Read:
    mean = columns.mean[: columns.features]
    local, centre = params, None
    if problem.intercept:
        local = Params(params.coef, _local_intercept(params, mean))
        centre = mean
    sums = rows.fold(derivatives(Square(), local, 1, centre))
    assert sums.gradient is not None
    weight = columns.weight
    lengths = _mean_lengths(columns, origin=not problem.intercept)[0]
    with np.errstate(invalid="ignore", over="ignore"):
        loss = sums.value / weight
        mean_residual = sums.slope / weight if problem.intercept else np.zeros_like(sums.slope)
        correlation = np.where(lengths > 0, -sums.gradient / weight, 0.0)
        squares = np.maximum(2.0 * loss - mean_residual**2, 0.0)
    # the rounding of a residual: targets, the intercept and sparse features are read uncentred
    raw_lengths, raw_targets = _mean_lengths(columns, origin=True)
    read_lengths = raw_lengths if rows.sparse else lengths
    residual_error = EPS * (inner_products(np.abs(params.coef), read_lengths) + raw_targets + np.abs(local.intercept))
    with np.errstate(invalid="ignore", over="ignore"):  # residuals round before their mean is taken from them
        squares_error = (2.0 * np.sqrt(2.0 * loss) + residual_error) * residual_error
    return _Read(loss, squares, correlation, squares_error, np.outer(residual_error, read_lengths))


def lasso_gap_from_moments(
    problem: Glm,
    moments: Moments,
    params: Params,
    *,
    tol: float,
    status: str = "converged",
    dtype: Any = np.float64,
) -> Gaps:
    """The same from the moments alone: digits that they have lost stay lost, and count in the floor.

    With V the weights in the units of the moments, the squares are yy - 2 C'V + V'SV and the correlations C - SV.
    """
    columns, targets = Columns.of(moments), np.arange(len(params.coef))

    def read(params: Params) -> _Read:
        return _read_moments(problem.intercept, moments, params, targets)

    here = _Point(params, read(params))
    result = _certify(problem, here, [], columns, tol, None, status, dtype)
    if not _is_loose(result):
        return result
    corrected = list(_correct(problem, here, columns, _Products(problem, moments), read))
    return _certify(problem, here, corrected or None, columns, tol, moments, status, dtype)


def path_gaps(problem: Glm, moments: Moments, params: Params, penalties: Sequence[SparsePenalty]) -> Floats:
    """Gaps of many fits, one for each penalty: parameters of all targets of the first fit, then of the second, ... The
    gaps are (A,) where the penalty couples the targets, else (A, t).
    """
    t, couples_targets = moments.yy.size, sparse_penalty(problem).couples_targets
    targets = np.arange(len(params.coef)) % t
    read = _read_moments(problem.intercept, moments, params, targets, rounding=False)
    gaps = np.empty((len(penalties), 1 if couples_targets else t))
    for a, penalty in enumerate(penalties):
        for k in range(gaps.shape[1]):
            part = slice(a * t, (a + 1) * t) if couples_targets else slice(a * t + k, a * t + k + 1)
            squares, loss = float(read.squares[part].sum()), float(read.loss[part].sum())
            gap = duality_gap(penalty, params.coef[part], read.correlation[part], squares)
            gaps[a, k] = gap + loss - 0.5 * squares if penalty.l1 > 0.0 or penalty.l2 > 0.0 else loss
    return np.maximum(gaps[:, 0] if couples_targets else gaps, 0.0)


def _read_moments(
    intercept: bool, moments: Moments, params: Params, target: Integers, *, rounding: bool = True
) -> _Read:
    """The means at parameters of targets, given by their indices, which may repeat; with zero rounding errors unless
    these are needed.
    """
    p, weight = moments.features, moments.weight
    e, y = moments.exponent[:p].astype(np.int64), moments.exponent[p:][target].astype(np.int64)
    S, C, yy = moments.about(origin=not intercept)
    C, yy = C.T[target], yy[target]
    V = np.ldexp(params.coef, e - y[:, None])
    with one_blas_thread:
        correlation = C - products_with(S, V)
    squares = yy - np.einsum("tp,tp->t", V, C + correlation)
    # sums of products round by the lengths of the factors about the centre at which they were accumulated
    lengths, target_lengths = np.zeros(p), np.zeros(len(yy))
    if rounding:
        lengths = np.sqrt(np.diag(S) + weight * moments.offset[:p] ** 2)
        target_lengths = np.sqrt(yy + weight * moments.offset[p:][target] ** 2)
    noise = EPS * (4.0 + np.sqrt(p))
    size = inner_products(np.abs(V), lengths) + target_lengths
    squares_error = noise * size**2
    unit = np.ldexp(1.0, 2 * y) / weight
    squares, squares_error = np.maximum(squares, 0.0) * unit, squares_error * unit
    mean_residual = np.zeros(len(yy))
    if intercept:
        mean_residual = _local_intercept(params, moments.mean) - moments.target_mean[target]
        error = EPS * (inner_products(np.abs(params.coef), np.abs(moments.mean)) + np.abs(moments.target_mean[target]))
        squares_error += (2.0 * np.abs(mean_residual) + error) * error
    correlation = np.ldexp(correlation, e + y[:, None]) / weight
    correlation_error = noise * np.ldexp(np.outer(size, lengths), e + y[:, None]) / weight
    return _Read(0.5 * (squares + mean_residual**2), squares, correlation, squares_error, correlation_error)


def _local_intercept(params: Params, centre: Floats) -> Floats:
    """The intercepts for samples measured from `centre`."""
    return np.asarray(center(params, centre).intercept)


def _mean_lengths(columns: Columns, origin: bool) -> tuple[Floats, Floats]:
    """Lengths of features and targets in mean units."""
    lengths, targets = columns.lengths(origin)
    root = np.sqrt(columns.weight)
    return lengths / root, targets / root


class _Products:
    """Mean products of some features, from known moments or from a pass over the samples."""

    def __init__(
        self, problem: Glm, moments: Moments | None, read: Callable[[Integers], Moments] | None = None
    ) -> None:
        self._origin, self._moments, self._read = not problem.intercept, moments, read

    def __call__(self, used: Integers) -> Floats:
        moments, picked = self._moments, used
        if moments is None:
            assert self._read is not None
            moments, picked = self._read(used), np.arange(len(used))
        e = moments.exponent[picked].astype(np.int64)
        with np.errstate(over="ignore"):
            return np.ldexp(moments.about(self._origin)[0][np.ix_(picked, picked)], e[:, None] + e) / moments.weight


def _correct(
    problem: Glm, here: _Point, columns: Columns, products: _Products, read: Callable[[Params], _Read]
) -> Generator[_Point]:
    """Corrected weights near the stored ones, at which the correlations of the active features are l1 u + l2 w, u the
    directions of the stored weights: w + d with (H + l2 I) d the violation, H the products of these features. None
    where the features are too many, or H is not positive definite.
    """
    coef, penalty = here.params.coef, sparse_penalty(problem)
    active = np.flatnonzero(coef.any(axis=0))
    if not 0 < active.size <= CORRECTION_FEATURES or not (penalty.l1 > 0.0 or penalty.l2 > 0.0):
        return
    norms = feature_norms(coef[:, active]) if penalty.couples_targets else np.abs(coef[:, active])
    subgradient = penalty.l1 * coef[:, active] / np.where(norms > 0.0, norms, 1.0)
    H = products(active) + penalty.l2 * np.eye(active.size)
    if penalty.couples_targets:
        groups = [(slice(None), np.arange(active.size), factor_matrix(H))]
    else:
        supports = [np.flatnonzero(w) for w in coef[:, active]]
        groups = [(slice(k, k + 1), some, factor_matrix(H[np.ix_(some, some)])) for k, some in enumerate(supports)]
    if any(factor is None for _, _, factor in groups):
        return
    point = here
    for _ in range(CORRECTION_STEPS):
        violation = point.read.correlation[:, active] - penalty.l2 * point.params.coef[:, active] - subgradient
        corrected = point.params.coef.copy()
        for targets, some, factor in groups:
            for k in range(len(coef))[targets]:
                assert factor is not None
                corrected[k, active[some]] += factor.solve(violation[k, some])
        params = Params(corrected, point.params.intercept)
        if problem.intercept:  # the best one for these weights: residuals of mean zero
            centre = columns.mean[: columns.features]
            params = center(Params(corrected, columns.mean[columns.features :]), -centre)
        point = _Point(params, read(params))
        yield point


def _certify(
    problem: Glm,
    here: _Point,
    corrected: Sequence[_Point] | None,
    columns: Columns,
    tol: float,
    moments: Moments | None,
    status: str,
    dtype: Any,
) -> Gaps:
    """The certificate of the worst of the independent problems."""
    params, read = here
    penalty = sparse_penalty(problem)
    parts = [slice(None)] if penalty.couples_targets else [slice(k, k + 1) for k in range(len(read.loss))]
    lengths, targets = _mean_lengths(columns, origin=not problem.intercept)
    data = _Data(columns, lengths, targets, moments)
    with np.errstate(over="ignore", invalid="ignore"):  # a bound that is not a number proves nothing
        gaps = [_bound_gap(problem, here, corrected, data, part, tol, dtype) for part in parts]
    value, floor = np.array([gap.value for gap in gaps]), np.array([gap.floor for gap in gaps])
    scale = np.array([gap.scale for gap in gaps])
    reported = np.where(np.isnan(value), np.inf, np.maximum(value, floor))
    worst = int(np.argmax(reported / np.maximum(2.0 * tol * scale, floor)))
    objective = float(sum(gap.objective for gap in gaps))
    radius, drift = None, 0.0
    if penalty.l2 > 0.0:
        radius = float(np.sqrt(2.0 * np.max(reported + floor) / penalty.l2))
        mean_residual = np.sqrt(np.maximum(2.0 * read.loss - read.squares, 0.0))
        drift = float(np.max(mean_residual + EPS * np.sqrt(read.squares)))
    mean = columns.mean[: columns.features]
    certificate = Certificate(
        kind="gap",
        value=float(reported[worst]),
        scale=float(scale[worst]),
        # as in scikit-learn the gap is compared with the mean square of the centred targets, twice this scale
        tol=2.0 * tol,
        floor=float(floor[worst]),
        objective=objective,
        lower_bound=float(sum(gap.objective - gap.value for gap in gaps)),
        radius=radius,
        status=status,
        parts=tuple(float(v) for v in reported),
        note="" if params.coef.any() else ALL_ZERO,
        _coef=np.asarray(params.coef, dtype=np.float64),
        _intercept=np.asarray(params.intercept, dtype=np.float64),
        _centre=mean if problem.intercept else np.zeros_like(mean),
        _drift=drift,
    )
    if not np.isfinite(objective):
        certificate = replace(certificate, value=np.inf, note="The weights are not finite.")
    return Gaps(certificate, value, read.correlation, read.squares)


class _Data(NamedTuple):
    """What is known of the samples: their columns; the lengths of features and targets in mean units, about the means
    or, without an intercept, about the origin; and their moments, or None.
    """

    columns: Columns
    lengths: Floats
    targets: Floats
    moments: Moments | None


class _Gap(NamedTuple):
    """The gap of one problem, its floor, the objective at zero weights and here."""

    value: float
    floor: float
    scale: float
    objective: float


def _bound_gap(
    problem: Glm,
    point: _Point,
    corrected: Sequence[_Point] | None,
    data: _Data,
    part: slice,
    tol: float,
    dtype: Any,
) -> _Gap:
    """The gap of one problem by the bound that proves most; `corrected` is None where no weights could be corrected."""
    params, read = point
    w, penalty = params.coef[part], sparse_penalty(problem)
    columns, lengths, moments = data.columns, data.lengths, data.moments
    scale = _scale(data, part, problem.intercept)
    if penalty.positive and np.any(w < 0):
        return _Gap(np.inf, 8.0 * EPS * scale, scale, np.inf)
    mean = np.abs(columns.mean[: columns.features]) if problem.intercept else np.zeros(columns.features)
    size, roundoff = inner_products(np.abs(w), lengths), unit_roundoff(dtype)
    # a weight that is off in its last digit changes the objective in second order, but the correlations in first order
    q_error = read.correlation_error[part] + (np.outer(roundoff * size, lengths) if corrected is None else 0.0)
    b = np.asarray(params.intercept[part])
    stored_error = roundoff * size + storage_roundoff(b, dtype) * np.abs(b)
    stored_error += unit_roundoff(np.float64) * inner_products(np.abs(w), mean)
    objective, here = _objective_and_part(penalty, point, part, q_error)
    floor = 8.0 * EPS * max(objective, scale) + 0.5 * float(np.sum(read.squares_error[part]) + np.sum(stored_error**2))
    bounds = [Bound(objective, floor), bound_scaled(penalty, here), bound_unscaled(penalty, here)]
    best = strongest(bounds, objective - here.objective, floor)
    for other in corrected or []:
        error = other.read.squares_error[part]
        _, there = _objective_and_part(penalty, other, part, other.read.correlation_error[part])
        rounding = floor + 8.0 * EPS * there.objective + 0.5 * float(np.sum(error))
        bounds = [best, bound_scaled(penalty, there), bound_unscaled(penalty, there)]
        best = strongest(bounds, objective - there.objective, rounding)
    if moments is not None and not best.proved <= max(2.0 * tol * scale, floor):
        bounds = [best, bound_by_curvature(penalty, moments, problem.intercept, here)]
        best = strongest(bounds, objective - here.objective, floor)
    return _Gap(best.value, best.floor, scale, objective)


def _objective_and_part(penalty: SparsePenalty, point: _Point, part: slice, q_error: Floats) -> tuple[float, Part]:
    """The objective of one problem, and what its bounds are computed from."""
    params, read = point
    w, q, squares = params.coef[part], read.correlation[part], float(np.sum(read.squares[part]))
    value = penalty.l1 * float(np.sum(feature_norms(w))) + 0.5 * penalty.l2 * float(np.sum(w * w))
    here = Part(w, q, q_error, squares, squares + float(np.sum(w * q)), 0.5 * squares + value)
    return float(np.sum(read.loss[part])) + value, here


def _scale(data: _Data, part: slice, intercept: bool) -> float:
    """The objective at zero weights with the best intercept; without an intercept where the targets do not vary."""
    lengths = data.targets[part]
    scale = raw = 0.5 * float(lengths @ lengths)
    if intercept:
        mean = data.columns.mean[data.columns.features :][part]
        raw = scale + 0.5 * float(mean @ mean)
    return scale if scale > 8.0 * EPS * raw else raw or 1.0
