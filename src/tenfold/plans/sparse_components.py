"""Sparse principal components: a dictionary of the features, whose codes are the components (Jenatton, Obozinski and
Bach 2010), and what is solved for where the components alone are known.
"""

import numpy as np

from tenfold.arrays import Floats
from tenfold.linear_algebra import solve_positive
from tenfold.objectives.factorization import gram, multiply

SCORE_SWEEPS = 2000  # over the components, at most
SCORE_MOVE = 1e-13  # relative to the scores, at which sweeps end


def best_scores(X: Floats, C: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Scores D (k, n) in the unit ball and lengths s (k,) >= 0 that minimise ||X - sum_k s_k D_k' C_k||^2 / 2
    + alpha sum_k s_k |C_k|: with Z_k = s_k D_k a group Lasso, by coordinate descent over the groups.
    """
    A, Q = gram(np.ascontiguousarray(C.T)), multiply(np.ascontiguousarray(X), np.ascontiguousarray(C.T))
    penalties, squares = alpha * np.sum(np.abs(C), axis=1), np.diag(A)
    Z = np.zeros_like(Q)
    for _ in range(SCORE_SWEEPS):
        moves = 0.0
        for k in np.flatnonzero(squares > 0.0):
            rest = Q[:, k] - Z @ A[:, k] + squares[k] * Z[:, k]
            size = float(np.linalg.norm(rest))
            moved = rest * (max(0.0, 1.0 - penalties[k] / size) / squares[k] if size > 0.0 else 0.0)
            moves += squares[k] * float(np.sum((moved - Z[:, k]) ** 2))
            Z[:, k] = moved
        if moves <= SCORE_MOVE**2 * float(np.sum(Q**2)) / max(float(np.max(squares, initial=0.0)), 1e-300):
            break
    lengths = np.linalg.norm(Z, axis=0)
    return np.ascontiguousarray((Z / np.where(lengths > 0.0, lengths, 1.0)).T), lengths


def ridge_scores(X: Floats, C: Floats, alpha: float) -> Floats:
    """The scores Z (n, k) that minimise ||X - Z C||^2 + alpha ||Z||^2, the shortest ones where they are not unique."""
    A = gram(np.ascontiguousarray(C.T))
    A.flat[:: len(A) + 1] += alpha
    Q = multiply(np.ascontiguousarray(X), np.ascontiguousarray(C.T))
    if not C.any(axis=1).all() and alpha == 0.0:
        return np.asarray(np.linalg.lstsq(A, Q.T, rcond=None)[0].T)
    solved = solve_positive(np.asfortranarray(A), Q.T)
    return np.asarray((np.linalg.lstsq(A, Q.T, rcond=None)[0] if solved is None else solved).T)


def normalize(W: Floats) -> Floats:
    """Components (k, p) of norm one from codes W (p, k), each with the sign for which the largest entry of its codes is
    positive; components of zeros stay.
    """
    signs = np.sign(W[np.argmax(np.abs(W), axis=0), np.arange(W.shape[1])])
    C = np.ascontiguousarray((W * np.where(signs == 0.0, 1.0, signs)).T)
    norms = np.linalg.norm(C, axis=1, keepdims=True)
    return C / np.where(norms > 0.0, norms, 1.0)
