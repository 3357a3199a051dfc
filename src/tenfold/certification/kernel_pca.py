"""Certification of kernel principal components, and of the pre-images that are learned from them."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array, Floats, is_array_api, is_sparse, namespace, numpy_dtype, on_host, unit_roundoff, wide
from tenfold.certification.kernel_ridge import are_equal
from tenfold.certification.models import contradict, fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.decomposition.kernel import compute_gamma, name_model_kernel, scale_vectors
from tenfold.estimators.kernel_parameter import check_samples
from tenfold.estimators.validation import validate_rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dual_system import examine_kernel, kernel_ridge
from tenfold.judge.kernel_pca import join_certificates, kernel_components
from tenfold.kernels import Kernel, Precomputed
from tenfold.kernels.centring import CentredKernel, project_on


def components(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of KernelPCA, of ours and of scikit-learn's."""
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    X = check_samples(model.kernel, X)
    kernel, n = name_model_kernel(model, X), int(X.shape[0])
    values, vectors = wide(model.eigenvalues_), wide(model.eigenvectors_)
    if vectors.shape != (n, len(values)):
        raise ValueError(
            f"The model has eigenvectors of shape {vectors.shape}, and X {n} samples: kernel components are judged on "
            "the samples of their fit."
        )
    verdict = kernel_components(
        kernel,
        X,
        values=values,
        vectors=np.ascontiguousarray(vectors.T),
        most=n if model.n_components is None else min(n, model.n_components),
        fewer=bool(model.remove_zero_eig or model.n_components is None),
        center=bool(getattr(model, "center", True)),
        tol=_tolerance(model),
        dtype=numpy_dtype(model.eigenvectors_.dtype),
        status=fit_status(model),
    )
    complaint = _compare(model, kernel, X)
    if complaint:
        return contradict(verdict, complaint)
    return _with_pre_images(model, verdict, kernel, X) if model.fit_inverse_transform else verdict


def _tolerance(model: Any) -> float:
    """That of the rule, or the user's where it is larger; scikit-learn's says when ARPACK ends, not how exact it is."""
    ours = type(model).__module__.startswith("tenfold")
    return max(RULES["spectral"].tol, float(model.tol)) if ours else RULES["spectral"].tol


def _compare(model: Any, kernel: Kernel, X: Array) -> str:
    """Why what the model keeps beside its components is not what it was given; empty where it is."""
    if _keeps_centred_matrix(model):
        return _compare_centred(model, CentredKernel(kernel, X))
    if not are_equal(model.X_fit_, X):
        return "X_fit_ are not the samples that were given."
    if model.gamma_ != compute_gamma(model.gamma, X):
        return "gamma_ is not that of the parameters."
    if hasattr(model, "kernel_") and model.kernel_ != kernel:
        return f"kernel_ is {model.kernel_!r}, the parameters say {kernel!r}."
    return ""


def _keeps_centred_matrix(model: Any) -> bool:
    """Whether a model keeps the centred matrix and the means in place of the given one, as scikit-learn's does."""
    return bool(hasattr(model, "_centerer") and model.kernel == "precomputed")


def _compare_centred(model: Any, centred: CentredKernel) -> str:
    expected, means = centred.dense(), centred.means
    size = float(np.max(np.abs(wide(centred.X)), initial=0.0))
    allowed = 64.0 * unit_roundoff(numpy_dtype(model.X_fit_.dtype)) * size
    stored = (
        (model.X_fit_, expected),
        (model._centerer.K_fit_rows_, means),
        (model._centerer.K_fit_all_, centred.mean),
    )
    if all(np.shape(one) == np.shape(own) and np.all(np.abs(one - own) <= allowed) for one, own in stored):
        return ""
    return "X_fit_ is neither the matrix that was given nor that matrix centred, or its means are others."


def _with_pre_images(model: Any, verdict: Certificate, kernel: Kernel, X: Array) -> Certificate:
    """The verdict, with that of the ridge regression of the samples on their coordinates."""
    Z, coef = model.X_transformed_fit_, model.dual_coef_
    expected = wide(model.eigenvectors_) * np.sqrt(wide(model.eigenvalues_))
    rounding = 8.0 * unit_roundoff(numpy_dtype(Z.dtype)) * np.abs(expected)
    if tuple(Z.shape) != expected.shape or not np.all(np.abs(wide(Z) - expected) <= rounding):
        return contradict(verdict, "X_transformed_fit_ are not the coordinates of the samples.")
    if tuple(coef.shape) != tuple(X.shape):
        return contradict(verdict, "dual_coef_ has not the shape of the samples.")
    xp = namespace(X)
    targets = xp.astype(X, xp.float64, copy=False)
    report = examine_kernel(kernel, Z)
    alpha = np.full(X.shape[1], float(model.alpha))
    return join_certificates(
        verdict, kernel_ridge(kernel, Z, targets, None, alpha, coef, psd=report is None or bool(report))
    )


def projections(model: Any, X: Array) -> list[Output | Labels]:
    """The expected coordinates of samples, with means of the kernel matrix that are computed again."""
    samples = on_host(model.X_fit_) if is_array_api(model.X_fit_) else model.X_fit_
    kernel, center = name_model_kernel(model, samples), bool(getattr(model, "center", True))
    coef = scale_vectors(model.eigenvalues_, model.eigenvectors_, center)
    means = wide(model._centerer.K_fit_rows_) if _keeps_centred_matrix(model) else _means(kernel, samples, center)
    X = X.toarray() if is_sparse(X) and isinstance(kernel, Precomputed) else X
    value = np.asarray(project_on(kernel, samples, coef, means @ coef, X))
    u = max(unit_roundoff(numpy_dtype(part.dtype)) for part in (X, model.eigenvectors_, samples))
    return [Output("transform", value, bound_rounding(kernel, samples, coef, means, X, u))]


def _means(kernel: Kernel, samples: Array, center: bool) -> Floats:
    return CentredKernel(kernel, samples, center).means


def bound_rounding(kernel: Kernel, samples: Array, coef: Floats, means: Floats, X: Array, u: float) -> Floats:
    """A bound on the rounding of projections of samples X, in units u."""
    if isinstance(kernel, Precomputed):
        size = np.max(np.abs(wide(X)), axis=1)
    else:
        reach = np.sqrt(np.maximum(wide(kernel.diag(X)), 0.0))
        size = reach * float(np.sqrt(np.max(wide(kernel.diag(samples)), initial=0.0)))
    sizes = (size + float(np.max(np.abs(means), initial=0.0)))[:, None] * np.sum(np.abs(coef), axis=0)
    return (16.0 + 8.0 * np.sqrt(len(coef))) * u * sizes + np.finfo(np.float64).tiny
