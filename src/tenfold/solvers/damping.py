"""Damping of Newton's method for functions whose curvature is zero on whole intervals, such as losses with linear
parts: Huber's, the squared hinge, and others.

Where many samples are on linear parts the Hessian H is singular, also in directions in which the objective has a slope,
or so small that a step is far too long. A matrix above all Hessians is never too small, and steps by it alone are
short. A multiple of it is added to H (Levenberg 1944, Marquardt 1963): more after short steps, less after full ones,
and none once H is regular.
"""

from tenfold.arrays import Floats
from tenfold.objectives.objective import Objective

FIRST, LEAST, MOST = 1e-2, 1e-8, 1.0
"""The first multiple, the least beside zero, and the largest: with that one the model is above the objective."""

SHORT_STEP = 0.3
"""Shorter steps ask for more damping."""


class Damping:
    """The multiple `level` of the objective's largest curvature to be added to its Hessians; always zero where these do
    not vanish.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.used = objective.flat
        self.level = 0.0
        self.bound: Floats | None = None

    def damp(self, hessian: Floats) -> Floats:
        """The Hessian with the multiple added; the first time this takes a pass over the rows."""
        if self.level == 0.0:
            return hessian
        if self.bound is None:
            self.bound = self.objective.bound_curvature()
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
