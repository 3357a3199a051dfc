"""Components: residuals of eigenvectors, and whether one with a larger value was left out."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import numpy_dtype, wide
from tenfold.certification.models import status
from tenfold.estimators.contract import rows_alone, validate_rows, validate_weights
from tenfold.judge import Certificate, spectral


def about_mean(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _components(model, X, sample_weight, wide(model.mean_))


def as_they_are(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _components(model, X, sample_weight, None)


def _components(model: Any, X: Any, sample_weight: Any, mean: Any) -> Certificate:
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    rows = rows_alone(X, validate_weights(sample_weight, X))
    return spectral(
        rows,
        mean=np.zeros(X.shape[1]) if mean is None else mean,
        components=wide(model.components_),
        values=wide(model.singular_values_) ** 2,
        about_mean=mean is not None,
        leading=getattr(model, "keep", None) is None,
        dtype=numpy_dtype(model.components_.dtype),
        status=status(model),
    )


JUDGES = {"PCA": about_mean, "IncrementalPCA": about_mean, "TruncatedSVD": as_they_are}
