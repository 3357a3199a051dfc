"""Points of a convex problem on a design as the judge reads them: objective, gradient and Hessian.

    P(x) = (1/W) sum_i weight_i loss(y_i, z_i) + penalty(w) + intercept_penalty / 2 |b|^2,

z_i (K,) the raw predictions of a sample at coefficients x (K, q), w (K, p) their weights and b (K,) their intercepts.
One raw prediction is the case K = 1.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import EPS, Array, Floats, namespace, on_host, unit_roundoff
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.losses.loss import Loss
from tenfold.objectives.design import DataDesign, DesignBlock, LossMeans
from tenfold.penalties import Groups
from tenfold.problems import Glm

EXTENDED_EPS = float(np.finfo(np.longdouble).eps)

SEARCH_COLUMNS = 4096  # up to here Newton steps of the judge's own form a Hessian: 134 MB
SEARCH_STEPS = 16  # Newton steps of the judge at most

NOT_FINITE = "The weights are not finite."
LOOSE = "Bound, not tight: the true distance to the optimum may be much smaller."


def sum_rounding(n: int) -> float:
    """The relative rounding of a mean of n numbers: that of the numbers, and of sums one after the other."""
    return EPS * (8.0 + float(np.sqrt(n)))


def require_finite(kind: str, parts: Any, tol: float | None = None) -> Certificate | None:
    """A certificate that is not ok, for parameters that are not numbers or infinite; None for others."""
    if all(np.isfinite(part).all() for part in parts):
        return None
    tol = RULES[kind].tol if tol is None else tol
    return Certificate(kind, np.inf, 1.0, tol, 0.0, np.inf, status=NOT_JUDGED, parts=(np.inf,), note=NOT_FINITE)


def storage_roundoff(intercept: Floats | float, dtype: Any) -> float:
    """The unit roundoff of an intercept as it is stored: that of `dtype` where it is a number of it, else float64's."""
    if dtype == np.float64:
        return unit_roundoff(np.float64)
    with np.errstate(over="ignore"):
        rounded = np.asarray(intercept).astype(dtype).astype(np.float64)
    return unit_roundoff(dtype if np.array_equal(rounded, intercept) else np.float64)


def lower_bound(value: float, bound: float) -> float:
    """What no objective is below, by a point of objective `value` that can decrease by `bound` at most: less the
    rounding of both, which is large where the point is far off. Losses and penalties are not negative.
    """
    lower = value - bound - 16.0 * EPS * (abs(value) + abs(bound))
    return max(0.0, lower) if np.isfinite(lower) else 0.0


class DesignProblem(NamedTuple):
    """A convex problem on a design, with the strengths (K, 1) of the squares in its penalty, and the mean loss without
    weights.
    """

    problem: Glm
    design: DataDesign
    strength: Floats
    scale: float
    slope: float = 1.0  # the mean size of the slopes, about

    @property
    def outputs(self) -> int:
        return len(self.strength)

    @property
    def nonsmooth_penalty(self) -> bool:
        """Whether there is more to the penalty than squares."""
        penalty = self.problem.penalty
        return getattr(penalty, "l1", 0.0) > 0.0 or isinstance(penalty, Groups)

    @property
    def strongly_convex(self) -> bool:
        """Whether all weights have squares in the penalty."""
        return bool(np.all(self.strength > 0.0))

    @property
    def unpenalised(self) -> bool:
        return not (self.nonsmooth_penalty or np.any(self.strength > 0.0))

    @property
    def self_concordance(self) -> float:
        """The least M with |loss'''| <= M loss'' along directions that change raw predictions by `spread` one."""
        loss = self.problem.loss
        return 1.0 if loss.multi_output else loss.self_concordance

    def spread(self, d: Floats) -> float:
        """The size of a change d (K,) of raw predictions by which a loss is self-concordant: of the softmax the largest
        difference between two classes.
        """
        return float(np.max(d) - np.min(d)) if self.problem.loss.multi_output else float(np.max(np.abs(d)))

    def weights(self, x: Floats) -> Floats:
        """w (K, p) of coefficients."""
        return x[:, : self.design.columns]

    def dual_correlation(self, g: Floats) -> Floats:
        """The correlation (K, p) of slopes with the samples in the coordinates of dual points, from the gradient (K, q)
        of their losses: with a tied intercept, of samples as they are.
        """
        p = self.design.columns
        if not self.design.intercept or self.problem.balances:
            return g[:, :p]
        return g[:, :p] - g[:, p:] * self.design.stored_intercept[:p]

    def dual_intercept(self, x: Floats) -> float:
        """The intercept of one output that is in the bound of a dual point: of samples measured from the centre where
        it is free, else as they are.
        """
        if not self.design.intercept:
            return 0.0
        return float(x[0, -1]) if self.problem.balances else float(self.design.outer_intercept(x)[0])


class ObjectivePoint(NamedTuple):
    """The objective at coefficients x (K, q), the gradient (K, q) and the Hessian (K q, K q) of its smooth part, output
    after output.
    """

    x: Floats
    weight: float
    value: float
    gradient: Floats
    hessian: Floats | None


