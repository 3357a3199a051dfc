"""What is minimised or solved: frozen values that solvers consume and the judge reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import Floats, Integers
from tenfold.data import Rows
from tenfold.losses.loss import Loss
from tenfold.penalties import Penalty
from tenfold.stats.combined import combine
from tenfold.stats.derivatives import Derivatives, Params, along, derivatives
from tenfold.stats.gaussians import Mixture
from tenfold.stats.softmax import rough_softmax


@dataclass(frozen=True)
class Glm:
    """min over w, b of  (1/W) sum_i weight_i loss(y_i, x_i.w + b) + penalty(w) + tie / 2 b^2,  W the sum of the
    weights; b = 0 without `intercept`.

    A `tie` is for methods that are used to a penalty on their intercept: it is then tied to zero, and the optimum
    depends on where rows are measured from.
    """

    loss: Loss
    penalty: Penalty
    intercept: bool
    intercept_penalty: float = 0.0

    @property
    def balances(self) -> bool:
        """Whether slopes sum to zero at an optimum: an intercept is free."""
        return self.intercept and self.intercept_penalty == 0.0


@dataclass(frozen=True)
class SparseLeastSquares:
    """min over W (t, p) and b (t,) of  (1 / 2W) sum_i weight_i |y_i - W x_i - b|^2 + l1 sum_j |W_j| + l2 / 2 |W|^2,
    W the sum of the weights; b = 0 without `intercept`; weights >= 0 where `positive`.

    |W_j| is the sum of the absolute values of the weights of column j, so that each target is a problem of its own, or
    their Euclidean length where they are `joint`: a column is then used by all targets or by none.
    """

    l1: float
    l2: float
    intercept: bool
    positive: bool = False
    joint: bool = False


@dataclass(frozen=True)
class GreedyRule:
    """What a greedy method was asked for: by which number it takes columns ("correlation", "cosine" or "gain", see
    `solvers.pursuit`), how many, or for which sum of squares.
    """

    promise: str
    most: int | None = None
    tol: float | None = None


@dataclass(frozen=True)
class ScaledHuber:
    """min over w, b, sigma > 0 of  (1/W) sum_i weight_i (sigma + sigma H((y_i - x_i.w - b) / sigma)) + strength / 2
    ||w||^2,  H(a) = a^2 up to |a| = epsilon, and 2 epsilon |a| - epsilon^2 beyond; b = 0 without `intercept`.
    """

    epsilon: float
    strength: float
    intercept: bool


@dataclass(frozen=True)
class Gaussians:
    """max over pi, m, C of  (1/W) [sum_i weight_i log sum_k pi_k N(x_i; m_k, C_k) + log prior],  W the sum of the
    weights, with covariances of a `kind` (see `stats.gaussians`) and

        log prior = sum_k (a - 1) log pi_k + f log|B_k| - 1/2 tr(V C_k^-1) - b/2 (m_k - m0)'C_k^-1 (m_k - m0),

    C_k^-1 = B_k B_k': a Dirichlet prior of concentration a on the weights, an inverse Wishart prior of scale V with v
    degrees of freedom on the covariances, and a normal prior of mean m0 and covariance C_k / b on the means. For each
    covariance f = v + p + 1, or v + 2 for each variance of a column, and one more for each mean that has a prior. What
    a component learns as its covariance is that of the best parameters plus reg_covar I.
    """

    kind: str
    reg_covar: float = 0.0
    concentration: float = 1.0
    mean_precision: float = 0.0
    mean: Floats | float = 0.0
    degrees: float | None = None
    scale: Floats | None = None

    def more(self, shape: tuple[int, int]) -> float:
        """The number f of rows that the prior counts for in a covariance; of a spherical one, in each column."""
        k, p = shape
        means = 0.0 if self.mean_precision == 0.0 else (float(k) if self.kind == "tied" else 1.0)
        if self.degrees is None:
            return means
        own = self.degrees + (p + 1.0 if self.kind in ("full", "tied") else 2.0)
        return means + (own / p if self.kind == "spherical" else own)

    def log_prior(self, mixture: Mixture) -> float:
        """Up to a constant."""
        found = 0.0
        if self.concentration != 1.0:
            with np.errstate(divide="ignore"):
                found += (self.concentration - 1.0) * float(np.sum(np.log(mixture.weights)))
        if self.mean_precision > 0.0:
            found -= 0.5 * self.mean_precision * float(np.sum(mixture.lengths(mixture.means - self.mean)))
        if self.kind == "unit":
            return found
        f, logs = self.more(mixture.shape), mixture.factors.logs
        if f > 0.0:
            found += f * float(logs[0] if self.kind == "tied" else np.sum(logs))
        if self.scale is not None:
            sizes = self.scale * mixture.precisions
            found -= 0.5 * float(np.sum(sizes))
        return found


def pulled(pull: Floats, positive: bool) -> Floats:
    """How hard columns are pulled, (p,), from pulls (t, p) of targets that are joint: upwards only where weights are at
    least zero.
    """
    if positive:
        pull = np.maximum(pull, 0.0)
    return np.abs(pull[0]) if len(pull) == 1 else np.sqrt(np.sum(pull * pull, axis=0))


class ScaledDual(NamedTuple):
    """Residuals scaled until they are a dual point of `SparseLeastSquares`, the ridge as so many more rows: the factor,
    their products with the targets and with themselves, and how hard columns are pulled (p,), all before the scaling.
    """

    scale: float
    along: float
    whole: float
    pulled: Floats

    @classmethod
    def of(cls, penalty: tuple[float, float], positive: bool, w: Floats, pull: Floats, squares: float) -> "ScaledDual":
        l1, l2 = penalty
        along, whole = squares + float(np.sum(w * pull)), squares + l2 * float(np.sum(w * w))
        inner = pulled(pull - l2 * w, positive)
        largest = float(np.max(inner, initial=0.0))
        scale = max(along / whole, 0.0) if whole > 0.0 else 0.0
        return cls(min(scale, l1 / largest) if largest > 0.0 else scale, along, whole, inner)

    @property
    def value(self) -> float:
        return self.scale * self.along - 0.5 * self.scale * self.scale * self.whole


def duality_gap(penalty: tuple[float, float], positive: bool, w: Floats, pull: Floats, squares: float) -> float:
    """For `SparseLeastSquares` of one target or of joint ones, the objective at weights (t, p) minus the better of two
    dual values at their residuals, of which mean products with the columns (t, p) and the mean square are given: scaled
    until they are feasible, or as they are. Without a penalty, the squares of the pulls.
    """
    l1, l2 = penalty
    if l1 == l2 == 0.0:
        return float(np.sum(pull * pull))
    point = ScaledDual.of(penalty, positive, w, pull, squares)
    dual = point.value if l1 > 0.0 else 0.0
    if l2 > 0.0:
        over = np.maximum(pulled(pull, positive) - l1, 0.0)
        dual = max(dual, point.along - 0.5 * squares - 0.5 * float(np.sum(over * over)) / l2)
    return 0.5 * point.whole + l1 * float(np.sum(np.sqrt(np.sum(w * w, axis=0)))) - dual


def safe(
    penalty: tuple[float, float], positive: bool, w: Floats, pull: Floats, squares: float, lengths: Floats
) -> NDArray[np.bool_]:
    """Which columns may have a weight at the optimum (p,), from weights (t, p) as in `duality_gap` and the lengths (p,)
    of the columns in mean units: the dual optimum is within the root of twice the gap of any dual point, so that a
    column that pulls less than its penalty everywhere there has none (Ndiaye et al. 2017).
    """
    l1, l2 = penalty
    if l1 == 0.0:
        return np.ones(len(lengths), dtype=bool)
    point = ScaledDual.of(penalty, positive, w, pull, squares)
    primal = 0.5 * point.whole + l1 * float(np.sum(np.sqrt(np.sum(w * w, axis=0))))
    # rounding must not make the ball smaller
    gap = max(primal - point.value, 0.0) + 1e-14 * max(primal, point.along)
    reach = np.sqrt(2.0 * gap * (lengths * lengths + l2))
    return np.asarray(point.scale * point.pulled + reach >= (1.0 - 1e-12) * l1)


class Evaluation(NamedTuple):
    """The smooth part of an objective and its derivatives, per target: value (t,), gradient (t, p + 1) with the
    intercept last, Hessian (p + 1, p + 1). Of a loss of k joint predictions: value (1,), gradient (1, k (p + 1)), one
    prediction after the other, and the Hessian of all.
    """

    value: Floats
    gradient: Floats
    hessian: Floats | None


def evaluate(problem: Glm, rows: Rows, params: Params, order: int = 1, shift: Floats | None = None) -> Evaluation:
    """The smooth part of the objective of `problem`, loss and ||w||^2, on `rows` at z = (x - shift).w + b, with its
    gradient, and its Hessian at order 2: one pass.
    """
    return _evaluation(problem, params, rows.fold(derivatives(problem.loss, params, order, shift)), shift)


def evaluate_roughly(problem: Glm, rows: Rows, params: Params, shift: Floats) -> Evaluation:
    """`evaluate` at order 1 with products in single precision, for a softmax on dense rows."""
    return _evaluation(problem, params, rows.fold(rough_softmax(params, shift)), shift)


def evaluate_ahead(
    problem: Glm, rows: Rows, params: Params, order: int, shift: Floats | None, others: Sequence[Params]
) -> tuple[Evaluation, list[float]]:
    """`evaluate` at `params` and, in the same pass, the bare objective of one target at `others`: where a pass is a
    journey, a line search looks ahead.
    """
    if not others:
        return evaluate(problem, rows, params, order, shift), []
    lifts = [derivatives(problem.loss, at, 0, shift) for at in others]
    first, *rest = rows.fold(combine([derivatives(problem.loss, params, order, shift), *lifts])).parts
    values = [float(_value(problem, at, sums, shift)[0]) for at, sums in zip(others, rest, strict=True)]
    return _evaluation(problem, params, first, shift), values


def objectives(problem: Glm, rows: Rows, several: Sequence[Params], shift: Floats | None) -> Floats:
    """The bare objective of one target at each of `several` parameters: one pass."""
    combine = Params(*(np.concatenate(parts) for parts in zip(*several, strict=True)))
    return _value(problem, combine, rows.fold(derivatives(problem.loss, combine, 0, shift)), shift)


def _pull_back(problem: Glm, params: Params, shift: Floats | None) -> tuple[Floats, Floats]:
    """How a tied intercept is pulled (t,), and by which shares (p + 1,) of the weights and the intercept of rows
    measured from `shift` it moves: it is that of the rows as they are.
    """
    ends = np.append(np.zeros(params.coef.shape[1]) if shift is None else -shift, 1.0)
    return problem.intercept_penalty * (params.intercept + along(params.coef, ends[:-1])), ends


def _value(problem: Glm, params: Params, sums: Derivatives, shift: Floats | None) -> Floats:
    strength = np.asarray(problem.penalty.strength, dtype=np.float64).reshape(-1)
    penalty = 0.5 * strength * np.einsum("tp,tp->t", params.coef, params.coef)
    if problem.intercept_penalty > 0.0:
        penalty = penalty + 0.5 * _pull_back(problem, params, shift)[0] ** 2 / problem.intercept_penalty
    return sums.value / sums.weight + (penalty.sum() if problem.loss.multi_output else penalty)


def _evaluation(problem: Glm, params: Params, sums: Derivatives, shift: Floats | None) -> Evaluation:
    assert sums.gradient is not None
    t, p = sums.gradient.shape
    strength = np.asarray(problem.penalty.strength, dtype=np.float64).reshape(-1, 1)
    gradient = np.zeros((t, p + 1))
    gradient[:, :p] = sums.gradient / sums.weight + strength * params.coef
    if problem.intercept:
        gradient[:, p] = sums.slope / sums.weight
    value = _value(problem, params, sums, shift)
    outputs = t if problem.loss.multi_output else 1
    hessian = None
    if sums.hessian is not None:
        hessian = sums.hessian / sums.weight
        for first in range(0, outputs * (p + 1), p + 1):
            within = np.arange(first, first + p)
            hessian[within, within] += strength[first // (p + 1) % len(strength), 0]
            if not problem.intercept:
                hessian[first + p, :] = hessian[:, first + p] = 0.0
                hessian[first + p, first + p] = 1.0
    if problem.intercept_penalty > 0.0:
        pull, ends = _pull_back(problem, params, shift)
        gradient += np.outer(pull, ends)
        with np.errstate(over="ignore"):  # what is not finite is found by whoever factors it
            hessian = None if hessian is None else hessian + problem.intercept_penalty * np.outer(ends, ends)
    return Evaluation(value, gradient.reshape(-1, outputs * (p + 1)), hessian)


def length(*parts: Floats) -> float:
    """The Euclidean length of all numbers together; squares neither overflow nor vanish."""
    largest = max((float(np.max(np.abs(part))) for part in parts if part.size), default=0.0)
    if not 0.0 < largest < np.inf:
        return largest
    return largest * float(np.sqrt(sum(float(np.sum(np.square(part / largest))) for part in parts)))


@dataclass(frozen=True)
class Separation:
    """Find weights under which every row is on the side of its class, strictly.

    Two classes have one score z = x.w + b: class 1 where it is positive, class 0 where it is negative. More have one
    each, and the largest wins; `joint` says whether their weights are found together or each against the rest. A row
    without a strict winner is a mistake; where `positive`, the later class wins a tie (the sign of zero is +1).
    """

    classes: int
    joint: bool
    intercept: bool
    positive: bool = False

    @property
    def targets(self) -> int:
        """How many scores a row has."""
        return self.classes if self.classes > 2 else 1

    def margins(self, z: Floats, label: Integers) -> Floats:
        """How far each row is on its side: y z of two classes, else the own score minus the best of the others'."""
        if self.targets == 1:
            return np.where(label == 1, z[:, 0], -z[:, 0])
        rows = np.arange(z.shape[0])
        own = z[rows, label]
        others = z.copy()
        others[rows, label] = -np.inf
        return own - others.max(axis=1)

    def mistaken(self, z: Floats, label: Integers) -> NDArray[np.bool_]:
        """Which rows are mistakes."""
        margins = self.margins(z, label)
        wrong = ~(margins > 0.0)
        if self.positive:
            wrong &= ~((margins == 0.0) & self.wins_ties(z, label))
        return wrong

    def wins_ties(self, z: Floats, label: Integers) -> NDArray[np.bool_]:
        """Whether the own class is later than all others of the best score."""
        if self.targets == 1:
            return label == 1
        best = z == z.max(axis=1, keepdims=True)
        return label == z.shape[1] - 1 - np.argmax(best[:, ::-1], axis=1)
