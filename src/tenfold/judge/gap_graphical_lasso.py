"""Kind gap: the graphical lasso, by a dual matrix that the judge makes from the stored precision and checks.

    primal   -log|P| + trace(S P) + alpha sum_(i != j) |P_ij|,   P positive definite
    dual     log|W| + p,   W positive definite, W_ii = S_ii, |W_ij - S_ij| <= alpha

W = S + clip(P^-1 - S, -alpha, alpha) with the diagonal of S. Where it has no Cholesky factor, it is mixed with the
matrix (1 - t) S + t diag(S), t = min(1, alpha / max |S_ij|), which is feasible too: the factor is what makes a bound
of the number. The inverse is the judge's own; the stored covariance must be it. The scale is p, the number of
features.

A constant feature has a variance of zero, and no best precision: variances count as at least VARIANCE_FLOOR of the
mean of the others; the note says so.
"""

from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate
from tenfold.linear_algebra import cholesky, invert_positive, product

VARIANCE_FLOOR = 1e-12  # of the mean variance of the other features: what a constant feature counts as

MIXTURES = (0.0, 1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0)  # shares of the matrix that is surely feasible, tried in turn

NOT_POSITIVE = "The precision is not positive definite, or not symmetric."
NOT_INVERSE = "The covariance is not the inverse of the precision."
NO_DUAL = "No dual matrix near the inverse of the precision is positive definite: there is no bound."


def raise_variances(S: Floats) -> tuple[Floats, int]:
    """S with variances of zero at the floor, and the number of these."""
    variance = np.diag(S)
    constant = variance <= 0.0
    if not constant.any():
        return S, 0
    S = S.copy()
    others = variance[~constant]
    S[constant, constant] = VARIANCE_FLOOR * (float(others.mean()) if others.size else 1.0)
    return S, int(constant.sum())


def graphical_lasso(
    S: Floats,
    covariance: Floats,
    precision: Floats,
    alpha: float,
    *,
    tol: float,
    dtype: Any = np.float64,
    status: str = "judged",
    complaint: str = "",
) -> Certificate:
    """The certificate of a precision and its inverse (p, p) for the covariance S of the samples; `tol` is the gap that
    the user allows. With a `complaint`, another part of the model contradicts them.
    """
    S, constant = raise_variances(S)
    p, u = len(S), unit_roundoff(dtype)
    note = complaint or _check(covariance, precision, p, u)
    allowed = max(RULES["gap"].tol, tol / p)
    L = cholesky(precision) if not note else None
    if L is None:
        note = note or NOT_POSITIVE
        return Certificate("gap", np.inf, float(p), allowed, EPS * p, np.inf, status=status, note=note)
    size = float(np.abs(precision).sum() - np.abs(np.diag(precision)).sum())
    terms = np.array([-2.0 * float(np.sum(np.log(np.diag(L)))), float(np.sum(S * precision)), alpha * size])
    objective = float(np.sum(terms))
    dual = _dual(S, invert_positive(L), alpha)
    # the rounding of the sums, and of the entries of the precision to their dtype
    slope = float(np.sum(np.abs(covariance - S) * np.abs(precision))) + alpha * size
    floor = 8.0 * EPS * (float(np.abs(terms).sum()) + float(np.sum(np.abs(S * precision)))) + 4.0 * u * slope
    gap = objective - dual
    words = [] if dual > -np.inf else [NO_DUAL]
    if constant:
        words.append(
            f"{constant} constant features count as of variance {VARIANCE_FLOOR:.0e} of the mean of the others."
        )
    return Certificate(
        "gap",
        max(gap, floor) if np.isfinite(gap) else np.inf,
        float(p),
        allowed,
        floor,
        objective,
        lower_bound=dual if np.isfinite(dual) else None,
        status=status,
        note=" ".join(words),
    )


def _check(covariance: Floats, precision: Floats, p: int, u: float) -> str:
    """Why the stored matrices are no covariance and its inverse; "" where they are."""
    if covariance.shape != (p, p) or precision.shape != (p, p):
        return "The shapes of the matrices do not go with the number of features."
    if not (np.isfinite(covariance).all() and np.isfinite(precision).all()):
        return "The matrices hold numbers that are not finite."
    scale = np.sqrt(np.outer(np.diag(precision), np.diag(precision)))
    if not (np.diag(precision) > 0.0).all() or (np.abs(precision - precision.T) > 4.0 * u * scale).any():
        return NOT_POSITIVE
    # in units of the features: the product must be the identity, up to the rounding of its terms
    root = np.sqrt(np.diag(precision))
    C, P = covariance * np.outer(root, root), precision / np.outer(root, root)
    away = np.abs(product(C, P) - np.eye(p))
    slack = 16.0 * u * np.sqrt(p) * (1.0 + np.sqrt(np.outer(np.sum(C * C, axis=1), np.sum(P * P, axis=0))))
    slack += 16.0 * u * np.sqrt(p) * float(np.linalg.norm(C))
    return NOT_INVERSE if (away > np.maximum(RULES["exact"].tol, slack)).any() else ""


def _dual(S: Floats, inverse: Floats, alpha: float) -> float:
    """The dual objective at a feasible matrix near the inverse; -inf where none has a Cholesky factor."""
    near = S + np.clip(inverse - S, -alpha, alpha)
    np.fill_diagonal(near, np.diag(S))
    sure = np.diag(np.diag(S)).astype(np.float64)
    off = float(np.max(np.abs(S - sure), initial=0.0))
    share = min(1.0, alpha / off) if off > 0.0 else 1.0
    sure = (1.0 - share) * S + share * sure
    for mixture in MIXTURES:
        L = cholesky((1.0 - mixture) * near + mixture * sure)
        if L is not None:
            return 2.0 * float(np.sum(np.log(np.diag(L)))) + len(S)
    return -np.inf
