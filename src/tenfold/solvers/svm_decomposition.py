"""Support vector machines by decomposition, in float32 kernels with gradients checked in float64.

Over variables v, each of a sample i(v), minimise

    1/2 b' K b + 1/2 sum_v d_v beta_v^2 - sum_v z_v beta_v,    lo <= beta <= hi,    b_i = sum_i(v)=i beta_v,

where the sum of beta of each of one or two groups of variables stays what it is at the start
(core/include/tenfold/svm_decomposition.hpp). Rows of the kernel are evaluated in float32, whose rounding adds up in
f = K b; where that says optimal, f is computed again in float64, and the solver goes on from there. Where float32
allows no further step, rows are evaluated in float64.

The kernel is divided by its largest diagonal entry, and beta multiplied by it, so that float32 does not overflow.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, contiguous, is_sparse
from tenfold.kernels import Gaussian, Kernel, Linear, Precomputed
from tenfold.linear_algebra import dot
from tenfold.machine import threads
from tenfold.solvers.loop import Step
from tenfold.solvers.svm_interior_point import LowRank, Matrix
from tenfold.solvers.svm_interior_point import solve as solve_interior
from tenfold.solvers.svm_variables import Problem

OPTIMAL, LIMIT, STALLED = range(3)

WHOLE = 1024  # variables up to which all of them are one working set, whose kernel is kept in float64
WORKING_SET = 512  # variables of a working set otherwise
ROUNDS = 16  # working sets between two steps of the trace
REFINEMENTS = 12  # gradients in float64 after which the kernel is evaluated in float64, too
ROUNDING = 1e-15  # of the square of sum |beta| sqrt(K_ii): a smaller gap is rounding
FACTORED = 2500  # samples up to which interior points take over: a kernel matrix of 48 MiB, twice
PATIENCE = 100  # steps for each variable, and ten thousand, after which they do
FEW_FEATURES = 256  # of a linear kernel, whose interior points cost n p^2 a step
LONG = 2000  # samples from which a linear kernel of few features begins with them
FINER = 0.01  # of the gap that is allowed: that at which interior points end, before bounds that hold are put in place
UNLIMITED = 1 << 62
FUNCTION = 20.0  # operations of the elementwise function of a kernel
ENOUGH = 10_000_000  # steps, and a hundred for each variable, after which the rest is said to be out of reach


@dataclass(frozen=True)
class SvmSamples:
    """Samples, or their kernel matrix where it is given, sorted into segments: sample k is row order[k] of X, and
    segment s has the numbers starts[s], ..., starts[s + 1] - 1.
    """

    kernel: Kernel
    X: Any
    order: Integers
    starts: Integers
    bytes: float

    @property
    def given(self) -> bool:
        return isinstance(self.kernel, Precomputed)

    @cached_property
    def _sorted(self) -> Any:
        whole = len(self.order) == self.X.shape[0] and np.array_equal(self.order, np.arange(len(self.order)))
        X = self.X if whole else self.X[self.order]
        return X if is_sparse(X) else contiguous(X)

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal entries (n,) of the kernel."""
        diagonal = self.X[self.order, self.order] if self.given else self.kernel.diag(self._sorted)
        return np.asarray(diagonal, dtype=np.float64)

    @cached_property
    def largest(self) -> float:
        """The largest diagonal entry of the kernel."""
        if isinstance(self.kernel, Gaussian):
            return 1.0
        size = float(np.max(np.abs(self.diagonal)))
        if not np.isfinite(size):
            raise ValueError("The values of the kernel overflow: scale the columns of X, or take a smaller gamma.")
        return size

    @property
    def operations_per_value(self) -> float:
        """Floating-point operations of a value of the kernel; of a given one that of reading it."""
        return 1.0 if self.given else FUNCTION + (2.0 * self.X.shape[1] if hasattr(self.X, "shape") else 0.0)

    @cached_property
    def unit(self) -> float:
        """`largest` to a power of two; 1 unless it is far from that."""
        size = self.largest
        return 1.0 if 1e-6 < size < 1e6 or size == 0.0 else float(2.0 ** np.round(np.log2(size)))

    def make_cache(self, precise: bool) -> Any:
        """Rows of the kernel, by its unit, in a cache."""
        cls = _core.KernelCache if precise else _core.KernelCacheFloat32
        count = threads(len(self.order) ** 2)
        form = None if self.given or is_sparse(self.X) else self.kernel._pair_form()
        if form is None or form.function is None or form.image is None or form.noise:
            return cls(_Fetch(self, np.float64 if precise else np.float32), self.starts, self.bytes, count)
        scale, shift = form.function.scale / self.unit, (form.function.shift + form.constant) / self.unit
        function = replace(form.function, scale=scale, shift=shift)
        return cls(contiguous(form.image(self._sorted)), self.starts, *function.arguments, self.bytes, count)

    def take(self, numbers: Integers) -> Any:
        return self._sorted[numbers]

    def segment(self, s: int) -> slice:
        return slice(int(self.starts[s]), int(self.starts[s + 1]))

    def block(self, numbers: Integers, s: int, dtype: Any) -> Array:
        """The kernel of samples and those of a segment, by its unit."""
        part = self.segment(s)
        if self.given:
            values = np.asarray(self.X[np.ix_(self.order[numbers], self.order[part])], dtype=np.float64)
        else:
            values = np.asarray(self.kernel.block(self.take(numbers), self._sorted[part]))
        return contiguous((values / self.unit).astype(dtype))

    def values(self, rows: Integers, columns: Integers, V: Floats) -> Floats:
        """K[rows, columns] V for V (columns, t), in float64."""
        if self.given:
            return np.asarray(self.X[np.ix_(self.order[rows], self.order[columns])], dtype=np.float64) @ V
        return np.asarray(self.kernel.multiply(self.take(rows), self.take(columns), V))

    def product(self, segments: list[int], numbers: Integers, beta: Floats) -> Floats:
        """K beta for the samples of some segments, in float64; numbers: the samples of beta."""
        parts = []
        for s in segments:
            part = self.segment(s)
            if not len(numbers):
                parts.append(np.zeros(part.stop - part.start))
            elif self.given:
                K = np.asarray(self.X[np.ix_(self.order[part], self.order[numbers])], dtype=np.float64)
                parts.append(K @ beta)
            elif isinstance(self.kernel, Linear) and not self.kernel.sigma_0:
                w = self.take(numbers).T.astype(np.float64) @ beta
                parts.append(np.asarray(self._sorted[part] @ w))
            else:
                parts.append(np.asarray(self.kernel.multiply(self._sorted[part], self.take(numbers), beta)))
        return contiguous(np.concatenate(parts))


