"""Problems as frozen values, which solvers minimise or solve and the judge reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import Floats, Integers
from tenfold.data import Rows
from tenfold.losses.loss import Loss
from tenfold.losses.regression import Square
from tenfold.penalties import L21, ElasticNet, Penalty, SparsePenalty, with_alpha
from tenfold.stats.combined import combine
from tenfold.stats.derivatives import Derivatives, Params, derivatives, inner_products
from tenfold.stats.gaussians import Mixture
from tenfold.stats.softmax import rough_softmax


@dataclass(frozen=True)
class Glm:
    """min over w, b of  (1/W) sum_i weight_i loss(y_i, x_i.w + b) + penalty(w) + intercept_penalty / 2 b^2,  W the sum
    of the weights; b = 0 without `intercept`.

    An `intercept_penalty` is for methods that have one by tradition (LIBLINEAR); the optimum then depends on the origin
    from which samples are measured.
    """

    loss: Loss
    penalty: Penalty
    intercept: bool
    intercept_penalty: float = 0.0

    @property
    def balances(self) -> bool:
        """Whether slopes sum to zero at an optimum: the intercept is unpenalised."""
        return self.intercept and self.intercept_penalty == 0.0


def lasso_problem(
    alpha: float, l1_ratio: float, intercept: bool, *, positive: bool = False, multi_task: bool = False
) -> Glm:
    """The Lasso (l1_ratio 1) and the elastic net in scikit-learn's parameters, each target by itself or `multi_task`:

    min over w, b of  (1 / 2W) sum_i weight_i (y_i - x_i.w - b)^2 + alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2).
    """
    penalty = L21(0.0) if multi_task else ElasticNet(0.0, positive=positive)
    return Glm(Square(), with_alpha(penalty, alpha, l1_ratio), intercept)


def sparse_penalty(problem: Glm) -> SparsePenalty:
    """The penalty of a problem of the Lasso's family: least squares with an L1 or an L2,1 norm."""
    assert isinstance(problem.loss, Square)
    assert isinstance(problem.penalty, SparsePenalty)
    return problem.penalty


@dataclass(frozen=True)
class GreedyRule:
    """The rule of greedy selection: the criterion ("correlation", "cosine" or "gain", see `solvers.greedy_selection`),
    and the number of features or the sum of squares at which it ends.
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
    covariance f = v + p + 1, or v + 2 for each variance of a column, and one more for each mean that has a prior. The
    stored covariance is that of the best parameters plus reg_covar I.
    """

    kind: str
    reg_covar: float = 0.0
    concentration: float = 1.0
    mean_precision: float = 0.0
    mean: Floats | float = 0.0
    degrees: float | None = None
    scale: Floats | None = None

    def more(self, shape: tuple[int, int]) -> float:
        """The number f of samples for which the prior counts in a covariance; of a spherical one, in each feature."""
        k, p = shape
        means = 0.0 if self.mean_precision == 0.0 else (float(k) if self.kind == "tied" else 1.0)
        if self.degrees is None:
            return means
        own = self.degrees + (p + 1.0 if self.kind in ("full", "tied") else 2.0)
        return means + (own / p if self.kind == "spherical" else own)

    def log_prior(self, mixture: Mixture) -> float:
        """The log prior up to a constant."""
        value = 0.0
        if self.concentration != 1.0:
            with np.errstate(divide="ignore"):
                value += (self.concentration - 1.0) * float(np.sum(np.log(mixture.weights)))
        if self.mean_precision > 0.0:
            value -= 0.5 * self.mean_precision * float(np.sum(mixture.lengths(mixture.means - self.mean)))
        if self.kind == "unit":
            return value
        f, logs = self.more(mixture.shape), mixture.factors.logs
        if f > 0.0:
            value += f * float(logs[0] if self.kind == "tied" else np.sum(logs))
        if self.scale is not None:
            sizes = self.scale * mixture.precisions
            value -= 0.5 * float(np.sum(sizes))
        return value


@dataclass(frozen=True)
class Factorization:
    """Minimise D_beta(X, W H) + l1_W |W| + l1_H |H| + (l2_W ||W||^2 + l2_H ||H||^2) / 2 over factors W, H >= 0.

    D is the beta-divergence (objectives/factorization.py), half the sum of squared differences for beta = 2; |.| sums
    entries.
    """

    beta: float = 2.0
    l1_W: float = 0.0
    l1_H: float = 0.0
    l2_W: float = 0.0
    l2_H: float = 0.0

    @property
    def penalised(self) -> bool:
        """Whether the factors have a penalty."""
        return max(self.l1_W, self.l1_H, self.l2_W, self.l2_H) > 0.0


@dataclass(frozen=True)
class SparseDictionary:
    """Minimise ||X - W D||^2 / 2 + alpha |W| over codes W and atoms, the rows of D, in the unit ball; either may be
    restricted to entries of at least zero.
    """

    alpha: float
    positive_code: bool = False
    positive_dict: bool = False


