"""Certificates of Gaussian mixtures: one exact EM step from the stored parameters, and the likelihood.

With J the mean log-likelihood of the samples plus the log prior, and r the responsibilities at the stored
parameters, the step of EM maximises

    E = (1/W) [sum_k n_k (log pi_k + log|B_k|) - 1/2 sum_k tr(C_k^-1 R_k) + log prior
               - 1/2 reg sum_k (n_k + f) tr C_k^-1]

R_k the second moments about m_k. The distance from a fixed point is the larger of the change of J in the step, and of
the increase of E, which is a divergence between the components before and after it, zero only where they are equal.
Nothing of the solver is used: Mahalanobis distances come from other products, and moments of components are moments of
samples weighted by responsibilities.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as la

from tenfold import _core
from tenfold.arrays import Array, Floats, contiguous, is_numpy, like, namespace, on_host, take_rows, unit_roundoff
from tenfold.data import Block, Rows, resolve, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.machine import one_blas_thread, threads
from tenfold.problems import Gaussians
from tenfold.stats.class_totals import class_columns, diagonal_distances, mahalanobis_distances
from tenfold.stats.gaussians import Mixture
from tenfold.stats.moments import Moments

Numbers = NDArray[np.intp]

PIECE_ROWS = 1 << 14  # samples processed at a time, which fit into the cache


@dataclass(frozen=True)
class ComponentSums:
    """Weight of the samples, sum of their log densities, and for each component its count (k,), mean (k, p) and scatter
    about it (k, p, p), or its diagonal (k, p).
    """

    weight: float
    value: float
    count: Floats
    mean: Floats
    scatter: Floats

    def merge(self, other: "ComponentSums") -> "ComponentSums":
        count = self.count + other.count
        share = np.where(count > 0.0, other.count / np.where(count > 0.0, count, 1.0), 0.0)
        step = other.mean - self.mean
        between = (self.count * share)[:, None] * step
        moved = between[:, :, None] * step[:, None, :] if self.scatter.ndim == 3 else between * step
        return ComponentSums(
            self.weight + other.weight,
            self.value + other.value,
            count,
            self.mean + share[:, None] * step,
            self.scatter + other.scatter + moved,
        )


@dataclass(frozen=True)
class SumOfLogs:
    """Weight of the samples and sum of their log densities."""

    weight: float
    value: float

    def merge(self, other: "SumOfLogs") -> "SumOfLogs":
        return SumOfLogs(self.weight + other.weight, self.value + other.value)


def _lengths(mixture: Mixture) -> tuple[Floats, Callable[[Array], Array]]:
    """Constants (k,) and a function of Mahalanobis distances (n, k) with log pi_k + log N(x_i; m_k, C_k) = constant -
    1/2 distance.
    """
    k, p = mixture.shape
    with np.errstate(divide="ignore"):
        offset = np.log(mixture.weights) - 0.5 * p * np.log(2.0 * np.pi)
    if mixture.diagonal:
        offset = offset - 0.5 * np.sum(np.log(mixture.variances), axis=1)
        return offset, partial(diagonal_distances, centre=mixture.means, scale=1.0 / np.sqrt(mixture.variances))
    matrices = mixture.covariances if mixture.kind == "full" else mixture.covariances[None]
    with one_blas_thread:
        lower = [la.cholesky(C, lower=True, check_finite=False) for C in matrices]
        factors = [la.solve_triangular(L, np.eye(p), lower=True, check_finite=False).T for L in lower]
    offset = offset - np.array([np.sum(np.log(np.diag(L))) for L in lower])
    each = np.ascontiguousarray(np.broadcast_to(factors, (k, p, p)))
    return offset, partial(mahalanobis_distances, centres=mixture.means, factors=each)


def _expectations(
    offset: Floats, lengths: Callable[[Array], Array], X: Array, weight: Array, shares: bool = True
) -> tuple[Array, Array]:
    """The log densities (n,), and weighted responsibilities (k, n) where weights are given."""
    z = lengths(X)
    if is_numpy(z):
        return _core.logsumexp(z, offset, weight, shares, threads(8 * z.size))
    xp = namespace(z)
    z = like(offset, z) - 0.5 * z
    largest = xp.max(z, axis=1, keepdims=True)
    parts = xp.exp(z - largest)
    total = xp.sum(parts, axis=1, keepdims=True)
    r = weight[:, None] * (parts / total)
    return (largest + xp.log(total))[:, 0], xp.where(weight[:, None] > 0.0, r, xp.zeros_like(r)).T


def _total(weight: Array, values: Array) -> float:
    xp = namespace(values)
    return float(xp.sum(xp.where(weight > 0.0, weight * values, xp.zeros_like(values))))


def sum_log_densities(mixture: Mixture, missing: bool, block: Block) -> SumOfLogs:
    weight, value = 0.0, 0.0
    for there, pieces in _patterns(block, missing):
        expect = _expecting(mixture, there) if there.size else None
        for X, w in pieces:
            own = float(namespace(w).sum(w))
            weight += own
            nothing = own * float(np.log(mixture.weights.sum()))
            value += nothing if expect is None else _total(w, expect(X, w, shares=False)[0])
    return SumOfLogs(weight, value)


def _expecting(mixture: Mixture, there: Numbers) -> Callable[..., tuple[Array, Array]]:
    """The E-step for samples in which only these columns are observed."""
    return partial(_expectations, *_lengths(mixture if len(there) == mixture.shape[1] else mixture.marginal(there)))


def component_sums(mixture: Mixture, missing: bool, block: Block) -> ComponentSums:
    parts = (_of_pattern(mixture, there, pieces) for there, pieces in _patterns(block, missing))
    return reduce(ComponentSums.merge, chain.from_iterable(parts))


Pieces = list[tuple[Array, Array]]


def _patterns(block: Block, missing: bool) -> Iterator[tuple[Numbers, Pieces]]:
    """For each pattern of observed columns: their indices, and values and weights of its samples, in pieces that fit
    into the cache.
    """
    X, weight = block.X, weights_of(block)
    if not missing:
        yield np.arange(X.shape[1]), _pieces(X, weight)
        return
    lacking = on_host(namespace(X).isnan(X))
    kinds, numbers = np.unique(lacking, axis=0, return_inverse=True)
    for number, kind in enumerate(kinds):
        rows, there = np.flatnonzero(numbers.ravel() == number), np.flatnonzero(~kind)
        part = namespace(X).take(take_rows(X, rows), like(there, X), axis=1)
        yield there, _pieces(contiguous(part), take_rows(weight, rows))


def _pieces(X: Array, weight: Array) -> Pieces:
    length = PIECE_ROWS if is_numpy(X) else max(1, X.shape[0])
    starts = range(0, max(1, X.shape[0]), length)
    return [(X[start : start + length, :], weight[start : start + length]) for start in starts]


def _of_pattern(mixture: Mixture, there: Numbers, pieces: Pieces) -> Iterator[ComponentSums]:
    k, p = mixture.shape
    expect = _expecting(mixture, there) if there.size else None
    moments = _diagonal_moments if mixture.diagonal else _moments
    for X, weight in pieces:
        own = float(namespace(weight).sum(weight))
        if expect is None:
            count = own * mixture.weights
            scatter = mixture.variances if mixture.diagonal else np.array([mixture.matrix(c) for c in range(k)])
            times = count.reshape(-1, *[1] * (scatter.ndim - 1))
            yield ComponentSums(own, own * float(np.log(mixture.weights.sum())), count, mixture.means, times * scatter)
            continue
        density, r = expect(X, weight)
        count, mean, scatter = (np.array(part) for part in zip(*(moments(X, r[c, :]) for c in range(k)), strict=True))
        if len(there) < p:
            mean, scatter = _complete_moments(mixture, there, count, mean, scatter)
        yield ComponentSums(own, _total(weight, density), count, mean, scatter)


def _moments(X: Array, weight: Array) -> tuple[float, Floats, Floats]:
    """Weight, mean and scatter of weighted samples."""
    none = namespace(weight).zeros_like(weight)[:, None][:, :0]
    moments: Moments = resolve(Moments.lift(Block(X, none, contiguous(weight))))
    if moments.weight == 0.0:
        return 0.0, np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
    return moments.weight, moments.mean, moments.weight * moments.covariance()


def _diagonal_moments(X: Array, weight: Array) -> tuple[float, Floats, Floats]:
    xp = namespace(weight)
    group = like(np.zeros(X.shape[0], dtype=np.int32), weight)
    columns = resolve(class_columns(1)(Block(X, xp.zeros_like(weight)[:, None], contiguous(weight), group)))
    return float(columns.weight[0]), columns.mean[0], columns.squares[0]


def _complete_moments(
    mixture: Mixture, there: Numbers, count: Floats, mean: Floats, scatter: Floats
) -> tuple[Floats, Floats]:
    """Moments of all columns from the observed ones, by regression in each component."""
    k, p = mixture.shape
    lacking = np.setdiff1d(np.arange(p), there)
    means, scatters = np.zeros((k, p)), np.zeros((k, p) if mixture.diagonal else (k, p, p))
    means[:, there] = mean
    if mixture.diagonal:
        means[:, lacking] = mixture.means[:, lacking]
        scatters[:, there], scatters[:, lacking] = scatter, count[:, None] * mixture.variances[:, lacking]
        return means, scatters
    for c in range(k):
        C = mixture.matrix(c)
        slopes = la.lstsq(C[np.ix_(there, there)], C[np.ix_(there, lacking)], check_finite=False)[0]
        means[c, lacking] = mixture.means[c, lacking] + (mean[c] - mixture.means[c, there]) @ slopes
        complete = np.zeros((len(there), p))
        complete[:, there], complete[:, lacking] = np.eye(len(there)), slopes
        scatters[c] = complete.T @ scatter[c] @ complete
        left = C[np.ix_(lacking, lacking)] - C[np.ix_(lacking, there)] @ slopes
        scatters[c][np.ix_(lacking, lacking)] += count[c] * left
    return means, scatters


def _step(problem: Gaussians, mixture: Mixture, sums: ComponentSums) -> Mixture:
    """The parameters after one exact EM step."""
    (k, p), kind, count, b = mixture.shape, problem.kind, sums.count, problem.mean_precision
    weights = count + problem.concentration - 1.0
    known = count > 1e-10 * sums.weight
    own = np.where(known[:, None], sums.mean, mixture.means)
    means = own if b == 0.0 else (count[:, None] * own + b * problem.mean) / (count + b)[:, None]
    after = replace(mixture, weights=weights / weights.sum(), means=means)
    if kind == "unit":
        return after
    deviation = 0.0 * own if b == 0.0 else np.sqrt(b * count / (count + b))[:, None] * (own - problem.mean)
    f, reg, V = problem.more((k, p)), problem.reg_covar, 0.0 if problem.scale is None else problem.scale
    if kind in ("full", "tied"):
        total = sums.scatter + deviation[:, :, None] * deviation[:, None, :]
        if kind == "tied":
            return replace(after, covariances=(total.sum(axis=0) + V) / (count.sum() + f) + reg * np.eye(p))
        covariances = (total + V) / np.where(count + f > 0.0, count + f, 1.0)[:, None, None] + reg * np.eye(p)
    else:
        total, divisor = sums.scatter + deviation**2, np.where(count + f > 0.0, count + f, 1.0)
        if kind == "diag":
            covariances = (total + V) / divisor[:, None] + reg
        else:
            covariances = (total.sum(axis=1) + V) / (p * divisor) + reg
    keep = known.reshape(-1, *[1] * (covariances.ndim - 1)) if problem.degrees is None else np.True_
    return replace(after, covariances=np.where(keep, covariances, mixture.covariances))


def compute_expectation(problem: Gaussians, mixture: Mixture, sums: ComponentSums) -> float:
    """W times E, up to a constant."""
    k, count = mixture.shape[0], sums.count
    with np.errstate(divide="ignore", invalid="ignore"):
        total = float(np.sum(np.where(count > 0.0, count * np.log(mixture.weights), 0.0)))
    more = problem.more(mixture.shape) / (k if problem.kind == "tied" else 1)
    for c in range(k):
        away = sums.mean[c] - mixture.means[c]
        if mixture.diagonal:
            variance = mixture.variances[c]
            logs, along = np.sum(np.log(variance)), np.sum((sums.scatter[c] + count[c] * away**2) / variance)
            trace = np.sum(1.0 / variance)
        else:
            with one_blas_thread:
                values, axes = la.eigh(mixture.matrix(c), check_finite=False)
                inside = np.einsum("ij,ik,kj->j", axes, sums.scatter[c], axes) + count[c] * (away @ axes) ** 2
            logs, along, trace = np.sum(np.log(values)), np.sum(inside / values), np.sum(1.0 / values)
        ease = 0.0 if problem.kind == "unit" else problem.reg_covar * (count[c] + more) * trace
        total -= 0.5 * float(count[c] * logs + along + ease)
    return total + problem.log_prior(mixture)


@dataclass(frozen=True)
class StoredFactors:
    """Further fitted arrays: triangular factors of the precisions, the precisions, and the lower bound on the mean
    log-likelihood, that of the step before the last.
    """

    triangles: Floats
    precisions: Floats
    bound: float


def find_contradiction(mixture: Mixture, extra: StoredFactors, value: float, step: float, dtype: Any) -> str:
    """A sentence on a stored quantity that contradicts the parameters, whose mean log-likelihood is `value`, or ""."""
    if extra.triangles.shape != mixture.covariances.shape or not _agree(mixture, extra.triangles, dtype):
        return "The stored factors of the precisions are not those of the covariances."
    same = extra.precisions.shape == mixture.covariances.shape
    if not same or not _inverse(mixture, extra.triangles, extra.precisions, dtype):
        return "The stored precisions are not the products of upper triangles, their factors."
    # rounding of a mean of log densities in the dtype of the model
    rounding = 256.0 * unit_roundoff(dtype) * (1.0 + abs(value))
    if extra.bound > value + step + rounding:
        return f"The stored lower bound is {extra.bound:.9g}, above the mean log-likelihood {value:.9g}."
    return ""


def _inverse(mixture: Mixture, triangles: Floats, precisions: Floats, dtype: Any) -> bool:
    """Whether precisions are B B' of upper triangles B, or squares of numbers."""
    unit = 16.0 * unit_roundoff(dtype)
    if mixture.diagonal:
        return bool(np.all(triangles > 0.0) and np.all(np.abs(precisions - triangles**2) <= unit * triangles**2))
    if np.any(np.tril(triangles, -1)) or not np.all(np.diagonal(triangles, axis1=-2, axis2=-1) > 0.0):
        return False
    again, size = (np.matmul(B, np.swapaxes(B, -1, -2)) for B in (triangles, np.abs(triangles)))
    return bool(np.all(np.abs(precisions - again) <= unit * mixture.shape[1] * size))


