"""Certification of variational Gaussian mixtures: one exact step from the stored posterior."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array, numpy_dtype, unit_roundoff, wide
from tenfold.certification.mixture import memberships as memberships_of_mixture
from tenfold.certification.models import contradict, fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.mixture.bayesian import prior_of, read_posterior
from tenfold.estimators.validation import as_rows_without_target, require_finite, validate_rows, validate_weights
from tenfold.judge.bayesian_mixture import StoredPosterior, variational_step
from tenfold.judge.certificate import Certificate
from tenfold.stats.variational import VariationalPrior


def variational(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Whether the posterior is a fixed point, and weights, precisions and the prior are its own."""
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    rows = as_rows_without_target(X, validate_weights(sample_weight, X))
    prior = require_finite(BaseEstimator(), X, lambda: prior_of(model, rows))
    dtype = numpy_dtype(model.means_.dtype)
    extra = StoredPosterior(
        wide(model.weights_),
        wide(model.precisions_cholesky_),
        wide(model.precisions_),
        float(np.ravel(model.lower_bound_)[0]),
    )
    certificate = variational_step(
        rows, prior, read_posterior(model), tol=float(model.tol), dtype=dtype, extra=extra, status=fit_status(model)
    )
    wrong = _complain_of_prior(model, prior, unit_roundoff(dtype))
    return contradict(certificate, wrong) if wrong else certificate


def _complain_of_prior(model: Any, prior: VariationalPrior, unit: float) -> str:
    """Which stored number of the prior is not that of the parameters and the samples; "" where there is none."""
    scale = np.asarray(prior.scale)
    spread = np.sqrt(np.max(np.diag(scale) if scale.ndim == 2 else scale))
    known: dict[str, tuple[Any, Any]] = {
        "weight_concentration_prior_": (prior.concentration, prior.concentration),
        "mean_precision_prior_": (prior.mean_precision, prior.mean_precision),
        "degrees_of_freedom_prior_": (prior.degrees, prior.degrees),
        "mean_prior_": (prior.mean, np.max(np.abs(prior.mean)) + spread),
        "covariance_prior_": (scale, np.max(np.abs(scale))),
    }
    for name, (value, size) in known.items():
        stored = np.asarray(wide(getattr(model, name)) if np.ndim(getattr(model, name)) else getattr(model, name))
        if stored.shape != np.shape(value) or not np.all(np.abs(stored - value) <= max(1e3 * unit, 1e-9) * size):
            return f"{name} is not that of the parameters and the samples."
    return ""


def memberships(model: Any, X: Array) -> list[Output | Labels]:
    """Expected outputs: log densities and responsibilities of the mixture of the same joint."""
    joint = read_posterior(model).mixture
    same = SimpleNamespace(
        weights_=joint.weights,
        means_=joint.means,
        covariances_=joint.covariances,
        covariance_type=model.covariance_type,
    )
    return memberships_of_mixture(same, X)
