"""Linear separability of two classes, and their maximum margin."""

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
    """Bounds of the maximum margin of two classes.

    Attributes
    ----------
    separable : True or False where proved, else None: a margin, if any, is below `upper`.
    lower, upper : no hyperplane has a larger margin than `upper`; the returned one has `lower`. Zero for classes that
        are not separable.
    coef, intercept : the hyperplane, with weights of norm one.
    support : indices of the samples whose convex combinations bound the margin.
    certificate : Certificate
        Kind gap: upper - lower, allowed 1e-6 of the largest norm of a sample.
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
    """Decide whether a hyperplane separates two classes, with a proof either way, and bracket the maximum margin.

    The maximum margin ``max over w, b of min_i y_i (w.x_i + b) / ||w||`` is half the distance between the convex hulls
    of the classes. The lower bound is the margin of a hyperplane, the upper one half the distance between two points
    of the hulls; both are recomputed from the samples, with rounding errors. Classes whose hulls touch are not
    separable.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Two classes.
    fit_intercept : bool, default=True
        Whether the hyperplane has an intercept; otherwise it contains the origin.
    normalize : bool, default=False
        Whether samples are normalised first (with ``fit_intercept=False``: Seeger's margin of a data set).
    tol : float, default=1e-7
        Stop when the width of the bracket is at most this fraction of its upper bound.
    max_iter : int, default=10000
        The largest number of passes over the samples.

    Returns
    -------
    Separability
        Whether the classes are separable, the bracket of the margin, the hyperplane, and the points of the hulls.

    Notes
    -----
    Wolfe's algorithm for the minimum-norm point of a hull; tens of passes over the samples for easy data, memory for
    p samples. CMU lecture 11, slides 15-17; Seeger, sections 2.3.3 and 9.1; Rosasco, section 9.3.

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
    plane, bracket, certificate = largest_margin(X, sign, fit_intercept, tol, max_iter)
    coef, intercept = plane.direction, bracket.intercept
    return Separability(bracket.separable, bracket.lower, bracket.upper, coef, intercept, plane.rows, certificate)
