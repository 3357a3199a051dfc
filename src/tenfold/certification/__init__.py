"""Judge fitted models from outside, and infer from them: the problem is rebuilt from their parameters, the rows come
from the data given.

A family has a module of its own, whose `JUDGES` say by the name of a class how it is judged.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import tenfold
from tenfold.certification import (
    by_class,
    clusters,
    components,
    glm,
    greedy,
    lasso,
    least_squares,
    linear_outputs,
    logistic,
    mixture,
    neighbours,
    perceptron,
    sgd,
    structured,
    svm,
    two_blocks,
)
from tenfold.certification.inference import check_asked, inference_of, maximised
from tenfold.certification.models import contradicted
from tenfold.certification.outputs import Expect, find_difference
from tenfold.data import BudgetSpent, limit_passes
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
    name = type(model).__name__
    if name not in (*JUDGES, "Pipeline") or type(model).__module__.partition(".")[0] not in ("tenfold", "sklearn"):
        raise TypeError(
            f"certify cannot judge {type(model).__module__}.{type(model).__qualname__}. It judges "
            f"{', '.join((*JUDGES, 'Pipeline'))} of scikit-learn, and their counterparts in tenfold."
        )
    check_is_fitted(model)
    if name == "Pipeline":  # its last step, on what the steps before make of the samples
        return certify(model[-1], _before(model, X), y, sample_weight, offset=offset, budget=budget)
    if offset is not None and name not in glm.JUDGES:
        raise ValueError(f"{name} has no offset.")
    try:
        with limit_passes(budget * _count_problems(model)):
            certificate = JUDGES[name](model, X, y, sample_weight, **({} if offset is None else {"offset": offset}))
            if not certificate.ok:
                return certificate
            complaint = CHOSEN[name](model, X, y, sample_weight) if name in CHOSEN else ""
    except BudgetSpent:
        note = f"The judge needs more than {budget:g} passes over X: give a larger budget."
        return Certificate("gap", np.inf, 1.0, 0.0, 0.0, np.inf, status=NOT_JUDGED, note=note)
    if not complaint and name in OUTPUTS:
        complaint = find_difference(model, X, OUTPUTS[name])
    return contradicted(certificate, complaint) if complaint else certificate


def _count_problems(model: Any) -> int:
    """How many problems a classifier has solved: one for each row of its weights."""
    shape: tuple[int, ...] = getattr(getattr(model, "coef_", None), "shape", ())
    return max(1, int(shape[0])) if len(shape) == 2 and hasattr(model, "classes_") else 1


def report_only(cls: type) -> dict[str, str]:
    """Fitted attributes of a class of ours or of scikit-learn's that are not judged, each with the reason: no method
    reads them.
    """
    ours = getattr(tenfold, cls.__name__, cls)
    lists = [vars(base).get("_report_only", {}) for base in reversed(ours.__mro__)]
    return {name: reason for one in (*lists, REPORT_ONLY.get(cls.__name__, {})) for name, reason in one.items()}


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
    if type(model).__name__ == "Pipeline":
        return infer(
            model[-1], _before(model, X), y, sample_weight, covariance=covariance, groups=groups, offset=offset
        )
    check_is_fitted(model)
    if type(model).__module__.partition(".")[0] not in ("tenfold", "sklearn") or maximised(model) is None:
        raise TypeError(
            f"infer knows nothing of {type(model).__module__}.{type(model).__qualname__}: it is for models of maximum "
            "likelihood, LinearRegression, LogisticRegression, PoissonRegressor, GammaRegressor, TweedieRegressor, "
            "GeneralizedLinear and GeneralizedLinearClassifier."
        )
    certificate = certify(model, X, y, sample_weight, offset=offset)
    return inference_of(model, X, y, sample_weight, covariance, groups, offset, certificate)


FAMILIES = (
    by_class,
    clusters,
    components,
    glm,
    greedy,
    least_squares,
    linear_outputs,
    lasso,
    logistic,
    mixture,
    neighbours,
    perceptron,
    sgd,
    structured,
    svm,
    two_blocks,
)


def _gather(table: str) -> dict[str, Any]:
    """The tables of one name of all families."""
    return {name: entry for family in FAMILIES for name, entry in getattr(family, table, {}).items()}


JUDGES: dict[str, Callable[..., Certificate]] = _gather("JUDGES")
"""What can be judged, by the name of its class, and how; scikit-learn's and ours alike."""

OUTPUTS: dict[str, Expect] = _gather("OUTPUTS")
"""What the methods of a class return, from its judged arrays."""

CHOSEN: dict[str, Callable[[Any, Any, Any, Any], str]] = _gather("CHOSEN")
"""Why a hyper-parameter that a class has chosen is not the one that its scores ask for; "" where it is."""

REPORT_ONLY: dict[str, dict[str, str]] = _gather("REPORT_ONLY")
"""Fitted attributes that only scikit-learn's class of a name has, and that are not judged, with the reasons."""
