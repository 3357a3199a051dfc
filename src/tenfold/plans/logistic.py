"""Logistic regression of two classes.

Few columns, few rows: Newton's method. Few columns, many rows: Newton's method on samples of the rows, then L-BFGS on
all of them from there, on top of the sample's inverse Hessian, so that a handful of passes is enough; Newton's method
on all rows where it is not. Many columns: L-BFGS on top of a diagonal. The judge reads the rows at the result; what it
refuses is worked on further.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from scipy.linalg import lapack, qr
from scipy.linalg.blas import dgemv

from tenfold.arrays import Floats, is_sparse
from tenfold.judge import NOT_JUDGED, RULES, Certificate, gap
from tenfold.losses import Logistic, Square
from tenfold.machine import one_blas_thread
from tenfold.penalties import L2
from tenfold.plans.fitted import Fitted, stored
from tenfold.problems import Glm
from tenfold.rows import Block, MemoryRows, NotFinite, Rows
from tenfold.solvers import lbfgs, newton
from tenfold.solvers.loop import Solution, Status, Step, Watch, run
from tenfold.stats import Params, derivatives, predictions

NEWTON_COLUMNS = 1024
"""Up to so many columns the Hessian is formed."""

FEW_COLUMNS = 128
"""Up to so many a Hessian costs next to nothing."""

CHEAP_COLUMNS = 32
"""Up to so many a pass with the Hessian costs little more than one without."""

SAMPLED_ROWS = 16_384
"""From so many rows on, samples are large enough to tell the Hessian."""

ROTATED_ROWS = 128
"""With more columns than that, up to so many rows are rotated into as many coordinates."""

PATIENCE = 12
"""So many steps of L-BFGS on top of a sample's Hessian are tried before Newton's method on all rows takes over."""

ATTEMPTS = 3

NEWTON_STEPS, PASSES = 6, 60
"""What Newton's method and L-BFGS usually take."""

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
        self.allowed = 0.8 * RULES["gap"].tol * LOG2

    def tighten(self) -> None:
        self.allowed *= 1e-3

    def __call__(self, gradient: Floats, fall: float) -> float:
        """From the gradient and the expected fall of the objective to the number that is compared with one."""
        # without a penalty the judge needs a fall so small that Newton's method cannot leave the neighbourhood
        bound = 1e4 * fall
        if self.strength > 0.0:
            # the judge's number; the intercept is not penalised, and counts by what it can gain
            bound = float(np.sum(gradient[:-1] ** 2)) / (2.0 * self.strength) + fall
        wanted = max(float(np.max(np.abs(gradient), initial=0.0)) / self.tol, bound / self.allowed)
        # whatever the units of the columns, there is nothing below rounding
        return min(wanted, abs(fall) / 1e-26)


