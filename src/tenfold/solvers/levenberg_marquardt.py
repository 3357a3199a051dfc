"""Levenberg-Marquardt for half the sum of squares of residuals (Levenberg 1944; Marquardt 1963; More 1978).

A step minimises |r + J d|^2 + level |D d|^2, D the largest lengths of the columns of J so far: least squares of the
residuals with a penalty, by QR of J itself. The level shrinks where the decrease is as the model expects and grows
where there is none (Nielsen 1999). With level 0 it is the method of Gauss and Newton.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy import linalg as la

from tenfold.arrays import EPS, Floats
from tenfold.machine import one_blas_thread
from tenfold.objectives.function import SumOfSquares
from tenfold.solvers.loop import Step

FIRST = 1e-3  # level at the start

Measure = Callable[[Floats, float], float]


def steps(squares: SumOfSquares, start: Floats, measure: Measure) -> Iterator[Step]:
    """Steps from `start`; they end where rounding hides any decrease."""
    x, r = start, squares.residuals(start)
    level, growth = FIRST, 2.0
    scale = np.zeros(len(x))
    while True:
        J = squares.jacobian(x, r)
        value, g = 0.5 * float(r @ r), J.T @ r
        scale = np.maximum(scale, np.linalg.norm(J, axis=0))
        D = np.where(scale > 0.0, scale, 1.0)
        yield Step(x, value, measure(g, value))
        while True:
            d = _solve(J, r, np.sqrt(level) * D)
            expected = -float(g @ d) - 0.5 * float(np.sum((J @ d) ** 2))
            after = squares.residuals(x + d)
            gained = value - 0.5 * float(after @ after)
            if np.isfinite(gained) and expected > 0.0 and gained > 1e-4 * expected:
                break
            level, growth = growth * level, 2.0 * growth
            if not expected > EPS * EPS * value or not level < 1e30 or np.array_equal(x + d, x):
                return
        ratio = gained / expected
        level, growth = level * max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3), 2.0
        level = max(level, 1e-16)
        x, r = x + d, after


def _solve(J: Floats, r: Floats, damping: Floats) -> Floats:
    stacked = np.vstack([J, np.diag(damping)])
    with one_blas_thread:
        return -np.asarray(la.lstsq(stacked, np.concatenate([r, np.zeros(len(damping))]), lapack_driver="gelsy")[0])
