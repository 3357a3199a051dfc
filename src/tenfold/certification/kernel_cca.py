"""Certification of kernel canonical correlations."""

from typing import Any

import numpy as np
from sklearn.base import clone

from tenfold.arrays import Array, Floats, is_sparse, numpy_dtype, unit_roundoff, wide
from tenfold.certification.kernel_pca import bound_rounding
from tenfold.certification.kernel_ridge import are_equal
from tenfold.certification.models import contradict, fit_status
from tenfold.certification.outputs import MAX_SAMPLES
from tenfold.estimators.cross_decomposition.kernel import each_view, name_kernels, validate_views
from tenfold.judge import kernel_cca as judge
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Precomputed
from tenfold.kernels.centring import CentredKernel, project_on


def directions(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of KernelCCA; X may be a list of views."""
    views = validate_views(clone(model), X, y, reset=True)
    if len(views) != len(model.X_fit_) or views[0].shape[1] != model.n_features_in_:
        raise ValueError("The views are not those of the fit: their number or their features differ.")
    kernels, k = name_kernels(model, views), int(model.n_components)
    coefs = [wide(a) for a in model.dual_coefs_]
    n = views[0].shape[0]
    if len(coefs) != len(views) or any(a.shape != (n, k) for a in coefs) or np.shape(model.values_) != (k,):
        raise ValueError("The model has not a coefficient for each sample: it is judged on the samples of its fit.")
    ridge = [float(eta) for eta in model.ridge_]
    verdict = judge.kernel_cca(
        kernels,
        views,
        ridge,
        coefs=coefs,
        values=wide(model.values_),
        correlations=wide(model.correlations_),
        dtype=numpy_dtype(model.dual_coefs_[0].dtype),
        status=fit_status(model),
    )
    complaint = ""
    if not all(are_equal(kept, view) for kept, view in zip(model.X_fit_, views, strict=True)):
        complaint = "X_fit_ are not the views that were given."
    elif list(model.kernels_) != kernels:
        complaint = f"kernels_ are {model.kernels_!r}, the parameters say {kernels!r}."
    elif not isinstance(model.ridge, str) and ridge != each_view(model.ridge, len(views), "ridge"):
        complaint = "ridge_ is not that of the parameters."
    elif isinstance(model.ridge, str) and not _is_best(model, ridge):
        complaint = "ridge_ is not the best of the grid by its scores."
    complaint = complaint or _find_difference(model, views)
    return contradict(verdict, complaint) if complaint and verdict.status != "no maximum" else verdict


def _is_best(model: Any, ridge: list[float]) -> bool:
    results = model.cv_results_
    return bool(np.array_equal(results["ridges"][int(np.argmax(results["mean_test_score"]))], ridge))


def _find_difference(model: Any, views: list[Array]) -> str:
    """Why transform does not return what the judged arrays give, on up to 256 samples; empty where it does."""
    step = -(-int(views[0].shape[0]) // MAX_SAMPLES)
    samples = [view[::step] for view in views]
    for i, own in enumerate(model.transform(samples)):
        expected, rounding = _scores(model, i, samples[i])
        if np.shape(own) != expected.shape or not np.all(np.abs(wide(own) - expected) <= rounding):
            return f"KernelCCA.transform does not return what the fitted arrays give, of view {i}."
    return ""


def _scores(model: Any, i: int, X: Array) -> tuple[Floats, Floats]:
    """Scores of samples of a view, with means of the kernel matrix that are computed again; and their rounding."""
    samples, kernel, coef = model.X_fit_[i], model.kernels_[i], wide(model.dual_coefs_[i])
    coef = coef - coef.mean(axis=0)
    means = CentredKernel(kernel, samples).means
    X = X.toarray() if is_sparse(X) and isinstance(kernel, Precomputed) else X
    value = np.asarray(project_on(kernel, samples, coef, means @ coef, X))
    u = max(unit_roundoff(numpy_dtype(part.dtype)) for part in (X, model.dual_coefs_[i], samples))
    return value, bound_rounding(kernel, samples, coef, means, X, u)
