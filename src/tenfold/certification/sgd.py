"""The delta rule: the duality gap of what its steps go down on, for convex losses."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import validate_data

from tenfold.arrays import FLOATS, Array, Floats, contiguous
from tenfold.certification.models import check_known_classes, take_params, validate_like_fit
from tenfold.data import Table
from tenfold.estimators.class_labels import label_indices
from tenfold.estimators.validation import as_rows, drop_zero_weights, sum_duplicates, validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.judge.gap_one_class_svm import one_class_gap
from tenfold.judge.linear_models import gap
from tenfold.losses.classification import Hinge, Logistic, ModifiedHuber, SquaredHinge
from tenfold.losses.loss import Loss
from tenfold.losses.regression import EpsilonInsensitive, Huber, Square, SquaredEpsilonInsensitive
from tenfold.penalties import L2, ElasticNet, Penalty
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params

LOSSES: dict[str, Callable[[float], Loss]] = {
    "hinge": lambda epsilon: Hinge(),
    "log_loss": lambda epsilon: Logistic(),
    "modified_huber": lambda epsilon: ModifiedHuber(),
    "squared_hinge": lambda epsilon: SquaredHinge(),
    "squared_error": lambda epsilon: Square(),
    "huber": Huber,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}

UNJUDGED_LOSSES = {
    "perceptron": "the perceptron loss is zero at zero weights, so that there is nothing to be near to",
    "tanh": "the tanh cost is not convex, and has no dual",
}


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validate_like_fit(model, X, y, numeric=False)
    check_known_classes(model, y)
    weight = validate_weights(sample_weight, X)
    number = label_indices(model.classes_, y, X)
    factors = np.asarray(compute_class_weight(model.class_weight, classes=model.classes_, y=y), dtype=np.float64)
    count = len(model.classes_)
    fitted, dtype = take_params(model, 1 if count == 2 else count)
    # as scikit-learn has it, a class weighs in its own problem only, unless there are two
    owns = [(1, factors[1], factors[0])] if count == 2 else [(k, factors[k], 1.0) for k in range(count)]
    certificates = []
    for place, (own, positive, negative) in enumerate(owns):
        factor = np.where(number == own, positive, negative)
        given = factor if weight is None else weight * factor
        one = Params(fitted.coef[place : place + 1], fitted.intercept[place : place + 1])
        certificates.append(_one(model, X, np.where(number == own, 1.0, -1.0), given, one, dtype))
    worst = max(certificates, key=lambda certificate: certificate.value / certificate.allowed)
    return replace(worst, parts=tuple(certificate.value for certificate in certificates))


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validate_like_fit(model, X, y, numeric=True)
    fitted, dtype = take_params(model, 1)
    return _one(model, X, np.asarray(y, dtype=np.float64), validate_weights(sample_weight, X), fitted, dtype)


def check_threshold(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Whether a weight is smaller than those that are kept."""
    fitted, dtype = take_params(model, 1)
    least = float(getattr(model, "threshold", 0.0))
    smallest = float(np.min(np.abs(fitted.coef[fitted.coef != 0.0]), initial=np.inf))
    # weights are compared in float64, and kept in the precision of the samples
    if smallest >= least * (1.0 - float(np.finfo(dtype).eps)):
        return ""
    return f"A weight of {smallest:.3g} is smaller than the threshold {least:.3g}."


def _one(model: Any, X: Array, y: Floats, weight: Array | None, fitted: Params, dtype: Any) -> Certificate:
    """The gap of one learner: mean over the samples of weighted losses, and the penalty."""
    if model.learning_rate in ("pa1", "pa2"):
        raise TypeError("certify cannot judge passive-aggressive steps: there is no problem that they solve.")
    if model.loss in UNJUDGED_LOSSES:
        raise TypeError(
            f"certify cannot judge {type(model).__name__} with loss={model.loss!r}: {UNJUDGED_LOSSES[model.loss]}."
        )
    X, y, weight, count = _drop_zero_weights(model, X, y, weight)
    # losses are weighed in the mean of all samples; here their mean is by the weights
    scale = count / (float(np.sum(weight)) if weight is not None else count)
    problem = Glm(LOSSES[model.loss](float(model.epsilon)), _penalty(model, scale), bool(model.fit_intercept))
    rows = as_rows(contiguous(X) if isinstance(X, np.ndarray) else X, y, weight)
    return gap(problem, rows, fitted, status=_status(model), dtype=dtype)


def _drop_zero_weights(
    model: Any, X: Array, y: Floats, weight: Array | None
) -> tuple[Array, Floats, Array | None, int]:
    """The samples of positive weight, and the divisor of the losses: scikit-learn steps for the others, too."""
    n = int(X.shape[0])
    if weight is not None and type(model).__module__.startswith("tenfold."):
        n = int(np.count_nonzero(weight))
    return *drop_zero_weights(X, y, weight), n


def _penalty(model: Any, scale: float) -> Penalty:
    alpha = float(model.alpha) * scale
    if model.penalty == "l1":
        return ElasticNet(alpha)
    if model.penalty == "elasticnet":
        return ElasticNet(alpha * model.l1_ratio, alpha * (1.0 - model.l1_ratio))
    return L2(alpha if model.penalty == "l2" else 0.0)


def one_class(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    if not isinstance(X, Table):
        X = sum_duplicates(validate_data(model, X, reset=False, accept_sparse="csr", dtype=list(FLOATS)))
    weight = validate_weights(sample_weight, X)
    coef, dtype = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64)), model.coef_.dtype
    if not model.fit_intercept and np.any(model.offset_):
        raise TypeError("certify cannot judge a model whose offset was given and not fitted.")
    X, ones, weight, count = _drop_zero_weights(model, X, np.ones(X.shape[0]), weight)
    return one_class_gap(
        float(model.nu),
        as_rows(contiguous(X) if isinstance(X, np.ndarray) else X, ones, weight),
        Params(contiguous(coef), 1.0 - np.asarray(model.offset_, dtype=np.float64)),
        intercept=bool(model.fit_intercept),
        count=count,
        status=_status(model),
        dtype=dtype,
    )


def _status(model: Any) -> str:
    return str(getattr(model, "status_", "judged"))


def passive_aggressive(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    raise TypeError(
        f"certify cannot judge {type(model).__name__}: passive-aggressive steps solve no problem of all rows."
    )
