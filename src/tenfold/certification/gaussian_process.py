"""Certification of Gaussian processes: samples, targets, posterior, evidence and predictions."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import EPS, Array, Floats, is_sparse
from tenfold.certification.models import STATUS, check_known_classes, contradict
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.gaussian_process.binary import count_votes, list_pairs
from tenfold.estimators.gaussian_process.classifier import list_problems, select
from tenfold.estimators.gaussian_process.inputs import check_matrix_options
from tenfold.estimators.gaussian_process.regressor import center_and_scale, columns, noise_of
from tenfold.judge import gaussian_process as judge
from tenfold.judge.certificate import Certificate
from tenfold.judge.gaussian_process_laplace import StoredMode, combine
from tenfold.kernels.covariance import Covariance
from tenfold.linear_algebra import solve_lower
from tenfold.plans.gaussian_process_classes import certify_mode
from tenfold.plans.gaussian_process_predictions import average_logistic
from tenfold.string_codes import encode_strings, is_encoded

PROBABILITY_DISTANCE = 1e-6  # of the probabilities of queries; their function is a sum of large terms

NORMALISED_DISTANCE = 1e-6  # of stored targets, in standard deviations


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    _check_unweighted(model, sample_weight)
    check_is_fitted(model, "L_")  # it predicts without a fit
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
    """Whether stored samples are equal to the given ones; scikit-learn keeps strings as they are."""
    if is_encoded(other) and not is_sparse(one):
        one = encode_strings(one)
    if is_sparse(one) or is_sparse(other):
        return is_sparse(one) and is_sparse(other) and one.shape == other.shape and abs(one - other).sum() == 0
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return len(one) == len(other) and all(a == b for a, b in zip(one, other, strict=True))


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    _check_unweighted(model, sample_weight)
    X, y = validate_data(model, X, y, reset=False, multi_output=False, **check_matrix_options(model.kernel))
    check_known_classes(model, y)
    classes = np.asarray(model.classes_)
    index, k = np.searchsorted(classes, y), len(classes)
    problems = [(None, index)] if k == 2 else list_problems(index, k, model.multi_class)
    models = [model.base_estimator_] if k == 2 else list(model.base_estimator_.estimators_)
    if len(models) != len(problems):
        raise ValueError(f"{type(model).__name__} has {len(models)} problems; {k} classes have {len(problems)}.")
    certificates, complaint = [], ""
    for part, (inside, t) in zip(models, problems, strict=True):
        samples = select(X, inside)
        pi, root, L = (np.asarray(values, dtype=np.float64) for values in (part.pi_, part.W_sr_, part.L_))
        stored = StoredMode(pi, root, L, float(part.log_marginal_likelihood_value_))
        covariance = Covariance.of(part.kernel_, samples)
        certificates.append(certify_mode(covariance, samples, t.astype(np.float64), stored, STATUS))
        if not same_samples(part.X_train_, samples):
            complaint = "X_train_ are not the samples."
        if not np.array_equal(np.asarray(part.y_train_), t):
            complaint = "y_train_ are not the classes."
    mean = np.mean([float(part.log_marginal_likelihood_value_) for part in models])
    certificate = combine(certificates)
    if not abs(float(model.log_marginal_likelihood_value_) - mean) <= 64.0 * EPS * abs(mean):
        complaint = "log_marginal_likelihood_value_ is not the mean of the problems."
    if int(model.n_classes_) != k or (k > 2 and not np.array_equal(model.base_estimator_.classes_, classes)):
        complaint = "The classes of the model are not those of its problems."
    if k == 2 and not _are_classes(model.base_estimator_.classes_, classes):
        complaint = "The classes of the model are not those of its problems."
    return contradict(certificate, complaint) if complaint else certificate


def _are_classes(own: Any, classes: Array) -> bool:
    """Whether the classes of a process of two are those of its model, or their numbers."""
    return bool(np.array_equal(own, classes) or np.array_equal(own, [0, 1]))


def probabilities(model: Any, X: Array) -> list[Output | Labels]:
    """The classes, and the probabilities of two of them or of each against the rest, from the judged arrays."""
    k = len(model.classes_)
    models = [model.base_estimator_] if k == 2 else list(model.base_estimator_.estimators_)
    decisions = [_decide(part, X) for part in models]
    if k == 2:
        mode, rounding, second = decisions[0]
        labels = Labels("predict", np.column_stack([-mode, mode]), np.asarray(model.classes_), 2.0 * rounding)
        return [labels, Output("predict_proba", np.column_stack([1.0 - second, second]), PROBABILITY_DISTANCE)]
    seconds = np.column_stack([second for _, _, second in decisions])
    if model.multi_class == "one_vs_one":
        pairs = list_pairs(k)
        unsure = np.any([np.abs(mode) <= rounding for mode, rounding, _ in decisions], axis=0)
        votes = count_votes(np.column_stack([mode > 0.0 for mode, _, _ in decisions]), seconds, pairs, k)
        return [Labels("predict", votes, np.asarray(model.classes_), np.where(unsure, np.inf, PROBABILITY_DISTANCE))]
    shares = seconds / np.maximum(np.sum(seconds, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return [
        Labels("predict", seconds, np.asarray(model.classes_), PROBABILITY_DISTANCE),
        Output("predict_proba", shares, PROBABILITY_DISTANCE),
    ]


def _decide(part: Any, X: Array) -> tuple[Floats, Floats, Floats]:
    """The mode of a process of two classes at samples, its rounding, and the probability of the second class."""
    covariance = Covariance.of(part.kernel_, part.X_train_)
    beta = np.asarray(part.y_train_, dtype=np.float64) - part.pi_
    K = covariance.block(X, part.X_train_)
    V = solve_lower(part.L_, (K * part.W_sr_).T)
    variance = covariance.diagonal(X) - np.sum(V * V, axis=0)
    mode = K @ beta
    return mode, 64.0 * len(beta) * EPS * (np.abs(K) @ np.abs(beta)), average_logistic(mode, variance)


def means(model: Any, X: Array) -> list[Output | Labels]:
    """The means from the judged arrays."""
    covariance, dual = Covariance.of(model.kernel_, model.X_train_), columns(model.alpha_)
    K = covariance.block(X, model.X_train_)
    mean = np.asarray(model._y_train_std) * (K @ dual) + np.asarray(model._y_train_mean)
    size = (len(dual) + 64) * EPS * (np.abs(K) @ np.abs(dual)) * np.max(np.abs(model._y_train_std))
    return [Output("predict", mean, 64.0 * size + 64.0 * EPS * np.abs(mean))]
