"""Inner products of columns, whole or a few at a time: what greedy methods and paths ask for.

Columns are measured from their means (or from the origin) and divided by powers of two, so that their sums of squares
are about one: z = 2^-scale (x - centre). Units change nothing then, and no product overflows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np

from tenfold.arrays import Array, Floats, Integers, is_sparse, like, namespace
from tenfold.data import Block, MaybeDeferred, NotFinite, Rows, weights_of
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Total, adjoint
from tenfold.stats.moments import Moments

BATCH = 32
"""So many columns come with one pass over the rows: the products of one cost a third of those of thirty."""


class Gram(Protocol):
    """Second moments of p columns z and t targets, all divided by powers of two.

    `scales` (p,) and `target_scales` (t,) are the exponents, `squares` (p,) and `target_squares` (t,) the sums of
    squares, `with_targets` (p, t) the products of columns and targets.
    """

    @property
    def scales(self) -> Integers: ...
    @property
    def target_scales(self) -> Integers: ...
    @property
    def squares(self) -> Floats: ...
    @property
    def target_squares(self) -> Floats: ...
    @property
    def with_targets(self) -> Floats: ...
    @property
    def columns(self) -> Columns:
        """Means and lengths in the units of the data."""
        ...

    def row(self, j: int, promise: Floats) -> Floats:
        """The products (p,) of column j with all columns; `promise` (p,) ranks those that may be asked for next."""
        ...


@dataclass(frozen=True)
class WholeGram:
    """All products, from `Moments`."""

    scales: Integers
    target_scales: Integers
    squares: Floats
    target_squares: Floats
    with_targets: Floats
    columns: Columns
    matrix: Floats

    @classmethod
    def of(cls, moments: Moments, intercept: bool) -> "WholeGram":
        p, e = moments.features, moments.exponent.astype(np.int32)
        S, C, yy = moments.about(origin=not intercept)
        q, r = _exponents(np.sqrt(np.diag(S))), _exponents(np.sqrt(yy))
        matrix = np.ldexp(S, -(q[:, None] + q)) if q.any() else S
        return cls(
            q + e[:p],
            r + e[p:],
            np.diag(matrix).copy(),
            np.ldexp(yy, -2 * r),
            np.ldexp(C, -(q[:, None] + r)),
            Columns.of(moments),
            matrix,
        )

    @classmethod
    def given(
        cls, products: Floats, with_targets: Floats, target_squares: Floats | None = None, weight: float = 1.0
    ) -> "WholeGram":
        """From products in the units of the data: X'X (p, p), X'y (p, t) and y'y (t,), about whatever centre; where y'y
        is not known, that of the shortest target that has the products with each column alone.
        """
        lengths = np.sqrt(np.maximum(np.diag(products), 0.0))
        if target_squares is None:
            cosines = with_targets / np.where(lengths > 0.0, lengths, np.inf)[:, None]
            target_squares = np.max(cosines**2, axis=0, initial=0.0)
        targets = np.sqrt(np.maximum(target_squares, 0.0))
        q, r = _exponents(lengths), _exponents(targets)
        matrix = np.ldexp(products, -(q[:, None] + q))
        columns = Columns(len(q), weight, np.zeros(len(q) + len(r)), np.concatenate([lengths, targets]))
        right = np.ldexp(with_targets, -(q[:, None] + r))
        return cls(q, r, np.maximum(np.diag(matrix), 0.0), np.ldexp(target_squares, -2 * r), right, columns, matrix)

    def row(self, j: int, promise: Floats) -> Floats:
        return np.asarray(self.matrix[j])


@dataclass(frozen=True)
class GramByColumns:
    """Products that are read from the rows when they are asked for, `BATCH` columns a pass, and kept."""

    rows: Rows
    intercept: bool
    scales: Integers
    target_scales: Integers
    squares: Floats
    target_squares: Floats
    with_targets: Floats
    columns: Columns
    known: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Rows, intercept: bool) -> "GramByColumns":
        p = rows.shape[1]
        columns = rows.fold(Columns.lift)
        if not (np.isfinite(columns.spread).all() and np.isfinite(columns.mean).all()):
            raise NotFinite
        lengths, target_lengths = _lengths(columns, intercept), columns.lengths(origin=not intercept)[1]
        q, r = _exponents(lengths), _exponents(target_lengths)
        centre = columns.mean if intercept else np.zeros_like(columns.mean)
        found = rows.fold(partial(_with_targets, centre[:p], centre[p:], q, r)).sum
        squares = np.ldexp(lengths, -q) ** 2
        # about its mean a constant column is nothing: what is read there is rounding
        products = np.where(squares[:, None] > 0.0, found.T, 0.0)
        if not np.isfinite(products).all():
            raise NotFinite
        return cls(rows, intercept, q, r, squares, np.ldexp(target_lengths, -r) ** 2, products, columns)

    def row(self, j: int, promise: Floats) -> Floats:
        if j not in self.known:
            unknown = np.array([k for k in np.argsort(-promise, kind="stable")[: 4 * BATCH] if k not in self.known])
            wanted = np.append(j, unknown[unknown != j][: BATCH - 1]).astype(np.int64)
            found = self.rows.fold(cross_products(wanted, self.columns, self.scales, self.intercept)).sum
            self.known.update(zip(wanted.tolist(), found, strict=True))
        return self.known[j]


def cross_products(wanted: Integers, columns: Columns, scales: Integers, intercept: bool) -> Callable[[Block], Total]:
    """The lift of the products (k, p) of some columns with all, both measured from their means and divided by
    2^scales.
    """
    p = columns.features
    centre = columns.mean[:p] if intercept else None
    return partial(_cross, wanted, centre, scales, _lengths(columns, intercept) > 0.0)


def moments_of(wanted: Integers) -> Callable[[Block], MaybeDeferred[Moments]]:
    """The lift of the moments of some columns."""
    return partial(_of_some, wanted)


def _of_some(wanted: Integers, block: Block) -> MaybeDeferred[Moments]:
    X = block.X[:, wanted] if is_sparse(block.X) else namespace(block.X).take(block.X, like(wanted, block.X), axis=1)
    return Moments.lift(replace(block, X=X, column_summary=None))


def _lengths(columns: Columns, intercept: bool) -> Floats:
    """Lengths of the columns; 0 where all that differs from the mean is its rounding: the column is constant."""
    lengths = columns.lengths(origin=not intercept)[0]
    if not intercept:
        return lengths
    mean = np.abs(columns.mean[: columns.features])
    return np.where(lengths > 8.0 * np.finfo(np.float64).eps * np.sqrt(columns.weight) * mean, lengths, 0.0)


def _exponents(lengths: Floats) -> Integers:
    """The exponents of lengths; 0 for nothing."""
    with np.errstate(divide="ignore"):
        exponents = np.round(np.log2(lengths))
    return np.where(np.isfinite(exponents), exponents, 0.0).astype(np.int32)


def _cross(wanted: Integers, centre: Floats | None, scales: Integers, varies: Array, block: Block) -> Total:
    u = _picked(block.X, wanted)
    if centre is not None:
        u = u - like(centre[wanted], u)
    u = u * like(np.ldexp(1.0, -scales[wanted]), u) * weights_of(block)[:, None]
    found = adjoint(block.X, _ordered(u), centre)
    return Total(np.where(varies, np.ldexp(found, -scales), 0.0))


def _picked(X: Array, wanted: Integers) -> Array:
    """Some columns, dense and in float64."""
    if is_sparse(X):
        return np.asarray(X[:, wanted].toarray(), dtype=np.float64)
    xp = namespace(X)
    return xp.astype(xp.take(X, like(wanted, X), axis=1), xp.float64)


def _with_targets(centre: Floats, target_centre: Floats, q: Integers, r: Integers, block: Block) -> Total:
    v = (block.y - like(target_centre, block.y)) * like(np.ldexp(1.0, -r), block.y) * weights_of(block)[:, None]
    return Total(np.ldexp(adjoint(block.X, _ordered(v), centre if centre.any() else None), -q))


def _ordered(u: Array) -> Array:
    """In C order, which compiled loops ask for."""
    return np.ascontiguousarray(u) if isinstance(u, np.ndarray) else u
