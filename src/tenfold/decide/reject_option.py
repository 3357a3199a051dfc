"""The reject option (Chow 1970; Seeger, section 5.2.4).

If "don't know" costs c, it is the best decision exactly where the likeliest class has a probability below 1 - c.
Rejecting the least certain samples first trades coverage, the fraction of samples that are decided, for fewer mistakes
among them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.decide.losses import check_proba
from tenfold.evaluation import Figure, clopper_pearson
from tenfold.evaluation.intervals import Sample

REJECTED = -1  # the decision "don't know"


def chow(proba: Any, cost: float) -> Integers:
    """The likeliest class of each sample, or -1 where its probability is below 1 - cost.

    With two classes, a cost of 1/2 or more rejects nothing: guessing is as cheap.

    Parameters
    ----------
    proba : array-like of shape (n, K) or (n,)
        Probabilities of the classes, or those of the second of two.
    cost : float
        Cost of "don't know", where a mistake costs one.

    Returns
    -------
    ndarray of int of shape (n,)
        Indices of the classes, or -1.

    Examples
    --------
    >>> from tenfold.decide import chow
    >>> chow([[0.95, 0.05], [0.6, 0.4], [0.2, 0.8]], cost=0.25).tolist()
    [0, -1, 1]
    """
    if not cost >= 0.0:
        raise ValueError(f"cost must not be negative. Got {cost!r}.")
    p = check_proba(proba)
    best = np.argmax(p, axis=1)
    return np.where(p[np.arange(len(p)), best] < 1.0 - cost, REJECTED, best)


@dataclass(frozen=True)
class RejectCurve:
    """Coverage and error as less certain samples are rejected.

    Attributes
    ----------
    certainty : ndarray of shape (m,)
        The smallest probability of the likeliest class that is still decided, falling.
    coverage : ndarray of shape (m,)
        The share of samples that are decided.
    error : ndarray of shape (m,)
        The share of mistakes among them.
    low : ndarray of shape (m,)
        Lower end of the exact binomial interval of the error, for each point alone.
    high : ndarray of shape (m,)
        Upper end of it.
    confidence : float
        Probability with which it covers.
    area : float
        The mean of the error over coverages: smaller where certainty tells mistakes from the rest.
    """

    certainty: Floats
    coverage: Floats
    error: Floats
    low: Floats
    high: Floats
    confidence: float

    @property
    def area(self) -> float:
        return float(np.sum(np.diff(self.coverage, prepend=0.0) * self.error))

    def at_cost(self, cost: float) -> tuple[float, float]:
        """(coverage, error) where rejecting costs `cost`: rows that are less certain than 1 - cost are left out."""
        decided = np.flatnonzero(self.certainty >= 1.0 - cost)
        if not len(decided):
            return 0.0, float("nan")
        return float(self.coverage[decided[-1]]), float(self.error[decided[-1]])

    def for_error(self, error: float) -> float:
        """The largest coverage whose upper bound of the error is at most `error`; 0 where there is none."""
        allowed = np.flatnonzero(self.high <= error)
        return float(self.coverage[allowed[-1]]) if len(allowed) else 0.0


def reject_curve(y_true: Any, proba: Any, *, confidence: float = 0.95) -> RejectCurve:
    """The curve of coverage and error over all thresholds of certainty, by one sort.

    Parameters
    ----------
    y_true : array-like of int of shape (n,)
        Indices of the true classes in `proba`, of samples that were not used for fitting.
    proba : array-like of shape (n, K) or (n,)
        Probabilities of the classes, or those of the second of two.
    confidence : float, default=0.95
        Probability with which the interval covers.

    Returns
    -------
    RejectCurve
        Certainty, coverage and error at each threshold.

    Examples
    --------
    >>> from tenfold.decide import reject_curve
    >>> curve = reject_curve([0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    >>> curve.coverage.tolist(), curve.error.tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.0, 0.25])
    >>> curve.at_cost(0.35)
    (0.75, 0.0)
    """
    p = check_proba(proba)
    y = np.asarray(y_true)
    if y.shape != (len(p),) or y.dtype.kind not in "iub" or np.any(y < 0) or np.any(y.astype(int) >= p.shape[1]):
        raise ValueError(f"y_true must be numbers of the {p.shape[1]} columns of proba, one a row.")
    best = np.argmax(p, axis=1)
    confidences = p[np.arange(len(p)), best]
    order = np.argsort(-confidences, kind="stable")
    ranked, mistakes = confidences[order], np.cumsum((best != y.astype(int))[order])
    ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    count = ends + 1
    low, high = clopper_pearson(mistakes[ends], count, confidence)
    return RejectCurve(ranked[ends], count / len(p), mistakes[ends] / count, low, high, confidence)


def best_error(proba: Any, *, confidence: float = 0.95) -> Figure:
    """The error of the best decisions, 1 - E max_k P(k | x), estimated by the mean of 1 - max_k P(k | x).

    It is an estimate of the Bayes error only as far as the probabilities are calibrated; the interval is that of the
    mean over rows, and knows nothing of wrong probabilities. Seeger, section 5.2.1.

    Parameters
    ----------
    proba : array-like of shape (n, K) or (n,)
        Probabilities of the classes, or those of the second of two.
    confidence : float, default=0.95
        Probability with which the interval covers.

    Returns
    -------
    Figure
        The estimate with its interval.

    Examples
    --------
    >>> from tenfold.decide import best_error
    >>> print(best_error([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]).value.__round__(6))
    0.2
    """
    p = check_proba(proba)
    interval = Sample(len(p), confidence=confidence).mean(1.0 - np.max(p, axis=1), True)
    return Figure.of("best_error", interval, confidence, "lower")


def cover_hart(error: float, n_classes: int = 2) -> tuple[float, float]:
    """Bounds of the Bayes error R from the error E of one nearest neighbour with very many rows (Cover and Hart 1967).

    R <= E <= R (2 - R K / (K - 1)), so that R is at least (K - 1) / K (1 - sqrt(1 - K E / (K - 1))), and at most E.

    Parameters
    ----------
    error : float
        Error of one nearest neighbour, with very many samples.
    n_classes : int, default=2
        Number of classes K.

    Returns
    -------
    low : float
        Bounds of the Bayes error.
    high : float
        Bounds of the Bayes error.

    Examples
    --------
    >>> from tenfold.decide import cover_hart
    >>> tuple(round(bound, 4) for bound in cover_hart(0.18))
    (0.1, 0.18)
    """
    if n_classes < 2 or not 0.0 <= error <= 1.0:
        raise ValueError(f"error must be between 0 and 1, of two classes at least. Got {error!r} and {n_classes!r}.")
    chance_error = (n_classes - 1.0) / n_classes
    return chance_error * (1.0 - float(np.sqrt(max(1.0 - error / chance_error, 0.0)))), min(error, chance_error)
