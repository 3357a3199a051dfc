"""Concomitant Huber loss: the sums of one pass for its value, gradient and Hessian in weights and scale."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, contiguous, entries, is_numpy, namespace
from tenfold.data import Block, NotFinite, resolve, weights_of
from tenfold.losses.loss import between
from tenfold.losses.regression import Square
from tenfold.machine import spend, threads
from tenfold.stats.derivatives import Params, adjoint, derivatives, forward, products


@dataclass(frozen=True, slots=True)
class HuberSums:
    """Sums over samples, with r = y - z, a = r / sigma and u = 2 a between -2 epsilon and 2 epsilon.

    `sums` of the weight, u, u^2, u r and r; `gradient` (p,) of u x and `rows` (p,) of x. At order 2: `cross` (p + 1,)
    of a [x, 1] and `inner` of a^2 over inliers |a| < epsilon, and `outer` of [x, 1] with itself over these and, with
    weight `beyond` times the curvature epsilon / |a| of a majorising parabola, over the outliers.
    """

    sums: Floats
    gradient: Floats
    rows: Floats
    outer: Floats | None = None
    cross: Floats | None = None
    inner: float = 0.0

    def merge(self, other: "HuberSums") -> "HuberSums":
        return HuberSums(
            self.sums + other.sums,
            self.gradient + other.gradient,
            self.rows + other.rows,
            None if self.outer is None or other.outer is None else self.outer + other.outer,
            None if self.cross is None or other.cross is None else self.cross + other.cross,
            self.inner + other.inner,
        )

    @property
    def weight(self) -> float:
        return float(self.sums[0])

    @property
    def means(self) -> Floats:
        """Weighted means of u, u^2, u r and r."""
        return np.asarray(self.sums[1:] / self.sums[0])

    def loss(self, sigma: float) -> float:
        """The weighted mean of sigma + sigma H(r / sigma) = u r + sigma (1 - u^2 / 4)."""
        _, squares, products, _ = self.means
        return float(products + sigma * (1.0 - squares / 4.0))


def huber_sums(
    params: Params, sigma: float, epsilon: float, order: int, shift: Floats, beyond: float = 0.0
) -> Callable[[Block], HuberSums]:
    """The lift of `HuberSums` at z = (x - shift).w + b; the sums over samples are of x - shift, too."""
    return partial(_lift, params, sigma, epsilon, order, shift, beyond)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # non-finite values show in the sums
def _lift(
    params: Params, sigma: float, epsilon: float, order: int, shift: Floats, beyond: float, block: Block
) -> HuberSums:
    if is_numpy(block.X):
        return _read_dense(params, sigma, epsilon, order, shift, beyond, block)
    weight = weights_of(block)
    xp = namespace(weight)
    r = block.y[:, 0] - forward(block.X, params, shift)[:, 0]
    a = r / sigma
    magnitude = xp.abs(a)
    inside = magnitude < epsilon
    u = 2.0 * between(-epsilon, a, epsilon)
    inside_weight = xp.where(inside, weight * a, xp.zeros_like(a))
    weights = contiguous(xp.stack([weight * u, weight, inside_weight], axis=1))
    by_u, by_weight, by_inside = adjoint(contiguous(xp.stack([xp.ones_like(a), u, r, a], axis=1)), weights)
    gradient = adjoint(block.X, weights, shift)
    sums = np.array([by_weight[0], by_u[0], by_u[1], by_u[2], by_weight[2]])
    result = HuberSums(sums, gradient[0], gradient[1])
    if order < 2:
        return result
    if not np.isfinite(sums).all():
        raise NotFinite
    curvature = xp.where(inside, xp.ones_like(a), beyond * epsilon / xp.where(inside, xp.ones_like(a), magnitude))
    outer = resolve(derivatives(Square(), params, 2, shift)(Block(block.X, block.y, weight * curvature))).hessian
    cross = np.append(gradient[2], by_inside[0])
    return HuberSums(result.sums, result.gradient, result.rows, outer, cross, float(by_inside[3]))


def _read_dense(
    params: Params, sigma: float, epsilon: float, order: int, shift: Floats, beyond: float, block: Block
) -> HuberSums:
    X, y = block.X, np.ascontiguousarray(block.y[:, 0])
    spend(products(X, 4, order))
    at = np.ascontiguousarray(params.coef[0]), np.ascontiguousarray(params.intercept[:1]), shift
    numbers, gradients, outer = _core.huber_sums(
        X, y, block.weight, *at, sigma, epsilon, beyond, order, threads(entries(X))
    )
    sums, inner = numbers[:5], numbers[5:]
    if order < 2:
        return HuberSums(sums, gradients[0], gradients[1])
    if not outer.size:
        raise NotFinite
    return HuberSums(sums, gradients[0], gradients[1], outer, np.append(gradients[2], inner[0]), float(inner[1]))
