"""Inference for maximum likelihood at fitted parameters: one pass over the samples for the Fisher information, the
deviance and Pearson's statistic, and one more for a robust (sandwich) covariance.

Targets may have a second column, the offset: a known part of the raw prediction. The coefficients of a multinomial
model are those of each class minus those of the first, the reference class, whose scores are zero.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from tenfold.arrays import Array, Floats, contiguous, like, namespace, on_host, some_rows
from tenfold.data import Block, Rows, resolve, weights_of
from tenfold.inference import BEYOND, COLLINEAR, LikelihoodInference, inverse_root
from tenfold.losses.classification import Softmax
from tenfold.losses.likelihoods import Likelihood, likelihood_of
from tenfold.losses.loss import Loss
from tenfold.machine import one_blas_thread
from tenfold.plans.coordinates import approximate_centre, shift_intercept
from tenfold.stats.combined import Several
from tenfold.stats.derivatives import Params, Total, adjoint, derivatives, forward
from tenfold.stats.intercept_only import mean_over_targets
from tenfold.stats.sandwich import GroupedScores, gram_of, score_products, sum_scores_by_group

MAX_COEFFICIENTS = 2048  # up to which their covariance is formed: 32 MB

LEVERAGE_TOL = 1e-10  # 1 - leverage below which a sample is fitted exactly

MAX_DISTANCE = 0.05  # from the maximum, in standard errors, up to which standard errors are valid

TILE_ENTRIES = 1 << 21  # entries of the leverages of several classes that are formed at a time: 16 MB

TOO_FEW_SAMPLES = (
    "There are not more rows, counted by their weights, than coefficients: standard errors do not exist. Use more "
    "rows or fewer columns."
)
EXACT = "The rows are fitted exactly: nothing is left to estimate their dispersion by."
LEVERAGE_ONE = (
    "A row has a leverage of one: it is fitted exactly, and its error is not known. Use covariance='HC1', or leave "
    "out the column that only this row has."
)
ONE_GROUP = "A cluster-robust covariance needs at least two groups of rows."


class _Model(NamedTuple):
    """A likelihood at parameters for samples centred at `shift`."""

    likelihood: Likelihood
    params: Params
    shift: Floats
    intercept: bool

    @property
    def outputs(self) -> int:
        """The number of free raw predictions."""
        return max(1, len(self.params.intercept) - 1)

    @property
    def mask(self) -> Floats:
        """Mask of the scores of coefficients: without an intercept the last of each prediction is none."""
        return np.tile(np.arange(len(self.shift) + 1) < len(self.shift) + self.intercept, self.outputs)

    def at(self, block: Block) -> tuple[Array, Array]:
        """Targets and raw predictions of a block."""
        z = forward(block.X, self.params, self.shift)
        return block.y[:, :1], z if block.y.shape[1] == 1 else z + block.y[:, 1:]

    def slopes(self, block: Block) -> Array:
        """Derivatives of the losses by the free raw predictions."""
        u = self.likelihood.loss.slope(*self.at(block))
        return u[:, 1:] if self.likelihood.loss.multi_output else u


class _Sums(NamedTuple):
    """The information, the sum of the scores, and sums of weights, losses, Pearson's statistic and the terms of the
    log-likelihood that depend on the targets alone.
    """

    information: Floats
    score: Floats
    weight: float
    value: float
    pearson: float
    targets: float


def infer(
    rows: Rows, loss: Loss, params: Params, intercept: bool, names: tuple[str, ...], covariance: str = "nonrobust"
) -> LikelihoodInference | str:
    """Inference at the maximum of a likelihood without a penalty, or the reason why there is none; `names` are those
    of the coefficients. For "cluster" samples have groups.
    """
    likelihood, k = likelihood_of(loss), len(names)
    if likelihood is None:
        return f"The loss {loss.name!r} is not a likelihood here: standard errors are not known. Use the bootstrap."
    if k > MAX_COEFFICIENTS:
        return f"With more than {MAX_COEFFICIENTS} coefficients their covariance is not formed. Fit on fewer columns."
    shift = approximate_centre(rows, True) if intercept else np.zeros(rows.shape[1])
    model = _Model(likelihood, shift_intercept(params, shift), shift, intercept)
    robust = covariance != "nonrobust"
    sums = _read(model, rows, observed=robust)
    dispersion = sums.pearson / (sums.weight - k) if likelihood.dispersed and sums.weight > k else 1.0
    root = inverse_root(sums.information)
    reason = _explain_missing(sums, root, dispersion)
    if root is None or reason:
        return reason
    classical = _Covariance(dispersion * _product(root, root))
    result = _sandwich(model, rows, root, sums.weight, covariance) if robust else classical
    if isinstance(result, str):
        return result
    outside = _to_outer_coordinates(model).T
    with np.errstate(over="ignore", invalid="ignore"):
        spread = _product(outside, _product(result.covariance, outside))
    if not np.isfinite(spread).all():
        return BEYOND
    deviance, targets = 2.0 * sums.value, sums.targets
    if likelihood.compound:
        targets = sums.weight * mean_over_targets(
            rows, lambda y: likelihood.log_saturated_density(y[:, :1], dispersion)
        )
    return LikelihoodInference(
        names=names,
        coefficients=_coefficients(params, intercept),
        covariance=0.5 * (spread + spread.T),
        count=sums.weight,
        degrees_of_freedom=sums.weight - k,
        covariance_type=covariance,
        family=likelihood.name,
        dispersion=dispersion,
        deviance=deviance,
        null_deviance=2.0 * sums.weight * _null_loss(likelihood, rows, len(params.intercept)),
        pearson=sums.pearson,
        distance=_distance(sums, root, dispersion),
        log_likelihood=likelihood.logarithm(deviance, sums.weight, targets, dispersion),
        groups=result.groups,
    )


def _explain_missing(sums: _Sums, root: Floats | None, dispersion: float) -> str:
    """The reason why the sums do not determine standard errors; "" where they do."""
    if not sums.weight > len(sums.score):
        return TOO_FEW_SAMPLES
    if root is None:
        return COLLINEAR
    if not dispersion > 0.0:
        return EXACT
    distance = _distance(sums, root, dispersion)
    if distance <= MAX_DISTANCE:
        return ""
    return (
        f"The coefficients are still about {distance:.2g} standard errors from the maximum of the likelihood of these "
        "rows: fit with a smaller tol."
    )


def _distance(sums: _Sums, root: Floats, dispersion: float) -> float:
    """The length of the remaining Newton step, in standard errors."""
    return float(np.sqrt(np.sum(np.einsum("ij,j->i", root, sums.score) ** 2) / dispersion))


def _read(model: _Model, rows: Rows, observed: bool) -> _Sums:
    multi_output = model.likelihood.loss.multi_output
    result = rows.fold(
        partial(_information_of_classes, model) if multi_output else partial(_information, model, observed)
    )
    H, score, sums = (part.sum for part in result.parts)
    return _Sums(H[np.ix_(model.mask, model.mask)], score[model.mask], *map(float, sums))


def _information(model: _Model, observed: bool, block: Block) -> Several:
    likelihood, weight = model.likelihood, weights_of(block)
    y, z = model.at(block)
    xp = namespace(z)
    targets = 0.0 if likelihood.power is None else float(xp.sum(weight * likelihood.of_targets(y[:, 0])))
    pearson = float(xp.sum(weight * likelihood.pearson(y, z)[:, 0]))
    if likelihood.canonical and block.y.shape[1] == 1:
        read = resolve(derivatives(likelihood.loss, model.params, 2, model.shift)(block))
        assert read.gradient is not None
        score, sums = np.append(read.gradient[0], read.slope), np.array([read.weight, read.value[0], pearson, targets])
        return Several(tuple(map(Total, (read.hessian, score, sums))))
    u, value = likelihood.loss.slope(y, z)[:, 0], likelihood.loss.value(y, z)[:, 0]
    sums = np.array([float(xp.sum(weight)), float(xp.sum(weight * value)), pearson, targets])
    curvature = (likelihood.second_derivative if observed else likelihood.fisher_information)(y, z)[:, 0]
    u = contiguous((weight * u)[:, None])
    score = np.append(adjoint(block.X, u, model.shift)[0], float(xp.sum(u)))
    parts = (gram_of(block, weight * curvature, model.shift), score, sums)
    return Several(tuple(map(Total, parts)))


def _information_of_classes(model: _Model, block: Block) -> Several:
    result = resolve(derivatives(model.likelihood.loss, model.params, 2, model.shift)(block))
    k = len(model.shift) + 1
    score = np.column_stack([result.gradient, result.slope])[1:].ravel()
    parts = (result.hessian[k:, k:], score, np.array([result.weight, result.value[0], np.nan, 0.0]))
    return Several(tuple(map(Total, parts)))


class _Covariance(NamedTuple):
    """A covariance (k, k) of coefficients, and the number of groups of samples behind it."""

    covariance: Floats
    groups: int = 0


def _sandwich(model: _Model, rows: Rows, root: Floats, count: float, covariance: str) -> _Covariance | str:
    """A robust covariance from the inverse root of the observed information, or the reason why there is none."""
    k, groups = len(root), 0
    if covariance == "cluster":
        sums = rows.fold(partial(_sum_grouped_scores, model))
        groups = len(sums.group)
        if groups < 2:
            return ONE_GROUP
        scores = sums.sums[:, model.mask]
        meat = groups / (groups - 1.0) * (count - 1.0) / (count - k) * _product(scores, scores)
    else:
        power = {"HC2": 1, "HC3": 2}.get(covariance, 0)
        products, exact = (part.sum for part in rows.fold(partial(_score_products, model, root, power)).parts)
        if exact > 0:
            return LEVERAGE_ONE
        meat = products[np.ix_(model.mask, model.mask)] * (count / (count - k) if covariance == "HC1" else 1.0)
    bread = _product(root, root)
    return _Covariance(_product(bread, _product(meat, bread)), groups)


def _sum_grouped_scores(model: _Model, block: Block) -> GroupedScores:
    return sum_scores_by_group(block, model.slopes(block), weights_of(block), model.shift)


def _score_products(model: _Model, root: Floats, power: int, block: Block) -> Several:
    if power and model.likelihood.loss.multi_output:
        return _multiclass_score_products(model, root, power, block)
    weight, exact = weights_of(block), 0.0
    if power:
        left = 1.0 - _leverages(model, root, block)
        xp = namespace(left)
        exact_fit = (left < LEVERAGE_TOL) & (weight > 0)
        exact = float(xp.sum(xp.astype(exact_fit, xp.float64)))
        weight = weight / xp.where(left < LEVERAGE_TOL, xp.ones_like(left), left) ** power
    return Several((Total(score_products(block, model.slopes(block), weight, model.shift)), Total(exact)))


def _multiclass_score_products(model: _Model, root: Floats, power: int, block: Block) -> Several:
    """The slopes u of a sample become (I - C G)^(-power / 2) u, C the curvatures and G the products Z B Z' of its
    classes: with G = R R', that is R^-T (I - R'C R)^(-power / 2) R'u, of symmetric matrices.
    """
    u, weight, exact = on_host(model.slopes(block)), weights_of(block), 0.0
    q = on_host(Softmax().probabilities(model.at(block)[1]))[:, 1:]
    counts, changed = on_host(weight) > 0, np.empty_like(u)
    tile = max(1, TILE_ENTRIES // root.size)
    for start in range(0, len(u), tile):
        part = slice(start, min(len(u), start + tile))
        values, vectors = np.linalg.eigh(_class_products(model, root, some_rows(block.X, part)))
        lengths = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
        R = vectors * lengths[:, None, :]
        mean = np.einsum("nk,nka->na", q[part], R)
        S = np.einsum("nk,nka,nkb->nab", q[part], R, R) - mean[:, :, None] * mean[:, None, :]
        left, turn = np.linalg.eigh(np.eye(u.shape[1]) - S)
        exact_fit = left < LEVERAGE_TOL
        exact += float(np.sum(exact_fit.any(axis=1) & counts[part]))
        inside = np.einsum("nab,nka,nk->nb", turn, R, u[part]) / np.where(exact_fit, 1.0, left) ** (power / 2)
        changed[part] = np.einsum("nka,nab,nb->nk", vectors / lengths[:, None, :], turn, inside)
    return Several((Total(score_products(block, like(changed, block.y), weight, model.shift)), Total(exact)))


def _class_products(model: _Model, root: Floats, X: Array) -> Floats:
    """z'B_ab z of each sample and pair of classes (n, K - 1, K - 1), B = root'root."""
    p, m = len(model.shift), model.outputs
    halves = root.reshape(len(root), m, -1)
    b = halves[:, :, p] if model.intercept else np.zeros((len(root), m))
    each = [
        on_host(forward(X, Params(np.ascontiguousarray(halves[:, a, :p]), np.ascontiguousarray(b[:, a])), model.shift))
        for a in range(m)
    ]
    rotated = np.stack(each, axis=1)
    return np.einsum("nai,nbi->nab", rotated, rotated)


def _leverages(model: _Model, root: Floats, block: Block) -> Array:
    """c z'B z of each sample, B = root'root and c the observed curvature."""
    p = len(model.shift)
    b = np.ascontiguousarray(root[:, p]) if model.intercept else np.zeros(len(root))
    rotated = forward(block.X, Params(np.ascontiguousarray(root[:, :p]), b), model.shift)
    return model.likelihood.second_derivative(*model.at(block))[:, 0] * namespace(rotated).sum(
        rotated * rotated, axis=1
    )


def _product(left: Floats, right: Floats) -> Floats:
    """left'right."""
    with one_blas_thread:
        return np.ascontiguousarray(blas.dgemm(1.0, left, right, trans_a=1))


