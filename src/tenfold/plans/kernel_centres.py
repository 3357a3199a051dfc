"""Kernel least squares on centres: the choice of penalty and kernel by hold-out, the solve, and the certificate.

    min over c, b:  1/2 sum_i s_i (y_i - b - (K c)_i)^2 + lambda/2 c'K_mm c,    s_i = weight_i / sum of weights.

Centres that others represent to working precision are left out, so that K_mm has a Cholesky factor: a pivoted factor
stops where what is left of every k(z, z) is below 10 (m + 2) u tr K_mm, ten times what the judge asks for.
Candidates of the penalty share every pass over the training samples, since each tile of the kernel serves all of them;
candidates of the kernel take turns. The fit to all samples starts where that to the training samples ended.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from tenfold.arrays import Array, Floats, Integers, NotFinite, is_sparse, namespace, on_host, some_rows, take_rows
from tenfold.data import Block, MaybeDeferred, MemoryRows, Rows, weights_of
from tenfold.judge import kernel_centres as judge
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel, width_grid
from tenfold.linear_algebra import cholesky, factor_with_pivots, solve_lower
from tenfold.machine import interrupted, one_blas_thread, require_memory, run_concurrently
from tenfold.objectives.kernel_tiles import (
    Sums,
    apply_twice,
    select_group,
    square_errors,
    sum_tiles,
    times,
    times_transposed,
    weigh_targets,
)
from tenfold.plans.centres import choose_centres
from tenfold.plans.kmeans import load_sample
from tenfold.plans.result import ATTEMPTS, not_judged
from tenfold.solvers import falkon
from tenfold.solvers.loop import Callback, Record, Solution, Status, run
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.string_codes import is_encoded

U = 2.0**-53
OVERFLOW = "The kernel of these samples overflows. Divide the features by their largest value, or use another kernel."
CENTRES_PER_ROOT = 10.0  # of the number of samples: what optimal rates ask for, but for logarithms (Rudi et al. 2017)
MOST_CENTRES = 4000  # without a number: factors of K_mm take some hundreds of megabytes and seconds
SAMPLES_PER_CENTRE = 4  # of the preconditioner, at least
STEPS_SPENT = 10.0  # as much time as so many steps of the solver go into the preconditioner
STEP_COST = 25.0  # a kernel value and its products, in pairs of operations of BLAS
LOADED_VALUES = 1 << 25  # of samples that are loaded for it from files or from a cluster: 256 MiB
LEAST_TILE = 512
ROUNDING_OF_PRODUCTS = 64.0  # of K'K, in roundoffs of its trace
TILE_BYTES = 1 << 28  # of its tiles that are computed together, each of which has a matrix of its own
FACTOR_BYTES = 1 << 29  # of the preconditioners of penalties that are solved together
STOP = 0.5  # of the tolerance of the certificate, whose bound has rounding, too
TRAIN, HOLD_OUT = 0, 1
HOLD_OUT_TOL = 1e-4  # of the objective at zero: errors of candidates need not be known better
GRID = np.logspace(-10.0, -1.0, 10)  # penalties, as parts of k(z, z)
WIDTHS, WIDTH_SAMPLES = 6, 1000


@dataclass(frozen=True)
class CentreRequest:
    """Which centres: points (m, p), or how many samples (None: ten times the root of their number) chosen how."""

    points: Array | None = None
    count: int | None = None
    method: str = "uniform"

    def choose(self, rows: Rows, kernel: Kernel, random: Any, ridge: float | None = None) -> Array:
        """The centres, where the samples are."""
        if self.points is not None:
            return self.points
        n = rows.shape[0]
        count = min(MOST_CENTRES, int(np.ceil(CENTRES_PER_ROOT * np.sqrt(n)))) if self.count is None else self.count
        if self.count is not None and count > n:
            raise ValueError(f"{count} centres need as many samples, and there are {n}: ask for fewer centres.")
        chosen = choose_centres(rows, count, self.method, random=random, kernel=kernel, ridge=ridge).samples
        # means of sparse samples are dense, and tiles are of one storage
        return sparse.csr_array(chosen) if rows.sparse and not is_sparse(chosen) else chosen

    def describe(self, count: int) -> str:
        """The centres in words."""
        if self.points is not None:
            return f"the given centres, {count}"
        how = {"uniform": "drawn at random", "kmeans": "means of k-means", "leverage": "drawn by leverage scores"}
        return f"{count} centres, {how[self.method]}"


@dataclass(frozen=True)
class Settings:
    """Intercept, tolerance of the certificate, limit of the steps, the fraction of samples that are held out, and the
    source of random numbers.
    """

    intercept: bool
    tol: float
    max_iter: int
    fraction: float
    random: Any


@dataclass(frozen=True)
class CentreFit:
    """Params of centres (m, p), in float64, the penalty and the number of the kernel that were taken, and the
    errors of all candidates (kernels, penalties) on the samples that were held out, None without a choice.
    """

    params: Params
    centres: Array
    kernel: Kernel
    penalty: Any
    candidates: Floats | None
    errors: Floats | None
    certificate: Certificate
    iterations: int
    trace: tuple[Record, ...]


@dataclass(frozen=True)
class Basis:
    """Independent centres: K_rr = L L'."""

    kernel: Kernel
    centres: Array
    L: Floats

    def to_coefficients(self, u: Floats) -> Floats:
        """c = L'^-1 u."""
        return solve_lower(self.L, u, transposed=True)

    def to_coordinates(self, c: Floats) -> Floats:
        """u = L'c."""
        with one_blas_thread:
            return times(np.ascontiguousarray(self.L.T), c)


