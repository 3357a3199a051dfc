"""Losses that are piecewise linear, with an elastic net penalty, its parts or none: the interior point method, whose
multipliers are the judge's dual point.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tenfold.arrays import Floats, on_host
from tenfold.data import Rows, targets_of, weights_of
from tenfold.judge import RULES, gap
from tenfold.judge.points import prepare
from tenfold.losses import Pieces, PiecewiseLinear
from tenfold.penalties import ElasticNet
from tenfold.plans.fitted import Fitted, stored
from tenfold.plans.frames import middle, moved
from tenfold.problems import Glm
from tenfold.solvers import interior
from tenfold.solvers.loop import Step, Watch, run
from tenfold.stats import Params

COLUMNS = 4096
"""Up to so many columns the weighted Gram matrix is formed."""

ENOUGH = 1e-3
"""The duality gap at which a fit ends, as a share of what the judge allows."""

ZERO = 1e-7
"""Beside an L1 penalty a weight that is so much smaller than the largest is none."""


def fit(
    rows: Rows,
    loss: PiecewiseLinear,
    l1: float,
    l2: float,
    intercept: bool,
    *,
    max_iter: int,
    time_limit: float | None = None,
    watch: Watch | None = None,
    dtype: Any = np.float64,
) -> Fitted:
    """Minimise the weighted mean loss + l1 ||w||_1 + l2 / 2 ||w||^2."""
    p = rows.shape[1]
    if p > COLUMNS:
        raise ValueError(
            f"A loss with kinks needs a matrix of {p} x {p} numbers here, which is too many: at most {COLUMNS} columns "
            "are taken. Use a smooth loss (for instance huber, or squared hinge), or fewer columns."
        )
    problem = Glm(loss, ElasticNet(l1, l2), intercept)
    y, weight = on_host(rows.map(targets_of))[:, 0], on_host(rows.map(weights_of))
    share = (weight / weight.sum())[:, None]
    pieces = loss.pieces(np.asarray(y, dtype=np.float64))
    shift = middle(rows, True) if intercept else np.zeros(p)
    inner = interior.Problem(rows, Pieces(pieces.at, share * pieces.up, share * pieces.down), l1, l2, intercept, shift)
    b = _middle(pieces, share) if intercept else 0.0
    allowed = ENOUGH * RULES["gap"].tol * prepare(problem, rows).scale
    slopes: list[Floats] = []

    def path() -> Iterator[Step]:
        for step, slope in interior.steps(inner, Params(np.zeros((1, p)), np.array([b])), allowed):
            slopes[:] = [slope]
            yield step

    heard: Watch | None = None if watch is None else lambda record, params: watch(record, moved(params, -shift))
    solution = run(path(), max_iter, time_limit, heard)
    params = stored(moved(_cleaned(solution.params, l1), -shift), dtype)
    dual = np.where(share[:, 0] > 0.0, slopes[0] / np.where(share[:, 0] > 0.0, share[:, 0], 1.0), 0.0)
    certificate = gap(problem, rows, params, dual=dual, status=solution.status.value, dtype=dtype)
    return Fitted(params, certificate, "interior point", iterations=solution.iterations, trace=solution.trace)


def _middle(pieces: Pieces, share: Floats) -> float:
    """The weighted median of the kinks: where to start."""
    at, weight = pieces.at.ravel(), (share * (pieces.up + pieces.down)).ravel()
    order = np.argsort(at)
    total = np.cumsum(weight[order])
    return float(at[order[np.searchsorted(total, 0.5 * total[-1])]])


def _cleaned(params: Params, l1: float) -> Params:
    """Without the weights that an interior point only leaves next to zero."""
    size = np.abs(params.coef)
    small = size <= ZERO * np.max(size, initial=0.0)
    return Params(np.where(small, 0.0, params.coef), params.intercept) if l1 > 0.0 else params
