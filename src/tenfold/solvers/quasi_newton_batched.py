"""Quasi-Newton steps for many problems in lockstep: one pass over the data serves all that have not converged.

Problem m minimises f_m(x) + sum_j l1_mj |x_j|, f_m smooth. A step minimises g.d + d'H d / 2 + l1.|x + d|, H a given
curvature, so good that the full step is mostly taken, corrected by the steps so far: without L1 penalties by L-BFGS on
top of an inverse (`LimitedMemory`), otherwise by BFGS updates of a dense Hessian, on which the model is minimised
exactly by feature-sign search (`DenseHessians`). A problem that needs many steps gets a new curvature at its own point.
A step that does not descend is shortened, and tried again in the next pass beside the steps of the others.
"""

from collections import deque
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.data import NotFinite
from tenfold.machine import threads

MEMORY_PAIRS = 6  # of L-BFGS; more pairs cost more vectors a problem, and few problems take as many steps
PATIENCE = 6  # passes on one curvature before a new one is formed, which costs about as much as these
SHORTEST_STEP = 1e-4  # a direction along which no longer step descends is given up
LAST_STEP = 0.1  # measure that the last step, which is not checked, may be expected to leave
ARMIJO = 1e-4  # part of the predicted decrease that a step must reach
EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)

Flags = NDArray[np.bool_]

Objective = Callable[[Integers, Floats], tuple[Floats, Floats]]
"""From the indices (m,) of some problems and a point of each (m, q) to values (m,) and gradients (m, q) of f."""
Measure = Callable[[Integers, Floats, Floats, Floats], Floats]
"""From indices (m,), objectives (m,), least subgradients (m, q) and expected decreases (m,) to what must be <= 1."""


class Curvature(Protocol):
    """The quadratic model of each problem."""

    exact: bool
    """Whether the model is so good that the last step needs no pass to be checked."""

    def step(self, which: Integers, x: Floats, g: Floats, l1: Floats) -> tuple[Floats, Floats]:
        """The minimisers d (m, q) of the models at x with gradients g, and the decreases (m,) that they promise."""
        ...

    def update(self, going_on: Flags, which: Integers, s: Floats, y: Floats, accepted: Flags) -> None:
        """Learn that gradients change by y along s, of the problems `which` that go on of those of the last step."""
        ...

    def renew(self, which: Integers, x: Floats) -> bool:
        """Form the curvatures of some problems at their points (m, q), or return False where that is too expensive."""
        ...


class Inverse(Protocol):
    """The symmetric map, near the inverse Hessian of each problem, that L-BFGS starts from."""

    exact: ClassVar[bool]

    def __call__(self, which: Integers, g: Floats) -> Floats:
        """From indices (m,) and a gradient of each (m, q) to steps (m, q)."""
        ...

    def renew(self, which: Integers, x: Floats) -> bool: ...


class Batch(NamedTuple):
    """Points (M, q), steps that each took, passes with gradients for all, the measure at the start, and the last points
    that were evaluated with the objectives and the gradients there.
    """

    x: Floats
    iterations: Integers
    passes: int
    measure: Floats
    evaluated: Floats
    value: Floats
    gradient: Floats


