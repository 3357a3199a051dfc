"""Class labels and their indices, class weights, and probabilities from scores."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from tenfold import _core
from tenfold.arrays import Array, Floats, contiguous, is_array_api, is_dask, is_numpy, like, namespace, on_host
from tenfold.estimators.validation import load_dask_input
from tenfold.losses.classification import Logistic, Softmax
from tenfold.machine import threads

SEEDS = np.iinfo(np.int32).max
ONE_CLASS = "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "


def class_targets(number: Array, count: int) -> Array:
    """Targets of a fit in float64: -1 and +1 for two classes, else the class index."""
    if count > 2:
        xp = namespace(number)
        return number.astype(np.float64) if is_numpy(number) or is_dask(number) else xp.astype(number, xp.float64)
    return indicator(number, 1, 1.0, -1.0)


def indicator(number: Array, positive: int, inside: float, outside: float) -> Array:
    """Float64 values `inside` for the samples of one class, and `outside` for the others, on their device."""
    one = like(np.ones(1), number)
    return namespace(number).where(number == positive, inside * one, outside * one)


def argmax_scores(z: Array) -> Array:
    """The index of the largest score of each sample."""
    if is_numpy(z) and z.dtype == np.float64:
        return _core.argmax(contiguous(z), threads(z.size))
    return namespace(z).argmax(z, axis=1)


def log_odds(z: Array) -> Array:
    """The difference of the scores of two classes, (n,); the scores themselves for more classes."""
    if z.shape[1] != 2:
        return z
    with np.errstate(invalid="ignore"):
        difference, xp = z[:, 1] - z[:, 0], namespace(z)
    return xp.where(xp.isnan(difference), xp.zeros_like(difference), difference)


def probabilities(z: Array) -> Array:
    """Probabilities of all classes, from log odds (n,) of two classes or scores (n, K)."""
    if z.ndim == 2:
        return Softmax().probabilities(z)
    if is_array_api(z):
        return namespace(z).stack([Logistic().wrong(z), Logistic().wrong(-z)], axis=1)
    z = contiguous(z)
    return np.column_stack([_core.sigmoid(-z), _core.sigmoid(z)])


def log_probabilities(z: Array) -> Array:
    """Logarithms of `probabilities`."""
    if z.ndim == 2:
        return Softmax().log_probabilities(z)
    if is_array_api(z):
        return namespace(z).stack([-Logistic().value(-1.0, z), -Logistic().value(1.0, z)], axis=1)
    z = contiguous(z)
    return np.column_stack([-_core.softplus(z), -_core.softplus(-z)])


MANY_SAMPLES = 20  # from which scikit-learn warns of labels that are mostly different
COUNTING_RANGE = 1 << 12  # integer labels in a range of this width are counted instead of sorted


def encode_labels(y: Array, X: Array) -> tuple[Array, Array]:
    """The sorted classes of y, and the class index of each sample, on the device of X (text labels stay on the host);
    raises where y does not hold classes.
    """
    if is_dask(y):
        return load_dask_input().encode_labels(y)
    if is_array_api(y):
        return _two_classes(y) or tuple(namespace(y).unique_inverse(y))
    check_labels(y)
    counted = _classes_by_counting(y) if y.dtype.kind in "biu" and y.size else None
    classes, number = np.unique(y, return_inverse=True) if counted is None else counted
    if y.dtype.kind == "f":
        warn_of_many_classes(classes, len(y))
    return classes, like(number, X) if is_array_api(X) else number


def as_vector(y: Array) -> Array:
    """The labels of a vector or of a single column, (n,), as scikit-learn takes them."""
    return y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)


def warn_of_many_classes(classes: Array, samples: int) -> None:
    """scikit-learn's warning about labels that may be the targets of a regression."""
    if samples > MANY_SAMPLES and 2 < len(classes) > round(0.5 * samples):
        warnings.warn(
            f"The number of unique classes, {len(classes)}, is greater than 50% of the number of samples, {samples}. "
            "`y` could represent a regression problem, not a classification problem.",
            UserWarning,
            stacklevel=5,
        )


def check_labels(y: Array) -> None:
    """Raise where labels (n,) are not classes or not sortable; integers and strings always are classes."""
    if y.dtype.kind in "biuUS":
        return
    if y.dtype.kind == "f" and y.ndim == 1 and np.isfinite(y).all() and (y == np.rint(y)).all():
        return
    if y.dtype.kind == "O":
        kinds = {type(label) for label in y.flat}
        if len(kinds) > 1 and any(issubclass(kind, str) for kind in kinds):
            names = sorted(kind.__name__ for kind in kinds)
            raise TypeError(
                f"Labels must be uniformly strings or numbers, got {names}. Make them one, as y.astype(str)."
            )
    check_classification_targets(y)


def _two_classes(y: Array) -> tuple[Array, Array] | None:
    """Two numeric classes on a device, without sorting, which costs several passes; None where there are more."""
    if not (xp := namespace(y)).isdtype(y.dtype, ("integral", "real floating")):
        return None
    low, high = xp.min(y), xp.max(y)
    second = y == high
    if not bool(xp.all(second | (y == low)) & (low != high)):
        return None
    return xp.stack([low, high]), xp.astype(second, xp.int64)


