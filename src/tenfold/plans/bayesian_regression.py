"""Bayesian linear regression by maximum evidence, from one fold of the second moments.

The fixed point of MacKay runs as in scikit-learn; from where it ends, Newton's method on the logarithms of the
precisions goes on to the maximum, which the judge confirms.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.data import NotFinite, Rows
from tenfold.judge import evidence as judge
from tenfold.judge.certificate import Certificate
from tenfold.linear_algebra import eigh
from tenfold.losses.regression import Square
from tenfold.objectives.evidence import Prior, RelevanceEvidence, RidgeEvidence, SecondMoments, Spectrum
from tenfold.objectives.linear_design import center
from tenfold.plans.least_squares import fold_moments
from tenfold.plans.result import round_to_dtype
from tenfold.solvers import newton
from tenfold.solvers.loop import run
from tenfold.solvers.mackay import MAX_PRECISION, Precisions, relevance_steps, ridge_steps, update_ridge
from tenfold.stats.derivatives import Params, derivatives
from tenfold.stats.moments import Moments

RANK_TOLERANCE = 4.0 * EPS  # eigenvalues of a Gram matrix below this part of the largest, times p, are rounding

MAX_SPREAD = 300  # binary digits between the sizes of columns, beside a column that is far larger than one

CANCELLED = 1e-6  # part of the targets' squares below which the unexplained ones are read from the samples

NEWTON_STEPS = 100  # of the refinement; a handful are usual

NEWTON_TOLERANCE = 1e-20  # decrease of the evidence that a Newton step expects at the end, in nats a sample

MIN_GAIN = 1e-9  # nats a sample for which another maximum is taken

RELEVANCE_ROUNDS = 50  # refinements by Newton's method, between which weights leave and return


@dataclass(frozen=True)
class Settings:
    """What the estimators are asked for."""

    prior: Prior
    max_iter: int
    tol: float
    intercept: bool
    alpha_start: float | None = None
    lambda_start: float | None = None
    threshold: float = np.inf


@dataclass(frozen=True)
class BayesianFit:
    """Posterior and precisions as they will be stored, scores of the iterations, and the certificate."""

    params: Params
    certificate: Certificate
    alpha: float
    precisions: Any
    covariance: Floats
    offset: Floats
    scores: Floats
    iterations: int


@dataclass(frozen=True)
class _Scaled:
    """Second moments in units of powers of two: 2^-features for all features, so that their precisions keep their
    order, and 2^-target for the targets.
    """

    second: SecondMoments
    mean: Floats
    target_mean: float
    variance: float
    """The variance of the targets, about their mean, in these units."""
    features: int
    target: int

    @classmethod
    def of(cls, moments: Moments, intercept: bool) -> "_Scaled":
        p, e = moments.features, moments.exponent.astype(np.int64)
        XX, XY, yy = moments.about(origin=not intercept)
        sizes = e + np.frexp(np.sqrt(np.append(np.diag(XX), yy)))[1]
        varies = np.append(np.diag(XX), yy) > 0.0
        features = int(np.max(sizes[:p][varies[:p]], initial=-(1 << 20)))
        features = features if abs(features) > 200 and varies[:p].any() else 0
        target = int(sizes[p]) if varies[p] and abs(sizes[p]) > 200 else 0
        if features > 0 and np.min(sizes[:p][varies[:p]]) < features - MAX_SPREAD:
            raise NotFinite(
                "Columns of X differ so much in scale that no precision of the weights suits all. Scale the columns."
            )
        shift = e[:p] - features
        second = SecondMoments(
            np.ldexp(XX, shift[:, None] + shift),
            np.ldexp(XY[:, 0], shift + e[p] - target),
            float(np.ldexp(yy[0], 2 * (e[p] - target))),
            moments.weight,
        )
        mean, target_mean = (moments.mean, float(moments.target_mean[0])) if intercept else (np.zeros(p), 0.0)
        variance = float(np.ldexp(moments.yy[0], 2 * (e[p] - target))) / moments.weight
        return cls(second, mean, target_mean, variance, features, target)

    def prior(self, prior: Prior) -> Prior:
        """The prior in these units."""
        with np.errstate(over="ignore"):
            alpha_rate = min(float(np.ldexp(prior.alpha_rate, -2 * self.target)), MAX_PRECISION)
            lambda_rate = min(float(np.ldexp(prior.lambda_rate, 2 * (self.features - self.target))), MAX_PRECISION)
        return Prior(prior.alpha_shape, alpha_rate, prior.lambda_shape, lambda_rate)

    def alpha(self, alpha: float) -> float:
        """A noise precision of these units in those of the data."""
        return float(np.ldexp(alpha, -2 * self.target))

    def precisions(self, precisions: Any) -> Any:
        with np.errstate(over="ignore"):
            result = np.ldexp(precisions, 2 * (self.features - self.target))
        if not np.isfinite(result).all():
            raise NotFinite("The best precision of a weight is beyond the range of numbers. Scale the columns.")
        return result

    def covariance(self, covariance: Floats, dtype: Any) -> Floats:
        """That of weights in the units of the data, rounded to `dtype`."""
        exact = np.ldexp(0.5 * (covariance + covariance.T), 2 * (self.target - self.features))
        with np.errstate(over="ignore"):
            return np.asarray(exact.astype(dtype), dtype=np.float64)

    def units_of_evidence(self, prior: Prior) -> float:
        """By how much the logarithms of scaled precisions exceed those of the data, as the evidence counts them."""
        doublings = self.target * (self.second.samples + 2.0 * prior.alpha_shape)
        return float(np.log(2.0)) * (doublings + 2.0 * (self.target - self.features) * prior.lambda_shape)

    def weights(self, w: Floats) -> Floats:
        return np.asarray(np.ldexp(w, self.target - self.features))

    def params(self, w: Floats) -> Params:
        w = self.weights(w)
        return Params(w[None, :], np.array([self.target_mean - float(w @ self.mean)]))


def fit_ridge(rows: Rows, settings: Settings, dtype: Any) -> BayesianFit:
    """One precision for all weights."""
    moments = fold_moments(rows)
    scaled = _Scaled.of(moments, settings.intercept)
    spectrum, vectors = _decompose(rows, scaled, settings.intercept)
    objective = RidgeEvidence(spectrum, scaled.prior(settings.prior))
    projected = vectors.T @ scaled.second.Xy

    def weights_of(here: Precisions) -> Floats:
        divisor = here.weights + here.alpha * spectrum.values
        return np.asarray(vectors @ (here.alpha * projected / divisor))

    def unscale_weights(here: Precisions) -> Floats:
        return scaled.weights(weights_of(here))

    start = Precisions(_alpha_start(scaled, settings), _lambda_start(scaled, settings))
    solution = run(ridge_steps(objective, unscale_weights, start, settings.tol), settings.max_iter - 1)
    here = _refine_ridge(objective, update_ridge(objective, solution.params))
    if settings.lambda_start is None:
        here = _better_of_two(objective, here, start.alpha)
    scores = np.array([-record.objective * spectrum.samples for record in solution.trace])
    scores = np.append(scores, objective.evidence(here.alpha, here.weights)) - scaled.units_of_evidence(objective.prior)
    # a factor of the scaled matrix keeps the digits of small columns, which eigenvectors lose beside large ones
    posterior = scaled.second.posterior(here.alpha, np.full(moments.features, here.weights))
    params = round_to_dtype(scaled.params(posterior.mean), dtype, scaled.mean)
    covariance = scaled.covariance(posterior.covariance, dtype)
    alpha, precision = scaled.alpha(here.alpha), float(scaled.precisions(here.weights))
    stored = judge.Stored(params, alpha, np.array([precision]), covariance, dtype)
    certificate = judge.ridge(rows, stored, settings.prior, settings.intercept)
    return BayesianFit(params, certificate, alpha, precision, covariance, scaled.mean, scores, len(solution.trace))


def _alpha_start(scaled: _Scaled, settings: Settings) -> float:
    """The first noise precision: one over the variance of the targets, with scikit-learn's guard against zero."""
    if settings.alpha_start is not None:
        return max(float(np.ldexp(settings.alpha_start, 2 * scaled.target)), 1e-300)
    return 1.0 / (scaled.variance + EPS)


