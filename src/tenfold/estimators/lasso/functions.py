"""Paths of the Lasso and the elastic net as functions."""

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from tenfold.arrays import Array, Floats
from tenfold.data import Rows
from tenfold.estimators.lasso.alpha_grid import alphas_from, check_alphas, largest_alpha
from tenfold.estimators.parameters import InvalidParameterError
from tenfold.estimators.validation import as_rows, convert_like, require_finite, validate, validate_weights
from tenfold.penalties import with_alpha
from tenfold.plans.centred_design import Centred, Settings, fold_with_targets
from tenfold.plans.lasso import certify_path_from_moments, select_method, xty_of_moments
from tenfold.plans.least_squares import fold_moments
from tenfold.problems import Glm, lasso_problem, sparse_penalty

OLD_COUNT = (
    "'n_alphas' was deprecated in 1.9 and will be removed in 1.11. 'alphas' now accepts an integer value which removes "
    "the need to pass 'n_alphas'. The default value of 'alphas' will change from None to 100 in 1.11. Pass an explicit "
    "value to 'alphas' and leave 'n_alphas' to its default value to silence this warning."
)
OLD_NONE = (
    "'alphas=None' is deprecated and will be removed in 1.11, at which point the default value will be set to 100. Set "
    "'alphas=100' to silence this warning."
)


