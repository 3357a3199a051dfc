"""Certification of kernel Fisher discriminants."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, is_sparse, numpy_dtype, unit_roundoff, wide
from tenfold.certification.kernel_pca import bound_rounding
from tenfold.certification.kernel_ridge import are_equal
from tenfold.certification.models import check_known_classes, contradict, validate_like_fit
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.class_labels import label_indices
from tenfold.estimators.discriminant.kernel_fisher import class_distances, name_model_kernel
from tenfold.estimators.kernel_parameter import check_samples
from tenfold.judge.certificate import Certificate
from tenfold.judge.kernel_fisher import kernel_fisher
from tenfold.kernels import Precomputed


def directions(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of KernelFisherDiscriminant."""
    X, y = validate_like_fit(model, X, y, numeric=False)
    check_known_classes(model, y)
    X = check_samples(model.kernel, X)
    number = np.asarray(label_indices(model.classes_, y, X))
    kernel, k = name_model_kernel(model, X), len(model.values_)
    shapes = [model.dual_coef_.shape, model.means_.shape, model.variances_.shape]
    if shapes != [(len(number), k), *[(len(model.classes_), k)] * 2] or k != model._count(len(model.classes_)):
        raise ValueError("The model has not a coefficient for each sample: it is judged on the samples of its fit.")
    if len(np.unique(number)) != len(model.classes_):
        raise ValueError("A class of the model has no sample: it is judged on the samples of its fit.")
    verdict = kernel_fisher(
        kernel,
        X,
        number,
        float(model.beta),
        coef=wide(model.dual_coef_),
        values=wide(model.values_),
        means=wide(model.means_),
        variances=wide(model.variances_),
        dtype=numpy_dtype(model.dual_coef_.dtype),
    )
    if not are_equal(model.X_fit_, X):
        return contradict(verdict, "X_fit_ are not the samples that were given.")
    if model.kernel_ != kernel:
        return contradict(verdict, f"kernel_ is {model.kernel_!r}, the parameters say {kernel!r}.")
    return verdict


def decisions(model: Any, X: Array) -> list[Output | Labels]:
    """Expected scores, and the class that is nearest in units of its deviation."""
    samples, kernel, coef = model.X_fit_, model.kernel_, wide(model.dual_coef_)
    X = X.toarray() if is_sparse(X) and isinstance(kernel, Precomputed) else X
    z = np.asarray(kernel.multiply(X, samples, coef))
    u = max(unit_roundoff(numpy_dtype(part.dtype)) for part in (X, model.dual_coef_, samples))
    rounding = bound_rounding(kernel, samples, coef, np.zeros(1), X, u)
    far, variances = class_distances(model, z), wide(model.variances_)
    floor = np.maximum(variances, np.finfo(np.float64).tiny)
    away = np.abs(z[:, None, :] - wide(model.means_)) + rounding[:, None, :]
    error = np.max(np.sum((2.0 * away * rounding[:, None, :]) / floor, axis=2) + 64.0 * u * np.abs(far), axis=1)
    return [Output("transform", z, rounding), Labels("predict", -far, model.classes_, 2.0 * error)]