def minimise(
    objective: Objective, start: Floats, l1: Floats, curvature: Curvature, measure: Measure, max_steps: int
) -> Batch:
    """Steps from `start` (M, q) until the measure of each problem is at most 1, or rounding hides any decrease."""
    x, taken = start.copy(), np.zeros(len(start), dtype=np.int32)
    which = np.arange(len(start))
    value, gradient = objective(which, x)
    if not (np.isfinite(value).all() and np.isfinite(gradient).all()):
        raise NotFinite
    evaluated, values, gradients = x.copy(), value.copy(), gradient.copy()
    length, first, moved = np.ones(len(start)), np.zeros(0), np.ones(len(start), dtype=bool)
    before = np.zeros(len(start))  # the measure before the last step, zero where that was shortened
    for passes in range(1, max_steps + 2):
        renewed = passes > 1 and passes % PATIENCE == 1 and curvature.renew(which, x[which])
        if renewed:
            length, moved[which] = np.ones(len(which)), False
        point, limit = x[which], l1[which]
        d, decrease = curvature.step(which, point, gradient, limit)
        norm = np.sum(limit * np.abs(point), axis=1)
        slope = dot(gradient, d) + np.sum(limit * np.abs(point + d), axis=1) - norm
        now = measure(which, value + norm, least_subgradients(point, gradient, limit), decrease)
        first = now if passes == 1 else first
        converged = now <= 1.0
        if curvature.exact:  # the last step costs nothing, and shrinks the measure as the one before did
            converged |= (now < before) & (now**2 <= LAST_STEP * before)
            x[which[converged]] += np.where(slope < 0.0, length, 0.0)[converged, None] * d[converged]
            taken[which[converged]] = np.minimum(taken[which[converged]] + 1, max_steps)
        # a problem that did not move since its curvature was formed never will
        left = ~converged & (slope < 0.0) & (length > SHORTEST_STEP) & (moved[which] | (passes % PATIENCE > 0))
        if not left.any() or passes == max_steps + 1:
            break
        which, value, gradient, d, slope, length, now = (
            part[left] for part in (which, value, gradient, d, slope, length, now)
        )
        point, limit, norm = point[left], limit[left], norm[left]
        trial = point + length[:, None] * d
        trial_value, trial_gradient = objective(which, trial)
        with np.errstate(invalid="ignore"):  # a trial may be out of range, and is not accepted then
            total, after = value + norm, trial_value + np.sum(limit * np.abs(trial), axis=1)
            # where values differ by rounding alone, the gradient along the step must shrink
            flat = (after <= total + 4.0 * EPS * np.abs(total)) & (
                _slopes_at(trial, trial_gradient, d, limit) <= -slope
            )
            accepted = (after <= total + ARMIJO * length * slope) | flat
        curvature.update(left, which, trial - point, trial_gradient - gradient, accepted)
        x[which[accepted]] = trial[accepted]
        taken[which] += 1
        moved[which] |= accepted
        value = np.where(accepted, trial_value, value)
        gradient = np.where(accepted[:, None], trial_gradient, gradient)
        evaluated[which[accepted]], values[which[accepted]] = trial[accepted], trial_value[accepted]
        gradients[which[accepted]] = trial_gradient[accepted]
        before = np.where(accepted & (length == 1.0), now, 0.0)
        length = np.where(accepted, 1.0, 0.25 * length)
    return Batch(x, taken, passes, first, evaluated, values, gradients)


def _slopes_at(x: Floats, gradient: Floats, d: Floats, l1: Floats) -> Floats:
    """The objective's slopes along d at x, in size."""
    return np.asarray(np.abs(dot(gradient, d) + np.sum(l1 * np.sign(x) * d, axis=1)))


def least_subgradients(x: Floats, gradient: Floats, l1: Floats) -> Floats:
    """The subgradients of f + l1.|x| with the smallest entries."""
    beyond = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where(x != 0.0, gradient + l1 * np.sign(x), beyond)


def minimise_quadratics(hessians: Floats, gradients: Floats, l1: Floats, x: Floats) -> Floats:
    """The minima (m, q) over u of g.(u - x) + (u - x)'H (u - x) / 2 + l1.|u|."""
    H, g, limit, start = (np.ascontiguousarray(part) for part in (hessians, gradients, l1, x))
    return _core.feature_sign(H, g, limit, start, threads(hessians.size))


