"""Judge fitted models from outside: the problem is rebuilt from their parameters, the rows come from the data given.

A family has a module of its own, whose `JUDGES` say by the name of a class how it is judged.
"""

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from tenfold.certification import glm, greedy, lasso, least_squares, logistic, perceptron, sgd, svm
from tenfold.judge import Certificate

__all__ = ["certify"]


def certify(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
    """How good a fitted model is, from the model, the data and nothing else.

    The problem is rebuilt from the model's parameters, and the fitted weights are judged on the rows given: with the
    data of the fit this is a proof about the fit, with other data about how far the model is from the best one there.

    Parameters
    ----------
    model : a fitted estimator
        One of tenfold's or of scikit-learn's of the same name (the TypeError of any other lists them), or a Pipeline of
        scikit-learn that ends in one. The delta rule is judged with a convex loss. What scikit-learn's solver
        "liblinear" minimises has a penalty on the intercept, and is judged with it.
    X, y, sample_weight : as in the model's ``fit``.

    Returns
    -------
    Certificate
        Kind residual for least squares, gap for logistic regression, support vector machines and the delta rule, count
        for perceptrons.

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
    return judge(model, X, y, sample_weight)


def _pipeline(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The last step, on the rows that the steps before make."""
    return certify(model[-1], model[:-1].transform(X) if len(model) > 1 else X, y, sample_weight)


JUDGES: dict[str, Callable[[Any, Any, Any, Any], Certificate]] = {
    **glm.JUDGES,
    **greedy.JUDGES,
    **least_squares.JUDGES,
    **lasso.JUDGES,
    **logistic.JUDGES,
    **perceptron.JUDGES,
    **sgd.JUDGES,
    **svm.JUDGES,
    "Pipeline": _pipeline,
}
"""What can be judged, by the name of its class, and how; scikit-learn's and ours alike."""
