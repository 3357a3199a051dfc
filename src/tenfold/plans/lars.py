"""Least angles: which products of columns are formed, the path of each target, the judge, and a correction.

alpha = C / W: the size of the largest product of a column with the residual, over the weight of the rows.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.judge import Certificate, residual
from tenfold.losses import Square
from tenfold.machine import one_blas_thread
from tenfold.penalties import L2
from tenfold.plans.fitted import Fitted, stored
from tenfold.plans.greedy import gram_of, with_intercept
from tenfold.problems import Glm
from tenfold.solvers.lars import Knots, walk
from tenfold.stats import Columns, Gram, Params, WholeGram


@dataclass(frozen=True)
class Walk:
    """What is followed: the Lasso or plain least angles, weights of one sign, to which alpha, in how many steps, and
    how much of a column's square must be left beside others.
    """

    lasso: bool
    positive: bool
    alpha: float
    steps: int
    dependent: float


@dataclass(frozen=True)
class Walked:
    """A fit and, for each target, the knots of its path."""

    fitted: Fitted
    knots: tuple[Knots, ...]
    alphas: tuple[Floats, ...]


def knots_of(gram: Gram, how: Walk) -> tuple[Knots, ...]:
    """The path of every target."""
    end = how.alpha * gram.columns.weight
    return tuple(
        walk(gram, t, lasso=how.lasso, positive=how.positive, end=end, most=how.steps, dependent=how.dependent)
        for t in range(gram.target_scales.size)
    )


def products(rows: Rows, intercept: bool, steps: int, whole: bool | None) -> Gram:
    """The products that a path of so many steps asks for."""
    return gram_of(rows, intercept, min(steps, rows.shape[1]), whole)


def fit(rows: Rows, gram: Gram, how: Walk, intercept: bool, *, dtype: Any = np.float64) -> Walked:
    """Follow the path, judge its end, and correct it."""
    found = knots_of(gram, how)
    weight = gram.columns.weight
    alphas = tuple(knots.sizes / weight for knots in found)
    ends = np.array([path[-1] for path in alphas])
    coef = np.stack([knots.weights[-1] for knots in found])
    fitted = judged(rows, gram, coef, ends, how, intercept, dtype)
    return Walked(fitted, found, alphas)


def judged(rows: Rows, gram: Gram, coef: Floats, ends: Floats, how: Walk, intercept: bool, dtype: Any) -> Fitted:
    """The end of every path, judged, and corrected with the gradient that the judge read."""
    columns = gram.columns

    def look(coef: Floats) -> tuple[Params, Certificate, Floats]:
        params = stored(with_intercept(coef, columns, intercept), dtype)
        certificate, gradient = verdict(rows, params, columns, ends, how.lasso, intercept, dtype)
        return params, certificate, gradient

    params, certificate, gradient = look(coef)
    for _ in range(2):
        if certificate.value <= 1e-10 * certificate.scale:
            break
        better = look(_corrected(gram, params.coef, gradient, ends * columns.weight))
        if better[1].value > certificate.value:
            break
        params, certificate, gradient = better
    return Fitted(params, certificate, "angles")


def verdict(
    rows: Rows, params: Params, columns: Columns, alphas: Floats, lasso: bool, intercept: bool, dtype: Any
) -> tuple[Certificate, Floats]:
    """Equal angles: the certificate, and the gradient (t, p) of half the sum of squares."""
    problem = Glm(Square(), L2(np.zeros(len(alphas))), intercept)
    found = residual(problem, rows, params, columns, dtype=dtype, level=alphas * columns.weight)
    return found.certificate, found.gradient


def _corrected(gram: Gram, coef: Floats, gradient: Floats, sizes: Floats) -> Floats:
    """One step of Newton's method on the weights that are not zero, towards products of one size with the residual."""
    coef = coef.copy()
    for t, weights in enumerate(coef):
        active = np.flatnonzero(weights)
        if not active.size:
            continue
        q = gram.scales[active]
        G = np.array([gram.row(int(j), np.zeros(weights.size))[active] for j in active])
        wanted = gradient[t, active] - np.copysign(sizes[t], gradient[t, active])
        with one_blas_thread:
            factor, info = lapack.dpotrf(G, lower=1)
            if info == 0:
                step = lapack.dpotrs(factor, np.ldexp(wanted, -q), lower=1)[0]
                coef[t, active] -= np.ldexp(step, -q)
    return coef


def with_products(gram: Gram, products: Floats | None, with_targets: Floats | None) -> Gram:
    """The same with products X'X or X'y that somebody has already, in the units of the data."""
    q, r = gram.scales, gram.target_scales
    right = gram.with_targets if with_targets is None else np.ldexp(with_targets, -(q[:, None] + r))
    if products is None:
        return replace(gram, with_targets=right)  # type: ignore[type-var]
    matrix = np.ldexp(products, -(q[:, None] + q))
    squares = np.where(gram.squares > 0.0, np.maximum(np.diag(matrix), 0.0), 0.0)
    return WholeGram(q, r, squares, gram.target_squares, right, gram.columns, matrix)