def em_step(
    rows: Rows,
    problem: Gaussians,
    mixture: Mixture,
    *,
    missing: bool,
    tol: float | None = None,
    dtype: Any = np.float64,
    extra: StoredFactors | None = None,
    status: str = "solved",
    note: str = "",
) -> Certificate:
    """Certificate of the parameters `mixture`, stored in `dtype`, and of the further fitted arrays `said`."""
    tol = RULES["fixed point"].tol if tol is None else max(tol, 1e-9)
    words = [note, *_floor_notes(problem, mixture)]
    try:
        here = _fold(rows, partial(component_sums, mixture, missing))
        after = _step(problem, mixture, here)
        there: SumOfLogs = rows.fold(partial(sum_log_densities, after, missing))
        now = (here.value + problem.log_prior(mixture)) / here.weight
        then = (there.value + problem.log_prior(after)) / here.weight
        gain = (compute_expectation(problem, after, here) - compute_expectation(problem, mixture, here)) / here.weight
    except (la.LinAlgError, ValueError) as reason:
        return Certificate("fixed point", np.inf, 1.0, tol, 0.0, np.nan, status=status, note=str(reason))
    parts: tuple[float, ...] = (abs(then - now), abs(gain))
    floor = find_floor(problem, mixture, now, dtype)
    if extra is not None and (
        wrong := find_contradiction(mixture, extra, now, max(tol, abs(then - now)) + floor, dtype)
    ):
        parts = (*parts, np.inf)
        words.append(wrong)
    if abs(mixture.weights.sum() - 1.0) > 64.0 * unit_roundoff(dtype):
        parts = (*parts, np.inf)
        words.append(f"The weights of the components sum to {mixture.weights.sum():.6g}.")
    value = max(*parts, floor)
    return Certificate(
        "fixed point",
        value if value == value else np.inf,
        1.0,
        tol,
        floor,
        -now,
        status=status,
        parts=parts,
        note=" ".join(filter(None, words)),
    )


