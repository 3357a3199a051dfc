"""Bayesian linear regression by maximum evidence, from one fold of the second moments.

The fixed point of MacKay runs as in scikit-learn; from where it ends, Newton's method on the logarithms of the
precisions goes on to the maximum, which the judge confirms. Where the second moments do not have the digits for that -
no more samples than features, nearly dependent features, targets that are interpolated - all runs again on a triangular
factor of the samples, which a second fold gives.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.data import NotFinite, Rows
from tenfold.judge import evidence as judge
from tenfold.judge.certificate import Certificate
from tenfold.objectives.evidence import FactoredMoments, Prior, RelevanceEvidence, RidgeEvidence, SecondMoments
from tenfold.plans.least_squares import fold_moments
from tenfold.plans.result import round_to_dtype
from tenfold.solvers import newton
from tenfold.solvers.loop import run
from tenfold.solvers.mackay import MAX_PRECISION, Precisions, relevance_steps, ridge_steps, update_ridge
from tenfold.stats.derivatives import Params
from tenfold.stats.moments import Moments
from tenfold.stats.rfactor import RFactor

USUAL_SIZE = 200  # binary digits of sizes up to which columns and targets are taken as they are

MAX_SPREAD = 300  # binary digits between the sizes of columns, beside a column that is far larger than one

CANCELLED = 1e-6  # part of the targets' squares below which the unexplained ones are not a difference of sums

MAX_ROUNDING = 1e-8  # of the numbers from which precisions come, in themselves, that second moments may have

SAME_STEPS, SAME = 8, 0.1  # steps of the fixed point, which seldom need more to come so near to the same maximum
AT_REST = 1e-9  # of a step of the fixed point, in logarithms
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
    def of(cls, moments: Moments, intercept: bool, sparse: bool) -> "_Scaled":
        p, e = moments.features, moments.exponent.astype(np.int64)
        XX, XY, yy = moments.about(origin=not intercept)
        sizes = e + np.frexp(np.sqrt(np.append(np.diag(XX), yy)))[1]
        varies = np.append(np.diag(XX), yy) > 0.0
        largest = int(np.max(sizes[:p][varies[:p]], initial=-(1 << 20))) if varies[:p].any() else 0
        features, target = _unit_of(largest), _unit_of(int(sizes[p]) if varies[p] else 0)
        if features > 0 and np.min(sizes[:p][varies[:p]]) < largest - MAX_SPREAD:
            raise NotFinite(
                "Columns of X differ so much in scale that no precision of the weights suits all. Scale the columns."
            )
        shift = e[:p] - features
        summed = 0.0
        if sparse and intercept:
            raw = np.ldexp(moments.mean, -features) ** 2 * moments.weight
            summed = float(np.max(np.ldexp(np.diag(XX), 2 * shift) + raw, initial=0.0))
        second = SecondMoments(
            np.ldexp(XX, shift[:, None] + shift),
            np.ldexp(XY[:, 0], shift + e[p] - target),
            float(np.ldexp(yy[0], 2 * (e[p] - target))),
            moments.weight,
            summed,
        )
        mean, target_mean = (moments.mean, float(moments.target_mean[0])) if intercept else (np.zeros(p), 0.0)
        variance = float(np.ldexp(moments.yy[0], 2 * (e[p] - target))) / moments.weight
        return cls(second, mean, target_mean, variance, features, target)

    def factor(self, rows: Rows, moments: Moments, intercept: bool) -> "_Scaled":
        """The same from a triangular factor of the samples, about their means where there is an intercept."""
        p = moments.features
        units = np.ldexp(1.0, -np.append(np.full(p, self.features), self.target))
        centre = np.zeros(p + 1)
        if intercept:
            centre = np.append(moments.mean, moments.target_mean)
            units[:p][np.diag(moments.XX) <= 0.0] = 0.0  # about its mean a constant column is rounding
        factor = rows.fold(RFactor.lifter(centre, units)).R
        return replace(self, second=FactoredMoments.of(factor, self.second.samples))

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


def _unit_of(size: int) -> int:
    """The exponent of the unit in which numbers of a size 2^size are no larger or smaller than USUAL_SIZE allows:
    precisions of the data's own units, which users give, stay within the range of numbers.
    """
    return size - max(-USUAL_SIZE, min(USUAL_SIZE, size))


def fit_ridge(rows: Rows, settings: Settings, dtype: Any) -> BayesianFit:
    """One precision for all weights."""
    moments = fold_moments(rows)
    scaled = _Scaled.of(moments, settings.intercept, rows.sparse)
    if moments.count > moments.features:
        fitted, exact = _maximise_ridge(rows, scaled, settings, dtype)
        if exact:
            return fitted
    return _maximise_ridge(rows, scaled.factor(rows, moments, settings.intercept), settings, dtype)[0]


def _maximise_ridge(rows: Rows, scaled: _Scaled, settings: Settings, dtype: Any) -> tuple[BayesianFit, bool]:
    """The fit, and whether rounding of the second moments is not seen in it."""
    spectrum, vectors, projected = scaled.second.decompose()
    objective = RidgeEvidence(spectrum, scaled.prior(settings.prior))

    def weights_of(here: Precisions) -> Floats:
        divisor = here.weights + here.alpha * spectrum.values
        return scaled.weights(vectors @ (here.alpha * projected / divisor))

    start = Precisions(_alpha_start(scaled, settings), _lambda_start(scaled, settings))
    solution = run(ridge_steps(objective, weights_of, start, settings.tol), settings.max_iter - 1)
    here = _refine_ridge(objective, update_ridge(objective, solution.params))
    if settings.lambda_start is None:
        here = _better_of_two(objective, here, start.alpha)
    scores = np.array([-record.objective * spectrum.samples for record in solution.trace])
    scores = np.append(scores, objective.evidence(here.alpha, here.weights)) - scaled.units_of_evidence(objective.prior)
    # a factor of the scaled matrix keeps the digits of small columns, which eigenvectors lose beside large ones
    posterior = scaled.second.posterior(here.alpha, np.full(len(spectrum.values), here.weights))
    params = round_to_dtype(scaled.params(posterior.mean), dtype, scaled.mean)
    covariance = scaled.covariance(posterior.covariance, dtype)
    alpha, precision = scaled.alpha(here.alpha), float(scaled.precisions(here.weights))
    stored = judge.Stored(params, alpha, np.array([precision]), covariance, dtype)
    certificate = judge.ridge(rows, stored, settings.prior, settings.intercept)
    fitted = BayesianFit(params, certificate, alpha, precision, covariance, scaled.mean, scores, len(solution.trace))
    return fitted, certificate.ok and not _loses_digits(objective, here, scaled.second.yy)


def _loses_digits(objective: RidgeEvidence, here: Precisions, squares: float) -> bool:
    """Whether rounding of the second moments may be seen in the precisions, or in the unexplained targets."""
    spectrum, prior = objective.spectrum, objective.prior
    effective = float(np.sum(spectrum.shrinkage(here.alpha, here.weights)))
    least = min(effective + 2.0 * prior.lambda_shape, spectrum.samples - effective + 2.0 * prior.alpha_shape)
    uncertain = spectrum.rounding(here.alpha, here.weights) > MAX_ROUNDING * least
    return uncertain or spectrum.unexplained < CANCELLED * squares


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


def _distance(one: Precisions, other: Precisions) -> float:
    """The larger difference of the logarithms."""
    return max(abs(float(np.log(one.alpha / other.alpha))), abs(float(np.log(one.weights / other.weights))))


def _better_of_two(objective: RidgeEvidence, here: Precisions, alpha: float) -> Precisions:
    """Or the maximum from a precision that shrinks an average direction by half, which does not depend on units: from a
    precision of one weights in small units may all stay at zero.
    """
    balanced = alpha * float(np.mean(objective.spectrum.values))
    if not balanced > 0.0:
        return here
    other = start = Precisions(alpha, balanced)
    at_rest = _distance(update_ridge(objective, here), here) < AT_REST
    for _ in range(SAME_STEPS if at_rest else 0):
        other = update_ridge(objective, other)
        if _distance(other, here) < SAME:
            return here
    other = _refine_ridge(objective, start)
    gain = objective.evidence(other.alpha, other.weights) - objective.evidence(here.alpha, here.weights)
    return other if gain > MIN_GAIN * objective.spectrum.samples else here


def _measure_gain(gradient: Floats, half_decrement: float) -> float:
    return abs(half_decrement) / NEWTON_TOLERANCE


def fit_relevance(rows: Rows, settings: Settings, dtype: Any) -> BayesianFit:
    """One precision for each weight: automatic relevance determination."""
    moments = fold_moments(rows)
    scaled = _Scaled.of(moments, settings.intercept, rows.sparse)
    fitted = _maximise_relevance(rows, scaled, settings, dtype)
    if fitted.certificate.ok and fitted.certificate.floor <= MAX_ROUNDING:
        return fitted
    return _maximise_relevance(rows, scaled.factor(rows, moments, settings.intercept), settings, dtype)


def _maximise_relevance(rows: Rows, scaled: _Scaled, settings: Settings, dtype: Any) -> BayesianFit:
    prior, p = scaled.prior(settings.prior), len(scaled.second.Xy)
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
    scores = np.array([-record.objective * scaled.second.samples for record in solution.trace]) - units
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
    s, q = moments.returns(alpha, precisions, outside, inside)
    above = (q * q > s) & (s > 0.0)
    best = np.full(len(outside), np.inf)
    best[above] = s[above] ** 2 / (q[above] ** 2 - s[above])
    ratio = np.where(above & (best < threshold), q * q / np.where(above, s, 1.0), 1.0)
    gain = ratio - 1.0 - np.log(ratio)
    k = int(np.argmax(gain))
    return (int(outside[k]), float(best[k])) if gain[k] > 0.0 else (None, 0.0)
