"""EM for bigram models with missing words: observed bigrams are counted once, gaps are the samples of the driver.

With pseudo-counts alpha and expected bigrams Q_ab, P_ab is proportional to Q_ab + alpha, and so are the starts.
"""

from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Block, MemoryRows, weights_of
from tenfold.judge.bigrams import em_step
from tenfold.judge.certificate import Certificate
from tenfold.plans.result import ATTEMPTS
from tenfold.solvers import em
from tenfold.solvers.loop import Status, run
from tenfold.stats.bigrams import BigramCounts, Bigrams, ExpectedBigrams, expect


@dataclass(frozen=True)
class BigramSteps:
    """The two steps of EM (see `tenfold.em`) over gaps."""

    counts: BigramCounts
    alpha: float

    def expect(self, params: Bigrams, block: Block) -> ExpectedBigrams:
        gaps = np.ascontiguousarray(block.X, dtype=np.int64)
        return expect(params, gaps, np.ascontiguousarray(weights_of(block)))

    def bound(self, params: Bigrams, statistic: ExpectedBigrams) -> float:
        total = statistic.value
        for counts, q in ((self.counts.starts, params.start), (self.counts.bigrams, params.transition)):
            weight = counts + self.alpha
            inside = weight > 0.0
            total += float(np.sum(weight[inside] * np.log(q[inside])))
        return total / self.counts.sequences

    def maximise(self, statistic: ExpectedBigrams) -> Bigrams:
        starts = self.counts.starts + statistic.starts + self.alpha
        return Bigrams(_normalise(starts[None])[0], _normalise(self.counts.bigrams + statistic.bigrams + self.alpha))


def _normalise(counts: Floats) -> Floats:
    """Rows with sum one; uniform where nothing was counted."""
    total = np.sum(counts, axis=1, keepdims=True)
    uniform = 1.0 / counts.shape[1]
    return np.ascontiguousarray(np.where(total > 0.0, counts / np.where(total > 0.0, total, 1.0), uniform))


@dataclass(frozen=True)
class FittedBigrams:
    """Probabilities, the bounds of all steps, the status and the certificate."""

    params: Bigrams
    bounds: tuple[float, ...]
    status: Status
    certificate: Certificate


def fit(counts: BigramCounts, alpha: float, *, tol: float, max_iter: int) -> FittedBigrams:
    """EM from the smoothed counts of observed bigrams; without gaps these counts alone."""
    model = BigramSteps(counts, alpha)
    none = ExpectedBigrams(np.zeros_like(counts.bigrams), np.zeros_like(counts.starts), 0.0)
    if not len(counts.gaps):
        params = model.maximise(none)
        certificate = _certify(counts, params, alpha, tol, Status.CONVERGED)
        return FittedBigrams(params, (model.bound(params, none),), Status.CONVERGED, certificate)
    params = BigramSteps(counts, alpha + 1.0).maximise(none)
    rows = MemoryRows(counts.gaps.astype(np.float64), np.zeros((len(counts.gaps), 0)), counts.weight)
    solution = run(em.steps(model, rows, params, tol), max_iter)
    params, status = solution.params, solution.status
    bounds = tuple(record.objective for record in solution.trace[1:])
    certificate, smaller = _certify(counts, params, alpha, tol, status), tol
    for _ in range(ATTEMPTS):
        left = max_iter - len(bounds)
        if certificate.ok or status is not Status.CONVERGED or left <= 0:
            break
        smaller /= 10.0
        solution = run(em.steps(model, rows, params, smaller, None, bounds[-1]), left)
        params, status = solution.params, solution.status
        bounds += tuple(record.objective for record in solution.trace[1:])
        certificate = _certify(counts, params, alpha, tol, status)
    return FittedBigrams(params, bounds, status, certificate)


def _certify(counts: BigramCounts, params: Bigrams, alpha: float, tol: float, status: Status) -> Certificate:
    return em_step(counts, params, alpha, tol=tol, status=status.value)
