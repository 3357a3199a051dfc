"""Leave-one-out errors of support vector machines of two classes, bounded without a refit.

With dual coefficients a_i of the exact optimum, f_i = y_i sum_j a_j y_j K_ij + y_i b, slacks xi_i = max(0, 1 - f_i):

- a sample with a_i = 0 is classified as before without it: at most the support vectors are wrong (Vapnik 1998);
- a sample that is wrong when it is left out has  2 a_i R^2 + xi_i >= 1,  R^2 the largest K_ii - min_j K_ij (Joachims
  2000); without an intercept  a_i R^2 + xi_i >= 1;
- where the free and the bound support vectors stay free and bound, the value of a sample falls by exactly a_i S_i^2
  when it is left out, so that it is wrong where  a_i S_i^2 >= f_i. S_i is the distance of phi(x_i) from the span of the
  other free support vectors, with coefficients that sum to one (Vapnik and Chapelle 2000).
"""

from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.linear_algebra import eigh


class SvmLeaveOneOut(NamedTuple):
    """Bounds on the leave-one-out error of a support vector machine, as shares of the samples.

    Attributes
    ----------
    support_vectors : float
        The share of support vectors. Holds for the exact optimum.
    xi_alpha : float
        The share of samples with ``2 a R^2 + xi >= 1``, for the exact optimum with a free support vector; without
        one, where the intercept is not unique, the share of support vectors.
    span : float
        The share of samples with ``a S^2 >= y f``. The error itself where no support vector changes its type as a
        sample is left out, which is an assumption and fails in practice for some: an estimate, not a bound.
    radius : float
        R, from the kernel matrix.
    spans : ndarray of shape (n,)
        S of each sample, zero where its coefficient is zero.
    """

    support_vectors: float
    xi_alpha: float
    span: float
    radius: float
    spans: Floats


def svm_leave_one_out(
    K: Any, y: Any, alpha: Any, intercept: float, C: float, *, fit_intercept: bool = True, tol: float = 1e-6
) -> SvmLeaveOneOut:
    """Bounds on the leave-one-out error of a support vector machine of two classes, from its fit to all samples.

    Assumes the exact optimum of ``1/2 ||w||^2 + C sum xi`` (see its certificate), samples of equal weight, and a kernel
    that is positive semidefinite.

    Parameters
    ----------
    K : array-like of shape (n, n)
        The kernel matrix of all samples.
    y : array-like of shape (n,)
        The classes, -1 and 1.
    alpha : array-like of shape (n,)
        The dual coefficients, between 0 and C: ``abs(dual_coef_)`` at `support_`, zero elsewhere.
    intercept : float
        The intercept.
    C : float
        The parameter of the fit.
    fit_intercept : bool, default=True
        Whether the intercept was free.
    tol : float, default=1e-6
        Relative distance from 0 and C up to which a coefficient is there.

    Returns
    -------
    SvmLeaveOneOut
        Two bounds and an estimate.

    Notes
    -----
    n^2 operations, and m^3 for m free support vectors.
    Vapnik, *Statistical Learning Theory* (1998). Joachims, *Estimating the generalization performance of an SVM
    efficiently* (2000). Vapnik and Chapelle, *Bounds on error expectation for support vector machines* (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.bounds import svm_leave_one_out
    >>> X = np.array([-3.0, -1.0, 1.0, 3.0])  # the margin is at -1 and 1: w = 1, two support vectors
    >>> found = svm_leave_one_out(np.outer(X, X), [-1, -1, 1, 1], [0.0, 0.5, 0.5, 0.0], 0.0, C=10.0)
    >>> found.support_vectors
    0.5
    """
    K, y, alpha = (np.asarray(part, dtype=np.float64) for part in (K, y, alpha))
    n = len(y)
    if K.shape != (n, n) or alpha.shape != (n,) or not np.all(np.abs(y) == 1.0):
        raise ValueError(f"K must be (n, n), y (n,) of -1 and 1, alpha (n,). Got {K.shape}, {y.shape}, {alpha.shape}.")
    if not C > 0.0:
        raise ValueError(f"C must be positive, got {C!r}.")
    bound = C if np.isfinite(C) else float(np.max(alpha, initial=0.0)) * 2.0 or 1.0
    if np.any(alpha < -tol * bound) or np.any(alpha > (1.0 + tol) * C):
        raise ValueError("alpha must be between 0 and C: for two classes abs(dual_coef_).")
    values = y * (K @ (alpha * y) + intercept)
    slack = np.maximum(0.0, 1.0 - values)
    support = alpha > tol * bound
    free = support & (alpha < (1.0 - tol) * C)
    square = float(np.max(np.diag(K) - np.min(K, axis=1), initial=0.0))
    factor = 2.0 if fit_intercept else 1.0
    # rounding of margins and coefficients must not hide a sample
    reached = factor * alpha * square + slack >= 1.0 - 1e-9 - tol
    if fit_intercept and not free.any():
        reached = support
    spans = np.zeros(n)
    spans[support] = np.sqrt(compute_spans(K, free, support, fit_intercept)[support])
    wrong = support & (alpha * spans**2 >= values)
    return SvmLeaveOneOut(
        float(np.mean(support)), float(np.mean(reached & support)), float(np.mean(wrong)), float(np.sqrt(square)), spans
    )


def compute_spans(K: Floats, free: Any, support: Any, fit_intercept: bool) -> Floats:
    """S^2 (n,): of free samples 1 / (M^-1)_ii with M = [K 1; 1' 0] of the free ones; of bound samples the distance from
    all free ones, k - v' M^-1 v with v = (K_free,i, 1).
    """
    result, m = np.zeros(len(K)), int(np.sum(free))
    border = 1 if fit_intercept else 0
    if m <= border:  # no span of others
        result[support] = np.diag(K)[support]
        return result
    M = np.zeros((m + border, m + border))
    M[:m, :m] = K[np.ix_(free, free)]
    if border:
        M[:m, m], M[m, :m] = 1.0, 1.0
    values, vectors = eigh(M)
    reached = np.abs(values) > len(M) * EPS * float(np.max(np.abs(values)))
    inverse = (vectors[:, reached] / values[reached]) @ vectors[:, reached].T
    diagonal = np.diag(inverse)[:m]
    # where M is singular a free sample lies in the span of the others
    regular = bool(reached.all())
    result[free] = np.where((diagonal > 0.0) & regular, 1.0 / np.where(diagonal > 0.0, diagonal, 1.0), 0.0)
    bound = support & ~free
    v = np.vstack([K[np.ix_(free, bound)], np.ones((border, int(np.sum(bound))))])
    result[bound] = np.maximum(0.0, np.diag(K)[bound] - np.sum(v * (inverse @ v), axis=0))
    return result
