"""Support vector machines with kernels: one problem for each pair of classes on kernel rows that all of them share, or
one problem; then the judge.

Samples of one class are consecutive in the order in which the solver sees them, so that a pair of classes is two
segments; the kernel values of a sample with its own class serve all pairs of the class.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.judge import kernel_machines as judge
from tenfold.judge.certificate import Certificate
from tenfold.judge.kernel_machines import Coefficients
from tenfold.judge.kernel_samples import KernelSamples
from tenfold.kernels import Kernel
from tenfold.machine import interrupted
from tenfold.plans.result import ATTEMPTS, not_judged
from tenfold.solvers import svm_variables
from tenfold.solvers.loop import Callback, Record, Solution, Status, resume, run
from tenfold.solvers.svm_decomposition import UNLIMITED, Caches, Decomposition, Point, Rule, SvmSamples
from tenfold.solvers.svm_variables import Problem

GAP = 0.2e-6  # of the scale: the judge allows 1e-6 of the coefficients and the intercept as they are stored
YIELDS = 1 << 40
FOLDS = 5  # of the values that probabilities are fitted to, as in libsvm
NOT_FINITE = (
    "The dual coefficients or intercepts are not finite. The input data may contain large values and need to be "
    "preprocessed; with nu the classes may overlap so that no margin is left."
)
Collect = Callable[[], Coefficients]
Certify = Callable[[Coefficients], Certificate]
CROSS_GAP = 1e-4  # of the scale: for probabilities, which are fitted to these values


@dataclass(frozen=True)
class Samples:
    """The samples of positive weight, `index` (n,) of X; X is the kernel matrix where the kernel is precomputed."""

    kernel: Kernel
    X: Any
    index: Integers


@dataclass(frozen=True)
class Settings:
    """tol: the violation of the optimality conditions that is allowed; cache: bytes of kernel rows; max_iter: pairs of
    variables that a problem may move, None without a limit.
    """

    tol: float = 1e-3
    cache: float = 200e6
    max_iter: int | None = None
    time_limit: float | None = None
    callback: Callback | None = None


@dataclass(frozen=True)
class FittedMachine:
    """What is stored: support (m,) numbers within the samples of positive weight, sorted by class; coef (rows, m) and
    intercept (machines,) as scikit-learn's; counts (3,): support vectors below their bound (free), at it and not
    beyond the margin (bound), and beyond it by more than one (outliers), of all machines; steps of each machine.
    """

    support: Integers
    coef: Floats
    intercept: Floats
    counts: tuple[int, int, int]
    steps: Integers
    status: Status
    trace: tuple[Record, ...]
    certificate: Certificate


@dataclass
class _Machine:
    """A problem with its solver."""

    decomposition: Decomposition
    problem: Problem
    path: Iterator[Any]
    solution: Solution | None = None

    @property
    def status(self) -> Status:
        assert self.solution is not None
        status = self.solution.status
        return Status.MAX_ITER if self.decomposition.limited and status is not Status.INTERRUPTED else status

    @property
    def point(self) -> Point:
        assert self.solution is not None
        point: Point = self.solution.params
        return point

    @property
    def beta(self) -> Floats:
        """The coefficients of the samples of the problem."""
        return self.decomposition.of_samples(self.point.beta)


class _Machines:
    """All problems on the same samples, solved one after the other."""

    def __init__(self, samples: SvmSamples, settings: Settings) -> None:
        self.settings = settings
        self.caches = Caches(samples)
        self.rule = Rule(settings.tol, GAP, UNLIMITED if settings.max_iter is None else settings.max_iter)
        self.machines: list[_Machine] = []

    def add(self, segments: list[int], problem: Problem) -> _Machine:
        v = problem.variables
        if np.isinf(v.hi - v.lo).any() and not np.any(v.extra):
            # hard margin: no gap exists while a margin is below one, and the violation is how far it is
            self.rule.violation = min(self.rule.violation, GAP)
        decomposition = Decomposition(self.caches, segments, problem.variables, problem.start, problem.scale, self.rule)
        machine = _Machine(decomposition, problem, decomposition.path())
        limit = 0 if interrupted() else YIELDS
        machine.solution = run(machine.path, limit, self.settings.time_limit, self.settings.callback)
        self.machines.append(machine)
        return machine

    def until_certified(self, collect: Collect, certify: Certify) -> tuple[Coefficients, Certificate]:
        """What is stored and its certificate, after going on with a smaller gap where it is not ok and the solvers
        can.
        """
        stored = collect()
        if not all(np.isfinite(part).all() for part in stored[1:3]):
            raise ValueError(NOT_FINITE)
        certificate = certify(stored)
        for _ in range(ATTEMPTS):
            if certificate.ok or self.status is not Status.CONVERGED:
                break
            self.rule.gap *= 0.1
            if certificate.kind != "gap":
                self.rule.violation *= 0.1
            more = [self._resume(machine) for machine in self.machines]
            if not any(more):
                break
            stored = collect()
            certificate = certify(stored)
        return stored, certificate

    def _resume(self, machine: _Machine) -> bool:
        assert machine.solution is not None
        more = resume(machine.path, machine.solution, YIELDS, self.settings.time_limit, self.settings.callback)
        if more is not None:
            machine.solution = more
        return more is not None

    @property
    def status(self) -> Status:
        """The first that is not converged."""
        return next((m.status for m in self.machines if m.status is not Status.CONVERGED), Status.CONVERGED)

    @property
    def steps(self) -> Integers:
        return np.array([m.decomposition.steps for m in self.machines], dtype=np.int32)

    @property
    def trace(self) -> tuple[Record, ...]:
        return max((m.solution.trace for m in self.machines if m.solution is not None), key=len)

    @property
    def counts(self) -> tuple[int, int, int]:
        return tuple(int(n) for n in np.sum([_count_types(m) for m in self.machines], axis=0))  # type: ignore[return-value]


def _count_types(machine: _Machine) -> tuple[int, int, int]:
    """Free variables, those at their bound up to the other margin, and those beyond it."""
    v, (beta, f, multipliers) = machine.problem.variables, machine.point
    bound = np.maximum(np.abs(v.lo), np.abs(v.hi))
    inside = (beta != 0.0) & (np.abs(beta) < bound)
    at = (beta != 0.0) & ~inside
    mu = np.where(np.arange(len(beta)) < v.first, *multipliers)
    ahead = np.sign(beta) * (v.z - f[v.sample] - mu)  # how far the sample is beyond its margin
    beyond = at & (ahead > 1.0)
    return int(np.sum(inside)), int(np.sum(at & ~beyond)), int(np.sum(beyond))


def fit_classes(
    samples: Samples,
    number: Integers,
    C: Floats,
    count: int,
    settings: Settings,
    *,
    nu: float | None = None,
    squared: bool = False,
    without: int = 0,
    break_ties: bool = False,
) -> FittedMachine:
    """One machine for each pair of classes: number (n,) the class of each sample, C (n,) its bound, with nu
    its weight; without: how many classes are known and have no samples.
    """
    order = np.argsort(number, kind="stable")
    sizes = np.bincount(number, minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    bounds = C[order]
    work = _Machines(SvmSamples(samples.kernel, samples.X, samples.index[order], starts, settings.cache), settings)
    pairs = list(combinations(range(count), 2))
    for i, j in pairs:
        y = np.repeat([1.0, -1.0], [sizes[i], sizes[j]])
        weight = np.concatenate([bounds[starts[i] : starts[i + 1]], bounds[starts[j] : starts[j + 1]]])
        problem = svm_variables.classes(y, weight, squared) if nu is None else svm_variables.nu_classes(y, weight, nu)
        work.add([i, j], problem)

    def collect() -> Coefficients:
        sign = -1.0 if count + without == 2 else 1.0
        return _store_pairs(work.machines, pairs, starts, order, sign, nu is not None)

    def certify(stored: Coefficients) -> Certificate:
        return _judge(
            lambda: judge.classification(
                KernelSamples(samples.kernel, samples.X, samples.index),
                number,
                C,
                stored,
                classes=count,
                nu=nu,
                squared=squared,
                without=without,
                breaks_ties=break_ties,
                status=work.status.value,
            )
        )

    return _finish(work, collect, certify)


def cross_values(
    samples: Samples,
    number: Integers,
    C: Floats,
    count: int,
    settings: Settings,
    random: np.random.RandomState,
    *,
    nu: float | None = None,
    squared: bool = False,
) -> list[tuple[Floats, Any]]:
    """For each pair of classes the values of its samples by machines that were fitted without them, in FOLDS folds that
    are drawn, and whether they are of the first class. All machines share the rows of the kernel.
    """
    order = np.argsort(number, kind="stable")
    sizes = np.bincount(number, minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    bounds = C[order]
    work = _Machines(SvmSamples(samples.kernel, samples.X, samples.index[order], starts, settings.cache), settings)
    work.rule.gap = CROSS_GAP
    results = []
    for i, j in combinations(range(count), 2):
        y = np.repeat([1.0, -1.0], [sizes[i], sizes[j]])
        weight = np.concatenate([bounds[starts[i] : starts[i + 1]], bounds[starts[j] : starts[j + 1]]])
        values, fold = np.empty(len(y)), random.permutation(len(y)) % FOLDS
        for k in range(FOLDS):
            held, inside = fold == k, np.flatnonzero(fold != k)
            values[held] = _values_without(work, [i, j], y, weight, inside, held, nu, squared)
        results.append((values, y > 0.0))
    return results


def _values_without(
    work: _Machines,
    segments: list[int],
    y: Floats,
    weight: Floats,
    inside: Integers,
    held: Any,
    nu: float | None,
    squared: bool,
) -> Floats:
    """The values of the samples that are held out; of one class, or where nu is infeasible, the larger one."""
    sides = [float(np.sum(weight[inside][y[inside] == side])) for side in (1.0, -1.0)]
    if min(sides) == 0.0 or (nu is not None and 0.5 * nu * sum(sides) > min(sides)):
        return np.full(int(np.sum(held)), float(np.sign(sides[0] - sides[1])))
    part, bound = y[inside], weight[inside]
    problem = svm_variables.classes(part, bound, squared) if nu is None else svm_variables.nu_classes(part, bound, nu)
    variables = problem.variables._replace(sample=inside.astype(np.int32))
    machine = work.add(segments, problem._replace(variables=variables))
    mu, f = machine.point.multipliers, machine.point.f[held]
    if nu is None:
        return f + mu[0]
    return (f + 0.5 * (mu[0] + mu[1])) / max(0.5 * (mu[1] - mu[0]), np.finfo(np.float64).tiny)


def _store_pairs(
    machines: list[_Machine], pairs: list[tuple[int, int]], starts: Integers, order: Integers, sign: float, nu: bool
) -> Coefficients:
    """scikit-learn's layout: pair i < j has class i's coefficients in row j - 1, and class j's in row i; sign: that of
    class i.
    """
    count = len(starts) - 1
    coef, intercept = np.zeros((count - 1, len(order))), np.zeros(len(pairs))
    for t, (machine, (i, j)) in enumerate(zip(machines, pairs, strict=True)):
        beta, mu = machine.beta, machine.point.multipliers
        b, rho = mu[0], 1.0
        if nu:
            b, rho = 0.5 * (mu[0] + mu[1]), 0.5 * (mu[1] - mu[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            beta, intercept[t] = beta / rho, b / rho
        own = slice(int(starts[i]), int(starts[i + 1]))
        size = own.stop - own.start
        coef[j - 1, own] = beta[:size]
        coef[i, int(starts[j]) : int(starts[j + 1])] = beta[size:]
    inside = np.flatnonzero(np.any(coef != 0.0, axis=0))
    return Coefficients(order[inside], sign * np.ascontiguousarray(coef[:, inside]), sign * intercept)


def fit_targets(
    samples: Samples,
    y: Floats,
    C: Floats,
    settings: Settings,
    *,
    epsilon: float = 0.0,
    nu: float | None = None,
    squared: bool = False,
) -> FittedMachine:
    """Regression: y (n,) the targets, C (n,) the bounds."""
    problem = svm_variables.targets(y, C, epsilon, squared) if nu is None else svm_variables.nu_targets(y, C, nu)
    work = _single(samples, problem, settings)

    def collect() -> Coefficients:
        mu = work.machines[0].point.multipliers
        return _store_one(work, mu[0] if nu is None else 0.5 * (mu[0] + mu[1]))

    def certify(stored: Coefficients) -> Certificate:
        given = KernelSamples(samples.kernel, samples.X, samples.index)
        return _judge(
            lambda: judge.regression(
                given, y, C, stored, epsilon=epsilon, nu=nu, squared=squared, status=work.status.value
            )
        )

    return _finish(work, collect, certify)


def fit_one_class(samples: Samples, weight: Floats, nu: float, settings: Settings) -> FittedMachine:
    """One class: weight (n,) of the samples."""
    work = _single(samples, svm_variables.one_class(weight, nu), settings)

    def collect() -> Coefficients:
        return _store_one(work, work.machines[0].point.multipliers[0])

    def certify(stored: Coefficients) -> Certificate:
        given = KernelSamples(samples.kernel, samples.X, samples.index)
        return _judge(lambda: judge.one_class(given, weight, stored, nu=nu, status=work.status.value))

    return _finish(work, collect, certify)


def _single(samples: Samples, problem: Problem, settings: Settings) -> _Machines:
    starts = np.array([0, len(samples.index)], dtype=np.int64)
    work = _Machines(SvmSamples(samples.kernel, samples.X, samples.index, starts, settings.cache), settings)
    work.add([0], problem)
    return work


def _store_one(work: _Machines, b: float) -> Coefficients:
    beta = work.machines[0].beta
    inside = np.flatnonzero(beta)
    return Coefficients(inside, beta[inside][None, :], np.array([b]))


def _judge(work: Callable[[], Certificate]) -> Certificate:
    try:
        return work()
    except KeyboardInterrupt:
        return not_judged("gap")


def _finish(work: _Machines, collect: Collect, certify: Certify) -> FittedMachine:
    (support, coef, intercept, *_), certificate = work.until_certified(collect, certify)
    if certificate.status == Status.CONVERGED.value and not certificate.ok:
        certificate = replace(certificate, status=Status.STALLED.value)
    return FittedMachine(support, coef, intercept, work.counts, work.steps, work.status, work.trace, certificate)
