"""Gaussian process regression: hyper-parameters by evidence, the posterior, and the judge.

From each start the evidence is maximised by Newton's method in the box of the bounds. Many samples are approached by
few: the maximum for one sample in four, found the same way, is the start for all of them where its evidence is the
larger one; a search among few samples costs a few hundredths of one among all. The scale of the kernel, where it is
free, starts at that of the targets. A search that ends where the kernel explains nothing begins again at length scales
of the data.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.judge import gaussian_process as judge
from tenfold.judge.certificate import Certificate
from tenfold.kernels.covariance import Covariance
from tenfold.machine import require_memory, run_concurrently
from tenfold.plans.gaussian_process_evidence import (
    Evidence,
    Posterior,
    SpectralEvidence,
    solve_posterior,
    split_amplitude,
)
from tenfold.plans.gaussian_process_laplace import LaplaceEvidence
from tenfold.plans.gaussian_process_starts import has_constant_evidence, start_at_widths
from tenfold.solvers.bounded_newton import Read, steps
from tenfold.solvers.loop import Status, run

MANY_SAMPLES = 800  # from here a search among one sample in FEW comes first (benchmark: gaussian process)
FEW = 4

MAX_STEPS = 200  # of Newton's method; some ten are usual

TOLERANCE, COARSE_TOLERANCE = 1e-8, 1e-5  # expected gain in nats a target at the end, and at the end among few samples

GRADIENT_TOLERANCE = 5e-5, 1e-6  # of the evidence's gradient at the end: in nats, or in nats a target if that is more

LARGEST_TARGET = 1e100  # squares of sums of larger ones are no numbers

MATRICES = 6  # n x n in memory at once: the kernel, its factor, the inverse, the stored factor, and copies

Optimizer = Callable[..., tuple[Any, float]]
"""optimizer(obj_func, initial_theta, bounds): the user's own; returns theta and the negative evidence there."""


@dataclass(frozen=True)
class Search:
    """The result of a search for hyper-parameters."""

    theta: Floats
    status: Status


@dataclass(frozen=True)
class ProcessFit:
    """Hyper-parameters, posterior and certificate."""

    theta: Floats
    posterior: Posterior
    certificate: Certificate


def require_matrices(n: int, matrices: int = MATRICES) -> None:
    """Raise where the matrices of n samples do not fit into memory."""
    instead = (
        "Fit a sample of the rows, or take the dual coefficients alone from KernelRidge, which keeps one such matrix."
    )
    require_memory(
        f"A Gaussian process of {n:,} samples, {matrices} matrices of their pairs,", matrices * 8 * n * n, instead
    )


def fit_regression(
    covariance: Covariance, X: Any, y: Floats, alpha: Any, starts: Sequence[Floats] | None, optimizer: Optimizer | None
) -> ProcessFit | None:
    """Fit to samples X and targets y (n, t) with noise variances alpha; `starts` None leaves the hyper-parameters as
    they are. None where the kernel matrix is not positive definite.
    """
    require_matrices(len(y))
    if float(np.max(np.abs(y), initial=0.0)) > LARGEST_TARGET:
        raise ValueError("The targets are so large that their squares overflow: divide them, or set normalize_y=True.")
    evidence, status = Evidence(covariance, X, y, alpha), Status.SOLVED
    theta = covariance.theta
    if starts is not None and len(theta):
        result = search(evidence, starts, optimizer)
        if result is None:
            return None
        theta, status = result.theta, result.status
        covariance = covariance.at(theta)
    posterior = solve_posterior(covariance.block(X), y, alpha)
    if posterior is None:
        return None
    posterior = Posterior(np.tril(posterior.L), posterior.dual, posterior.evidence)
    stored = judge.Stored(covariance, alpha, posterior.L, posterior.dual, posterior.evidence)
    certificate = judge.regression(stored, X, y, optimised=starts is not None, status=status.value)
    return ProcessFit(theta, posterior, certificate)


def search(
    evidence: Evidence | LaplaceEvidence, starts: Sequence[Floats], optimizer: Optimizer | None
) -> Search | None:
    """The hyper-parameters of the largest evidence of searches from all starts; None where C is nowhere positive
    definite.
    """
    bounds = evidence.covariance.bounds
    if optimizer is not None:
        return _search_by(optimizer, evidence, starts, bounds)
    read = _spectral_read(evidence) if isinstance(evidence, Evidence) else None

    def climb(start: Floats) -> tuple[Floats, float, Status]:
        start = np.clip(start, *bounds.T)
        if isinstance(evidence, LaplaceEvidence):
            return maximise(replace(evidence), start, bounds)  # one for each search: it keeps the last mode
        if read is not None:
            return _climb(read, start, bounds, evidence.scale, TOLERANCE)
        return maximise(evidence, start, bounds)

    results = run_concurrently(
        climb, list(starts), entries=len(evidence.y) ** 2, memory=MATRICES * 8 * len(evidence.y) ** 2
    )
    theta, value, status = min(results, key=lambda result: result[1])
    if isinstance(evidence, Evidence) and has_constant_evidence(evidence.y, -value):
        again = start_at_widths(evidence.covariance, evidence.X)
        if again is not None:
            theta, value, status = min((theta, value, status), climb(again), key=lambda result: result[1])
    return Search(theta, status) if np.isfinite(value) else None


def _spectral_read(evidence: Evidence) -> Read | None:
    """The evidence through the eigenvalues of the kernel, where amplitude and noise alone are free."""
    covariance = evidence.covariance
    form = split_amplitude(covariance.evaluated) if covariance.slopes is None else None
    if form is None or np.ndim(evidence.alpha):
        return None
    return SpectralEvidence.of(evidence, form).read


def maximise(
    evidence: Evidence | LaplaceEvidence, start: Floats, bounds: Floats, tol: float = TOLERANCE
) -> tuple[Floats, float, Status]:
    """The end of a search from one start, the negative evidence there, and how the search ended."""
    if len(evidence.y) >= MANY_SAMPLES:
        few, value, _ = maximise(evidence.part(FEW), start, bounds, COARSE_TOLERANCE)
        if np.isfinite(value) and evidence.value(few) <= evidence.value(start):
            start = few
    else:
        scaled = np.clip(start + evidence.scale_shift(start), *bounds.T)
        if not np.array_equal(scaled, start) and evidence.value(scaled) < evidence.value(start):
            start = scaled
    return _climb(evidence.read, start, bounds, evidence.scale, tol)


def _climb(read: Read, start: Floats, bounds: Floats, scale: float, tol: float) -> tuple[Floats, float, Status]:
    absolute, relative = GRADIENT_TOLERANCE
    gradient_tol = max(absolute, relative * scale) * (tol / TOLERANCE)
    solution = run(steps(read, start, bounds, scale, tol * scale, gradient_tol), MAX_STEPS)
    return solution.params, solution.trace[-1].objective, solution.status


def _search_by(
    optimizer: Optimizer, evidence: Evidence | LaplaceEvidence, starts: Sequence[Floats], bounds: Floats
) -> Search:
    """By the user's own optimizer, from one start after the other."""

    def objective(theta: Any, eval_gradient: bool = True) -> Any:
        theta = np.asarray(theta, dtype=np.float64)
        if not eval_gradient:
            return evidence.value(theta)
        value, gradient = evidence.gradient(theta)
        return -value, -gradient

    results = [optimizer(objective, start, bounds=bounds) for start in starts]
    best = int(np.argmin([value for _, value in results]))
    return Search(np.asarray(results[best][0], dtype=np.float64), Status.CONVERGED)
