"""The perceptron (Rosenblatt 1958): passes over the samples in order; a mistake moves the weights towards its class.

The loop over the samples is compiled (core/include/tenfold/perceptron.hpp, with the formulas). Here are the passes: the
order of each, the stopping rule of each target, and the detection of cycles.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, contiguous, entries, is_sparse
from tenfold.data import Block, MemoryRows, NotFinite, Rows
from tenfold.machine import threads
from tenfold.problems import Separation, length
from tenfold.solvers.loop import Status, Step
from tenfold.stats.derivatives import Params


@dataclass(frozen=True)
class Course:
    """How samples are visited, and when that ends.

    Attributes
    ----------
    eta : factor of all updates.
    batch : whether all mistakes of a pass are added at its end; else each at once.
    normalise : whether samples are scaled to unit norm, the constant of the intercept included.
    shuffle, seed : whether samples come in random order (in a table: within each block), a new one in each pass.
    seeds : for samples in memory, of an order for each target by itself, shuffled on in each pass as in scikit-learn.
    tol, patience : a target stops when its mean loss did not decrease by tol for so many passes; tol None: never.
    keep : whether every update is kept.
    score : of each target on validation samples, or None; then that must rise by tol.
    """

    eta: float
    batch: bool = False
    normalise: bool = False
    shuffle: bool = False
    seed: int = 0
    seeds: tuple[int, ...] = ()
    tol: float | None = None
    patience: int = 1
    keep: bool = False
    score: Callable[[Params], Floats] | None = None


class Memory(NamedTuple):
    """What continues the mean of the weights: sums (t, p) and (t,), and the samples seen."""

    sums: Floats
    sum_intercept: Floats
    seen: float

    def mean(self, last: Params) -> Params:
        """The mean of the weights after each sample."""
        if self.seen == 0.0:
            return last
        return Params(last.coef - self.sums / self.seen, last.intercept - self.sum_intercept / self.seen)


class Updates(NamedTuple):
    """Updates in their order: the samples (k, p), their indices, their class and the other class (multiclass) or the
    target, the signed steps, and the samples seen before.
    """

    X: Array
    rows: Integers
    label: Integers
    other: Integers
    step: Floats
    time: Floats


@dataclass(frozen=True)
class Pass:
    """A line of the trace: mistakes and mean loss of a pass, and the length of all weights after it."""

    mistakes: int
    loss: float
    length: float


@dataclass
class Learner:
    """The state of one fit. `label` (n,) are class indices; samples of weight zero, or of group 1 (validation), are not
    visited.
    """

    problem: Separation
    rows: Rows
    start: Params
    course: Course
    memory: Memory | None = None
    passes: list[Pass] = field(default_factory=list)
    updates: list[Updates] = field(default_factory=list)
    ending: Status = Status.CONVERGED

    def __post_init__(self) -> None:
        words = [
            *(["joint"] if self.problem.joint else []),
            *(["positive"] if self.problem.positive else []),
            *(["intercept"] if self.problem.intercept else []),
            *(["normalise"] if self.course.normalise else []),
            *(["batch"] if self.course.batch else []),
        ]
        c = self.course
        self._state = _core.Perceptron(self.start.coef, self.start.intercept, c.eta, " ".join(words))
        if self.memory is not None:
            self._state.average(*self.memory)
        # in memory a pass is one block, so that samples are shuffled across all of them
        self._whole = self.rows.whole() if isinstance(self.rows, MemoryRows) else None
        self._labels = None if self._whole is None else self._whole.y[:, 0].astype(np.int32)
        self._groups = 1 if self.problem.joint else self.problem.targets
        self._active = np.ones(self._groups, dtype=bool)
        self._best = np.full(self._groups, np.inf)
        self._idle = np.zeros(self._groups, dtype=np.int64)
        self._cycling = np.zeros(self._groups, dtype=bool)
        self._snapshot: tuple[Params, Integers] | None = None
        self._counts: Integers = np.zeros(self.rows.shape[0], dtype=np.int64)
        self._orders: list[Integers] = []
        if c.shuffle and self._whole is not None and not self.problem.joint:
            self._orders = [_counting(self._whole) for _ in c.seeds]
        self.cycle: Integers | None = None
        self.visited = 0

    @property
    def params(self) -> Params:
        """The current weights."""
        return Params(self._state.coef, self._state.intercept)

    def averaging_state(self) -> Memory:
        """The state of the mean, to continue it as `memory`."""
        return Memory(self._state.sums, self._state.sum_intercept, self._state.seen)

    def stay(self) -> None:
        """Add as many samples without a mistake as there were: only the mean changes."""
        self._state.skip(max(self._state.seen, 1.0))

    def steps(self) -> Iterator[Step]:
        """The start, then a step for each pass; measure 0 when all targets have stopped."""
        yield Step(self.params, np.inf, np.inf)
        while True:
            self._one_pass()
            self._stop_targets()
            yield Step(self.params, self.passes[-1].loss, np.inf if self._active.any() else 0.0)

    def _one_pass(self) -> None:
        self._state.begin_pass()
        if self._whole is not None:
            self._visit(0, self._whole)
            visited = self._visited
        else:
            visited = self.rows.scan(self._from, (0, 0))[1]
        if not self._state.finite:
            raise NotFinite
        self.visited = visited
        mistakes, loss = int(np.sum(self._state.mistakes)), float(np.sum(self._losses()))
        self.passes.append(Pass(mistakes, loss, length(self._state.coef, self._state.intercept)))

    def _losses(self) -> Floats:
        """The mean loss of each problem in the last pass; zero for those that have stopped."""
        return self._state.loss[: self._groups] / max(1, self.visited)

    def _from(self, before: tuple[int, int], block: Block) -> tuple[int, int]:
        """A block of a source; its first sample follows the last one of the block before."""
        start, visited = before
        self._visit(start, block)
        return start + block.y.shape[0], visited + self._visited

    def _visit(self, start: int, block: Block) -> None:
        if not self._orders:
            self._scan(start, block, self._order(start, block), -1)
            return
        for k in np.flatnonzero(self._active):
            self._orders[k] = _core.reshuffle(self._orders[k], self.course.seeds[k])
            order = self._orders[k]
            self._scan(start, block, order if block.group is None else order[block.group[order] == 0], int(k))

    def _scan(self, start: int, block: Block, order: Integers, target: int) -> None:
        label = block.y[:, 0].astype(np.int32) if self._labels is None else self._labels
        self._visited = len(order)
        X = contiguous(block.X)
        count_mistakes = not self.course.shuffle and self._groups == 1
        rest = (order, label, block.weight, count_mistakes, self.course.keep, threads(entries(X)), target)
        if is_sparse(X):
            result = self._state.scan_csr(X.data, X.indices, X.indptr, X.shape[1], *rest)
        else:
            result = self._state.scan(X, *rest)
        counts, rows, other, time, step = result
        if count_mistakes:
            self._counts[start : start + len(label)] += counts
        if self.course.keep:
            self.updates.append(Updates(X[rows], rows + start, label[rows], other, step, time))

    def _order(self, start: int, block: Block) -> Integers:
        """The samples of a block that are visited, in their order."""
        order = _counting(block)
        if block.group is not None:
            order = order[block.group[order] == 0]
        return order[_core.permutation(len(order), self._seed(start))] if self.course.shuffle else order

    def _seed(self, start: int) -> int:
        """A seed for each pass and block."""
        return int(np.random.SeedSequence([self.course.seed, len(self.passes), start]).generate_state(1, np.uint64)[0])

    def _stop_targets(self) -> None:
        """Stop targets that are done, with the reason."""
        c = self.course
        clean = self._state.mistakes[: self._groups] == 0
        # to be minimised: the loss, or minus the score of the validation samples
        criterion = self._losses() if c.score is None else -c.score(self.params)
        if c.tol is not None:
            self._idle = np.where(criterion > self._best - c.tol, self._idle + 1, 0)
        self._best = np.minimum(self._best, criterion)
        self._cycling |= self._find_cycles() & ~clean & self._active
        stopping = self._active & (clean | (self._idle >= c.patience) | self._cycling)
        for k in np.flatnonzero(stopping):
            self._active[k] = False
            if self._groups > 1:
                self._state.deactivate(int(k))
            if self._cycling[k]:
                self.ending = Status.CYCLING
            elif not clean[k] and self.ending is Status.CONVERGED:
                self.ending = Status.NO_IMPROVEMENT

    def _find_cycles(self) -> Integers:
        """Which targets have the weights of an earlier pass (Brent 1980: kept at powers of two)."""
        none = np.zeros(self._groups, dtype=bool)
        if self.course.shuffle:
            return none
        now, count = self.params, len(self.passes)
        cycling = none
        if self._snapshot is not None:
            then = self._snapshot[0]
            cycling = np.all(now.coef == then.coef, axis=1) & (now.intercept == then.intercept)
            cycling = np.array([cycling.all()]) if self._groups == 1 else cycling
            if self._groups == 1 and cycling[0]:
                self.cycle = self._counts - self._snapshot[1]
        if count & (count - 1) == 0:
            self._snapshot = (now, self._counts.copy())
        return cycling


def _counting(block: Block) -> Integers:
    """The samples of positive weight of a block."""
    return np.arange(block.y.shape[0]) if block.weight is None else np.flatnonzero(block.weight > 0.0)
