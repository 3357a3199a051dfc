"""Certification of LassoLarsIC: knots, noise variance and information criterion recomputed, by coordinate descent where
the fit used least angle regression.
"""

from typing import Any

import numpy as np
from scipy.optimize import nnls

from tenfold.arrays import Floats, on_host, unit_roundoff
from tenfold.certification.models import take_params, validate_like_fit
from tenfold.data import Rows
from tenfold.estimators.validation import as_rows, validate_weights
from tenfold.judge.lars_angles import Knots, angles_of_knots
from tenfold.machine import one_blas_thread
from tenfold.penalties import with_alpha
from tenfold.plans.centred_design import Centred, Settings, fold_with_targets
from tenfold.plans.lasso import path_from_moments, select_method
from tenfold.plans.least_squares import fold_moments
from tenfold.problems import Glm, lasso_problem, sparse_penalty
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.rfactor import RFactor

PATH_RTOL = 1e-6  # relative difference of stored and recomputed values of the path

TIGHT_SETTINGS = Settings(tol=1e-13, max_iter=100_000)  # at a knot; sums of squares have the root of it as error

KNOT_TOL = 1e-5  # cosine, and relative weight, up to which a product with the residual or a weight is at a knot


def check_criterion(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """The reason why the noise variance, the criterion or the selected alpha do not follow from the data, or ""."""
    X, y = validate_like_fit(model, X, y, numeric=True)
    rows = as_rows(X, y, validate_weights(sample_weight, X))
    columns, dtype = rows.fold(Columns.lift), take_params(model, rows.targets)[1]
    alphas = np.asarray(on_host(model.alphas_))
    costs, variance = np.asarray(model.criterion_, dtype=np.float64), float(model.noise_variance_)
    if alphas.shape != costs.shape or int(model.n_iter_) != alphas.size - 1:
        return "alphas_, criterion_ and n_iter_ do not belong together."
    if float(alphas[int(np.argmin(costs))]) != float(np.asarray(model.alpha_, dtype=alphas.dtype)):
        return "alpha_ is not that of the smallest criterion_."
    close = max(PATH_RTOL, 64.0 * np.sqrt(columns.features) * unit_roundoff(dtype))
    intercept = bool(model.fit_intercept)
    R, scale = _factor(rows, columns, intercept)
    w, dependent = _least_squares(R, bool(model.positive))
    expected, slack = model.noise_variance, 0.0
    if expected is None:
        left = float(np.sum((R[:, -1] - R[:, :-1] @ w) ** 2))
        expected = left / (columns.weight - columns.features - intercept)
        # the residual may be rounding beside the target
        yy = float(columns.target_lengths(origin=not intercept)[0]) ** 2
        slack = close * expected + 64.0 * unit_roundoff(dtype) * yy / columns.weight
    if not abs(variance - expected) <= slack:
        return "noise_variance_ is not that of least squares on all columns, or the one that was given."
    alphas = np.asarray(alphas, dtype=np.float64)
    return _check_knots(model, rows, columns, alphas, costs, (scale * w, dependent), close)


def _factor(rows: Rows, columns: Columns, intercept: bool) -> tuple[Floats, Floats]:
    """The triangular factor of columns and target, columns scaled by powers of two, and these factors."""
    lengths = columns.lengths(origin=not intercept)[0]
    scale = np.where(lengths > 0.0, np.ldexp(1.0, -np.frexp(np.where(lengths > 0.0, lengths, 1.0))[1]), 0.0)
    shift = columns.mean if intercept else np.zeros_like(columns.mean)
    return rows.fold(RFactor.lifter(shift, np.append(scale, 1.0))).R, scale


def _least_squares(R: Floats, positive: bool) -> tuple[Floats, int]:
    """The least-squares weights of all scaled columns, and the number of dependent columns."""
    with one_blas_thread:
        w, _, rank, _ = np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=None)
        best = nnls(R[:, :-1], R[:, -1])[0] if positive else w
    return np.asarray(best, dtype=np.float64), R.shape[1] - 1 - int(rank)


def _check_knots(
    model: Any,
    rows: Rows,
    columns: Columns,
    alphas: Floats,
    costs: Floats,
    unpenalised: tuple[Floats, int],
    close: float,
) -> str:
    """The reason why alphas are not the knots of a path from the smallest alpha without weights, or the criterion at
    one of them is not that of its weights; "" where all agree.
    """
    intercept, positive, variance = bool(model.fit_intercept), bool(model.positive), float(model.noise_variance_)
    p, W, yy = columns.features, columns.weight, float(columns.target_lengths(origin=not intercept)[0]) ** 2
    coef = _minimise(rows, lasso_problem(1.0, 1.0, intercept, positive=positive), alphas)
    ends, dependent = unpenalised
    coef[alphas == 0.0] = ends
    mean = columns.mean if intercept else np.zeros_like(columns.mean)
    last = Params(coef[-1:], mean[p:] - coef[-1:] @ mean[:p])
    options = {"lasso": True, "positive": positive}
    (result,) = angles_of_knots(rows, last, columns, intercept, [Knots(alphas, coef)], **options)
    shares = np.abs(coef) * columns.lengths(origin=not intercept)[0] / (np.sqrt(yy) if yy > 0.0 else 1.0)
    near = max(KNOT_TOL, close, result.allowed)
    if np.any(shares[0] > near) or not np.all(result.violation <= near):
        return "alphas_ do not begin where the first column gets a weight, or are not sizes of products."
    if np.any(np.diff(alphas) * result.unit > result.allowed):
        return "alphas_ do not fall."
    # a column that joins or leaves has weight zero and the largest product with the residual; near alpha = 0 all have
    # it, and weights of dependent columns are not unique
    turning = ((shares <= near) & (result.excess >= -near)).any(axis=1) | (alphas * result.unit <= near)
    if not dependent and not turning[:-1].all():
        return "alphas_ are not the knots of the path."
    if variance == 0.0:
        return ""  # without noise there is no criterion
    rest = costs - W * np.log(2.0 * np.pi * variance) - result.squares / variance
    factor = 2.0 if model.criterion == "aic" else float(np.log(W))
    freedom, slack = rest / factor, close * (np.abs(costs) + W + yy / variance) / factor
    fewest = np.count_nonzero(shares > near, axis=1) - dependent
    most = np.count_nonzero(result.excess >= -near, axis=1)
    counted = np.abs(freedom - np.round(freedom)) <= slack
    if not np.all(counted & (fewest - slack <= freedom) & (freedom <= most + slack)):
        return "criterion_ is not that of the weights at alphas_."
    return ""


def _minimise(rows: Rows, problem: Glm, alphas: Floats) -> Floats:
    """Weights (A, p) of the Lasso at every alpha, one after the other."""
    penalties = [with_alpha(sparse_penalty(problem), float(alpha), 1.0) for alpha in alphas]
    if select_method(rows, len(alphas)) == "gram":
        return path_from_moments(fold_moments(rows), problem, penalties, TIGHT_SETTINGS).coef[:, 0].copy()
    data = Centred.of(rows, fold_with_targets(rows), problem.intercept)
    return data.path(problem, penalties, TIGHT_SETTINGS)[0].coef[:, 0].copy()
