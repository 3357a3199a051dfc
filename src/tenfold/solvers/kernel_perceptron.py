"""The perceptron in the space of a kernel (Aizerman, Braverman and Rozonoer 1964): passes over samples in order.

Two classes have one function f, positive for the second; a mistake on sample i with y_i f(x_i) <= 0 adds
w_i y_i k(x_i, .). More have one each, and a mistake, where no other score is below that of the own class, adds
w_i k(x_i, .) to the function of the class and subtracts it from that of the best other. Samples are taken in blocks:
the scores of a block come from one product with the expansion as it is at its beginning, and an update within costs a
row of the kernel of the block, so that the kernel is evaluated by tiles.

A budget is the most samples in the expansion: where one more would exceed it, the oldest (Dekel, Shalev-Shwartz and
Singer 2008, without their shrinking) or a random one (Cavallanti, Cesa-Bianchi and Gentile 2007) is removed first.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.machine import poll

BLOCK = 512  # samples whose scores are computed together


class Tiles(Protocol):
    """The kernel of samples of the pass and of the expansion, by their numbers."""

    def scores(self, some: Integers, numbers: list[int], coef: Floats) -> Floats:
        """The kernel of some samples of the pass with samples of the expansion, times coefficients (m, k)."""
        ...

    def square(self, some: Integers) -> Floats:
        """The kernel of some samples of the pass with each other."""
        ...

    def column(self, some: Integers, number: int) -> Floats:
        """The kernel of some samples of the pass with one of the expansion."""
        ...


@dataclass
class Expansion:
    """Updates in order: the numbers of samples, the class whose function grows and the one whose function shrinks (the
    same, 0, of two classes), the signed steps, and the samples seen before each; and of each sample of the expansion
    its number, in the order of their first updates, with coefficients (m, k).
    """

    outputs: int
    seen: int = 0
    sample: list[int] = field(default_factory=list)
    up: list[int] = field(default_factory=list)
    down: list[int] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    coef: dict[int, Floats] = field(default_factory=dict)

    def add(self, number: int, up: int, down: int, step: float) -> None:
        self.sample.append(number)
        self.up.append(up)
        self.down.append(down)
        self.step.append(step)
        self.time.append(self.seen)
        own = self.coef.setdefault(number, np.zeros(self.outputs))
        own[up] += step
        if down != up:
            own[down] -= step


@dataclass(frozen=True)
class Budget:
    """The most samples of an expansion, None for any number, and which to remove: the oldest, or a random one."""

    most: int | None = None
    random: np.random.RandomState | None = None

    def choose(self, numbers: list[int]) -> int:
        """The number of the sample to remove."""
        return numbers[0] if self.random is None else numbers[self.random.randint(len(numbers))]


def find_mistakes(scores: Floats, label: Integers) -> Floats:
    """Which samples are mistakes, by scores (n, k)."""
    if scores.shape[1] == 1:
        wrong = np.where(label == 1, scores[:, 0], -scores[:, 0]) <= 0.0
        return np.asarray(wrong)
    rows = np.arange(len(label))
    own = scores[rows, label]
    others = scores.copy()
    others[rows, label] = -np.inf
    return np.asarray(own <= np.max(others, axis=1))


def run_pass(
    label: Integers, weight: Floats, order: Integers, tiles: Tiles, first: int, expansion: Expansion, budget: Budget
) -> int:
    """One pass in `order`; the number of mistakes. Numbers of samples are those of the pass plus `first`; below that
    they are those of the expansion before.
    """
    mistakes = 0
    for start in range(0, len(order), BLOCK):
        poll()
        mistakes += _run_block(label, weight, order[start : start + BLOCK], tiles, first, expansion, budget)
    return mistakes


def _run_block(
    label: Integers, weight: Floats, some: Integers, tiles: Tiles, first: int, expansion: Expansion, budget: Budget
) -> int:
    numbers, own = list(expansion.coef), label[some]
    coef = np.array([expansion.coef[number] for number in numbers]).reshape(-1, expansion.outputs)
    scores = tiles.scores(some, numbers, coef)
    K: Floats | None = None
    wrong, at, mistakes = find_mistakes(scores, own), 0, 0
    while True:
        ahead = np.flatnonzero(wrong[at:])
        if not len(ahead):
            expansion.seen += len(some) - at
            return mistakes
        at += int(ahead[0])
        expansion.seen += int(ahead[0])
        number = first + int(some[at])
        mistakes += 1
        if budget.most is not None and number not in expansion.coef and len(expansion.coef) >= budget.most:
            gone = budget.choose(list(expansion.coef))
            scores -= np.outer(tiles.column(some, gone), expansion.coef.pop(gone))
        K = tiles.square(some) if K is None else K
        values, step = K[at], float(weight[some[at]])
        if scores.shape[1] == 1:
            step = step if own[at] == 1 else -step
            expansion.add(number, 0, 0, step)
            scores[:, 0] += step * values
        else:
            others = scores[at].copy()
            others[own[at]] = -np.inf
            best = int(np.argmax(others))
            expansion.add(number, int(own[at]), best, step)
            scores[:, own[at]] += step * values
            scores[:, best] -= step * values
        wrong = find_mistakes(scores, own)
        expansion.seen += 1
        at += 1
