"""The delta rule: stochastic gradient descent, an epoch a step.

A learner goes down on  mean_i s_i loss(y_i, w.x_i + b) + alpha ((1 - l1_ratio) / 2 ||w||^2 + l1_ratio ||w||_1), the
mean over the rows, by one step for each row (or for `batch` rows); core/include/tenfold/sgd.hpp has the recursion.
Several learners, one for each class against the rest, read the rows at once, one a thread.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, contiguous, is_sparse
from tenfold.data import Block, MemoryRows, NotFinite, Rows
from tenfold.machine import threads
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params

SPARSE_DECAY = 0.01
"""The intercept takes steps so much smaller on sparse rows, whose columns are seen more rarely than it is."""

SLOWEST, SLOWDOWN = 1e-6, 5.0
"""The schedule "adaptive" divides its step size by `SLOWDOWN` where epochs brought nothing, down to `SLOWEST`."""

PIECE, PIECES = 1 << 22, 16
"""A call reads so many numbers, or a sixteenth of the rows where that is more: between calls a signal is heard."""

MOST_ROWS = 1 << 31
"""More rows in memory are shuffled within their blocks."""


@dataclass(frozen=True)
class Rule:
    """How rows move weights.

    Attributes
    ----------
    loss : "hinge", "perceptron", "squared_hinge", "log_loss", "tanh", "modified_huber" (targets -1 and +1), or
        "squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive" (any targets).
    epsilon : where "huber" becomes linear, or where the insensitive losses begin.
    penalised, alpha, l1_ratio : the penalty; alpha sets the step size of "optimal" without a penalty, too.
    schedule : "constant", "adaptive", "optimal", "invscaling", "pa1" or "pa2".
    eta0, power_t : the step size is eta0 / t^power_t with "invscaling".
    intercept : whether b moves.
    one_class : whether b falls by alpha besides, as in the one-class SVM.
    average : the step from which on iterates are averaged; 0: never.
    batch : rows of a step.
    """

    loss: str
    epsilon: float = 0.1
    penalised: bool = False
    alpha: float = 0.0
    l1_ratio: float = 0.0
    schedule: str = "constant"
    eta0: float = 1.0
    power_t: float = 0.5
    intercept: bool = True
    one_class: bool = False
    average: int = 0
    batch: int = 1


@dataclass(frozen=True)
class Target:
    """What one learner is to tell: class `own` from the rest (None: y itself); weights of the two sides; the seed of
    its order (None: the order of the rows).
    """

    own: int | None = None
    positive: float = 1.0
    negative: float = 1.0
    seed: int | None = None


@dataclass(frozen=True)
class State:
    """Where learners are: weights of the last step, averages or None, and the number of the next step."""

    last: Params
    average: Params | None = None
    t: float = 1.0

    def params(self, first: int) -> Params:
        """The averages where there are any by now, else the weights of the last step."""
        return self.average if self.average is not None and first <= self.t - 1.0 else self.last


@dataclass(frozen=True)
class Patience:
    """A learner ends when for `epochs` epochs in a row its objective, or its `score` on rows kept apart, was not better
    than the best before by `tol`; tol None: it never ends.
    """

    tol: float | None = 1e-3
    epochs: int = 5
    score: Callable[[int, Params], float] | None = None


class _Watched:
    """One learner and what has become of it."""

    def __init__(self, learner: Any, number: int, patience: Patience, adaptive: bool) -> None:
        self.learner, self.number, self.patience, self.adaptive = learner, number, patience, adaptive
        self.best, self.idle, self.ended = np.inf, 0, False

    def judge(self, params: Params) -> float:
        """The mean objective over the epoch; notes whether it, or the score, still falls."""
        objective = self.learner.objective / max(1, self.learner.seen)
        score = self.patience.score
        cost = objective if score is None else -score(self.number, params)
        tol = self.patience.tol
        self.idle = self.idle + 1 if tol is not None and cost > self.best - tol else 0
        self.best = min(self.best, cost)
        if self.idle >= self.patience.epochs:
            if self.adaptive and self.learner.eta > SLOWEST:
                self.learner.eta /= SLOWDOWN
                self.idle = 0
            else:
                self.ended = True
        return float(objective)


class Epochs:
    """The path of some learners over the rows, an epoch at a time; `state` is that after the last complete epoch."""

    def __init__(
        self,
        rows: Rows,
        rule: Rule,
        targets: Sequence[Target],
        start: State,
        patience: Patience,
        skip: Array | None = None,
    ) -> None:
        """`skip` (n,) uint8 marks rows that are not learned from; None: none."""
        self.rows, self.rule, self.targets, self.state, self.skip = rows, rule, targets, start, skip
        made = [_learner(rule, target, start, k, rows.sparse) for k, target in enumerate(targets)]
        self.learners = [_Watched(one, k, patience, rule.schedule == "adaptive") for k, one in enumerate(made)]
        # a shuffle in memory goes on from the one before; one of blocks begins afresh
        self.at_hand = isinstance(rows, MemoryRows) and rows.shape[0] < MOST_ROWS
        elsewhere = [None if self.at_hand else target.seed for target in targets]
        self.seeds = [None if seed is None else np.random.RandomState(seed) for seed in elsewhere]

    def __iter__(self) -> Iterator[Step]:
        """The start, then a step an epoch; its measure is zero when all learners have ended."""
        first = self.rule.average
        yield Step(self.state.params(first), np.nan, np.inf)
        if self.at_hand:
            self._line_up()
        objectives = np.zeros(len(self.learners))
        epoch = 0
        while True:
            epoch += 1
            active = [one for one in self.learners if not one.ended]
            for one in active:
                one.learner.begin()
            if self.at_hand:
                self._epoch(active)
            else:
                self.rows.scan(self._block, active)
            if not all(one.learner.finite() for one in active):
                raise NotFinite(
                    f"Floating-point under-/overflow occurred at epoch #{epoch}. Scaling input data with "
                    "StandardScaler or MinMaxScaler might help."
                )
            self.state = self._now(active)
            params = self.state.params(first)
            for one in active:
                objectives[one.number] = one.judge(params)
            ended = all(one.ended for one in self.learners)
            yield Step(params, float(np.mean(objectives)), 0.0 if ended else np.inf)
            if ended:
                return

    def _line_up(self) -> None:
        """Rows of weight zero are none, for a shuffle too."""
        n, weight = self.rows.shape[0], self.rows.whole().weight
        if all(target.seed is None for target in self.targets):
            return
        order = np.arange(n, dtype=np.int32) if weight is None else np.flatnonzero(weight).astype(np.int32)
        for one in self.learners:
            one.learner.follow(order)

    def _epoch(self, active: list[_Watched]) -> None:
        """An epoch over rows in memory, in the order of each learner."""
        block = self.rows.whole()
        n = self.rows.shape[0]
        for one in active:
            seed = self.targets[one.number].seed
            if seed is not None:
                one.learner.shuffle(seed)
                n = one.learner.length
        batch = self.rule.batch
        width = max(1, self.rows.entries // max(1, self.rows.shape[0]))
        piece = max(PIECE // width, -(-n // PIECES), 1)
        piece = -(-piece // batch) * batch
        for begin in range(0, n, piece):
            self._learn(active, block, begin, min(n, begin + piece))

    def _block(self, active: list[_Watched], block: Block) -> list[_Watched]:
        """One block of rows that are elsewhere."""
        count = int(block.y.shape[0])
        for one in active:
            source = self.seeds[one.number]
            if source is not None:
                one.learner.follow(np.arange(count, dtype=np.int32))
                one.learner.shuffle(int(source.randint(MOST_ROWS - 1)))
        self._learn(active, block, 0, count)
        return active

    def _learn(self, active: list[_Watched], block: Block, begin: int, end: int) -> None:
        learners = [one.learner for one in active]
        X, y = block.X, contiguous(np.ravel(block.y))
        arguments = (y, block.weight, self.skip, learners, begin, end, threads(self.rows.entries))
        if is_sparse(X):
            _core.sgd_scan_csr(X.data, X.indices, X.indptr, X.shape[1], *arguments)
        else:
            _core.sgd_scan(contiguous(X), *arguments)

    def _now(self, active: list[_Watched]) -> State:
        """The state after an epoch of the active learners; of the others it is what it was."""
        last = _replaced(self.state.last, [(one.number, one.learner.weights()) for one in active])
        average = self.state.average
        if self.rule.average > 0:
            zero = Params(np.zeros_like(last.coef), np.zeros_like(last.intercept))
            parts = [(one.number, one.learner.average()) for one in active]
            average = _replaced(zero if average is None else average, parts)
        return State(last, average, max(self.state.t, *(one.learner.t for one in active)))


def _learner(rule: Rule, target: Target, start: State, k: int, sparse: bool) -> Any:
    """The compiled learner of one target, at its start."""
    learner = _core.SgdLearner(
        rule.loss,
        rule.epsilon,
        rule.penalised,
        rule.alpha,
        rule.l1_ratio,
        rule.schedule,
        rule.eta0,
        rule.power_t,
        rule.intercept,
        SPARSE_DECAY if sparse else 1.0,
        rule.one_class,
        rule.average,
        rule.batch,
        -1 if target.own is None else target.own,
        target.positive,
        target.negative,
        contiguous(start.last.coef[k]),
        float(start.last.intercept[k]),
        start.t,
    )
    if rule.average > 0 and start.average is not None:
        count = max(0.0, start.t - rule.average)
        learner.resume(contiguous(start.average.coef[k]), float(start.average.intercept[k]), count)
    return learner


def _replaced(params: Params, parts: Sequence[tuple[int, tuple[Floats, float]]]) -> Params:
    """`params` with those of some learners in place of what they were; of one learner without a copy."""
    if params.coef.shape[0] == len(parts) == 1:
        (_, (w, b)), *_ = parts
        return Params(w[None, :], np.array([b]))
    coef, intercept = params.coef.copy(), params.intercept.copy()
    for number, (w, b) in parts:
        coef[number], intercept[number] = w, b
    return Params(coef, intercept)
