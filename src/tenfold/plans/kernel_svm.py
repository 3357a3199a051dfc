"""Support vector machines with kernels: one problem for each pair of classes on kernel rows that all of them share, or
one problem; then the judge.

Samples of one class are consecutive in the order in which the solver sees them, so that a pair of classes is two
segments; the kernel values of a sample with its own class serve all pairs of the class.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
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
from tenfold.solvers.svm_decomposition import UNLIMITED, WHOLE, Caches, Decomposition, Point, Rule, SvmSamples
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
Start = tuple[Floats, Floats]  # beta of the variables, and f = K beta of the samples
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
    variables that a problem may move, None without a limit; time_limit: seconds since `begin`.
    """

    tol: float = 1e-3
    cache: float = 200e6
    max_iter: int | None = None
    time_limit: float | None = None
    callback: Callback | None = None
    begin: float = field(default_factory=time.perf_counter)

    @property
    def time_left(self) -> float | None:
        """Seconds that all further problems may take together."""
        return None if self.time_limit is None else max(0.0, self.time_limit - (time.perf_counter() - self.begin))


@dataclass(frozen=True)
class FittedMachine:
    """What is stored: support (m,) numbers within the samples of positive weight, sorted by class; coef (rows, m) and
    intercept (machines,) as scikit-learn's; counts (3,): support vectors below their bound (free), at it and not
    beyond the margin (bound), and beyond it by more than one (outliers), of all machines; steps of each machine;
    operations: of the solver, in floating point, about.
    """

    support: Integers
    coef: Floats
    intercept: Floats
    counts: tuple[int, int, int]
    steps: Integers
    status: Status
    trace: tuple[Record, ...]
    certificate: Certificate
    operations: float


@dataclass
class Machine:
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


class Machines:
    """Problems on the same samples, solved one after the other."""

    def __init__(self, caches: Caches, settings: Settings) -> None:
        self.settings = settings
        self.caches = caches
        self.rule = Rule(settings.tol, GAP, UNLIMITED if settings.max_iter is None else settings.max_iter)
        self.machines: list[Machine] = []

    def add(self, segments: list[int], problem: Problem, start: Start | None = None) -> Machine:
        """Solve a problem, from `start` where there is one."""
        v = problem.variables
        if np.isinf(v.hi - v.lo).any() and not np.any(v.extra):
            # hard margin: no gap exists while a margin is below one, and the violation is how far it is
            self.rule.violation = min(self.rule.violation, GAP)
        decomposition = Decomposition(self.caches, segments, problem, self.rule, start)
        machine = Machine(decomposition, problem, decomposition.path())
        limit = 0 if interrupted() else YIELDS
        machine.solution = run(machine.path, limit, self.settings.time_left, self.settings.callback)
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

    def _resume(self, machine: Machine) -> bool:
        assert machine.solution is not None
        more = resume(machine.path, machine.solution, YIELDS, self.settings.time_left, self.settings.callback)
        if more is not None:
            machine.solution = more
        return more is not None

    @property
    def status(self) -> Status:
        """The first that is not converged."""
        return next((m.status for m in self.machines if m.status is not Status.CONVERGED), Status.CONVERGED)

    @property
    def operations(self) -> float:
        """Floating-point operations of all problems, without those of kernel values."""
        return sum(machine.decomposition.operations for machine in self.machines)

    @property
    def steps(self) -> Integers:
        return np.array([m.decomposition.steps for m in self.machines], dtype=np.int32)

    @property
    def trace(self) -> tuple[Record, ...]:
        return max((m.solution.trace for m in self.machines if m.solution is not None), key=len)

    @property
    def counts(self) -> tuple[int, int, int]:
        return tuple(int(n) for n in np.sum([_count_types(m) for m in self.machines], axis=0))  # type: ignore[return-value]


