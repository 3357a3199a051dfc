"""The online Lasso: stochastic subgradient descent on the split w = u - v, u, v >= 0 (Bottou 2010; Cookbook, algorithm
17).

Solves   min over w of  (1 / 2n) sum_i (y_i - x_i.w)^2 + l1 |w|_1 + l2 / 2 |w|^2,   each target by itself. Sample by
sample, with e = y - x.w and a rate that decays with the root of the number of samples seen,

    u <- max(u + rate (e x - l1 - l2 u), 0),     v <- max(v - rate (e x + l1 + l2 v), 0).

Samples are read one at a time in their order: memory for the weights alone, and an accuracy that the rate limits.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Array, Floats, is_sparse, on_host
from tenfold.data import Block, Rows, weights_of
from tenfold.lasso_dual import duality_gap
from tenfold.losses.regression import Square
from tenfold.penalties import ElasticNet
from tenfold.solvers.loop import Step
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, derivatives

POWER = 0.5
"""The rate at sample i is that of the first over i^POWER."""


class _State(NamedTuple):
    """Both parts (t, p), the sum of the iterates of this epoch, and the samples seen in it and in all."""

    u: Floats
    v: Floats
    sums: Floats
    samples: int
    seen: int


def steps(
    penalty: ElasticNet, intercept: bool, rows: Rows, columns: Columns, tol: float, start: Floats | None
) -> Iterator[Step]:
    """Epochs, each followed by a pass that evaluates the last iterate and the mean iterate of the epoch; yields the
    best weights so far.
    """
    p = columns.features
    centre = columns.mean[:p] if intercept else np.zeros(p)
    target_mean = columns.mean[p:] if intercept else np.zeros(columns.mean.size - p)
    lengths = columns.lengths(origin=not intercept)[0]
    first_rate = 1.0 / max(float(lengths @ lengths) / columns.weight, 1e-300)
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
            rate = first_rate * seen**-POWER
            correlation = weight[i] * (y[i] - (u - v) @ x)[:, None] * x
            u = np.maximum(u + rate * (correlation - penalty.l1 - penalty.l2 * u), 0.0)
            if not penalty.positive:
                v = np.maximum(v - rate * (correlation + penalty.l1 + penalty.l2 * v), 0.0)
            sums += u - v
        return _State(u, v, sums, count + len(y), seen)

    best = _evaluate(penalty, rows, w, centre, target_mean, scale, tol)
    yield best
    while True:
        state = rows.scan(pass_over, state._replace(sums=np.zeros((t, p)), samples=0))
        for w in (state.u - state.v, state.sums / max(state.samples, 1)):
            step = _evaluate(penalty, rows, w, centre, target_mean, scale, tol)
            best = step if step.objective < best.objective else best
        yield best


def _row(X: Array, i: int) -> Floats:
    return X[[i]].toarray()[0] if is_sparse(X) else np.asarray(on_host(X[i, :]), dtype=np.float64)


def _read(rows: Rows, w: Floats, centre: Floats, target_mean: Floats) -> tuple[Floats, Floats]:
    """|r|^2 (t,) and X'r (t, p) in mean units."""
    sums = rows.fold(derivatives(Square(), Params(np.ascontiguousarray(w), target_mean), 1, centre))
    assert sums.gradient is not None
    return 2.0 * sums.value / sums.weight, -sums.gradient / sums.weight


def _evaluate(
    penalty: ElasticNet, rows: Rows, w: Floats, centre: Floats, target_mean: Floats, scale: Floats, tol: float
) -> Step:
    """The objective of all targets, and the worst of their relative gaps."""
    squares, correlation = _read(rows, w, centre, target_mean)
    objective = (
        0.5 * float(squares.sum()) + penalty.l1 * float(np.abs(w).sum()) + 0.5 * penalty.l2 * float(np.sum(w * w))
    )
    measure = 0.0
    for k in range(len(w)):
        part = slice(k, k + 1)
        gap = duality_gap(penalty, w[part], correlation[part], float(squares[k]))
        measure = max(measure, gap / (tol * float(scale[k]) or 1e-300))
    return Step(Params(w, np.zeros(len(w))), objective, measure)
