"""The Lasso, the elastic net and their multi-task forms: which solver, and the certificate.

Coordinate descent on the second moments where these are cheap, or where the samples are in files, on a device or
distributed; the judge then uses the moments, too, unless they have lost the digits that it needs. Working sets of
features in memory otherwise.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.data import MemoryRows, Rows
from tenfold.judge.gap_lasso import Gaps, lasso_gap, lasso_gap_from_moments, path_gaps
from tenfold.lasso_dual import dual_norm, duality_gap
from tenfold.objectives.least_squares import ReshapedPenalty, Squares
from tenfold.objectives.objective import Reading
from tenfold.penalties import ElasticNet, SparsePenalty
from tenfold.plans.centred_design import (
    GAP_FRACTION,
    TOO_LARGE,
    Centred,
    Path,
    Settings,
    columns_statistics,
    fold_with_targets,
    parts_of,
)
from tenfold.plans.least_squares import DENSE_COLUMNS, SPARSE_COLUMNS, fold_moments
from tenfold.plans.least_squares import fit as fit_least_squares
from tenfold.plans.least_squares import from_moments as least_squares_from_moments
from tenfold.plans.result import Fitted, round_to_dtype
from tenfold.problems import Glm, sparse_penalty
from tenfold.solvers import coordinate_descent, fista, online_lasso
from tenfold.solvers.coordinate_descent import Gram
from tenfold.solvers.loop import Callback, Record, Solution, Status, Step, map_params, run
from tenfold.stats.column_moments import Columns, ColumnsWithTargets
from tenfold.stats.derivatives import Params
from tenfold.stats.moments import Moments

GRAM_FEATURES = 256  # up to here the Gram matrix costs less than a few passes over the samples
FEATURES_PER_PASS = 32  # so many more features of a dense Gram matrix cost as much as one pass

GRAM_MAX_FEATURES = 2048  # up to here the active features decide between the Gram matrix and working sets
ACTIVE_RATIO = 3  # an entry of the Gram matrix of a working set costs 5 to 10 times one of all features
SPARSE_COST = 8  # operations of a sweep over a dense matrix that take as long as one over sparse columns

FIRST_ORDER = ("ista", "fista", "uv")
"""Solvers by name that update all weights at once, from passes over the samples."""

TINY = float(np.finfo(np.float64).tiny)

SWEEPS_PER_STEP = 30  # the same with and without a callback, so that a callback does not change the fit


@dataclass(frozen=True)
class SparseFit(Fitted):
    """A fit with the gap of each problem (one a target, or one for all) and its sweeps."""

    gaps: Floats = field(default_factory=lambda: np.zeros(0))
    sweeps: Integers = field(default_factory=lambda: np.zeros(0, np.int64))


def fit(
    rows: Rows,
    problem: Glm,
    settings: Settings,
    *,
    start: Floats | None = None,
    moments: Moments | None = None,
    dtype: Any = np.float64,
) -> SparseFit:
    """Fit and judge, from weights `start` (t, p); `moments` are those of the rows where they are known."""
    if settings.solver in FIRST_ORDER:
        return _by_passes(rows, problem, settings, start, dtype)
    penalty = sparse_penalty(problem)
    if penalty.l1 == 0.0 and penalty.l2 > 0.0 and not penalty.positive:
        ridge = _as_ridge(rows, problem, settings, moments, dtype)
        if ridge.certificate.ok:
            return ridge
    if moments is None and not settings.gram:
        method, aligned = _select_for_penalty(rows, penalty, problem.intercept, start)
        if method == "columns":
            return _by_columns(rows, problem, settings, start, dtype, aligned)
    return from_moments(rows, fold_moments(rows) if moments is None else moments, problem, settings, start, dtype)


def _as_ridge(rows: Rows, problem: Glm, settings: Settings, moments: Moments | None, dtype: Any) -> SparseFit:
    """Without an L1 penalty: ridge regression, each target by itself, in closed form."""
    penalty = sparse_penalty(problem)
    if moments is None:
        columns = columns_statistics(rows)
        alpha = np.full(rows.targets, penalty.l2 * columns.weight)
        fitted = fit_least_squares(rows, alpha, problem.intercept, dtype=dtype)
    else:
        columns = Columns.of(moments)
        alpha = np.full(rows.targets, penalty.l2 * columns.weight)
        fitted = least_squares_from_moments(rows, moments, alpha, problem.intercept, dtype=dtype)
    params = fitted.params
    judged = lasso_gap(problem, rows, params, columns, tol=settings.tol, dtype=dtype)
    record = Record(judged.certificate.objective, 0.0, 0.0)
    if settings.callback is not None:
        settings.callback(record, params)
    count = len(parts_of(penalty, rows.targets))
    return to_fit(params, judged, [(Solution(params, Status.CONVERGED, (record,)), 1)] * count, fitted.method)


def select_method(rows: Rows, penalties: int) -> str:
    """ "gram", coordinate descent on the Gram matrix, or "columns", working sets of features of samples in memory.

    By cost: the Gram matrix of dense samples is n p^2 fast operations, a pass n p slow ones; working sets take a few
    passes, and then one for some penalties.
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
        return "columns" if p > GRAM_FEATURES else "gram"
    if rows.sparse:
        return "gram" if p <= GRAM_FEATURES or rows.entries / n <= 4 * passes else "columns"
    return "gram" if p <= max(GRAM_FEATURES, FEATURES_PER_PASS * passes) else "columns"


