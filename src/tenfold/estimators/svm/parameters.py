"""Parameters of linear support vector machines, with scikit-learn's errors."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array
from tenfold.data import Rows
from tenfold.estimators.class_labels import combine_weights, compute_class_weights, indicator
from tenfold.estimators.parameters import Constraints, boolean, choice, integer, nothing, random_state, real
from tenfold.estimators.registration import SOURCES, source_of
from tenfold.estimators.validation import as_rows, drop_zero_weights, total_weight
from tenfold.losses.classification import Hinge, SquaredHinge
from tenfold.losses.loss import Loss
from tenfold.losses.regression import EpsilonInsensitive, SquaredEpsilonInsensitive
from tenfold.machine import run_concurrently
from tenfold.plans.result import Fitted
from tenfold.plans.svm import Limits, Machine, fit_joint
from tenfold.plans.svm import fit as fit_machine
from tenfold.solvers.loop import Callback, Record, Status
from tenfold.stats.derivatives import Params

# the losses by scikit-learn's names; a tube has half a width
LOSSES: dict[str, Callable[[float], Loss]] = {
    "hinge": lambda _: Hinge(),
    "squared_hinge": lambda _: SquaredHinge(),
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}

# for each loss and penalty the values of `dual` that scikit-learn takes
DUALS = {
    ("hinge", "l2"): (True,),
    ("squared_hinge", "l1"): (False,),
    ("squared_hinge", "l2"): (False, True),
    ("epsilon_insensitive", "l2"): (True,),
    ("squared_epsilon_insensitive", "l2"): (False, True),
}

COMMON: Constraints = {
    "tol": (real(0.0, closed="neither"),),
    "C": (real(0.0, closed="neither"),),
    "fit_intercept": (boolean(),),
    "intercept_scaling": (real(0.0, closed="neither"),),
    "dual": (boolean(), choice("auto")),
    "verbose": (integer(0), boolean()),
    "random_state": (random_state(),),
    "max_iter": (integer(0),),
    "penalize_intercept": (boolean(),),
    "time_limit": (nothing(), real(0, np.inf, "right")),
}


def machine_of(model: Any, weight: float) -> Machine:
    """The problem of a model, scikit-learn's included, on samples with this total weight."""
    with np.errstate(over="ignore", divide="ignore"):
        strength = float(min(np.float64(1.0) / model.C / weight, 1e200))
    unit = float(model.intercept_scaling) if getattr(model, "penalize_intercept", True) else np.inf
    loss = LOSSES[model.loss](float(getattr(model, "epsilon", 0.0)))
    return Machine(loss, strength, bool(model.fit_intercept), unit, getattr(model, "penalty", "l2") == "l1")


def check_memory_source(model: Any, X: Any) -> None:
    """Reject nonsmooth losses of samples on a cluster, and classes that are fitted together on a device, too."""
    source = source_of(X)
    joint = getattr(model, "multi_class", "ovr") == "crammer_singer"
    rejected = ("Dask", "devices") if joint else ("Dask",) if LOSSES[model.loss](0.0).nonsmooth else ()
    if source not in rejected:
        return
    setting = "multi_class='crammer_singer'" if joint else f"loss={model.loss!r}"
    other = "multi_class='ovr' and loss='squared_hinge'" if joint else f"loss='squared_{model.loss}'"
    raise ValueError(
        f"{type(model).__name__} with {setting} keeps numbers for each sample in this machine's memory, and does not "
        f"read {SOURCES[source]}: bring the samples to this machine, or use {other}, which reads them where they are."
    )


class Task(NamedTuple):
    """One problem: its targets, numbers of classes where all are fitted together, and the weights of the samples."""

    target: Array
    weight: Array | None


