"""Lloyd's algorithm: each sample is assigned to its nearest centre, and each centre moves to the mean of its samples.

Neither half of a step increases the energy E(c) = sum_i w_i min_k ||x_i - c_k||^2: with means m_k and weights n_k of an
assignment, the second decreases it by sum_k n_k ||m_k - c_k||^2. A step is one pass over the samples. The energy of the
means needs no pass of its own: sum w ||x - m||^2 - sum_k n_k ||m_k - m||^2, with m the mean of all.

An empty centre moves to the sample that is farthest from its centre, the next one to the next such sample, and so on,
which decreases the energy, too.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows
from tenfold.pairwise.centres import Assigner, Farthest, LloydRule, find_farthest
from tenfold.solvers.loop import Step


class Centres(NamedTuple):
    """Centres (k, p), and the weights (k,) of their samples; zero before the first step."""

    places: Floats
    weight: Floats


def steps(rows: Rows, assign: Assigner, start: Floats, place: Floats, rule: LloydRule) -> Iterator[Step]:
    """Steps from the centres `start` (k, p); the parameters are centres and the weights of their samples.

    `assign` is one pass, with sums about `place`, whose energy alone is the scatter of the `rule`. Converged when the
    squared moves of the centres sum to at most its shift and the energy decreases by at most its decrease times itself,
    or when no centre moves.
    """
    centres = start
    scatter, shift, decrease, _ = rule
    yield Step(Centres(centres, np.zeros(len(centres))), np.inf, np.inf)
    for places, weight, energy, measure in assign.steps(start, rule):
        centres = places
        yield Step(Centres(centres, weight), energy, measure)
    while True:
        weight, sums = assign(centres)
        if not np.isfinite(sums).all():
            raise NotFinite
        if not weight.all():
            far = rows.fold(find_farthest(centres, int(np.sum(weight == 0.0))))
            weight, sums = relocate_empty(weight, sums, far, place)
        inside = weight > 0.0
        offsets = sums / np.where(inside, weight, 1.0)[:, None]
        means = np.where(inside[:, None], place + offsets, centres)
        moves = np.sum((means - centres) ** 2, axis=1)
        energy = max(0.0, scatter - float(np.sum(weight * np.sum(offsets**2, axis=1))))
        measure = max(_ratio(float(np.sum(moves)), shift), _ratio(float(np.sum(weight * moves)), decrease * energy))
        centres = means
        yield Step(Centres(centres, weight), energy, measure)


def _ratio(value: float, allowed: float) -> float:
    if value == 0.0:
        return 0.0
    return value / allowed if allowed > 0.0 else np.inf


def recompute_means(assign: Assigner, last: Centres, place: Floats) -> Floats:
    """The centres of the last step from sums that depend on nothing but the assignment, so that equal blocks give
    equal bits wherever they are; a relocated centre stays.
    """
    if not last.weight.any():  # no step was taken
        return np.asarray(last.places)
    weight, sums = assign.sum_again()
    same = (weight > 0.0) & (np.abs(weight - last.weight) <= 1e-9 * last.weight)
    offsets = sums / np.where(same, weight, 1.0)[:, None]
    return np.where(same[:, None], place + offsets, last.places)


def relocate_empty(weight: Floats, sums: Floats, far: Farthest, place: Floats) -> tuple[Floats, Floats]:
    """Weights and sums after empty centres have taken the farthest samples, where these leave a sample behind."""
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
