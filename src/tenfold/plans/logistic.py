"""Logistic regression of two classes: Newton's method on small data; on large data L-BFGS from the solution of a sample, on top of that
sample's inverse Hessian, so that a handful of passes over all rows is enough; L-BFGS on a diagonal where p x p is too large.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tenfold.arrays import Floats
from tenfold.judge import RULES, gap
from tenfold.losses import Logistic
from tenfold.machine import one_blas_thread
from tenfold.penalties import L2
from tenfold.plans.fitted import Fitted
from tenfold.problems import Glm, evaluate
from tenfold.rows import NotFinite, Rows
from tenfold.solvers import lbfgs, newton
from tenfold.solvers.loop import Watch, run
from tenfold.stats import Columns, Params

NEWTON_COLUMNS = 1024
"""Up to so many columns the Hessian is formed."""

Measure = Callable[[Floats, float], float]


def fit(
    rows: Rows,
    strength: float,
    intercept: bool,
    *,
    solver: str,
    tol: float,
    max_iter: int,
    start: Params | None = None,
    time_limit: float | None = None,
    watch: Watch | None = None,
    dtype: Any = np.float64,
) -> Fitted:
    """Minimise the weighted mean logistic loss + strength / 2 ||w||^2; targets are -1 and +1."""
    problem = Glm(Logistic(), L2(strength), intercept)
    p = rows.shape[1]
    sample, stride = thinned(rows)
    shift = middle(sample) if intercept else np.zeros(p)
    local = Params(np.zeros((1, p)), np.zeros(1)) if start is None else moved(start, shift)
    first = evaluate(problem, rows if stride == 1 else sample, local, 1, shift)
    if not (np.isfinite(first.gradient).all() and np.isfinite(first.value).all()):
        raise NotFinite
    measure = stopping_rule(problem, strength, tol)
    if p > NEWTON_COLUMNS:
        steps = lbfgs.steps(problem, rows, local, shift, diagonal(rows, strength, shift), measure)
    elif stride == 1 or solver == "newton":
        steps = newton.steps(problem, rows, local, shift, measure)
    else:
        local = run(newton.steps(problem, sample, local, shift, measure), max_iter=30).params
        steps = lbfgs.steps(problem, rows, local, shift, inverse_hessian(problem, sample, local, shift), measure)
    solution = run(steps, max_iter, time_limit, watch)
    params = stored(moved(solution.params, -shift), dtype)
    certificate = gap(problem, rows, params, status=solution.status.value, dtype=dtype)
    return Fitted(params, certificate, solver, iterations=solution.iterations, trace=solution.trace)


def thinned(rows: Rows) -> tuple[Rows, int]:
    """A sample large enough to know the Hessian to about a tenth, and its stride; all rows where that would not pay."""
    n, p = rows.shape
    stride = n // max(4096, 50 * p)
    return (rows.thin(stride), stride) if stride >= 4 else (rows, 1)


def middle(sample: Rows) -> Floats:
    """The weighted mean of the rows, about which weights and intercept are hardly correlated."""
    columns = sample.fold(Columns.lift)
    return columns.mean[: columns.features]


def moved(params: Params, shift: Floats) -> Params:
    """The same model with rows measured from `shift`."""
    return Params(params.coef, params.intercept + params.coef @ shift)


def stored(params: Params, dtype: Any) -> Params:
    """The parameters as they will be stored, in float64 for the judge."""
    return Params(*(np.asarray(part).astype(dtype).astype(np.float64) for part in params))


def stopping_rule(problem: Glm, strength: float, tol: float) -> Measure:
    """At most one where no entry of the gradient exceeds `tol` and the judge will be content with a quarter of what it allows."""
    allowed = 0.25 * RULES["gap"].tol * float(problem.loss.value(np.ones(1), np.zeros(1))[0])

    def measure(gradient: Floats, fall: float) -> float:
        largest = float(np.max(np.abs(gradient), initial=0.0)) / max(tol, np.finfo(np.float64).tiny)
        # the gap at the slopes of these margins; without a penalty the expected fall of a Newton step
        bound = float(gradient[:-1] @ gradient[:-1]) / (2.0 * strength) if strength > 0.0 else fall
        return max(largest, bound / allowed)

    return measure


def inverse_hessian(problem: Glm, sample: Rows, params: Params, shift: Floats) -> Callable[[Floats], Floats]:
    """The inverse Hessian of a sample, as a map."""
    hessian = evaluate(problem, sample, params, 2, shift).hessian
    assert hessian is not None
    d = np.sqrt(np.maximum(np.diag(hessian), np.finfo(np.float64).tiny))
    # a hair on the diagonal: a sample may lack a column altogether
    with one_blas_thread:
        factor = cho_factor(hessian / d[:, None] / d + 1e-10 * np.eye(len(d)))

    def precondition(g: Floats) -> Floats:
        with one_blas_thread:
            return np.asarray(cho_solve(factor, g / d) / d)

    return precondition


def diagonal(rows: Rows, strength: float, shift: Floats) -> Callable[[Floats], Floats]:
    """The inverse of the Hessian's diagonal at even odds, as a map."""
    columns = rows.fold(Columns.lift)
    p = columns.features
    squares = columns.spread[:p] ** 2 / columns.weight + (columns.mean[:p] - shift) ** 2
    inverse = 1.0 / np.append(0.25 * squares + strength, 0.25)
    return lambda g: inverse * g
