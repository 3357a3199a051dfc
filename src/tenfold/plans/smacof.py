"""Multidimensional scaling: SMACOF from some starts, the best run, and its certificate."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Floats
from tenfold.judge import smacof as judge
from tenfold.judge.certificate import Certificate
from tenfold.solvers import smacof
from tenfold.solvers.loop import Callback, Record, Solution, Status, Step, resume, run

MAX_RESUMED = 20  # times that steps go on where one lowers the stress by more than the steps before it


@dataclass(frozen=True)
class Scaled:
    """Points (n, k), their stress, the steps of the best run, its trace and status, and the certificate."""

    embedding: Floats
    stress: float
    iterations: int
    trace: tuple[Record, ...]
    certificate: Certificate


def fit_smacof(
    D: Floats,
    starts: Iterable[Floats],
    *,
    metric: bool,
    normalised: bool,
    max_iter: int,
    eps: float,
    callback: Callback | None = None,
    report: Callable[[Solution], None] | None = None,
) -> Scaled:
    """The points of least stress of those that SMACOF reaches from the starts; `report` is told of each run."""
    best: Scaled | None = None
    steps = smacof.metric_steps if metric else smacof.nonmetric_steps
    for start in starts:
        path = steps(D, np.asarray(start, dtype=np.float64), eps)
        solution = run(path, max_iter, None, callback)
        scaled = _judge(D, solution, metric=metric, normalised=normalised, eps=eps)
        for _ in range(MAX_RESUMED):
            more = None if scaled.certificate.ok else _resume(path, solution, max_iter, callback)
            if more is None:
                break
            solution = more
            scaled = _judge(D, solution, metric=metric, normalised=normalised, eps=eps)
        if report is not None:
            report(solution)
        if best is None or scaled.stress < best.stress:
            best = scaled
        if solution.status in (Status.STOPPED, Status.INTERRUPTED):
            break
    assert best is not None
    return best


def _resume(path: Iterator[Step], solution: Solution, max_iter: int, callback: Callback | None) -> Solution | None:
    """The solution after further steps; None where its limit is reached, or it was stopped."""
    if solution.status is not Status.CONVERGED or solution.iterations >= max_iter:
        return None
    return resume(path, solution, max_iter, None, callback)


def _judge(D: Floats, solution: Solution, *, metric: bool, normalised: bool, eps: float) -> Scaled:
    X = np.asarray(solution.params)
    stress = judge.measure(D, X, metric).value(normalised)
    verdict = judge.smacof_step(
        D,
        X,
        metric=metric,
        stored=stress,
        normalised=normalised,
        tol=judge.max_decrease(eps),
        status=solution.status.value,
    )
    return Scaled(X, stress, solution.iterations, solution.trace, verdict)
