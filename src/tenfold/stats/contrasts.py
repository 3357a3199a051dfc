"""Sums of independent component analysis: a nonlinear function of projections, with the projections."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, is_numpy, is_sparse, like, namespace
from tenfold.data import Block, Deferred, MaybeDeferred, weights_of
from tenfold.linear_algebra import product

PIECE = 1 << 12  # samples of NumPy arrays at a time, whose projections stay in the cache

Nonlinearity = Callable[[Any], tuple[Any, Any]]
"""g of projections (k, m), and its derivative (k, m), or the mean of this (k,)."""


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Sums over the samples: the weights, g(s) s' (r, k) for some of the projections s (k,), g'(s) (r,), s (k,) and
    s s' (k, k).
    """

    weight: float
    products: Floats
    slopes: Floats
    sums: Floats
    squares: Floats

    def merge(self, other: "Contrasts") -> "Contrasts":
        return Contrasts(
            self.weight + other.weight,
            self.products + other.products,
            self.slopes + other.slopes,
            self.sums + other.sums,
            self.squares + other.squares,
        )


def contrasts(
    projection: Floats, centre: Floats, g: Nonlinearity, some: slice, moments: bool = True
) -> Callable[[Block], MaybeDeferred[Contrasts]]:
    """The lift of `Contrasts` for projections (k, p) of samples about `centre`, with g of `some` of them; s s' only
    with `moments`.
    """
    return partial(_lift, projection, centre, g, some, moments)


def _lift(
    projection: Floats, centre: Floats, g: Nonlinearity, some: slice, moments: bool, block: Block
) -> MaybeDeferred[Contrasts]:
    X = block.X
    if not (is_numpy(X) or is_sparse(X)):
        xp, weight = namespace(X), weights_of(block)
        s = xp.matmul(like(projection, weight), (xp.astype(X, xp.float64, copy=False) - like(centre, weight)).T)
        value, slope = g(s[some, :])
        weighted = value * weight[None, :]
        parts = [xp.matmul(weighted, s.T), xp.matmul(slope, weight), xp.matmul(s, weight), xp.matmul(s * weight, s.T)]
        return Deferred.of([xp.reshape(xp.sum(weight), (1,)), *parts], _of_sums)
    k = len(projection)
    rows = len(range(*some.indices(k)))
    result = Contrasts(0.0, np.zeros((rows, k)), np.zeros(rows), np.zeros(k), np.zeros((k, k)))
    shift = projection @ centre
    for first in range(0, X.shape[0], PIECE):
        piece = X[first : first + PIECE]
        weight = None if block.weight is None else block.weight[first : first + PIECE]
        result = result.merge(_of_piece(projection, shift, g, some, moments, piece, weight))
    return result


def _of_piece(
    projection: Floats,
    shift: Floats,
    g: Nonlinearity,
    some: slice,
    moments: bool,
    X: Array,
    weight: Floats | None,
) -> Contrasts:
    if is_sparse(X):
        s = np.ascontiguousarray((X @ projection.T).T, dtype=np.float64)
    else:
        s = product(projection, np.asarray(X, dtype=np.float64).T)
    s -= shift[:, None]
    value, slope = g(s[some])
    m = X.shape[0]
    if weight is None:
        slopes = m * slope if slope.ndim == 1 else slope.sum(axis=1)
        squares = product(s, s.T) if moments else np.zeros((len(s), len(s)))
        return Contrasts(float(m), product(value, s.T), slopes, s.sum(axis=1), squares)
    weighted, slopes, total = s * weight, np.sum(slope * weight, axis=1), float(weight.sum())
    squares = product(weighted, s.T) if moments else np.zeros((len(s), len(s)))
    return Contrasts(total, product(value, weighted.T), slopes, weighted.sum(axis=1), squares)


def _of_sums(
    _: tuple[None, ...], weight: Array, products: Array, slopes: Array, sums: Array, squares: Array
) -> Contrasts:
    return Contrasts(float(weight[0]), products, slopes, sums, squares)


def nonlinearity(fun: Any, fun_args: Mapping[str, Any]) -> Nonlinearity:
    """The function g of a name, "logcosh", "exp" or "cube", or of a function of the user's."""
    if callable(fun):
        return lambda s: fun(s, **fun_args)
    if fun == "cube":
        return _cube
    return _gauss if fun == "exp" else partial(_tanh, float(fun_args.get("alpha", 1.0)))


def _tanh(alpha: float, s: Any) -> tuple[Any, Any]:
    value = namespace(s).tanh(alpha * s)
    return value, alpha * (1.0 - value * value)


def _gauss(s: Any) -> tuple[Any, Any]:
    squares = s * s
    bell = namespace(s).exp(-0.5 * squares)
    return s * bell, (1.0 - squares) * bell


def _cube(s: Any) -> tuple[Any, Any]:
    squares = s * s
    return squares * s, 3.0 * squares