def make_basis(kernel: Kernel, centres: Array) -> Basis:
    """Centres without those that others represent to working precision."""
    m = centres.shape[0]
    advice = "Take fewer centres."
    require_memory(f"The kernel of {m} centres and its factors", 64 * m * m, advice)
    K = np.asarray(on_host(kernel.block(centres)), dtype=np.float64)
    if not np.isfinite(K).all():
        raise NotFinite(OVERFLOW)
    tol = 10.0 * (m + 2) * U * float(np.trace(K))
    F, order, rank = factor_with_pivots(K, tol)
    if not rank:
        raise ValueError("The kernel of the centres is zero: no function of them differs from zero.")
    kept = take_rows(centres, order[:rank]) if rank < m else take_rows(centres, order)
    return Basis(kernel, kept, np.asfortranarray(F[:rank]))


def _draw_sample(rows: Rows, basis: Basis, random: Any) -> MemoryRows:
    """Samples drawn at random for the preconditioner: as many as cost some steps of the solver, which they save where
    the penalty is small; all samples where centres are few, and then a step or two are left.
    """
    (n, p), r = rows.shape, len(basis.L)
    count = min(n, max(SAMPLES_PER_CENTRE * r, int(STEPS_SPENT * STEP_COST * n / r)))
    if isinstance(rows, MemoryRows):
        sample = rows
    else:
        count = min(count, max(SAMPLES_PER_CENTRE * r, LOADED_VALUES // p))
        sample = load_sample(rows, count)
    inside = np.arange(sample.shape[0])
    if sample.weight is not None:
        inside = np.flatnonzero(np.asarray(on_host(sample.weight)) > 0.0)
    index = inside if inside.size <= count else np.sort(random.choice(inside, count, replace=False))
    if index.size == sample.shape[0]:
        return MemoryRows(sample.X, sample.y, sample.weight)
    weight = None if sample.weight is None else take_rows(sample.weight, index)
    return MemoryRows(take_rows(sample.X, index), take_rows(sample.y, index), weight)


def _estimate_products(basis: Basis, sample: MemoryRows, intercept: bool) -> Floats:
    """The matrix H (r, r) of the solver, of a sample: the mean of v v' for v = L^-1 k(x), about its mean."""
    if sample.on_device:
        return _estimate_on_device(basis, sample, intercept)
    n, r = sample.shape[0], len(basis.L)
    step = max(r, LEAST_TILE)
    cuts = [slice(start, min(n, start + step)) for start in range(0, n, step)]

    def tile(cut: slice) -> tuple[Floats, Floats, float]:
        K = np.asarray(on_host(basis.kernel.block(some_rows(sample.X, cut), basis.centres)), dtype=np.float64)
        w = np.ones(len(K)) if sample.weight is None else np.asarray(sample.weight[cut])
        V = solve_lower(basis.L, np.asfortranarray(K.T))
        V *= np.sqrt(w)
        return np.asarray(blas.dsyrk(1.0, V, lower=1)), V @ np.sqrt(w), float(np.sum(w))

    H, mean, weight = np.zeros((r, r), order="F"), np.zeros(r), 0.0
    with one_blas_thread:
        together = max(2, min(16, TILE_BYTES // (8 * r * r)))
        for start in range(0, len(cuts), together):
            for more, move, count in run_concurrently(tile, cuts[start : start + together], n * r):
                H += more
                mean, weight = mean + move, weight + count
    H /= weight
    return np.asarray(blas.dsyr(-1.0, mean / weight, a=H, lower=1, overwrite_a=1)) if intercept else H


def _estimate_on_device(basis: Basis, sample: MemoryRows, intercept: bool) -> Floats:
    """The same from K'K, which a device multiplies and the host transforms. Its rounding, which L^-1 magnifies, is
    added to the diagonal, as H must not have negative eigenvalues.
    """
    lift = sum_tiles(basis.kernel, basis.centres, _sum_products)
    sums: Sums = sample.fold(lift)
    G, k, (weight,) = sums.parts
    mean = k[:, 0] / weight
    G = G / weight - np.outer(mean, mean) if intercept else G / weight
    H = solve_lower(basis.L, np.ascontiguousarray(solve_lower(basis.L, G).T))
    noise = ROUNDING_OF_PRODUCTS * U * float(np.trace(G)) / float(np.min(np.diag(basis.L))) ** 2
    H[np.arange(len(H)), np.arange(len(H))] += noise
    return H


def _sum_products(K: Array, block: Block) -> tuple[Array, ...]:
    """K' w K, K' w (m, 1) and the sum of w (1,)."""
    w = weights_of(block)
    return times_transposed(K, w[:, None] * K), times_transposed(K, w[:, None]), namespace(w).sum(w)[None]


def _make_preconditioner(H: Floats, penalties: Floats) -> Callable[[Floats], Floats]:
    """Maps residuals (r, q) to steps, by a factor of H + penalty for each."""
    diagonal = np.arange(len(H))
    distinct, place = np.unique(penalties, return_inverse=True)
    factors = []
    for penalty in distinct:
        before = H[diagonal, diagonal]
        H[diagonal, diagonal] += penalty
        factors.append(cholesky(H))
        H[diagonal, diagonal] = before
    return partial(_precondition, factors, place)


def _precondition(factors: list[Floats | None], place: Integers, V: Floats) -> Floats:
    steps = np.empty_like(V)
    for k, factor in enumerate(factors):
        columns = place == k
        part = np.asfortranarray(V[:, columns])
        steps[:, columns] = part if factor is None else solve_lower(factor, solve_lower(factor, part), transposed=True)
    return steps


@dataclass(frozen=True)
class _Problem:
    """Samples of one group (None: all) with the moments of their targets."""

    rows: Rows
    group: int | None
    intercept: bool
    weight: float
    means: Floats
    values: Floats
    """The objectives at zero coefficients (t,)."""
    scales: Floats
    """Those that the certificate divides by: of targets that do not vary, their mean squares."""

    def fold(self, basis: Basis, work: Any) -> tuple[Floats, ...]:
        sums: Sums = self.rows.fold(sum_tiles(basis.kernel, basis.centres, work, self.group))
        if not all(np.isfinite(part).all() for part in sums.parts):
            raise NotFinite(OVERFLOW)
        return sums.parts


def _read(rows: Rows, group: int | None, intercept: bool) -> _Problem:
    """One pass over the targets."""
    columns: Columns = rows.fold(partial(_columns_of_group, group))
    p = columns.features
    if not (np.isfinite(columns.mean).all() and np.isfinite(columns.spread).all()):
        raise NotFinite
    means = columns.mean[p:] if intercept else np.zeros(len(columns.mean) - p)
    spread = columns.target_lengths(origin=not intercept) ** 2 / columns.weight
    raw = columns.target_lengths(origin=True) ** 2 / columns.weight
    scale = 0.5 * np.where(spread > (64.0 * U) ** 2 * raw, spread, np.where(raw > 0.0, raw, 2.0))
    return _Problem(rows, group, intercept, columns.weight, means, 0.5 * spread, scale)


def _columns_of_group(group: int | None, block: Block) -> MaybeDeferred[Columns]:
    """The statistic of the columns of some samples; of strings that of the targets alone."""
    if is_encoded(block.X):
        block = replace(block, X=np.zeros((block.X.shape[0], 0)))
    return Columns.lift(block if group is None else select_group(block, group))


@dataclass(frozen=True)
class _Solved:
    """Params and intercepts of all penalties, (r, q t) and (q t,), and how they were found."""

    params: Params
    solution: Solution


class _Solver:
    """The systems of some penalties on the samples of a problem: the right sides are read once."""

    def __init__(self, problem: _Problem, basis: Basis, H: Floats) -> None:
        self.problem, self.basis, self.H = problem, basis, H
        G, k = problem.fold(basis, weigh_targets(problem.means))
        self.right = solve_lower(basis.L, G / problem.weight)
        self.mean = k[:, 0] / problem.weight if problem.intercept else np.zeros(len(k))

    def _product(self, V: Floats) -> Floats:
        C = self.basis.to_coefficients(V)
        (image,) = self.problem.fold(self.basis, apply_twice(C, self.mean @ C))
        return solve_lower(self.basis.L, image / self.problem.weight)

    def params(self, u: Floats) -> Params:
        """Params and intercepts of coordinates."""
        C = np.ascontiguousarray(self.basis.to_coefficients(u))
        means = np.tile(self.problem.means, C.shape[1] // len(self.problem.means))
        return Params(C, means - self.mean @ C if self.problem.intercept else np.zeros(C.shape[1]))

    def solve(
        self,
        penalties: Floats,
        tol: float,
        max_iter: int,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> _Solved:
        """The solution of every target for each penalty, target after target; penalties are (q,), or (q, t) where each
        target has its own.
        """
        t, q = len(self.problem.means), len(penalties)
        each = np.ravel(penalties) if penalties.ndim == 2 else np.repeat(penalties, t)
        systems = falkon.Systems(
            self._product,
            np.tile(self.right, (1, q)),
            each,
            np.tile(self.problem.values, q),
            _make_preconditioner(self.H, each),
        )
        tolerances = STOP * tol * np.tile(self.problem.scales, q)
        heard = None if callback is None else lambda record, u: callback(record, self.params(u))
        solution = run(falkon.steps(systems, tolerances, start), max_iter, callback=heard)
        return _Solved(self.params(solution.params), solution)


@dataclass(frozen=True)
class _Choice:
    """The candidate with the least error on the samples that were held out, with its coefficients there."""

    kernel: int
    penalty: int
    basis: Basis
    H: Floats
    params: Params
    errors: Floats
    penalties: Floats
    solution: Solution
    complete: bool


def _hold_out(
    rows: Rows, kernels: Sequence[Kernel], given: Floats | None, request: CentreRequest, settings: Settings, seed: int
) -> _Choice:
    """Solve for all candidates on the training samples, and take the one with the least error on the others."""
    split = rows.regroup(_draw_groups(rows, settings.fraction, settings.random))
    train, held = (_read(split, group, settings.intercept) for group in (TRAIN, HOLD_OUT))
    best: _Choice | None = None
    table: list[Floats] = []
    for i, kernel in enumerate(kernels):
        basis = make_basis(kernel, request.choose(rows, kernel, np.random.RandomState(seed)))
        penalties = list_penalties(basis) if given is None else given
        H = _estimate_products(basis, _draw_sample(rows, basis, settings.random), settings.intercept)
        solver, t = _Solver(train, basis, H), len(train.means)
        batch = max(1, FACTOR_BYTES // (8 * len(basis.L) ** 2))
        solved = []
        for start in range(0, len(penalties), batch):
            part = solver.solve(penalties[start : start + batch], HOLD_OUT_TOL, settings.max_iter)
            solved.append(part)
            if part.solution.status is Status.INTERRUPTED:
                break
        params = Params(
            np.concatenate([part.params.coef for part in solved], axis=1),
            np.concatenate([part.params.intercept for part in solved]),
        )
        last = solved[-1].solution
        if interrupted():  # the candidates are not compared: one in the middle is taken where there is none yet
            if best is None:
                j = len(params.intercept) // t // 2
                errors = np.full((len(kernels), len(penalties)), np.nan)
                return _Choice(i, j, basis, H, _take(params, j, t), errors, penalties, last, False)
            best = replace(best, complete=False, solution=last)
            break
        squares, weight = held.fold(basis, square_errors(params.coef, params.intercept))
        errors = np.mean(squares / weight, axis=1)
        table.append(errors)
        j = int(np.argmin(errors))
        if best is None or errors[j] < best.errors[best.penalty]:
            best = _Choice(i, j, basis, H, _take(params, j, t), errors, penalties, last, True)
    assert best is not None
    missing = [np.full(len(best.penalties), np.nan)] * (len(kernels) - len(table))
    return replace(best, errors=np.stack(table + missing))


def _take(params: Params, j: int, t: int) -> Params:
    """Those of one penalty."""
    part = slice(j * t, (j + 1) * t)
    return Params(np.ascontiguousarray(params.coef[:, part]), params.intercept[part])


def _draw_groups(rows: Rows, fraction: float, random: Any) -> Integers:
    """Training samples and those that are held out, drawn among the samples of positive weight."""
    weights = np.asarray(on_host(rows.map(weights_of)))
    inside = np.flatnonzero(weights > 0.0)
    count = max(1, round(fraction * inside.size))
    if count >= inside.size:
        raise ValueError(f"{inside.size} samples cannot be split: give numbers for alpha and gamma.")
    group = np.full(len(weights), TRAIN, dtype=np.int32)
    group[random.permutation(inside)[:count]] = HOLD_OUT
    return group


def list_penalties(basis: Basis) -> Floats:
    """Candidates for the penalty: ten powers of ten, from 1e-10 of the mean of k(z, z) on."""
    return GRID * float(np.mean(np.asarray(on_host(basis.kernel.diag(basis.centres)))))


def scale_gamma(rows: Rows) -> float:
    """1 / (p v) with v the variance of all entries of the samples."""
    columns: Columns = rows.fold(Columns.lift)
    p = columns.features
    mean, spread = columns.mean[:p], columns.spread[:p]
    if not (np.isfinite(mean).all() and np.isfinite(spread).all()):
        raise NotFinite
    variance = float(np.mean(spread**2) / columns.weight + np.var(mean))
    return 1.0 / (p * variance) if variance > 0.0 else 1.0


def list_widths(rows: Rows) -> Floats:
    """Candidates for the length scale, from the distances of some samples."""
    return width_grid(load_sample(rows, WIDTH_SAMPLES).X, WIDTHS)


def fit(
    rows: Rows,
    kernels: Sequence[Kernel],
    penalties: Floats | None,
    request: CentreRequest,
    settings: Settings,
    callback: Callback | None = None,
) -> CentreFit:
    """Fit with the best of some kernels and penalties (None: a grid of them). Passes: one for the targets, one a step,
    and two of the judge; for a choice the same again for each kernel.
    """
    seed = int(settings.random.randint(np.iinfo(np.int32).max))
    if len(kernels) == 1 and penalties is not None and len(penalties) == 1:
        basis = make_basis(
            kernels[0], request.choose(rows, kernels[0], np.random.RandomState(seed), float(penalties[0]))
        )
        H = _estimate_products(basis, _draw_sample(rows, basis, settings.random), settings.intercept)
        solver = _Solver(_read(rows, None, settings.intercept), basis, H)
        return _solve_until_certified(solver, penalties, None, None, request, settings, callback)
    choice = _hold_out(rows, kernels, penalties, request, settings, seed)
    penalty, basis = choice.penalties[[choice.penalty]], choice.basis
    if not choice.complete:
        return _finish(rows, basis, choice.params, choice.solution, choice, penalty[0], request, settings)
    solver = _Solver(_read(rows, None, settings.intercept), basis, choice.H)
    start = basis.to_coordinates(choice.params.coef)
    return _solve_until_certified(solver, penalty, start, choice, request, settings, callback)


def fit_ridge(
    rows: Rows, kernel: Kernel, alpha: Floats, request: CentreRequest, tol: float, max_iter: int, random: Any
) -> CentreFit:
    """Kernel ridge on centres: sum_i weight_i (y_i - f(x_i))^2 + alpha ||f||^2 for each target with its alpha (t,),
    over functions f of the span of the centres. That is the problem above with lambda = alpha / sum of weights.
    """
    if not np.all(alpha > 0.0):
        raise ValueError(
            f"alpha must be above zero where there are centres, got {alpha.tolist()}: without a penalty the "
            "certificate has no bound."
        )
    settings = Settings(False, tol, max_iter, 0.1, random)
    problem = _read(rows, None, False)
    penalties = np.broadcast_to(alpha / problem.weight, (1, len(problem.means)))
    basis = make_basis(kernel, request.choose(rows, kernel, random, float(np.mean(penalties))))
    H = _estimate_products(basis, _draw_sample(rows, basis, random), False)
    return _solve_until_certified(_Solver(problem, basis, H), penalties, None, None, request, settings, None)


def _solve_until_certified(
    solver: _Solver,
    penalty: Floats,
    start: Floats | None,
    choice: _Choice | None,
    request: CentreRequest,
    settings: Settings,
    callback: Callback | None,
) -> CentreFit:
    """The fit to all samples, again from where it ended while it is not certified."""
    rows, basis = solver.problem.rows, solver.basis
    tol, trace, attempt = settings.tol, list[Record](), 0
    while True:
        solved = solver.solve(penalty, tol, settings.max_iter, start, callback)
        trace += solved.solution.trace
        solution = replace(solved.solution, trace=tuple(trace))
        fitted = _finish(rows, basis, solved.params, solution, choice, penalty[0], request, settings)
        if fitted.certificate.ok or solution.status not in (Status.CONVERGED, Status.STALLED) or attempt == ATTEMPTS:
            return fitted
        # residuals are kept by a recurrence: once more with those of the coefficients themselves
        start, tol, attempt = basis.to_coordinates(solved.params.coef), 0.1 * tol, attempt + 1


def _finish(
    rows: Rows,
    basis: Basis,
    params: Params,
    solution: Solution,
    choice: _Choice | None,
    penalty: Any,
    request: CentreRequest,
    settings: Settings,
) -> CentreFit:
    """Judge, and put together."""
    status = solution.status
    try:
        certificate = judge.certify(
            rows,
            basis.kernel,
            basis.centres,
            params,
            penalty,
            settings.intercept,
            tol=settings.tol,
            status=status.value,
            subject=request.describe(basis.centres.shape[0]),
        )
    except KeyboardInterrupt:
        certificate = not_judged("gap")
    if status is Status.CONVERGED and not certificate.ok:
        certificate = replace(certificate, status=Status.STALLED.value)
    return CentreFit(
        params,
        basis.centres,
        basis.kernel,
        penalty,
        None if choice is None else choice.penalties,
        None if choice is None else choice.errors,
        certificate,
        max(0, len(solution.trace) - 1),
        solution.trace,
    )
