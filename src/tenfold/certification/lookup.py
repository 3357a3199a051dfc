"""Certification of lookup tables and interpolation, by counting again."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, unit_roundoff
from tenfold.certification.models import check_known_classes, contradict, validate_like_fit
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.class_labels import label_indices
from tenfold.estimators.validation import validate_weights
from tenfold.judge import lookup as judge
from tenfold.judge.certificate import Certificate
from tenfold.judge.recompute import exact


def _weights(X: Array, sample_weight: Any) -> Floats:
    weight = validate_weights(sample_weight, X)
    return np.ones(len(X)) if weight is None else np.asarray(weight)


def table(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validate_like_fit(model, X, y, numeric=False)
    check_known_classes(model, y)
    number, mass = label_indices(model.classes_, y, X), _weights(X, sample_weight)
    samples, numbers = np.asarray(model.samples_, dtype=np.float64), np.asarray(model.numbers_)
    shaped = samples.shape == (len(numbers), X.shape[1])
    certificate = judge.majority(np.asarray(X, dtype=np.float64), number, mass, samples, numbers) if shaped else None
    if certificate is None:
        return exact({"samples_": (np.full(1, np.inf), np.zeros(1), 1.0)}, floor=0.0)
    votes = np.bincount(number, mass, len(model.classes_))
    expected = model.classes_[int(np.argmax(votes))] if model.default is None else model.default
    return certificate if model.default_ == expected else contradict(certificate, "default_ is not the default class.")


def table_outputs(model: Any, X: Array) -> list[Output | Labels]:
    """The class of an equal sample, looked up in a dictionary."""
    known = {
        tuple(x): int(k) for x, k in zip(np.asarray(model.samples_, np.float64).tolist(), model.numbers_, strict=True)
    }
    labels = list(dict.fromkeys([*model.classes_.tolist(), model.default_]))
    scores = np.zeros((len(X), len(labels)))
    for i, x in enumerate((np.asarray(X, dtype=np.float64) + 0.0).tolist()):
        k = known.get(tuple(x))
        scores[i, labels.index(model.default_ if k is None else model.classes_.tolist()[k])] = 1.0
    return [Labels("predict", scores, np.array(labels), 0.0 * scores[:, :1])]


def interpolation(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validate_like_fit(model, X, y, numeric=True)
    x, targets = np.asarray(X, dtype=np.float64)[:, model.feature], np.asarray(y, dtype=np.float64)
    return judge.averages(x, targets, _weights(X, sample_weight), np.asarray(model.x_), np.asarray(model.y_))


def interpolation_outputs(model: Any, X: Array) -> list[Output | Labels]:
    """The line by its two ends."""
    x, places, values = np.asarray(X[:, model.feature], dtype=np.float64), np.asarray(model.x_), np.asarray(model.y_)
    right = np.clip(np.searchsorted(places, x), 1, max(1, len(places) - 1))
    left = right - 1
    right = np.minimum(right, len(places) - 1)
    width = np.where(places[right] > places[left], places[right] - places[left], 1.0)
    part = np.clip((x - places[left]) / width, 0.0, 1.0)
    value = (1.0 - part) * values[left] + part * values[right]
    size = (
        16.0
        * unit_roundoff(X.dtype)
        * (np.abs(values).max() + 1e-300)
        * (1.0 + (np.abs(x) + np.abs(places).max()) / width)
    )
    return [Output("predict", value, size)]
