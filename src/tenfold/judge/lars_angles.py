"""Knots of a path of least angles: the correlations of the residual with all features, computed again at each knot.

With r the residual at a knot and C = alpha W, |x_j.r| = C for each active feature (for the Lasso with the sign of its
weight), no |x_j.r| is larger, and some feature attains C. The number is the largest violation of these conditions, as a
cosine with the target.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import EPS, Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES
from tenfold.judge.least_squares import residual
from tenfold.losses.regression import Square
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.gram import cross_products


@dataclass(frozen=True)
class Knots:
    """The path of one target: alphas (K,), and weights (K, p) at each."""

    alphas: Floats
    weights: Floats


@dataclass(frozen=True)
class Angles:
    """The conditions at the knots of one target: the violation (K,) of each; the excess (K, p) of the cosine of each
    feature over that of alpha (minus infinity for constant features); the sums of squared residuals (K,); the error of
    a cosine; and the cosine of the longest feature for an alpha of one.
    """

    violation: Floats
    excess: Floats
    squares: Floats
    allowed: float
    unit: float

    @property
    def equal(self) -> int:
        """The number of features with the largest correlation at the end."""
        return int(np.count_nonzero(self.excess[-1] >= -self.allowed))


def angles_of_knots(
    rows: Rows,
    params: Params,
    columns: Columns,
    intercept: bool,
    knots: list[Knots],
    *,
    lasso: bool,
    positive: bool,
    jitter: float = 0.0,
    dtype: Any = np.float64,
) -> list[Angles]:
    """Judge the path of each target, of which `params` are the end: two passes over the samples. Targets of the fit may
    have been perturbed by `jitter`.
    """
    problem = Glm(Square(), L2(np.zeros(len(params.coef))), intercept)
    gradient = residual(problem, rows, params, columns, dtype=dtype).gradient
    lengths, target_lengths = columns.lengths(origin=not intercept)
    raw, raw_targets = columns.lengths(origin=True)
    if intercept:  # about its mean a constant feature is rounding
        least = 8.0 * EPS * np.sqrt(columns.weight) * np.abs(columns.mean[: columns.features])
        lengths = np.where(lengths > least, lengths, 0.0)
    q, r = (np.frexp(np.where(part > 0, part, 1.0))[1].astype(np.int32) for part in (lengths, target_lengths))
    active_of = [(path.weights != 0.0).any(axis=0) for path in knots]
    active = np.flatnonzero(np.logical_or.reduce([*active_of, *(params.coef != 0.0)]))
    products = rows.fold(cross_products(active, columns, q, intercept)).sum if active.size else np.zeros((0, q.size))
    cancellation = np.divide(raw, lengths, out=np.ones_like(raw), where=lengths > 0.0)
    centring_error = 8.0 * EPS * float(np.max(cancellation, initial=1.0)) ** 2 if rows.sparse and intercept else 0.0
    angles = []
    for t, path in enumerate(knots):
        unit = float(target_lengths[t]) if target_lengths[t] > 0.0 else 1.0
        # X'y = X'r + X'X w, whatever the weights
        start = np.ldexp(params.coef[t], q - r[t])[active] @ products - np.ldexp(gradient[t], -q - r[t])
        weights = np.ldexp(path.weights, q - r[t])
        correlations = start - weights[:, active] @ products
        yy = float(np.ldexp(target_lengths[t], -r[t]) ** 2)
        squares = np.ldexp(np.maximum(yy - np.sum(weights * (start + correlations), axis=1), 0.0), 2 * int(r[t]))
        cosines = np.ldexp(correlations, r[t]) / np.where(lengths > 0.0, np.ldexp(lengths, -q), 1.0) / unit
        levels = path.alphas[:, None] * columns.weight / np.where(lengths > 0.0, lengths, 1.0) / unit
        size = float(np.max(np.abs(path.weights) @ raw, initial=0.0) + raw_targets[t]) / unit
        rounding = 16.0 * (4.0 + np.sqrt(columns.features)) * max(EPS, unit_roundoff(dtype)) * size
        allowed = max(RULES["residual"].tol, rounding + centring_error) + jitter * np.sqrt(columns.weight) / unit
        excess = np.where(lengths > 0.0, (cosines if positive else np.abs(cosines)) - levels, -np.inf)
        # a weight at the level of rounding counts as zero
        inside = np.abs(path.weights) * lengths / unit > allowed
        inside |= (path.weights != 0.0) & (lengths == 0.0)
        violation = _violations(path, inside, cosines, levels, excess, lasso)
        longest = float(np.max(lengths, initial=0.0)) or 1.0
        angles.append(Angles(violation, excess, squares, allowed, columns.weight / longest / unit))
    return angles


def _violations(
    path: Knots, inside: NDArray[np.bool_], cosines: Floats, levels: Floats, excess: Floats, lasso: bool
) -> Floats:
    """The violation (K,) at each knot; `inside` (K, p) are the active weights."""
    deviation = np.abs(cosines * np.sign(path.weights) - levels) if lasso else np.abs(np.abs(cosines) - levels)
    violation = np.max(np.where(inside, deviation, np.maximum(excess, 0.0)), axis=1, initial=0.0)
    # some correlation attains alpha, unless the path ends at its start, where alpha exceeds all of them
    if np.isfinite(excess).any() and (len(path.alphas) > 1 or inside.any()):
        violation = np.maximum(violation, -np.max(excess, axis=1))
    return np.asarray(violation)
