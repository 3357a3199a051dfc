"""Expected outputs of linear models, from their judged weights and intercepts."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, is_sparse, on_host
from tenfold.certification.outputs import Labels, Output, products
from tenfold.losses.classification import Softmax


def scores(model: Any, X: Array) -> tuple[Floats, Floats]:
    """X w + b (n, t), and its rounding."""
    coef = model.coef_.toarray() if is_sparse(model.coef_) else np.asarray(on_host(model.coef_))
    return products(X, coef.reshape(-1, X.shape[1]), np.ravel(np.asarray(on_host(model.intercept_))))


def regression(model: Any, X: Array) -> list[Output | Labels]:
    return [Output("predict", *scores(model, X))]


def classification(model: Any, X: Array) -> list[Output | Labels]:
    """Expected labels: the sign for two classes, else the largest score."""
    z, rounding = scores(model, X)
    outputs: list[Output | Labels] = [Output("decision_function", z, rounding)]
    if isinstance(model.classes_, list) or np.asarray(model.classes_).ndim != 1 or len(model.classes_) < 2:
        return outputs
    if z.shape[1] == 1 and len(model.classes_) == 2:
        z, rounding = np.column_stack([-z, z]), 2.0 * rounding
    if z.shape[1] != len(model.classes_):  # several labels at a time
        return outputs
    return [*outputs, Labels("predict", z, on_host(model.classes_), 2.0 * np.max(rounding, axis=1))]


def probabilities(model: Any, X: Array) -> list[Output | Labels]:
    """And the softmax of the scores; of two classes the logistic function."""
    z, rounding = scores(model, X)
    spread = 2.0 * np.max(rounding, axis=1, keepdims=True) + 1e-6 * (X.dtype == np.float32) + 1e-14
    both = z if z.shape[1] > 1 else np.column_stack([np.zeros_like(z), z])
    value = Softmax().probabilities(both)
    return [*classification(model, X), Output("predict_proba", value, np.minimum(np.expm1(spread), 1.0))]


def inliers(model: Any, X: Array) -> list[Output | Labels]:
    """One-class: X w - offset."""
    coef = np.asarray(on_host(model.coef_)).reshape(1, -1)
    z, rounding = products(X, coef, -np.ravel(np.asarray(model.offset_)))
    signs = Labels("predict", np.column_stack([-z, z]), np.array([-1, 1]), 2.0 * rounding)
    return [Output("decision_function", z, rounding), signs]
