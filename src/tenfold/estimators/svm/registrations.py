"""Registrations of support vector machines with kernels."""

from typing import Any

import numpy as np

from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import anything, array, flag, floats, integers, many, number, whole

INSTEAD = (
    "Bring the samples to this machine's memory, take a part of them, or LinearSVC, LinearSVR and SGDOneClassSVM, "
    "which read them where they are."
)
COUNTS = {
    "support_counts_": "the kinds of support vectors, which no method reads",
    "n_iter_": "how many steps the solver took",
    "fit_status_": "whether the solver ended early: the certificate says how good the end is",
}
PLATT = {
    "probA_": "fitted by a cross-validation whose folds are not stored: probabilities are not judged",
    "probB_": "fitted by a cross-validation whose folds are not stored: probabilities are not judged",
}
STORED = {
    "support_": integers("s", low=0),
    "support_vectors_": floats("0 0", "s p", sparse=True),
    "dual_coef_": floats("r s", sparse=True),
    "intercept_": floats("m"),
    "class_weight_": floats("k", low=0.0),
    "shape_fit_": many(whole(1)),
    "fit_status_": whole(0, 1),
    "support_counts_": integers("3", low=0),
    "n_iter_": array("i", "m", low=0) | whole(0),
    "_n_support": integers("c", low=0),
    "_present": integers("c", low=0),
    "_columns": integers("s", low=0),
    "_gamma": number(0.0),
    "_sparse": flag(),
    "_fit_samples": anything(),
    "_probA": floats("m"),
    "_probB": floats("m"),
}
"""Sizes: s support vectors, r rows of coefficients, m machines, k classes, c of them with machines."""


def _counts_are_right(model: Any) -> bool:
    """Coefficients and intercepts are those of all pairs of classes, and each class has its support vectors."""
    if not hasattr(model, "classes_"):
        return model.dual_coef_.shape[0] == 1 and len(model.intercept_) == 1
    k = len(model._n_support)
    present = getattr(model, "_present", np.arange(len(model.classes_)))
    if len(present) != k or np.any(np.diff(present) <= 0) or present[-1] >= len(model.classes_):
        return False
    rows, machines = model.dual_coef_.shape[0] == k - 1, len(model.intercept_) == k * (k - 1) // 2
    return rows and machines and int(np.sum(model._n_support)) == len(model.support_)


def _support_is_inside(model: Any) -> bool:
    columns = getattr(model, "_columns", model.support_)
    return not len(model.support_) or int(max(np.max(model.support_), np.max(columns))) < model.shape_fit_[0]


RULES = {
    "coefficients, intercepts and numbers of support vectors must be those of all pairs of classes": _counts_are_right,
    "support_ must be numbers of samples of the fit": _support_is_inside,
}


def _machine(method: str, texts: tuple[str, ...], judge: str, outputs: str) -> Registration:
    return Registration(
        method=method,
        texts=texts,
        peer="sklearn.svm",
        reads=("in memory",),
        where=("arrays", "sparse"),
        certificate=("gap", "stationarity"),
        judge=f"kernel_svm.{judge}",
        outputs=f"kernel_svm_outputs.{outputs}",
        instead=INSTEAD,
        report_only=COUNTS | PLATT,
        stored=STORED,
        rules=RULES,
    )


MACHINES = {
    "SVC": _machine("Support vector classification", ("S9", "R9", "B21", "W8"), "classification", "classes"),
    "NuSVC": _machine("Support vector classification with nu", ("S9", "W8"), "classification", "classes"),
    "SVR": _machine("Support vector regression", ("W9",), "regression", "values"),
    "NuSVR": _machine("Support vector regression with nu", ("W9",), "regression", "values"),
    "OneClassSVM": _machine("One-class support vector machine", ("S9",), "one_class", "inliers"),
}
"""By the names of the classes, which are those of scikit-learn."""
