"""Certification of Gaussian processes: samples, targets, posterior, evidence and predictions."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tenfold.arrays import EPS, Array, Floats, is_sparse
from tenfold.certification.models import STATUS, contradict
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.gaussian_process.inputs import check_matrix_options
from tenfold.estimators.gaussian_process.regression import center_and_scale, columns, noise_of
from tenfold.judge import gaussian_process as judge
from tenfold.judge.certificate import Certificate
from tenfold.kernels.covariance import Covariance

NORMALISED_DISTANCE = 1e-6  # of stored targets, in standard deviations


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    _check_unweighted(model, sample_weight)
    X, y = validate_data(
        model, X, y, reset=False, multi_output=True, y_numeric=True, **check_matrix_options(model.kernel)
    )
    alpha = noise_of(model.alpha, y.shape[0])
    stored = judge.Stored(
        Covariance.of(model.kernel_, X),
        alpha,
        np.asarray(model.L_, dtype=np.float64),
        columns(model.alpha_),
        float(model.log_marginal_likelihood_value_),
    )
    targets, complaint = _normalise(model, columns(y))
    if not complaint and not same_samples(model.X_train_, X):
        complaint = "X_train_ are not the samples."
    optimised = model.optimizer is not None
    certificate = judge.regression(stored, X, targets, optimised=optimised, status=STATUS)
    if complaint or columns(model.alpha_).shape != targets.shape:
        return contradict(certificate, complaint or "alpha_ has another shape than the targets.")
    return certificate


def _check_unweighted(model: Any, sample_weight: Any) -> None:
    if sample_weight is not None:
        raise ValueError(f"{type(model).__name__} has no sample weights: give variances of the noise, alpha, to fit.")


def _normalise(model: Any, y: Floats) -> tuple[Floats, str]:
    """The targets as the process has them, and a complaint where those of the model are others."""
    mean, scale = np.zeros(y.shape[1]), np.ones(y.shape[1])
    if model.normalize_y:
        mean, scale = (np.atleast_1d(part) for part in center_and_scale(y))
    own_mean, own_scale = (np.ravel(part) for part in (model._y_train_mean, model._y_train_std))
    kept = columns(model.y_train_)
    if kept.shape != y.shape or own_mean.shape != mean.shape or own_scale.shape != scale.shape:
        return y, "y_train_ are not the targets."
    rounding = 64.0 * len(y) * EPS * np.max(np.abs(y), axis=0)
    if np.any(np.abs(own_mean - mean) > NORMALISED_DISTANCE * scale + rounding) or np.any(
        np.abs(own_scale - scale) > NORMALISED_DISTANCE * scale + rounding
    ):
        return y, "The targets were normalised by other numbers than their means and standard deviations."
    again = (y - own_mean) / own_scale
    allowed = (
        8.0
        * np.finfo(np.asarray(model.y_train_).dtype if np.asarray(model.y_train_).dtype.kind == "f" else np.float64).eps
    )
    if np.any(np.abs(kept - again) > allowed * (np.abs(y) + np.abs(own_mean)) / own_scale):
        return again, "y_train_ are not the targets."
    return kept, ""


def same_samples(one: Any, other: Any) -> bool:
    """Whether stored samples are equal to the given ones."""
    if is_sparse(one) or is_sparse(other):
        return is_sparse(one) and is_sparse(other) and one.shape == other.shape and abs(one - other).sum() == 0
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return len(one) == len(other) and all(a == b for a, b in zip(one, other, strict=True))


def means(model: Any, X: Array) -> list[Output | Labels]:
    """The means from the judged arrays."""
    covariance, dual = Covariance.of(model.kernel_, model.X_train_), columns(model.alpha_)
    K = covariance.block(X, model.X_train_)
    mean = np.asarray(model._y_train_std) * (K @ dual) + np.asarray(model._y_train_mean)
    size = (len(dual) + 64) * EPS * (np.abs(K) @ np.abs(dual)) * np.max(np.abs(model._y_train_std))
    return [Output("predict", mean, 64.0 * size + 64.0 * EPS * np.abs(mean))]
