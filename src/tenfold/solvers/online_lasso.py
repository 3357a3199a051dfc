"""The online Lasso (Bottou 2010; Cookbook, algorithm 17): weights as the difference of two halves u, v >= 0.

Row by row, with e = y - x.w: u <- max(u + rate (e x - l1 - l2 u), 0), v <- max(v - rate (e x + l1 + l2 v), 0), and w =
u - v; the rate falls with the root of the number of rows seen. Rows are read in their order, one at a time: memory for
the weights alone, and an answer that is only as good as its rate allows.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Array, Floats, is_sparse, on_host
from tenfold.data import Block, Rows, weights_of
from tenfold.losses.regression import Square
from tenfold.problems import SparseLeastSquares, duality_gap
from tenfold.solvers.loop import Step
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, derivatives

POWER = 0.5
"""The rate is that of the first row over the so-manieth power of the number of the row."""


class _State(NamedTuple):
    """Both halves (t, p), the sum of the weights of this epoch, rows seen in it and in all."""

    u: Floats
    v: Floats
    sums: Floats
    rows: int
    seen: int


def steps(
    problem: SparseLeastSquares, rows: Rows, columns: Columns, tol: float, start: Floats | None
) -> Iterator[Step]:
    """Epochs; after each the better of the last weights and of their mean over the epoch is judged by one pass."""
    p = columns.features
    centre = columns.mean[:p] if problem.intercept else np.zeros(p)
    target_mean = columns.mean[p:] if problem.intercept else np.zeros(columns.mean.size - p)
    lengths = columns.lengths(origin=not problem.intercept)[0]
    first = 1.0 / max(float(lengths @ lengths) / columns.weight, 1e-300)
    t, unit = target_mean.size, rows.shape[0] / columns.weight
    w = np.zeros((t, p)) if start is None else start
    scale = _read(rows, np.zeros((t, p)), centre, target_mean)[0]
    state = _State(np.maximum(w, 0.0), np.maximum(-w, 0.0), np.zeros((t, p)), 0, 0)

    def pass_over(state: _State, block: Block) -> _State:
        u, v, sums, count, seen = state
        u, v, sums = u.copy(), v.copy(), sums.copy()
        weight = on_host(weights_of(block)) * unit
        y = on_host(block.y) - target_mean
        for i in range(len(y)):
            seen += 1
            x = _row(block.X, i) - centre
            rate = first * seen**-POWER
            pull = weight[i] * (y[i] - (u - v) @ x)[:, None] * x
            u = np.maximum(u + rate * (pull - problem.l1 - problem.l2 * u), 0.0)
            if not problem.positive:
                v = np.maximum(v - rate * (pull + problem.l1 + problem.l2 * v), 0.0)
            sums += u - v
        return _State(u, v, sums, count + len(y), seen)

    best = _judged(problem, rows, w, centre, target_mean, scale, tol)
    yield best
    while True:
        state = rows.scan(pass_over, state._replace(sums=np.zeros((t, p)), rows=0))
        for found in (state.u - state.v, state.sums / max(state.rows, 1)):
            step = _judged(problem, rows, found, centre, target_mean, scale, tol)
            best = step if step.objective < best.objective else best
        yield best


def _row(X: Array, i: int) -> Floats:
    return X[[i]].toarray()[0] if is_sparse(X) else np.asarray(on_host(X[i, :]), dtype=np.float64)


def _read(rows: Rows, w: Floats, centre: Floats, target_mean: Floats) -> tuple[Floats, Floats]:
    sums = rows.fold(derivatives(Square(), Params(np.ascontiguousarray(w), target_mean), 1, centre))
    assert sums.gradient is not None
    return 2.0 * sums.value / sums.weight, -sums.gradient / sums.weight


def _judged(
    problem: SparseLeastSquares,
    rows: Rows,
    w: Floats,
    centre: Floats,
    target_mean: Floats,
    scale: Floats,
    tol: float,
) -> Step:
    squares, q = _read(rows, w, centre, target_mean)
    objective = (
        0.5 * float(squares.sum()) + problem.l1 * float(np.abs(w).sum()) + 0.5 * problem.l2 * float(np.sum(w * w))
    )
    measure = 0.0
    for k in range(len(w)):
        part = slice(k, k + 1)
        gap = duality_gap((problem.l1, problem.l2), problem.positive, w[part], q[part], float(squares[k]))
        measure = max(measure, gap / (tol * float(scale[k]) or 1e-300))
    return Step(Params(w, np.zeros(len(w))), objective, measure)
