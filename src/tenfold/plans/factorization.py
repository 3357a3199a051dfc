"""Non-negative matrix factorization: the start, the solver, the exact W of the returned H, and the certificate.

The solver ends when its own projected gradients are below half of what the judge allows; where the judge, who looks at
H rounded to the dtype of the model and the best W for it, does not accept the result, it goes on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tenfold import _core
from tenfold.arrays import EPS, Array, Floats, entries, is_sparse
from tenfold.data import NotFinite
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.factorization import stationary_factors
from tenfold.machine import spend, threads
from tenfold.objectives.factorization import Divergence, Factors, has_missing, mean_of, times
from tenfold.plans.factorization_start import double_svd, draw
from tenfold.plans.result import ATTEMPTS
from tenfold.problems import Factorization
from tenfold.solvers import divergence_newton, hals, multiplicative, projected_gradient
from tenfold.solvers.hals import side
from tenfold.solvers.loop import Callback, Record, Solution, Status, Step, resume, run

SWEEPS = 32  # of coordinate descent before the active set method
CHEAP_BOUND_FLOPS = 1 << 25  # of the lower bound in a fit: some milliseconds
MAX_WITNESS_STEPS = 2000  # of W for a judged H
WITNESS = 0.02  # of what the judge allows: the projected gradient of W
MAX_REFINEMENT = 200  # of W after the last H of a fit
FIRST_UPDATES = 10


@dataclass(frozen=True)
class FittedFactors:
    """Factors, H rounded to the dtype of the model, in float64; sqrt(2 D); how the run ended, and the certificate."""

    factors: Factors
    error: float
    iterations: int
    trace: tuple[Record, ...]
    certificate: Certificate


def check_finite(X: Array) -> None:
    """Raises NotFinite where X is not finite, or its squares overflow."""
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(np.sum(np.square(values, dtype=np.float64))):
            raise NotFinite


def check_finite_or_missing(X: Array) -> None:
    """Raises ValueError where an entry is infinite, its square overflows, or all are NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(np.nansum(np.square(X, dtype=np.float64))):
            raise ValueError("Input X contains infinity, or values whose squares overflow.")
    if np.isnan(X).all():
        raise ValueError("Every entry of X is NaN: nothing is known.")


def fill_missing(X: Array) -> Array:
    """Missing entries as the means of the others of their feature; zero where there are none."""
    gone = np.isnan(X)
    count = np.sum(~gone, axis=0)
    means = np.where(gone, 0.0, X).sum(axis=0) / np.maximum(count, 1)
    return np.where(gone, means, X).astype(X.dtype)


def initial_factors(X: Array, k: int, init: str | None, random: Any) -> Factors:
    """The start of a kind; None is that of double singular vectors filled with the mean, where there are enough."""
    if has_missing(X):
        X = fill_missing(X)
    if init is None:
        init = "nndsvda" if k <= min(X.shape) else "random"
    if init == "random":
        return draw(X, k, random)
    return double_svd(X, k, {"nndsvd": "zeros", "nndsvda": "mean", "nndsvdar": "random"}[init], random)


def best_codes(X: Array, H: Floats, problem: Factorization, *, tol: float, max_iter: int = MAX_WITNESS_STEPS) -> Floats:
    """The W (n, k) that minimises the objective for H: exactly for the squared loss, else until the
    projected gradient is below `tol`.
    """
    n, k = X.shape[0], len(H)
    if problem.beta == 2.0 and not has_missing(X):
        least = side(times(X, H), np.ascontiguousarray(H.T), problem.l1_W, problem.l2_W)
        spend(float(n * k * k))
        return _core.solve_nnls(least.A, least.C, np.zeros((n, k)), SWEEPS, threads(n * k * SWEEPS))
    return _solve_codes(X, problem, Factors(start_codes(X, k), H), tol, max_iter)


def start_codes(X: Array, k: int) -> Floats:
    """The constant W (n, k) from which codes are solved for."""
    W = np.full((X.shape[0], k), np.sqrt(max(mean_of(X), EPS) / k))
    if has_missing(X):  # a sample of which nothing is known
        W[np.isnan(X).all(axis=1)] = 0.0
    return W


def error_of(X: Array, W: Floats, H: Floats, beta: float) -> float:
    """sqrt(2 D(X, W H))."""
    return float(np.sqrt(2.0 * max(0.0, Divergence.of(X, beta).value(W, H))))


def tolerance(tol: float) -> float:
    """The projected gradient that the judge allows: that of the rule, or the user's tolerance where it is larger."""
    return max(RULES["stationarity"].tol, tol)


def fit(
    X: Array,
    problem: Factorization,
    start: Factors,
    *,
    solver: str,
    tol: float,
    max_iter: int,
    shuffle: Any = None,
    callback: Callback | None = None,
) -> FittedFactors:
    """Factors from a start, by solver "cd", "mu" or "pg", with the certificate; `shuffle` is a random state or None.
    Components that coordinate descent has left at zero although others would be better are set off again.
    """
    solve = partial(_solve, X, problem, solver=solver, tol=tol, shuffle=shuffle, callback=callback)
    solution, result = solve(start, max_iter=max_iter)
    iterations, trace = solution.iterations, solution.trace
    for _ in range(len(start.H)):
        ended = solution.status not in (Status.CONVERGED, Status.STALLED) or iterations >= max_iter
        again = None if ended or result[2].ok or solver != "cd" else revive_component(X, problem, result[0])
        if again is None:
            break
        solution, result = solve(again, max_iter=max_iter - iterations)
        iterations, trace = iterations + solution.iterations, trace + solution.trace[1:]
    factors, error, certificate = result
    return FittedFactors(factors, error, iterations, trace, certificate)


