"""Least squares with linearly dependent columns: the rank is revealed, and the solution of least norm taken.

With 2^-q (x - centre) = Q R, `RFactor`, the singular values of R (with sqrt(alpha) 2^-q below it) decide the rank;
columns are equilibrated, so the rank does not depend on units. Where it is deficient, the solution of least Euclidean
norm in the units of the data is returned.

A Gram matrix has the squares of these singular values, and has lost the small ones. Where no small ones exist but those
of combinations that vanish in every sample, as of indicators of categories beside a constant, its eigenvectors serve.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, lstsq, svd

from tenfold.arrays import Floats, Integers
from tenfold.data import Rows
from tenfold.machine import one_blas_thread
from tenfold.stats.derivatives import Params
from tenfold.stats.min_max import of_predictions
from tenfold.stats.moments import Moments
from tenfold.stats.rfactor import RFactor

CLEAR = 1e-7  # relative eigenvalues of a Gram matrix whose singular vectors a correction step makes exact
LOST = 4.0 * float(np.finfo(np.float64).eps)  # relative eigenvalues, for each column, that are rounding

VANISHING = 64  # null combinations of columns that are checked on the samples, a product each, at most


@dataclass(frozen=True)
class Orthogonal:
    """Singular value decompositions U diag(s) V' of the equilibrated, penalised factor for each different alpha."""

    scales: Integers
    members: tuple[Integers, ...]
    parts: tuple[tuple[Floats, Floats, Floats], ...]
    right: Floats
    cut: float

    @property
    def condition(self) -> float:
        """Largest over smallest singular value of the worst target."""
        return max(float(s[0] / s[-1]) if s.size and s[-1] > 0 else np.inf for _, s, _ in self.parts)

    @property
    def rank(self) -> int:
        """Numerical rank, the least over the targets."""
        return min(self.rank_of(s) for _, s, _ in self.parts)

    def rank_of(self, s: Floats) -> int:
        """The number of singular values above the rounding of the data."""
        return int(np.sum(s > self.cut * np.max(s, initial=0.0)))


def rounding_cut(rows: Rows, moments: Moments, scales: Integers) -> float:
    """Relative singular values up to here are rounding: of the factorisation, and of features whose mean is large
    beside their spread.
    """
    far = np.ldexp(moments.mean, -scales.astype(np.int32)) * np.sqrt(moments.weight)
    return float(np.finfo(np.float64).eps) * max(max(rows.shape), float(np.linalg.norm(far)))


def factor(rows: Rows, moments: Moments, scales: Integers, alpha: Floats, intercept: bool) -> Orthogonal:
    """Fold the samples into R and decompose it for each distinct alpha."""
    p, t = moments.features, alpha.size
    shift = np.concatenate([moments.mean, moments.target_mean]) if intercept else np.zeros(p + t)
    # factors of two are exact; the targets are scaled by their own exponents
    scale = np.ldexp(1.0, -np.concatenate([scales, moments.exponent[p:]]).astype(np.int32))
    if intercept:
        # about its mean a constant column is rounding
        scale[:p] = np.where(np.diag(moments.XX) > 0, scale[:p], 0.0)
    R = rows.fold(RFactor.lifter(shift, scale)).R
    members, parts, rights = [], [], np.zeros((p, t))
    for value in np.unique(alpha):
        member = np.flatnonzero(alpha == value)
        stacked = R
        if value > 0.0:
            below = np.zeros((p, R.shape[1]))
            below[:, :p] = np.diag(np.sqrt(value) * scale[:p])
            with one_blas_thread:
                stacked = np.triu(lapack.dgeqrf(np.asfortranarray(np.vstack([R, below])))[0])[: R.shape[1]]
        top = stacked[:p]
        with one_blas_thread:
            U, s, Vt = svd(top[:, :p], full_matrices=False)
        rights[: top.shape[0], member] = top[:, p + member]
        members.append(member)
        parts.append((U, s, Vt))
    return Orthogonal(scales, tuple(members), tuple(parts), rights, rounding_cut(rows, moments, scales))