def _classes_by_counting(y: Array) -> tuple[Array, Array] | None:
    """Classes and class indices of integer labels in a small range, without sorting."""
    low, high = y.min(), y.max()
    if int(high) - int(low) >= COUNTING_RANGE or int(high) > np.iinfo(np.int64).max:
        return None
    offsets = (y != low).astype(np.int64) if y.dtype.kind == "b" else y.astype(np.int64)
    if y.dtype.kind != "b" and low != 0:
        offsets -= int(low)
    present = np.flatnonzero(np.bincount(offsets))
    classes = np.array([low, high])[: len(present)] if y.dtype.kind == "b" else (present + int(low)).astype(y.dtype)
    if len(present) == int(present[-1]) + 1:
        return classes, offsets
    place = np.zeros(int(present[-1]) + 1, dtype=np.int64)
    place[present] = np.arange(len(present))
    return classes, place[offsets]


def label_indices(classes: Array, y: Array, X: Array) -> Array:
    """The class index of each sample among known classes, on the device of X."""
    if is_dask(y):
        return load_dask_input().label_indices(on_host(classes), y)
    indices = np.searchsorted(on_host(classes), on_host(y))
    return like(indices, X) if is_array_api(X) else indices


def check_label_indices(classes: Array, y: Array, X: Array) -> Array:
    """The class index of each sample among given classes; raises for other labels."""
    indices = label_indices(classes, y, X)
    names = on_host(classes)
    if not is_dask(y) and np.array_equal(names[np.minimum(on_host(indices), len(names) - 1)], on_host(y)):
        return indices
    if (unknown := unknown_classes(classes, y)).size:
        raise ValueError(f"y holds classes that were not named: {unknown.tolist()}; there are {classes}.")
    return indices


def unknown_classes(classes: Array, y: Array) -> Array:
    """The values of y that are not among the classes."""
    return (
        load_dask_input().unknown_classes(on_host(classes), y)
        if is_dask(y)
        else np.setdiff1d(on_host(y), on_host(classes))
    )


def take_classes(classes: Array, number: Array) -> Array:
    """classes[number], on the device of the classes or on a cluster; `number` may be bool for two classes."""
    if is_dask(number):
        return load_dask_input().rowwise(partial(take_classes, classes), number)
    if not is_array_api(classes):
        return classes[on_host(number).astype(np.intp)]
    xp = namespace(number)
    return xp.take(classes, xp.astype(number, xp.int64))


def compute_class_weights(class_weight: Any, classes: Array, number: Array, weight: Array | None) -> Array:
    """scikit-learn's class weights, from the sums of sample weights or counts."""
    names = on_host(classes)
    sums = class_weight_sums(len(names), number, weight)
    weights = compute_class_weight(class_weight, classes=names, y=names, sample_weight=sums)
    return np.asarray(weights, dtype=np.float64)


def class_weight_sums(count: int, number: Array, weight: Array | None) -> Floats:
    """The sum of the sample weights of each class, or its number of samples."""
    if is_dask(number):
        return np.array([*map(float, load_dask_input().sums_by_class(number, weight, count))])
    if is_numpy(number):
        return np.bincount(number, weights=weight, minlength=count).astype(np.float64)
    xp, parts = namespace(number), [number == k for k in range(count)]
    sums = [xp.count_nonzero(part) if weight is None else xp.sum(xp.where(part, weight, 0.0)) for part in parts]
    return on_host(xp.stack(sums)).astype(np.float64)


def sample_factors(factors: Floats, number: Array) -> Array:
    """The factor of the class of each sample, on its device."""
    if is_dask(number):
        return take_classes(factors, number)
    return namespace(number).take(like(factors, number), number)


def encode_classes(y: Array, X: Array) -> tuple[Array, Array]:
    """As `encode_labels`; raises where there is only one class."""
    classes, number = encode_labels(y, X)
    if classes.shape[0] == 1:
        raise ValueError(f"{ONE_CLASS}{on_host(classes)[0]!r}")
    return classes, number


def combine_weights(class_weight: Any, classes: Array, number: Array, weight: Array | None) -> Array | None:
    """Sample weights times class weights; raises where only one class has positive weight."""
    if weight is not None:
        _check_two_classes(classes, number, weight)
    if class_weight is None:
        return weight
    factor = sample_factors(compute_class_weights(class_weight, classes, number, weight), number)
    weight = factor if weight is None else weight * factor
    _check_two_classes(classes, number, weight)
    return weight


def _check_two_classes(classes: Array, number: Array, weight: Array) -> None:
    names = on_host(classes)
    present = class_weight_sums(len(names), number, weight) > 0.0
    if np.count_nonzero(present) == 1:
        only = names[int(np.argmax(present))]
        raise ValueError(f"{ONE_CLASS}{only!r} (all rows of the others have weight zero)")


def class_frequencies(number: Array, count: int, weight: Array | None) -> Floats:
    """The weighted frequency of each class."""
    sums = class_weight_sums(count, number, weight)
    return sums / sums.sum()


def class_seeds(random_state: Any, count: int) -> list[int]:
    """Seeds of the sample orders, one for two classes, else one for each class, as scikit-learn draws them."""
    source = check_random_state(random_state)
    sources = [source]
    if count > 2:
        sources = [np.random.RandomState(seed) for seed in source.randint(SEEDS, size=count)]
    pairs = [(one.randint(1, SEEDS), one.randint(SEEDS)) for one in sources]  # scikit-learn draws another integer first
    return [int(seed) for _, seed in pairs]
