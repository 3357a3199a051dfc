"""Initial centres of k-means among the samples: greedy k-means++, or drawn at random."""

from typing import Any

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, entries, is_sparse
from tenfold.machine import threads


def trials_for(k: int) -> int:
    """Candidates of a step of greedy k-means++, as proposed by Arthur and Vassilvitskii."""
    return 2 + int(np.log(k))


def plus_plus(X: Array, weight: Floats | None, k: int, random: Any, trials: int | None = None) -> Integers:
    """The numbers (k,) of samples by greedy k-means++: the first is drawn by weight, the next by weight times the
    squared distance from those before, of several candidates the one with the least energy.
    """
    trials = trials_for(k) if trials is None else trials
    first = int(random.choice(X.shape[0], p=_probabilities(X, weight)))
    draws = random.uniform(size=(k - 1, trials))
    count = threads(entries(X) * trials)
    if is_sparse(X):
        return _core.kmeans_plusplus_csr(X.data, X.indices, X.indptr, X.shape[1], weight, first, draws, count)
    return _core.kmeans_plusplus(X, weight, first, draws, count)


def draw_rows(X: Array, weight: Floats | None, k: int, random: Any) -> Integers:
    """The numbers (k,) of different samples, drawn by weight."""
    return np.asarray(random.choice(X.shape[0], size=k, replace=False, p=_probabilities(X, weight)))


def _probabilities(X: Array, weight: Floats | None) -> Floats:
    probabilities = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / np.sum(weight)
    return np.asarray(probabilities, dtype=np.float64)
