"""Certification of models of latent factors."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, is_sparse, numpy_dtype, unit_roundoff, wide
from tenfold.certification.covariance import read_rows
from tenfold.certification.models import fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.judge import factor_analysis as judge
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
