"""Where a spectral filter stops: at a given step, or at the step of the least exact leave-one-out or hold-out error.

Errors are weighted means of squares over the targets; of equal ones the first step is taken.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, is_array_api, on_host, take_rows
from tenfold.cross_validation.spectral_filter_loo import errors_of, errors_of_rows, require_cheap
from tenfold.data import MemoryRows, NotFinite, Rows
from tenfold.judge import spectral_filter as judge
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel
from tenfold.plans.spectral_filter import (
    TRUNCATED,
    Filter,
    as_host_samples,
    system_of_features,
    system_of_kernel,
)


@dataclass(frozen=True)
class Stop:
    """How the step is chosen: a number, "loo" or "holdout"; the largest step, the fraction and seed of a hold-out."""

    rule: int | str
    most: int
    fraction: float
    random: Any


@dataclass(frozen=True)
class FilteredFit:
    """The path of weights (steps + 1, t, .) of features or samples and of intercepts (steps + 1, t), the step, the
    errors (steps + 1,) by which it was chosen, and the certificate.
    """

    path: Floats
    intercepts: Floats
    step: int
    errors: Floats | None
    certificate: Certificate

    @property
    def coef(self) -> Floats:
        return self.path[self.step]

    @property
    def intercept(self) -> Floats:
        return self.intercepts[self.step]


def fit_features(rows: Rows, filter_: Filter, stop: Stop, intercept: bool, dtype: Any) -> FilteredFit:
    """On the features of the samples."""
    _check_samples(stop, rows.shape[0])
    system = system_of_features(rows, intercept)
    steps = _steps(filter_, stop, system.rank)
    path = system.coef_path(filter_.factors(system.values, steps))
    if stop.rule == "loo":
        squares = errors_of_rows(rows, system, filter_, steps, intercept)
        errors: Floats | None = squares / (system.total * rows.targets)
    else:
        errors = _hold_out_features(rows, filter_, stop, intercept, steps) if stop.rule == "holdout" else None
    step = int(np.argmin(errors)) if errors is not None else int(stop.rule)
    path = _round(path, dtype)
    b = _round(system.target_mean - path @ system.mean if intercept else np.zeros(path.shape[:2]), dtype)
    certificate = judge.features(rows, filter_, path, b, intercept, dtype)
    return FilteredFit(path, b, step, errors, certificate)


def fit_kernel(
    kernel: Kernel, X: Array, Y: Array, weight: Array | None, filter_: Filter, stop: Stop, intercept: bool, dtype: Any
) -> FilteredFit:
    """On the kernel of the samples, which are in memory."""
    _check_samples(stop, X.shape[0])
    targets = np.asarray(on_host(Y), dtype=np.float64).reshape(X.shape[0], -1)
    mass = None if weight is None else np.asarray(on_host(weight), dtype=np.float64)
    kernel_system = system_of_kernel(kernel, X, targets, mass, intercept)
    system = kernel_system.system
    steps = _steps(filter_, stop, system.rank)
    weights = kernel_system.root**2
    errors: Floats | None = None
    if stop.rule == "loo":
        require_cheap(len(weights), len(system.values), filter_)
        z = targets - system.target_mean
        squares = errors_of(kernel_system.scores, z, weights, system, filter_, steps, intercept)
        errors = squares / (system.total * targets.shape[1])
    elif stop.rule == "holdout":
        errors = _hold_out_kernel(kernel, X, targets, weights, filter_, stop, intercept, steps)
    step = int(np.argmin(errors)) if errors is not None else int(stop.rule)
    dual, b = kernel_system.dual_path(filter_.factors(system.values, steps), intercept)
    dual = _round(dual, dtype)
    K = np.asarray(on_host(kernel.block(X)), dtype=np.float64)
    if intercept:
        b = _round(system.target_mean - dual @ kernel_system.column_means, dtype)
    certificate = judge.kernel(K, targets, weights, filter_, dual, b, intercept, dtype)
    return FilteredFit(dual, b, step, errors, certificate)


def _check_samples(stop: Stop, n: int) -> None:
    if isinstance(stop.rule, str) and n < 2:
        raise ValueError(f"stop={stop.rule!r} needs at least two samples, got n_samples = {n}: name a step instead.")


def _steps(filter_: Filter, stop: Stop, rank: int) -> int:
    """The length of the path; of components no longer than the rank."""
    most = stop.most if isinstance(stop.rule, str) else int(stop.rule)
    if filter_.method not in TRUNCATED:
        return most
    if not isinstance(stop.rule, str) and most > rank:
        raise ValueError(
            f"{most} components were asked for, and the samples have only {rank}: take stop={rank} or fewer."
        )
    return min(most, rank)


def _round(path: Floats, dtype: Any) -> Floats:
    """The path as it will be stored, in float64."""
    with np.errstate(over="ignore"):
        rounded = path.astype(dtype).astype(np.float64)
    if not np.isfinite(rounded).all():
        raise ValueError("The weights overflow: take fewer steps, a step_size of at most 1, or scale the features.")
    return rounded


def _split(n: int, stop: Stop) -> tuple[Any, Any]:
    """The numbers of the samples for training and for validation."""
    held = round(stop.fraction * n)
    if not 0 < held < n:
        raise ValueError(f"A hold-out of {stop.fraction} of {n} samples leaves none for training or for validation.")
    order = stop.random.permutation(n)
    return np.sort(order[held:]), np.sort(order[:held])


def _hold_out_features(rows: Rows, filter_: Filter, stop: Stop, intercept: bool, steps: int) -> Floats:
    if not isinstance(rows, MemoryRows):
        raise ValueError("A hold-out is drawn from samples in memory: choose stop='loo', or a number of steps.")
    train, test = (_subset(rows, index) for index in _split(rows.shape[0], stop))
    system = system_of_features(train, intercept)
    path = system.coef_path(filter_.factors(system.values, steps))
    b = system.target_mean - path @ system.mean if intercept else np.zeros(path.shape[:2])
    X, y = as_host_samples(test.X), np.asarray(on_host(test.y), dtype=np.float64)
    fits = np.asarray(X @ path.reshape(-1, path.shape[2]).T).reshape(len(y), *path.shape[:2]) + b
    return _mean_squares(y, fits, test.weight)


def _hold_out_kernel(
    kernel: Kernel, X: Array, Y: Floats, weight: Floats, filter_: Filter, stop: Stop, intercept: bool, steps: int
) -> Floats:
    train, test = _split(len(Y), stop)
    samples, others = take_rows(X, train), take_rows(X, test)
    kernel_system = system_of_kernel(kernel, samples, Y[train], weight[train], intercept)
    dual, b = kernel_system.dual_path(filter_.factors(kernel_system.system.values, steps), intercept)
    K = np.asarray(on_host(kernel.block(others, samples)), dtype=np.float64)
    fits = np.moveaxis(np.asarray(dual @ K.T), 2, 0) + b
    return _mean_squares(Y[test], fits, weight[test])


def _mean_squares(y: Floats, fits: Floats, weight: Array | None) -> Floats:
    mass = np.ones(len(y)) if weight is None else np.asarray(on_host(weight), dtype=np.float64)
    total = float(np.sum(mass))
    if total == 0.0:
        raise NotFinite("All samples of the hold-out have weight zero.")
    return np.einsum("n,nkt->k", mass, (y[:, None, :] - fits) ** 2) / (total * y.shape[1])


def _subset(rows: MemoryRows, index: Any) -> MemoryRows:
    X = rows.X if not is_array_api(rows.X) else on_host(rows.X)
    weight = None if rows.weight is None else on_host(rows.weight)[index]
    return MemoryRows(X[index], np.asarray(on_host(rows.y))[index], weight)
