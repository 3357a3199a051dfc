"""Means and norms of the columns, without the p x p Gram matrix."""

from dataclasses import dataclass

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, entries, is_numpy, is_sparse, namespace, on_host
from tenfold.data import Block, Deferred, MaybeDeferred, weights_of
from tenfold.machine import spend, threads
from tenfold.stats.derivatives import Total, adjoint
from tenfold.stats.min_max import Extremes
from tenfold.stats.moments import MIN_CENTRED_SHARE, Moments, dense_columns


@dataclass(frozen=True, slots=True)
class Columns:
    """Weight, means and weighted norms about the means of the columns of [X y]; the first `features` belong to X.

    Norms instead of squares, so that columns at 1e200 do not overflow.
    """

    features: int
    weight: float
    mean: Floats
    spread: Floats

    @classmethod
    def lift(cls, block: Block) -> "MaybeDeferred[Columns]":
        """The statistic of one block."""
        if not (is_sparse(block.X) or is_numpy(block.X)):
            return columns_in_arrays(block)
        return _lift(block, weights_of(block), None)[0]

    @classmethod
    def of(cls, moments: Moments) -> "Columns":
        """The diagonal of `Moments`."""
        spread = np.sqrt(np.concatenate([np.diag(moments.XX), moments.yy]))
        return cls(moments.features, moments.weight, moments.means(), np.ldexp(spread, moments.exponent))

    def merge(self, other: "Columns") -> "Columns":
        if self.weight == 0.0 or other.weight == 0.0:
            return other if self.weight == 0.0 else self
        weight = self.weight + other.weight
        ratio = other.weight / weight
        with np.errstate(invalid="ignore", over="ignore"):  # the caller of the fold rejects values that are not finite
            step = other.mean - self.mean
            between = np.sqrt(self.weight * ratio) * np.abs(step)
            spread = np.hypot(np.hypot(self.spread, other.spread), between)
            return Columns(self.features, weight, self.mean + ratio * step, spread)

    def middle(self, extremes: Extremes) -> Floats:
        """The means of the columns of X; exactly the value for constant columns."""
        low = extremes.low[: self.features]
        return np.where(low == extremes.high[: self.features], low, self.mean[: self.features])

    def centre(self, intercept: bool) -> Floats:
        """The centre of the design: the means of the features, or zero without an intercept."""
        return self.mean[: self.features] if intercept else np.zeros(self.features)

    def squares_about(self, centre: Floats) -> Floats:
        """Weighted mean squares of the columns of X about `centre`."""
        deviations = self.mean[: self.features] - centre
        return self.spread[: self.features] ** 2 / (self.weight or 1.0) + deviations**2

    def lengths(self, origin: bool) -> tuple[Floats, Floats]:
        """Weighted Euclidean norms of the columns of X and of y, about their means or about the origin."""
        return self._norms(slice(self.features), origin), self.target_lengths(origin)

    def target_lengths(self, origin: bool) -> Floats:
        """Those of y alone."""
        return self._norms(slice(self.features, None), origin)

    def _norms(self, part: slice, origin: bool) -> Floats:
        spread = self.spread[part]
        return np.hypot(spread, np.sqrt(self.weight) * np.abs(self.mean[part])) if origin else spread


def columns_in_arrays(block: Block) -> Deferred[Columns]:
    """The lift in the Array API: for other namespaces."""
    xp, weight = namespace(block.X), weights_of(block)
    rows = xp.concat([xp.astype(part, xp.float64, copy=False) for part in (block.X, block.y)], axis=1)
    total = xp.sum(weight)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        mean = xp.matmul(weight, rows) / xp.where(total > 0, total, xp.ones_like(total))
        deviations = rows - mean
        squares = xp.matmul(weight, deviations * deviations)
    return Deferred.of((total, mean, squares), _from_sums, source=block)


def _from_sums(blocks: tuple[Block, ...], total: Floats, mean: Floats, squares: Floats) -> Columns:
    block = blocks[0]
    p, weight = block.X.shape[1], float(total)
    if weight == 0.0:
        return Columns(p, weight, np.zeros(len(mean)), np.zeros(len(mean)))
    spreads = [
        _norms(part, weights_of(block), mean[cut], squares[cut])
        for part, cut in ((block.X, slice(p)), (block.y, slice(p, None)))
    ]
    return Columns(p, weight, mean, np.concatenate(spreads))


@dataclass(frozen=True, slots=True)
class ColumnsWithTargets:
    """`Columns`, and the centred cross products of the targets with the columns of X, (t, p)."""

    columns: Columns
    products: Floats

    @classmethod
    def lift(cls, block: Block) -> "ColumnsWithTargets":
        """The statistic of a block of NumPy or CSR samples; with one target they are read once."""
        weight = weights_of(block)
        y = block.y - (weight @ block.y) / (float(np.sum(weight)) or 1.0)
        response = weight[:, None] * y
        columns, products = _lift(block, weight, response[:, 0] if response.shape[1] == 1 else None)
        if products is None:
            products = adjoint(block.X, response, columns.mean[: columns.features])
        return cls(columns, products)

    def merge(self, other: "ColumnsWithTargets") -> "ColumnsWithTargets":
        a, b = self.columns, other.columns
        if a.weight == 0.0 or b.weight == 0.0:
            return other if a.weight == 0.0 else self
        with np.errstate(invalid="ignore", over="ignore"):
            step = np.sqrt(a.weight / (a.weight + b.weight) * b.weight) * (b.mean - a.mean)
            across = np.outer(step[a.features :], step[: a.features])
            return ColumnsWithTargets(a.merge(b), self.products + other.products + across)


