"""Judge fitted models from outside, and infer from them: the problem is rebuilt from their parameters, the rows come
from the data given.

A family has a module of its own, whose `JUDGES` say by the name of a class how it is judged.
"""

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from tenfold.certification import (
    by_class,
    clusters,
    components,
    glm,
    greedy,
    lasso,
    least_squares,
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
from tenfold.inference import LikelihoodInference
from tenfold.judge import Certificate

__all__ = ["certify", "infer"]


def certify(model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> Certificate:
    """How good a fitted model is, from the model, the data and nothing else.

    The problem is rebuilt from the model's parameters, and the fitted weights are judged on the rows given: with the
    data of the fit this is a proof about the fit, with other data about how far the model is from the best one there.

    Parameters
    ----------
    model : a fitted estimator
        One of tenfold's or of scikit-learn's of the same name (the TypeError of any other lists them), or a Pipeline of
        scikit-learn that ends in one. The delta rule is judged with a convex loss. What scikit-learn's solver
        "liblinear" minimises has a penalty on the intercept, and is judged with it.
    X, y, sample_weight, offset : as in the model's ``fit``.

    Returns
    -------
    Certificate
        Kind residual for least squares, gap for logistic regression, support vector machines and the delta rule, count
        for perceptrons, fixed point for mixtures.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model cannot be judged.

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
    judge = JUDGES.get(type(model).__name__)
    if judge is None or type(model).__module__.partition(".")[0] not in ("tenfold", "sklearn"):
        raise TypeError(
            f"certify cannot judge {type(model).__module__}.{type(model).__qualname__}. It judges "
            f"{', '.join(JUDGES)} of scikit-learn, and their counterparts in tenfold."
        )
    check_is_fitted(model)
    if offset is None:
        return judge(model, X, y, sample_weight)
    if judge is not _pipeline and type(model).__name__ not in glm.JUDGES:
        raise ValueError(f"{type(model).__name__} has no offset.")
    return judge(model, X, y, sample_weight, offset=offset)


def _pipeline(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Certificate:
    """The last step, on the rows that the steps before make."""
    return certify(model[-1], _before(model, X), y, sample_weight, offset=offset)


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
    X, y, sample_weight, offset : those of the model's ``fit``
        The fit is judged on them first: on other rows its coefficients maximise nothing. A weight says how often its
        row is there.
    covariance : {"nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="HC3"
        "nonrobust" where the distribution is right, as in the model's `inference_`; HC0 to HC3 where rows are
        independent; "cluster" where rows of one group depend on each other. Formulas are in the documentation.
    groups : array-like of shape (n_samples,)
        The group of each row, for "cluster".

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


JUDGES: dict[str, Callable[..., Certificate]] = {
    **by_class.JUDGES,
    **clusters.JUDGES,
    **components.JUDGES,
    **glm.JUDGES,
    **greedy.JUDGES,
    **least_squares.JUDGES,
    **lasso.JUDGES,
    **logistic.JUDGES,
    **mixture.JUDGES,
    **neighbours.JUDGES,
    **perceptron.JUDGES,
    **sgd.JUDGES,
    **structured.JUDGES,
    **svm.JUDGES,
    **two_blocks.JUDGES,
    "Pipeline": _pipeline,
}
"""What can be judged, by the name of its class, and how; scikit-learn's and ours alike."""
