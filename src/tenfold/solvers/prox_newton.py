"""Proximal Newton steps for a smooth loss with an L1 penalty, an elastic net or groups (Lee, Sun and Saunders 2014).

A step minimises the quadratic model of the smooth part plus l1 ||w||_1: with the intercepts, which are not penalised,
eliminated, it is a Lasso on the Hessian, solved by coordinate descent; of groups, group by group.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import lapack

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.data import NotFinite, Rows
from tenfold.machine import one_blas_thread
from tenfold.objectives.linear import LinearObjective
from tenfold.penalties import Groups
from tenfold.problems import Evaluation, Glm, evaluate
from tenfold.solvers import group_lasso
from tenfold.solvers.damping import FIRST, Damping
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params

EPS = float(np.finfo(np.float64).eps)

SWEEPS = 1000
"""At most so many sweeps of coordinate descent a step."""

PIVOT = 1e-14
"""A Hessian is regular where every column adds more than such a part of its curvature to those before it."""

Measure = Callable[[Params, Evaluation], float]
"""From a point and the smooth part there to the number that the stopping rule compares with one."""


def steps(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: Measure) -> Iterator[Step]:
    """Steps in the coordinates z = (x - shift).w + b.

    Once, near the end, a step is yielded before it is evaluated: whoever judges the result reads the rows there anyway.
    Asked for more, the iteration goes on from the last point that it knows.
    """
    penalty = problem.penalty
    params, here = start, _finite(evaluate(problem, rows, start, 2, shift))
    before, on_credit = 0.0, True
    damping = Damping(LinearObjective(problem, rows, shift, len(start.intercept)))
    while True:
        f = float(here.value[0]) + _rough(penalty, params.coef)
        now = measure(params, here)
        if now <= 1.0:
            yield Step(params, f, now)
        d, regular = _damped(params, here, penalty, problem.intercept, damping)
        if on_credit and now > 1.0 and 2.0 * now * now <= before:
            on_credit = False
            yield Step(Params(params.coef + d[:, :-1], params.intercept + d[:, -1]), f, 2.0 * now * now / before)
        elif now > 1.0:
            yield Step(params, f, now)
        before = now
        found = _search(problem, rows, params, here, d, shift, 2)
        while found is None and damping.adapt(0.0, regular):
            d, _ = _damped(params, here, penalty, problem.intercept, damping)
            found = _search(problem, rows, params, here, d, shift, 2)
        if found is None:
            return
        params, here, length = found
        damping.adapt(length, regular)


def _rough(penalty: Any, coef: Floats) -> float:
    """The part of the penalty that is not smooth."""
    if isinstance(penalty, Groups):
        return float(np.sum(penalty.value(coef)))
    return float(penalty.l1) * float(np.sum(np.abs(coef)))


def _damped(params: Params, here: Evaluation, penalty: Any, intercept: bool, damping: Damping) -> tuple[Floats, bool]:
    """The step of the damped Hessian, and whether that of the loss itself is regular."""
    if not damping.used:
        return _direction(params, here, penalty, intercept), True
    assert here.hessian is not None
    regular = _regular(here.hessian)
    if not regular and damping.level == 0.0:
        damping.level = FIRST
    return _direction(params, here._replace(hessian=damping.damp(here.hessian)), penalty, intercept), regular


def _regular(hessian: Floats) -> bool:
    """Whether every column adds curvature to those before it."""
    diagonal = hessian.diagonal()
    if not (np.isfinite(hessian).all() and np.all(diagonal > 0.0)):
        return False
    scale = np.sqrt(diagonal)
    with one_blas_thread:
        lower, info = lapack.dpotrf(np.asfortranarray(hessian / scale / scale[:, None]), lower=1)
    return bool(info == 0 and np.diag(lower).min() ** 2 > PIVOT)


def _direction(params: Params, here: Evaluation, penalty: Any, intercept: bool) -> Floats:
    """The step (K, p + 1) to the minimum of the quadratic model plus the part of the penalty that is not smooth."""
    K, p = params.coef.shape
    H = here.hessian
    assert H is not None
    if not np.isfinite(H).all():
        raise NotFinite
    H = H.reshape(K, p + 1, K, p + 1)
    g = here.gradient.reshape(K, p + 1)
    S = np.array(H[:, :p, :, :p]).reshape(K * p, K * p)
    r = g[:, :p].ravel().copy()
    back = np.zeros((K, K * p))
    b_step = np.zeros(K)
    if intercept:
        corner = H[:, p, :, p] + (np.trace(H[:, p, :, p]) / K**2 if K > 1 else 0.0)
        cross = H[:, p, :, :p].reshape(K, K * p)
        with one_blas_thread:
            lower, info = lapack.dpotrf(np.asfortranarray(corner), lower=1)
            if info == 0:
                back = lapack.dpotrs(lower, np.asfortranarray(cross), lower=1)[0]
                b_step = -lapack.dpotrs(lower, g[:, p], lower=1)[0]
        S -= cross.T @ back if K * p <= 512 else _product(cross, back)
        r += cross.T @ b_step
    w = params.coef.ravel()
    C = np.einsum("ij,j->i", S, w) - r
    if isinstance(penalty, Groups):
        u = group_lasso.minimise(S, C, w, _groups(penalty, K))
    else:
        u = _lasso(np.ascontiguousarray(S), C, w, float(penalty.l1))
    d = np.zeros((K, p + 1))
    d[:, :p] = (u - w).reshape(K, p)
    if intercept:
        d[:, p] = b_step - back @ (u - w)
    return d


def _groups(penalty: Groups, K: int) -> list[tuple[Integers, float]]:
    """Places in the coefficients of K classes one after the other, and limits, of the groups of each class."""
    p = len(penalty.member)
    return [
        (k * p + np.flatnonzero(member), float(limit))
        for k in range(K)
        for member, limit in zip(np.asarray(penalty.member).T, penalty.limits, strict=True)
    ]


def _product(cross: Floats, back: Floats) -> Floats:
    with one_blas_thread:
        return np.asarray(cross.T @ back)


def _lasso(S: Floats, C: Floats, start: Floats, l1: float) -> Floats:
    """argmin u'S u / 2 - C.u + l1 ||u||_1, from `start`."""
    diagonal = S.diagonal()
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    lifted = np.asfortranarray(S / scale / scale[:, None])
    lifted[np.diag_indices_from(lifted)] += 1e-9
    with one_blas_thread:
        lower, info = lapack.dpotrf(lifted, lower=1)
        # the square of the targets that would have this Gram matrix: their part along the columns
        yy = float(C @ (lapack.dpotrs(lower, C / scale, lower=1)[0] / scale)) if info == 0 else 0.0
    yy = max(1.001 * yy, float(start @ C), 1e-300)
    with one_blas_thread:
        found = _core.cd_gram(
            S,
            np.ascontiguousarray(C[None, :]),
            yy,
            np.ones(len(C)),
            np.ascontiguousarray(start[None, :]),
            np.array([l1]),
            np.zeros(1),
            False,
            1e-13 * yy,
            SWEEPS,
            None,
        )[0]
    return _polished(S, C, np.asarray(found[0, 0]), l1)