def _select_for_penalty(
    rows: Rows, penalty: SparsePenalty, intercept: bool, start: Floats | None
) -> tuple[str, ColumnsWithTargets | None]:
    """The method for one penalty, and the statistics where the choice has read them.

    Where samples in memory have both a Gram matrix and working sets within reach, the features whose correlation with
    the targets exceeds the penalty decide: about so many become active, and working sets form a Gram matrix of these.
    A sweep over very sparse columns costs less than one over a Gram matrix of them.
    """
    n, p = rows.shape
    method = select_method(rows, 1)
    memory = isinstance(rows, MemoryRows) and not rows.on_device
    if not memory or not GRAM_FEATURES < p <= min(n, GRAM_MAX_FEATURES) or (start is not None and start.any()):
        return method, None
    if rows.sparse and (method == "columns" or p * p > SPARSE_COST * rows.entries):
        return "columns", None
    aligned = fold_with_targets(rows)
    stats = aligned.columns
    correlation = aligned.products / stats.weight
    if not intercept:
        correlation = correlation + np.outer(stats.mean[p:], stats.mean[:p])
    if penalty.couples_targets or len(correlation) == 1:
        norms = dual_norm(correlation, penalty.positive)
    else:
        norms = np.abs(correlation).max(axis=0)
    active = int(np.count_nonzero(norms > penalty.l1))
    return ("gram" if ACTIVE_RATIO * active > p else "columns"), aligned


def from_moments(
    rows: Rows | None,
    moments: Moments,
    problem: Glm,
    settings: Settings,
    start: Floats | None = None,
    dtype: Any = np.float64,
) -> SparseFit:
    """Solve from moments; the rows, where they are at hand, are read again if the moments have lost too many digits."""
    _check_scale(moments)
    penalty = sparse_penalty(problem)
    centre = moments.mean if problem.intercept else None

    def judge(coef: Floats) -> tuple[Params, Gaps]:
        params = round_to_dtype(with_intercept(coef, moments, problem.intercept), dtype, centre)
        judged = lasso_gap_from_moments(problem, moments, params, tol=settings.tol, dtype=dtype)
        if rows is not None and judged.certificate.floor > 0.01 * judged.certificate.tol * judged.certificate.scale:
            columns = Columns.of(moments)
            judged = lasso_gap(problem, rows, params, columns, tol=settings.tol, moments=moments, dtype=dtype)
        return params, judged

    parts = parts_of(penalty, moments.yy.size)
    if start is not None and start.any():
        params, judged = judge(start)
        if _is_converged(judged):
            return to_fit(params, judged, [_at_start(params, judged)] * len(parts), "gram", moments)
    gram = Gram.of(moments, problem.intercept, couples_targets=penalty.couples_targets)
    results = [
        _minimise(gram, part, penalty, settings, start, _with_all_targets(settings.callback, part, moments, problem))
        for part in parts
    ]
    params, judged = judge(np.concatenate([solution.params.coef for solution, _ in results]))
    return to_fit(params, judged, results, "gram", moments)


