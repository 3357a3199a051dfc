"""Ridge on rows whose p x p matrix would be too large: preconditioned conjugate gradients on the normal equations,
one pass a step.

Minimises (1/2) ||root (y - (X - centre) w)||^2 + (alpha / 2) ||w||^2 for each target with its own alpha; the diagonal
of the normal matrix is the preconditioner. (Hestenes and Stiefel 1952.)
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from tenfold.arrays import Floats, namespace
from tenfold.data import Block, Lifted, Rows
from tenfold.losses.numbers import Square
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Derivatives, Params, Total, along, back_times, derivatives, times

UNEVEN = 100.0
"""Columns whose lengths differ by more than this factor are preconditioned by the diagonal."""


def steps(
    rows: Rows, alpha: Floats, centre: Floats, target_mean: Floats, squares: Floats, tol: float
) -> Iterator[Step]:
    """Steps from zero weights. `squares` (p,) are the sums of squares of the columns about `centre`.

    The measure is the largest cosine between a penalised column and the residual, over `tol`.
    """
    p, t = rows.shape[1], alpha.size
    w = np.zeros((t, p))
    start = rows.fold(derivatives(Square(), Params(w, target_mean), 1, centre))
    assert start.gradient is not None
    r = -start.gradient
    diagonal = squares + alpha[:, None]
    lengths = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    # the diagonal helps columns of different units; among equals it only mixes in what no row sees
    uneven = lengths.max() > UNEVEN * lengths.min()
    precondition = np.where(diagonal > 0, lengths**-2.0 if uneven else 1.0, 0.0)
    z = precondition * r
    d = z
    rz = np.sum(r * z, axis=1)
    energy = start.value.copy()  # half the penalised sum of squares, kept by recurrence
    while True:
        size = np.sqrt(np.maximum(2.0 * energy, np.finfo(np.float64).tiny))
        cosine = np.abs(r) / lengths / size[:, None]
        yield Step(Params(w, target_mean - along(w, centre)), float(energy.sum()), float(cosine.max(initial=0.0)) / tol)
        product = rows_product(rows, d, centre, alpha)
        curvature = np.sum(d * product, axis=1)
        active = curvature > 0
        if not active.any():
            return
        length = np.where(active, rz / np.where(active, curvature, 1.0), 0.0)
        w = w + length[:, None] * d
        r = r - length[:, None] * product
        energy = energy - 0.5 * length * rz
        z = precondition * r
        new = np.sum(r * z, axis=1)
        d = z + np.where(rz > 0, new / np.where(rz > 0, rz, 1.0), 0.0)[:, None] * d
        rz = new


def rows_product(rows: Rows, d: Floats, centre: Floats, alpha: Floats) -> Floats:
    """(A'A + alpha I) d: forth and back over sparse rows; of others, in one pass, the gradient of the square loss for
    zero targets.
    """
    if rows.sparse:
        found = rows.fold(partial(_forth_and_back, d, centre)).sum
    else:
        found = rows.fold(partial(_without_targets, d, centre)).gradient
        assert found is not None
    return np.asarray(found + alpha[:, None] * d)


def _forth_and_back(d: Floats, centre: Floats, block: Block) -> Total:
    z = times(block.X, Params(d, np.zeros(d.shape[0])), centre)
    return Total(back_times(block.X, z if block.weight is None else block.weight[:, None] * z, centre))


def _without_targets(d: Floats, centre: Floats, block: Block) -> Lifted[Derivatives]:
    y = namespace(block.y).zeros_like(block.y)
    return derivatives(Square(), Params(d, np.zeros(d.shape[0])), 1, centre)(replace(block, y=y))
