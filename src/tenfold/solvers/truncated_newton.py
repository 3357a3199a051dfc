"""Truncated Newton: Newton's equations solved inexactly, by conjugate gradients with products of the Hessian.

The residual of H d = -g is at most min(1/2, (|g| / |g_0|)^1/2) |g|, which makes the convergence faster than linear
(Dembo and Steihaug 1983). Where the curvature along a direction is negative, the iterate before it is the step; a line
search follows. Memory of a few vectors.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import Floats
from tenfold.objectives.objective import Objective
from tenfold.solvers import conjugate_gradient
from tenfold.solvers.line_search import LineSearch
from tenfold.solvers.loop import Step

MAX_PRODUCTS = 200  # with the Hessian, in a step
LOOSEST = 0.5  # residual of a step, in units of the gradient

Measure = Callable[[Floats, float], float]


def steps(objective: Objective, start: Floats, measure: Measure, max_products: int = MAX_PRODUCTS) -> Iterator[Step]:
    """Steps from `start`."""
    search = LineSearch(objective)
    here = search.start(start)
    first = max(float(np.linalg.norm(here.g)), 1e-300)
    while True:
        size = float(np.linalg.norm(here.g))
        d = direction(objective, here.x, here.g, min(LOOSEST, np.sqrt(size / first)), max_products)
        decrease = -float(here.g @ d)
        yield Step(here.x, here.f, measure(here.g, 0.5 * decrease))
        there = search.along(here, d, decrease) if decrease > 0.0 else None
        if there is None and size > 0.0:
            there = search.along(here, -here.g, size * size, search.length)
        if there is None:
            return
        here = there


def direction(objective: Objective, x: Floats, g: Floats, tol: float, max_products: int) -> Floats:
    """An inexact solution of H d = -g; -g where the curvature along it is not positive."""

    def product(d: Floats) -> Floats:
        return objective.hessian_product(x, d[0])[None]

    d = np.zeros_like(g)
    solver = conjugate_gradient.steps(product, -g[None], np.ones((1, len(g))), None, tol)
    for count, step in enumerate(solver):
        d = step.params[0]
        if step.measure <= 1.0 or count >= max_products:
            break
    return d if d.any() else -g
