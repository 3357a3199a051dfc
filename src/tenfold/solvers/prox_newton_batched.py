"""Proximal Newton steps for many smooth losses with L1 penalties in lockstep: a pass over the rows serves all that are
not yet solved.

The quadratic model of each is on a Hessian that is given, one so good that the full step is mostly taken; every step
corrects it along itself (BFGS), and whoever needs many steps gets a better one. A step that does not descend is cut,
and tried again in the next pass beside the next steps of the others.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.data import NotFinite
from tenfold.machine import threads

PATIENCE = 6
"""So many steps on the same Hessian."""

SHORTEST = 1e-4
"""A direction along which no longer step descends is given up."""

EPS = float(np.finfo(np.float64).eps)

Objective = Callable[[Integers, Floats], tuple[Floats, Floats]]
"""From the numbers (m,) of some problems and a point of each (m, q) to the values (m,) and gradients (m, q) of the
smooth parts.
"""
Measure = Callable[[Floats, Floats, Floats], Floats]
"""From objectives (m,), the least subgradients (m, q) and expected falls (m,) to what the rule compares with one."""


class Maps(Protocol):
    """The Hessian of each problem."""

    hessians: Floats

    def renew(self, which: Integers, x: Floats) -> None:
        """Better Hessians of some problems, at the points (m, q) where they are."""
        ...


class Together(NamedTuple):
    """Points (M, q), steps that each took, passes with gradients for all, what the rule compares with one at the start,
    and the last points that were evaluated with the gradients there.
    """

    x: Floats
    iterations: Integers
    passes: int
    measure: Floats
    seen: Floats
    gradient: Floats


def lowest(hessians: Floats, gradients: Floats, limits: Floats, x: Floats) -> Floats:
    """The minima (m, q) of quadratic models at x plus limits.|u|."""
    H, g, limit, start = (np.ascontiguousarray(part) for part in (hessians, gradients, limits, x))
    return _core.sign_stack(H, g, limit, start, threads(hessians.size))


def subgradients(x: Floats, gradient: Floats, limits: Floats) -> Floats:
    """The least of the subgradients of smooth part + limits.|x|."""
    beyond = np.sign(gradient) * np.maximum(np.abs(gradient) - limits, 0.0)
    return np.where(x != 0.0, gradient + limits * np.sign(x), beyond)


def minimise(objective: Objective, start: Floats, limits: Floats, maps: Maps, measure: Measure, most: int) -> Together:
    """Steps from `start` (M, q) of smooth part + limits.|x|, at most so many, until each problem meets the rule or
    cannot be improved.
    """
    x, taken = start.copy(), np.zeros(len(start), dtype=np.int32)
    which = np.arange(len(start))
    value, gradient = objective(which, x)
    if not (np.isfinite(value).all() and np.isfinite(gradient).all()):
        raise NotFinite
    seen, known = x.copy(), gradient.copy()
    length, first, moved = np.ones(len(start)), np.zeros(0), np.ones(len(start), dtype=bool)
    for passes in range(1, most + 2):
        if passes > 1 and passes % PATIENCE == 1:
            maps.renew(which, x[which])
            length, moved[which] = np.ones(len(which)), False
        own, H, limit = x[which], maps.hessians[which], limits[which]
        d = lowest(H, gradient, limit, own) - own
        kinks = np.sum(limit * np.abs(own), axis=1)
        slope = _dot(gradient, d) + np.sum(limit * np.abs(own + d), axis=1) - kinks
        fall = -(slope + 0.5 * _dot(d, np.einsum("mpq,mq->mp", H, d)))
        now = measure(value + kinks, subgradients(own, gradient, limit), fall)
        first = now if passes == 1 else first
        done = now <= 1.0
        # the last step is known, and free
        x[which[done]] += np.where(slope < 0.0, length, 0.0)[done, None] * d[done]
        # whoever has not moved since its Hessian was formed, never will
        left = ~done & (slope < 0.0) & (length > SHORTEST) & (moved[which] | (passes % PATIENCE > 0))
        if not left.any() or passes == most + 1:
            break
        which, value, gradient, d, slope, length = (part[left] for part in (which, value, gradient, d, slope, length))
        own, limit, kinks = own[left], limit[left], kinks[left]
        trial = own + length[:, None] * d
        there, slopes = objective(which, trial)
        with np.errstate(invalid="ignore"):  # a trial may be out of range, and is refused then
            total = there + np.sum(limit * np.abs(trial), axis=1)
            before = value + kinks
            better = total <= before + 1e-4 * length * slope + 4.0 * EPS * np.abs(before)
        maps.hessians[which] = corrected(maps.hessians[which], trial - own, slopes - gradient)
        x[which[better]] = trial[better]
        taken[which] += 1
        moved[which] |= better
        value, gradient = np.where(better, there, value), np.where(better[:, None], slopes, gradient)
        seen[which[better]], known[which[better]] = trial[better], slopes[better]
        length = np.where(better, 1.0, 0.25 * length)
    return Together(x, taken, passes, first, seen, known)


def corrected(H: Floats, s: Floats, y: Floats) -> Floats:
    """H with the curvature y along s that was seen, where it is positive."""
    with np.errstate(invalid="ignore"):
        along = np.einsum("mpq,mq->mp", H, s)
        model, bend = _dot(s, along), _dot(s, y)
        good = (bend > EPS * np.sqrt(_dot(s, s) * _dot(y, y))) & (model > 0.0) & np.isfinite(y).all(axis=1)
    found = H.copy()
    a, b = along[good], y[good]
    found[good] += b[:, :, None] * (b / bend[good, None])[:, None, :] - a[:, :, None] * (a / model[good, None])[:, None]
    return found


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("mq,mq->m", a, b))
