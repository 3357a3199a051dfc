"""Least squares by the normal equations from `Moments`: Cholesky of the equilibrated Gram matrix, with correction
steps.

Solves (S + alpha I) w = c for each target, S and c the centred (or raw) second moments. Columns are scaled by powers of
two, which costs no rounding, so the unit of a column changes nothing. Forming S squares the condition number: `correct`
takes the gradient read from the samples and repairs most of that (corrected semi-normal equations, Bjorck 1987).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats, Integers
from tenfold.machine import one_blas_thread
from tenfold.stats.derivatives import Params
from tenfold.stats.moments import Moments

NO_LENGTH = -(1 << 20)  # the exponent of a column of zeros, below all others


def column_scales(moments: Moments, alpha: Floats, origin: bool) -> Integers:
    """Exponents q with which 2^-q (x - centre) has a penalised sum of squares of about one; w = 2^-q v."""
    e = moments.exponent[: moments.features].astype(np.int64)
    squares, largest = np.diag(moments.about(origin)[0]), float(alpha.max())
    length = np.where(squares > 0.0, np.frexp(np.sqrt(squares))[1] + e, NO_LENGTH if largest > 0.0 else e)
    return np.maximum(length, math.frexp(math.sqrt(largest))[1]) if largest > 0.0 else length


def distinct(alpha: Floats) -> Floats:
    """The distinct values of alpha, mostly one."""
    return alpha[:1] if (alpha == alpha[0]).all() else np.unique(alpha)


@dataclass(frozen=True)
class NormalFactor:
    """Cholesky factors of 2^-q (S + alpha I) 2^-q, one for each different alpha, and their targets."""

    scales: Integers
    factors: tuple[Floats, ...]
    members: tuple[Integers, ...]
    rcond: float

    def solve(self, right: Floats) -> Floats:
        """Solve for right-hand sides (t, p) in the units of the data, already divided by 2^q once."""
        solution = np.empty_like(right)
        for factor, member in zip(self.factors, self.members, strict=True):
            with one_blas_thread:
                solution[member] = lapack.dpotrs(factor, right[member].T, lower=1)[0].T
        return solution


def factor(moments: Moments, alpha: Floats, intercept: bool) -> NormalFactor | None:
    """Factor the normal matrix for each target's alpha, or None where it is numerically singular."""
    S = moments.about(origin=not intercept)[0]
    q = column_scales(moments, alpha, origin=not intercept)
    half = (moments.exponent[: moments.features] - q).astype(np.int32)
    scaled = np.ldexp(S, half[:, None] + half)
    factors, members, rconds = [], [], []
    for value in distinct(alpha):
        A = scaled.copy()
        A.flat[:: len(A) + 1] += np.ldexp(value, -2 * q)
        norm = float(np.abs(A).sum(axis=0).max())
        with one_blas_thread:
            L, info = lapack.dpotrf(A.T, lower=1, overwrite_a=1)  # symmetric: its transpose is it in Fortran order
            if info != 0:
                return None
            rcond, _ = lapack.dpocon(L, norm, uplo="L")
        factors.append(L)
        members.append(np.flatnonzero(alpha == value))
        rconds.append(float(rcond))
    return NormalFactor(q, tuple(factors), tuple(members), min(rconds))


def solve(moments: Moments, normal: NormalFactor, intercept: bool) -> Params:
    """The weights and intercepts of all targets."""
    p = moments.features
    c = moments.about(origin=not intercept)[1]
    half = (normal.scales - moments.exponent[:p]).astype(np.int32)
    v = normal.solve(np.ldexp(c.T, -half))
    with np.errstate(over="ignore"):
        coef = np.ldexp(v, (moments.exponent[p:, None] - normal.scales).astype(np.int32))
    return with_intercept(coef, moments, intercept)


def solve_min_norm(moments: Moments, alpha: Floats, intercept: bool) -> tuple[Params, float]:
    """The solution of least norm where the matrix is singular, by its eigenvectors, and the condition of the part that
    was used.
    """
    p = moments.features
    S, c, _ = moments.about(origin=not intercept)
    e = moments.exponent.astype(np.int64)
    # one power of two for all columns, so that lengths of weights keep their meaning
    unit = int(np.max(e[:p] + np.frexp(np.sqrt(np.diag(S)))[1], initial=0))
    with one_blas_thread:
        values, V, info = lapack.dsyevd(np.ldexp(S, e[:p, None] + e[:p] - 2 * unit))
    if info != 0:
        raise np.linalg.LinAlgError("the eigenvalues of the moments were not found")
    positive = values > max(float(values[-1]), 0.0) * p * np.finfo(np.float64).eps
    V, values = V[:, positive], values[positive]
    right = V.T @ np.ldexp(c, e[:p, None] - unit)
    total = values[:, None] + np.ldexp(alpha, -2 * unit)
    coef = np.ldexp((V @ (right / total)).T, e[p:, None] - unit)
    condition = float(np.sqrt(total.max() / total.min())) if values.size else 1.0
    return with_intercept(coef, moments, intercept), condition


def correct(params: Params, normal: NormalFactor, gradient: Floats, moments: Moments, intercept: bool) -> Params:
    """One correction: `gradient` (t, p) is that of half the penalised sum of squares, read from the samples."""
    step = normal.solve(np.ldexp(gradient, -normal.scales.astype(np.int32)))
    return with_intercept(params.coef - np.ldexp(step, -normal.scales.astype(np.int32)), moments, intercept)


def with_intercept(coef: Floats, moments: Moments, intercept: bool) -> Params:
    """The intercept that makes the mean residual zero."""
    if not intercept:
        return Params(coef, np.zeros(coef.shape[0]))
    return Params(coef, moments.target_mean - coef @ moments.mean)
