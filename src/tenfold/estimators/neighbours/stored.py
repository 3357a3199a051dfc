"""What a file of a model that keeps its samples must hold, and what is made again from it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.arrays import is_sparse
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


INDEXED: dict[str, Callable[[Any], Any]] = {"_index": lambda model: model._indexed()}
COMPARED: dict[str, Rule] = {"_fit_X must have no missing values": _compares}
VOTING: dict[str, Rule] = {**COMPARED, "_y must hold numbers of classes": _numbers_classes}
