"""Certification of models of latent factors."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array, is_sparse, numpy_dtype, on_host, unit_roundoff, wide
from tenfold.certification.covariance import read_rows
from tenfold.certification.models import fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.decomposition.independent import read_nonlinearity
from tenfold.estimators.decomposition.probabilistic import count_components
from tenfold.estimators.validation import as_rows_without_target, require_finite, validate_rows, validate_weights
from tenfold.judge import factor_analysis as judge
from tenfold.judge import fast_ica as of_sources
from tenfold.judge import probabilistic_pca as judge_of_missing
from tenfold.judge.certificate import Certificate
from tenfold.plans.probabilistic_pca import fold_complete, fold_observed, judge_closed
from tenfold.stats.probabilistic_pca import Subspace


def factor_analysis(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    loadings, noise = wide(model.components_), wide(model.noise_variance_)
    rows = read_rows(model, X, sample_weight)
    p = rows.shape[1]
    expected = p if model.n_components is None else min(int(model.n_components), p)
    if len(loadings) != expected and len(loadings) != min(expected, rows.shape[0]):
        loadings = np.full((1, 1), np.nan)  # another number than was asked for
    return judge.factor_analysis(
        rows, wide(model.mean_), loadings, noise, rotation=model.rotation, status=fit_status(model)
    )


def factor_outputs(model: Any, X: Array) -> list[Output | Labels]:
    """Expected factors by the inverse of the whole covariance."""
    W, noise = wide(model.components_), wide(model.noise_variance_)
    away = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64) - wide(model.mean_)
    scaled = W / noise
    inner = np.eye(len(W)) + scaled @ W.T
    expected = np.linalg.solve(inner, scaled @ away.T).T if len(W) else np.zeros((len(away), 0))
    u = max(unit_roundoff(numpy_dtype(X.dtype)), unit_roundoff(np.float64))
    size = np.abs(away) + np.abs(wide(model.mean_))
    inverse = np.abs(np.linalg.inv(inner)) if len(W) else inner
    rounding = 64.0 * u * len(noise) * (size @ np.abs(scaled).T) @ inverse + np.finfo(np.float64).tiny
    return [Output("transform", np.asarray(expected, dtype=np.float64), np.asarray(rounding, dtype=np.float64))]


def fast_ica(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    C = wide(model.components_)
    mean = wide(model.mean_) if model.whiten else np.zeros(C.shape[1])
    stored = of_sources.Stored(mean, wide(model.whitening_) if model.whiten else C, C, wide(model.mixing_))
    rows = read_rows(model, X, sample_weight)
    complaint = ""
    if model.whiten and model.n_components is not None and len(C) > int(model.n_components):
        complaint = "There are more components than were asked for."
    return of_sources.fast_ica(
        rows,
        stored,
        read_nonlinearity(model.fun, model.fun_args),
        algorithm=model.algorithm,
        whiten=model.whiten,
        tol=float(model.tol),
        dtype=numpy_dtype(model.components_.dtype),
        status=fit_status(model),
        complaint=complaint,
    )


def source_outputs(model: Any, X: Array) -> list[Output | Labels]:
    """Projections of centred samples."""
    C = wide(model.components_)
    mean = wide(model.mean_) if model.whiten else np.zeros(C.shape[1])
    samples = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    u = max(unit_roundoff(numpy_dtype(part.dtype)) for part in (X, model.components_))
    size = (np.abs(samples) + np.abs(mean)) @ np.abs(C).T
    rounding = 16.0 * u * len(mean) * size + np.finfo(np.float64).tiny
    return [Output("transform", (samples - mean) @ C.T, rounding)]


class _AnyRows(BaseEstimator):
    """Validates samples with missing values."""

    _allow_nan = True


def probabilistic_components(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Spectral without missing values, else one exact step of EM."""
    X = validate_rows(_AnyRows(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    rows = as_rows_without_target(X, validate_weights(sample_weight, X))
    count = count_components(model.n_components, X.shape[1])
    mean, axes, variances = (wide(part) for part in (model.mean_, model.components_, model.explained_variance_))
    noise, dtype = float(model.noise_variance_), numpy_dtype(model.components_.dtype)
    scatter = fold_complete(rows)
    if scatter is not None:
        stored = Subspace(mean, axes, variances, noise)
        return judge_closed(rows, stored, scatter.weight, count, dtype, status=fit_status(model))
    require_finite(_AnyRows(), X, lambda: fold_observed(rows))
    return judge_of_missing.judge_step(
        rows,
        mean=mean,
        axes=axes,
        variances=variances,
        noise=noise,
        count=count,
        tol=float(model.tol),
        dtype=dtype,
        status=fit_status(model),
    )


def posterior_outputs(model: Any, X: Array) -> list[Output | Labels]:
    """Expected factors and samples, and log densities, by the eigenvectors of the covariance of the observed values."""
    given = np.asarray(X.toarray() if is_sparse(X) else on_host(X), dtype=np.float64)
    axes, variances, noise = model._model()
    mean, base = wide(model.mean_), noise if len(axes) < len(axes.T) else 0.0
    C = (axes.T * (variances - base)) @ axes + base * np.eye(len(mean))
    W = np.sqrt(np.maximum(variances - base, 0.0))[:, None] * axes
    (n, p), k = given.shape, len(axes)
    factors, density, completed = np.zeros((n, k)), np.zeros(n), given.copy()
    factor_error, density_error, error = np.zeros((n, k)), np.zeros(n), np.zeros((n, p))
    unit = 64.0 * p * max(unit_roundoff(numpy_dtype(part.dtype)) for part in (X, model.components_))
    for pattern in np.unique(np.isnan(given), axis=0):
        rows, there = np.flatnonzero((np.isnan(given) == pattern).all(axis=1)), np.flatnonzero(~pattern)
        values, vectors = np.linalg.eigh(C[np.ix_(there, there)])
        condition = values[-1] / values[0] if len(values) else 1.0
        away = given[np.ix_(rows, there)] - mean[there]
        size = np.max(np.abs(given[np.ix_(rows, there)]) + np.abs(mean[there]), axis=1, initial=0.0)
        own = away @ vectors
        solved = (own / values) @ vectors.T
        factors[rows] = solved @ W[:, there].T
        gain = np.linalg.norm(W[:, there] @ (vectors / np.sqrt(values)), axis=1) if len(values) else np.zeros(k)
        far = size * (np.sqrt(len(there) / values[0]) if len(values) else 0.0)  # in standard deviations
        factor_error[rows] = unit * condition * far[:, None] * gain
        lacking = np.flatnonzero(pattern)
        completed[np.ix_(rows, lacking)] = mean[lacking] + solved @ C[np.ix_(there, lacking)]
        spread = np.sqrt(np.diag(C)[lacking])
        error[np.ix_(rows, lacking)] = unit * (np.abs(mean[lacking]) + condition * far[:, None] * spread)
        # the model projects the completed sample
        reach = unit * np.abs(completed[rows] - mean) + error[rows]
        factor_error[rows] += reach @ np.abs(W / variances[:, None]).T
        length = np.sum(own**2 / values, axis=1)
        constant = len(there) * np.log(2.0 * np.pi) + np.sum(np.log(values))
        density[rows] = -0.5 * (constant + length)
        terms = condition * (1.0 + length) + far * (1.0 + np.sqrt(length)) + np.sum(np.abs(np.log(values)))
        density_error[rows] = unit * (abs(constant) + terms) * (len(there) > 0)
    tiny = np.finfo(np.float64).tiny
    return [
        Output("transform", factors, factor_error + tiny),
        Output("impute", completed, error + tiny),
        Output("score_samples", density, density_error + tiny),
    ]
