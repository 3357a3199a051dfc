"""Kind stationarity: Bayesian linear regression, whose precisions maximise the evidence.

With alpha the precision of the noise, lambda those of the weights, Lambda = diag(lambda), X centred, N the sum of the
sample weights and Sigma = (Lambda + alpha X'X)^-1, the judge reads second moments and residuals again, and checks
  the weights       by what the log posterior could still gain, 1/2 g' Sigma g nats, g its gradient at `coef_`;
  the covariance    by a second inverse, entry by entry, in units of the standard deviations;
  one precision     by |log(new / old)| of alpha and lambda in one update of the fixed point (MacKay 1992);
  one each          by the gradient of the evidence in the logarithms of all precisions, in nats a sample; and that no
                    pruned feature would return: with C the covariance of y in the model, s = x'C^-1 x and q = x'C^-1 y,
                    its best precision s^2 / (q^2 - s) must not be below the threshold (Faul and Tipping 2002).
The evidence is not concave: another start may give a larger one.

Where rounding of the second moments would be seen in these numbers, a triangular factor of the samples, read by another
pass, takes their place: its error has the condition of X, not that of X'X.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from tenfold.arrays import EPS, Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.least_squares import residual
from tenfold.judge.objective_points import storage_roundoff
from tenfold.linear_algebra import cholesky, eigenvalues, solve_lower
from tenfold.losses.regression import Square
from tenfold.machine import one_blas_thread
from tenfold.objectives.evidence import Prior
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.moments import Moments
from tenfold.stats.rfactor import RFactor

MAX_ROUNDING = 1e-8  # of a number that is judged, above which the factor of the samples is read

POSTERIOR_GAIN = 1e-10  # nats a sample that the log posterior of the weights may still gain

COVARIANCE_DISTANCE = 1e-7  # of an entry of the covariance, in units of its two standard deviations

SCORE_DISTANCE = 1e-6  # nats a sample; scikit-learn's last score has the weights before the last update

UPDATE_NOTE = "The number is the change of the logarithm of a precision in one update of the fixed point."
GRADIENT_NOTE = "The number is the gradient of the evidence in the logarithm of a precision, in nats a sample."


@dataclass(frozen=True)
class Stored:
    """What a fitted model holds, in float64: weights, precisions, the covariance of the weights that are kept, the
    dtype of weights and covariance, and its last score where it has one.
    """

    params: Params
    alpha: float
    precisions: Floats
    covariance: Floats
    dtype: Any
    score: float | None = None


@dataclass(frozen=True)
class _Read:
    """Second moments in units of powers of two (features and target), and what the samples say of the weights."""

    XX: Floats
    Xy: Floats
    features: int
    target: int
    samples: float
    gradient: Floats
    residual_squares: float
    loss_of_rounding: float
    """Squares by which rounding of the weights and of sums may change the residual squares, to first order in them."""
    moved: float
    """Squares of the moves of all predictions by rounding of the weights."""
    shift: float
    """The mean residual."""
    rank: int
    """No more eigenvalues of X'X differ from zero: that of centred samples is below their number."""
    centre: Floats
    scale_of_columns: Floats
    """The place from which samples and targets (p + 1,) are measured, and what they are multiplied by."""
    cancelled: Floats
    """By what the rounding of X'X (p,) exceeds that of its diagonal: sparse columns are summed about zero."""
    factor: Floats | None = None
    """R (m, p + 1) with R'R = [X y]'[X y]."""

    def read_factor(self, rows: Rows) -> "_Read":
        """The same with the factor."""
        return replace(self, factor=rows.fold(RFactor.lifter(self.centre, self.scale_of_columns)).R)

    def scale(self, prior: Prior) -> Prior:
        """The prior of precisions in these units."""
        alpha_rate = float(np.ldexp(prior.alpha_rate, -2 * self.target))
        lambda_rate = float(np.ldexp(prior.lambda_rate, 2 * (self.features - self.target)))
        return Prior(prior.alpha_shape, alpha_rate, prior.lambda_shape, lambda_rate)


