"""The graphical lasso by block coordinate descent (Friedman, Hastie and Tibshirani 2008).

Solves   min over P positive definite of  -log|P| + trace(S P) + alpha sum_(i != j) |P_ij|

for a matrix S with a positive diagonal, which is not penalised. The iterate is the dual matrix W, near P^-1, with
W_ii = S_ii and |W_ij - S_ij| <= alpha. Its column j is W b for the lasso

    min over b of  1/2 b'W b - s_j'b + alpha |b|_1,   b_j = 0,

and P_jj = 1 / (S_jj - w_j'b), P_ij = -P_jj b_i. Where the signs of the last b still satisfy the conditions of
optimality, the lasso is one linear system; otherwise the compiled coordinate descent solves it. A sweep over all
columns is a step; it ends with the duality gap of the symmetric P, by the dual matrix S + clip(P^-1 - S, -alpha,
alpha).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold import _core
from tenfold.arrays import EPS, Floats
from tenfold.linear_algebra import cholesky, invert_positive
from tenfold.machine import one_blas_thread
from tenfold.solvers.loop import Step

START = 0.95  # of the covariances between features, in the first W: it must have an inverse
LASSO_SHARE = 0.1  # of the gap that is left, divided by the columns, that the lasso of one column may leave
SWEEPS = 1000  # of the coordinate descent for one column


class Precision(NamedTuple):
    """P and its inverse, the dual matrix W, and the lasso coefficients (p, p), a row a column of W."""

    precision: Floats
    covariance: Floats
    dual: Floats
    coef: Floats
    gap: float


def steps(S: Floats, alpha: float, tol: float, start: Precision | None = None) -> Iterator[Step]:
    """Sweeps until the duality gap is at most `tol`, warm-started from another penalty's result."""
    W, B = _start(S, alpha) if start is None else _continue(S, alpha, start)
    diagonal = Precision(np.diag(1.0 / np.diag(S)), np.diag(np.diag(S)), W, B, np.inf)
    best = _with_gap(S, alpha, diagonal)
    yield Step(best, objective(S, best.precision, alpha), max(best.gap / tol, 2.0))
    allowed, signs = np.inf, start is not None
    while True:
        with one_blas_thread:
            P = _sweep(S, W, B, alpha, max(64.0 * EPS, LASSO_SHARE * min(allowed, 1.0) / len(S)), signs)
        signs = True
        P = np.where((P != 0.0) & (P.T != 0.0), 0.5 * (P + P.T), 0.0)
        L = cholesky(P)
        if L is not None:
            here = _with_gap(S, alpha, Precision(P, invert_positive(L), W, B, np.inf))
            best, allowed = (here if here.gap <= best.gap else best._replace(dual=W, coef=B)), here.gap
        yield Step(best, objective(S, best.precision, alpha), best.gap / tol)


def _start(S: Floats, alpha: float) -> tuple[Floats, Floats]:
    W = START * S
    np.fill_diagonal(W, np.diag(S))
    L = cholesky(W)
    if L is None:  # few samples: the diagonal is feasible where alpha is large, and a warm start for the others
        return np.diag(np.diag(S)), np.zeros_like(S)
    P = invert_positive(L)
    B = -P / np.diag(P)[:, None]
    np.fill_diagonal(B, 0.0)
    B[np.abs(S) <= alpha] = 0.0  # most of them stay zero
    return W, B


def _continue(S: Floats, alpha: float, start: Precision) -> tuple[Floats, Floats]:
    W = S + np.clip(start.covariance - S, -alpha, alpha)
    np.fill_diagonal(W, np.diag(S))
    return (W, start.coef.copy()) if cholesky(W) is not None else (start.dual.copy(), start.coef.copy())


def _sweep(S: Floats, W: Floats, B: Floats, alpha: float, tol: float, signs: bool) -> Floats:
    """Solve for all columns in turn, in place, where `signs` are likely to be those before by one system each; the
    precision by the columns, not yet symmetric.
    """
    p = len(S)
    P, unit = np.empty_like(S), np.ones(p)
    l1, l2 = np.array([alpha]), np.zeros(1)
    for j in range(p):
        b = _solve_signs(S[j], W, B[j], j, alpha) if signs else None
        if b is None:
            target = S[j : j + 1].copy()
            target[0, j], unit[j] = 0.0, 1e300  # a penalty that keeps the feature out
            size = 2.0 * S[j, j]
            start = np.ascontiguousarray(B[j : j + 1])
            coef = _core.cd_gram(W, target, size, unit, start, l1, l2, False, tol * S[j, j], SWEEPS, None)[0]
            b, unit[j] = coef.reshape(-1), 1.0
        B[j] = b
        support = np.flatnonzero(b)
        w = b[support] @ W[support]
        w[j] = W[j, j]
        W[j], W[:, j] = w, w
        own = 1.0 / max(W[j, j] - float(w[support] @ b[support]), EPS * W[j, j])
        P[j] = -own * b
        P[j, j] = own
    return P


def _solve_signs(s: Floats, W: Floats, before: Floats, j: int, alpha: float) -> Floats | None:
    """The lasso coefficients with the support and signs of those before; None where these are not optimal."""
    support = np.flatnonzero(before)
    b = np.zeros_like(before)
    gradient = s
    if support.size:
        sign = np.sign(before[support])
        _, values, failed = lapack.dposv(W[np.ix_(support, support)], s[support] - alpha * sign, lower=1)
        if failed or (values * sign <= 0.0).any():
            return None
        b[support] = values
        gradient = s - values @ W[support]
    off = np.abs(gradient)
    off[support] = 0.0
    off[j] = 0.0
    return b if float(off.max(initial=0.0)) <= alpha * (1.0 + 8.0 * EPS) else None


def _with_gap(S: Floats, alpha: float, here: Precision) -> Precision:
    """With the duality gap at the dual matrix nearest to the covariance; infinite where that is not definite."""
    dual = S + np.clip(here.covariance - S, -alpha, alpha)
    np.fill_diagonal(dual, np.diag(S))
    L = cholesky(dual)
    if L is None:
        return here
    primal = objective(S, here.precision, alpha)
    return here._replace(gap=max(primal - 2.0 * float(np.sum(np.log(np.diag(L)))) - len(S), 0.0))


def objective(S: Floats, P: Floats, alpha: float) -> float:
    """-log|P| + trace(S P) + alpha sum_(i != j) |P_ij|; infinite where P is not positive definite."""
    L = cholesky(P)
    if L is None:
        return np.inf
    size = float(np.abs(P).sum() - np.abs(np.diag(P)).sum())
    return -2.0 * float(np.sum(np.log(np.diag(L)))) + float(np.sum(S * P)) + alpha * size