class DenseHessians:
    """Dense Hessians (M, q, q) under BFGS updates; `form` gives those of some problems at their points."""

    exact = True

    def __init__(self, hessians: Floats, form: Callable[[Integers, Floats], Floats]) -> None:
        self.hessians, self.form = hessians, form

    def step(self, which: Integers, x: Floats, g: Floats, l1: Floats) -> tuple[Floats, Floats]:
        H = self.hessians[which]
        d = minimise_quadratics(H, g, l1, x) - x
        linear = dot(g, d) + np.sum(l1 * (np.abs(x + d) - np.abs(x)), axis=1)
        return d, -(linear + 0.5 * dot(d, np.einsum("mpq,mq->mp", H, d)))

    def update(self, going_on: Flags, which: Integers, s: Floats, y: Floats, accepted: Flags) -> None:
        self.hessians[which] = bfgs_update(self.hessians[which], s, y)

    def renew(self, which: Integers, x: Floats) -> bool:
        self.hessians[which] = self.form(which, x)
        return True


def bfgs_update(H: Floats, s: Floats, y: Floats) -> Floats:
    """H with the curvature that gradients show along s, where it is positive."""
    with np.errstate(invalid="ignore"):
        Hs = np.einsum("mpq,mq->mp", H, s)
        model, observed = dot(s, Hs), dot(s, y)
        good = (observed > EPS * np.sqrt(dot(s, s) * dot(y, y))) & (model > 0.0) & np.isfinite(y).all(axis=1)
    updated = H.copy()
    a, b = Hs[good], y[good]
    updated[good] += b[:, :, None] * (b / observed[good, None])[:, None, :]
    updated[good] -= a[:, :, None] * (a / model[good, None])[:, None]
    return updated


class _Pair(NamedTuple):
    """Steps, changes of gradients along them, and the inverses of their products, zero for a step without effect."""

    s: Floats
    y: Floats
    inverse: Floats


class LimitedMemory:
    """L-BFGS on top of a given inverse, for problems without L1 penalties."""

    def __init__(self, inverse: Inverse) -> None:
        self.inverse, self.exact = inverse, inverse.exact
        self.pairs: deque[_Pair] = deque(maxlen=MEMORY_PAIRS)

    def step(self, which: Integers, x: Floats, g: Floats, l1: Floats) -> tuple[Floats, Floats]:
        d = -self._two_loop(which, g)
        return d, -0.5 * dot(g, d)

    def update(self, going_on: Flags, which: Integers, s: Floats, y: Floats, accepted: Flags) -> None:
        self.pairs = deque((_Pair(*(part[going_on] for part in pair)) for pair in self.pairs), maxlen=MEMORY_PAIRS)
        with np.errstate(invalid="ignore"):
            product = dot(s, y)
            good = accepted & (product > EPS * np.sqrt(dot(s, s) * dot(y, y)))
        s, y = np.where(good[:, None], s, 0.0), np.where(good[:, None], y, 0.0)
        self.pairs.append(_Pair(s, y, np.where(good, 1.0 / np.where(good, product, 1.0), 0.0)))

    def renew(self, which: Integers, x: Floats) -> bool:
        renewed = self.inverse.renew(which, x)
        if renewed:
            self.pairs.clear()
        return renewed

    def _two_loop(self, which: Integers, g: Floats) -> Floats:
        q, coefficients = g.copy(), []
        for s, y, inverse in reversed(self.pairs):
            coefficients.append(dot(s, q) * inverse)
            q -= coefficients[-1][:, None] * y
        if not self.pairs:
            return self.inverse(which, q)
        _, last, inverse = self.pairs[-1]
        q, mapped = np.split(self.inverse(np.append(which, which), np.concatenate([q, last])), 2)
        # scaled to be right along the last step
        q *= np.where(inverse > 0.0, 1.0 / np.maximum(inverse * dot(last, mapped), TINY), 1.0)[:, None]
        for (s, y, inverse), a in zip(self.pairs, reversed(coefficients), strict=True):
            q += (a - dot(y, q) * inverse)[:, None] * s
        return q


def dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("mq,mq->m", a, b))
