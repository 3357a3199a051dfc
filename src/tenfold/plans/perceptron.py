"""Perceptrons: passes until no row is a mistake, nothing improves or the weights come back; then the count."""

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
from tenfold.plans.result import stored
from tenfold.problems import Separation
from tenfold.solvers.loop import Callback, Record, Status, run
from tenfold.solvers.perceptron import Course, Learner, Memory, Pass, Updates
from tenfold.stats.derivatives import Params, Total, forward
from tenfold.stats.perceptron_votes import Voters, balance

MOST_SEEN = 2.0**52
"""Where so many rows were seen, one more is not noticed."""

BALLOTS = 1 << 26
"""So many votes, of all models on all rows, are counted by a fit."""

PROVED = "The weights came back after a pass, and the rows that were mistakes in between add up to zero: no weights "
PROVED += "separate these classes."


@dataclass(frozen=True)
class PerceptronFit:
    """What a fit leaves behind: parameters as stored, and those of the last row, to go on from; what the judge says;
    passes; mistakes, where they were counted, and updates in their order, where they were kept; and what the mean or
    the votes need to go on.
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
    """Passes and seconds at most, and who watches."""

    passes: int
    seconds: float | None = None
    callback: Callback | None = None


def fit_last(
    problem: Separation, rows: Rows, start: Params, course: Course, limits: Limits, dtype: Any, *, judge: bool = True
) -> PerceptronFit:
    """The weights after the last row; those of a part are not judged."""
    learner, status, iterations = _run(problem, rows, start, course, limits, None)
    params = stored(learner.params, dtype)
    certificate = _judged(learner, status, params, dtype) if judge else _not_judged()
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
    """Each class against the rest by the delta rule, whose steps shrink the weights."""
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
    params = stored(fitted.params, dtype)
    certificate = count(problem, rows, params, status=fitted.status.value, dtype=dtype)
    return PerceptronFit(params, fitted.state.last, certificate, fitted.trace, fitted.iterations or 0, None)


def fit_mean(
    problem: Separation, rows: Rows, start: Params, course: Course, limits: Limits, dtype: Any, memory: Memory
) -> PerceptronFit:
    """The mean of the weights after each row. Once a pass was without mistakes further passes change nothing but the
    mean, which moves to the last weights: as many are counted as the mean needs to make no mistake either.
    """
    learner, status, iterations = _run(problem, rows, start, course, limits, memory)
    last = learner.params
    while status is Status.CONVERGED and _wrong(
        problem, rows, partial(forward, params=learner.averaging_state().mean(last))
    ):
        status = _stayed(learner)
    params = stored(learner.averaging_state().mean(last), dtype)
    return _fit(learner, params, _judged(learner, status, params, dtype), iterations)


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
    """The votes of all weights that there were, each with as many as the rows that it survived; `seen` rows and the
    models `before` come from an earlier fit. Where all the votes on all rows would cost more than the fit by far, they
    are not judged.
    """
    zero = Memory(np.zeros_like(start.coef), np.zeros_like(start.intercept), seen)
    learner, status, iterations = _run(problem, rows, start, replace(course, keep=True), limits, zero)
    voters = _voters(problem, learner, before, seen)
    while status is Status.CONVERGED and _wrong(problem, rows, partial(_ballot, voters)):
        status = _stayed(learner)
        voters = _voters(problem, learner, before, seen)
    certificate = _not_judged()
    if rows.shape[0] * len(voters.votes) <= BALLOTS:
        certificate = count_votes(problem, rows, voters, status=status.value)
    return replace(_fit(learner, stored(learner.params, dtype), certificate, iterations), voters=voters)


def _stayed(learner: Learner) -> Status:
    """As many rows again as there were, none of them a mistake: they need not be looked at to be counted."""
    learner.stay()
    return Status.CONVERGED if learner.averaging_state().seen < MOST_SEEN else Status.STALLED


def _not_judged() -> Certificate:
    note = "The votes of so many models on all rows cost much more than the fit; ask with tenfold.certify(model, X, y)."
    return Certificate("count", np.inf, 1.0, RULES["count"].tol, 0.0, np.inf, status=NOT_JUDGED, note=note)


def _ballot(voters: Voters, X: Array) -> Floats:
    return balance(voters.shares(X))


def _run(
    problem: Separation, rows: Rows, start: Params, course: Course, limits: Limits, memory: Memory | None
) -> tuple[Learner, Status, int]:
    learner = Learner(problem, rows, start, course, memory)
    solution = run(learner.steps(), limits.passes, limits.seconds, limits.callback)
    status = learner.ending if solution.status is Status.CONVERGED else solution.status
    return learner, status, solution.iterations


def _fit(learner: Learner, params: Params, certificate: Certificate, iterations: int) -> PerceptronFit:
    memory = None if learner.memory is None else learner.averaging_state()
    updates = _joined(learner.updates) if learner.updates else None
    mistakes = sum(line.mistakes for line in learner.passes)
    trace = tuple(learner.passes)
    return PerceptronFit(params, learner.params, certificate, trace, iterations, mistakes, updates, memory)


def _judged(learner: Learner, status: Status, params: Params, dtype: Any) -> Certificate:
    certificate = count(learner.problem, learner.rows, params, status=status.value, dtype=dtype)
    if status is Status.CYCLING and learner.cycle is not None and isinstance(learner.rows, MemoryRows):
        proved = cycle_proves(learner.problem, learner.rows, learner.cycle)
        return replace(certificate, note=f"{certificate.note} {PROVED}") if proved else certificate
    return certificate


def _stacked(parts: list[Array]) -> Array:
    return sparse.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


def _joined(parts: list[Updates]) -> Updates:
    """Updates of several blocks as one."""
    columns = list(zip(*parts, strict=True))
    return Updates(*(_stacked(list(column)) for column in columns)) if len(parts) > 1 else parts[0]


def _voters(problem: Separation, learner: Learner, before: Voters | None, seen: float) -> Voters:
    """The models after each update; those from `before` stay, and the last of them survived until the first update."""
    found, end = _joined(learner.updates), learner.averaging_state().seen
    _, first, row = np.unique(found.rows, return_index=True, return_inverse=True)
    lives = np.diff(np.append(found.time, end))
    now = Voters(found.X[first], row, found.step, found.label, found.other, lives, problem.classes, problem.intercept)
    if before is None or not len(before.step):
        return now
    votes = before.votes.copy()
    votes[-1] += (found.time[0] if len(found.time) else end) - seen
    return Voters(
        _stacked([before.X, now.X]),
        np.concatenate([before.row, before.X.shape[0] + now.row]),
        np.concatenate([before.step, now.step]),
        np.concatenate([before.up, now.up]),
        np.concatenate([before.down, now.down]),
        np.concatenate([votes, lives]),
        problem.classes,
        problem.intercept,
    )


def _wrong(problem: Separation, rows: Rows, scores: Scores) -> bool:
    """Whether any row that counts is a mistake."""

    def lift(block: Block) -> Total:
        wrong = problem.mistaken(scores(block.X), block.y[:, 0].astype(np.intp))
        return Total(np.count_nonzero(wrong if block.weight is None else wrong & (block.weight > 0.0)))

    return bool(rows.fold(lift).sum)


def held_back(problem: Separation, rows: Rows) -> Callable[[Params], Floats]:
    """The accuracy of each problem (one, or one a target) on the rows of group 1, by weight."""

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