def _read(rows: Rows, stored: Stored, intercept: bool) -> _Read | None:
    """None where the parameters or what is read are not finite."""
    precisions = np.append(stored.precisions, stored.alpha)
    finite = all(np.isfinite(part).all() for part in (*stored.params, stored.covariance, precisions))
    if not finite or np.any(precisions <= 0.0):
        return None
    moments = rows.fold(Moments.lift)
    columns, p = Columns.of(moments), moments.features
    problem = Glm(Square(), L2(np.zeros(1)), intercept)
    verdict = residual(problem, rows, stored.params, columns, dtype=stored.dtype)
    if not np.isfinite(verdict.residual_squares).all():
        return None
    e = moments.exponent.astype(np.int64)
    XX, XY, yy = moments.about(origin=not intercept)
    sizes = e + np.frexp(np.sqrt(np.append(np.diag(XX), yy)))[1]
    varies = np.append(np.diag(XX), yy) > 0.0
    features = int(np.max(sizes[:p][varies[:p]], initial=-(1 << 20))) if varies[:p].any() else 0
    target = int(sizes[p]) if varies[p] else 0
    shift = e[:p] - features
    raw, raw_target = columns.lengths(origin=True)
    lengths, _ = columns.lengths(origin=not intercept)
    size, terms = np.abs(stored.params.coef[0]), 4.0 + np.sqrt(p)
    reading = terms * EPS * float(raw_target[0] + size @ raw)
    reading += storage_roundoff(stored.params.intercept, stored.dtype) * float(
        np.abs(stored.params.intercept[0]) * np.sqrt(moments.weight)
    )
    stored_move = unit_roundoff(stored.dtype) * float(size @ lengths)
    left = float(np.sqrt(verdict.residual_squares[0]))
    rounding = 2.0 * left * reading + (reading + stored_move) ** 2
    scale = -2 * target
    units = np.ldexp(1.0, -np.append(np.full(p, features), target))
    units[:p][~varies[:p]] = 0.0
    return _Read(
        np.ldexp(XX, shift[:, None] + shift),
        np.ldexp(XY[:, 0], shift + e[p] - target),
        features,
        target,
        moments.weight,
        -np.ldexp(verdict.gradient[0], -(features + target)),
        float(np.ldexp(verdict.residual_squares[0], scale)),
        float(np.ldexp(rounding, scale)),
        float(np.ldexp((reading + stored_move) ** 2, scale)),
        float(np.ldexp(_mean_residual(stored.params, moments), -target)) if intercept else 0.0,
        max(min(moments.count - int(intercept), p), 0),
        np.append(moments.mean, moments.target_mean) if intercept else np.zeros(p + 1),
        units,
        np.where(lengths > 0.0, raw / np.where(lengths > 0.0, lengths, 1.0), 1.0) ** 2 if rows.sparse else np.ones(p),
    )


def _mean_residual(params: Params, moments: Moments) -> float:
    """In extended precision: means may be far from zero."""
    predicted = params.intercept.astype(np.longdouble) + params.coef.astype(np.longdouble) @ moments.mean
    return float((moments.target_mean - predicted)[0])


@dataclass(frozen=True)
class _Posterior:
    """The inverse of the precision matrix of the kept weights, computed again, in the units of `_Read`."""

    alpha: float
    precisions: Floats
    weights: Floats
    covariance: Floats
    condition: float
    """Of what was factorised: entries of the covariance have relative errors of its product with the unit roundoff."""
    complaint: str

    @property
    def determined(self) -> Floats:
        """1 - lambda_j Sigma_jj: how far the data determine each weight."""
        return 1.0 - self.precisions * np.diag(self.covariance)


def _posterior(read: _Read, stored: Stored, kept: NDArray[np.bool_]) -> _Posterior:
    """Invert, and compare weights and covariance with those that are stored."""
    inside = np.flatnonzero(kept)
    alpha = float(np.ldexp(stored.alpha, 2 * read.target))
    precisions = np.ldexp(stored.precisions[inside], 2 * (read.target - read.features))
    w = np.ldexp(stored.params.coef[0], read.features - read.target)[inside]
    inverted = _invert(read, inside, alpha, precisions)
    if inverted is None:
        return _Posterior(alpha, precisions, w, read.XX, np.inf, "The covariance of the weights cannot be computed.")
    again, condition = inverted
    posterior = _Posterior(alpha, precisions, w, again, condition, "")
    gradient = alpha * read.gradient[inside] - precisions * w
    gain = 0.5 * (float(gradient @ again @ gradient) / read.samples + alpha * read.shift**2)
    if not gain <= max(POSTERIOR_GAIN, 16.0 * alpha * read.moved / read.samples):
        return replace(posterior, complaint="coef_ and intercept_ are not the posterior mean at these precisions.")
    given = np.ldexp(stored.covariance, 2 * (read.features - read.target))
    if given.shape != again.shape:
        return replace(posterior, complaint="sigma_ is not a covariance of the weights that are kept.")
    spread = np.sqrt(np.diag(again))
    away = np.max(np.abs(given - again) / spread / spread[:, None], initial=0.0)
    if not away <= max(COVARIANCE_DISTANCE, 4.0 * unit_roundoff(stored.dtype) + 64.0 * EPS * condition):
        return replace(posterior, complaint="sigma_ is not the posterior covariance of the weights.")
    return posterior


