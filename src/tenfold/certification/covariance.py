"""Certification of covariances."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array, Floats, is_sparse, numpy_dtype, unit_roundoff, wide
from tenfold.certification.outputs import Labels, Output
from tenfold.data import Rows
from tenfold.estimators.covariance.graphical import read_covariance
from tenfold.estimators.validation import as_rows_without_target, validate_rows, validate_weights
from tenfold.judge import covariance as judge
from tenfold.judge import gap_graphical_lasso as gap
from tenfold.judge.certificate import Certificate
from tenfold.judge.recompute import Pair, exact
from tenfold.plans.covariance import fold_scatter


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


def graphical_lasso(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of GraphicalLasso and GraphicalLassoCV."""
    alpha = float(model.alpha_) if hasattr(model, "alpha_") else float(model.alpha)
    u = max(unit_roundoff(numpy_dtype(model.location_.dtype)), unit_roundoff(np.float64))
    location = wide(model.location_)
    if getattr(model, "covariance", None) == "precomputed":
        scatter = read_covariance(validate_rows(BaseEstimator(), X))
        pair: Pair = location, scatter.centre, 1.0
    else:
        rows, centred = read_rows(model, X, sample_weight), bool(model.assume_centered)
        scatter = fold_scatter(rows, centred)
        pair = judge.location_pair(location, judge.columns_about(rows, centred), centred, u)
    located = exact({"the location": pair}, floor=max(1e-12, 16.0 * u))
    if len(location) != len(scatter.covariance):
        raise ValueError(f"X has {len(scatter.covariance)} features, and the model {len(location)}.")
    return gap.graphical_lasso(
        scatter.covariance,
        wide(model.covariance_),
        wide(model.precision_),
        alpha,
        tol=float(model.tol),
        dtype=numpy_dtype(model.precision_.dtype),
        complaint="" if located.ok else "The location is not the mean of the samples.",
    )


def check_selected_alpha(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Whether the selected penalty is the best of the stored scores."""
    results = model.cv_results_
    # scikit-learn's class scores no penalty last, which it does not select
    alphas, means = np.asarray(results["alphas"])[:-1], np.asarray(results["mean_test_score"])[:-1]
    splits = [np.asarray(results[name])[:-1] for name in results if name.startswith("split")]
    with np.errstate(invalid="ignore"):
        again = np.mean(splits, axis=0)
    same = (np.abs(means - again) <= 1e-9 * np.maximum(1.0, np.abs(again))) | (means == again)
    if means.shape != alphas.shape or not (same | ~np.isfinite(again)).all():
        return "The mean scores are not the means of the scores of the splits."
    if np.iterable(model.alphas) and set(alphas.tolist()) != {float(alpha) for alpha in model.alphas}:
        return "The scored penalties are not those that were asked for."
    usable = np.where(np.isfinite(means) & (means < 0.1 / np.finfo(np.float64).eps), means, -np.inf)
    best = {float(alpha) for alpha in alphas[usable == usable.max()]}
    return "" if float(model.alpha_) in best else "alpha_ does not have the best mean score."
