"""Kind gap: the linear one-class SVM.

    P(w, b) = sum_i c_i max(0, 1 - z_i - b) + nu / 2 ||w||^2 + nu b,    z_i = x_i.w,  c_i = weight_i / n.

Any 0 <= a_i <= c_i with sum a = nu (where b is free) bounds every P from below by  nu - ||sum_i a_i x_i||^2 / (2 nu),
or, where b is fixed, by  (1 - b) sum a + nu b - ||sum_i a_i x_i||^2 / (2 nu). At the optimum a_i is c_i for rows
outside, zero for rows inside, and in between for rows on the border, which the weights do not tell. Those are found by
least squares, so that sum_i a_i x_i = nu w, and otherwise given shares that fall over a strip of some width about the
border, of several widths; the best bound counts.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

from tenfold.arrays import Floats, contiguous, unit_roundoff
from tenfold.data import Block, Rows, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dual_bound import ROUNDING
from tenfold.judge.dual_point_search import picked
from tenfold.judge.objective_points import require_finite
from tenfold.stats.derivatives import Params, Total, adjoint, predictions

WIDTHS = (0.0, *(10.0**-k for k in range(6)))
"""Of the strip, by the spread of the margins."""

BORDERS = (1e-12, 1e-9, 1e-6)
"""Rows that are so near to the border, by the size of their margins, are on it."""

MOST_ON_BORDER, MOST_COLUMNS = 1024, 512
"""Up to so many rows on the border, and columns, their shares are found by least squares."""

HALVINGS = 200
EPS = float(np.finfo(np.float64).eps)

UNBOUNDED = "The weights sum to less than nu times the number of rows: a lower intercept is always better."
LOOSE = "Bound, not tight: the true distance to the optimum may be much smaller."


def one_class_gap(
    nu: float, rows: Rows, params: Params, *, intercept: bool, count: int, status: str, dtype: Any = np.float64
) -> Certificate:
    """Judge w and b on rows of which `count` are counted, weights of zero left out."""
    refused = require_finite("gap", params)
    if refused is not None:
        return refused
    weight = np.asarray(rows.map(weights_of), dtype=np.float64)
    share = weight / count
    w, b = params.coef, float(params.intercept[0])
    z = np.asarray(rows.map(predictions(Params(w, np.zeros(1)))))[:, 0]
    square = float(w[0] @ w[0])
    losses = np.maximum(0.0, 1.0 - z - b)
    objective = float(share @ losses) + 0.5 * nu * square + nu * b
    at_zero = nu if intercept else float(np.sum(share)) * max(0.0, 1.0 - b) + nu * b
    sizes = rows.fold(lambda block: Total(_sizes(block, np.abs(w)))).sum / count
    rounded = unit_roundoff(dtype) * (float(sizes) + abs(b))
    floor = 8.0 * EPS * (float(share @ losses) + nu * (square + abs(b) + 1.0)) + EPS * float(sizes) + rounded
    certificate = Certificate(
        "gap", np.inf, max(abs(at_zero), EPS), RULES["gap"].tol, floor, objective, status=status, parts=(np.inf,)
    )
    if intercept and float(np.sum(share)) < nu * (1.0 - 1e-12):
        return replace(certificate, status="no maximum", note=UNBOUNDED)
    reach = 1.0 + abs(b) + float(np.max(np.abs(z)))
    on_border = _border_shares(nu, rows, params, z, share, reach) if intercept else iter(())
    points = chain(on_border, (_shares(nu, z, share, b, width, intercept) for width in WIDTHS))
    lower = -np.inf
    for a in points:
        lower = max(lower, _bound(nu, rows, a, b, intercept, reach))
        if objective - lower <= certificate.allowed:
            break
    value = max(objective - lower, floor) if np.isfinite(lower) else np.inf
    return replace(
        certificate,
        value=value,
        lower_bound=lower,
        radius=float(np.sqrt(2.0 * (value + floor) / nu)),
        parts=(value,),
        note="" if value <= certificate.allowed else LOOSE,
    )


def _sizes(block: Block, size: Floats) -> float:
    """sum weight |x|.|w|, what rounding of the margins is measured by."""
    magnitude = abs(block.X)
    return float(np.sum(weights_of(block) * predictions(Params(size, np.zeros(1)))(Block(magnitude, block.y))[:, 0]))


def _shares(nu: float, z: Floats, share: Floats, b: float, width: float, intercept: bool) -> Floats:
    """Feasible a: share_i below the border, falling to zero over a strip of `width` times the spread of z."""
    strip = width * float(np.std(z))
    if not intercept:
        border = 1.0 - b
        return share * (z < border if strip == 0.0 else np.clip((border - z) / strip + 0.5, 0.0, 1.0))
    if strip == 0.0:
        order = np.argsort(z, kind="stable")
        left = nu - np.concatenate([[0.0], np.cumsum(share[order])[:-1]])
        a = np.zeros_like(share)
        a[order] = np.clip(left, 0.0, share[order])
        return _summed(a, share, nu)
    low, high = float(z.min()) - strip, float(z.max()) + strip
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        total = float(np.sum(share * np.clip((middle - z) / strip + 0.5, 0.0, 1.0)))
        low, high = (middle, high) if total < nu else (low, middle)
    a = share * np.clip((high - z) / strip + 0.5, 0.0, 1.0)
    return _summed(a, share, nu)


def _border_shares(nu: float, rows: Rows, params: Params, z: Floats, share: Floats, reach: float) -> Iterator[Floats]:
    """Feasible a that pull at w as its penalty does, as far as shares of rows on the border can."""
    if rows.shape[1] > MOST_COLUMNS or rows.distributed or rows.on_device:
        return
    away = z + float(params.intercept[0]) - 1.0
    for width in BORDERS:
        border = np.flatnonzero((np.abs(away) <= width * reach) & (share > 0.0))
        if not 0 < len(border) <= MOST_ON_BORDER:
            continue
        a = np.where(away < 0.0, share, 0.0)
        a[border] = 0.0
        pull = rows.retarget(contiguous(a[:, None])).fold(_pulls).sum[0]
        X = picked(rows, border, np.arange(rows.shape[1]))
        size = np.maximum(np.sqrt(np.sum(X * X, axis=0)), np.finfo(np.float64).tiny)
        A = np.vstack([(X / size).T, np.ones(len(border))])
        wanted = np.append((nu * params.coef[0] - pull) / size, nu - float(np.sum(a)))
        a[border] = lsq_linear(A, wanted, (0.0, share[border]), method="bvls", tol=1e-14).x
        yield _summed(np.clip(a, 0.0, share), share, nu)


def _summed(a: Floats, share: Floats, nu: float) -> Floats:
    """Shares whose sum is nu but for rounding: what is missing is taken from, or added to, where there is room."""
    missing = nu - float(np.sum(a))
    room = share - a if missing > 0.0 else a
    total = float(np.sum(room))
    return np.clip(a + missing / total * room, 0.0, share) if total > abs(missing) > 0.0 else a


def _bound(nu: float, rows: Rows, a: Floats, b: float, intercept: bool, reach: float) -> float:
    """The dual value at feasible shares; what rounding left of sum a = nu is paid for with the `reach` of b. All terms
    of the sum are positive, so that nu is also the sum of their absolute values.
    """
    pulls = rows.retarget(contiguous(a[:, None])).fold(_pulls).sum
    total = float(np.sum(a))
    pull, sizes = pulls
    # with the rounding of the pulls
    square = 0.5 * float(pull @ pull + 16.0 * EPS * (np.abs(pull) @ sizes)) / nu
    if not intercept:
        return (1.0 - b) * total + nu * b - square
    missing = abs(total - nu)
    return nu - square - missing * reach if missing <= ROUNDING * nu else -np.inf


def _pulls(block: Block) -> Total:
    """sum a x, and sum a |x|."""
    return Total(np.stack([adjoint(X, block.y)[0] for X in (block.X, abs(block.X))]))