def _invert(read: _Read, inside: NDArray[np.intp], alpha: float, precisions: Floats) -> tuple[Floats, float] | None:
    """The inverse of the precision matrix of some weights, and the condition of what was factorised: of the matrix with
    unit diagonal, or of the factor of the samples above the roots of the precisions, its columns of unit length.
    """
    if not inside.size:
        return np.zeros((0, 0)), 1.0
    if read.factor is None:
        A = alpha * read.XX[np.ix_(inside, inside)]
        A[np.diag_indices_from(A)] += precisions
        scale = 1.0 / np.sqrt(np.diag(A))
        L = cholesky(A * scale * scale[:, None])
        if L is None:
            return None
        root = solve_lower(L, np.diag(scale))
        again = root.T @ root
        A, inverse = A * scale * scale[:, None], again / scale / scale[:, None]
        return again, float((np.sum(np.abs(A)) * np.sum(np.abs(inverse)) + 1.0) * np.max(read.cancelled[inside]))
    stacked = _stack(read, inside, alpha, precisions)
    scale = 1.0 / np.linalg.norm(stacked, axis=0)
    with one_blas_thread:
        T = la.qr(stacked * scale, mode="r", check_finite=False)[0][: inside.size]
        if not np.diag(T).all():
            return None
        root = la.solve_triangular(T, np.eye(inside.size), check_finite=False)
    condition = float(np.linalg.norm(T) * np.linalg.norm(root) + 1.0)
    root *= scale[:, None]
    return root @ root.T, condition


def _stack(read: _Read, inside: NDArray[np.intp], alpha: float, precisions: Floats) -> Floats:
    assert read.factor is not None
    return np.vstack([np.sqrt(alpha) * read.factor[:, inside], np.diag(np.sqrt(precisions))])


def _certificate(
    value: float, floor: float, objective: float, complaint: str, status: str, note: str, tol: float | None = None
) -> Certificate:
    wrong = bool(complaint) or not np.isfinite(value)
    return Certificate(
        kind="stationarity",
        value=np.inf if wrong else max(value, floor),
        scale=1.0,
        tol=RULES["stationarity"].tol if tol is None else tol,
        floor=floor if np.isfinite(floor) else np.inf,
        objective=objective,
        status=status,
        note=f"{note} {complaint}".rstrip(),
    )


NOT_FINITE = "The parameters are not finite, or a precision is not positive."


