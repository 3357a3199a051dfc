"""Ridge regression as functions: the weights at one alpha, and whole paths."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from tenfold.choose.path import RidgePath, norm_bounded, path
from tenfold.estimators.contract import as_rows, refuse_not_finite, validate, validate_weights
from tenfold.estimators.least_squares.ridge import Ridge


def ridge_regression(
    X: Any,
    y: Any,
    alpha: Any,
    *,
    sample_weight: Any = None,
    solver: str = "auto",
    max_iter: int | None = None,
    tol: float = 1e-4,
    verbose: int = 0,
    positive: bool = False,
    random_state: Any = None,
    return_n_iter: bool = False,
    return_intercept: bool = False,
    check_input: bool = True,
) -> Any:
    """Ridge regression as a function: the weights, without an intercept unless `return_intercept`.

    Minimises ``sum_i weight_i (y_i - x_i.w)^2 + alpha ||w||^2``; parameters as in `Ridge`. `verbose` and
    `random_state` have no effect.

    Returns
    -------
    coef : ndarray of shape (n_features,) or (n_targets, n_features)
    n_iter : int array or None, where `return_n_iter`
    intercept : float or ndarray, where `return_intercept`

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ridge_regression
    >>> ridge_regression(np.array([[1.0], [2.0]]), np.array([1.0, 2.0]), alpha=1.0)
    array([0.83333333])
    """
    check_array(np.ravel(np.asarray(alpha, dtype=np.float64)), ensure_2d=False, input_name="alpha")
    model = Ridge(
        alpha,
        fit_intercept=return_intercept,
        max_iter=max_iter,
        tol=tol,
        solver=solver,
        positive=positive,
        random_state=random_state,
    ).fit(X, y, sample_weight=sample_weight)
    found = [model.coef_]
    if return_n_iter:
        found.append(model.n_iter_)
    if return_intercept:
        found.append(model.intercept_)
    return tuple(found) if len(found) > 1 else found[0]


def ridge_path(
    X: Any,
    y: Any,
    alphas: Any = None,
    *,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    norm: float | None = None,
) -> RidgePath:
    """All of a ridge path from one eigendecomposition: weights, shrinkage factors, degrees of freedom, norms,
    training errors.

    With singular values s_j of the (centred) X, ridge shrinks the j-th component of least squares by s_j^2 / (s_j^2 +
    alpha).

    Parameters
    ----------
    X, y, sample_weight : as in `Ridge`.
    alphas : array of shape (n_alphas,)
        Strengths of the penalty; not needed with `norm`.
    fit_intercept : bool, default=True
    norm : float, default=None
        The norm-bounded form: the least squares weights with ``||w|| <= norm``. The path then holds the one alpha for
        which the bound is met exactly, or alpha 0 where least squares already obeys it.

    Returns
    -------
    RidgePath

    Notes
    -----
    Seeger, section 7.2.2 (shrinkage); Welling, section 10.2 (norm-bounded form).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ridge_path
    >>> X = np.diag([2.0, 1.0])
    >>> ridge_path(X, np.array([2.0, 1.0]), [0.0, 1.0], fit_intercept=False).shrinkage
    array([[1. , 1. ],
           [0.8, 0.5]])
    """
    owner = Ridge()
    X, y = validate(owner, X, y)
    rows = as_rows(X, y, validate_weights(sample_weight, X))
    if norm is not None:
        if alphas is not None:
            raise ValueError("Give either alphas or norm: the norm-bounded form finds its own alpha.")
        bound = float(norm)
        return refuse_not_finite(owner, X, lambda: norm_bounded(rows, bound, fit_intercept, flat=y.ndim == 1))
    if alphas is None:
        raise ValueError("ridge_path needs alphas, or the bound norm.")
    grid = np.ravel(check_array(alphas, ensure_2d=False, dtype=np.float64))
    return refuse_not_finite(owner, X, lambda: path(rows, grid, fit_intercept, flat=y.ndim == 1))
