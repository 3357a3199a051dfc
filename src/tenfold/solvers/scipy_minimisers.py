"""Minimisers of SciPy in the trace of this library: its loop decides where they end."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from tenfold.arrays import Floats
from tenfold.machine import limit_after_interrupt, poll
from tenfold.objectives.objective import Objective
from tenfold.solvers.loop import Monitor, Solution, Status, Step

METHODS = ("bfgs", "nelder-mead", "powell", "trust-ncg", "trust-krylov", "trust-exact")
VALUES_ALONE = ("nelder-mead", "powell")
SMALLEST_CHANGE = 1e-13  # of x and of the function, at which methods of values alone end

Measure = Callable[[Floats, float], float]


def solve(
    objective: Objective,
    start: Floats,
    measure: Measure,
    method: str,
    monitor: Monitor,
    report: Callable[[Step], None],
) -> Solution:
    """The solution of one of `METHODS`; each step is reported."""
    begin = time.perf_counter()
    ending: list[Status] = []

    def take(x: Floats) -> Status | None:
        here = objective.read(x)
        step = Step(x.copy(), here.value, measure(here.gradient, 0.0))
        report(step)
        return monitor.take(step, time.perf_counter() - begin)

    def after_step(intermediate_result: Any) -> None:
        poll()
        status = take(np.asarray(intermediate_result.x, dtype=np.float64))
        if status is not None:
            ending.append(status)
            raise StopIteration

    status = take(start)
    if status is None:
        try:
            ended = _minimise(objective, start, method, after_step)
            if ended and method in VALUES_ALONE:
                ending.append(Status.CONVERGED)
        except KeyboardInterrupt:
            limit_after_interrupt()
            ending.append(Status.INTERRUPTED)
    return monitor.solution([*ending, status or Status.STALLED][0])


def _minimise(objective: Objective, start: Floats, method: str, after_step: Callable[[Any], None]) -> bool:
    """Run SciPy; returns whether it ended by its own rule."""
    run: Any = optimize.minimize
    options: dict[str, Any] = {"maxiter": 10**9}
    if method in VALUES_ALONE:
        name = "xatol" if method == "nelder-mead" else "xtol"
        tolerance = "fatol" if method == "nelder-mead" else "ftol"
        options |= {name: SMALLEST_CHANGE, tolerance: SMALLEST_CHANGE, "maxfev": 10**9}
        alone = run(lambda x: objective.values([x])[0], start, method=method, callback=after_step, options=options)
        return bool(alone.success)
    more: dict[str, Any] = {}
    if method == "trust-exact":
        more["hess"] = lambda x: objective.read(x, 2).hessian
    elif method.startswith("trust"):
        more["hessp"] = objective.hessian_product

    def read(x: Floats) -> tuple[float, Floats]:
        reading = objective.read(x)
        return reading.value, reading.gradient

    options["gtol"] = 0.0
    result = run(read, start, method=method, jac=True, callback=after_step, options=options, **more)
    return bool(result.success)