def _lift(block: Block, weight: Floats, response: Floats | None) -> tuple[Columns, Floats | None]:
    """The columns and the products (1, p) of `response` (m,) with them, in one pass."""
    read = _sparse if is_sparse(block.X) else _dense
    mx, sx, products = read(block.X, weight, response)
    my, sy, _ = _dense(block.y, weight, None)
    columns = Columns(block.X.shape[1], float(np.sum(weight)), np.concatenate([mx, my]), np.concatenate([sx, sy]))
    return columns, products


def column_squares(block: Block) -> Total:
    """The lift of the weight and the weighted sums of squares (p,) of the columns of a CSR matrix."""
    X, weight = block.X, weights_of(block)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return Total(np.append(_sums(X, weight, None)[0][1], np.sum(weight)))


CANCELLATION = 64.0  # ratio of shifted to centred squares beyond which they are recomputed: 6 bits are lost


def _dense(X: Floats, weight: Floats, response: Floats | None) -> tuple[Floats, Floats, Floats | None]:
    """Means, norms about them and products (1, p) with `response`: one pass shifted by the first sample, a second one
    where that is far from the mean.
    """
    total, p = float(np.sum(weight)), X.shape[1]
    if total == 0.0 or p == 0:
        return np.zeros(p), np.zeros(p), None if response is None else np.zeros((1, p))
    alone, response = response is None, weight if response is None else response
    shift = np.ascontiguousarray(X[0], dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        step, raw, products = _about(X, weight, response, shift, total)
        squares = raw - total * step * step
        if np.any(raw > CANCELLATION * squares):
            shift = np.where(np.isfinite(shift + step), shift + step, shift)
            step, raw, products = _about(X, weight, response, shift, total)
            squares = raw - total * step * step
        mean = shift + step
        products -= float(np.sum(response)) * step
    return mean, _norms(X, weight, mean, np.maximum(squares, 0.0)), None if alone else products[None, :]


def _about(X: Floats, weight: Floats, response: Floats, shift: Floats, total: float) -> tuple[Floats, Floats, Floats]:
    """Mean minus shift, weighted squares about the shift, and products with `response`."""
    sums, squares, products = _core.column_sums(X, weight, response, shift, threads(entries(X)))
    return sums / total, squares, products


def _norms(X: Array, weight: Array, mean: Floats, squares: Floats) -> Floats:
    """Square roots of centred sums of squares; columns whose squares overflow or underflow are read again."""
    spread = np.sqrt(squares)
    return spread if np.all((spread > 1e-140) & (spread < 1e140)) else _rescale_norms(X, weight, mean, spread)


def _rescale_norms(X: Array, weight: Array, mean: Floats, spread: Floats) -> Floats:
    """Norms of columns whose squares overflow or underflow, scaled by their largest value."""
    xp = namespace(X)
    for j in np.flatnonzero(~((spread > 1e-140) & (spread < 1e140))):
        with np.errstate(invalid="ignore", over="ignore"):
            column = np.abs(on_host(xp.astype(X[:, int(j)], xp.float64, copy=False)) - mean[j])
            unit = float(column.max())
            spread[j] = unit * np.sqrt(on_host(weight) @ (column / unit) ** 2) if unit > 0.0 else unit
    return spread


def _sums(X: Array, weight: Floats, response: Floats | None) -> tuple[Floats, bool]:
    """Column sums, sums of squares and products with `response` of CSR samples, (3, p); whether no square of an entry
    overflows or underflows.
    """
    spend(float(entries(X)) * (2 if response is None else 3))
    sums, smallest, largest = _core.column_sums_csr(
        X.data, X.indices, X.indptr, X.shape[1], weight, response, threads(entries(X))
    )
    return sums, largest < 1e140 and smallest > 1e-140


def _sparse(X: Array, weight: Floats, response: Floats | None) -> tuple[Floats, Floats, Floats | None]:
    """Like `_dense`, about the origin: sparse samples are never centred."""
    total, p = float(np.sum(weight)), X.shape[1]
    if total == 0.0:
        return np.zeros(p), np.zeros(p), None if response is None else np.zeros((1, p))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        (sums, squares, products), moderate = _sums(X, weight, response)
        unit = np.zeros(p, dtype=np.int32)
        if not moderate:  # a power of two a column
            largest = abs(X).max(axis=0)
            unit = np.frexp(np.asarray(largest.toarray(), dtype=np.float64).ravel())[1]
            scaled = X.astype(np.float64)
            scaled.data = np.ldexp(scaled.data, -unit[X.indices])
            sums, squares, _ = _sums(scaled, weight, None)[0]
        mean = sums / total
        raw = total * mean**2
        spread = squares - raw
        cancelled = np.flatnonzero((spread <= MIN_CENTRED_SHARE * raw) & (raw > 0.0))
        mean, spread = np.ldexp(mean, unit), np.ldexp(np.sqrt(np.maximum(spread, 0.0)), unit)
        products = None if response is None else (products - float(np.sum(response)) * mean)[None, :]
    for some, column in dense_columns(X, cancelled):
        mean[some], spread[some], product = _dense(column, weight, response)
        if products is not None and product is not None:
            products[:, some] = product
    return mean, spread, products
