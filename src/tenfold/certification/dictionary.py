"""Certification of dictionaries, sparse components and sparse codes."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array, Floats, numpy_dtype, unit_roundoff, wide
from tenfold.certification.models import contradict, fit_status
from tenfold.certification.outputs import Output
from tenfold.estimators.decomposition.sparse_coding import coding_of, require_finite_squares
from tenfold.estimators.validation import require_finite, validate_rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dictionary import stationary_atoms
from tenfold.judge.sparse_codes import codes_certificate
from tenfold.plans.dictionary import encode
from tenfold.plans.sparse_components import best_scores, ridge_scores
from tenfold.problems import SparseDictionary
from tenfold.solvers.dictionary_alternation import solve_codes


def _samples(model: Any, X: Any, sample_weight: Any, features: int) -> Floats:
    if sample_weight is not None:
        raise TypeError(f"{type(model).__name__} takes no sample_weight.")
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != features:
        raise ValueError(f"X has {X.shape[1]} features, and the model {features}.")
    return require_finite(BaseEstimator(), X, lambda: require_finite_squares(X))


def _tolerance(model: Any) -> float:
    """That of the rule, or the user's where it is larger and the class stops by it: tolerances of scikit-learn's
    classes are of decreases, and those of batches of moves.
    """
    stops = type(model)._registration.judged if hasattr(type(model), "_registration") else False
    return max(RULES["stationarity"].tol, float(model.tol) if stops else 0.0)


def atoms(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of `components_` on samples; codes are solved for."""
    X = _samples(model, X, sample_weight, model.n_features_in_)
    D = np.ascontiguousarray(wide(model.components_))
    problem = SparseDictionary(float(model.alpha), bool(model.positive_code), bool(model.positive_dict))
    usable = D.ndim == 2 and D.shape[1] == X.shape[1] and bool(np.isfinite(D).all())
    W = solve_codes(X, D, problem) if usable else np.zeros((len(X), len(D)))
    dtype = numpy_dtype(model.components_.dtype)
    certificate = stationary_atoms(X, W, D, problem, tol=_tolerance(model), dtype=dtype, status=fit_status(model))
    wanted = X.shape[1] if model.n_components is None else model.n_components
    if certificate.ok and wanted != len(D):
        return contradict(certificate, f"n_components is {wanted}, and there are {len(D)} atoms.")
    return certificate


def codes(model: Any, X: Array) -> list[Output]:
    """Expected output of `transform`, from the judged atoms; scikit-learn's own codes end by a tolerance."""
    without = model.positive_code and model.transform_algorithm in ("omp", "lars")  # raises
    if without or type(model).__module__.startswith("sklearn"):
        return []
    D = np.ascontiguousarray(wide(model.components_))
    W = encode(require_finite_squares(X), D, coding_of(model, D.shape))
    if model.split_sign:
        W = np.hstack([np.maximum(W, 0.0), -np.minimum(W, 0.0)])
    size = np.max(np.abs(W), axis=1, keepdims=True, initial=0.0)
    return [Output("transform", W, 64.0 * unit_roundoff(numpy_dtype(X.dtype)) * (size + 1e-300))]


def coder(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of the codes that `transform` gives for the samples."""
    D = np.ascontiguousarray(np.asarray(model.dictionary), dtype=np.float64)
    given, X = X, _samples(model, X, sample_weight, D.shape[1])
    how = coding_of(model, D.shape)
    W = np.asarray(model.transform(given))
    dtype = W.dtype
    W = W.astype(np.float64)
    if model.split_sign:
        W = W[:, : len(D)] - W[:, len(D) :]
    certificate = codes_certificate(X, W, D, how.algorithm, how.alpha, how.count, how.positive, dtype)
    known = getattr(model, "n_components_", len(D))
    if certificate.ok and known != len(D):
        return contradict(certificate, f"n_components_ is {known}, and there are {len(D)} atoms.")
    return certificate


def components(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of sparse components: scores and lengths are solved for."""
    X = _samples(model, X, sample_weight, model.n_features_in_)
    C, mean = np.ascontiguousarray(wide(model.components_)), X.mean(axis=0)
    u = unit_roundoff(numpy_dtype(model.components_.dtype))
    problem = SparseDictionary(float(model.alpha))
    usable = C.ndim == 2 and C.shape[1] == X.shape[1] and bool(np.isfinite(C).all())
    D, lengths = best_scores(X - mean, C, problem.alpha) if usable else (np.zeros((len(C), len(X))), np.zeros(len(C)))
    W = (lengths[:, None] * C).T if usable else np.zeros((X.shape[1], len(C)))
    across = np.ascontiguousarray((X - mean).T)
    certificate = stationary_atoms(
        across, np.ascontiguousarray(W), D, problem, tol=_tolerance(model), dtype=numpy_dtype(model.components_.dtype),
        rounded_codes=True,
        status=fit_status(model),
    )  # fmt: skip
    if not certificate.ok:
        return certificate
    norms = np.linalg.norm(C, axis=1)
    if np.any((norms > 0.0) & (lengths == 0.0)):
        return contradict(certificate, "A component is not zero, and no sample has a score on it.")
    if model.n_components_ != len(C):
        return contradict(certificate, f"n_components_ is {model.n_components_}, and there are {len(C)} components.")
    if np.any(np.abs(norms - 1.0)[norms > 0.0] > 16.0 * np.sqrt(X.shape[1]) * u):
        return contradict(certificate, "A component is not of norm one.")
    own, size = np.asarray(wide(model.mean_)), np.max(np.abs(X), axis=0)
    if own.shape != mean.shape or not np.all(np.abs(own - mean) <= 16.0 * np.sqrt(len(X)) * u * size):
        return contradict(certificate, "mean_ is not the mean of the samples.")
    return certificate


def scores(model: Any, X: Array) -> list[Output]:
    """Expected output of `transform`: ridge regression on the components."""
    C, mean = np.ascontiguousarray(wide(model.components_)), np.asarray(wide(model.mean_))
    Z = ridge_scores(np.asarray(X, dtype=np.float64) - mean, C, float(model.ridge_alpha))
    A = C @ C.T
    A.flat[:: len(A) + 1] += float(model.ridge_alpha)
    values = np.linalg.eigvalsh(A)
    condition = values[-1] / values[0] if values[0] > 0.0 else np.inf
    u = max(unit_roundoff(numpy_dtype(X.dtype)), unit_roundoff(numpy_dtype(model.components_.dtype)))
    size = np.linalg.norm(np.asarray(X, dtype=np.float64), axis=1, keepdims=True) + np.linalg.norm(mean)
    return [Output("transform", Z, 64.0 * u * np.sqrt(X.shape[1]) * condition * (size + 1e-300))]
