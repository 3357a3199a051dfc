"""Certification of least squares: the residual of the fitted weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import compute_sample_weight

from tenfold.arrays import Array, Floats, is_array_api, is_dask, is_sparse, like, namespace, on_host
from tenfold.certification.models import check_known_classes, fit_status, take_params, validate_like_fit
from tenfold.data import Table
from tenfold.estimators.class_labels import compute_class_weights, label_indices, sample_factors
from tenfold.estimators.square_loss import signs
from tenfold.estimators.validation import as_rows, validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.judge.least_squares import residual
from tenfold.judge.ridge_loo import MAX_PRODUCTS, leave_one_out_errors
from tenfold.plans.least_squares import ridge_problem
from tenfold.stats.column_moments import Columns


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _least_squares(model, *regression_data(model, X, y, sample_weight))


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _least_squares(model, *classification_data(model, X, y, sample_weight))


def regression_data(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array | None]:
    """X, the targets and the weights."""
    X, y = validate_like_fit(model, X, y, numeric=True)
    return X, y, validate_weights(sample_weight, X)


def classification_data(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array | None]:
    """X, targets of -1 and +1, and the weights with those of the classes."""
    X, y = validate_like_fit(model, X, y, numeric=False)
    weight = validate_weights(sample_weight, X)
    if y.ndim == 1:
        check_known_classes(model, y)
        Y = signs(label_indices(model.classes_, y, X), model.classes_.shape[0])
    else:
        Y = namespace(y).where(y > 0, 1.0, -1.0)
    if model.class_weight is not None:
        factor = _balance(model, y, X)
        weight = factor if weight is None else weight * factor
    return X, Y, weight


def _balance(model: Any, y: Array, X: Array) -> Array:
    """The class weight of each sample."""
    if is_dask(y) and y.ndim == 1:
        number = label_indices(model.classes_, y, X)
        return sample_factors(compute_class_weights(model.class_weight, model.classes_, number, None), number)
    factor = np.asarray(compute_sample_weight(model.class_weight, on_host(y)), dtype=np.float64)
    return like(factor, X) if is_array_api(X) else factor


def _least_squares(model: Any, X: Array, y: Array, weight: Array | None) -> Certificate:
    rows = as_rows(X, y, weight)
    columns = rows.fold(Columns.lift)
    alpha = np.asarray(getattr(model, "alpha_", getattr(model, "alpha", 0.0)), dtype=np.float64)
    alpha = np.array(np.broadcast_to(np.ravel(alpha), rows.targets))
    problem = ridge_problem(alpha, columns.weight, model.fit_intercept, getattr(model, "positive", False))
    fitted, dtype = take_params(model, rows.targets)
    return residual(problem, rows, fitted, columns, status=fit_status(model), dtype=dtype).certificate


def check_regression_choice(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    return _check_choice(model, lambda: regression_data(model, X, y, sample_weight))


def check_classification_choice(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    return _check_choice(model, lambda: classification_data(model, X, y, sample_weight))


TIES = 1e-6  # relative difference up to which scores are equal: sums may be in another order


def _check_choice(model: Any, data: Callable[[], tuple[Array, Array, Array | None]]) -> str:
    """Why the penalty is not one of the grid, or not the best by the stored scores, of which the first is taken among
    equal ones; and by leave-one-out errors that are computed again where there is no `scoring` and X is small enough.
    """
    grid = np.ravel(np.asarray(model.alphas, dtype=np.float64))
    alpha = np.ravel(np.asarray(model.alpha_, dtype=np.float64))
    if not np.isin(alpha, grid).all():
        return f"alpha_ is {model.alpha_!r}, which is not one of the candidates."
    if hasattr(model, "alphas_") and not np.array_equal(np.asarray(model.alphas_), grid):
        return "alphas_ are not the candidates that were given."
    per_target = bool(getattr(model, "alpha_per_target", False))
    if hasattr(model, "cv_errors_") and not per_target and (model.cv is not None or model.scoring is None):
        errors = np.asarray(model.cv_errors_, dtype=np.float64)
        best = int(np.nanargmin(errors)) if np.isfinite(errors).any() else 0
        if errors.shape != grid.shape or grid[best] != alpha[0]:
            return "alpha_ is not the candidate of the least cv_errors_."
        if not np.isclose(-errors[best], model.best_score_, rtol=1e-12, atol=0.0, equal_nan=True):
            return "best_score_ is not that of the least cv_errors_."
    if model.cv is not None or model.scoring is not None:
        return ""
    errors_again = _leave_one_out(*data(), grid, bool(model.fit_intercept))
    if errors_again is None:
        return ""
    squares, weight = errors_again
    scores = -np.mean(weight[:, None, None] * squares, axis=0)  # (t, alphas)
    own = np.ravel(np.asarray(model.best_score_, dtype=np.float64))
    if not per_target:
        scores = np.mean(scores, axis=0, keepdims=True)
        stored = getattr(model, "cv_errors_", None)
        if stored is not None and not np.allclose(stored, -scores[0], rtol=TIES, atol=0.0):
            return "cv_errors_ are not the mean squared leave-one-out errors."
    best_scores = np.max(scores, axis=1)
    taken = scores[np.arange(len(scores)), [int(np.flatnonzero(grid == one)[0]) for one in _repeat(alpha, scores)]]
    slack = TIES * np.abs(best_scores)
    if not np.all(taken >= best_scores - slack):
        return "alpha_ is not the candidate of the least mean squared leave-one-out error."
    if own.shape != taken.shape or not np.all(np.abs(own - taken) <= slack):
        return "best_score_ is not the leave-one-out score of alpha_."
    return _check_results(model, squares, weight)


def _repeat(alpha: Floats, scores: Floats) -> Floats:
    """One alpha for each row of scores."""
    return np.broadcast_to(alpha, len(scores)) if alpha.size == 1 else alpha


def _check_results(model: Any, squares: Floats, weight: Floats) -> str:
    """Why the stored squared errors of all samples are not those that were computed again."""
    stored = getattr(model, "cv_results_", None)
    if stored is None:
        return ""
    stored, expected = np.asarray(stored, dtype=np.float64), weight[:, None, None] * squares
    size = np.sqrt(np.mean(expected))
    if stored.size != expected.size:
        return "cv_results_ does not have one error for each sample and candidate."
    away = np.abs(np.sqrt(np.abs(stored.reshape(expected.shape))) - np.sqrt(expected))
    return (
        ""
        if np.all(away <= TIES * size) and np.all(stored >= 0.0)
        else ("cv_results_ are not the squared leave-one-out errors.")
    )


def _leave_one_out(
    X: Array, Y: Array, weight: Array | None, grid: Floats, intercept: bool
) -> tuple[Floats, Floats] | None:
    """Squared errors (n, t, alphas) and weights; None where X is elsewhere or large, or rounding hides the errors."""
    n, p = X.shape
    if is_array_api(X) or isinstance(X, Table) or n * p * min(n, p) > MAX_PRODUCTS:
        return None
    dense = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    targets = np.asarray(Y, dtype=np.float64).reshape(n, -1)
    mass = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    errors = leave_one_out_errors(dense, targets, mass, grid, intercept)
    return None if errors is None else (np.square(errors), mass)