def _fold(rows: Rows, lift: Callable[[Block], ComponentSums]) -> ComponentSums:
    return rows.fold(lift)


def _ends(mixture: Mixture) -> Floats:
    """The extreme eigenvalues of each covariance, (k, 2); of a single one where it is tied."""
    if mixture.diagonal:
        return np.stack([mixture.variances.min(axis=1), mixture.variances.max(axis=1)], axis=1)
    matrices = mixture.covariances if mixture.kind == "full" else mixture.covariances[None]
    with one_blas_thread:
        return np.array([la.eigvalsh(C, check_finite=False)[[0, -1]] for C in matrices])


def _floor_notes(problem: Gaussians, mixture: Mixture) -> list[str]:
    """Notes on the regularisation floor of the covariances."""
    if problem.kind == "unit" or problem.reg_covar == 0.0:
        return []
    low = np.flatnonzero(_ends(mixture)[:, 0] < 2.0 * problem.reg_covar).tolist()
    which = "the tied covariance stands" if problem.kind == "tied" else f"components {low} stand"
    floor = f"No variance is below the floor reg_covar = {problem.reg_covar:g}"
    return [f"{floor}, and {which} on it: there the likelihood is set by it."] if low else [f"{floor}."]


def _agree(mixture: Mixture, triangles: Floats, dtype: Any) -> bool:
    """Whether B B' is the inverse of the covariance, up to its condition."""
    if mixture.diagonal:
        left = np.abs(triangles**2 * mixture.covariances - 1.0)
        return bool(np.max(left) <= 256.0 * unit_roundoff(dtype))
    tied = mixture.kind == "tied"
    covariances, factors = (mixture.covariances[None], triangles[None]) if tied else (mixture.covariances, triangles)
    turned = np.einsum("kij,kil,klm->kjm", factors, covariances, factors, optimize=True)
    ends, p = _ends(mixture), mixture.shape[1]
    away = np.max(np.abs(turned - np.eye(p)), axis=(1, 2))
    return bool(np.all(away <= 4.0 * (p + 8.0) * unit_roundoff(dtype) * ends[:, 1] / ends[:, 0]))


def find_floor(problem: Gaussians, mixture: Mixture, value: float, dtype: Any) -> float:
    """Rounding of the log densities and of the stored parameters: at a fixed point the latter is of second order,
    except for weights, whose sum may differ from one, and regularised covariances.
    """
    ends, p = _ends(mixture), mixture.shape[1]
    sizes = float(np.max(np.abs(mixture.means) / np.sqrt(mixture.variances)))
    condition = 1.0 if mixture.diagonal else float(np.max(ends[:, 1] / ends[:, 0]))
    moved = 4.0 * unit_roundoff(dtype) * (condition + sizes * np.sqrt(condition))
    rounding = 256.0 * unit_roundoff(np.float64) * (abs(value) + p * (1.0 + np.log(condition)))
    regularised = unit_roundoff(dtype) * (1.0 + problem.reg_covar * p / float(np.min(ends[:, 0])))
    return float(rounding + regularised + p * moved**2)