def ridge(rows: Rows, stored: Stored, prior: Prior, intercept: bool, *, status: str = "converged") -> Certificate:
    """Judge one precision for all weights; `stored.precisions` has one entry."""
    read = _read(rows, stored, intercept)
    if read is None:
        return _certificate(np.inf, 0.0, np.inf, NOT_FINITE, status, UPDATE_NOTE)
    p = len(read.Xy)
    each = replace(stored, precisions=np.full(p, stored.precisions[0]))
    s, noise = _read_spectrum(read)
    effective, left, uncertain = _count_parameters(read, stored, s, noise)
    if uncertain > MAX_ROUNDING * (min(effective, left) + 2.0 * min(prior.lambda_shape, prior.alpha_shape)):
        read = read.read_factor(rows)
        s, noise = _read_spectrum(read)
        effective, left, uncertain = _count_parameters(read, stored, s, noise)
    posterior = _posterior(read, each, np.ones(p, dtype=bool))
    if read.factor is None and 64.0 * EPS * posterior.condition > COVARIANCE_DISTANCE:
        posterior = _posterior(read.read_factor(rows), each, np.ones(p, dtype=bool))
    squares, errors, prior = float(np.sum(np.square(posterior.weights))), read.residual_squares, read.scale(prior)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.divide(effective + 2.0 * prior.lambda_shape, squares + 2.0 * prior.lambda_rate)
        alpha = np.divide(left + 2.0 * prior.alpha_shape, errors + 2.0 * prior.alpha_rate)
        updates = np.abs(np.log([weights / posterior.precisions[0], alpha / posterior.alpha]))
        lost = read.loss_of_rounding
        floors = np.array(
            [
                uncertain / (effective + 2.0 * prior.lambda_shape) + 4.0 * unit_roundoff(stored.dtype),
                uncertain / (left + 2.0 * prior.alpha_shape) + lost / (errors + 2.0 * prior.alpha_rate),
            ]
        )
    floor = float(np.max(floors)) + 16.0 * EPS
    evidence = _evidence_of_ridge(read, posterior, prior, s, squares)
    complaint = posterior.complaint
    value = float(np.max(updates))
    fixed = value <= max(RULES["stationarity"].tol, floor)
    if not complaint and fixed and stored.score is not None and _differ(stored.score, evidence, read, stored, floor):
        complaint = "The last of scores_ is not the evidence of the model."
    return _certificate(value, floor, -evidence / read.samples, complaint, status, UPDATE_NOTE)


def _read_spectrum(read: _Read) -> tuple[Floats, Floats]:
    """The eigenvalues of X'X that may differ from zero, in ascending order, and their rounding."""
    p = len(read.Xy)
    if read.factor is None:
        s = np.maximum(eigenvalues(read.XX), 0.0)[p - read.rank :]
        largest = max(float(np.max(s, initial=0.0)), float(np.max(np.diag(read.XX) * read.cancelled, initial=0.0)))
        return s, np.full(len(s), 8.0 * EPS * p * largest)
    with one_blas_thread:
        sizes = np.sort(la.svdvals(read.factor[:, :p], check_finite=False))
    sizes = sizes[max(len(sizes) - read.rank, 0) :]
    away = 8.0 * EPS * max(read.factor.shape) * float(np.max(sizes, initial=0.0))
    return sizes**2, (2.0 * sizes + away) * away


def _count_parameters(read: _Read, stored: Stored, s: Floats, noise: Floats) -> tuple[float, float, float]:
    """The number of parameters that the data determine, the samples' weight beyond it, and the error of both."""
    with np.errstate(over="ignore"):
        ratio = float(np.ldexp(stored.precisions[0] / stored.alpha, -2 * read.features))
    if not np.isfinite(ratio):
        return 0.0, read.samples, 0.0
    free = ratio / (ratio + s)
    uncertain = float(np.sum(np.minimum(noise / (ratio + s) * free, 1.0)))
    return float(np.sum(s / (ratio + s))), read.samples - len(s) + float(np.sum(free)), uncertain


def _differ(score: float, evidence: float, read: _Read, stored: Stored, floor: float) -> bool:
    size = abs(evidence) + read.samples
    allowed = (SCORE_DISTANCE + unit_roundoff(stored.dtype) + floor) * size
    return not abs(score - evidence) <= allowed


def _evidence_of_ridge(read: _Read, posterior: _Posterior, prior: Prior, s: Floats, squares: float) -> float:
    """log p(y), its constant included."""
    alpha, precision = posterior.alpha, float(posterior.precisions[0])
    value = prior.lambda_shape * np.log(precision) - prior.lambda_rate * precision
    value += prior.alpha_shape * np.log(alpha) - prior.alpha_rate * alpha
    volume = -float(np.sum(np.log1p(s * (alpha / precision))))
    fit = alpha * read.residual_squares + precision * squares
    value += 0.5 * (volume + read.samples * (np.log(alpha) - np.log(2.0 * np.pi)) - fit)
    doublings = read.target * (read.samples + 2.0 * prior.alpha_shape)
    doublings += 2.0 * (read.target - read.features) * prior.lambda_shape
    return float(value - np.log(2.0) * doublings)


