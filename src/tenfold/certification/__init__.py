"""Judge fitted models from outside, and infer from them: the problem is rebuilt from their parameters, the rows come
from the data given.

A family has a module of its own; the registration of a class names the functions that judge it.
"""

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import tenfold
from tenfold.certification.inference import check_asked, inference_of, maximised
from tenfold.certification.models import contradicted
from tenfold.certification.outputs import find_difference
from tenfold.data import BudgetSpent, limit_passes
from tenfold.estimators.registration import Registration, registration_of
from tenfold.inference import LikelihoodInference
from tenfold.judge.certificate import NOT_JUDGED, Certificate

__all__ = ["certify", "infer"]

BUDGET = 1000
"""Passes over the data that a judge may take; the longest searches of the random attack, those for the dual points of
hinges and quantiles, take about a third of it.
"""


def certify(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    offset: Any = None,
    budget: float = BUDGET,
) -> Certificate:
    """How good a fitted model is, from the model, the data and nothing else.

    The problem is rebuilt from the model's parameters, and the fitted weights are judged on the rows given: with the
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
        Kind residual for least squares, gap for logistic regression, support vector machines and the delta rule, count
        for perceptrons, exact for naive Bayes, discriminants and neighbours, spectral for components, fixed point for
        k-means and mixtures.

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
    if isinstance(model, Pipeline):  # its last step, on what the steps before make of the samples
        check_is_fitted(model)
        return certify(model[-1], _before(model, X), y, sample_weight, offset=offset, budget=budget)
    registration = find_registration(type(model))
    if registration is None:
        raise TypeError(
            f"certify cannot judge {type(model).__module__}.{type(model).__qualname__}. It judges "
            f"{', '.join((*tenfold.ESTIMATORS, 'Pipeline'))} of scikit-learn, and their counterparts in tenfold."
        )
    check_is_fitted(model)
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
    return contradicted(certificate, complaint) if complaint else certificate


def find_registration(cls: type) -> Registration | None:
    """The registration of a class of ours, or, for a class of scikit-learn's, of its counterpart here."""
    if (own := registration_of(cls)) is not None or cls.__name__ not in tenfold.ESTIMATORS:
        return own
    ours = registration_of(getattr(tenfold, cls.__name__))
    return ours if ours is not None and ours.peer_class(cls.__name__) is cls else None


def load_function(name: str) -> Any:
    """A function "module.function" of this package; None where there is no name."""
    module, _, function = name.partition(".")
    return getattr(import_module(f"{__name__}.{module}"), function) if name else None


def _count_problems(model: Any) -> int:
    """How many problems a classifier has solved: one for each row of its weights."""
    shape: tuple[int, ...] = getattr(getattr(model, "coef_", None), "shape", ())
    return max(1, int(shape[0])) if len(shape) == 2 and hasattr(model, "classes_") else 1


def report_only(cls: type) -> dict[str, str]:
    """Fitted attributes of a class of ours or of scikit-learn's that are not judged, each with the reason: no method
    reads them.
    """
    found = find_registration(cls)
    return {} if found is None else {**found.report_only, **found.peer_report_only}


def _before(model: Any, X: Any) -> Any:
    """What the last step of a pipeline gets."""
    return model[:-1].transform(X) if len(model) > 1 else X


def infer(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    covariance: str = "HC3",
    groups: Any = None,
    offset: Any = None,
) -> LikelihoodInference:
    """Standard errors, test statistics, p values and intervals of a model fitted by maximum likelihood, also where only
    its mean is right.

    Parameters
    ----------
    model : a fitted estimator
        LogisticRegression of any number of classes, PoissonRegressor, GammaRegressor or TweedieRegressor, of tenfold or
        of scikit-learn; GeneralizedLinear or GeneralizedLinearClassifier with a loss that is a likelihood;
        LinearRegression; or a Pipeline that ends in one. Without a penalty.
    X : array-like, sparse matrix, table, Dask collection, or an array on a device, of shape (n_samples, n_features)
        The samples of the fit. The fit is judged on them first: on other samples its coefficients maximise nothing.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        The targets, as `fit` takes them; None where there are none, or a table brings its own.
    sample_weight : float or array-like of shape (n_samples,), default=None
        How often each sample is there; None for once.
    covariance : {"nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="HC3"
        "nonrobust" where the distribution is right, as in the model's `inference_`; HC0 to HC3 where rows are
        independent; "cluster" where rows of one group depend on each other. Formulas are in the documentation.
    groups : array-like of shape (n_samples,), default=None
        The group of each sample, for "cluster".
    offset : array-like of shape (n_samples,), default=None
        The known part of the raw predictions, for models that were fitted with one.

    Returns
    -------
    LikelihoodInference
        Printed, it is the table of `summary`.

    Raises
    ------
    ValueError
        With the reason where there is no such inference: weights that are penalised or not optimal, classes that can be
        separated, columns that are collinear, fewer rows than coefficients.

    Notes
    -----
    The judge's passes over the rows, one for the information, and one for a robust covariance; memory k x k for k
    coefficients, and k numbers a group. Rows may be wherever the estimator reads them.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PoissonRegressor, infer
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(500, 2)
    >>> y = rng.negative_binomial(1, 1 / (1 + np.exp(X[:, 0])))  # more spread than counts of Poisson have
    >>> model = PoissonRegressor(alpha=0).fit(X, y)
    >>> model.inference_.standard_errors.round(3)
    array([0.047, 0.037, 0.035])
    >>> infer(model, X, y, covariance="HC3").standard_errors.round(3)
    array([0.064, 0.077, 0.059])
    """
    check_asked(covariance, groups)
    if isinstance(model, Pipeline):
        return infer(
            model[-1], _before(model, X), y, sample_weight, covariance=covariance, groups=groups, offset=offset
        )
    check_is_fitted(model)
    if find_registration(type(model)) is None or maximised(model) is None:
        raise TypeError(
            f"infer knows nothing of {type(model).__module__}.{type(model).__qualname__}: it is for models of maximum "
            "likelihood, LinearRegression, LogisticRegression, PoissonRegressor, GammaRegressor, TweedieRegressor, "
            "GeneralizedLinear and GeneralizedLinearClassifier."
        )
    certificate = certify(model, X, y, sample_weight, offset=offset)
    return inference_of(model, X, y, sample_weight, covariance, groups, offset, certificate)
