"""Certificates of variational Gaussian mixtures: one exact step from the stored posterior, and the lower bound.

The distance from a fixed point, in nats per sample, is the larger of the change of the bound in the step and of the
increase of what the step maximises. Responsibilities and moments of the components are those of the judge of Gaussian
mixtures. Concentrations, precisions of the means and degrees of freedom must be those of one set of counts.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.mixtures import (
    ComponentSums,
    StoredFactors,
    SumOfLogs,
    component_sums,
    compute_expectation,
    find_contradiction,
    find_floor,
    sum_log_densities,
)
from tenfold.problems import Gaussians
from tenfold.stats.variational import Variational, VariationalPrior, count_samples


@dataclass(frozen=True)
class StoredPosterior:
    """Further fitted arrays: weights (k,), factors of the precisions and the precisions."""

    weights: Floats
    triangles: Floats
    precisions: Floats
    bound: float


def _step(prior: VariationalPrior, q: Variational, sums: ComponentSums) -> Variational:
    """The posterior after one exact step."""
    kind, p, n = prior.kind, q.shape[1], sums.count
    concentration, b, degrees = count_samples(prior, n)
    deviation = sums.mean - prior.mean
    means = prior.mean + (n / b)[:, None] * deviation
    between = n * prior.mean_precision / b
    if kind in ("full", "tied"):
        total = sums.scatter + between[:, None, None] * deviation[:, :, None] * deviation[:, None, :]
        total = total + (n * prior.reg_covar)[:, None, None] * np.eye(p)
        if kind == "tied":
            return Variational(kind, concentration, b, means, degrees, (prior.scale + total.mean(axis=0)) / degrees)
        return Variational(kind, concentration, b, means, degrees, (prior.scale + total) / degrees[:, None, None])
    total = sums.scatter + between[:, None] * deviation**2 + (n * prior.reg_covar)[:, None]
    if kind == "diag":
        return Variational(kind, concentration, b, means, degrees, (prior.scale + total) / degrees[:, None])
    return Variational(kind, concentration, b, means, degrees, (prior.scale + total.mean(axis=1)) / degrees)


def variational_step(
    rows: Rows,
    prior: VariationalPrior,
    q: Variational,
    *,
    tol: float,
    dtype: Any = np.float64,
    extra: StoredPosterior | None = None,
    status: str = "solved",
) -> Certificate:
    """Certificate of a posterior, stored in `dtype`, and of further fitted arrays; `tol` is of the bound of all
    samples.
    """
    wrong = _complain(prior, q, dtype)
    least = RULES["fixed point"].tol
    if wrong:
        return Certificate("fixed point", np.inf, 1.0, least, 0.0, np.nan, status=status, note=wrong)
    try:
        mixture = q.mixture
        here: ComponentSums = rows.fold(partial(component_sums, mixture, False))
        after = _step(prior, q, here)
        there: SumOfLogs = rows.fold(partial(sum_log_densities, after.mixture, False))
        now = (here.value - prior.divergence(q)) / here.weight
        then = (there.value - prior.divergence(after)) / here.weight
        problem = Gaussians(q.kind, prior.reg_covar)
        gain = (
            compute_expectation(problem, after.mixture, here)
            - prior.divergence(after)
            - compute_expectation(problem, mixture, here)
            + prior.divergence(q)
        ) / here.weight
    except (la.LinAlgError, ValueError) as reason:
        return Certificate("fixed point", np.inf, 1.0, least, 0.0, np.nan, status=status, note=str(reason))
    tol = max(tol / here.weight, least)
    floor = find_floor(problem, mixture, now, dtype) + 8.0 * unit_roundoff(dtype) * abs(now)
    parts: tuple[float, ...] = (abs(then - now), abs(gain))
    if extra is not None:
        slack = here.weight * (tol + floor + abs(then - now)) + 256.0 * unit_roundoff(dtype) * abs(extra.bound)
        wrong = _contradict(q, extra, dtype)
        total = now * here.weight - prior.constant(q.shape[0], here.weight)
        if not wrong and extra.bound > total + slack:
            wrong = f"The stored lower bound is {extra.bound:.9g}, above that of the posterior, {total:.9g}."
        parts = (*parts, np.inf) if wrong else parts
    value = max(*parts, floor)
    improper = not np.isfinite(prior.raw_log_scale)
    singular = "The scale of the prior is singular: the bound is known up to a constant." if improper else ""
    words = [wrong, singular, f"{int(np.sum(here.count > 1.0))} of {q.shape[0]} components have more than one sample."]
    value = value if np.isfinite(value) else np.inf
    note = " ".join(filter(None, words))
    return Certificate("fixed point", value, 1.0, tol, floor, -now, status=status, parts=parts, note=note)


def _complain(prior: VariationalPrior, q: Variational, dtype: Any) -> str:
    """Why the numbers of a posterior are not those of one set of counts; "" where they are."""
    k = q.shape[0]
    wanted = (2, k) if prior.sticks else (k,)
    if q.concentration.shape != wanted or q.mean_precision.shape != (k,):
        return "The concentrations and precisions are not those of the components."
    counts = q.mean_precision - prior.mean_precision
    concentration, _, degrees = count_samples(prior, counts)
    total = float(np.sum(np.abs(counts)))
    unit = 64.0 * unit_roundoff(dtype) * (total + prior.mean_precision + prior.concentration + prior.degrees)
    if not np.all(counts >= -unit):
        return "The precision of a mean is below that of the prior."
    if not np.all(np.abs(q.concentration - concentration) <= unit * k):
        return "The concentrations of the weights are not those of the counts of the means."
    if q.degrees.shape != degrees.shape or not np.all(np.abs(q.degrees - degrees) <= unit):
        return "The degrees of freedom are not those of the counts of the means."
    return ""


def _contradict(q: Variational, extra: StoredPosterior, dtype: Any) -> str:
    if extra.weights.shape != q.weights.shape or not np.all(
        np.abs(extra.weights - q.weights) <= 64.0 * len(q.weights) * unit_roundoff(dtype)
    ):
        return "The weights are not the means of the posterior."
    factors = StoredFactors(extra.triangles, extra.precisions, -np.inf)
    return find_contradiction(q.mixture, factors, 0.0, 0.0, dtype)
