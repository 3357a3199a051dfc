"""Kind gap: Huber's loss with its scale, by a dual point that is made feasible here.

With H(a) = a^2 up to |a| = epsilon and 2 epsilon |a| - epsilon^2 beyond, and r = y - z, the perspective of H has

    sigma H(r / sigma) = max over |u| <= 2 epsilon of u r - sigma u^2 / 4,    the best u being 2 r / sigma, clipped.

So P(w, b, sigma) = mean(sigma + sigma H(r / sigma)) + strength / 2 ||w||^2 is the maximum over u of
mean(u y) - mean(u x).w - b mean(u) + sigma (1 - mean(u^2) / 4) + strength / 2 ||w||^2, means being weighted. Its least
value over w, b and sigma >= 0 is, with v = mean(u x),

    D(u) = mean(u y) - ||v||^2 / (2 strength),    provided |u| <= 2 epsilon, mean(u^2) <= 4 and, with an intercept,
                                                  mean(u) = 0;

no parameters are better than D(u) for any such u. From the parameters' own u, of mean e, t (u - e) is such a
point, t the largest scaling that keeps the bounds. Without cancellation, P - D is then

    sigma (1 - mean(u^2) / 4) + (1 - t) mean(u r) + t e mean(r) + ||t v - strength w||^2 / (2 strength).

That knows the units of the features, and is as far off as the mean of u: where parameters were rounded, u after Newton
steps of the judge's own, at most `STEPS`, gives a better D. Without a penalty, or where it is too much, u is moved
along the features towards v = strength w. At a scale of next to nothing the objective is that of absolute errors, and u
is looked for as for these. In all cases `dual_bound` checks what is left of the constraints, and adds what it costs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, namespace, on_host, unit_roundoff
from tenfold.data import Block, Rows, is_small_dense, sampling_step, targets_of, weights_of
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.judge.dual_bound import DualPoint, DualTarget, bound_gap
from tenfold.judge.dual_point_search import candidates
from tenfold.judge.newton_decrement_bound import factor_matrix
from tenfold.judge.objective_points import require_finite, storage_roundoff, sum_rounding
from tenfold.losses.regression import Laplace, Square
from tenfold.objectives.linear_design import center, sum_sizes
from tenfold.penalties import L2, ElasticNet
from tenfold.problems import Glm, ScaledHuber
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, Total, adjoint, derivatives, forward
from tenfold.stats.huber_scale import HuberSums, huber_sums
from tenfold.stats.intercept_only import mean_and_deviation, mean_over_targets
from tenfold.stats.min_max import Extremes, of_columns

EPS, EXTENDED_EPS = float(np.finfo(np.float64).eps), float(np.finfo(np.longdouble).eps)

SAMPLE_ROWS = 1024  # that place the centre
STEPS = 2  # of Newton's method for a better dual point

TINY_SCALE = 1e-5  # part of the objective without weights up to which the loss counts as that of absolute errors


def huber_gap(
    problem: ScaledHuber,
    rows: Rows,
    params: Params,
    sigma: float,
    *,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
) -> Certificate:
    """Judge Huber's regression with its scale `sigma`."""
    tol = RULES["gap"].tol if tol is None else tol
    invalid = require_finite("gap", params, tol)
    if invalid is not None:
        return invalid
    if not 0.0 < sigma < np.inf:
        note = f"The scale must be a positive number, and is {sigma:g}."
        return Certificate("gap", np.inf, 1.0, tol, 0.0, np.inf, status=NOT_JUDGED, parts=(np.inf,), note=note)
    centre, squares = _centre(rows, problem.intercept)
    at = center(params, centre) if problem.intercept else Params(params.coef, np.zeros(1))
    sums = rows.fold(huber_sums(at, sigma, problem.epsilon, 1, centre))
    w = params.coef[0]
    objective = sums.loss(sigma) + 0.5 * problem.strength * float(np.sum(w * w))
    scale = scale_of(problem, rows)
    about = float(np.sum(np.abs(w) * np.sqrt(squares)))
    offset = float(np.sum(np.abs(w) * np.abs(centre))) + abs(float(params.intercept[0]))
    margins = EPS * (about + abs(float(at.intercept[0]))) + EXTENDED_EPS * offset
    floor = sum_rounding(rows.shape[0]) * max(objective, scale) + 2.0 * problem.epsilon * margins
    # weights are stored in dtype, the scale in float64; the loss is a parabola, and linear beyond
    rounded = unit_roundoff(dtype) * about + unit_roundoff(np.float64) * offset
    rounded += storage_roundoff(params.intercept, dtype) * abs(float(params.intercept[0]))
    floor += min(2.0 * rounded / sigma, 2.0 * problem.epsilon) * rounded + EPS * sigma
    allowed = max(tol * scale, floor)
    gap = _bound(problem, sums, at, sigma)
    if gap > allowed and np.isfinite(objective) and problem.strength > 0.0:
        gap = min(gap, objective - _lower_bound(problem, rows, at, sigma, centre))
    if not gap <= allowed and np.isfinite(objective):
        gap = min(gap, _by_projection(problem, rows, at, sigma, centre, sums))
    if not gap <= allowed and np.isfinite(objective) and sigma <= TINY_SCALE * scale:
        gap = min(gap, _at_kinks(problem, rows, params, at, sums.loss(sigma), centre, allowed, dtype))
    # no loss is negative
    gap = min(gap, objective) if np.isfinite(gap) else objective
    value = max(gap, float(floor)) if np.isfinite(objective) else np.inf
    lower = max(objective - value, 0.0) if np.isfinite(value) else 0.0
    return Certificate("gap", value, scale, tol, float(floor), objective, lower, status=status, parts=(value,))


