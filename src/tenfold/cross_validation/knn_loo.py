"""Leave-one-out selection of the number of neighbours, all candidates from one search, and jackknife+ intervals.

The k nearest other samples of a sample are the first k of a longer list: one search for the largest candidate has the
neighbours of all, and cumulative sums along the list have their votes and means.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Array, Floats, Integers

TILE_VALUES = 1 << 21  # predictions of queries without each sample that are in memory at a time: 16 MiB


def votes_left_out(
    neighbours: Integers, weight: Floats, codes: Integers, classes: int, candidates: Integers
) -> Iterator[Floats]:
    """Votes (n, classes) of the first k neighbours, for one candidate k after the other; the array is updated in place.

    neighbours (n, K) are indices by increasing distance, weight (n, K) their votes, codes (n,) the classes of all
    samples.
    """
    n, longest = neighbours.shape
    counts, samples = np.zeros((n, classes)), np.arange(n)
    for k in range(longest):
        counts[samples, codes[neighbours[:, k]]] += weight[:, k]
        if k + 1 in candidates:
            yield counts


def means_left_out(neighbours: Integers, weight: Floats, y: Floats, candidates: Integers) -> Floats:
    """Means (m, t, c) of the targets y (n, t) of the first k neighbours (m, K), for each candidate k."""
    sums = np.cumsum(weight, axis=1)[:, candidates - 1]
    result = np.empty((len(neighbours), y.shape[1], len(candidates)))
    for t in range(y.shape[1]):
        result[:, t] = np.cumsum(weight * y[neighbours, t], axis=1)[:, candidates - 1] / sums
    return result


def mean_error(errors: Floats, sample_weight: Floats | None) -> Floats:
    """The weighted mean over the samples of errors (n, c)."""
    return errors.mean(axis=0) if sample_weight is None else sample_weight @ errors / sample_weight.sum()


@dataclass(frozen=True)
class NeighbourJackknife:
    """Prediction intervals from leave-one-out residuals (Barber, Candes, Ramdas and Tibshirani 2021).

    Without sample i the prediction at x is the mean of the k nearest other samples: the same as with it unless i is one
    of the k, and is replaced by the next one. The interval holds the middle of the n values of this -+ |e_i|.
    """

    errors: Floats  # (n,), exact leave-one-out residuals
    y: Floats  # (n,)

    def interval(self, neighbours: Integers, weight: Floats, coverage: float) -> Floats:
        """Intervals (m, 2) from the k + 1 nearest samples of each query, in order, and their weights, (m, k + 1)."""
        n, size = self.errors.size, np.abs(self.errors)
        rank = int(np.ceil(coverage * (n + 1)))
        result = np.empty((len(neighbours), 2))
        if rank > n:
            result[:] = -np.inf, np.inf
            return result
        products = weight * self.y[neighbours]
        first, others = products[:, :-1].sum(axis=1), weight[:, :-1].sum(axis=1)
        for start in range(0, len(neighbours), max(1, TILE_VALUES // n)):
            part = slice(start, start + max(1, TILE_VALUES // n))
            without = np.repeat((first[part] / others[part])[:, None], n, axis=1)
            replaced = (products[part].sum(axis=1)[:, None] - products[part, :-1]) / (
                weight[part].sum(axis=1)[:, None] - weight[part, :-1]
            )
            np.put_along_axis(without, neighbours[part, :-1], replaced, axis=1)
            result[part, 0] = -np.partition(size - without, rank - 1, axis=1)[:, rank - 1]
            result[part, 1] = np.partition(without + size, rank - 1, axis=1)[:, rank - 1]
        return result


def list_candidates(candidates: Array, most: int) -> Integers:
    """The candidate numbers of neighbours: all up to a number, or those given; none above `most`."""
    result = np.arange(1, int(candidates) + 1) if np.ndim(candidates) == 0 else np.unique(np.asarray(candidates))
    return result[result <= most]
