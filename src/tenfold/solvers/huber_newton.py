"""Newton's method for Huber's concomitant scale estimate, on weights, intercept and scale together.

With the sums of `stats.huber_scale`, f = mean(u r + sigma (1 - u^2 / 4)) + strength / 2 ||w||^2 has the gradients
-mean(u x) + strength w, -mean(u) and 1 - mean(u^2) / 4, and the Hessian (2 / sigma) mean over |a| < epsilon of [x, 1,
a] [x, 1, a]'. Outliers have no curvature; a part of that of a parabola above their loss is added, the larger the
shorter the steps have been. One pass a step, (p + 2)^2 memory. Steps are halved until f decreases, and change the scale
by a factor of ten at most.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows
from tenfold.machine import one_blas_thread
from tenfold.problems import ScaledHuber
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params
from tenfold.stats.huber_scale import HuberSums, huber_sums

EPS = float(np.finfo(np.float64).eps)

HALVINGS = 30  # of a step, at most: 1e-9 of it

SHRINK, GROW = 0.75, 9.0  # largest relative change of the scale in a step

DECREASE_FRACTION = 1e-6  # of the allowed gap: the expected decrease at which a fit ends

FIRST, LEAST = 1e-2, 1e-8  # part of the curvature of outliers, at first and at least


class Iterate(NamedTuple):
    """Parameters with the scale as a second intercept: coef (1, p), intercept (b, sigma)."""

    params: Params
    value: float
    sums: HuberSums


def steps(problem: ScaledHuber, rows: Rows, start: Params, shift: Floats, allowed: float) -> Iterator[Step]:
    """Steps in the coordinates z = (x - shift).w + b; `intercept` holds b and the scale. The measure is at most one
    where the expected decrease is negligible or, where the scale goes to zero, the gap is at most `allowed`.

    Once, near the end, a step is yielded before it is read, with the measure that quadratic convergence predicts: the
    judge reads the samples there anyway.
    """
    outlier_curvature, before, may_predict = FIRST, 0.0, True
    here = _read(problem, rows, start, shift, outlier_curvature)
    if not np.isfinite(here.value):
        raise NotFinite
    while True:
        g, H = _derivatives(problem, here)
        sigma = float(here.params.intercept[1])
        # a scale that goes to zero stays where it costs little: errors over a smaller one would be rounding
        vanishing = g[-1] > 0.0 and sigma <= 0.3 * allowed
        d = np.append(-_solve(H[:-1, :-1], g[:-1]), 0.0) if vanishing else _direction(g, H, sigma)
        decrease = -float(np.sum(g * d))
        measure = _bound_gap(problem, here, g) / allowed if vanishing else decrease / (DECREASE_FRACTION * allowed)
        if may_predict and not vanishing and measure > 1.0 and 2.0 * measure * measure <= before:
            may_predict = False
            yield Step(_move(here.params, d), here.value, 2.0 * measure * measure / before)
        else:
            yield Step(here.params, here.value, measure)
        before = measure
        there, length = _search(problem, rows, here, d, decrease, shift, outlier_curvature)
        if there is None:
            if outlier_curvature == 1.0:
                return
            outlier_curvature, there = 1.0, _read(problem, rows, here.params, shift, 1.0)
        elif length == 1.0:
            outlier_curvature = max(0.1 * outlier_curvature, LEAST)
        elif length < 0.3:
            outlier_curvature = min(10.0 * outlier_curvature, 1.0)
        here = there


def _move(params: Params, d: Floats) -> Params:
    p = params.coef.shape[1]
    return Params(params.coef + d[None, :p], params.intercept + d[p:])


def _bound_gap(problem: ScaledHuber, here: Iterate, g: Floats) -> float:
    """Objective minus dual value at the slopes u, where the scale is too large and u therefore feasible: the
    contributions of the scale, of the intercept, for which slopes are shifted to sum to zero and scaled back into their
    bounds, and of the gradient.
    """
    if problem.strength == 0.0:
        return here.value
    _, _, products, residual = here.sums.means
    gap = float(here.params.intercept[1]) * float(g[-1])
    gap += abs(float(g[-2])) * (abs(residual) + abs(products) / (2.0 * problem.epsilon))
    return gap + float(np.sum(g[:-2] ** 2)) / (2.0 * problem.strength)


def _read(problem: ScaledHuber, rows: Rows, params: Params, shift: Floats, outlier_curvature: float) -> Iterate:
    sigma = float(params.intercept[1])
    at = Params(params.coef, params.intercept[:1].copy())
    sums = rows.fold(huber_sums(at, sigma, problem.epsilon, 2, shift, outlier_curvature))
    w = params.coef[0]
    return Iterate(params, sums.loss(sigma) + 0.5 * problem.strength * float(np.sum(w * w)), sums)


def _derivatives(problem: ScaledHuber, place: Iterate) -> tuple[Floats, Floats]:
    sums, w, sigma = place.sums, place.params.coef[0], float(place.params.intercept[1])
    p = len(w)
    u, squares, _, _ = sums.means
    g = np.concatenate([problem.strength * w - sums.gradient / sums.weight, [-u, 1.0 - squares / 4.0]])
    assert sums.outer is not None
    assert sums.cross is not None
    H = np.empty((p + 2, p + 2))
    H[:-1, :-1] = sums.outer
    H[:-1, -1] = H[-1, :-1] = sums.cross
    H[-1, -1] = sums.inner
    H *= 2.0 / (sigma * sums.weight)
    H[np.arange(p), np.arange(p)] += problem.strength
    if not problem.intercept:
        H[p, :] = H[:, p] = g[p] = 0.0
        H[p, p] = 1.0
    return g, H


def _direction(g: Floats, H: Floats, sigma: float) -> Floats:
    """Newton's step; where it changes the scale by more than a factor of ten, the scale takes that limit, and the
    weights their best step for it.
    """
    d = -_solve(H, g)
    if -SHRINK * sigma <= d[-1] <= GROW * sigma:
        return d
    move = -SHRINK * sigma if d[-1] < 0.0 else GROW * sigma
    limited = np.append(-_solve(H[:-1, :-1], g[:-1] + move * H[:-1, -1]), move)
    return limited if float(np.sum(g * limited)) < 0.0 else d * (move / d[-1])


def _solve(H: Floats, g: Floats) -> Floats:
    """H^-1 g, after scaling to unit diagonal, with the least power of ten as jitter that makes H positive definite."""
    diagonal = np.diag(H)
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    with np.errstate(over="ignore", invalid="ignore"):
        scaled_H = H / scale / scale[:, None]
    if not np.isfinite(scaled_H).all():
        raise NotFinite
    jitter = 0.0
    while True:
        regularised = np.asfortranarray(scaled_H + jitter * np.eye(len(g)))
        with one_blas_thread:
            lower, info = lapack.dpotrf(regularised, lower=1)
            if info == 0 and np.diag(lower).min() > 1e-7:
                return np.asarray(lapack.dpotrs(lower, g / scale, lower=1)[0] / scale)
        jitter = max(1e-14, 10.0 * jitter)


def _search(
    problem: ScaledHuber, rows: Rows, here: Iterate, d: Floats, decrease: float, shift: Floats, outlier_curvature: float
) -> tuple[Iterate | None, float]:
    """The first of the steps d, d/2, ... with sufficient decrease, and its length; None where rounding hides any."""
    length = 1.0
    for _ in range(HALVINGS if decrease > 0.0 else 0):
        there = _read(problem, rows, _move(here.params, length * d), shift, outlier_curvature)
        if there.value <= here.value - 1e-4 * length * decrease + 4.0 * EPS * abs(here.value):
            return (there if there.value < here.value else None), length
        length *= 0.5
    return None, length