def _centre(rows: Rows, intercept: bool) -> tuple[Floats, Floats]:
    """A point amid the samples, zero without an intercept and for sparse ones, which are never centred; and the mean
    squares of the features about it.
    """
    if intercept and is_small_dense(rows) and rows.whole().weight is None:
        return _core.dense_centre(np.ascontiguousarray(rows.whole().X, dtype=np.float64))
    centre = np.zeros(rows.shape[1])
    if intercept and not rows.sparse:
        sample = rows.subsample(sampling_step(rows.shape[0], SAMPLE_ROWS))
        centre = sample.fold(Columns.lift).middle(sample.fold(of_columns))
    return centre, rows.fold(Columns.lift).squares_about(centre)


def scale_of(problem: ScaledHuber, rows: Rows) -> float:
    """The mean loss of a constant, the mean of the targets or zero, with their standard deviation as scale; where they
    are all equal, their size, or one.
    """
    mean, sigma = mean_and_deviation(rows, problem.intercept)
    if not sigma > 1e-9 * abs(mean):
        return abs(mean) or 1.0

    def loss(y: Array) -> Array:
        a = namespace(y).abs(y - mean) / sigma
        e = problem.epsilon
        return sigma + sigma * namespace(y).where(a < e, a * a, 2.0 * e * a - e * e)

    return mean_over_targets(rows, loss)


def _penalty_problem(problem: ScaledHuber) -> Glm:
    """What `dual_bound` has to know of the problem: its penalty and its intercept."""
    return Glm(Square(), L2(np.array([problem.strength])), problem.intercept)


def _bound(problem: ScaledHuber, sums: HuberSums, at: Params, sigma: float) -> float:
    """P - D at scaled slopes of the parameters, which are moved to a mean of zero."""
    if problem.strength == 0.0:
        return np.inf
    e, squares, products, residual = sums.means
    e = e if problem.intercept else 0.0
    edge = 2.0 * problem.epsilon
    spread = max(squares - e * e, 0.0)
    t = min(1.0, edge / (edge + abs(e)), 2.0 / float(np.sqrt(spread)) if spread > 4.0 else 1.0)
    v = t * (sums.gradient - e * sums.rows) / sums.weight
    term = sigma * (1.0 - squares / 4.0) + (1.0 - t) * products + t * e * residual
    return bound_gap(
        _penalty_problem(problem), at.coef, float(at.intercept[0]), DualPoint(-v, float(term), sums.loss(sigma))
    )


def _lower_bound(problem: ScaledHuber, rows: Rows, at: Params, sigma: float, centre: Floats) -> float:
    """The best D after steps from the parameters."""
    best = -np.inf
    for _ in range(STEPS):
        step = _step(problem, rows.fold(huber_sums(at, sigma, problem.epsilon, 2, centre)), at.coef[0], sigma)
        if step is None or not sigma + step[-1] > 0.0:
            break
        at, sigma = Params(at.coef + step[:-2], at.intercept + step[-2]), sigma + float(step[-1])
        sums = rows.fold(huber_sums(at, sigma, problem.epsilon, 1, centre))
        w = at.coef[0]
        P = sums.loss(sigma) + 0.5 * problem.strength * float(np.sum(w * w))
        if not np.isfinite(P):
            break
        # the rounding of an objective far off hides the bound
        best = max(best, P - _bound(problem, sums, at, sigma) - 16.0 * EPS * abs(P))
    return best


def _step(problem: ScaledHuber, sums: HuberSums, w: Floats, sigma: float) -> Floats | None:
    """Newton's for (w, b, sigma); None where the curvature is singular."""
    e, squares, _, _ = sums.means
    slopes = np.concatenate([problem.strength * w - sums.gradient / sums.weight, [-e, 1.0 - squares / 4.0]])
    assert sums.outer is not None
    assert sums.cross is not None
    bend = np.block([[sums.outer, sums.cross[:, None]], [sums.cross[None, :], np.array([[sums.inner]])]])
    bend *= 2.0 / (sigma * sums.weight)
    bend[: len(w), : len(w)] += problem.strength * np.eye(len(w))
    free = np.ones(len(slopes), dtype=bool)
    free[-2] = problem.intercept
    factor = factor_matrix(bend[np.ix_(free, free)])
    if factor is None:
        return None
    step = np.zeros_like(slopes)
    step[free] = -factor.solve(slopes[free])
    return step if np.isfinite(step).all() else None


