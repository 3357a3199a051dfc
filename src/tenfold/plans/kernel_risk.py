"""Regularised risks in the space of a kernel: Newton's method or the dual with kinks, on samples or centres; the judge.

Smooth losses: truncated Newton steps (solvers/kernel_newton.py) on a kernel matrix in memory, in float32 for many
samples; where the judge, who evaluates the kernel in float64 by tiles, does not accept, exact values of f replace those
that were summed up, and the steps go on, at last with the matrix in float64. Losses with kinks, which are piecewise
linear, have a dual problem with bounds, solved by interior points. Expansions in centres z_j are linear models in the
features L^-1 k(z, x), L L' the kernel of the centres: the same steps, with the linear kernel of these features.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

from tenfold.arrays import Array, Floats, NotFinite
from tenfold.judge.certificate import Certificate
from tenfold.judge.gap_kernel import DEPENDENT, CentreExpansion, SampleExpansion, certify
from tenfold.judge.kernel_samples import KernelSamples
from tenfold.kernels import Callable as KernelFunction
from tenfold.kernels import Kernel
from tenfold.linear_algebra import factor_with_pivots, product, solve_lower
from tenfold.losses.loss import Loss, PiecewiseLinear
from tenfold.machine import interrupted, require_memory
from tenfold.objectives.design import DenseDesign, DesignObjective
from tenfold.objectives.kernel_risk import KernelRisk
from tenfold.plans.kernel_centres import make_basis
from tenfold.plans.kernel_ridge import check_kernel
from tenfold.plans.result import not_judged
from tenfold.solvers import lbfgs
from tenfold.solvers.kernel_newton import Iterate, KernelNewton, LowRank, LowRankMatrix, StoredMatrix
from tenfold.solvers.loop import Callback, Record, Solution, Status, resume, run
from tenfold.solvers.svm_decomposition import Caches, Decomposition, Rule, SvmSamples
from tenfold.solvers.svm_interior_point import Matrix
from tenfold.solvers.svm_interior_point import solve as solve_interior
from tenfold.solvers.svm_variables import Problem, Variables

MIN_SINGLE = 1500  # samples from which the matrix is kept in float32 (benchmark: kernel logistic regression 5k)
WHOLE = 300  # samples up to which the preconditioner is of all of them
LANDMARKS = 250  # samples of the preconditioner otherwise: more cost more than the steps that they save (the same row)
MOST_FACTORED = 1200  # rows of its factor, for all raw predictions together
REST = 0.1  # of the penalty: what the preconditioner may leave out
STOP = 0.3  # of the tolerance of the certificate, whose bound has rounding, too
FINER = 0.1  # by which the tolerance of the solver is lowered where the judge does not accept
ATTEMPTS = 4
CACHE = 200e6  # bytes of kernel rows of a decomposition
YIELDS = 1 << 40
VANISHING = 1e-14  # of the largest k(x, x): what a factor of the kernel leaves out
INSTEAD = (
    "Fit with centres (centres=1000), whose kernel with all samples takes memory in proportion to these, or fit a part "
    "of the samples."
)
OVERFLOW = "The kernel of these samples overflows. Divide the features by their largest value, or use another kernel."
NO_CENTRES = (
    "The loss {!r} does not go with centres: what proves a fit of a loss with kinks is in the coefficients of all "
    "samples, and a bounded one is minimised in coordinates of all samples. Fit without centres, or take a "
    "smooth convex loss: 'squared_hinge', 'huber', 'squared_epsilon_insensitive'."
)
SINGLE_OUTPUT = (
    "A loss with kinks of several raw predictions a sample is not solved in the space of a kernel. Use loss='softmax', "
    "or loss='hinge' in sklearn.multiclass.OneVsRestClassifier."
)


Judge: TypeAlias = Callable[[Floats, Floats, str], tuple[Floats, Floats, Certificate]]
"""From coefficients and intercepts of a solver, and how it ended, to those that are stored, and their certificate."""


@dataclass(frozen=True)
class KernelFit:
    """Coefficients (m, k) and intercepts (k,) as they are stored, the centres, None where the samples are, how they
    were computed, and their certificate.
    """

    coef: Floats
    intercept: Floats
    centres: Any
    method: str
    certificate: Certificate
    iterations: int
    trace: tuple[Record, ...]

    @property
    def status(self) -> str:
        return self.certificate.status


@dataclass(frozen=True)
class KernelTask:
    """What is fitted: samples or their kernel matrix, targets (n, 1), weights (n,) or None, the penalty of the weighted
    mean loss, and the number of raw predictions; dtype: of the coefficients, where they are certified in it.
    """

    kernel: Kernel
    X: Any
    y: Floats
    weight: Floats | None
    loss: Loss
    strength: float
    intercept: bool
    outputs: int = 1
    dtype: Any = np.float64

    @property
    def index(self) -> Any:
        """The numbers of the samples of positive weight."""
        return np.arange(len(self.y)) if self.weight is None else np.flatnonzero(self.weight > 0.0)

    @property
    def samples(self) -> KernelSamples:
        return KernelSamples(self.kernel, self.X, self.index)

    @property
    def risk(self) -> KernelRisk:
        index = self.index
        weight = np.ones(len(index)) if self.weight is None else self.weight[index]
        s = (weight / np.sum(weight))[:, None]
        return KernelRisk(self.loss, self.y[index], s, self.strength, self.intercept, self.outputs)


@dataclass(frozen=True)
class Limits:
    """Of the solver: the tolerance of the certificate, steps, seconds, and a callback."""

    tol: float
    max_iter: int
    time_limit: float | None = None
    callback: Callback | None = None


def fit_samples(task: KernelTask, limits: Limits, start: tuple[Floats, Floats] | None = None) -> KernelFit:
    """Fit an expansion in all samples; `start` are coefficients (n, k) and intercepts (k,)."""
    check_kernel(task.kernel, task.X)
    samples, risk = task.samples, task.risk
    judge = partial(_judge_samples, task, samples, risk, limits.tol)
    n, index = len(samples), task.index
    if task.loss.nonsmooth:
        if task.loss.multi_output:
            raise ValueError(SINGLE_OUTPUT)
        return _fit_kinks(risk, samples, judge, limits)
    if _is_bounded(task.loss):
        require_memory(f"The {n} x {n} kernel matrix and its factor", 24 * n * n, INSTEAD)
        return _fit_bounded(risk, _matrix(samples, np.float64), judge, limits)
    single = n >= MIN_SINGLE
    require_memory(f"The {n} x {n} kernel matrix", (4 if single else 8) * n * n, INSTEAD)
    begin = None if start is None else (np.ascontiguousarray(start[0][index]), start[1])
    everything = np.arange(n)
    fits: list[KernelFit] = []
    for dtype in (np.float32, np.float64) if single else (np.float64,):
        K = StoredMatrix(_matrix(samples, dtype))
        method = f"truncated Newton steps, kernel in {np.dtype(dtype).name}"
        newton = _Newton(risk, K, _approximate(K, risk), partial(samples.product, everything, everything))
        fits.append(newton.fit(limits, begin, judge, method))
        if fits[-1].certificate.ok or interrupted() or fits[-1].status != Status.STALLED.value:
            break
        begin = (np.asarray(fits[-1].coef[index], dtype=np.float64), fits[-1].intercept.astype(np.float64))
    return min(fits, key=lambda fitted: (not fitted.certificate.ok, fitted.certificate.value))


def fit_centres(task: KernelTask, centres: Any, limits: Limits) -> KernelFit:
    """Fit an expansion in centres; those that others represent to working precision are left out."""
    if task.loss.nonsmooth or _is_bounded(task.loss):
        raise ValueError(NO_CENTRES.format(task.loss.name))
    samples, risk = task.samples, task.risk
    basis = make_basis(task.kernel, centres)
    n, m = len(samples), len(basis.L)
    require_memory(f"The kernel of {n} samples and {m} centres", 24 * n * m, "Take fewer centres.")
    columns = np.asarray(task.kernel.block(basis.centres, samples.take(np.arange(n))), dtype=np.float64)
    if not np.isfinite(columns).all():
        raise NotFinite(OVERFLOW)
    features = LowRankMatrix(np.ascontiguousarray(solve_lower(basis.L, columns).T))
    del columns

    def judge(c: Floats, b: Floats, status: str) -> tuple[Floats, Floats, Certificate]:
        coef = basis.to_coefficients(product(features.V.T, c))
        certify_kept = partial(judge_centres, risk, samples, basis.centres, tol=limits.tol, status=status)
        return _keep(task.dtype, coef, b, certify_kept)

    lengths = np.einsum("nr,nr->n", features.V, features.V)
    newton = _Newton(risk, features, _with_rest(features.V, lengths), features.multiply)
    fitted = newton.fit(limits, None, judge, "truncated Newton steps on centres")
    return replace(fitted, centres=basis.centres)


def _matrix(samples: KernelSamples, dtype: Any) -> Array:
    n = len(samples)
    everything = np.arange(n)
    if samples.given:
        X = samples.X if n == samples.X.shape[0] else samples.X[np.ix_(samples.index, samples.index)]
        K = np.asarray(X).astype(dtype)
    else:
        # functions of the user are evaluated in float64
        own = np.float64 if isinstance(samples.kernel, KernelFunction) else dtype
        X = samples.X if n == _count(samples.X) else samples.take(everything)
        K = np.asarray(samples.kernel.block(X, dtype=own)).astype(dtype, copy=False)
    if not np.isfinite(K).all():
        raise NotFinite(OVERFLOW)
    return K


def _count(X: Any) -> int:
    return len(X) if isinstance(X, list) else int(X.shape[0])


def _approximate(K: StoredMatrix, risk: KernelRisk) -> LowRank:
    """A low rank by the largest pivots, or by a sample, and what it leaves of the diagonal."""
    n = len(K.K)
    bend = risk.loss.lipschitz if np.isfinite(risk.loss.lipschitz) else 1.0
    diagonal = np.diagonal(K.K).astype(np.float64)
    tol = REST * risk.strength / (bend * max(float(np.max(risk.s)) * n, 1.0))
    tol = max(tol, 1e-6 * float(np.max(diagonal, initial=0.0)))
    most = max(1, MOST_FACTORED // risk.outputs)
    count = n if n <= min(WHOLE, most) else min(LANDMARKS, most)
    numbers = np.arange(n) if count == n else np.sort(np.random.default_rng(0).choice(n, count, replace=False))
    part = K.K[numbers][:, numbers].astype(np.float64)
    F, order, rank = factor_with_pivots(part, tol)
    if not rank:
        return _with_rest(np.zeros((n, 0)), diagonal)
    if count == n:
        L = np.empty((n, rank))
        L[order] = F
        return _with_rest(L, diagonal)
    columns = K.K[numbers[order[:rank]]].astype(np.float64)
    L = np.ascontiguousarray(solve_lower(np.ascontiguousarray(F[:rank]), columns).T)
    approximation = _with_rest(L, diagonal)
    return approximation._replace(L=L.astype(K.K.dtype))


def _with_rest(L: Floats, diagonal: Floats) -> LowRank:
    rest = np.maximum(diagonal - np.einsum("nr,nr->n", L, L), 0.0)
    return LowRank(L, rest[:, None], np.maximum(diagonal, 0.0)[:, None])


class _Newton:
    """Truncated Newton steps until the judge accepts; exact: f (n, k) of coefficients in float64."""

    def __init__(self, risk: KernelRisk, K: Any, approximation: LowRank, exact: Callable[[Floats], Floats]) -> None:
        self.risk, self.K, self.approximation, self.exact = risk, K, approximation, exact

    def fit(self, limits: Limits, start: tuple[Floats, Floats] | None, judge: Judge, method: str) -> KernelFit:
        risk = self.risk
        n, k = len(risk.y), risk.outputs
        if start is None:
            at = Iterate(risk, self.K, np.zeros((n, k)), np.zeros(k), np.zeros((n, k)))
        else:
            at = Iterate(risk, self.K, start[0], start[1], self.exact(start[0]))
        newton = KernelNewton(at, self.approximation, STOP * limits.tol * risk.constant_loss()[1])
        path = newton.steps()
        solution = run(path, limits.max_iter, limits.time_limit, limits.callback)
        fits = [_store(solution, judge, method)]
        for attempt in range(ATTEMPTS):
            if fits[-1].certificate.ok or solution.status not in (Status.CONVERGED, Status.STALLED):
                break
            newton.at.refresh(self.exact(newton.at.c))
            newton.allowed *= FINER if attempt else 1.0
            path = newton.steps()
            next(path)
            more = resume(path, solution, limits.max_iter, limits.time_limit, limits.callback)
            if more is None:
                break
            solution = more
            fits.append(_store(solution, judge, method))
        best = min(fits, key=lambda fitted: (not fitted.certificate.ok, fitted.certificate.value))
        return replace(best, iterations=solution.iterations, trace=solution.trace)


def _store(solution: Solution, judge: Judge, method: str) -> KernelFit:
    """What is stored of a solution, with its certificate: a solver that met its rule has not converged where the
    judge does not accept.
    """
    c, b = solution.params
    coef, intercept, certificate = judge(c, b, solution.status.value)
    if certificate.status == Status.CONVERGED.value and not certificate.ok:
        certificate = replace(certificate, status=Status.STALLED.value)
    return KernelFit(coef, intercept, None, method, certificate, solution.iterations, solution.trace)


def _keep(
    dtype: Any, coef: Floats, b: Floats, judge: Callable[[Floats, Floats], Certificate]
) -> tuple[Floats, Floats, Certificate]:
    """Coefficients and intercepts in a dtype if they are certified in it, else in float64."""
    if np.dtype(dtype) != np.float64:
        kept, intercept = coef.astype(dtype), b.astype(dtype)
        certificate = judge(kept.astype(np.float64), intercept.astype(np.float64))
        if certificate.ok:
            return kept, intercept, certificate
    return coef, b, judge(coef, b)


def _judge_samples(
    task: KernelTask, samples: KernelSamples, risk: KernelRisk, tol: float, c: Floats, b: Floats, status: str
) -> tuple[Floats, Floats, Certificate]:
    """What is stored, with coefficients for all samples, and its certificate."""
    certify_kept = partial(judge_samples, risk, samples, tol=tol, status=status)
    kept, intercept, certificate = _keep(task.dtype, c, b, certify_kept)
    return spread(kept, task.index, len(task.y)), intercept, certificate


def judge_samples(
    risk: KernelRisk, samples: KernelSamples, coef: Floats, b: Floats, tol: float, status: str
) -> Certificate:
    """Judge an expansion in the samples of positive weight."""
    if interrupted():
        return not_judged("gap" if risk.loss.convex else "stationarity")
    return certify(risk, SampleExpansion(samples, coef), b, tol=tol, status=status)


def judge_centres(
    risk: KernelRisk, samples: KernelSamples, centres: Any, coef: Floats, b: Floats, tol: float, status: str
) -> Certificate:
    """Judge an expansion in centres."""
    kind = "gap" if risk.loss.convex else "stationarity"
    if interrupted():
        return not_judged(kind)
    expansion = CentreExpansion.of(samples, centres, coef)
    if expansion is None:
        return Certificate(kind, np.inf, 1.0, tol, 0.0, np.inf, status=status, parts=(np.inf,), note=DEPENDENT)
    return certify(risk, expansion, b, tol=tol, status=status)


def spread(coef: Floats, index: Any, n: int) -> Floats:
    """Coefficients of all samples: zero for those of weight zero."""
    if len(index) == n:
        return coef
    result = np.zeros((n, coef.shape[1]), dtype=coef.dtype)
    result[index] = coef
    return result


def _is_bounded(loss: Loss) -> bool:
    """Whether a loss of classes is bounded: parabolas above it are all alike, and far from it."""
    return loss.signs and not loss.convex


def _fit_bounded(risk: KernelRisk, K: Floats, judge: Judge, limits: Limits) -> KernelFit:
    """A bounded loss: L-BFGS from zero, in coordinates of unit norm, f = L u with K = L L'. At rest strength c + s
    slopes vanishes, which gives c.
    """
    factor, order, rank = factor_with_pivots(K, VANISHING * float(np.max(np.diag(K), initial=0.0)))
    n = len(K)
    A = np.ones((n, rank + risk.intercept))
    A[order, :rank] = factor
    penalty = np.diag(np.append(np.full(rank, risk.strength), np.zeros(int(risk.intercept))))
    objective = DesignObjective(DenseDesign(A), risk.loss, risk.y, risk.s, penalty)
    start = np.zeros(A.shape[1])
    unit = float(np.linalg.norm(objective.read(start).gradient)) or 1.0
    fits: list[KernelFit] = []
    for finer in (1.0, 1e-3):
        allowed = finer * 1e-2 * limits.tol * unit

        def measure(gradient: Floats, decrease: float, allowed: float = allowed) -> float:
            return float(np.linalg.norm(gradient)) / allowed

        path = lbfgs.steps(lbfgs.Points(objective), start, _identity, measure)
        solution = run(path, limits.max_iter, limits.time_limit, limits.callback)
        start = solution.params
        c = -risk.s * risk.slopes(A @ start[:, None]) / risk.strength
        b = start[rank:] if risk.intercept else np.zeros(1)
        fits.append(_store(replace(solution, params=(c, b)), judge, "L-BFGS, kernel in float64"))
        if fits[-1].certificate.ok or interrupted():
            break
    return min(fits, key=lambda fitted: (not fitted.certificate.ok, fitted.certificate.value))


def _identity(g: Floats) -> Floats:
    return g


def _fit_kinks(risk: KernelRisk, samples: KernelSamples, judge: Judge, limits: Limits) -> KernelFit:
    """By the dual: with a loss sum_v up_v (at_v - z)_+ + down_v (z - at_v)_+ and coefficients beta_v of its pieces,
    minimise beta'K beta / 2 - sum_v at_v beta_v over -s down_v <= strength beta_v <= s up_v, with a sum of zero where
    there is an intercept. That sum suits decomposition; without it, interior points.
    """
    variables, scale = _pieces(risk), risk.constant_loss()[1] / risk.strength
    if not risk.intercept:
        n = len(samples)
        require_memory(f"The {n} x {n} kernel matrix and its factor", 24 * n * n, INSTEAD)
        K = Matrix(_matrix(samples, np.float64))
        return _judge_duals(
            risk,
            ((solve_interior(K, variables, np.zeros(0), gap * scale), 1) for gap in _gaps(limits.tol)),
            samples,
            judge,
            "interior points",
        )
    rows = SvmSamples(samples.kernel, samples.X, samples.index, np.array([0, len(samples)]), CACHE)
    rule = Rule(np.inf, 1.0)
    problem = Problem(variables, np.zeros(len(variables.z)), scale)
    machine = Decomposition(Caches(rows), [0], problem, rule, None)
    path = machine.path()

    def betas() -> Iterator[tuple[Floats, int]]:
        for gap in _gaps(limits.tol):
            rule.gap = gap
            solution = run(path, YIELDS, limits.time_limit, limits.callback)
            yield solution.params.beta, max(1, solution.iterations)

    return _judge_duals(risk, betas(), samples, judge, "decomposition")


def _gaps(tol: float) -> list[float]:
    return [STOP * tol * FINER**k for k in range(ATTEMPTS)]


def _judge_duals(
    risk: KernelRisk, betas: Iterable[tuple[Floats, int]], samples: KernelSamples, judge: Judge, method: str
) -> KernelFit:
    """The first coefficients that are certified, else the best, of those that come with the steps that they took."""
    everything, count = np.arange(len(samples)), len(_pieces(risk).z) // len(samples)
    fits: list[KernelFit] = []
    steps = 0
    for beta, taken in betas:
        steps += taken
        c = beta.reshape(-1, count).sum(axis=1)[:, None]
        f = samples.product(everything, everything, c)
        b = risk.best_intercept(f, np.zeros(1))
        step = Record(risk.mean_loss(f + b) + 0.5 * risk.strength * float(np.sum(c * f)), 1.0, 0.0)
        fits.append(replace(_store(Solution((c, b), Status.CONVERGED, (step,)), judge, method), iterations=steps))
        if fits[-1].certificate.ok or interrupted():
            break
    return min(fits, key=lambda fitted: (not fitted.certificate.ok, fitted.certificate.value))


def _pieces(risk: KernelRisk) -> Variables:
    """The coefficients of all pieces of the losses of all samples."""
    n = len(risk.y)
    pieces = cast(PiecewiseLinear, risk.loss).pieces(risk.y[:, 0])
    count, unit = pieces.at.shape[1], risk.s / risk.strength
    return Variables(
        np.repeat(np.arange(n, dtype=np.int32), count),
        np.ravel(pieces.at),
        np.ravel(-unit * pieces.down),
        np.ravel(unit * pieces.up),
        np.zeros(n * count),
        n * count,
    )
