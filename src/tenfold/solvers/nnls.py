"""Non-negative least squares from `Moments`: an active set method on the Gram matrix (Lawson and Hanson 1974, Bro and
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
    """Steps for one target, each freeing one more weight; the measure is the largest violation of the optimality
    conditions in units of rounding.
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
    # weights that were freed and returned to zero at once: their gradient is rounding
    rejected = np.zeros(p, dtype=bool)
    with one_blas_thread:
        while True:
            gradient = np.where(free | rejected, 0.0, c - A @ v) / rounding
            with np.errstate(over="ignore"):
                coef = np.ldexp(v, moments.exponent[p + target] - scales.astype(np.int32))[None]
            offset = moments.target_mean[target : target + 1] - coef @ moments.mean if intercept else np.zeros(1)
            objective = float(0.5 * yy[target] + 0.5 * v @ (A @ v) - c @ v)
            yield Step(Params(coef, offset), objective, float(np.max(gradient, initial=0.0)))
            entering = int(np.argmax(gradient))
            free[entering] = True
            v = _minimise_free(A, c, v, free)
            rejected = rejected if not free[entering] else np.zeros(p, dtype=bool)
            rejected[entering] = not free[entering]


def _minimise_free(A: Floats, c: Floats, v: Floats, free: NDArray[np.bool_]) -> Floats:
    """Minimise over the free weights; go there until a weight would turn negative, fix it at zero, and repeat."""
    while True:
        minimum = np.zeros_like(v)
        minimum[free] = lstsq(A[np.ix_(free, free)], c[free])[0]
        nonpositive = free & (minimum <= 0.0)
        if not nonpositive.any():
            return minimum
        where = np.flatnonzero(nonpositive)
        decrease = v[where] - minimum[where]
        ratio = np.where(decrease > 0, v[where] / np.where(decrease > 0, decrease, 1.0), 0.0)
        v = v + float(ratio.min()) * (minimum - v)
        free[where[ratio <= ratio.min()]] = False
        v = np.where(free, np.maximum(v, 0.0), 0.0)
