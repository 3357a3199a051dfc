"""Lloyd's algorithm: rows go to the nearest centre, centres to the mean of their rows.

With the energy E(c) = sum_i w_i min_k ||x_i - c_k||^2, both halves of a step lower it or leave it: for the assignment
t, means m_k and weights n_k, the second by sum_k n_k ||m_k - c_k||^2. One pass over the rows a step. The energy of the
means needs no pass of its own: sum w ||x - m||^2 - sum_k n_k ||m_k - m||^2, with m the mean of all.

A centre without rows goes to the row that is furthest from its own centre, the next one to the next such row, and so
on: that lowers the energy, too.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows
from tenfold.solvers.loop import Step
from tenfold.stats.kmeans_assignment import Assigner, Farthest, farthest


class Centres(NamedTuple):
    """Centres (k, p), and the weights (k,) of the samples that went to each; zero before the first step."""

    places: Floats
    weight: Floats


def steps(
    rows: Rows, assign: Assigner, start: Floats, *, place: Floats, scatter: float, shift: float, fall: float
) -> Iterator[Step]:
    """Steps from the centres `start` (k, p); the parameters are centres and the weights of their rows.

    `assign` is one pass, with sums about `place`; `scatter` is the energy of that place alone. A step meets the
    stopping rule when the squared moves of the centres sum to at most `shift`, and the energy has fallen by at most
    `fall` times itself, or when no centre has moved.
    """
    centres = start
    yield Step(Centres(centres, np.zeros(len(centres))), np.inf, np.inf)
    while True:
        weight, sums = assign(centres)
        if not np.isfinite(sums).all():
            raise NotFinite
        if not weight.all():
            far = rows.fold(farthest(centres, int(np.sum(weight == 0.0))))
            weight, sums = relocated(weight, sums, far, place)
        inside = weight > 0.0
        away = sums / np.where(inside, weight, 1.0)[:, None]
        means = np.where(inside[:, None], place + away, centres)
        moves = np.sum((means - centres) ** 2, axis=1)
        energy = max(0.0, scatter - float(np.sum(weight * np.sum(away**2, axis=1))))
        measure = max(_ratio(float(np.sum(moves)), shift), _ratio(float(np.sum(weight * moves)), fall * energy))
        centres = means
        yield Step(Centres(centres, weight), energy, measure)


def _ratio(value: float, allowed: float) -> float:
    if value == 0.0:
        return 0.0
    return value / allowed if allowed > 0.0 else np.inf


def means_again(assign: Assigner, last: Centres, place: Floats) -> Floats:
    """The centres of the last step from sums that depend on nothing but the assignment, so that rows of equal blocks
    give equal bits wherever they are; a centre that was relocated stays.
    """
    if not last.weight.any():  # no step was made
        return np.asarray(last.places)
    weight, sums = assign.again()
    same = (weight > 0.0) & np.isclose(weight, last.weight, rtol=1e-9, atol=0.0)
    away = sums / np.where(same, weight, 1.0)[:, None]
    return np.where(same[:, None], place + away, last.places)


def relocated(weight: Floats, sums: Floats, far: Farthest, place: Floats) -> tuple[Floats, Floats]:
    """Weights and sums when centres without rows have taken the furthest ones, as long as these leave a row behind."""
    weight, sums = weight.copy(), sums.copy()
    empty = iter(np.flatnonzero(weight == 0.0))
    for row, number, w in zip(far.rows, far.number, far.weight, strict=True):
        if weight[number] <= w * (1.0 + 1e-9):
            continue
        k = next(empty, None)
        if k is None:
            break
        weight[number] -= w
        sums[number] -= w * (row - place)
        weight[k], sums[k] = w, w * (row - place)
    return weight, sums
