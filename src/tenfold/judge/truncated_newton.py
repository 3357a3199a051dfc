"""Steps of the judge's own where columns are too many for a Hessian: truncated Newton, by conjugate gradients.

A lower bound on every objective is as good at one point as at another, and best near the optimum. From fitted weights
alone the bound is |gradient|^2 / (2 strength), loose by the condition of the problem: a few steps nearer to the optimum
it says how far the weights are. Two products with the rows an iteration, at most `PASSES` of them.
"""

from collections.abc import Callable

import numpy as np

from tenfold.arrays import Array, Floats, contiguous
from tenfold.data import Block, MemoryRows, weights_of
from tenfold.judge.objective_points import Data, Point, local, read
from tenfold.stats.derivatives import Params, Total, adjoint, forward

PASSES = 150
"""Iterations of conjugate gradients in all, for rows in memory; none elsewhere."""

CLOSER, FURTHEST = 0.03, 50
"""A step ends where the residual is so small beside the gradient, or after so many iterations."""

LENGTHS = (1.0, 0.5, 0.25, 0.125, 0.03, 0.01)


class Truncated:
    """Newton steps without a Hessian, while passes are left."""

    def __init__(self, data: Data) -> None:
        self.data = data
        rows = data.rows
        self.left = PASSES if isinstance(rows, MemoryRows) and not rows.on_device and data.strength > 0.0 else 0

    def step(self, point: Point) -> Point | None:
        """A point whose objective is lower, or None."""
        if self.left <= 0:
            return None
        p = len(self.data.centre)
        d = np.append(-self._solve(self._hessian(point), point.gradient), 0.0)[: p + 1]
        for length in LENGTHS:
            s = length * d
            new = read(self.data, Params(point.params.coef + s[None, :p], point.params.intercept + s[p:]), 1)
            if new.value <= point.value:
                return new
        return None

    def _hessian(self, point: Point) -> Callable[[Floats], Floats]:
        """The product of the Hessian at a point with a vector, in the coordinates of its gradient."""
        data, problem, c = self.data, self.data.problem, self.data.centre
        at, p = local(data, point.params), len(c)

        def bends(block: Block) -> Array:
            z = forward(block.X, at, c)
            return weights_of(block)[:, None] * problem.loss.curvature(block.y, z) / point.weight

        rows = data.rows.retarget(data.rows.map(bends))
        ends = np.append(-c, 1.0)

        def product(v: Floats) -> Floats:
            by = local(data, Params(v[None, :p].copy(), v[p:].copy()))

            def lift(block: Block) -> Total:
                u = contiguous(block.y * forward(block.X, by, c))
                return Total(np.append(adjoint(block.X, u, c)[0], float(u.sum())))

            total = rows.fold(lift).sum
            found = total if problem.intercept else total[:-1] + total[-1] * c
            found[:p] += data.strength * v[:p]
            if problem.intercept_penalty > 0.0:
                found += problem.intercept_penalty * float(np.sum(ends * v)) * ends
            return np.asarray(found)

        return product

    def _solve(self, product: Callable[[Floats], Floats], g: Floats) -> Floats:
        """Conjugate gradients from zero."""
        x, r = np.zeros_like(g), g.copy()
        d, square = r.copy(), float(np.sum(r * r))
        enough = CLOSER**2 * square
        for _ in range(min(FURTHEST, self.left)):
            self.left -= 1
            q = product(d)
            curvature = float(np.sum(d * q))
            if not (curvature > 0.0 and np.isfinite(curvature)):
                break
            x += square / curvature * d
            r -= square / curvature * q
            after = float(np.sum(r * r))
            if not after > enough:
                break
            d, square = r + after / square * d, after
        return x
