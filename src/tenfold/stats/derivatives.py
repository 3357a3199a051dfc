"""Values, slopes and curvatures of a loss at given parameters of a linear model, and the two products with the rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, entries, head_of, is_numpy, is_sparse, like, namespace, on_host
from tenfold.data import Block, weights_of
from tenfold.losses import Loss
from tenfold.machine import threads


def along(coef: Floats, x: Floats) -> Floats:
    """coef (t, p) times x (p,); not by NumPy's BLAS, whose threads go on waiting for work while ours do theirs."""
    return np.einsum("tp,p->t", coef, x)


class Params(NamedTuple):
    """Parameters of a linear model: coef (t, p) and intercept (t,)."""

    coef: Array
    intercept: Array


@dataclass(frozen=True, slots=True)
class Derivatives:
    """Sums over rows of weight, loss (t,), slope (t,), slope times row (t, p), and curvature times the outer product
    of [row, 1].
    """

    weight: float
    value: Floats
    slope: Floats
    gradient: Floats | None = None
    hessian: Floats | None = None

    def merge(self, other: "Derivatives") -> "Derivatives":
        return Derivatives(
            self.weight + other.weight,
            self.value + other.value,
            self.slope + other.slope,
            None if self.gradient is None or other.gradient is None else self.gradient + other.gradient,
            None if self.hessian is None or other.hessian is None else self.hessian + other.hessian,
        )


def derivatives(loss: Loss, params: Params, order: int, shift: Floats | None = None) -> Callable[[Block], Derivatives]:
    """The lift of `Derivatives` at z = (x - shift).w + b; order 0 stops at the slope, 1 at the gradient, 2 adds the
    Hessian (one target).
    """
    return partial(_derivatives, loss, params, order, shift)


def _derivatives(loss: Loss, params: Params, order: int, shift: Floats | None, block: Block) -> Derivatives:
    X = block.X
    if is_sparse(X):
        intercept = params.intercept if shift is None else params.intercept - along(params.coef, shift)
        found = Derivatives(
            *_core.derivatives_csr(
                X.data,
                X.indices,
                X.indptr,
                X.shape[1],
                block.y,
                block.weight,
                params.coef,
                intercept,
                loss.name,
                loss.parameter,
                order,
                threads(entries(X)),
            )
        )
        return found if shift is None else _shifted(found, shift)
    if is_numpy(X):
        return Derivatives(
            *_core.derivatives(
                X,
                block.y,
                block.weight,
                params.coef,
                params.intercept,
                shift,
                loss.name,
                loss.parameter,
                order,
                threads(entries(X)),
            )
        )
    return derivatives_in_arrays(loss, params, order, shift, block)


def _shifted(found: Derivatives, shift: Floats) -> Derivatives:
    """Move the origin of the rows to `shift` after the sums: sparse rows are never centred in memory."""
    gradient, hessian = found.gradient, found.hessian
    if gradient is not None:
        gradient = gradient - np.outer(found.slope, shift)
    if hessian is not None:
        last = hessian[:-1, -1] - hessian[-1, -1] * shift
        hessian = hessian.copy()
        hessian[:-1, :-1] -= np.outer(shift, hessian[:-1, -1]) + np.outer(last, shift)
        hessian[:-1, -1] = hessian[-1, :-1] = last
    return Derivatives(found.weight, found.value, found.slope, gradient, hessian)


def derivatives_in_arrays(loss: Loss, params: Params, order: int, shift: Floats | None, block: Block) -> Derivatives:
    """The lift of `Derivatives` in the Array API: for other namespaces, and the reference for the compiled loop."""
    if shift is not None and _is_near(shift, block.X):
        moved = Params(params.coef, params.intercept - along(params.coef, shift))
        return _shifted(derivatives_in_arrays(loss, moved, order, None, block), shift)
    xp = namespace(block.X)
    X = _away(block.X, shift)
    z = xp.matmul(X, like(params.coef, X).T) + like(params.intercept, X)
    weight = weights_of(block)
    slopes = weight[:, None] * loss.slope(block.y, z)
    gradient = on_host(xp.matmul(slopes.T, X)) if order >= 1 else None
    hessian = None
    if order == 2:
        joint = xp.concat([X, xp.ones_like(X[:, :1])], axis=1)
        hessian = on_host(xp.matmul((weight[:, None] * loss.curvature(block.y, z) * joint).T, joint))
    value = xp.sum(weight[:, None] * loss.value(block.y, z), axis=0)
    return Derivatives(float(xp.sum(weight)), on_host(value), on_host(xp.sum(slopes, axis=0)), gradient, hessian)


def _is_near(shift: Floats, X: Array) -> bool:
    """Whether no column is shifted by more than its standard deviation: sums may then be moved afterwards, which costs
    a bit and saves a pass.
    """
    return not shift.size or bool(X.shape[0] and np.all(np.abs(shift) <= head_of(X)[1]))


def predictions(params: Params, shift: Floats | None = None) -> Callable[[Block], Any]:
    """The map from a block to its raw predictions (x - shift).w + b, one row a row and one column a target."""
    return lambda block: times(block.X, params, shift)


def times(X: Array, params: Params, shift: Floats | None = None) -> Any:
    """(x - shift).w + b for the rows of an array."""
    if is_sparse(X):
        intercept = params.intercept if shift is None else params.intercept - along(params.coef, shift)
        return _core.times_csr(X.data, X.indices, X.indptr, X.shape[1], params.coef, intercept, threads(entries(X)))
    if is_numpy(X):
        return _core.times(X, params.coef, params.intercept, shift, threads(entries(X)))
    X = _away(X, shift)
    return namespace(X).matmul(X, like(params.coef, X).T) + like(params.intercept, X)


def _away(X: Array, shift: Floats | None) -> Array:
    """X - shift in float64, in X's namespace."""
    xp = namespace(X)
    X = xp.astype(X, xp.float64, copy=False)
    return X if shift is None else X - like(shift, X)


@dataclass(frozen=True, slots=True)
class Total:
    """A plain sum."""

    sum: Any

    def merge(self, other: "Total") -> "Total":
        return Total(self.sum + other.sum)


def back_times(X: Array, u: Array, shift: Floats | None = None) -> Floats:
    """sum_i u_i (x_i - shift) as (t, p), for u (m, t)."""
    if is_sparse(X):
        product = _core.times_t_csr(X.data, X.indices, X.indptr, X.shape[1], u, threads(entries(X)))
        return product if shift is None else product - np.outer(u.sum(axis=0), shift)
    if is_numpy(X):
        return _core.times_t(X, u, shift, threads(entries(X)))
    return on_host(namespace(X).matmul(u.T, _away(X, shift)))


def curvatures(loss: Loss, params: Params, shift: Floats) -> Callable[[Block], Total]:
    """The lift of sum weight curvature [x - shift, 1] (p + 1,), for one target."""

    def lift(block: Block) -> Total:
        c = loss.curvature(block.y, times(block.X, params, shift))
        if block.weight is not None:
            c = c * block.weight[:, None]
        return Total(np.append(back_times(block.X, c, shift)[0], on_host(namespace(c).sum(c))))

    return lift


def column_squares(X: Array, weight: Array, shift: Floats) -> Floats:
    """sum_i weight_i (x_ij - shift_j)^2 for each column of dense rows."""
    if is_numpy(X):
        return _core.column_squares(X, weight, shift, threads(entries(X)))
    X = _away(X, shift)
    return on_host(namespace(X).matmul(weight, X * X))
