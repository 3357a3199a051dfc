"""Certification of mixtures of multinomials and of Bernoulli features: one exact EM step from the stored parameters."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array, is_sparse, numpy_dtype, unit_roundoff
from tenfold.certification.models import fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.validation import require_finite, validate_rows, validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.judge.discrete_mixtures import em_step


def discrete(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Whether the parameters are a fixed point of EM."""
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    rows, steps = model._rows_and_steps(X, validate_weights(sample_weight, X))

    def judge() -> Certificate:
        return em_step(
            rows,
            steps.prior,
            model._mixture(),
            steps.threshold,
            tol=float(model.tol),
            dtype=numpy_dtype(model.feature_log_prob_.dtype),
            bound=float(model.lower_bound_),
            status=fit_status(model),
        )

    return require_finite(BaseEstimator(), X, judge)


def memberships(model: Any, X: Array) -> list[Output | Labels]:
    """Expected outputs: log probabilities and responsibilities."""
    mixture, threshold = model._mixture(), model._threshold()
    values = X.toarray() if is_sparse(X) else np.asarray(X)
    values = np.asarray(values, dtype=np.float64)
    values = (values > threshold).astype(np.float64) if threshold is not None else values
    logs = mixture.logs
    z = values @ logs.T + mixture.log_weights
    size = np.abs(values) @ np.abs(logs).T
    if mixture.kind == "bernoulli":
        z += (1.0 - values) @ mixture.off.T
        size += (1.0 + np.abs(values)) @ np.abs(mixture.off).T
    top = np.max(z, axis=1, keepdims=True)
    density = top + np.log(np.sum(np.exp(z - top), axis=1, keepdims=True))
    unit = unit_roundoff(numpy_dtype(X.dtype))
    rounding = 8.0 * (values.shape[1] + 8.0) * np.finfo(np.float64).eps * (size + 1.0)
    near = np.max(np.where(z > top - 50.0, rounding, 0.0), axis=1)
    spread = np.minimum(np.expm1(2.0 * near) + 8.0 * unit, 1.0)[:, None]
    return [
        Output("score_samples", density[:, 0], near + 8.0 * unit * (1.0 + np.abs(density[:, 0]))),
        Output("predict_proba", np.exp(z - density), spread),
        Labels("predict", z, np.arange(len(mixture.weights)), 2.0 * near + 8.0 * unit),
    ]
