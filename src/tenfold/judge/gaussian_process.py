"""Kinds stationarity and residual: Gaussian process regression, from samples, targets and the kernel.

With C = K + diag(alpha), K recomputed in float64 at the fitted hyper-parameters theta, and targets y_t,
  the dual coefficients  by ||y_t - C a_t|| / ||y_t||, since an error relative to ||K|| ||a_t|| would accept garbage for
                         small alpha; its floor 4 eps ||K|| ||a_t|| / ||y_t|| counts up to 1e-4 only;
  the factor             by L (L'z) = C z at random z;
  the evidence           E = -1/2 sum_t y_t'C^-1 y_t - T/2 log det C - T n/2 log 2 pi, by another factorisation;
  the hyper-parameters   by the evidence that a Newton step over the free ones would gain, a sample,
                             1/2 g'|H|^-1 g / n,   eigenvalues of |H| at least 1e-3 n.
A parameter at a bound from which the gradient points outward is not free. The Hessian H is that of differences of the
gradient, which is itself compared with differences of the evidence. With up to five free parameters a positive
eigenvalue of H above 1e-4 n is no maximum. With more, H is computed only where a curvature of 1e-3 n would not show a
small gain already. The maximum need not be the largest: another start may give more evidence.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.judge.certificate import RULES, Certificate
from tenfold.kernels.covariance import Covariance
from tenfold.linear_algebra import add_outer, cholesky, dot, eigh, invert_positive, solve_lower
from tenfold.machine import one_blas_thread, run_concurrently

MAX_RESIDUAL, MAX_RESIDUAL_ROUNDING = 1e-6, 1e-4  # of the targets' norm

FACTOR_DISTANCE = 1e-9  # of L L'z from C z, in units of |L| |L'| |z|
PROBES = 3  # random vectors z

EVIDENCE_DISTANCE = 1e-7  # of the stored evidence, relative to it and to the number of targets

LEAST_CURVATURE = 1e-3  # of an eigenvalue of |H|, a target
SADDLE_CURVATURE = 1e-4  # an eigenvalue of the Hessian of the evidence, a target, above which there is no maximum
MAX_SADDLE_PARAMETERS = 5  # free parameters up to which that is looked for

FIRST_DIFFERENCE, LAST_DIFFERENCE = 1e-5, 1e-2  # steps of the differences of gradients, in logarithms
GRADIENT_DISTANCE = 1e-4  # of the gradient from the slope of the evidence, a target

MATRICES = 5  # of pairs of samples in memory for one evaluation

AT_BOUND = 1e-6  # in logarithms

GAIN_NOTE = "The number is the evidence in nats a sample that a Newton step over the free hyper-parameters would gain."
FIXED_NOTE = (
    "The number is the norm of y - (K + alpha I) alpha_ by that of y. The hyper-parameters were given, and are not "
    "judged."
)


@dataclass(frozen=True)
class Stored:
    """What a fitted process holds: the covariance at the fitted hyper-parameters, the variance alpha of the noise, the
    factor, dual coefficients (n, t), and the log evidence.
    """

    covariance: Covariance
    alpha: Any
    L: Floats
    dual: Floats
    evidence: float


@dataclass(frozen=True)
class Point:
    """The log evidence at hyper-parameters, its gradient, and the rounding of that."""

    evidence: float
    gradient: Floats
    rounding: float


def evaluate(
    covariance: Covariance, X: Any, y: Floats, alpha: Any, *, slopes: bool = True, C: Floats | None = None
) -> Point | None:
    """The evidence and, with `slopes`, its gradient; None where C is not positive definite."""
    C = _add_noise(covariance.block(X), alpha) if C is None else C
    L = cholesky(C)
    if L is None:
        return None
    half = solve_lower(L, y)
    dual = solve_lower(L, half, transposed=True)
    n, t = y.shape
    fit = float(np.sum(half * half))
    evidence = -0.5 * (fit + t * (2.0 * float(np.sum(np.log(np.diag(L)))) + n * float(np.log(2.0 * np.pi))))
    if not slopes:
        return Point(evidence, np.zeros(0), 8.0 * (abs(fit - float(np.sum(y * dual))) + EPS * n * t))
    A = invert_positive(L)
    del L
    A *= -0.5 * t
    for column in dual.T:
        add_outer(A, 0.5 * column, column)
    A = A.T  # symmetric: in C order
    # the sum of A and C is known: its error is the rounding of such sums
    away = abs(dot(np.ravel(A), np.ravel(C)) - 0.5 * (fit - t * n))
    del C
    return Point(evidence, covariance.weighted_gradient(X, A), 8.0 * (away + EPS * n * t))


def _add_noise(K: Floats, alpha: Any) -> Floats:
    index = np.arange(len(K))
    K[index, index] += alpha
    return K


def regression(stored: Stored, X: Any, y: Floats, *, optimised: bool, status: str) -> Certificate:
    """Judge a fitted process for samples X and targets (n, t), as it keeps them; `optimised`: whether the
    hyper-parameters were chosen by evidence.
    """
    failed = Certificate("residual", np.inf, 1.0, MAX_RESIDUAL, 0.0, np.inf, status=status)
    n = len(y)
    if stored.L.shape != (n, n) or stored.dual.shape != y.shape:
        return replace(failed, note="The factor or the dual coefficients have other shapes than the samples.")
    if not (np.isfinite(stored.L).all() and np.isfinite(stored.dual).all() and np.isfinite(stored.evidence)):
        return replace(failed, note="The fitted arrays are not finite.")
    C = _add_noise(stored.covariance.block(X), stored.alpha)
    residuals, floor = measure_residuals(C, stored.dual, y)
    complaint = _check_factor(C, stored.L)
    optimised = optimised and len(stored.covariance.theta) > 0
    here = evaluate(stored.covariance, X, y, stored.alpha, slopes=optimised, C=C)
    del C
    if here is None:
        return replace(failed, note="The kernel matrix with alpha on its diagonal is not positive definite.")
    allowed = EVIDENCE_DISTANCE * (abs(here.evidence) + y.size) + here.rounding
    if not complaint and not abs(stored.evidence - here.evidence) <= allowed:
        complaint = f"The stored evidence is not that of the kernel, {here.evidence:.6g}."
    residual = Certificate(
        kind="residual",
        value=np.inf if complaint else max(float(np.max(residuals)), floor),
        scale=1.0,
        tol=MAX_RESIDUAL,
        floor=floor if floor <= MAX_RESIDUAL_ROUNDING else np.inf,
        objective=-here.evidence / y.size,
        status=status,
        parts=tuple(residuals) if len(residuals) > 1 else (),
        note=f"{complaint or FIXED_NOTE}{_compare_with_constant(here.evidence, y)}",
    )
    if not optimised or not residual.ok:
        return residual
    return _judge_hyperparameters(stored, X, y, here, residual)


def measure_residuals(C: Floats, dual: Floats, y: Floats) -> tuple[list[float], float]:
    """||y_t - C a_t|| / ||y_t|| of each target, and the rounding of the largest."""
    with one_blas_thread:
        away = np.linalg.norm(y - C @ dual, axis=0)
    size = float(np.max(np.sum(np.abs(C), axis=1)))
    lengths, sizes = np.linalg.norm(y, axis=0), np.linalg.norm(dual, axis=0)
    units = np.where(lengths > 0.0, lengths, 1.0)  # zero targets have zero coefficients
    floor = float(np.max(4.0 * EPS * size * sizes / units))
    return [float(value) for value in away / units], floor + 4.0 * EPS


def _check_factor(C: Floats, L: Floats) -> str:
    """A complaint where L is not the lower triangular factor of C; all of L is read, zeros above the diagonal too."""
    z = np.random.default_rng(0).standard_normal((len(C), PROBES))
    with one_blas_thread:
        away = np.abs(L @ (L.T @ z) - C @ z)
        size = np.abs(L) @ (np.abs(L).T @ np.abs(z))
    if np.any(away > FACTOR_DISTANCE * np.max(size, axis=0)) or np.any(np.diag(L) <= 0.0):
        return "L_ is not the Cholesky factor of the kernel matrix."
    return ""


def _compare_with_constant(evidence: float, y: Floats) -> str:
    """A remark where a constant and noise, their variances by maximum likelihood, have as much evidence."""
    n, total = len(y), 0.0
    for column in y.T:
        along = float(np.sum(column)) ** 2 / n  # the squares along the constant, of which one is noise
        rest = float(column @ column) - along
        if not rest > 0.0:
            return ""
        noise = rest / max(n - 1, 1)
        if along < noise:  # the variance of the constant would be negative
            noise = along = (along + rest) / n
        total -= 0.5 * float((n - 1) * np.log(noise) + np.log(along) + n * (1.0 + np.log(2.0 * np.pi)))
    worse = evidence <= total + EVIDENCE_DISTANCE * (abs(total) + y.size)
    return " The evidence is no better than that of a constant and noise." if worse else ""


def _judge_hyperparameters(stored: Stored, X: Any, y: Floats, here: Point, residual: Certificate) -> Certificate:
    size = float(y.size)
    free = find_free(stored.covariance, here.gradient)
    judged = replace(
        residual,
        kind="stationarity",
        tol=RULES["stationarity"].tol,
        floor=_gain_of_rounding(here, len(free), size),
        note=f"{GAIN_NOTE}{residual.note.removeprefix(FIXED_NOTE)}",
        parts=(),
    )
    gain, complaint = _measure_gain(stored, X, y, here, free)
    if complaint:
        return replace(judged, value=np.inf, note=f"{complaint} {judged.note}")
    return replace(judged, value=max(gain, judged.floor))


def find_free(covariance: Covariance, gradient: Floats) -> list[int]:
    """The hyper-parameters that are not at a bound from which the evidence grows outward."""
    theta, bounds = covariance.theta, covariance.bounds
    low = (theta <= bounds[:, 0] + AT_BOUND) & (gradient <= 0.0)
    high = (theta >= bounds[:, 1] - AT_BOUND) & (gradient >= 0.0)
    return [int(j) for j in np.flatnonzero(~(low | high))]


def _gain_of_rounding(here: Point, free: int, size: float) -> float:
    return 0.5 * free * here.rounding**2 / (LEAST_CURVATURE * size) / size + 4.0 * EPS


def _measure_gain(stored: Stored, X: Any, y: Floats, here: Point, free: list[int]) -> tuple[float, str]:
    """The gain of a Newton step in nats a target, and a complaint where there is no maximum."""
    size = float(y.size)
    g = here.gradient[free]
    least = 0.5 * float(g @ g) / (LEAST_CURVATURE * size) / size
    few = len(free) <= MAX_SADDLE_PARAMETERS
    if not free or (not few and least <= RULES["stationarity"].tol):
        return least, ""
    gain, positive, complaint = 0.0, 0.0, ""
    for central in (False, True):  # the second time where the first would refuse
        H, complaint = _difference_gradients(stored, X, y, here, free, central=central)
        if complaint:
            break
        values, vectors = eigh(H)
        gain = 0.5 * float(np.sum((g @ vectors) ** 2 / np.maximum(np.abs(values), LEAST_CURVATURE * size))) / size
        positive = float(values[-1]) / size if few else 0.0
        if gain <= RULES["stationarity"].tol and positive <= SADDLE_CURVATURE:
            return gain, ""
    if not complaint and positive > SADDLE_CURVATURE:
        complaint = f"The evidence has no maximum here: its curvature is {positive:.2g} a sample in one direction."
    return gain, complaint


def _difference_gradients(
    stored: Stored, X: Any, y: Floats, here: Point, free: list[int], *, central: bool
) -> tuple[Floats, str]:
    """The Hessian of the evidence over the free parameters by differences of gradients, and a complaint where the
    gradient is not the slope of the evidence.
    """
    theta, size = stored.covariance.theta, float(y.size)
    h = float(np.clip(np.sqrt(here.rounding / size), FIRST_DIFFERENCE, LAST_DIFFERENCE))

    def at(move: tuple[int, float]) -> Point | None:
        there = theta.copy()
        there[move[0]] += move[1]
        return evaluate(stored.covariance.at(there), X, y, stored.alpha)

    moves = [(j, sign * h) for j in free for sign in ((1.0, -1.0) if central else (1.0,))]
    points = run_concurrently(at, moves, entries=len(y) ** 2, memory=MATRICES * 8 * len(y) ** 2)
    if any(point is None for point in points):
        return np.zeros((0, 0)), "The kernel matrix is not positive definite at hyper-parameters close by."
    H, wrong = np.zeros((len(free), len(free))), False
    for k, j in enumerate(free):
        there = points[2 * k] if central else points[k]
        back = points[2 * k + 1] if central else here
        assert there is not None
        assert back is not None
        width = 2.0 * h if central else h
        H[k] = ((there.gradient - back.gradient) / width)[free]
        slope = (there.evidence - back.evidence) / width
        mean = 0.5 * (there.gradient[j] + back.gradient[j])
        rounding = (there.rounding + back.rounding) * (1.0 + 1.0 / h) + EPS * abs(here.evidence) / h
        # the mean of both ends misses the slope by the square of the step
        wrong |= not abs(slope - mean) <= GRADIENT_DISTANCE * size + h * abs(H[k, k]) + rounding
    return 0.5 * (H + H.T), "The gradient of the kernel is not the slope of its evidence." if wrong else ""