def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = "warn",
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    **params: Any,
) -> Any:
    """The path of the Lasso: its solutions for many alphas, without an intercept.

    Each minimises ``(1 / 2n) |y - Xw|^2 + alpha |w|_1``; for targets (n, t) |w|_1 is the sum over features of the
    lengths of their weights.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or table (`tenfold.rows`)
        The samples, taken as they are: centre them for an intercept.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        The targets.
    eps : float, default=1e-3
        The smallest alpha of a grid over its largest.
    n_alphas : int, default="deprecated"
        Deprecated as in scikit-learn: give `alphas` a number.
    alphas : int or array-like of shape (n_alphas,), default="warn"
        How many alphas, from the smallest at which all weights are zero; or which. Not set, it is 100.
    precompute : "auto", bool or array-like of shape (n_features, n_features), default="auto"
        Accepted for compatibility, without effect on the result.
    Xy : array-like of shape (n_features,) or (n_features, n_targets), default=None
        Accepted for compatibility, without effect on the result.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    coef_init : array-like of shape (n_features,) or (n_targets, n_features), default=None
        Weights to start from; None for zeros.
    verbose : bool or int, default=False
        Accepted for compatibility, without effect.
    return_n_iter : bool, default=False
        Whether to return the numbers of sweeps.
    positive : bool, default=False
        Whether weights are at least zero; for one target.
    **params : keyword arguments
        `tol` (default 1e-4), the duality gap at which a fit ends, over the mean square of the targets; `max_iter`
        (1000), the most sweeps over the features; `selection` ("cyclic"), or "random"; `random_state` (None), the seed
        of a random order; `sample_weight` (None), weights of the samples.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        The alphas, in decreasing order.
    coefs : ndarray of shape (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        Weights at each alpha.
    dual_gaps : ndarray of shape (n_alphas,)
        Duality gaps, from the residuals at these weights.
    n_iters : list of int
        Sweeps; only with `return_n_iter`.

    Notes
    -----
    One pass over the data and memory p x p for any number of alphas; with more features than samples some passes, and
    memory for the features that are used. Runs on dense and sparse arrays, files, devices and Dask collections.

    Examples
    --------
    >>> from tenfold import lasso_path
    >>> X, y = [[1, 2.3], [2, 5.4], [3.1, 4.3]], [1, 2, 3.1]
    >>> alphas, coefs, gaps = lasso_path(X, y, alphas=[5.0, 1.0, 0.5], tol=1e-8)
    >>> coefs.round(3)
    array([[0.   , 0.   , 0.469],
           [0.216, 0.443, 0.237]])
    """
    return enet_path(
        X,
        y,
        l1_ratio=1.0,
        eps=eps,
        n_alphas=n_alphas,
        alphas=alphas,
        precompute=precompute,
        Xy=Xy,
        copy_X=copy_X,
        coef_init=coef_init,
        verbose=verbose,
        return_n_iter=return_n_iter,
        positive=positive,
        **params,
    )


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = "warn",
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    **params: Any,
) -> Any:
    """The path of the elastic net: its solutions for many alphas, without an intercept.

    Each minimises ``(1 / 2n) |y - Xw|^2 + alpha l1_ratio |w|_1 + alpha (1 - l1_ratio) / 2 |w|^2``; for targets (n, t)
    |w|_1 is the sum over features of the lengths of their weights.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or table (`tenfold.rows`)
        The samples, taken as they are: centre them for an intercept.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        The targets.
    l1_ratio : float, default=0.5
        Fraction of the L1 penalty: 1 is the Lasso, 0 is ridge regression.
    eps : float, default=1e-3
        The smallest alpha of a grid over its largest.
    n_alphas : int, default="deprecated"
        Deprecated as in scikit-learn: give `alphas` a number.
    alphas : int or array-like of shape (n_alphas,), default="warn"
        How many alphas, from the smallest at which all weights are zero; or which. Not set, it is 100.
    precompute : "auto", bool or array-like of shape (n_features, n_features), default="auto"
        Accepted for compatibility, without effect on the result.
    Xy : array-like of shape (n_features,) or (n_features, n_targets), default=None
        Accepted for compatibility, without effect on the result.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    coef_init : array-like of shape (n_features,) or (n_targets, n_features), default=None
        Weights to start from; None for zeros.
    verbose : bool or int, default=False
        Accepted for compatibility, without effect.
    return_n_iter : bool, default=False
        Whether to return the numbers of sweeps.
    positive : bool, default=False
        Whether weights are at least zero; for one target.
    check_input : bool, default=True
        Accepted for compatibility: input is always checked.
    **params : keyword arguments
        `tol` (default 1e-4), the duality gap at which a fit ends, over the mean square of the targets; `max_iter`
        (1000), the most sweeps over the features; `selection` ("cyclic"), or "random"; `random_state` (None), the seed
        of a random order; `sample_weight` (None), weights of the samples.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        The alphas, in decreasing order.
    coefs : ndarray of shape (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        Weights at each alpha.
    dual_gaps : ndarray of shape (n_alphas,)
        Duality gaps, from the residuals at these weights.
    n_iters : list of int
        Sweeps; only with `return_n_iter`.

    Notes
    -----
    One pass over the data and memory p x p for any number of alphas; with more features than samples some passes, and
    memory for the features that are used. Runs on dense and sparse arrays, files, devices and Dask collections.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import enet_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, coefs, gaps = enet_path(X, y - y.mean(), l1_ratio=0.8, alphas=50)
    >>> coefs.shape
    (10, 50)
    """
    grid_or_count = _grid_or_count(n_alphas, alphas)
    settings, weight = _settings(params)
    if not 0.0 <= l1_ratio <= 1.0:
        raise InvalidParameterError(
            f"The 'l1_ratio' parameter of enet_path must be a float in the range [0.0, 1.0]. Got {l1_ratio!r} instead."
        )
    owner = BaseEstimator()
    X, y = validate(owner, X, y)
    multi_task = y.ndim == 2
    if multi_task and positive:
        raise ValueError("positive=True is not allowed for multi-output (y.ndim != 1)")
    rows = as_rows(X, y, validate_weights(weight, X))
    problem = lasso_problem(0.0, 1.0, False, positive=positive, multi_task=multi_task)
    start = None if coef_init is None else np.atleast_2d(np.asarray(coef_init, dtype=np.float64))
    grid, coefs, gaps, sweeps = require_finite(
        owner, X, lambda: _path(rows, problem, float(l1_ratio), grid_or_count, float(eps), settings, start)
    )
    _warn(gaps, sweeps, settings)
    coefs = np.moveaxis(coefs, 0, -1)
    coefs = convert_like(coefs if multi_task else coefs[0], X)
    return (grid, coefs, gaps, [int(count) for count in sweeps]) if return_n_iter else (grid, coefs, gaps)


