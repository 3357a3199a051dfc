"""Plans of perceptrons: passes until there is no mistake, no improvement, or a cycle; then mistakes are counted."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, Floats, is_sparse
from tenfold.data import Block, MemoryRows, Rows, weights_of
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.judge.mistakes import Scores, count, count_votes, cycle_proves
from tenfold.plans import sgd
from tenfold.plans.result import round_to_dtype
from tenfold.problems import Separation
from tenfold.solvers.loop import Callback, Record, Status, run
from tenfold.solvers.perceptron import Course, Learner, Memory, Pass, Updates
from tenfold.stats.derivatives import Params, Total, forward
from tenfold.stats.perceptron_votes import Voters, vote_difference

MAX_SEEN = 2.0**52  # samples seen beyond which a count in float64 is not exact
MAX_JUDGED_VOTES = 1 << 26  # votes, models times samples, up to which a fit judges them

PROVED = "The weights came back after a pass, and the rows that were mistakes in between add up to zero: no weights "
PROVED += "separate these classes."


@dataclass(frozen=True)
class PerceptronFit:
    """The result of a fit: parameters as stored, and those after the last sample, for warm starts; the certificate; the
    trace of passes; mistakes, where counted, and updates in their order, where recorded; and the state of the mean or
    the votes.
    """

    params: Params
    last: Params
    certificate: Certificate
    trace: tuple[Pass | Record, ...]
    iterations: int
    mistakes: int | None
    updates: Updates | None = None
    memory: Memory | None = None
    voters: Voters | None = None


@dataclass(frozen=True)
class Limits:
    """Limits on passes and seconds, and the callback."""

    passes: int
    seconds: float | None = None
    callback: Callback | None = None


def fit_last(
    problem: Separation, rows: Rows, start: Params, course: Course, limits: Limits, dtype: Any, *, judge: bool = True
) -> PerceptronFit:
    """Fit the weights after the last sample; those of a part are not judged."""
    learner, status, iterations = _run(problem, rows, start, course, limits, None)
    params = round_to_dtype(learner.params, dtype)
    certificate = _certify(learner, status, params, dtype) if judge else _not_judged()
    return _fit(learner, params, certificate, iterations)


@dataclass(frozen=True)
class Penalty:
    """alpha ((1 - ratio) / 2 ||w||^2 + ratio ||w||_1)."""

    alpha: float
    ratio: float


def fit_penalised(
    problem: Separation,
    rows: Rows,
    start: Params,
    course: Course,
    limits: Limits,
    dtype: Any,
    penalty: Penalty,
    held: sgd.Held | None = None,
    skip: Array | None = None,
) -> PerceptronFit:
    """Fit one-vs-rest with a penalty, by stochastic gradient descent."""
    rule = sgd.Rule(
        "perceptron",
        penalised=True,
        alpha=penalty.alpha,
        l1_ratio=penalty.ratio,
        eta0=course.eta,
        intercept=problem.intercept,
    )
    own = range(problem.targets) if problem.targets > 1 else (1,)
    seeds = course.seeds or [None] * len(own)
    targets = [sgd.Target(k, seed=seed) for k, seed in zip(own, seeds, strict=True)]
    fitted = sgd.fit(
        rows,
        rule,
        targets,
        sgd.start_at(start.coef, start.intercept),
        max_iter=limits.passes,
        patience=sgd.Patience(course.tol, course.patience),
        held=held,
        skip=skip,
        time_limit=limits.seconds,
        callback=limits.callback,
    )
    params = round_to_dtype(fitted.params, dtype)
    certificate = count(problem, rows, params, status=fitted.status.value, dtype=dtype)
    return PerceptronFit(params, fitted.state.last, certificate, fitted.trace, fitted.iterations or 0, None)


def fit_mean(
    problem: Separation, rows: Rows, start: Params, course: Course, limits: Limits, dtype: Any, memory: Memory
) -> PerceptronFit:
    """Fit the mean of the weights after each sample. After a pass without mistakes further passes only move the mean
    towards the last weights: as many are added as the mean needs to make no mistake.
    """
    learner, status, iterations = _run(problem, rows, start, course, limits, memory)
    last = learner.params
    while status is Status.CONVERGED and _has_mistake(
        problem, rows, partial(forward, params=learner.averaging_state().mean(last))
    ):
        status = _finish_by_staying(learner)
    params = round_to_dtype(learner.averaging_state().mean(last), dtype)
    return _fit(learner, params, _certify(learner, status, params, dtype), iterations)


def fit_votes(
    problem: Separation,
    rows: Rows,
    start: Params,
    course: Course,
    limits: Limits,
    dtype: Any,
    seen: float,
    before: Voters | None,
) -> PerceptronFit:
    """Fit the weighted votes of all weights, each weighted by the samples that it survived; `seen` samples and the
    models `before` come from an earlier fit. Votes are not judged where that would cost much more than the fit.
    """
    zero = Memory(np.zeros_like(start.coef), np.zeros_like(start.intercept), seen)
    learner, status, iterations = _run(problem, rows, start, replace(course, keep=True), limits, zero)
    voters = _voters(problem, learner, before, seen)
    while status is Status.CONVERGED and _has_mistake(problem, rows, partial(_ballot, voters)):
        status = _finish_by_staying(learner)
        voters = _voters(problem, learner, before, seen)
    certificate = _not_judged()
    if rows.shape[0] * len(voters.votes) <= MAX_JUDGED_VOTES:
        certificate = count_votes(problem, rows, voters, status=status.value)
    return replace(_fit(learner, round_to_dtype(learner.params, dtype), certificate, iterations), voters=voters)


def _finish_by_staying(learner: Learner) -> Status:
    """Account for further passes without mistakes, which need no read of the samples."""
    learner.stay()
    return Status.CONVERGED if learner.averaging_state().seen < MAX_SEEN else Status.STALLED


def _not_judged() -> Certificate:
    note = "The votes of so many models on all rows cost much more than the fit; ask with tenfold.certify(model, X, y)."
    return Certificate("count", np.inf, 1.0, RULES["count"].tol, 0.0, np.inf, status=NOT_JUDGED, note=note)


def _ballot(voters: Voters, X: Array) -> Floats:
    return vote_difference(voters.shares(X))


def _run(
    problem: Separation, rows: Rows, start: Params, course: Course, limits: Limits, memory: Memory | None
) -> tuple[Learner, Status, int]:
    learner = Learner(problem, rows, start, course, memory)
    solution = run(learner.steps(), limits.passes, limits.seconds, limits.callback)
    status = learner.ending if solution.status is Status.CONVERGED else solution.status
    return learner, status, solution.iterations


def _fit(learner: Learner, params: Params, certificate: Certificate, iterations: int) -> PerceptronFit:
    memory = None if learner.memory is None else learner.averaging_state()
    updates = _join(learner.updates) if learner.updates else None
    mistakes = sum(line.mistakes for line in learner.passes)
    trace = tuple(learner.passes)
    return PerceptronFit(params, learner.params, certificate, trace, iterations, mistakes, updates, memory)


def _certify(learner: Learner, status: Status, params: Params, dtype: Any) -> Certificate:
    certificate = count(learner.problem, learner.rows, params, status=status.value, dtype=dtype)
    if status is Status.CYCLING and learner.cycle is not None and isinstance(learner.rows, MemoryRows):
        proved = cycle_proves(learner.problem, learner.rows, learner.cycle)
        return replace(certificate, note=f"{certificate.note} {PROVED}") if proved else certificate
    return certificate


def _stack(parts: list[Array]) -> Array:
    return sparse.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


def _join(parts: list[Updates]) -> Updates:
    """Concatenate the updates of several blocks."""
    columns = list(zip(*parts, strict=True))
    return Updates(*(_stack(list(column)) for column in columns)) if len(parts) > 1 else parts[0]


def _voters(problem: Separation, learner: Learner, before: Voters | None, seen: float) -> Voters:
    """The models after each update, appended to `before`, whose last model survived until the first update."""
    updates, end = _join(learner.updates), learner.averaging_state().seen
    _, first, row = np.unique(updates.rows, return_index=True, return_inverse=True)
    lives = np.diff(np.append(updates.time, end))
    now = Voters(
        updates.X[first], row, updates.step, updates.label, updates.other, lives, problem.classes, problem.intercept
    )
    if before is None or not len(before.step):
        return now
    votes = before.votes.copy()
    votes[-1] += (updates.time[0] if len(updates.time) else end) - seen
    return Voters(
        _stack([before.X, now.X]),
        np.concatenate([before.row, before.X.shape[0] + now.row]),
        np.concatenate([before.step, now.step]),
        np.concatenate([before.up, now.up]),
        np.concatenate([before.down, now.down]),
        np.concatenate([votes, lives]),
        problem.classes,
        problem.intercept,
    )


def _has_mistake(problem: Separation, rows: Rows, scores: Scores) -> bool:
    """Whether any sample of positive weight is a mistake."""

    def lift(block: Block) -> Total:
        wrong = problem.mistaken(scores(block.X), block.y[:, 0].astype(np.intp))
        return Total(np.count_nonzero(wrong if block.weight is None else wrong & (block.weight > 0.0)))

    return bool(rows.fold(lift).sum)


def make_validation_score(problem: Separation, rows: Rows) -> Callable[[Params], Floats]:
    """A function for the weighted accuracy of each problem (one, or one per target) on the rows of group 1."""

    def lift(params: Params) -> Callable[[Block], Total]:
        def of(block: Block) -> Total:
            chosen = block.group == 1
            label, weight = block.y[chosen, 0].astype(np.intp), weights_of(block)[chosen]
            z = forward(block.X[chosen], params)
            if problem.joint or problem.targets == 1:
                right = ~problem.mistaken(z, label)[:, None]
            else:
                right = (z > 0.0) == (label[:, None] == np.arange(problem.targets))
            return Total(np.append(np.sum(right * weight[:, None], axis=0), weight.sum()))

        return of

    def score(params: Params) -> Floats:
        sums = rows.fold(lift(params)).sum
        return sums[:-1] / sums[-1]

    return score
