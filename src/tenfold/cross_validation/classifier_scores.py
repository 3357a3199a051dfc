"""Scores of many linear classifiers on the same samples."""

import numpy as np
from scipy.stats import rankdata

from tenfold import _core
from tenfold.arrays import EPS, Array, Floats, Integers
from tenfold.losses.classification import Softmax
from tenfold.stats.derivatives import Params, forward

SCORES = ("accuracy", "neg_log_loss")  # by scikit-learn's names
CHUNK_NUMBERS = 1 << 18  # of features and raw predictions at a time: 2 MB stay in the cache


def scores(name: str, X: Array, chosen: Integers, number: Integers, weight: Floats | None, params: Floats) -> Floats:
    """The scores (A,) of classifiers with coefficients (A, K, p + 1), the intercepts last, on chosen samples of class
    `number` (m,): the weighted mean of correct predictions, or minus that of the log loss. K = 1 for two classes.
    """
    count, K, width = params.shape
    flat = params.reshape(-1, width)
    every = Params(np.ascontiguousarray(flat[:, :-1]), np.ascontiguousarray(flat[:, -1]))
    of_rows = _right if name == "accuracy" else _minus_losses
    most = max(1, CHUNK_NUMBERS // (count * K + width))
    sums, total = np.zeros(count), 0.0
    for first in range(0, len(chosen), most):
        part = slice(first, first + most)
        z = forward(X[chosen[part]], every).reshape(-1, count, K)
        w = np.ones(len(z)) if weight is None else weight[part]
        sums += np.einsum("m,ma->a", w, of_rows(z, number[part]))
        total += float(np.sum(w))
    if total == 0.0:
        raise ZeroDivisionError("The weights of the rows that a fold left out sum to zero: there is nothing to score.")
    return np.asarray(sums / total)


def roc_areas(values: Floats, positive: Array) -> Floats:
    """The areas under the ROC curve (A,) of columns of scores (n, A) for samples that are `positive` (n,) or not.

    By the ranks of the positive samples, equal scores at their mean (Mann and Whitney): a sort for each column, where
    scikit-learn's scorer checks its input again for each.
    """
    ranks = rankdata(values, axis=0)
    good = int(np.count_nonzero(positive))
    bad = len(positive) - good
    if good == 0 or bad == 0:
        return np.full(values.shape[1], np.nan)
    return np.asarray((ranks[positive].sum(axis=0) - good * (good + 1) / 2) / (good * bad))


def _right(z: Floats, number: Integers) -> Floats:
    chosen = z[:, :, 0] > 0.0 if z.shape[2] == 1 else np.argmax(z, axis=2)
    return np.asarray(chosen == number[:, None], dtype=np.float64)


def _minus_losses(z: Floats, number: Integers) -> Floats:
    if z.shape[2] == 1:
        second = _core.sigmoid(z.ravel()).reshape(z.shape[:2])
        right = np.where(number[:, None] == 1, second, 1.0 - second)  # to the last digit as scikit-learn has it
    else:
        probabilities = Softmax().probabilities(z.reshape(-1, z.shape[2])).reshape(z.shape)
        right = probabilities[np.arange(len(number)), :, number]
    return np.asarray(np.log(np.minimum(np.maximum(right, EPS), 1.0 - EPS)))  # scikit-learn clips alike
