"""Knots of a path of least angles: products of the residual with all columns, computed again at every knot.

With r the residual at a knot and C = alpha W, |x_j.r| = C for every column that has a weight (for the Lasso with the
sign of the weight), no |x_j.r| is larger, and some column's is C. The number is by how much, as a cosine with the
target, any of this is missed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES
from tenfold.judge.least_squares import residual
from tenfold.losses.regression import Square
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.gram import cross_products

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Knots:
    """The path of one target: alphas (K,), and weights (K, p) at each."""

    alphas: Floats
    weights: Floats


@dataclass(frozen=True)
class Angles:
    """What was found at the knots of one target: by how much (K,) each misses its promise, by how much (K, p) the
    cosine of every column is above that of alpha (minus infinity for constant columns), the sums of squared residuals
    (K,), by how much a cosine may be off, and the cosine of the longest column that an alpha of one is.
    """

    missed: Floats
    over: Floats
    squares: Floats
    allowed: float
    unit: float

    @property
    def equal(self) -> int:
        """How many columns have the largest product at the end."""
        return int(np.count_nonzero(self.over[-1] >= -self.allowed))


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
    """Judge the path of every target, of which `params` are the end: two passes over the rows. Targets of the fit may
    have been moved by `jitter`.
    """
    problem = Glm(Square(), L2(np.zeros(len(params.coef))), intercept)
    gradient = residual(problem, rows, params, columns, dtype=dtype).gradient
    lengths, target_lengths = columns.lengths(origin=not intercept)
    raw, raw_targets = columns.lengths(origin=True)
    if intercept:  # a constant column is nothing but the rounding of its mean
        least = 8.0 * EPS * np.sqrt(columns.weight) * np.abs(columns.mean[: columns.features])
        lengths = np.where(lengths > least, lengths, 0.0)
    q, r = (np.frexp(np.where(part > 0, part, 1.0))[1].astype(np.int32) for part in (lengths, target_lengths))
    used = [(path.weights != 0.0).any(axis=0) for path in knots]
    some = np.flatnonzero(np.logical_or.reduce([*used, *(params.coef != 0.0)]))
    products = rows.fold(cross_products(some, columns, q, intercept)).sum if some.size else np.zeros((0, q.size))
    far = np.divide(raw, lengths, out=np.ones_like(raw), where=lengths > 0.0)
    blur = 8.0 * EPS * float(np.max(far, initial=1.0)) ** 2 if rows.sparse and intercept else 0.0
    found = []
    for t, path in enumerate(knots):
        unit = float(target_lengths[t]) if target_lengths[t] > 0.0 else 1.0
        # X'y = X'r + X'X w, whatever the weights
        start = np.ldexp(params.coef[t], q - r[t])[some] @ products - np.ldexp(gradient[t], -q - r[t])
        weights = np.ldexp(path.weights, q - r[t])
        pulls = start - weights[:, some] @ products
        yy = float(np.ldexp(target_lengths[t], -r[t]) ** 2)
        squares = np.ldexp(np.maximum(yy - np.sum(weights * (start + pulls), axis=1), 0.0), 2 * int(r[t]))
        cosines = np.ldexp(pulls, r[t]) / np.where(lengths > 0.0, np.ldexp(lengths, -q), 1.0) / unit
        levels = path.alphas[:, None] * columns.weight / np.where(lengths > 0.0, lengths, 1.0) / unit
        reading = float(np.max(np.abs(path.weights) @ raw, initial=0.0) + raw_targets[t]) / unit
        rounding = 16.0 * (4.0 + np.sqrt(columns.features)) * max(EPS, unit_roundoff(dtype)) * reading
        allowed = max(RULES["residual"].tol, rounding + blur) + jitter * np.sqrt(columns.weight) / unit
        over = np.where(lengths > 0.0, (cosines if positive else np.abs(cosines)) - levels, -np.inf)
        # a weight that is nothing but the rounding of one that has become zero is none
        inside = np.abs(path.weights) * lengths / unit > allowed
        inside |= (path.weights != 0.0) & (lengths == 0.0)
        missed = _missed(path, inside, cosines, levels, over, lasso)
        longest = float(np.max(lengths, initial=0.0)) or 1.0
        found.append(Angles(missed, over, squares, allowed, columns.weight / longest / unit))
    return found


def _missed(
    path: Knots, inside: NDArray[np.bool_], cosines: Floats, levels: Floats, over: Floats, lasso: bool
) -> Floats:
    """By how much every knot misses its promise; `inside` (K, p) are the weights that are not zero."""
    off = np.abs(cosines * np.sign(path.weights) - levels) if lasso else np.abs(np.abs(cosines) - levels)
    missed = np.max(np.where(inside, off, np.maximum(over, 0.0)), axis=1, initial=0.0)
    # some product has the size alpha, but for a path that ends before it begins: alpha is larger than all of them
    if np.isfinite(over).any() and (len(path.alphas) > 1 or inside.any()):
        missed = np.maximum(missed, -np.max(over, axis=1))
    return np.asarray(missed)
