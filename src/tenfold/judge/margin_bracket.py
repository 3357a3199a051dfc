"""Certified bracket of the maximum margin of two classes: a hyperplane, and a convex combination that bounds it.

With an intercept: for weights w of norm one all samples have margin (min over one class - max over the other) / 2, and
no weights have more than half the distance between a convex combination of the one class and one of the other. Without:
min_i y_i w.x_i, and the norm of any convex combination of the y_i x_i. Both bounds are computed in float64 with
outward rounding.

Classes are inseparable only where their hulls provably intersect: the coefficients of a zero combination solve a square
linear system that is verified to have a positive solution (Krawczyk 1969), or exactly, in rational
numbers.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Array, Floats, Integers, is_sparse, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate
from tenfold.machine import one_blas_thread
from tenfold.stats.derivatives import Params, forward

UNIT = unit_roundoff(np.float64)

MAX_RATIONAL_OPERATIONS = 1 << 19  # rational operations that a proof may take

DEPENDENT = 1e-12  # relative singular value up to which columns of the system depend on each other


class Bracket(NamedTuple):
    """The maximum margin is in [lower, upper]; `separable` is None where undecided. `radius` is the largest norm of a
    sample, `intercept` that of the direction.
    """

    lower: float
    upper: float
    separable: bool | None
    radius: float
    intercept: float


def certify_margin(
    X: Array, sign: Floats, direction: Floats, rows: Integers, shares: Floats, intercept: bool, tol: float
) -> tuple[Bracket, Certificate]:
    """The bracket of a direction (p,) and a combination of samples, and its certificate with the relative tolerance
    `tol`.
    """
    ends = bracket(X, sign, direction, rows, shares, intercept)
    gap = max(ends.upper - ends.lower, 0.0)
    floor = 64.0 * (X.shape[1] + 4) * np.finfo(np.float64).eps * ends.radius
    note = {
        True: "The hyperplane that was found separates the classes.",
        False: "The convex hulls of the classes meet: no hyperplane separates them.",
        None: f"Whether the classes can be separated is not proved; a margin would be below {ends.upper:.2g}.",
    }[ends.separable]
    status = "converged" if gap <= max(tol * ends.upper, floor) else "iteration limit"
    return ends, Certificate(
        "gap", max(gap, floor), ends.radius, RULES["gap"].tol, floor, ends.lower, status=status, note=note
    )


def bracket(X: Array, sign: Floats, direction: Floats, rows: Integers, shares: Floats, intercept: bool) -> Bracket:
    """The bracket of an untrusted direction (p,) and combination of samples."""
    p = X.shape[1]
    absolute = abs(X)
    largest = float(absolute.max()) if X.shape[0] * p else 0.0
    size = float(np.sqrt(np.sum(np.square(direction))))
    lower, b = 0.0, 0.0
    if size > 0.0:
        z = forward(X, Params(np.ascontiguousarray(direction[None, :]), np.zeros(1)))[:, 0]
        slack = 4.0 * (p + 4) * UNIT * largest * float(np.abs(direction).sum())
        above, below = float(z[sign > 0].min()), float(z[sign < 0].max())
        margin = (above - below) / 2.0 if intercept else min(above, -below)
        lower = max(0.0, (margin - slack) / (size * (1.0 + 4.0 * (p + 2) * UNIT)))
        b = -(above + below) / (2.0 * size) if intercept else 0.0
    Z = np.asarray(X[rows].toarray() if is_sparse(X) else X[rows], dtype=np.float64)
    side = sign[rows]
    a = np.maximum(shares, 0.0)
    groups = [side > 0, side < 0] if intercept else [np.ones(len(rows), dtype=bool)]
    upper = np.inf
    if all(a[group].sum() > 0.0 for group in groups):
        for group in groups:
            a[group] /= a[group].sum()
        c = np.sum((a * side)[:, None] * Z, axis=0)
        slack = 4.0 * (len(rows) + 4) * UNIT * float(np.sqrt(np.sum(np.square(np.sum(a[:, None] * np.abs(Z), axis=0)))))
        half = 2.0 if intercept else 1.0
        upper = (float(np.sqrt(np.sum(np.square(c)))) * (1.0 + 4.0 * (p + 2) * UNIT) + slack) / half
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if is_sparse(X) else np.einsum("ij,ij->i", X, X)
    radius = float(np.sqrt(squares.max()))
    separable = True if lower > 0.0 else None
    if separable is None and upper <= 1e-9 * radius and hulls_intersect(Z, side, a, intercept):
        separable, upper = False, 0.0
    return Bracket(lower, upper, separable, radius, b)


def hulls_intersect(Z: Floats, side: Floats, shares: Floats, intercept: bool) -> bool:
    """Whether a zero combination of these samples with positive coefficients is proved."""
    Z, side, shares = _reduce(Z, side, shares, intercept)
    M, right = _system(Z, side, intercept)
    if M.shape[0] == M.shape[1] and _has_verified_solution(M, right):
        return True
    return M.shape[0] * M.shape[1] ** 2 <= MAX_RATIONAL_OPERATIONS and _has_rational_solution(M, right)


def _system(Z: Floats, side: Floats, intercept: bool) -> tuple[Floats, Floats]:
    """M a = right: the combination is zero, and the coefficients of each class (or of all) sum to one."""
    sums = [side > 0, side < 0] if intercept else [np.ones(len(side), dtype=bool)]
    M = np.vstack([(side[:, None] * Z).T, *[group.astype(np.float64)[None, :] for group in sums]])
    return M, np.append(np.zeros(Z.shape[1]), np.ones(len(sums)))


def _reduce(Z: Floats, side: Floats, shares: Floats, intercept: bool) -> tuple[Floats, Floats, Floats]:
    """Reduce to samples whose columns of the system are independent (Caratheodory), along null vectors until a
    coefficient is zero.
    """
    while True:
        M, _ = _system(Z, side, intercept)
        with one_blas_thread:
            _, sizes, V, info = lapack.dgesdd(M, full_matrices=1)
        if M.shape[1] <= M.shape[0] and sizes[-1] > DEPENDENT * sizes[0]:
            return Z, side, shares
        v = V[-1]
        if info != 0 or not np.any(v > 1e-12):
            return Z, side, shares
        positive = v > 1e-12
        step = float(np.min(shares[positive] / v[positive]))
        shares = shares - step * v
        keep = shares > 1e-14
        if keep.all():
            keep[np.argmin(shares)] = False
        Z, side, shares = Z[keep], side[keep], shares[keep]


def _has_verified_solution(M: Floats, right: Floats) -> bool:
    """Whether the square system provably has a positive solution, by interval verification."""
    k = len(M)
    with one_blas_thread:
        _, _, C, info = lapack.dgesv(M, np.eye(k))
    if info != 0 or not np.isfinite(C).all():
        return False
    a = np.sum(C * right, axis=1)
    units = 2.0 * (k + 4) * UNIT
    rest = np.abs(np.sum(M * a, axis=1) - right) + units * (np.sum(np.abs(M) * np.abs(a), axis=1) + np.abs(right))
    error = np.abs(np.einsum("ij,jk->ik", C, M) - np.eye(k)) + units * np.einsum("ij,jk->ik", np.abs(C), np.abs(M))
    contraction = float(np.max(np.sum(error, axis=1))) * (1.0 + units)
    if not contraction < 0.5:
        return False
    away = float(np.max(np.sum(np.abs(C) * rest, axis=1))) * (1.0 + units) / (1.0 - contraction)
    return bool(np.min(a) > 2.0 * away)


def _has_rational_solution(M: Floats, right: Floats) -> bool:
    """Whether the system has a nonnegative solution, in rational arithmetic."""
    rows = [[Fraction(float(x)) for x in row] + [Fraction(float(r))] for row, r in zip(M, right, strict=True)]
    k = M.shape[1]
    done: list[int] = []
    for column in range(k):
        pivot = next((i for i, row in enumerate(rows) if i not in done and row[column] != 0), None)
        if pivot is None:
            return False
        done.append(pivot)
        top = rows[pivot]
        rows[pivot] = top = [x / top[column] for x in top]
        for i, row in enumerate(rows):
            if i != pivot and row[column] != 0:
                factor = row[column]
                rows[i] = [x - factor * t for x, t in zip(row, top, strict=True)]
    consistent = all(row[k] == 0 for i, row in enumerate(rows) if i not in done)
    return consistent and all(rows[i][k] >= 0 for i in done)