@dataclass(frozen=True)
class DiscretePrior:
    """max over pi, q of  (1/W) [sum_i weight_i log sum_k pi_k p(x_i; q_k) + log prior],  W the sum of the weights, with

        log prior = sum_k (a - 1) log pi_k + alpha sum_kj log q_kj  (+ alpha sum_kj log(1 - q_kj) of Bernoulli
        features):

    Dirichlet and Beta priors of concentration a on the weights, and of pseudo-counts alpha on the probabilities.
    """

    alpha: float = 0.0
    concentration: float = 1.0

    def log_prior(self, weights: Floats, logs: Floats, off: Floats | None) -> float:
        """The log prior at weights (k,), log q (k, p), and of Bernoulli features log(1 - q), up to a constant."""
        value = 0.0
        if self.concentration != 1.0:
            with np.errstate(divide="ignore"):
                value += (self.concentration - 1.0) * float(np.sum(np.log(weights)))
        if self.alpha > 0.0:
            value += self.alpha * float(np.sum(logs))
            value += 0.0 if off is None else self.alpha * float(np.sum(off))
        return value


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


def objectives(problem: Glm, rows: Rows, points: Sequence[Params], shift: Floats | None) -> Floats:
    """The bare objective of one target at each of `several` parameters: one pass."""
    stacked = Params(*(np.concatenate(parts) for parts in zip(*points, strict=True)))
    return _value(problem, stacked, rows.fold(derivatives(problem.loss, stacked, 0, shift)), shift)


def _intercept_gradient(problem: Glm, params: Params, shift: Floats | None) -> tuple[Floats, Floats]:
    """The gradient (t,) of the penalty on the intercept of samples as they are, and the derivatives (p + 1,) of that
    intercept in the weights and the intercept of samples measured from `shift`.
    """
    ends = np.append(np.zeros(params.coef.shape[1]) if shift is None else -shift, 1.0)
    return problem.intercept_penalty * (params.intercept + inner_products(params.coef, ends[:-1])), ends


def _value(problem: Glm, params: Params, sums: Derivatives, shift: Floats | None) -> Floats:
    strength = np.asarray(problem.penalty.strength, dtype=np.float64).reshape(-1)
    penalty = 0.5 * strength * np.einsum("tp,tp->t", params.coef, params.coef)
    if problem.intercept_penalty > 0.0:
        penalty = penalty + 0.5 * _intercept_gradient(problem, params, shift)[0] ** 2 / problem.intercept_penalty
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
        slope, ends = _intercept_gradient(problem, params, shift)
        gradient += np.outer(slope, ends)
        with np.errstate(over="ignore"):  # what is not finite is found by whoever factors it
            hessian = None if hessian is None else hessian + problem.intercept_penalty * np.outer(ends, ends)
    return Evaluation(value, gradient.reshape(-1, outputs * (p + 1)), hessian)


def length(*parts: Floats) -> float:
    """The L2 norm of all arrays together, scaled so that squares neither overflow nor underflow."""
    largest = max((float(np.max(np.abs(part))) for part in parts if part.size), default=0.0)
    if not 0.0 < largest < np.inf:
        return largest
    return largest * float(np.sqrt(sum(float(np.sum(np.square(part / largest))) for part in parts)))


@dataclass(frozen=True)
class Separation:
    """Find weights that classify every sample correctly, strictly.

    Two classes have one score z = x.w + b: class 1 where it is positive, class 0 where it is negative. More have one
    each, and the largest decides; `joint` is one multiclass problem, else each class is separated from the rest. A
    sample without a strict maximum is a mistake; where `positive`, the later class takes a tie (the sign of zero is
    +1).
    """

    classes: int
    joint: bool
    intercept: bool
    positive: bool = False

    @property
    def targets(self) -> int:
        """The number of scores of a sample."""
        return self.classes if self.classes > 2 else 1

    def margins(self, z: Floats, label: Integers) -> Floats:
        """The margins: y z of two classes, else the score of the true class minus the largest of the others."""
        if self.targets == 1:
            return np.where(label == 1, z[:, 0], -z[:, 0])
        rows = np.arange(z.shape[0])
        own = z[rows, label]
        others = z.copy()
        others[rows, label] = -np.inf
        return own - others.max(axis=1)

    def mistaken(self, z: Floats, label: Integers) -> NDArray[np.bool_]:
        """Which samples are mistakes."""
        margins = self.margins(z, label)
        wrong = ~(margins > 0.0)
        if self.positive:
            wrong &= ~((margins == 0.0) & self.takes_ties(z, label))
        return wrong

    def takes_ties(self, z: Floats, label: Integers) -> NDArray[np.bool_]:
        """Whether the true class is the last of those with the largest score."""
        if self.targets == 1:
            return label == 1
        best = z == z.max(axis=1, keepdims=True)
        return label == z.shape[1] - 1 - np.argmax(best[:, ::-1], axis=1)
