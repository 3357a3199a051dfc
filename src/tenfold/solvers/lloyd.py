"""Lloyd's algorithm: rows go to the nearest centre, centres to the mean of their rows.

With the energy E(c) = sum_i w_i min_k ||x_i - c_k||^2, both halves of a step lower it or leave it: for the assignment
t, means m_k and weights n_k, the second by sum_k n_k ||m_k - c_k||^2. One pass over the rows a step. The energy of the
means needs no pass of its own: sum w ||x - m||^2 - sum_k n_k ||m_k - m||^2, with m the mean of all.

A centre without rows goes to the row that is furthest from its own centre, the next one to the next such row, and so
on: that lowers the energy, too.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows
from tenfold.solvers.loop import Step
from tenfold.stats import Assigned, Farthest, Params, farthest

Assign = Callable[[Floats], Assigned]


def steps(
    rows: Rows, assign: Assign, start: Floats, *, place: Floats, scatter: float, shift: float, fall: float
) -> Iterator[Step]:
    """Steps from the centres `start` (k, p); the parameters are centres and the weights of their rows.

    `assign` is one pass: `Assigned` for given centres, with sums about `place`; `scatter` is the energy of that place
    alone. A step meets the stopping rule when the squared moves of the centres sum to at most `shift`, and the energy
    has fallen by at most `fall` times itself, or when no centre has moved.
    """
    centres = start
    yield Step(Params(centres, np.zeros(len(centres))), np.inf, np.inf)
    while True:
        found = assign(centres)
        if not np.isfinite(found.energy):
            raise NotFinite
        if not found.weight.all():
            found = relocated(found, rows.fold(farthest(centres, int(np.sum(found.weight == 0.0)))), place)
        inside = found.weight > 0.0
        away = found.sums / np.where(inside, found.weight, 1.0)[:, None]
        means = np.where(inside[:, None], place + away, centres)
        moves = np.sum((means - centres) ** 2, axis=1)
        energy = max(0.0, scatter - float(np.sum(found.weight * np.sum(away**2, axis=1))))
        measure = max(_ratio(float(np.sum(moves)), shift), _ratio(float(np.sum(found.weight * moves)), fall * energy))
        centres = means
        yield Step(Params(centres, found.weight), energy, measure)


def _ratio(value: float, allowed: float) -> float:
    if value == 0.0:
        return 0.0
    return value / allowed if allowed > 0.0 else np.inf


def relocated(found: Assigned, far: Farthest, place: Floats) -> Assigned:
    """Centres without rows take the furthest ones, as long as these leave a row behind."""
    weight, sums = found.weight.copy(), found.sums.copy()
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
    return Assigned(weight, sums, found.energy)
