"""Interpolation along a path of penalties, in the logarithm t of the penalty."""

from collections.abc import Iterator

import numpy as np

from tenfold.arrays import Floats, Integers

MIN_SEPARATION = 0.25  # of the distance to the new place: nodes nearer to each other amplify rounding


def polynomial_weights(known: Floats, new: Floats, nodes: int) -> Floats:
    """The weights (new, known) of the polynomials through the `nodes` known places nearest to each new one."""
    weights = np.zeros((len(new), len(known)))
    for rows, chosen in _nearest(known, new, nodes):
        x, t = known[chosen], new[rows]
        same = np.eye(x.shape[1], dtype=bool)
        apart = np.where(same, 1.0, x[:, :, None] - x[:, None, :])
        weights[rows[:, None], chosen] = np.prod(
            np.where(same, 1.0, (t[:, None, None] - x[:, None, :]) / apart), axis=2
        )
    return weights


def _nearest(known: Floats, new: Floats, count: int) -> Iterator[tuple[Integers, Integers]]:
    """Indices (m,) of new places, with those (m, k) of the nearest separated known places, nearest first."""
    distance = np.abs(new[:, None] - known)
    order = np.argsort(distance, axis=1, kind="stable")
    first = order[:, :count]
    gaps = np.abs(known[first][:, :, None] - known[first][:, None, :])
    close = gaps <= MIN_SEPARATION * np.take_along_axis(distance, first, axis=1)[:, :, None]
    separated = ~np.any(close & np.tri(first.shape[1], k=-1, dtype=bool), axis=(1, 2))
    if separated.any():
        yield np.flatnonzero(separated), first[separated]
    rest = np.flatnonzero(~separated)
    if not len(rest):
        return
    # nearest first, a place is chosen that is far enough from those chosen before
    chosen, counts = np.zeros((len(rest), count), dtype=np.intp), np.zeros(len(rest), dtype=np.intp)
    slots = np.arange(count)
    for k in order[rest].T:
        limit = MIN_SEPARATION * distance[rest, k]
        close = (np.abs(known[k][:, None] - known[chosen]) <= limit[:, None]) & (slots < counts[:, None])
        some = np.flatnonzero((counts < count) & ~close.any(axis=1))
        chosen[some, counts[some]] = k[some]
        counts[some] += 1
    for number in np.unique(counts):
        same = counts == number
        yield rest[same], chosen[same, :number]


def coarse_places(at: Floats, spacing: float) -> Integers:
    """Places from the first to the last at distances of up to `spacing`, or to the next place where that is farther."""
    chosen, last = [0], len(at) - 1
    while chosen[-1] < last:
        within = np.flatnonzero(np.abs(at - at[chosen[-1]]) <= spacing)
        chosen.append(max(int(within[-1]), chosen[-1] + 1))
    if len(chosen) > 2 and abs(at[last] - at[chosen[-2]]) < 0.5 * spacing:
        # the last two distances are made equal
        middle = 0.5 * (at[chosen[-3]] + at[last])
        chosen[-2] = int(np.clip(np.argmin(np.abs(at - middle)), chosen[-3] + 1, last - 1))
    return np.array(chosen, dtype=np.intp)


def halfway_places(known: Integers) -> Integers:
    """The places halfway between neighbouring known ones, where there are some."""
    left, right = known[:-1], known[1:]
    inside = right - left > 1
    return (left[inside] + right[inside]) // 2
