"""Coordinates in which a generalised linear model is solved: centred, and rotated for few rows."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.linalg.blas import dgemv

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.data import MemoryRows, NotFinite, Rows, is_small_dense, sampling_step
from tenfold.machine import one_blas_thread
from tenfold.problems import Glm
from tenfold.stats.column_moments import Columns
from tenfold.stats.combined import combine
from tenfold.stats.derivatives import Params
from tenfold.stats.min_max import of_columns

NEWTON_COLUMNS = 1024  # up to which the Hessian is formed

ROTATED_ROWS = 128  # up to which rows of more columns than that are rotated into n coordinates


@dataclass(frozen=True)
class Frame:
    """Coordinates of the solver: rows minus `shift`, and for few rows the projections on an orthonormal `basis` (p, n)
    of their span, which changes no L2 penalty and no prediction.
    """

    rows: Rows
    shift: Floats
    basis: Floats | None = None

    @classmethod
    def of(cls, rows: Rows, approximate_centre: Floats, forms_hessian: bool = False) -> "Frame":
        """`forms_hessian`: whether the solver forms a Hessian of any number of columns, so that a rotation, whose cost
        is less, pays for more rows.
        """
        n, p = rows.shape
        many = p > NEWTON_COLUMNS and n > ROTATED_ROWS and not forms_hessian
        if rows.sparse or rows.on_device or 3 * n >= 2 * p or many:
            return cls(rows, approximate_centre)
        block = rows.whole()
        X = block.X - approximate_centre
        lengths = np.linalg.norm(X, axis=0)
        if not np.isfinite(lengths).all():
            raise NotFinite
        lengths = lengths[lengths > 0.0]
        if not lengths.size or lengths.max() > 1e6 * lengths.min():
            return cls(rows, approximate_centre)  # a rotation would mix columns of very different scales
        with one_blas_thread:
            basis, R, order = qr(X.T, mode="economic", pivoting=True, overwrite_a=True, check_finite=False)
        kept = np.abs(np.diag(R)) > 1e-13 * abs(R[0, 0])
        turned = np.empty((n, int(kept.sum())))
        turned[order] = R[kept].T
        return cls(MemoryRows(turned, block.y, block.weight), approximate_centre, np.asfortranarray(basis[:, kept]))

    @property
    def local(self) -> Floats:
        """The shift that the solver applies."""
        return self.shift if self.basis is None else np.zeros(self.basis.shape[1])

    def inside(self, params: Params) -> Params:
        """Parameters of the original rows in these coordinates."""
        params = shift_intercept(params, self.shift)
        return params if self.basis is None else Params(self._rotate(params.coef, trans=1), params.intercept)

    def outside(self, params: Params) -> Params:
        """Parameters of these coordinates for the original rows."""
        coef = params.coef if self.basis is None else self._rotate(params.coef, trans=0)
        return shift_intercept(Params(coef, params.intercept), -self.shift)

    def _rotate(self, coef: Floats, trans: int) -> Floats:
        with one_blas_thread:
            return np.array([dgemv(1.0, self.basis, row, trans=trans) for row in coef])


def approximate_centre(rows: Rows, hessian: bool) -> Floats:
    """Approximate column means, from a subsample: about them weights and intercept are nearly uncorrelated.

    Exact for constant columns. Sums over sparse rows are recentred afterwards, which does not improve accuracy: it only
    helps L-BFGS, and since many small errors of the means add up, means within noise become zero.
    """
    if isinstance(rows, MemoryRows) and (place := rows.place()) is not None:
        return place[0]
    if is_small_dense(rows) and rows.whole().weight is None:
        return _core.dense_centre(np.ascontiguousarray(rows.whole().X, dtype=np.float64))[0]
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


def shift_intercept(params: Params, shift: Floats) -> Params:
    """The parameters for rows minus `shift`; the intercept is computed in extended precision against cancellation."""
    if not shift.any():
        return params
    by = params.coef.astype(np.longdouble) @ shift.astype(np.longdouble)
    return Params(params.coef, np.asarray(params.intercept + by, dtype=np.float64))


def without_constants(problem: Glm, rows: Rows, params: Params) -> Params:
    """Move the weights of constant columns of sparse rows into the intercept."""
    if not (problem.balances and rows.sparse):
        return params
    constant = _constant_columns(rows)
    if not constant.any():
        return params
    return Params(np.where(constant != 0.0, 0.0, params.coef), params.intercept + params.coef @ constant)


def _constant_columns(rows: Rows) -> Floats:
    """The values of constant columns of sparse rows, zero for others."""
    X = rows.subsample(sampling_step(rows.shape[0], 2048)).whole().X
    values = np.zeros(X.shape[1])
    full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0])
    if full.size:
        columns = rows.map(lambda block: block.X[:, full].toarray())
        values[full] = np.where(columns.min(axis=0) == columns.max(axis=0), columns[0], 0.0)
    return values
