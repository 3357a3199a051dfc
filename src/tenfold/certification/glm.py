"""Generalised linear models: the duality gap at the fitted weights, or how far the objective is from being at rest."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from tenfold.arrays import Array, namespace, numpy_dtype, on_host, unit_roundoff
from tenfold.certification.linear_outputs import scores
from tenfold.certification.models import check_known_classes, contradict, fit_status, take_params, validate_like_fit
from tenfold.certification.outputs import Labels, Output
from tenfold.data import Block, Rows
from tenfold.estimators.class_labels import class_targets, label_indices
from tenfold.estimators.glm.deviance import as_float
from tenfold.estimators.glm.generalized_linear import problem_of
from tenfold.estimators.glm.huber import strength
from tenfold.estimators.glm.offset import validate_offset
from tenfold.estimators.validation import as_rows, as_weighted_rows, total_weight, validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.judge.gap_huber import huber_gap
from tenfold.judge.linear_models import gap, stationarity
from tenfold.losses.deviances import Gamma, Poisson, deviance
from tenfold.losses.loss import Loss
from tenfold.losses.regression import Huber, Quantile
from tenfold.penalties import L2, ElasticNet
from tenfold.plans.glm import first_constant
from tenfold.plans.loss_penalty_table import rescale_penalty
from tenfold.plans.offsets import rescale, takes_offset, without_offset
from tenfold.plans.piecewise_linear import judge_at_kinks
from tenfold.problems import Glm, ScaledHuber
from tenfold.stats.derivatives import Params, forward


class Judged(NamedTuple):
    """The samples of positive weight with an offset taken into targets and weights; the sum of these weights, and that
    over the sum of those given.
    """

    rows: Rows
    weight: float
    factor: float = 1.0


def rows_of(model: Any, X: Any, y: Any, sample_weight: Any, loss: Loss, offset: Any) -> Judged:
    """What a regression is judged on."""
    X, y = validate_like_fit(model, X, y, numeric=True)
    y, weight = as_float(y), validate_weights(sample_weight, X)
    requested = total_weight(y, weight)
    if offset is not None:
        if not takes_offset(loss):
            raise ValueError(f"The loss {loss.name!r} takes no offset.")
        y, weight = without_offset(loss, y, weight, validate_offset(offset, X))
    total = total_weight(y, weight)
    return Judged(as_weighted_rows(X, y, weight), total, total / requested)


def unit_deviance(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Certificate:
    loss = loss_of(model)
    data = rows_of(model, X, y, sample_weight, loss, offset)
    return _judge_model(model, data, loss, L2(float(model.alpha) / data.factor))


def loss_of(model: Any) -> Loss:
    """The deviance of a regression, by the name of its class."""
    name = type(model).__name__
    if name != "TweedieRegressor":
        return Poisson() if name == "PoissonRegressor" else Gamma()
    link = model.link if model.link != "auto" else "identity" if model.power <= 0 else "log"
    return deviance(float(model.power), link)


def link_of(model: Any) -> str | None:
    """The link between scores and predicted means: "log", or none where they are the same."""
    loss = problem_of(model)[0] if type(model).__name__ == "GeneralizedLinear" else loss_of(model)
    return loss.link if loss.link == "log" else None


def _judge_model(model: Any, data: Judged, loss: Any, penalty: Any) -> Certificate:
    """The word of the judge that fits the loss."""
    fitted, dtype = take_params(model, int(model.classes_.shape[0]) if loss.multi_output else 1)
    problem, how = Glm(loss, penalty, bool(model.fit_intercept)), {"status": fit_status(model), "dtype": dtype}
    if loss.multi_output:
        return gap(problem, data.rows, fitted, **how)
    if not loss.convex:
        start = Params(np.zeros((1, data.rows.shape[1])), first_constant(problem, data.rows)[0])
        return rescale(stationarity(problem, data.rows, fitted, start, **how), data.factor)
    judge = judge_at_kinks if loss.nonsmooth else gap
    return rescale(judge(problem, data.rows, fitted, **how), data.factor)


def huber(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Certificate:
    data = rows_of(model, X, y, sample_weight, Huber(1.0), offset)
    fitted, dtype = take_params(model, 1)
    problem = ScaledHuber(float(model.epsilon), strength(model.alpha, data.weight), bool(model.fit_intercept))
    certificate = huber_gap(problem, data.rows, fitted, float(model.scale_), status=fit_status(model), dtype=dtype)
    if not certificate.ok or _marks_outliers(model, X, y, offset):
        return certificate
    return contradict(certificate, OUTLIERS)


OUTLIERS = "outliers_ are not the samples whose error is larger than epsilon times the scale."


def _marks_outliers(model: Any, X: Any, y: Any, offset: Any) -> bool:
    """Whether the samples marked are those of large errors; on the edge, to rounding, either will do."""
    X, y = validate_like_fit(model, X, y, numeric=True)
    y = as_float(y) if offset is None else as_float(y) - validate_offset(offset, X)
    fitted, dtype = take_params(model, 1)
    sizes = Params(np.abs(fitted.coef), np.abs(fitted.intercept))
    unit = max(unit_roundoff(numpy_dtype(part)) for part in (X.dtype, dtype))

    def errors(block: Block) -> Array:
        """How far the error of each sample is beyond the edge, and its rounding."""
        xp = namespace(block.y)
        size = xp.abs(block.y) + forward(abs(block.X), sizes)
        return xp.concat([xp.abs(block.y - forward(block.X, fitted)), size], axis=1)

    beyond, size = np.asarray(on_host(as_rows(X, y, None).map(errors)), dtype=np.float64).T
    beyond, marked = beyond - float(model.scale_) * float(model.epsilon), np.asarray(on_host(model.outliers_))
    if marked.shape != beyond.shape:  # of other samples than those of the fit
        return True
    unsure = np.abs(beyond) <= (X.shape[1] + 8) * unit * size
    return bool(np.all((marked == (beyond > 0.0)) | unsure))


def quantile(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Certificate:
    loss = Quantile(float(model.quantile))
    data = rows_of(model, X, y, sample_weight, loss, offset)
    return _judge_model(model, data, loss, ElasticNet(float(model.alpha)))


def any_loss(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Certificate:
    loss, penalty = problem_of(model)
    if not is_classifier(model):
        data = rows_of(model, X, y, sample_weight, loss, offset)
    else:
        X, y = validate_like_fit(model, X, y, numeric=False)
        check_known_classes(model, y)
        target = class_targets(label_indices(model.classes_, y, X), int(model.classes_.shape[0]))
        data = Judged(as_weighted_rows(X, target, validate_weights(sample_weight, X)), 0.0)
    penalty = rescale_penalty(penalty, 1.0 / data.factor)
    if loss.nonsmooth and isinstance(penalty, L2):
        penalty = ElasticNet(0.0, float(np.max(penalty.strength)))
    return _judge_model(model, data, loss, penalty)


def mean(model: Any, X: Array) -> list[Output | Labels]:
    """The inverse of the link."""
    z, rounding = scores(model, X)
    if link_of(model) != "log":
        return [Output("predict", z, rounding)]
    value = np.exp(z)
    own = 4.0 * unit_roundoff(numpy_dtype(X.dtype))  # of the exponential itself
    return [Output("predict", value, value * (np.expm1(rounding) + own))]
