"""Greedy selection: the residual on the columns that were taken, and the rule followed again."""

from typing import Any

import numpy as np

from tenfold.arrays import Floats, on_host
from tenfold.certification.models import params, status, validated
from tenfold.estimators.contract import as_rows, validate_weights
from tenfold.judge import Certificate, GreedyRule, Steps, best_subset, greedy, matching
from tenfold.plans.lars import Walk, verdict
from tenfold.stats import Columns

PROMISES = {
    "OrthogonalMatchingPursuit": "correlation",
    "OrthogonalMatchingPursuitCV": "correlation",
    "ForwardSelection": "gain",
}


def pursuit(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validated(model, X, y, numeric=True)
    rows = as_rows(X, y, validate_weights(sample_weight, X))
    most = model.n_nonzero_coefs_
    rule = GreedyRule(PROMISES[type(model).__name__], None if most is None else int(most), getattr(model, "tol", None))
    fitted, dtype = params(model, rows.targets)
    columns = rows.fold(Columns.lift)
    return greedy(rule, rows, fitted, columns, model.fit_intercept, status=status(model), dtype=dtype).certificate


def steps(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The steps of matching pursuit, taken again."""
    X, y = validated(model, X, y, numeric=True)
    rows = as_rows(X, y, validate_weights(sample_weight, X))
    fitted, dtype = params(model, rows.targets)
    taken = [model.path_] if rows.targets == 1 else model.path_
    asked = Steps(int(model.max_iter), model.tol, [np.asarray(one, dtype=np.int64) for one in taken])
    columns, how = rows.fold(Columns.lift), {"status": status(model), "dtype": dtype}
    return matching(asked, rows, fitted, columns, model.fit_intercept, **how)


def angles(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Equal angles at the end of the path that the model says it has reached, or the gap of the Lasso."""
    X, y = validated(model, X, y, numeric=True)
    rows = as_rows(X, y, validate_weights(sample_weight, X))
    fitted, dtype = params(model, rows.targets)
    lasso = type(model).__name__.startswith("LassoLars")
    ends = np.full(rows.targets, _alpha(model)) if lasso else _ends(model, rows.targets)
    how = Walk(lasso, bool(getattr(model, "positive", False)), float(ends[0]), 0, 0.0)
    return verdict(rows, fitted, rows.fold(Columns.lift), ends, how, model.fit_intercept, dtype)


def _alpha(model: Any) -> float:
    return float(getattr(model, "alpha_", getattr(model, "alpha", 0.0)))


def _ends(model: Any, targets: int) -> Floats:
    """The last alpha of every target's path."""
    paths = [model.alphas_] if targets == 1 else model.alphas_
    return np.array([float(on_host(path)[-1]) for path in paths])


def subset(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The best columns, as many as the model was asked for, or has."""
    X, y = validated(model, X, y, numeric=True)
    rows = as_rows(X, y, validate_weights(sample_weight, X))
    fitted, dtype = params(model, rows.targets)
    columns, count = rows.fold(Columns.lift), model.n_nonzero_coefs
    how = {"status": status(model), "dtype": dtype}
    return best_subset(rows, fitted, columns, model.fit_intercept, count, **how)[0]


ANGLES = ("Lars", "LarsCV", "LassoLars", "LassoLarsCV", "LassoLarsIC")

JUDGES = {
    **dict.fromkeys(PROMISES, pursuit),
    **dict.fromkeys(ANGLES, angles),
    "BestSubset": subset,
    "MatchingPursuit": steps,
}
