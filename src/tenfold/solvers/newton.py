"""Newton's method for smooth generalised linear models of one target (iteratively re-weighted least squares), with a line search.

Each step solves H d = -g, H the Hessian of the penalised mean loss in (w, b), and takes the largest of 1, 1/2, 1/4, ... that gives
sufficient descent. One pass over the rows a step, p x p memory.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread
from tenfold.problems import Glm, evaluate
from tenfold.rows import Rows
from tenfold.solvers.loop import Step
from tenfold.stats import Params

Measure = Callable[[Floats, float], float]
"""From the gradient (p + 1,) and the expected fall of the objective to the number that the stopping rule compares with one."""


def steps(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: Measure) -> Iterator[Step]:
    """Steps in the coordinates z = (x - shift).w + b; the params given and yielded are in those coordinates."""
    params = start
    here = evaluate(problem, rows, params, 2, shift)
    while True:
        g = here.gradient[0]
        direction = newton_direction(here.hessian, g)
        fall = -float(g @ direction)
        yield Step(params, float(here.value[0]), measure(g, 0.5 * fall))
        length = 1.0
        while True:
            s = length * direction
            new = Params(params.coef + s[None, :-1], params.intercept + s[-1:])
            there = evaluate(problem, rows, new, 2, shift)
            if there.value[0] <= here.value[0] - 1e-4 * length * fall:
                break
            if length < 1e-3 or fall <= 1e-15 * abs(here.value[0]):
                return  # rounding: no step makes the objective smaller
            length *= 0.5
        params, here = new, there


def newton_direction(hessian: Floats | None, gradient: Floats) -> Floats:
    """-H^-1 g by Cholesky of the equilibrated Hessian; a singular one is lifted by the least power of ten that lets it pass."""
    assert hessian is not None
    d = np.sqrt(np.maximum(np.diag(hessian), np.finfo(np.float64).tiny))
    scaled = hessian / d[:, None] / d
    lift = 0.0
    while True:
        try:
            with one_blas_thread:
                factor = cho_factor(scaled + lift * np.eye(len(d)))
                return np.asarray(-cho_solve(factor, gradient / d) / d)
        except LinAlgError:
            lift = max(1e-14, 10.0 * lift)
