"""The outer loop of iterative solvers: stopping, trace, time limit, callback and interruption."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from math import inf
from typing import Any, NamedTuple

from tenfold.machine import interrupted, limit_after_interrupt, poll


class Status(Enum):
    """How a fit ended."""

    SOLVED = "solved"
    CONVERGED = "converged"
    STALLED = "stalled"
    MAX_ITER = "iteration limit"
    REQUESTED_STEPS = "requested steps"
    TIME_LIMIT = "time limit"
    STOPPED = "stopped by a callback"
    INTERRUPTED = "interrupted"
    NO_MAXIMUM = "no maximum"
    NO_IMPROVEMENT = "no improvement"
    CYCLING = "cycling"
    DIVERGED = "diverged"

    @property
    def message(self) -> str:
        """A sentence that says what happened and what to do."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.SOLVED: "The problem was solved directly; there is nothing to iterate.",
    Status.CONVERGED: "The stopping rule was met.",
    Status.STALLED: (
        "Rounding prevents further progress; the certificate tells how good the result is. Scale the columns "
        "if it is not ok."
    ),
    Status.MAX_ITER: (
        "Objective did not converge. You might want to increase the number of iterations, max_iter, to scale the "
        "columns, or to penalise more."
    ),
    Status.REQUESTED_STEPS: (
        "The requested number of steps was taken before the components had converged. Ask for more, n_iter, or for "
        "algorithm='arpack', which goes on until they are certified."
    ),
    Status.TIME_LIMIT: "The time limit was reached before the stopping rule was met. Allow more time.",
    Status.STOPPED: "A callback ended the fit before the stopping rule was met.",
    Status.INTERRUPTED: (
        "The fit was interrupted; the model holds the last complete step. Fit again for a converged one."
    ),
    Status.NO_MAXIMUM: (
        "The classes can be separated, so the likelihood has no maximum: weights grow without bound. Use a "
        "penalty (a finite C)."
    ),
    Status.NO_IMPROVEMENT: (
        "Several passes in a row did not improve the loss (or the validation score) by tol, and mistakes remain. Lower "
        "tol, or take a class whose loss has a minimum, such as LogisticRegression."
    ),
    Status.CYCLING: (
        "The weights came back to where they were after an earlier pass, so the updates repeat for ever: in exact "
        "arithmetic that happens only to classes that no weights separate. tenfold.separability(X, y) looks for a "
        "proof."
    ),
    Status.DIVERGED: (
        "The objective grew above that of the start: the steps are too long. The best point is returned. Lower the "
        "learning rate, or take a method that searches along its steps."
    ),
}


def measure_violation(violation: float, goal: float) -> float:
    """A violation in units of the goal; without a goal only zero is converged."""
    return violation / goal if goal > 0.0 else (0.0 if violation == 0.0 else inf)


class Step(NamedTuple):
    """An iterate of a solver: parameters of its own kind (weights and intercepts, components, a mixture), the
    objective, and the measure of convergence, at most one where it has converged.
    """

    params: Any
    objective: float
    measure: float


@dataclass(frozen=True)
class Record:
    """A line of the trace."""

    objective: float
    measure: float
    seconds: float


@dataclass(frozen=True)
class Solution:
    """What a solver returns; the judge looks at `params` alone."""

    params: Any
    status: Status
    trace: tuple[Record, ...] = ()

    @property
    def iterations(self) -> int:
        """Steps after the start."""
        return max(0, len(self.trace) - 1)


Callback = Callable[[Record, Any], bool]
"""Called after every step with its record and parameters; returning True ends the loop."""


class Monitor:
    """The stopping rules of the loop, and the trace that they are applied to."""

    def __init__(self, max_iter: int, time_limit: float | None = None, callback: Callback | None = None) -> None:
        self.max_iter, self.time_limit, self.callback = max_iter, time_limit, callback
        self.trace: list[Record] = []
        self.params: Any = None

    def take(self, step: Step, seconds: float) -> Status | None:
        """Take a step (the first is the start); returns how the loop ends where it does."""
        self.params = step.params
        self.trace.append(Record(step.objective, step.measure, seconds))
        if self.callback is not None and len(self.trace) > 1 and self.callback(self.trace[-1], self.params):
            return Status.STOPPED
        if step.measure <= 1.0:
            return Status.CONVERGED
        if len(self.trace) > self.max_iter:
            return Status.MAX_ITER
        if self.time_limit is not None and seconds > self.time_limit:
            return Status.TIME_LIMIT
        return None

    def solution(self, status: Status) -> Solution:
        """What was reached."""
        return Solution(self.params, status, tuple(self.trace))


def run(
    steps: Iterable[Step], max_iter: int, time_limit: float | None = None, callback: Callback | None = None
) -> Solution:
    """Take steps (the first is the start) until the measure is at most one, a limit is reached, or a callback stops it.

    A solver that can make no further progress ends its iteration.
    """
    begin = time.perf_counter()
    monitor = Monitor(max_iter, time_limit, callback)
    status: Status | None = None
    try:
        for step in steps:
            poll()
            status = monitor.take(step, time.perf_counter() - begin)
            if status is not None:
                break
    except KeyboardInterrupt:
        if monitor.params is None:
            raise
        limit_after_interrupt()
        status = Status.INTERRUPTED
    if monitor.params is None:
        raise RuntimeError("the solver took no step at all")
    return monitor.solution(status or Status.STALLED)


def map_params(path: Iterable[Step], to: Callable[[Any], Any]) -> Iterator[Step]:
    """The same steps with their parameters mapped."""
    for step in path:
        yield step._replace(params=to(step.params))


def resume(
    path: Iterator[Step], solution: Solution, max_iter: int, time_limit: float | None, callback: Callback | None
) -> Solution | None:
    """The solution after further steps of `path`, with the trace of all; None where there are none, and after an
    interruption.
    """
    if interrupted():
        return None
    try:
        ahead = next(path, None)
    except KeyboardInterrupt:
        limit_after_interrupt()
        return replace(solution, status=Status.INTERRUPTED)
    if ahead is None:
        return None
    past = solution.trace[-1]
    here = Step(solution.params, past.objective, inf)
    left = None if time_limit is None else time_limit - past.seconds
    more = run(chain([here, ahead], path), max_iter - solution.iterations, left, callback)
    later = tuple(replace(record, seconds=record.seconds + past.seconds) for record in more.trace[1:])
    return Solution(more.params, more.status, solution.trace + later)
