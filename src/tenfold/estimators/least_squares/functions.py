"""Ridge regression as functions: the weights at one alpha, and whole paths."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from tenfold.cross_validation.ridge_path import RidgePath, norm_bounded, path
from tenfold.estimators.least_squares.ridge import Ridge
from tenfold.estimators.validation import as_rows, require_finite, validate, validate_weights


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

    Minimises ``sum_i weight_i (y_i - x_i.w)^2 + alpha ||w||^2``. The certificate is that of `Ridge`; a fit that is not
    certified warns.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        The targets.
    alpha : float or array-like of shape (n_targets,)
        Strength of the L2 penalty, for all targets or for each; 0 for none.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights of the samples; None: all ones.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, default="auto"
        scikit-learn's names are accepted; the same optimum is reached and certified, by the method that suits the
        shape of the data. "lbfgs" asks for ``positive=True``.
    max_iter : int, default=None
        Limit of the steps of the iterative solver. None: the default limit of the solver.
    tol : float, default=1e-4
        Precision of the iterative solver; the direct solvers are as precise as the arithmetic.
    verbose : int, default=0
        Accepted for compatibility, without effect.
    positive : bool, default=False
        Whether to constrain the weights to be at least zero.
    random_state : int, RandomState instance or None, default=None
        Accepted for compatibility: nothing here is random.
    return_n_iter : bool, default=False
        Whether to return the number of iterations.
    return_intercept : bool, default=False
        Whether to fit an intercept, and return it.
    check_input : bool, default=True
        Accepted for compatibility: input is always checked.

    Returns
    -------
    coef : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features.
    n_iter : ndarray of int or None
        Steps of an iterative solver; only with `return_n_iter`.
    intercept : float or ndarray of shape (n_targets,)
        The intercept; only with `return_intercept`.

    Notes
    -----
    Two passes over the data; memory p x p (n x n when n < p, vectors when both are large and X is sparse). Runs on
    dense and sparse arrays, files, devices and Dask collections.

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
    fitted = [model.coef_]
    if return_n_iter:
        fitted.append(model.n_iter_)
    if return_intercept:
        fitted.append(model.intercept_)
    return tuple(fitted) if len(fitted) > 1 else fitted[0]


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
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        The targets.
    alphas : array-like of shape (n_alphas,), default=None
        Strengths of the penalty; None only with `norm`.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights of the samples; None: all ones.
    fit_intercept : bool, default=True
        Whether to fit an intercept; it is never penalised.
    norm : float, default=None
        The norm-bounded form: the least squares weights with ``||w|| <= norm``. The path then holds the one alpha for
        which the bound is met exactly, or alpha 0 where least squares already obeys it. None for the given alphas.

    Returns
    -------
    RidgePath
        Weights, intercepts, singular values, shrinkage factors, degrees of freedom, norms and training errors.

    Notes
    -----
    One eigendecomposition for any number of alphas; memory p x p, or n x n when n < p.
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
        return require_finite(owner, X, lambda: norm_bounded(rows, bound, fit_intercept, flat=y.ndim == 1))
    if alphas is None:
        raise ValueError("ridge_path needs alphas, or the bound norm.")
    grid = np.ravel(check_array(alphas, ensure_2d=False, dtype=np.float64))
    return require_finite(owner, X, lambda: path(rows, grid, fit_intercept, flat=y.ndim == 1))
