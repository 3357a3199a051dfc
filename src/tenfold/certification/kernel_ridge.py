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
from tenfold.certification.least_squares import classification_data, regression_data
from tenfold.certification.models import contradict, fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.kernel_parameter import check_samples, make_kernel
from tenfold.estimators.square_loss import penalties
from tenfold.judge.certificate import Certificate
from tenfold.judge.dual_system import examine_kernel, kernel_ridge
from tenfold.kernels import Kernel, Precomputed


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _judge(model, *regression_data(model, X, y, sample_weight))


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _judge(model, *classification_data(model, X, y, sample_weight))


def kernel_of(model: Any, X: Array) -> Kernel:
    """The kernel of the parameters of a model; of one that chose among kernels, the one that it chose."""
    return model._chosen_kernel(X) if hasattr(model, "_chosen_kernel") else make_kernel(model, X)


def _judge(model: Any, X: Array, y: Array, weight: Array | None) -> Certificate:
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
    if not _are_equal(model.X_fit_, X):
        return "X_fit_ are not the samples that were given."
    if not hasattr(model, "kernel_"):
        return ""
    if model.kernel_ != kernel:
        return f"kernel_ is {model.kernel_!r}, the parameters say {kernel!r}."
    kept = getattr(model, "_weight", None)
    ones = np.ones(X.shape[0])
    same = np.array_equal(ones if kept is None else wide(kept), ones if weight is None else wide(weight))
    return "" if same else "The weights that the model keeps are not those that were given."


def _are_equal(one: Array, other: Array) -> bool:
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
    kernel = kernel_of(model, samples)
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
