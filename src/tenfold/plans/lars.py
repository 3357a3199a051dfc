"""Least angle regression: products of the features, the path of each target, the judge, and a correction.

alpha = C / W: the largest |x_j.r|, over the sum of the sample weights.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.gap_lasso import lasso_gap
from tenfold.judge.least_squares import residual
from tenfold.losses.regression import Square
from tenfold.machine import one_blas_thread
from tenfold.penalties import L2
from tenfold.plans.greedy_selection import gram_of, with_intercept
from tenfold.plans.least_squares import fit as fit_least_squares
from tenfold.plans.result import Fitted, round_to_dtype
from tenfold.problems import Glm, lasso_problem
from tenfold.solvers.lars import Knots, walk
from tenfold.solvers.loop import Status
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.gram import Gram, WholeGram


@dataclass(frozen=True)
class Walk:
    """The path: of the Lasso or plain least angles, with positive weights, to which alpha, in how many steps, and the
    relative squared norm of a feature outside the active ones below which it is dependent.
    """

    lasso: bool
    positive: bool
    alpha: float
    steps: int
    dependent: float


@dataclass(frozen=True)
class LarsFit:
    """A fit and, for each target, the knots of its path."""

    fitted: Fitted
    knots: tuple[Knots, ...]
    alphas: tuple[Floats, ...]


def knots_of(gram: Gram, how: Walk) -> tuple[Knots, ...]:
    """The path of each target."""
    end = how.alpha * gram.columns.weight
    return tuple(
        walk(gram, t, lasso=how.lasso, positive=how.positive, end=end, most=how.steps, dependent=how.dependent)
        for t in range(gram.target_scales.size)
    )


def products(rows: Rows, intercept: bool, steps: int, whole: bool | None) -> Gram:
    """The products that a path of `steps` steps needs."""
    return gram_of(rows, intercept, min(steps, rows.shape[1]), whole)


def fit(rows: Rows, gram: Gram, how: Walk, intercept: bool, *, dtype: Any = np.float64) -> LarsFit:
    """Follow the path, judge its end, and correct it."""
    paths = knots_of(gram, how)
    weight = gram.columns.weight
    alphas = tuple(knots.sizes / weight for knots in paths)
    # the Lasso is judged at the requested alpha, whether or not the path reached it
    ends = np.full(len(paths), how.alpha) if how.lasso else np.array([path[-1] for path in alphas])
    coef = np.stack([knots.weights[-1] for knots in paths])
    reached = np.array([knots.sizes[-1] for knots in paths])
    fitted = judge_and_correct(rows, gram, coef, ends, reached, how, intercept, dtype)
    if how.lasso and not fitted.certificate.ok and any(len(knots.sizes) > how.steps for knots in paths):
        fitted = replace(fitted, certificate=replace(fitted.certificate, status=Status.MAX_ITER.value))
    return LarsFit(fitted, paths, alphas)


@dataclass(frozen=True)
class CriterionFit:
    """A fit at a knot of the path: the alphas of all knots, the index of the best, its criterion, and the variance of
    the noise.
    """

    fitted: Fitted
    alphas: Floats
    best: int
    criterion: Floats
    variance: float


def by_criterion(
    rows: Rows,
    gram: Gram,
    how: Walk,
    intercept: bool,
    akaike: bool,
    variance: float | None,
    name: str,
    dtype: Any,
) -> CriterionFit:
    """The knot of the path of one target with the best information criterion."""
    (knots,) = knots_of(gram, how)
    weight = gram.columns.weight
    alphas = knots.sizes / weight
    c = np.ldexp(gram.with_targets[:, 0], gram.scales + gram.target_scales[0])
    yy = float(np.ldexp(gram.target_squares[0], 2 * int(gram.target_scales[0])))
    # products of active columns with the residual have one size C, so that |r|^2 = yy - c.w - C |w|_1
    squares = yy - knots.weights @ c - knots.sizes * np.sum(np.abs(knots.weights), axis=1)
    degrees = np.sum(np.abs(knots.weights) > np.finfo(dtype).eps, axis=1)
    if variance is None:
        variance = _noise(rows, how.positive, weight, intercept, name)
    factor = 2.0 if akaike else float(np.log(weight))
    with np.errstate(divide="ignore", invalid="ignore"):  # an exact fit has no noise
        criterion = weight * np.log(2 * np.pi * variance) + np.maximum(squares, 0.0) / variance + factor * degrees
    best = int(np.argmin(criterion))
    at = replace(how, alpha=float(alphas[best]))
    one = slice(best, best + 1)
    fitted = judge_and_correct(rows, gram, knots.weights[one], alphas[one], knots.sizes[one], at, intercept, dtype)
    return CriterionFit(fitted, alphas, best, criterion, variance)


def _noise(rows: Rows, positive: bool, weight: float, intercept: bool, name: str) -> float:
    """The variance of the noise, from least squares on all features."""
    free = weight - rows.shape[1] - intercept
    if free <= 0:
        raise ValueError(
            f"You are using {name} in the case where the number of samples is smaller than the number of features. In "
            "this setting, getting a good estimate for the variance of the noise is not possible. Provide an estimate "
            f"of the noise variance in the constructor (n_samples={weight:g}, n_features={rows.shape[1]})."
        )
    fitted = fit_least_squares(rows, np.zeros(1), intercept, positive=positive)
    return float(2.0 * weight * fitted.certificate.objective / free)


def judge_and_correct(
    rows: Rows, gram: Gram, coef: Floats, ends: Floats, reached: Floats, how: Walk, intercept: bool, dtype: Any
) -> Fitted:
    """The end of each path, judged at the alphas `ends`, and corrected with the gradient of the samples where that is
    worth a pass, towards the correlations `reached`.
    """
    columns = gram.columns

    def judge(coef: Floats) -> tuple[Params, Certificate]:
        params = round_to_dtype(with_intercept(coef, columns, intercept), dtype, columns.centre(intercept))
        return params, verdict(rows, params, columns, ends, how, intercept, dtype)

    params, certificate = judge(coef)
    for _ in range(2):
        # a gap sees the square of an error of the weights
        if certificate.ok if how.lasso else certificate.value <= 1e-10:
            break
        gradient = residual(_least_squares(ends, intercept), rows, params, columns, dtype=dtype).gradient
        better = judge(_correct(gram, params.coef, gradient, reached))
        if better[1].value > certificate.value:
            break
        params, certificate = better
    return Fitted(params, certificate, "angles")


def verdict(
    rows: Rows, params: Params, columns: Columns, alphas: Floats, how: Walk, intercept: bool, dtype: Any
) -> Certificate:
    """The gap of the Lasso, or the angles."""
    if how.lasso and alphas[0] > 0.0:
        problem = lasso_problem(float(alphas[0]), 1.0, intercept, positive=how.positive)
        tol = RULES["gap"].tol
        return lasso_gap(problem, rows, params, columns, tol=tol, status="solved", dtype=dtype).certificate
    level = None if how.lasso else alphas * columns.weight
    problem = _least_squares(alphas, intercept, how.positive and how.lasso)
    return residual(problem, rows, params, columns, dtype=dtype, level=level).certificate


def _least_squares(alphas: Floats, intercept: bool, positive: bool = False) -> Glm:
    return Glm(Square(), L2(np.zeros(len(alphas)), positive), intercept)


def _correct(gram: Gram, coef: Floats, gradient: Floats, sizes: Floats) -> Floats:
    """One Newton step on the active weights, towards correlations of equal size."""
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
    """The same with products X'X or X'y that are given, in the units of the data."""
    q, r = gram.scales, gram.target_scales
    right = gram.with_targets if with_targets is None else np.ldexp(with_targets, -(q[:, None] + r))
    if products is None:
        return replace(gram, with_targets=right)  # type: ignore[type-var]
    matrix = np.ldexp(products, -(q[:, None] + q))
    squares = np.where(gram.squares > 0.0, np.maximum(np.diag(matrix), 0.0), 0.0)
    return WholeGram(q, r, squares, gram.target_squares, right, gram.columns, matrix)
