"""Greedy selection: the residual on the columns that were taken, and the rule followed again."""

from typing import Any

from tenfold.certification.models import params, status, validated
from tenfold.estimators.contract import as_rows, validate_weights
from tenfold.judge import Certificate, GreedyRule, greedy
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


JUDGES = dict.fromkeys(PROMISES, pursuit)
