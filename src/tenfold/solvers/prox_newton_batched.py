"""Proximal Newton method for many smooth losses with L1 penalties in lockstep: one pass over the samples serves all
that have not converged.

The quadratic model of each problem has a given Hessian, so good that the full step is mostly accepted; every step
corrects it along itself (BFGS), and problems that need many steps get a better Hessian. A rejected step is shortened
and tried again in the next pass, beside the next steps of the others.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.data import NotFinite
from tenfold.machine import threads

STEPS_PER_HESSIAN = 6  # steps on one Hessian and its corrections

SHORTEST = 1e-4  # step length at which a direction is given up

EPS = float(np.finfo(np.float64).eps)

Objective = Callable[[Integers, Floats], tuple[Floats, Floats]]
"""From the indices (m,) of some problems and a point of each (m, q) to the values (m,) and gradients (m, q) of the
smooth parts.
"""
Measure = Callable[[Floats, Floats, Floats], Floats]
"""From objectives (m,), the least subgradients (m, q) and expected decreases (m,) to measures of convergence."""


class Maps(Protocol):
    """The Hessian of each problem."""

    hessians: Floats

    def renew(self, which: Integers, x: Floats) -> None:
        """Compute better Hessians of some problems at their points (m, q)."""
        ...


class BatchResult(NamedTuple):
    """Points (M, q), steps of each, passes with gradients for all, the measures at the start, and the last points that
    were evaluated with the gradients there.
    """

    x: Floats
    iterations: Integers
    passes: int
    measure: Floats
    seen: Floats
    gradient: Floats


def minimise_models(hessians: Floats, gradients: Floats, limits: Floats, x: Floats) -> Floats:
    """The minima (m, q) of quadratic models at x plus limits.|u|."""
    H, g, limit, start = (np.ascontiguousarray(part) for part in (hessians, gradients, limits, x))
    return _core.sign_stack(H, g, limit, start, threads(hessians.size))


def subgradients(x: Floats, gradient: Floats, limits: Floats) -> Floats:
    """The subgradient of least norm of smooth part + limits.|x|."""
    shrunk = np.sign(gradient) * np.maximum(np.abs(gradient) - limits, 0.0)
    return np.where(x != 0.0, gradient + limits * np.sign(x), shrunk)


def minimise(
    objective: Objective, start: Floats, limits: Floats, maps: Maps, measure: Measure, max_steps: int
) -> BatchResult:
    """Steps from `start` (M, q) of smooth part + limits.|x|, at most `max_steps`, until each problem has converged or
    cannot be improved.
    """
    x, iterations = start.copy(), np.zeros(len(start), dtype=np.int32)
    which = np.arange(len(start))
    value, gradient = objective(which, x)
    if not (np.isfinite(value).all() and np.isfinite(gradient).all()):
        raise NotFinite
    seen, gradients = x.copy(), gradient.copy()
    length, first, moved = np.ones(len(start)), np.zeros(0), np.ones(len(start), dtype=bool)
    for passes in range(1, max_steps + 2):
        if passes > 1 and passes % STEPS_PER_HESSIAN == 1:
            maps.renew(which, x[which])
            length, moved[which] = np.ones(len(which)), False
        points, H, limit = x[which], maps.hessians[which], limits[which]
        d = minimise_models(H, gradient, limit, points) - points
        penalty = np.sum(limit * np.abs(points), axis=1)
        slope = _dot(gradient, d) + np.sum(limit * np.abs(points + d), axis=1) - penalty
        decrease = -(slope + 0.5 * _dot(d, np.einsum("mpq,mq->mp", H, d)))
        measured = measure(value + penalty, subgradients(points, gradient, limit), decrease)
        first = measured if passes == 1 else first
        done = measured <= 1.0
        # the last step costs no pass
        x[which[done]] += np.where(slope < 0.0, length, 0.0)[done, None] * d[done]
        # a problem without an accepted step since its Hessian was computed will have none
        active = ~done & (slope < 0.0) & (length > SHORTEST) & (moved[which] | (passes % STEPS_PER_HESSIAN > 0))
        if not active.any() or passes == max_steps + 1:
            break
        which, value, gradient, d, slope, length = (part[active] for part in (which, value, gradient, d, slope, length))
        points, limit, penalty = points[active], limit[active], penalty[active]
        trial = points + length[:, None] * d
        there, slopes = objective(which, trial)
        with np.errstate(invalid="ignore"):  # a trial may overflow, and is rejected then
            total = there + np.sum(limit * np.abs(trial), axis=1)
            before = value + penalty
            accepted = total <= before + 1e-4 * length * slope + 4.0 * EPS * np.abs(before)
        maps.hessians[which] = update_bfgs(maps.hessians[which], trial - points, slopes - gradient)
        x[which[accepted]] = trial[accepted]
        iterations[which] += 1
        moved[which] |= accepted
        value, gradient = np.where(accepted, there, value), np.where(accepted[:, None], slopes, gradient)
        seen[which[accepted]], gradients[which[accepted]] = trial[accepted], slopes[accepted]
        length = np.where(accepted, 1.0, 0.25 * length)
    return BatchResult(x, iterations, passes, first, seen, gradients)


def update_bfgs(H: Floats, s: Floats, y: Floats) -> Floats:
    """The BFGS update of H by steps s and gradient changes y, where s.y is positive."""
    with np.errstate(invalid="ignore"):
        Hs = np.einsum("mpq,mq->mp", H, s)
        model, curvature = _dot(s, Hs), _dot(s, y)
        positive = (curvature > EPS * np.sqrt(_dot(s, s) * _dot(y, y))) & (model > 0.0) & np.isfinite(y).all(axis=1)
    updated = H.copy()
    a, b = Hs[positive], y[positive]
    updated[positive] += (
        b[:, :, None] * (b / curvature[positive, None])[:, None, :]
        - a[:, :, None] * (a / model[positive, None])[:, None]
    )
    return updated


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("mq,mq->m", a, b))
