"""Judge fitted models from outside: the problem is rebuilt from their parameters, the rows come from the data given."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, contiguous, is_dask, is_foreign, is_sparse, like, namespace, on_host
from tenfold.data import Table
from tenfold.estimators.contract import (
    as_rows,
    canonical,
    class_factors,
    counted,
    factor_of_each,
    numbered,
    rowwise,
    unknown_classes,
    validate,
    validate_weights,
)
from tenfold.estimators.least_squares.ridge import signs
from tenfold.estimators.logistic import class_weights, signs_of, strength
from tenfold.judge import Certificate, gap, residual
from tenfold.losses import Logistic
from tenfold.penalties import L2
from tenfold.plans.least_squares import ridge_problem
from tenfold.problems import Glm
from tenfold.stats import Columns, Params

STATUS = "judged"


def certify(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
    """How good a fitted model is, from the model, the data and nothing else.

    The problem is rebuilt from the model's parameters, and the fitted weights are judged on the rows given: with the
    data of the fit this is a proof about the fit, with other data about how far the model is from the best one there.

    Parameters
    ----------
    model : a fitted estimator
        LinearRegression, Ridge, RidgeCV, RidgeClassifier, RidgeClassifierCV or LogisticRegression (two classes, L2
        penalty or none) of tenfold or of scikit-learn, or a Pipeline of scikit-learn that ends in one of these. What
        scikit-learn's solver "liblinear" minimises has a penalty on the intercept, and is judged with it.
    X, y, sample_weight : as in the model's ``fit``.

    Returns
    -------
    Certificate
        Kind residual for least squares, gap for logistic regression.

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


def _regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = _validated(model, X, y, numeric=True)
    return _least_squares(model, X, y, validate_weights(sample_weight, X))


def _classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = _validated(model, X, y, numeric=False)
    weight = validate_weights(sample_weight, X)
    if y.ndim == 1:
        _known(model, y)
        Y = signs(numbered(model.classes_, y, X), model.classes_.shape[0])
    else:
        Y = namespace(y).where(y > 0, 1.0, -1.0)
    if model.class_weight is not None:
        factor = _balance(model, y, X)
        weight = factor if weight is None else weight * factor
    return _least_squares(model, X, Y, weight)


def _balance(model: Any, y: Array, X: Array) -> Array:
    """The class weight of each row."""
    if is_dask(y) and y.ndim == 1:
        number = numbered(model.classes_, y, X)
        return factor_of_each(class_factors(model.class_weight, model.classes_, number, None), number)
    factor = np.asarray(compute_sample_weight(model.class_weight, on_host(y)), dtype=np.float64)
    return like(factor, X) if is_foreign(X) else factor


def _least_squares(model: Any, X: Array, y: Array, weight: Array | None) -> Certificate:
    rows = as_rows(X, y, weight)
    columns = rows.fold(Columns.lift)
    alpha = np.asarray(getattr(model, "alpha_", getattr(model, "alpha", 0.0)), dtype=np.float64)
    alpha = np.array(np.broadcast_to(np.ravel(alpha), rows.targets))
    problem = ridge_problem(alpha, columns.weight, model.fit_intercept, getattr(model, "positive", False))
    params, dtype = _params(model, rows.targets)
    return residual(problem, rows, params, columns, status=_status(model), dtype=dtype).certificate


def _logistic(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    if model.classes_.shape[0] != 2:
        raise TypeError(f"certify judges LogisticRegression of two classes; this model has {model.classes_.shape[0]}.")
    X, y = _validated(model, X, y, numeric=False)
    _known(model, y)
    second = y == model.classes_[1]
    weight = class_weights(model.class_weight, model.classes_, second, validate_weights(sample_weight, X))
    params, dtype = _params(model, 1)
    C, intercept = _inverse_strength(model), bool(model.fit_intercept)
    if intercept and model.solver == "liblinear" and type(model).__module__.startswith("sklearn."):
        # liblinear: the intercept is the weight of one more column, and penalised
        unit = float(model.intercept_scaling)
        X = X.load() if isinstance(X, Table) else X
        X = rowwise(partial(_with_column, unit), X)
        params = Params(np.column_stack([params.coef, params.intercept / unit]), np.zeros(1))
        intercept = False
    X, signs, weight = counted(X, signs_of(second), weight)
    rows = as_rows(contiguous(X) if isinstance(X, np.ndarray) else X, signs, weight)
    penalty = L2(strength(C, signs.shape[0] if weight is None else float(namespace(weight).sum(weight))))
    return gap(Glm(Logistic(), penalty, intercept), rows, params, status=_status(model), dtype=dtype)


def _with_column(value: float, X: Array) -> Array:
    """X with one more column, of one value."""
    column = np.full((X.shape[0], 1), value, dtype=X.dtype)
    return sparse.hstack([X, sparse.csr_array(column)], format="csr") if is_sparse(X) else np.hstack([X, column])


def _inverse_strength(model: Any) -> float:
    """C, infinite where there is no penalty; refuses other penalties."""
    if model.penalty is None or (model.penalty == "deprecated" and np.inf == model.C):
        return np.inf
    if model.penalty in ("l1", "elasticnet") or (model.penalty == "deprecated" and model.l1_ratio not in (0, None)):
        raise TypeError("certify judges LogisticRegression with an L2 penalty or none; this model has an L1 penalty.")
    return float(model.C)


def _validated(model: Any, X: Any, y: Any, *, numeric: bool) -> tuple[Array, Array]:
    """X and y as the model's own fit would take them; the model is not changed."""
    if isinstance(X, Table) or is_foreign(X):
        return validate(BaseEstimator(), X, y, numeric=numeric)
    X, y = validate_data(
        model, X, y, reset=False, accept_sparse="csr", dtype=list(FLOATS), multi_output=True, y_numeric=numeric
    )
    return canonical(X), np.ravel(y) if y.ndim == 2 and y.shape[1] == 1 else y


def _known(model: Any, y: Array) -> None:
    unknown = unknown_classes(model.classes_, y)
    if unknown.size:
        raise ValueError(
            f"y holds classes that the model does not know: {unknown.tolist()}; it knows {model.classes_}."
        )


def _params(model: Any, targets: int) -> tuple[Params, Any]:
    """The fitted weights and intercepts in float64, and the dtype in which the model keeps them."""
    coef = model.coef_.toarray() if is_sparse(model.coef_) else on_host(model.coef_)
    b = np.broadcast_to(np.ravel(np.asarray(on_host(model.intercept_), dtype=np.float64)), targets)
    dtype = coef.dtype if coef.dtype in FLOATS else np.float64
    coef = np.ascontiguousarray(coef.reshape(targets, -1), dtype=np.float64)
    return Params(coef, np.ascontiguousarray(b)), dtype


def _status(model: Any) -> str:
    """How the fit ended, where the model says so."""
    return str(getattr(model, "status_", STATUS))


JUDGES: dict[str, Callable[[Any, Any, Any, Any], Certificate]] = {
    "LinearRegression": _regression,
    "Ridge": _regression,
    "RidgeCV": _regression,
    "RidgeClassifier": _classification,
    "RidgeClassifierCV": _classification,
    "LogisticRegression": _logistic,
    "Pipeline": _pipeline,
}
"""What can be judged, by the name of its class, and how; scikit-learn's and ours alike."""
