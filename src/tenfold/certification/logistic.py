"""Logistic regression: the duality gap at the fitted weights."""

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, is_sparse
from tenfold.certification.models import check_known_classes, contradict, fit_status, take_params, validate_like_fit
from tenfold.data import Table
from tenfold.estimators.class_labels import class_frequencies, class_targets, combine_weights, label_indices
from tenfold.estimators.logistic.parameters import PenaltyChoice
from tenfold.estimators.validation import as_weighted_rows, rowwise, total_weight, validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.judge.linear_models import gap
from tenfold.losses.classification import Logistic, Softmax
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params


def logistic(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validate_like_fit(model, X, y, numeric=False)
    check_known_classes(model, y)
    count = int(model.classes_.shape[0])
    number = label_indices(model.classes_, y, X)
    weight = combine_weights(model.class_weight, model.classes_, number, validate_weights(sample_weight, X))
    fitted, dtype = take_params(model, 1 if count == 2 else count)
    intercept = bool(model.fit_intercept)
    if intercept and model.solver == "liblinear" and type(model).__module__.startswith("sklearn."):
        # liblinear: the intercept is the weight of one more column, and penalised
        unit = float(model.intercept_scaling)
        X = X.load() if isinstance(X, Table) else X
        X = rowwise(partial(_with_column, unit), X)
        fitted = Params(np.column_stack([fitted.coef, fitted.intercept / unit]), np.zeros(1))
        intercept = False
    target = class_targets(number, count)
    rows = as_weighted_rows(X, target, weight)
    penalty = read_choice(model).penalty(total_weight(target, weight))
    loss = Softmax() if count > 2 else Logistic()
    certificate = gap(Glm(loss, penalty, intercept), rows, fitted, status=fit_status(model), dtype=dtype)
    if hasattr(model, "class_prior_") and not np.allclose(
        model.class_prior_, class_frequencies(number, count, weight), rtol=1e-9, atol=0.0
    ):
        return contradict(certificate, "class_prior_ are not the shares of the classes in the data.")
    return certificate


def _with_column(value: float, X: Array) -> Array:
    """X with one more column, of one value."""
    column = np.full((X.shape[0], 1), value, dtype=X.dtype)
    return sparse.hstack([X, sparse.csr_array(column)], format="csr") if is_sparse(X) else np.hstack([X, column])


def read_choice(model: Any) -> PenaltyChoice:
    """C, infinite where there is no penalty, and the share of L1; what cross-validation has chosen where it has."""
    C = float(np.ravel(getattr(model, "C_", getattr(model, "C", np.inf)))[0])
    if model.penalty is None or np.inf == C:
        return PenaltyChoice(np.inf, 0.0)
    ratio = np.ravel(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 0.0)))[0]
    return PenaltyChoice(C, {"l1": 1.0, "l2": 0.0}.get(str(model.penalty), float(ratio or 0.0)))


def check_choice(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Why C and the share of L1 are not those of the best mean of the stored scores, of which the first is taken among
    equal ones: the candidates in their order, for each C all shares.
    """
    grid = np.logspace(-4, 4, model.Cs) if np.ndim(model.Cs) == 0 else np.asarray(model.Cs, dtype=np.float64)
    if not np.array_equal(np.asarray(model.Cs_, dtype=np.float64), grid):
        return "Cs_ are not the candidates that were given."
    given = None if isinstance(model.l1_ratios, str) else model.l1_ratios
    ratios = [None] if given is None else list(given)
    stored = list(np.ravel(model.l1_ratios_))
    if stored != ratios and not (given is None and stored == [1.0]):
        return "l1_ratios_ are not the candidates that were given."
    if isinstance(model.scores_, dict):
        tables = [np.asarray(one, dtype=np.float64) for one in model.scores_.values()]  # (folds, Cs, ratios)
    else:
        tables = [np.moveaxis(np.asarray(model.scores_, dtype=np.float64), 1, 2)]
    scores = tables[0].reshape(len(tables[0]), len(grid), len(ratios))
    if any(not np.array_equal(one, tables[0], equal_nan=True) for one in tables[1:]):
        return "scores_ are not the same for all classes."
    c, k = np.unravel_index(np.argmax(scores.sum(axis=0)), scores.shape[1:])
    if not np.all(np.ravel(model.C_) == grid[c]):
        return "C_ is not the candidate of the best mean of scores_."
    share = {"l1": 1.0, "l2": 0.0}.get(str(model.penalty), float(ratios[k] or 0.0))
    if not all(float(one or 0.0) in (share, float(ratios[k] or 0.0)) for one in np.ravel(model.l1_ratio_)):
        return "l1_ratio_ is not the candidate of the best mean of scores_."
    return ""