@dataclass(frozen=True)
class _Fetch:
    """Rows of a kernel that is not compiled."""

    samples: SvmSamples
    dtype: Any

    def __call__(self, numbers: Integers, segment: int) -> Array:
        return self.samples.block(numbers, segment, self.dtype)


@dataclass
class Rule:
    """When to stop: violation: of the conditions of Karush, Kuhn and Tucker, libsvm's tol; gap: of the duality gap by
    its scale; steps: most pairs that are moved; refines: whether gradients are checked in float64 before the end.
    """

    violation: float
    gap: float
    steps: int = UNLIMITED
    refines: bool = True


@dataclass
class Caches:
    """The kernel rows of all problems on the same samples: in float32, and from the first that needs it in float64;
    whole: whether each problem is one working set, whose kernel is in float64 from the start.
    """

    samples: SvmSamples
    whole: bool = False
    evaluated: float = 0.0  # values of caches that were given up
    _of: dict[bool, Any] = field(default_factory=dict)

    def get(self, precise: bool) -> Any:
        if precise not in self._of:
            self._give_up()  # one cache at a time, within the memory that is allowed
            self._of[precise] = self.samples.make_cache(precise)
        return self._of[precise]

    def _give_up(self) -> None:
        for cache in self._of.values():
            self.evaluated += cache.evaluated
            cache.clear()  # solvers of earlier problems keep it alive
        self._of.clear()

    @property
    def operations(self) -> float:
        """Floating-point operations of all values that were evaluated."""
        values = self.evaluated + sum(cache.evaluated for cache in self._of.values())
        return values * self.samples.operations_per_value


class Point(NamedTuple):
    """An iterate: beta of the variables (m,), f of the samples, and the multipliers of the groups."""

    beta: Floats
    f: Floats
    multipliers: tuple[float, float]


