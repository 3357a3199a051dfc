"""Variational Bayes for Gaussian mixtures: the two steps, the starts, and the certificate.

With counts n_k, means x_k and scatters S_k of the responsibilities a step gives, d = x_k - m0,

    b_k = b0 + n_k,   m_k = (b0 m0 + n_k x_k) / b_k,   v_k = v0 + n_k
    v_k C_k = V + S_k + n_k reg I + n_k b0 / b_k d d'

of a diagonal, of its mean for a spherical covariance; of a tied one with v = v0 + n / K the mean over K components.
"""

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Block, MaybeDeferred, Rows
from tenfold.judge.bayesian_mixture import variational_step
from tenfold.judge.certificate import Certificate
from tenfold.plans.mixture import GaussianSteps
from tenfold.plans.mixture_fit import Listener, Search
from tenfold.plans.mixture_start import Seen, start
from tenfold.plans.result import ATTEMPTS
from tenfold.problems import Gaussians
from tenfold.solvers import em
from tenfold.solvers.loop import Callback, Status, run
from tenfold.stats.mixtures import MixtureSums, mixture_sums
from tenfold.stats.moments import Moments
from tenfold.stats.variational import Variational, VariationalPrior, count_samples

LEAST_SPREAD = 1e-6  # of the mean variance, a floor of the covariances that a start is made with


@dataclass(frozen=True)
class VariationalSteps:
    """The two steps (see `tenfold.em`); the bound is that of all samples."""

    prior: VariationalPrior
    constant: float

    def expect(self, params: Variational, block: Block) -> MaybeDeferred[MixtureSums]:
        return mixture_sums(params.mixture)(block)

    def bound(self, params: Variational, statistic: MixtureSums) -> float:
        return statistic.value - self.prior.divergence(params) - self.constant

    def maximise(self, statistic: MixtureSums) -> Variational:
        prior, before, count = self.prior, statistic.at, statistic.count
        kind, (k, p), b0, reg = prior.kind, before.shape, prior.mean_precision, prior.reg_covar
        concentration, b, degrees = count_samples(prior, count)
        step = statistic.sums / np.where(count > 0.0, count, 1.0)[:, None]
        own = before.means + step
        means = (b0 * prior.mean + count[:, None] * own) / b[:, None]
        away = np.sqrt(count * b0 / b)[:, None] * (own - prior.mean)
        if kind == "tied":
            assert before.centre is not None
            moved = own - before.centre
            total = statistic.squares[0] - np.einsum("k,ki,kj->ij", count, moved, moved)
            total = total + np.einsum("ki,kj->ij", away, away) + np.sum(count) * reg * np.eye(p)
            covariances = (prior.scale + total / k) / degrees
        elif kind == "full":
            total = statistic.squares - np.einsum("k,ki,kj->kij", count, step, step)
            total = total + np.einsum("ki,kj->kij", away, away) + (count * reg)[:, None, None] * np.eye(p)
            covariances = (prior.scale + total) / degrees[:, None, None]
        else:
            total = np.maximum(statistic.squares - count[:, None] * step**2, 0.0) + away**2 + (count * reg)[:, None]
            total = prior.scale + (total if kind == "diag" else np.mean(total, axis=1))
            covariances = total / (degrees[:, None] if kind == "diag" else degrees)
        return Variational(kind, concentration, b, means, degrees, covariances)

    def allowance(self, before: Variational, after: Variational, statistic: MixtureSums) -> float:
        """The largest decrease of the bound that the regularisation, and rounding of the scatter, may cause."""
        traces = before.mixture.traces - after.mixture.traces
        eased = 0.5 * self.prior.reg_covar * float(np.sum(statistic.count * traces))
        narrow = max(float(np.max(q.mixture.traces * np.sum(q.mixture.variances, axis=1))) for q in (before, after))
        return max(eased, 0.0) + statistic.weight * 64.0 * np.finfo(np.float64).eps * narrow


