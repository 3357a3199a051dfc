"""Certification of mixtures: one exact EM step from the stored parameters."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array, Floats, numpy_dtype, on_host, unit_roundoff, wide
from tenfold.certification.models import fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.mixture.gaussian import GaussianMixture, problem_of
from tenfold.estimators.validation import as_rows_without_target, require_finite, validate_rows, validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.judge.mixtures import StoredFactors, em_step
from tenfold.plans.mixture_start import look
from tenfold.problems import Gaussians
from tenfold.stats.gaussians import Mixture


class _AnyRows(BaseEstimator):
    """Validates samples with missing values."""

    _allow_nan = True


def gaussian(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X = validate_rows(_AnyRows(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    rows = as_rows_without_target(X, validate_weights(sample_weight, X))
    seen = require_finite(_AnyRows(), X, lambda: look(rows))
    kind = model.covariance_type
    ours = isinstance(model, GaussianMixture)
    problem = problem_of(model, seen, X.shape[1]) if ours else Gaussians(kind, float(model.reg_covar))
    return em_step(
        rows,
        problem,
        Mixture(kind, wide(model.weights_), wide(model.means_), wide(model.covariances_)),
        missing=seen.missing,
        tol=float(model.tol),
        dtype=numpy_dtype(model.means_.dtype),
        extra=StoredFactors(wide(model.precisions_cholesky_), wide(model.precisions_), float(model.lower_bound_)),
        status=fit_status(model),
    )


def _matrices(model: Any, k: int, p: int) -> Floats:
    """The covariances of all components, (k, p, p)."""
    C, kind = np.asarray(wide(model.covariances_)), model.covariance_type
    if kind in ("full", "tied"):
        return np.broadcast_to(C, (k, p, p))
    return np.array([np.diag(np.broadcast_to(variance, p)) for variance in C])


def memberships(model: Any, X: Array) -> list[Output | Labels]:
    """Expected outputs: log densities and responsibilities, of the observed values."""
    X_, means = np.asarray(on_host(X), dtype=np.float64), wide(model.means_)
    n, (k, p) = X_.shape[0], means.shape
    matrices, z, rounding = _matrices(model, k, p), np.empty((n, k)), np.empty((n, k))
    with np.errstate(divide="ignore"):
        logs = np.log(wide(model.weights_))
    unit = unit_roundoff(numpy_dtype(X.dtype))
    for pattern in np.unique(np.isnan(X_), axis=0):
        rows, there = np.flatnonzero((np.isnan(X_) == pattern).all(axis=1)), np.flatnonzero(~pattern)
        for c in range(k):
            values, axes = np.linalg.eigh(matrices[c][np.ix_(there, there)])
            away = X_[np.ix_(rows, there)] - means[c, there]
            own = away @ (axes / np.sqrt(values))
            length = np.sum(own**2, axis=1)
            constant = len(there) * np.log(2.0 * np.pi) + np.sum(np.log(values))
            z[rows, c] = logs[c] - 0.5 * (constant + length)
            far = (np.abs(X_[np.ix_(rows, there)]) + np.abs(means[c, there])) @ np.abs(axes / np.sqrt(values))
            condition = values[-1] / values[0] if len(values) else 1.0
            # scikit-learn's diagonal kinds sum three products in place of squares of differences
            far = far**2 if model.covariance_type in ("diag", "spherical") else np.abs(own) * far
            terms = np.sum(far, axis=1) + condition * (1.0 + length) + np.sum(np.abs(np.log(values)))
            rounding[rows, c] = 16.0 * (p + 8.0) * unit * (terms + abs(constant) + 1.0)
    top = np.max(z, axis=1, keepdims=True)
    density = top[:, 0] + np.log(np.sum(np.exp(z - top), axis=1))
    # a component far away is known as badly as it is far, and adds nothing
    near = np.max(np.where(z > top - 50.0, rounding, 0.0), axis=1)
    spread = 2.0 * near + 8.0 * unit
    return [
        Output("score_samples", density, near + 4.0 * unit * np.abs(density) + 1e-15),
        Output("predict_proba", np.exp(z - density[:, None]), np.minimum(np.expm1(spread), 1.0)[:, None]),
        Labels("predict", z, np.arange(k), 2.0 * near),
    ]
