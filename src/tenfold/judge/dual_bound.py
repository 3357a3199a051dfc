"""The one place where a dual point becomes a bound: its constraints are checked here, and nowhere else.

With P(w, b) = (1/W) sum weight loss(y, z) + penalty(w) + t / 2 b^2, t the penalty on the intercept, and slopes u in the
domain of every conjugate, v = (1/W) sum weight u x and s = (1/W) sum weight u, no parameters are better than (w, b) by
more than

    (1/W) sum weight [loss(y, z) + conjugate(y, u) - u z] + penalty(w) + penalty*(-v) + v.w + (t b + s)^2 / (2 t).

The conjugate of a penalty that does not grow faster than |w| is infinite outside of a set: v_j = 0 without a penalty,
|v_j| <= l1 under an L1 penalty; and an intercept that is free asks for s = 0. Sums are known up to rounding. A
constraint that is missed by no more than `ROUNDING` times the sum of the absolute values of its terms,
(1/W) sum weight |u x_j|, counts as satisfied, and what was missed times the parameter is added to the bound. A point
that misses one by more is scaled until it is feasible, or proves nothing.
"""

from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.penalties import L2, Groups
from tenfold.problems import Glm

ROUNDING = 64.0 * EPS  # a sum of products is zero up to this part of the sum of their absolute values


class DualPoint(NamedTuple):
    """Slopes u of the samples, before any scaling, by their sums: the correlation v (p,) with the samples, the
    Fenchel-Young terms (the first term of the bound), the mean loss at the parameters, s, and the mean of |u|.

    Correlations are with samples measured from a centre where the intercept is free, else with samples as they are.
    """

    correlation: Floats
    term: float
    loss: float
    tilt: float = 0.0
    size: float = 0.0


class DualTarget(NamedTuple):
    """The v and s that a dual point was made for: a distance of no more than rounding counts as none."""

    correlation: Floats
    tilt: float


def _inner(a: Floats, b: Floats) -> Floats:
    return np.sum(a * b, axis=-1)


def is_rounding(value: float, size: float) -> bool:
    """Whether a sum is zero up to rounding, `size` the sum of the absolute values of its terms."""
    return abs(value) <= ROUNDING * size


def bound_gap(
    problem: Glm,
    coef: Floats,
    b: float,
    point: DualPoint | None,
    sizes: Callable[[], Floats] | None = None,
    target: DualTarget | None = None,
    inner: Callable[[Floats, Floats], Floats] = _inner,
) -> float:
    """How far the objective can decrease from weights (1, p) and an intercept, by the best of a few scalings of a dual
    point; infinite where it proves nothing.

    The intercept is that of samples in the coordinates of the correlation, `inner` the inner product of weights.
    `sizes` gives (1/W) sum weight |u x| (p,); it is called where a correlation is outside of its limits, or beside its
    target, and without it no such distance counts as rounding.
    """
    if point is None:
        return np.inf
    penalty, intercept_penalty = problem.penalty, problem.intercept_penalty
    if target is None and isinstance(penalty, L2) and not penalty.positive and np.min(penalty.strength) > 0.0:
        return _bound_of_squares(problem, coef, b, point)
    if not all(np.isfinite(part).all() for part in point):
        return np.inf
    missed, s = 0.0, point.tilt
    if problem.balances:
        if not is_rounding(s, point.size):
            return np.inf
        missed = abs(s * b)
    elif intercept_penalty > 0.0 and target is not None and is_rounding(s - target.tilt, point.size):
        missed, s = abs(s - target.tilt) * max(abs(b), abs(target.tilt) / intercept_penalty), target.tilt
    nearest = _nearest(penalty, point.correlation) if target is None else target.correlation
    v = _snap(point.correlation, nearest, sizes)
    reach, strength = np.abs(coef[0]), float(np.max(penalty.strength))
    if target is not None and strength > 0.0:  # the weights that belong to it may be longer
        reach = np.maximum(reach, np.abs(target.correlation) / strength)
    missed += float(np.sum(reach * np.abs(point.correlation - v)))
    v = v[None, :]
    value, product = float(penalty.value(coef)[0]), float(inner(coef, v)[0])

    def at(scaling: float) -> float:
        tied = 0.0
        if intercept_penalty > 0.0:
            tied = (intercept_penalty * b + scaling * s) ** 2 / (2.0 * intercept_penalty)
        penalised = max(value + float(penalty.conjugate(-scaling * v)[0]) + scaling * product, 0.0)
        return (1.0 - scaling) * point.loss + scaling * max(point.term, 0.0) + penalised + tied

    squares = strength > 0.0 and not getattr(penalty, "l1", 0.0) and not isinstance(penalty, Groups)
    scalings = {1.0} if squares else {1.0, float(penalty.dual_scaling(-v)[0]), _inner_scaling(penalty, -v)}
    bounds = [at(scaling) for scaling in scalings]
    return min(bound if np.isfinite(bound) else np.inf for bound in bounds) + missed


def _bound_of_squares(problem: Glm, coef: Floats, b: float, point: DualPoint) -> float:
    """The same where all weights have squares in the penalty, in which every correlation is feasible: there
    penalty(w) + penalty*(-v) + v.w is |strength w + v|^2 / (2 strength).
    """
    strength, tied, s = float(np.max(problem.penalty.strength)), problem.intercept_penalty, point.tilt
    if problem.balances and not is_rounding(s, point.size):
        return np.inf
    away = strength * coef[0] + point.correlation
    bound = max(point.term, 0.0) + float(np.add.reduce(away * away)) / (2.0 * strength)
    if problem.balances:
        bound += abs(s * b)
    elif tied > 0.0:
        bound += (tied * b + s) ** 2 / (2.0 * tied)
    return bound if isfinite(bound) and isfinite(point.term) and isfinite(point.loss) else np.inf


def _snap(correlation: Floats, nearest: Floats, sizes: Callable[[], Floats] | None) -> Floats:
    """Correlations at the nearest ones that are feasible, where no more than rounding is between."""
    away = np.abs(correlation - nearest)
    if sizes is None or not np.any(away > 0.0):
        return correlation
    return np.where(away <= ROUNDING * sizes(), nearest, correlation)


def _nearest(penalty: Any, correlation: Floats) -> Floats:
    """The correlations nearest to these at which the conjugate of the penalty is finite."""
    if isinstance(penalty, Groups) or np.max(penalty.strength) > 0.0:
        return correlation
    limit = float(getattr(penalty, "l1", 0.0))
    return np.clip(correlation, -limit, np.inf if penalty.positive else limit)


def _inner_scaling(penalty: Any, v: Floats) -> float:
    """The largest scaling of v, at most one, at which the conjugate of an elastic net is zero; one for other
    penalties.
    """
    return float(replace(penalty, l2=0.0).dual_scaling(v)[0]) if getattr(penalty, "l2", 0.0) > 0.0 else 1.0