def _path(
    rows: Rows,
    problem: Glm,
    ratio: float,
    grid_or_count: Any,
    eps: float,
    settings: Settings,
    start: Floats | None,
) -> tuple[Floats, Floats, Floats, Array]:
    kind = sparse_penalty(problem)
    count = int(grid_or_count) if isinstance(grid_or_count, Integral) else len(grid_or_count)
    if select_method(rows, count) == "columns":
        data = Centred.of(rows, fold_with_targets(rows), False)
        grid = _grid(grid_or_count, lambda: data.xty, kind.positive, ratio, eps)
        penalties = [with_alpha(kind, float(alpha), ratio) for alpha in grid]
        path, results = data.path(problem, penalties, settings, start)
        return grid, path.coef, results[0].gaps * float(np.sum(data.Y * data.Y)), path.sweeps[:, 0]
    moments = fold_moments(rows).from_origin()
    grid = _grid(grid_or_count, lambda: xty_of_moments(moments, False), kind.positive, ratio, eps)
    penalties = [with_alpha(kind, float(alpha), ratio) for alpha in grid]
    path, gaps = certify_path_from_moments(moments, problem, penalties, settings, start, rows.dtype)
    return grid, path.coef, gaps, path.sweeps[:, 0]


def _grid(grid_or_count: Any, xty: Callable[[], Floats], positive: bool, ratio: float, eps: float) -> Floats:
    if not isinstance(grid_or_count, Integral):
        return np.asarray(grid_or_count)
    return alphas_from(largest_alpha(xty(), positive), ratio, eps, int(grid_or_count))


def _grid_or_count(n_alphas: Any, alphas: Any) -> Any:
    """The alphas or their number, with scikit-learn's warnings."""
    count: Any = 100
    if not (isinstance(n_alphas, str) and n_alphas == "deprecated"):
        warnings.warn(OLD_COUNT, FutureWarning, stacklevel=4)
        count = n_alphas
    if isinstance(alphas, str) and alphas == "warn":
        return count
    if alphas is None:
        warnings.warn(OLD_NONE, FutureWarning, stacklevel=4)
        return count
    return alphas if isinstance(alphas, Integral) else check_alphas(alphas)


def _settings(params: dict[str, Any]) -> tuple[Settings, Any]:
    rest = dict(params)
    selection, state = rest.pop("selection", "cyclic"), rest.pop("random_state", None)
    if selection not in ("random", "cyclic"):
        raise ValueError("selection should be either random or cyclic.")
    tol, max_iter, weight = rest.pop("tol", 1e-4), rest.pop("max_iter", 1000), rest.pop("sample_weight", None)
    for name in ("X_offset", "X_scale", "do_screening"):  # of scikit-learn's solver
        rest.pop(name, None)
    if rest:
        raise ValueError("Unexpected parameters in params", rest.keys())
    seed = int(check_random_state(state).randint(np.iinfo(np.int32).max)) if selection == "random" else None
    return Settings(float(tol), int(max_iter), seed), weight


def _warn(gaps: Floats, sweeps: Array, settings: Settings) -> None:
    cut = np.flatnonzero(sweeps >= settings.max_iter)
    if cut.size:
        warnings.warn(
            f"Objective did not converge for {cut.size} of {len(gaps)} alphas: the largest of their duality gaps is "
            f"{float(np.max(gaps[cut])):.2g}. Increase max_iter, scale the columns, or penalise more.",
            ConvergenceWarning,
            stacklevel=3,
        )
