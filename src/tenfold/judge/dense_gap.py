"""Kind gap of one target on few dense samples of this machine: the bound at one dual point, from one array.

The dual point is that of gap_smooth.py and gap_fenchel.py: for a smooth loss its slopes at the raw predictions, or,
where the intercept is free, at the best intercept, where they sum to zero; with z + s the raw predictions there,

    loss(y, z) + conjugate(y, u) - u z = loss(y, z) - loss(y, z + s) + u s.

For a loss with kinks it is a vector of slopes that is handed over, untrusted, clipped to the domain of the conjugate.
`bound_gap` makes the bound of it. Without a penalty it is that of newton_decrement_bound.py, with the largest leverage
of all samples. A gap that is not proved ok this way is left to the two others.
"""

from typing import Any, NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import EPS, Floats
from tenfold.data import Block, Rows, is_small_dense, resolve
from tenfold.data.passes import count_pass
from tenfold.judge.certificate import Certificate
from tenfold.judge.dual_bound import DualPoint, bound_gap
from tenfold.judge.gap_fenchel import ALL_ZERO, balance_inside
from tenfold.judge.gap_smooth import intercept_distance
from tenfold.judge.newton_decrement_bound import decrement, factor_matrix, price
from tenfold.judge.objective_points import lower_bound, rounding_floor, sum_sizes_of_losses
from tenfold.losses.loss import Loss
from tenfold.machine import spend
from tenfold.penalties import L2, ElasticNet
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params, derivatives

PASSES = 5  # over the samples: two for the centre, one for raw predictions, two for correlations

FIRST_REACH = 4.0  # the longest first step of an intercept on the scale of a logarithm


class Verdict(NamedTuple):
    """What the certificate depends on beside the data: its scale, its tolerance, how the fit ended, and the dtype of
    the parameters.
    """

    scale: float
    tol: float
    status: str
    dtype: Any


class Samples(NamedTuple):
    """X (n, p) in C order, y (n,), weight (n,) or None."""

    X: Floats
    y: Floats
    weight: Floats | None


class Sums(NamedTuple):
    """Means over the samples of a loss, its slope, the slope's size and the curvature, at the intercept that is judged
    and at the best one, the step between, and the intercept about the centre.
    """

    value: float
    slope: float
    size: float
    curvature: float
    best_value: float
    best_slope: float
    best_size: float
    best_curvature: float
    step: float
    intercept: float


class Evidence(NamedTuple):
    """The centre (p,) of the samples and the mean squares (p,) of the features about it, the sums, the correlation (p,)
    of the slopes with the samples about the centre and that of the curvatures, the Fenchel-Young term, and the mean
    sizes of the slopes, the curvatures and the terms that cancel in a loss.
    """

    centre: Floats
    squares: Floats
    sums: Sums
    correlation: Floats
    curved: Floats
    term: float
    sizes: tuple[float, float, float]


def dense_gap(
    problem: Glm, rows: Rows, params: Params, verdict: Verdict, dual: Floats | None = None
) -> Certificate | None:
    """The certificate where `judges` is true; None where it is not ok."""
    block = rows.whole()
    for _ in range(PASSES):
        count_pass(rows.entries)
    spend(float(PASSES * rows.entries))
    weight = None if block.weight is None else np.ascontiguousarray(block.weight)
    samples = Samples(np.ascontiguousarray(block.X, dtype=np.float64), np.ascontiguousarray(block.y[:, 0]), weight)
    with np.errstate(over="ignore", invalid="ignore"):
        evidence = _at_slopes(problem, samples, params) if dual is None else _at_vector(problem, samples, params, dual)
        decrease = _bound_without_penalty(problem, samples, params, evidence) if _is_unpenalised(problem) else None
        if decrease is not None and not np.isfinite(decrease):
            return None  # there may be no minimum, however small the objective
        certificate = _certify(problem, len(samples.y), params, evidence, verdict, decrease)
        return certificate if certificate.ok else None


def judges(problem: Glm, rows: Rows, dual: Floats | None) -> bool:
    """Whether these are few dense samples, the penalty bounds the weights, and there is a dual point for a loss with
    kinks.
    """
    loss, penalty = problem.loss, problem.penalty
    if not (is_small_dense(rows) and rows.shape[0]):
        return False
    if not loss.convex or loss.multi_output or loss.nonsmooth is (dual is None):
        return False
    if getattr(penalty, "positive", False) or not isinstance(penalty, L2 | ElasticNet) or np.ndim(penalty.strength):
        return False
    if not _is_unpenalised(problem):
        return True
    return problem.intercept_penalty == 0.0 and bool(np.isfinite(loss.self_concordance)) and not loss.nonsmooth


