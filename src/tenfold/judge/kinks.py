"""A dual point for fitted models that keep none, where the loss has kinks: rows on a kink choose their slopes.

Away from its kinks a loss tells its slope. A row on a kink (to rounding) may have any slope between both sides, and at
an optimum these are such that the columns of the weights that are not zero balance the penalty: a least squares problem
in as many unknowns as rows on kinks. Slopes beyond an end are put there, and the others solved for again. What is left
over, the judge scales and balances as any other hint.
"""

from typing import Any

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Array, Floats, is_sparse, unit_roundoff
from tenfold.data import Block, Rows, targets_of, weights_of
from tenfold.machine import one_blas_thread
from tenfold.penalties import ElasticNet
from tenfold.problems import Glm
from tenfold.stats import Params, Total, back_times, predictions

KINKS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
"""Rows whose slope changes within the first of these, by the spread of the margins, are on a kink; those of a fit that
ended early, within others.
"""

MOST, MOST_ENTRIES = 4096, 1 << 23
"""With more rows on kinks than this, or with more entries of theirs, none is looked for."""

ROUNDS = 12
"""So often slopes beyond an end are put there."""


def at_kinks(
    problem: Glm, rows: Rows, params: Params, dtype: Any = np.float64, width: float = KINKS[0]
) -> Floats | None:
    """Slopes (n,) of a kinked loss at the parameters, which were stored in `dtype`; None where the rows are not at
    hand.
    """
    if rows.foreign or rows.scattered:
        return None
    loss, penalty = problem.loss, problem.penalty
    assert isinstance(penalty, ElasticNet)
    y, weight = rows.map(targets_of)[:, 0], rows.map(weights_of)
    share = weight / weight.sum()
    z = rows.map(predictions(params))[:, 0]
    size = float(np.std(y)) + float(np.std(z)) + 1e-12 * float(np.max(np.abs(z), initial=1.0))
    width = size * max(width, 16.0 * unit_roundoff(dtype))
    low, high = loss.slope(y, z - width), loss.slope(y, z + width)
    kink = np.flatnonzero((low != high) & (weight > 0.0))
    u = 0.5 * (low + high)
    w = params.coef[0]
    used = np.flatnonzero(w)
    if not 0 < kink.size <= MOST or kink.size * used.size > MOST_ENTRIES:
        return np.asarray(u)
    columns = picked(rows, kink, used) * share[kink, None]
    if problem.intercept:
        columns = np.column_stack([columns, share[kink]])

    def missing(u: Floats) -> Floats:
        """What the slopes lack to balance the penalty."""
        pull = rows.retarget((share * u)[:, None]).fold(lambda block: Total(back_times(block.X, block.y))).sum[0]
        wanted = -(penalty.l1 * np.sign(w) + penalty.l2 * w)[used] - pull[used]
        tilt = -problem.tie * float(params.intercept[0]) - float(np.sum(share * u))
        return np.append(wanted, tilt) if problem.intercept else wanted

    u = np.array(u, dtype=np.float64)
    free = np.ones(kink.size, dtype=bool)
    for _ in range(ROUNDS):
        chosen = kink[free]
        u[chosen] += shortest(columns[free], missing(u))
        inside = np.asarray(loss.clip(y[chosen], u[chosen]))
        beyond = np.abs(inside - u[chosen]) > 1e-12
        u[chosen] = inside
        if not beyond.any() or beyond.all():
            break
        free[np.flatnonzero(free)[beyond]] = False
    return u


def shortest(columns: Floats, wanted: Floats) -> Floats:
    """The shortest moves m (k,) with columns' m nearest to what is wanted; columns is (k, c)."""
    k = len(columns)
    scale = np.sqrt(np.sum(columns * columns, axis=0))
    scale = np.where(scale > 0.0, scale, 1.0)
    with one_blas_thread:
        moved = lapack.dgelsy(
            np.asfortranarray((columns / scale).T), _padded(wanted / scale, k), np.zeros(k, np.int32),
            1e-12, max(4 * k + 64, 3 * (k + len(wanted)) + 64),
        )[1]  # fmt: skip
    return np.asarray(moved)[:k].ravel()


def _padded(b: Floats, n: int) -> Floats:
    """A right-hand side with room for the solution."""
    room = np.zeros((max(len(b), n), 1), order="F")
    room[: len(b), 0] = b
    return room


def picked(rows: Rows, kink: Array, used: Array) -> Floats:
    """Rows and columns of these numbers, dense, in float64."""
    parts: list[Floats] = []
    inside = np.zeros(rows.shape[0], dtype=bool)
    inside[kink] = True

    def cut(start: int, block: Block) -> int:
        chosen = block.X[inside[start : start + block.X.shape[0]]][:, used]
        parts.append(np.asarray(chosen.toarray() if is_sparse(chosen) else chosen, dtype=np.float64))
        return start + int(block.X.shape[0])

    rows.scan(cut, 0)
    return np.vstack(parts)
