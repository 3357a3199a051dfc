"""The perceptron in the space of a kernel (Aizerman, Braverman and Rozonoer 1964): passes over samples in order.

Two classes have one function f, positive for the second; a mistake on sample i with y_i f(x_i) <= 0 adds
w_i y_i k(x_i, .). More have one each, and a mistake, where no other score is below that of the own class, adds
w_i k(x_i, .) to the function of the class and subtracts it from that of the best other. Scores of all samples of a pass
are kept, so that an update costs one row of the kernel, and the search for the next mistake one comparison a sample.

A budget is the most samples in the expansion: where one more would exceed it, the oldest (Dekel, Shalev-Shwartz and
Singer 2008, without their shrinking) or a random one (Cavallanti, Cesa-Bianchi and Gentile 2007) is removed first.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.machine import poll

Row = Callable[[int], Floats]
"""The kernel (n,) of a sample with all samples of the pass."""

Between = Callable[[int], Floats]
"""The kernel (n,) of a sample of the expansion, by its number, with all samples of the pass."""


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
    scores: Floats,
    label: Integers,
    weight: Floats,
    order: Integers,
    row: Row,
    between: Between,
    first: int,
    expansion: Expansion,
    budget: Budget,
) -> int:
    """One pass in `order`; scores (n, k) of the expansion so far are kept up to date. Numbers of samples are those of
    the pass plus `first`, and below that of the expansion before. The number of mistakes.
    """
    k = scores.shape[1]
    wrong = find_mistakes(scores, label)
    at, mistakes = 0, 0
    while True:
        ahead = np.flatnonzero(wrong[order[at:]])
        if not len(ahead):
            expansion.seen += len(order) - at
            return mistakes
        poll()
        at += int(ahead[0])
        expansion.seen += int(ahead[0])
        i = int(order[at])
        mistakes += 1
        number = first + i
        if budget.most is not None and number not in expansion.coef and len(expansion.coef) >= budget.most:
            gone = budget.choose(list(expansion.coef))
            scores -= np.outer(between(gone), expansion.coef.pop(gone))
        values = row(i)
        if k == 1:
            step = float(weight[i]) if label[i] == 1 else -float(weight[i])
            expansion.add(number, 0, 0, step)
            scores[:, 0] += step * values
        else:
            others = scores[i].copy()
            others[label[i]] = -np.inf
            best = int(np.argmax(others))
            expansion.add(number, int(label[i]), best, float(weight[i]))
            scores[:, label[i]] += weight[i] * values
            scores[:, best] -= weight[i] * values
        wrong = find_mistakes(scores, label)
        expansion.seen += 1
        at += 1
