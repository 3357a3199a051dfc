"""Certification of covariances."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array, Floats, is_sparse, numpy_dtype, unit_roundoff, wide
from tenfold.certification.outputs import Labels, Output
from tenfold.data import Rows
from tenfold.estimators.validation import as_rows_without_target, validate_rows, validate_weights
from tenfold.judge import covariance as judge
from tenfold.judge.certificate import Certificate


def read_rows(model: Any, X: Any, sample_weight: Any) -> Rows:
    """The samples, with as many features as the model has seen."""
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    return as_rows_without_target(X, validate_weights(sample_weight, X))


def _judge(model: Any, X: Any, sample_weight: Any, kind: str, amount: float | None = None) -> Certificate:
    stores = model.store_precision
    if (model.precision_ is not None) != bool(stores):
        stored_precision: Floats | None = np.full((1, 1), np.nan)
    else:
        stored_precision = wide(model.precision_) if stores else None
    own = kind in ("ledoit_wolf", "oas")
    stored = judge.Stored(
        wide(model.location_), wide(model.covariance_), stored_precision, float(model.shrinkage_) if own else None
    )
    return judge.covariance(
        read_rows(model, X, sample_weight),
        stored,
        kind=kind,
        amount=amount,
        centred=bool(model.assume_centered),
        dtype=numpy_dtype(model.covariance_.dtype),
        location_dtype=numpy_dtype(model.location_.dtype),
    )


def empirical(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _judge(model, X, sample_weight, "empirical")


def shrunk(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _judge(model, X, sample_weight, "shrunk", float(model.shrinkage))


def ledoit_wolf(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _judge(model, X, sample_weight, "ledoit_wolf")


def oas(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _judge(model, X, sample_weight, "oas")


def distances(model: Any, X: Array) -> list[Output | Labels]:
    """Squared Mahalanobis distances by the stored precision."""
    if getattr(model, "precision_", None) is None:
        return []
    P = wide(model.precision_)
    away = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64) - wide(model.location_)
    expected = np.sum(away.T * (P.T @ away.T), axis=0)
    u = max(unit_roundoff(numpy_dtype(part.dtype)) for part in (X, model.precision_))
    size = np.abs(away) + np.abs(wide(model.location_))
    rounding = 64.0 * u * len(P) * np.einsum("ij,jk,ik->i", size, np.abs(P), size) + np.finfo(np.float64).tiny
    return [Output("mahalanobis", expected[:, None], rounding[:, None])]
