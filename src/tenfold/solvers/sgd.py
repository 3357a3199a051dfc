"""Stochastic gradient descent, an epoch a step.

Minimises  mean_i s_i loss(y_i, w.x_i + b) + alpha ((1 - l1_ratio) / 2 ||w||^2 + l1_ratio ||w||_1)  by one update for
each sample (or for `batch` samples); core/include/tenfold/sgd.hpp has the recursion. Several learners, one for each
class against the rest, read the samples at once, one a thread.
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

SPARSE_DECAY = 0.01  # factor of the step of the intercept on sparse samples, whose features are seen more rarely

SLOWEST, SLOWDOWN = 1e-6, 5.0  # "adaptive" divides its step size by SLOWDOWN without progress, down to SLOWEST

PIECE, PIECES = 1 << 22, 16  # entries of one call, or 1/PIECES of the samples: between calls interruptions are checked

MAX_SHUFFLED = 1 << 31  # more samples in memory are shuffled within blocks


@dataclass(frozen=True)
class Rule:
    """The update rule.

    Attributes
    ----------
    loss : "hinge", "perceptron", "squared_hinge", "log_loss", "tanh", "modified_huber" (targets -1 and +1), or
        "squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive" (any targets).
    epsilon : where "huber" becomes linear, or where the insensitive losses begin.
    penalised, alpha, l1_ratio : the penalty; alpha sets the step size of "optimal" without a penalty, too.
    schedule : "constant", "adaptive", "optimal", "invscaling", "pa1" or "pa2".
    eta0, power_t : the step size is eta0 / t^power_t with "invscaling".
    intercept : whether b is updated.
    one_class : whether b also decreases by alpha, as in the one-class SVM.
    average : the step from which on iterates are averaged; 0: never.
    batch : samples of a step.
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
    """The target of one learner: class `own` against the rest (None: y itself); weights of the two sides; the seed of
    its order (None: the order of the samples).
    """

    own: int | None = None
    positive: float = 1.0
    negative: float = 1.0
    seed: int | None = None


@dataclass(frozen=True)
class State:
    """The state of learners: weights of the last step, averages or None, and the number of the next step."""

    last: Params
    average: Params | None = None
    t: float = 1.0

    def params(self, first: int) -> Params:
        """The averages once there are any, else the weights of the last step."""
        return self.average if self.average is not None and first <= self.t - 1.0 else self.last


@dataclass(frozen=True)
class Patience:
    """A learner stops when for `epochs` epochs in a row its objective, or its `score` on validation samples, was not
    better than the best before by `tol`; tol None: never.
    """

    tol: float | None = 1e-3
    epochs: int = 5
    score: Callable[[int, Params], float] | None = None


class _Learner:
    """A compiled learner with its stopping rule."""

    def __init__(self, learner: Any, number: int, patience: Patience, adaptive: bool) -> None:
        self.learner, self.number, self.patience, self.adaptive = learner, number, patience, adaptive
        self.best, self.idle, self.ended = np.inf, 0, False

    def update(self, params: Params) -> float:
        """The mean objective over the epoch; notes whether it, or the score, still improves."""
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
    """Learners over the samples, an epoch at a time; `state` is that after the last complete epoch."""

    def __init__(
        self,
        rows: Rows,
        rule: Rule,
        targets: Sequence[Target],
        start: State,
        patience: Patience,
        skip: Array | None = None,
    ) -> None:
        """`skip` (n,) uint8 marks samples that are not learned from; None: none."""
        self.rows, self.rule, self.targets, self.state, self.skip = rows, rule, targets, start, skip
        compiled = [_learner(rule, target, start, k, rows.sparse) for k, target in enumerate(targets)]
        self.learners = [_Learner(one, k, patience, rule.schedule == "adaptive") for k, one in enumerate(compiled)]
        # a shuffle in memory permutes the order before; one of blocks begins with the identity
        self.in_memory = isinstance(rows, MemoryRows) and rows.shape[0] < MAX_SHUFFLED
        block_seeds = [None if self.in_memory else target.seed for target in targets]
        self.seeds = [None if seed is None else np.random.RandomState(seed) for seed in block_seeds]

    def __iter__(self) -> Iterator[Step]:
        """The start, then a step an epoch; its measure is zero when all learners have stopped."""
        first = self.rule.average
        yield Step(self.state.params(first), np.nan, np.inf)
        if self.in_memory:
            self._set_order()
        objectives = np.zeros(len(self.learners))
        epoch = 0
        while True:
            epoch += 1
            active = [one for one in self.learners if not one.ended]
            for one in active:
                one.learner.begin()
            if self.in_memory:
                self._epoch(active)
            else:
                self.rows.scan(self._block, active)
            if not all(one.learner.finite() for one in active):
                raise NotFinite(
                    f"Floating-point under-/overflow occurred at epoch #{epoch}. Scaling input data with "
                    "StandardScaler or MinMaxScaler might help."
                )
            self.state = self._current_state(active)
            params = self.state.params(first)
            for one in active:
                objectives[one.number] = one.update(params)
            ended = all(one.ended for one in self.learners)
            yield Step(params, float(np.mean(objectives)), 0.0 if ended else np.inf)
            if ended:
                return

    def _set_order(self) -> None:
        """Exclude samples of weight zero from the orders, so that shuffles do not depend on them."""
        n, weight = self.rows.shape[0], self.rows.whole().weight
        if all(target.seed is None for target in self.targets):
            return
        order = np.arange(n, dtype=np.int32) if weight is None else np.flatnonzero(weight).astype(np.int32)
        for one in self.learners:
            one.learner.set_order(order)

    def _epoch(self, active: list[_Learner]) -> None:
        """An epoch over samples in memory, in the order of each learner."""
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

    def _block(self, active: list[_Learner], block: Block) -> list[_Learner]:
        """One block of samples that are not in memory."""
        count = int(block.y.shape[0])
        for one in active:
            source = self.seeds[one.number]
            if source is not None:
                one.learner.set_order(np.arange(count, dtype=np.int32))
                one.learner.shuffle(int(source.randint(MAX_SHUFFLED - 1)))
        self._learn(active, block, 0, count)
        return active

    def _learn(self, active: list[_Learner], block: Block, begin: int, end: int) -> None:
        learners = [one.learner for one in active]
        X, y = block.X, contiguous(np.ravel(block.y))
        arguments = (y, block.weight, self.skip, learners, begin, end, threads(self.rows.entries))
        if is_sparse(X):
            _core.sgd_scan_csr(X.data, X.indices, X.indptr, X.shape[1], *arguments)
        else:
            _core.sgd_scan(contiguous(X), *arguments)

    def _current_state(self, active: list[_Learner]) -> State:
        """The state after an epoch of the active learners; that of the others is unchanged."""
        last = _replace(self.state.last, [(one.number, one.learner.weights()) for one in active])
        average = self.state.average
        if self.rule.average > 0:
            zero = Params(np.zeros_like(last.coef), np.zeros_like(last.intercept))
            parts = [(one.number, one.learner.average()) for one in active]
            average = _replace(zero if average is None else average, parts)
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


def _replace(params: Params, parts: Sequence[tuple[int, tuple[Floats, float]]]) -> Params:
    """`params` with those of some learners replaced; of a single learner without a copy."""
    if params.coef.shape[0] == len(parts) == 1:
        (_, (w, b)), *_ = parts
        return Params(w[None, :], np.array([b]))
    coef, intercept = params.coef.copy(), params.intercept.copy()
    for number, (w, b) in parts:
        coef[number], intercept[number] = w, b
    return Params(coef, intercept)
