"""Curves through what is known at some places of a path of penalties, in the logarithm t of the penalty."""

from collections.abc import Iterator

import numpy as np

from tenfold.arrays import Floats, Integers

APART = 0.25
"""Known places that are nearer to each other than so much of their distance would show rounding, not the curve."""


def through(known: Floats, new: Floats, near: int) -> Floats:
    """The weights (new, known) of the polynomials through the `near` known places about each new one."""
    weights = np.zeros((len(new), len(known)))
    for rows, chosen in _nearest(known, new, near):
        weights[rows[:, None], chosen] = _polynomials(known[chosen], new[rows])[0]
    return weights


def with_slopes(known: Floats, new: Floats, near: int) -> tuple[Floats, Floats]:
    """The weights of values and of slopes (new, known) of the polynomials that have both at the `near` known places
    about each new one.
    """
    values, slopes = np.zeros((2, len(new), len(known)))
    for rows, chosen in _nearest(known, new, near):
        basis, own = _polynomials(known[chosen], new[rows])
        away = new[rows][:, None] - known[chosen]
        values[rows[:, None], chosen] = (1.0 - 2.0 * own * away) * basis**2
        slopes[rows[:, None], chosen] = away * basis**2
    return values, slopes


def _polynomials(x: Floats, t: Floats) -> tuple[Floats, Floats]:
    """At each t (m,) the polynomials (m, k) that are one at one of the places x (m, k) and zero at the others, and
    their slopes at their own place.
    """
    same = np.eye(x.shape[1], dtype=bool)
    apart = np.where(same, 1.0, x[:, :, None] - x[:, None, :])
    basis = np.prod(np.where(same, 1.0, (t[:, None, None] - x[:, None, :]) / apart), axis=2)
    return basis, np.sum(np.where(same, 0.0, 1.0 / apart), axis=2)


def _nearest(known: Floats, new: Floats, count: int) -> Iterator[tuple[Integers, Integers]]:
    """Numbers (m,) of new places, with those (m, k) of the nearest known places that are apart, nearest first."""
    distance = np.abs(new[:, None] - known)
    order = np.argsort(distance, axis=1, kind="stable")
    first = order[:, :count]
    gaps = np.abs(known[first][:, :, None] - known[first][:, None, :])
    close = gaps <= APART * np.take_along_axis(distance, first, axis=1)[:, :, None]
    plain = ~np.any(close & np.tri(first.shape[1], k=-1, dtype=bool), axis=(1, 2))
    if plain.any():
        yield np.flatnonzero(plain), first[plain]
    for row in np.flatnonzero(~plain):
        chosen: list[int] = []
        for k in order[row].tolist():
            if len(chosen) < count and all(abs(known[k] - known[j]) > APART * distance[row, k] for j in chosen):
                chosen.append(k)
        yield np.array([row]), np.array([chosen])


def spaced(at: Floats, reach: float) -> Integers:
    """Places from the first to the last at steps of up to `reach`, or where there are none, from one to the next."""
    chosen, last = [0], len(at) - 1
    while chosen[-1] < last:
        within = np.flatnonzero(np.abs(at - at[chosen[-1]]) <= reach)
        chosen.append(max(int(within[-1]), chosen[-1] + 1))
    if len(chosen) > 2 and abs(at[last] - at[chosen[-2]]) < 0.5 * reach:
        # the last steps are as long as each other
        middle = 0.5 * (at[chosen[-3]] + at[last])
        chosen[-2] = int(np.clip(np.argmin(np.abs(at - middle)), chosen[-3] + 1, last - 1))
    return np.array(chosen, dtype=np.intp)


def between(known: Integers) -> Integers:
    """The places halfway between known ones, where there are some."""
    left, right = known[:-1], known[1:]
    inside = right - left > 1
    return (left[inside] + right[inside]) // 2
