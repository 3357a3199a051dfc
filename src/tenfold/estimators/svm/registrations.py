"""Registrations of support vector machines with kernels."""

from tenfold.estimators.registration import Registration

COUNTS = {
    "n_iter_": "how many steps the solver took",
    "fit_status_": "whether the solver ended early: the certificate says how good the end is",
}
PLATT = {
    "probA_": "fitted by a cross-validation whose folds are not stored: probabilities are not judged",
    "probB_": "fitted by a cross-validation whose folds are not stored: probabilities are not judged",
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
        report_only=COUNTS | PLATT,
    )


MACHINES = {
    "SVC": _machine("Support vector classification", ("S9", "R9", "B21", "W8"), "classification", "classes"),
    "NuSVC": _machine("Support vector classification with nu", ("S9", "W8"), "classification", "classes"),
    "SVR": _machine("Support vector regression", ("W9",), "regression", "values"),
    "NuSVR": _machine("Support vector regression with nu", ("W9",), "regression", "values"),
    "OneClassSVM": _machine("One-class support vector machine", ("S9",), "one_class", "inliers"),
}
"""By the names of the classes, which are those of scikit-learn."""
