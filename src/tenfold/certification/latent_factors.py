"""Certification of models of latent factors."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, is_sparse, numpy_dtype, unit_roundoff, wide
from tenfold.certification.covariance import read_rows
from tenfold.certification.models import fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.decomposition.independent import read_nonlinearity
from tenfold.judge import factor_analysis as judge
from tenfold.judge import fast_ica as of_sources
from tenfold.judge.certificate import Certificate


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
