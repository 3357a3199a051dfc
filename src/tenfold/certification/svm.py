"""Linear support vector machines: the duality gap at the fitted weights, with the penalty that their intercept has."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, contiguous
from tenfold.certification.models import known, params, status, validated
from tenfold.data import Rows
from tenfold.estimators.contract import as_rows, counted, numbered, total_weight, validate_weights
from tenfold.estimators.labels import weighted
from tenfold.estimators.svm.machines import machine_of
from tenfold.judge import Certificate, joint_gap
from tenfold.plans.svm import Machine, worst
from tenfold.stats import Params


def _rows(model: Any, X: Array, y: Array, weight: Array | None) -> tuple[Rows, Machine]:
    """The rows of positive weight, and the problem of the model on them."""
    kept, target, weight = counted(X, y, weight)
    rows = as_rows(contiguous(kept) if isinstance(kept, np.ndarray) else kept, target, weight)
    return rows, machine_of(model, total_weight(target, weight))


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validated(model, X, y, numeric=False)
    known(model, y)
    number = numbered(model.classes_, y, X)
    weight = weighted(model.class_weight, model.classes_, number, validate_weights(sample_weight, X))
    rows, machine = _rows(model, X, number, weight)
    count = len(model.classes_)
    owns = [1] if count == 2 else list(range(count))
    fitted, dtype = params(model, len(owns))
    if model.multi_class == "crammer_singer":
        if count == 2:
            # of two classes the model keeps the difference, and the shortest weights are opposite
            fitted = Params(*(np.concatenate([-0.5 * part, 0.5 * part]) for part in fitted))
        return joint_gap(machine.joint, rows, fitted, status=status(model), dtype=dtype)
    number = rows.map(lambda block: block.y)
    found = []
    for k, own in enumerate(owns):
        one = Params(fitted.coef[k : k + 1], fitted.intercept[k : k + 1])
        signs = rows.retarget(np.where(number == own, 1.0, -1.0))
        found.append(machine.judged(signs, one, status=status(model), dtype=dtype))
    return worst(found)


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validated(model, X, y, numeric=True)
    rows, machine = _rows(model, X, np.asarray(y, dtype=np.float64), validate_weights(sample_weight, X))
    fitted, dtype = params(model, 1)
    return machine.judged(rows, fitted, status=status(model), dtype=dtype)


JUDGES = {"LinearSVC": classification, "LinearSVR": regression}
