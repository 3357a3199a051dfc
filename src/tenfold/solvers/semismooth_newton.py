"""Newton's method for losses whose slope is piecewise linear, with squared penalties, on few dense samples (Mangasarian
2002; Keerthi and DeCoste 2005).

    min over x of  sum_i share_i loss(y_i, a_i.x) + 1/2 sum_j ridge_j x_j^2,    the shares sum to one.

The curvature is constant while no sample crosses a kink of the slope, so that a full step from there is exact. Steps
are halved until the objective decreases. Flops: n q^2 a step; memory: the samples once more.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from tenfold.arrays import Floats
from tenfold.losses.loss import Loss
from tenfold.machine import one_blas_thread
from tenfold.solvers.loop import Step

HALVINGS = 30


def steps(loss: Loss, A: Floats, y: Floats, share: Floats, ridge: Floats, measure: Any) -> Iterator[Step]:
    """Steps with coefficients x (q,), for samples A (n, q) in Fortran order and positive `ridge` (q,).

    `measure` of gradient and expected decrease is at most one where they have converged.
    """
    x, z = np.zeros(A.shape[1]), np.zeros(len(y))
    value = float(np.add.reduce(share * loss.value(y, z)))
    while True:
        with one_blas_thread:
            gradient = blas.dgemv(1.0, A, share * loss.slope(y, z), trans=1) + ridge * x
            H = blas.dgemm(1.0, A * (share * loss.curvature(y, z))[:, None], A, trans_a=1)
            H[np.diag_indices(len(x))] += ridge
            direction, info = lapack.dposv(H, -gradient)[1:]
        decrease = -0.5 * float(np.add.reduce(gradient * direction))
        if info != 0 or not np.isfinite(decrease):
            return
        yield Step(x, value, measure(gradient, decrease))
        with one_blas_thread:
            along = blas.dgemv(1.0, A, direction)
        length = 1.0
        for _ in range(HALVINGS):
            ahead, z_ahead = x + length * direction, z + length * along
            after = float(np.add.reduce(share * loss.value(y, z_ahead)))
            after += 0.5 * float(np.add.reduce(ridge * ahead * ahead))
            if after < value:
                break
            length *= 0.5
        else:
            return
        x, z, value = ahead, z_ahead, after
