"""Orthogonal matching pursuit as functions: the weights alone, from data or from products."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_array

from tenfold.arrays import FLOATS, Array, Floats, contiguous
from tenfold.data import MemoryRows
from tenfold.estimators.greedy.omp import PREMATURE, count_requested
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_arguments,
    choice,
    integer,
    nothing,
    real,
)
from tenfold.plans.greedy_selection import gram_of, paths
from tenfold.problems import GreedyRule
from tenfold.stats.gram import Gram, WholeGram

_LIMITS: Constraints = {
    "n_nonzero_coefs": (integer(1), nothing()),
    "tol": (real(0), nothing()),
    "return_path": (boolean(),),
    "return_n_iter": (boolean(),),
}


def orthogonal_mp(
    X: Any,
    y: Any,
    *,
    n_nonzero_coefs: int | None = None,
    tol: float | None = None,
    precompute: bool | str = False,
    copy_X: bool = True,
    return_path: bool = False,
    return_n_iter: bool = False,
    sample_weight: Any = None,
) -> Any:
    """Orthogonal matching pursuit as a function, without an intercept.

    Looks for few features I with a small ``sum_i weight_i (y_i - x_i.w)^2``, w zero outside I: each step takes the
    feature with the largest ``|x_j.r|``, r the residual of least squares on those taken before, and fits anew.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples, taken as they are: centre them for an intercept.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        The targets.
    n_nonzero_coefs : int, default=None
        How many features to take; None takes a tenth of them, at least one. Not used with `tol`.
    tol : float, default=None
        Take features until the (weighted) sum of squared residuals is at most this. None for a number of features.
    precompute : bool or "auto", default=False
        Whether to form the whole Gram matrix; "auto" forms it where that is cheaper than reading the products of the
        features that are selected.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    return_path : bool, default=False
        Whether to return the weights after every step.
    return_n_iter : bool, default=False
        Whether to return the number of selected features.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples; None: all ones.

    Returns
    -------
    coef : ndarray of shape (n_features,) or (n_features, n_targets)
        Weights of the features; with a last axis of steps for a path.
    n_iters : int or list of int
        The number of selected features; only with `return_n_iter`.

    Notes
    -----
    The Gram matrix from one pass, or one pass for about 32 features where few of many are asked for; then k^2 p
    products for k features.
    Rosasco, section 11.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import orthogonal_mp
    >>> orthogonal_mp(np.eye(3), np.array([1.0, 3.0, 2.0]), n_nonzero_coefs=2)
    array([0., 3., 2.])
    """
    check_arguments(
        "orthogonal_mp",
        {**_LIMITS, "precompute": (choice("auto"), boolean())},
        n_nonzero_coefs=n_nonzero_coefs,
        tol=tol,
        precompute=precompute,
        return_path=return_path,
        return_n_iter=return_n_iter,
    )
    X = check_array(X, accept_sparse="csr", dtype=list(FLOATS), input_name="X")
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    Y = contiguous(y[:, None] if y.ndim == 1 else y)
    if len(Y) != X.shape[0]:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[X.shape[0], len(Y)]}")
    weight = None
    if sample_weight is not None:
        weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    most = count_requested(n_nonzero_coefs, tol, X.shape[1])
    rows = MemoryRows(contiguous(X), Y, weight)
    whole = None if isinstance(precompute, str) else True if precompute else None
    gram = gram_of(rows, False, X.shape[1] if most is None else most, whole)
    return _answer(gram, GreedyRule("correlation", most, tol), return_path, return_n_iter, X.dtype)


def orthogonal_mp_gram(
    Gram: Any,
    Xy: Any,
    *,
    n_nonzero_coefs: int | None = None,
    tol: float | None = None,
    norms_squared: Any = None,
    copy_Gram: bool = True,
    copy_Xy: bool = True,
    return_path: bool = False,
    return_n_iter: bool = False,
) -> Any:
    """Orthogonal matching pursuit from the products ``X'X`` and ``X'y`` alone.

    Looks for few features I with a small ``|y - X w|^2``, w zero outside I: each step takes the feature with the
    largest ``|x_j.r|``, r the residual of least squares on those taken before, and fits anew.

    Parameters
    ----------
    Gram : array-like of shape (n_features, n_features)
        The Gram matrix ``X'X``.
    Xy : array-like of shape (n_features,) or (n_features, n_targets)
        The products ``X'y``.
    n_nonzero_coefs : int, default=None
        How many features to take; None takes a tenth of them, at least one. Not used with `tol`.
    tol : float, default=None
        Take features until the (weighted) sum of squared residuals is at most this. None for a number of features.
    norms_squared : array-like of shape (n_targets,), default=None
        ``y'y`` of every target; needed with `tol`.
    copy_Gram : bool, default=True
        Accepted for compatibility: the Gram matrix is never changed.
    copy_Xy : bool, default=True
        Accepted for compatibility: the products are never changed.
    return_path : bool, default=False
        Whether to return the weights after every step.
    return_n_iter : bool, default=False
        Whether to return the number of selected features.

    Returns
    -------
    coef : ndarray of shape (n_features,) or (n_features, n_targets)
        Weights of the features; with a last axis of steps for a path.
    n_iters : int or list of int
        The number of selected features; only with `return_n_iter`.

    Notes
    -----
    k^2 p products for k features; memory p x p.
    Rosasco, section 11.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import orthogonal_mp_gram
    >>> orthogonal_mp_gram(np.eye(3), np.array([1.0, 3.0, 2.0]), n_nonzero_coefs=2)
    array([0., 3., 2.])
    """
    check_arguments(
        "orthogonal_mp_gram",
        _LIMITS,
        n_nonzero_coefs=n_nonzero_coefs,
        tol=tol,
        return_path=return_path,
        return_n_iter=return_n_iter,
    )
    products = check_array(Gram, dtype=list(FLOATS), input_name="Gram")
    kept, products = products.dtype, products.astype(np.float64, copy=False)
    with_targets = check_array(Xy, ensure_2d=False, dtype=np.float64, input_name="Xy")
    with_targets = with_targets[:, None] if with_targets.ndim == 1 else with_targets
    if products.shape != (len(with_targets),) * 2:
        raise ValueError("The shapes of the inputs Gram and Xy do not match.")
    if tol is not None and norms_squared is None:
        raise ValueError("Gram OMP needs the precomputed norms in order to evaluate the error sum of squares.")
    if tol is None and n_nonzero_coefs is None and len(products) < 10:
        raise ValueError("The number of atoms must be positive")
    squares = None
    if norms_squared is not None:
        squares = np.ravel(check_array(norms_squared, ensure_2d=False, dtype=np.float64, input_name="norms_squared"))
    rule = GreedyRule("correlation", count_requested(n_nonzero_coefs, tol, len(products)), tol)
    return _answer(WholeGram.from_products(products, with_targets, squares), rule, return_path, return_n_iter, kept)


def _answer(gram: Gram, rule: GreedyRule, return_path: bool, return_n_iter: bool, dtype: Any) -> Any:
    solutions = paths(gram, rule)
    if any(path.premature for path in solutions):
        warnings.warn(PREMATURE, RuntimeWarning, stacklevel=3)
    p = gram.squares.size
    coef: Array
    if return_path:
        steps = min(len(path.order) for path in solutions)
        each = [np.ldexp(path.every(p)[:steps], r - gram.scales).T for path, r in _with_scales(gram, solutions)]
        coef = np.stack(each, axis=1)
    else:
        each = [_spread(np.ldexp(path.weights(), r - gram.scales[path.order]), path.order, p)
                for path, r in _with_scales(gram, solutions)]  # fmt: skip
        coef = np.stack(each, axis=1)
    taken = [len(path.order) for path in solutions]
    coef = coef.astype(dtype, copy=False)
    coef = np.squeeze(coef) if p > 1 else coef[:, 0] if len(solutions) == 1 else coef
    return (coef, taken[0] if len(taken) == 1 else taken) if return_n_iter else coef


def _with_scales(gram: Gram, solutions: Any) -> Any:
    return zip(solutions, gram.target_scales, strict=True)


def _spread(values: Floats, places: Any, p: int) -> Floats:
    """Values at their places among zeros."""
    weights = np.zeros(p)
    weights[places] = values
    return weights
