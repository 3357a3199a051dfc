"""Certification of naive Bayes and discriminants: their samples, and expected outputs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, is_sparse, numpy_dtype, on_host, unit_roundoff
from tenfold.certification.models import check_known_classes, validate_like_fit
from tenfold.certification.outputs import Expect, Labels, Output, products
from tenfold.data import Rows
from tenfold.estimators.class_labels import label_indices
from tenfold.estimators.class_statistics import as_class_rows
from tenfold.estimators.discriminant.centroid import NearestCentroid
from tenfold.estimators.validation import validate_weights
from tenfold.losses.classification import Softmax


def rows_of_classes(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Rows with class indices, validated as by the model's `fit`."""
    X, number = class_indices(model, X, y)
    return as_class_rows(X, number, validate_weights(sample_weight, X))


def class_indices(model: Any, X: Any, y: Any) -> tuple[Array, Array]:
    """X and the class indices, validated as by the model's `fit`."""
    X, y = validate_like_fit(model, X, y, numeric=False)
    check_known_classes(model, y)
    check_classes(model)
    return X, label_indices(model.classes_, y, X)


def check_classes(model: Any) -> None:
    """Raise where the classes of the model are not sorted, as class indices require."""
    classes = on_host(model.classes_)
    if not np.array_equal(classes, np.unique(classes)):
        raise ValueError(f"The classes of the model are not in order: {classes}.")


Scores = tuple[Floats, Floats]
"""Scores (n, k) in float64, and a bound (n, k) on the rounding of the model's own arithmetic."""


def _wide(values: Any) -> Floats:
    return np.asarray(on_host(values), dtype=np.float64)


def _dense(X: Array) -> Floats:
    return np.asarray(X.toarray() if is_sparse(X) else on_host(X), dtype=np.float64)


def _with_rounding(z: Floats, terms: Floats, X: Array, p: int) -> Scores:
    """Scores with the rounding of sums whose absolute terms add up to `terms`."""
    return z, (p + 16.0) * unit_roundoff(numpy_dtype(X.dtype)) * (terms + np.abs(np.where(np.isfinite(z), z, 0.0)))