def _is_converged(judged: Gaps) -> bool:
    """Whether the weights of a warm start have the gap that a fit aims at."""
    return judged.certificate.value <= GAP_FRACTION * judged.certificate.tol * judged.certificate.scale


def _at_start(params: Params, judged: Gaps) -> tuple[Solution, int]:
    """A solution that is the warm start, without a sweep."""
    return Solution(params, Status.CONVERGED, (Record(judged.certificate.objective, 0.0, 0.0),)), 0


def from_gram(
    rows: Rows,
    given: Floats,
    problem: Glm,
    settings: Settings,
    start: Floats | None = None,
    dtype: Any = np.float64,
) -> SparseFit | None:
    """Solve with a Gram matrix that is given (for sample weights that add up to n); judged by the rows. None where the
    features have means for which it does not account.
    """
    penalty = sparse_penalty(problem)
    aligned = fold_with_targets(rows)
    stats = aligned.columns
    p, n, weight = stats.features, rows.shape[0], stats.weight
    if problem.intercept and not np.allclose(stats.mean[:p], 0.0):
        return None
    # one entry is computed again, as scikit-learn does
    i = p // 2
    j = min(i + 1, p - 1)
    two = rows.whole().X[:, [i, j]]
    known = Moments.of(np.asarray(two, dtype=np.float64), None, rows.whole().weight)
    about = known.about(origin=not problem.intercept)[0] * n / weight
    expected = float(about[0, 1])
    if not np.isclose(expected, given[i, j], rtol=1e-4 if dtype == np.float32 else 1e-7, atol=1e-5):
        raise ValueError(
            "Gram matrix passed in via 'precompute' parameter did not pass validation when a single element was "
            f"checked - please check that it was computed properly. For element ({i},{j}) we computed {expected} but "
            f"the user-supplied value was {given[i, j]}."
        )
    data = Centred.of(rows, aligned, problem.intercept)
    C, yy = weight * data.xty, weight * np.sum(data.Y**2, axis=0)
    exponent = np.zeros(rows.targets, np.int64)
    gram = Gram(np.ascontiguousarray(given * (weight / n)), C, yy, np.ones(p), exponent, weight)
    results = [_minimise(gram, part, penalty, settings, start, None) for part in parts_of(penalty, rows.targets)]
    coef = np.concatenate([solution.params.coef for solution, _ in results])
    params = data.params(coef, dtype)
    judged = lasso_gap(problem, rows, params, stats, tol=settings.tol, dtype=dtype)
    return to_fit(params, judged, results, "gram")


def certify_path_from_moments(
    moments: Moments,
    problem: Glm,
    penalties: Sequence[SparsePenalty],
    settings: Settings,
    start: Floats | None = None,
    dtype: Any = np.float64,
) -> tuple[Path, Floats]:
    """A path without an intercept, and the gap at each penalty, of all targets together or of the first: at weights in
    the precision in which they are stored.
    """
    path = path_from_moments(moments, problem, penalties, settings, start)
    coef = path.coef.astype(dtype).astype(np.float64).reshape(-1, path.coef.shape[2])
    gaps = path_gaps(problem, moments, Params(coef, np.zeros(len(coef))), penalties)
    return path, gaps.reshape(len(penalties), -1)[:, 0]


