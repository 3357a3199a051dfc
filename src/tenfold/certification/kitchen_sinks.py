"""Certification of random kitchen sinks: the residual of the ridge on the features, the draw, the choice of alpha."""

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array, is_array_api, is_dask, is_sparse, numpy_dtype, on_host, unit_roundoff, wide
from tenfold.certification.least_squares import (
    TIES,
    classification_data,
    regression_data,
)
from tenfold.certification.linear_outputs import classification as linear_classification
from tenfold.certification.linear_outputs import regression as linear_regression
from tenfold.certification.models import contradict, fit_status, take_params
from tenfold.certification.outputs import Labels, Output
from tenfold.data import MappedRows, Table
from tenfold.estimators.kernel_approximation.fourier import spectrum_of
from tenfold.estimators.kernel_approximation.kitchen_sinks import check_alphas, features_of
from tenfold.judge.certificate import Certificate
from tenfold.judge.least_squares import residual
from tenfold.judge.ridge_loo import MAX_PRODUCTS, leave_one_out_errors
from tenfold.kernels.random_features import Cosines
from tenfold.plans.least_squares import ridge_problem
from tenfold.stats.column_moments import Columns

Data = tuple[Array, Array, Array | None]


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _judge(model, *regression_data(model, X, y, sample_weight))


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _judge(model, *classification_data(model, X, y, sample_weight))


def _judge(model: Any, X: Array, Y: Array, weight: Array | None) -> Certificate:
    rows: MappedRows = features_of(model, X, Y, weight)
    columns = rows.fold(Columns.lift)
    alpha = np.full(rows.targets, float(model.alpha_))
    problem = ridge_problem(alpha, columns.weight, model.fit_intercept)
    fitted, dtype = take_params(model, rows.targets)
    certificate = residual(problem, rows, fitted, columns, status=fit_status(model), dtype=dtype).certificate
    complaint = _check_draw(model, X)
    return contradict(certificate, complaint) if complaint and certificate.ok else certificate


def _check_draw(model: Any, X: Array) -> str:
    """Why the weights are not those of the seed; "" where they are, or where there is none."""
    if not isinstance(model.random_state, numbers.Integral):
        return ""
    random = check_random_state(int(model.random_state))
    drawn = spectrum_of(model, float(model.gamma_)).draw(X.shape[1], int(model.n_components), random)
    u = unit_roundoff(numpy_dtype(model.random_weights_.dtype))
    for stored, again in zip((model.random_weights_, model.random_offset_), drawn, strict=True):
        values = wide(stored)
        if values.shape != again.shape or np.max(np.abs(values - again), initial=0.0) > 4.0 * u * np.abs(again).max():
            return "random_weights_ and random_offset_ are not those of random_state."
    return ""


def check_regression_choice(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    return _check_choice(model, lambda: regression_data(model, X, y, sample_weight))


def check_classification_choice(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    return _check_choice(model, lambda: classification_data(model, X, y, sample_weight))


def _check_choice(model: Any, data: Callable[[], Data]) -> str:
    """Why alpha_ is not the given one, or not the candidate of the least leave-one-out error, which is computed again
    where the features are few enough.
    """
    if not isinstance(model.alpha, str):
        given = float(model.alpha_) == float(model.alpha) and model.cv_errors_ is None
        return "" if given else "alpha_ is not the alpha that was given."
    grid, errors = check_alphas(model.alphas), np.asarray(model.cv_errors_, dtype=np.float64)
    if errors.shape != grid.shape or not np.isfinite(errors).all() or grid[int(np.argmin(errors))] != model.alpha_:
        return "alpha_ is not the candidate of the least cv_errors_."
    X, Y, weight = data()
    n, K = X.shape[0], int(model.n_components)
    if is_array_api(X) or is_dask(X) or isinstance(X, Table) or n * K * min(n, K) > MAX_PRODUCTS:
        return ""
    Z = Cosines(wide(model.random_weights_), wide(model.random_offset_))(
        X if is_sparse(X) else np.asarray(X, np.float64)
    )
    targets = np.asarray(on_host(Y), dtype=np.float64).reshape(n, -1)
    mass = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    again = leave_one_out_errors(Z, targets, mass, grid, bool(model.fit_intercept))
    if again is None:
        return ""
    expected = np.einsum("n,nta->a", mass, again**2) / (n * targets.shape[1])
    slack = 1e-3 if model.coef_.dtype == np.float32 else TIES
    if not np.allclose(errors, expected, rtol=slack, atol=slack * float(np.min(expected))):
        return "cv_errors_ are not the mean squared leave-one-out errors."
    return ""


def regression_outputs(model: Any, X: Array) -> list[Output | Labels]:
    return [_widen(model, X, output) for output in linear_regression(model, _features(model, X))]


def classification_outputs(model: Any, X: Array) -> list[Output | Labels]:
    return [_widen(model, X, output) for output in linear_classification(model, _features(model, X))]


def _features(model: Any, X: Array) -> Array:
    """The features in float64; of a model in float32 rounded to it, so that its rounding is expected of products."""
    Z = Cosines(wide(model.random_weights_), wide(model.random_offset_))(X.astype(np.float64))
    single = np.result_type(X.dtype, model.random_weights_.dtype) == np.float32
    return Z.astype(np.float32) if single else Z


def _widen(model: Any, X: Array, output: Output | Labels) -> Output | Labels:
    """With the rounding of the features, of the angles in the coarser dtype, times the weights."""
    W, b, coef = (wide(part) for part in (model.random_weights_, model.random_offset_, model.coef_))
    u = unit_roundoff(np.result_type(X.dtype, model.random_weights_.dtype))
    angles = np.asarray(abs(X) @ np.abs(W)) + np.abs(b)
    features = u * (X.shape[1] + 16.0) * (1.0 + angles) * np.sqrt(2.0 / len(b))
    more = features @ np.abs(coef.reshape(-1, len(b))).T
    if isinstance(output, Labels):
        return output._replace(rounding=output.rounding + 2.0 * np.max(more, axis=1))
    return output._replace(rounding=output.rounding + more)
