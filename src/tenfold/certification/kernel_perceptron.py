"""Certification of perceptrons in the space of a kernel: the mistakes, the bound on them, and what is stored twice."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, is_sparse, unit_roundoff
from tenfold.certification.models import check_known_classes, contradict, fit_status, validate_like_fit
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.class_labels import label_indices
from tenfold.estimators.kernel_online.perceptron import heard, weigh_samples
from tenfold.estimators.kernel_parameter import check_samples, make_kernel
from tenfold.estimators.validation import validate_weights
from tenfold.judge.certificate import NOT_JUDGED, Certificate
from tenfold.plans.kernel_perceptron import judge

SAME = 1e-9  # relative difference up to which bounds are equal: sums may be in another order


def mistakes(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validate_like_fit(model, X, y, numeric=False)
    check_known_classes(model, y)
    label = label_indices(model.classes_, y, X)
    weight = weigh_samples(model, label, validate_weights(sample_weight, X))
    X = check_samples(model.kernel, X)
    status = fit_status(model)
    in_parts = status == NOT_JUDGED
    certificate, bound = judge(*heard(model), X, label, weight, len(model.classes_), "judged" if in_parts else status)
    complaint = _compare(model, X, in_parts) or ("" if in_parts else _compare_bounds(model.mistake_bound_, bound))
    return contradict(certificate, complaint) if complaint else certificate


def _compare_bounds(stored: float, bound: float) -> str:
    """Why the stored bound is not the one that was computed again."""
    if np.isinf(bound) and np.isinf(stored):
        return ""
    close = np.isfinite(bound) and np.isfinite(stored) and abs(stored - bound) <= SAME * bound
    return "" if close else f"mistake_bound_ is {stored!r}; by the margin of these coefficients it is {bound!r}."


def _compare(model: Any, X: Array, in_parts: bool) -> str:
    """Why what is stored contradicts itself or the parameters."""
    if not (in_parts and isinstance(model.gamma, str)) and model.kernel_ != make_kernel(model, X):
        return "kernel_ is not the kernel that the parameters name."
    if model.prediction == "voted" and not np.array_equal(model.votes_, model._votes):
        return "votes_ are not those that predict."
    own = model._last
    if model.prediction == "averaged":
        own = own - model._sums / max(model.t_, 1)
    coef = np.asarray(model.dual_coef_).reshape(len(model.dual_coef_), -1)
    if coef.shape != own.shape or not np.array_equal(coef, own):
        return "dual_coef_ are not the coefficients that were learned."
    return ""


def scores(model: Any, X: Any) -> list[Output | Labels]:
    functions, votes = heard(model)
    z, rounding = functions.scores(X) if votes is None else votes.scores(X)
    rounding = rounding + 16.0 * unit_roundoff(X.dtype) * (np.abs(z) + float(not is_sparse(X))) + 1e-12
    both = np.column_stack([-z, z]) if z.shape[1] == 1 else z
    labels = Labels("predict", both, model.classes_, 4.0 * np.max(rounding, axis=1))
    return [Output("decision_function", z, rounding), labels]
