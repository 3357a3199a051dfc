"""Least squares with an L1 penalty, one on groups, or an elastic net.

Where the second moments of the columns are cheap, or the rows are far away, coordinate descent works on them alone,
and the judge too, unless they have lost the digits that it needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.data import Rows
from tenfold.judge import Gaps, lasso_gap, lasso_gap_from_moments
from tenfold.plans.fitted import Fitted, stored
from tenfold.plans.least_squares import fold_moments
from tenfold.problems import SparseLeastSquares
from tenfold.solvers import descent
from tenfold.solvers.descent import Gram
from tenfold.solvers.loop import Record, Solution, Status, Watch, run
from tenfold.stats import Columns, Moments, Params

MARGIN = 0.8
"""The solver aims at so much of the gap that is allowed: the judge's number is computed otherwise."""

SWEEPS = 30
"""Sweeps of a step, whoever is told of it, so that nobody changes a fit by watching: some extrapolations."""


@dataclass(frozen=True)
class SparseFit(Fitted):
    """A fit, with the gap of each problem (one a target, or one for all) and the sweeps that each took."""

    gaps: Floats = field(default_factory=lambda: np.zeros(0))
    sweeps: Integers = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class Path:
    """Weights (A, t, p), intercepts (A, t) and sweeps (A, k) of k problems, for each of A penalties."""

    coef: Floats
    intercept: Floats
    sweeps: Integers


@dataclass(frozen=True)
class Settings:
    """How a problem is solved: relative gap, most sweeps, columns one after the other or at random from a seed, most
    seconds, and who is told of each step.
    """

    tol: float
    max_iter: int
    seed: int | None = None
    time_limit: float | None = None
    watch: Watch | None = None


def parts_of(problem: SparseLeastSquares, targets: int) -> list[slice]:
    """The targets of each problem: one, or all where they are joint."""
    return [slice(0, targets)] if problem.joint else [slice(k, k + 1) for k in range(targets)]


def fit(
    rows: Rows,
    problem: SparseLeastSquares,
    settings: Settings,
    *,
    start: Floats | None = None,
    moments: Moments | None = None,
    dtype: Any = np.float64,
) -> SparseFit:
    """Fit and judge; `start` are weights (t, p) to begin with, `moments` those of the rows where they are known."""
    return from_moments(rows, fold_moments(rows) if moments is None else moments, problem, settings, start, dtype)


def from_moments(
    rows: Rows | None,
    moments: Moments,
    problem: SparseLeastSquares,
    settings: Settings,
    start: Floats | None = None,
    dtype: Any = np.float64,
) -> SparseFit:
    """Solve from moments; the rows, unless they are gone, are read again where the moments do not say enough."""
    _refuse_huge(moments)
    gram = Gram.of(moments, problem.intercept, joint=problem.joint)
    found = [
        _minimise(gram, part, problem, settings, start, _placed(settings.watch, part, moments, problem))
        for part in parts_of(problem, moments.yy.size)
    ]
    coef = np.concatenate([solution.params.coef for solution, _ in found])
    params = stored(with_intercept(coef, moments, problem.intercept), dtype)
    judged = lasso_gap_from_moments(problem, moments, params, tol=settings.tol, dtype=dtype)
    if rows is not None and judged.certificate.floor > 0.01 * judged.certificate.tol * judged.certificate.scale:
        judged = lasso_gap(problem, rows, params, Columns.of(moments), tol=settings.tol, moments=moments, dtype=dtype)
    return finished(params, judged, found, "gram", moments)


def path_from_moments(
    moments: Moments,
    problem: SparseLeastSquares,
    penalties: Sequence[tuple[float, float]],
    settings: Settings,
    start: Floats | None = None,
) -> Path:
    """Solve for every (l1, l2), each from the weights of the one before, from moments alone."""
    _refuse_huge(moments)
    gram = Gram.of(moments, problem.intercept, joint=problem.joint)
    found = [
        descent.path(
            gram,
            part,
            penalties,
            positive=problem.positive,
            tol=MARGIN * settings.tol,
            max_iter=settings.max_iter,
            start=None if start is None else start[part],
            seed=settings.seed,
        )
        for part in parts_of(problem, moments.yy.size)
    ]
    coef = np.concatenate([one.coef for one in found], axis=1)
    intercept = np.zeros(coef.shape[:2])
    if problem.intercept:
        mean = np.einsum("atp,p->at", coef, moments.mean)
        intercept = moments.target_mean - mean
    return Path(coef, intercept, np.stack([one.sweeps for one in found], axis=1))


def _refuse_huge(moments: Moments) -> None:
    """A penalty has the units of the columns: beside 1e154, whose square is not a number, it is nothing."""
    with np.errstate(over="ignore"):
        squares = np.ldexp(np.diag(moments.XX), 2 * moments.exponent[: moments.features].astype(np.int64))
    if not np.isfinite(squares).all():
        raise ValueError(
            "Input X has a column of values beyond 1e150, beside which no penalty counts. Scale the columns."
        )


def _minimise(
    gram: Gram, part: slice, problem: SparseLeastSquares, settings: Settings, start: Floats | None, watch: Watch | None
) -> tuple[Solution, int]:
    """One problem, and the sweeps that it took."""
    sweeps = descent.Sweeps()
    path = descent.steps(
        gram,
        part,
        (problem.l1, problem.l2),
        positive=problem.positive,
        tol=MARGIN * settings.tol,
        max_iter=settings.max_iter,
        start=None if start is None else start[part],
        seed=settings.seed,
        at_once=SWEEPS,
        sweeps=sweeps,
    )
    return run(path, settings.max_iter, settings.time_limit, watch), sweeps.count


def _placed(watch: Watch | None, part: slice, moments: Moments, problem: SparseLeastSquares) -> Watch | None:
    """A watch that is shown the parameters of all targets, zero for those that are not in `part`."""
    if watch is None:
        return None

    def placed(record: Record, params: Params) -> bool:
        coef = np.zeros((moments.yy.size, moments.features))
        coef[part] = params.coef
        return watch(record, with_intercept(coef, moments, problem.intercept))

    return placed


def finished(
    params: Params, judged: Gaps, found: Sequence[tuple[Solution, int]], method: str, moments: Moments | None = None
) -> SparseFit:
    """Put a fit together; a fit that the judge accepts has converged, whatever the solver thought of it."""
    sweeps = np.array([count for _, count in found])
    worst = max((solution for solution, _ in found), key=lambda solution: solution.trace[-1].measure)
    status = worst.status
    if judged.certificate.ok and status in (Status.STALLED, Status.MAX_ITER):
        status = Status.CONVERGED
    elif not judged.certificate.ok and status is Status.CONVERGED:
        status = Status.STALLED
    return SparseFit(
        params,
        replace(judged.certificate, status=status.value),
        method,
        iterations=int(sweeps.max(initial=0)),
        trace=max((solution.trace for solution, _ in found), key=len),
        moments=moments,
        gaps=np.maximum(judged.gaps, 0.0),
        sweeps=sweeps,
    )


def with_intercept(coef: Floats, moments: Moments, intercept: bool) -> Params:
    """The best intercept of each target: in extended precision, for an offset must not cost digits."""
    if not intercept:
        return Params(coef, np.zeros(len(coef)))
    mean = coef.astype(np.longdouble) @ moments.mean.astype(np.longdouble)
    return Params(coef, np.asarray(moments.target_mean - mean, dtype=np.float64))
