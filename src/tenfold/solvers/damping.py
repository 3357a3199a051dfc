"""Damping of Newton's method for losses with linear parts: Huber's, squared hinge, and others whose curvature is zero
on whole intervals.

Where many samples are on linear parts the Hessian H is singular, also in directions in which the objective has a slope,
or so small that a step is far too long. The Hessian smoothness X'X / n of parabolas above the loss is never too small,
and steps by it alone are short. A multiple of it is added to H (Levenberg 1944, Marquardt 1963): more after short
steps, less after full ones, and none once H is regular.
"""

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.losses.labels import Softmax
from tenfold.losses.numbers import Square
from tenfold.penalties import L2
from tenfold.problems import Glm, evaluate
from tenfold.stats.derivatives import Params

FIRST, LEAST, MOST = 1e-2, 1e-8, 1.0
"""The first multiple, the least beside zero, and the largest: with that one the model is above the objective."""

SHORT_STEP = 0.3
"""Shorter steps ask for more damping."""


class Damping:
    """The multiple `level` of smoothness X'X / n to be added to Hessians about `shift`; always zero for losses without
    linear parts.
    """

    def __init__(self, problem: Glm, rows: Rows, shift: Floats) -> None:
        self.problem, self.rows, self.shift = problem, rows, shift
        loss = problem.loss
        linear_parts = not (np.isfinite(loss.steepness) or isinstance(loss, Softmax))
        self.used = loss.convex and linear_parts and bool(np.isfinite(loss.smoothness))
        self.level = 0.0
        self.bound: Floats | None = None

    def damp(self, hessian: Floats) -> Floats:
        """The Hessian with the multiple added; the first time this takes a pass over the rows."""
        if self.level == 0.0:
            return hessian
        if self.bound is None:
            square = Glm(Square(), L2(0.0), self.problem.intercept)
            zero = Params(np.zeros((1, len(self.shift))), np.zeros(1))
            found = evaluate(square, self.rows, zero, 2, self.shift).hessian
            assert found is not None
            self.bound = self.problem.loss.smoothness * found
        return hessian + self.level * self.bound

    def adapt(self, length: float, regular: bool) -> bool:
        """After a step of such a length, zero where none lowered the objective, from a Hessian that was or was not
        regular; whether there is more damping now.
        """
        if not self.used:
            return False
        before = self.level
        if length == 1.0:
            self.level = 0.1 * before if before > LEAST else LEAST * (not regular)
        elif length < SHORT_STEP:
            self.level = min(max(10.0 * before, FIRST), MOST)
        return self.level > before