@dataclass(frozen=True)
class Frame:
    """The coordinates of the solver: rows measured from `shift`, and for fewer rows than columns rotated by `basis`
    (p, n) into as many coordinates as there are rows, which changes no penalty and no prediction.
    """

    rows: Rows
    shift: Floats
    basis: Floats | None = None

    @classmethod
    def of(cls, rows: Rows, middle: Floats) -> "Frame":
        n, p = rows.shape
        if rows.sparse or 3 * n >= 2 * p or (p > NEWTON_COLUMNS and n > ROTATED_ROWS):
            return cls(rows, middle)
        block = rows.whole()
        X = block.X - middle
        lengths = np.linalg.norm(X, axis=0)
        if not np.isfinite(lengths).all():
            raise NotFinite
        lengths = lengths[lengths > 0.0]
        if not lengths.size or lengths.max() > 1e6 * lengths.min():
            return cls(rows, middle)  # a rotation mixes columns, and small ones would be lost among large ones
        with one_blas_thread:
            basis, R, order = qr(X.T, mode="economic", pivoting=True, overwrite_a=True, check_finite=False)
        kept = np.abs(np.diag(R)) > 1e-13 * abs(R[0, 0])
        turned = np.empty((n, int(kept.sum())))
        turned[order] = R[kept].T
        return cls(MemoryRows(turned, block.y, block.weight), middle, np.asfortranarray(basis[:, kept]))

    @property
    def local(self) -> Floats:
        """The shift that the solver applies itself."""
        return self.shift if self.basis is None else np.zeros(self.basis.shape[1])

    def inside(self, params: Params) -> Params:
        """Parameters of the user's rows in these coordinates."""
        params = moved(params, self.shift)
        return params if self.basis is None else Params(self._turned(params.coef, trans=1), params.intercept)

    def outside(self, params: Params) -> Params:
        """Parameters in these coordinates for the user's rows."""
        coef = params.coef if self.basis is None else self._turned(params.coef, trans=0)
        return moved(Params(coef, params.intercept), -self.shift)

    def _turned(self, coef: Floats, trans: int) -> Floats:
        with one_blas_thread:
            return np.asarray(dgemv(1.0, self.basis, coef[0], trans=trans))[None, :]


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
    hessian = forms_hessian(rows, strength)
    samples = _samples(rows) if hessian else []
    middle = _middle(samples[0] if samples else rows, hessian) if intercept else np.zeros(rows.shape[1])
    frame = Frame.of(rows, middle)
    rule = StoppingRule(strength, tol)
    path = _until_separated(_steps(problem, frame, samples, start, rule, solver if hessian else None), problem, rows)
    heard: Watch | None = None if watch is None else lambda record, params: watch(record, frame.outside(params))
    solution = run(path, max_iter, time_limit, heard)
    params, certificate, direction = _finished(problem, rows, frame, solution, dtype)
    for _ in range(ATTEMPTS):
        # only a solver that was content too early can do more
        if certificate.ok or direction is not None or solution.status is not Status.CONVERGED:
            break
        more = _continued(path, solution, max_iter, time_limit, heard)
        if more is None:
            break
        solution = more
        params, certificate, direction = _finished(problem, rows, frame, solution, dtype)
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
    try:
        ahead = next(path, None)
    except KeyboardInterrupt:
        return replace(solution, status=Status.INTERRUPTED)
    if ahead is None:
        return None
    past = solution.trace[-1]
    here = Step(solution.params, past.objective, np.inf)
    left = None if time_limit is None else time_limit - past.seconds
    more = run(chain([here, ahead], path), max_iter - solution.iterations, left, watch)
    later = tuple(replace(record, seconds=record.seconds + past.seconds) for record in more.trace[1:])
    return Solution(more.params, more.status, solution.trace + later)


def _steps(
    problem: Glm, frame: Frame, samples: list[Rows], given: Params | None, rule: StoppingRule, solver: str | None
) -> Iterator[Step]:
    """The path that suits the shape of the data, from `given` parameters of the user's rows or from zero; `solver` is
    None where no Hessian is to be formed.
    """
    rows, shift = frame.rows, frame.local
    p = rows.shape[1]
    first = Params(np.zeros((1, p)), np.zeros(1)) if given is None else frame.inside(given)
    if solver is None or p > NEWTON_COLUMNS:
        walk = lbfgs.Margins(problem, rows, shift)
        yield from lbfgs.steps(walk, first, walk.diagonal(), rule)
        return
    start, factor = _from_samples(problem, samples, first, shift, fresh=given is None)
    if factor is not None and len(samples) > 1 and solver == "lbfgs" and p > CHEAP_COLUMNS:
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


def forms_hessian(rows: Rows, strength: float) -> bool:
    """Whether Newton's method pays: a Hessian of sparse rows takes about entries^2 / n + p^3 / 3 products and is
    formed a
    few times, L-BFGS takes some tens of passes of four products an entry. Without a penalty only Newton's method is
    fast.
    """
    n, p = rows.shape
    if p > NEWTON_COLUMNS:
        return n <= ROTATED_ROWS and not rows.sparse
    cost = NEWTON_STEPS * (rows.entries**2 / max(n, 1) + p**3 / 3)
    return not rows.sparse or p <= FEW_COLUMNS or strength == 0.0 or cost <= 4 * PASSES * rows.entries


