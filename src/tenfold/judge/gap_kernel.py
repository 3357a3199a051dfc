"""Kinds gap and stationarity: regularised risks in the space of a kernel (objectives/kernel_risk.py).

With f = sum_j c_j k(z_j, .), raw predictions z = f + b, and any u (n, k) with sum_i s_i u_i = 0 where there is an
intercept, Fenchel and Young bound how far the objective P can decrease from (f, b):

    gap(u) = sum_i s_i [loss(y_i, z_i) + conjugate(y_i, u_i) - u_i.z_i] + ||strength f + sum_i s_i u_i k(x_i, .)||^2
             / (2 strength).

Two points are tried. Slopes at z and the best intercepts, which are mixed with other feasible slopes until they sum to
zero; and u_i = -strength c_i / s_i, clipped to the domain of the conjugate, for which the second term vanishes where
nothing was clipped: the point of losses with kinks. A sum of slopes that is rounding, e, costs e (|b| + R), R the
largest |f| and |y|.

Expansion in samples: the second term is g'K g with g = strength c + s u, by products of tiles in float64. Expansion in
m centres: f and the sum are compared in the span of the centres, h'K_mm^-1 h with h = strength K_mm c + K_mn s u, and
the bound is of the problem on these centres. K_mm^-1 is bounded by the factor of K_mm - mu I, mu = (m + 2) u tr K_mm
(kernel_centres.py); where there is none nothing is proved.

P is strongly convex in f: the optimal f_k is within r k(x, x)^1/2 of the returned one, r = (2 gap / strength)^1/2, for
all x. One raw prediction: the minimisers over b move by no more than the largest such distance R at the samples. The
softmax of K classes, with scores up to a constant: sort the changes of the intercepts. Were two consecutive ones more
than 2 R apart, the classes above would win probability on every sample, though their sums are those of the targets; so
all changes lie within 2 R (K - 1), and 2 R grows by -log(1 - e / V) where slopes sum to e and not to zero, V = sum_i
s_i p_i (1 - p_i) of the least probable class of each sample.

Losses that are not convex: kind stationarity, the norm of the gradient in the space of functions and in the intercept.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.kernel_samples import KernelSamples, evaluation_error
from tenfold.judge.objective_points import require_finite
from tenfold.judge.svm_enclosure import Enclosure
from tenfold.kernels import Kernel
from tenfold.linear_algebra import cholesky, solve_lower
from tenfold.losses.classification import Logistic, Softmax
from tenfold.objectives.kernel_risk import KernelRisk

PROBED = 500  # samples on which the share of proven predictions is counted
PROVEN = "Of {count} samples of the fit {share:.4g} % have a proven prediction: no exact optimum predicts another."
WITHIN = "On {count} samples of the fit the predictions are within {width:.2g} of those of the exact optimum."
INDEFINITE = "{} The problem need not be convex, and nothing is proved."
DEPENDENT = "The kernel of the centres has no Cholesky factor: no bound is proved."
OF_CENTRES = "The bound is of the problem on {count} centres, not of that with a centre at every sample."
ROUNDING = 64.0 * EPS  # of the sum of the sizes of slopes: a smaller sum is none


@dataclass(frozen=True)
class SampleExpansion:
    """f = sum_j c_j k(x_j, .) over the samples of positive weight: c (n, k) coefficients as they are stored."""

    samples: KernelSamples
    coef: Floats

    @property
    def kernel(self) -> Kernel:
        return self.samples.kernel

    def values(self) -> Floats:
        """f (n, k)."""
        everything = np.arange(len(self.samples))
        return self.samples.product(everything, everything, self.coef)

    def square(self, f: Floats) -> float:
        """sum_k ||f_k||^2."""
        return float(np.sum(self.coef * f))

    def distance(self, f: Floats, strength: float, a: Floats) -> tuple[float, float]:
        """||strength f + sum_i a_i k(x_i, .)||^2, and its rounding."""
        everything = np.arange(len(self.samples))
        g = strength * self.coef + a
        square = float(np.sum(g * self.samples.product(everything, everything, g)))
        size = float(np.sum((np.abs(g).T @ self._lengths) ** 2))
        lost = EPS * strength * float(np.sum(np.abs(self.coef).T @ self._lengths))  # by the rounding of g itself
        square = float(np.sqrt(max(square, 0.0))) + lost
        return square * square, 16.0 * EPS * size + (2.0 * lost) ** 2

    @property
    def _lengths(self) -> Floats:
        return np.sqrt(np.maximum(self.samples.diagonal(), 0.0))

    def size(self) -> Floats:
        """sum_j |c_j| k(x_j, x_j)^1/2, (k,): the size of the terms of f is at most this times k(x, x)^1/2."""
        return np.abs(self.coef).T @ self._lengths

    def lengths(self) -> Floats:
        """k(x_i, x_i)^1/2 of the samples, (n,)."""
        return self._lengths

    def error(self) -> float:
        """A bound on the error of the values of k beyond their rounding."""
        return self.samples.error(np.arange(len(self.samples)))

    def points(self) -> tuple[Any, int]:
        """The samples z_j, or their numbers where the kernel is given, and the number of samples of the fit."""
        if self.samples.given:
            return self.samples.index, self.samples.X.shape[0]
        return self.samples.take(np.arange(len(self.samples))), 0


@dataclass(frozen=True)
class CentreExpansion:
    """f = sum_j c_j k(z_j, .) over centres, (m, k) coefficients."""

    samples: KernelSamples
    centres: Any
    coef: Floats
    K: Floats
    factor: Floats

    @staticmethod
    def of(samples: KernelSamples, centres: Any, coef: Floats) -> "CentreExpansion | None":
        """None where the kernel of the centres is numerically singular."""
        K = np.asarray(samples.kernel.block(centres), dtype=np.float64)
        if not np.isfinite(K).all():
            return None
        shifted = K.copy()
        shifted[np.diag_indices_from(K)] -= (len(K) + 2) * 0.5 * EPS * float(np.trace(K))
        factor = cholesky(shifted)
        return None if factor is None else CentreExpansion(samples, centres, coef, K, factor)

    @property
    def kernel(self) -> Kernel:
        return self.samples.kernel

    def _all(self) -> Any:
        return self.samples.take(np.arange(len(self.samples)))

    def values(self) -> Floats:
        return np.asarray(self.kernel.multiply(self._all(), self.centres, np.ascontiguousarray(self.coef)))

    def square(self, f: Floats) -> float:
        return float(np.sum(self.coef * (self.K @ self.coef)))

    def distance(self, f: Floats, strength: float, a: Floats) -> tuple[float, float]:
        own, more = (
            strength * (self.K @ self.coef),
            np.asarray(self.kernel.multiply(self.centres, self._all(), np.ascontiguousarray(a))),
        )
        h = solve_lower(self.factor, own + more)
        terms = strength * (np.abs(self.K) @ np.abs(self.coef))
        reach = np.sqrt(np.maximum(np.diag(self.K), 0.0))[:, None] * (np.abs(a).T @ self.lengths())
        # sums of m and n terms of random signs, and 4 for the kernel itself
        wrong = 0.5 * EPS * ((4.0 + np.sqrt(len(self.K))) * terms + 8.0 * reach)
        lost = float(np.sqrt(np.sum(wrong**2))) * self._inverse_length()
        square = float(np.sum(h * h))
        return (np.sqrt(square) + lost) ** 2, (2.0 * lost) ** 2

    def _inverse_length(self) -> float:
        """A bound on the norm of L^-1, by its Frobenius norm."""
        return float(np.sqrt(np.sum(solve_lower(self.factor, np.eye(len(self.K))) ** 2)))

    def size(self) -> Floats:
        return np.abs(self.coef).T @ np.sqrt(np.maximum(np.diag(self.K), 0.0))

    def lengths(self) -> Floats:
        return np.sqrt(np.maximum(self.samples.diagonal(), 0.0))

    def error(self) -> float:
        return evaluation_error(self.kernel, self.samples.X, self.centres)

    def points(self) -> tuple[Any, int]:
        return self.centres, 0


Expansion = SampleExpansion | CentreExpansion


class Point(NamedTuple):
    """f (n, k) at the samples, intercepts b (k,) as they are stored, best intercepts there, and the objective."""

    f: Floats
    b: Floats
    best: Floats
    objective: float


def certify(
    risk: KernelRisk,
    expansion: Expansion,
    b: Floats,
    *,
    tol: float | None = None,
    status: str = "judged",
    indefinite: str = "",
) -> Certificate:
    """Judge coefficients and intercepts b (k,) as they are stored; `indefinite`: why the kernel is not known to be
    positive semidefinite.
    """
    kind = "gap" if risk.loss.convex else "stationarity"
    invalid = require_finite(kind, (expansion.coef, b), tol)
    if invalid is not None:
        return invalid
    tol = RULES[kind].tol if tol is None else tol
    f = expansion.values()
    with np.errstate(over="ignore", invalid="ignore"):
        point = Point(f, b, b, risk.mean_loss(f + b) + 0.5 * risk.strength * expansion.square(f))
    if not np.isfinite(point.objective):
        return Certificate(kind, np.inf, 1.0, tol, 0.0, np.inf, status=status, parts=(np.inf,))
    if not risk.intercept and np.any(b != 0.0):
        note = "intercept_ must be zero without an intercept."
        return Certificate(kind, np.inf, 1.0, tol, 0.0, point.objective, status=status, parts=(np.inf,), note=note)
    if risk.loss.convex:
        point = point._replace(best=risk.best_intercept(f, b))
    if indefinite:
        note = INDEFINITE.format(indefinite)
        return Certificate(kind, np.inf, 1.0, tol, 0.0, point.objective, status=status, parts=(np.inf,), note=note)
    floor = _rounding(risk, expansion, point)
    if not risk.loss.convex:
        return _stationarity(risk, expansion, point, floor, tol, status)
    scale = risk.constant_loss()[1]
    value, extra = _bound(risk, expansion, point, max(tol * scale, floor))
    floor += extra
    value = max(min(value, point.objective), floor) if np.isfinite(value) else point.objective
    radius = float(np.sqrt(2.0 * (value + floor) / risk.strength))
    certificate = Certificate(
        "gap", value, scale, tol, floor, point.objective, point.objective - value, radius, status=status, parts=(value,)
    )
    if isinstance(expansion, CentreExpansion):
        certificate = replace(certificate, note=OF_CENTRES.format(count=len(expansion.K)))
    return _enclose(certificate, risk, expansion, point)


def _rounding(risk: KernelRisk, expansion: Expansion, point: Point) -> float:
    """The rounding of the objective: of its own terms 8 units in the last place, of f that of the sums of its terms."""
    z = point.f + point.b
    slopes = np.abs(risk.slopes(z))
    reach = expansion.lengths()[:, None] * expansion.size()
    error = expansion.error() * float(np.sum(np.abs(expansion.coef)))
    mass = float(np.sum(risk.s * slopes))
    moved = float(np.sum(risk.s * slopes * (reach + np.abs(point.b))))
    terms = risk.mean_loss(z) + float(np.sum(risk.s * np.abs(slopes * z)))
    terms += 0.0 if risk.loss.multi_output else float(np.sum(risk.s * slopes * np.abs(risk.y)))
    square = risk.strength * expansion.square(point.f)
    norm = risk.strength * float(np.sum(expansion.size() ** 2))
    return 8.0 * EPS * (terms + square) + 4.0 * EPS * (moved + norm) + 2.0 * error * mass


def _bound(risk: KernelRisk, expansion: Expansion, point: Point, allowed: float) -> tuple[float, float]:
    """The least gap of the points that are tried, and its rounding."""
    best, extra = np.inf, 0.0
    for u in _dual_points(risk, expansion, point):
        value, more = _gap(risk, expansion, point, u)
        if value < best:
            best, extra = value, more
        if best <= allowed:
            break
    return best, extra


def _dual_points(risk: KernelRisk, expansion: Expansion, point: Point) -> Any:
    """Feasible slopes (n, k)."""
    at_slopes = not risk.loss.nonsmooth
    if at_slopes:
        yield _balance(risk, point, risk.slopes(point.f + point.best))
    if isinstance(expansion, SampleExpansion):
        u = risk.loss.clip(risk.y, -risk.strength * expansion.coef / risk.s)
        yield _balance(risk, point, u)
    if not at_slopes:
        yield _balance(risk, point, risk.slopes(point.f + point.best))


def _balance(risk: KernelRisk, point: Point, u: Floats) -> Floats:
    """u mixed with other feasible slopes, so that their sum is zero but for rounding; the conjugate is convex."""
    if not risk.intercept:
        return u
    t = np.sum(risk.s * u, axis=0)
    if np.all(np.abs(t) <= 0.1 * ROUNDING * np.sum(risk.s * np.abs(u), axis=0)):
        return u
    other = _feasible_classes(risk, t) if risk.loss.multi_output else _opposite(risk, point, float(t[0]))
    if other is None:
        return u
    share, slopes = other
    return (1.0 - share) * u + share * slopes


def _feasible_classes(risk: KernelRisk, t: Floats) -> tuple[float, Floats]:
    """A share and slopes q - e_y, the same q for all samples, whose sum is -(1 - share) / share t."""
    right = cast(Softmax, risk.loss).right(risk.y, np.empty((len(risk.y), risk.outputs))).astype(np.float64)
    frequency = np.sum(risk.s * right, axis=0)
    least = float(np.min(frequency))
    largest = float(np.max(np.abs(t)))
    share = min(1.0, 2.0 * largest / (least + 2.0 * largest))
    q = frequency - (1.0 - share) / share * t
    return share, np.maximum(q, 0.0) / np.sum(np.maximum(q, 0.0)) - right


def _opposite(risk: KernelRisk, point: Point, t: float) -> tuple[float, Floats] | None:
    """A share and the slopes at another intercept, whose sum has the other sign."""
    sign, step = -np.sign(t), max(1e-8, 1e-8 * float(np.max(np.abs(point.f + point.best), initial=0.0)))
    for _ in range(200):
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = risk.slopes(point.f + point.best + sign * step)
        total = float(np.sum(risk.s * slopes))
        if not np.isfinite(total):
            return None
        if total * sign > 0.0 and abs(total) >= abs(t):
            return t / (t - total), slopes
        step *= 4.0
    return None


def _gap(risk: KernelRisk, expansion: Expansion, point: Point, u: Floats) -> tuple[float, float]:
    """The gap at slopes, and its rounding."""
    z = point.f + point.b
    with np.errstate(over="ignore", invalid="ignore"):
        terms = risk.s * (
            risk.loss.value(risk.y, z) + risk.loss.conjugate(risk.y, u) - np.sum(u * z, axis=1, keepdims=True)
        )
    term = float(np.sum(terms))
    if not np.isfinite(term):
        return np.inf, 0.0
    cost = 0.0
    if risk.intercept:
        t = np.abs(np.sum(risk.s * u, axis=0))
        if np.any(t > ROUNDING * np.sum(risk.s * np.abs(u), axis=0)):
            return np.inf, 0.0
        reach = float(np.max(np.abs(point.f), initial=0.0))
        reach += 0.0 if risk.loss.multi_output else float(np.max(np.abs(risk.y)))
        cost = float(np.sum(t * (np.abs(point.b) + np.abs(point.best) + reach)))
    square, wrong = expansion.distance(point.f, risk.strength, risk.s * u)
    sizes = np.abs(risk.loss.value(risk.y, z)) + np.sum(np.abs(u * z), axis=1, keepdims=True)
    sizes = sizes + np.abs(risk.loss.conjugate(risk.y, u))
    # the conjugate is of a sum of u and the target, or of one, which is rounded where they nearly cancel
    shift = np.zeros_like(risk.y)
    if risk.loss.link == "log":
        shift = np.abs(risk.y) * (1.0 + np.abs(z))
    elif isinstance(risk.loss, (Logistic, Softmax)):
        shift = np.ones_like(risk.y)
    rounding = 8.0 * EPS * float(np.sum(risk.s * sizes)) + 4.0 * EPS * float(np.sum(risk.s * shift))
    return max(term, 0.0) + square / (2.0 * risk.strength), rounding + cost + wrong / (2.0 * risk.strength)


def _stationarity(
    risk: KernelRisk, expansion: Expansion, point: Point, floor: float, tol: float, status: str
) -> Certificate:
    """The norm of the gradient by functions and in the intercept; its scale is that of a constant."""
    z = point.f + point.b
    u = risk.slopes(z)
    square, wrong = expansion.distance(point.f, risk.strength, risk.s * u)
    slope = np.sum(risk.s * u, axis=0) if risk.intercept else np.zeros(1)
    value = float(np.sqrt(square + wrong + np.sum(slope**2)))
    length = float(np.sqrt(np.sum(risk.s[:, 0] * expansion.lengths() ** 2)))
    # a bounded loss of classes may have no slope at its best constant, and no best constant
    at_constant = risk.slopes(np.zeros_like(z) + (0.0 if risk.loss.signs else np.median(risk.y)))
    scale = float(np.sqrt(np.sum(risk.s * at_constant**2))) * max(length, 1e-300)
    scale = scale if scale > 0.0 else 1.0
    floor = 8.0 * EPS * max(scale, float(np.sqrt(np.sum(risk.s * u**2))) * length) + float(np.sqrt(wrong))
    value = max(value, floor) if np.isfinite(value) else np.inf
    return Certificate("stationarity", value, scale, tol, floor, point.objective, status=status, parts=(value,))


# what of the predictions no exact optimum can change ------------------------------------------------------------------


@dataclass(frozen=True)
class ClassesEnclosure:
    """Scores of more than two classes, up to a constant of each sample."""

    scores: Enclosure

    def __call__(self, X: Any) -> Any:
        return self.decided(X)

    def decided(self, X: Any) -> Any:
        """Whether the predicted class (m,) is decided."""
        z, half = self.scores.values(X)
        rows, top = np.arange(len(z)), np.argmax(z, axis=1)
        others = z + half
        others[rows, top] = -np.inf
        return (z - half)[rows, top] > np.max(others, axis=1)

    def intervals(self, X: Any) -> tuple[Floats, Floats]:
        return self.scores.intervals(X)


def _enclose(certificate: Certificate, risk: KernelRisk, expansion: Expansion, point: Point) -> Certificate:
    """The certificate with `decided` and `intervals`, and a sentence on them."""
    radius = cast(float, certificate.radius)
    drift = _drift(risk, expansion, point, radius)
    if not (np.isfinite(radius) and np.isfinite(drift)):
        return certificate
    support, count = expansion.points()
    k = risk.outputs
    enclosure = Enclosure(
        expansion.kernel, support, count, expansion.coef, point.b, np.full(k, radius), np.full(k, drift)
    )
    samples = expansion.samples
    if samples.given:
        probes, probed = samples.X, samples.X.shape[0]
    else:
        probed = -(-len(samples) // -(-len(samples) // PROBED))
        probes = samples.take(np.arange(0, len(samples), -(-len(samples) // PROBED)))
    if risk.loss.signs or risk.loss.multi_output:
        decide = ClassesEnclosure(enclosure) if k > 1 else enclosure
        share = 100.0 * float(np.mean(decide.decided(probes)))
        note = PROVEN.format(count=probed, share=share)
        return replace(
            certificate, note=f"{certificate.note} {note}".strip(), _decide=decide, _enclose=decide.intervals
        )
    width = float(np.max(enclosure.values(probes)[1], initial=0.0))
    if risk.loss.link == "log":  # of the raw predictions
        note = WITHIN.replace("predictions", "logarithms of the predictions").format(count=probed, width=width)
    else:
        note = WITHIN.format(count=probed, width=width)
    return replace(
        certificate, note=f"{certificate.note} {note}".strip(), _decide=enclosure, _enclose=enclosure.intervals
    )


def _drift(risk: KernelRisk, expansion: Expansion, point: Point, radius: float) -> float:
    """How far the optimal intercepts are from the stored ones at most; of more classes both with a mean of zero."""
    if not risk.intercept:
        return 0.0
    widest = radius * float(np.max(expansion.lengths(), initial=0.0))
    size = float(np.max(expansion.size()) * np.max(expansion.lengths(), initial=0.0))
    widest += 8.0 * EPS * size + expansion.error() * float(np.max(np.sum(np.abs(expansion.coef), axis=0)))
    if not risk.loss.multi_output:
        low, high = _strict_ends(risk, point.f, float(point.best[0]))
        return max(high - float(point.b[0]), float(point.b[0]) - low, 0.0) + widest
    p = cast(Softmax, risk.loss).probabilities(point.f + point.best)
    t = float(np.sum(np.abs(risk.sum_slopes(point.f + point.best)))) + ROUNDING
    least = np.min(p, axis=1, keepdims=True)
    V = float(np.sum(risk.s * least * (1.0 - least)))
    if not t < 0.5 * V:
        return np.inf
    apart = (risk.outputs - 1) * (2.0 * widest - float(np.log1p(-t / V)))
    centred = np.abs((point.b - np.mean(point.b)) - (point.best - np.mean(point.best)))
    return apart + float(np.max(centred)) + abs(float(np.mean(point.b)))


def _strict_ends(risk: KernelRisk, f: Floats, b: float) -> tuple[float, float]:
    """Intercepts below and above all minimisers at f: slopes there do not sum to zero, beyond rounding."""
    ends = []
    for sign in (-1.0, 1.0):
        step = 4.0 * EPS * max(1.0, abs(b))
        for _ in range(60):
            with np.errstate(over="ignore", invalid="ignore"):
                slopes = risk.slopes(f + b + sign * step)
            if sign * float(np.sum(risk.s * slopes)) > ROUNDING * float(np.sum(risk.s * np.abs(slopes))):
                break
            step *= 4.0
        else:
            return -np.inf, np.inf
        ends.append(b + sign * step)
    return ends[0], ends[1]
