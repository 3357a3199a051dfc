"""Decisions of the smallest expected loss (Seeger, section 5.2.4; Welling, section 6.3).

A loss matrix L has a row for every decision j and a column for every true class k: L[j, k] is what decision j costs
where the class is k. Given probabilities P(k | x), decision j is expected to cost sum_k L[j, k] P(k | x), and the best
decision is the one that is expected to cost least. There may be more decisions than classes, as "don't know".
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers


def screening_loss(factor: float) -> Floats:
    """The loss of a screening test: a false alarm costs 1, a case that is missed costs `factor`.

    Seeger, section 5.2.4: the best score is the log odds plus log(factor), the loss moves the threshold and nothing
    else.

    Parameters
    ----------
    factor : float
        Cost of a case that is missed, at least zero.

    Returns
    -------
    ndarray of shape (2, 2)
        The loss matrix.

    Examples
    --------
    >>> from tenfold.decide import screening_loss
    >>> screening_loss(50.0)
    array([[ 0., 50.],
           [ 1.,  0.]])
    """
    if not factor >= 0.0:
        raise ValueError(f"factor must not be negative: the cost of a missed case. Got {factor!r}.")
    return np.array([[0.0, float(factor)], [1.0, 0.0]])


def with_reject(loss: Any, cost: float) -> Floats:
    """A loss matrix with the decision "don't know" as its last row, which always costs `cost`.

    Parameters
    ----------
    loss : array-like of shape (J, K) or int
        A loss matrix, or the number of classes for the loss of one for every mistake.
    cost : float
        Cost of "don't know", at least zero.

    Returns
    -------
    ndarray of shape (J + 1, K)
        The loss matrix.

    Examples
    --------
    >>> from tenfold.decide import with_reject
    >>> with_reject(2, 0.1)
    array([[0. , 1. ],
           [1. , 0. ],
           [0.1, 0.1]])
    """
    matrix = mistakes(loss) if np.ndim(loss) == 0 else check_loss(loss)
    if not cost >= 0.0:
        raise ValueError(f"cost must not be negative. Got {cost!r}.")
    return np.vstack([matrix, np.full(matrix.shape[1], float(cost))])


def mistakes(n_classes: int) -> Floats:
    """One for every mistake: the loss under which the best decision is the likeliest class."""
    return np.ones((n_classes, n_classes)) - np.eye(n_classes)


def check_loss(loss: Any, n_classes: int | None = None) -> Floats:
    """Check that a loss matrix is finite and has a column for every class."""
    matrix = np.asarray(loss, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] < 1 or matrix.shape[1] < 2:
        raise ValueError(
            "loss must be a matrix with a row for every decision and a column for every class. Got shape "
            f"{matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise ValueError("loss must be finite. A decision that must never be taken can have a very large one.")
    if n_classes is not None and matrix.shape[1] != n_classes:
        raise ValueError(f"loss must have a column for each of the {n_classes} classes. Got {matrix.shape[1]}.")
    return matrix


def check_proba(proba: Any) -> Floats:
    """(n, K) probabilities; a single column is that of the second of two classes."""
    p = np.asarray(proba, dtype=np.float64)
    if p.ndim == 1:
        p = np.column_stack([1.0 - p, p])
    if p.ndim != 2 or p.shape[1] < 2:
        raise ValueError(f"proba must have shape (n,) or (n, K). Got {p.shape}.")
    if not (np.isfinite(p).all() and np.all(p >= -1e-12) and np.all(np.abs(p.sum(axis=1) - 1.0) < 1e-4)):
        raise ValueError("proba must be probabilities: not negative, and summing to one in every row.")
    return np.clip(p, 0.0, 1.0)


class Decisions(NamedTuple):
    """The best decision of each sample, and its expected loss.

    Attributes
    ----------
    choice : ndarray of int of shape (n,)
        The best decision of each sample, an index of the first axis of the loss matrix.
    risk : ndarray of shape (n,)
        What it is expected to cost.
    """

    choice: Integers
    risk: Floats


def expected_loss(proba: Any, loss: Any) -> Floats:
    """Expected loss of each decision for each sample: ``sum_k L[j, k] P(k | x)``.

    Parameters
    ----------
    proba : array-like of shape (n, K) or (n,)
        Probabilities of the classes, or those of the second of two.
    loss : array-like of shape (J, K)
        Cost of each decision (first axis) where each class is the true one (second axis).

    Returns
    -------
    ndarray of shape (n, J)
        Expected losses.

    Examples
    --------
    >>> from tenfold.decide import expected_loss, screening_loss
    >>> expected_loss([0.01, 0.05], screening_loss(50.0)).round(2).tolist()
    [[0.5, 0.99], [2.5, 0.95]]
    """
    p = check_proba(proba)
    matrix = check_loss(loss, p.shape[1])
    return np.einsum("nk,jk->nj", p, matrix)


def bayes_decisions(proba: Any, loss: Any) -> Decisions:
    """The decisions of the smallest expected loss; of equal ones the first.

    Parameters
    ----------
    proba : array-like of shape (n, K) or (n,)
        Probabilities of the classes, or those of the second of two.
    loss : array-like of shape (J, K)
        Cost of each decision (first axis) where each class is the true one (second axis).

    Returns
    -------
    Decisions
        The index of the best decision of each sample, and what it is expected to cost.

    Examples
    --------
    An orange is from the red box with the probability 2/3 (Seeger, section 5.1). Where a blue box that is taken for a
    red one costs five times the other mistake, the best decision is still blue:

    >>> from tenfold.decide import bayes_decisions
    >>> found = bayes_decisions([[2 / 3, 1 / 3]], loss=[[0, 5], [1, 0]])  # red, blue
    >>> found.choice.tolist(), found.risk.round(4).tolist()
    ([1], [0.6667])
    """
    costs = expected_loss(proba, loss)
    choice = np.argmin(costs, axis=1)
    return Decisions(choice, costs[np.arange(len(costs)), choice])


@dataclass(frozen=True)
class Threshold:
    """The threshold above which the second of two classes is the better decision.

    Attributes
    ----------
    probability : float
        The second class is decided where its probability is above.
    log_odds : float
        The same, of log P(1 | x) / P(0 | x): log (L[1, 0] - L[0, 0]) / (L[0, 1] - L[1, 1]).
    """

    probability: float
    log_odds: float


def threshold(loss: Any) -> Threshold:
    """The threshold of two classes and two decisions.

    Seeger, section 5.2.4; Welling (6.9): the second class where S_1 > S_0 + theta, and theta is the threshold of the
    log odds. A loss under which one decision is never worse has a threshold at 0 or 1: it is always taken, or never.

    Parameters
    ----------
    loss : array-like of shape (2, 2)
        Cost of each decision (first axis) where each class is the true one (second axis).

    Returns
    -------
    Threshold
        As a probability of the second class, and as log odds.

    Examples
    --------
    >>> import math
    >>> from tenfold.decide import screening_loss, threshold
    >>> cut = threshold(screening_loss(50.0))
    >>> round(cut.probability, 4), math.isclose(cut.log_odds, -math.log(50.0))
    (0.0196, True)
    """
    matrix = check_loss(loss, 2)
    if matrix.shape[0] != 2:
        raise ValueError(f"A threshold is for two decisions. Got {matrix.shape[0]}: use bayes_decisions.")
    false_alarm_cost, miss_cost = float(matrix[1, 0] - matrix[0, 0]), float(matrix[0, 1] - matrix[1, 1])
    if false_alarm_cost < 0.0 and miss_cost < 0.0:
        raise ValueError("The loss punishes the right decision in both classes: are its rows in the wrong order?")
    if false_alarm_cost <= 0.0:
        return Threshold(0.0, -np.inf)
    if miss_cost <= 0.0:
        return Threshold(1.0, np.inf)
    return Threshold(
        false_alarm_cost / (false_alarm_cost + miss_cost), float(np.log(false_alarm_cost) - np.log(miss_cost))
    )


@dataclass(frozen=True)
class BestThreshold:
    """The score threshold with the smallest mean loss on given samples.

    Attributes
    ----------
    cut : float
        The second class is decided where the score is above.
    loss : float
        The mean loss there, on these samples: optimistic, because it was selected on them.
    cuts : ndarray of shape (m,)
        All cuts between different scores.
    losses : ndarray of shape (m,)
        Their mean losses.
    """

    cut: float
    loss: float
    cuts: Floats
    losses: Floats


def best_threshold(y_true: Any, score: Any, loss: Any, *, sample_weight: Any = None) -> BestThreshold:
    """The threshold of the scores of two classes with the smallest mean loss, by one sort.

    With calibrated probabilities `threshold` needs no data.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        1 (or True) for the second class.
    score : array-like of shape (n,)
        Scores; they should be those of samples that were not fitted, out-of-fold ones.
    loss : array-like of shape (2, 2)
        Cost of each decision (first axis) where each class is the true one (second axis).
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples; None for ones.

    Returns
    -------
    BestThreshold
        The cut, its mean loss, and those of all cuts.

    Examples
    --------
    >>> from tenfold.decide import best_threshold, screening_loss
    >>> found = best_threshold([0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5], screening_loss(10.0))
    >>> found.cut, found.loss
    (0.25, 0.2)
    """
    matrix = check_loss(loss, 2)
    if matrix.shape[0] != 2:
        raise ValueError(f"A threshold is for two decisions. Got {matrix.shape[0]}.")
    y, s = np.asarray(y_true), np.asarray(score, dtype=np.float64)
    if y.shape != s.shape or s.ndim != 1 or not len(s) or not np.isfinite(s).all() or not np.all((y == 0) | (y == 1)):
        raise ValueError("y_true must be 0 or 1, and score a finite number, for the same rows.")
    w = np.ones(len(s)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if w.shape != s.shape or not np.all(w >= 0.0) or not np.any(w > 0.0):
        raise ValueError("sample_weight must not be negative, with one weight a row, and not all zero.")
    order = np.argsort(s, kind="stable")
    ranked, positive, w = s[order], y[order] == 1, w[order]
    # below the cut the first decision is taken, above it the second
    first, second = np.where(positive, matrix[0, 1], matrix[0, 0]), np.where(positive, matrix[1, 1], matrix[1, 0])
    total = np.sum(w * second) + np.append(0.0, np.cumsum(w * (first - second)))
    cut_indices = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]) + 1, len(ranked))
    cut_indices = np.append(0, cut_indices)
    middles = 0.5 * (ranked[cut_indices[1:-1] - 1] + ranked[cut_indices[1:-1]])
    cuts = np.concatenate([[-np.inf], middles, [np.inf]])
    losses = total[cut_indices] / np.sum(w)
    best = int(np.argmin(losses))
    return BestThreshold(float(cuts[best]), float(losses[best]), cuts, losses)
