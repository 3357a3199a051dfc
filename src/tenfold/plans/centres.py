"""Centres of a kernel method: some samples, or points amid them, that stand for all samples.

- "uniform": samples drawn without replacement, by weight where there are weights;
- "kmeans": the means of k-means with as many clusters (Zhang and Tsang 2008: the error of the Nystroem approximation
  is bounded by the energy of the clusters);
- "leverage": samples drawn without replacement with probabilities proportional to ridge leverage scores
  l_i = (K (K + r n I)^-1)_ii (Alaoui and Mahoney 2015), estimated from a uniform sample J of q samples by
  l_i = (k_ii - k_iJ (K_JJ + r q I)^-1 k_Ji) / (r n)  (Rudi, Calandriello, Carratino and Rosasco 2018).

Without a penalty r is chosen so that the effective dimension of the uniform sample, sum_j s_j / (s_j + r q) over the
eigenvalues s of K_JJ, is half the number of centres. k-means and leverage scores look at some of the samples
where there are very many of them for each centre. As many centres as samples, or more: all samples.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, TINY, Array, Floats, Integers, is_array_api, on_host, take_rows
from tenfold.data import MemoryRows, Rows
from tenfold.kernels import Kernel, Precomputed
from tenfold.kernels.evaluation import count
from tenfold.linear_algebra import cholesky, eigenvalues, solve_lower
from tenfold.machine import poll
from tenfold.plans import kmeans
from tenfold.string_codes import is_encoded

NAMES = ("uniform", "kmeans", "leverage")

SAMPLES_PER_CENTRE = 64  # of k-means and of leverage scores: more change centres by less than another draw does
LEAST_SAMPLES = 4096  # in memory they look at so many at least
KMEANS_TOL = 1e-4
KMEANS_STEPS = 20  # Lloyd's algorithm has found most of its decrease by then
TILE_VALUES = 1 << 20  # of the kernel of samples with those of J: 8 MiB


@dataclass(frozen=True)
class Centres:
    """Centres (m, p), dense or sparse, where the samples are, or a list of objects; and the numbers (m,) of the samples
    that they are, None where they are means, or where the samples were not in memory.
    """

    samples: Array
    index: Integers | None


def choose_centres(
    rows: Rows, m: int, method: str, *, random: Any, kernel: Kernel | None = None, ridge: float | None = None
) -> Centres:
    """Centres of a data source: of files and of a cluster evenly spaced samples are loaded, and centres are chosen
    among these. kernel and ridge are those of `choose_among`.
    """
    if isinstance(rows, MemoryRows):
        return choose_among(rows.X, rows.weight, m, method, random=random, kernel=kernel, ridge=ridge)
    sample = kmeans.load_sample(rows, max(kmeans.SEED_SAMPLES, SAMPLES_PER_CENTRE * m))
    chosen = choose_among(sample.X, sample.weight, m, method, random=random, kernel=kernel, ridge=ridge)
    return Centres(chosen.samples, None)


def choose_among(
    X: Array,
    weight: Array | None,
    m: int,
    method: str,
    *,
    random: Any,
    kernel: Kernel | None = None,
    ridge: float | None = None,
) -> Centres:
    """Centres among samples in memory: dense, CSR, of another library, or a list of objects.

    random: a RandomState; kernel, that of leverage scores; ridge: their r, the penalty in the mean of the losses.
    """
    if method not in NAMES:
        raise ValueError(f"Centres are chosen by one of {', '.join(map(repr, NAMES))}, got {method!r}.")
    order = permute(count(X), weight, random)
    if method == "uniform" or m >= len(order):
        return _at(X, order[:m])
    some = order[: max(LEAST_SAMPLES, SAMPLES_PER_CENTRE * m)]
    if method == "kmeans":
        if isinstance(kernel, Precomputed):
            raise ValueError("A precomputed kernel has no samples whose means could be centres: use another method.")
        if is_encoded(X):
            raise ValueError('Means of strings are no strings: choose centres by "uniform" or "leverage".')
        return Centres(_find_means(X, weight, some, m, random), None)
    assert kernel is not None
    scores = leverage_scores(kernel, X, some, order[: min(len(order), 2 * m)], ridge, 0.5 * m)
    total = float(np.sum(scores))
    if not (np.isfinite(total) and np.count_nonzero(scores) >= m):  # the rest of the samples lies in the span of J
        return _at(X, order[:m])
    return _at(X, some[random.choice(len(some), size=m, replace=False, p=scores / total)])


def permute(n: int, weight: Array | None, random: Any) -> Integers:
    """The numbers of the samples of positive weight in random order, those of large weight first by the law of draws
    without replacement.
    """
    if weight is None:
        return np.asarray(random.permutation(n))
    weights = np.asarray(on_host(weight), dtype=np.float64)
    inside = np.flatnonzero(weights > 0.0)
    if len(inside) and np.all(weights[inside] == weights[inside[0]]):
        return inside[random.permutation(len(inside))]
    arrivals = random.exponential(size=len(inside)) / weights[inside]  # the first of exponential clocks is drawn first
    return inside[np.argsort(arrivals, kind="stable")]


def leverage_scores(
    kernel: Kernel, X: Array, index: Integers, landmarks: Integers, ridge: float | None, dimension: float
) -> Floats:
    """Estimated ridge leverage scores of the samples of these numbers, up to one factor; ridge None: the one that gives
    the uniform sample `landmarks` this effective dimension.
    """
    J = landmarks if isinstance(kernel, Precomputed) else _at(X, landmarks).samples
    K = np.asarray(on_host(_block(kernel, X, landmarks, J)), dtype=np.float64)
    q = len(landmarks)
    shift = ridge * q if ridge is not None else choose_shift(eigenvalues(K), dimension)
    shift = max(shift, q * EPS * float(np.trace(K)), TINY)
    L = cholesky(K + shift * np.eye(q))
    if L is None:  # the kernel is not positive semidefinite: no sample stands out
        return np.ones(len(index))
    scores = np.empty(len(index))
    step = max(1, TILE_VALUES // q)
    for start in range(0, len(index), step):
        poll()
        some = index[start : start + step]
        block = np.asarray(on_host(_block(kernel, X, some, J)), dtype=np.float64)
        captured = np.sum(solve_lower(L, block.T) ** 2, axis=0)
        scores[start : start + step] = np.asarray(on_host(_diagonal(kernel, X, some))) - captured
    return np.maximum(scores, 0.0)


def _block(kernel: Kernel, X: Array, index: Integers, J: Any) -> Array:
    """The kernel of the samples of these numbers with the samples J, which are numbers of columns where X is itself the
    matrix of the kernel.
    """
    some = _at(X, index).samples
    return some[:, J] if isinstance(kernel, Precomputed) else kernel.block(some, J)


def _diagonal(kernel: Kernel, X: Array, index: Integers) -> Array:
    return on_host(X)[index, index] if isinstance(kernel, Precomputed) else kernel.diag(_at(X, index).samples)


def choose_shift(values: Floats, dimension: float) -> float:
    """The shift at which sum_j s_j / (s_j + shift) is `dimension`, by bisection of its logarithm; zero where there are
    not so many positive eigenvalues.
    """
    values = np.maximum(values, 0.0)
    largest = float(np.max(values, initial=0.0))
    if np.count_nonzero(values > len(values) * EPS * largest) <= dimension:
        return 0.0
    low, high = np.log(largest) - 40.0, np.log(largest) + np.log(len(values)) + 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        small = float(np.sum(values / (values + np.exp(middle)))) < dimension
        low, high = (low, middle) if small else (middle, high)
    return float(np.exp(0.5 * (low + high)))


def _find_means(X: Array, weight: Array | None, some: Integers, m: int, random: Any) -> Floats:
    """The means of k-means on some of the samples."""
    part = _at(X, some).samples
    own = None if weight is None else take_rows(weight, some)
    no_targets = part[:, :0] if is_array_api(part) else np.zeros((len(some), 0))
    rows = MemoryRows(part, no_targets, own)
    seeds = kmeans.plus_plus(m)
    return kmeans.of_rows(rows, seeds, m, starts=1, max_iter=KMEANS_STEPS, tol=KMEANS_TOL, random=random).centres


def _at(X: Array, index: Integers) -> Centres:
    """The samples of these numbers."""
    return Centres([X[i] for i in index] if isinstance(X, list) else take_rows(X, index), index)
