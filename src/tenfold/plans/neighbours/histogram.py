"""Histograms: counts in bins, their number by leave-one-out risk, and the certificate."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Array, Floats, Integers, is_numpy, like, namespace, on_host
from tenfold.data import Block, NotFinite, Rows
from tenfold.judge import kde as judge
from tenfold.judge.certificate import Certificate
from tenfold.machine import require_memory
from tenfold.stats.min_max import Extremes


def range_of(rows: Rows) -> tuple[Floats, Floats]:
    """The least and the largest value of each column, in the rows of positive weight; raises NotFinite."""
    extremes: Extremes = rows.fold(_range)
    return extremes.low, extremes.high


def _range(block: Block) -> Any:
    xp = namespace(block.X)
    if not bool(xp.all(xp.isfinite(block.X))):
        raise NotFinite
    return Extremes.of(xp.astype(block.X, xp.float64, copy=False), block.weight)


def edges_of(low: Floats, high: Floats, bins: int) -> list[Floats]:
    """Edges of so many bins of equal width in each column, over the range of its values."""
    flat = low == high
    low, high = np.where(flat, low - 0.5, low), np.where(flat, high + 0.5, high)
    return [np.linspace(a, b, bins + 1) for a, b in zip(low, high, strict=True)]


def find_bins(X: Array, edges: list[Floats]) -> Integers:
    """The number of the bin of each sample, -1 outside, in memory; the last edge belongs to the last bin."""
    number = np.zeros(X.shape[0], dtype=np.int64)
    inside = np.ones(X.shape[0], dtype=bool)
    for j, edge in enumerate(edges):
        column = X[:, j]
        cell = _cells(column, edge)
        last = on_host(column == float(edge[-1]))
        cell[last] = len(edge) - 2
        inside &= (cell >= 0) & (cell < len(edge) - 1)
        number = number * (len(edge) - 1) + np.clip(cell, 0, len(edge) - 2)
    return np.where(inside, number, -1)


def _cells(column: Array, edge: Floats) -> Integers:
    """The number of edges that are not above each value, less one: found where the values are."""
    if is_numpy(column):
        return np.asarray(np.searchsorted(edge, column, side="right") - 1)
    xp = namespace(column)
    # a copy, for a column of rows is scattered in memory
    number = xp.searchsorted(like(edge, column), xp.astype(column, xp.float64, copy=True), side="right")
    return np.array(on_host(number), dtype=np.int64) - 1


def volumes(edges: list[Floats]) -> Floats:
    """The volume of every bin."""
    volume = np.ones(())
    for edge in edges:
        volume = np.multiply.outer(volume, np.diff(edge))
    return volume


class Bars(NamedTuple):
    """Edges of the bins in each column, the weight in every bin, and the density there; the risks of all candidates."""

    edges: list[Floats]
    counts: Floats
    density: Floats
    risks: Floats


def fit_bars(rows: Rows, tried: list[list[Floats]], total: float, *, choose: bool) -> tuple[Bars, Certificate]:
    """With the first of several edges, or to `choose` those with the least leave-one-out risk, all by one pass; `total`
    is the weight of all samples.
    """
    weights, best, risks = count_bins(rows, tried), 0, np.zeros(0)
    if choose:
        with np.errstate(divide="ignore", invalid="ignore"):
            pairs = zip(weights, tried, strict=True)
            risks = np.array([loo_risk(each, volumes(edges), total) for each, edges in pairs])
        best = 0 if np.isnan(risks).all() else int(np.nanargmin(risks))
    edges, inside = tried[best], weights[best]
    density = inside / volumes(edges) / total
    return Bars(edges, inside, density, risks), judge.histogram(rows, edges, density, inside)


@dataclass(frozen=True, slots=True)
class BinCounts:
    """The weight in every bin, for each of several sets of edges."""

    counts: tuple[Floats, ...]

    def merge(self, other: "BinCounts") -> "BinCounts":
        return BinCounts(tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)))


def count_bins(rows: Rows, tried: list[list[Floats]]) -> list[Floats]:
    """The weight in every bin, for each of several sets of edges, by one pass."""
    shapes = [tuple(len(edge) - 1 for edge in edges) for edges in tried]
    size = float(sum(np.prod([float(side) for side in shape]) for shape in shapes))
    require_memory(f"A histogram of {size:.3g} boxes", int(min(16 * size, 2**62)), "Take fewer bins, or KernelDensity.")
    result: BinCounts = rows.fold(partial(_count_block, tried))
    return [part.reshape(shape) for part, shape in zip(result.counts, shapes, strict=True)]


def _count_block(tried: list[list[Floats]], block: Block) -> BinCounts:
    weight, counts = None if block.weight is None else on_host(block.weight), []
    for edges in tried:
        place, size = find_bins(block.X, edges), int(np.prod([len(edge) - 1 for edge in edges]))
        inside = place >= 0
        one = np.bincount(place[inside], None if weight is None else weight[inside], minlength=size)
        counts.append(one.astype(np.float64))
    return BinCounts(tuple(counts))


def loo_risk(counts: Floats, volume: Floats, total: float) -> float:
    """The leave-one-out estimate of ``int p^2 - 2 int p q``, q the true density: least where the histogram is nearest
    to it in the mean square.

    With counts n_j in bins of volume v_j: ``sum n_j^2 / (n^2 v_j) - 2 sum n_j (n_j - 1) / (n (n - 1) v_j)``.
    """
    return float(
        np.sum(counts**2 / volume) / total**2 - 2.0 * np.sum(counts * (counts - 1.0) / volume) / (total * (total - 1.0))
    )
