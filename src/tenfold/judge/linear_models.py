"""Linear models over rows, as designs: which judge a problem gets, the scale of its certificates, and for which samples
the best model predicts the same.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from tenfold.arrays import EPS, Floats, namespace, on_host
from tenfold.data import Rows, targets_of, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dense_gap import Verdict, constant_losses, dense_gap, is_self_concordant, judges
from tenfold.judge.gap_fenchel import fenchel_gap
from tenfold.judge.gap_smooth import intercept_drift, smooth_gap
from tenfold.judge.objective_points import SEARCH_STEPS, DesignProblem, require_finite
from tenfold.judge.stationarity import stationary_point
from tenfold.losses.loss import Loss, Pieces
from tenfold.objectives.linear_design import LinearDesign, take_sample
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params
from tenfold.stats.intercept_only import best_constant, mean_loss


def gap(
    problem: Glm,
    rows: Rows,
    params: Params,
    *,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
    direction: Params | None = None,
    dual: Floats | None = None,
    search: int = SEARCH_STEPS,
) -> Certificate:
    """Judge a convex problem of one target: the objective minus a lower bound on every objective.

    Two untrusted hints: `direction`, parameters that may separate the classes; `dual` (n,), slopes at the
    optimum, for nonsmooth losses. At most `search` Newton steps of the judge's own look for a better bound.
    """
    invalid = require_finite("gap", params, tol)
    if invalid is not None:
        return invalid
    if judges(problem, rows, dual):
        verdict = Verdict(scale_of(problem, rows), RULES["gap"].tol if tol is None else tol, status, dtype)
        certificate = dense_gap(problem, rows, params, verdict, dual)
        if certificate is not None:
            return certificate
    loss, design = problem.loss, design_of(problem, rows)
    data = on_design(problem, design, len(params.intercept))
    x, stored = design.coefficients(params), np.asarray(params.intercept, dtype=np.float64)
    positive = getattr(problem.penalty, "positive", False)
    if not loss.multi_output and (positive or not is_self_concordant(problem)):
        certificate = fenchel_gap(data, x, stored, dual=dual, tol=tol, status=status, dtype=dtype, search=search)
        return _bound_predictions(certificate, data, params)
    hints = [design.coefficients(hint) for hint in (params, direction) if hint is not None]
    smooth, here, proof = smooth_gap(
        data, x, stored, tol=tol, status=status, dtype=dtype, directions=hints, search=search
    )
    if proof is None or loss.multi_output:
        return smooth
    step, drift = intercept_drift(data, here, proof)
    centre = design.centre + step if design.intercept else np.zeros_like(design.centre)
    return _with_prediction_bound(smooth, params, centre, drift)


def _bound_predictions(certificate: Certificate, data: DesignProblem, params: Params) -> Certificate:
    """With how far predictions can move to those of the best parameters, where a square bounds the weights and a
    penalty the intercept, or there is none.
    """
    problem = data.problem
    if certificate.radius is None or problem.balances:
        return certificate
    strength = float(np.max(data.strength))
    drift = certificate.radius * float(np.sqrt(strength / problem.intercept_penalty)) if problem.intercept else 0.0
    return _with_prediction_bound(certificate, params, np.zeros(data.design.columns), drift)


def _with_prediction_bound(certificate: Certificate, params: Params, centre: Floats, drift: float) -> Certificate:
    coef, b = (np.asarray(part, dtype=np.float64) for part in params)
    return replace(certificate, _coef=coef, _intercept=b, _centre=centre, _drift=drift)


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
    invalid = require_finite("stationarity", params, tol)
    if invalid is not None:
        return invalid
    design = design_of(problem, rows)
    return stationary_point(
        on_design(problem, design, 1),
        design.coefficients(params),
        design.coefficients(start),
        (np.asarray(params.intercept, dtype=np.float64), np.asarray(start.intercept, dtype=np.float64)),
        units=np.sqrt(np.where(design.squares > 0.0, design.squares, 1.0)),
        tol=tol,
        status=status,
        dtype=dtype,
    )


def design_of(problem: Glm, rows: Rows) -> LinearDesign:
    """Linear models over rows as a design; reads a sample."""
    return LinearDesign.of(rows, problem.intercept, problem.balances)


def on_design(problem: Glm, design: LinearDesign, outputs: int) -> DesignProblem:
    """The problem on a design, with the mean loss without weights as its scale."""
    strength = np.broadcast_to(np.ravel(problem.penalty.strength), outputs).reshape(-1, 1)
    if problem.loss.multi_output:
        scale = float(np.log(outputs))
    else:
        scale = loss_without_weights(problem, design.rows, design.sample_of_rows)
    return DesignProblem(problem, design, strength, scale)


def scale_of(problem: Glm, rows: Rows) -> float:
    """The scale of the certificate of a problem of one output."""
    sample = rows if problem.loss.signs or problem.loss.link is not None else take_sample(rows)  # else it is not read
    return loss_without_weights(problem, rows, sample)


def prepare(problem: Glm, rows: Rows) -> DesignProblem:
    """A problem of one output on rows, as its judge sees it."""
    return on_design(problem, design_of(problem, rows), 1)


def loss_without_weights(problem: Glm, rows: Rows, sample: Rows) -> float:
    """The mean loss at zero weights, of a sample where it must be searched for; that of numbers, which may have any
    offset, at the best intercept. Targets that are all equal leave nothing to explain: then at no intercept.
    """
    loss = problem.loss
    if loss.signs:
        return _loss_of_zero(cast(Hashable, loss))  # of every sample
    if loss.link is not None:
        zero = mean_loss(loss, rows, 0.0)
        best = best_constant(loss, rows).value if problem.intercept else zero
    else:
        zero, best = _losses_of_constants(loss, sample, problem.intercept and loss.convex)
    noise = _noise(loss)
    if best > max(1e-9 * zero, noise) or not np.isfinite(zero):
        return best
    return zero if zero > noise else 1.0


@lru_cache(maxsize=64)
def _loss_of_zero(loss: Any) -> float:
    return float(loss.value(np.ones(1), np.zeros(1))[0]) or 1.0


def _noise(loss: Loss) -> float:
    """What rounding leaves of a loss that is zero: the terms of a deviance cancel, and are large for some powers."""
    if loss.link != "log":
        return 0.0
    product = abs((1.0 - loss.parameter) * (2.0 - loss.parameter)) if hasattr(loss, "power") else 1.0
    return 64.0 * EPS * (1.0 + 1.0 / product)


def _best_kink(pieces: Pieces, weight: Floats) -> float:
    """The constant of the least weighted sum of a piecewise linear loss: the kink at which its slope changes sign."""
    kinks, up = pieces.at.ravel(), weight[:, None] * pieces.up
    height = (up + weight[:, None] * pieces.down).ravel()
    order = np.argsort(kinks)
    position = int(np.searchsorted(np.cumsum(height[order]), float(np.sum(up))))
    return float(kinks[order[min(position, len(order) - 1)]])


def _losses_of_constants(loss: Loss, sample: Rows, searched: bool) -> tuple[float, float]:
    """The mean loss of a sample at zero, and at the best constant where that is searched for."""
    parts: Sequence[Any] = (sample.map(targets_of), sample.map(weights_of))
    # on Dask each constant would be a computation of its own: the few targets of the sample are brought here
    y, weight = parts if sample.on_device and not sample.distributed else map(on_host, parts)
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
    if loss.nonsmooth and isinstance(y, np.ndarray) and hasattr(loss, "pieces"):
        return zero, min(zero, at(_best_kink(loss.pieces(y), weight))[0])
    if isinstance(y, np.ndarray) and not loss.nonsmooth:
        return constant_losses(loss, np.ascontiguousarray(y), np.ascontiguousarray(weight))
    least, step, side = zero, 1.0, -float(np.sign(slope))
    while step < 1e300 and at(side * step)[1] * slope > 0.0:
        step *= 4.0
    low, high = sorted((0.0, side * step))
    for _ in range(60):
        middle = 0.5 * (low + high)
        value, slope = at(middle)
        least = min(least, value)
        low, high = (middle, high) if slope < 0.0 else (low, middle)
    return zero, least
