"""Monotone fits: min 1/2 sum_i w_i (f_i - y_i)^2 over f_1 <= ... <= f_n.

The multipliers of f_i <= f_(i+1) that make the slope vanish are the sums l_j = sum_(i <= j) w_i (y_i - f_i). Where all
are at least zero and the last is zero, the duality gap is sum_j l_j (f_(j+1) - f_j). Sums below zero are shifted out of
the way at the cost that is counted with them.
"""

import numpy as np

from tenfold.arrays import Floats
from tenfold.judge.certificate import RULES, Certificate


def monotone(y: Floats, fitted: Floats, weights: Floats) -> Certificate:
    """How far a monotone fit is from the best, relative to the weighted mean of squares; rows in their order."""
    y, f, w = (np.asarray(values, dtype=np.float64) for values in (y, fitted, weights))
    total = float(np.sum(w))
    objective = 0.5 * float(np.sum(w * (f - y) ** 2)) / total
    scale = 0.5 * float(np.sum(w * y**2)) / total
    rounding = 8.0 * np.finfo(np.float64).eps * max(scale, objective)
    if np.any(np.diff(f) < -1e-12 * max(1.0, float(np.max(np.abs(f), initial=0.0)))):
        return Certificate("gap", np.inf, max(scale, rounding), RULES["gap"].tol, rounding, objective)
    # a dual point: multipliers of at least zero, and with them the prediction that makes the Lagrangian least
    sums = np.maximum(np.cumsum(w * (y - f))[:-1], 0.0)
    multipliers = np.concatenate([[0.0], sums, [0.0]])
    least = y - np.diff(multipliers) / w
    dual = 0.5 * float(np.sum(w * (least - y) ** 2)) - float(np.sum(sums * np.diff(least)))
    gap = max(objective - dual / total, 0.0)
    return Certificate(
        "gap",
        max(gap, rounding),
        max(scale, np.finfo(np.float64).tiny),
        RULES["gap"].tol,
        rounding,
        objective,
        lower_bound=dual / total,
    )
