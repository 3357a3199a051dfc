"""Least squares with weights >= 0 from `Moments`: an active set on the Gram matrix (Lawson and Hanson 1974, Bro and
de Jong 1997).

Minimises (1/2) v'Av - c'v over v >= 0, A the equilibrated normal matrix; finite, exact up to rounding.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from tenfold.arrays import Floats, Integers
from tenfold.machine import one_blas_thread
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params
from tenfold.stats.moments import Moments


def steps(moments: Moments, scales: Integers, alpha: float, target: int, intercept: bool) -> Iterator[Step]:
    """Steps for one target, each with one more weight allowed to be positive; the measure is the worst violation
    left, in units of rounding.
    """
    p = moments.features
    S, C, yy = moments.about(origin=not intercept)
    half = (scales - moments.exponent[:p]).astype(np.int32)
    A = np.ldexp(S, -(half[:, None] + half)) + np.diag(np.ldexp(alpha, -2 * scales.astype(np.int32)))
    c = np.ldexp(C[:, target], -half)
    v = np.zeros(p)
    free = np.zeros(p, dtype=bool)
    rounding = (
        10 * p * np.finfo(np.float64).eps * np.sqrt(yy[target] * np.maximum(np.diag(A), np.finfo(np.float64).tiny))
    )
    rounding = np.where(rounding > 0, rounding, 1.0)
    refused = np.zeros(p, dtype=bool)  # weights that were freed and fell back at once: their pull is rounding
    with one_blas_thread:
        while True:
            pull = np.where(free | refused, 0.0, c - A @ v) / rounding
            with np.errstate(over="ignore"):
                coef = np.ldexp(v, moments.exponent[p + target] - scales.astype(np.int32))[None]
            offset = moments.target_mean[target : target + 1] - coef @ moments.mean if intercept else np.zeros(1)
            objective = float(0.5 * yy[target] + 0.5 * v @ (A @ v) - c @ v)
            yield Step(Params(coef, offset), objective, float(np.max(pull, initial=0.0)))
            next_one = int(np.argmax(pull))
            free[next_one] = True
            v = _inside(A, c, v, free)
            refused = refused if not free[next_one] else np.zeros(p, dtype=bool)
            refused[next_one] = not free[next_one]


def _inside(A: Floats, c: Floats, v: Floats, free: NDArray[np.bool_]) -> Floats:
    """Minimise over the free weights; walk there and fix each weight that would turn negative."""
    while True:
        goal = np.zeros_like(v)
        goal[free] = lstsq(A[np.ix_(free, free)], c[free])[0]
        falling = free & (goal <= 0.0)
        if not falling.any():
            return goal
        where = np.flatnonzero(falling)
        fall = v[where] - goal[where]
        ratio = np.where(fall > 0, v[where] / np.where(fall > 0, fall, 1.0), 0.0)
        v = v + float(ratio.min()) * (goal - v)
        free[where[ratio <= ratio.min()]] = False
        v = np.where(free, np.maximum(v, 0.0), 0.0)