def path_from_moments(
    moments: Moments,
    problem: Glm,
    penalties: Sequence[SparsePenalty],
    settings: Settings,
    start: Floats | None = None,
) -> Path:
    """Solve for every penalty, of the kind of the problem's, warm-started from the one before, from moments alone."""
    _check_scale(moments)
    kind = sparse_penalty(problem)
    gram = Gram.of(moments, problem.intercept, couples_targets=kind.couples_targets)
    results = [
        coordinate_descent.path(
            gram,
            part,
            penalties,
            tol=GAP_FRACTION * settings.tol,
            max_iter=settings.max_iter,
            start=None if start is None else start[part],
            seed=settings.seed,
        )
        for part in parts_of(kind, moments.yy.size)
    ]
    coef = np.concatenate([result.coef for result in results], axis=1)
    intercept = np.zeros(coef.shape[:2])
    if problem.intercept:
        mean = np.einsum("atp,p->at", coef, moments.mean)
        intercept = moments.target_mean - mean
    return Path(coef, intercept, np.stack([result.sweeps for result in results], axis=1))


def _by_passes(rows: Rows, problem: Glm, settings: Settings, start: Floats | None, dtype: Any) -> SparseFit:
    """Solvers by name that read the samples once or twice a step, wherever they are."""
    penalty = sparse_penalty(problem)
    stats = columns_statistics(rows)
    p = stats.features
    centre = stats.mean[:p] if problem.intercept else np.zeros(p)
    target_mean = stats.mean[p:] if problem.intercept else np.zeros(rows.targets)
    tol = GAP_FRACTION * settings.tol
    if settings.solver == "uv":
        assert isinstance(penalty, ElasticNet)
        path = online_lasso.steps(penalty, problem.intercept, rows, stats, tol, start)
    else:
        path = _gradient_steps(penalty, Squares(rows, centre, target_mean), tol, start, settings.solver == "fista")
    solution = run(path, settings.max_iter, settings.time_limit, settings.callback)
    mean = solution.params.coef.astype(np.longdouble) @ centre.astype(np.longdouble)
    params = round_to_dtype(
        Params(solution.params.coef, np.asarray(target_mean - mean, dtype=np.float64)), dtype, centre
    )
    judged = lasso_gap(problem, rows, params, stats, tol=settings.tol, dtype=dtype)
    count = len(parts_of(penalty, rows.targets))
    return to_fit(params, judged, [(solution, solution.iterations)] * count, settings.solver)


def _gradient_steps(
    penalty: SparsePenalty, objective: Squares, tol: float, start: Floats | None, momentum: bool
) -> Iterator[Step]:
    """ISTA or FISTA for all targets at once, until every gap is at most `tol` times the mean square of its target."""
    t, p = len(objective.target_mean), objective.rows.shape[1]
    zero = np.zeros(t * p)
    scale = objective.read(zero).parts
    assert scale is not None
    parts = parts_of(penalty, t)
    allowed = np.array([tol * 2.0 * float(scale[part].sum()) or TINY for part in parts])

    def measure(x: Floats, here: Reading) -> float:
        assert here.parts is not None
        w, correlation = x.reshape(t, p), -here.gradient.reshape(t, p)
        squares = [2.0 * float(here.parts[part].sum()) for part in parts]
        gaps = [duality_gap(penalty, w[part], correlation[part], s) for part, s in zip(parts, squares, strict=True)]
        return float(np.max(gaps / allowed))

    first = zero if start is None else start.ravel()
    path = fista.steps(objective, ReshapedPenalty(penalty, t), first, measure, momentum=momentum)
    return map_params(path, lambda x: Params(x.reshape(t, p), np.zeros(t)))


def xty_of_moments(moments: Moments, intercept: bool) -> Floats:
    """X'y (t, p) in mean units, centred where there is an intercept."""
    p, e = moments.features, moments.exponent.astype(np.int64)
    with np.errstate(over="ignore"):
        return np.ldexp(moments.about(origin=not intercept)[1].T, e[:p] + e[p:, None]) / moments.weight


