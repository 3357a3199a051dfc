"""Other shares of the classes than those of training (Seeger, section 6.4.2; Saerens, Latinne and Decaestecker 2002).

Where only the shares of the classes change, from q to q', and not what rows of a class look like, the posterior is

    P'(k | x)  ~  P(k | x) q'_k / q_k.

The new shares can be estimated from rows without labels: the mean log-likelihood of q' is

    l(q') = mean_i log sum_k q'_k P(k | x_i) / q_k,

concave in q'; EM raises it in every step. With g_k = mean_i (P(k | x_i) / q_k) / sum_j q'_j P(j | x_i) / q_j no shares
can be better by more than log max_k g_k: that is the gap that ends the steps and is reported.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from tenfold.arrays import Floats
from tenfold.decide.losses import checked_proba


def checked_priors(priors: Any, n_classes: int, name: str = "priors") -> Floats:
    """Shares of classes: positive, summing to one."""
    q = np.asarray(priors, dtype=np.float64)
    if q.shape != (n_classes,) or not np.isfinite(q).all() or np.any(q < 0.0) or abs(np.sum(q) - 1.0) > 1e-6:
        raise ValueError(f"{name} must be {n_classes} shares that are not negative and sum to one. Got {priors!r}.")
    return q


def reweight(proba: Any, priors: Any, trained: Any) -> Floats:
    """Posteriors for classes with the shares `priors`, of those that were `trained` with other shares.

    Parameters
    ----------
    proba : array-like of shape (n, K) or (n,)
        Probabilities of the classes, or those of the second of two.
    priors : array-like of shape (K,)
        Shares of the classes where the probabilities are used.
    trained : array-like of shape (K,)
        Shares of the classes in training.

    Returns
    -------
    ndarray of shape (n
        Probabilities under `priors`.
    K)
        Probabilities under `priors`.

    Examples
    --------
    A test trained on as many ill as healthy people, used where one in a hundred is ill:

    >>> from tenfold.decide import reweight
    >>> reweight([[0.1, 0.9]], priors=[0.99, 0.01], trained=[0.5, 0.5]).round(4).tolist()
    [[0.9167, 0.0833]]
    """
    p = checked_proba(proba)
    new, old = checked_priors(priors, p.shape[1]), checked_priors(trained, p.shape[1], "trained")
    if np.any((old == 0.0) & (new > 0.0)):
        raise ValueError("A class with the share 0 in training cannot be weighted: nothing is known of its rows.")
    moved = p * np.where(old > 0.0, new / np.where(old > 0.0, old, 1.0), 0.0)
    total = np.sum(moved, axis=1, keepdims=True)
    # a row that only classes of the share zero could have made keeps the new shares
    return np.where(total > 0.0, moved / np.where(total > 0.0, total, 1.0), new)


@dataclass(frozen=True)
class Priors:
    """Estimated shares of the classes.

    Attributes
    ----------
    priors : ndarray of shape (K,)
        The shares.
    posteriors : ndarray of shape (n, K)
        Posteriors of the samples under them.
    gap : float
        No shares have a mean log-likelihood that is larger by more.
    n_iter : int
        Steps of EM.
    log_likelihoods : tuple of float
        Mean log-likelihood before each step, relative to the shares of training.
    p_value : float
        Of the shares being those of training, by the ratio of likelihoods; small where they have changed.
    """

    priors: Floats
    posteriors: Floats
    gap: float
    n_iter: int
    log_likelihoods: tuple[float, ...]
    p_value: float


def estimate_priors(proba: Any, trained: Any, *, tol: float = 1e-8, max_iter: int = 10_000) -> Priors:
    """The shares of the classes in rows without labels, from their posteriors under the shares of training.

    Parameters
    ----------
    proba : array-like of shape (n, K) or (n,)
        Posteriors of the samples under the shares of training, calibrated: of samples that were not fitted.
    trained : array-like of shape (K,)
        Shares of the classes in training.
    tol : float, default=1e-8
        The gap that is small enough.
    max_iter : int, default=10000
        Most steps of EM.

    Returns
    -------
    Priors
        The estimated shares, the posteriors under them, and a test of whether they have changed.

    Examples
    --------
    >>> from scipy.special import expit
    >>> from tenfold.datasets import make_gaussian_classes
    >>> from tenfold.decide import estimate_priors
    >>> X, y = make_gaussian_classes(5000, priors=[0.9, 0.1], random_state=0)
    >>> proba = expit(2 * X[:, 0] / 0.36)  # of equal shares
    >>> found = estimate_priors(proba, trained=[0.5, 0.5])
    >>> bool(abs(found.priors[1] - y.mean()) < 0.005), bool(found.p_value < 1e-6)
    (True, True)
    """
    p = checked_proba(proba)
    old = checked_priors(trained, p.shape[1], "trained")
    if np.any(old == 0.0):
        raise ValueError("All classes must have been trained on: a share of training is 0.")
    if not len(p):
        raise ValueError("proba has no rows: nothing can be estimated.")
    ratio = p / old
    q = old.copy()
    history: list[float] = []
    gap = np.inf
    for _ in range(max_iter):
        mixed = np.maximum(np.einsum("nk,k->n", ratio, q), np.finfo(np.float64).tiny)
        history.append(float(np.mean(np.log(mixed))))
        slope = np.mean(ratio / mixed[:, None], axis=0)
        gap = float(np.log(max(np.max(slope), 1.0)))
        if gap <= tol:
            break
        q = q * slope
        q /= np.sum(q)
    value = float(np.mean(np.log(np.maximum(np.einsum("nk,k->n", ratio, q), np.finfo(np.float64).tiny))))
    p_value = float(chdtrc(len(q) - 1, max(2.0 * len(p) * value, 0.0)))
    return Priors(q, reweight(p, q, old), gap, len(history), tuple(history), p_value)
