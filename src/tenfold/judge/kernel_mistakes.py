"""Kind count: the mistakes of functions in the space of a kernel, or of the votes of many, counted again by tiles.

The sign of a score near zero may be rounding: a sample counts as a mistake unless its margin exceeds a bound on the
rounding of its scores, so that zero mistakes are proved.

With R the largest k(x, x)^1/2 and a function that separates the samples with margins of at least g ||f||, a perceptron
makes at most (R / g)^2 mistakes in any number of passes in any order (Novikoff 1962); where several classes are learned
together, of functions with sum_k ||f_k||^2 = 1, R is 2^1/2 times that, the length of the difference of two features.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array, Floats, Integers
from tenfold.bounds import mistake_bound
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.kernel_samples import take
from tenfold.kernels import Kernel

PIECE_VALUES = 1 << 22  # of scores of votes at a time


@dataclass(frozen=True)
class Functions:
    """f = sum_j coef_j k(z_j, .), (m, k) coefficients of samples z_j."""

    kernel: Kernel
    points: Any
    coef: Floats

    def scores(self, X: Any) -> tuple[Floats, Floats]:
        """(n, k) and a bound (n, 1) on their rounding."""
        if not len(self.coef):
            return np.zeros((_count(X), self.coef.shape[1])), np.zeros((_count(X), 1))
        z = np.asarray(self.kernel.multiply(X, self.points, np.ascontiguousarray(self.coef)))
        reach = np.sqrt(np.maximum(np.asarray(self.kernel.diag(X), dtype=np.float64), 0.0))
        own = np.sqrt(np.maximum(np.asarray(self.kernel.diag(self.points), dtype=np.float64), 0.0))
        size = float(np.max(own @ np.abs(self.coef), initial=0.0))
        return z, (8.0 + len(self.coef)) * EPS * size * reach[:, None]

    def norm(self) -> float:
        """(sum_k ||f_k||^2)^1/2, rounded up."""
        if not len(self.coef):
            return 0.0
        f = np.asarray(self.kernel.multiply(self.points, None, np.ascontiguousarray(self.coef)))
        own = np.sqrt(np.maximum(np.asarray(self.kernel.diag(self.points), dtype=np.float64), 0.0))
        size = float(np.sum((own @ np.abs(self.coef)) ** 2))
        return float(np.sqrt(max(np.sum(self.coef * f), 0.0) + 16.0 * EPS * size))


@dataclass(frozen=True)
class Votes:
    """All functions that a perceptron had, each with its votes: the number of the sample of each update among `points`,
    the class whose function grows and the one whose function shrinks (the same, 0, of two classes), and the signed
    step.
    """

    kernel: Kernel
    points: Any
    classes: int
    sample: Integers
    up: Integers
    down: Integers
    step: Floats
    votes: Floats

    def scores(self, X: Any) -> tuple[Floats, Floats]:
        """The fractions of the votes (n, classes), of two classes their difference (n, 1), and of votes within rounding
        of another (n, 1).
        """
        n, width = _count(X), max(1, len(self.step) * (1 if self.classes == 2 else self.classes))
        step = max(1, PIECE_VALUES // width)
        parts = [self._of_piece(take(X, np.arange(a, min(n, a + step)))) for a in range(0, n, step)]
        z, unsure = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        return z, unsure

    def _of_piece(self, X: Any) -> tuple[Floats, Floats]:
        n, total = _count(X), float(np.sum(self.votes)) or 1.0
        if not len(self.step):
            return np.zeros((n, 1 if self.classes == 2 else self.classes)), np.ones((n, 1))
        K = np.asarray(self.kernel.block(X, self.points), dtype=np.float64)
        moves = K[:, self.sample] * self.step
        rounding = (len(self.step) + 16.0) * EPS * np.cumsum(np.abs(moves), axis=1)
        if self.classes == 2:
            f = np.cumsum(moves, axis=1)
            unsure = (np.abs(f) <= rounding) @ self.votes
            return (np.sign(f) @ self.votes / total)[:, None], 2.0 * unsure[:, None] / total
        each = np.zeros((self.classes, *moves.shape))
        for t in range(len(self.step)):
            each[self.up[t], :, t] += moves[:, t]
            each[self.down[t], :, t] -= moves[:, t]
        f = np.cumsum(each, axis=2)
        first, second = np.sort(f, axis=0)[[-1, -2]]
        unsure = (first - second <= 2.0 * rounding) @ self.votes
        winner = np.argmax(f, axis=0)
        shares = np.stack([(winner == c) @ self.votes for c in range(self.classes)], axis=1) / total
        return shares, 2.0 * unsure[:, None] / total


Scores = Callable[[Any], tuple[Floats, Floats]]


def _count(X: Any) -> int:
    return len(X) if isinstance(X, list) else int(X.shape[0])


def margins(z: Floats, label: Integers) -> Floats:
    """y z of two classes, else the score of the own class minus the best of the others, (n,)."""
    if z.shape[1] == 1:
        return np.where(label == 1, z[:, 0], -z[:, 0])
    rows = np.arange(len(label))
    others = z.copy()
    others[rows, label] = -np.inf
    return np.asarray(z[rows, label] - np.max(others, axis=1))


def count(
    scores: Scores, X: Array, label: Integers, weight: Floats, classes: int, *, status: str, norm: float = 0.0
) -> Certificate:
    """The mistakes on samples of positive weight; norm: that of the functions, for the margin."""
    z, rounding = scores(X)
    inside = weight > 0.0
    reach = margins(z, label)
    wrong = ~(reach > 2.0 * rounding[:, 0]) & inside
    number = np.bincount(label[wrong], minlength=classes).astype(np.float64)
    smallest = float(np.min(np.append(reach[inside], np.inf)))
    unit = f"{smallest / norm:.3g} (by the norm of the function)" if norm > 0.0 else f"{smallest:.3g}"
    return Certificate(
        "count",
        float(np.sum(number)),
        float(max(int(np.count_nonzero(inside)), 1)),
        RULES["count"].tol,
        0.0,
        float(np.sum(weight[wrong]) / np.sum(weight)),
        status=status,
        parts=tuple(float(one) for one in number),
        note=f"The smallest margin is {unit}.",
    )


def bound_mistakes(functions: Functions, X: Array, label: Integers, weight: Floats) -> float:
    """Novikoff's bound by the margin of these functions; infinite where they do not separate the samples, and for
    weights that differ.
    """
    inside = np.flatnonzero(weight > 0.0)
    if np.ptp(weight[inside]) > 0.0:
        return float(np.inf)
    part, norm = take(X, inside), functions.norm()
    z, rounding = functions.scores(part)
    smallest = float(np.min(margins(z, label[inside]) - 2.0 * rounding[:, 0]))
    if not smallest > 0.0 or not norm > 0.0:
        return float(np.inf)
    radius = float(np.sqrt(np.max(np.asarray(functions.kernel.diag(part), dtype=np.float64))))
    radius *= 1.0 if z.shape[1] == 1 else float(np.sqrt(2.0))
    return float(mistake_bound(radius, smallest / norm))
