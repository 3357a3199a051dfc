"""The number of neighbours by leave-one-out, of all candidates from one search, and what jackknife+ needs.

The k nearest other rows of a row are the first k of a longer list, so that one search for the largest candidate has the
neighbours of all, and sums along the list have their votes and means.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Array, Floats, Integers

TILE = 1 << 21
"""Numbers that are sorted at once."""


def votes_left_out(
    rows: Integers, weight: Floats, number: Integers, classes: int, candidates: Integers
) -> Iterator[Floats]:
    """Votes (n, classes) of the first k neighbours, for one candidate k after the other; each is changed by the next.

    rows (n, K) are neighbours in order, weight (n, K) their votes, number (n,) the classes of all rows.
    """
    n, longest = rows.shape
    counts, here = np.zeros((n, classes)), np.arange(n)
    for k in range(longest):
        counts[here, number[rows[:, k]]] += weight[:, k]
        if k + 1 in candidates:
            yield counts


def means_left_out(rows: Integers, weight: Floats, y: Floats, candidates: Integers) -> Floats:
    """Means (m, t, c) of the targets y (n, t) of the first k of the neighbours rows (m, K), for each candidate k."""
    sums = np.cumsum(weight, axis=1)[:, candidates - 1]
    result = np.empty((len(rows), y.shape[1], len(candidates)))
    for t in range(y.shape[1]):
        result[:, t] = np.cumsum(weight * y[rows, t], axis=1)[:, candidates - 1] / sums
    return result


def mean_error(errors: Floats, of_rows: Floats | None) -> Floats:
    """The weighted mean over the rows of errors (n, c)."""
    return errors.mean(axis=0) if of_rows is None else of_rows @ errors / of_rows.sum()


@dataclass(frozen=True)
class NeighbourJackknife:
    """Prediction intervals from leave-one-out residuals (Barber, Candes, Ramdas and Tibshirani 2021).

    Without row i the prediction at x is the mean of the k nearest other rows: the same as with it unless i is one of
    the k, whose place the next one then takes. The interval holds the middle of the n values of this -+ |e_i|.
    """

    errors: Floats  # (n,), exact leave-one-out residuals
    y: Floats  # (n,)

    def interval(self, rows: Integers, weight: Floats, coverage: float) -> Floats:
        """Intervals (m, 2) from the k + 1 nearest rows of each query, in order, and their weights, (m, k + 1)."""
        n, size = self.errors.size, np.abs(self.errors)
        rank = int(np.ceil(coverage * (n + 1)))
        result = np.empty((len(rows), 2))
        if rank > n:
            result[:] = -np.inf, np.inf
            return result
        products = weight * self.y[rows]
        first, others = products[:, :-1].sum(axis=1), weight[:, :-1].sum(axis=1)
        for start in range(0, len(rows), max(1, TILE // n)):
            part = slice(start, start + max(1, TILE // n))
            without = np.repeat((first[part] / others[part])[:, None], n, axis=1)
            replaced = (products[part].sum(axis=1)[:, None] - products[part, :-1]) / (
                weight[part].sum(axis=1)[:, None] - weight[part, :-1]
            )
            np.put_along_axis(without, rows[part, :-1], replaced, axis=1)
            result[part, 0] = -np.partition(size - without, rank - 1, axis=1)[:, rank - 1]
            result[part, 1] = np.partition(without + size, rank - 1, axis=1)[:, rank - 1]
        return result


def list_of(candidates: Array, most: int) -> Integers:
    """The numbers of neighbours to try: all up to a number, or those given; none above `most`."""
    result = np.arange(1, int(candidates) + 1) if np.ndim(candidates) == 0 else np.unique(np.asarray(candidates))
    return result[result <= most]
