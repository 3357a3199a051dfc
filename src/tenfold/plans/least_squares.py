"""Least squares with a ridge: the Gram matrix from one fold, the n x n system for wide data, conjugate gradients for
both large.

Each result is judged by a second pass over the rows, whose gradient gives a correction step where the Gram matrix is
ill-conditioned. Where columns are linearly dependent, its eigenvectors are used if the rows confirm them; otherwise the
rows are read again for a QR factorisation.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import lapack, lstsq

from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows
from tenfold.inference import BEYOND, COLLINEAR, Inference, inverse_gram, least_squares_inference
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.least_squares import Verdict, residual, residual_from_moments
from tenfold.losses.regression import Square
from tenfold.machine import one_blas_thread, require_memory
from tenfold.objectives.least_squares import NormalEquations
from tenfold.penalties import L2
from tenfold.plans.result import Fitted, round_to_dtype
from tenfold.problems import Glm
from tenfold.solvers import conjugate_gradient, dual_ridge, nnls, normal_equations, rank_revealing_qr
from tenfold.solvers.loop import Callback, Solution, Status, map_params, run
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, inner_products
from tenfold.stats.moments import Moments

# Reciprocal condition below which a Gram matrix is not used: its square root is where a correction step stops helping.
SINGULAR = 1e-12

DOUBTFUL = 1e-6  # reciprocal condition below which a correction step is always taken

PASSES = 40  # of conjugate gradients, typically; for the choice of a system

DENSE_SPEED = 8.0  # products of a dense factorisation that take as long as one of sparse samples

KEPT_COLUMNS = 2048  # up to which the covariance of the coefficients is stored for inference

DENSE_COLUMNS, SPARSE_COLUMNS = 11_000, 2_048  # columns (rows, for wide data) up to which a square matrix is formed


CORRECTIONS = 4  # largest number of Newton corrections of nonnegative weights that are not certified


def ridge_problem(alpha: Floats, weight: float, intercept: bool, positive: bool = False) -> Glm:
    """||root (y - Xw - b)||^2 + alpha ||w||^2 as a mean loss: divided by twice the weight."""
    return Glm(Square(), L2(alpha / weight, positive), intercept)


def select_solver(rows: Rows, iterate: bool) -> str:
    """Select the system that is solved: "gram" (p x p), "dual" (n x n) or "conjugate" (neither is formed).

    Sparse rows go by cost, where it is allowed to `iterate`: a matrix takes about entries^2 / n + p^3 / 3 products, an
    iteration four an entry. Rows on several machines are never brought together for an n x n
    system.
    """
    n, p = rows.shape
    if rows.distributed:
        return "gram" if p <= DENSE_COLUMNS else "conjugate"
    limit = SPARSE_COLUMNS if rows.sparse else DENSE_COLUMNS
    small = min(n, p)
    if small > limit or (iterate and rows.sparse and _passes_of_gram(rows) > PASSES):
        return "conjugate"
    return "gram" if p <= n else "dual"


def _fits(rows: Rows) -> bool:
    """Whether the smaller square matrix of sparse rows on this machine may be formed."""
    return not rows.distributed and min(rows.shape) <= SPARSE_COLUMNS


def _passes_of_gram(rows: Rows) -> float:
    """The cost of a Gram matrix of sparse samples and its factor, in iterations of conjugate gradients."""
    n, p = rows.shape
    return (rows.entries**2 / max(n, p) + min(n, p) ** 3 / 3) / (4.0 * max(rows.entries, 1))


def fold_moments(rows: Rows) -> Moments:
    """The moments of one pass; raises where rows are not finite."""
    p = rows.shape[1]
    require_memory(
        f"The {p} x {p} matrix of second moments",
        24 * p * p,
        "Use fewer columns, or a sparse X with solver='sparse_cg'.",
    )
    moments = rows.fold(Moments.lift)
    if not (np.isfinite(moments.XX).all() and np.isfinite(moments.XY).all()):
        raise NotFinite
    return moments


def fit(
    rows: Rows,
    alpha: Floats,
    intercept: bool,
    *,
    solver: str | None = None,
    positive: bool = False,
    tol: float = 1e-4,
    max_iter: int | None = None,
    callback: Callback | None = None,
    dtype: Any = np.float64,
    details: bool = False,
    wide_coef: Floats | None = None,
) -> Fitted:
    """Fit each target t with its alpha[t]; `dtype` is that in which the result is kept, and judged.

    `wide_coef` are known weights of wide data; they are judged, and recomputed where they are not certified.
    """
    if positive:
        return _nonnegative(rows, alpha, intercept, max_iter, dtype)
    automatic, solver = solver is None, select_solver(rows, iterate=rows.sparse) if solver is None else solver
    if solver == "conjugate" and automatic and max_iter is None and rows.sparse and _fits(rows):
        most = max(4 * PASSES, int(_passes_of_gram(rows) / DENSE_SPEED))
        fitted = _conjugate(rows, alpha, intercept, tol, min(most, 10 * min(rows.shape)), callback, dtype)
        if fitted.certificate.ok or fitted.certificate.status in (Status.STOPPED.value, Status.INTERRUPTED.value):
            return fitted
        solver = "gram" if rows.shape[1] <= rows.shape[0] else "dual"  # too ill-conditioned: a factor takes no longer
    if solver == "gram":
        return from_moments(rows, fold_moments(rows), alpha, intercept, dtype=dtype, details=details)
    if solver == "dual":
        return _dual(rows, alpha, intercept, dtype, wide_coef)
    return _conjugate(rows, alpha, intercept, tol, max_iter, callback, dtype)


def from_moments(
    rows: Rows, moments: Moments, alpha: Floats, intercept: bool, *, dtype: Any = np.float64, details: bool = False
) -> Fitted:
    """Solve from moments of `rows`, judge by the rows, and correct."""
    columns = Columns.of(moments)
    centre = columns.centre(intercept)
    problem = ridge_problem(alpha, moments.weight, intercept)
    cholesky = normal_equations.factor(moments, alpha, intercept)
    if cholesky is None or cholesky.rcond < SINGULAR:
        return _orthogonal(rows, moments, problem, alpha, intercept, dtype, details)
    condition = cholesky.rcond**-0.5
    params = round_to_dtype(normal_equations.solve(moments, cholesky, intercept), dtype, centre)
    verdict = residual(problem, rows, params, columns, condition=condition, dtype=dtype)
    if cholesky.rcond < DOUBTFUL or verdict.cosine > max(1e-10, 16.0 * verdict.certificate.floor):
        # the gradient of the stored parameters: the correction starts from them
        better = normal_equations.correct(params, cholesky, verdict.gradient, moments, intercept)
        better = round_to_dtype(better, dtype, centre)
        second = residual(problem, rows, better, columns, condition=condition, dtype=dtype)
        if not _worse(second.certificate, verdict.certificate):
            params, verdict = better, second
    if not verdict.orthogonal:
        return _orthogonal(rows, moments, problem, alpha, intercept, dtype, details)
    return _by_gram(params, verdict, moments, intercept, details)


def _by_gram(params: Params, verdict: Verdict, moments: Moments, intercept: bool, details: bool) -> Fitted:
    return Fitted(
        params,
        verdict.certificate,
        "gram",
        moments=moments,
        residual_squares=verdict.residual_squares,
        singular_values=_singular_values(moments, intercept) if details else None,
        rank=moments.features if details else None,
        inverse=inverse_gram(moments, origin=not intercept) if details and moments.features <= KEPT_COLUMNS else None,
    )


def _worse(new: Certificate, old: Certificate) -> bool:
    """Whether a correction increased the residual above its floor."""
    return new.value > max(old.value, 1.01 * new.floor)


def _singular_values(moments: Moments, intercept: bool) -> Floats:
    S = moments.about(origin=not intercept)[0]
    e = moments.exponent[: moments.features]
    # a common power of two, so that the largest is about one
    unit = int(np.max(e + np.frexp(np.sqrt(np.diag(S)))[1], initial=0))
    with one_blas_thread:
        values, _, info = lapack.dsyevd(np.ldexp(S, e[:, None] + e - 2 * unit), compute_v=0)
    if info != 0:
        raise np.linalg.LinAlgError("the eigenvalues of the moments were not found")
    return np.ldexp(np.sqrt(np.maximum(values[::-1], 0.0)), unit)


def _orthogonal(
    rows: Rows, moments: Moments, problem: Glm, alpha: Floats, intercept: bool, dtype: Any, details: bool
) -> Fitted:
    scales = normal_equations.column_scales(moments, alpha, origin=not intercept)
    quick = None if alpha.any() else rank_revealing_qr.factor_gram(rows, moments, scales, intercept)
    if quick is not None:
        fitted, orthogonal = _solve_decomposed(quick, rows, moments, problem, intercept, dtype, details)
        if orthogonal:
            return fitted
    factor = rank_revealing_qr.factor(rows, moments, scales, alpha, intercept)
    return _solve_decomposed(factor, rows, moments, problem, intercept, dtype, details)[0]


def _solve_decomposed(
    factor: rank_revealing_qr.Orthogonal,
    rows: Rows,
    moments: Moments,
    problem: Glm,
    intercept: bool,
    dtype: Any,
    details: bool,
) -> tuple[Fitted, bool]:
    """Solve by a decomposition, judge, and correct while that helps; with whether the residual is orthogonal."""
    columns = Columns.of(moments)
    centre = columns.centre(intercept)
    params = normal_equations.with_intercept(rank_revealing_qr.solve(factor, moments), moments, intercept)
    condition = factor.condition
    verdict = residual(problem, rows, round_to_dtype(params, dtype, centre), columns, condition=condition, dtype=dtype)
    for _ in range(2):
        coef = rank_revealing_qr.correct(factor, round_to_dtype(params, dtype, centre).coef, verdict.gradient)
        better = normal_equations.with_intercept(coef, moments, intercept)
        second = residual(
            problem, rows, round_to_dtype(better, dtype, centre), columns, condition=condition, dtype=dtype
        )
        if _worse(second.certificate, verdict.certificate):
            break
        params, verdict = better, second
    fitted = Fitted(
        round_to_dtype(params, dtype, centre),
        verdict.certificate,
        "svd",
        moments=moments,
        residual_squares=verdict.residual_squares,
        singular_values=rank_revealing_qr.singular_values(factor) if details else None,
        rank=factor.rank,
        inverse=rank_revealing_qr.inverse_gram(factor)
        if details and factor.rank == moments.features <= KEPT_COLUMNS
        else None,
    )
    return fitted, verdict.orthogonal


def _dual(rows: Rows, alpha: Floats, intercept: bool, dtype: Any, known: Floats | None) -> Fitted:
    columns = _columns(rows)
    p = columns.features
    centre = columns.centre(intercept)
    target_mean = columns.mean[p:] if intercept else np.zeros(alpha.size)
    problem = ridge_problem(alpha, columns.weight, intercept)
    if known is not None:
        params = Params(known, target_mean - known @ centre)
        verdict = residual(problem, rows, round_to_dtype(params, dtype, centre), columns, dtype=dtype)
        if verdict.orthogonal:
            return Fitted(round_to_dtype(params, dtype, centre), verdict.certificate, "dual")
    _, coef, condition = dual_ridge.solve(dual_ridge.centre_samples(rows, centre, target_mean), alpha)
    params = Params(coef, target_mean - coef @ centre)
    verdict = residual(problem, rows, round_to_dtype(params, dtype, centre), columns, condition=condition, dtype=dtype)
    if not verdict.orthogonal and columns.features <= KEPT_COLUMNS:
        # the n x n matrix has lost too many digits, and a triangular factor of the rows is affordable
        return from_moments(rows, fold_moments(rows), alpha, intercept, dtype=dtype)
    return Fitted(round_to_dtype(params, dtype, centre), verdict.certificate, "dual")


def _columns(rows: Rows) -> Columns:
    columns = rows.fold(Columns.lift)
    if not np.isfinite(columns.spread).all():
        raise NotFinite
    return columns


def _sides(system: NormalEquations, squares: Floats) -> tuple[Floats, Floats, Floats]:
    """The right sides of a system whose columns have these `squares`, its diagonals, and its energy at zero."""
    right, energy = system.right()
    return right, squares + system.alpha[:, None], energy


def _conjugate(
    rows: Rows, alpha: Floats, intercept: bool, tol: float, max_iter: int | None, callback: Callback | None, dtype: Any
) -> Fitted:
    columns = _columns(rows)
    p = columns.features
    centre = columns.centre(intercept)
    target_mean = columns.mean[p:] if intercept else np.zeros(alpha.size)
    squares = columns.lengths(origin=not intercept)[0] ** 2
    # below what the judge allows, and lower where a tolerance below the usual one asks for it
    enough = 0.3 * min(1e-2 * tol if alpha.any() else tol, RULES["residual"].tol)
    system = NormalEquations(rows, alpha, centre, target_mean)
    # without a penalty a target that is interpolated up to the tolerance is fitted, too
    interpolated = 0.0 if alpha.any() else enough**2
    path = conjugate_gradient.steps(system.product, *_sides(system, squares), enough, interpolated)
    path = map_params(path, lambda w: Params(w, target_mean - inner_products(w, centre)))
    most = 10 * min(rows.shape) if max_iter is None else max_iter
    solution = run(path, most, callback=callback)
    problem = ridge_problem(alpha, columns.weight, intercept)
    verdict = residual(
        problem,
        rows,
        round_to_dtype(solution.params, dtype, centre),
        columns,
        status=solution.status.value,
        dtype=dtype,
    )
    return Fitted(
        round_to_dtype(solution.params, dtype, centre),
        verdict.certificate,
        "conjugate",
        iterations=solution.iterations,
        trace=solution.trace,
    )


def without_rows(
    moments: Moments, alpha: Floats, intercept: bool, *, positive: bool = False, max_iter: int | None = None
) -> Fitted:
    """Solve from moments alone; the certificate notes that the rows were not read."""
    problem = ridge_problem(alpha, moments.weight, intercept, positive)
    if positive:
        params, worst = _active_sets(moments, alpha, intercept, max_iter)
        certificate = residual_from_moments(problem, moments, params).certificate
        certificate = replace(certificate, status=worst.status.value)
        return Fitted(params, certificate, "active set", worst.iterations, worst.trace, moments)
    cholesky = normal_equations.factor(moments, alpha, intercept)
    if cholesky is None or cholesky.rcond < SINGULAR:
        params, condition = normal_equations.solve_min_norm(moments, alpha, intercept)
        verdict = residual_from_moments(problem, moments, params, condition=condition)
        return Fitted(params, verdict.certificate, "svd", moments=moments)
    condition = cholesky.rcond**-0.5
    params = normal_equations.solve(moments, cholesky, intercept)
    verdict = residual_from_moments(problem, moments, params, condition=condition)
    better = normal_equations.correct(params, cholesky, verdict.gradient, moments, intercept)
    second = residual_from_moments(problem, moments, better, condition=condition)
    if not _worse(second.certificate, verdict.certificate):
        params, verdict = better, second
    return _by_gram(params, verdict, moments, intercept, details=not alpha.any())


def _active_sets(moments: Moments, alpha: Floats, intercept: bool, max_iter: int | None) -> tuple[Params, Solution]:
    """Nonnegative weights for every target, and the solution with the worst convergence."""
    limit = 10 * moments.features + 10 if max_iter is None else max_iter
    scales = normal_equations.column_scales(moments, alpha, origin=not intercept)
    solutions = [run(nnls.steps(moments, scales, float(a), t, intercept), limit) for t, a in enumerate(alpha)]
    params = Params(
        np.concatenate([s.params.coef for s in solutions]), np.concatenate([s.params.intercept for s in solutions])
    )
    worst = max(solutions, key=lambda s: s.trace[-1].measure)
    return params, replace(worst, trace=max((s.trace for s in solutions), key=len))


def _nonnegative(rows: Rows, alpha: Floats, intercept: bool, max_iter: int | None, dtype: Any) -> Fitted:
    moments = fold_moments(rows)
    params, worst = _active_sets(moments, alpha, intercept, max_iter)
    problem, columns = ridge_problem(alpha, moments.weight, intercept, positive=True), Columns.of(moments)

    def round_and_judge(params: Params) -> tuple[Params, Verdict]:
        kept = round_to_dtype(params, dtype, columns.centre(intercept))
        return kept, residual(problem, rows, kept, columns, status=worst.status.value, dtype=dtype)

    kept, verdict = round_and_judge(params)
    for _ in range(CORRECTIONS):
        if verdict.certificate.ok:
            break
        # the cosine of a residual that is only rounding is meaningless
        again = round_and_judge(_correct_active(moments, alpha, kept, verdict.gradient, intercept))
        if not again[1].certificate.objective < verdict.certificate.objective:
            break
        kept, verdict = again
    return Fitted(
        kept,
        verdict.certificate,
        "active set",
        iterations=worst.iterations,
        trace=worst.trace,
        moments=moments,
    )


def _correct_active(moments: Moments, alpha: Floats, params: Params, gradient: Floats, intercept: bool) -> Params:
    """One Newton step on the positive weights, with the gradient of the rows."""
    p, coef = moments.features, params.coef.copy()
    S = moments.about(origin=not intercept)[0]
    e = moments.exponent[:p].astype(np.int64)
    for t, a in enumerate(alpha):
        inside = np.flatnonzero(coef[t] > 0.0)
        A = S[np.ix_(inside, inside)] + np.diag(np.ldexp(a, -2 * e[inside]))
        with one_blas_thread:
            step = lstsq(A, np.ldexp(gradient[t, inside], -e[inside]))[0] if inside.size else np.zeros(0)
        coef[t, inside] = np.maximum(coef[t, inside] - np.ldexp(step, -e[inside]), 0.0)
    return normal_equations.with_intercept(coef, moments, intercept)


def infer(fitted: Fitted, intercept: bool, names: tuple[str, ...]) -> tuple[Inference, ...] | str:
    """Classical inference for each target of an unpenalised fit, or the reason why there is none."""
    moments = fitted.moments
    if moments is None and fitted.method == "conjugate":
        return "Sparse samples were fitted by iterations, which leave no covariance. Convert X to a dense array."
    if moments is None or fitted.residual_squares is None or moments.count <= moments.features + intercept:
        return (
            "There are not more rows than coefficients: standard errors do not exist. Use more rows or fewer columns."
        )
    if fitted.inverse is None:
        if moments.features > KEPT_COLUMNS:
            return (
                f"With more than {KEPT_COLUMNS} columns the covariance of the coefficients is not kept. Fit on fewer "
                "columns."
            )
        return COLLINEAR
    if not np.isfinite(fitted.inverse).all():
        return BEYOND
    targets = zip(fitted.params.coef, fitted.params.intercept, fitted.residual_squares, strict=True)
    return tuple(
        least_squares_inference(moments, fitted.inverse, t, float(rss), w, float(b) if intercept else None, names)
        for t, (w, b, rss) in enumerate(targets)
    )
