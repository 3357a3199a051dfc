"""Kind gap: the linear one-class SVM.

    P(w, b) = sum_i c_i max(0, 1 - z_i - b) + nu / 2 ||w||^2 + nu b,    z_i = x_i.w,  c_i = weight_i / n.

Any 0 <= a_i <= c_i with sum a = nu (where b is free) bounds every P from below by  nu - ||sum_i a_i x_i||^2 / (2 nu),
or, where b is fixed, by  (1 - b) sum a + nu b - ||sum_i a_i x_i||^2 / (2 nu). At the optimum a_i is c_i for rows
outside, zero for rows inside, and in between for rows on the border, which the weights do not tell: they are given
shares that fall over a strip of some width about the border, of several widths, and the best bound counts.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats, contiguous, unit_roundoff
from tenfold.data import Block, Rows, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.stats import Params, Total, back_times, predictions

WIDTHS = (0.0, *(10.0**-k for k in range(6)))
"""Of the strip, by the spread of the margins."""

HALVINGS = 200
EPS = float(np.finfo(np.float64).eps)

UNBOUNDED = "The weights sum to less than nu times the number of rows: a lower intercept is always better."
LOOSE = "Bound, not tight: the true distance to the optimum may be much smaller."


def one_class_gap(
    nu: float, rows: Rows, params: Params, *, intercept: bool, count: int, status: str, dtype: Any = np.float64
) -> Certificate:
    """Judge w and b on rows of which `count` are counted, weights of zero left out."""
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
    points = (_shares(nu, z, share, b, width, intercept) for width in WIDTHS)
    lower = max(_bound(nu, rows, a, b, intercept, reach) for a in points)
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
        return a
    low, high = float(z.min()) - strip, float(z.max()) + strip
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        total = float(np.sum(share * np.clip((middle - z) / strip + 0.5, 0.0, 1.0)))
        low, high = (middle, high) if total < nu else (low, middle)
    a = share * np.clip((high - z) / strip + 0.5, 0.0, 1.0)
    # from above, so that a factor of at most one makes the sum exact
    return a * (nu / max(float(np.sum(a)), nu))


def _bound(nu: float, rows: Rows, a: Floats, b: float, intercept: bool, reach: float) -> float:
    """The dual value at feasible shares; what rounding left of sum a = nu is paid for with the `reach` of b."""
    pull = rows.retarget(contiguous(a[:, None])).fold(lambda block: Total(back_times(block.X, block.y)[0])).sum
    total = float(np.sum(a))
    if not intercept:
        return (1.0 - b) * total + nu * b - 0.5 * float(pull @ pull) / nu
    missing = abs(total - nu)
    return nu - 0.5 * float(pull @ pull) / nu - missing * reach if missing <= 1e-10 * nu else -np.inf
