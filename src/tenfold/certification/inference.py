"""Inference about fitted models from outside: the rows come from the data given, and must be those of the fit."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, is_dask, is_foreign
from tenfold.certification.glm import loss_of
from tenfold.certification.logistic import chosen
from tenfold.certification.models import known, params, validated
from tenfold.data import Rows
from tenfold.estimators.classes import encoded, numbered, targets
from tenfold.estimators.contract import as_rows, validate_weights
from tenfold.estimators.glm.deviance import as_float
from tenfold.estimators.glm.offset import validate_offset, with_offset
from tenfold.estimators.inferred import coefficient_names, refusal
from tenfold.estimators.logistic.regression import CLASS_WEIGHTS
from tenfold.inference import COVARIANCES, LikelihoodInference
from tenfold.judge.certificate import Certificate
from tenfold.losses import Logistic, Loss, Softmax, Square
from tenfold.plans.generalised import is_free
from tenfold.plans.likelihood import infer


class Maximised(NamedTuple):
    """What a model has maximised the likelihood of, or why it has not."""

    loss: Loss
    penalised: bool
    refused: str = ""


def maximised(model: Any) -> Maximised | None:
    """By the name of the class; None for a class that is not one of maximum likelihood."""
    name = type(model).__name__
    if name in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor"):
        return Maximised(loss_of(model), model.alpha > 0)
    if name in ("GeneralizedLinear", "GeneralizedLinearClassifier"):
        loss, penalty = model._problem(model.n_features_in_)
        return Maximised(loss, not is_free(penalty, model.n_features_in_))
    if name == "LogisticRegression":
        loss = Logistic() if int(model.classes_.shape[0]) == 2 else Softmax()
        return Maximised(loss, np.isfinite(chosen(model).C), "" if model.class_weight is None else CLASS_WEIGHTS)
    if name == "LinearRegression":
        constrained = "The weights are constrained: classical standard errors do not hold. Use the bootstrap."
        return Maximised(Square(), False, constrained if model.positive else "")
    return None


def inference_of(
    model: Any, X: Any, y: Any, sample_weight: Any, covariance: str, groups: Any, offset: Any, certificate: Certificate
) -> LikelihoodInference:
    """See `tenfold.infer`; `certificate` is that of the model on these rows."""
    check_is_fitted(model)
    found = maximised(model)
    assert found is not None
    reason = found.refused or refusal(certificate, found.penalised) or _unclear(model, sample_weight, covariance)
    if reason:
        raise ValueError(reason)
    rows = _rows(model, X, y, sample_weight, offset)
    if groups is not None:
        rows = rows.grouped(_numbers(groups, rows.shape[0]))
    fitted = params(model, int(model.coef_.shape[0]) if len(model.coef_.shape) > 1 else 1)[0]
    answer = infer(rows, found.loss, fitted, bool(model.fit_intercept), coefficient_names(model), covariance)
    if isinstance(answer, str):
        raise ValueError(answer)
    return answer


def _unclear(model: Any, sample_weight: Any, covariance: str) -> str:
    """What is not to be asked of least squares here."""
    if type(model).__name__ != "LinearRegression":
        return ""
    if covariance == "nonrobust":
        return "LinearRegression has its classical inference, by Student's t: model.inference_."
    if len(model.coef_.shape) > 1:
        return "Robust inference is for one target: fit each by itself."
    if sample_weight is not None:
        return (
            "Weights of LinearRegression say how exact a row is, here they count rows: use GeneralizedLinear('square', "
            "None)."
        )
    return ""


def _rows(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any) -> Rows:
    """All rows with their targets, the offset beside them; a weight is how often a row is there."""
    classes = is_classifier(model)
    X, y = validated(model, X, y, numeric=not classes)
    weight = validate_weights(sample_weight, X)
    if not classes:
        return as_rows(X, with_offset(as_float(y), validate_offset(offset, X)), weight)
    known(model, y)
    return as_rows(X, targets(numbered(model.classes_, y, X), int(model.classes_.shape[0])), weight)


def _numbers(groups: Any, n: int) -> Array:
    """A number for each row's group."""
    labels = groups if is_foreign(groups) or is_dask(groups) else np.asarray(groups)
    if tuple(labels.shape) != (n,):
        raise ValueError(f"groups must have one label a row, shape {(n,)}, got shape {tuple(labels.shape)}.")
    if isinstance(labels, np.ndarray):  # any values: groups need not be classes
        return np.unique(labels, return_inverse=True)[1].astype(np.int32)
    return encoded(labels, labels)[1]


def check_asked(covariance: Any, groups: Any) -> None:
    """Refuse what does not go together."""
    if covariance not in COVARIANCES:
        raise ValueError(f"covariance must be one of {', '.join(COVARIANCES)}; got {covariance!r}.")
    if (groups is None) is (covariance == "cluster"):
        raise ValueError("groups, one label a row, go with covariance='cluster', and with no other.")
