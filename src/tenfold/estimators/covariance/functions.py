"""Covariances as functions of samples."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_array

from tenfold.arrays import FLOATS, Array, Floats, is_array_api, is_dask, wide
from tenfold.data import Rows, Table
from tenfold.estimators.covariance.empirical import ONE_SAMPLE
from tenfold.estimators.parameters import array_like, boolean, check_arguments, integer, real
from tenfold.estimators.validation import as_rows_without_target, convert_like, validate_rows
from tenfold.plans import covariance as plan


class _Samples:
    """Stands for an estimator in the validation of samples."""


def _read(X: Any) -> tuple[Array, Rows]:
    """Validated samples as rows."""
    if not (is_dask(X) or is_array_api(X) or isinstance(X, Table) or hasattr(X, "tocsr")):
        X = check_array(X, ensure_2d=False, dtype=list(FLOATS), input_name="X")
        X = np.reshape(X, (1, -1)) if X.ndim == 1 else X
    X = validate_rows(_Samples(), X)
    if X.shape[0] == 1:
        warnings.warn(ONE_SAMPLE, UserWarning, stacklevel=4)
    return X, as_rows_without_target(X, None)


def log_likelihood(emp_cov: Any, precision: Any) -> float:
    """The mean log-likelihood of samples in a Gaussian model.

    ``1/2 (log|P| - trace(P S) - p log 2 pi)``.

    Parameters
    ----------
    emp_cov : ndarray of shape (n_features, n_features)
        The covariance S of the samples, about the mean of the model.
    precision : ndarray of shape (n_features, n_features)
        The precision P of the model.

    Returns
    -------
    float
        The mean log-likelihood; -inf where P is not positive definite.

    Notes
    -----
    A Cholesky factor.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import log_likelihood
    >>> round(log_likelihood(np.eye(2), np.eye(2)), 4)
    -2.8379
    """
    check_arguments(
        "log_likelihood",
        {"emp_cov": (array_like(),), "precision": (array_like(),)},
        emp_cov=emp_cov,
        precision=precision,
    )
    return plan.log_likelihood(wide(emp_cov), wide(precision))


def empirical_covariance(X: Any, *, assume_centered: bool = False) -> Array:
    """The covariance of samples about their mean, or about zero.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
        The samples.
    assume_centered : bool, default=False
        Whether samples count as centred.

    Returns
    -------
    ndarray of shape (p, p)
        The covariance, with the divisor n.

    Notes
    -----
    One pass. To see the certificate, take `EmpiricalCovariance`.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import empirical_covariance
    >>> empirical_covariance(np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 3.0]])).round(3)
    array([[0.667, 0.   ],
           [0.   , 2.   ]])
    """
    check_arguments("empirical_covariance", {"assume_centered": (boolean(),)}, assume_centered=assume_centered)
    X, rows = _read(X)
    return convert_like(plan.fold_scatter(rows, bool(assume_centered)).covariance, X)


def shrunk_covariance(emp_cov: Any, shrinkage: float = 0.1) -> Floats:
    """Covariances shrunk towards a multiple of the identity.

    ``(1 - a) S + a (trace S / p) I``.

    Parameters
    ----------
    emp_cov : array-like of shape (..., n_features, n_features)
        Covariances S.
    shrinkage : float in [0, 1], default=0.1
        The amount a.

    Returns
    -------
    ndarray of shape (..., n_features, n_features)
        The shrunk covariances.

    Notes
    -----
    Some passes over the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import shrunk_covariance
    >>> shrunk_covariance(np.array([[1.0, 0.5], [0.5, 3.0]]), shrinkage=0.5)
    array([[1.5 , 0.25],
           [0.25, 2.5 ]])
    """
    check_arguments(
        "shrunk_covariance",
        {"emp_cov": (array_like(),), "shrinkage": (real(0, 1, "both"),)},
        emp_cov=emp_cov,
        shrinkage=shrinkage,
    )
    S = check_array(emp_cov, allow_nd=True, dtype=list(FLOATS))
    return plan.shrink(S, float(shrinkage)).astype(S.dtype, copy=False)


def ledoit_wolf_shrinkage(X: Any, assume_centered: bool = False, block_size: int = 1000) -> float:
    """The amount of shrinkage of Ledoit and Wolf (2004).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
        The samples.
    assume_centered : bool, default=False
        Whether samples count as centred.
    block_size : int, default=1000
        Accepted for compatibility.

    Returns
    -------
    float
        The amount, between 0 and 1.

    Notes
    -----
    Two passes.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ledoit_wolf_shrinkage
    >>> round(ledoit_wolf_shrinkage(np.random.default_rng(0).standard_normal((50, 4)) * [1.0, 1.0, 1.0, 2.0]), 3)
    0.103
    """
    return ledoit_wolf(X, assume_centered=assume_centered, block_size=block_size)[1]


def ledoit_wolf(X: Any, *, assume_centered: bool = False, block_size: int = 1000) -> tuple[Array, float]:
    """The covariance shrunk by the amount of Ledoit and Wolf (2004).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
        The samples.
    assume_centered : bool, default=False
        Whether samples count as centred.
    block_size : int, default=1000
        Accepted for compatibility.

    Returns
    -------
    shrunk_cov : ndarray of shape (p, p)
        The shrunk covariance.
    shrinkage : float
        The amount.

    Notes
    -----
    Two passes. To see the certificate, take `LedoitWolf`.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ledoit_wolf
    >>> covariance, amount = ledoit_wolf(np.random.default_rng(0).standard_normal((50, 4)) * [1.0, 1.0, 1.0, 2.0])
    >>> covariance.shape, round(amount, 3)
    ((4, 4), 0.103)
    """
    check_arguments(
        "ledoit_wolf",
        {"assume_centered": (boolean(),), "block_size": (integer(1),)},
        assume_centered=assume_centered,
        block_size=block_size,
    )
    X, rows = _read(X)
    scatter = plan.fold_scatter(rows, bool(assume_centered))
    amount = plan.ledoit_wolf_amount(rows, scatter)
    return convert_like(plan.shrink(scatter.covariance, amount), X), amount


def oas(X: Any, *, assume_centered: bool = False) -> tuple[Array, float]:
    """The covariance shrunk by the oracle approximating amount (Chen, Wiesel, Eldar and Hero 2010).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
        The samples.
    assume_centered : bool, default=False
        Whether samples count as centred.

    Returns
    -------
    shrunk_cov : ndarray of shape (p, p)
        The shrunk covariance.
    shrinkage : float
        The amount.

    Notes
    -----
    One pass. To see the certificate, take `OAS`.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import oas
    >>> covariance, amount = oas(np.random.default_rng(0).standard_normal((50, 4)) * [1.0, 1.0, 1.0, 2.0])
    >>> covariance.shape, round(amount, 3)
    ((4, 4), 0.138)
    """
    check_arguments("oas", {"assume_centered": (boolean(),)}, assume_centered=assume_centered)
    X, rows = _read(X)
    scatter = plan.fold_scatter(rows, bool(assume_centered))
    amount = plan.oas_amount(scatter.covariance, scatter.weight)
    return convert_like(plan.shrink(scatter.covariance, amount), X), amount