def _by_projection(
    problem: ScaledHuber, rows: Rows, at: Params, sigma: float, centre: Floats, sums: HuberSums
) -> float:
    """P - D at slopes moved along the features until the gradient vanishes, with a sum of zero."""
    p = len(centre)
    zero = Params(np.zeros((1, p)), np.zeros(1))
    H = rows.fold(derivatives(Square(), zero, 2, centre)).hessian
    assert H is not None
    factor = factor_matrix(H, p) if problem.intercept else factor_matrix(H[:p, :p])
    if factor is None:
        return np.inf
    fit = zero
    for _ in range(2):  # the second time for the digits that the first has lost
        g = rows.fold(_correlate(_move_slopes(at, sigma, problem.epsilon, fit, centre), centre)).sum
        g = g - np.append(sums.weight * problem.strength * at.coef[0], 0.0)
        d = np.append(factor.solve(g if problem.intercept else g[:p]), 0.0)[: p + 1]
        fit = Params(fit.coef + d[None, :p], fit.intercept + d[p:])
    return _at(problem, rows, at, sums.loss(sigma), centre, _move_slopes(at, sigma, problem.epsilon, fit, centre))


def _at(
    problem: ScaledHuber, rows: Rows, at: Params, loss: float, centre: Floats, slopes: Callable[[Block], Array]
) -> float:
    """P - D at the largest scaling of slopes u that keeps |u| <= 2 epsilon and mean(u^2) <= 4."""

    def lift(block: Block) -> Total:
        u, r, weight = slopes(block), block.y[:, :1] - forward(block.X, at, centre), weights_of(block)[:, None]
        xp = namespace(u)
        parts = (weight, weight * u, weight * xp.abs(u), weight * u * u, weight * u * r)
        sums = [float(on_host(xp.sum(part))) for part in parts]
        return Total(np.append(adjoint(block.X, u * weight, centre)[0], sums))

    total = rows.fold(lift).sum
    correlation, (weight, tilt, size, squares, products) = total[:-5], total[-5:]
    ends = rows.fold(lambda block: Extremes.of(slopes(block), block.weight))
    largest, edge, square = max(-float(ends.low[0]), float(ends.high[0])), 2.0 * problem.epsilon, squares / weight
    t = min(1.0, edge / largest if largest > edge else 1.0, 2.0 / float(np.sqrt(square)) if square > 4.0 else 1.0)
    scaling = t / weight

    def sizes() -> Floats:
        return np.asarray(scaling * rows.fold(lambda block: Total(sum_sizes(block, slopes(block), centre))).sum)

    point = DualPoint(-scaling * correlation, loss - scaling * products, loss, -scaling * tilt, scaling * size)
    aim = DualTarget(-t * problem.strength * at.coef[0], 0.0)
    return bound_gap(_penalty_problem(problem), at.coef, float(at.intercept[0]), point, sizes, aim)


def _at_kinks(
    problem: ScaledHuber,
    rows: Rows,
    params: Params,
    at: Params,
    loss: float,
    centre: Floats,
    allowed: float,
    dtype: Any,
) -> float:
    """P - D at slopes of absolute errors, for a scale of next to nothing: samples that are fitted exactly may have any
    slope between the ends, which their own errors, of the size of rounding, do not tell.
    """
    edge, best = 2.0 * problem.epsilon, np.inf
    absolute = Glm(Laplace(), ElasticNet(0.0, problem.strength / edge), problem.intercept)
    for slopes in candidates(absolute, rows, params, dtype):
        if slopes is None:
            continue
        u = rows.retarget(np.ascontiguousarray(np.column_stack([rows.map(targets_of)[:, 0], -edge * slopes])))
        best = min(best, _at(problem, u, at, loss, centre, lambda block: block.y[:, 1:]))
        if best <= allowed:
            break
    return best


def _move_slopes(at: Params, sigma: float, epsilon: float, fit: Params, centre: Floats) -> Callable[[Block], Array]:
    """The slopes u of a block (m, 1), less (x - centre).w + b of `fit`."""

    def slopes(block: Block) -> Array:
        a = (block.y - forward(block.X, at, centre)) / sigma
        xp = namespace(a)
        edge = xp.where(a > 0, epsilon * xp.ones_like(a), -epsilon * xp.ones_like(a))
        return 2.0 * xp.where(xp.abs(a) < epsilon, a, edge) - forward(block.X, fit, centre)

    return slopes


def _correlate(slopes: Callable[[Block], Array], centre: Floats) -> Callable[[Block], Total]:
    """The lift of sum weight u [x - centre, 1]."""

    def lift(block: Block) -> Total:
        u = slopes(block) * weights_of(block)[:, None]
        return Total(np.append(adjoint(block.X, u, centre)[0], float(on_host(namespace(u).sum(u)))))

    return lift