def _to_outer_coordinates(model: _Model) -> Floats:
    """The map from coefficients of centred samples, with the intercept last, to those of uncentred ones, with the
    intercept first: b - shift.w, and the weights.
    """
    p = len(model.shift)
    one = np.vstack([np.append(-model.shift, 1.0), np.eye(p, p + 1)]) if model.intercept else np.eye(p)
    return np.asarray(np.kron(np.eye(model.outputs), one), dtype=np.float64)


def _coefficients(params: Params, intercept: bool) -> Floats:
    every = np.column_stack([params.intercept, params.coef]) if intercept else params.coef
    return np.ravel(every[1:] - every[:1] if len(every) > 1 else every)


def _null_loss(likelihood: Likelihood, rows: Rows, classes: int) -> float:
    """The mean loss of the best constant added to the offset."""
    loss, power = likelihood.loss, likelihood.power
    if power is None:
        if loss.multi_output:
            shares = [mean_over_targets(rows, partial(_equal, value)) for value in range(classes)]
        else:
            middle = mean_over_targets(rows, lambda y: y)  # targets are -1 and 1
            shares = [0.5 * (1.0 - middle), 0.5 * (1.0 + middle)]
        frequencies = np.array(shares)
        return -float(np.sum(frequencies * np.log(frequencies)))
    if loss.link == "log":
        # the sum of weight times slope is zero
        above = mean_over_targets(rows, lambda y: y[:, :1] * _factor(y, 1.0 - power))
        z = float(np.log(above / mean_over_targets(rows, lambda y: _factor(y, 2.0 - power))))
    else:
        z = mean_over_targets(rows, lambda y: y[:, :1] - _offset(y))
    return mean_over_targets(rows, lambda y: loss.value(y[:, :1], z + _offset(y)))


def _equal(value: int, y: Array) -> Array:
    xp = namespace(y)
    return xp.astype(y == value, xp.float64)


def _offset(y: Array) -> Array:
    return y[:, 1:] if y.shape[1] > 1 else namespace(y).zeros_like(y)


def _factor(y: Array, power: float) -> Array:
    return namespace(y).exp(power * _offset(y))
