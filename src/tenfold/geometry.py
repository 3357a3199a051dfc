"""Samples and a hyperplane ``w.x + b = 0``: margins of all kinds, angles, distances and projections.

Two definitions of a margin are in the texts. The *geometric* one is the signed distance ``y (w.x + b) / ||w||`` (CMU
slide 15, Rosasco 9.2, Seeger 9.1). The *normalised* one (Seeger 2.3.3) is the cosine of the angle between the weights
and the sample, ``y (w.x + b) / (||(w, b)|| ||(x, 1)||)``: samples are scaled to length one, the constant of the
intercept included, so that long ones do not count more.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from tenfold.arrays import Array, Floats, contiguous, is_sparse
from tenfold.stats.derivatives import Params, forward

__all__ = ["Margins", "margins", "signs_of"]


@dataclass(frozen=True)
class Margins:
    """Margins of samples for given weights; each number also for the whole set, as its smallest.

    Attributes
    ----------
    functional : ndarray of shape (n,)
        ``y (w.x + b)``, which grows with the weights.
    geometric : ndarray of shape (n,)
        Signed distances from the hyperplane: functional / ||w||.
    normalised : ndarray of shape (n,)
        Cosines, functional / (||(w, b)|| ||(x, 1)||), without the ones where there is no intercept.
    coef : ndarray of shape (p,)
        The weights w.
    intercept : float
        The intercept b.

    Examples
    --------
    >>> from tenfold import margins
    >>> result = margins([[3.0, 4.0], [0.0, -1.0]], [1, -1], [0.0, 2.0])
    >>> result.geometric.tolist(), result.of_set
    ([4.0, 1.0], 1.0)
    """

    functional: Floats
    geometric: Floats
    normalised: Floats
    coef: Floats
    intercept: float

    @property
    def of_set(self) -> float:
        """The smallest geometric margin: positive if and only if the hyperplane separates the classes."""
        return float(self.geometric.min())

    @property
    def normalised_of_set(self) -> float:
        """The smallest normalised margin."""
        return float(self.normalised.min())

    @property
    def angles(self) -> Floats:
        """(n,) angles between the weights and the samples times their signs, in radians: below pi / 2 where a
        sample is on its side.
        """
        return np.arccos(np.clip(self.normalised, -1.0, 1.0))

    @property
    def slab(self) -> float:
        """The width of the slab about the hyperplane without samples: twice the margin, zero with mistakes."""
        return max(0.0, 2.0 * self.of_set)

    @property
    def mistakes(self) -> int:
        """The number of samples that are not strictly on their side."""
        return int(np.count_nonzero(~(self.functional > 0.0)))

    @property
    def origin(self) -> Floats:
        """The point of the hyperplane nearest to the origin, -b w / ||w||^2."""
        return -self.intercept * self.coef / float(np.sum(np.square(self.coef)))

    def distances(self, X: Any) -> Floats:
        """Signed distances (n,) of samples X (n, p) from the hyperplane, positive on the side of w."""
        z = forward(_rows(X), Params(self.coef[None, :], np.array([self.intercept])))[:, 0]
        return z / float(np.sqrt(np.sum(np.square(self.coef))))

    def projections(self, X: Any) -> Floats:
        """The points (n, p) of the hyperplane nearest to samples X, dense: x - d w / ||w||, d being the signed
        distance.
        """
        X = _rows(X)
        unit = self.coef / float(np.sqrt(np.sum(np.square(self.coef))))
        dense = X.toarray() if is_sparse(X) else X
        return dense - self.distances(X)[:, None] * unit


def margins(X: Any, y: Any, coef: Any, intercept: float | None = None) -> Margins:
    """Margins of the samples of X for the hyperplane ``coef.x + intercept = 0``.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Two classes; the second of them, in sorted order, belongs on the positive side.
    coef : array-like of shape (n_features,) or (1, n_features)
        Weights, not all zero; a fitted model's `coef_`.
    intercept : float or None, default=None
        The intercept, or None for a hyperplane through the origin.

    Returns
    -------
    Margins
        Functional, geometric and normalised margins of the samples, and of the set.

    Examples
    --------
    >>> from tenfold import margins
    >>> X = [[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]
    >>> result = margins(X, [-1, 1, 1, -1, -1, 1], [3, 1])
    >>> result.functional
    array([1., 3., 4., 3., 5., 2.])
    >>> round(result.of_set, 4), round(result.normalised_of_set, 4)
    (0.3162, 0.1414)
    """
    X = _rows(X)
    sign = signs_of(y, X)
    w = np.ravel(np.asarray(coef, dtype=np.float64))
    if w.shape != (X.shape[1],):
        raise ValueError(f"coef must have one number a column of X, {X.shape[1]}; got shape {np.shape(coef)}.")
    if not (np.isfinite(w).all() and w.any()):
        raise ValueError("coef must be finite, and not all zero: it has no hyperplane.")
    b = 0.0 if intercept is None else float(np.ravel(np.asarray(intercept, dtype=np.float64))[0])
    functional = sign * forward(X, Params(w[None, :], np.array([b])))[:, 0]
    one = 0.0 if intercept is None else 1.0
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if is_sparse(X) else np.einsum("ij,ij->i", X, X)
    lengths = np.sqrt(squares + one)
    size = float(np.sqrt(np.sum(np.square(w))))
    norm = float(np.hypot(size, b))
    cosines = np.divide(functional, norm * lengths, out=np.zeros_like(functional), where=lengths > 0.0)
    return Margins(functional, functional / size, cosines, w, b)


def signs_of(y: Any, X: Array) -> Floats:
    """+1 for the second of two classes and -1 for the first."""
    y = column_or_1d(y)
    check_consistent_length(X, y)
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(
            f"Two classes have a margin; y holds {len(classes)}: {classes[:5].tolist()}. Take each pair, or each "
            "against the rest."
        )
    return np.where(y == classes[1], 1.0, -1.0)


def _rows(X: Any) -> Array:
    """Validated samples in float64."""
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    return X if is_sparse(X) else contiguous(X)
