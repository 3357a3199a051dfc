"""Whether two classes can be separated, and by how much."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from tenfold.arrays import Floats, Integers, contiguous, is_sparse
from tenfold.geometry import signs_of
from tenfold.judge.certificate import Certificate
from tenfold.plans.margin import largest_margin


@dataclass(frozen=True)
class Separability:
    """The largest margin of two classes, as far as it is proved.

    Attributes
    ----------
    separable : True or False where that is proved, else None: then the margin, if there is one, is below `upper`.
    lower, upper : no hyperplane has a larger smallest distance from the rows than `upper`; one that was found has
        `lower`. Zero stands for classes that cannot be separated.
    coef, intercept : that hyperplane, with weights of length one.
    support : rows of the convex combinations that bound the margin.
    certificate : Certificate
        Kind gap: upper - lower, allowed 1e-6 of the longest row.
    """

    separable: bool | None
    lower: float
    upper: float
    coef: Floats
    intercept: float
    support: Integers
    certificate: Certificate


def separability(
    X: Any, y: Any, *, fit_intercept: bool = True, normalize: bool = False, tol: float = 1e-7, max_iter: int = 10_000
) -> Separability:
    """Whether a hyperplane separates two classes, with a proof either way, and the largest margin as a bracket.

    The margin of a set is the largest smallest distance, ``max over w, b of min_i y_i (w.x_i + b) / ||w||``; it is
    half the distance between the convex hulls of the classes. The lower end of the bracket is the margin of a
    hyperplane that was found, the upper one half the distance between two points of the hulls; both are computed again
    from the rows, with their rounding. Classes whose hulls touch are not separable.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Two classes.
    fit_intercept : bool, default=True
        Whether the hyperplane may be anywhere, or goes through the origin.
    normalize : bool, default=False
        Whether rows are taken to length one first (with ``fit_intercept=False``: Seeger's margin of a data set).
    tol : float, default=1e-7
        The search ends when the bracket is as narrow as this share of its upper end.
    max_iter : int, default=10000
        Passes over the rows at most.

    Returns
    -------
    Separability
        Whether the classes are separable, the bracket of the margin, the hyperplane, and the points of the hulls.

    Notes
    -----
    Wolfe's method for the shortest point of a hull; some tens of passes over the rows for easy data, memory for as many
    rows as there are columns. CMU lecture 11, slides 15-17; Seeger, sections 2.3.3 and 9.1; Rosasco, section 9.3.

    Examples
    --------
    >>> from tenfold import separability
    >>> found = separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])  # exclusive or
    >>> found.separable, found.lower, found.upper
    (False, 0.0, 0.0)
    >>> found = separability([[-3.0, 1.0], [-1.0, 0.0], [1.0, 0.0], [2.0, 5.0]], [0, 0, 1, 1])
    >>> found.separable, round(found.lower, 6), round(found.upper, 6)
    (True, 1.0, 1.0)
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    sign = signs_of(y, X)
    X = X if is_sparse(X) else contiguous(X)
    if normalize:
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if is_sparse(X) else np.einsum("ij,ij->i", X, X)
        length = np.sqrt(squares)
        if not length.all():
            raise ValueError("normalize needs rows with a length: one of these is zero.")
        X = X.multiply(1.0 / length[:, None]).tocsr() if is_sparse(X) else X / length[:, None]
    found, ends, certificate = largest_margin(X, sign, fit_intercept, tol, max_iter)
    coef, intercept = found.direction, ends.intercept
    return Separability(ends.separable, ends.lower, ends.upper, coef, intercept, found.rows, certificate)
