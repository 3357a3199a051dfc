"""Penalties with a kink on sparse rows of many columns: proximal Newton steps without a Hessian.

The quadratic model of the smooth part plus l1 ||w||_1 is minimised by coordinate descent along the columns themselves,
with the curvature of every row at hand (Yuan, Ho and Lin 2012). Only columns that have a weight, or whose pull exceeds
l1, move, and only these and those next to them are ever compressed; margins are kept, so that a line search reads no
rows. One pass over the rows a step for the pulls of all columns, and some sweeps over the columns that move.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, entries
from tenfold.data import MemoryRows, NotFinite, weights_of
from tenfold.machine import spend, threads
from tenfold.problems import Evaluation, Glm
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params, adjoint, forward, losses_at

EPS = float(np.finfo(np.float64).eps)

SWEEPS, ENOUGH = 60, 1e-3
"""At most so many sweeps a step, until one gains so little of what the first gained."""

NEXT = 0.8
"""Columns that are pulled by more than so much of l1 are compressed together with those that move."""

Measure = Callable[[Params, Evaluation], float]
"""From a point and the smooth part there to the number that the stopping rule compares with one."""


def dot(a: Floats, b: Floats) -> float:
    """Not by NumPy's BLAS, whose threads go on waiting for work while ours do theirs."""
    return float(np.einsum("i,i->", a, b))


def steps(problem: Glm, rows: MemoryRows, start: Params, shift: Floats, measure: Measure) -> Iterator[Step]:
    """Steps of one target in the coordinates z = (x - shift).w + b."""
    loss, penalty, y, X = problem.loss, problem.penalty, rows.y, rows.X
    l1, l2 = float(penalty.l1), float(np.max(penalty.strength))  # type: ignore[attr-defined]
    known = np.zeros(0, np.int64)
    compressed = None
    share = np.asarray(weights_of(rows.whole()))[:, None]
    share = share / share.sum()
    w, b = start.coef[0].copy(), float(start.intercept[0]) - dot(start.coef[0], shift)
    z = forward(X, Params(w[None, :], np.array([b]))) if w.any() else np.full(y.shape, b)
    here = losses_at(loss, y, z, share)
    while True:
        pull, slope = adjoint(X, here.u)[0] + l2 * w, float(here.level.slope[0]) * problem.intercept
        smooth = here.value + 0.5 * l2 * dot(w, w)
        f = smooth + l1 * float(np.abs(w).sum())
        if not (np.isfinite(f) and np.isfinite(pull).all()):
            raise NotFinite
        params = Params(w[None, :], np.array([b + dot(w, shift)]))
        gradient = np.append(pull - slope * shift, slope)[None, :]
        yield Step(params, f, measure(params, Evaluation(np.array([smooth]), gradient, None)))
        moving = np.flatnonzero((w != 0.0) | (np.abs(pull) > l1))
        if compressed is None or not np.isin(moving, known, assume_unique=True).all():
            known = np.union1d(known, np.flatnonzero((w != 0.0) | (np.abs(pull) > NEXT * l1)))
            compressed = _core.gather_columns_csr(
                X.data, X.indices, X.indptr, X.shape[1], known, None, threads(entries(X))
            )
        columns, row_numbers, ends = compressed
        places = np.searchsorted(known, moving)
        assert here.curvature is not None
        model = (here.curvature[:, 0], pull[known], slope, w[known], places, l1, l2, problem.intercept)
        part, move, dz, sweeps = _core.cd_quadratic(columns, row_numbers, ends, *model, ENOUGH, SWEEPS)
        d = np.zeros_like(w)
        d[known] = part
        spend(2.0 * sweeps * float(np.diff(ends)[places].sum()))
        fall = -dot(pull, d) - slope * move - l1 * (float(np.abs(w + d).sum()) - float(np.abs(w).sum()))
        for length in (0.5**k for k in range(14)):
            new, there = w + length * d, z + length * dz[:, None]
            with np.errstate(over="ignore", invalid="ignore"):  # a trial may be out of range, and is refused then
                ahead = losses_at(loss, y, there, share)
                value = ahead.value + 0.5 * l2 * dot(new, new) + l1 * float(np.abs(new).sum())
            if value <= f - 1e-4 * length * fall + 4.0 * EPS * abs(f):
                break
        else:
            return
        if not fall > 1e-15 * abs(f):
            return  # rounding: there is nothing to gain
        w, b, z, here = new, b + length * move, there, ahead
