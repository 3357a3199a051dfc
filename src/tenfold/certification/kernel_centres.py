"""Certification of kernel least squares on centres."""

from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array, Floats, is_array_api, is_dask, is_sparse, like, on_host, unit_roundoff
from tenfold.certification.least_squares import classification_data, regression_data
from tenfold.certification.models import contradict, fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.data import Rows
from tenfold.estimators.centres_parameter import read_centres
from tenfold.estimators.falkon import HOLD_OUT, match_storage
from tenfold.estimators.kernel_parameter import WITH_GAMMA, check_samples, make_kernel, name_kernel
from tenfold.estimators.square_loss import penalties
from tenfold.estimators.validation import as_rows, total_weight
from tenfold.judge import kernel_centres as judge
from tenfold.judge.certificate import RULES, Certificate
from tenfold.stats.derivatives import Params


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _certify(model, *regression_data(model, X, y, sample_weight))


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _certify(model, *classification_data(model, X, y, sample_weight))


def _certify(model: Any, X: Array, y: Array, weight: Array | None) -> Certificate:
    certificate = _judge(
        model, as_rows(X, y, weight), X, float(model.alpha_), bool(model.fit_intercept), tol=float(model.tol)
    )
    complaint = _check_parameters(model, X)
    return contradict(certificate, complaint) if complaint else certificate


def ridge(model: Any, X: Array, y: Array, weight: Array | None) -> Certificate:
    """Of kernel ridge with centres: sums of squares and alpha, and no intercept."""
    rows = as_rows(check_samples(model.kernel, X), y, weight)
    alpha = penalties(model.alpha, rows.targets) / total_weight(rows.whole().y, weight)
    certificate = _judge(model, rows, X, alpha, False, tol=RULES["gap"].tol)
    kernel = make_kernel(model, X)
    if model.kernel_ != kernel:
        return contradict(certificate, f"kernel_ is {model.kernel_!r}, the parameters say {kernel!r}.")
    return certificate


def _judge(model: Any, rows: Rows, X: Array, penalty: Any, intercept: bool, *, tol: float) -> Certificate:
    centres, coef, b = _take(model)
    if is_array_api(X) and not is_dask(X):
        centres = like(centres, X)
    elif not is_dask(X) and is_sparse(X) != is_sparse(centres):
        centres = match_storage(X, centres)[1]
    if coef.shape != (centres.shape[0], rows.targets) or b.shape != (rows.targets,):
        raise ValueError(
            f"dual_coef_ must have one number for each of {centres.shape[0]} centres and {rows.targets} targets, and "
            f"intercept_ one for each target; got {coef.shape} and {b.shape}."
        )
    subject = read_centres(model, X).describe(centres.shape[0])
    return judge.certify(
        rows,
        model.kernel_,
        centres,
        Params(coef, b),
        penalty,
        intercept,
        tol=tol,
        status=fit_status(model),
        subject=subject,
    )


def _take(model: Any) -> tuple[Array, Floats, Floats]:
    """Centres in memory, coefficients (m, t) and intercepts (t,)."""
    centres = model.centres_ if hasattr(model, "centres_") else model.X_fit_
    centres = centres if is_sparse(centres) else on_host(centres)
    coef = np.asarray(on_host(model.dual_coef_), dtype=np.float64)
    coef = np.ascontiguousarray(coef[:, None] if coef.ndim == 1 else coef)
    intercept = np.ravel(np.asarray(on_host(getattr(model, "intercept_", 0.0)), dtype=np.float64))
    return centres, coef, np.array(np.broadcast_to(intercept, coef.shape[1:])) if intercept.size == 1 else intercept


def _check_parameters(model: Any, X: Array) -> str:
    """Why penalty and kernel are not those that the parameters name."""
    alpha = model.alpha
    if not isinstance(alpha, str) and float(model.alpha_) not in np.ravel(np.asarray(alpha, dtype=np.float64)):
        return f"alpha_ is {model.alpha_!r}, and the parameter alpha is {alpha!r}."
    if not any(model.kernel_ == kernel for kernel in _name_kernels(model, X)):
        return f"kernel_ is {model.kernel_!r}, which is not a kernel that the parameters name."
    return ""


def _name_kernels(model: Any, X: Array) -> list[Any]:
    """The kernels that the parameters name; where gamma depends on the samples, the one that is stored with any width
    that its class has.
    """
    gamma = model.gamma if isinstance(model.kernel, str) and model.kernel in WITH_GAMMA else None
    rest = {"degree": model.degree, "coef0": model.coef0, "params": model.kernel_params}
    if isinstance(gamma, str) and gamma in (HOLD_OUT, "scale"):
        same = type(name_kernel(model.kernel, X, gamma=1.0, **rest)) is type(model.kernel_)
        return [model.kernel_] if same else []
    gammas = [gamma] if gamma is None or isinstance(gamma, str) else np.ravel(np.asarray(gamma, dtype=np.float64))
    return [
        name_kernel(model.kernel, X, gamma=value if value is None or isinstance(value, str) else float(value), **rest)
        for value in gammas
    ]


def check_choice(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Why penalty or kernel are not the best by the stored errors."""
    errors = getattr(model, "hold_out_errors_", None)
    if errors is None or not np.isfinite(errors).any():
        return ""
    i, j = np.unravel_index(int(np.nanargmin(errors)), errors.shape)
    given = np.ravel(np.asarray(model.alphas_, dtype=np.float64))
    if errors.shape[1:] != given.shape or given[j] != model.alpha_:
        return "alpha_ is not the candidate of the least hold_out_errors_."
    if not isinstance(model.alpha, str) and not np.array_equal(given, np.ravel(np.asarray(model.alpha, dtype=float))):
        return "alphas_ are not the candidates that were given."
    if np.ndim(model.gamma) == 1 and model.kernel_ != _name_kernels(model, X)[i]:
        return "kernel_ is not the candidate of the least hold_out_errors_."
    return ""


def _scores(model: Any, X: Array) -> tuple[Floats, Floats]:
    """Raw predictions (n, t) in float64 from a block of the kernel, and a bound on their rounding."""
    centres, coef, b = _take(model)
    X, centres = match_storage(X, centres)
    K = np.asarray(model.kernel_.block(X, centres), dtype=np.float64)
    size = np.abs(K) @ np.abs(coef) + np.abs(b)
    u = EPS * (len(coef) + 64.0)
    stored = unit_roundoff(X.dtype) * (np.abs(K @ coef + b))
    return K @ coef + b, u * size + 2.0 * stored + np.finfo(np.float64).tiny


def predictions(model: Any, X: Array) -> list[Output | Labels]:
    return [Output("predict", *_scores(model, X))]


def labels(model: Any, X: Array) -> list[Output | Labels]:
    """Scores, and the label of the largest."""
    z, rounding = _scores(model, X)
    outputs: list[Output | Labels] = [Output("decision_function", z, rounding)]
    classes = np.asarray(on_host(model.classes_))
    if z.shape[1] == 1 and len(classes) == 2:
        z, rounding = np.column_stack([-z, z]), 2.0 * rounding
    if z.shape[1] != len(classes) or len(classes) < 2 or getattr(model, "_several", False):
        return outputs
    return [*outputs, Labels("predict", z, classes, 2.0 * np.max(rounding, axis=1))]
