"""Linear models over `Rows` as a design: an intercept column, and samples measured from a centre, in fused passes.

Where there is an intercept, coefficients are those of samples measured from the centre, else of samples as they are;
products are about the centre in both cases, and what that adds is in extended precision. Dual points are measured from
the centre only where the intercept is free (`DesignBlock.correlate`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, contiguous, is_sparse, like, namespace, on_host
from tenfold.data import (
    BatchRows,
    Block,
    MaybeDeferred,
    MemoryRows,
    Rows,
    fold_together,
    sampling_step,
    targets_of,
    weights_of,
)
from tenfold.losses.loss import Loss
from tenfold.losses.regression import Square
from tenfold.objectives.design import DesignBlock, LossMeans, MarginLosses, Predictor, S
from tenfold.stats.column_moments import Columns, column_squares
from tenfold.stats.combined import combine
from tenfold.stats.derivatives import Derivatives, Params, Total, adjoint, curvatures, derivatives, forward, losses_at
from tenfold.stats.min_max import Extremes, of_columns

SAMPLE_ROWS, SAMPLE_ENTRIES = 1024, 1 << 20  # of the sample that places the centre: well below a pass over 100k x 100
FEW_COEFFICIENTS = 512  # up to which those that are zero are not looked for
TILE = 4096  # samples at a time where a block of them is copied


def center(params: Params, centre: Floats) -> Params:
    """The same model for samples measured from `centre`; in extended precision, for an offset must not cost digits."""
    if not centre.any():
        return params
    coef = params.coef
    if coef.size > FEW_COEFFICIENTS:
        used = np.flatnonzero(coef.any(axis=0))
        coef, centre = coef[:, used], centre[used]
    moved = coef.astype(np.longdouble) @ centre.astype(np.longdouble)
    return Params(params.coef, np.asarray(params.intercept + moved, dtype=np.float64))


def take_sample(rows: Rows) -> Rows:
    """The sample of the rows that places the centre."""
    n, p = rows.shape
    wanted = 8 * SAMPLE_ROWS if rows.sparse else min(max(SAMPLE_ENTRIES // p, 64), SAMPLE_ROWS)
    return rows.subsample(sampling_step(n, wanted))


def sample_rows(rows: Rows) -> tuple[Floats, Rows, Floats]:
    """A centre, a sample of the rows, and the mean squares of its columns about the centre."""
    p, sample = rows.shape[1], take_sample(rows)
    if isinstance(rows, MemoryRows) and (place := rows.place()) is not None:
        return place[0], sample, place[1]
    # any centre is right; one amid the samples keeps digits, but not those of sparse rows, which are never centred
    if rows.sparse:
        sums = sample.fold(column_squares).sum
        return np.zeros(p), sample, sums[:-1] / (sums[-1] or 1.0)
    columns, extremes = sample.fold(combine([Columns.lift, of_columns])).parts
    centre = columns.middle(extremes)
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite raise when all rows are read
        return centre, sample, columns.squares_about(centre)


@dataclass(frozen=True)
class LinearBlock:
    """A block of rows as samples of a linear design."""

    block: Block
    centre: Floats
    intercept: bool
    free: bool

    @property
    def y(self) -> Array:
        return self.block.y

    @property
    def weight(self) -> Array:
        return weights_of(self.block)

    def adjoint(self, u: Array) -> Floats:
        u = contiguous(u)
        g, s = adjoint(self.block.X, u, self.centre), on_host(namespace(u).sum(u, axis=0))
        return np.column_stack([g, s]) if self.intercept else g + np.outer(s, self.centre)

    def correlate(self, u: Array) -> Floats:
        return adjoint(self.block.X, contiguous(u), self.centre if self.free else None)

    def sum_sizes(self, u: Array) -> Floats:
        return sum_sizes(self.block, u, self.centre if self.free else None)

    def take(self, chosen: Array) -> Array:
        block = self.block
        xp = namespace(block.y)
        X = block.X[chosen].toarray() if is_sparse(block.X) else xp.take(block.X, chosen, axis=0)
        X = xp.astype(X, xp.float64, copy=False)
        return xp.concat([X - like(self.centre, X), xp.ones_like(X[:, :1])], axis=1) if self.intercept else X


def sum_sizes(block: Block, u: Array, centre: Floats | None) -> Floats:
    """sum weight |u| |x - centre| (p,) of numbers (m, 1); of sparse samples, which are never centred, as they are."""
    X, xp = block.X, namespace(u)
    size = contiguous(xp.abs(u) * weights_of(block)[:, None])
    if is_sparse(X):
        return adjoint(abs(X), size)[0]
    total = np.zeros(X.shape[1])
    for start in range(0, X.shape[0], TILE):
        part = slice(start, min(start + TILE, X.shape[0]))
        tile = xp.astype(X[part, :], xp.float64, copy=False)
        tile = xp.abs(tile if centre is None else tile - like(centre, tile))
        total += on_host(xp.sum(tile * size[part, :], axis=0))
    return total


@dataclass(frozen=True)
class LinearDesign:
    """Linear models over rows, with the mean squares (p,) of the columns of a sample about the centre. The intercept is
    free, or has a penalty of its own.
    """

    rows: Rows
    centre: Floats
    sample_of_rows: Rows
    squares: Floats
    intercept: bool
    free: bool
    has_matrix: bool = True

    @classmethod
    def of(cls, rows: Rows, intercept: bool, free: bool) -> "LinearDesign":
        """About a centre that a sample of the rows gives."""
        return cls(rows, *sample_rows(rows), intercept, free)

    @property
    def samples(self) -> int:
        return self.rows.shape[0]

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def sample(self) -> "LinearDesign":
        return replace(self, rows=self.sample_of_rows)

    @property
    def sampled_whole(self) -> bool:
        return self.sample_of_rows.shape[0] == self.rows.shape[0] and not self.sample_of_rows.on_device

    @property
    def in_memory(self) -> bool:
        return isinstance(self.rows, MemoryRows) and not self.rows.on_device

    @property
    def distributed(self) -> bool:
        return self.rows.distributed

    @property
    def keeps_margins(self) -> bool:
        return isinstance(self.rows, (MemoryRows, BatchRows)) and self.rows.sparse

    @property
    def stored_intercept(self) -> Floats:
        return np.append(-self.centre, 1.0) if self.intercept else np.zeros(self.columns)

    @cached_property
    def column_length(self) -> float:
        offset = 0.0 if self.intercept else float(np.sum(self.centre**2))
        return float(np.sqrt(np.sum(self.squares) + offset))

    def coefficients(self, params: Params) -> Floats:
        """x (K, q) of parameters for rows as they are."""
        if not self.intercept:
            return np.asarray(params.coef, dtype=np.float64)
        at = center(params, self.centre)
        return np.column_stack([at.coef, at.intercept])

    def params(self, x: Floats) -> Params:
        """Parameters at x for rows measured from the centre."""
        if not self.intercept:
            return center(Params(np.ascontiguousarray(x), np.zeros(len(x))), self.centre)
        return Params(np.ascontiguousarray(x[:, :-1]), np.ascontiguousarray(x[:, -1]))

    def outer_intercept(self, x: Floats) -> Floats:
        return center(self.params(x), -self.centre).intercept

    def margin_sizes(self, x: Floats) -> tuple[Floats, Floats]:
        w = np.abs(x[:, : self.columns])
        return np.sum(w * np.sqrt(self.squares), axis=1), np.sum(w * np.abs(self.centre), axis=1)

    def predictor(self, x: Floats) -> Predictor:
        params, centre = self.params(x), self.centre

        def predict(block: Any) -> Any:
            return forward(block.block.X, params, centre)

        return predict

    def size_predictor(self, x: Floats) -> Predictor:
        w = np.abs(x[:, : self.columns])
        b = x[:, -1] if self.intercept else x @ self.centre
        # rows are rounded as they were given, and about the centre
        sizes = Params(w, w @ (np.sqrt(self.squares) + np.abs(self.centre)) + np.abs(b))

        def sum_terms(block: Any) -> Any:
            X = block.block.X
            return forward(abs(X) if is_sparse(X) else namespace(X).abs(X), sizes)

        return sum_terms

    def read(self, loss: Loss, x: Floats, order: int) -> LossMeans:
        return self._means(self.rows.fold(derivatives(loss, self.params(x), order, self.centre)))

    def read_with_curvature(self, loss: Loss, x: Floats) -> tuple[LossMeans, Floats]:
        assert self.intercept
        params = self.params(x)
        sums, curved = fold_together(
            (self.rows, derivatives(loss, params, 1, self.centre)),
            (self.sample_of_rows, curvatures(loss, params, self.centre)),
        )
        return self._means(sums), curved.sum / sums.weight

    def _means(self, sums: Derivatives) -> LossMeans:
        value, slope, c = float(sums.value[0]) / sums.weight, sums.slope / sums.weight, self.centre
        if sums.gradient is None:
            return LossMeans(sums.weight, value, np.empty(0))
        g = sums.gradient / sums.weight
        hessian = None if sums.hessian is None else sums.hessian / sums.weight
        if self.intercept:
            return LossMeans(sums.weight, value, np.column_stack([g, slope]), hessian)
        if hessian is not None:
            K, p = g.shape
            H = hessian.reshape(K, p + 1, K, p + 1)
            cross, constant = H[:, :p, :, p], H[:, p, :, p]
            rows = cross + constant[:, None, :] * c[:, None]
            H = H[:, :p, :, :p] + c[:, None, None] * H[:, p, :, :p][:, None] + rows[..., None] * c
            hessian = H.reshape(K * p, K * p)
        return LossMeans(sums.weight, value, g + np.outer(slope, c), hessian)

    def gram(self, weight: Callable[[DesignBlock], Array]) -> Floats:
        zero, p, c = Params(np.zeros((1, self.columns)), np.zeros(1)), self.columns, self.centre
        square, of = derivatives(Square(), zero, 2, c), self._as_samples

        def lift(block: Block) -> MaybeDeferred[Derivatives]:
            y = contiguous(block.y[:, :1])
            return square(replace(block, y=y, weight=contiguous(weight(of(block)))))

        H = self.rows.fold(lift).hessian
        assert H is not None
        if self.intercept:
            return H
        cross, constant = H[:p, p], H[p, p]
        return np.asarray(H[:p, :p] + np.outer(c, cross) + np.outer(cross + constant * c, c))

    def inner(self, a: Floats, b: Floats) -> Floats:
        return np.sum(a * b, axis=-1)  # not by NumPy's BLAS, which has threads of its own

    @property
    def _as_samples(self) -> Callable[[Block], LinearBlock]:
        """A block of rows as samples; it goes to where the rows are, and holds none."""
        return partial(LinearBlock, centre=self.centre, intercept=self.intercept, free=self.free)

    def fold(self, lift: Callable[[DesignBlock], S]) -> S:
        of = self._as_samples

        def lift_block(block: Block) -> Any:
            return lift(of(block))

        result: S = self.rows.fold(lift_block)
        return result

    def sum(self, lift: Callable[[DesignBlock], Floats]) -> Floats:
        of = self._as_samples
        return np.asarray(self.rows.fold(lambda block: Total(lift(of(block)))).sum)

    def minimum(self, lift: Callable[[DesignBlock], Array]) -> Floats:
        of = self._as_samples
        return self.rows.fold(lambda block: Extremes.of(lift(of(block)), block.weight)).low

    def map(self, f: Callable[[DesignBlock], Array]) -> Array:
        of = self._as_samples
        return self.rows.map(lambda block: f(of(block)))

    @property
    def targets(self) -> Array:
        return self.rows.map(targets_of)

    @property
    def weights(self) -> Array:
        return self.rows.map(weights_of)

    def correlate(self, u: Floats) -> Floats:
        centre = self.centre if self.free else None

        def add(before: tuple[int, Floats], block: Block) -> tuple[int, Floats]:
            start, total = before
            end = start + block.y.shape[0]
            return end, total + adjoint(block.X, contiguous(u[start:end]), centre)

        return self.rows.scan(add, (0, np.zeros((u.shape[1], self.columns))))[1]

    def untie(self) -> "LinearDesign":
        return replace(self, free=self.intercept)

    def losses_at(self, loss: Loss, y: Floats, z: Floats, weight: Floats) -> MarginLosses:
        at = losses_at(loss, y, z, weight)
        return MarginLosses(at.value, float(at.level.slope[0]), float(at.level.curvature[0]), at.u)

    def retarget(self, y: Array) -> "LinearDesign":
        return replace(self, rows=self.rows.retarget(y))
