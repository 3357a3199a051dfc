"""Kind exact: spectral filters, by the recursion replayed in float64, or by a singular value decomposition.

The judge reads the rows again for a triangular factor R of the centred samples (R'R = A'A, without squaring), or
evaluates the kernel matrix again. Iterations are replayed step by step with these, w + h R'(b - R w); components are
those of the singular value decomposition of R. An early-stopped solve has no zero residual, so no residual is judged.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats, unit_roundoff
from tenfold.data import NotFinite, Rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.recompute import exact
from tenfold.linear_algebra import svd
from tenfold.machine import one_blas_thread, poll
from tenfold.stats.column_moments import Columns
from tenfold.stats.rfactor import RFactor

TRUNCATED = ("truncated_svd", "pcr")

Multiply = Callable[[Floats], Floats]


def path_again(
    S: Multiply, solve: Callable[[float], Multiply], C: Floats, largest: float, filter_: Any, steps: int
) -> Floats:
    """The weights (steps + 1, p, t) of an iteration, replayed: w -> S w, alpha -> (b -> (S + alpha)^-1 b)."""
    path = np.zeros((steps + 1, *C.shape))
    solver = solve(filter_.alpha) if filter_.method == "iterated_tikhonov" else None
    for t in range(1, steps + 1):
        poll()
        w = path[t - 1]
        if solver is not None:
            path[t] = solver(C + filter_.alpha * w)
        elif filter_.method == "landweber":
            path[t] = w + filter_.step_size / largest * (C - S(w))
        else:
            v, before = filter_.nu, path[t - 2] if t > 1 else w
            first = (2 * t + 2 * v - 1) / ((t + 2 * v - 1) * (2 * t + 4 * v - 1))
            inertia = first * (t - 1) * (2 * t - 3) / (2 * t + 2 * v - 3) if t > 1 else 0.0
            path[t] = w + inertia * (w - before) + 4.0 * first * (t + v - 1) / largest * (C - S(w))
    return path


def of_factor(R: Floats, b: Floats, filter_: Any, steps: int, first: float | None = None) -> tuple[Floats, float]:
    """The path (steps + 1, t, p) for a factor R of the samples with targets b, and its rounding, relative to the size
    of the path in units of the columns; `first`: the largest eigenvalue of all samples, where R has fewer.
    """
    U, s, Vt = svd(R)
    largest = float(s[0] ** 2) if len(s) and s[0] > 0.0 else 1.0
    kept = s**2 > largest * len(s) * EPS
    if filter_.method in TRUNCATED:
        scores = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)[:, None] * (U.T @ b)
        path = np.zeros((steps + 1, *b.shape[1:], R.shape[1]))
        for t in range(1, min(steps, len(s)) + 1):
            path[t] = path[t - 1] + scores[t - 1][:, None] * Vt[t - 1]
        path[len(s) + 1 :] = path[min(len(s), steps)]
        used = s[: min(steps, int(np.count_nonzero(kept)))]
        condition = largest / float(used[-1] ** 2) if len(used) else 1.0
        gaps = np.abs(np.diff(s[: steps + 1] ** 2)) / largest
        return path, 64.0 * EPS * len(s) * max(condition, 1.0 / max(float(np.min(gaps, initial=1.0)), EPS))
    with one_blas_thread:

        def solve(alpha: float) -> Multiply:
            inverse = np.where(kept, 1.0 / (np.where(kept, s**2, 1.0) + alpha), 0.0)[:, None]
            return lambda v: Vt.T @ (inverse * (Vt @ v))

        path = path_again(lambda w: R.T @ (R @ w), solve, R.T @ b, first or largest, filter_, steps)
    return np.moveaxis(path, 1, 2), 64.0 * EPS * (len(s) + 4.0 * steps)


def features(rows: Rows, filter_: Any, path: Floats, intercepts: Floats, centred: bool, dtype: Any) -> Certificate:
    """The certificate of the path of weights (steps + 1, t, p) and intercepts (steps + 1, t) on features."""
    columns = rows.fold(Columns.lift)
    p, t = columns.features, rows.targets
    if not (np.isfinite(columns.spread).all() and np.isfinite(columns.mean).all()):
        raise NotFinite
    mean, target_mean = columns.mean[:p], columns.mean[p:]
    shift = np.concatenate([mean, target_mean]) if centred else np.zeros(p + t)
    T = rows.fold(RFactor.lifter(shift, np.ones(p + t))).R
    again, rounding = of_factor(T[:, :p], T[:, p:], filter_, len(path) - 1)
    lengths, heights = columns.lengths(origin=not centred)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    size = float(np.max(heights, initial=0.0)) or 1.0
    b = target_mean - again @ mean if centred else np.zeros(again.shape[:2])
    reach = np.abs(target_mean) + np.abs(again) @ np.abs(mean) + size / np.sqrt(columns.weight)
    reach = np.where(reach > 0.0, reach, 1.0) if centred else np.full(b.shape, size)
    most = float(np.max(np.abs(again) * lengths, initial=0.0)) / size
    pairs = {
        "coef_path_": (path * lengths, again * lengths, size * max(1.0, most)),
        "intercept_path_": (intercepts, b, reach),
    }
    return exact(pairs, floor=rounding + 8.0 * unit_roundoff(dtype))


def kernel(
    K: Floats, Y: Floats, weight: Floats, filter_: Any, path: Floats, intercepts: Floats, centred: bool, dtype: Any
) -> Certificate:
    """The certificate of the path of weights of the samples (steps + 1, t, n) and intercepts (steps + 1, t), by what
    they predict of the samples: the recursion in the predictions f is f + h K (y - f).
    """
    total, root = float(np.sum(weight)), np.sqrt(weight)[:, None]
    means, target_mean = weight @ K / total, np.zeros(Y.shape[1])
    inner = K
    if centred:
        inner = K - means - means[:, None] + float(weight @ means) / total
        target_mean = weight @ Y / total
    A = root * inner * root.T
    U, s, _ = svd(0.5 * (A + A.T))
    b = root * (Y - target_mean)
    expected, rounding = _fits(A, U, s, b, filter_, len(path) - 1)
    own = root * np.moveaxis(path @ K + intercepts[:, :, None], 1, 2)
    size = float(np.sqrt(np.mean((root * Y) ** 2))) or 1.0
    span = path * (weight > 0.0)
    off = np.abs(path.sum(axis=2)) if centred else np.zeros((1, 1))
    reach = float(np.max(np.abs(path), initial=0.0)) or 1.0
    lost = 8.0 * unit_roundoff(dtype) * (1.0 + float(np.max(np.abs(path) @ np.abs(K), initial=0.0)) / size)
    pairs = {
        "coef_path_": (own, expected + root * target_mean, size),
        "coef_path_, its sum": (off, np.zeros_like(off), reach * len(K)),
        "coef_path_, without a weight": (path, span, reach),
    }
    return exact(pairs, floor=rounding + lost)


def _fits(A: Floats, U: Floats, s: Floats, b: Floats, filter_: Any, steps: int) -> tuple[Floats, float]:
    """The weighted fits (steps + 1, n, t) along the path, A positive semidefinite with A = U diag(s) U'."""
    largest = float(s[0]) if len(s) and s[0] > 0.0 else 1.0
    kept = s > largest * len(s) * EPS
    if filter_.method in TRUNCATED:
        parts = U[:, :steps, None] * (U.T @ b)[:steps][None] * kept[:steps][None, :, None]
        fits = np.zeros((steps + 1, *b.shape))
        fits[1 : parts.shape[1] + 1] = np.moveaxis(np.cumsum(parts, axis=1), 1, 0)
        gaps = np.abs(np.diff(s[: steps + 1])) / largest
        return fits, 64.0 * EPS * len(s) / max(float(np.min(gaps, initial=1.0)), EPS)
    with one_blas_thread:

        def solve(alpha: float) -> Multiply:
            inverse = np.where(kept, 1.0 / (np.where(kept, s, 1.0) + alpha), 0.0)[:, None]
            return lambda v: U @ (inverse * (U.T @ v))

        fits = path_again(lambda f: A @ f, solve, A @ b, largest, filter_, steps)
    return fits, 64.0 * EPS * (len(s) + 4.0 * steps)
