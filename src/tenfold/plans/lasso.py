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
from tenfold.judge import Certificate, Gaps, lasso_gap, lasso_gap_from_moments
from tenfold.plans.fitted import Fitted, stored
from tenfold.plans.least_squares import fold_moments
from tenfold.problems import SparseLeastSquares
from tenfold.solvers import descent
from tenfold.solvers.descent import Gram
from tenfold.solvers.loop import Status
from tenfold.stats import Columns, Moments, Params

MARGIN = 0.8
"""The solver aims at so much of the gap that is allowed: the judge's number is computed otherwise."""


@dataclass(frozen=True)
class SparseFit(Fitted):
    """A fit, with the gap of each problem (one a target, or one for all) and the sweeps that each took."""

    gaps: Floats = field(default_factory=lambda: np.zeros(0))
    sweeps: Integers = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class Settings:
    """How a problem is solved: relative gap, most sweeps, columns one after the other or at random from a seed."""

    tol: float
    max_iter: int
    seed: int | None = None


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
    gram = Gram.of(moments, problem.intercept, joint=problem.joint)
    found = [
        descent.path(
            gram,
            part,
            [(problem.l1, problem.l2)],
            positive=problem.positive,
            tol=MARGIN * settings.tol,
            max_iter=settings.max_iter,
            start=None if start is None else start[part],
            seed=settings.seed,
        )
        for part in parts_of(problem, moments.yy.size)
    ]
    params = stored(with_intercept(np.concatenate([one.coef[0] for one in found]), moments, problem.intercept), dtype)
    sweeps = np.array([int(one.sweeps[0]) for one in found])
    judged = lasso_gap_from_moments(problem, moments, params, tol=settings.tol, dtype=dtype)
    if rows is not None and judged.certificate.floor > 0.01 * judged.certificate.tol * judged.certificate.scale:
        judged = lasso_gap(
            problem, rows, params, Columns.of(moments), tol=settings.tol, moments=moments, dtype=dtype
        )
    return finished(params, judged, found, sweeps, settings, "gram", moments)


def finished(
    params: Params,
    judged: Gaps,
    found: Sequence[descent.Descended],
    sweeps: Integers,
    settings: Settings,
    method: str,
    moments: Moments | None = None,
) -> SparseFit:
    """Put a fit together; how it ended is what the judge and the number of sweeps say."""
    status = Status.CONVERGED
    if any(one.status is Status.INTERRUPTED for one in found):
        status = Status.INTERRUPTED
    elif not judged.certificate.ok:
        status = Status.MAX_ITER if int(sweeps.max(initial=0)) >= settings.max_iter else Status.STALLED
    certificate: Certificate = replace(judged.certificate, status=status.value)
    return SparseFit(
        params,
        certificate,
        method,
        iterations=int(sweeps.max(initial=0)),
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
