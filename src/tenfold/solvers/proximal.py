"""Proximal gradient descent for least squares with a sparse penalty: ISTA, and FISTA with restarts (Beck and Teboulle
2009; O'Donoghue and Candes 2015).

w <- prox(w + step q), q the pulls of the columns at w, step one over the largest curvature. One pass over the rows a
step, wherever they are: the loss is quadratic, so that the pulls at a point between two weights follow from theirs.
"""

from collections.abc import Iterator

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.losses.numbers import Square
from tenfold.problems import SparseLeastSquares, duality_gap
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params, derivatives

POWER_STEPS, MARGIN = 20, 1.05
"""Products with the rows that find the largest curvature, and how much is added to what they find."""


def steps(
    problem: SparseLeastSquares,
    rows: Rows,
    centre: Floats,
    target_mean: Floats,
    tol: float,
    start: Floats | None,
    *,
    accelerated: bool,
) -> Iterator[Step]:
    """Steps for all targets at once, until every gap is at most `tol` times the mean square of the targets; rows are
    measured from `centre`.
    """
    p, t = rows.shape[1], len(target_mean)
    w = np.zeros((t, p)) if start is None else start
    squares, q = _read(rows, w, centre, target_mean)
    scale = _read(rows, np.zeros((t, p)), centre, target_mean)[0]
    curvature = _largest_curvature(rows, centre, t)
    before, q_before, speed = w, q, 1.0
    while True:
        yield _step(problem, w, q, squares, scale, tol)
        ahead, faster = 0.0, 1.0
        if accelerated:
            faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed * speed))
            ahead = (speed - 1.0) / faster
        z, pull = w + ahead * (w - before), q + ahead * (q - q_before)
        new = prox(problem, z + pull / curvature, 1.0 / curvature)
        if accelerated and float(np.sum((z - new) * (new - w))) > 0.0:
            faster = 1.0  # the last step went uphill: begin anew
        found, q_new = _read(rows, new, centre, target_mean)
        # the curvature was found by a few products, and may be a little too small
        model = squares - 2.0 * np.sum(q * (new - w), axis=1) + curvature * np.sum((new - w) ** 2, axis=1)
        if ahead == 0.0 and np.any(found > model * (1.0 + 1e-12) + 1e-300):
            curvature *= 2.0
            continue
        before, q_before, w, q, squares, speed = w, q, new, q_new, found, faster


def prox(problem: SparseLeastSquares, w: Floats, step: float) -> Floats:
    """argmin_v  step (l1 |v| + l2 / 2 |v|^2) + |v - w|^2 / 2, with v >= 0 where weights are."""
    w = np.maximum(w, 0.0) if problem.positive else w
    length = np.sqrt(np.sum(w * w, axis=0)) if problem.joint else np.abs(w)
    kept = np.maximum(1.0 - step * problem.l1 / np.where(length > 0, length, 1.0), 0.0)
    return np.asarray(kept * w / (1.0 + step * problem.l2))


def _read(rows: Rows, w: Floats, centre: Floats, target_mean: Floats) -> tuple[Floats, Floats]:
    """Mean squares (t,) of the residuals and the pulls (t, p) at weights: one pass."""
    sums = rows.fold(derivatives(Square(), Params(np.ascontiguousarray(w), target_mean), 1, centre))
    assert sums.gradient is not None
    return 2.0 * sums.value / sums.weight, -sums.gradient / sums.weight


def _largest_curvature(rows: Rows, centre: Floats, t: int) -> float:
    """The largest eigenvalue of X'X / W, by the power method from a fixed start."""
    p = rows.shape[1]
    v = np.random.default_rng(0).standard_normal((t, p))
    zero = np.zeros(t)
    base = _read(rows, np.zeros((t, p)), centre, zero)[1]
    largest = 0.0
    for _ in range(POWER_STEPS):
        v = v / (np.sqrt(np.sum(v * v, axis=1, keepdims=True)) + 1e-300)
        v = base - _read(rows, v, centre, zero)[1]
        largest = float(np.max(np.sqrt(np.sum(v * v, axis=1))))
    return MARGIN * largest or 1.0


def _step(problem: SparseLeastSquares, w: Floats, q: Floats, squares: Floats, scale: Floats, tol: float) -> Step:
    parts = [slice(None)] if problem.joint else [slice(k, k + 1) for k in range(len(w))]
    lengths = np.sqrt(np.sum(w * w, axis=0)) if problem.joint else np.abs(w)
    objective = 0.5 * float(squares.sum()) + problem.l1 * float(lengths.sum()) + 0.5 * problem.l2 * float(np.sum(w * w))
    measure = 0.0
    for part in parts:
        gap = duality_gap((problem.l1, problem.l2), problem.positive, w[part], q[part], float(squares[part].sum()))
        measure = max(measure, gap / (tol * float(scale[part].sum()) or 1e-300))
    return Step(Params(w, np.zeros(len(w))), objective, measure)
