"""k-means: seeds, Lloyd's algorithm from each of them, the best end, and the judge.

Rows in memory are seeded from all of them; of rows elsewhere (files, a cluster, a device) a sample is brought here for
the seeds alone, every s-th row. Then every step is one pass over the rows, wherever they are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, Floats, Integers, contiguous, is_numpy, is_sparse, namespace, on_host, wide
from tenfold.data import Block, MemoryRows, NotFinite, Rows, sampling_step
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.kmeans import Labelled, lloyd_step
from tenfold.plans.result import ATTEMPTS
from tenfold.solvers import kmeans_plusplus, lloyd
from tenfold.solvers.loop import Callback, Record, Status, run
from tenfold.stats.column_moments import Columns
from tenfold.stats.kmeans_assignment import assigner, nearest

SAMPLE = 1 << 15
"""Rows at least of a sample for seeds, where rows are not in memory; and so many for each centre:"""

SAMPLE_A_CENTRE = 32

CHEAP = 1 << 25
"""So many products of columns take no time to speak of."""


@dataclass(frozen=True)
class Clusters:
    """Centres (k, p), the energy of the assignment whose means they are, how the run ended, its steps and its trace."""

    centres: Floats
    energy: float
    status: Status
    iterations: int
    trace: tuple[Record, ...]


@dataclass(frozen=True)
class Scale:
    """Mean of the rows, their scatter about it, and the mean variance of the columns."""

    place: Floats
    scatter: float
    variance: float


class Seeds(Protocol):
    """What makes k first centres from rows in memory."""

    def __call__(self, rows: MemoryRows, random: Any) -> Floats: ...


def plus_plus(k: int) -> Seeds:
    """Greedy k-means++."""
    return partial(_from_rows, partial(kmeans_plusplus.plus_plus, k=k))


def at_random(k: int) -> Seeds:
    """Different rows, drawn by weight."""
    return partial(_from_rows, partial(kmeans_plusplus.draw, k=k))


def given(centres: Floats) -> Seeds:
    """These."""
    return partial(_given, centres)


def _given(centres: Floats, rows: MemoryRows, random: Any) -> Floats:
    return centres


def _from_rows(choose: Callable[..., Any], rows: MemoryRows, random: Any) -> Floats:
    return rows_at(rows.X, choose(rows.X, rows.weight, random=random))


def chosen(rows: MemoryRows, weight: Floats | None, k: int, random: Any, trials: int | None) -> Integers:
    """Numbers of the rows of greedy k-means++, among all rows where those of weight zero were left out."""
    found = kmeans_plusplus.plus_plus(rows.X, rows.weight, k, random, trials)
    return found if weight is None else np.flatnonzero(weight > 0.0)[found]


def rows_at(X: Array, index: Any) -> Floats:
    """Rows of these numbers, dense and in float64."""
    some = X[index]
    return np.ascontiguousarray(some.toarray() if is_sparse(some) else some, dtype=np.float64)


def scale_of(rows: Rows) -> Scale:
    """One pass; refuses values that are not finite."""
    columns: Columns = rows.fold(Columns.lift)
    p = columns.features
    mean, lengths = columns.mean[:p], columns.spread[:p]
    with np.errstate(over="ignore", invalid="ignore"):
        scatter = float(np.sum(lengths**2))
    if not (np.isfinite(mean).all() and np.isfinite(scatter)):
        raise NotFinite
    return Scale(mean, scatter, scatter / (columns.weight * p))


@dataclass(frozen=True)
class _Brought:
    """Rows and their weights, in the memory of this machine."""

    X: Array
    weight: Floats | None

    def merge(self, other: "_Brought") -> "_Brought":
        X = sparse.vstack([self.X, other.X], "csr") if is_sparse(self.X) else np.concatenate([self.X, other.X])
        if self.weight is None or other.weight is None:
            return _Brought(X, None)
        return _Brought(X, np.concatenate([self.weight, other.weight]))


def _brought(block: Block) -> _Brought:
    X = block.X if is_sparse(block.X) else contiguous(on_host(block.X))
    return _Brought(X, None if block.weight is None else on_host(block.weight))


def sample_for(rows: Rows, k: int) -> MemoryRows:
    """Rows of positive weight from which seeds are drawn, in memory: all of them where they are there already."""
    if isinstance(rows, MemoryRows) and not rows.on_device:
        X, weight = contiguous(rows.X), rows.weight
    else:
        sample: _Brought = rows.subsample(sampling_step(rows.shape[0], max(SAMPLE, SAMPLE_A_CENTRE * k))).fold(_brought)
        X, weight = sample.X, sample.weight
    if weight is not None and not np.all(weight > 0.0):
        X, weight = X[weight > 0.0], weight[weight > 0.0]
    if X.shape[0] < k:
        raise ValueError(f"{k} clusters need as many rows of positive weight, and there are {X.shape[0]}.")
    return MemoryRows(X, np.zeros((X.shape[0], 0)), weight)


@dataclass(frozen=True)
class FittedClusters:
    """Centres (k, p) as they will be stored, in float64; the number of each row's centre, where the rows are, or None
    where these are on several machines; the energy; the run; and what the judge says.
    """

    centres: Floats
    labels: Array | None
    energy: float
    run: Clusters
    certificate: Certificate


def fit(
    rows: Rows,
    weight: Array | None,
    seeds: Seeds,
    k: int,
    *,
    starts: int,
    max_iter: int,
    tol: float,
    random: Any,
    callback: Callable[[Floats, float], Callback | None],
    dtype: Any,
) -> FittedClusters:
    """The best of several runs; one that the judge does not find at rest goes on."""
    found = of_rows(rows, seeds, k, starts=starts, max_iter=max_iter, tol=tol, random=random, callback=callback)
    fitted = _judged(rows, weight, found, tol, dtype)
    if fitted.certificate.ok:
        return fitted
    more = go_on(rows, found, max_iter=max_iter, tol=tol, content=partial(_content, rows, tol, dtype))
    return fitted if more is found else _judged(rows, weight, more, tol, dtype)


def _judged(rows: Rows, weight: Array | None, found: Clusters, tol: float, dtype: Any) -> FittedClusters:
    centres = wide(found.centres.astype(dtype))
    labels, energy = (None, None) if rows.distributed else labelled(rows, weight, centres)
    certificate = lloyd_step(
        rows,
        centres,
        tol=allowed_fall(tol),
        dtype=dtype,
        bound=is_bound_cheap(rows, len(centres), found.iterations),
        said=Labelled(None, energy, dtype),
        status=found.status.value,
    )
    return FittedClusters(centres, labels, certificate.objective if energy is None else energy, found, certificate)


def _content(rows: Rows, tol: float, dtype: Any, centres: Floats) -> bool:
    """Whether the judge takes centres, as they will be stored, for those of the rows."""
    return lloyd_step(rows, wide(centres.astype(dtype)), tol=allowed_fall(tol), dtype=dtype, bound=False).ok


def of_rows(
    rows: Rows,
    seeds: Seeds,
    k: int,
    *,
    starts: int,
    max_iter: int,
    tol: float,
    random: Any,
    callback: Callable[[Floats, float], Callback | None] = lambda start, shift: None,
) -> Clusters:
    """The best of several runs, each with a `watch` for its start and the squared moves at which it may end. A run ends
    when no centre moves, or when the squared moves sum to at most `tol` times the mean variance and the energy falls by
    no more than the judge allows.
    """
    scale = scale_of(rows)
    sample = sample_for(rows, k)
    best: Clusters | None = None
    for _ in range(starts):
        start = seeds(sample, random)
        watching = callback(start, tol * scale.variance)
        found = one_run(rows, start, scale, max_iter=max_iter, tol=tol, callback=watching)
        if best is None or found.energy < best.energy * (1.0 - 1e-12):
            best = found
        if found.status in (Status.STOPPED, Status.INTERRUPTED):
            break
    assert best is not None
    return best


def go_on(rows: Rows, found: Clusters, *, max_iter: int, tol: float, content: Callable[[Floats], bool]) -> Clusters:
    """Further steps from where a run ended by its tolerance, ever closer, until the judge is `content` with the centres
    or no steps are left: the energy may fall by more in the step after the last than it did in that one.
    """
    scale, fall = None, 0.5 * allowed_fall(tol)
    for _ in range(ATTEMPTS):
        left = max_iter - found.iterations
        at_rest = found.trace[-1].measure == 0.0
        if found.status is not Status.CONVERGED or at_rest or left <= 0 or content(found.centres):
            break
        fall *= 0.1
        scale = scale_of(rows) if scale is None else scale
        more = one_run(rows, found.centres, scale, max_iter=left, tol=tol, fall=fall)
        iterations = found.iterations + more.iterations
        found = Clusters(more.centres, more.energy, more.status, iterations, found.trace + more.trace[1:])
    return found


def allowed_fall(tol: float) -> float:
    """The relative fall of the energy in a step that the judge allows: a hundredth of tol, and at least its rule."""
    return max(RULES["fixed point"].tol, 0.01 * tol)


def is_bound_cheap(rows: Rows, k: int, iterations: int) -> bool:
    """Whether the judge's lower bound costs a small part of the fit: n p^2 flops beside 2 n p k a step."""
    p = rows.shape[1]
    return k > p or 4 * p <= k * iterations or rows.entries * p <= CHEAP


