"""Certification of linear support vector machines: the duality gap, including the penalty of the intercept."""

from typing import Any

import numpy as np

from tenfold.arrays import contiguous
from tenfold.certification.models import check_known_classes, fit_status, take_params, validate_like_fit
from tenfold.estimators.class_labels import label_indices
from tenfold.estimators.svm.parameters import Task, check_memory_source, machine_of, rows_of, tasks
from tenfold.estimators.validation import validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.plans.svm import worst
from tenfold.stats.derivatives import Params


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    check_memory_source(model, X)
    X, y = validate_like_fit(model, X, y, numeric=False)
    check_known_classes(model, y)
    X = contiguous(X) if isinstance(X, np.ndarray) else X
    todo = tasks(model, label_indices(model.classes_, y, X), validate_weights(sample_weight, X))
    count = int(model.classes_.shape[0])
    fitted, dtype = take_params(model, 1 if count == 2 else count)
    options = {"status": fit_status(model), "dtype": dtype}
    if model.multi_class == "crammer_singer":
        if count == 2:
            # of two classes the model keeps the difference, and the shortest weights are opposite
            fitted = Params(*(np.concatenate([-0.5 * part, 0.5 * part]) for part in fitted))
        rows, total = rows_of(X, todo[0])
        return machine_of(model, total).certify_classes(rows, fitted, **options)
    certificates = []
    for k, task in enumerate(todo):
        rows, total = rows_of(X, task)
        one = Params(fitted.coef[k : k + 1], fitted.intercept[k : k + 1])
        certificates.append(machine_of(model, total).certify(rows, one, **options))
    return worst(certificates)


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    check_memory_source(model, X)
    X, y = validate_like_fit(model, X, y, numeric=True)
    X = contiguous(X) if isinstance(X, np.ndarray) else X
    rows, total = rows_of(X, Task(y, validate_weights(sample_weight, X)))
    fitted, dtype = take_params(model, 1)
    return machine_of(model, total).certify(rows, fitted, status=fit_status(model), dtype=dtype)
