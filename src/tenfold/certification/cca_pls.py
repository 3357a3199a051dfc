"""Certification of canonical correlations and partial least squares."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Floats, numpy_dtype, wide
from tenfold.certification.models import fit_status, validate_like_fit
from tenfold.data import Rows
from tenfold.estimators.cross_decomposition.blocks import ridges
from tenfold.estimators.cross_decomposition.views import widths_of_views
from tenfold.estimators.validation import as_rows, as_rows_without_target, validate_rows, validate_weights
from tenfold.judge.cca_pls import Latent, canonical, partial_least_squares, singular
from tenfold.judge.certificate import Certificate
from tenfold.judge.multiview_cca import multiview_cca


def _rows(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    X, y = validate_like_fit(model, X, y, numeric=True)
    t = 1 if y.ndim == 1 else y.shape[1]
    if (X.shape[1], t) != (model.n_features_in_, model.y_weights_.shape[0]):
        raise ValueError(
            f"X and y have {X.shape[1]} and {t} columns, and the model {model.n_features_in_} and "
            f"{model.y_weights_.shape[0]}."
        )
    return as_rows(X, y, validate_weights(sample_weight, X))


def _settings(model: Any) -> dict[str, Any]:
    return {"scale": bool(model.scale), "dtype": numpy_dtype(model.x_weights_.dtype), "status": fit_status(model)}


def correlations(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    rows = _rows(model, X, y, sample_weight)
    return canonical(rows, latent(model), ridge=ridges(getattr(model, "ridge", 0.0)), **_settings(model))


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return partial_least_squares(_rows(model, X, y, sample_weight), latent(model), by_own=False, **_settings(model))


def covariances(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return partial_least_squares(_rows(model, X, y, sample_weight), latent(model), by_own=True, **_settings(model))


def singular_vectors(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return singular(_rows(model, X, y, sample_weight), latent(model), **_settings(model))


def views(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    widths, weights = widths_of_views(model.views, X.shape[1]), wide(model.weights_)
    if list(model.widths_) != widths:
        raise ValueError(f"The views have {widths} columns, and the model says {model.widths_}.")
    if weights.shape[1] != model.n_components:
        raise ValueError(f"The model has {weights.shape[1]} directions for n_components={model.n_components}.")
    return multiview_cca(
        as_rows_without_target(X, validate_weights(sample_weight, X)),
        means=wide(model.mean_),
        units=wide(model.scale_),
        directions=np.split(weights, np.cumsum(widths)[:-1]),
        values=wide(model.values_),
        correlations=wide(model.correlations_),
        scale=model.scale,
        ridge=ridges(model.ridge, len(widths)),
        dtype=numpy_dtype(model.weights_.dtype),
        status=fit_status(model),
    )


def latent(model: Any) -> Latent:
    """The fitted arrays of a model of tenfold or scikit-learn."""

    def pair(name: str) -> tuple[Floats, Floats]:
        return wide(getattr(model, f"x_{name}_")), wide(getattr(model, f"y_{name}_"))

    def concatenate(name: str) -> Floats | None:
        x, y = (getattr(model, f"_{side}_{name}", None) for side in ("x", "y"))
        return None if x is None or y is None else np.append(x, y)

    weights, count = pair("weights"), int(model.n_components)
    if not hasattr(model, "x_rotations_"):
        return Latent(weights, weights, means=concatenate("mean"), units=concatenate("std"), count=count)
    return Latent(
        weights,
        pair("rotations"),
        pair("loadings"),
        wide(model.coef_),
        wide(model.intercept_),
        concatenate("mean"),
        concatenate("std"),
        wide(model.correlations_) if hasattr(model, "correlations_") else None,
        pair("scores") if hasattr(model, "x_scores_") else None,
        count,
    )
