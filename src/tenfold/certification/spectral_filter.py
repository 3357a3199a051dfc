"""Certification of spectral filters: the path by another formula, the step that was chosen."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, is_array_api, is_dask, is_sparse, numpy_dtype, on_host, unit_roundoff, wide
from tenfold.certification.models import contradict, validate_like_fit
from tenfold.certification.outputs import Labels, Output, products
from tenfold.data import Table
from tenfold.estimators.kernel_parameter import make_kernel
from tenfold.estimators.spectral_filter.regression import filter_of
from tenfold.estimators.validation import as_rows, drop_zero_weights, validate_weights
from tenfold.judge import spectral_filter as judge
from tenfold.judge.certificate import Certificate
from tenfold.judge.kernel_samples import equal_samples
from tenfold.judge.recompute import exact

MOST_PRODUCTS = 1 << 28  # of refits without each sample, about a second


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validate_like_fit(model, X, y, numeric=True)
    weight = validate_weights(sample_weight, X)
    path, b = wide(model.coef_path_), wide(model.intercept_path_)
    dtype = numpy_dtype(model.coef_path_.dtype)
    centred = bool(model.fit_intercept)
    if model.kernel is None:
        X, y, weight = drop_zero_weights(X, y, weight) if model.stop == "holdout" else (X, y, weight)
        rows = as_rows(X, y, weight)
        certificate = (
            judge.features(rows, filter_of(model), path, b, centred, dtype)
            if _fits(path, b, rows.targets, rows.shape[1])
            else _no_path()
        )
    else:
        Y = np.asarray(on_host(y), dtype=np.float64).reshape(X.shape[0], -1)
        mass = np.ones(len(Y)) if weight is None else np.asarray(on_host(weight), dtype=np.float64)
        kernel = make_kernel(model, X)
        K = np.asarray(on_host(kernel.block(X)), dtype=np.float64)
        certificate = (
            judge.kernel(K, Y, mass, filter_of(model), path, b, centred, dtype)
            if _fits(path, b, Y.shape[1], len(Y))
            else _no_path()
        )
    complaint = _contradiction(model, X, path, b)
    return contradict(certificate, complaint) if complaint and certificate.ok else certificate


def _no_path() -> Certificate:
    return exact({"coef_path_": (np.full(1, np.inf), np.zeros(1), 1.0)}, floor=0.0)


def _fits(path: Any, b: Any, targets: int, count: int) -> bool:
    """Whether the arrays have the shapes of a path."""
    finite = bool(np.isfinite(path).all() and np.isfinite(b).all())
    return finite and path.ndim == 3 and path.shape[1:] == (targets, count) and b.shape == path.shape[:2]


def _contradiction(model: Any, X: Array, path: Any, b: Any) -> str:
    """Why another attribute contradicts the path or the data; "" where none does."""
    step = int(model.step_)
    coef = model.coef_ if model.kernel is None else model.dual_coef_
    if (
        coef is None
        or not 0 <= step < len(path)
        or not np.array_equal(wide(coef).reshape(path[step].shape), path[step])
    ):
        return "The weights are not those of the path at step_."
    own = np.broadcast_to(np.ravel(np.asarray(on_host(model.intercept_), dtype=np.float64)), path.shape[1])
    if not np.array_equal(own, b[step]):
        return "intercept_ is not that of the path at step_."
    if model.kernel is None:
        return "" if model.kernel_ is None else "kernel_ is not that of the parameters."
    if model.kernel_ != make_kernel(model, X):
        return "kernel_ is not that of the parameters."
    stored, given = (part if is_sparse(part) else on_host(part) for part in (model.X_fit_, X))
    return "" if equal_samples(stored, given) else "X_fit_ are not the samples."


def check_choice(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Why step_ is not the given one, or not that of the least error; leave-one-out errors are computed again by refits
    without each sample where these are few.
    """
    if not isinstance(model.stop, str):
        given = model.errors_ is None and int(model.step_) == int(model.stop)
        return "" if given else "step_ is not the step that was asked for."
    errors = np.asarray(model.errors_, dtype=np.float64)
    path = wide(model.coef_path_)
    if errors.shape != (len(path),) or not np.isfinite(errors).all() or int(np.argmin(errors)) != int(model.step_):
        return "step_ is not that of the least errors_."
    X, y = validate_like_fit(model, X, y, numeric=True)
    n, p = X.shape
    remote = is_array_api(X) or is_dask(X) or isinstance(X, Table)
    if model.stop != "loo" or model.kernel is not None or remote or n * (n * p + len(path) * p) * p > MOST_PRODUCTS:
        return ""
    again = _refits(model, X, y, validate_weights(sample_weight, X), len(path) - 1)
    size = float(np.max(again, initial=0.0))
    return "" if np.all(np.abs(errors - again) <= 1e-6 * size) else "errors_ are not the leave-one-out errors."


def _refits(model: Any, X: Array, y: Array, weight: Array | None, steps: int) -> Any:
    """Mean squared leave-one-out errors (steps + 1,), by the judge's path for the others of each sample."""
    X, Y = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    Y = Y.reshape(len(X), -1)
    mass = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    centred = bool(model.fit_intercept)

    def centre(inside: Any) -> tuple[Any, Any]:
        total = mass[inside].sum()
        return (mass[inside] @ X[inside] / total, mass[inside] @ Y[inside] / total) if centred else (0.0, 0.0)

    root = np.sqrt(mass)[:, None]
    first = float(np.linalg.norm(root * (X - centre(np.ones(len(X), dtype=bool))[0]), 2) ** 2) or 1.0
    squares = np.zeros(steps + 1)
    for i in np.flatnonzero(mass > 0.0):
        inside = np.arange(len(X)) != i
        mean, target_mean = centre(inside)
        path, _ = judge.of_factor(
            (root * (X - mean))[inside], (root * (Y - target_mean))[inside], filter_of(model), steps, first
        )
        fits = target_mean + path @ (X[i] - mean)
        squares += mass[i] * np.sum((Y[i] - fits) ** 2, axis=1)
    return squares / (mass.sum() * Y.shape[1])


def outputs(model: Any, X: Array) -> list[Output | Labels]:
    """Predictions from the weights and the intercept, in float64."""
    if model.kernel is None:
        coef = np.asarray(on_host(model.coef_))
        return [
            Output(
                "predict", *products(X, coef.reshape(-1, X.shape[1]), np.ravel(np.asarray(on_host(model.intercept_))))
            )
        ]
    dual, b = wide(model.dual_coef_), np.asarray(on_host(model.intercept_), dtype=np.float64)
    samples = on_host(model.X_fit_) if is_array_api(model.X_fit_) else model.X_fit_
    K = (
        X.astype(np.float64)
        if model.kernel == "precomputed"
        else np.asarray(model.kernel_.block(X.astype(np.float64), samples))
    )
    u = unit_roundoff(np.result_type(X.dtype, numpy_dtype(model.dual_coef_.dtype)))
    size = np.abs(K).max(axis=1, keepdims=True) @ np.abs(np.atleast_2d(dual)).sum(axis=1)[None] + np.abs(b)
    value = K @ np.atleast_2d(dual).T + b
    return [Output("predict", value, 64.0 * u * (X.shape[1] + 16.0) * size)]
