"""Perceptrons in the space of a kernel: tiles of the kernel, the passes, and the judge."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, Floats, Integers, NotFinite, is_sparse, take_rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.kernel_mistakes import Functions, Votes, bound_mistakes, count, margins
from tenfold.kernels import Kernel
from tenfold.linear_algebra import product
from tenfold.solvers.kernel_perceptron import Budget, Expansion, run_pass
from tenfold.solvers.loop import Status

__all__ = [
    "Functions",
    "Learned",
    "LearnedExpansion",
    "Votes",
    "count_missing_votes",
    "judge",
    "learn",
    "start_expansion",
]

KEPT_VALUES = 1 << 25  # of a kernel matrix that is kept: 256 MiB
OVERFLOW = "The kernel of these samples overflows. Divide the features by their largest value, or use another kernel."


@dataclass(frozen=True)
class LearnedExpansion:
    """What a perceptron has learned: samples (m, p), their coefficients (m, k) after the last sample and the sums of
    steps times the samples seen before each, the samples seen, and all updates: the number of the sample, the class
    whose function grows, the one whose function shrinks (the same, 0, of two classes), the signed step, and the
    samples seen before.
    """

    points: Any
    last: Floats
    sums: Floats
    seen: int
    sample: Integers
    up: Integers
    down: Integers
    step: Floats
    time: Integers

    @property
    def mean(self) -> Floats:
        """The mean of the coefficients after each sample."""
        return self.last - self.sums / self.seen if self.seen else self.last

    @property
    def votes(self) -> Floats:
        """For how many samples the function after each update stayed."""
        return np.diff(np.append(self.time, self.seen)).astype(np.float64)


def start_expansion(X: Array, outputs: int) -> LearnedExpansion:
    """Nothing learned yet."""
    none, zero = np.zeros(0, dtype=np.int64), np.zeros((0, outputs))
    points = X[:0] if not is_sparse(X) else sparse.csr_array(X[:0])
    return LearnedExpansion(points, zero, zero, 0, none, none, none, np.zeros(0), none)


@dataclass(frozen=True)
class Learned:
    """The expansion, the samples of the mistakes of the last call in order, mistakes of each pass, and how it ended."""

    expansion: LearnedExpansion
    mistakes: Integers
    passes: tuple[int, ...]
    status: Status


class _Tiles:
    """The kernel of samples with themselves, in memory where it is small, and with those of an expansion before."""

    def __init__(self, kernel: Kernel, X: Array, points: Array) -> None:
        self.kernel, self.X, self.points, self.kept = kernel, X, points, points.shape[0]
        self.K = self._evaluate(X, None) if X.shape[0] ** 2 <= KEPT_VALUES else None

    def _evaluate(self, X: Array, Z: Array | None) -> Floats:
        K = np.asarray(self.kernel.block(X, Z), dtype=np.float64)
        if not np.isfinite(K).all():
            raise NotFinite(OVERFLOW)
        return K

    def scores(self, some: Integers, numbers: list[int], coef: Floats) -> Floats:
        result = np.zeros((len(some), coef.shape[1]))
        every = np.array(numbers, dtype=np.int64)
        old, new = np.flatnonzero(every < self.kept), np.flatnonzero(every >= self.kept)
        X = take_rows(self.X, some)
        if len(old):
            result += self.kernel.multiply(X, take_rows(self.points, every[old]), np.ascontiguousarray(coef[old]))
        if len(new) and self.K is not None:
            result += product(np.ascontiguousarray(self.K[np.ix_(some, every[new] - self.kept)]), coef[new])
        elif len(new):
            points = take_rows(self.X, every[new] - self.kept)
            result += self.kernel.multiply(X, points, np.ascontiguousarray(coef[new]))
        if not np.isfinite(result).all():
            raise NotFinite(OVERFLOW)
        return result

    def square(self, some: Integers) -> Floats:
        if self.K is not None:
            return self.K[np.ix_(some, some)]
        return self._evaluate(take_rows(self.X, some), None)

    def column(self, some: Integers, number: int) -> Floats:
        if number >= self.kept and self.K is not None:
            return self.K[some, number - self.kept]
        source, at = (self.points, number) if number < self.kept else (self.X, number - self.kept)
        return self._evaluate(take_rows(self.X, some), take_rows(source, np.array([at])))[:, 0]


def learn(
    kernel: Kernel,
    X: Array,
    label: Integers,
    weight: Floats,
    outputs: int,
    before: LearnedExpansion,
    *,
    max_iter: int,
    random: np.random.RandomState | None,
    budget: int | None = None,
    remover: np.random.RandomState | None = None,
) -> Learned:
    """Passes over samples until one has no mistakes; random: of the order of each pass, None as they are; remover: of
    samples that are removed, None for the oldest.
    """
    inside = np.flatnonzero(weight > 0.0)
    tiles = _Tiles(kernel, X, before.points)
    state = Expansion(outputs, seen=before.seen)
    for number, coef in enumerate(before.last):
        state.coef[number] = coef.copy()
    rule = Budget(budget, remover)
    passes: list[int] = []
    status = Status.MAX_ITER
    for _ in range(max_iter):
        order = inside if random is None else inside[random.permutation(len(inside))]
        passes.append(run_pass(label, weight, order, tiles, tiles.kept, state, rule))
        if not passes[-1]:
            status = Status.CONVERGED
            break
    mistakes = np.array([number - tiles.kept for number in state.sample], dtype=np.int64)
    return Learned(_collect(X, before, state, budget is None), mistakes, tuple(passes), status)


def _collect(X: Array, before: LearnedExpansion, state: Expansion, whole: bool) -> LearnedExpansion:
    """The expansion after the updates of `state`; with `whole` all samples that were ever moved are in it, else those
    that are left, and updates are forgotten.
    """
    kept, outputs = before.points.shape[0], state.outputs
    numbers = np.array(list(state.coef), dtype=np.int64)
    old, new = numbers[numbers < kept], numbers[numbers >= kept] - kept
    points = _stack(take_rows(before.points, old), take_rows(X, new))
    last = np.array([state.coef[number] for number in numbers]).reshape(-1, outputs)
    none = np.zeros(0, dtype=np.int64)
    if not whole:
        sums = np.zeros_like(last)
        return LearnedExpansion(points, last, sums, state.seen, none, none, none, np.zeros(0), none)
    place = {int(number): at for at, number in enumerate(numbers)}
    sample = np.array([place[number] for number in state.sample], dtype=np.int64)
    up, down, time = (np.array(values, dtype=np.int64) for values in (state.up, state.down, state.time))
    step = np.array(state.step, dtype=np.float64)
    sums = np.zeros_like(last)
    sums[: len(before.sums)] = before.sums
    np.add.at(sums, (sample, up), step * time)
    apart = up != down
    np.subtract.at(sums, (sample[apart], down[apart]), (step * time)[apart])
    return LearnedExpansion(
        points,
        last,
        sums,
        state.seen,
        np.append(before.sample, sample),
        np.append(before.up, up),
        np.append(before.down, down),
        np.append(before.step, step),
        np.append(before.time, time),
    )


def _stack(one: Any, other: Any) -> Any:
    if is_sparse(one) or is_sparse(other):
        return sparse.csr_array(sparse.vstack([one, other]))
    return np.concatenate([one, other])


def count_missing_votes(votes: Votes, X: Array, label: Integers) -> float:
    """How many votes more the last function needs, which makes no mistake on these samples, so that votes make none."""
    z, unsure = votes.scores(X)
    total = float(np.sum(votes.votes))
    short = float(np.min(margins(z, label) - unsure[:, 0])) * total
    return max(0.0, float(np.floor(-short)) + 1.0) if not short > 0.0 else 0.0


def judge(
    functions: Functions, votes: Votes | None, X: Array, label: Integers, weight: Floats, classes: int, status: str
) -> tuple[Certificate, float]:
    """The certificate of functions, or of votes, and the bound on the mistakes of any perceptron on these samples."""
    bound = bound_mistakes(functions, X, label, weight)
    if votes is not None:
        return count(votes.scores, X, label, weight, classes, status=status), bound
    return count(functions.scores, X, label, weight, classes, status=status, norm=functions.norm()), bound
