"""Classes, their numbers, and the weights of their rows."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array, Floats, on_host
from tenfold.estimators.classes import class_factors, encoded, factor_of_each, weights_by_class

SEEDS = np.iinfo(np.int32).max
ONE_CLASS = "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "


def numbered_classes(y: Array, X: Array) -> tuple[Array, Array]:
    """The classes, and the number of each row's class, where X lives; refuses one class and what is not a class."""
    classes, number = encoded(y, X)
    if classes.shape[0] == 1:
        raise ValueError(f"{ONE_CLASS}{on_host(classes)[0]!r}")
    return classes, number


def weighted(class_weight: Any, classes: Array, number: Array, weight: Array | None) -> Array | None:
    """Sample weights times class weights; refuses weights that leave a class without rows."""
    if weight is not None:
        _refuse_one_class(classes, number, weight)
    if class_weight is None:
        return weight
    factor = factor_of_each(class_factors(class_weight, classes, number, weight), number)
    weight = factor if weight is None else weight * factor
    _refuse_one_class(classes, number, weight)
    return weight


def _refuse_one_class(classes: Array, number: Array, weight: Array) -> None:
    names = on_host(classes)
    present = weights_by_class(len(names), number, weight) > 0.0
    if np.count_nonzero(present) == 1:
        only = names[int(np.argmax(present))]
        raise ValueError(f"{ONE_CLASS}{only!r} (all rows of the others have weight zero)")


def shares(number: Array, count: int, weight: Array | None) -> Floats:
    """The share of each class in the sum of the weights."""
    sums = weights_by_class(count, number, weight)
    return sums / sums.sum()


def seeds_of_classes(random_state: Any, count: int) -> list[int]:
    """Seeds for the orders in which rows are learned, one for two classes, else one a class: scikit-learn's draws."""
    source = check_random_state(random_state)
    sources = [source]
    if count > 2:
        sources = [np.random.RandomState(seed) for seed in source.randint(SEEDS, size=count)]
    pairs = [(one.randint(1, SEEDS), one.randint(SEEDS)) for one in sources]  # scikit-learn draws one more before
    return [int(seed) for _, seed in pairs]
