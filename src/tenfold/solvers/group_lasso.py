"""Block coordinate descent for the group Lasso on a quadratic:  min over u of  u'S u / 2 - C.u + sum_g limit_g ||u_g||.

Each group is minimised exactly (Qin, Scheinberg and Goldfarb 2013): with q = C - S u without the group, it is zero
where ||q_g|| <= limit_g; else (S_gg + limit_g / rho I) u_g = q_g with rho = ||u_g||, an equation in rho alone in the
eigenvectors of S_gg. Once the active groups stay the same, Newton's method on these ends with all digits.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats, Integers
from tenfold.machine import one_blas_thread, poll

SWEEPS = 500  # over the groups, at most
NEWTON_STEPS = 30  # after each sweep, at most
ROOT_STEPS = 60  # for the norm of a group, at most

RIDGE = 1e-12  # relative, added to each diagonal entry so that a minimum exists

GRADIENT_TOL = 1e-13  # largest subgradient at the end, over the largest entry of C, in units of the curvatures


class _Group(NamedTuple):
    """The indices `at` of a group, its limit, and the eigenvalues and eigenvectors of its block of S."""

    at: Integers
    limit: float
    values: Floats
    vectors: Floats


def minimise(S: Floats, C: Floats, start: Floats, groups: list[tuple[Integers, float]]) -> Floats:
    """The minimum, from `start`; `groups` have the indices of their coefficients and their limits."""
    diagonal = np.maximum(S.diagonal(), 1e-300)
    S, unit = S + np.diag(RIDGE * diagonal), np.sqrt(diagonal)
    with one_blas_thread:
        parts = [_Group(at, limit, *np.linalg.eigh(S[np.ix_(at, at)])) for at, limit in groups]
        u = start.copy()
        size = GRADIENT_TOL * float(np.max(np.abs(C) / unit, initial=0.0))
        for _ in range(SWEEPS):
            poll()
            active_before = u != 0.0
            for group in parts:
                u[group.at] = _minimise_group(
                    group, C[group.at] - S[group.at] @ u + S[np.ix_(group.at, group.at)] @ u[group.at]
                )
            if np.array_equal(active_before, u != 0.0):
                u = _newton(S, C, u, parts, unit)
            if _largest_subgradient(S @ u - C, u, parts, unit) <= size:
                break
    return u


def _minimise_group(group: _Group, q: Floats) -> Floats:
    """The minimum over one group for q."""
    c = group.vectors.T @ q
    squares, values, limit = c * c, np.maximum(group.values, 0.0), group.limit
    if float(np.sum(squares)) <= limit * limit:
        return np.zeros_like(q)
    if limit == 0.0:
        return np.asarray(group.vectors @ (c / values))
    # sum c^2 / (rho values + limit)^2 = 1: by Newton's method on the root of the inverse, which is nearly straight
    rho = 0.0
    for _ in range(ROOT_STEPS):
        below = rho * values + limit
        total = float(np.sum(squares / below**2))
        slope = float(np.sum(squares * values / below**3))
        step = (np.sqrt(total) - 1.0) * total / slope if slope > 0.0 else 0.0
        rho += step
        if step <= 1e-15 * rho:
            break
    return np.asarray(group.vectors @ (c * rho / (rho * values + limit)))


def _newton(S: Floats, C: Floats, u: Floats, parts: list[_Group], unit: Floats) -> Floats:
    """Newton's method on the coefficients of the active groups, while these stay active and the objective decreases."""
    active = [group for group in parts if np.any(u[group.at] != 0.0)]
    if not active:
        return u
    for _ in range(NEWTON_STEPS):
        used = np.flatnonzero(u)
        H, g = S[np.ix_(used, used)], (S @ u - C)[used]
        place = np.full(len(u), -1)
        place[used] = np.arange(len(used))
        for group in active:
            at, w = place[group.at], u[group.at]
            if np.any(at < 0):
                return u
            rho = float(np.sqrt(np.sum(w * w)))
            g[at] += group.limit / rho * w
            H[np.ix_(at, at)] += group.limit / rho * (np.eye(len(at)) - np.outer(w, w) / rho**2)
        lower, info = lapack.dpotrf(np.asfortranarray(H), lower=1)
        if info != 0:
            return u
        new = u.copy()
        new[used] -= lapack.dpotrs(lower, g, lower=1)[0]
        before = _value(S, C, u, parts)
        if not _value(S, C, new, parts) < before - 1e-15 * abs(before):
            return (
                new
                if _largest_subgradient(S @ new - C, new, parts, unit) < _largest_subgradient(S @ u - C, u, parts, unit)
                else u
            )
        u = new
    return u


def _value(S: Floats, C: Floats, u: Floats, parts: list[_Group]) -> float:
    nonsmooth = sum(group.limit * float(np.sqrt(np.sum(u[group.at] ** 2))) for group in parts)
    return 0.5 * float(u @ (S @ u)) - float(C @ u) + nonsmooth


def _largest_subgradient(gradient: Floats, u: Floats, parts: list[_Group], unit: Floats) -> float:
    """The largest entry of the least subgradient, in units (p,) of the coefficients."""
    largest = 0.0
    for at, limit, _, _ in parts:
        rho, g = float(np.sqrt(np.sum(u[at] ** 2))), gradient[at]
        if rho > 0.0:
            largest = max(largest, float(np.max(np.abs(g + limit / rho * u[at]) / unit[at])))
        else:
            largest = max(largest, (float(np.sqrt(np.sum(g**2))) - limit) / float(np.max(unit[at])))
    return largest
