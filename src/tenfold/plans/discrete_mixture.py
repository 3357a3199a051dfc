"""EM for mixtures of multinomials and of Bernoulli features: the two steps, the starts, and the certificate.

With responsibilities r_ik, n_k = sum_i r_ik, s_kj = sum_i r_ik x_ij, pseudo-counts alpha and a prior of concentration a
on the weights, a step gives pi_k proportional to n_k + a - 1 and

    multinomial  q_kj proportional to s_kj + alpha        Bernoulli  q_kj = (s_kj + alpha) / (n_k + 2 alpha)

which maximise the expected log-likelihood plus (a - 1) sum log pi_k + alpha sum log q_kj, and of Bernoulli features
alpha sum log(1 - q_kj).
"""

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Protocol

import numpy as np

from tenfold.arrays import Floats, is_sparse
from tenfold.data import Block, MemoryRows, NotFinite, Rows, weights_of
from tenfold.judge.certificate import Certificate
from tenfold.judge.discrete_mixtures import em_step
from tenfold.plans import kmeans
from tenfold.plans.result import ATTEMPTS
from tenfold.problems import DiscretePrior
from tenfold.solvers import em
from tenfold.solvers.loop import Callback, Status, run
from tenfold.stats.derivatives import adjoint
from tenfold.stats.discrete_mixtures import Discrete, DiscreteSums, Kind, discrete_sums, values_of

SAMPLE = 20_000  # most samples that a start is made of
MAX_KMEANS_ITER = 100  # iterations of k-means for a start: EM refines it


@dataclass(frozen=True)
class DiscreteSteps:
    """The two steps of EM (see `tenfold.em`)."""

    kind: Kind
    prior: DiscretePrior
    threshold: float | None

    def expect(self, params: Discrete, block: Block) -> DiscreteSums:
        return discrete_sums(params, self.threshold, block)

    def bound(self, params: Discrete, statistic: DiscreteSums) -> float:
        prior = self.prior.log_prior(params.weights, params.logs, None if self.kind == "multinomial" else params.off)
        return (statistic.value + prior) / statistic.weight

    def maximise(self, statistic: DiscreteSums) -> Discrete:
        alpha, before = self.prior.alpha, statistic.at
        weights = statistic.count + self.prior.concentration - 1.0
        sums = np.maximum(statistic.sums, 0.0) + alpha
        total = np.sum(sums, axis=1) if self.kind == "multinomial" else statistic.count + 2.0 * alpha
        known = total > 0.0
        updated = np.where(known[:, None], sums / np.where(known, total, 1.0)[:, None], before.probabilities)
        return replace(before, weights=weights / np.sum(weights), probabilities=np.minimum(updated, 1.0))


@dataclass(frozen=True)
class Totals:
    """Weight of the samples, sums of their values (p,), and the least and the largest value."""

    weight: float
    sums: Floats
    low: float
    high: float

    def merge(self, other: "Totals") -> "Totals":
        return Totals(
            self.weight + other.weight,
            self.sums + other.sums,
            min(self.low, other.low),
            max(self.high, other.high),
        )


def total_values(block: Block) -> Totals:
    """The lift of `Totals`."""
    values = block.X.data if is_sparse(block.X) else np.asarray(block.X)
    weight = weights_of(block)
    sums = adjoint(block.X if is_sparse(block.X) else np.ascontiguousarray(block.X), weight[:, None])[0]
    return Totals(float(np.sum(weight)), sums, float(np.min(values, initial=0.0)), float(np.max(values, initial=0.0)))


def look(rows: Rows) -> Totals:
    """One pass; raises where samples are not finite."""
    totals = rows.fold(total_values)
    if not (np.isfinite(totals.sums).all() and np.isfinite(totals.low) and np.isfinite(totals.high)):
        raise NotFinite
    return totals


@dataclass(frozen=True)
class Search:
    """Settings of the search for the best parameters; given weights and probabilities count in the start."""

    components: int
    init: str
    weights: Floats | None
    probabilities: Floats | None
    inits: int
    tol: float
    max_iter: int
    random: Any


class Listener(Protocol):
    """A listener to the begin of each start, and its final bound."""

    def begin(self, start: int) -> None: ...
    def end(self, bound: float, converged: bool) -> None: ...


@dataclass(frozen=True)
class FittedDiscrete:
    """The fitted mixture in the precision of storage, the bounds of all steps, and the certificate."""

    mixture: Discrete
    bounds: tuple[float, ...]
    status: Status
    certificate: Certificate

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED


