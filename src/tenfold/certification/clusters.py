"""Centres of clusters: the fall of the energy in one exact step of Lloyd, and the lower bound."""

from typing import Any

from sklearn.base import BaseEstimator

from tenfold.arrays import contiguous, numpy_dtype, wide
from tenfold.certification.models import status
from tenfold.estimators.contract import rows_alone, validate_rows, validate_weights
from tenfold.judge import Certificate, lloyd_step, split_step
from tenfold.plans.clusters import allowed_fall, sample_for


def centres(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Whether centres are at rest, whoever found them: of batches, of single rows or by bisection they seldom are, and
    then the number says what steps of Lloyd from there would gain at least.
    """
    X = _columns(model, X)
    return lloyd_step(
        rows_alone(X, validate_weights(sample_weight, X)),
        wide(model.cluster_centers_),
        tol=allowed_fall(float(getattr(model, "tol", 0.0))),
        dtype=numpy_dtype(model.cluster_centers_.dtype),
        status=status(model),
    )


def halves(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Split by split where the tree is known, else the centres together."""
    if not hasattr(model, "_nodes"):
        return centres(model, X, y, sample_weight)
    X = _columns(model, X)
    rows = sample_for(rows_alone(contiguous(X), validate_weights(sample_weight, X)), model.n_clusters)
    tol, dtype = allowed_fall(float(model.tol)), numpy_dtype(model.cluster_centers_.dtype)
    return split_step(rows, model._tree, wide(model._nodes), tol=tol, dtype=dtype, status=status(model))


def _columns(model: Any, X: Any) -> Any:
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    return X


JUDGES = {"KMeans": centres, "MiniBatchKMeans": centres, "OnlineKMeans": centres, "BisectingKMeans": halves}