def _lambda_start(scaled: _Scaled, settings: Settings) -> float:
    start = 1.0 if settings.lambda_start is None else settings.lambda_start
    return max(float(np.ldexp(start, 2 * (scaled.target - scaled.features))), 1e-300)


def _refine_ridge(objective: RidgeEvidence, here: Precisions) -> Precisions:
    """The maximum of the evidence near here, by Newton's method; here where rounding hides any gain."""
    start = np.log([here.alpha, here.weights])
    solution = run(newton.steps(objective, start, _measure_gain), NEWTON_STEPS)
    x = solution.params
    if not np.isfinite(x).all() or objective.read(x).value > objective.read(start).value:
        return here
    # one step of the fixed point makes both equations hold to rounding
    return update_ridge(objective, Precisions(float(np.exp(x[0])), float(np.exp(x[1]))))


def _better_of_two(objective: RidgeEvidence, here: Precisions, alpha: float) -> Precisions:
    """Or the maximum from a precision that shrinks an average direction by half, which does not depend on units: from a
    precision of one weights in small units may all stay at zero.
    """
    balanced = alpha * float(np.mean(objective.spectrum.values))
    if not balanced > 0.0:
        return here
    other = _refine_ridge(objective, Precisions(alpha, balanced))
    gain = objective.evidence(other.alpha, other.weights) - objective.evidence(here.alpha, here.weights)
    return other if gain > MIN_GAIN * objective.spectrum.samples else here


def _measure_gain(gradient: Floats, half_decrement: float) -> float:
    return abs(half_decrement) / NEWTON_TOLERANCE


