"""Gradient descent: with a fixed rate, momentum, a rate that adapts itself (bold driver), or line minimisation.

Fixed rate and momentum mu take the steps

    s_k = -rate g_k + mu s_(k-1)             x_(k+1) = x_k + s_k,

and with `normalised` the first term is -rate (1 - mu) g_k: then a gradient that stays the same leads to steps of
-rate g whatever mu, and one that alternates in sign to steps smaller by (1 - mu) / (1 + mu) (Seeger 3.4.1). The bold
driver multiplies the rate by GROW after a step that decreases the function, takes back one that does not, multiplies
the rate by SHRINK, and forgets the last step.
Line minimisation takes the rate that minimises the function at x_(k+1), whatever the form; without momentum successive
gradients are orthogonal, the zig-zag of steepest descent.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import Floats
from tenfold.objectives.objective import Objective, is_finite
from tenfold.solvers.line_search import LineSearch
from tenfold.solvers.loop import Step

GROW, SHRINK = 1.1, 0.5  # of the bold driver
SMALLEST_RATE = 1e-30
POWER_STEPS = 20  # of the power method that estimates the largest curvature

Measure = Callable[[Floats, float], float]
"""From the gradient and half of the expected decrease, here zero, to the measure, at most one at the end."""


def safe_rate(objective: Objective, x: Floats) -> float:
    """1 / L for L the largest curvature at x, by the power method; 1 / |g| where there is none."""
    g = objective.read(x).gradient
    size = float(np.linalg.norm(g))
    d = g / size if size > 0.0 else np.ones(len(x)) / np.sqrt(len(x))
    largest = 0.0
    for _ in range(POWER_STEPS):
        image = objective.hessian_product(x, d)
        length = float(np.linalg.norm(image))
        if not (np.isfinite(length) and length > 0.0):
            break
        largest, d = max(largest, length), image / length
    if largest > 0.0:
        return 1.0 / largest
    return 1.0 / size if size > 0.0 else 1.0


def steps(
    objective: Objective, start: Floats, measure: Measure, rate: float, momentum: float = 0.0, *, normalised: bool
) -> Iterator[Step]:
    """Steps of a fixed rate; they end where the function is no longer finite."""
    x, s = start, np.zeros_like(start)
    size = rate * (1.0 - momentum) if normalised else rate
    while True:
        here = objective.read(x)
        if not is_finite(here):
            return
        yield Step(x, here.value, measure(here.gradient, 0.0))
        s = momentum * s - size * here.gradient
        x = x + s


def bold_driver(
    objective: Objective, start: Floats, measure: Measure, rate: float, momentum: float = 0.0, *, normalised: bool
) -> Iterator[Step]:
    """Steps whose rate adapts itself; they end where no rate decreases the function."""
    x, here, s = start, objective.read(start), np.zeros_like(start)
    while True:
        yield Step(x, here.value, measure(here.gradient, 0.0))
        while True:
            trial = momentum * s - rate * (1.0 - momentum if normalised else 1.0) * here.gradient
            there = objective.read(x + trial)
            if is_finite(there) and there.value < here.value:
                break
            rate, s = SHRINK * rate, np.zeros_like(s)
            if rate < SMALLEST_RATE or np.array_equal(x - rate * here.gradient, x):
                return
        x, here, s, rate = x + trial, there, trial, GROW * rate


def line_minimisation(
    objective: Objective, start: Floats, measure: Measure, momentum: float = 0.0, accuracy: float = 1e-3
) -> Iterator[Step]:
    """Steps with the rate that minimises the function along each."""
    search = LineSearch(objective, accuracy)
    here, s = search.start(start), np.zeros_like(start)
    first = 1.0 / max(float(np.linalg.norm(here.g)), 1e-300)
    while True:
        yield Step(here.x, here.f, measure(here.g, 0.0))
        there = None
        if momentum > 0.0 and s.any():
            base = search.start(here.x + momentum * s)
            decrease = float(here.g @ base.g)
            there = search.along(base, -here.g, decrease, first) if decrease > 0.0 else base
        if there is None or not there.f < here.f:
            there = search.along(here, -here.g, float(here.g @ here.g), first) if here.g.any() else None
        if there is None:
            return
        s, here, first = there.x - here.x, there, search.length
