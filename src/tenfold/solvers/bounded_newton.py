"""Newton's method in a box, with a trust region, for few parameters and a model of the curvature.

Minimises F(x) over low <= x <= high. A reading has the value, the gradient g and a positive semidefinite model B of the
Hessian, or none: then B is built up by damped BFGS updates. A step minimises g's + 1/2 s'B s over the box and
|s_j| <= radius exactly, by an active set; it is taken where it decreases F, and the radius follows the ratio of the
decrease to that of the model (Conn, Gould and Toint, Trust-region methods, 2000). The decrease that the model expects
without the radius and the largest projected gradient, each in units of its tolerance, measure convergence.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import EPS, Floats
from tenfold.linear_algebra import cholesky, eigh, solve_lower
from tenfold.solvers.loop import Step

FIRST_RADIUS, SMALLEST_RADIUS = 2.0, 1e-9  # of a step; parameters are logarithms

ACCEPTED, POOR, GOOD = 1e-4, 0.25, 0.75  # ratios of the decrease to that of the model

LOCAL = 0.2  # longest step, in logarithms, that says something about the Hessian at its end

SMALLEST_CURVATURE = 1e-5  # of an eigenvalue of B, in units of `scale`

NOISE = 64.0 * EPS  # relative rounding of F, below which a change says nothing


class Reading(NamedTuple):
    """F, its gradient and a model of its Hessian, None where there is none; F is infinite outside its domain."""

    value: float
    gradient: Floats
    curvature: Floats | None


Read = Callable[[Floats], Reading]


def steps(read: Read, start: Floats, bounds: Floats, scale: float, tol: float, gradient_tol: float) -> Iterator[Step]:
    """Steps from `start`, (p,), within `bounds`, (p, 2). `scale` is the size of a curvature that is neither large nor
    small; the measure is the larger of the expected decrease in units of `tol` and of the largest
    entry of the projected gradient in units of `gradient_tol`.
    """
    low, high = bounds.T
    x = np.clip(start, low, high)
    here, radius = read(x), FIRST_RADIUS
    B, correction = _first_model(here, scale), np.zeros((len(x), len(x)))
    while True:
        free = minimise_in_box(here.gradient, B, low - x, high - x)
        slope = _project_gradient(here.gradient, x, low, high)
        yield Step(x, here.value, max(_decrease(here.gradient, B, free) / tol, slope / gradient_tol))
        s = minimise_in_box(here.gradient, B, np.maximum(low - x, -radius), np.minimum(high - x, radius))
        there, expected = read(x + s), _decrease(here.gradient, B, s)
        gained = here.value - there.value
        ratio = gained / expected if expected > 0.0 and np.isfinite(gained) else -1.0
        if expected <= NOISE * abs(here.value):
            return
        length = float(np.max(np.abs(s)))
        if ratio < POOR:
            radius = 0.25 * length
        elif ratio > GOOD and length > 0.99 * radius:
            radius *= 2.0
        if np.isfinite(there.value):
            B, correction = _learn(B, correction, s, here, there, scale, taken=ratio > ACCEPTED)
        if ratio > ACCEPTED:
            x, here = x + s, there
        elif radius < SMALLEST_RADIUS:
            return


def _first_model(reading: Reading, scale: float) -> Floats:
    if reading.curvature is not None:
        return _floor(reading.curvature, scale)
    return np.eye(len(reading.gradient)) * max(float(np.linalg.norm(reading.gradient)), SMALLEST_CURVATURE * scale)


def _learn(
    B: Floats, correction: Floats, s: Floats, here: Reading, there: Reading, scale: float, *, taken: bool
) -> tuple[Floats, Floats]:
    """The model for the next step and the correction of the readings' models, from the gradients at both ends of s."""
    change = there.gradient - here.gradient
    model = there.curvature if taken else here.curvature
    if model is None:
        return _update(B, s, change), correction
    if there.curvature is None or here.curvature is None:
        return B, correction
    if float(np.max(np.abs(s))) > LOCAL:
        return _floor(model, scale), np.zeros_like(B)
    # the symmetric update of rank one, of the part that the mean of both models does not explain
    missed = change - 0.5 * (here.curvature + there.curvature) @ s - correction @ s
    size = float(missed @ s)
    if abs(size) > 1e-8 * float(np.linalg.norm(missed) * np.linalg.norm(s)):
        correction = correction + np.outer(missed, missed) / size
    return _floor(model + correction, scale), correction