def _log(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(values)


def _gaussian(model: Any, X: Array) -> Scores:
    mean, variance, prior = map(_wide, (model.theta_, model.var_, model.class_prior_))
    away = (_dense(X)[:, None, :] - mean) ** 2 / variance
    logs = np.log(2.0 * np.pi * variance)
    # rounding of the differences
    lengths = np.sqrt(away) * (np.abs(_dense(X))[:, None, :] + np.abs(mean)) / np.sqrt(variance)
    terms = np.sum(away + lengths, axis=2) + np.sum(np.abs(logs), axis=1) + 1.0
    return _with_rounding(_log(prior) - 0.5 * np.sum(logs + away, axis=2), terms, X, X.shape[1])


def _linear(coef: Floats, intercept: Floats, X: Array) -> Scores:
    """x'w + b, where 0 * -inf is 0."""
    never, none = np.isneginf(coef), np.isneginf(intercept)
    z, rounding = products(X, np.where(never, 0.0, coef), np.where(none, 0.0, intercept))
    barred = (_dense(X) != 0.0).astype(np.float64) @ never.T.astype(np.float64) > 0.0
    return np.where(barred | none, -np.inf, z), rounding


def _multinomial(model: Any, X: Array) -> Scores:
    return _linear(model.feature_log_prob_, model.class_log_prior_, X)


def _complement(model: Any, X: Array) -> Scores:
    prior = model.class_log_prior_ if len(model.classes_) == 1 else np.zeros(len(model.classes_))
    return _linear(model.feature_log_prob_, prior, X)


def _bernoulli(model: Any, X: Array) -> Scores:
    on = model.feature_log_prob_
    with np.errstate(divide="ignore"):
        off = np.log1p(-np.exp(np.minimum(on, 0.0)))
    marks = _dense(X) if model.binarize is None else (_dense(X) > model.binarize).astype(np.float64)
    z, rounding = _linear(on, model.class_log_prior_, marks)
    if getattr(model, "presence_only", False):
        return z, rounding
    more, also = _linear(off, np.zeros(len(off)), 1.0 - marks)
    # the relative error of log(1 - p) for p near one
    unsure = np.max(np.where(np.isfinite(off), np.exp(-off), 0.0), axis=1) * unit_roundoff(np.float64) * X.shape[1]
    size = np.sum(np.abs(np.where(np.isfinite(off), off, 0.0)), axis=1)
    return z + more, rounding + also + unsure + (X.shape[1] + 8.0) * unit_roundoff(np.float64) * size


def _table_scores(log_p: Any, log_prior: Floats, X: Floats) -> Floats:
    """log prior + sum_j log p_j[x_j] over the values that are not missing."""
    z = np.tile(log_prior, (len(X), 1))
    for table, column in zip(log_p, X.T, strict=True):
        there = ~np.isnan(column)
        z[there] += table[:, column[there].astype(np.intp)].T
    return z


def _categorical(model: Any, X: Array) -> Scores:
    z = _table_scores(model.feature_log_prob_, model.class_log_prior_, _dense(X))
    return _with_rounding(z, np.abs(np.where(np.isfinite(z), z, 0.0)), np.zeros(0), X.shape[1])


def _heterogeneous(model: Any, X: Array) -> Scores:
    X, kinds = _dense(X), model.kinds
    kinds = [kinds] * X.shape[1] if isinstance(kinds, str) else list(kinds)
    numeric, binary, tables = (
        [j for j, kind in enumerate(kinds) if kind == one] for one in ("gaussian", "bernoulli", "categorical")
    )
    z = _table_scores(model.category_log_prob_, model.class_log_prior_, X[:, tables])
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.log1p(-np.exp(np.minimum(model.mark_log_prob_, 0.0)))
        values = X[:, binary][:, None, :]
        z += np.sum(np.where(np.isnan(values), 0.0, np.where(values > 0.0, model.mark_log_prob_, off)), axis=2)
        values = X[:, numeric][:, None, :]
        away = (values - model.theta_) ** 2 / model.var_
        logs = -0.5 * (np.log(2.0 * np.pi * model.var_) + away)
    terms = np.sum(np.where(np.isnan(values), 0.0, np.abs(logs) + away + np.abs(values) / np.sqrt(model.var_)), axis=2)
    return _with_rounding(z + np.sum(np.where(np.isnan(values), 0.0, logs), axis=2), 1.0 + 2.0 * terms, X, X.shape[1])


def _lengths(X: Floats, mean: Floats, factors: Floats) -> tuple[Floats, Floats]:
    """||(x - m_c) A_c||^2 (n, k), and the sums of its absolute terms."""
    lengths, terms = np.empty((2, len(X), len(mean)))
    for c, (m, A) in enumerate(zip(mean, factors, strict=True)):
        values = (X - m) @ A
        size = (np.abs(X) + np.abs(m)) @ np.abs(A)
        lengths[:, c], terms[:, c] = np.sum(values**2, axis=1), np.sum(np.abs(values) * size, axis=1)
    return lengths, terms


def _quadratic(model: Any, X: Array) -> Scores:
    pairs = [(_wide(s), _wide(R)) for s, R in zip(model.scalings_, model.rotations_, strict=True)]
    length, terms = _lengths(_dense(X), _wide(model.means_), np.array([R / np.sqrt(s) for s, R in pairs]))
    logs = np.array([np.sum(np.log(s)) for s, _ in pairs])
    return _with_rounding(_log(_wide(model.priors_)) - 0.5 * (length + logs), terms + np.abs(logs) + 1.0, X, X.shape[1])


def _plug_in(model: Any, X: Array) -> Scores:
    mean, S = _wide(model.means_), _wide(model.covariance_)
    each = np.broadcast_to(S, (len(mean), *S.shape[-2:]))
    values, axes = np.linalg.eigh(each)
    length, terms = _lengths(_dense(X), mean, axes / np.sqrt(values)[:, None, :])
    logs = np.sum(np.log(values), axis=1)
    condition = float(np.max(values[:, -1] / values[:, 0]))
    z, rounding = _with_rounding(
        _log(_wide(model.priors_)) - 0.5 * (length + logs), terms + np.abs(logs) + 1.0, X, X.shape[1]
    )
    return z, rounding + 16.0 * X.shape[1] * unit_roundoff(np.float64) * condition * (length + 1.0)


def _density_scores(model: Any, X: Array) -> Scores:
    X = _dense(X)
    logs = [np.asarray(getattr(one, "logpdf", one)(X), dtype=np.float64) for one in model.densities]
    z = np.stack([values.reshape(len(X)) for values in logs], axis=1) + _log(_wide(model.priors_))
    return z, 1e-12 * (1.0 + np.abs(np.where(np.isfinite(z), z, 0.0)))


def _centroids(model: Any, X: Array, unit: Floats | None = None) -> Scores:
    centres, X_ = _wide(model.centroids_), _dense(X)
    spread = _wide(model.within_class_std_dev_)
    unit = np.where(spread == 0.0, 1.0, spread) if unit is None else unit
    offset = 2.0 * _log(_wide(model.class_prior_))
    if model.metric == "mahalanobis":
        length, terms = _lengths(X_, centres, np.broadcast_to(model.whitener_, (len(centres), *model.whitener_.shape)))
    else:
        away = np.abs(X_[:, None, :] - centres) / unit
        sizes = ((np.abs(X_)[:, None, :] + np.abs(centres)) / unit) ** 2  # of (x - m)^2 as three products
        length = np.sum(away, axis=2) ** 2 if model.metric == "manhattan" else np.sum(away**2, axis=2)
        terms = np.sum(sizes, axis=2) * (X.shape[1] if model.metric == "manhattan" else 1.0)
    return _with_rounding(offset - length, terms + np.abs(np.where(np.isfinite(offset), offset, 0.0)), X, X.shape[1])


def _linear_discriminant(model: Any, X: Array) -> Scores:
    coef, intercept = np.atleast_2d(_wide(model.coef_)), np.ravel(_wide(model.intercept_))
    if len(coef) < len(model.classes_):  # two classes: the first has the score zero
        coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
    return _linear(coef, intercept, X)


def directions(model: Any, X: Array) -> list[Output | Labels]:
    """Expected outputs of linear discriminants: scores and projections."""
    outputs = _expect(_linear_discriminant, odds=True)(model, X)
    if model.solver != "lsqr":
        V = _wide(model.scalings_)
        V = V[:, : min(len(model.classes_) - 1, len(V)) if model.n_components is None else model.n_components]
        shift = _wide(model.xbar_) if model.solver == "svd" else np.zeros(len(V))
        size = (np.abs(_dense(X)) + np.abs(shift)) @ np.abs(V)
        outputs.append(Output("transform", *_with_rounding((_dense(X) - shift) @ V, size, X, X.shape[1])))
    return outputs


def _probabilities(z: Floats, rounding: Floats) -> Output:
    """The softmax of the scores."""
    spread = 2.0 * np.max(rounding, axis=1, keepdims=True) + 1e-14
    return Output("predict_proba", Softmax().probabilities(z), np.minimum(np.expm1(spread), 1.0))


def _in_precision_of(output: Output, X: Array) -> Output:
    """The output with the rounding to the precision of X."""
    u = unit_roundoff(numpy_dtype(X.dtype))
    return output._replace(rounding=output.rounding + 4.0 * u * (1.0 + np.abs(np.nan_to_num(output.value))))


def _label_output(model: Any, z: Floats, rounding: Floats) -> Labels:
    """Labels by the largest score; for two classes with the threshold of the model."""
    threshold = float(getattr(model, "threshold", 0.0))
    z = z - np.array([0.0, threshold]) if z.shape[1] == 2 and threshold else z
    return Labels("predict", z, on_host(model.classes_), 2.0 * np.max(rounding, axis=1))


def _expect(scores: Callable[[Any, Array], Scores], *, odds: bool) -> Expect:
    """Expected labels and probabilities; with `odds` also the decision function."""

    def expect(model: Any, X: Array) -> list[Output | Labels]:
        z, rounding = scores(model, X)
        if np.isnan(z).any() or not np.isfinite(np.max(z, axis=1)).all():  # all classes have probability zero
            return []
        outputs: list[Output | Labels] = [
            _label_output(model, z, rounding),
            _in_precision_of(_probabilities(z, rounding), X),
        ]
        if odds:
            two = z.shape[1] == 2
            with np.errstate(invalid="ignore"):
                value = z[:, 1:] - z[:, :1] if two else z
            more = np.sum(rounding, axis=1, keepdims=True) if two else rounding
            outputs.append(_in_precision_of(Output("decision_function", value, more), X))
        return outputs

    return expect


def centroids(model: Any, X: Array) -> list[Output | Labels]:
    """Expected outputs of nearest centroids: labels by distance, or by scores where priors are unequal."""
    priors = _wide(model.class_prior_)
    if model.metric == "mahalanobis" or not np.isclose(priors, 1.0 / len(priors)).all():
        z, rounding = _centroids(model, X)
    else:
        z, rounding = _centroids(model, X, np.ones(X.shape[1]))
    if model.metric == "manhattan" or (is_sparse(X) and not isinstance(model, NearestCentroid)):
        return [_label_output(model, z, rounding)]
    return [_label_output(model, z, rounding), *_expect(_centroids, odds=True)(model, X)[1:]]


bayes_classifier = _expect(_density_scores, odds=True)
bernoulli = _expect(_bernoulli, odds=False)
categorical = _expect(_categorical, odds=False)
complement = _expect(_complement, odds=False)
gaussian = _expect(_gaussian, odds=False)
plug_in = _expect(_plug_in, odds=True)
heterogeneous = _expect(_heterogeneous, odds=False)
multinomial = _expect(_multinomial, odds=False)
quadratic = _expect(_quadratic, odds=True)
"""Expected outputs of the estimators of these names."""
