"""What the parameters of a cross-validated logistic model stand for, with scikit-learn's warnings and errors."""

import warnings
from typing import Any

import numpy as np

from tenfold.estimators.logistic.settings import check_solver


def warn_of_change(message: str) -> None:
    """Of what later versions of scikit-learn will do."""
    warnings.warn(message, FutureWarning, stacklevel=4)


def chosen_ratios(model: Any) -> list[Any]:
    """The candidates for the share of L1, with scikit-learn's warnings and errors."""
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
