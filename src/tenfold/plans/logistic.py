"""Logistic regression of two classes.

Few columns, few rows: Newton's method. Few columns, many rows: Newton's method on samples of the rows, then L-BFGS on
all of them from there, on top of the sample's inverse Hessian, so that a handful of passes is enough; Newton's method
on all rows where it is not. Many columns: L-BFGS on top of a diagonal. The judge reads the rows at the result; what it
refuses is worked on further.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats, is_sparse
from tenfold.judge import NOT_JUDGED, RULES, Certificate, gap
from tenfold.losses import Logistic, Square
from tenfold.machine import one_blas_thread
from tenfold.penalties import L2
from tenfold.plans.fitted import Fitted
from tenfold.problems import Glm
from tenfold.rows import Block, Rows
from tenfold.solvers import lbfgs, newton
from tenfold.solvers.loop import Solution, Status, Step, Watch, run
from tenfold.stats import Params, Total, back_times, derivatives, predictions

NEWTON_COLUMNS = 1024
"""Up to so many columns the Hessian is formed."""

CHEAP_COLUMNS = 32
"""Up to so many a pass with the Hessian costs little more than one without."""

SAMPLED_ROWS = 16_384
"""From so many rows on a sample of them comes first."""

PATIENCE = 12
"""So many steps of L-BFGS on top of a sample's Hessian are tried before Newton's method on all rows takes over."""

ATTEMPTS = 3

LOG2 = float(np.log(2.0))
"""The objective at zero weights."""


@dataclass(frozen=True)
class LogisticFit(Fitted):
    """A fit, with a direction that separates the classes where there is no maximum."""

    direction: Params | None = None


class StoppingRule:
    """At most one where no entry of the gradient exceeds `tol` and the judge is content; `tighten` asks for more."""

    def __init__(self, strength: float, tol: float) -> None:
        self.strength = strength
        self.tol = max(tol, float(np.finfo(np.float64).tiny))
        self.allowed = 0.9 * RULES["gap"].tol * LOG2

    def tighten(self) -> None:
        self.allowed *= 1e-3

    def __call__(self, gradient: Floats, fall: float) -> float:
        """From the gradient and the expected fall of the objective to the number that is compared with one."""
        # without a penalty the judge needs a fall so small that Newton's method cannot leave the neighbourhood
        bound = 1e4 * fall
        if self.strength > 0.0:
            # the judge's number; the intercept is not penalised, and costs its square over its curvature
            bound = float(np.sum(gradient[:-1] ** 2)) / (2.0 * self.strength) + 100.0 * float(gradient[-1]) ** 2
        wanted = max(float(np.max(np.abs(gradient), initial=0.0)) / self.tol, bound / self.allowed)
        # whatever the units of the columns, there is nothing below rounding
        return min(wanted, abs(fall) / 1e-26)


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
) -> LogisticFit:
    """Minimise the weighted mean logistic loss + strength / 2 ||w||^2; targets are -1 and +1.

    `solver` is "newton", for Newton's method on all rows where the Hessian is formed, or "lbfgs", for what suits the
    shape of the data.
    """
    problem = Glm(Logistic(), L2(strength), intercept)
    p = rows.shape[1]
    shift = _middle(rows) if intercept else np.zeros(p)
    first = Params(np.zeros((1, p)), np.zeros(1)) if start is None else moved(start, shift)
    rule = StoppingRule(strength, tol)
    path = _until_separated(_steps(problem, rows, first, shift, rule, solver), problem, rows)
    heard = None if watch is None else _unshifted(watch, shift)
    solution = run(path, max_iter, time_limit, heard)
    params = _finished(problem, rows, solution.params, shift, dtype)
    certificate, direction = _judged(problem, rows, params, solution.status, dtype)
    for _ in range(ATTEMPTS):
        # only a solver that was content too early can do more
        if certificate.ok or direction is not None or solution.status is not Status.CONVERGED:
            break
        more = _continued(path, solution, max_iter, time_limit, heard)
        if more is None:
            break
        solution = more
        params = _finished(problem, rows, solution.params, shift, dtype)
        certificate, direction = _judged(problem, rows, params, solution.status, dtype)
        rule.tighten()
    trace = solution.trace
    if len(trace) > 1:
        # the last step may not have been evaluated by the solver: the judge has done it
        trace = (*trace[:-1], replace(trace[-1], objective=min(trace[-2].objective, certificate.objective)))
    return LogisticFit(params, certificate, solver, iterations=solution.iterations, trace=trace, direction=direction)


def _continued(
    path: Iterator[Step], solution: Solution, max_iter: int, time_limit: float | None, watch: Watch | None
) -> Solution | None:
    """The solution after further steps of `path`, with the trace of all; None where there are none."""
    ahead = next(path, None)
    if ahead is None:
        return None
    past = solution.trace[-1]
    here = Step(solution.params, past.objective, np.inf)
    left = None if time_limit is None else time_limit - past.seconds
    more = run(chain([here, ahead], path), max_iter - solution.iterations, left, watch)
    later = tuple(replace(record, seconds=record.seconds + past.seconds) for record in more.trace[1:])
    return Solution(more.params, more.status, solution.trace + later)


def _steps(problem: Glm, rows: Rows, first: Params, shift: Floats, rule: StoppingRule, solver: str) -> Iterator[Step]:
    """The path from `first` that suits the shape of the data."""
    if rows.shape[1] > NEWTON_COLUMNS:
        walk: lbfgs.Walk = lbfgs.Margins(problem, rows, shift)
        yield from lbfgs.steps(walk, first, _diagonal(problem, rows, shift), rule)
        return
    start, factor = first, None
    for sample, limit in _samples(rows):
        start, factor = newton.refine(problem, sample, start, shift, limit, 1e-3)
    if factor is not None and solver == "lbfgs" and rows.shape[1] > CHEAP_COLUMNS:
        for count, step in enumerate(lbfgs.steps(lbfgs.Points(problem, rows, shift), start, factor.solve, rule)):
            if count == PATIENCE or (count == 0 and step.objective > LOG2):
                break
            yield step
            start = step.params
    rule.tighten()  # a last step of Newton's method doubles the digits
    path = newton.steps(problem, rows, start, shift, rule)
    step = next(path)
    if start is not first and step.objective > LOG2:
        path = newton.steps(problem, rows, first, shift, rule)  # the sample was misleading
    else:
        yield step
    yield from path


def _samples(rows: Rows) -> Iterator[tuple[Rows, int]]:
    """A sample and a larger one, with the number of Newton steps on each; none where that would not pay."""
    n, p = rows.shape
    size = min(max(n // 10, 100 * p), 1000 * p)
    if n >= SAMPLED_ROWS and 4 * size <= n:
        # an odd step does not fall in with rows that alternate
        yield rows.thin(4 * (n // size) | 1), 6
        yield rows.thin(n // size | 1), 2


def _until_separated(path: Iterator[Step], problem: Glm, rows: Rows) -> Iterator[Step]:
    """Without a penalty, end as soon as the total loss is so small that no row of positive weight can be on the wrong
    side.
    """
    if np.max(problem.penalty.strength) > 0.0:
        yield from path
        return
    weight = rows.map(_weights)
    enough = LOG2 * float(np.min(weight, where=weight > 0.0, initial=np.inf)) / float(weight.sum())
    for step in path:
        yield step._replace(measure=0.0) if step.objective < enough else step


def _judged(problem: Glm, rows: Rows, params: Params, status: Status, dtype: Any) -> tuple[Certificate, Params | None]:
    """The judge's word, and a direction of length one that separates the classes where there is no maximum."""
    try:
        certificate = gap(problem, rows, params, status=status.value, dtype=dtype)
        if certificate.status == Status.NO_MAXIMUM.value:
            return certificate, _unit(params)
        if certificate.ok or np.max(problem.penalty.strength) > 0.0:
            return certificate, None
        _refuse_tiny(rows)
        direction = recession(problem, rows, params)
        if direction is not None:
            certificate = gap(problem, rows, params, status=status.value, dtype=dtype, direction=direction)
        return certificate, direction if certificate.status == Status.NO_MAXIMUM.value else None
    except KeyboardInterrupt:
        note = "The fit was interrupted while it was judged; call tenfold.certify(model, X, y)."
        return Certificate("gap", np.inf, LOG2, RULES["gap"].tol, 0.0, np.inf, status=NOT_JUDGED, note=note), None


