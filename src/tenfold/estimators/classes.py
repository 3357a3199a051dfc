"""Classes as a fit reads them, and scores of classes as a user does."""

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, contiguous, is_dask, is_foreign, is_numpy, like, namespace
from tenfold.losses import Logistic, Softmax


def targets(number: Array, count: int) -> Array:
    """What a fit reads, in float64: +1 for the second of two classes and -1 for the first, else the number."""
    xp = namespace(number)
    if count > 2:
        return number.astype(np.float64) if is_numpy(number) or is_dask(number) else xp.astype(number, xp.float64)
    ones = like(np.ones(1), number)
    return xp.where(number == 1, ones, -ones)


def largest(z: Array) -> Array:
    """The number of the largest score of each row."""
    return namespace(z).argmax(z, axis=1)


def odds(z: Array) -> Array:
    """Of the scores of two classes the second minus the first, (n,); those of more as they are."""
    return z[:, 1] - z[:, 0] if z.shape[1] == 2 else z


def probabilities(z: Array) -> Array:
    """Of all classes: from the log odds of the second of two (n,), or from the scores of more (n, K)."""
    if z.ndim == 2:
        return Softmax().probabilities(z)
    if is_foreign(z):
        return namespace(z).stack([Logistic().wrong(z), Logistic().wrong(-z)], axis=1)
    z = contiguous(z)
    return np.column_stack([_core.sigmoid(-z), _core.sigmoid(z)])


def log_probabilities(z: Array) -> Array:
    """Logarithms of the `probabilities`."""
    if z.ndim == 2:
        return Softmax().log_probabilities(z)
    if is_foreign(z):
        return namespace(z).stack([-Logistic().value(-1.0, z), -Logistic().value(1.0, z)], axis=1)
    z = contiguous(z)
    return np.column_stack([-_core.softplus(z), -_core.softplus(-z)])
