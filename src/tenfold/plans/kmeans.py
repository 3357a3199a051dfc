"""k-means: initial centres, Lloyd's algorithm from each of them, the best run, and its certificate.

Initial centres are drawn from all samples in memory; from files, a cluster or a device every s-th sample is loaded for
them. Then each step is one pass over the samples, wherever they are.
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
from tenfold.pairwise.centres import LloydRule, find_nearest, make_assigner
from tenfold.plans.result import ATTEMPTS
from tenfold.solvers import kmeans_plusplus, lloyd
from tenfold.solvers.loop import Callback, Record, Status, run
from tenfold.stats.column_moments import Columns

SEED_SAMPLES = 1 << 15  # loaded at least for initial centres, where samples are not in memory
SEED_SAMPLES_PER_CENTRE = 32
CHEAP_BOUND_FLOPS = 1 << 25  # of the scatter matrix of the lower bound: a few milliseconds


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
    """Mean of the samples, their scatter about it, and the mean variance of the features."""

    place: Floats
    scatter: float
    variance: float


class Seeds(Protocol):
    """A function to k initial centres from samples in memory."""

    def __call__(self, rows: MemoryRows, random: Any) -> Floats: ...


def plus_plus(k: int) -> Seeds:
    """Greedy k-means++."""
    return partial(_from_rows, partial(kmeans_plusplus.plus_plus, k=k))


def at_random(k: int) -> Seeds:
    """Different samples, drawn by weight."""
    return partial(_from_rows, partial(kmeans_plusplus.draw_rows, k=k))


def use_centres(centres: Floats) -> Seeds:
    """The given centres."""
    return partial(_return_centres, centres)


def _return_centres(centres: Floats, rows: MemoryRows, random: Any) -> Floats:
    return centres


def _from_rows(choose: Callable[..., Any], rows: MemoryRows, random: Any) -> Floats:
    return rows_at(rows.X, choose(rows.X, rows.weight, random=random))


def choose_rows(rows: MemoryRows, weight: Floats | None, k: int, random: Any, trials: int | None) -> Integers:
    """Numbers of the samples of greedy k-means++, among all samples where those of weight zero were left out."""
    result = kmeans_plusplus.plus_plus(rows.X, rows.weight, k, random, trials)
    return result if weight is None else np.flatnonzero(weight > 0.0)[result]


def rows_at(X: Array, index: Any) -> Floats:
    """Samples of these numbers, dense and in float64."""
    some = X[index]
    return np.ascontiguousarray(some.toarray() if is_sparse(some) else some, dtype=np.float64)


def scale_of(rows: Rows) -> Scale:
    """One pass; raises NotFinite."""
    columns: Columns = rows.fold(Columns.lift)
    p = columns.features
    mean, lengths = columns.mean[:p], columns.spread[:p]
    with np.errstate(over="ignore", invalid="ignore"):
        scatter = float(np.sum(lengths**2))
    if not (np.isfinite(mean).all() and np.isfinite(scatter)):
        raise NotFinite
    return Scale(mean, scatter, scatter / (columns.weight * p))


@dataclass(frozen=True)
class _Sample:
    """Samples and their weights, in the memory of this machine."""

    X: Array
    weight: Floats | None

    def merge(self, other: "_Sample") -> "_Sample":
        X = sparse.vstack([self.X, other.X], "csr") if is_sparse(self.X) else np.concatenate([self.X, other.X])
        if self.weight is None or other.weight is None:
            return _Sample(X, None)
        return _Sample(X, np.concatenate([self.weight, other.weight]))


def _take_block(block: Block) -> _Sample:
    X = block.X if is_sparse(block.X) else contiguous(on_host(block.X))
    return _Sample(X, None if block.weight is None else on_host(block.weight))


def sample_for(rows: Rows, k: int) -> MemoryRows:
    """Samples of positive weight for initial centres, in memory: all of them where they are there already."""
    sample = load_sample(rows, max(SEED_SAMPLES, SEED_SAMPLES_PER_CENTRE * k))
    if sample.shape[0] < k:
        raise ValueError(f"{k} clusters need as many rows of positive weight, and there are {sample.shape[0]}.")
    return sample


def load_sample(rows: Rows, size: int) -> MemoryRows:
    """Samples of positive weight in the memory of this machine: all of them where they are there already, otherwise
    evenly spaced ones, at least `size` where there are as many.
    """
    if isinstance(rows, MemoryRows) and not rows.on_device:
        X, weight = contiguous(rows.X), rows.weight
    else:
        sample: _Sample = rows.subsample(sampling_step(rows.shape[0], size)).fold(_take_block)
        X, weight = sample.X, sample.weight
    if weight is not None and not np.all(weight > 0.0):
        X, weight = X[weight > 0.0], weight[weight > 0.0]
    return MemoryRows(X, np.zeros((X.shape[0], 0)), weight)


@dataclass(frozen=True)
class FittedClusters:
    """Centres (k, p) rounded to the dtype of the model, in float64; the number of each sample's centre, where the
    samples are, or None where these are on several machines; the energy; the run; and the certificate.
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
    """The best of several runs, continued until the judge accepts it."""
    result = of_rows(rows, seeds, k, starts=starts, max_iter=max_iter, tol=tol, random=random, callback=callback)
    fitted = _certify(rows, weight, result, tol, dtype)
    if fitted.certificate.ok:
        return fitted
    more = go_on(rows, result, max_iter=max_iter, tol=tol, is_converged=partial(_is_converged, rows, tol, dtype))
    return fitted if more is result else _certify(rows, weight, more, tol, dtype)


