"""The minimum of u'S u / 2 - C.u + sum_g limit_g ||u_g||: a quadratic with a penalty on groups of coefficients.

Descent group by group, each to its exact minimum (Qin, Scheinberg and Goldfarb 2013): zero where ||q_g|| <= limit_g, q
what pulls at the group; else (S_gg + limit_g / rho I) u_g = q_g with rho = ||u_g||, an equation in rho alone in the
eigenvectors of S_gg. Once the groups that are used stay the same, Newton's method on these ends with all digits.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats, Integers
from tenfold.machine import one_blas_thread, poll

SWEEPS, NEWTON_STEPS, ROOT_STEPS = 500, 30, 60
"""At most so many sweeps over the groups, steps of Newton's method after each, and steps for the length of a group."""

LIFT = 1e-12
"""This part of its curvature is added to that of every coefficient, so that a minimum exists."""

ENOUGH = 1e-13
"""What pulls at the coefficients is balanced up to this part of the largest pull, in units of their curvatures."""


class _Group(NamedTuple):
    """Coefficients `at`, their limit, and the curvature among them by its eigenvalues and eigenvectors."""

    at: Integers
    limit: float
    values: Floats
    vectors: Floats


def minimise(S: Floats, C: Floats, start: Floats, groups: list[tuple[Integers, float]]) -> Floats:
    """The minimum, from `start`; `groups` have the places of their coefficients and their limits."""
    diagonal = np.maximum(S.diagonal(), 1e-300)
    S, unit = S + np.diag(LIFT * diagonal), np.sqrt(diagonal)
    with one_blas_thread:
        parts = [_Group(at, limit, *np.linalg.eigh(S[np.ix_(at, at)])) for at, limit in groups]
        u = start.copy()
        size = ENOUGH * float(np.max(np.abs(C) / unit, initial=0.0))
        for _ in range(SWEEPS):
            poll()
            used = u != 0.0
            for group in parts:
                u[group.at] = _best(group, C[group.at] - S[group.at] @ u + S[np.ix_(group.at, group.at)] @ u[group.at])
            if np.array_equal(used, u != 0.0):
                u = _by_newton(S, C, u, parts, unit)
            if _left(S @ u - C, u, parts, unit) <= size:
                break
    return u


def _best(group: _Group, q: Floats) -> Floats:
    """The minimum over one group at pulls q."""
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


def _by_newton(S: Floats, C: Floats, u: Floats, parts: list[_Group], unit: Floats) -> Floats:
    """Newton's method among the coefficients of the groups that are used, while it stays there and goes down."""
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
            return new if _left(S @ new - C, new, parts, unit) < _left(S @ u - C, u, parts, unit) else u
        u = new
    return u


def _value(S: Floats, C: Floats, u: Floats, parts: list[_Group]) -> float:
    rough = sum(group.limit * float(np.sqrt(np.sum(u[group.at] ** 2))) for group in parts)
    return 0.5 * float(u @ (S @ u)) - float(C @ u) + rough


def _left(pull: Floats, u: Floats, parts: list[_Group], unit: Floats) -> float:
    """The largest pull that the penalty does not balance, in units (p,) of the coefficients."""
    largest = 0.0
    for at, limit, _, _ in parts:
        rho, force = float(np.sqrt(np.sum(u[at] ** 2))), pull[at]
        if rho > 0.0:
            largest = max(largest, float(np.max(np.abs(force + limit / rho * u[at]) / unit[at])))
        else:
            largest = max(largest, (float(np.sqrt(np.sum(force**2))) - limit) / float(np.max(unit[at])))
    return largest
