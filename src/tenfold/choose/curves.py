"""Curves through what is known at some places of a path of penalties, in the logarithm t of the penalty."""

import numpy as np

from tenfold.arrays import Floats, Integers

APART = 0.25
"""Known places that are nearer to each other than so much of their distance would show rounding, not the curve."""


def through(known: Floats, new: Floats, near: int) -> Floats:
    """The weights (new, known) of the polynomials through the `near` known places about each new one."""
    weights = np.zeros((len(new), len(known)))
    for i, t in enumerate(new):
        chosen = nearest(known, t, near)
        for k in chosen:
            others = known[chosen[chosen != k]]
            weights[i, k] = np.prod((t - others) / (known[k] - others))
    return weights


def with_slopes(known: Floats, new: Floats, near: int) -> tuple[Floats, Floats]:
    """The weights of values and of slopes (new, known) of the polynomials that have both at the `near` known places
    about each new one.
    """
    values = np.zeros((len(new), len(known)))
    slopes = np.zeros_like(values)
    for i, t in enumerate(new):
        chosen = nearest(known, t, near)
        for k in chosen:
            others = known[chosen[chosen != k]]
            square = np.prod((t - others) / (known[k] - others)) ** 2
            values[i, k] = (1.0 - 2.0 * np.sum(1.0 / (known[k] - others)) * (t - known[k])) * square
            slopes[i, k] = (t - known[k]) * square
    return values, slopes


def nearest(known: Floats, t: float, count: int) -> Integers:
    """The numbers of the nearest known places that are apart, in their order."""
    chosen: list[int] = []
    for k in np.argsort(np.abs(known - t), kind="stable").tolist():
        if all(abs(known[k] - known[other]) > APART * abs(known[k] - t) for other in chosen):
            chosen.append(k)
        if len(chosen) == count:
            break
    return np.sort(np.array(chosen, dtype=np.intp))


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