def _solve(
    X: Array,
    problem: Factorization,
    start: Factors,
    *,
    solver: str,
    tol: float,
    max_iter: int,
    shuffle: Any,
    callback: Callback | None,
) -> tuple[Solution, tuple[Factors, float, Certificate]]:
    """One run from a start, which goes on while the judge does not accept it."""
    goal = [0.5 * tol]
    path: Iterator[Step]
    data = Divergence.of(X, problem.beta)
    if data.missing:
        start = _drop_unknown(X, start)
    if solver == "pg":
        path = projected_gradient.steps(data, problem, start, lambda: goal[0])
    elif solver == "cd" and data.missing:
        path = divergence_newton.alternate(data, problem, start, lambda: goal[0])
    elif solver == "cd":
        path = hals.steps(X, problem, start, lambda: goal[0], shuffle)
    else:
        path = multiplicative.steps(data, problem, start, lambda: goal[0])
    solution = run(path, max_iter, callback=callback)
    result = _certify(X, problem, solution.params, tol, solution.status)
    for _ in range(ATTEMPTS):
        if result[2].ok or solution.status is not Status.CONVERGED:
            break
        goal[0] *= 0.2
        more = resume(path, solution, max_iter, None, callback)
        if more is None:
            break
        solution = more
        result = _certify(X, problem, solution.params, tol, solution.status)
    return solution, result


def _drop_unknown(X: Array, start: Factors) -> Factors:
    """The start with zeros for samples and features of which every entry is missing."""
    gone = np.isnan(X)
    W, H = start.W.copy(), start.H.copy()
    W[gone.all(axis=1)] = 0.0
    H[:, gone.all(axis=0)] = 0.0
    return Factors(W, H)


def revive_component(X: Array, problem: Factorization, factors: Factors) -> Factors | None:
    """The factors with a component of zeros replaced by a part of one sample's residual r: t r with t = 1 - c / ||r||,
    c = sqrt(l2_W l2_H), which minimises the squared loss and the L2 penalties along it. None where there is no such
    component, or no such t above zero.
    """
    W, H = (part.copy() for part in factors)
    empty = np.flatnonzero(~(W.any(axis=0) & H.any(axis=1)))
    if empty.size == 0 or max(problem.l1_W, problem.l1_H) > 0.0:
        return None
    sample, residual, size = 0, np.zeros(X.shape[1]), 0.0
    for rows, x, y in Divergence.of(X, problem.beta).blocks(W, H):
        rest = np.maximum(np.where(np.isnan(x), 0.0, x - y), 0.0)
        lengths = np.linalg.norm(rest, axis=1)
        best = int(np.argmax(lengths))
        if lengths[best] > size:
            sample, residual, size = rows.start + best, rest[best], float(lengths[best])
    cost = float(np.sqrt(problem.l2_W * problem.l2_H))
    if size <= cost or size == 0.0:
        return None
    weight = float(np.sqrt(size - cost)) * ((problem.l2_H / problem.l2_W) ** 0.25 if cost > 0.0 else 1.0)
    W[:, empty[0]], H[empty[0]] = 0.0, residual * ((1.0 - cost / size) / weight)
    W[sample, empty[0]] = weight
    return Factors(W, H)


def _certify(
    X: Array, problem: Factorization, factors: Factors, tol: float, status: Status
) -> tuple[Factors, float, Certificate]:
    """The factors as they will be stored, their error, and their certificate."""
    if not (np.isfinite(factors.W).all() and np.isfinite(factors.H).all()):
        raise NotFinite
    H = np.ascontiguousarray(factors.H.astype(X.dtype).astype(np.float64))
    if problem.l1_H > 0.0:  # steps leave what no sample uses as it is
        H[~factors.W.any(axis=0)] = 0.0
        factors = Factors(factors.W, H)
    W = (
        best_codes(X, H, problem, tol=WITNESS * tolerance(tol))
        if problem.beta == 2.0 and not has_missing(X)
        else _refine(X, problem, factors, tol)
    )
    error = error_of(X, W, H, problem.beta)
    certificate = stationary_factors(
        X,
        W,
        H,
        problem,
        error=error,
        tol=tolerance(tol),
        dtype=X.dtype,
        bound=min(X.shape) * entries(X) <= CHEAP_BOUND_FLOPS,
        status=status.value,
    )
    return Factors(W, H), error, certificate


def _refine(X: Array, problem: Factorization, factors: Factors, tol: float) -> Floats:
    """W after further steps with H as it is stored."""
    H = np.ascontiguousarray(factors.H.astype(X.dtype).astype(np.float64))
    return _solve_codes(X, problem, Factors(factors.W, H), WITNESS * tolerance(tol), MAX_REFINEMENT)


def _solve_codes(X: Array, problem: Factorization, start: Factors, tol: float, max_iter: int) -> Floats:
    """W for a divergence other than the square: some multiplicative updates, which do not fail far off, then Newton
    steps by coordinates where the problem is convex. Without a penalty components are of length one meanwhile, so that
    the projected gradients of all count.
    """
    data, scale = Divergence.of(X, problem.beta), np.ones(len(start.H))
    if not problem.penalised:
        lengths = np.linalg.norm(start.H, axis=1)
        scale = np.where(lengths > 0.0, lengths, 1.0)
    start = Factors(start.W * scale, np.ascontiguousarray(start.H / scale[:, None]))
    newton = divergence_newton.is_applicable(data)
    path = multiplicative.steps(data, problem, start, lambda: tol, update_H=False)
    W = run(path, min(max_iter, FIRST_UPDATES) if newton else max_iter).params.W
    if newton:
        W = run(divergence_newton.steps(data, problem, Factors(W, start.H), tol), max_iter).params.W
    return np.asarray(W / scale)
