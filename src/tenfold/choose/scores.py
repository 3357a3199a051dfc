"""Scores of many linear classifiers on the same rows."""

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers
from tenfold.losses import Softmax
from tenfold.stats import Params, times

SCORES = ("accuracy", "neg_log_loss")
"""What is known here, by scikit-learn's names."""

MOST_NUMBERS = 1 << 21
"""Raw predictions are made for so many numbers at a time."""

EPS = float(np.finfo(np.float64).eps)
"""scikit-learn takes no probability for smaller, or for nearer to one."""


def scores(name: str, X: Array, number: Integers, weight: Floats | None, params: Floats) -> Floats:
    """The scores (A,) of classifiers with coefficients (A, K, p + 1), the intercepts last, on rows of class `number`:
    the weighted mean of right predictions, or minus that of the log loss. K = 1 for two classes.
    """
    count, K = params.shape[:2]
    few = max(1, MOST_NUMBERS // max(1, X.shape[0] * K))
    found = []
    for first in range(0, count, few):
        some = params[first : first + few].reshape(-1, params.shape[2])
        z = times(X, Params(np.ascontiguousarray(some[:, :-1]), np.ascontiguousarray(some[:, -1])))
        rows = (_right if name == "accuracy" else _minus_losses)(z.reshape(X.shape[0], -1, K), number)
        found.append(np.average(rows, axis=0, weights=weight))
    return np.concatenate(found)


def _right(z: Floats, number: Integers) -> Floats:
    chosen = z[:, :, 0] > 0.0 if z.shape[2] == 1 else np.argmax(z, axis=2)
    return np.asarray(chosen == number[:, None], dtype=np.float64)


def _minus_losses(z: Floats, number: Integers) -> Floats:
    if z.shape[2] == 1:
        second = _core.sigmoid(z.ravel()).reshape(z.shape[:2])
        right = np.where(number[:, None] == 1, second, 1.0 - second)  # digits and all, as scikit-learn has it
    else:
        probabilities = Softmax().probabilities(z.reshape(-1, z.shape[2])).reshape(z.shape)
        right = probabilities[np.arange(len(number)), :, number]
    return np.asarray(np.log(np.minimum(np.maximum(right, EPS), 1.0 - EPS)))