def relevance(
    rows: Rows, stored: Stored, prior: Prior, intercept: bool, threshold: float, *, status: str = "converged"
) -> Certificate:
    """Judge one precision for each weight; those of at least the threshold are pruned, their weights zero."""
    read = _read(rows, stored, intercept)
    if read is None:
        return _certificate(np.inf, 0.0, np.inf, NOT_FINITE, status, GRADIENT_NOTE)
    kept = stored.precisions < threshold
    posterior = _posterior(read, stored, kept)
    if 32.0 * EPS * posterior.condition * len(posterior.weights) > MAX_ROUNDING * read.samples:
        read = read.read_factor(rows)
        posterior = _posterior(read, stored, kept)
    complaint = posterior.complaint
    if np.any(stored.params.coef[0][~kept]):
        complaint = "Weights of pruned features are not zero."
    own, errors, prior = posterior.precisions, read.residual_squares, read.scale(prior)
    squares, determined = np.square(posterior.weights), posterior.determined
    gradient = np.append(
        prior.lambda_shape - prior.lambda_rate * own + 0.5 * (determined - own * squares),
        prior.alpha_shape
        - prior.alpha_rate * posterior.alpha
        + 0.5 * (read.samples - float(np.sum(determined)) - posterior.alpha * errors),
    )
    lost = posterior.alpha * read.loss_of_rounding
    uncertain = 32.0 * EPS * posterior.condition * max(1, len(own))
    moved = 2.0 * unit_roundoff(stored.dtype) * float(np.max(own * squares, initial=0.0))
    floor = float(lost + uncertain + moved) / read.samples + 16.0 * EPS
    returning, note = _count_returning(read, posterior, kept, stored, threshold)
    if returning and not complaint:
        complaint = f"The evidence would grow if {returning} of the pruned features came back."
    value = float(np.max(np.abs(gradient))) / read.samples
    objective = 0.5 * (posterior.alpha * errors / read.samples - float(np.log(stored.alpha)))
    return _certificate(value, floor, objective, complaint, status, f"{GRADIENT_NOTE}{note}")


def _project(
    read: _Read, posterior: _Posterior, inside: NDArray[np.intp], outside: NDArray[np.intp]
) -> tuple[Floats, Floats, Floats]:
    """x'C^-1 x and x'C^-1 y of the features outside, and the rounding of the first."""
    alpha = posterior.alpha
    if read.factor is None:
        cross, squares = read.XX[np.ix_(outside, inside)], alpha * np.diag(read.XX)[outside]
        s = squares - alpha**2 * np.einsum("ij,jk,ik->i", cross, posterior.covariance, cross)
        q = alpha * (read.Xy[outside] - cross @ posterior.weights)
        return s, q, 64.0 * EPS * posterior.condition * squares
    stacked = _stack(read, inside, alpha, posterior.precisions)
    others = np.zeros((len(stacked), len(outside) + 1))  # and the targets
    others[: len(read.factor)] = np.sqrt(alpha) * read.factor[:, np.append(outside, -1)]
    beyond, y = others[:, :-1].copy(), others[:, -1]
    with one_blas_thread:
        Q = la.qr(stacked / np.linalg.norm(stacked, axis=0), mode="economic", check_finite=False)[0]
    for _ in range(2):  # the second time for the rounding of the first
        beyond -= Q @ (Q.T @ beyond)
    rounding = (64.0 * EPS * posterior.condition) ** 2 * np.sum(others[:, :-1] ** 2, axis=0)
    return np.sum(beyond**2, axis=0), beyond.T @ y, rounding


def _count_returning(
    read: _Read, posterior: _Posterior, kept: NDArray[np.bool_], stored: Stored, threshold: float
) -> tuple[int, str]:
    """How many pruned features would have a precision below the threshold, and the largest gain of one as a remark."""
    outside = np.flatnonzero(~kept)
    if not outside.size or posterior.complaint:
        return 0, ""
    inside = np.flatnonzero(kept)
    s, q, rounding = _project(read, posterior, inside, outside)
    above = (q * q > s) & (s > rounding)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.ldexp(np.where(above, s * s / (q * q - s), np.inf), 2 * (read.features - read.target))
        ratio = np.where(above, q * q / s, 1.0)
    returning = above & (best < threshold * (1.0 - 1e-9))
    gain = float(np.max(0.5 * (ratio - 1.0 - np.log(ratio)), initial=0.0))
    note = f" Letting the best pruned feature in again would gain {gain:.2g} nats." if gain > 0.0 else ""
    return int(np.sum(returning)), note