def read(data: DesignProblem, x: Floats, order: int) -> ObjectivePoint:
    """The point at x: one pass over the samples. At order 0 without its gradient, half a pass over sparse ones."""
    return point_of(data, x, data.design.read(data.problem.loss, x, order))


def point_of(data: DesignProblem, x: Floats, means: LossMeans) -> ObjectivePoint:
    """The point at x, from means over the samples."""
    problem, p, w = data.problem, data.design.columns, data.weights(x)
    value = means.value + float(np.sum(problem.penalty.value(w)))
    tied = problem.intercept_penalty
    b = data.design.outer_intercept(x) if tied > 0.0 else np.zeros(1)
    value = value + (0.5 * tied * float(np.sum(b * b)) if tied > 0.0 else 0.0)
    g, hessian = means.gradient, None
    if g.size:
        g = g.copy()
        g[:, :p] += data.strength * w
        if tied > 0.0:
            g += tied * np.outer(b, data.design.stored_intercept)
    if means.hessian is not None:
        K, q = g.shape
        H = means.hessian.reshape(K, q, K, q).copy()
        each = np.arange(p)
        for k in range(K):
            H[k, each, k, each] += data.strength[k]
            if tied > 0.0:
                H[k, :, k, :] += tied * np.outer(data.design.stored_intercept, data.design.stored_intercept)
        hessian = H.reshape(K * q, K * q)
    return ObjectivePoint(x, means.weight, value, g, hessian)


def loss_sizes(data: DesignProblem, x: Floats) -> Floats:
    """Means over the sample: of the size of the slopes, of the curvature, and of the terms that cancel in a loss."""
    loss, predict = data.problem.loss, data.design.predictor(x)
    if loss.multi_output:
        return np.array([2.0, 1.0, 0.0])  # the slopes of a sample sum to at most two
    if loss.signs and np.isfinite(loss.self_concordance):
        return np.array([1.0, loss.lipschitz, 0.0])

    def lift(block: DesignBlock) -> Floats:
        return sum_sizes_of_losses(loss, block.y, predict(block), block.weight[:, None])

    with np.errstate(all="ignore"):  # parameters far off: the sums are not finite, and the gap is not, either
        total = data.design.sample.sum(lift)
    return np.append(total[1:] / total[0], 0.0)[:3] if total[0] > 0.0 else np.array([1.0, 1.0, 0.0])


def sum_sizes_of_losses(loss: Loss, y: Array, z: Array, weight: Array) -> Floats:
    """Sums over samples of weight, size of the slope and curvature, and, for deviances, of the terms that cancel."""
    xp = namespace(z)
    slope, curvature = xp.abs(loss.slope(y, z)), loss.curvature(y, z)
    if loss.nonsmooth:  # the slopes beside a kink that rounding may hide
        near = 64.0 * EPS * (xp.abs(z) + xp.abs(y))
        for beside in (z - near, z + near):
            other = xp.abs(loss.slope(y, beside))
            slope = xp.where(other > slope, other, slope)
    parts = [xp.ones_like(z), slope, curvature]
    if loss.link == "log":
        parts.append(loss.rounding(y, z))
    return np.array([float(on_host(xp.sum(weight * part))) for part in parts])


def floor_of(data: DesignProblem, here: ObjectivePoint, stored: Floats, dtype: Any, sizes: Floats) -> float:
    """Rounding of the objective and of the raw predictions, and what storing the parameters in `dtype` can cost; by
    `loss_sizes`. `stored` are the intercepts (K,) as they are stored.
    """
    loss, n = data.problem.loss, data.design.samples
    about, offset = data.design.margin_sizes(here.x)
    own = np.abs(here.x[:, -1]) if data.design.intercept else np.zeros(data.outputs)
    size, means = max(here.value, data.scale), sizes.tolist()
    return max(
        rounding_floor(loss, n, size, means, a, o, b, as_stored, dtype)
        for a, o, b, as_stored in np.column_stack([about, offset, own, stored]).tolist()
    )


def rounding_floor(
    loss: Loss,
    samples: int,
    objective: float,
    sizes: Sequence[float],
    about: float,
    offset: float,
    b: float,
    stored: float,
    dtype: Any,
) -> float:
    """`floor_of` one output, by the mean sizes of the terms of its raw predictions about the centre (`about`) and at it
    (`offset`), its intercept there and as it is stored.
    """
    slope, curvature, cancelling = (float(size) for size in sizes)
    offset += max(b, abs(stored))
    # intercepts are moved to the centre in extended precision, and added to the raw predictions there
    margins = EPS * (about + b) + EXTENDED_EPS * offset
    computed = sum_rounding(samples) * objective + slope * margins
    rounded = (unit_roundoff(dtype) + EPS) * about + unit_roundoff(np.float64) * offset
    rounded += storage_roundoff(stored, dtype) * abs(stored)
    cost = 0.5 * curvature * rounded * rounded + (slope * rounded if loss.nonsmooth else 0.0)
    floor = computed + cost + EPS * cancelling
    return floor if np.isfinite(floor) else 8.0 * EPS


def length(x: Floats) -> float:
    """The Euclidean length; not by NumPy's BLAS, which has threads of its own."""
    return float(np.sqrt(np.sum(np.square(x))))
