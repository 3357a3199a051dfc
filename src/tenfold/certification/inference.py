"""Inference about fitted models from given data, which must be those of the fit."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, is_array_api, is_dask
from tenfold.certification import certify, find_registration, samples_before
from tenfold.certification.glm import loss_of
from tenfold.certification.logistic import read_choice
from tenfold.certification.models import check_known_classes, is_pipeline, take_params, validate_like_fit
from tenfold.data import Rows
from tenfold.estimators.class_labels import class_targets, encode_labels, label_indices
from tenfold.estimators.glm.deviance import as_float
from tenfold.estimators.glm.generalized_linear import problem_of
from tenfold.estimators.glm.offset import validate_offset, with_offset
from tenfold.estimators.inference_mixin import coefficient_names, inference_obstacle
from tenfold.estimators.logistic.regression import CLASS_WEIGHTS
from tenfold.estimators.validation import as_rows, validate_weights
from tenfold.inference import COVARIANCES, LikelihoodInference
from tenfold.judge.certificate import Certificate
from tenfold.losses.classification import Logistic, Softmax
from tenfold.losses.loss import Loss
from tenfold.losses.regression import Square
from tenfold.plans.glm_inference import infer as infer_likelihood
from tenfold.plans.loss_penalty_table import is_free


class Maximised(NamedTuple):
    """What a model has maximised the likelihood of, or why it has not."""

    loss: Loss
    penalised: bool
    rejection: str = ""


def likelihood_of(model: Any) -> Maximised | None:
    """By the name of the class; None for a class that is not one of maximum likelihood."""
    name = type(model).__name__
    if name in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor"):
        return Maximised(loss_of(model), model.alpha > 0)
    if name in ("GeneralizedLinear", "GeneralizedLinearClassifier"):
        loss, penalty = problem_of(model)
        return Maximised(loss, not is_free(penalty, model.n_features_in_))
    if name == "LogisticRegression":
        loss = Logistic() if int(model.classes_.shape[0]) == 2 else Softmax()
        return Maximised(loss, np.isfinite(read_choice(model).C), "" if model.class_weight is None else CLASS_WEIGHTS)
    if name == "LinearRegression":
        constrained = "The weights are constrained: classical standard errors do not hold. Use the bootstrap."
        return Maximised(Square(), False, constrained if model.positive else "")
    return None


def infer(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    covariance: str = "HC3",
    groups: Any = None,
    offset: Any = None,
) -> LikelihoodInference:
    """Standard errors, test statistics, p values and intervals of a model fitted by maximum likelihood, also where only
    its mean is right.

    Parameters
    ----------
    model : a fitted estimator
        LogisticRegression of any number of classes, PoissonRegressor, GammaRegressor or TweedieRegressor, of tenfold or
        of scikit-learn; GeneralizedLinear or GeneralizedLinearClassifier with a loss that is a likelihood;
        LinearRegression; or a Pipeline that ends in one. Without a penalty.
    X : array-like, sparse matrix, table, Dask collection, or an array on a device, of shape (n_samples, n_features)
        The samples of the fit. The fit is judged on them first: on other samples its coefficients maximise nothing.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        The targets, as `fit` takes them; None where there are none, or a table brings its own.
    sample_weight : float or array-like of shape (n_samples,), default=None
        How often each sample is there; None for once.
    covariance : {"nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="HC3"
        "nonrobust" where the distribution is right, as in the model's `inference_`; HC0 to HC3 where samples are
        independent; "cluster" where samples of one group depend on each other. Formulas are in the documentation.
    groups : array-like of shape (n_samples,), default=None
        The group of each sample, for "cluster".
    offset : array-like of shape (n_samples,), default=None
        The known part of the raw predictions, for models that were fitted with one.

    Returns
    -------
    LikelihoodInference
        Printed, it is the table of `summary`.

    Raises
    ------
    ValueError
        With the reason where there is no such inference: weights that are penalised or not optimal, classes that can be
        separated, columns that are collinear, fewer samples than coefficients.

    Notes
    -----
    The judge's passes over the samples, one for the information, and one for a robust covariance; memory k x k for k
    coefficients, and k numbers a group. Rows may be wherever the estimator reads them.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PoissonRegressor, infer
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(500, 2)
    >>> y = rng.negative_binomial(1, 1 / (1 + np.exp(X[:, 0])))  # more spread than counts of Poisson have
    >>> model = PoissonRegressor(alpha=0).fit(X, y)
    >>> model.inference_.standard_errors.round(3)
    array([0.047, 0.037, 0.035])
    >>> infer(model, X, y, covariance="HC3").standard_errors.round(3)
    array([0.064, 0.077, 0.059])
    """
    _check_arguments(covariance, groups)
    if is_pipeline(model):
        return infer(
            model[-1], samples_before(model, X), y, sample_weight, covariance=covariance, groups=groups, offset=offset
        )
    check_is_fitted(model)
    if find_registration(type(model)) is None or likelihood_of(model) is None:
        raise TypeError(
            f"infer knows nothing of {type(model).__module__}.{type(model).__qualname__}: it is for models of maximum "
            "likelihood, LinearRegression, LogisticRegression, PoissonRegressor, GammaRegressor, TweedieRegressor, "
            "GeneralizedLinear and GeneralizedLinearClassifier."
        )
    certificate = certify(model, X, y, sample_weight, offset=offset)
    return _inference_of(model, X, y, sample_weight, covariance, groups, offset, certificate)


def _inference_of(
    model: Any, X: Any, y: Any, sample_weight: Any, covariance: str, groups: Any, offset: Any, certificate: Certificate
) -> LikelihoodInference:
    """See `infer`; `certificate` is that of the model on these samples."""
    check_is_fitted(model)
    model_likelihood = likelihood_of(model)
    assert model_likelihood is not None
    reason = (
        model_likelihood.rejection
        or inference_obstacle(certificate, model_likelihood.penalised)
        or _unclear(model, sample_weight, covariance)
    )
    if reason:
        raise ValueError(reason)
    rows = _rows(model, X, y, sample_weight, offset)
    if groups is not None:
        rows = rows.regroup(_numbers(groups, rows.shape[0]))
    fitted = take_params(model, int(model.coef_.shape[0]) if len(model.coef_.shape) > 1 else 1)[0]
    answer = infer_likelihood(
        rows, model_likelihood.loss, fitted, bool(model.fit_intercept), coefficient_names(model), covariance
    )
    if isinstance(answer, str):
        raise ValueError(answer)
    return answer


def _unclear(model: Any, sample_weight: Any, covariance: str) -> str:
    """The reason why least squares has no such inference here, or ""."""
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
    """All samples with their targets, the offset beside them; a weight is the number of repetitions of a sample."""
    classes = is_classifier(model)
    X, y = validate_like_fit(model, X, y, numeric=not classes)
    weight = validate_weights(sample_weight, X)
    if not classes:
        return as_rows(X, with_offset(as_float(y), validate_offset(offset, X)), weight)
    check_known_classes(model, y)
    return as_rows(X, class_targets(label_indices(model.classes_, y, X), int(model.classes_.shape[0])), weight)


def _numbers(groups: Any, n: int) -> Array:
    """The group number of each sample."""
    labels = groups if is_array_api(groups) or is_dask(groups) else np.asarray(groups)
    if tuple(labels.shape) != (n,):
        raise ValueError(f"groups must have one label a row, shape {(n,)}, got shape {tuple(labels.shape)}.")
    if isinstance(labels, np.ndarray):  # any values: groups need not be classes
        return np.unique(labels, return_inverse=True)[1].astype(np.int32)
    return encode_labels(labels, labels)[1]


def _check_arguments(covariance: Any, groups: Any) -> None:
    """Refuse what does not go together."""
    if covariance not in COVARIANCES:
        raise ValueError(f"covariance must be one of {', '.join(COVARIANCES)}; got {covariance!r}.")
    if (groups is None) is (covariance == "cluster"):
        raise ValueError("groups, one label a row, go with covariance='cluster', and with no other.")
