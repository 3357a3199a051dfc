"""Kind gap: the linear one-class SVM.

    P(w, b) = sum_i c_i max(0, 1 - z_i - b) + nu / 2 ||w||^2 + nu b,    z_i = x_i.w,  c_i = weight_i / n.

Any 0 <= a_i <= c_i with sum a = nu (where b is free) bounds every P from below by  nu - ||sum_i a_i x_i||^2 / (2 nu),
or, where b is fixed, by  (1 - b) sum a + nu b - ||sum_i a_i x_i||^2 / (2 nu). At the optimum a_i is c_i for samples
outside, zero for samples inside, and in between for samples on the border, which the weights do not determine. Those
are solved for by least squares, so that sum_i a_i x_i = nu w, and otherwise decrease over a strip about the border, of
several widths; the best bound counts.
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
from tenfold.judge.dual_point_search import pick
from tenfold.judge.objective_points import LOOSE, require_finite
from tenfold.stats.derivatives import Params, Total, adjoint, predictions

WIDTHS = (0.0, *(10.0**-k for k in range(6)))  # of the strip, by the spread of the raw predictions
BORDERS = (1e-12, 1e-9, 1e-6)  # distances from the border, by the size of raw predictions, that count as none
MAX_ON_BORDER, MAX_COLUMNS = 1024, 512  # samples and columns up to which least squares take well below a second
HALVINGS = 200
EPS = float(np.finfo(np.float64).eps)

UNBOUNDED = "The weights sum to less than nu times the number of rows: a lower intercept is always better."


def one_class_gap(
    nu: float, rows: Rows, params: Params, *, intercept: bool, count: int, status: str, dtype: Any = np.float64
) -> Certificate:
    """Judge w and b on rows of which `count` have a weight."""
    invalid = require_finite("gap", params)
    if invalid is not None:
        return invalid
    weight = np.asarray(rows.map(weights_of), dtype=np.float64)
    upper = weight / count
    w, b = params.coef, float(params.intercept[0])
    z = np.asarray(rows.map(predictions(Params(w, np.zeros(1)))))[:, 0]
    square = float(w[0] @ w[0])
    losses = np.maximum(0.0, 1.0 - z - b)
    objective = float(upper @ losses) + 0.5 * nu * square + nu * b
    at_zero = nu if intercept else float(np.sum(upper)) * max(0.0, 1.0 - b) + nu * b
    sizes = rows.fold(lambda block: Total(_sizes(block, np.abs(w)))).sum / count
    rounded = unit_roundoff(dtype) * (float(sizes) + abs(b))
    floor = 8.0 * EPS * (float(upper @ losses) + nu * (square + abs(b) + 1.0)) + EPS * float(sizes) + rounded
    certificate = Certificate(
        "gap", np.inf, max(abs(at_zero), EPS), RULES["gap"].tol, floor, objective, status=status, parts=(np.inf,)
    )
    if intercept and float(np.sum(upper)) < nu * (1.0 - 1e-12):
        return replace(certificate, status="no maximum", note=UNBOUNDED)
    reach = 1.0 + abs(b) + float(np.max(np.abs(z)))
    on_border = _border_duals(nu, rows, params, z, upper, reach) if intercept else iter(())
    points = chain(on_border, (_strip_duals(nu, z, upper, b, width, intercept) for width in WIDTHS))
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
    """sum weight |x|.|w|, by which raw predictions are rounded."""
    magnitude = abs(block.X)
    return float(np.sum(weights_of(block) * predictions(Params(size, np.zeros(1)))(Block(magnitude, block.y))[:, 0]))


def _strip_duals(nu: float, z: Floats, upper: Floats, b: float, width: float, intercept: bool) -> Floats:
    """Feasible a: `upper` below the border, falling to zero over a strip of `width` times the spread of z."""
    strip = width * float(np.std(z))
    if not intercept:
        border = 1.0 - b
        return upper * (z < border if strip == 0.0 else np.clip((border - z) / strip + 0.5, 0.0, 1.0))
    if strip == 0.0:
        order = np.argsort(z, kind="stable")
        left = nu - np.concatenate([[0.0], np.cumsum(upper[order])[:-1]])
        a = np.zeros_like(upper)
        a[order] = np.clip(left, 0.0, upper[order])
        return _fix_sum(a, upper, nu)
    low, high = float(z.min()) - strip, float(z.max()) + strip
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        total = float(np.sum(upper * np.clip((middle - z) / strip + 0.5, 0.0, 1.0)))
        low, high = (middle, high) if total < nu else (low, middle)
    a = upper * np.clip((high - z) / strip + 0.5, 0.0, 1.0)
    return _fix_sum(a, upper, nu)


def _border_duals(nu: float, rows: Rows, params: Params, z: Floats, upper: Floats, reach: float) -> Iterator[Floats]:
    """Feasible a at which the gradient vanishes, as far as samples on the border allow."""
    if rows.shape[1] > MAX_COLUMNS or rows.distributed or rows.on_device:
        return
    away = z + float(params.intercept[0]) - 1.0
    for width in BORDERS:
        border = np.flatnonzero((np.abs(away) <= width * reach) & (upper > 0.0))
        if not 0 < len(border) <= MAX_ON_BORDER:
            continue
        a = np.where(away < 0.0, upper, 0.0)
        a[border] = 0.0
        correlation = rows.retarget(contiguous(a[:, None])).fold(_correlate).sum[0]
        X = pick(rows, border, np.arange(rows.shape[1]))
        size = np.maximum(np.sqrt(np.sum(X * X, axis=0)), np.finfo(np.float64).tiny)
        A = np.vstack([(X / size).T, np.ones(len(border))])
        wanted = np.append((nu * params.coef[0] - correlation) / size, nu - float(np.sum(a)))
        a[border] = lsq_linear(A, wanted, (0.0, upper[border]), method="bvls", tol=1e-14).x
        yield _fix_sum(np.clip(a, 0.0, upper), upper, nu)


def _fix_sum(a: Floats, upper: Floats, nu: float) -> Floats:
    """a with a sum of nu, but for rounding, by what is missing in proportion to the room."""
    missing = nu - float(np.sum(a))
    room = upper - a if missing > 0.0 else a
    total = float(np.sum(room))
    return np.clip(a + missing / total * room, 0.0, upper) if total > abs(missing) > 0.0 else a


def _bound(nu: float, rows: Rows, a: Floats, b: float, intercept: bool, reach: float) -> float:
    """The dual value at a feasible a; what rounding leaves of sum a = nu costs the `reach` of b. All terms of the sum
    are positive, so that nu is also the sum of their absolute values.
    """
    sums = rows.retarget(contiguous(a[:, None])).fold(_correlate).sum
    total = float(np.sum(a))
    correlation, sizes = sums
    # with the rounding of the correlation
    square = 0.5 * float(correlation @ correlation + 16.0 * EPS * (np.abs(correlation) @ sizes)) / nu
    if not intercept:
        return (1.0 - b) * total + nu * b - square
    missing = abs(total - nu)
    return nu - square - missing * reach if missing <= ROUNDING * nu else -np.inf


def _correlate(block: Block) -> Total:
    """sum a x, and sum a |x|."""
    return Total(np.stack([adjoint(X, block.y)[0] for X in (block.X, abs(block.X))]))
