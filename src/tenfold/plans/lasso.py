"""Least squares with an L1 penalty, one on groups, or an elastic net.

Where the second moments of the columns are cheap, or the rows are far away, coordinate descent works on them alone,
and the judge too, unless they have lost the digits that it needs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.data import MemoryRows, Rows
from tenfold.judge.gap_lasso import Gaps, lasso_gap, lasso_gap_from_moments, path_gaps
from tenfold.objectives.least_squares import SparsePenalty, Squares
from tenfold.objectives.objective import Reading
from tenfold.plans.centred_design import (
    MARGIN,
    TOO_LARGE,
    Centred,
    Path,
    Settings,
    aligned_statistics,
    columns_statistics,
    parts_of,
)
from tenfold.plans.least_squares import DENSE_COLUMNS, SPARSE_COLUMNS, fold_moments
from tenfold.plans.least_squares import fit as fit_least_squares
from tenfold.plans.least_squares import from_moments as least_squares_from_moments
from tenfold.plans.result import Fitted, stored
from tenfold.problems import SparseLeastSquares, duality_gap
from tenfold.solvers import coordinate_descent, fista, online_lasso
from tenfold.solvers.coordinate_descent import Gram
from tenfold.solvers.loop import Record, Solution, Status, Step, Watch, converted, run
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.moments import Moments

FEW_COLUMNS, PASS_COLUMNS = 256, 32
"""Up to so many columns all products cost next to nothing; and as much as a pass over the rows for each so many."""

FIRST_ORDER = ("ista", "fista", "uv")
"""Solvers by name that take steps of all weights at once."""

TINY = float(np.finfo(np.float64).tiny)

SWEEPS = 30
"""Sweeps of a step, whoever is told of it, so that nobody changes a fit by watching: some extrapolations."""


@dataclass(frozen=True)
class SparseFit(Fitted):
    """A fit, with the gap of each problem (one a target, or one for all) and the sweeps that each took."""

    gaps: Floats = field(default_factory=lambda: np.zeros(0))
    sweeps: Integers = field(default_factory=lambda: np.zeros(0, np.int64))


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
    if settings.solver in FIRST_ORDER:
        return _by_passes(rows, problem, settings, start, dtype)
    if problem.l1 == 0.0 and problem.l2 > 0.0 and not problem.positive:
        ridge = _as_ridge(rows, problem, settings, moments, dtype)
        if ridge.certificate.ok:
            return ridge
    if moments is None and not settings.gram and way(rows, 1) == "columns":
        return _by_columns(rows, problem, settings, start, dtype)
    return from_moments(rows, fold_moments(rows) if moments is None else moments, problem, settings, start, dtype)


def _as_ridge(
    rows: Rows, problem: SparseLeastSquares, settings: Settings, moments: Moments | None, dtype: Any
) -> SparseFit:
    """Without an L1 penalty: ridge regression, each target by itself, in one step."""
    if moments is None:
        columns = columns_statistics(rows)
        alpha = np.full(rows.targets, problem.l2 * columns.weight)
        fitted = fit_least_squares(rows, alpha, problem.intercept, dtype=dtype)
    else:
        columns = Columns.of(moments)
        alpha = np.full(rows.targets, problem.l2 * columns.weight)
        fitted = least_squares_from_moments(rows, moments, alpha, problem.intercept, dtype=dtype)
    params = fitted.params
    judged = lasso_gap(problem, rows, params, columns, tol=settings.tol, dtype=dtype)
    record = Record(judged.certificate.objective, 0.0, 0.0)
    if settings.callback is not None:
        settings.callback(record, params)
    count = 1 if problem.joint else rows.targets
    return finished(params, judged, [(Solution(params, Status.CONVERGED, (record,)), 1)] * count, fitted.method)


def way(rows: Rows, penalties: int) -> str:
    """What is worked on: "gram", the products of all columns, or "columns" by working sets, where the rows are at hand.

    By cost: for dense rows a product of all columns is n p^2 fast operations, a pass n p slow ones; working sets take a
    few passes, and then one for some penalties.
    """
    n, p = rows.shape
    passes = 8 + penalties // 3
    if not isinstance(rows, MemoryRows) or rows.on_device:
        if p > DENSE_COLUMNS:
            raise ValueError(
                f"The products of {p:,} columns do not fit, and working sets of columns need the rows in memory: load "
                "them, tenfold.rows(...).load(), or use fewer columns."
            )
        return "gram"
    if p > n or p > (SPARSE_COLUMNS if rows.sparse else DENSE_COLUMNS):
        return "columns" if p > FEW_COLUMNS else "gram"
    if rows.sparse:
        return "gram" if p <= FEW_COLUMNS or rows.entries / n <= 4 * passes else "columns"
    return "gram" if p <= max(FEW_COLUMNS, PASS_COLUMNS * passes) else "columns"


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
    centre = moments.mean if problem.intercept else None

    def judge(coef: Floats) -> tuple[Params, Gaps]:
        params = stored(with_intercept(coef, moments, problem.intercept), dtype, centre)
        judged = lasso_gap_from_moments(problem, moments, params, tol=settings.tol, dtype=dtype)
        if rows is not None and judged.certificate.floor > 0.01 * judged.certificate.tol * judged.certificate.scale:
            columns = Columns.of(moments)
            judged = lasso_gap(problem, rows, params, columns, tol=settings.tol, moments=moments, dtype=dtype)
        return params, judged

    parts = parts_of(problem, moments.yy.size)
    if start is not None and start.any():
        params, judged = judge(start)
        if _good_enough(judged):
            return finished(params, judged, [_unmoved(params, judged)] * len(parts), "gram", moments)
    gram = Gram.of(moments, problem.intercept, joint=problem.joint)
    found = [
        _minimise(gram, part, problem, settings, start, _placed(settings.callback, part, moments, problem))
        for part in parts
    ]
    params, judged = judge(np.concatenate([solution.params.coef for solution, _ in found]))
    return finished(params, judged, found, "gram", moments)


def _good_enough(judged: Gaps) -> bool:
    """Whether weights to start from have the gap that a fit aims at."""
    return judged.certificate.value <= MARGIN * judged.certificate.tol * judged.certificate.scale


def _unmoved(params: Params, judged: Gaps) -> tuple[Solution, int]:
    """A fit that ends where it starts, without a sweep."""
    return Solution(params, Status.CONVERGED, (Record(judged.certificate.objective, 0.0, 0.0),)), 0


def from_gram(
    rows: Rows,
    given: Floats,
    problem: SparseLeastSquares,
    settings: Settings,
    start: Floats | None = None,
    dtype: Any = np.float64,
) -> SparseFit | None:
    """Solve with products of the columns that somebody has already (of weights that add up to the number of rows);
    judged by the rows. None where the columns have means that the products do not know of.
    """
    aligned = aligned_statistics(rows)
    stats = aligned.columns
    p, n, weight = stats.features, rows.shape[0], stats.weight
    if problem.intercept and not np.allclose(stats.mean[:p], 0.0):
        return None
    # one entry is read again: scikit-learn's own quick check
    i = p // 2
    j = min(i + 1, p - 1)
    two = rows.whole().X[:, [i, j]]
    known = Moments.of(np.asarray(two, dtype=np.float64), None, rows.whole().weight)
    about = known.about(origin=not problem.intercept)[0] * n / weight
    found = float(about[0, 1])
    if not np.isclose(found, given[i, j], rtol=1e-4 if dtype == np.float32 else 1e-7, atol=1e-5):
        raise ValueError(
            "Gram matrix passed in via 'precompute' parameter did not pass validation when a single element was "
            f"checked - please check that it was computed properly. For element ({i},{j}) we computed {found} but the "
            f"user-supplied value was {given[i, j]}."
        )
    data = Centred.of(rows, aligned, problem.intercept)
    C, yy = weight * data.along, weight * np.sum(data.Y**2, axis=0)
    exponent = np.zeros(rows.targets, np.int64)
    gram = Gram(np.ascontiguousarray(given * (weight / n)), C, yy, np.ones(p), exponent, weight)
    solved = [_minimise(gram, part, problem, settings, start, None) for part in parts_of(problem, rows.targets)]
    coef = np.concatenate([solution.params.coef for solution, _ in solved])
    params = data.params(coef, dtype)
    judged = lasso_gap(problem, rows, params, stats, tol=settings.tol, dtype=dtype)
    return finished(params, judged, solved, "gram")


def judged_path_from_moments(
    moments: Moments,
    problem: SparseLeastSquares,
    penalties: Sequence[tuple[float, float]],
    settings: Settings,
    start: Floats | None = None,
    dtype: Any = np.float64,
) -> tuple[Path, Floats]:
    """A path without an intercept, and the gap of each penalty: of all targets together, or of the first; at weights as
    they will be stored.
    """
    path = path_from_moments(moments, problem, penalties, settings, start)
    kept = path.coef.astype(dtype).astype(np.float64).reshape(-1, path.coef.shape[2])
    gaps = path_gaps(problem, moments, Params(kept, np.zeros(len(kept))), penalties)
    return path, gaps.reshape(len(penalties), -1)[:, 0]


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
        coordinate_descent.path(
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


def _by_passes(
    rows: Rows, problem: SparseLeastSquares, settings: Settings, start: Floats | None, dtype: Any
) -> SparseFit:
    """Solvers by name that read the rows once or twice a step, wherever they are."""
    stats = columns_statistics(rows)
    p = stats.features
    centre = stats.mean[:p] if problem.intercept else np.zeros(p)
    target_mean = stats.mean[p:] if problem.intercept else np.zeros(rows.targets)
    tol = MARGIN * settings.tol
    if settings.solver == "uv":
        path = online_lasso.steps(problem, rows, stats, tol, start)
    else:
        path = _gradient_steps(problem, Squares(rows, centre, target_mean), tol, start, settings.solver == "fista")
    solution = run(path, settings.max_iter, settings.time_limit, settings.callback)
    mean = solution.params.coef.astype(np.longdouble) @ centre.astype(np.longdouble)
    params = stored(Params(solution.params.coef, np.asarray(target_mean - mean, dtype=np.float64)), dtype, centre)
    judged = lasso_gap(problem, rows, params, stats, tol=settings.tol, dtype=dtype)
    count = 1 if problem.joint else rows.targets
    return finished(params, judged, [(solution, solution.iterations)] * count, settings.solver)


def _gradient_steps(
    problem: SparseLeastSquares, objective: Squares, tol: float, start: Floats | None, momentum: bool
) -> Iterator[Step]:
    """ISTA or FISTA for all targets at once, until every gap is at most `tol` times the mean square of its target."""
    t, p = len(objective.target_mean), objective.rows.shape[1]
    zero = np.zeros(t * p)
    scale = objective.read(zero).parts
    assert scale is not None
    allowed = np.array([tol * 2.0 * float(scale[part].sum()) or TINY for part in parts_of(problem, t)])

    def measure(x: Floats, here: Reading) -> float:
        assert here.parts is not None
        w, pull = x.reshape(t, p), -here.gradient.reshape(t, p)
        gaps = [
            duality_gap(
                (problem.l1, problem.l2), problem.positive, w[part], pull[part], 2.0 * float(here.parts[part].sum())
            )
            for part in parts_of(problem, t)
        ]
        return float(np.max(gaps / allowed))

    first = zero if start is None else start.ravel()
    path = fista.steps(objective, SparsePenalty(problem, t), first, measure, momentum=momentum)
    return converted(path, lambda x: Params(x.reshape(t, p), np.zeros(t)))


def pulls_of_moments(moments: Moments, intercept: bool) -> Floats:
    """The pulls (t, p) of all columns at zero weights."""
    p, e = moments.features, moments.exponent.astype(np.int64)
    with np.errstate(over="ignore"):
        return np.ldexp(moments.about(origin=not intercept)[1].T, e[:p] + e[p:, None]) / moments.weight


def _by_columns(
    rows: Rows, problem: SparseLeastSquares, settings: Settings, start: Floats | None, dtype: Any
) -> SparseFit:
    """Working sets of columns, judged by a pass over the rows. The judge's numbers at weights that it does not accept
    serve the solver, which need not read the rows once more for its own.
    """
    found = aligned_statistics(rows)
    data = Centred.of(rows, found, problem.intercept)
    seen: list[tuple[Params, Gaps]] = []

    def judge(params: Params, thorough: bool) -> Gaps:
        return lasso_gap(problem, rows, params, found.columns, tol=settings.tol, thorough=thorough, dtype=dtype)

    def look(coef: Floats) -> tuple[Floats, float]:
        params = data.params(coef, dtype)
        seen[:] = [(params, judge(params, thorough=False))]
        return seen[0][1].pull, float(np.sum(seen[0][1].squares))

    if start is not None and start.any():
        params = data.params(start, dtype)
        gaps = judge(params, thorough=False)
        if _good_enough(gaps):
            return finished(params, gaps, [_unmoved(params, gaps)] * len(gaps.gaps), "columns")
    alone = (problem.joint or rows.targets == 1) and dtype == np.float64
    path, solved = data.path(problem, [(problem.l1, problem.l2)], settings, start, look if alone else None)
    if seen and seen[0][1].certificate.ok:
        params, gaps = seen[0]
    else:
        params = data.params(path.coef[0], dtype)
        gaps = judge(params, thorough=True)
    solutions = []
    for one in solved:
        measure = float(one.gaps[0]) / max(MARGIN * settings.tol, TINY)
        cut = int(one.sweeps[0]) >= settings.max_iter
        status = Status.CONVERGED if measure <= 1.0 else Status.MAX_ITER if cut else Status.STALLED
        trace = (Record(gaps.certificate.objective, measure, 0.0),)
        solutions.append((Solution(params, status, trace), int(one.sweeps[0])))
    return finished(params, gaps, solutions, "columns")


def _refuse_huge(moments: Moments) -> None:
    """A penalty has the units of the columns: beside 1e154, whose square is not a number, it is nothing."""
    with np.errstate(over="ignore"):
        squares = np.ldexp(np.diag(moments.XX), 2 * moments.exponent[: moments.features].astype(np.int64))
    if not np.isfinite(squares).all():
        raise ValueError(TOO_LARGE)


def _minimise(
    gram: Gram,
    part: slice,
    problem: SparseLeastSquares,
    settings: Settings,
    start: Floats | None,
    callback: Watch | None,
) -> tuple[Solution, int]:
    """One problem, and the sweeps that it took."""
    sweeps = coordinate_descent.Sweeps()
    path = coordinate_descent.steps(
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
    return run(path, settings.max_iter, settings.time_limit, callback), sweeps.count


def _placed(callback: Watch | None, part: slice, moments: Moments, problem: SparseLeastSquares) -> Watch | None:
    """A watch that is shown the parameters of all targets, zero for those that are not in `part`."""
    if callback is None:
        return None

    def placed(record: Record, params: Params) -> bool:
        coef = np.zeros((moments.yy.size, moments.features))
        coef[part] = params.coef
        return callback(record, with_intercept(coef, moments, problem.intercept))

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
