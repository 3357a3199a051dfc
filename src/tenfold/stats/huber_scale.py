"""Huber's loss with its scale: what a pass leaves behind for its value, its slopes and its curvature."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tenfold.arrays import Floats, is_numpy, namespace, on_host
from tenfold.data import Block, NotFinite, resolve, weights_of
from tenfold.losses.regression import Square
from tenfold.stats.derivatives import Params, adjoint, derivatives, forward


@dataclass(frozen=True, slots=True)
class Scaled:
    """Sums over rows, with r = y - z, a = r / sigma and u = 2 a between -2 epsilon and 2 epsilon.

    `sums` of the weight, u, u^2, u r and r; `pull` (p,) of u x and `rows` (p,) of x. At order 2: `cross` (p + 1,) of
    a [x, 1] and `inner` of a^2 over rows with |a| < epsilon, and `outer` of [x, 1] with itself over these and, at a
    share `beyond` of the curvature epsilon / |a| of a parabola above their loss, over the others.
    """

    sums: Floats
    pull: Floats
    rows: Floats
    outer: Floats | None = None
    cross: Floats | None = None
    inner: float = 0.0

    def merge(self, other: "Scaled") -> "Scaled":
        return Scaled(
            self.sums + other.sums,
            self.pull + other.pull,
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


def scaled(
    params: Params, sigma: float, epsilon: float, order: int, shift: Floats, beyond: float = 0.0
) -> Callable[[Block], Scaled]:
    """The lift of `Scaled` at z = (x - shift).w + b; the sums over rows are of x - shift, too."""
    return partial(_lift, params, sigma, epsilon, order, shift, beyond)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is seen in the sums
def _lift(
    params: Params, sigma: float, epsilon: float, order: int, shift: Floats, beyond: float, block: Block
) -> Scaled:
    weight = weights_of(block)
    xp = namespace(weight)
    r = block.y[:, 0] - forward(block.X, params, shift)[:, 0]
    a = r / sigma
    size = xp.abs(a)
    inside = size < epsilon
    edge = xp.where(a > 0, 2.0 * epsilon * xp.ones_like(a), -2.0 * epsilon * xp.ones_like(a))
    u = xp.where(inside, 2.0 * a, edge)
    near = xp.where(inside, weight * a, xp.zeros_like(a))
    sums = [xp.sum(part) for part in (weight, weight * u, weight * u * u, weight * u * r, weight * r)]
    pulls = xp.stack([weight * u, weight, near], axis=1)
    pull = adjoint(block.X, np.ascontiguousarray(pulls) if is_numpy(pulls) else pulls, shift)
    found = Scaled(np.array([float(on_host(part)) for part in sums]), pull[0], pull[1])
    if order < 2:
        return found
    if not np.isfinite(found.sums).all():
        raise NotFinite
    share = xp.where(inside, xp.ones_like(a), beyond * epsilon / xp.where(inside, xp.ones_like(a), size))
    outer = resolve(derivatives(Square(), params, 2, shift)(Block(block.X, block.y, weight * share))).hessian
    cross = np.append(pull[2], float(on_host(xp.sum(near))))
    return Scaled(found.sums, found.pull, found.rows, outer, cross, float(on_host(xp.sum(near * a))))
