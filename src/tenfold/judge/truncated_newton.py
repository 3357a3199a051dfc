"""Steps of the judge's own where columns are too many for a Hessian: truncated Newton, by conjugate gradients.

A lower bound on every objective is as good at one point as at another, and best near the optimum. From fitted weights
alone the bound is |gradient|^2 / (2 strength), loose by the condition of the problem: a few steps nearer to the optimum
it says how far the weights are. Two products with the samples an iteration, at most `MAX_CG_ITERATIONS` of them.
"""

from collections.abc import Callable

import numpy as np

from tenfold.arrays import Array, Floats, contiguous
from tenfold.judge.objective_points import DesignProblem, ObjectivePoint, read
from tenfold.objectives.design import DesignBlock, curvature_product

MAX_CG_ITERATIONS = 150  # iterations of conjugate gradients in all, for samples in memory; none elsewhere
STEP_RESIDUAL, STEP_ITERATIONS = 0.03, 50  # a step ends at this part of the gradient, or after so many iterations
LENGTHS = (1.0, 0.5, 0.25, 0.125, 0.03, 0.01)


class TruncatedNewton:
    """Newton steps without a Hessian, while passes are left; in the inner product of the design."""

    def __init__(self, data: DesignProblem) -> None:
        self.data = data
        self.left = MAX_CG_ITERATIONS if data.design.in_memory and data.strongly_convex else 0

    def step(self, point: ObjectivePoint) -> ObjectivePoint | None:
        """A point whose objective is lower, or None."""
        if self.left <= 0:
            return None
        d = -self._solve(self._hessian(point), point.gradient)
        for length in LENGTHS:
            new = read(self.data, point.x + length * d, 1)
            if new.value <= point.value:
                return new
        return None

    def _hessian(self, point: ObjectivePoint) -> Callable[[Floats], Floats]:
        """The product of the Hessian at a point with a vector (K, q), in the coordinates of its gradient."""
        data, design, problem = self.data, self.data.design, self.data.problem
        predict, p, ends = design.predictor(point.x), design.columns, design.stored_intercept
        loss, y, z = problem.loss, design.targets, design.map(predict)
        curvatures = None if loss.multi_output else loss.curvature(y, z)
        kept = design.retarget(np.column_stack([y, z]) if curvatures is None else curvatures)

        def bend(block: DesignBlock, dz: Array) -> Array:
            if curvatures is None:
                return curvature_product(loss, block.y[:, :1], block.y[:, 1:], dz)
            return block.y * dz

        def product(v: Floats) -> Floats:
            along = design.predictor(v)

            def lift(block: DesignBlock) -> Floats:
                u = block.weight[:, None] * bend(block, along(block)) / point.weight
                return block.adjoint(contiguous(u))

            result = kept.sum(lift)
            result[:, :p] += data.strength * v[:, :p]
            if problem.intercept_penalty > 0.0:
                result += problem.intercept_penalty * np.outer(np.sum(v * ends, axis=1), ends)
            return result

        return product

    def _inner(self, a: Floats, b: Floats) -> float:
        p = self.data.design.columns
        return float(np.sum(self.data.design.inner(a[:, :p], b[:, :p])) + np.sum(a[:, p:] * b[:, p:]))

    def _solve(self, product: Callable[[Floats], Floats], g: Floats) -> Floats:
        """Conjugate gradients from zero."""
        x, r = np.zeros_like(g), g.copy()
        d, square = r.copy(), self._inner(r, r)
        enough = STEP_RESIDUAL**2 * square
        for _ in range(min(STEP_ITERATIONS, self.left)):
            self.left -= 1
            q = product(d)
            curvature = self._inner(d, q)
            if not (curvature > 0.0 and np.isfinite(curvature)):
                break
            x += square / curvature * d
            r -= square / curvature * q
            after = self._inner(r, r)
            if not after > enough:
                break
            d, square = r + after / square * d, after
        return x
