"""`certify`: judge fitted models by problems rebuilt from their parameters, and given data.

A family has a module of its own; the registration of a class names the functions that judge it.
"""

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import tenfold
from tenfold.certification.models import contradict, is_pipeline
from tenfold.certification.outputs import find_difference
from tenfold.data import BudgetSpent, limit_passes
from tenfold.estimators.registration import Registration, registration_of
from tenfold.estimators.validation import read_strings
from tenfold.judge.certificate import NOT_JUDGED, Certificate

__all__ = ["certify"]

# Passes over the data that a judge may take; the longest searches in the random attack, for dual points of hinge and
# quantile losses, take about a third of it.
BUDGET = 1000


def certify(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    offset: Any = None,
    budget: float = BUDGET,
) -> Certificate:
    """Judge a fitted model by the model and the data alone.

    The problem is rebuilt from the model's parameters, and the fitted weights are judged on the given samples: with the
    data of the fit this is a proof about the fit, with other data about how far the model is from the best one there.
    The model's own predict, decision_function or transform is tried on up to 256 samples: it must return what the
    judged arrays give.

    Parameters
    ----------
    model : a fitted estimator
        One of tenfold's or of scikit-learn's of the same name (the TypeError of any other lists them), or a Pipeline of
        scikit-learn that ends in one. The delta rule is judged with a convex loss. What scikit-learn's solver
        "liblinear" minimises has a penalty on the intercept, and is judged with it.
    X : array-like, sparse matrix, table, Dask collection, or an array on a device, of shape (n_samples, n_features)
        The samples, as `fit` takes them.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        The targets, as `fit` takes them; None where there are none, or a table brings its own.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights of the samples, as `fit` takes them; None for ones.
    offset : array-like of shape (n_samples,), default=None
        The known part of the raw predictions, for models that were fitted with one.
    budget : float, default=1000
        The most passes over X that judging may take; where classes are told apart one against the others, for each of
        them. Where they do not suffice, the certificate is not ok, and says that the model was not judged within the
        budget. Passes, not seconds: the verdict is the same on a busy machine.

    Returns
    -------
    Certificate
        Kind residual for least squares, dual residual for kernel ridge regression, gap for logistic regression, support
        vector machines and the delta rule, count for perceptrons, exact for naive Bayes, discriminants and neighbours,
        spectral for components, fixed point for k-means and mixtures, stationarity for evidence:
        Bayesian regression and Gaussian processes.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model cannot be judged.

    Notes
    -----
    Some passes over the data, at most `budget`; the memory of a fit. Runs wherever the estimator reads its data.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from tenfold import certify
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 3)
    >>> y = X[:, 0] + rng.randn(200) > 0
    >>> certify(LogisticRegression(tol=1e-8).fit(X, y), X, y).ok
    True
    >>> certify(LogisticRegression(tol=1e-1).fit(X, y), X, y).ok
    False
    """
    if is_pipeline(model):  # its last step, on what the steps before make of the samples
        check_is_fitted(model)
        features, words = judge_features(model, X)
        if features is not None and not features.ok:
            return contradict(features, f"{words} {features.explain()}")
        last = certify(model[-1], samples_before(model, X), y, sample_weight, offset=offset, budget=budget)
        return replace(last, note=f"{last.note} {words}".strip()) if words else last
    registration = find_registration(type(model))
    if registration is None:
        names = ", ".join((*sorted(tenfold.ESTIMATORS), "Pipeline"))
        raise TypeError(
            f"certify cannot judge {type(model).__module__}.{type(model).__qualname__}. It judges {names} of "
            "scikit-learn, and their counterparts in tenfold."
        )
    check_is_fitted(model)
    X = read_strings(model, X)
    if offset is not None and not registration.offset:
        raise ValueError(f"{type(model).__name__} has no offset.")
    known = {} if offset is None else {"offset": offset}
    try:
        with limit_passes(budget * _count_problems(model)):
            certificate: Certificate = load_function(registration.judge)(model, X, y, sample_weight, **known)
            if not certificate.ok:
                return certificate
            check_choice = load_function(registration.choice)
            complaint = check_choice(model, X, y, sample_weight) if check_choice else ""
    except BudgetSpent:
        note = f"The judge needs more than {budget:g} passes over X: give a larger budget."
        return Certificate("gap", np.inf, 1.0, 0.0, 0.0, np.inf, status=NOT_JUDGED, note=note)
    expect = load_function(registration.outputs)
    if not complaint and expect:
        complaint = find_difference(model, X, expect)
    return contradict(certificate, complaint) if complaint else certificate


def find_registration(cls: type) -> Registration | None:
    """The registration of a class of tenfold, or of the counterpart of a scikit-learn class."""
    if (own := registration_of(cls)) is not None or cls.__name__ not in tenfold.ESTIMATORS:
        return own
    ours = registration_of(getattr(tenfold, cls.__name__))
    return ours if ours is not None and ours.peer_class(cls.__name__) is cls else None


def load_function(name: str) -> Any:
    """A function "module.function" of this package; None where there is no name."""
    module, _, function = name.partition(".")
    return getattr(import_module(f"{__name__}.{module}"), function) if name else None


def _count_problems(model: Any) -> int:
    """The number of problems of a classifier: one for each row of its weights."""
    shape: tuple[int, ...] = getattr(getattr(model, "coef_", None), "shape", ())
    return max(1, int(shape[0])) if len(shape) == 2 and hasattr(model, "classes_") else 1


def report_only(cls: type) -> dict[str, str]:
    """Fitted attributes of a class of ours or of scikit-learn's that are not judged, each with the reason: no method
    reads them.
    """
    registration = find_registration(cls)
    if registration is None:
        return {}
    return {
        **registration.report_only,
        **({} if registration_of(cls) is registration else registration.peer_report_only),
    }


def judge_features(model: Any, X: Any) -> tuple[Certificate | None, str]:
    """The certificate of the feature map of a kernel among the steps of a pipeline before the last, and what it says;
    None where there is none. What is certified of the last step then speaks of the model on these features.
    """
    worst, words = None, []
    for name, step in list(model.steps)[:-1]:
        if step is None or step == "passthrough":
            continue
        registration = find_registration(type(step))
        if registration is not None and registration.judge.startswith("kernel_approximation."):
            certificate = certify(step, X)
            note = certificate.note
            words.append(f"The features are those of the step {name!r}, {type(step).__name__}: {note}")
            worst = certificate if worst is None or not certificate.ok else worst
        X = step.transform(X)
    return worst, " ".join(words)


def samples_before(model: Any, X: Any) -> Any:
    """The input of the last step of a pipeline."""
    return model[:-1].transform(X) if len(model) > 1 else X
