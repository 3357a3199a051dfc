"""Certification of Bayesian linear regression: precisions, posterior, and predictions with standard deviations."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, on_host
from tenfold.certification.linear_outputs import scores
from tenfold.certification.models import contradict, fit_status, take_params, validate_like_fit
from tenfold.certification.outputs import Labels, Output
from tenfold.data import Rows
from tenfold.estimators.validation import as_rows, validate_weights
from tenfold.judge import evidence as judge
from tenfold.judge.certificate import Certificate
from tenfold.objectives.evidence import Prior
from tenfold.stats.column_moments import Columns

OFFSET_DISTANCE = 1e-6  # of the stored means, in standard deviations of the features


def ridge(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    rows, stored, prior = _take(model, X, y, sample_weight)
    certificate = judge.ridge(rows, stored, prior, bool(model.fit_intercept), status=fit_status(model))
    return _check_offsets(model, rows, certificate)


def relevance(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    rows, stored, prior = _take(model, X, y, sample_weight)
    certificate = judge.relevance(
        rows, stored, prior, bool(model.fit_intercept), float(model.threshold_lambda), status=fit_status(model)
    )
    return _check_offsets(model, rows, certificate)


def _take(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, judge.Stored, Prior]:
    X, y = validate_like_fit(model, X, y, numeric=True)
    params, dtype = take_params(model, 1)
    last = np.ravel(np.asarray(model.scores_, dtype=np.float64))
    stored = judge.Stored(
        params,
        float(on_host(model.alpha_)),
        np.atleast_1d(np.asarray(on_host(model.lambda_), dtype=np.float64)),
        np.asarray(on_host(model.sigma_), dtype=np.float64),
        dtype,
        float(last[-1]) if last.size else None,
    )
    prior = Prior(*(float(value) for value in (model.alpha_1, model.alpha_2, model.lambda_1, model.lambda_2)))
    return as_rows(X, y, validate_weights(sample_weight, X)), stored, prior


def _check_offsets(model: Any, rows: Rows, certificate: Certificate) -> Certificate:
    """Contradict where the centre, from which standard deviations are computed, is not that of the samples."""
    columns = rows.fold(Columns.lift)
    p = columns.features
    expected = columns.mean[:p] if model.fit_intercept else np.zeros(p)
    lengths = columns.lengths(origin=False)[0] / np.sqrt(columns.weight)
    given = np.asarray(on_host(model.X_offset_), dtype=np.float64)
    rounding = 4.0 * np.finfo(np.asarray(on_host(model.X_offset_)).dtype).eps * np.abs(expected)
    if given.shape != expected.shape or np.any(np.abs(given - expected) > OFFSET_DISTANCE * lengths + rounding):
        return contradict(certificate, "X_offset_ are not the means of the features.")
    if not np.array_equal(np.asarray(on_host(model.X_scale_)), np.ones(p)):
        return contradict(certificate, "X_scale_ are not ones.")
    return certificate


def predictions(model: Any, X: Array) -> list[Output | Labels]:
    return [Output("predict", *scores(model, X))]
