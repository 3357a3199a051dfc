"""Preconditioned conjugate gradients for symmetric positive semi-definite systems, several at once (Hestenes and
Stiefel 1952).
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import Floats
from tenfold.solvers.loop import Step

UNEVEN = 100.0  # ratio of column lengths from which the diagonal preconditions

TINY = float(np.finfo(np.float64).tiny)

Product = Callable[[Floats], Floats]


def steps(
    product: Product, right: Floats, diagonal: Floats, energy: Floats | None, tol: float, energy_tol: float = 0.0
) -> Iterator[Step]:
    """Steps from zero to the solutions W (t, q) of H_k w_k = right_k, one product with all H_k a step.

    `product` maps D (t, q) to the H_k d_k, and `diagonal` (t, q) has the diagonals. `energy` (t,) is the value at zero
    of (1/2) w'H w - right.w + energy, half a sum of squares. The measure is the largest entry of a residual, over the
    root of its diagonal entry and of twice the energy, over `tol`: for least squares the largest cosine between a
    feature and the residual. A system whose energy is at most `energy_tol` of that at zero has converged, too:
    there the targets are interpolated. Without an energy the measure is the largest norm of a residual, over that of
    its right side and `tol`, and the objective (1/2) w'H w - right.w.
    """
    w, r = np.zeros_like(right), right
    lengths = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    # among columns of one unit the diagonal would only add components of the null space
    uneven = lengths.max() > UNEVEN * lengths.min()
    precondition = np.where(diagonal > 0, lengths**-2.0 if uneven else 1.0, 0.0)
    z = precondition * r
    d = z
    rz = np.sum(r * z, axis=1)
    known, first = energy is not None, np.linalg.norm(right, axis=1)
    energy = np.zeros(len(right)) if energy is None else energy
    interpolated = energy_tol * energy
    while True:
        if known:
            size = np.sqrt(np.maximum(2.0 * energy, TINY))
            cosine = np.max(np.abs(r) / lengths, axis=1, initial=0.0) / size
            measure = np.where(energy <= interpolated, 1.0, cosine / tol)
        else:
            measure = np.linalg.norm(r, axis=1) / np.maximum(first, TINY) / tol
        yield Step(w, float(energy.sum()), float(measure.max(initial=0.0)))
        image = product(d)
        curvature = np.sum(d * image, axis=1)
        active = curvature > 0
        if not active.any():
            return
        length = np.where(active, rz / np.where(active, curvature, 1.0), 0.0)
        w = w + length[:, None] * d
        r = r - length[:, None] * image
        energy = energy - 0.5 * length * rz  # kept by recurrence
        z = precondition * r
        new = np.sum(r * z, axis=1)
        d = z + np.where(rz > 0, new / np.where(rz > 0, rz, 1.0), 0.0)[:, None] * d
        rz = new
