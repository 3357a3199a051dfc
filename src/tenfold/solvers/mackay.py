"""MacKay's fixed point of the evidence (MacKay 1992, 1994; Tipping 2001): each precision from the number of parameters
that the data determine.

    lambda = (gamma + 2 l1) / (||w||^2 + 2 l2),    alpha = (N - gamma + 2 a1) / (||y - X w||^2 + 2 a2),

with w the posterior mean, gamma the effective parameters. It converges linearly; near the optimum Newton's method is
faster. A step's measure is the change of the weights by `tol`, as scikit-learn's. p operations a step for one
precision, p^3 for one of each weight.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import Floats
from tenfold.objectives.evidence import Prior, RelevanceEvidence, RidgeEvidence, SecondMoments
from tenfold.solvers.loop import Step

MAX_PRECISION = 1e300  # where squares vanish and no prior bounds the precision


class Precisions(NamedTuple):
    """The precision of the noise, and that of the weights: one, or one for each with those that are kept."""

    alpha: float
    weights: Any
    kept: NDArray[np.bool_] | None = None


def _ratio(count: Floats | float, squares: Floats | float) -> Any:
    with np.errstate(divide="ignore", over="ignore"):
        return np.clip(np.divide(count, squares), 1.0 / MAX_PRECISION, MAX_PRECISION)


def update_ridge(objective: RidgeEvidence, here: Precisions) -> Precisions:
    """One step of the fixed point with one precision for all weights."""
    s, prior = objective.spectrum, objective.prior
    r = s.shrinkage(here.alpha, here.weights)
    effective = float(np.sum(r))
    weights = _ratio(effective + 2.0 * prior.lambda_shape, s.weight_squares(r) + 2.0 * prior.lambda_rate)
    noise = s.residual_squares(r) + 2.0 * prior.alpha_rate
    return Precisions(float(_ratio(s.samples - effective + 2.0 * prior.alpha_shape, noise)), float(weights))


def ridge_steps(
    objective: RidgeEvidence, weights_of: Callable[[Precisions], Floats], start: Precisions, tol: float
) -> Iterator[Step]:
    """Steps from `start`; `weights_of` precisions are the weights whose change ends the iteration."""
    here, last = start, None
    while True:
        w = weights_of(here)
        measure = np.inf if last is None else float(np.sum(np.abs(w - last))) / tol
        value = -objective.evidence(here.alpha, here.weights) / objective.spectrum.samples
        yield Step(here, value, measure)
        here, last = update_ridge(objective, here), w


def relevance_steps(
    moments: SecondMoments, prior: Prior, start: Precisions, threshold: float, tol: float
) -> Iterator[Step]:
    """Steps with one precision for each weight, from `start`; weights whose precision reaches the threshold are zero
    from then on. A step's parameters are those after its update; its objective, scikit-learn's score, has the new
    precisions with the posterior of the old ones.
    """
    p, alpha, precisions = len(moments.Xy), start.alpha, np.array(start.weights, dtype=np.float64)
    objective = RelevanceEvidence(moments, prior)
    kept, last = np.ones(p, dtype=bool), None
    while True:
        inside = np.flatnonzero(kept)
        part = moments.take(inside)
        posterior = part.posterior(alpha, precisions[inside])
        determined = 1.0 - precisions[inside] * np.diag(posterior.covariance)
        precisions[inside] = _ratio(determined + 2.0 * prior.lambda_shape, posterior.mean**2 + 2.0 * prior.lambda_rate)
        noise = posterior.residual_squares + 2.0 * prior.alpha_rate
        alpha = float(_ratio(moments.samples - float(np.sum(determined)) + 2.0 * prior.alpha_shape, noise))
        kept = precisions < threshold
        w = np.zeros(p)
        w[inside] = posterior.mean
        w[~kept] = 0.0
        measure = np.inf if last is None else float(np.sum(np.abs(w - last))) / max(tol, 1e-300)
        value = -objective.evidence(alpha, precisions, posterior._replace(mean=w)) / moments.samples
        yield Step(Precisions(alpha, precisions.copy(), kept.copy()), value, measure if kept.any() else 0.0)
        if not kept.any():
            return
        last = w
