"""EM for mixtures of Gaussians: the two steps, and restarts of collapsed components.

With responsibilities r_ik, n_k = sum_i r_ik, x_k = (1/n_k) sum_i r_ik x_i and the scatter S_k about x_k, a step for
`problems.Gaussians` gives

    pi_k  proportional to  n_k + a - 1
    m_k = (n_k x_k + b m0) / (n_k + b)
    C_k = (S_k + b n_k / (n_k + b) (x_k - m0)(x_k - m0)' + V) / (n_k + f) + reg I

A tied covariance adds over the components, a diagonal one is of p columns of one dimension each, and a spherical one
divides by p. The regularisation of the diagonal is not part of the likelihood: the step maximises the
expected log-likelihood less 1/2 reg (n_k + f) tr C_k^-1, so the bound decreases by at most the increase of that term.
"""

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats
from tenfold.data import Block, MaybeDeferred, Rows
from tenfold.machine import one_blas_thread
from tenfold.problems import Gaussians
from tenfold.solvers import em
from tenfold.solvers.loop import Callback, Solution, Status, run
from tenfold.stats.derivatives import Params, forward
from tenfold.stats.gaussians import Mixture, Singular
from tenfold.stats.mixtures import MixtureSums, mixture_sums

MAX_RESTARTS = 3  # of restarts of collapsed components
MIN_WEIGHT = 1e-10  # mixture weight below which a component is empty


@dataclass(frozen=True)
class GaussianSteps:
    """The two steps of EM (see `tenfold.em`)."""

    problem: Gaussians
    missing: bool

    def expect(self, params: Mixture, block: Block) -> MaybeDeferred[MixtureSums]:
        return mixture_sums(params, self.missing)(block)

    def bound(self, params: Mixture, statistic: MixtureSums) -> float:
        return (statistic.value + self.problem.log_prior(params)) / statistic.weight

    def maximise(self, statistic: MixtureSums) -> Mixture:
        before, count, prior = statistic.at, statistic.count, self.problem
        k, p = before.shape
        known = count > MIN_WEIGHT * statistic.weight
        rows = np.where(known, count, 1.0)
        step = np.where(known[:, None], statistic.sums / rows[:, None], 0.0)
        own = before.means + step
        b = prior.mean_precision
        means = own if b == 0.0 else (count[:, None] * own + b * prior.mean) / (count + b)[:, None]
        weights = count + prior.concentration - 1.0
        deviation = np.zeros((k, p)) if b == 0.0 else np.sqrt(b * count / (count + b))[:, None] * (own - prior.mean)
        updated = replace(before, weights=weights / np.sum(weights), means=means)
        if before.kind == "unit":
            return updated
        covariances = self._covariances(statistic, step, own, deviation)
        if before.kind != "tied" and not known.all() and prior.degrees is None:
            covariances = np.where(known.reshape(-1, *[1] * (covariances.ndim - 1)), covariances, before.covariances)
        updated = replace(updated, covariances=covariances)
        _ = updated.factors  # raises Singular
        return updated

    def _covariances(self, statistic: MixtureSums, step: Floats, own: Floats, deviation: Floats) -> Floats:
        before, count = statistic.at, statistic.count
        p, kind, scale = before.shape[1], before.kind, self.problem.scale
        more = self.problem.more(before.shape)
        if kind == "tied":
            assert before.centre is not None
            away = own - before.centre
            total = statistic.squares[0] - np.einsum("k,ki,kj->ij", count, away, away)
            total = total + np.einsum("ki,kj->ij", deviation, deviation) + (0.0 if scale is None else scale)
            return total / (np.sum(count) + more) + self.problem.reg_covar * np.eye(p)
        divisor = np.where(count + more > 0.0, count + more, 1.0)
        if kind == "full":
            total = statistic.squares - np.einsum("k,ki,kj->kij", count, step, step)
            total = total + np.einsum("ki,kj->kij", deviation, deviation) + (0.0 if scale is None else scale)
            return total / divisor[:, None, None] + self.problem.reg_covar * np.eye(p)
        total = np.maximum(statistic.squares - count[:, None] * step**2, 0.0) + deviation**2
        if kind == "diag":
            return (total + (0.0 if scale is None else scale)) / divisor[:, None] + self.problem.reg_covar
        return (np.sum(total, axis=1) + (0.0 if scale is None else scale)) / (p * divisor) + self.problem.reg_covar

    def allowance(self, before: Mixture, after: Mixture, statistic: MixtureSums) -> float:
        """The largest decrease of the bound that the regularisation, and rounding of nearly singular covariances, may
        cause.
        """
        if before.kind == "unit":
            return 0.0
        k, p = before.shape
        rows = statistic.count + self.problem.more(before.shape) / (k if before.kind == "tied" else 1)
        eased = 0.5 * self.problem.reg_covar * float(np.sum(rows * (before.traces - after.traces))) / statistic.weight
        narrow = max(float(np.max(mixture.traces * np.sum(mixture.variances, axis=1))) for mixture in (before, after))
        return max(eased, 0.0) + p * (64.0 * np.finfo(np.float64).eps * narrow) ** 2


