"""Levenberg-Marquardt damping for functions whose curvature is zero on intervals, such as losses with linear parts:
Huber's, the squared hinge, and others.

Where many samples are on linear parts the Hessian H is singular along directions in which the objective has a slope, or
so small that a Newton step is far too long; steps by an upper bound of all Hessians are too short. A multiple of that
bound is added to H (Levenberg 1944, Marquardt 1963): more after short steps, less after full ones, none once H is
regular.
"""

from tenfold.arrays import Floats
from tenfold.objectives.objective import Objective

FIRST, LEAST = 1e-2, 1e-8  # the first multiple of the bound, and the least beside zero
MOST = 1.0  # with it the quadratic model is above the objective

SHORT_STEP = 0.3  # line search steps below this increase the damping


class Damping:
    """The multiple `level` of the objective's curvature bound that is added to its Hessians; zero where these do not
    vanish.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.used = objective.flat
        self.level = 0.0
        self.bound: Floats | None = None

    def damp(self, hessian: Floats) -> Floats:
        """The damped Hessian; the first call computes the bound in a pass over the samples."""
        if self.level == 0.0:
            return hessian
        if self.bound is None:
            self.bound = self.objective.bound_curvature()
        return hessian + self.level * self.bound

    def adapt(self, length: float, regular: bool) -> bool:
        """Adapt to the length of the last step, zero where none decreased the objective, and to whether its Hessian was
        regular; returns whether the damping increased.
        """
        if not self.used:
            return False
        before = self.level
        if length == 1.0:
            self.level = 0.1 * before if before > LEAST else LEAST * (not regular)
        elif length < SHORT_STEP:
            self.level = min(max(10.0 * before, FIRST), MOST)
        return self.level > before
