"""Certification of non-negative factors: the projected gradients at the components and the best W for them."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array, contiguous, numpy_dtype, unit_roundoff, wide
from tenfold.certification.models import contradict, fit_status
from tenfold.certification.outputs import Output
from tenfold.estimators.decomposition.nmf_model import check_signs, checker_of, problem_of
from tenfold.estimators.validation import require_finite, validate_rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.factorization import stationary_factors
from tenfold.objectives.factorization import gram, has_missing
from tenfold.plans.factorization import WITNESS, best_codes, tolerance


class _MayMiss(BaseEstimator):
    """Validates samples with missing entries."""

    _allow_nan = True


def factors(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of `components_` on samples; W is solved for."""
    if sample_weight is not None:
        raise TypeError(f"{type(model).__name__} takes no sample_weight.")
    X = contiguous(validate_rows(_MayMiss() if getattr(model, "missing", "error") == "ignore" else BaseEstimator(), X))
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    require_finite(BaseEstimator(), X, partial(checker_of(model, X), X))
    check_signs(X, "certify (input X)")
    H, problem, tol = wide(model.components_), problem_of(model, X.shape), tolerance(float(model.tol))
    usable = H.ndim == 2 and H.shape[1] == X.shape[1] and bool(np.isfinite(H).all()) and float(H.min()) >= 0.0
    W = best_codes(X, H, problem, tol=WITNESS * tol) if usable else np.zeros((X.shape[0], len(H)))
    certificate = stationary_factors(
        X,
        W,
        H,
        problem,
        error=getattr(model, "reconstruction_err_", None),
        tol=tol,
        dtype=numpy_dtype(model.components_.dtype),
        status=fit_status(model),
    )
    if certificate.ok and model.n_components_ != len(H):
        return contradict(certificate, f"n_components_ is {model.n_components_}, and there are {len(H)} components.")
    return certificate


def codes(model: Any, X: Array) -> list[Output]:
    """Expected output of `transform` for the squared loss: exact non-negative least squares. scikit-learn's own ends by
    its tolerance, which says nothing of the distance, and where components depend on each other W is not unique.
    """
    problem = problem_of(model, X.shape)
    if problem.beta != 2.0 or has_missing(X) or type(model).__module__.startswith("sklearn"):
        return []
    H, X = wide(model.components_), contiguous(X)
    W = best_codes(X, H, problem, tol=0.0)
    A = gram(np.ascontiguousarray(H.T)) + problem.l2_W * np.eye(len(H))
    values = np.linalg.eigvalsh(A)
    condition = values[-1] / values[0] if values[0] > 0.0 else np.inf
    size = np.max(np.abs(W), axis=1, keepdims=True, initial=0.0)
    return [Output("transform", W, 64.0 * len(H) * unit_roundoff(numpy_dtype(X.dtype)) * condition * (size + 1e-300))]