def _count_types(machine: Machine) -> tuple[int, int, int]:
    """Free variables, those at their bound up to the other margin, and those beyond it."""
    v, (beta, f, multipliers) = machine.problem.variables, machine.point
    bound = np.maximum(np.abs(v.lo), np.abs(v.hi))
    inside = (beta != 0.0) & (np.abs(beta) < bound)
    at = (beta != 0.0) & ~inside
    mu = np.where(np.arange(len(beta)) < v.first, *multipliers)
    ahead = np.sign(beta) * (v.z - f[v.sample] - mu)  # how far the sample is beyond its margin
    beyond = at & (ahead > 1.0)
    return int(np.sum(inside)), int(np.sum(at & ~beyond)), int(np.sum(beyond))


class ClassPairs:
    """Samples sorted by class, with the problems of all pairs of classes: number (n,) the class of each, whose kernel
    rows take `cache` bytes.
    """

    def __init__(self, samples: Samples, number: Integers, count: int, cache: float) -> None:
        self.count, self.order = count, np.argsort(number, kind="stable")
        self.sizes = np.bincount(number, minlength=count)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.pairs = list(combinations(range(count), 2))
        sorted_samples = SvmSamples(samples.kernel, samples.X, samples.index[self.order], self.starts, cache)
        largest = int(np.sum(np.sort(self.sizes)[-2:]))
        self.caches = Caches(sorted_samples, whole=largest <= WHOLE)

    def members(self, pair: tuple[int, int]) -> Integers:
        """The places of the samples of a pair in the order."""
        return np.concatenate([np.arange(self.starts[k], self.starts[k + 1]) for k in pair])

    def problem(
        self, pair: tuple[int, int], C: Floats, nu: float | None, squared: bool, inside: Integers | None = None
    ) -> Problem:
        """The problem of a pair with bounds C of the samples in their order, of its samples `inside` where given."""
        y = np.repeat([1.0, -1.0], self.sizes[list(pair)])
        bounds = C[self.members(pair)]
        if inside is None:
            return svm_variables.classes(y, bounds, squared) if nu is None else svm_variables.nu_classes(y, bounds, nu)
        y, bounds = y[inside], bounds[inside]
        part = svm_variables.classes(y, bounds, squared) if nu is None else svm_variables.nu_classes(y, bounds, nu)
        return part._replace(variables=part.variables._replace(sample=inside.astype(np.int32)))


@dataclass(frozen=True)
class ClassOptions:
    """nu: of machines with nu; squared: the slack; without: how many classes are known and have no samples;
    break_ties: of votes, by the values.
    """

    nu: float | None = None
    squared: bool = False
    without: int = 0
    break_ties: bool = False


def fit_classes(
    samples: Samples, number: Integers, C: Floats, count: int, settings: Settings, options: ClassOptions
) -> FittedMachine:
    """One machine for each pair of classes: number (n,) the class of each sample, C (n,) its bound, with nu its
    weight.
    """
    classes = ClassPairs(samples, number, count, settings.cache)
    return _fit_pairs(samples, classes, number, C, Machines(classes.caches, settings), options, {})


def fit_path(
    samples: Samples,
    number: Integers,
    bounds: list[Floats],
    count: int,
    settings: Settings,
    options: ClassOptions,
) -> list[FittedMachine]:
    """Fits for several bounds of the samples, (n,) each, none of which falls: on the same rows of the kernel, each from
    the last.
    """
    classes = ClassPairs(samples, number, count, settings.cache)
    results: list[FittedMachine] = []
    last: dict[tuple[int, int], Start] = {}
    for C in bounds:
        work = Machines(classes.caches, settings)
        results.append(_fit_pairs(samples, classes, number, C, work, options, last))
        last = {
            pair: (machine.point.beta, machine.point.f)
            for pair, machine in zip(classes.pairs, work.machines, strict=True)
        }
    return results


