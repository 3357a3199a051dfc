"""Sums of windows about queries, block by block: wherever the rows are, every block adds its own.

Logarithms l of sums and means m of targets of two sets of rows merge about the larger of both:
``l = log(exp(l_1) + exp(l_2))`` and ``m = (exp(l_1) m_1 + exp(l_2) m_2) / exp(l)``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, Integers, is_array_api, namespace
from tenfold.data import Block, Deferred, MaybeDeferred
from tenfold.distances import Distance, Minkowski
from tenfold.plans.neighbours.array_api import PIECE, TILE, measured
from tenfold.plans.neighbours.index import ByTree, built, code_of, finish_of
from tenfold.plans.neighbours.kde import Tolerance, log_sums, window_sums
from tenfold.plans.neighbours.kde_pairwise import LOGS
from tenfold.plans.neighbours.out_of_core import Form, TheNearest
from tenfold.stats.combined import combine

EXACT = Tolerance(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class WindowSum:
    """Logarithms of sums of windows (m, b), and means of targets (m, b, t), which are zero where there is no row in the
    window; and the targets of the nearest row (m, t), where they were asked for.
    """

    logs: Floats
    means: Floats
    nearest: Floats | None = None

    def merge(self, other: "WindowSum") -> "WindowSum":
        return WindowSum(*_joined((self.logs, self.means), (other.logs, other.means)))

    def means_or_none(self) -> Floats:
        """The means, not a number where there is no row in the window."""
        return np.where(np.isneginf(self.logs)[:, :, None], np.nan, self.means)


@dataclass(frozen=True)
class WindowsAbout:
    """What is asked of rows: sums of windows about queries, and means of targets if these are `told`; and the targets
    of the `nearest` row, at least where there is none in the window.
    """

    window: str
    bandwidths: Floats
    told: bool
    nearest: bool = False

    def lift(self, form: Form, queries: Array, itself: bool) -> Callable[[Block], Any]:
        sums = partial(_of_block, form.distance, self, queries)
        return combine([sums, TheNearest(1).lift(form, queries, False)]) if self.nearest else sums

    def near(self, form: Form, found: Any, own: Integers | None) -> WindowSum:
        if not self.nearest:
            return found
        sums, shortlist = found.parts
        return replace(sums, nearest=shortlist.targets[:, 0, :])


@dataclass(frozen=True)
class KeptWindows:
    """Rows in memory (n, p), their targets (n, t) and weights (n,); a tree of few columns, for densities, which may be
    off by a tolerance.
    """

    distance: Distance
    rows: Floats
    targets: Floats | None
    weight: Floats | None
    tree: ByTree | None = None
    tolerance: Tolerance = EXACT

    def near(self, question: WindowsAbout, queries: Array, own: Integers | None = None) -> WindowSum:
        """The sums at queries; own is the number of the row that a query is: it is left out."""
        if question.told or own is not None or len(question.bandwidths) != 1:
            settings: dict[str, Any] = {"weight": self.weight, "targets": self.targets, "own": own}
            logs, means = window_sums(
                self.distance, self.rows, queries, question.window, question.bandwidths, **settings
            )
            found = WindowSum(logs, np.where(np.isneginf(logs)[:, :, None], 0.0, means))
            return self._with_nearest(found, queries, own) if question.nearest else found
        h = float(question.bandwidths[0])
        logs = log_sums(self.distance, self.rows, queries, question.window, h, self.weight, self.tolerance, self.tree)
        return WindowSum(logs[:, None], np.zeros((len(logs), 1, 0)))

    def _with_nearest(self, found: WindowSum, queries: Array, own: Integers | None) -> WindowSum:
        assert self.targets is not None
        nearest, some = np.zeros((len(queries), self.targets.shape[1])), np.isneginf(found.logs).any(axis=1)
        if some.any():
            index = built(self.distance, self.rows)
            rows = index.nearest(queries[some], 1, None if own is None else own[some])[1][:, 0]
            nearest[some] = self.targets[rows]
        return replace(found, nearest=nearest)


def _of_block(distance: Distance, question: WindowsAbout, queries: Array, block: Block) -> MaybeDeferred[WindowSum]:
    if is_array_api(block.X):
        return _in_arrays(distance, question, queries, block)
    m, b, t = queries.shape[0], len(question.bandwidths), block.y.shape[1] if question.told else 0
    if not block.X.shape[0] or not m:
        return WindowSum(np.full((m, b), -np.inf), np.zeros((m, b, t)))
    X = np.ascontiguousarray(block.X, dtype=np.float64)
    settings: dict[str, Any] = {"weight": block.weight, "targets": block.y if question.told else None}
    logs, means = window_sums(distance, X, queries, question.window, question.bandwidths, **settings)
    return WindowSum(logs, np.where(np.isneginf(logs)[:, :, None], 0.0, means))


def _in_arrays(distance: Distance, question: WindowsAbout, queries: Array, block: Block) -> Deferred[WindowSum]:
    """The same in the Array API, a tile of rows at a time."""
    assert isinstance(distance, Minkowski)
    xp, Q, n = namespace(block.X), distance.image(queries, True), block.X.shape[0]
    step, parts = max(1, PIECE // min(n, TILE)), []
    for start in range(0, Q.shape[0], step):
        some, found = Q[start : min(Q.shape[0], start + step), :], None
        for begin in range(0, n, TILE):
            end = min(n, begin + TILE)
            X = distance.image(block.X[begin:end, :], False)
            away = _finished(distance, measured(X, some, code_of(distance), distance.p))
            y = block.y[begin:end, :] if question.told else block.y[begin:end, :0]
            more = _of_tile(question, away, y, None if block.weight is None else block.weight[begin:end])
            found = more if found is None else _joined(found, more)
        assert found is not None
        parts.append(found)
    logs, means = (xp.concat([part[i] for part in parts], axis=0) for i in range(2))
    return Deferred.of([logs, means], _settled)


def _settled(_: Any, logs: Floats, means: Floats) -> WindowSum:
    return WindowSum(logs, means)


def _finished(distance: Minkowski, reduced: Array) -> Array:
    finish, exponent = finish_of(distance)
    if finish == "power":
        return reduced**exponent
    return {"same": reduced, "half": 0.5 * reduced}[finish] if finish != "root" else namespace(reduced).sqrt(reduced)


def _of_tile(question: WindowsAbout, away: Array, y: Array, weight: Array | None) -> tuple[Array, Array]:
    """Logarithms of sums (m, b) and means (m, b, t) of the rows of a tile, from their distances (m, l)."""
    xp, logs, means = namespace(away), [], []
    for h in question.bandwidths:
        terms = LOGS[question.window](away, float(h))
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


def _joined(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    xp = namespace(one[0])
    top = xp.maximum(one[0], other[0])
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    a, b = xp.exp(one[0] - top), xp.exp(other[0] - top)
    total = a + b
    with np.errstate(divide="ignore"):
        logs = xp.log(total) + top
    sums = a[:, :, None] * one[1] + b[:, :, None] * other[1]
    return logs, sums / xp.where(total > 0.0, total, xp.ones_like(total))[:, :, None]
