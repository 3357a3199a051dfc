"""Classes as a fit reads them, and scores of classes as a user does."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from tenfold import _core
from tenfold.arrays import Array, Floats, contiguous, is_array_api, is_dask, is_numpy, like, namespace, on_host
from tenfold.estimators.validation import load_dask_input
from tenfold.losses.classification import Logistic, Softmax
from tenfold.machine import threads


def targets(number: Array, count: int) -> Array:
    """What a fit reads, in float64: +1 for the second of two classes and -1 for the first, else the number."""
    if count > 2:
        xp = namespace(number)
        return number.astype(np.float64) if is_numpy(number) or is_dask(number) else xp.astype(number, xp.float64)
    return marked(number, 1, 1.0, -1.0)


def marked(number: Array, own: int, inside: float, outside: float) -> Array:
    """One number in float64 for the rows of a class, and another for those of the others, where they are."""
    one = like(np.ones(1), number)
    return namespace(number).where(number == own, inside * one, outside * one)


def largest(z: Array) -> Array:
    """The number of the largest score of each row."""
    if is_numpy(z) and z.dtype == np.float64:
        return _core.argmax(contiguous(z), threads(z.size))
    return namespace(z).argmax(z, axis=1)


def odds(z: Array) -> Array:
    """Of the scores of two classes the second minus the first, (n,); those of more as they are."""
    if z.shape[1] != 2:
        return z
    with np.errstate(invalid="ignore"):
        found, xp = z[:, 1] - z[:, 0], namespace(z)
    return xp.where(xp.isnan(found), xp.zeros_like(found), found)  # neither class is possible


def probabilities(z: Array) -> Array:
    """Of all classes: from the log odds of the second of two (n,), or from the scores of more (n, K)."""
    if z.ndim == 2:
        return Softmax().probabilities(z)
    if is_array_api(z):
        return namespace(z).stack([Logistic().wrong(z), Logistic().wrong(-z)], axis=1)
    z = contiguous(z)
    return np.column_stack([_core.sigmoid(-z), _core.sigmoid(z)])


def log_probabilities(z: Array) -> Array:
    """Logarithms of the `probabilities`."""
    if z.ndim == 2:
        return Softmax().log_probabilities(z)
    if is_array_api(z):
        return namespace(z).stack([-Logistic().value(-1.0, z), -Logistic().value(1.0, z)], axis=1)
    z = contiguous(z)
    return np.column_stack([-_core.softplus(z), -_core.softplus(-z)])


LITTLE = 1 << 12
"""Whole numbers in a range of this width are counted, not sorted."""


def encoded(y: Array, X: Array) -> tuple[Array, Array]:
    """The classes of y, sorted, and the number of each row's class, where X lives (labels of text stay on the host);
    refuses what is not a class.
    """
    if is_dask(y):
        return load_dask_input().encoded(y)
    if is_array_api(y):
        return _of_two(y) or tuple(namespace(y).unique_inverse(y))
    refuse_numbers(y)
    found = _counted_classes(y) if y.dtype.kind in "biu" and y.size else None
    classes, number = np.unique(y, return_inverse=True) if found is None else found
    return classes, like(number, X) if is_array_api(X) else number


def refuse_numbers(y: Array) -> None:
    """Refuse labels (n,) that are no classes, whole numbers and words always are, or that have no order."""
    if y.dtype.kind in "biuUS":
        return
    if y.dtype.kind == "O":
        kinds = {type(label) for label in y.flat}
        if len(kinds) > 1 and any(issubclass(kind, str) for kind in kinds):
            names = sorted(kind.__name__ for kind in kinds)
            raise TypeError(
                f"Labels must be uniformly strings or numbers, got {names}. Make them one, as y.astype(str)."
            )
    check_classification_targets(y)


def _of_two(y: Array) -> tuple[Array, Array] | None:
    """Two classes of numbers on a device, where sorting is as dear as a few passes."""
    if not (xp := namespace(y)).isdtype(y.dtype, ("integral", "real floating")):
        return None
    low, high = xp.min(y), xp.max(y)
    second = y == high
    if not bool(xp.all(second | (y == low)) & (low != high)):
        return None
    return xp.stack([low, high]), xp.astype(second, xp.int64)


def _counted_classes(y: Array) -> tuple[Array, Array] | None:
    """Classes and numbers of labels that are whole numbers close together, without sorting them."""
    low, high = y.min(), y.max()
    if int(high) - int(low) >= LITTLE or int(high) > np.iinfo(np.int64).max:
        return None
    away = (y != low).astype(np.int64) if y.dtype.kind == "b" else y.astype(np.int64)
    if y.dtype.kind != "b" and low != 0:
        away -= int(low)
    present = np.flatnonzero(np.bincount(away))
    classes = np.array([low, high])[: len(present)] if y.dtype.kind == "b" else (present + int(low)).astype(y.dtype)
    if len(present) == int(present[-1]) + 1:
        return classes, away
    place = np.zeros(int(present[-1]) + 1, dtype=np.int64)
    place[present] = np.arange(len(present))
    return classes, place[away]


def numbered(classes: Array, y: Array, X: Array) -> Array:
    """The number of each row's class among known ones, where X lives."""
    if is_dask(y):
        return load_dask_input().numbered(on_host(classes), y)
    found = np.searchsorted(on_host(classes), on_host(y))
    return like(found, X) if is_array_api(X) else found


