"""What of the predictions of a support vector machine no exact optimum can change.

With the bounds of the judge (`gap_svm`) the optimal value of a machine at x is within

    h(x) = radius sqrt(k(x, x)) + drift

of the returned one, f(x) + b. Where |f(x) + b| > h(x) its sign is decided. One against one, class k is decided where it
wins the votes even if all undecided pairs turn against it: ties of votes go to the lowest class, and with `break_ties`
to the largest sum of values, so that there a tie decides nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats, Integers, is_sparse
from tenfold.judge.kernel_samples import evaluation_error
from tenfold.kernels import Kernel, Precomputed

GIVEN = (
    "A precomputed kernel does not say k(x, x) of new samples, by which bounds are computed: give the kernel matrix of "
    "the samples of the fit, or fit with a kernel object of tenfold.kernels."
)


@dataclass(frozen=True)
class Enclosure:
    """kernel; support: its samples of nonzero coefficients, or their numbers where the kernel is precomputed; count:
    the number of samples of the fit; coef: (m, t) coefficients; intercept, radius, drift: (t,).
    """

    kernel: Kernel
    support: Any
    count: int
    coef: Floats
    intercept: Floats
    radius: Floats
    drift: Floats

    def values(self, X: Any) -> tuple[Floats, Floats]:
        """The values (m, t) at samples X, and the half widths (m, t) of the intervals of the optimal ones."""
        X = X if is_sparse(X) or isinstance(X, list) else np.asarray(X)
        X = X.toarray() if is_sparse(X) and not is_sparse(self.support) else X
        if isinstance(self.kernel, Precomputed):
            if X.shape != (self.count, self.count):
                raise ValueError(GIVEN)
            f, diagonal = np.asarray(X[:, self.support], dtype=np.float64) @ self.coef, np.diag(X)
        else:
            f, diagonal = self.kernel.multiply(X, self.support, self.coef), self.kernel.diag(X)
        length = np.sqrt(np.maximum(np.asarray(diagonal, dtype=np.float64), 0.0))
        # the rounding of the values here: of sums of |coef| sqrt(k(x, x) k(z, z)), by the longest z
        rounding = 16.0 * EPS * np.sum(np.abs(self.coef), axis=0) * float(np.max(length, initial=0.0))
        rounding_of_kernel = evaluation_error(self.kernel, X, self.support) * np.sum(np.abs(self.coef), axis=0)
        return f + self.intercept, rounding_of_kernel + length[:, None] * (self.radius + rounding) + self.drift

    def intervals(self, X: Any) -> tuple[Floats, Floats]:
        """The ends (m,) of the intervals of the optimum's values; of several machines (m, t)."""
        u, half = self.values(X)
        ends = u - half, u + half
        return (ends[0][:, 0], ends[1][:, 0]) if u.shape[1] == 1 else ends

    def __call__(self, X: Any) -> Any:
        return self.decided(X)

    def decided(self, X: Any) -> Any:
        """Whether the sign (m,) of the only machine is decided."""
        u, half = self.values(X)
        return (np.abs(u) > half)[:, 0]


@dataclass(frozen=True)
class VotesEnclosure:
    """Machines of all pairs of classes, in the order (0, 1), (0, 2), ..., (1, 2), ..., positive for the first class;
    breaks_ties: by the sum of values.
    """

    pairs: Enclosure
    classes: int
    breaks_ties: bool = False

    def __call__(self, X: Any) -> Any:
        return self.decided(X)

    def decided(self, X: Any) -> Any:
        """Whether the predicted class (m,) is decided."""
        return decide_votes(*self.pairs.values(X), self.classes, self.breaks_ties)

    def intervals(self, X: Any) -> tuple[Floats, Floats]:
        """The ends (m, pairs) of the intervals of the optimal values of all pairs."""
        return self.pairs.intervals(X)


def decide_votes(u: Floats, half: Floats, classes: int, breaks_ties: bool) -> Any:
    """Whether the class with the most votes is decided, from values (m, pairs) and their half widths."""
    first, second = pairs_of(classes)
    least, most = np.zeros((len(u), classes)), np.zeros((len(u), classes))
    sure = np.abs(u) > half
    for t, (i, j) in enumerate(zip(first, second, strict=True)):
        for k, positive in ((i, u[:, t] > 0.0), (j, u[:, t] < 0.0)):
            least[:, k] += positive & sure[:, t]
            most[:, k] += positive | ~sure[:, t]
    everything = np.arange(len(u))
    winner = np.argmax(2.0 * least * classes - np.arange(classes), axis=1)
    rivals = most.copy()
    if not breaks_ties:  # a tie with a higher class is won
        rivals -= 0.5 * (np.arange(classes)[None, :] > winner[:, None])
    rivals[everything, winner] = -np.inf
    return least[everything, winner] > np.max(rivals, axis=1)


def pairs_of(classes: int) -> tuple[Integers, Integers]:
    """The pairs of classes, i < j."""
    return np.triu_indices(classes, 1)