def _by_columns(
    rows: Rows,
    problem: Glm,
    settings: Settings,
    start: Floats | None,
    dtype: Any,
    aligned: ColumnsWithTargets | None,
) -> SparseFit:
    """Working sets of features, judged by a pass over the samples. The solver takes X'r and |r|^2 at its weights from
    the judge, so that a pass that finds the gap too large serves both.
    """
    penalty, aligned = sparse_penalty(problem), fold_with_targets(rows) if aligned is None else aligned
    data = Centred.of(rows, aligned, problem.intercept)
    last: list[tuple[Params, Gaps]] = []

    def judge(params: Params, thorough: bool) -> Gaps:
        return lasso_gap(problem, rows, params, aligned.columns, tol=settings.tol, thorough=thorough, dtype=dtype)

    def read(coef: Floats) -> tuple[Floats, float]:
        params = data.params(coef, dtype)
        gaps = judge(params, thorough=False)
        last[:] = [(params, gaps)]
        return gaps.correlation, float(np.sum(gaps.squares))

    if start is not None and start.any():
        params = data.params(start, dtype)
        gaps = judge(params, thorough=False)
        if _is_converged(gaps):
            return to_fit(params, gaps, [_at_start(params, gaps)] * len(gaps.gaps), "columns")
    single = len(parts_of(penalty, rows.targets)) == 1 and dtype == np.float64
    path, results = data.path(problem, [penalty], settings, start, read if single else None)
    if last and last[0][1].certificate.ok:
        params, gaps = last[0]
    else:
        params = data.params(path.coef[0], dtype)
        gaps = judge(params, thorough=True)
    solutions = []
    for result in results:
        measure = float(result.gaps[0]) / max(GAP_FRACTION * settings.tol, TINY)
        cut = int(result.sweeps[0]) >= settings.max_iter
        status = Status.CONVERGED if measure <= 1.0 else Status.MAX_ITER if cut else Status.STALLED
        trace = (Record(gaps.certificate.objective, measure, 0.0),)
        solutions.append((Solution(params, status, trace), int(result.sweeps[0])))
    return to_fit(params, gaps, solutions, "columns")


def _check_scale(moments: Moments) -> None:
    """Refuse features beyond 1e154, whose squares overflow; beside them no penalty counts."""
    squares, exponent = np.diag(moments.XX), moments.exponent[: moments.features]
    if exponent.any():
        with np.errstate(over="ignore"):
            squares = np.ldexp(squares, 2 * exponent.astype(np.int64))
    if not np.isfinite(squares).all():
        raise ValueError(TOO_LARGE)


def _minimise(
    gram: Gram,
    part: slice,
    penalty: SparsePenalty,
    settings: Settings,
    start: Floats | None,
    callback: Callback | None,
) -> tuple[Solution, int]:
    """The solution of one problem, and its sweeps."""
    sweeps = coordinate_descent.Sweeps()
    path = coordinate_descent.steps(
        gram,
        part,
        penalty,
        tol=GAP_FRACTION * settings.tol,
        max_iter=settings.max_iter,
        start=None if start is None else start[part],
        seed=settings.seed,
        sweeps_per_step=SWEEPS_PER_STEP,
        sweeps=sweeps,
    )
    return run(path, settings.max_iter, settings.time_limit, callback), sweeps.count


def _with_all_targets(callback: Callback | None, part: slice, moments: Moments, problem: Glm) -> Callback | None:
    """A callback that receives the parameters of all targets, zero for those that are not in `part`."""
    if callback is None:
        return None

    def extended(record: Record, params: Params) -> bool:
        coef = np.zeros((moments.yy.size, moments.features))
        coef[part] = params.coef
        return callback(record, with_intercept(coef, moments, problem.intercept))

    return extended


def to_fit(
    params: Params, judged: Gaps, results: Sequence[tuple[Solution, int]], method: str, moments: Moments | None = None
) -> SparseFit:
    """The fit of all targets; where the judge accepts it, it has converged, whatever the status of the solver."""
    sweeps = np.array([count for _, count in results])
    worst = max((solution for solution, _ in results), key=lambda solution: solution.trace[-1].measure)
    status = worst.status
    if judged.certificate.ok and status in (Status.STALLED, Status.MAX_ITER):
        status = Status.CONVERGED
    elif not judged.certificate.ok and status is Status.CONVERGED:
        status = Status.STALLED
    certificate = judged.certificate
    return SparseFit(
        params,
        certificate if certificate.status == status.value else replace(certificate, status=status.value),
        method,
        iterations=int(sweeps.max(initial=0)),
        trace=max((solution.trace for solution, _ in results), key=len),
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
