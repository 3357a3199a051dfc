"""Certification of kernel ridge: the residual of the dual system, and the samples that a model keeps."""

from typing import Any

import numpy as np

from tenfold.arrays import (
    Array,
    Floats,
    is_array_api,
    is_sparse,
    namespace,
    numpy_dtype,
    on_host,
    unit_roundoff,
    wide,
)
from tenfold.certification import kernel_centres
from tenfold.certification.least_squares import classification_data, regression_data
from tenfold.certification.models import contradict, fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.cross_validation.kernel_ridge import error_bound
from tenfold.cross_validation.prediction_scores import choose
from tenfold.estimators.kernel_parameter import check_samples, make_kernel
from tenfold.estimators.square_loss import penalties
from tenfold.judge.certificate import Certificate
from tenfold.judge.dual_system import examine_kernel, kernel_ridge
from tenfold.judge.kernel_loo import MAX_PRODUCTS, sum_squared_errors
from tenfold.kernels import Kernel, Precomputed


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _judge(model, *regression_data(model, X, y, sample_weight))


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _judge(model, *classification_data(model, X, y, sample_weight))


def kernel_of(model: Any, X: Array) -> Kernel:
    """The kernel of the parameters of a model; of one that chose among kernels, the one that it chose."""
    return model._find_kernel(X) if hasattr(model, "_find_kernel") else make_kernel(model, X)


def _judge(model: Any, X: Array, y: Array, weight: Array | None) -> Certificate:
    if getattr(model, "centres", None) is not None:
        return kernel_centres.ridge(model, X, y, weight)
    X = check_samples(model.kernel, X)
    kernel = kernel_of(model, X)
    Y = y[:, None] if y.ndim == 1 else y
    coef = model.dual_coef_
    coef = coef[:, None] if coef.ndim == 1 else coef
    if tuple(coef.shape) != tuple(Y.shape):
        raise ValueError(
            f"The model has dual coefficients of shape {tuple(coef.shape)}, the targets are of shape {tuple(Y.shape)}: "
            "kernel ridge is judged on the samples of its fit."
        )
    alpha = penalties(getattr(model, "alpha_", getattr(model, "alpha", None)), Y.shape[1])
    report = examine_kernel(kernel, X)
    verdict = kernel_ridge(
        kernel, X, Y, weight, alpha, coef, psd=report is None or bool(report), status=fit_status(model)
    )
    complaint = "" if report is None or report else f"The kernel matrix is {report.explain()}."
    complaint = complaint or _compare(model, kernel, X, weight)
    return contradict(verdict, complaint) if complaint else verdict


def _compare(model: Any, kernel: Kernel, X: Array, weight: Array | None) -> str:
    """Why what the model keeps beside its coefficients is not what it was given; empty where it is."""
    if not are_equal(model.X_fit_, X):
        return "X_fit_ are not the samples that were given."
    if not hasattr(model, "kernel_"):
        return ""
    if model.kernel_ != kernel:
        return f"kernel_ is {model.kernel_!r}, the parameters say {kernel!r}."
    kept = getattr(model, "_weight", None)
    ones = np.ones(X.shape[0])
    same = np.array_equal(ones if kept is None else wide(kept), ones if weight is None else wide(weight))
    return "" if same else "The weights that the model keeps are not those that were given."


def are_equal(one: Array, other: Array) -> bool:
    if tuple(one.shape) != tuple(other.shape):
        return False
    if is_sparse(one) or is_sparse(other):
        difference = one != other
        return difference.nnz == 0 if is_sparse(difference) else not np.any(difference)
    if is_array_api(one) and is_array_api(other):
        return bool(namespace(one).all(one == other))
    return bool(np.array_equal(on_host(one), on_host(other)))


def _values(model: Any, X: Array) -> tuple[Floats, Floats]:
    """f (m, t) in float64, and a bound on its rounding in the dtype of the model and the samples."""
    samples = on_host(model.X_fit_) if is_array_api(model.X_fit_) else model.X_fit_
    kernel = model.kernel_ if hasattr(model, "kernel_") else kernel_of(model, samples)  # compared with the parameters
    coef = wide(model.dual_coef_)
    coef = coef.reshape(len(coef), -1)
    X = X.toarray() if is_sparse(X) and isinstance(kernel, Precomputed) else X
    value = wide(kernel.multiply(X, samples, coef))
    if isinstance(kernel, Precomputed):
        size = np.abs(X) @ np.abs(coef)
    else:
        reach = np.sqrt(np.maximum(wide(kernel.diag(X)), 0.0))
        size = reach[:, None] * (np.sqrt(np.maximum(wide(kernel.diag(samples)), 0.0)) @ np.abs(coef))
    u = max(unit_roundoff(numpy_dtype(part.dtype)) for part in (X, model.dual_coef_, samples))
    return value, (8.0 + 4.0 * len(coef)) * u * size + np.finfo(np.float64).tiny


