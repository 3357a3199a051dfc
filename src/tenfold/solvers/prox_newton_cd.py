"""Proximal Newton method for GLMs with an L1 penalty or an elastic net on sparse samples of many features, without a
Hessian (newGLMNET: Yuan, Ho and Lin 2012).

The quadratic model of the smooth part plus l1 ||w||_1 is minimised by coordinate descent on the columns, weighted by
the curvature of each sample. Only features with a weight, or with a gradient beyond l1, are updated, and only these and
those near l1 are ever converted to CSC; margins are kept, so that a line search reads no samples. One pass over the
samples a step for the whole gradient, and some sweeps over the active features.
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

MAX_SWEEPS = 60  # of coordinate descent in one step
SWEEP_TOL = 1e-3  # a sweep that gains so little of what the first gained is the last

NEXT = 0.8  # part of l1 from which a correlation gets its feature compressed along with the active ones

Measure = Callable[[Params, Evaluation], float]
"""From a point and the smooth part there to the measure of convergence, at most one at the end."""


def dot(a: Floats, b: Floats) -> float:
    """The inner product; not by NumPy's BLAS, whose idle threads spin while ours work."""
    return float(np.einsum("i,i->", a, b))


def steps(problem: Glm, rows: MemoryRows, start: Params, shift: Floats, measure: Measure) -> Iterator[Step]:
    """Steps of one target in the coordinates z = (x - shift).w + b."""
    loss, penalty, y, X = problem.loss, problem.penalty, rows.y, rows.X
    l1, l2 = float(penalty.l1), float(np.max(penalty.strength))  # type: ignore[attr-defined]
    indices = np.zeros(0, np.int64)
    compressed = None
    weight = np.asarray(weights_of(rows.whole()))[:, None]
    weight = weight / weight.sum()
    w, b = start.coef[0].copy(), float(start.intercept[0]) - dot(start.coef[0], shift)
    z = forward(X, Params(w[None, :], np.array([b]))) if w.any() else np.full(y.shape, b)
    here = losses_at(loss, y, z, weight)
    while True:
        gradient_w, slope = adjoint(X, here.u)[0] + l2 * w, float(here.level.slope[0]) * problem.intercept
        smooth = here.value + 0.5 * l2 * dot(w, w)
        f = smooth + l1 * float(np.abs(w).sum())
        if not (np.isfinite(f) and np.isfinite(gradient_w).all()):
            raise NotFinite
        params = Params(w[None, :], np.array([b + dot(w, shift)]))
        gradient = np.append(gradient_w - slope * shift, slope)[None, :]
        yield Step(params, f, measure(params, Evaluation(np.array([smooth]), gradient, None)))
        active = np.flatnonzero((w != 0.0) | (np.abs(gradient_w) > l1))
        if compressed is None or not np.isin(active, indices, assume_unique=True).all():
            indices = np.union1d(indices, np.flatnonzero((w != 0.0) | (np.abs(gradient_w) > NEXT * l1)))
            compressed = _core.gather_columns_csr(
                X.data, X.indices, X.indptr, X.shape[1], indices, None, threads(entries(X))
            )
        columns, row_numbers, ends = compressed
        places = np.searchsorted(indices, active)
        assert here.curvature is not None
        model = (here.curvature[:, 0], gradient_w[indices], slope, w[indices], places, l1, l2, problem.intercept)
        d_compressed, d_intercept, dz, sweeps = _core.cd_quadratic(
            columns, row_numbers, ends, *model, SWEEP_TOL, MAX_SWEEPS
        )
        d = np.zeros_like(w)
        d[indices] = d_compressed
        spend(2.0 * sweeps * float(np.diff(ends)[places].sum()))
        decrease = (
            -dot(gradient_w, d) - slope * d_intercept - l1 * (float(np.abs(w + d).sum()) - float(np.abs(w).sum()))
        )
        for length in (0.5**k for k in range(14)):
            new, there = w + length * d, z + length * dz[:, None]
            with np.errstate(over="ignore", invalid="ignore"):  # a trial may overflow, and is rejected then
                ahead = losses_at(loss, y, there, weight)
                value = ahead.value + 0.5 * l2 * dot(new, new) + l1 * float(np.abs(new).sum())
            if value <= f - 1e-4 * length * decrease + 4.0 * EPS * abs(f):
                break
        else:
            return
        if not decrease > 1e-15 * abs(f):
            return  # rounding: there is nothing to gain
        w, b, z, here = new, b + length * d_intercept, there, ahead
