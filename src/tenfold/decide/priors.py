"""Class priors that differ from training (Seeger, section 6.4.2; Saerens, Latinne and Decaestecker 2002).

Where only the class priors change, from q to q', and not the densities of the classes, the posterior is

    P'(k | x)  ~  P(k | x) q'_k / q_k.

The new priors can be estimated from unlabelled samples: the mean log-likelihood of q' is

    l(q') = mean_i log sum_k q'_k P(k | x_i) / q_k,

concave in q'; EM increases it in every step. With g_k = mean_i (P(k | x_i) / q_k) / sum_j q'_j P(j | x_i) / q_j the
duality gap is log max_k g_k: it is the stopping criterion and is reported.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from tenfold.arrays import Floats
from tenfold.decide.losses import check_proba


def check_priors(priors: Any, n_classes: int, name: str = "priors") -> Floats:
    """Check class priors: not negative, summing to one."""
    estimate = np.asarray(priors, dtype=np.float64)
    if (
        estimate.shape != (n_classes,)
        or not np.isfinite(estimate).all()
        or np.any(estimate < 0.0)
        or abs(np.sum(estimate) - 1.0) > 1e-6
    ):
        raise ValueError(f"{name} must be {n_classes} shares that are not negative and sum to one. Got {priors!r}.")
    return estimate


def reweight(proba: Any, priors: Any, trained: Any) -> Floats:
    """Posteriors for the class priors `priors`, from those of a model that was `trained` with other priors.

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
    ndarray of shape (n, K)
        Probabilities under `priors`.

    Examples
    --------
    A test trained on as many ill as healthy people, used where one in a hundred is ill:

    >>> from tenfold.decide import reweight
    >>> reweight([[0.1, 0.9]], priors=[0.99, 0.01], trained=[0.5, 0.5]).round(4).tolist()
    [[0.9167, 0.0833]]
    """
    p = check_proba(proba)
    new, training_priors = check_priors(priors, p.shape[1]), check_priors(trained, p.shape[1], "trained")
    if np.any((training_priors == 0.0) & (new > 0.0)):
        raise ValueError("A class with the share 0 in training cannot be weighted: nothing is known of its rows.")
    weighted = p * np.where(training_priors > 0.0, new / np.where(training_priors > 0.0, training_priors, 1.0), 0.0)
    total = np.sum(weighted, axis=1, keepdims=True)
    # a sample that only classes of prior zero could have generated gets the new priors
    return np.where(total > 0.0, weighted / np.where(total > 0.0, total, 1.0), new)


@dataclass(frozen=True)
class Priors:
    """Estimated class priors.

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
    """Estimate class priors of unlabelled samples from their posteriors under the training priors.

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
    p = check_proba(proba)
    training_priors = check_priors(trained, p.shape[1], "trained")
    if np.any(training_priors == 0.0):
        raise ValueError("All classes must have been trained on: a share of training is 0.")
    if not len(p):
        raise ValueError("proba has no rows: nothing can be estimated.")
    ratio = p / training_priors
    estimate = training_priors.copy()
    history: list[float] = []
    gap = np.inf
    for _ in range(max_iter):
        likelihoods = np.maximum(np.einsum("nk,k->n", ratio, estimate), np.finfo(np.float64).tiny)
        history.append(float(np.mean(np.log(likelihoods))))
        gradient = np.mean(ratio / likelihoods[:, None], axis=0)
        gap = float(np.log(max(np.max(gradient), 1.0)))
        if gap <= tol:
            break
        estimate = estimate * gradient
        estimate /= np.sum(estimate)
    value = float(np.mean(np.log(np.maximum(np.einsum("nk,k->n", ratio, estimate), np.finfo(np.float64).tiny))))
    p_value = float(chdtrc(len(estimate) - 1, max(2.0 * len(p) * value, 0.0)))
    return Priors(estimate, reweight(p, estimate, training_priors), gap, len(history), tuple(history), p_value)
