"""The coordinates in which a generalised linear model is solved."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.linalg.blas import dgemv

from tenfold.arrays import Floats
from tenfold.data import MemoryRows, NotFinite, Rows, sampling_step
from tenfold.machine import one_blas_thread
from tenfold.problems import Glm
from tenfold.stats.column_moments import Columns
from tenfold.stats.combined import combine
from tenfold.stats.derivatives import Params
from tenfold.stats.min_max import of_columns

NEWTON_COLUMNS = 1024
"""Up to so many columns the Hessian is formed."""

ROTATED_ROWS = 128
"""With more columns than that, up to so many rows are rotated into as many coordinates."""


@dataclass(frozen=True)
class Frame:
    """The coordinates of the solver: rows measured from `shift`, and for fewer rows than columns rotated by `basis`
    (p, n) into as many coordinates as there are rows, which changes no penalty and no prediction.
    """

    rows: Rows
    shift: Floats
    basis: Floats | None = None

    @classmethod
    def of(cls, rows: Rows, middle: Floats) -> "Frame":
        n, p = rows.shape
        if rows.sparse or rows.on_device or 3 * n >= 2 * p or (p > NEWTON_COLUMNS and n > ROTATED_ROWS):
            return cls(rows, middle)
        block = rows.whole()
        X = block.X - middle
        lengths = np.linalg.norm(X, axis=0)
        if not np.isfinite(lengths).all():
            raise NotFinite
        lengths = lengths[lengths > 0.0]
        if not lengths.size or lengths.max() > 1e6 * lengths.min():
            return cls(rows, middle)  # a rotation mixes columns, and small ones would be lost among large ones
        with one_blas_thread:
            basis, R, order = qr(X.T, mode="economic", pivoting=True, overwrite_a=True, check_finite=False)
        kept = np.abs(np.diag(R)) > 1e-13 * abs(R[0, 0])
        turned = np.empty((n, int(kept.sum())))
        turned[order] = R[kept].T
        return cls(MemoryRows(turned, block.y, block.weight), middle, np.asfortranarray(basis[:, kept]))

    @property
    def local(self) -> Floats:
        """The shift that the solver applies itself."""
        return self.shift if self.basis is None else np.zeros(self.basis.shape[1])

    def inside(self, params: Params) -> Params:
        """Parameters of the user's rows in these coordinates."""
        params = moved(params, self.shift)
        return params if self.basis is None else Params(self._turned(params.coef, trans=1), params.intercept)

    def outside(self, params: Params) -> Params:
        """Parameters in these coordinates for the user's rows."""
        coef = params.coef if self.basis is None else self._turned(params.coef, trans=0)
        return moved(Params(coef, params.intercept), -self.shift)

    def _turned(self, coef: Floats, trans: int) -> Floats:
        with one_blas_thread:
            return np.array([dgemv(1.0, self.basis, row, trans=trans) for row in coef])


def middle(rows: Rows, hessian: bool) -> Floats:
    """A point amid the rows, about which weights and intercept are hardly correlated; from a sample.

    It has the value of a constant column exactly. Sums over sparse rows are moved there afterwards, which gains no
    digits: it is worth while for L-BFGS alone, and many small errors of the sample's means add up, so that what may be
    noise counts as zero.
    """
    if isinstance(rows, MemoryRows) and (place := rows.place()) is not None:
        return place[0]
    sample = rows.subsample(sampling_step(rows.shape[0], 2048))
    if rows.sparse and hessian:
        return np.zeros(rows.shape[1])
    if not rows.sparse:
        columns, extremes = sample.fold(combine([Columns.lift, of_columns])).parts
        return columns.middle(extremes)
    columns = sample.fold(Columns.lift)
    mean = columns.mean[: columns.features]
    noise = columns.squares_about(np.zeros_like(mean)) / sample.shape[0]
    return np.where(mean**2 > 25.0 * noise, mean, 0.0)


def moved(params: Params, shift: Floats) -> Params:
    """The same model with rows measured from `shift`; in extended precision, for an offset must not cost digits."""
    if not shift.any():
        return params
    by = params.coef.astype(np.longdouble) @ shift.astype(np.longdouble)
    return Params(params.coef, np.asarray(params.intercept + by, dtype=np.float64))


def without_constants(problem: Glm, rows: Rows, params: Params) -> Params:
    """What a constant column of sparse rows has of the intercept is given back to it."""
    if not (problem.balances and rows.sparse):
        return params
    constant = _constant_columns(rows)
    if not constant.any():
        return params
    return Params(np.where(constant != 0.0, 0.0, params.coef), params.intercept + params.coef @ constant)


def _constant_columns(rows: Rows) -> Floats:
    """The values of constant columns of sparse rows, and zero for all others."""
    X = rows.subsample(sampling_step(rows.shape[0], 2048)).whole().X
    values = np.zeros(X.shape[1])
    full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0])
    if full.size:
        columns = rows.map(lambda block: block.X[:, full].toarray())
        values[full] = np.where(columns.min(axis=0) == columns.max(axis=0), columns[0], 0.0)
    return values
