"""Monotone fits: min (1/2W) sum_i w_i (f_i - y_i)^2 over low <= f_1 <= ... <= f_n <= high.

For multipliers l_0, ..., l_n >= 0 of low <= f_1, f_j <= f_(j+1) and f_n <= high, l_0 = 0 without a lower bound and l_n
= 0 without an upper one, put d_i = l_i - l_(i-1). With the residuals r_i = w_i (y_i - f_i), the duality gap of a
feasible f is

    sum_i (d_i - r_i)^2 / (2 w_i) + sum_j l_j (f_(j+1) - f_j) + l_0 (f_1 - low) + l_n (high - f_n),

a sum of terms that are at least zero: nothing cancels. The judge takes l as the sums of residuals, in each block of
equal f about their mean, unless the block lies on a bound that holds it back; sums below zero become zero, and cost
what the formula says. Samples of weight zero need d = 0 and do not count.

The scale is the objective of the best constant without bounds: half the variance of y. An offset of y does not widen
it.
"""

from typing import Any

import numpy as np
from scipy.stats import spearmanr

from tenfold.arrays import Floats, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate

EPS = float(np.finfo(np.float64).eps)


def monotone(
    y: Floats,
    fitted: Floats,
    weights: Floats,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    dtype: Any = np.float64,
    complaint: str = "",
) -> Certificate:
    """How far a non-decreasing fit between bounds is from the best; samples in their order.

    `dtype` is that of the stored values, to whose precision the bounds are rounded. With a `complaint`, another part of
    the model contradicts the fit, which is not certified.
    """
    y, f, w = (np.asarray(values, dtype=np.float64) for values in (y, fitted, weights))
    feasible = _is_feasible(f, low, high, unit_roundoff(dtype))
    if np.any(w == 0.0):
        counts = w > 0.0
        y, f, w = y[counts], f[counts], w[counts]
    total = float(np.sum(w))
    share = w / total
    mean = float(share @ y)
    scale = 0.5 * float(share @ (y - mean) ** 2)
    residual = y - f
    objective = 0.5 * float(share @ residual**2)
    size = max(float(np.max(np.abs(y), initial=0.0)), float(np.max(np.abs(f), initial=0.0)))
    # values of f rounded to their dtype, and residuals rounded at the size of y
    floor = max(8.0 * EPS * max(scale, objective), 2.0 * (unit_roundoff(dtype) * size) ** 2, np.finfo(np.float64).tiny)
    scale = max(scale, floor / RULES["gap"].tol)
    gap = _gap(residual * share, f, share, low, high) if feasible and not complaint else np.inf
    note = complaint or ("" if feasible else "The values are not monotone, or beyond the bounds.")
    return Certificate(
        "gap",
        max(gap, floor) if np.isfinite(gap) else np.inf,
        scale,
        RULES["gap"].tol,
        floor,
        objective,
        lower_bound=max(objective - gap, 0.0) if np.isfinite(gap) else None,
        note=note,
    )


def curve(
    x: Floats,
    y: Floats,
    weight: Floats | None,
    places: Floats,
    values: Floats,
    *,
    increasing: bool,
    low: float = -np.inf,
    high: float = np.inf,
    beyond: bool = False,
    dtype: Any = np.float64,
    complaint: str = "",
) -> Certificate:
    """The certificate of a piecewise linear function through `values` (m,) at `places` (m,) for samples x, y (n,).

    `beyond` says whether the function is constant outside the places; otherwise it is unknown there.
    """
    mass = np.ones(len(x)) if weight is None else weight
    x, y, mass = x[mass > 0.0], y[mass > 0.0], mass[mass > 0.0]
    known, group = np.unique(x, return_inverse=True)
    total = np.bincount(group, mass).astype(np.float64)
    centre = float(y @ mass) / float(np.sum(total))
    mean = centre + np.bincount(group, mass * (y - centre)) / total
    if not complaint:
        complaint = _check_places(places, values, known, beyond)
    fitted = np.interp(known, places, values) if not complaint else mean
    if not increasing:
        mean, fitted, total = mean[::-1], fitted[::-1], total[::-1]
    return monotone(mean, fitted, total, low=low, high=high, dtype=dtype, complaint=complaint)


def _check_places(places: Floats, values: Floats, known: Floats, beyond: bool) -> str:
    """Why the function is not known at the samples; "" where it is."""
    if places.shape != values.shape or places.ndim != 1 or not len(places):
        return "There is not one value for each place."
    if not (np.isfinite(places).all() and np.isfinite(values).all() and (places[1:] > places[:-1]).all()):
        return "The places of the function do not rise."
    if not beyond and (known[0] < places[0] or known[-1] > places[-1]):
        return "There are samples beyond the places of the function."
    return ""


def rank_correlation(x: Floats, y: Floats) -> float:
    """Spearman's rank correlation."""
    return float(spearmanr(x, y).statistic)


def _is_feasible(f: Floats, low: float, high: float, u: float) -> bool:
    """Whether values do not decrease and are within the bounds, up to the rounding of these."""
    if not len(f) or not np.isfinite(f).all():
        return False
    inside = (not np.isfinite(low) or f[0] >= low - u * abs(low)) and (
        not np.isfinite(high) or f[-1] <= high + u * abs(high)
    )
    return bool(inside and (f[1:] >= f[:-1]).all())


def _gap(residual: Floats, f: Floats, w: Floats, low: float, high: float) -> float:
    """The duality gap of a feasible f by the multipliers of the module's text; `residual` is weighted."""
    starts = np.flatnonzero(np.concatenate([[True], f[1:] > f[:-1]]))
    lengths = np.diff(np.append(starts, len(f)))
    excess = np.add.reduceat(residual, starts) / np.add.reduceat(w, starts)  # mean of y over a block, minus f
    # a block on a bound need not reach the mean of its samples
    if f[0] <= low:
        excess[0] = max(excess[0], 0.0)
    if f[-1] >= high:
        excess[-1] = min(excess[-1], 0.0)
    inner = np.cumsum(residual - w * np.repeat(excess, lengths))
    before = np.concatenate([[0.0], inner[starts[1:] - 1]])
    inner -= np.repeat(before, lengths)
    first = 0.0
    if f[0] <= low:  # the multiplier of the lower bound
        first = max(0.0, -float(inner[: lengths[0]].min()))
        inner[: lengths[0]] += first
    last = max(0.0, float(inner[-1])) if f[-1] >= high else 0.0
    inner = np.maximum(inner, 0.0)
    inner[starts[1:] - 1] = 0.0
    inner[-1] = last
    away = np.diff(inner, prepend=first) - residual
    gap = 0.5 * float(np.sum(away * away / w)) + float(inner[:-1] @ np.diff(f))
    gap += first * max(float(f[0]) - low, 0.0) if first else 0.0
    return gap + (last * max(high - float(f[-1]), 0.0) if last else 0.0)
