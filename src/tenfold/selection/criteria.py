"""Criteria that weigh fit against size: AIC, BIC, two-part codes, and the evidence of linear models."""

from typing import Any

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread


def aic(log_likelihood: float, parameters: float) -> float:
    """Akaike's information criterion, the smaller the better.

    Parameters
    ----------
    log_likelihood : float
        The log-likelihood of all samples, at its maximum.
    parameters : float
        How many free parameters the model has.

    Returns
    -------
    criterion : float
        ``2 k - 2 log L``.

    Examples
    --------
    >>> from tenfold.selection.criteria import aic
    >>> aic(-100.0, 3)
    206.0
    """
    return 2.0 * parameters - 2.0 * log_likelihood


def bic(log_likelihood: float, parameters: float, n_samples: float) -> float:
    """The Bayesian information criterion, the smaller the better.

    Parameters
    ----------
    log_likelihood : float
        The log-likelihood of all samples, at its maximum.
    parameters : float
        How many free parameters the model has.
    n_samples : float
        How many samples there are.

    Returns
    -------
    criterion : float
        ``k log n - 2 log L``, twice the negative log evidence up to terms that do not grow with n.

    Examples
    --------
    >>> from tenfold.selection.criteria import bic
    >>> round(bic(-100.0, 3, 50), 3)
    211.736
    """
    if not n_samples > 0:
        raise ValueError(f"There must be samples, got {n_samples}.")
    return parameters * float(np.log(n_samples)) - 2.0 * log_likelihood


def code_length(log_likelihood: float, parameters: float, n_samples: float, *, bits_per_parameter: Any = None) -> float:
    """Bits of a two-part code: of the parameters, and of the data given them.

    Parameters
    ----------
    log_likelihood : float
        The log-likelihood of all samples in nats, of discrete data or at a fixed precision.
    parameters : float
        How many parameters are written down.
    n_samples : float
        How many samples there are.
    bits_per_parameter : float, default=None
        Bits of each parameter; None is log2(n) / 2, the precision to which n samples determine it.

    Returns
    -------
    bits : float
        ``parameters * bits_per_parameter - log2 L``: the model with the shortest code compresses the data best. With
        None this is the BIC over 2 log 2.

    Examples
    --------
    A coin thrown 100 times with 90 heads: its probability pays for itself, beside one bit for each throw.

    >>> import numpy as np
    >>> from tenfold.selection.criteria import code_length
    >>> fair = code_length(100 * np.log(0.5), 0, 100)
    >>> biased = code_length(90 * np.log(0.9) + 10 * np.log(0.1), 1, 100)
    >>> round(fair, 1), round(biased, 1)
    (100.0, 50.2)
    """
    if not n_samples > 0:
        raise ValueError(f"There must be samples, got {n_samples}.")
    each = 0.5 * float(np.log2(n_samples)) if bits_per_parameter is None else float(bits_per_parameter)
    return float(parameters * each - log_likelihood / np.log(2.0))


def log_evidence(X: Any, y: Any, *, noise: float, prior: float) -> float:
    """The log evidence of a linear model with Gaussian noise and Gaussian weights.

    Parameters
    ----------
    X : array-like of shape (n, p)
        The features; a column of ones for an intercept.
    y : array-like of shape (n,)
        The targets.
    noise : float
        Variance s of the noise.
    prior : float
        Precision beta of the weights, N(0, I / beta).

    Returns
    -------
    log_evidence : float
        The log density of y with the weights integrated out, ``log N(y; 0, s I + X X' / beta)``, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.selection.criteria import log_evidence
    >>> x = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> y = 2.0 * x[:, 0]
    >>> line, cubic = (np.hstack([x**j for j in range(1, d + 1)]) for d in (1, 3))
    >>> log_evidence(line, y, noise=0.01, prior=1.0) > log_evidence(cubic, y, noise=0.01, prior=1.0)
    True
    """
    X, y = np.atleast_2d(np.asarray(X, dtype=np.float64)), np.asarray(y, dtype=np.float64)
    if not (noise > 0.0 and prior > 0.0):
        raise ValueError(f"The variance of the noise and the precision must be positive, got {noise} and {prior}.")
    if y.shape != (len(X),) or not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise ValueError(f"X and y must be finite, with a target for each sample, got shapes {X.shape} and {y.shape}.")
    n, p = X.shape
    A: Floats = np.einsum("ij,ik->jk", X, X) / noise + prior * np.eye(p)
    with one_blas_thread:
        factor = la.cholesky(A, lower=True)
        whitened = la.solve_triangular(factor, np.einsum("ij,i->j", X, y) / noise, lower=True)
    logs = p * np.log(prior) - 2.0 * float(np.sum(np.log(np.diag(factor)))) - n * np.log(2.0 * np.pi * noise)
    return 0.5 * float(logs - np.sum(y**2) / noise + np.sum(whitened**2))
