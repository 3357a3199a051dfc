"""Certification of components: residuals, derived quantities, and missing larger eigenvalues."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import namespace, numpy_dtype, on_host, wide
from tenfold.certification.models import fit_status
from tenfold.data import Block, Rows, weights_of
from tenfold.estimators.decomposition.principal import count_requested
from tenfold.estimators.validation import as_rows_without_target, validate_rows, validate_weights
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.pca import Derived, spectral
from tenfold.stats.derivatives import Total


def about_mean(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of PCA and IncrementalPCA."""
    rows = _rows(model, X, sample_weight)
    n, p = rows.shape
    k, incremental, keep = model.components_.shape[0], hasattr(model, "n_samples_seen_"), getattr(model, "keep", None)
    requested: int | float | str | None = None
    if not incremental:
        requested = count_requested(model.n_components, keep, model.svd_solver, (n, p))
    elif model.n_components is not None:  # else the first part decided it
        requested = int(model.n_components)
    n = _count(rows) if incremental else n
    stored = [(model.n_components_, k), (model.n_samples_seen_ if incremental else model.n_samples_, n)]
    if incremental and hasattr(model, "batch_size_"):
        stored.append((model.batch_size_, 5 * p if model.batch_size is None else model.batch_size))
    rank = min(n, p)
    theirs = type(model).__module__.startswith("sklearn")
    if theirs and getattr(model, "svd_solver", None) == "covariance_eigh" and k < rank:
        rank = p  # its mean is over all values, those that are zero too
    derived = Derived(
        variances=wide(model.explained_variance_),
        shares=wide(model.explained_variance_ratio_),
        noise=float(model.noise_variance_),
        others=rank - k,
        column_variances=wide(model.var_) if incremental else None,
        equal=tuple(stored),
    )
    return spectral(
        rows,
        mean=wide(model.mean_),
        components=wide(model.components_),
        values=wide(model.singular_values_) ** 2,
        count=requested,
        numbers=None if keep is None else [int(number) for number in keep],
        derived=derived,
        tol=_tolerance(model),
        dtype=numpy_dtype(model.components_.dtype),
        status=fit_status(model),
    )


def as_they_are(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Of TruncatedSVD, whose samples are not centred."""
    rows = _rows(model, X, sample_weight)
    n, p = rows.shape
    k = model.components_.shape[0]
    return spectral(
        rows,
        mean=np.zeros(p),
        components=wide(model.components_),
        values=wide(model.singular_values_) ** 2,
        about_mean=False,
        # with fewer samples than that, values that are zero may be left out
        count=k if min(model.n_components, n, p) <= k <= min(model.n_components, p) else -1,
        derived=Derived(wide(model.explained_variance_), wide(model.explained_variance_ratio_)),
        tol=_tolerance(model),
        dtype=numpy_dtype(model.components_.dtype),
        status=fit_status(model),
    )


def _rows(model: Any, X: Any, sample_weight: Any) -> Rows:
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    return as_rows_without_target(X, validate_weights(sample_weight, X))


def _count(rows: Rows) -> int:
    """How many samples have a weight that is not zero."""

    def lift(block: Block) -> Total:
        weight = weights_of(block)
        xp = namespace(weight)
        return Total(np.array([float(on_host(xp.sum(xp.astype(weight > 0.0, xp.float64))))]))

    return int(rows.fold(lift).sum[0])


def _tolerance(model: Any) -> float:
    """That of the rule, or the user's where it is larger; scikit-learn's says when ARPACK ends, not how exact it is."""
    ours = type(model).__module__.startswith("tenfold")
    least = RULES["spectral"].tol
    return max(least, float(getattr(model, "tol", 0.0))) if ours else least
