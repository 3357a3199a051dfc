"""Paths of least angle regression and of the Lasso as functions, from data or from products."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from tenfold.arrays import EPS, FLOATS, contiguous
from tenfold.data import MemoryRows
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_arguments,
    choice,
    instance,
    integer,
    nothing,
    real,
)
from tenfold.estimators.validation import validate_weights
from tenfold.plans.lars import Walk, knots_of, products, with_products
from tenfold.stats.gram import Gram as Products
from tenfold.stats.gram import WholeGram

_RULES: Constraints = {
    "max_iter": (integer(0),),
    "alpha_min": (real(0),),
    "method": (choice("lar", "lasso"),),
    "copy_X": (boolean(),),
    "eps": (real(0, closed="neither"), nothing()),
    "copy_Gram": (boolean(),),
    "verbose": (integer(0), boolean()),
    "return_path": (boolean(),),
    "return_n_iter": (boolean(),),
    "positive": (boolean(),),
}


def lars_path(
    X: Any,
    y: Any,
    Xy: Any = None,
    *,
    Gram: Any = None,
    max_iter: int = 500,
    alpha_min: float = 0,
    method: str = "lar",
    copy_X: bool = True,
    eps: float | None = EPS,
    copy_Gram: bool = True,
    verbose: int | bool = 0,
    return_path: bool = True,
    return_n_iter: bool = False,
    positive: bool = False,
    sample_weight: Any = None,
) -> Any:
    """The path of least angle regression, or of the Lasso, without an intercept.

    For ``method="lasso"`` the weights minimise ``(1 / (2 W)) sum_i weight_i (y_i - x_i.w)^2 + alpha ||w||_1`` at every
    alpha between the knots, where they are straight lines; W is the number of samples, or the sum of their weights.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples, taken as they are: centre them for an intercept.
    y : array-like of shape (n_samples,)
        The targets.
    Xy : array-like of shape (n_features,), default=None
        The products ``X'y`` where they are known; None computes them.
    Gram : None, "auto", bool or array-like of shape (n_features, n_features), default=None
        The Gram matrix ``X'X``, True to form it; else it is formed where that is cheaper.
    max_iter : int, default=500
        After how many steps to stop.
    alpha_min : float, default=0
        Where the path ends.
    method : {"lar", "lasso"}, default="lar"
        Least angle regression, or the Lasso, in which a feature leaves when its weight reaches zero.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    eps : float, default=np.finfo(float).eps
        A feature whose squared norm orthogonal to the active features is at most this fraction of the whole (and
        never more than 1e-12) is skipped as linearly dependent.
    copy_Gram : bool, default=True
        Accepted for compatibility: the Gram matrix is never changed.
    verbose : int, default=0
        Accepted for compatibility, without effect.
    return_path : bool, default=True
        Whether to return all knots, or only the last.
    return_n_iter : bool, default=False
        Whether to return the number of steps.
    positive : bool, default=False
        Whether weights must not be negative; only for the Lasso.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples; None: all ones.

    Returns
    -------
    alphas : ndarray of shape (n_alphas + 1,)
        The largest ``|x_j.r| / W`` at every knot, r the residual.
    active : list of int
        Active features at the end of the path.
    coefs : ndarray of shape (n_features, n_alphas + 1)
        Weights at every knot; of shape (n_features,) with ``return_path=False``.
    n_iter : int
        Number of steps; only with `return_n_iter`.

    Notes
    -----
    The Gram matrix from one pass, or products of about 32 features a pass; then 2 k p products a step with k active
    features.
    Cookbook, ch. 18.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import lars_path
    >>> alphas, active, coefs = lars_path(np.eye(3), np.array([1.0, 3.0, 2.0]), method="lasso")
    >>> 3.0 * alphas
    array([3., 2., 1., 0.])
    >>> coefs[1]
    array([0., 1., 2., 3.])
    """
    values = {
        "max_iter": max_iter,
        "alpha_min": alpha_min,
        "method": method,
        "copy_X": copy_X,
        "eps": eps,
        "copy_Gram": copy_Gram,
        "verbose": verbose,
        "return_path": return_path,
        "return_n_iter": return_n_iter,
        "positive": positive,
    }
    rules = {**_RULES, "Gram": (choice("auto"), boolean(), instance(np.ndarray), nothing())}
    check_arguments("lars_path", rules, Gram=Gram, **values)
    if X is None:
        if Gram is not None:
            raise ValueError("X cannot be None if Gram is not None. Use lars_path_gram to avoid passing X and y.")
        raise ValueError("X and Gram cannot both be unspecified.")
    X = check_array(X, accept_sparse="csr", dtype=list(FLOATS), input_name="X")
    target = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    if target.ndim != 1 or len(target) != X.shape[0]:
        raise ValueError(f"y must have one entry for each of the {X.shape[0]} rows of X, got shape {target.shape}.")
    column = np.ascontiguousarray(target[:, None], dtype=np.float64)
    rows = MemoryRows(contiguous(X), column, validate_weights(sample_weight, X))
    gram: Products = products(rows, False, max_iter, True if Gram is True else None)
    kept = {X.dtype, target.dtype}
    if Xy is not None or isinstance(Gram, np.ndarray):
        given = [part for part in (Xy, Gram) if isinstance(part, np.ndarray)]
        kept |= {part.dtype for part in given}
        whole = check_array(Gram, dtype=np.float64) if isinstance(Gram, np.ndarray) else None
        if whole is not None and whole.shape != (X.shape[1],) * 2:
            raise ValueError("The shapes of the inputs Gram and Xy do not match.")
        right = None if Xy is None else np.asarray(Xy, dtype=np.float64).reshape(X.shape[1], 1)
        gram = with_products(gram, whole, right)
    return _answer(gram, kept, values)


def lars_path_gram(
    Xy: Any,
    Gram: Any,
    *,
    n_samples: int,
    max_iter: int = 500,
    alpha_min: float = 0,
    method: str = "lar",
    copy_X: bool = True,
    eps: float | None = EPS,
    copy_Gram: bool = True,
    verbose: int | bool = 0,
    return_path: bool = True,
    return_n_iter: bool = False,
    positive: bool = False,
) -> Any:
    """The path of least angle regression, or of the Lasso, from the products ``X'y`` and ``X'X`` alone.

    For ``method="lasso"`` the weights minimise ``(1 / (2 W)) sum_i weight_i (y_i - x_i.w)^2 + alpha ||w||_1`` at every
    alpha between the knots, where they are straight lines; W is `n_samples`.

    Parameters
    ----------
    Xy : array-like of shape (n_features,)
        The products ``X'y``.
    Gram : array-like of shape (n_features, n_features)
        The Gram matrix ``X'X``.
    n_samples : int
        The number of samples, or the sum of their weights.
    max_iter : int, default=500
        After how many steps to stop.
    alpha_min : float, default=0
        Where the path ends.
    method : {"lar", "lasso"}, default="lar"
        Least angle regression, or the Lasso, in which a feature leaves when its weight reaches zero.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    eps : float, default=np.finfo(float).eps
        A feature whose squared norm orthogonal to the active features is at most this fraction of the whole (and
        never more than 1e-12) is skipped as linearly dependent.
    copy_Gram : bool, default=True
        Accepted for compatibility: the Gram matrix is never changed.
    verbose : int, default=0
        Accepted for compatibility, without effect.
    return_path : bool, default=True
        Whether to return all knots, or only the last.
    return_n_iter : bool, default=False
        Whether to return the number of steps.
    positive : bool, default=False
        Whether weights must not be negative; only for the Lasso.

    Returns
    -------
    alphas : ndarray of shape (n_alphas + 1,)
        The largest ``|x_j.r| / W`` at every knot, r the residual.
    active : list of int
        Active features at the end of the path.
    coefs : ndarray of shape (n_features, n_alphas + 1)
        Weights at every knot; of shape (n_features,) with ``return_path=False``.
    n_iter : int
        Number of steps; only with `return_n_iter`.

    Notes
    -----
    2 k p products a step with k active features; memory p x p.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import lars_path_gram
    >>> alphas, active, coefs = lars_path_gram(np.array([1.0, 3.0, 2.0]), np.eye(3), n_samples=3)
    >>> active
    [1, 2, 0]
    """
    values = {
        "max_iter": max_iter,
        "alpha_min": alpha_min,
        "method": method,
        "copy_X": copy_X,
        "eps": eps,
        "copy_Gram": copy_Gram,
        "verbose": verbose,
        "return_path": return_path,
        "return_n_iter": return_n_iter,
        "positive": positive,
    }
    rules = {**_RULES, "n_samples": (real(0),)}
    check_arguments("lars_path_gram", rules, n_samples=n_samples, **values)
    whole = check_array(Gram, dtype=list(FLOATS), input_name="Gram")
    right = check_array(Xy, ensure_2d=False, dtype=list(FLOATS), input_name="Xy")
    if right.ndim != 1 or whole.shape != (len(right),) * 2:
        raise ValueError("The shapes of the inputs Gram and Xy do not match.")
    kept = {whole.dtype, right.dtype}
    whole, right = whole.astype(np.float64), right.astype(np.float64)
    return _answer(WholeGram.from_products(whole, right[:, None], weight=float(n_samples)), kept, values)


def _answer(gram: Products, kept: set[Any], values: dict[str, Any]) -> Any:
    """What scikit-learn returns, in the dtype that all input has, else in float64."""
    lasso = values["method"] == "lasso"
    if values["positive"] and not lasso:
        raise ValueError("Positive constraint not supported for 'lar' coding method.")
    how = Walk(lasso, values["positive"], float(values["alpha_min"]), values["max_iter"], values["eps"] or 0.0)
    (knots,) = knots_of(gram, how)
    dtype = next(iter(kept)) if len(kept) == 1 and next(iter(kept)) in FLOATS else np.float64
    alphas, coefs = (knots.sizes / gram.columns.weight).astype(dtype), knots.weights.T.astype(dtype)
    if not values["return_path"]:
        alphas, coefs = alphas[-1:], coefs[:, -1]
    result = (alphas, knots.active.tolist(), coefs)
    return (*result, len(knots.sizes) - 1) if values["return_n_iter"] else result
