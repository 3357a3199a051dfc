"""Certificates of kernel k-means: the kernel matrix again, one exact step of Lloyd, and the trace bound."""

from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array
from tenfold.certification.gaussian_process import same_samples
from tenfold.certification.models import contradict, fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.kmeans.kernel import evaluate_matrix, resolve_kernel, validate_samples
from tenfold.estimators.validation import validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.judge.kernel_kmeans import Stored, lloyd_step
from tenfold.plans.kernel_kmeans import max_decrease


def clusters(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Whether labels are a fixed point of Lloyd, and the means, which `predict` reads, are theirs."""
    X = validate_samples(model, X, reset=False)
    weight = validate_weights(sample_weight, X)
    kernel = resolve_kernel(model, X)
    stored = Stored(
        np.asarray(model.labels_),
        np.asarray(model.dual_coef_, dtype=np.float64),
        np.asarray(model.squared_norms_, dtype=np.float64),
        float(model.inertia_),
    )
    certificate = lloyd_step(
        evaluate_matrix(kernel, X),
        np.ones(X.shape[0]) if weight is None else weight,
        stored,
        tol=max_decrease(float(model.tol)),
        bound=True,
        status=fit_status(model),
    )
    if stored.dual.shape[1:] != (model.n_clusters,):
        return contradict(certificate, "The number of clusters is not that of the parameters.")
    if model.kernel_ != kernel:
        return contradict(certificate, "kernel_ is not the kernel of the parameters.")
    if not same_samples(model.X_fit_, X):
        return contradict(certificate, "X_fit_ are not the samples.")
    return certificate


def nearest(model: Any, X: Array) -> list[Output | Labels]:
    """The nearest mean, up to rounding."""
    dual = np.asarray(model.dual_coef_, dtype=np.float64)
    K = np.asarray(model.kernel_.block(X, model.X_fit_), dtype=np.float64)
    squares = np.where(dual.any(axis=0), model.squared_norms_ - 2.0 * (K @ dual), np.inf)
    size = np.max(np.abs(K) @ dual, axis=1) + float(np.max(np.abs(model.squared_norms_)))
    return [Labels("predict", -squares, np.arange(dual.shape[1]), 64.0 * len(dual) * EPS * size)]