def _fit_pairs(
    samples: Samples,
    classes: ClassPairs,
    number: Integers,
    C: Floats,
    work: Machines,
    options: ClassOptions,
    starts: dict[tuple[int, int], Start],
) -> FittedMachine:
    bounds = C[classes.order]
    for pair in classes.pairs:
        work.add(list(pair), classes.problem(pair, bounds, options.nu, options.squared), starts.get(pair))

    def collect() -> Coefficients:
        sign = -1.0 if classes.count + options.without == 2 else 1.0
        return _store_pairs(work.machines, classes.pairs, classes.starts, classes.order, sign, options.nu is not None)

    def certify(stored: Coefficients) -> Certificate:
        return _judge(
            lambda: judge.classification(
                KernelSamples(samples.kernel, samples.X, samples.index),
                number,
                C,
                stored,
                classes=classes.count,
                nu=options.nu,
                squared=options.squared,
                without=options.without,
                breaks_ties=options.break_ties,
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
    options: ClassOptions,
) -> list[tuple[Floats, Any]]:
    """For each pair of classes the values of its samples by machines that were fitted without them, in FOLDS folds that
    are drawn, and whether they are of the first class. All machines share the rows of the kernel.
    """
    classes = ClassPairs(samples, number, count, settings.cache)
    bounds = C[classes.order]
    work = Machines(classes.caches, settings)
    work.rule.gap = CROSS_GAP
    results = []
    for pair in classes.pairs:
        size = int(np.sum(classes.sizes[list(pair)]))
        values, fold = np.empty(size), random.permutation(size) % FOLDS
        for k in range(FOLDS):
            held, inside = fold == k, np.flatnonzero(fold != k)
            values[held] = _values_without(work, classes, pair, bounds, inside, options)[held]
        results.append((values, np.arange(size) < classes.sizes[pair[0]]))
    return results


def _values_without(
    work: Machines,
    classes: ClassPairs,
    pair: tuple[int, int],
    bounds: Floats,
    inside: Integers,
    options: ClassOptions,
) -> Floats:
    """The values of the samples of a pair by the machine of those `inside`; of one class, or where nu is infeasible,
    the larger one.
    """
    nu, members = options.nu, classes.members(pair)
    first = inside < classes.sizes[pair[0]]
    sides = [float(np.sum(bounds[members[inside[side]]])) for side in (first, ~first)]
    if min(sides) == 0.0 or (nu is not None and 0.5 * nu * sum(sides) > min(sides)):
        return np.full(len(members), float(np.sign(sides[0] - sides[1])))
    machine = work.add(list(pair), classes.problem(pair, bounds, nu, options.squared, inside))
    mu, f = machine.point.multipliers, machine.point.f
    if nu is None:
        return f + mu[0]
    return (f + 0.5 * (mu[0] + mu[1])) / max(0.5 * (mu[1] - mu[0]), np.finfo(np.float64).tiny)


def _store_pairs(
    machines: list[Machine], pairs: list[tuple[int, int]], starts: Integers, order: Integers, sign: float, nu: bool
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


def one_segment(samples: Samples, cache: float, variables: int) -> Caches:
    """The rows of the kernel of samples that are not sorted, for problems of so many variables."""
    starts = np.array([0, len(samples.index)], dtype=np.int64)
    return Caches(SvmSamples(samples.kernel, samples.X, samples.index, starts, cache), whole=variables <= WHOLE)


def _single(samples: Samples, problem: Problem, settings: Settings) -> Machines:
    work = Machines(one_segment(samples, settings.cache, len(problem.variables.z)), settings)
    work.add([0], problem)
    return work


def _store_one(work: Machines, b: float) -> Coefficients:
    beta = work.machines[0].beta
    inside = np.flatnonzero(beta)
    return Coefficients(inside, beta[inside][None, :], np.array([b]))


def _judge(work: Callable[[], Certificate]) -> Certificate:
    try:
        return work()
    except KeyboardInterrupt:
        return not_judged("gap")


def _finish(work: Machines, collect: Collect, certify: Certify) -> FittedMachine:
    (support, coef, intercept, *_), certificate = work.until_certified(collect, certify)
    if certificate.status == Status.CONVERGED.value and not certificate.ok:
        certificate = replace(certificate, status=Status.STALLED.value)
    operations = work.operations + work.caches.operations
    return FittedMachine(
        support, coef, intercept, work.counts, work.steps, work.status, work.trace, certificate, operations
    )
