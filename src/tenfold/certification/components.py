"""Components: residuals of eigenvectors, what is stored beside them, whether one with a larger value was left out."""

from typing import Any

from sklearn.base import BaseEstimator

from tenfold.certification.models import status
from tenfold.data import Rows
from tenfold.estimators.components.judging import judge_as_they_are, judge_centred
from tenfold.estimators.contract import rows_alone, validate_rows, validate_weights
from tenfold.judge.certificate import Certificate


def about_mean(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return judge_centred(model, _rows(model, X, sample_weight), status=status(model))


def as_they_are(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return judge_as_they_are(model, _rows(model, X, sample_weight), status=status(model))


def _rows(model: Any, X: Any, sample_weight: Any) -> Rows:
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    return rows_alone(X, validate_weights(sample_weight, X))
