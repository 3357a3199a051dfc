"""Registrations of support vector machines with kernels."""

from typing import Any

import numpy as np

from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import Check, anything, array, flag, floats, integers, many, number, whole
from tenfold.estimators.tuning import Tuning

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
CHOICE = {
    "cv_results_": "no method reads it, and C_, gamma_ and best_score_ must be the best of it; cross_val_score with "
    "one candidate, its gamma as a number, computes one again",
    "best_score_": "must be the best of cv_results_",
    "cv_method_": "how the choice was made, in words",
    "cost_": "how much the choice cost",
    "left_out_values_": "values by machines of folds that are not stored; sigmoids_ must be the best for them",
}
STORED: dict[str, Check] = {
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


def _machine(
    method: str, texts: tuple[str, ...], judge: str, outputs: str, peer: str = "sklearn.svm", **more: Any
) -> Registration:
    more = {"report_only": COUNTS | PLATT, "stored": STORED, "rules": RULES, **more}
    return Registration(
        method=method,
        texts=texts,
        peer=peer,
        reads=("in memory",),
        where=("arrays", "sparse"),
        certificate=("gap", "stationarity"),
        judge=f"kernel_svm.{judge}",
        outputs=f"kernel_svm_outputs.{outputs}",
        instead=INSTEAD,
        **more,
    )


def _choosing(
    method: str, texts: tuple[str, ...], judge: str, outputs: str, single: str, board: Entry, **stored: Check
) -> Registration:
    return _machine(
        method,
        texts,
        judge,
        outputs,
        "",
        choice=f"kernel_svm_choice.{judge}",
        report_only=COUNTS | CHOICE,
        stored={**STORED, **CHOSEN, **stored},
        board=board,
        tuning=Tuning(
            single=single,
            selected={"C": "C_", "gamma": "gamma_"},
            candidates={"C": "Cs_", "gamma": "gammas_"},
            refits=True,
        ),
    )


CHOSEN: dict[str, Check] = {
    "C_": number(0.0),
    "gamma_": number(0.0),
    "best_score_": number(nan=True),
    "Cs_": floats("*", low=0.0),
    "gammas_": floats("*", low=0.0),
}
MOST_ROWS = 5000  # of leaderboards: thirty candidates in four folds take about a minute
WIDTHS = (0.01, 0.1, 1.0)  # gammas of leaderboards, for standardised columns
FEW_CS = (0.1, 1.0, 10.0, 100.0)

MACHINES = {
    "SVC": _machine("Support vector classification", ("S9", "R9", "B21", "W8"), "classification", "classes"),
    "NuSVC": _machine("Support vector classification with nu", ("S9", "W8"), "classification", "classes"),
    "SVR": _machine("Support vector regression", ("W9",), "regression", "values"),
    "NuSVR": _machine("Support vector regression with nu", ("W9",), "regression", "values"),
    "SVCCV": _choosing(
        "Support vector classification, C and width by k-fold or leave-one-out",
        ("S9", "S10.2", "R9", "W8"),
        "classification",
        "probabilities",
        "SVC",
        Entry(
            "support-vectors-classifier",
            "classification",
            {"Cs": FEW_CS, "gammas": WIDTHS, "cv": 4, "calibrate": False},
            fast=False,
            most_rows=MOST_ROWS,
            dense=True,
        ),
        sigmoids_=floats("m 2"),
        left_out_values_=floats("n m"),
    ),
    "SVRCV": _choosing(
        "Support vector regression, C and width by k-fold or leave-one-out",
        ("W9", "S10.2"),
        "regression",
        "values",
        "SVR",
        Entry(
            "support-vectors",
            "regression",
            {"Cs": FEW_CS, "gammas": WIDTHS, "cv": 4},
            fast=False,
            most_rows=MOST_ROWS,
            dense=True,
        ),
    ),
    "OneClassSVM": _machine("One-class support vector machine", ("S9",), "one_class", "inliers"),
}
"""By the names of the classes."""