def predictions(model: Any, X: Array) -> list[Output | Labels]:
    return [Output("predict", *_values(model, X))]


def decisions(model: Any, X: Array) -> list[Output | Labels]:
    """Expected labels: the sign for two classes, else the largest value."""
    z, rounding = _values(model, X)
    outputs: list[Output | Labels] = [Output("decision_function", z, rounding)]
    classes = np.asarray(on_host(model.classes_))
    if model._several or len(classes) < 2:
        return outputs
    if z.shape[1] == 1:
        z, rounding = np.column_stack([-z, z]), 2.0 * rounding
    return [*outputs, Labels("predict", z, classes, 2.0 * np.max(rounding, axis=1))]


def check_regression_choice(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    return _check_choice(model, *regression_data(model, X, y, sample_weight))


def check_classification_choice(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    return _check_choice(model, *classification_data(model, X, y, sample_weight))


TIES = 1e-6  # relative difference up to which scores are equal: sums may be in another order


def _check_choice(model: Any, X: Array, y: Array, weight: Array | None) -> str:
    """Why the alpha and the kernel are not those of the grid, or not the best by the stored scores; and by
    leave-one-out errors that are computed again where there is no `scoring` and few samples.
    """
    X = check_samples(model.kernel, X)
    candidates, alphas = model._candidate_kernels(X), np.ravel(np.asarray(model.alphas, dtype=np.float64))
    gammas = [gamma for gamma, _ in candidates]
    if not np.array_equal(model.alphas_, alphas):
        return "alphas_ are not the candidates that were given."
    if len(model.gammas_) != len(gammas) or any(a != b for a, b in zip(model.gammas_, gammas, strict=True)):
        return "gammas_ are not the candidates of the parameters."
    table = model.cv_results_
    grid = np.tile(alphas, len(candidates)), np.repeat([np.nan if g is None else g for g in gammas], len(alphas))
    if not (
        np.array_equal(table["param_alpha"], grid[0]) and np.array_equal(table["param_gamma"], grid[1], equal_nan=True)
    ):
        return "cv_results_ are not of the candidates."
    scores = np.asarray(table["mean_test_score"], dtype=np.float64).reshape(len(candidates), len(alphas))
    kernels = [g for g, (gamma, kernel) in enumerate(candidates) if gamma == model.gamma_ and kernel == model.kernel_]
    places = np.flatnonzero(alphas == model.alpha_)
    if not kernels or not places.size:
        return "alpha_ and gamma_ are not of the candidates."
    if (kernels[0], int(places[0])) != choose(scores, alphas) or scores[kernels[0], places[0]] != model.best_score_:
        return "alpha_, gamma_ and best_score_ are not the best of cv_results_."
    if model.cv is not None or model.scoring is not None:
        return ""
    return _compare_errors(candidates, scores, alphas, X, y, weight)


def _compare_errors(candidates: Any, scores: Floats, alphas: Floats, X: Array, y: Array, weight: Array | None) -> str:
    """Why the stored scores are not minus the mean squared leave-one-out errors."""
    Y = wide(y).reshape(X.shape[0], -1)
    n, mass = len(Y), np.ones(X.shape[0]) if weight is None else wide(weight)
    if float(n) ** 3 * scores.size > MAX_PRODUCTS or is_array_api(X):
        return ""
    for (_, kernel), own in zip(candidates, scores, strict=True):
        sums = sum_squared_errors(kernel, X, Y, mass, alphas)
        if sums is None:
            continue
        bound = np.maximum(TIES, 1e2 * error_bound(float(np.sum(wide(kernel.diag(X)) * mass)), alphas))
        if not np.all(np.abs(own + sums / Y.size) <= bound * np.maximum(sums / Y.size, np.mean(Y**2) * 1e-12)):
            return "cv_results_ are not the mean squared leave-one-out errors."
    return ""
