"""Stochastic gradients in the space of a kernel: blocks of the kernel, and the passes. Judging would cost more than a
pass, and is left to `tenfold.certify`.
"""

from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, Integers, NotFinite, take_rows
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.plans.kernel_risk import OVERFLOW, SINGLE_OUTPUT, KernelFit, KernelTask, spread
from tenfold.solvers.kernel_sgd import Descent, Pace

KEPT_VALUES = 1 << 25  # of a kernel matrix that is kept: 256 MiB
ON_DEMAND = "Stochastic gradients end after max_iter passes: call tenfold.certify(model, X, y) for the duality gap."


def descend(
    task: KernelTask,
    *,
    passes: int,
    batch: int,
    rule: str,
    first: float | None,
    average: bool,
    random: np.random.RandomState | None,
) -> KernelFit:
    """So many passes in random orders, or as samples are; first: the length of the first step, None for one over the
    largest k(x, x) and the largest curvature of the loss.
    """
    if task.loss.multi_output and task.loss.nonsmooth:
        raise ValueError(SINGLE_OUTPUT)
    index, n = task.index, len(task.y)
    whole = len(index) == n
    X: Array = task.X if whole else _take_samples(task, index)
    weight = np.ones(len(index)) if task.weight is None else task.weight[index]
    K = _evaluate(task, X, None) if len(index) ** 2 <= KEPT_VALUES or task.samples.given else None

    def block(some: Integers) -> Floats:
        return K[some] if K is not None else _evaluate(task, take_rows(X, some), X)

    bend = task.loss.lipschitz if np.isfinite(task.loss.lipschitz) else 1.0
    largest = float(np.max(task.samples.diagonal(), initial=0.0)) or 1.0
    pace = Pace(rule, 1.0 / (bend * largest) if first is None else first, task.strength)
    s = (weight / np.mean(weight))[:, None]
    descent = Descent(task.loss, task.y[index], s, task.outputs, task.intercept, pace, block)
    for k in range(passes):
        order = np.arange(len(index)) if random is None else random.permutation(len(index))
        descent.run_pass(order, batch, average=average and 2 * k >= passes - 1)
    c, b = descent.result
    kind = "gap" if task.loss.convex else "stationarity"
    certificate = Certificate(
        kind, np.inf, 1.0, RULES[kind].tol, 0.0, np.inf, status=NOT_JUDGED, parts=(np.inf,), note=ON_DEMAND
    )
    coef = spread(c.astype(task.dtype), index, n)
    return KernelFit(coef, b.astype(task.dtype), None, "stochastic gradients", certificate, passes, ())


def _take_samples(task: KernelTask, index: Integers) -> Any:
    X = take_rows(task.X, index)
    return X[:, index] if task.samples.given else X


def _evaluate(task: KernelTask, X: Array, Z: Array | None) -> Floats:
    K = np.asarray(X if task.samples.given else task.kernel.block(X, Z), dtype=np.float64)
    if not np.isfinite(K).all():
        raise NotFinite(OVERFLOW)
    return K
