"""Mini-batch and online k-means.

The samples of a batch (Sculley 2010) are assigned to the nearest centres, and each centre moves to the mean of all
samples it ever had: ``c <- (n c + sum of its samples) / (n + their weight)``. Online k-means (MacQueen 1967) has
batches of one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, is_sparse
from tenfold.data import Block, MemoryRows, NotFinite, Rows
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.pairwise.centres import Assignment, assign
from tenfold.plans.kmeans import Seeds, rows_at

Log: TypeAlias = Callable[[str], None]
"""A function that prints the progress of a fit."""


@dataclass(frozen=True)
class Centres:
    """Centres (k, p) and the weight of the samples that each has had so far."""

    values: Floats
    counts: Floats


@dataclass(frozen=True)
class Replacement:
    """Centres with a count below `ratio` of the largest are replaced by samples of the batch, when `after` samples have
    come since the last time, or when some count is zero.
    """

    ratio: float
    after: int


@dataclass(frozen=True)
class Stopping:
    """Stopping criteria: squared moves of a batch of at most `moves` (above zero), or `patience` consecutive batches
    whose smoothed energy is no new minimum (None: never).
    """

    moves: float
    patience: int | None


@dataclass(frozen=True)
class BatchFit:
    """Centres, number of batches, and the smoothed energy of a sample."""

    centres: Centres
    steps: int
    smoothed: float


def block_of(X: Array, weight: Floats | None) -> Block:
    return Block(X, np.zeros((X.shape[0], 0)), weight)


def batch_step(centres: Centres, batch: Block) -> tuple[Centres, float]:
    """The centres after one batch, and its energy before."""
    place = centres.values.mean(axis=0)
    result: Any = assign(centres.values, place)(batch)
    assert isinstance(result, Assignment)
    if not np.isfinite(result.energy):
        raise NotFinite
    counts = centres.counts + result.weight
    away = result.sums - result.weight[:, None] * (centres.values - place)
    moved = centres.values + away / np.where(result.weight > 0.0, counts, 1.0)[:, None]
    return Centres(np.where(result.weight[:, None] > 0.0, moved, centres.values), counts), result.energy


def replace_small(centres: Centres, batch: Block, ratio: float, random: Any, log: Log | None = None) -> Centres:
    """Replace centres of small counts by samples of the batch, at most half of these, with the least other count."""
    m = batch.X.shape[0]
    few = centres.counts < ratio * centres.counts.max()
    if few.sum() > 0.5 * m:
        few[np.argsort(centres.counts)[int(0.5 * m) :]] = False
    if not few.any():
        return centres
    if log is not None:
        log(f"[MiniBatchKMeans] Reassigning {int(few.sum())} cluster centers.")
    values, counts = centres.values.copy(), centres.counts.copy()
    values[few] = rows_at(batch.X, random.choice(m, replace=False, size=int(few.sum())))
    counts[few] = np.min(counts[~few])
    return Centres(values, counts)


class Sampler:
    """Samples drawn with replacement, by weight."""

    def __init__(self, rows: MemoryRows, random: Any) -> None:
        self._X, self._random = rows.X, random
        n = rows.X.shape[0]
        shares = np.full(n, 1.0 / n) if rows.weight is None else rows.weight / np.sum(rows.weight)
        self._ends = np.cumsum(shares)
        self._ends /= self._ends[-1]

    def draw(self, count: int) -> Block:
        """A batch of samples of equal weight."""
        index = self._ends.searchsorted(self._random.random_sample(count), side="right")
        return block_of(self._X[index], None)


def best_start(rows: MemoryRows, seeds: Seeds, starts: int, size: int, random: Any, log: Log | None = None) -> Floats:
    """Of several starts from some samples each, the one with the least energy on others."""
    n = rows.X.shape[0]
    held = _some(rows, random.randint(0, n, size))
    best, least = None, np.inf
    for number in range(1, starts + 1):
        sample = rows if size >= n else _some(rows, random.randint(0, n, size))
        centres = np.ascontiguousarray(seeds(sample, random), dtype=np.float64)
        energy = float(held.fold(assign(centres, centres.mean(axis=0))).energy)
        if log is not None:
            log(f"Inertia for init {number}/{starts}: {energy}")
        if best is None or energy < least:
            best, least = centres, energy
    assert best is not None
    return best


def _some(rows: MemoryRows, index: Any) -> MemoryRows:
    weight = None if rows.weight is None else rows.weight[index]
    return replace(rows, X=rows.X[index], y=rows.y[index], weight=weight)


def by_batches(
    rows: MemoryRows,
    start: Floats,
    *,
    batch: int,
    steps: int,
    replacement: Replacement,
    stopping: Stopping,
    random: Any,
    log: Log | None = None,
) -> BatchFit:
    """Batches drawn by weight until a stopping criterion holds, at most `steps`."""
    n, sampler = rows.X.shape[0], Sampler(rows, random)
    centres = Centres(start, np.zeros(len(start)))
    share = min(1.0, batch * 2.0 / (n + 1))
    smoothed = least = np.nan
    waited = since = step = 0
    why = ""
    for step in range(1, steps + 1):
        rows_now, before = sampler.draw(batch), centres.values
        since += batch
        due = bool((centres.counts == 0.0).any()) or since >= replacement.after
        centres, energy = batch_step(centres, rows_now)
        if due:
            since = 0
            if replacement.ratio > 0.0:
                centres = replace_small(centres, rows_now, replacement.ratio, random, log)
        if step > 1:  # before that it is the energy of the start
            smoothed = energy / batch if np.isnan(smoothed) else smoothed * (1.0 - share) + energy / batch * share
        if log is not None:
            more = f", ewa inertia: {smoothed}" if step > 1 else ""
            log(f"Minibatch step {step}/{steps}: mean batch inertia: {energy / batch}{more}")
        if step == 1:
            continue
        if stopping.moves > 0.0 and float(np.sum((centres.values - before) ** 2)) <= stopping.moves:
            why = "small centers change"
            break
        waited = 0 if not smoothed >= least else waited + 1
        least = smoothed if waited == 0 else least
        if stopping.patience is not None and waited >= stopping.patience:
            why = "lack of improvement in inertia"
            break
    if log is not None and why:
        log(f"Converged ({why}) at step {step}/{steps}")
    return BatchFit(centres, step, smoothed)


def update_online(rows: Rows, centres: Centres) -> Centres:
    """One pass in the order of the samples, each of which moves its nearest centre."""
    result = rows.scan(_update_block, centres)
    if not np.isfinite(result.values).all():
        raise NotFinite
    return result


def _update_block(centres: Centres, block: Block) -> Centres:
    X, rest = block.X, (block.weight, centres.values, centres.counts)
    if is_sparse(X):
        return Centres(*_core.online_kmeans_csr(X.data, X.indices, X.indptr, X.shape[1], *rest))
    return Centres(*_core.online_kmeans(X, *rest))


def leave_unjudged(what: str) -> Certificate:
    """The certificate of centres that are no fixed point of Lloyd: not judged."""
    note = (
        f"Centres that follow {what} are not at rest; how far the energy falls in one exact step from there, "
        "tenfold.certify(model, X) computes."
    )
    tol = RULES["fixed point"].tol
    return Certificate("fixed point", np.inf, 1.0, tol, 0.0, np.inf, status=NOT_JUDGED, note=note)
