"""Paths of logistic models along the strength of the penalty, for the folds of a cross-validation.

Each model starts from the one before it. Two classes and few columns with an L2 penalty share curvature too: the loss's
Hessian at one penalty serves the next ones, whose own strength is put on its diagonal, as the map under L-BFGS, so that
a few passes with gradients are enough; it is formed anew where they are not. Several folds run at once, each on its
share of the threads, and read their rows from the same X.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.losses import Logistic
from tenfold.machine import sharing, threads
from tenfold.penalties import L2, ElasticNet
from tenfold.plans.frames import moved
from tenfold.plans.logistic import StoppingRule, middle_of, minimise
from tenfold.problems import Glm, evaluate
from tenfold.solvers import lbfgs, newton
from tenfold.stats import Params

SHARED_COLUMNS = 512
"""Up to so many columns a Hessian is shared along the path."""

PATIENCE = 6
"""So many steps on top of an old Hessian, then a new one."""

Result = TypeVar("Result")


class Along(NamedTuple):
    """Parameters and iterations for each penalty, and the passes over the rows that they took."""

    params: list[Params]
    iterations: list[int]
    passes: int


def along(
    rows: Rows,
    penalties: Sequence[L2 | ElasticNet],
    intercept: bool,
    *,
    classes: int,
    solver: str,
    tol: float,
    max_iter: int,
) -> Along:
    """The models of all penalties, best from the strongest to the weakest."""
    few = rows.shape[1] <= SHARED_COLUMNS and not rows.sparse and rows.shape[0] > rows.shape[1]
    if classes == 2 and few and all(isinstance(penalty, L2) and np.max(penalty.strength) > 0 for penalty in penalties):
        return _sharing_curvature(rows, [float(np.max(p.strength)) for p in penalties], intercept, tol, max_iter)
    found, counts, params = [], [], None
    for penalty in penalties:
        params, count = minimise(
            rows, penalty, intercept, classes=classes, solver=solver, tol=tol, max_iter=max_iter, start=params
        )
        found.append(params)
        counts.append(count)
    return Along(found, counts, sum(counts) + len(counts))


def _sharing_curvature(rows: Rows, strengths: list[float], intercept: bool, tol: float, max_iter: int) -> Along:
    p = rows.shape[1]
    shift = middle_of(rows, intercept)
    params, loss = Params(np.zeros((1, p)), np.zeros(1)), Logistic()
    found, counts, passes = [], [], 0
    curvature: Floats | None = None
    for strength in strengths:
        problem, rule, count, done = Glm(loss, L2(strength), intercept), StoppingRule(strength, tol), 0, False
        while not done and count < max_iter:
            if curvature is None:
                curvature = evaluate(Glm(loss, L2(0.0), intercept), rows, params, 2, shift).hessian
                passes += 1
            assert curvature is not None
            H = curvature.copy()
            H[np.arange(p), np.arange(p)] += strength
            walk = lbfgs.Points(problem, rows, shift)
            taken = 0
            for taken, step in enumerate(lbfgs.steps(walk, params, newton.factor(H, shift).solve, rule)):
                params, done = step.params, step.measure <= 1.0
                if done or taken == PATIENCE or count + taken >= max_iter:
                    break
            else:
                done = True  # rounding: there is nothing to gain
            passes += taken + 1
            count += taken
            curvature = curvature if done else None
        found.append(moved(params, -shift))
        counts.append(count)
    return Along(found, counts, passes)


def at_once(work: Callable[[Any], Result], items: Sequence[Any], entries: int) -> list[Result]:
    """work(item) of all, several at once where there are threads; results in their order."""
    workers = min(len(items), threads(entries))
    if workers < 2:
        return [work(item) for item in items]

    def shared(item: Any) -> Result:
        with sharing:
            return work(item)

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(shared, items))