@dataclass(frozen=True)
class FittedVariational:
    """The posterior in the precision of storage, the bounds of all steps, and the certificate."""

    posterior: Variational
    bounds: tuple[float, ...]
    status: Status
    certificate: Certificate

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED


def sample_moments(rows: Rows) -> tuple[Floats, Floats]:
    """The mean (p,) and the unbiased covariance (p, p) of the samples."""
    moments: Moments = rows.fold(Moments.lift)
    p = rows.shape[1]
    divisor = max(moments.weight - 1.0, 1e-300)
    return moments.mean[:p], moments.covariance()[:p, :p] * (moments.weight / divisor)


def fit(
    prior: VariationalPrior,
    rows: Rows,
    seen: Seen,
    weight: float,
    search: Search,
    dtype: Any,
    *,
    callback: Callback | None = None,
    listener: Listener | None = None,
    earlier: tuple[Variational, float] | None = None,
) -> FittedVariational:
    """The best of several starts, or a warm start; steps go on with smaller tolerances until certified."""
    model = VariationalSteps(prior, prior.constant(search.components, weight))
    best: tuple[Variational, tuple[float, ...], Status] | None = None
    for number in range(search.inits if earlier is None else 1):
        if listener is not None:
            listener.begin(number)
        first, bound = (_start(model, rows, seen, search), -np.inf) if earlier is None else earlier
        result = _ascend(model, rows, first, bound, search.tol, search.max_iter, callback)
        if listener is not None:
            listener.end(result[1][-1] if result[1] else -np.inf, result[2] is Status.CONVERGED)
        if best is None or not best[1] or (result[1] and result[1][-1] > best[1][-1]):
            best = result
        if result[2] in (Status.INTERRUPTED, Status.STOPPED):
            break
    assert best is not None
    posterior, tol = convert(best[0], dtype), search.tol
    certificate = variational_step(rows, prior, posterior, tol=tol, dtype=dtype, status=best[2].value)
    for _ in range(ATTEMPTS):
        left = search.max_iter - len(best[1])
        if certificate.ok or best[2] is not Status.CONVERGED or left <= 0:
            break
        tol /= 10.0
        more = _ascend(model, rows, best[0], best[1][-1], tol, left, callback)
        best = (more[0], tuple(chain(best[1], more[1])), more[2])
        posterior = convert(best[0], dtype)
        certificate = variational_step(rows, prior, posterior, tol=search.tol, dtype=dtype, status=best[2].value)
    return FittedVariational(posterior, best[1], best[2], certificate)


def _ascend(
    model: VariationalSteps,
    rows: Rows,
    first: Variational,
    bound: float,
    tol: float,
    max_iter: int,
    callback: Callback | None,
) -> tuple[Variational, tuple[float, ...], Status]:
    solution = run(em.steps(model, rows, first, tol, model.allowance, bound), max_iter, None, callback)
    return solution.params, tuple(record.objective for record in solution.trace[1:]), solution.status


def _start(model: VariationalSteps, rows: Rows, seen: Seen, search: Search) -> Variational:
    """The posterior of the responsibilities of a first Gaussian mixture."""
    kind = model.prior.kind
    floor = max(model.prior.reg_covar, LEAST_SPREAD * float(np.mean(seen.variance)), 1e-300)
    steps = GaussianSteps(Gaussians(kind, floor), False)
    first = start(steps, rows, seen, kind, search.components, search.init, search.given, search.random)
    empty = first.weights <= 0.0
    if empty.any():
        weights = np.where(empty, 1e-3 / len(empty), first.weights)
        first = replace(first, weights=weights / np.sum(weights))
    return model.maximise(rows.fold(mixture_sums(first)))


def convert(q: Variational, dtype: Any) -> Variational:
    """The posterior rounded to `dtype`, in float64."""
    parts = (q.concentration, q.mean_precision, q.means, q.degrees, q.covariances)
    return Variational(q.kind, *(np.asarray(part).astype(dtype).astype(np.float64) for part in parts))
