"""Probabilistic principal components: in closed form from the moments of one pass, or by EM with missing values.

The missing values alone are what EM does not know: each step completes the second moments, for which the best subspace
has a closed form. Without missing values the first step ends at it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.data import NotFinite, Rows
from tenfold.judge import pca as spectral_judge
from tenfold.judge import probabilistic_pca as judge
from tenfold.judge.certificate import Certificate
from tenfold.plans.covariance import Scatter, fold_scatter
from tenfold.plans.pca import fix_signs
from tenfold.solvers.em import steps
from tenfold.solvers.loop import Callback, run
from tenfold.stats.class_totals import ClassColumns
from tenfold.stats.mixtures import nonmissing_moments
from tenfold.stats.probabilistic_pca import CompletedSums, Subspace, fit_covariance, sum_completed

SINGULAR = 4096.0 * EPS  # of the largest variance, the least one in densities and inverses
SHARE_OF_TOL = 0.5  # at which steps end: the judge takes one more


class FittedSubspace(NamedTuple):
    """The subspace in the precision of storage, in float64; the log-likelihoods of all samples before each step and
    after the last; and the certificate.
    """

    subspace: Subspace
    likelihoods: list[float]
    certificate: Certificate


@dataclass(frozen=True)
class Completion:
    """The model of EM: `count` components, and variances of at least `least`."""

    count: int
    least: float

    def expect(self, params: Subspace, block: Any) -> CompletedSums:
        return sum_completed(params, block)

    def maximise(self, statistic: CompletedSums) -> Subspace:
        step = statistic.sums / statistic.weight
        S = statistic.squares / statistic.weight - np.outer(step, step)
        return fit_covariance(statistic.at.mean + step, S, self.count, self.least)

    def bound(self, params: Subspace, statistic: CompletedSums) -> float:
        return statistic.value / statistic.weight


def fold_complete(rows: Rows) -> Scatter | None:
    """Mean and covariance of samples; None where values are missing, or not finite."""
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            return fold_scatter(rows, False)
    except NotFinite:
        return None


def fold_observed(rows: Rows, names: Sequence[str] | None = None) -> ClassColumns:
    """Weights, means and squares of the observed values of each feature, each of which must have some."""
    columns: ClassColumns = rows.fold(nonmissing_moments)
    if not (np.isfinite(columns.mean).all() and np.isfinite(columns.squares).all()):
        raise NotFinite
    empty = np.flatnonzero(columns.weight[0] <= 0.0)
    if len(empty) == rows.shape[1]:
        raise ValueError("All samples are missing: X has no value at all in a sample of positive weight.")
    if len(empty):
        named = "" if names is None else f" ({', '.join(str(names[int(j)]) for j in empty)})"
        raise ValueError(
            f"Features {empty.tolist()}{named} have no value in any sample: leave them out, for nothing can be learned "
            "of them."
        )
    return columns


def fit_subspace(
    rows: Rows,
    count: int,
    *,
    solver: str,
    max_iter: int,
    tol: float,
    dtype: Any,
    names: Sequence[str] | None = None,
    callback: Callback | None = None,
) -> FittedSubspace:
    """Fit `count` components by the `solver` "closed" or "em", or by what the samples need ("auto")."""
    scatter = fold_complete(rows)
    if scatter is not None and solver != "em":
        return _fit_closed(rows, scatter, count, dtype)
    if scatter is None:
        columns = fold_observed(rows, names)
        if solver == "closed":
            raise ValueError("Input X contains NaN: solver='closed' takes no missing values, solver='em' does.")
        mean, variance = columns.mean[0], columns.squares[0] / columns.weight[0]
    else:
        mean, variance = scatter.centre, np.diag(scatter.covariance)
    least = judge.noise_floor(variance)
    start = fit_covariance(mean, np.diag(variance), count, least)
    solution = run(steps(Completion(count, least), rows, start, SHARE_OF_TOL * tol), max_iter, None, callback)
    stored = convert(solution.params, dtype)
    weight = float(rows.fold(partial(sum_completed, stored)).weight) if scatter is None else scatter.weight
    bounds = [weight * record.objective for record in solution.trace[1:]]
    status = solution.status.value
    if scatter is not None:
        certificate = judge_closed(rows, stored, scatter.weight, count, dtype, scatter.covariance, status)
        return FittedSubspace(stored, [*bounds, _likelihood(scatter, stored)], certificate)
    certificate = judge.judge_step(
        rows,
        mean=stored.mean,
        axes=stored.axes,
        variances=stored.variances,
        noise=stored.noise,
        count=count,
        tol=tol,
        dtype=dtype,
        status=status,
    )
    return FittedSubspace(stored, [*bounds, -weight * certificate.objective], certificate)


def _fit_closed(rows: Rows, scatter: Scatter, count: int, dtype: Any) -> FittedSubspace:
    stored = convert(fit_covariance(scatter.centre, scatter.covariance, count, 0.0), dtype)
    certificate = judge_closed(rows, stored, scatter.weight, count, dtype, scatter.covariance)
    return FittedSubspace(stored, [_likelihood(scatter, stored)], certificate)


def judge_closed(
    rows: Rows,
    stored: Subspace,
    weight: float,
    count: int,
    dtype: Any,
    covariance: Floats | None = None,
    status: str = "solved",
) -> Certificate:
    """The certificate of samples without missing values, of that total `weight`."""
    return spectral_judge.spectral(
        rows,
        mean=stored.mean,
        components=stored.axes,
        values=stored.variances * weight,
        count=count,
        derived=spectral_judge.Derived(
            stored.variances, noise=stored.noise, others=len(stored.mean) - len(stored.axes), by_weight=True
        ),
        scatter=None if covariance is None else covariance * weight,
        dtype=dtype,
        status=status,
    )


def convert(params: Subspace, dtype: Any) -> Subspace:
    """The subspace with fixed signs, rounded to `dtype`, in float64."""
    parts = (params.mean, fix_signs(params.axes), params.variances)
    mean, axes, variances = (part.astype(dtype).astype(np.float64) for part in parts)
    return Subspace(mean, axes, variances, params.noise)


def regularise(params: Subspace) -> Subspace:
    """The subspace with variances of at least a multiple of rounding, for densities and inverses."""
    top = max(float(np.max(params.variances, initial=0.0)), params.noise)
    least = SINGULAR * top if top > 0.0 else judge.CONSTANT_FLOOR
    noise = max(params.noise, least) if len(params.axes) < len(params.mean) else 0.0
    return Subspace(params.mean, params.axes, np.maximum(params.variances, max(noise, least)), noise)


def _likelihood(scatter: Scatter, stored: Subspace) -> float:
    """The log-likelihood of all samples, from their covariance."""
    model = regularise(stored)
    k, p = model.axes.shape
    along = np.einsum("kp,pq,kq->k", model.axes, scatter.covariance, model.axes)
    left = max(float(np.trace(scatter.covariance)) - float(np.sum(along)), 0.0)
    total = p * float(np.log(2.0 * np.pi)) + float(np.sum(np.log(model.variances) + along / model.variances))
    if k < p:
        total += (p - k) * float(np.log(model.noise)) + left / model.noise
    return -0.5 * scatter.weight * total
