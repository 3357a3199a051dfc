"""The Lasso and the elastic net: the duality gap at the fitted weights."""

from numbers import Integral
from typing import Any

import numpy as np

from tenfold.arrays import Floats, numpy_dtype, on_host, unit_roundoff
from tenfold.certification.models import fit_status, take_params, validate_like_fit
from tenfold.certification.scores import is_first_best
from tenfold.estimators.validation import as_rows, validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.judge.gap_lasso import lasso_gap
from tenfold.problems import lasso_problem
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params


def single(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _sparse(model, X, y, sample_weight, multi_task=False)


def multi_task(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _sparse(model, X, y, sample_weight, multi_task=True)


def _sparse(model: Any, X: Any, y: Any, sample_weight: Any, *, multi_task: bool) -> Certificate:
    X, y = validate_like_fit(model, X, y, numeric=True)
    rows = as_rows(X, y, validate_weights(sample_weight, X))
    alpha = float(getattr(model, "alpha_", getattr(model, "alpha", 0.0)))
    ratio = float(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0)))
    positive = bool(getattr(model, "positive", False))
    problem = lasso_problem(alpha, ratio, bool(model.fit_intercept), positive=positive, multi_task=multi_task)
    fitted, dtype = take_params(model, rows.targets)
    columns = rows.fold(Columns.lift)
    judged = lasso_gap(problem, rows, fitted, columns, tol=float(model.tol), status=fit_status(model), dtype=dtype)
    return judged.certificate


GRID_RTOL = 1e-6  # relative error of the alphas of an automatic grid, beside those that are computed again


def check_choice(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Why alphas_ is not the requested grid, or alpha_ and l1_ratio_ not the first of the least stored errors; empty
    where they are.
    """
    ratios = np.atleast_1d(np.asarray(getattr(model, "l1_ratio", 1.0), dtype=np.float64))
    automatic = isinstance(model.alphas, Integral)
    if automatic:
        grids, slack = _automatic_grids(model, X, y, sample_weight, ratios)
    else:
        given = np.sort(np.asarray(model.alphas, dtype=np.float64))[::-1]
        grids, slack = np.tile(given, (len(ratios), 1)), 0.0
    stored = np.asarray(on_host(model.alphas_), dtype=np.float64)
    expected = grids if automatic and len(ratios) > 1 else grids[0]
    if stored.shape != expected.shape or not np.allclose(stored, expected, rtol=slack, atol=0.0):
        return "alphas_ are not the candidates that were asked for."
    errors = np.asarray(model.mse_path_, dtype=np.float64)
    if errors.size == 0 or errors.size % grids.size:
        return "mse_path_ does not have an error for each candidate and fold."
    alphas = np.broadcast_to(stored, grids.shape)
    taken = (alphas == float(model.alpha_)) & (ratios == float(getattr(model, "l1_ratio_", ratios[0])))[:, None]
    if not taken.any():
        return "alpha_ or l1_ratio_ is not one of the candidates."
    if not is_first_best(errors.reshape(grids.size, -1), int(np.flatnonzero(taken)[0])):
        return "alpha_ and l1_ratio_ are not those of the least mean squared error in mse_path_."
    return ""


def _automatic_grids(model: Any, X: Any, y: Any, sample_weight: Any, ratios: Floats) -> tuple[Floats, float]:
    """The grids (ratios, alphas) from the smallest alpha at which all weights are zero, and their relative error: that
    of X'y.
    """
    X, y = validate_like_fit(model, X, y, numeric=True)
    rows = as_rows(X, y, validate_weights(sample_weight, X))
    columns, positive = rows.fold(Columns.lift), bool(getattr(model, "positive", False))
    p, intercept = columns.features, bool(model.fit_intercept)
    problem = lasso_problem(1.0, 1.0, intercept, positive=positive)
    mean = columns.mean[p:] if intercept else np.zeros(rows.targets)
    zero = Params(np.zeros((rows.targets, p)), np.array(mean))
    xty = lasso_gap(problem, rows, zero, columns, tol=float(model.tol), thorough=False).correlation
    top = float(np.max(np.linalg.norm(np.maximum(xty, 0.0) if positive else xty, axis=0), initial=0.0))
    least = float(np.finfo(np.float64).resolution)
    grids = [
        np.geomspace(top / ratio, top / ratio * model.eps, num=int(model.alphas))
        if top / ratio > least
        else np.full(int(model.alphas), least)
        for ratio in ratios
    ]
    lengths, targets = columns.lengths(origin=True)
    size = float(np.max(lengths, initial=0.0) * np.max(targets, initial=0.0)) / columns.weight
    rounding = 64.0 * unit_roundoff(numpy_dtype(X.dtype)) * size
    return np.array(grids), max(GRID_RTOL, rounding / top if top > 0.0 else 1.0)