class EMResult(NamedTuple):
    """Parameters, the bounds of all steps, the status, and the components that were restarted."""

    mixture: Mixture
    bounds: tuple[float, ...]
    status: Status
    restarted: tuple[int, ...]

    @property
    def bound(self) -> float:
        return self.bounds[-1] if self.bounds else -np.inf


def ascend(
    model: GaussianSteps,
    rows: Rows,
    start: Mixture,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
    bound: float = -np.inf,
) -> EMResult:
    """EM from a start. A component that became empty or collapsed to a point is restarted by splitting the heaviest
    one, at most `MAX_RESTARTS` times.
    """
    restarted: tuple[int, ...] = ()
    for left in range(MAX_RESTARTS, -1, -1):
        try:
            solution = run(em.steps(model, rows, start, tol, model.allowance, bound), max_iter, None, callback)
        except Singular as reason:
            lost = reason.components
            if left == 0 or start.kind == "tied" or len(lost) == start.shape[0]:
                raise
        else:
            start, lost = solution.params, find_collapsed(solution.params, model.problem.reg_covar)
            if not lost or left == 0 or len(lost) == start.shape[0] or solution.status is Status.INTERRUPTED:
                return _make_result(solution, restarted)
        restarted += lost
        start, bound = split(start, lost), -np.inf
    raise AssertionError("unreachable")


def _make_result(solution: Solution, restarted: tuple[int, ...]) -> EMResult:
    bounds = tuple(record.objective for record in solution.trace[1:])
    return EMResult(solution.params, bounds, solution.status, restarted)


def continue_em(
    model: GaussianSteps, rows: Rows, result: EMResult, tol: float, max_iter: int, callback: Callback | None
) -> EMResult:
    """Continue EM with a smaller tolerance."""
    more = run(em.steps(model, rows, result.mixture, tol, model.allowance, result.bound), max_iter, None, callback)
    bounds = tuple(chain(result.bounds, (record.objective for record in more.trace[1:])))
    return EMResult(more.params, bounds, more.status, result.restarted)


def find_collapsed(mixture: Mixture, reg_covar: float) -> tuple[int, ...]:
    """Empty components, and light ones whose variance is no more than the regularisation."""
    k = mixture.shape[0]
    lost = mixture.weights < MIN_WEIGHT
    if mixture.kind not in ("tied", "unit"):
        spread = np.mean(mixture.variances, axis=1)
        point = (spread <= 2.0 * reg_covar) & (mixture.weights < 0.5 / k)
        lost |= point & bool(np.max(spread) > 2.0 * reg_covar)
    return tuple(np.flatnonzero(lost).tolist())


def split(mixture: Mixture, lost: tuple[int, ...]) -> Mixture:
    """Replace each lost component by half of the heaviest one, which is split along its longest axis."""
    weights, means = mixture.weights.copy(), mixture.means.copy()
    covariances = mixture.covariances.copy()
    weights[list(lost)] = 0.0
    for k in lost:
        heavy = int(np.argmax(weights))
        step = _longest(mixture.matrix(heavy))
        weights[[k, heavy]] = weights[heavy] / 2.0
        means[k], means[heavy] = means[heavy] - step, means[heavy] + step
        if mixture.kind != "tied":
            covariances[k] = covariances[heavy]
    return replace(mixture, weights=weights / np.sum(weights), means=means, covariances=covariances)


def _longest(C: Floats) -> Floats:
    """Half a standard deviation along the axis of largest variance."""
    with one_blas_thread:
        values, vectors = la.eigh(C, check_finite=False)
    axis = vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1])
    return np.asarray(0.5 * np.sqrt(max(float(values[-1]), 0.0)) * axis)


def draw(mixture: Mixture, count: int, random: Any) -> tuple[Floats, Any]:
    """Random samples (count, p), component by component, and the component index of each."""
    counts = random.multinomial(count, mixture.weights / mixture.weights.sum())
    rows = []
    for k, rows_of in enumerate(counts):
        with one_blas_thread:
            L = la.cholesky(mixture.matrix(k), lower=True, check_finite=False)
        normal = random.standard_normal((int(rows_of), mixture.shape[1]))
        rows.append(forward(normal, Params(np.ascontiguousarray(L), np.ascontiguousarray(mixture.means[k]))))
    return np.concatenate(rows), np.repeat(np.arange(len(counts)), counts)