def fit(
    model: DiscreteSteps,
    rows: Rows,
    search: Search,
    dtype: Any,
    *,
    callback: Callback | None = None,
    listener: Listener | None = None,
    earlier: tuple[Discrete, float] | None = None,
) -> FittedDiscrete:
    """The best of several starts, or a warm start; EM continues with smaller tolerances until certified."""
    best: tuple[Discrete, tuple[float, ...], Status] | None = None
    for number in range(search.inits if earlier is None else 1):
        if listener is not None:
            listener.begin(number)
        first, bound = (_start(model, rows, search), -np.inf) if earlier is None else earlier
        result = _ascend(model, rows, first, bound, search.tol, search.max_iter, callback)
        if listener is not None:
            listener.end(result[1][-1] if result[1] else -np.inf, result[2] is Status.CONVERGED)
        if best is None or not best[1] or (result[1] and result[1][-1] > best[1][-1]):
            best = result
        if result[2] in (Status.INTERRUPTED, Status.STOPPED):
            break
    assert best is not None
    mixture = convert(best[0], dtype)
    certificate, tol = _certify(model, rows, mixture, search.tol, dtype, best[2]), search.tol
    for _ in range(ATTEMPTS):
        left = search.max_iter - len(best[1])
        if certificate.ok or best[2] is not Status.CONVERGED or left <= 0:
            break
        tol /= 10.0
        more = _ascend(model, rows, best[0], best[1][-1], tol, left, callback)
        best = (more[0], tuple(chain(best[1], more[1])), more[2])
        mixture = convert(best[0], dtype)
        certificate = _certify(model, rows, mixture, search.tol, dtype, best[2])
    return FittedDiscrete(mixture, best[1], best[2], certificate)


def _ascend(
    model: DiscreteSteps,
    rows: Rows,
    start: Discrete,
    bound: float,
    tol: float,
    max_iter: int,
    callback: Callback | None,
) -> tuple[Discrete, tuple[float, ...], Status]:
    solution = run(em.steps(model, rows, start, tol, None, bound), max_iter, None, callback)
    return solution.params, tuple(record.objective for record in solution.trace[1:]), solution.status


def convert(mixture: Discrete, dtype: Any) -> Discrete:
    """The mixture as it is stored: weights, and logarithms of the probabilities, rounded to `dtype`."""
    logs = mixture.logs.astype(dtype).astype(np.float64)
    weights = mixture.weights.astype(dtype).astype(np.float64)
    return replace(mixture, weights=weights, probabilities=np.minimum(np.exp(logs), 1.0))


def _certify(
    model: DiscreteSteps, rows: Rows, mixture: Discrete, tol: float, dtype: Any, status: Status
) -> Certificate:
    return em_step(rows, model.prior, mixture, model.threshold, tol=tol, dtype=dtype, status=status.value)


def _start(model: DiscreteSteps, rows: Rows, search: Search) -> Discrete:
    """The parameters that EM starts from: one step from responsibilities of samples, or given ones."""
    if search.weights is not None and search.probabilities is not None:
        return Discrete(model.kind, search.weights, search.probabilities)
    sample = kmeans.load_sample(rows, SAMPLE)
    X = values_of(sample.X, model.threshold)
    n, k = X.shape[0], search.components
    if n < k:
        raise ValueError(
            f"Expected n_samples >= n_components but got n_components = {k}, n_samples = {n} of positive weight"
        )
    weight = np.ones(n) if sample.weight is None else np.asarray(sample.weight)
    shares = _shares(X, weight, search)
    r = np.ascontiguousarray(weight[:, None] * shares)
    uniform = np.full((k, X.shape[1]), 1.0 / X.shape[1] if model.kind == "multinomial" else 0.5)
    at = Discrete(model.kind, np.full(k, 1.0 / k), uniform)
    X = X if is_sparse(X) else np.ascontiguousarray(X)
    sums = DiscreteSums(at, float(np.sum(weight)), 0.0, np.sum(r, axis=0), adjoint(X, r))
    # a start is inside: what a component has not seen may be its own all the same
    inside = replace(model, prior=replace(model.prior, alpha=max(model.prior.alpha, 1e-2)))
    first = inside.maximise(sums)
    return replace(
        first,
        weights=first.weights if search.weights is None else search.weights,
        probabilities=first.probabilities if search.probabilities is None else search.probabilities,
    )


def _shares(X: Any, weight: Floats, search: Search) -> Floats:
    """Responsibilities (n, k) of a start."""
    n, k, random = X.shape[0], search.components, search.random
    if search.init == "random":
        drawn = random.uniform(size=(n, k))
        return drawn / np.sum(drawn, axis=1, keepdims=True)
    if search.init == "random_from_data":
        # the sample, and a little of all others
        chosen = np.zeros((n, k))
        chosen[random.choice(n, k, replace=False), np.arange(k)] = 1.0
        return np.asarray(0.9 * chosen + 0.1 / n)
    sample = MemoryRows(X, np.zeros((n, 0)), weight)
    clusters = kmeans.of_rows(
        sample, kmeans.plus_plus(k), k, starts=1, max_iter=MAX_KMEANS_ITER, tol=1e-4, random=random
    )
    label = kmeans.label_samples(sample, weight, clusters.centres)[0]
    return np.eye(k)[label]
