"""Canonical correlations and partial least squares: pairs of directions, and whether a better one was left out."""

from typing import Any

from sklearn.base import BaseEstimator

from tenfold.arrays import numpy_dtype
from tenfold.certification.models import status, validated
from tenfold.data import Rows
from tenfold.estimators.contract import as_rows, rows_alone, validate_rows, validate_weights
from tenfold.estimators.two_blocks.blocks import latent, ridges
from tenfold.estimators.two_blocks.views import judged
from tenfold.judge.certificate import Certificate
from tenfold.judge.two_blocks import canonical, deflated, singular


def _rows(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    X, y = validated(model, X, y, numeric=True)
    t = 1 if y.ndim == 1 else y.shape[1]
    if (X.shape[1], t) != (model.n_features_in_, model.y_weights_.shape[0]):
        raise ValueError(
            f"X and y have {X.shape[1]} and {t} columns, and the model {model.n_features_in_} and "
            f"{model.y_weights_.shape[0]}."
        )
    return as_rows(X, y, validate_weights(sample_weight, X))


def _asked(model: Any) -> dict[str, Any]:
    return {"scale": bool(model.scale), "dtype": numpy_dtype(model.x_weights_.dtype), "status": status(model)}


def correlations(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    rows = _rows(model, X, y, sample_weight)
    return canonical(rows, latent(model), ridge=ridges(getattr(model, "ridge", 0.0)), **_asked(model))


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return deflated(_rows(model, X, y, sample_weight), latent(model), by_own=False, **_asked(model))


def covariances(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return deflated(_rows(model, X, y, sample_weight), latent(model), by_own=True, **_asked(model))


def singular_vectors(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return singular(_rows(model, X, y, sample_weight), latent(model), **_asked(model))


def views(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    return judged(model, rows_alone(X, validate_weights(sample_weight, X)), status=status(model))
