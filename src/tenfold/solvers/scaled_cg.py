"""Scaled conjugate gradients (Moller 1993): conjugate directions whose step length needs no line search.

The length along d is -g'd / (d'H d + lambda |d|^2), from one product with the Hessian; lambda >= 0 makes the curvature
positive, and grows or shrinks with the ratio of the decrease to that of the quadratic model, as in the method of
Levenberg and Marquardt. A step costs a product and a reading.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import Floats
from tenfold.objectives.objective import Objective, is_finite
from tenfold.solvers.loop import Step

FIRST = 1e-6  # lambda at the start, in units of the curvature along the first direction
POOR, GOOD = 0.25, 0.75  # ratios of the decrease to that of the model
MAX_FAILURES = 60  # steps in a row that may fail

Measure = Callable[[Floats, float], float]


def steps(objective: Objective, start: Floats, measure: Measure) -> Iterator[Step]:
    """Steps from `start`; they end where rounding hides any decrease."""
    x, here = start, objective.read(start)
    d, level, age, failures = -here.gradient, 0.0, 0, 0
    curvature: float | None = None
    while True:
        slope, square = float(here.gradient @ d), float(d @ d)
        if failures == 0:
            yield Step(x, here.value, measure(here.gradient, -0.5 * slope))
        if not square > 0.0 or failures > MAX_FAILURES:
            return
        if curvature is None:
            curvature = float(d @ objective.hessian_product(x, d)) / square
            level = max(level, FIRST * abs(curvature))
        bend = curvature + level
        if not bend > 0.0:  # the model has no minimum along d
            level = 2.0 * (level - bend) or 1.0
            bend = curvature + level
        length = -slope / (bend * square)
        there = objective.read(x + length * d)
        expected = -0.5 * length * slope
        ratio = (here.value - there.value) / expected if is_finite(there) and expected > 0.0 else -1.0
        if abs(here.value - there.value) <= objective.noise * abs(here.value) and is_finite(there):
            # values differ by rounding alone: the slope decides
            ratio = 1.0 if abs(float(there.gradient @ d)) < abs(slope) else -1.0
        if ratio < POOR:
            level = max(4.0 * level, abs(curvature) * FIRST) + bend * (1.0 - max(ratio, -1.0))
        elif ratio > GOOD:
            level *= 0.25
        if ratio <= 0.0:
            failures += 1
            if failures == MAX_FAILURES // 2:
                d, age, curvature = -here.gradient, 0, None
            continue
        before = here.gradient
        x, here, failures, age, curvature = x + length * d, there, 0, age + 1, None
        if age >= len(x):
            d, age = -here.gradient, 0
            continue
        beta = float(here.gradient @ (here.gradient - before)) / -slope
        d = -here.gradient + beta * d
        if not float(here.gradient @ d) < 0.0 or not np.isfinite(d).all():
            d, age = -here.gradient, 0
