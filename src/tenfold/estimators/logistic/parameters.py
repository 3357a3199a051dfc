"""Parameters of logistic models, with scikit-learn's warnings and errors."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from tenfold.penalties import L2, ElasticNet, mixture

# the method that stands for each of scikit-learn's solvers
SOLVERS = {
    "lbfgs": "lbfgs",
    "liblinear": "lbfgs",
    "newton-cg": "newton",
    "newton-cholesky": "newton",
    "sag": "lbfgs",
    "saga": "lbfgs",
}


class PenaltyChoice(NamedTuple):
    """Inverse strength of the penalty, infinite where there is none, and its part of L1."""

    C: float
    l1_ratio: float

    def penalty(self, weight: float) -> L2 | ElasticNet:
        """The penalty on top of the weighted mean loss."""
        return mixture(float(strength(self.C, weight)), self.l1_ratio)


def read_penalty(model: Any) -> PenaltyChoice:
    """The penalty of a model, by scikit-learn's rules about parameters that do not go together."""
    penalty = _penalty(model)
    check_solver(model.solver, penalty, model.dual)
    ratio = model.l1_ratio
    if penalty != "elasticnet" and ratio is not None and 0 < ratio < 1:
        _warn(f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})")
    if (model.penalty == "l2" and ratio != 0) or (model.penalty == "l1" and ratio != 1):
        _warn(
            f"Inconsistent values: penalty={model.penalty} with l1_ratio={ratio}. penalty is deprecated. Please use "
            "l1_ratio only."
        )
    if penalty == "elasticnet" and ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    if model.penalty is None and model.C != 1.0:
        _warn("Setting penalty=None will ignore the C and l1_ratio parameters")
    if model.n_jobs is not None:
        _warn(
            "'n_jobs' has no effect since 1.8 and will be removed in 1.10. "
            f"You provided 'n_jobs={model.n_jobs}', please leave it unspecified.",
            FutureWarning,
        )
    if penalty is None:
        return PenaltyChoice(np.inf, 0.0)
    return PenaltyChoice(float(model.C), {"l2": 0.0, "l1": 1.0}.get(penalty, float(ratio or 0.0)))


def _penalty(model: Any) -> str | None:
    """The kind of penalty of the parameters, with scikit-learn's warnings about deprecated ones."""
    if model.penalty != "deprecated":
        _warn(
            "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave"
            " 'penalty' set to its default value and use 'l1_ratio' or 'C' instead. Use l1_ratio=0 instead of"
            " penalty='l2', l1_ratio=1 instead of penalty='l1', l1_ratio set to a float between 0 and 1 instead of"
            " penalty='elasticnet', and C=np.inf instead of penalty=None.",
            FutureWarning,
        )
        return None if model.penalty is None else str(model.penalty)
    if model.l1_ratio is None:
        _warn(
            "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use 0<=l1_ratio<=1 "
            "instead.",
            FutureWarning,
        )
    if np.inf == model.C:
        return None
    return {0.0: "l2", 1.0: "l1"}.get(float(model.l1_ratio or 0.0), "elasticnet")


def _warn(message: str, kind: type[Warning] = UserWarning) -> None:
    warnings.warn(message, kind, stacklevel=5)


def check_solver(solver: str, penalty: str | None, dual: bool) -> None:
    """scikit-learn's rules about solver names, penalties and the dual."""
    if solver not in ("liblinear", "saga") and penalty not in ("l2", None):
        raise ValueError(f"Solver {solver} supports only 'l2' or None penalties, got {penalty} penalty.")
    if solver != "liblinear" and dual:
        raise ValueError(f"Solver {solver} supports only dual=False, got dual={dual}")
    if penalty == "elasticnet" and solver != "saga":
        raise ValueError(f"Only 'saga' solver supports elasticnet penalty, got solver={solver}.")
    if solver == "liblinear" and penalty is None:
        raise ValueError("C=np.inf as well as penalty=None is not supported for the liblinear solver")


def check_liblinear(solver: str, classes: int) -> None:
    """scikit-learn's rule about the solver that knows two classes only."""
    if solver == "liblinear" and classes > 2:
        raise ValueError(
            "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). Either use another "
            "solver or wrap the estimator in a OneVsRestClassifier to keep applying a one-versus-rest scheme."
        )


def strength(C: Any, weight: Any) -> Any:
    """The strength of the penalty on top of the weighted mean loss, of numbers or arrays; at most 1e200."""
    with np.errstate(over="ignore", divide="ignore"):
        return np.minimum(1.0 / np.asarray(C) / weight, 1e200)


def warn_of_change(message: str) -> None:
    """Of what later versions of scikit-learn will do."""
    warnings.warn(message, FutureWarning, stacklevel=4)


def read_l1_ratios(model: Any) -> list[Any]:
    """The candidates for l1_ratio, with scikit-learn's warnings and errors."""
    ratios = model.l1_ratios
    if isinstance(ratios, str):
        warn_of_change(
            "The default value for l1_ratios will change from None to (0.0,) in version 1.10. From version 1.10 "
            "onwards, only array-like with values in [0, 1] will be allowed, None will be forbidden. To avoid this "
            "warning, explicitly set a value, e.g. l1_ratios=(0,)."
        )
        ratios = None
    if model.penalty == "deprecated":
        if model.l1_ratios is None:
            warn_of_change(
                "'l1_ratios=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use an array-like "
                "with values in [0, 1] instead."
            )
        values = np.asarray([0.0] if ratios is None else ratios)
        penalty = "l2" if np.all(values == 0) else "l1" if np.all(values == 1) else "elasticnet"
    else:
        penalty = model.penalty
        warn_of_change(
            "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave"
            " 'penalty' set to its default value and use 'l1_ratios' and 'Cs' instead. Use l1_ratios=(0,) instead of"
            " penalty='l2', l1_ratios=(1,) instead of penalty='l1', l1_ratios set to floats between 0 and 1 instead of"
            " penalty='elasticnet', and Cs=(np.inf,) instead of penalty=None."
        )
    check_solver(model.solver, penalty, model.dual)
    if penalty == "elasticnet":
        bad = ratios is None or len(ratios) == 0
        if bad or any(isinstance(r, str) or r is None or not 0 <= r <= 1 for r in ratios):
            raise ValueError(f"l1_ratios must be an array-like of numbers between 0 and 1; got (l1_ratios={ratios!r})")
        return list(ratios)
    if ratios is not None and model.penalty != "deprecated":
        warnings.warn(
            f"l1_ratios parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})", stacklevel=3
        )
    if ratios is None:
        return [None] if penalty == "l2" else [1.0]
    return list(ratios)


def keeps_legacy(model: Any) -> bool:
    """Whether attributes have scikit-learn's older shapes."""
    if isinstance(model.use_legacy_attributes, str):
        warn_of_change(
            f"The fitted attributes of {type(model).__name__} will be simplified in scikit-learn 1.10 to remove "
            "redundancy. Set `use_legacy_attributes=False` to enable the new behavior now, or set it to `True` to "
            "silence this warning during the transition period while keeping the deprecated behavior for the time "
            "being. The default value of use_legacy_attributes will change from True to False in scikit-learn 1.10."
        )
        return True
    return bool(model.use_legacy_attributes)
