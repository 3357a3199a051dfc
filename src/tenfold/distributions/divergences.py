"""Entropies and divergences: of probabilities by sums, of SciPy's frozen distributions by integrals."""

from typing import Any

import numpy as np
from scipy.integrate import quad

from tenfold.arrays import Floats


def entropy(p: Any) -> float:
    """The entropy in nats.

    Parameters
    ----------
    p : array-like of shape (m,), or frozen distribution of SciPy
        Probabilities, or a distribution.

    Returns
    -------
    entropy : float
        ``-sum p log p``, or the differential entropy.

    Examples
    --------
    >>> from tenfold.distributions import entropy
    >>> round(entropy([0.5, 0.5]), 4)
    0.6931
    """
    if hasattr(p, "entropy"):
        return float(p.entropy())
    return cross_entropy(p, p)


def cross_entropy(p: Any, q: Any) -> float:
    """The mean of -log q under p in nats.

    Parameters
    ----------
    p : array-like of shape (m,)
        Probabilities.
    q : array-like of shape (m,)
        Probabilities.

    Returns
    -------
    entropy : float
        ``-sum p log q``; infinite where q is zero and p is not.

    Examples
    --------
    >>> from tenfold.distributions import cross_entropy
    >>> round(cross_entropy([1.0, 0.0], [0.25, 0.75]), 4)
    1.3863
    """
    p, q = _probabilities(p), _probabilities(q)
    if p.shape != q.shape:
        raise ValueError(f"Both must have as many probabilities, got shapes {p.shape} and {q.shape}.")
    inside = p > 0.0
    with np.errstate(divide="ignore"):
        return float(-np.sum(p[inside] * np.log(q[inside])))


def divergence(p: Any, q: Any) -> float:
    """The Kullback-Leibler divergence KL(p || q) in nats.

    Parameters
    ----------
    p : array-like of shape (m,), or frozen continuous distribution of SciPy
        Probabilities, or a distribution of a number.
    q : array-like of shape (m,), or frozen continuous distribution of SciPy
        The other one.

    Returns
    -------
    divergence : float
        ``sum p log (p / q)``, or the integral; infinite where q is zero and p is not. Never negative, and zero for
        equal distributions only.

    Examples
    --------
    >>> import scipy.stats
    >>> from tenfold.distributions import divergence
    >>> round(divergence([0.5, 0.5], [0.9, 0.1]), 4)
    0.5108
    >>> round(divergence(scipy.stats.norm(0, 1), scipy.stats.norm(1, 1)), 6)
    0.5
    """
    if not hasattr(p, "logpdf"):
        return max(0.0, cross_entropy(p, q) - entropy(p))

    # over the probabilities of p, from each end: tails of any weight have the same length
    def integrand(share: float) -> float:
        x = np.array([p.ppf(share), p.isf(share)])
        return float(np.sum(p.logpdf(x) - q.logpdf(x)))

    return max(0.0, float(quad(integrand, 0.0, 0.5, limit=200)[0]))


def _probabilities(values: Any) -> Floats:
    p = np.asarray(values, dtype=np.float64)
    if not np.all(p >= 0.0) or not abs(float(np.sum(p)) - 1.0) <= 1e-9:
        raise ValueError(f"Probabilities must not be negative, and their sum one; it is {np.sum(p):.9g}.")
    return p
