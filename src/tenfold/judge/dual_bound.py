"""The one place where a dual point becomes a bound: its constraints are checked here, and nowhere else.

With P(w, b) = (1/W) sum weight loss(y, z) + penalty(w) + tie / 2 b^2 and slopes u in the domain of every conjugate,
v = (1/W) sum weight u x and s = (1/W) sum weight u, no parameters are better than (w, b) by more than

    (1/W) sum weight [loss(y, z) + conjugate(y, u) - u z] + penalty(w) + penalty*(-v) + v.w + (tie b + s)^2 / (2 tie).

The conjugate of a penalty that does not grow faster than |w| is infinite outside of a set: v_j = 0 without a penalty,
|v_j| <= l1 under an L1 penalty; and an intercept that is free asks for s = 0. Sums are known up to rounding. A
constraint that is missed by no more than `ROUNDING` times the sum of the absolute values of its terms,
(1/W) sum weight |u x_j|, counts as met, and what was missed times the parameter is added to the bound. A point that
misses one by more is scaled, where a share of it is feasible, or proves nothing.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Array, Floats, contiguous, is_sparse, like, namespace, on_host
from tenfold.data import Block, weights_of
from tenfold.penalties import Groups
from tenfold.problems import Glm
from tenfold.stats.derivatives import adjoint

EPS = float(np.finfo(np.float64).eps)

ROUNDING = 64.0 * EPS
"""A sum of products is zero where it is at most this part of the sum of their absolute values."""

TILE = 4096
"""So many samples at a time."""


class Slopes(NamedTuple):
    """A dual point, all at full share: its pull v (p,) on the weights, its first term of the bound, the mean loss at
    the parameters, its sum s, and the mean of the absolute values that were summed to s.

    Pulls are of samples measured from a centre where the intercept is free, else of the samples as they are.
    """

    pull: Floats
    term: float
    loss: float
    tilt: float = 0.0
    size: float = 0.0


class Aim(NamedTuple):
    """Where the pull and the sum of a dual point were aimed at: what rounding left between counts as met."""

    pull: Floats
    tilt: float


def meets_zero(value: float, size: float) -> bool:
    """Whether a sum is zero up to rounding, `size` the sum of the absolute values of its terms."""
    return abs(value) <= ROUNDING * size


def bound_gap(
    problem: Glm,
    coef: Floats,
    b: float,
    point: Slopes | None,
    sizes: Callable[[], Floats] | None = None,
    aim: Aim | None = None,
) -> float:
    """How far the objective can fall from weights (1, p) and an intercept, by the best of a few shares of a dual point;
    infinite where it proves nothing.

    The intercept is that of samples measured from the centre of the pulls. `sizes` gives (1/W) sum weight |u x| (p,);
    it is asked for where a pull is outside of its limits, or beside its aim, and without it nothing is forgiven.
    """
    if point is None or not all(np.isfinite(part).all() for part in point):
        return np.inf
    penalty, intercept_penalty = problem.penalty, problem.intercept_penalty
    missed, s = 0.0, point.tilt
    if problem.balances:
        if not meets_zero(s, point.size):
            return np.inf
        missed = abs(s * b)
    elif intercept_penalty > 0.0 and aim is not None and meets_zero(s - aim.tilt, point.size):
        missed, s = abs(s - aim.tilt) * max(abs(b), abs(aim.tilt) / intercept_penalty), aim.tilt
    v = _snap(point.pull, _nearest(penalty, point.pull) if aim is None else aim.pull, sizes)
    reach, strength = np.abs(coef[0]), float(np.max(penalty.strength))
    if aim is not None and strength > 0.0:  # aimed at other weights, which may be longer
        reach = np.maximum(reach, np.abs(aim.pull) / strength)
    missed += float(np.sum(reach * np.abs(point.pull - v)))
    v = v[None, :]
    value, product = float(penalty.value(coef)[0]), float(np.sum(coef * v))

    def at(share: float) -> float:
        tied = (intercept_penalty * b + share * s) ** 2 / (2.0 * intercept_penalty) if intercept_penalty > 0.0 else 0.0
        penalised = max(value + float(penalty.conjugate(-share * v)[0]) + share * product, 0.0)
        return (1.0 - share) * point.loss + share * max(point.term, 0.0) + penalised + tied

    found = [at(share) for share in {1.0, float(penalty.dual_scaling(-v)[0]), _inner_share(penalty, -v)}]
    return min(bound if np.isfinite(bound) else np.inf for bound in found) + missed


def _snap(pull: Floats, nearest: Floats, sizes: Callable[[], Floats] | None) -> Floats:
    """Pulls at the nearest ones that are feasible, where no more than rounding is between."""
    away = np.abs(pull - nearest)
    if sizes is None or not np.any(away > 0.0):
        return pull
    return np.where(away <= ROUNDING * sizes(), nearest, pull)


def _nearest(penalty: Any, pull: Floats) -> Floats:
    """The pulls nearest to these at which the conjugate of the penalty is finite."""
    if isinstance(penalty, Groups) or np.max(penalty.strength) > 0.0:
        return pull
    limit = float(getattr(penalty, "l1", 0.0))
    return np.clip(pull, -limit, np.inf if penalty.positive else limit)


def _inner_share(penalty: Any, v: Floats) -> float:
    """The largest share of v at which the conjugate of an elastic net is zero; one for other penalties."""
    return float(replace(penalty, l2=0.0).dual_scaling(v)[0]) if getattr(penalty, "l2", 0.0) > 0.0 else 1.0


def sum_sizes(block: Block, u: Array, centre: Floats | None) -> Floats:
    """sum weight |u| |x - centre| (p,) of slopes (m, 1); of sparse samples, which are never centred, as they are."""
    X, xp = block.X, namespace(u)
    size = contiguous(xp.abs(u) * weights_of(block)[:, None])
    if is_sparse(X):
        return adjoint(abs(X), size)[0]
    total = np.zeros(X.shape[1])
    for start in range(0, X.shape[0], TILE):
        part = slice(start, min(start + TILE, X.shape[0]))
        tile = xp.astype(X[part, :], xp.float64, copy=False)
        tile = xp.abs(tile if centre is None else tile - like(centre, tile))
        total += on_host(xp.sum(tile * size[part, :], axis=0))
    return total
