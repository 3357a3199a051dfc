"""Multi-layer perceptrons: what further steps on all samples gain."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from tenfold.arrays import Array, Floats, contiguous, is_numpy, is_sparse, on_host, unit_roundoff, wide
from tenfold.certification.models import INCONSISTENT, contradict, fit_status, validate_like_fit
from tenfold.certification.outputs import Labels, Output
from tenfold.data import MemoryRows
from tenfold.estimators.class_labels import compute_class_weights, label_indices, sample_factors, unknown_classes
from tenfold.estimators.validation import as_rows, drop_zero_weights, validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.judge.network import judge_network
from tenfold.objectives.network import HIDDEN, Layer, Network


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validate_like_fit(model, X, y, numeric=False)
    weight = validate_weights(sample_weight, X)
    classes = on_host(model.classes_)
    if y.ndim == 2:
        if type_of_target(on_host(y)) != "multilabel-indicator":
            raise ValueError("Several labels must be a matrix of zeros and ones.")
        targets, output = on_host(y).astype(np.float64), "logistic"
        if not np.array_equal(classes, np.arange(targets.shape[1])):
            raise ValueError(f"The model knows the labels {classes}, and y has {targets.shape[1]}.")
    else:
        unknown = unknown_classes(model.classes_, y)
        if unknown.size:
            raise ValueError(f"y holds classes that the model does not know: {unknown}; it knows {classes}.")
        if not np.array_equal(classes, np.unique(classes)):
            raise ValueError("The classes must be sorted, each once.")
        number = on_host(label_indices(model.classes_, y, X))
        columns = np.array([1]) if len(classes) == 2 else np.arange(len(classes))
        targets, output = (number[:, None] == columns).astype(np.float64), "logistic"
        output = "softmax" if len(classes) > 2 else "logistic"
        if getattr(model, "class_weight", None) is not None:
            host = None if weight is None else on_host(weight)
            factors = compute_class_weights(model.class_weight, classes, number, host)
            factor = sample_factors(factors, number)
            weight = factor if weight is None else on_host(weight) * factor
    return _judge(model, X, targets, weight, output)


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validate_like_fit(model, X, y, numeric=True)
    targets = wide(y)
    if model.loss == "poisson" and np.any(targets < 0):
        raise ValueError("The Poisson loss needs targets of at least zero.")
    output = "exp" if model.loss == "poisson" else "identity"
    return _judge(
        model, X, targets[:, None] if targets.ndim == 1 else targets, validate_weights(sample_weight, X), output
    )


def _judge(model: Any, X: Array, targets: Floats, weight: Array | None, output: str) -> Certificate:
    layers = _layers(model)
    units = (int(X.shape[1]), *(int(layer.biases.shape[0]) for layer in layers))
    network = Network(units, model.activation, output)
    complaint = _contradiction(model, layers, targets.shape[1], output)
    if is_numpy(X) or is_sparse(X):
        X, targets, weight = drop_zero_weights(X, targets, weight)
    rows = as_rows(contiguous(X) if is_numpy(X) else X, targets, weight)
    if complaint:
        empty = Certificate("stationarity", np.inf, 1.0, 0.0, 0.0, np.inf, status=INCONSISTENT, _variant="network")
        return contradict(empty, complaint)
    if isinstance(rows, MemoryRows) and not rows.on_device and rows.X.dtype == np.float32:
        rows = as_rows(rows.X.astype(np.float64), targets, weight)
    return judge_network(network, rows, float(model.alpha), network.join(layers), status=fit_status(model))


def _layers(model: Any) -> list[Layer]:
    return [Layer(wide(w), wide(b)) for w, b in zip(model.coefs_, model.intercepts_, strict=True)]


def _contradiction(model: Any, layers: list[Layer], outputs: int, output: str) -> str:
    """What of a model contradicts its layers; "" where nothing does."""
    count = int(model.n_features_in_)
    for layer in layers:
        if layer.weights.shape != (count, *layer.biases.shape):
            return "The shapes of the layers do not belong together."
        count = int(layer.biases.shape[0])
    if model.activation not in HIDDEN or model.out_activation_ != output:
        return f"The function of the outputs must be {output!r}."
    if model.n_layers_ != len(layers) + 1 or model.n_outputs_ != outputs or count != outputs:
        return "The numbers of layers and outputs are not those of the fitted arrays."
    return ""


def classes(model: Any, X: Array) -> list[Output | Labels]:
    p, rounding = _outputs(model, X)
    known = on_host(model.classes_)
    if p.shape[1] == 1:
        p = np.column_stack([1.0 - p, p])
    elif model.out_activation_ == "logistic":
        return [Output("predict_proba", p, rounding)]
    with np.errstate(divide="ignore"):
        # a logarithm is told as well as the probability is
        log = np.log(p)
    log_rounding = np.where(p > 0.0, rounding / np.maximum(p, 1e-300), np.inf)
    return [
        Labels("predict", p, known, 2.0 * rounding),
        Output("predict_proba", p, rounding),
        Output("predict_log_proba", log, np.minimum(log_rounding, 1e3)),
    ]


def numbers(model: Any, X: Array) -> list[Output | Labels]:
    z, rounding = _outputs(model, X)
    return [Output("predict", z[:, 0] if z.shape[1] == 1 else z, rounding[:, 0] if z.shape[1] == 1 else rounding)]


def _outputs(model: Any, X: Array) -> tuple[Floats, Floats]:
    """The outputs in float64, and a bound on the rounding of the model's own."""
    layers = _layers(model)
    network = Network(
        (int(layers[0].weights.shape[0]), *(int(layer.biases.shape[0]) for layer in layers)),
        model.activation,
        model.out_activation_,
    )
    X = X if is_sparse(X) else np.asarray(X, dtype=np.float64)
    values = network.forward(X, layers)
    size = np.abs(X).toarray() if is_sparse(X) else np.abs(X)
    for layer in layers:  # every hidden function is 1-Lipschitz, and is at most one or its argument
        size = size @ np.abs(layer.weights) + np.abs(layer.biases)
    roundoff = max(unit_roundoff(on_host(part).dtype) for part in (*model.coefs_, *model.intercepts_))
    roundoff = max(roundoff, unit_roundoff(X.dtype))
    terms = sum(layer.weights.shape[0] + 8.0 for layer in layers)
    outputs = network.outputs(values.raw)
    slope = np.maximum(outputs, 1.0) if network.output == "exp" else 1.0
    total = np.max(size, axis=1, keepdims=True) if network.output == "softmax" else size
    return outputs, terms * roundoff * (total + 1.0) * slope
