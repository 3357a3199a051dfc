"""Gram matrices for greedy methods and paths: whole, or row by row on demand.

Columns are centred (or not, without an intercept) and scaled by powers of two to norms of about one:
z = 2^-scale (x - centre). Results do not depend on units then, and no product overflows.
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

BATCH_COLUMNS = 32  # Gram rows computed in one pass: one alone costs a third of thirty

SAMPLES_MAX_ENTRIES = 1 << 22  # of dense samples, up to which one array of them may be read for each product


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
        """Means and norms in the units of the data."""
        ...

    def row(self, j: int, promise: Floats) -> Floats:
        """Row j of the Gram matrix (p,); `promise` (p,) ranks the columns that are likely to be requested next."""
        ...

    def samples(self) -> "Samples | None":
        """The samples, where these are dense and few, and products with them cost less than rows of the matrix."""
        ...


@dataclass(frozen=True)
class WholeGram:
    """The whole Gram matrix, from `Moments`."""

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
    def from_products(
        cls, products: Floats, with_targets: Floats, target_squares: Floats | None = None, weight: float = 1.0
    ) -> "WholeGram":
        """From products in the units of the data: X'X (p, p), X'y (p, t) and y'y (t,), about any centre. Without y'y,
        the smallest value consistent with each single product is used.
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

    def samples(self) -> None:
        """None: the products are known."""


@dataclass(frozen=True)
class GramByColumns:
    """Gram rows computed from the data on demand, `BATCH_COLUMNS` a pass, and cached."""

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
        products = rows.fold(partial(_with_targets, centre[:p], centre[p:], q, r)).sum
        squares = np.ldexp(lengths, -q) ** 2
        # a constant column is zero about its mean: its products are rounding
        products = np.where(squares[:, None] > 0.0, products.T, 0.0)
        if not np.isfinite(products).all():
            raise NotFinite
        return cls(rows, intercept, q, r, squares, np.ldexp(target_lengths, -r) ** 2, products, columns)

    def row(self, j: int, promise: Floats) -> Floats:
        if j not in self.known:
            unknown = np.array(promise, dtype=np.float64)
            unknown[[j, *self.known]] = -np.inf
            others = _largest(unknown, BATCH_COLUMNS - 1)
            wanted = np.append(j, others[unknown[others] > -np.inf]).astype(np.int64)
            products = self.rows.fold(cross_products(wanted, self.columns, self.scales, self.intercept)).sum
            self.known.update(zip(wanted.tolist(), products, strict=True))
        return self.known[j]

    def samples(self) -> "Samples | None":
        rows = self.rows
        n, p = rows.shape
        if n > p or rows.sparse or rows.on_device or rows.distributed or rows.entries > SAMPLES_MAX_ENTRIES:
            return None
        block = rows.whole()
        centre = self.columns.mean[:p] if self.intercept else np.zeros(p)
        unit = np.where(self.squares > 0.0, np.ldexp(1.0, -self.scales), 0.0)
        return Samples(block.X, np.sqrt(weights_of(block)), centre, unit)


@dataclass(frozen=True)
class Samples:
    """Columns z as a dense array of samples X (n, p): times `root` (n,), the roots of the sample weights, about
    `centre` (p,), and times `unit` (p,), which is zero for constant columns.
    """

    X: Array
    root: Floats
    centre: Floats
    unit: Floats

    @property
    def count(self) -> int:
        return len(self.root)

    def column(self, j: int) -> Floats:
        """Column j (n,)."""
        return np.asarray(self.root * (self.X[:, j] - self.centre[j]) * self.unit[j])

    def products(self, d: Floats) -> Floats:
        """The products (p,) of all columns with d (n,)."""
        return np.asarray(adjoint(self.X, (self.root * d)[:, None], self.centre)[0] * self.unit)


def cross_products(wanted: Integers, columns: Columns, scales: Integers, intercept: bool) -> Callable[[Block], Total]:
    """The lift of the Gram rows (k, p) of some columns, centred and divided by 2^scales."""
    p = columns.features
    centre = columns.mean[:p] if intercept else None
    return partial(_cross, wanted, centre, scales, _lengths(columns, intercept) > 0.0)


def moments_of(wanted: Integers) -> Callable[[Block], MaybeDeferred[Moments]]:
    """The lift of the `Moments` of selected columns."""
    return partial(_of_some, wanted)


def _of_some(wanted: Integers, block: Block) -> MaybeDeferred[Moments]:
    X = block.X[:, wanted] if is_sparse(block.X) else namespace(block.X).take(block.X, like(wanted, block.X), axis=1)
    return Moments.lift(replace(block, X=X, column_summary=None))


def _largest(values: Floats, count: int) -> Integers:
    """The places of the largest values, the largest first."""
    if count < values.size:
        some = np.sort(np.argpartition(-values, count)[:count])
        return np.asarray(some[np.argsort(-values[some], kind="stable")])
    return np.argsort(-values, kind="stable")


def _lengths(columns: Columns, intercept: bool) -> Floats:
    """Norms of the columns; 0 for constant columns, whose deviations are rounding of the mean."""
    lengths = columns.lengths(origin=not intercept)[0]
    if not intercept:
        return lengths
    mean = np.abs(columns.mean[: columns.features])
    return np.where(lengths > 8.0 * np.finfo(np.float64).eps * np.sqrt(columns.weight) * mean, lengths, 0.0)


def _exponents(lengths: Floats) -> Integers:
    """Binary exponents of norms; 0 for zero."""
    with np.errstate(divide="ignore"):
        exponents = np.round(np.log2(lengths))
    return np.where(np.isfinite(exponents), exponents, 0.0).astype(np.int32)


def _cross(wanted: Integers, centre: Floats | None, scales: Integers, varies: Array, block: Block) -> Total:
    u = _take_columns(block.X, wanted)
    if centre is not None:
        u = u - like(centre[wanted], u)
    u = u * like(np.ldexp(1.0, -scales[wanted]), u) * weights_of(block)[:, None]
    products = adjoint(block.X, _c_ordered(u), centre)
    return Total(np.where(varies, np.ldexp(products, -scales), 0.0))


def _take_columns(X: Array, wanted: Integers) -> Array:
    """Selected columns, dense in float64."""
    if is_sparse(X):
        return np.asarray(X[:, wanted].toarray(), dtype=np.float64)
    xp = namespace(X)
    return xp.astype(xp.take(X, like(wanted, X), axis=1), xp.float64)


def _with_targets(centre: Floats, target_centre: Floats, q: Integers, r: Integers, block: Block) -> Total:
    v = (block.y - like(target_centre, block.y)) * like(np.ldexp(1.0, -r), block.y) * weights_of(block)[:, None]
    return Total(np.ldexp(adjoint(block.X, _c_ordered(v), centre if centre.any() else None), -q))


def _c_ordered(u: Array) -> Array:
    """In C order, as compiled loops require."""
    return np.ascontiguousarray(u) if isinstance(u, np.ndarray) else u
