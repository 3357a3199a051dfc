"""What models store of their samples: the interface to read it, and what a file of such a model must hold."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Array, is_sparse
from tenfold.data import Rows
from tenfold.estimators.schema import Rule


def _compares(model: Any) -> bool:
    """Samples with missing values are compared by one metric alone; others would sort what has no order."""
    samples = model._fit_X.data if is_sparse(model._fit_X) else model._fit_X
    return model.effective_metric_ == "nan_euclidean" or not np.isnan(samples).any()


def _numbers_classes(model: Any) -> bool:
    """Numbers of classes are below their counts, in every column."""
    classes = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
    y = model._y.reshape(len(model._y), -1)
    if y.dtype.kind != "i" or y.shape[1] != len(classes):
        return False
    return all(y[:, j].min() >= 0 and y[:, j].max() < len(own) for j, own in enumerate(classes))


class StoredData(NamedTuple):
    """Samples (n, p) as stored, their targets and weights (None: none are stored)."""

    samples: Any
    targets: Any
    weight: Array | None


def read_neighbors(model: Any) -> StoredData:
    """The samples of a model of neighbours, ours or scikit-learn's; targets as stored, classes as numbers."""
    return StoredData(model._fit_X, getattr(model, "_y", None), getattr(model, "_votes", None))


def read_density(model: Any) -> StoredData:
    """The samples of a kernel density or regression of ours, or of scikit-learn's density."""
    if not hasattr(model, "_rows"):
        return StoredData(np.array(model.tree_.data), None, None)
    return StoredData(model._rows, model._targets, model._weight)


def read_rows(model: Any) -> Rows:
    """The same of a model of ours as Rows, where they are."""
    return model._to_rows()


def count_samples(model: Any) -> int:
    """The number of samples of positive weight of a model of ours."""
    return model._index.count


INDEXED: dict[str, Callable[[Any], Any]] = {"_index": lambda model: model._build_index()}
COMPARED: dict[str, Rule] = {"_fit_X must have no missing values": _compares}
VOTING: dict[str, Rule] = {**COMPARED, "_y must hold numbers of classes": _numbers_classes}