def _floor(B: Floats, scale: float) -> Floats:
    """B with its small eigenvalues raised."""
    values, vectors = eigh(B)
    return (vectors * np.maximum(values, SMALLEST_CURVATURE * scale)) @ vectors.T


def _update(B: Floats, s: Floats, change: Floats) -> Floats:
    """The damped BFGS update, which stays positive definite (Powell 1978)."""
    Bs = B @ s
    along, curvature = float(s @ Bs), float(s @ change)
    if not along > 0.0:
        return B
    if curvature < 0.2 * along:
        change = change + (0.8 * along / (along - curvature)) * (Bs - change)
        curvature = float(s @ change)
    return B - np.outer(Bs, Bs) / along + np.outer(change, change) / curvature


def _project_gradient(g: Floats, x: Floats, low: Floats, high: Floats) -> float:
    """The largest entry of the gradient, without those that point out of the box at a bound."""
    outward = ((x <= low) & (g > 0.0)) | ((x >= high) & (g < 0.0))
    return float(np.max(np.abs(np.where(outward, 0.0, g)), initial=0.0))


def _decrease(g: Floats, B: Floats, s: Floats) -> float:
    return -float(g @ s + 0.5 * (s @ B @ s))


def minimise_in_box(g: Floats, B: Floats, low: Floats, high: Floats) -> Floats:
    """The s in a box about zero that minimises g's + 1/2 s'B s for a positive definite B, by a primal active set."""
    p = len(g)
    s = np.zeros(p)
    fixed = (low >= high) | ((low >= 0.0) & (g > 0.0)) | ((high <= 0.0) & (g < 0.0))
    for _ in range(10 * p + 10):
        inside = np.flatnonzero(~fixed)
        target = s.copy()
        if inside.size:
            # equal to the solution with the entries at their bounds held
            slope = (g + B @ np.where(fixed, s, 0.0))[inside]
            target[inside] = -_solve(B[np.ix_(inside, inside)], slope)
        step, blocking = _first_bound(s, target, low, high)
        s = s + step * (target - s)
        if blocking is not None:
            s[blocking] = low[blocking] if target[blocking] < s[blocking] else high[blocking]
            fixed[blocking] = True
            continue
        gradient = g + B @ s
        wrong = np.where(fixed & (low < high), np.where(s <= low, -gradient, gradient), 0.0)
        if not fixed.any() or np.max(wrong) <= 1e-12 * float(np.max(np.abs(g), initial=0.0)):
            return s
        fixed[int(np.argmax(wrong))] = False
    return s


def _solve(B: Floats, g: Floats) -> Floats:
    L = cholesky(B)
    if L is None:  # of rounding, as the eigenvalues of B have a floor
        values, vectors = eigh(B)
        return np.asarray(vectors @ ((g @ vectors) / np.maximum(values, EPS * values[-1])))
    return solve_lower(L, solve_lower(L, g[:, None]), transposed=True)[:, 0]


def _first_bound(s: Floats, target: Floats, low: Floats, high: Floats) -> tuple[float, int | None]:
    """How far from s to target one may go in the box, and the entry that stops it."""
    beyond: NDArray[np.bool_] = (target < low) | (target > high)
    if not beyond.any():
        return 1.0, None
    places = np.flatnonzero(beyond)
    bound = np.where(target[places] < low[places], low[places], high[places])
    fractions = (bound - s[places]) / (target[places] - s[places])
    k = int(np.argmin(fractions))
    return float(np.clip(fractions[k], 0.0, 1.0)), int(places[k])
