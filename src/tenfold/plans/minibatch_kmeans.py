"""k-means by batches and by single rows: centres that follow the rows as they come.

A batch (Sculley 2010) goes to the nearest centres at once, and each moves to the mean of all rows it ever had:
``c <- (n c + sum of its rows) / (n + their weight)``. Single rows (MacQueen 1967) are batches of one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, is_sparse
from tenfold.data import Block, MemoryRows, NotFinite, Rows
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.plans.kmeans import Seeds, rows_at
from tenfold.stats.kmeans_assignment import Assigned, assigned

Say: TypeAlias = Callable[[str], None]
"""Who is told how a fit goes on."""


@dataclass(frozen=True)
class Centres:
    """Centres (k, p) and the weight of the rows that each has had so far."""

    values: Floats
    counts: Floats


@dataclass(frozen=True)
class Replacing:
    """Centres with few rows are replaced by rows of the batch: those with less than `ratio` of the largest count, when
    `after` rows have come since the last time, or when one has none.
    """

    ratio: float
    after: int


@dataclass(frozen=True)
class Stopping:
    """Ends: the squared moves of a batch at most `moves` (above zero), or `patience` batches in a row whose smoothed
    energy was no new minimum (None: never).
    """

    moves: float
    patience: int | None


@dataclass(frozen=True)
class BatchFit:
    """Centres, batches, and the smoothed energy a row."""

    centres: Centres
    steps: int
    smoothed: float


def block_of(X: Array, weight: Floats | None) -> Block:
    return Block(X, np.zeros((X.shape[0], 0)), weight)


def batch_step(centres: Centres, batch: Block) -> tuple[Centres, float]:
    """The centres after one batch, and its energy before."""
    place = centres.values.mean(axis=0)
    found: Any = assigned(centres.values, place)(batch)
    assert isinstance(found, Assigned)
    if not np.isfinite(found.energy):
        raise NotFinite
    counts = centres.counts + found.weight
    away = found.sums - found.weight[:, None] * (centres.values - place)
    moved = centres.values + away / np.where(found.weight > 0.0, counts, 1.0)[:, None]
    return Centres(np.where(found.weight[:, None] > 0.0, moved, centres.values), counts), found.energy


def replaced(centres: Centres, batch: Block, ratio: float, random: Any, say: Say | None = None) -> Centres:
    """Centres of little weight are rows of the batch, half of them at most, with the least count of the others."""
    m = batch.X.shape[0]
    few = centres.counts < ratio * centres.counts.max()
    if few.sum() > 0.5 * m:
        few[np.argsort(centres.counts)[int(0.5 * m) :]] = False
    if not few.any():
        return centres
    if say is not None:
        say(f"[MiniBatchKMeans] Reassigning {int(few.sum())} cluster centers.")
    values, counts = centres.values.copy(), centres.counts.copy()
    values[few] = rows_at(batch.X, random.choice(m, replace=False, size=int(few.sum())))
    counts[few] = np.min(counts[~few])
    return Centres(values, counts)


class Sampler:
    """Rows drawn with replacement, by weight."""

    def __init__(self, rows: MemoryRows, random: Any) -> None:
        self._X, self._random = rows.X, random
        n = rows.X.shape[0]
        shares = np.full(n, 1.0 / n) if rows.weight is None else rows.weight / np.sum(rows.weight)
        self._ends = np.cumsum(shares)
        self._ends /= self._ends[-1]

    def draw(self, count: int) -> Block:
        """A batch of rows that weigh the same."""
        index = self._ends.searchsorted(self._random.random_sample(count), side="right")
        return block_of(self._X[index], None)


def best_start(rows: MemoryRows, seeds: Seeds, starts: int, size: int, random: Any, say: Say | None = None) -> Floats:
    """Of several starts from some rows each, the one with the least energy on others."""
    n = rows.X.shape[0]
    held = _some(rows, random.randint(0, n, size))
    best, least = None, np.inf
    for number in range(1, starts + 1):
        sample = rows if size >= n else _some(rows, random.randint(0, n, size))
        centres = np.ascontiguousarray(seeds(sample, random), dtype=np.float64)
        energy = float(held.fold(assigned(centres, centres.mean(axis=0))).energy)
        if say is not None:
            say(f"Inertia for init {number}/{starts}: {energy}")
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
    replacing: Replacing,
    stopping: Stopping,
    random: Any,
    say: Say | None = None,
) -> BatchFit:
    """Batches drawn by weight until the stopping rule is met, or so many."""
    n, sampler = rows.X.shape[0], Sampler(rows, random)
    centres = Centres(start, np.zeros(len(start)))
    share = min(1.0, batch * 2.0 / (n + 1))
    smoothed = least = np.nan
    waited = since = step = 0
    why = ""
    for step in range(1, steps + 1):
        rows_now, before = sampler.draw(batch), centres.values
        since += batch
        due = bool((centres.counts == 0.0).any()) or since >= replacing.after
        centres, energy = batch_step(centres, rows_now)
        if due:
            since = 0
            if replacing.ratio > 0.0:
                centres = replaced(centres, rows_now, replacing.ratio, random, say)
        if step > 1:  # before that it is the energy of the start
            smoothed = energy / batch if np.isnan(smoothed) else smoothed * (1.0 - share) + energy / batch * share
        if say is not None:
            more = f", ewa inertia: {smoothed}" if step > 1 else ""
            say(f"Minibatch step {step}/{steps}: mean batch inertia: {energy / batch}{more}")
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
    if say is not None and why:
        say(f"Converged ({why}) at step {step}/{steps}")
    return BatchFit(centres, step, smoothed)


def one_by_one(rows: Rows, centres: Centres) -> Centres:
    """One pass in the order of the rows, each of which moves its nearest centre."""
    found = rows.scan(_through, centres)
    if not np.isfinite(found.values).all():
        raise NotFinite
    return found


def _through(centres: Centres, block: Block) -> Centres:
    X, rest = block.X, (block.weight, centres.values, centres.counts)
    if is_sparse(X):
        return Centres(*_core.online_csr(X.data, X.indices, X.indptr, X.shape[1], *rest))
    return Centres(*_core.online(X, *rest))


def not_judged(what: str) -> Certificate:
    """Centres that follow batches or single rows are at rest nowhere."""
    note = (
        f"Centres that follow {what} are not at rest; how far the energy falls in one exact step from there, "
        "tenfold.certify(model, X) computes."
    )
    tol = RULES["fixed point"].tol
    return Certificate("fixed point", np.inf, 1.0, tol, 0.0, np.inf, status=NOT_JUDGED, note=note)