class Decomposition:
    """One problem, from its start, or from `beta` (m,) with f = K beta of the samples of the segments."""

    def __init__(
        self, caches: Caches, segments: list[int], problem: Problem, rule: Rule, start: tuple[Floats, Floats] | None
    ) -> None:
        self.caches, self.segments, self.variables, self.rule = caches, segments, problem.variables, rule
        samples, self.scale = caches.samples, problem.scale
        self.unit = samples.unit
        self._length = float(np.sqrt(samples.largest / samples.unit))
        self._numbers = np.concatenate([np.arange(*samples.segment(s).indices(1 << 62)) for s in segments])
        self.precise = caches.whole
        self.steps, self._before, self._operations = 0, 0, 0.0
        self.limited = False
        self._solver = self._make(*(start or (problem.start, None)))

    def _make(self, beta: Floats, f: Floats | None = None) -> Any:
        v, unit = self.variables, self.unit
        solver = (_core.SvmDecomposition if self.precise else _core.SvmDecompositionFloat32)(
            self.caches.get(self.precise),
            np.asarray(self.segments, dtype=np.int64),
            v.sample,
            v.z,
            v.lo * unit if unit != 1.0 else v.lo,
            v.hi * unit if unit != 1.0 else v.hi,
            v.extra / unit if unit != 1.0 else v.extra,
            v.first,
            WHOLE if self.precise else WORKING_SET,
        )
        if beta.any():
            solver.set(beta * unit, self._product(beta) if f is None else f)
        return solver

    @property
    def operations(self) -> float:
        """Floating-point operations without those of kernel values."""
        return self._operations + float(self._solver.operations)

    @property
    def low_rank(self) -> bool:
        """Whether the kernel is linear, and the features are few."""
        samples = self.caches.samples
        linear = isinstance(samples.kernel, Linear) and not samples.kernel.sigma_0 and not is_sparse(samples.X)
        return linear and samples.X.shape[1] <= min(FEW_FEATURES, len(self._numbers))

    def of_samples(self, beta: Floats) -> Floats:
        """The sums of beta of each sample, those of all segments of the problem."""
        totals = np.bincount(self.variables.sample, weights=beta, minlength=len(self._numbers))
        return totals.astype(np.float64, copy=False)

    def _product(self, beta: Floats) -> Floats:
        total = self.of_samples(beta)
        inside = np.flatnonzero(total)
        return self.caches.samples.product(self.segments, self._numbers[inside], total[inside])

    @property
    def point(self) -> Point:
        return Point(self._solver.beta / self.unit, self._solver.f, self._solver.multipliers)

    def _target(self) -> float:
        """The gap that is allowed, in the units of the solver."""
        if self.scale is not None:
            return self.rule.gap * self.scale * self.unit
        beta = self.of_samples(self._solver.beta)
        size = float(np.sum(np.abs(beta))) * self._length  # of ||w||, where nothing cancels
        return max(self.rule.gap * 0.5 * abs(dot(beta, self._solver.f)), ROUNDING * size * size)

    def _step(self) -> Step:
        solver, v, target = self._solver, self.variables, self._target()
        beta, f = solver.beta, solver.f
        extra = float(v.extra @ (beta * beta)) / self.unit
        dual = dot(np.asarray(v.z), beta) - 0.5 * (dot(self.of_samples(beta), f) + extra)
        violation = solver.violation / self.rule.violation
        gap = solver.gap / target if target > 0.0 else (0.0 if solver.gap == 0.0 else np.inf)
        measure = max(violation, gap if np.isfinite(solver.gap) else violation)
        return Step(self.point, (dual + solver.gap) / self.unit, measure)

    def path(self) -> Iterator[Step]:
        """Steps until both rules are met in float64; goes on where a rule was tightened since."""
        refinements, last, factored = 0, np.inf, False
        m = len(self.variables.z)
        yield Step(self.point, np.inf, np.inf)
        if self.low_rank and len(self._numbers) >= LONG and self.rule.steps == UNLIMITED:
            factored = True
            self._factorise()
            yield self._step()
        while True:
            target = self._target()
            if self.scale is None and target == 0.0 and not self._solver.rounds:
                target = np.inf
            end = self._solver.run(self.rule.violation, target, max(0, self.rule.steps - self._before), ROUNDS)
            self.steps = self._before + self._solver.steps
            if self.steps >= self.rule.steps and end != OPTIMAL:
                self.limited = True
                yield self._step()._replace(measure=np.inf)
                return
            slow = end != OPTIMAL and self.steps > PATIENCE * m + 10_000
            if slow and not factored and (self.low_rank or len(self._numbers) <= FACTORED):
                factored = True
                self._factorise()
                yield self._step()
            elif end != OPTIMAL and self.steps > max(ENOUGH, 100 * m):
                yield self._step()
                return
            elif end == OPTIMAL and not self.precise and self.rule.refines:
                refinements += 1
                beta = self._solver.beta
                self._solver.set(beta, self._product(beta / self.unit))
                drifts, last = self._solver.gap > 0.5 * last, self._solver.gap
                step = self._step()
                if step.measure > 1.0 and (drifts or refinements > REFINEMENTS):
                    self._make_precise()
                yield step
            elif end == STALLED and not self.precise:
                self._make_precise()
            elif end == STALLED:
                yield self._step()
                return
            else:
                final = self.precise or end == OPTIMAL
                yield self._step() if final else self._step()._replace(measure=np.inf)

    def _factorise(self) -> None:
        """Go to where interior points end, if the gap is smaller there, with a kernel in float64."""
        samples, v = self.caches.samples, self.variables
        used, own = np.unique(v.sample, return_inverse=True)  # samples that are left out have no variables
        K: Matrix | LowRank
        if self.low_rank:
            K = LowRank(samples.take(self._numbers[used]).astype(np.float64) / np.sqrt(self.unit))
        else:
            values = np.hstack([samples.block(self._numbers[used], s, np.float64) for s in self.segments])[:, used]
            K = Matrix(0.5 * (values + values.T))
        beta = self._solver.beta
        sums = np.array([np.sum(beta[: v.first]), np.sum(beta[v.first :])])
        scaled = v._replace(sample=own, lo=v.lo * self.unit, hi=v.hi * self.unit, extra=v.extra / self.unit)
        there = solve_interior(K, scaled, sums, FINER * self._target()) / self.unit
        before, gap = self.point.beta, self._solver.gap
        self._make_precise(there if np.isfinite(there).all() else before)
        if not self._solver.gap <= gap:
            self._make_precise(before)

    def _make_precise(self, beta: Floats | None = None) -> None:
        """Go on with a kernel in float64."""
        beta = self._solver.beta / self.unit if beta is None else beta
        self.precise, self._before = True, self.steps
        self._operations += float(self._solver.operations)
        self._solver = self._make(beta)