def one_run(
    rows: Rows,
    start: Floats,
    scale: Scale,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    fall: float | None = None,
) -> Clusters:
    """Lloyd's algorithm from some centres; a step may lower the energy by `fall` times itself at its end, by default
    half of what the judge allows.
    """
    fall = 0.5 * allowed_fall(tol) if fall is None else fall
    assign = assigner(rows, scale.place)
    path = lloyd.steps(
        rows,
        assign,
        np.ascontiguousarray(start, dtype=np.float64),
        place=scale.place,
        scatter=scale.scatter,
        shift_tol=tol * scale.variance,
        energy_tol=fall if tol > 0.0 else 0.0,
    )
    found = run(path, max_iter, callback=callback)
    centres = lloyd.means_again(assign, found.params, scale.place)
    return Clusters(centres, found.trace[-1].objective, found.status, found.iterations, found.trace)


def labelled(rows: Rows, weight: Array | None, centres: Floats) -> tuple[Array, float]:
    """The number of each row's centre, where the rows are, and the energy: one pass."""
    found = rows.map(partial(_numbers, centres))
    xp = namespace(found)
    square = found[:, 1] if weight is None else found[:, 1] * weight
    return xp.astype(found[:, 0], xp.int32), float(on_host(xp.sum(square)))


def squares_from(X: Array, centres: Floats, labels: Integers) -> Floats:
    """The squared distance of each row from the centre of its number, be it the nearest or not."""
    squares = np.zeros(X.shape[0])
    for number in range(len(centres)):
        own = labels == number
        squares[own] = nearest(X[own], centres[number : number + 1])[1]
    return squares


def _numbers(centres: Floats, block: Block) -> Array:
    number, square = nearest(block.X, centres)
    if is_numpy(number):
        return np.stack([number.astype(np.float64), square], axis=1)
    xp = namespace(number)
    return xp.stack([xp.astype(number, xp.float64), square], axis=1)
