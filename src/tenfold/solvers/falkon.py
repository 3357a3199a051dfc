"""Preconditioned conjugate gradients for kernel least squares on centres (Rudi, Carratino and Rosasco 2017, Falkon).

With K = k(X, Z) of n samples and r centres, sample weights s that sum to one, and K_mm = k(Z, Z) = L L', each system
    min_c 1/2 sum_i s_i (y_i - b - (K c)_i)^2 + lambda/2 c'K_mm c
is solved in the coordinates u = L'c, where the penalty is lambda/2 ||u||^2:
    (H + lambda I) u = h,    H = L^-1 K'S(K - 1 mean) L'^-1,    h = L^-1 K'S (y - mean y),
mean the weighted mean of the rows of K, or zero without an intercept. The preconditioner has the same matrix of some
samples, a few for each centre, so that the number of steps depends neither on lambda nor on the kernel. (The centres
themselves in their place, as in the reference, are too few where lambda is small: the matrix has one eigenvalue for
each of them.) A step is one pass over the samples for all systems.

The measure is the certificate's bound: with v the residual, the objective is at most ||v||^2 / (2 lambda) above its
minimum, since H is positive semidefinite.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Floats
from tenfold.solvers.loop import Step

Product = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Systems:
    """q systems: H V (r, q) by `product`, the right sides h (r, q), penalties (q,), the objectives at zero (q,), and
    `precondition`, which maps residuals (r, q) to steps.
    """

    product: Product
    right: Floats
    penalties: Floats
    start_values: Floats
    precondition: Product

    def bounds(self, residuals: Floats) -> Floats:
        """What each objective is above its minimum at most."""
        return np.sum(residuals * residuals, axis=0) / (2.0 * self.penalties)


def steps(systems: Systems, tolerances: Floats, start: Floats | None = None) -> Iterator[Step]:
    """Steps from `start` (r, q), zero by default; systems whose bound is within their tolerance (q,) stay."""
    lam = systems.penalties
    u = np.zeros_like(systems.right) if start is None else start
    v = systems.right if start is None else systems.right - systems.product(u) - lam * u
    d = z = systems.precondition(v)
    vz = np.sum(v * z, axis=0)
    while True:
        measures = systems.bounds(v) / tolerances
        # 1/2 u'(H + lambda)u - h'u + value at zero, with (H + lambda) u = h - v
        values = systems.start_values - 0.5 * np.sum(u * (systems.right + v), axis=0)
        yield Step(u, float(np.sum(values)), float(np.max(measures, initial=0.0)))
        image = systems.product(d) + lam * d
        curvature = np.sum(d * image, axis=0)
        moving = (curvature > 0.0) & (measures > 1.0) & (vz > 0.0)
        if not moving.any():
            return
        length = np.where(moving, vz / np.where(moving, curvature, 1.0), 0.0)
        u = u + length * d
        v = v - length * image
        z = systems.precondition(v)
        new = np.sum(v * z, axis=0)
        d = z + np.where(moving, new / np.where(vz > 0.0, vz, 1.0), 0.0) * d
        vz = new