def tasks(model: Any, number: Array, weight: Array | None) -> list[Task]:
    """The problems of a classifier on samples of these classes and sample weights.

    Two classes, and all together: the weight of a sample has that of its class as a factor. One class against the
    others: only its own samples do, as in liblinear.
    """
    count = int(model.classes_.shape[0])
    if model.multi_class == "crammer_singer" or count == 2:
        both = combine_weights(model.class_weight, model.classes_, number, weight)
        joint = model.multi_class == "crammer_singer"
        return [Task(np.asarray(number, dtype=np.float64) if joint else indicator(number, 1, 1.0, -1.0), both)]
    weight = combine_weights(None, model.classes_, number, weight)
    targets = [indicator(number, own, 1.0, -1.0) for own in range(count)]
    if model.class_weight is None:
        return [Task(target, weight) for target in targets]
    factors = compute_class_weights(model.class_weight, model.classes_, number, weight)
    each = [indicator(number, own, float(factors[own]), 1.0) for own in range(count)]
    return [Task(*pair) for pair in zip(targets, each if weight is None else [weight * e for e in each], strict=True)]


def rows_of(X: Array, task: Task) -> tuple[Rows, float]:
    """The samples of positive weight of a task, and its sum."""
    kept, target, weight = drop_zero_weights(X, task.target, task.weight)
    return as_rows(kept, target, weight), total_weight(target, weight)


def ascends(model: Any, shape: tuple[int, int]) -> bool | None:
    """Whether the dual is to be ascended, None where the plan may choose; by scikit-learn's rules about what goes
    together.
    """
    if getattr(model, "multi_class", "ovr") == "crammer_singer":
        return None  # where loss, penalty and dual are not asked
    loss, penalty, dual = model.loss, getattr(model, "penalty", "l2"), model.dual
    taken = DUALS.get((loss, penalty), ())
    if dual == "auto":
        dual = shape[0] < shape[1]
        dual = dual if dual in taken else not dual
    if dual not in taken:
        pair = f"The combination of penalty='{penalty}' and loss='{loss}'"
        reason = f"{pair} are not supported when dual={dual}" if taken else f"{pair} is not supported"
        raise ValueError(
            f"Unsupported set of arguments: {reason}, Parameters: penalty={penalty!r}, loss={loss!r}, dual={dual!r}"
        )
    # a loss with kinks has only one value of dual: it says nothing about the method
    return None if model.dual == "auto" or len(taken) == 1 else bool(dual)


def seed_of(model: Any) -> int:
    return int(check_random_state(model.random_state).randint(1, np.iinfo(np.int32).max))


class Fits:
    """The fits of a model, one for each of its targets: within one time, and none after an interruption."""

    def __init__(self, model: Any, dual: bool | None, callback: Callback | None) -> None:
        self.model, self.dual, self.callback, self.halted = model, dual, callback, False
        self.seed, self.begin, self.max_iter = seed_of(model), time.perf_counter(), int(model.max_iter)

    def run_concurrently(self, work: Callable[[Task], Fitted], todo: Sequence[Task], entries: int) -> list[Fitted]:
        """The fits of several targets; an interruption reaches those that go on in other threads, too."""
        self.callback = self.heed
        return run_concurrently(work, todo, entries, self.halt)

    def halt(self) -> None:
        """Interrupt what goes on, and begin nothing else."""
        self.halted, self.max_iter = True, 0

    def heed(self, record: Record, params: Params) -> bool:
        """The watch of a fit that may be halted."""
        if self.halted:
            raise KeyboardInterrupt
        return False

    def _limits(self) -> Limits:
        left = self.model.time_limit
        left = None if left is None else max(0.0, left - (time.perf_counter() - self.begin))
        return Limits(self.max_iter, left, self.callback)

    def joint(self, rows: Rows, machine: Machine, classes: int) -> Fitted:
        """All classes together."""
        return fit_joint(
            rows,
            machine,
            classes,
            tol=float(self.model.tol),
            limits=self._limits(),
            seed=self.seed,
            dtype=rows.dtype,
        )

    def __call__(self, rows: Rows, machine: Machine) -> Fitted:
        fitted = fit_machine(
            rows,
            machine,
            dual=self.dual,
            tol=float(self.model.tol),
            limits=self._limits(),
            seed=self.seed,
            dtype=rows.dtype,
        )
        if fitted.certificate.status == Status.INTERRUPTED.value:
            self.max_iter = 0
        return fitted
