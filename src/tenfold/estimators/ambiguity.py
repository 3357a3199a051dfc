"""Ambiguous samples of multiclass reductions to binary decisions: one-vs-rest and one-vs-one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from tenfold.arrays import Array, Floats, Integers


@dataclass(frozen=True)
class Ambiguity:
    """The decisions of one-vs-rest and one-vs-one for each sample.

    Attributes
    ----------
    yes : (n,) the number of classes with a positive score against the rest; the sample is clear where it is one.
    votes : (n, k) the number of pairs that each class wins; a pair with a score of zero gives half a vote to both.
    leaders : (n,) the number of classes with the most votes; more than one is a tie.
    """

    yes: Integers
    votes: Floats
    leaders: Integers

    @property
    def unclear_rest(self) -> NDArray[np.bool_]:
        """(n,) samples with a positive score of no class, or of more than one."""
        return self.yes != 1

    @property
    def unclear_pairs(self) -> NDArray[np.bool_]:
        """(n,) samples for which the pairs end in a tie."""
        return self.leaders > 1

    @property
    def nobody(self) -> float:
        """The fraction of samples without a positive score."""
        return float(np.mean(self.yes == 0))

    @property
    def several(self) -> float:
        """The fraction of samples with several positive scores."""
        return float(np.mean(self.yes > 1))

    @property
    def tied(self) -> float:
        """The fraction of samples for which the pairs end in a tie."""
        return float(np.mean(self.unclear_pairs))


def ambiguity(model: Any, X: Any, *, pairs: Any = None) -> Ambiguity:
    """Find samples that one-vs-rest or one-vs-one decisions leave undecided.

    The argmax of the scores is always defined; the binary decisions may contradict each other. A sample is *unclear
    against the rest* unless exactly one class has a positive score, and *unclear by pairs* where several classes win
    equally many of the K (K - 1) / 2 pairs. On a grid of samples the fractions are those of the area.

    Parameters
    ----------
    model : fitted classifier of at least three classes with `decision_function`, or array-like of shape (n, K)
        The classifier, or its scores: those of each class against the rest.
    X : array-like of shape (n, p) or None
        The samples; None where scores are given.
    pairs : fitted classifier or array-like of shape (n, K (K - 1) / 2), default=None
        A classifier, or scores, of the pairs (0, 1), (0, 2), ..., (K - 2, K - 1), each positive for the first of its
        classes, as of scikit-learn's SVC with ``decision_function_shape="ovo"``. None takes the differences of the
        scores against the rest, which tie only where these are equal.

    Returns
    -------
    Ambiguity
        The unclear samples, and their fractions.

    Notes
    -----
    Seeger, section 6.4.1; Rosasco, section 5.3.

    Examples
    --------
    >>> from tenfold import ambiguity
    >>> scores = [[1.0, -1.0, -2.0], [0.5, 0.2, -1.0], [-1.0, -0.1, -0.3]]
    >>> found = ambiguity(scores, None)
    >>> found.yes, round(found.nobody, 2), round(found.several, 2)
    (array([1, 2, 0]), 0.33, 0.33)
    >>> ambiguity(scores, None, pairs=[[1, -1, 1]] * 3).leaders  # 0 beats 1, 2 beats 0, 1 beats 2
    array([3, 3, 3])
    """
    z = _scores(model, X)
    n, k = z.shape
    if k < 3:
        raise ValueError(f"Two classes are one decision, which is never ambiguous; there are scores of {k} classes.")
    first, second = np.triu_indices(k, 1)
    duels = z[:, first] - z[:, second] if pairs is None else _scores(pairs, X)
    if duels.shape != (n, len(first)):
        raise ValueError(
            f"{k} classes have {len(first)} pairs: pairs must have the shape {(n, len(first))}. Got {duels.shape}."
        )
    votes = np.zeros((n, k))
    for d, (i, j) in enumerate(zip(first, second, strict=True)):
        share = (1.0 + np.sign(duels[:, d])) / 2.0
        votes[:, i] += share
        votes[:, j] += 1.0 - share
    leaders = np.sum(votes == votes.max(axis=1, keepdims=True), axis=1)
    return Ambiguity(np.sum(z > 0.0, axis=1), votes, leaders)


def _scores(scores: Any, X: Any) -> Array:
    if hasattr(scores, "decision_function"):
        return np.asarray(scores.decision_function(X), dtype=np.float64)
    return check_array(scores, dtype=np.float64, input_name="scores")
