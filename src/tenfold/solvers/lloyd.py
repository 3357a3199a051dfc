"""Lloyd's algorithm for k-means: samples are assigned to the nearest centre, centres become the means of their samples.

Both halves of a step do not increase the energy E(c) = sum_i w_i min_k ||x_i - c_k||^2; with means m_k and weights n_k
of the clusters the second decreases it by sum_k n_k ||m_k - c_k||^2. One pass over the samples a step. The energy of
the means needs no pass of its own: sum w ||x - m||^2 - sum_k n_k ||m_k - m||^2, m the mean of all.

An empty cluster takes the sample that is furthest from its centre, the next one the next such sample, and so on: that
decreases the energy, too.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows
from tenfold.solvers.loop import Step
from tenfold.stats.kmeans_assignment import Assigner, Farthest, farthest


class Centres(NamedTuple):
    """Centres (k, p), and the weights (k,) of their samples; zero before the first step."""

    places: Floats
    weight: Floats


def steps(
    rows: Rows, assign: Assigner, start: Floats, *, place: Floats, scatter: float, shift_tol: float, energy_tol: float
) -> Iterator[Step]:
    """Steps from the centres `start` (k, p); the parameters are centres and the weights of their samples.

    `assign` is one pass, with sums about `place`; `scatter` is the energy of that place alone. Converged when the
    squared changes of the centres sum to at most `shift_tol` and the energy decreases by at most `energy_tol` times
    itself, or when no centre changes.
    """
    centres = start
    yield Step(Centres(centres, np.zeros(len(centres))), np.inf, np.inf)
    while True:
        weight, sums = assign(centres)
        if not np.isfinite(sums).all():
            raise NotFinite
        if not weight.all():
            far = rows.fold(farthest(centres, int(np.sum(weight == 0.0))))
            weight, sums = relocate(weight, sums, far, place)
        nonempty = weight > 0.0
        away = sums / np.where(nonempty, weight, 1.0)[:, None]
        means = np.where(nonempty[:, None], place + away, centres)
        moves = np.sum((means - centres) ** 2, axis=1)
        energy = max(0.0, scatter - float(np.sum(weight * np.sum(away**2, axis=1))))
        measure = max(
            _ratio(float(np.sum(moves)), shift_tol), _ratio(float(np.sum(weight * moves)), energy_tol * energy)
        )
        centres = means
        yield Step(Centres(centres, weight), energy, measure)


def _ratio(value: float, allowed: float) -> float:
    if value == 0.0:
        return 0.0
    return value / allowed if allowed > 0.0 else np.inf


def means_again(assign: Assigner, last: Centres, place: Floats) -> Floats:
    """The centres of the last step from sums that depend on the assignment alone, so that equal blocks give equal bits
    in any source; a relocated centre stays.
    """
    if not last.weight.any():  # no step was made
        return np.asarray(last.places)
    weight, sums = assign.again()
    unchanged = (weight > 0.0) & np.isclose(weight, last.weight, rtol=1e-9, atol=0.0)
    away = sums / np.where(unchanged, weight, 1.0)[:, None]
    return np.where(unchanged[:, None], place + away, last.places)


def relocate(weight: Floats, sums: Floats, far: Farthest, place: Floats) -> tuple[Floats, Floats]:
    """Weights and sums after empty clusters have taken the furthest samples, as long as these leave a sample behind."""
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
