"""Sums of density kernels block by block, wherever the samples are; the sums of blocks merge as log-sum-exp."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, Integers, is_array_api, namespace
from tenfold.data import Block, Deferred, MaybeDeferred
from tenfold.distances import Distance, Minkowski
from tenfold.pairwise.array_api import TILE_SAMPLES, compute_reduced_distances, count_tile_values
from tenfold.pairwise.kernel_sums import LOGS, Tolerance, log_kernel_sums, merge_sums, sum_kernels
from tenfold.pairwise.out_of_core import BlockSearch, NearestRequest
from tenfold.pairwise.searches import TreeSearch, finish_of, metric_code
from tenfold.pairwise.stored_samples import store_samples
from tenfold.stats.combined import combine

EXACT = Tolerance(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class KernelSum:
    """Logarithms of sums of a kernel (m, b), and means of targets (m, b, t), which are zero where no sample is in the
    support; and the targets of the nearest sample (m, t), where they were requested.
    """

    logs: Floats
    means: Floats
    nearest: Floats | None = None

    def merge(self, other: "KernelSum") -> "KernelSum":
        return KernelSum(*merge_sums((self.logs, self.means), (other.logs, other.means)))

    def means_or_nan(self) -> Floats:
        """The means, not a number where no sample is in the support."""
        return np.where(np.isneginf(self.logs)[:, :, None], np.nan, self.means)


@dataclass(frozen=True)
class KernelSumRequest:
    """Sums of a kernel about queries for some bandwidths, with means of the targets; and the targets of the `nearest`
    sample, at least where none is in the support.
    """

    kernel: str
    bandwidths: Floats
    with_means: bool
    nearest: bool = False

    def lift(self, form: BlockSearch, queries: Array, itself: bool) -> Callable[[Block], Any]:
        sums = partial(_sum_block, form.distance, self, queries)
        return combine([sums, NearestRequest(1).lift(form, queries, False)]) if self.nearest else sums

    def finish(self, form: BlockSearch, result: Any, own: Integers | None) -> KernelSum:
        if not self.nearest:
            return result
        sums, top = result.parts
        return replace(sums, nearest=top.targets[:, 0, :])


@dataclass(frozen=True)
class KernelSamples:
    """Samples in memory (n, p) for sums of kernels, their targets (n, t) and weights (n,); a tree of few features, for
    densities to a tolerance.
    """

    distance: Distance
    samples: Floats
    targets: Floats | None
    weight: Floats | None
    tree: TreeSearch | None = None
    tolerance: Tolerance = EXACT

    @property
    def count(self) -> int:
        """The number of samples."""
        return len(self.samples)

    def query(self, request: KernelSumRequest, queries: Array, own: Integers | None = None) -> KernelSum:
        """The sums at queries; own is the number of the sample that a query is: it is left out."""
        if request.with_means or own is not None or len(request.bandwidths) != 1:
            settings: dict[str, Any] = {"weight": self.weight, "targets": self.targets, "own": own}
            logs, means = sum_kernels(
                self.distance, self.samples, queries, request.kernel, request.bandwidths, **settings
            )
            result = KernelSum(logs, np.where(np.isneginf(logs)[:, :, None], 0.0, means))
            return self._add_nearest(result, queries, own) if request.nearest else result
        h = float(request.bandwidths[0])
        logs = log_kernel_sums(
            self.distance, self.samples, queries, request.kernel, h, self.weight, self.tolerance, self.tree
        )
        return KernelSum(logs[:, None], np.zeros((len(logs), 1, 0)))

    def _add_nearest(self, result: KernelSum, queries: Array, own: Integers | None) -> KernelSum:
        assert self.targets is not None
        nearest, empty = np.zeros((len(queries), self.targets.shape[1])), np.isneginf(result.logs).any(axis=1)
        if empty.any():
            stored = store_samples(self.distance, self.samples)
            rows = stored.nearest(queries[empty], 1, None if own is None else own[empty])[1][:, 0]
            nearest[empty] = self.targets[rows]
        return replace(result, nearest=nearest)


def _sum_block(distance: Distance, request: KernelSumRequest, queries: Array, block: Block) -> MaybeDeferred[KernelSum]:
    if is_array_api(block.X):
        return _sum_on_device(distance, request, queries, block)
    m, b, t = queries.shape[0], len(request.bandwidths), block.y.shape[1] if request.with_means else 0
    if not block.X.shape[0] or not m:
        return KernelSum(np.full((m, b), -np.inf), np.zeros((m, b, t)))
    X = np.ascontiguousarray(block.X, dtype=np.float64)
    settings: dict[str, Any] = {"weight": block.weight, "targets": block.y if request.with_means else None}
    logs, means = sum_kernels(distance, X, queries, request.kernel, request.bandwidths, **settings)
    return KernelSum(logs, np.where(np.isneginf(logs)[:, :, None], 0.0, means))


def _sum_on_device(distance: Distance, request: KernelSumRequest, queries: Array, block: Block) -> Deferred[KernelSum]:
    """The same in the Array API, tile by tile."""
    assert isinstance(distance, Minkowski)
    xp, Q, n = namespace(block.X), distance.image(queries, True), block.X.shape[0]
    step, parts = max(1, count_tile_values(block.X) // min(n, TILE_SAMPLES)), []
    for start in range(0, Q.shape[0], step):
        some, result = Q[start : min(Q.shape[0], start + step), :], None
        for begin in range(0, n, TILE_SAMPLES):
            end = min(n, begin + TILE_SAMPLES)
            X = distance.image(block.X[begin:end, :], False)
            distances = _finish(distance, compute_reduced_distances(X, some, metric_code(distance), distance.p))
            y = block.y[begin:end, :] if request.with_means else block.y[begin:end, :0]
            tile = _sum_tile(request, distances, y, None if block.weight is None else block.weight[begin:end])
            result = tile if result is None else merge_sums(result, tile)
        assert result is not None
        parts.append(result)
    logs, means = (xp.concat([part[i] for part in parts], axis=0) for i in range(2))
    return Deferred.of([logs, means], _kernel_sum)


def _kernel_sum(_: Any, logs: Floats, means: Floats) -> KernelSum:
    return KernelSum(logs, means)


def _finish(distance: Minkowski, reduced: Array) -> Array:
    """Distances from reduced ones, where these are."""
    finish, exponent = finish_of(distance)
    if finish == "power":
        return reduced**exponent
    return {"same": reduced, "half": 0.5 * reduced}[finish] if finish != "root" else namespace(reduced).sqrt(reduced)


def _sum_tile(request: KernelSumRequest, distances: Array, y: Array, weight: Array | None) -> tuple[Array, Array]:
    """Logarithms of sums (m, b) and means (m, b, t) of the samples of a tile, from their distances (m, l)."""
    xp, logs, means = namespace(distances), [], []
    for h in request.bandwidths:
        terms = LOGS[request.kernel](distances, float(h))
        if weight is not None:
            with np.errstate(divide="ignore"):
                terms = terms + xp.log(weight)[None, :]
        largest = xp.max(terms, axis=1)
        top = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
        heights = xp.exp(terms - top[:, None])
        total = xp.sum(heights, axis=1)
        with np.errstate(divide="ignore"):
            logs.append(xp.log(total) + top)
        means.append(xp.matmul(heights, y) / xp.where(total > 0.0, total, xp.ones_like(total))[:, None])
    return xp.stack(logs, axis=1), xp.stack(means, axis=1)