def _is_unpenalised(problem: Glm) -> bool:
    return float(problem.penalty.strength) == 0.0 and getattr(problem.penalty, "l1", 0.0) == 0.0


def _bound_without_penalty(problem: Glm, samples: Samples, params: Params, evidence: Evidence) -> float:
    """How far the objective can decrease; infinite where that is not known, as where these parameters might separate
    classes.
    """
    loss, (X, y, weight), p = problem.loss, samples, len(evidence.centre)
    # without an intercept the samples are as they are
    centre, b = (evidence.centre, evidence.sums.intercept) if problem.intercept else (np.zeros(p), 0.0)
    here = Params(params.coef, np.array([b]))
    sums = resolve(derivatives(loss, here, 2, centre)(Block(X, y[:, None], weight)))
    assert sums.gradient is not None
    assert sums.hessian is not None
    q = p + problem.intercept
    gradient = np.append(sums.gradient[0], sums.slope)[:q] / sums.weight
    inverse = factor_matrix(sums.hessian[:q, :q] / sums.weight)
    if inverse is None or len(inverse.kept) < q:
        return np.inf
    gain = loss.recession(y, _predict(samples, params, centre, b))
    gain = gain if weight is None else gain[weight > 0.0]
    if not np.min(gain) < -1e-9 * np.max(np.abs(gain)):
        return np.inf
    square = decrement(gradient, inverse)
    if loss.self_concordance == 0.0 or square == 0.0:
        return 0.5 * square
    half = inverse.half_inverses(1)
    if half is None:
        return np.inf
    intercepts = half[0, :, p].copy() if problem.intercept else np.zeros(q)
    turned = _core.matvec(X, np.ascontiguousarray(half[0, :, :p]), intercepts, centre, 1)
    leverages = np.sum(turned * turned, axis=1)
    largest = float(np.max(leverages if weight is None else leverages[weight > 0.0])) * (1.0 + 64.0 * q * EPS)
    return (
        price(float(np.sqrt(square * largest)), loss.self_concordance) / largest if 0.0 < largest < np.inf else np.inf
    )


def constant_losses(loss: Loss, y: Floats, weight: Floats | None) -> tuple[float, float]:
    """The mean loss at zero and at the best constant, for targets y (n,) of a smooth convex loss."""
    zero = Params(np.zeros((1, 0)), np.zeros(1))
    sums = _read(loss, Samples(np.empty((len(y), 0)), y, weight), zero, True).sums
    return sums.value, min(sums.value, sums.best_value)


def _read(loss: Loss, samples: Samples, params: Params, free: bool) -> Evidence:
    """The evidence at the slopes of a smooth loss."""
    on_logarithm = loss.link == "log" or (loss.signs and np.isfinite(loss.self_concordance))
    total, centre, squares, numbers, correlation, curved = _core.dense_dual(
        samples.X,
        samples.y[:, None],
        samples.weight,
        params.coef,
        params.intercept,
        loss.name,
        loss.parameter,
        free,
        FIRST_REACH if on_logarithm else np.inf,
    )
    numbers[:, :8] /= total
    sums = Sums(*numbers[0].tolist())
    term = max(sums.value - sums.best_value + sums.best_slope * sums.step, 0.0)
    sizes = (sums.size, sums.curvature, 0.0)
    return Evidence(centre, squares, sums, correlation[0] / total, curved[0] / total, term, sizes)


def _at_slopes(problem: Glm, samples: Samples, params: Params) -> Evidence:
    loss = problem.loss
    evidence = _read(loss, samples, params, problem.balances)
    if loss.signs and np.isfinite(loss.self_concordance):
        return evidence._replace(sizes=(1.0, loss.lipschitz, 0.0))
    if loss.link != "log":
        return evidence
    z = _predict(samples, params, evidence.centre, evidence.sums.intercept)
    rounding = loss.rounding(samples.y, z)
    return evidence._replace(sizes=(*evidence.sizes[:2], float(np.average(rounding, weights=samples.weight))))


def _predict(samples: Samples, params: Params, centre: Floats, b: float) -> Floats:
    return _core.matvec(samples.X, params.coef, np.array([b]), centre, 1)[:, 0]


