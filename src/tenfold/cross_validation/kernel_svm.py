"""Support vector machines of many penalties on samples that were left out, on rows of the kernel that all fits share.

Of a split and a kernel the machines of all values of C are fitted in ascending order, each from the last, whose
coefficients stay within their bounds. (Coefficients that grow with C took a tenth more steps.) The rows of the kernel
are those of all samples, so that f = K beta of the samples that are left out comes with the fit; of other classes than
those of a machine it is one product for all values of C. Values need not be known to more than the tolerance, so
gradients are not checked in float64.

Leaving one sample out: where the free and the bound support vectors of a machine stay free and bound, the value of
sample i falls by beta_i S_i^2 (`bounds.leave_one_out`), which only machines of its class change.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.bounds.leave_one_out import compute_spans
from tenfold.machine import require_memory
from tenfold.plans.kernel_svm import (
    CROSS_GAP,
    ClassOptions,
    ClassPairs,
    Machine,
    Machines,
    Samples,
    Settings,
    Start,
    one_segment,
)
from tenfold.solvers import svm_variables
from tenfold.solvers.loop import Status
from tenfold.solvers.svm_decomposition import Caches, SvmSamples

AT_BOUND = 1e-6  # relative distance from a bound at which a coefficient is there
SPANS = 9.0  # operations of the eigendecomposition for the spans of m free support vectors, in m^3
TILE_VALUES = 1 << 21  # of the kernel, whose smallest values are looked for at a time


Betas = list[dict[int, tuple[Integers, Floats]]]  # of each pair and number of C the places and values
See = Callable[[int, int, Machine, Integers], None]


@dataclass(frozen=True)
class Penalties:
    """Cs (A,) ascending, and the factors (n,) of the samples: weights, those of classes included."""

    Cs: Floats
    factor: Floats

    def bounds(self, a: int, times: Any = 1.0) -> Floats:
        """C_i of all samples, which count `times`."""
        return np.asarray(self.Cs[a] * self.factor * times)


class Search:
    """Fits to parts of the samples, and their operations: of the solver, of the kernel, and of products with it."""

    caches: Caches

    def __init__(self, penalties: Penalties, settings: Settings, squared: bool) -> None:
        self.penalties, self.squared = penalties, squared
        self.settings = replace(settings, callback=None)
        self.checked = False  # whether gradients are checked in float64
        self._spent = 0.0

    @property
    def operations(self) -> float:
        """Floating-point operations, about."""
        return self._spent + self.caches.operations

    def _machines(self) -> Machines:
        work = Machines(self.caches, self.settings)
        if not self.checked:
            work.rule.gap, work.rule.refines = CROSS_GAP, False
        return work

    def _path(self, segments: list[int], problems: list[svm_variables.Problem]) -> Iterator[Machine]:
        """Machines of all values of C; `problems` are those of a part of the samples."""
        start: Start | None = None
        for problem in problems:
            work = self._machines()
            machine = work.add(segments, problem, start)
            self._spent += work.operations
            start = machine.point.beta, machine.point.f
            yield machine


class ClassSearch(Search):
    """One machine for each pair of classes: number (n,) the class of each sample."""

    def __init__(
        self,
        samples: Samples,
        number: Integers,
        count: int,
        penalties: Penalties,
        settings: Settings,
        options: ClassOptions,
    ) -> None:
        super().__init__(penalties, settings, options.squared)
        self.number = number
        self.classes = ClassPairs(samples, number, count, settings.cache)
        self.caches = self.classes.caches

    def values(self, train: Integers, test: Integers, see: See | None = None) -> Floats:
        """Values (m, pairs, A) of the test samples, positive for the first class of a pair; `see` gets every machine
        with the number of its pair, of its C, and its samples in the order.
        """
        classes, A = self.classes, len(self.penalties.Cs)
        times = np.bincount(train, minlength=len(self.number)).astype(np.float64)
        bounds = [self.penalties.bounds(a, times)[classes.order] for a in range(A)]
        values = np.zeros((len(test), len(classes.pairs), A))
        betas: Betas = [{} for _ in classes.pairs]
        place = np.empty(len(self.number), dtype=np.intp)  # of a sample in the order
        place[classes.order] = np.arange(len(place))
        for t, pair in enumerate(classes.pairs):
            members = classes.members(pair)
            inside = np.flatnonzero(bounds[0][members] > 0.0)
            first = inside < classes.sizes[pair[0]]
            if first.all() or not first.any():  # of one class alone, which wins
                values[:, t] = 0.0 if not len(inside) else 1.0 if first.all() else -1.0
                continue
            own = np.isin(self.number[test], pair)
            here = np.searchsorted(members, place[test[own]])
            problems = [classes.problem(pair, C, None, self.squared, inside) for C in bounds]
            for a, machine in enumerate(self._path(list(pair), problems)):
                values[:, t, a] = machine.point.multipliers[0] if _is_done(machine) else np.nan
                values[own, t, a] += machine.point.f[here]
                betas[t][a] = _nonzero(members[inside], machine.point.beta)
                if see is not None:
                    see(t, a, machine, members[inside])
        if len(classes.pairs) > 1:
            self._add_others(values, betas, place[test], self.number[test])
        return values

    def _add_others(self, values: Floats, betas: Betas, test: Integers, own: Integers) -> None:
        """Adds f of the samples of other classes than those of a pair, class by class of the support vectors."""
        classes, A = self.classes, len(self.penalties.Cs)
        samples: SvmSamples = self.caches.samples
        for k in range(classes.count):
            among = [t for t, pair in enumerate(classes.pairs) if k in pair]
            part = samples.segment(k)
            V = np.zeros((part.stop - part.start, len(among), A))
            for column, t in enumerate(among):
                for a, (at, beta) in betas[t].items():
                    here = (at >= part.start) & (at < part.stop)
                    V[at[here] - part.start, column, a] = beta[here]
            used, rows = np.flatnonzero(V.any(axis=(1, 2))), np.flatnonzero(own != k)
            if not len(used) or not len(rows):
                continue
            flat = np.ascontiguousarray(V[used].reshape(len(used), -1))
            f = samples.values(test[rows], used + part.start, flat).reshape(len(rows), len(among), A)
            self._spent += len(rows) * len(used) * (samples.operations_per_value + 2.0 * flat.shape[1])
            for column, t in enumerate(among):
                others = ~np.isin(own[rows], classes.pairs[t])
                values[rows[others], t] += f[others, column]

    def leave_one_out(self) -> tuple[Floats, Any]:
        """Values (n, pairs, A) of each sample by machines without it, where no other changes its kind; and whether
        machines without it may be wrong, (n, A), by the bound of Joachims, which holds for samples of equal weight.
        """
        classes, n = self.classes, len(self.number)
        drops = np.zeros((n, len(classes.pairs), len(self.penalties.Cs)))
        reached = np.zeros((n, len(self.penalties.Cs)), dtype=bool)
        smallest, diagonal = self._smallest(), self.caches.samples.diagonal

        def see(t: int, a: int, machine: Machine, members: Integers) -> None:
            pair, v = classes.pairs[t], machine.problem.variables
            y, rows = np.sign(v.z), classes.order[members]
            alpha, f = y * machine.point.beta, machine.point.f + machine.point.multipliers[0]
            support, free = _find_kinds(alpha, np.maximum(np.abs(v.lo), np.abs(v.hi)))
            spans = self._spans(members[support], free[support], v.extra[support])
            drops[rows[support], t, a] = y[support] * alpha[support] * (spans - v.extra[support])
            square = float(np.max(diagonal[members] - np.min(smallest[members][:, list(pair)], axis=1) + v.extra))
            slack = np.maximum(0.0, 1.0 - y * f - v.extra * alpha)
            bad = 2.0 * alpha * square + slack >= 1.0 - AT_BOUND
            reached[rows, a] |= support & (bad if free.any() else True)

        everything = np.arange(n)
        self.checked = True
        return self.values(everything, everything, see) - drops, reached

    def _smallest(self) -> Floats:
        """The smallest value (n, classes) of the kernel of each sample, in the order, with those of a class."""
        samples, n = self.caches.samples, len(self.number)
        least = np.empty((n, self.classes.count))
        step = max(1, TILE_VALUES // n)
        for a in range(0, n, step):
            numbers = np.arange(a, min(n, a + step))
            for k in range(self.classes.count):
                least[numbers, k] = samples.unit * np.min(samples.block(numbers, k, np.float64), axis=1)
        self._spent += n * n * samples.operations_per_value
        return least

    def _spans(self, support: Integers, free: Any, extra: Floats) -> Floats:
        """S^2 of support vectors; squared slack has 1 / (2 C) on the diagonal of the kernel."""
        m = len(support)
        _require_spans(m)
        samples = self.caches.samples
        K = np.empty((m, m))
        for k in range(self.classes.count):
            part = samples.segment(k)
            here = np.flatnonzero((support >= part.start) & (support < part.stop))
            if len(here):
                K[:, here] = samples.unit * samples.block(support, k, np.float64)[:, support[here] - part.start]
        K[np.diag_indices(m)] += extra
        self._spent += m * m * samples.operations_per_value + SPANS * float(np.sum(free)) ** 3
        return compute_spans(0.5 * (K + K.T), free, np.ones(m, dtype=bool), True)


class TargetSearch(Search):
    """Regression: y (n,) the targets."""

    def __init__(
        self, samples: Samples, y: Floats, epsilon: float, penalties: Penalties, settings: Settings, squared: bool
    ) -> None:
        super().__init__(penalties, settings, squared)
        self.y, self.epsilon = y, epsilon
        self.caches = one_segment(samples, settings.cache, 2 * len(y))

    def _machines_of(self, inside: Integers, times: Any) -> Iterator[Machine]:
        problems = []
        for a in range(len(self.penalties.Cs)):
            C = self.penalties.bounds(a, times)[inside]
            problem = svm_variables.targets(self.y[inside], C, self.epsilon, self.squared)
            sample = np.concatenate([inside, inside]).astype(np.int32)
            problems.append(problem._replace(variables=problem.variables._replace(sample=sample)))
        return self._path([0], problems)

    def values(self, train: Integers, test: Integers) -> Floats:
        """Predictions (m, A) of the test samples."""
        times = np.bincount(train, minlength=len(self.y)).astype(np.float64)
        inside = np.flatnonzero(self.penalties.factor * times > 0.0)
        if not len(inside):
            raise ValueError("A split has no training samples of positive weight.")
        machines = self._machines_of(inside, times)
        return np.column_stack(
            [m.point.f[test] + (m.point.multipliers[0] if _is_done(m) else np.nan) for m in machines]
        )

    def leave_one_out(self) -> Floats:
        """Predictions (n, A) of each sample by machines without it, where no other changes its kind."""
        n, everything = len(self.y), np.arange(len(self.y))
        result, samples = np.empty((n, len(self.penalties.Cs))), self.caches.samples
        self.checked = True
        for a, machine in enumerate(self._machines_of(everything, 1.0)):
            beta, v = machine.beta, machine.problem.variables
            extra = v.extra[:n]
            support, free = _find_kinds(np.abs(beta), v.hi[:n])
            index = np.flatnonzero(support)
            _require_spans(len(index))
            K = samples.unit * samples.block(index, 0, np.float64)[:, index]
            K[np.diag_indices(len(index))] += extra[index]
            self._spent += len(index) * n * samples.operations_per_value + SPANS * float(np.sum(free)) ** 3
            spans = compute_spans(0.5 * (K + K.T), free[index], np.ones(len(index), dtype=bool), True)
            result[:, a] = machine.point.f + (machine.point.multipliers[0] if _is_done(machine) else np.nan)
            result[index, a] -= beta[index] * (spans - extra[index])
        return result


def _require_spans(m: int) -> None:
    require_memory(f"The spans of {m} support vectors", 40 * m * m, "Choose by folds.")


def _find_kinds(alpha: Floats, upper: Floats) -> tuple[Any, Any]:
    """Whether coefficients are above zero, and whether they are below their bounds, too."""
    support = alpha > AT_BOUND * np.minimum(upper, np.max(alpha, initial=0.0))
    return support, support & (alpha < (1.0 - AT_BOUND) * upper)


def _is_done(machine: Machine) -> bool:
    """Whether time did not end the fit."""
    return machine.status is not Status.TIME_LIMIT


def _nonzero(numbers: Integers, beta: Floats) -> tuple[Integers, Floats]:
    """The coefficients that are not zero."""
    nonzero = np.flatnonzero(beta)
    return numbers[nonzero], beta[nonzero]