def _certify(rows: Rows, weight: Array | None, result: Clusters, tol: float, dtype: Any) -> FittedClusters:
    centres = wide(result.centres.astype(dtype))
    labels, energy = (None, None) if rows.distributed else label_samples(rows, weight, centres)
    certificate = lloyd_step(
        rows,
        centres,
        tol=max_decrease(tol),
        dtype=dtype,
        bound=is_bound_cheap(rows, len(centres), result.iterations),
        reported=Labelled(None, energy, dtype),
        status=result.status.value,
    )
    return FittedClusters(centres, labels, certificate.objective if energy is None else energy, result, certificate)


def _is_converged(rows: Rows, tol: float, dtype: Any, centres: Floats) -> bool:
    """Whether the judge accepts the centres, rounded to the dtype of the model."""
    return lloyd_step(rows, wide(centres.astype(dtype)), tol=max_decrease(tol), dtype=dtype, bound=False).ok


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
    scale: Scale | None = None,
) -> Clusters:
    """The best of several runs, each with a `callback` of its start and the squared moves at which it stops. A run
    stops when no centre moves, or when the squared moves sum to at most `tol` times the mean variance and the energy
    decreases by no more than the judge allows. The `scale` is read from the samples where it is not known.
    """
    scale = scale_of(rows) if scale is None else scale
    sample = sample_for(rows, k)
    best: Clusters | None = None
    for _ in range(starts):
        start = seeds(sample, random)
        monitor = callback(start, tol * scale.variance)
        result = one_run(rows, start, scale, max_iter=max_iter, tol=tol, callback=monitor)
        if best is None or result.energy < best.energy * (1.0 - 1e-12):
            best = result
        if result.status in (Status.STOPPED, Status.INTERRUPTED):
            break
    assert best is not None
    return best


def go_on(
    rows: Rows, result: Clusters, *, max_iter: int, tol: float, is_converged: Callable[[Floats], bool]
) -> Clusters:
    """Further steps after a run that stopped by its tolerance, with ever smaller tolerances, until `is_converged`
    or no steps are left: the step after the last may decrease the energy by more than the last one did.
    """
    scale, decrease = None, 0.5 * max_decrease(tol)
    for _ in range(ATTEMPTS):
        left = max_iter - result.iterations
        at_rest = result.trace[-1].measure == 0.0
        if result.status is not Status.CONVERGED or at_rest or left <= 0 or is_converged(result.centres):
            break
        decrease *= 0.1
        scale = scale_of(rows) if scale is None else scale
        more = one_run(rows, result.centres, scale, max_iter=left, tol=tol, decrease=decrease)
        iterations = result.iterations + more.iterations
        result = Clusters(more.centres, more.energy, more.status, iterations, result.trace + more.trace[1:])
    return result


def max_decrease(tol: float) -> float:
    """The relative decrease of the energy in a step that the judge allows: tol / 100, and at least its rule."""
    return max(RULES["fixed point"].tol, 0.01 * tol)


def is_bound_cheap(rows: Rows, k: int, iterations: int) -> bool:
    """Whether the judge's lower bound costs a small part of the fit: n p^2 flops beside 2 n p k a step."""
    p = rows.shape[1]
    return k > p or 4 * p <= k * iterations or rows.entries * p <= CHEAP_BOUND_FLOPS


def one_run(
    rows: Rows,
    start: Floats,
    scale: Scale,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    decrease: float | None = None,
) -> Clusters:
    """Lloyd's algorithm from given centres; the last step decreases the energy by at most `decrease` times itself, by
    default half of what the judge allows.
    """
    decrease = 0.5 * max_decrease(tol) if decrease is None else decrease
    assign = make_assigner(rows, scale.place)
    # a callback may end the run after any step
    ahead = max_iter if callback is None else 1
    rule = LloydRule(scale.scatter, tol * scale.variance, decrease if tol > 0.0 else 0.0, ahead)
    path = lloyd.steps(rows, assign, np.ascontiguousarray(start, dtype=np.float64), scale.place, rule)
    result = run(path, max_iter, callback=callback)
    centres = lloyd.recompute_means(assign, result.params, scale.place)
    return Clusters(centres, result.trace[-1].objective, result.status, result.iterations, result.trace)


def label_samples(rows: Rows, weight: Array | None, centres: Floats) -> tuple[Array, float]:
    """The number of each sample's centre, where the samples are, and the energy: one pass."""
    result = rows.map(partial(_numbers, centres))
    xp = namespace(result)
    square = result[:, 1] if weight is None else result[:, 1] * weight
    return xp.astype(result[:, 0], xp.int32), float(on_host(xp.sum(square)))


def squares_from(X: Array, centres: Floats, labels: Integers) -> Floats:
    """The squared distance of each sample from the centre of its number, be it the nearest or not."""
    squares = np.zeros(X.shape[0])
    for number in range(len(centres)):
        own = labels == number
        squares[own] = find_nearest(X[own], centres[number : number + 1])[1]
    return squares


def _numbers(centres: Floats, block: Block) -> Array:
    number, square = find_nearest(block.X, centres)
    if is_numpy(number):
        return np.stack([number.astype(np.float64), square], axis=1)
    xp = namespace(number)
    return xp.stack([xp.astype(number, xp.float64), square], axis=1)
