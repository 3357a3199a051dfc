"""Proximal Newton method for a smooth loss with an L1 penalty, an elastic net or the group Lasso (Lee, Sun and Saunders
2014).

Given a problem, samples, a start and a measure of convergence; yields iterates. A step minimises the quadratic model of
the smooth part plus the nonsmooth part of the penalty: with the intercepts eliminated it is a Lasso on the Hessian,
solved by coordinate descent, or a group Lasso, solved group by group.
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

MAX_SWEEPS = 1000  # of coordinate descent in one step

PIVOT = 1e-14  # a Hessian is regular where each pivot exceeds this part of its diagonal entry

Measure = Callable[[Params, Evaluation], float]
"""From a point and the smooth part there to the measure of convergence, at most one at the end."""


def steps(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: Measure) -> Iterator[Step]:
    """Steps in the coordinates z = (x - shift).w + b.

    Once, near the end, a step is yielded before it is evaluated, with the measure that quadratic convergence predicts:
    the judge reads the samples at the result anyway. If the caller continues, the iteration resumes from the last point
    that was evaluated.
    """
    penalty = problem.penalty
    params, here = start, _finite(evaluate(problem, rows, start, 2, shift))
    before, may_predict = 0.0, True
    damping = Damping(LinearObjective(problem, rows, shift, len(start.intercept)))
    while True:
        f = float(here.value[0]) + _nonsmooth_value(penalty, params.coef)
        measured = measure(params, here)
        if measured <= 1.0:
            yield Step(params, f, measured)
        d, regular = _damped_direction(params, here, penalty, problem.intercept, damping)
        if may_predict and measured > 1.0 and 2.0 * measured * measured <= before:
            may_predict = False
            yield Step(
                Params(params.coef + d[:, :-1], params.intercept + d[:, -1]), f, 2.0 * measured * measured / before
            )
        elif measured > 1.0:
            yield Step(params, f, measured)
        before = measured
        result = _search(problem, rows, params, here, d, shift, 2)
        while result is None and damping.adapt(0.0, regular):
            d, _ = _damped_direction(params, here, penalty, problem.intercept, damping)
            result = _search(problem, rows, params, here, d, shift, 2)
        if result is None:
            return
        params, here, length = result
        damping.adapt(length, regular)


def _nonsmooth_value(penalty: Any, coef: Floats) -> float:
    """The nonsmooth part of the penalty."""
    if isinstance(penalty, Groups):
        return float(np.sum(penalty.value(coef)))
    return float(penalty.l1) * float(np.sum(np.abs(coef)))


def _damped_direction(
    params: Params, here: Evaluation, penalty: Any, intercept: bool, damping: Damping
) -> tuple[Floats, bool]:
    """The step of the damped Hessian, and whether that of the loss itself is regular."""
    if not damping.used:
        return _direction(params, here, penalty, intercept), True
    assert here.hessian is not None
    regular = _is_regular(here.hessian)
    if not regular and damping.level == 0.0:
        damping.level = FIRST
    return _direction(params, here._replace(hessian=damping.damp(here.hessian)), penalty, intercept), regular


def _is_regular(hessian: Floats) -> bool:
    """Whether the Hessian is positive definite, with pivots above rounding."""
    diagonal = hessian.diagonal()
    if not (np.isfinite(hessian).all() and np.all(diagonal > 0.0)):
        return False
    scale = np.sqrt(diagonal)
    with one_blas_thread:
        lower, info = lapack.dpotrf(np.asfortranarray(hessian / scale / scale[:, None]), lower=1)
    return bool(info == 0 and np.diag(lower).min() ** 2 > PIVOT)


def _direction(params: Params, here: Evaluation, penalty: Any, intercept: bool) -> Floats:
    """The step (K, p + 1) to the minimum of the quadratic model plus the nonsmooth part of the penalty."""
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
    """Indices of the groups in the coefficients of K classes one after the other, and their limits."""
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
    regularised = np.asfortranarray(S / scale / scale[:, None])
    regularised[np.diag_indices_from(regularised)] += 1e-9
    with one_blas_thread:
        lower, info = lapack.dpotrf(regularised, lower=1)
        # |y|^2 of the smallest targets with X'X = S and X'y = C
        yy = float(C @ (lapack.dpotrs(lower, C / scale, lower=1)[0] / scale)) if info == 0 else 0.0
    yy = max(1.001 * yy, float(start @ C), 1e-300)
    with one_blas_thread:
        result = _core.cd_gram(
            S,
            np.ascontiguousarray(C[None, :]),
            yy,
            np.ones(len(C)),
            np.ascontiguousarray(start[None, :]),
            np.array([l1]),
            np.zeros(1),
            False,
            1e-13 * yy,
            MAX_SWEEPS,
            None,
        )[0]
    return _polish(S, C, np.asarray(result[0, 0]), l1)


def _polish(S: Floats, C: Floats, u: Floats, l1: float) -> Floats:
    """The exact minimum for the signs of u, where it has these signs: coordinate descent leaves the last digits."""
    active = np.flatnonzero(u)
    if not active.size:
        return u
    with one_blas_thread:
        lower, info = lapack.dpotrf(np.asfortranarray(S[np.ix_(active, active)]), lower=1)
        if info != 0:
            return u
        exact = lapack.dpotrs(lower, C[active] - l1 * np.sign(u[active]), lower=1)[0]
    if not np.array_equal(np.sign(exact), np.sign(u[active])):
        return u
    exact_coef = np.zeros_like(u)
    exact_coef[active] = exact
    return exact_coef


def _search(
    problem: Glm,
    rows: Rows,
    params: Params,
    here: Evaluation,
    d: Floats,
    shift: Floats,
    order: int,
) -> tuple[Params, Evaluation, float] | None:
    """The first of the steps d, d/2, ... with sufficient decrease, and its length; None where rounding hides any."""
    p, penalty = params.coef.shape[1], problem.penalty
    nonsmooth = _nonsmooth_value(penalty, params.coef)
    f = float(here.value[0]) + nonsmooth
    decrease = (
        nonsmooth
        - _nonsmooth_value(penalty, params.coef + d[:, :p])
        - float(np.sum(here.gradient.reshape(d.shape) * d))
    )
    if not decrease > 1e-15 * abs(f):
        return None
    for length in (0.5**k for k in range(14)):
        new = Params(params.coef + length * d[:, :p], params.intercept + length * d[:, p])
        there = evaluate(problem, rows, new, order, shift)
        value = float(there.value[0]) + _nonsmooth_value(penalty, new.coef)
        if value <= f - 1e-4 * length * decrease + 4.0 * EPS * abs(f) and np.isfinite(there.gradient).all():
            return new, there, length
    return None


def _finite(result: Evaluation) -> Evaluation:
    if not (np.isfinite(result.value).all() and np.isfinite(result.gradient).all()):
        raise NotFinite
    return result
