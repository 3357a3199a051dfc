"""Means and lengths of the columns, without their products: what the judge needs where a p x p matrix would be too
much.
"""

from dataclasses import dataclass

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, entries, is_numpy, is_sparse, namespace, on_host
from tenfold.data import Block, Lifted, Pending, weights_of
from tenfold.machine import threads
from tenfold.stats.derivatives import back_times
from tenfold.stats.extremes import Extremes
from tenfold.stats.moments import Moments, is_noise


@dataclass(frozen=True, slots=True)
class Columns:
    """Weight, means and weighted lengths about the means of the columns of [X y]; the first `features` belong to X.

    Lengths and not squares, so that columns at 1e200 do not overflow.
    """

    features: int
    weight: float
    mean: Floats
    spread: Floats

    @classmethod
    def lift(cls, block: Block) -> "Lifted[Columns]":
        """The statistic of one block."""
        if not (is_sparse(block.X) or is_numpy(block.X)):
            return columns_in_arrays(block)
        weight = weights_of(block)
        mx, sx = _sparse(block.X, weight) if is_sparse(block.X) else _dense(block.X, weight)
        my, sy = _dense(block.y, weight)
        return cls(block.X.shape[1], float(np.sum(weight)), np.concatenate([mx, my]), np.concatenate([sx, sy]))

    @classmethod
    def of(cls, moments: Moments) -> "Columns":
        """The diagonal of `Moments`."""
        spread = np.sqrt(np.concatenate([np.diag(moments.XX), moments.yy]))
        mean = np.concatenate([moments.mean, moments.target_mean])
        return cls(moments.features, moments.weight, mean, np.ldexp(spread, moments.exponent))

    def merge(self, other: "Columns") -> "Columns":
        if self.weight == 0.0 or other.weight == 0.0:
            return other if self.weight == 0.0 else self
        weight = self.weight + other.weight
        share = other.weight / weight
        with np.errstate(invalid="ignore", over="ignore"):  # rows that are not finite are refused by whoever folds them
            step = other.mean - self.mean
            between = np.sqrt(self.weight * share) * np.abs(step)
            spread = np.hypot(np.hypot(self.spread, other.spread), between)
            return Columns(self.features, weight, self.mean + share * step, spread)

    def middle(self, extremes: Extremes) -> Floats:
        """The means of the columns of X, and the very value of those that are constant."""
        low = extremes.low[: self.features]
        return np.where(low == extremes.high[: self.features], low, self.mean[: self.features])

    def squares_about(self, centre: Floats) -> Floats:
        """Weighted mean squares of the columns of X about `centre`."""
        away = self.mean[: self.features] - centre
        return self.spread[: self.features] ** 2 / (self.weight or 1.0) + away**2

    def lengths(self, origin: bool) -> tuple[Floats, Floats]:
        """Weighted Euclidean lengths of the columns of X and of y, about their means or about the origin."""
        lengths = np.hypot(self.spread, np.sqrt(self.weight) * np.abs(self.mean)) if origin else self.spread
        return lengths[: self.features], lengths[self.features :]


def columns_in_arrays(block: Block) -> Pending[Columns]:
    """The lift in the Array API: for other namespaces."""
    xp, weight = namespace(block.X), weights_of(block)
    rows = xp.concat([xp.astype(part, xp.float64, copy=False) for part in (block.X, block.y)], axis=1)
    total = xp.sum(weight)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        mean = xp.matmul(weight, rows) / xp.where(total > 0, total, xp.ones_like(total))
        away = rows - mean
        squares = xp.matmul(weight, away * away)
    return Pending.of((total, mean, squares), _from_sums, source=block)


def _from_sums(blocks: tuple[Block, ...], total: Floats, mean: Floats, squares: Floats) -> Columns:
    block = blocks[0]
    p, weight = block.X.shape[1], float(total)
    if weight == 0.0:
        return Columns(p, weight, np.zeros(len(mean)), np.zeros(len(mean)))
    spreads = [
        _lengths(part, weights_of(block), mean[cut], squares[cut])
        for part, cut in ((block.X, slice(p)), (block.y, slice(p, None)))
    ]
    return Columns(p, weight, mean, np.concatenate(spreads))


def _dense(X: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Means and lengths about them."""
    total = float(np.sum(weight))
    if total == 0.0 or X.shape[1] == 0:
        return np.zeros(X.shape[1]), np.zeros(X.shape[1])
    mean = back_times(X, weight[:, None])[0] / total
    squares = _core.column_squares(X, weight, mean, threads(entries(X)))
    return mean, _lengths(X, weight, mean, squares)


def _lengths(X: Array, weight: Array, mean: Floats, squares: Floats) -> Floats:
    """Roots of sums of squares about the means; columns whose squares overflow or vanish are read again."""
    spread = np.sqrt(squares)
    return spread if np.all((spread > 1e-140) & (spread < 1e140)) else _extreme(X, weight, mean, spread)


def _extreme(X: Array, weight: Array, mean: Floats, spread: Floats) -> Floats:
    """Lengths of columns whose squares overflow or vanish: in units of their largest value."""
    xp = namespace(X)
    for j in np.flatnonzero(~((spread > 1e-140) & (spread < 1e140))):
        with np.errstate(invalid="ignore", over="ignore"):
            column = np.abs(on_host(xp.astype(X[:, int(j)], xp.float64, copy=False)) - mean[j])
            unit = float(column.max())
            spread[j] = unit * np.sqrt(on_host(weight) @ (column / unit) ** 2) if unit > 0.0 else unit
    return spread


def _sparse(X: Array, weight: Floats) -> tuple[Floats, Floats]:
    total = float(weight.sum())
    if total == 0.0:
        return np.zeros(X.shape[1]), np.zeros(X.shape[1])
    sizes = np.abs(X.data.astype(np.float64))
    # a power of two a column, and only where squares would overflow or vanish
    extreme = sizes.size > 0 and not (sizes.max() < 1e140 and sizes.min(initial=np.inf, where=sizes > 0) > 1e-140)
    unit = np.zeros(X.shape[1], dtype=np.int32)
    if extreme:
        largest = abs(X).max(axis=0)
        unit = np.frexp(np.asarray(largest.toarray(), dtype=np.float64).ravel())[1]
        X = X.astype(np.float64)
        X.data = np.ldexp(X.data, -unit[X.indices])
    squares = type(X)((np.square(X.data, dtype=np.float64), X.indices, X.indptr), X.shape)
    mean = back_times(X, weight[:, None])[0] / total
    raw = total * mean**2
    spread = back_times(squares, weight[:, None])[0] - raw
    spread = np.sqrt(np.where(is_noise(spread, raw, X.shape[0]), 0.0, spread))
    return np.ldexp(mean, unit), np.ldexp(spread, unit)