def _polished(S: Floats, C: Floats, u: Floats, l1: float) -> Floats:
    """The exact minimum among weights of these signs, where it has them, too: descent leaves the last digits."""
    used = np.flatnonzero(u)
    if not used.size:
        return u
    with one_blas_thread:
        lower, info = lapack.dpotrf(np.asfortranarray(S[np.ix_(used, used)]), lower=1)
        if info != 0:
            return u
        exact = lapack.dpotrs(lower, C[used] - l1 * np.sign(u[used]), lower=1)[0]
    if not np.array_equal(np.sign(exact), np.sign(u[used])):
        return u
    polished = np.zeros_like(u)
    polished[used] = exact
    return polished


def _search(
    problem: Glm,
    rows: Rows,
    params: Params,
    here: Evaluation,
    d: Floats,
    shift: Floats,
    order: int,
) -> tuple[Params, Evaluation, float] | None:
    """The first of the steps d, d/2, ... with sufficient descent, and its length; None where rounding hides any."""
    p, penalty = params.coef.shape[1], problem.penalty
    rough = _rough(penalty, params.coef)
    f = float(here.value[0]) + rough
    fall = rough - _rough(penalty, params.coef + d[:, :p]) - float(np.sum(here.gradient.reshape(d.shape) * d))
    if not fall > 1e-15 * abs(f):
        return None
    for length in (0.5**k for k in range(14)):
        new = Params(params.coef + length * d[:, :p], params.intercept + length * d[:, p])
        there = evaluate(problem, rows, new, order, shift)
        value = float(there.value[0]) + _rough(penalty, new.coef)
        if value <= f - 1e-4 * length * fall + 4.0 * EPS * abs(f) and np.isfinite(there.gradient).all():
            return new, there, length
    return None


def _finite(found: Evaluation) -> Evaluation:
    if not (np.isfinite(found.value).all() and np.isfinite(found.gradient).all()):
        raise NotFinite
    return found