def _at_vector(problem: Glm, samples: Samples, params: Params, dual: Floats) -> Evidence:
    """The evidence at slopes (n,) of a loss with kinks."""
    loss, y = problem.loss, samples.y
    weight = np.ones(len(y)) if samples.weight is None else samples.weight
    share = weight / np.sum(weight)
    u = loss.clip(y, np.asarray(dual, dtype=np.float64))
    if problem.balances:
        u = balance_inside(loss, y, u, weight)
    centre, squares = _core.dense_centre(samples.X)
    b = float(params.intercept[0] + np.sum(params.coef[0].astype(np.longdouble) * centre))
    z, slopes = _predict(samples, params, centre, b), share * u
    correlation = _core.matvec_t(samples.X, slopes[:, None], centre, 1)[0]
    losses = loss.value(y, z)
    terms = np.where(weight > 0.0, losses + loss.conjugate(y, u) - u * z, 0.0)
    value, slope, size = float(np.sum(share * losses)), float(np.sum(slopes)), float(np.sum(np.abs(slopes)))
    sums = Sums(value, slope, size, 0.0, value, slope, size, 0.0, 0.0, b)
    total, *sizes = sum_sizes_of_losses(loss, y, z, weight).tolist()
    sizes = tuple(each / total for each in sizes)
    return Evidence(centre, squares, sums, correlation, centre, float(np.sum(share * terms)), (*sizes, 0.0))


def _certify(
    problem: Glm, n: int, params: Params, evidence: Evidence, verdict: Verdict, decrease: float | None
) -> Certificate:
    """The certificate, with a bound of how far the objective can decrease where that is known without a dual point."""
    penalty, coef, (centre, squares, sums, v, *_) = problem.penalty, params.coef, evidence
    stored, strength = float(params.intercept[0]), float(penalty.strength)
    b = sums.intercept if problem.intercept or not problem.balances else 0.0
    value = sums.value + float(penalty.value(coef)[0]) + 0.5 * problem.intercept_penalty * stored * stored
    size = np.abs(coef[0])
    about, offset = float(np.add.reduce(size * np.sqrt(squares))), float(np.add.reduce(size * np.abs(centre)))
    own = abs(b) if problem.intercept else 0.0
    objective = max(value, verdict.scale)
    floor = rounding_floor(problem.loss, n, objective, evidence.sizes, about, offset, own, stored, verdict.dtype)
    if not problem.balances:  # correlations are with samples as they are
        v, b = v + sums.best_slope * centre, stored
    point = DualPoint(v, evidence.term, sums.value, sums.best_slope, sums.best_size)
    bound = bound_gap(problem, coef, b, point) if decrease is None else decrease
    if strength > 0.0:  # sums over samples are rounded by the size of a slope times the length of each column
        length = np.sqrt(np.add.reduce(squares) + (0.0 if problem.balances else np.add.reduce(centre * centre)))
        rounding = evidence.sizes[0] * EPS * float(length)
        bound += rounding * (float(np.sqrt(2.0 * bound / strength)) + 0.5 * rounding / strength)
    # losses and penalties are not negative
    lower = max(value - bound, 0.0) if decrease is None else lower_bound(value, bound)
    gap = max(value - lower, floor)
    radius = float(np.sqrt(2.0 * (gap + floor) / strength)) if strength > 0.0 else None
    return Certificate(
        "gap",
        gap,
        verdict.scale,
        verdict.tol,
        floor,
        value,
        lower,
        radius,
        status=verdict.status,
        parts=(gap,),
        note="" if coef.any() or is_self_concordant(problem) else ALL_ZERO,
        **_bound_predictions(problem, params, evidence, radius, objective),
    )


def is_self_concordant(problem: Glm) -> bool:
    """Whether the problem is one of gap_smooth.py: an intercept without a penalty, squares on weights, and a loss whose
    curvature does not jump.
    """
    squares = isinstance(problem.penalty, L2) and problem.intercept_penalty == 0.0
    return squares and bool(np.isfinite(problem.loss.self_concordance))


def _bound_predictions(
    problem: Glm, params: Params, evidence: Evidence, radius: float | None, objective: float
) -> dict[str, Any]:
    """How far predictions can move to those of the best parameters, as the general judges bound it; empty where that is
    not known. `objective` is the larger of the objective and the scale.
    """
    if radius is None or (problem.balances and not is_self_concordant(problem)):
        return {}
    strength, drift, sums = float(problem.penalty.strength), 0.0, evidence.sums
    centre = np.zeros(len(evidence.centre))
    if problem.intercept and not problem.balances:
        drift = radius * float(np.sqrt(strength / problem.intercept_penalty))
    elif problem.intercept:
        h, drift = sums.best_curvature, np.inf
        if h > 0.0:
            step = evidence.curved / h
            gradient = np.append(evidence.correlation + strength * params.coef[0], sums.best_slope)
            excess = max(sums.value - sums.best_value, 0.0) + 8.0 * EPS * objective
            self_concordance = problem.loss.self_concordance
            drift = intercept_distance(gradient, h, step, excess, sums.step, strength, self_concordance)
            centre = evidence.centre + step
        if not np.isfinite(drift):
            centre, drift = evidence.centre, np.inf
    return {"_coef": params.coef, "_intercept": params.intercept, "_centre": centre, "_drift": drift}