def _decompose(rows: Rows, scaled: _Scaled, intercept: bool) -> tuple[Spectrum, Floats]:
    """Eigenvalues and eigenvectors of the Gram matrix, and the squares of the targets that they explain."""
    second = scaled.second
    values, vectors = eigh(second.XX)
    values, vectors = values[::-1], vectors[:, ::-1]
    inside = values > RANK_TOLERANCE * len(values) * max(float(values[0]), 0.0)
    values = np.where(inside, values, 0.0)
    projected = vectors.T @ second.Xy
    explained = np.zeros_like(values)
    explained[inside] = projected[inside] ** 2 / values[inside]
    unexplained = second.yy - float(np.sum(explained))
    if unexplained < CANCELLED * second.yy:
        w = vectors[:, inside] @ (projected[inside] / values[inside])
        params = center(scaled.params(w), scaled.mean) if intercept else scaled.params(w)
        centre = scaled.mean if intercept else None
        squares = 2.0 * float(rows.fold(derivatives(Square(), params, 0, centre)).value[0])
        unexplained = float(np.ldexp(squares, -2 * scaled.target))
    return Spectrum(values, explained, max(unexplained, 0.0), second.samples), vectors


def fit_relevance(rows: Rows, settings: Settings, dtype: Any) -> BayesianFit:
    """One precision for each weight: automatic relevance determination."""
    moments = fold_moments(rows)
    scaled = _Scaled.of(moments, settings.intercept)
    prior, p = scaled.prior(settings.prior), moments.features
    threshold = float(np.ldexp(settings.threshold, 2 * (scaled.target - scaled.features)))
    start = Precisions(_alpha_start(scaled, settings), np.full(p, _lambda_start(scaled, settings)))
    tol = float(np.ldexp(settings.tol, scaled.features - scaled.target))
    solution = run(relevance_steps(scaled.second, prior, start, threshold, tol), settings.max_iter - 1)
    here = _refine_relevance(scaled.second, prior, solution.params, threshold)
    assert here.kept is not None
    inside = np.flatnonzero(here.kept)
    posterior = scaled.second.take(inside).posterior(here.alpha, here.weights[inside])
    w = np.zeros(p)
    w[inside] = posterior.mean
    params = round_to_dtype(scaled.params(w), dtype, scaled.mean)
    covariance = scaled.covariance(posterior.covariance, dtype)
    alpha, precisions = scaled.alpha(here.alpha), scaled.precisions(here.weights)
    stored = judge.Stored(params, alpha, precisions, covariance, dtype)
    certificate = judge.relevance(rows, stored, settings.prior, settings.intercept, settings.threshold)
    units = scaled.units_of_evidence(prior)
    scores = np.array([-record.objective * moments.weight for record in solution.trace]) - units
    return BayesianFit(params, certificate, alpha, precisions, covariance, scaled.mean, scores, len(solution.trace))


def _refine_relevance(moments: SecondMoments, prior: Prior, here: Precisions, threshold: float) -> Precisions:
    """Newton's method on the kept features; features leave at the threshold and return where the evidence gains."""
    alpha, precisions, kept = here.alpha, here.weights.copy(), here.kept
    assert kept is not None
    for _ in range(RELEVANCE_ROUNDS):
        inside = np.flatnonzero(kept)
        part = moments.take(inside)
        start = np.log(np.append(alpha, precisions[inside]))
        objective = RelevanceEvidence(part, prior)
        x = run(newton.steps(objective, start, _measure_gain), NEWTON_STEPS).params
        alpha, precisions[inside] = float(np.exp(x[0])), np.exp(x[1:])
        leaving = inside[precisions[inside] >= threshold]
        kept[leaving] = False
        returning, best = _best_return(moments, alpha, precisions, kept, threshold)
        if returning is not None:
            kept[returning], precisions[returning] = True, best
        elif not leaving.size:
            break
    return Precisions(alpha, precisions, kept)


def _best_return(
    moments: SecondMoments, alpha: float, precisions: Floats, kept: Any, threshold: float
) -> tuple[int | None, float]:
    """The pruned feature whose return gains most evidence, and its best precision; None where none gains below the
    threshold.
    """
    outside, inside = np.flatnonzero(~kept), np.flatnonzero(kept)
    if not outside.size:
        return None, 0.0
    posterior = moments.take(inside).posterior(alpha, precisions[inside])
    cross = moments.XX[np.ix_(outside, inside)]
    s = alpha * np.diag(moments.XX)[outside]
    s = s - alpha**2 * np.sum((cross @ posterior.covariance) * cross, axis=1)
    q = alpha * (moments.Xy[outside] - cross @ posterior.mean)
    above = (q * q > s) & (s > 0.0)
    best = np.full(len(outside), np.inf)
    best[above] = s[above] ** 2 / (q[above] ** 2 - s[above])
    ratio = np.where(above & (best < threshold), q * q / np.where(above, s, 1.0), 1.0)
    gain = ratio - 1.0 - np.log(ratio)
    k = int(np.argmax(gain))
    return (int(outside[k]), float(best[k])) if gain[k] > 0.0 else (None, 0.0)