def numbered_or_refused(classes: Array, y: Array, X: Array) -> Array:
    """The number of each row's class among those that were named; refuses others."""
    found = numbered(classes, y, X)
    names = on_host(classes)
    if not is_dask(y) and np.array_equal(names[np.minimum(on_host(found), len(names) - 1)], on_host(y)):
        return found
    if (unknown := unknown_classes(classes, y)).size:
        raise ValueError(f"y holds classes that were not named: {unknown.tolist()}; there are {classes}.")
    return found


def unknown_classes(classes: Array, y: Array) -> Array:
    """The values of y that are no classes."""
    return load_dask_input().unknown(on_host(classes), y) if is_dask(y) else np.setdiff1d(on_host(y), on_host(classes))


def chosen_classes(classes: Array, number: Array) -> Array:
    """classes[number], where the classes live, or the rows of a cluster; two classes may be numbered by bool."""
    if is_dask(number):
        return load_dask_input().rowwise(partial(chosen_classes, classes), number)
    if not is_array_api(classes):
        return classes[on_host(number).astype(np.intp)]
    xp = namespace(number)
    return xp.take(classes, xp.astype(number, xp.int64))


def class_factors(class_weight: Any, classes: Array, number: Array, weight: Array | None) -> Array:
    """scikit-learn's weight of each class, from the weights of their rows (or how many there are)."""
    names = on_host(classes)
    sums = weights_by_class(len(names), number, weight)
    found = compute_class_weight(class_weight, classes=names, y=names, sample_weight=sums)
    return np.asarray(found, dtype=np.float64)


def weights_by_class(count: int, number: Array, weight: Array | None) -> Floats:
    """The sum of the weights of each class's rows, or how many there are."""
    if is_dask(number):
        return np.array([*map(float, load_dask_input().sums_by_class(number, weight, count))])
    if is_numpy(number):
        return np.bincount(number, weights=weight, minlength=count).astype(np.float64)
    xp, parts = namespace(number), [number == k for k in range(count)]
    sums = [xp.count_nonzero(part) if weight is None else xp.sum(xp.where(part, weight, 0.0)) for part in parts]
    return on_host(xp.stack(sums)).astype(np.float64)


def factor_of_each(factors: Floats, number: Array) -> Array:
    """The factor of each row's class, where the rows are."""
    if is_dask(number):
        return chosen_classes(factors, number)
    return namespace(number).take(like(factors, number), number)
