"""The perceptron: passes over the rows in order; a row that is a mistake moves the weights towards its side.

The loop over the rows is compiled (core/include/tenfold/perceptron.hpp, with the formulas). Here are the passes: the
order of each, the rule by which each target stops, and how a cycle is noticed.
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
    """How rows are looked at, and when that ends.

    Attributes
    ----------
    eta : factor of all updates.
    batch : whether all mistakes of a pass are added at its end; else each at once.
    normalise : whether rows are taken to length one, the constant of the intercept included.
    shuffle, seed : whether rows come in random order (in a table: within each block), a new one in each pass.
    seeds : for rows in memory, of an order for each target by itself, shuffled on in each pass as scikit-learn does.
    tol, patience : a target stops when its mean loss did not fall by tol for so many passes; tol None: never.
    keep : whether every update is kept.
    score : of each target on rows that are held back, or None; then that must rise by tol.
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
    """What is needed beside the weights to go on with their mean: sums (t, p) and (t,), and the rows seen."""

    sums: Floats
    sum_intercept: Floats
    seen: float

    def mean(self, last: Params) -> Params:
        """The mean of the weights after each row."""
        if self.seen == 0.0:
            return last
        return Params(last.coef - self.sums / self.seen, last.intercept - self.sum_intercept / self.seen)


class Updates(NamedTuple):
    """Updates in their order: the rows (k, p), their numbers, their class and the other class (joint) or the target,
    the signed steps, and how many rows were seen before.
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
    """The state of one fit. `label` (n,) are numbers of classes; rows of weight zero, or of group 1 (held back), are
    not looked at.
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
        # in memory a pass is one block, so that rows of all places are mixed
        self._whole = self.rows.whole() if isinstance(self.rows, MemoryRows) else None
        self._labels = None if self._whole is None else self._whole.y[:, 0].astype(np.int32)
        self._groups = 1 if self.problem.joint else self.problem.targets
        self._open = np.ones(self._groups, dtype=bool)
        self._best = np.full(self._groups, np.inf)
        self._worse = np.zeros(self._groups, dtype=np.int64)
        self._cycling = np.zeros(self._groups, dtype=bool)
        self._kept: tuple[Params, Integers] | None = None
        self._counts: Integers = np.zeros(self.rows.shape[0], dtype=np.int64)
        self._orders: list[Integers] = []
        if c.shuffle and self._whole is not None and not self.problem.joint:
            self._orders = [_counting(self._whole) for _ in c.seeds]
        self.cycle: Integers | None = None
        self.looked = 0

    @property
    def params(self) -> Params:
        """The weights now."""
        return Params(self._state.coef, self._state.intercept)

    def averaging_state(self) -> Memory:
        """What `memory` was, now."""
        return Memory(self._state.sums, self._state.sum_intercept, self._state.seen)

    def stay(self) -> None:
        """As many rows again as there were, none of them a mistake: nothing changes but the mean."""
        self._state.skip(max(self._state.seen, 1.0))

    def steps(self) -> Iterator[Step]:
        """The start, then a step for every pass; measure 0 when all targets have stopped."""
        yield Step(self.params, np.inf, np.inf)
        while True:
            self._one_pass()
            self._settle()
            yield Step(self.params, self.passes[-1].loss, np.inf if self._open.any() else 0.0)

    def _one_pass(self) -> None:
        self._state.begin_pass()
        if self._whole is not None:
            self._look(0, self._whole)
            looked = self._looked
        else:
            looked = self.rows.scan(self._from, (0, 0))[1]
        if not self._state.finite:
            raise NotFinite
        self.looked = looked
        mistakes, loss = int(np.sum(self._state.mistakes)), float(np.sum(self._losses()))
        self.passes.append(Pass(mistakes, loss, length(self._state.coef, self._state.intercept)))

    def _losses(self) -> Floats:
        """The mean loss of each problem in the last pass; of those that have stopped, zero."""
        return self._state.loss[: self._groups] / max(1, self.looked)

    def _from(self, before: tuple[int, int], block: Block) -> tuple[int, int]:
        """A block of a table, the rows of which begin where the last one ended."""
        start, looked = before
        self._look(start, block)
        return start + block.y.shape[0], looked + self._looked

    def _look(self, start: int, block: Block) -> None:
        if not self._orders:
            self._scan(start, block, self._order(start, block), -1)
            return
        for k in np.flatnonzero(self._open):
            self._orders[k] = _core.reshuffled(self._orders[k], self.course.seeds[k])
            order = self._orders[k]
            self._scan(start, block, order if block.group is None else order[block.group[order] == 0], int(k))

    def _scan(self, start: int, block: Block, order: Integers, target: int) -> None:
        label = block.y[:, 0].astype(np.int32) if self._labels is None else self._labels
        self._looked = len(order)
        X = contiguous(block.X)
        watched = not self.course.shuffle and self._groups == 1
        rest = (order, label, block.weight, watched, self.course.keep, threads(entries(X)), target)
        if is_sparse(X):
            found = self._state.scan_csr(X.data, X.indices, X.indptr, X.shape[1], *rest)
        else:
            found = self._state.scan(X, *rest)
        counts, rows, other, time, step = found
        if watched:
            self._counts[start : start + len(label)] += counts
        if self.course.keep:
            self.updates.append(Updates(X[rows], rows + start, label[rows], other, step, time))

    def _order(self, start: int, block: Block) -> Integers:
        """The rows of a block that are looked at, in their order."""
        order = _counting(block)
        if block.group is not None:
            order = order[block.group[order] == 0]
        return order[_core.permutation(len(order), self._seed(start))] if self.course.shuffle else order

    def _seed(self, start: int) -> int:
        """Another one for each pass and block."""
        return int(np.random.SeedSequence([self.course.seed, len(self.passes), start]).generate_state(1, np.uint64)[0])

    def _settle(self) -> None:
        """Which targets stop, and why."""
        c = self.course
        clean = self._state.mistakes[: self._groups] == 0
        # what should fall: the loss, or the score of rows held back with its sign turned
        number = self._losses() if c.score is None else -c.score(self.params)
        if c.tol is not None:
            self._worse = np.where(number > self._best - c.tol, self._worse + 1, 0)
        self._best = np.minimum(self._best, number)
        self._cycling |= self._returned() & ~clean & self._open
        closing = self._open & (clean | (self._worse >= c.patience) | self._cycling)
        for k in np.flatnonzero(closing):
            self._open[k] = False
            if self._groups > 1:
                self._state.rest(int(k))
            if self._cycling[k]:
                self.ending = Status.CYCLING
            elif not clean[k] and self.ending is Status.CONVERGED:
                self.ending = Status.NO_IMPROVEMENT

    def _returned(self) -> Integers:
        """Which targets have the weights that were kept at an earlier pass (Brent 1980: kept at powers of two)."""
        nobody = np.zeros(self._groups, dtype=bool)
        if self.course.shuffle:
            return nobody
        now, count = self.params, len(self.passes)
        found = nobody
        if self._kept is not None:
            then = self._kept[0]
            found = np.all(now.coef == then.coef, axis=1) & (now.intercept == then.intercept)
            found = np.array([found.all()]) if self._groups == 1 else found
            if self._groups == 1 and found[0]:
                self.cycle = self._counts - self._kept[1]
        if count & (count - 1) == 0:
            self._kept = (now, self._counts.copy())
        return found


def _counting(block: Block) -> Integers:
    """The rows of a block that count: those of positive weight."""
    return np.arange(block.y.shape[0]) if block.weight is None else np.flatnonzero(block.weight > 0.0)