def _samples(rows: Rows) -> list[Rows]:
    """Samples of growing size; none where that would not pay."""
    n, p = rows.shape
    large = min(max(n // 10, 100 * p), 1000 * p)
    small = max(1000, 25 * p)
    if 4 * small > n:
        return []
    # an odd step does not fall in with rows that alternate
    samples = [rows.thin(n // small | 1)]
    if n >= SAMPLED_ROWS and 4 * large <= n:
        samples.append(rows.thin(n // large | 1))
    return [sample for sample in samples if sample.map(_weights).any()]


def _from_samples(
    problem: Glm, samples: list[Rows], start: Params, shift: Floats, fresh: bool
) -> tuple[Params, newton.Factor | None]:
    """The solution of the last sample and the factor of its Hessian; a start that was given is kept."""
    if not fresh:
        return start, newton.refine(problem, samples[-1], start, shift, 1, 0.0)[1] if samples else None
    factor = None
    for sample, limit in zip(samples, (6, 2), strict=False):
        start, factor = newton.refine(problem, sample, start, shift, limit, 1e-3)
    return start, factor


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


def _finished(
    problem: Glm, rows: Rows, frame: Frame, solution: Solution, dtype: Any
) -> tuple[Params, Certificate, Params | None]:
    """The parameters as they are stored, the judge's word on them, and a direction of length one that separates the
    classes where there is no maximum.
    """
    params = stored(_without_constants(problem, rows, frame.outside(solution.params)), dtype)
    try:
        return params, *_judged(problem, rows, params, solution.status.value, dtype)
    except KeyboardInterrupt:
        note = "The fit was interrupted while it was judged; call tenfold.certify(model, X, y)."
        unknown = Certificate("gap", np.inf, LOG2, RULES["gap"].tol, 0.0, np.inf, status=NOT_JUDGED, note=note)
        return params, unknown, None


def _judged(problem: Glm, rows: Rows, params: Params, status: str, dtype: Any) -> tuple[Certificate, Params | None]:
    free = bool(np.max(problem.penalty.strength) == 0.0)
    # with many columns more steps are cheaper than a search of the judge's own
    search = free or rows.shape[1] <= NEWTON_COLUMNS
    certificate = gap(problem, rows, params, status=status, dtype=dtype, search=search)
    if certificate.status == Status.NO_MAXIMUM.value:
        return certificate, _unit(params)
    if certificate.ok or not free:
        return certificate, None
    _refuse_tiny(rows)
    direction = recession(problem, rows, params)
    if direction is not None:
        certificate = gap(problem, rows, params, status=status, dtype=dtype, direction=direction, search=False)
    return certificate, direction if certificate.status == Status.NO_MAXIMUM.value else None


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
    shift = _middle(rows, True) if problem.intercept else np.zeros(p)
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


def _middle(rows: Rows, hessian: bool) -> Floats:
    """A point amid the rows, about which weights and intercept are hardly correlated; from a sample.

    It has the value of a constant column exactly. Sums over sparse rows are moved there afterwards, which gains no
    digits: it is worth while for L-BFGS alone, and many small errors of the sample's means add up, so that what may be
    noise counts as zero.
    """
    X = rows.thin(max(1, rows.shape[0] // 2048)).whole().X
    if not is_sparse(X):
        return np.where(X.min(axis=0) == X.max(axis=0), X[0], X.mean(axis=0, dtype=np.float64)).astype(np.float64)
    if hessian:
        return np.zeros(X.shape[1])
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    noise = np.asarray(X.multiply(X).mean(axis=0, dtype=np.float64)).ravel() / X.shape[0]
    return np.where(mean**2 > 25.0 * noise, mean, 0.0)


def moved(params: Params, shift: Floats) -> Params:
    """The same model with rows measured from `shift`; in extended precision, for an offset must not cost digits."""
    if not shift.any():
        return params
    by = params.coef.astype(np.longdouble) @ shift.astype(np.longdouble)
    return Params(params.coef, np.asarray(params.intercept + by, dtype=np.float64))


def _without_constants(problem: Glm, rows: Rows, params: Params) -> Params:
    """What a constant column of sparse rows has of the intercept is given back to it."""
    if not (problem.intercept and rows.sparse):
        return params
    constant = _constant_columns(rows)
    if not constant.any():
        return params
    return Params(np.where(constant != 0.0, 0.0, params.coef), params.intercept + params.coef @ constant)


def _constant_columns(rows: Rows) -> Floats:
    """The values of constant columns of sparse rows, and zero for all others."""
    X = rows.thin(max(1, rows.shape[0] // 2048)).whole().X
    values = np.zeros(X.shape[1])
    full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0])
    if full.size:
        columns = rows.map(lambda block: block.X[:, full].toarray())
        values[full] = np.where(columns.min(axis=0) == columns.max(axis=0), columns[0], 0.0)
    return values