def _refuse_tiny(rows: Rows) -> None:
    """Without a penalty a column of tiny values has a huge weight, and squares of its values are not numbers."""
    X = rows.thin(max(1, rows.shape[0] // 2048)).whole().X
    largest = np.asarray(abs(X).max(axis=0).todense() if is_sparse(X) else np.abs(X).max(axis=0)).ravel()
    if np.any((largest > 0.0) & (largest < 1e-140)):
        raise ValueError(
            "Input X has a column of values below 1e-140: without a penalty its weight is too large to be found. "
            "Scale the columns."
        )


def _unit(params: Params) -> Params:
    length = float(np.linalg.norm(params.coef)) or 1.0
    return Params(params.coef / length, params.intercept / length)


def recession(problem: Glm, rows: Rows, params: Params) -> Params | None:
    """A direction in which no row of positive weight gets worse, and rows that still matter at `params` do not change.

    The loss falls for ever along it. Looked for in the null space of the rows with noticeable curvature; None where
    none is found.
    """
    p = rows.shape[1]
    if p > NEWTON_COLUMNS:
        return None
    weight, y = rows.map(_weights), rows.map(_targets)
    shift = _middle(rows) if problem.intercept else np.zeros(p)
    local = moved(params, shift)
    c = problem.loss.curvature(y, rows.map(predictions(local, shift)))[:, 0]
    everything = _gram(rows, np.where(weight > 0.0, 1.0, 0.0), shift, problem.intercept)
    scale = np.sqrt(np.where(np.diag(everything) > 0.0, np.diag(everything), 1.0))
    theta = np.append(local.coef[0], local.intercept)[: len(scale)]
    for threshold in (1e-9, 1e-7, 1e-5):
        core = _gram(rows, np.where((weight > 0.0) & (c > threshold), 1.0, 0.0), shift, problem.intercept)
        with one_blas_thread:
            values, vectors, info = lapack.dsyevd(core / scale / scale[:, None])
        null = vectors[:, values <= 1e-12 * len(scale)]
        if info != 0 or not null.size:
            continue
        d = np.append(null @ (null.T @ (theta * scale)) / scale, 0.0)[: p + 1]
        right = (y * rows.map(predictions(Params(d[None, :p], d[p:]), shift)))[weight > 0.0]
        if right.size and float(right.min()) >= -1e-12 * float(right.max()):
            return _unit(moved(Params(d[None, :p], d[p:]), -shift))
    return None


def _gram(rows: Rows, weight: Floats, shift: Floats, intercept: bool) -> Floats:
    """The sum of weight [x - shift, 1] [x - shift, 1]' over the rows."""
    p = len(shift)
    zero = Params(np.zeros((1, p)), np.zeros(1))

    def lift(block: Block) -> Any:
        return derivatives(Square(), zero, 2, shift)(Block(block.X, block.y, np.ascontiguousarray(block.y[:, 0])))

    found = rows.retarget(np.ascontiguousarray(weight[:, None])).fold(lift).hessian
    assert found is not None
    return np.asarray(found[: p + intercept, : p + intercept])


def _weights(block: Block) -> Floats:
    return np.ones(block.y.shape[0]) if block.weight is None else np.asarray(block.weight)


def _targets(block: Block) -> Floats:
    return np.asarray(block.y)


def _unshifted(watch: Watch, shift: Floats) -> Watch:
    return lambda record, params: watch(record, moved(params, -shift))


def _middle(rows: Rows) -> Floats:
    """A point amid the rows, about which weights and intercept are hardly correlated; from a sample.

    It has the value of a constant column exactly. Sums over sparse rows are moved there afterwards, which gains no
    digits: it is worth while for L-BFGS alone, and many small errors of the sample's means add up, so that what may be
    noise counts as zero.
    """
    X = rows.thin(max(1, rows.shape[0] // 2048)).whole().X
    if not is_sparse(X):
        return np.where(X.min(axis=0) == X.max(axis=0), X[0], X.mean(axis=0, dtype=np.float64)).astype(np.float64)
    if X.shape[1] <= NEWTON_COLUMNS:
        return np.zeros(X.shape[1])
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    noise = np.asarray(X.multiply(X).mean(axis=0, dtype=np.float64)).ravel() / X.shape[0]
    return np.where(mean**2 > 25.0 * noise, mean, 0.0)


def moved(params: Params, shift: Floats) -> Params:
    """The same model with rows measured from `shift`; in extended precision, for an offset must not cost digits."""
    by = params.coef.astype(np.longdouble) @ shift.astype(np.longdouble)
    return Params(params.coef, np.asarray(params.intercept + by, dtype=np.float64))


def stored(params: Params, dtype: Any) -> Params:
    """The parameters as they will be stored, in float64 for the judge."""
    return Params(*(np.asarray(part).astype(dtype).astype(np.float64) for part in params))


def _finished(problem: Glm, rows: Rows, params: Params, shift: Floats, dtype: Any) -> Params:
    """The parameters for the rows as they are, in the dtype in which they are stored; what a constant column of sparse
    rows has of the intercept is given back to it.
    """
    params = moved(params, -shift)
    if problem.intercept and rows.sparse:
        constant = _constant_columns(rows)
        if constant.any():
            params = Params(np.where(constant != 0.0, 0.0, params.coef), params.intercept + params.coef @ constant)
    return stored(params, dtype)


def _constant_columns(rows: Rows) -> Floats:
    """The values of constant columns of sparse rows, and zero for all others."""
    X = rows.thin(max(1, rows.shape[0] // 2048)).whole().X
    values = np.zeros(X.shape[1])
    full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0])
    if full.size:
        columns = rows.map(lambda block: block.X[:, full].toarray())
        values[full] = np.where(columns.min(axis=0) == columns.max(axis=0), columns[0], 0.0)
    return values


def _diagonal(problem: Glm, rows: Rows, shift: Floats) -> Callable[[Floats], Floats]:
    """The inverse of the Hessian's diagonal at even odds, as a map; one pass."""

    def lift(block: Block) -> Total:
        weight = np.ascontiguousarray(_weights(block)[:, None])
        if is_sparse(block.X):
            X = block.X.copy()
            X.data = X.data.astype(np.float64) ** 2
            raw = back_times(X, weight)[0]
            # about the shift, but never less than a thousandth: a difference of nearly equal numbers has no digits
            found = np.maximum(raw - weight.sum() * shift**2, 1e-3 * raw)
        else:
            found = np.einsum("ij,ij,i->j", block.X - shift, block.X - shift, weight[:, 0])
        return Total(np.append(found, weight.sum()))

    sums = rows.fold(lift).sum
    curvature = 0.25 * sums / sums[-1]
    curvature[:-1] += np.max(problem.penalty.strength)
    inverse = 1.0 / np.where(curvature > 0.0, curvature, 1.0)
    return lambda g: inverse * g