def factor_gram(rows: Rows, moments: Moments, scales: Integers, intercept: bool) -> Orthogonal | None:
    """The same without a penalty from the moments, and one pass over the samples that checks the null combinations;
    None where these do not vanish, or singular values are in doubt.
    """
    p, t = moments.features, moments.yy.size
    S, C, _ = moments.about(origin=not intercept)
    half = (scales - moments.exponent[:p]).astype(np.int32)
    with one_blas_thread:
        squares, V, info = lapack.dsyevd(np.ldexp(S, -(half[:, None] + half)))
    squares, V = squares[::-1], V[:, ::-1]
    if info != 0 or not squares[0] > 0.0:
        return None
    rank = int(np.sum(squares > CLEAR * squares[0]))
    if p - rank > VANISHING or np.any(squares[rank:] > LOST * p * squares[0]):
        return None
    cut = rounding_cut(rows, moments, scales)
    varies = np.diag(S) > 0.0  # about its mean a constant column is rounding
    combinations = np.where(varies, np.ldexp(V[:, rank:].T, -scales.astype(np.int32)), 0.0)
    centre = moments.mean if intercept else None
    ends = rows.fold(of_predictions(Params(combinations, np.zeros(p - rank)), centre))
    largest = np.sqrt(moments.weight) * np.max(np.maximum(-ends.low, ends.high), initial=0.0)
    s = np.where(np.arange(p) < rank, np.sqrt(np.maximum(squares, 0.0)), 0.0)
    if not largest <= cut * s[0]:
        return None
    right = np.zeros((p, t))
    with one_blas_thread:
        right[:rank] = V[:, :rank].T @ np.ldexp(C, -half[:, None]) / s[:rank, None]
    return Orthogonal(scales, (np.arange(t),), ((np.eye(p), s, V.T),), right, cut)


def singular_values(orthogonal: Orthogonal) -> Floats:
    """Singular values of the penalised columns in the units of the data, of the first target."""
    _, s, Vt = orthogonal.parts[0]
    with np.errstate(over="ignore"), one_blas_thread:
        return np.asarray(svd(np.ldexp(s[:, None] * Vt, orthogonal.scales.astype(np.int32)), compute_uv=False))


def inverse_gram(orthogonal: Orthogonal) -> Floats:
    """The inverse of the penalised normal matrix of the first target, in the units of the data."""
    _, s, Vt = orthogonal.parts[0]
    half = Vt.T / s
    q = orthogonal.scales.astype(np.int32)
    with np.errstate(over="ignore"):
        return np.ldexp(half @ half.T, -(q[:, None] + q))


def solve(orthogonal: Orthogonal, moments: Moments) -> Floats:
    """The weights (t, p) in the units of the data."""
    p = moments.features
    coef = np.empty((orthogonal.right.shape[1], p))
    q = orthogonal.scales.astype(np.int32)
    for member, (U, s, Vt) in zip(orthogonal.members, orthogonal.parts, strict=True):
        rank = orthogonal.rank_of(s)
        right = orthogonal.right[: U.shape[0], member]
        v = Vt[:rank].T @ ((U[:, :rank].T @ right) / s[:rank, None])
        w = np.ldexp(v, -q[:, None])
        if rank < p:
            w = _shortest(w, Vt, rank, q)
        coef[member] = np.ldexp(w, moments.exponent[p + member]).T
    return coef


def correct(orthogonal: Orthogonal, coef: Floats, gradient: Floats) -> Floats:
    """One correction with the gradient (t, p) of half the penalised sum of squares, read from the samples."""
    q = orthogonal.scales.astype(np.int32)
    coef = coef.copy()
    for member, (_, s, Vt) in zip(orthogonal.members, orthogonal.parts, strict=True):
        rank = orthogonal.rank_of(s)
        g = np.ldexp(gradient[member].T, -q[:, None])
        step = np.ldexp(Vt[:rank].T @ ((Vt[:rank] @ g) / s[:rank, None] ** 2), -q[:, None])
        w = coef[member].T - step
        coef[member] = (_shortest(w, Vt, rank, q) if rank < coef.shape[1] else w).T
    return coef


def _shortest(w: Floats, Vt: Floats, rank: int, q: Integers) -> Floats:
    """The shortest of all w + 2^-q n with n orthogonal to the row space of the scaled columns, the first rows of Vt."""
    with one_blas_thread:
        if len(Vt) < Vt.shape[1]:  # fewer rows than columns
            Vt = svd(Vt[:rank], full_matrices=True)[2]
        null = np.ldexp(Vt[rank:].T, -q[:, None])
        # only the span matters: unit directions keep the solve well conditioned for columns of different units
        null = null / np.linalg.norm(null, axis=0)
        return w - null @ lstsq(null, w)[0]
