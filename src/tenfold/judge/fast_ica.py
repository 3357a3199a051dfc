"""Kind stationarity: independent components, by the asymmetry of M = diag(sigma) E[g(s) s'] for their sources s, where
sigma_i = sign(E[g(s_i) s_i] - E[g'(s_i)]); for components found one after the other, by what M has above its diagonal.

Before that, by exact formulas: the mean; the covariance of the sources, which is I ("arbitrary-variance": I over the
sum of the weights; without whitening the rows of the components are orthonormal); the components lie in the leading
principal subspace, which the judge takes from moments of its own; the whitening matrix has its axes, in their order;
and the mixing matrix is the pseudo-inverse of the components.
"""

from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import EPS, Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.covariance import columns_about, location_pair
from tenfold.judge.recompute import Pair, exact
from tenfold.linear_algebra import eigh
from tenfold.stats.contrasts import Contrasts, Nonlinearity, contrasts
from tenfold.stats.moments import Moments

TOL = RULES["exact"].tol


class Stored(NamedTuple):
    """Fitted arrays in float64: mean (p,), whitening matrix and components (k, p), mixing matrix (p, k)."""

    mean: Floats
    whitening: Floats
    components: Floats
    mixing: Floats


def fast_ica(
    rows: Rows,
    stored: Stored,
    g: Nonlinearity,
    *,
    algorithm: str,
    whiten: Any,
    tol: float,
    dtype: Any = np.float64,
    status: str = "judged",
    complaint: str = "",
) -> Certificate:
    """The certificate of independent components; `tol` is the asymmetry that the user allows."""
    u, rule = max(unit_roundoff(dtype), unit_roundoff(np.float64)), RULES["stationarity"]
    p = rows.shape[1]
    C = stored.components
    fits = C.ndim == 2 and C.shape[1] == p and stored.mixing.shape == C.shape[::-1] and stored.mean.shape == (p,)
    if complaint or not fits or not np.isfinite(C).all():
        note = complaint or "The shapes of the components and of the mixing matrix do not go together."
        return Certificate("stationarity", np.inf, 1.0, rule.tol, EPS, np.inf, status=status, note=note)
    sums: Contrasts = rows.fold(contrasts(np.ascontiguousarray(C * _unit(rows, whiten)), stored.mean, g, slice(None)))
    pairs = _exact_pairs(rows, stored, sums, whiten, u)
    same = exact(pairs, floor=max(1e-12, 64.0 * u * np.sqrt(p)))
    if not same.ok:
        return Certificate("stationarity", np.inf, 1.0, rule.tol, EPS, np.inf, status=status, note=same.note)
    M = sums.products / sums.weight
    M = np.where(np.diag(M) >= sums.slopes / sums.weight, 1.0, -1.0)[:, None] * M
    size = float(np.linalg.norm(M)) or 1.0
    rest = np.triu(M, 1) if algorithm == "deflation" else 0.5 * (M - M.T)
    value = float(np.linalg.norm(rest)) / size
    floor = 64.0 * u * np.sqrt(len(M))
    return Certificate(
        "stationarity",
        max(value, floor) if np.isfinite(value) else np.inf,
        1.0,
        max(rule.tol, tol),
        floor,
        -float(np.trace(M)),
        status=status,
        parts=(value,),
    )


def _unit(rows: Rows, whiten: Any) -> float:
    """What gives sources unit variance."""
    if whiten != "arbitrary-variance":
        return 1.0
    return float(np.sqrt(columns_about(rows, False).weight))


def _exact_pairs(rows: Rows, stored: Stored, sums: Contrasts, whiten: Any, u: float) -> dict[str, Pair]:
    C, k = stored.components, len(stored.components)
    inverse: Floats = np.asarray(np.linalg.pinv(C), dtype=np.float64)
    scale = float(np.max(np.abs(inverse))) or 1.0
    condition = float(np.linalg.cond(C))
    pairs: dict[str, Pair] = {
        "the mixing matrix": (stored.mixing, inverse, scale * max(1.0, 64.0 * u / TOL * condition))
    }
    if not whiten:
        pairs["the mean"] = (stored.mean, np.zeros(len(stored.mean)), 1.0)
        pairs["the rows of the components"] = (C @ C.T, np.eye(k), 1.0)
        return pairs
    columns = columns_about(rows, False)
    pairs["the mean"] = location_pair(stored.mean, columns, False, u)
    moments: Moments = rows.fold(Moments.lift)
    S = moments.covariance()
    values, axes = eigh(S)
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1]
    if not 0 < k <= len(values) or not values[k - 1] > 0.0:
        pairs["the number of components"] = (np.full(1, np.inf), np.zeros(1), 1.0)
        return pairs
    # rounding of the components, and of the covariance, in units of the smallest variance that is kept
    slack = max(1.0, 64.0 * u / TOL * float(values[0] / values[k - 1]))
    far = max(1.0, float(np.max(np.abs(columns.mean))) / float(np.sqrt(values[k - 1])))
    mean = sums.sums / sums.weight
    pairs["the covariance of the sources"] = (
        sums.squares / sums.weight - np.outer(mean, mean),
        np.eye(k),
        slack * max(1.0, 64.0 * u / TOL * far),
    )
    gap = float((values[k - 1] - values[k]) / values[k - 1]) if k < len(values) else 0.0
    outside = C @ axes[:, k:]
    pairs["the principal subspace"] = (gap * outside, np.zeros_like(outside), float(np.linalg.norm(C)) * slack)
    K = stored.whitening
    if K.shape != C.shape:
        pairs["the whitening matrix"] = (np.full(1, np.inf), np.zeros(1), 1.0)
        return pairs
    size = np.sqrt(values[:k] * columns.weight)
    unit = K * size[:, None]  # unit vectors along the axes, in their order
    pairs["the axes of the whitening matrix"] = (unit @ unit.T, np.eye(k), slack)
    residual = unit @ S - values[:k, None] * unit
    pairs["the whitening matrix"] = (residual, np.zeros_like(residual), float(values[0]) * slack)
    signs = np.where(axes[0, :k] == 0.0, 0.0, np.minimum(unit[:, 0], 0.0))
    pairs["the signs of the whitening matrix"] = (signs, np.zeros(k), slack)
    return pairs
